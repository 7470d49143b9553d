"""The one writer of all adapters: outputs are planned, made in a hidden folder, and moved to their places as a whole.

A `Plan` lists what will be written before anything is. It is refused where an output is an input or reaches one through
a link, where two outputs are one file, and where a file is in the way that EvoSplit did not write or that was changed
since. What a directory got from EvoSplit is recorded in its `.evosplit.json`; `overwrite` replaces that, nothing else.

`Plan.stage` gives a `Staging`: a folder `.evosplit-...` in the output directory, with the new files in `new/`. Its
`commit` writes a journal, moves what is replaced into `old/` and the new files to their places, and then renames the
journal to `done`. A failure before that rename puts everything back. If the process is killed, the next run into that
directory does: before the rename it puts everything back, after it only the folder is left to remove.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import secrets
import shutil
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import ModuleType, TracebackType
from typing import Any

from evosplit import EvoSplitError, Split
from evosplit.wording import listed

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where a run cannot tell whether another one is alive
    fcntl = None

__all__ = ["RECORD", "Plan", "Run", "Staging", "check_space", "read_record", "settle"]

RECORD = ".evosplit.json"
_FORMAT, _VERSION = "evosplit-output", 1
_FOLDER = re.compile(r"\.evosplit-(?:output|file)-[0-9a-f]{8}")
_PARTS = {"lock", "others", "main", "new", "old", "journal", "journal.tmp", "done"}
_SHOWN = 3
_LINKS_FOLLOWED = 40  # in a row, as many as Linux follows

Entry = Mapping[str, Any]
State = tuple[int, ...]
Spot = tuple[int, str]
"""The position of a folder in the plan, and a path below it."""


@dataclass(frozen=True)
class Run:
    """What one run wrote into a directory.

    Attributes
    ----------
    writer
        The adapter.
    files
        What is known of each file, by its path: `size` and `mtime_ns`, and `source` if it is a copy; or `link`, the
        target of a symbolic link; or `hard` for a hard link.
    folders
        The folders that it made.
    """

    writer: str
    files: Mapping[str, Entry]
    folders: Sequence[str]


@dataclass(frozen=True)
class _Changes:
    """What a plan takes away.

    Attributes
    ----------
    old
        What is moved out, with its state when it was checked.
    runs
        The runs of the record that stay in it.
    carried
        Files of replaced runs that stay.
    emptied
        The folders that replaced runs made, deepest first.
    """

    old: Mapping[Spot, State]
    runs: Sequence[Run] = ()
    carried: Mapping[str, Entry] = field(default_factory=dict)
    emptied: Sequence[str] = ()


@dataclass(frozen=True)
class Plan:
    """Everything that one command is going to write.

    Attributes
    ----------
    root
        The output directory; None if single files are all.
    writer
        The adapter that writes. It replaces its own earlier outputs, never those of another.
    files
        The files below `root`. Files that are staged without being listed are checked when they are moved.
    reports, manifests
        Single files, anywhere. One that exists is replaced only if it is such a file, as EvoSplit wrote it.
    inputs
        The files that are read.
    input_folders
        The directories that are read from.
    keep
        Files of an earlier run that stay because this run adds to it, such as the manifest that is replayed. Only runs
        that have a file in common with this one are then replaced.
    overwrite
        Replace what earlier runs wrote below `root`.
    """

    root: Path | None
    writer: str = ""
    files: Sequence[PurePosixPath] = ()
    reports: Sequence[Path] = ()
    manifests: Sequence[Path] = ()
    inputs: Sequence[Path] = ()
    input_folders: Sequence[Path] = ()
    keep: Sequence[PurePosixPath] = ()
    overwrite: bool = False

    def check(self) -> _Changes:
        """Refuse what cannot be written; what a killed run left in the folders is put in order first."""
        if self.root is not None and self.root.is_symlink() and not self.root.exists():
            raise EvoSplitError(f"the output {self.root} is a link to nothing; choose another one")
        for folder in self.folders:
            if folder.exists() and not folder.is_dir():
                raise EvoSplitError(f"the output {folder} is not a directory; choose another one")
            settle(folder)
        if self.root is None:
            for path in (*self.reports, *self.manifests):
                if not path.parent.exists():
                    raise EvoSplitError(f"cannot write {path}: the directory does not exist; make it first")
        else:
            self._check_not_linked_inside(self.root)
            _check_alone(self.root)
        reports = {self.spot(path) for path in self.reports}
        manifests = {self.spot(path) for path in self.manifests}
        spots = [*((0, str(place)) for place in self.files), *(map(self.spot, (*self.reports, *self.manifests)))]
        for at, folder in enumerate(self.folders):
            reserved = [RECORD] if at == 0 and self.root is not None else []
            _check_distinct(folder, [*reserved, *(place for where, place in spots if where == at)])
        views = [_View(folder) for folder in self.folders]
        existing = {spot: state for spot in spots if (state := views[spot[0]].state(spot[1]))}
        runs = [] if self.root is None else read_record(self.root)
        replaced = [run for run in runs if self._replaces(run)]
        known = {(0, place): entry for run in replaced for place, entry in run.files.items()}
        inputs = _Inputs(self.inputs, ignores_case(self.folders[0]))
        strange = []
        for spot in existing:
            inputs.check(self.path(spot), known.get(spot))
            test = _is_report if spot in reports else _is_manifest if spot in manifests else None
            if spot not in known and not (test is not None and test(self.path(spot))):
                strange.append(str(self.path(spot)))
        if strange:
            written = "written by EvoSplit, or was changed since" if len(strange) == 1 else "written by EvoSplit"
            are = "exists, but was not" if len(strange) == 1 else "exist, but were not"
            raise EvoSplitError(f"{listed(strange, _SHOWN)} {are} {written}; move it away, or choose another output")
        if existing and self.root is not None and not self.overwrite:
            are = "exists" if len(existing) == 1 else "exist"
            raise EvoSplitError(
                f"{listed((self.path(spot) for spot in existing), _SHOWN)} already {are}; "
                "pass overwrite=True or choose another output"
            )
        keep = {(0, str(place)) for place in self.keep}
        old = {spot: state for spot in known if spot not in keep and (state := views[0].state(spot[1]))}
        self._check_may_go(old, known, inputs)
        if self.root is not None:
            old[0, RECORD] = views[0].state(RECORD)
        return _Changes(
            {spot: state for spot, state in {**old, **existing}.items() if state},
            [run for run in runs if run not in replaced],
            {place: entry for (_, place), entry in known.items() if (0, place) in keep},
            sorted({folder for run in replaced for folder in run.folders}, reverse=True),
        )

    @contextmanager
    def stage(self) -> Iterator[Staging]:
        """Check once more, and give a staging; an error of the disk becomes a sentence."""
        try:
            with Staging(self, self.check()) as staging:
                yield staging
        except OSError as error:
            remedies = {
                errno.ENOSPC: "free some space or choose another disk",
                errno.EDQUOT: "free some space or choose another disk",
                errno.EXDEV: "the images are on another file system, so use images='symlink' or 'copy'",
                errno.EACCES: "choose a directory that you may write to",
                errno.EROFS: "choose a directory that you may write to",
            }
            remedy = remedies.get(error.errno or 0, "choose another output directory")
            raise EvoSplitError(
                f"cannot write to {self.folders[0]}: {error.strerror or error}; nothing was changed; {remedy}"
            ) from error

    @cached_property
    def folders(self) -> Sequence[Path]:
        """The directories that are written into: the output directory, then those of files that lie elsewhere."""
        singles = [path for path in (*self.reports, *self.manifests) if self._below_root(path) is None]
        return list(dict.fromkeys([*([] if self.root is None else [self.root]), *(path.parent for path in singles)]))

    def spot(self, path: Path) -> Spot:
        """Return the folder of a single file and its path below it."""
        below = self._below_root(path)
        return (self.folders.index(path.parent), path.name) if below is None else (0, below)

    def path(self, spot: Spot) -> Path:
        """Return where something belongs."""
        return self.folders[spot[0]] / spot[1]

    def _below_root(self, path: Path) -> str | None:
        if self.root is None:
            return None
        root, entry = self.root.resolve(), _entry(path)
        return entry.relative_to(root).as_posix() if root in entry.parents else None

    def _replaces(self, run: Run) -> bool:
        own = run.writer == self.writer
        return own and ((self.overwrite and not self.keep) or any(str(place) in run.files for place in self.files))

    def _check_not_linked_inside(self, root: Path) -> None:
        """Refuse an output directory that only a link leads into an input."""
        here, there = root.absolute(), root.resolve()
        for folder in self.input_folders:
            if folder.resolve() in (there, *there.parents) and folder.absolute() not in (here, *here.parents):
                raise EvoSplitError(f"the output {root} leads through a link into the input {folder}; choose another")

    def _check_may_go(self, old: Mapping[Spot, State], known: Mapping[Spot, Entry], inputs: _Inputs) -> None:
        """Refuse to take away what is an input, what was changed, and pictures that are nowhere else."""
        kept = []
        names = Counter(state[:2] for state in old.values())
        for spot, state in old.items():
            path, entry = self.path(spot), known[spot]
            inputs.check(path, entry)
            reason = _changed(path, entry, state, names[state[:2]])
            if reason:
                kept.append(f"{path} {reason}")
        if kept:
            raise EvoSplitError(
                f"{listed(kept, _SHOWN)}; nothing was written: move it away, delete it yourself, or choose another "
                "output"
            )


class _View:
    """What is below a folder; a link or a file in place of a folder is refused."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._exists = {"": folder.is_dir()}

    def state(self, place: str) -> State:
        """Return device, inode, type, size, time and number of names; nothing where nothing is."""
        if not self._has(place.rpartition("/")[0]):
            return ()
        path = f"{self._folder}/{place}"  # a Path would cost more than the look
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return ()
        if stat.S_ISDIR(found.st_mode):
            raise EvoSplitError(f"{path} is a directory where a file would be written; remove it")
        return (
            found.st_dev,
            found.st_ino,
            stat.S_IFMT(found.st_mode),
            found.st_size,
            found.st_mtime_ns,
            found.st_nlink,
        )

    def _has(self, place: str) -> bool:
        known = self._exists.get(place)
        if known is None:
            known = self._has(place.rpartition("/")[0])
            path = self._folder / place
            if known and path.is_symlink():
                raise EvoSplitError(f"{path} is a symbolic link, which is not followed; choose another one")
            if known and path.exists() and not path.is_dir():
                raise EvoSplitError(f"{path} is in the way: a folder of that name is needed; remove it")
            known = self._exists[place] = known and path.exists()
        return known


class _Inputs:
    """The files that are read, by every name that leads to them."""

    def __init__(self, paths: Sequence[Path], ignore_case: bool) -> None:
        self._paths = paths
        self._ignore_case = ignore_case
        self._folders: dict[Path, Path] = {}

    def check(self, path: Path, entry: Entry | None) -> None:
        """Refuse to replace or remove an input, or a link to one that no earlier run made."""
        given = self._names.get(self._key(_entry(path, self._folders)))
        if given is not None:
            raise EvoSplitError(f"{path} is the input {given}; choose another output")
        if entry is not None and ("link" in entry or "hard" in entry):
            return
        with suppress(OSError):
            found = path.stat()
            given = self._files.get((found.st_dev, found.st_ino))
        if given is not None:
            raise EvoSplitError(f"{path} is linked to the input {given}; choose another output")

    def _key(self, entry: Path) -> str:
        return _folded(str(entry)) if self._ignore_case else str(entry)

    @cached_property
    def _names(self) -> Mapping[str, Path]:
        names: dict[str, Path] = {}
        for given in self._paths:
            path = given
            names[self._key(_entry(path, self._folders))] = given
            for _ in range(_LINKS_FOLLOWED):
                if not path.is_symlink():
                    break
                path = path.parent / path.readlink()
                names[self._key(_entry(path, self._folders))] = given
        return names

    @cached_property
    def _files(self) -> Mapping[tuple[int, int], Path]:
        found: dict[tuple[int, int], Path] = {}
        for path in self._paths:
            with suppress(OSError):
                state = path.stat()
                found[state.st_dev, state.st_ino] = path
        return found


class Staging:
    """A hidden folder in the output directory, where everything is made before it is moved to its place.

    Used as a context manager. If anything fails or is interrupted before `commit` is done, all is left as it was.

    Parameters
    ----------
    plan
        What will be written.
    changes
        What is taken away for it.
    """

    def __init__(self, plan: Plan, changes: _Changes) -> None:
        self._plan = plan
        self._changes = changes
        self._links: dict[str, Entry] = {}
        self._made: list[Path] = []
        kind = "file" if plan.root is None else "output"
        name = secrets.token_hex(4)
        self._benches = [
            folder / f".evosplit-{kind if at == 0 else 'file'}-{name}" for at, folder in enumerate(plan.folders)
        ]
        self._lock: int | None = None
        self._committed = False

    def __enter__(self) -> Staging:
        try:
            for folder, bench in zip(self._plan.folders, self._benches, strict=True):
                absent = [each for each in (folder, *folder.parents) if not each.exists()]
                for each in reversed(absent):
                    self._made.append(each)
                    each.mkdir(exist_ok=True)
                bench.mkdir()
                if bench == self._benches[0]:
                    self._lock = _lock(bench)
                    _write(bench / "others", json.dumps([str(other.absolute()) for other in self._benches[1:]]))
                else:
                    _write(bench / "main", str(self._benches[0].absolute()))
                (bench / "new").mkdir()
                (bench / "old").mkdir()
            if self._plan.root is not None:
                _check_alone(self._plan.root, self._benches[0].name)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def path(self, place: PurePosixPath | Path) -> Path:
        """Return where to make what belongs at `place`, a path below the output directory or a single file's own."""
        at, below = self._plan.spot(place) if isinstance(place, Path) else (0, str(place))
        path = self._benches[at] / "new" / below
        if "/" in below:
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @contextmanager
    def open(self, place: PurePosixPath, *, packed: bool = False) -> Iterator[Callable[[bytes], object]]:
        """Give the write function of a new file, which is on disk when the block ends.

        With `packed` it is compressed, always to the same bytes.
        """
        with self.path(place).open("xb") as stream:
            if packed:
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as zipped:
                    yield zipped.write
            else:
                yield stream.write
            stream.flush()
            os.fsync(stream.fileno())

    def put(self, mode: str, source: Path, place: PurePosixPath) -> None:
        """Link or copy one file: "symlink", "hardlink" or "copy"."""
        path = self.path(place)
        if mode == "symlink":
            path.symlink_to(source)
        elif mode == "hardlink":
            path.hardlink_to(source.resolve())  # the file itself, where the source is a symbolic link
            self._links[str(place)] = {"hard": True}
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            shutil.copyfile(source, path)
            self._links[str(place)] = {"source": str(source.absolute())}

    def commit(self) -> None:
        """Move everything to its place, and what it replaces away."""
        main, folders = self._benches[0], self._plan.folders
        made = [_below(bench / "new") for bench in self._benches]
        if self._plan.root is not None:
            record = self._record(*made[0])
            _write(main / "new" / RECORD, record)
            made[0][0].append(RECORD)
        moves = [(at, top) for at, (files, _) in enumerate(made) for top in _tops(folders[at], files)]
        self._check_still(moves)
        old = list(self._changes.old)
        journal = {
            "old": old,
            "new": moves,
            "emptied": self._changes.emptied,
        }
        _write(main / "journal.tmp", json.dumps(journal))
        (main / "journal.tmp").rename(main / "journal")
        for number, (at, place) in enumerate(old):
            (folders[at] / place).rename(_kept(self._benches[at], number, place))
        for at, place in moves:
            if os.path.lexists(folders[at] / place):
                raise EvoSplitError(f"{folders[at] / place} has appeared in the meantime; nothing was written")
            (self._benches[at] / "new" / place).rename(folders[at] / place)
        (main / "journal").rename(main / "done")
        self._committed = True

    def _record(self, files: Sequence[str], folders: Sequence[str]) -> str:
        """Write down what is there from now on."""
        root, new = self._plan.folders[0], self._benches[0] / "new"
        entries = dict(self._changes.carried)
        for place in files:
            entry = self._links.get(place, {})
            if not entry.get("hard"):
                path = new / place
                found = os.lstat(path)
                if stat.S_ISLNK(found.st_mode):
                    entry = {"link": str(path.readlink())}
                else:
                    entry = {"size": found.st_size, "mtime_ns": found.st_mtime_ns, **entry}
            entries[place] = entry
        own = [each for each in folders if each in self._changes.emptied or not (root / each).exists()]
        runs = [*self._changes.runs, Run(self._plan.writer, entries, own)]
        return json.dumps(
            {
                "format": _FORMAT,
                "version": _VERSION,
                "runs": [{"writer": run.writer, "files": run.files, "folders": list(run.folders)} for run in runs],
            }
        )

    def _check_still(self, moves: Sequence[Spot]) -> None:
        """Refuse if anything changed since the check, and what is staged but was not planned if it is in the way."""
        views = [_View(folder) for folder in self._plan.folders]
        for (at, place), state in self._changes.old.items():
            if views[at].state(place)[:-1] != state[:-1]:  # a new hard link changes the number of names
                raise EvoSplitError(f"{self._plan.path((at, place))} has changed in the meantime; nothing was written")
        for at, place in moves:
            if (at, place) not in self._changes.old and views[at].state(place):
                raise EvoSplitError(
                    f"{self._plan.path((at, place))} exists, but was not written by EvoSplit; move it away, or choose "
                    "another output"
                )

    def _leave(self) -> None:
        if self._benches[0].is_dir():
            _put_in_order(self._benches[0])
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if not self._committed:
            for folder in reversed(self._made):
                with suppress(OSError):
                    folder.rmdir()


# After a run that was killed


def settle(folder: Path) -> None:
    """Put in order what runs that were killed left in a folder."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _FOLDER.fullmatch(path.name):
                _settle(path)


def _check_alone(root: Path, own: str | None = None) -> None:
    """Refuse to write beside another run into the same directory."""
    for path in root.iterdir() if root.is_dir() else ():
        if path.name != own and _FOLDER.fullmatch(path.name) and "-output-" in path.name:
            raise EvoSplitError(f"another run is writing to {root}, in {path.name}; wait for it to end")


def _settle(bench: Path) -> None:
    """Finish or take back what a killed run began; a run that is alive, and what no run of ours made, is let be."""
    if not bench.is_dir() or bench.is_symlink():
        return
    parts = {path.name for path in bench.iterdir()}
    if not parts <= _PARTS:
        return
    if "main" in parts:
        main = Path((bench / "main").read_text(encoding="utf-8", errors="surrogateescape") or bench / "none")
        if main.is_dir():
            _settle(main)
            if main.is_dir():
                return
        # Its own files are put back where the directory it belonged to has been deleted since.
        for path in (bench / "old").iterdir() if "old" in parts else ():
            if not os.path.lexists(bench.parent / path.name):
                path.rename(bench.parent / path.name)
        shutil.rmtree(bench, ignore_errors=True)
        return
    lock = _lock(bench)
    if lock is not None:
        try:
            _put_in_order(bench)
        finally:
            os.close(lock)


def _put_in_order(bench: Path) -> None:
    """Take back a commit that is not done, or clear up after one that is; then remove the folder."""
    others: list[str] = []
    with suppress(OSError, ValueError):  # killed before they were written down, and so before they were made
        others = json.loads((bench / "others").read_text(encoding="utf-8"))
    # Nothing is touched in a folder that the run did not reach.
    benches = [bench, *(other if (other / "main").is_file() else None for other in map(Path, others))]
    journal, done = bench / "journal", bench / "done"
    if journal.exists():
        _roll_back(json.loads(journal.read_text(encoding="utf-8")), benches)
        journal.unlink()
    for other in benches[1:]:
        if other is not None:
            shutil.rmtree(other, ignore_errors=True)
    if done.exists():
        for name in ("old", "new"):
            shutil.rmtree(bench / name, ignore_errors=True)
        for folder in json.loads(done.read_text(encoding="utf-8"))["emptied"]:
            with suppress(OSError):  # it is not empty, or gone
                (bench.parent / folder).rmdir()
        done.unlink()
    shutil.rmtree(bench, ignore_errors=True)


def _roll_back(journal: Mapping[str, Any], benches: Sequence[Path | None]) -> None:
    # Everything was in new/ when the journal was written: what is not there has been moved to its place.
    for at, place in reversed(journal["new"]):
        bench = benches[at]
        if bench is not None and not os.path.lexists(bench / "new" / place) and os.path.lexists(bench.parent / place):
            (bench.parent / place).rename(bench / "new" / place)
    for number, (at, place) in enumerate(journal["old"]):
        bench = benches[at]
        if bench is not None and os.path.lexists(kept := _kept(bench, number, place)):
            if os.path.lexists(bench.parent / place):
                raise EvoSplitError(
                    f"a run that was interrupted left {kept}, and {bench.parent / place} is in its place; "
                    "move one of them away"
                )
            kept.rename(bench.parent / place)


def _kept(bench: Path, number: int, place: str) -> Path:
    """Return where a replaced file waits: by its number; beside single files by its name."""
    return bench / "old" / (place if (bench / "main").exists() else str(number))


def _lock(bench: Path) -> int | None:
    """Hold the folder of a run as long as the process lives; None if another process does."""
    handle = os.open(bench / "lock", os.O_CREAT | os.O_RDWR, 0o666)
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            pass  # a file system without locks, where a run cannot tell either
    return handle


# The record


def read_record(root: Path) -> list[Run]:
    """Read what earlier runs wrote into a directory.

    Paths that would leave it are refused, since the record may have come with somebody else's data.
    """
    path = root / RECORD
    if not os.path.lexists(path):
        return []
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["format"] != _FORMAT or record["version"] != _VERSION:
            raise ValueError(f"its format is {record['format']} {record['version']}")
        runs = [Run(str(run["writer"]), dict(run["files"]), list(run["folders"])) for run in record["runs"]]
        for place in (place for run in runs for place in (*run.files, *run.folders)):
            pure = PurePosixPath(place)
            if pure.is_absolute() or not pure.parts or ".." in pure.parts or str(pure) != place or "\\" in place:
                raise ValueError(f"it names {place!r}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EvoSplitError(
            f"{path} does not say what EvoSplit wrote there ({error}); delete it, and what it was to list"
        ) from error
    return runs


def _changed(path: Path, entry: Entry, state: State, n_names: int) -> str | None:
    """Say why a file of an earlier run may not be taken away; None if it may."""
    *_, kind, size, mtime_ns, n_links = state
    if "link" in entry:
        same = kind == stat.S_IFLNK and str(path.readlink()) == entry["link"]
        return None if same else "was put in place of a link of EvoSplit"
    if kind != stat.S_IFREG:
        return "was put in place of a file of EvoSplit"
    if "hard" in entry:
        return None if n_links > n_names else "is the last link to its picture"
    if (size, mtime_ns) != (entry.get("size"), entry.get("mtime_ns")):
        return "was changed since EvoSplit wrote it"
    if "source" in entry:
        source = Path(entry["source"])
        if not source.is_file() or source.stat().st_size != size:
            return f"is a copy of {source}, which is gone or has changed"
    return None


def _is_report(path: Path) -> bool:
    from evosplit.report.html import is_report_page  # with all that draws a page, which few commands need

    start = "<!doctype"
    with suppress(OSError, ValueError), path.open(encoding="utf-8", newline="") as stream:
        return not path.is_symlink() and stream.read(len(start)) == start and is_report_page(start + stream.read())
    return False


def _is_manifest(path: Path) -> bool:
    try:
        Split.load(path)
    except EvoSplitError:
        return False
    return not path.is_symlink()


# Paths


def check_space(root: Path, needed: int) -> None:
    """Refuse to start what the disk cannot hold."""
    existing = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise EvoSplitError(
            f"the output needs {needed / 1e6:.0f} MB, but {root} has {free / 1e6:.0f} MB free; choose another disk"
        )


def ignores_case(folder: Path) -> bool:
    """Tell whether the file system of a folder, which need not exist, takes Name and name for the same."""
    existing = [path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()]
    named = next((path for path in existing if path.name.swapcase() != path.name), None)
    if named is None:
        return False
    other = named.with_name(named.name.swapcase())
    return other.exists() and other.samefile(named)


def _check_distinct(folder: Path, places: Sequence[str]) -> None:
    """Refuse a plan in which two outputs are the same file, or one is a folder of another."""
    key = _folded if ignores_case(folder) else str
    seen: dict[str, str] = {}
    for number, place in enumerate(places, start=1):
        other = seen.setdefault(key(place), place)
        if len(seen) < number:
            both = "" if other == place else f" and {folder / place}"
            raise EvoSplitError(
                f"two outputs would be the same file, {folder / other}{both}; give one of them another name"
            )
    for above in {parent for place in {place.rpartition("/")[0] for place in seen} for parent in _upwards(place)}:
        if above in seen:
            raise EvoSplitError(f"{folder / seen[above]} would be a file and a folder; give one of them another name")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _upwards(place: str) -> Iterator[str]:
    while place:
        yield place
        place = place.rpartition("/")[0]


def _entry(path: Path, folders: dict[Path, Path] | None = None) -> Path:
    """Return a path without links above its last part, which may be one; `folders` remembers where links lead."""
    if folders is None:
        return path.parent.resolve() / path.name
    if path.parent not in folders:
        folders[path.parent] = path.parent.resolve()
    return folders[path.parent] / path.name


def _below(folder: Path) -> tuple[list[str], list[str]]:
    """List the files and the folders below a folder."""
    files: list[str] = []
    folders: list[str] = []
    waiting = [""]
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as entries:
            for entry in entries:
                place = f"{above}/{entry.name}" if above else entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(place)
                    waiting.append(place)
                else:
                    files.append(place)
    return files, folders


def _tops(folder: Path, files: Iterable[str]) -> list[str]:
    """Name what has to be moved: a whole folder where there is none yet, else file by file."""
    absent: dict[str, str | None] = {"": None}

    def top(place: str) -> str | None:
        if place not in absent:
            above = top(place.rpartition("/")[0])
            absent[place] = above if above is not None else None if os.path.lexists(folder / place) else place
        return absent[place]

    return list(dict.fromkeys(top(place.rpartition("/")[0]) or place for place in sorted(files)))


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())

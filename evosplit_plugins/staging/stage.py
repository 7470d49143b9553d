"""The hidden folder in which all outputs are made, and the commit that moves them to their final paths."""

from __future__ import annotations

import gzip
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING

from evosplit import EvoSplitError
from evosplit_plugins.staging.paths import View, files_below, folded, ignores_case, same_file, tops, write_new
from evosplit_plugins.staging.record import RECORD, Entry, Run, written_record
from evosplit_plugins.staging.recovery import check_alone, hold, kept_path, put_in_order, remove

if TYPE_CHECKING:
    from evosplit_plugins.staging.plan import Changes, Plan, Spot

__all__ = ["Staging"]


class Staging:
    """A hidden folder in the output directory, where all outputs are made before they are moved to their final paths.

    Used as a context manager. If anything fails or is interrupted before `commit` is done, nothing changes.

    Parameters
    ----------
    plan
        What will be written.
    changes
        What is removed for it.
    """

    def __init__(self, plan: Plan, changes: Changes) -> None:
        self._plan = plan
        self._changes = changes
        self._put: dict[str, Entry] = {}  # what was linked or copied
        self._folders: set[str] = set()
        self._made: list[Path] = []
        kind = "file" if plan.root is None else "output"
        name = secrets.token_hex(4)
        self._benches = [
            folder / f".evosplit-{kind if at == 0 else 'file'}-{name}" for at, folder in enumerate(plan.folders)
        ]
        self._new = f"{self._benches[0]}/new"
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
                    self._lock = hold(bench)
                    if self._lock is None:
                        raise EvoSplitError(f"another run is writing to {folder}; wait for it to end")
                    write_new(bench / "others", json.dumps([str(other.absolute()) for other in self._benches[1:]]))
                else:
                    write_new(bench / "main", str(self._benches[0].absolute()))
                (bench / "new").mkdir()
                (bench / "old").mkdir()
                if ignores_case(bench):  # which an empty folder did not tell when the plan was checked
                    self._plan.check_distinct(folder, ignore_case=True)
            if self._plan.root is not None:
                check_alone(self._plan.root, self._benches[0].name)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def path(self, place: PurePosixPath | Path) -> Path:
        """Return where to make the file for `place`: a path below the output directory, or that of a single file."""
        at, below = self._plan.spot(place) if isinstance(place, Path) else (0, str(place))
        if at == 0:
            self._make_folder(below)
        return self._benches[at] / "new" / below

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

    def write(self, place: PurePosixPath | Path, text: str) -> None:
        """Make a text file, which is on disk when this ends."""
        write_new(self.path(place), text)

    def put(self, mode: str, source: str | Path, place: str | PurePosixPath) -> None:
        """Link or copy one file: "symlink", "hardlink" or "copy"."""
        # Called for every picture: a Path would cost more than the link.
        given, below = os.fspath(source), os.fspath(place)
        path = f"{self._new}/{below}"
        self._make_folder(below)
        try:
            if mode == "symlink":
                os.symlink(given, path)  # noqa: PTH211
                self._put[below] = {"link": given}
            elif mode == "hardlink":
                os.link(os.path.realpath(given), path)  # the file itself, where the source is a symbolic link
                self._put[below] = {"hard": True}
            else:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                shutil.copyfile(given, path)
                self._put[below] = {"source": str(Path(given).absolute())}
        except FileExistsError:
            # Files whose folder depends on the split were not in the plan, so names that differ in case clash here.
            other = next((other for other in self._put if folded(other) == folded(below)), below)
            raise same_file(self._plan.folders[0], other, below) from None

    def _make_folder(self, below: str) -> None:
        """Make the folder of a file of the output directory, once."""
        folder = below.rpartition("/")[0]
        if folder and folder not in self._folders:
            Path(f"{self._new}/{folder}").mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)

    def commit(self) -> None:
        """Move all new files to their final paths, and the files that they replace out of the way."""
        main, folders = self._benches[0], self._plan.folders
        made = [files_below(bench / "new") for bench in self._benches]
        if ignores_case(main):  # and may list names in another case than they were given
            given = {folded(place): place for place in (*map(str, self._plan.files), *self._put)}
            made[0] = ([given.get(folded(place), place) for place in made[0][0]], made[0][1])
        if self._plan.root is not None:
            record = self._record(*made[0])
            write_new(main / "new" / RECORD, record)
            made[0][0].append(RECORD)
        moves = [(at, top) for at, (files, _) in enumerate(made) for top in tops(folders[at], files)]
        self._check_still(moves)
        old = list(self._changes.old)
        journal = {
            "old": old,
            "new": moves,
            "emptied": self._changes.emptied,
        }
        write_new(main / "journal.tmp", json.dumps(journal))
        (main / "journal.tmp").rename(main / "journal")
        for number, (at, place) in enumerate(old):
            (folders[at] / place).rename(kept_path(self._benches[at], number, place))
        for at, place in moves:
            if os.path.lexists(folders[at] / place):
                raise EvoSplitError(f"{folders[at] / place} has appeared in the meantime; nothing was written")
            (self._benches[at] / "new" / place).rename(folders[at] / place)
        (main / "journal").rename(main / "done")
        self._committed = True

    def _record(self, files: Sequence[str], folders: Sequence[str]) -> str:
        """Return the record of what the directory contains after this run."""
        root = self._plan.folders[0]
        entries = dict(self._changes.carried)
        for place in files:
            entry = self._put.get(place, {})
            if not ("hard" in entry or "link" in entry):
                found = os.lstat(f"{self._new}/{place}")
                entry = {"size": found.st_size, "mtime_ns": found.st_mtime_ns, **entry}
            entries[place] = entry
        own = [each for each in folders if each in self._changes.emptied or not (root / each).exists()]
        return written_record([*self._changes.runs, Run(self._plan.writer, entries, own)])

    def _check_still(self, moves: Sequence[Spot]) -> None:
        """Refuse to commit if anything changed since the check, or an unplanned file would replace another."""
        views = [View(folder) for folder in self._plan.folders]
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
        try:
            if self._benches[0].is_dir():
                put_in_order(self._benches[0])
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
        remove(self._benches[0])
        if not self._committed:
            for folder in reversed(self._made):
                with suppress(OSError):
                    folder.rmdir()

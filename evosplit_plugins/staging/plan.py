"""The plan of what a command will write, checked before anything is written."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from evosplit import EvoSplitError
from evosplit.wording import listed
from evosplit_plugins.staging.paths import State, View, check_distinct, entry_of, folded, ignores_case
from evosplit_plugins.staging.record import RECORD, Entry, Run, changed, is_manifest, is_report, read_record
from evosplit_plugins.staging.recovery import check_alone, settle
from evosplit_plugins.staging.stage import Staging

__all__ = ["Changes", "Plan", "Spot"]

_SHOWN = 3
_LINKS_FOLLOWED = 40  # in a row, as many as Linux follows

Spot: TypeAlias = tuple[int, str]
"""The position of a folder in the plan, and a path below it."""


@dataclass(frozen=True)
class Changes:
    """What a plan removes.

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
    """Everything that a command will write.

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
    source
        What the manifests say of where their samples come from; one that names other data is not replaced.
    inputs
        The files that are read.
    input_folders
        The directories that are read from.
    keep
        Files of an earlier run that stay because this run adds to it, such as the manifest that is replayed. Only runs
        that have a file in common with this one are then replaced.
    overwrite
        Replace what earlier runs wrote below `root`. Reports and manifests are replaced without it.
    """

    root: Path | None
    writer: str = ""
    files: Sequence[str | PurePosixPath] = ()
    reports: Sequence[Path] = ()
    manifests: Sequence[Path] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    inputs: Sequence[Path] = ()
    input_folders: Sequence[Path] = ()
    keep: Sequence[PurePosixPath] = ()
    overwrite: bool = False

    def check(self) -> Changes:
        """Refuse what cannot be written, after recovering from runs that were killed."""
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
            check_alone(self.root)
        reports = {self.spot(path) for path in self.reports}
        manifests = {self.spot(path) for path in self.manifests}
        for folder in self.folders:
            self.check_distinct(folder, ignore_case=ignores_case(folder))
        ignore_case = ignores_case(self.folders[0])
        views = [View(folder) for folder in self.folders]
        existing = {spot: state for spot in self._spots if (state := views[spot[0]].state(spot[1]))}
        runs = [] if self.root is None else read_record(self.root)
        replaced = [run for run in runs if self._replaces(run)]
        known = {(0, place): entry for run in replaced for place, entry in run.files.items()}
        if ignore_case:
            planned = {folded(place): place for at, place in self._spots if at == 0}
            known = {(0, planned.get(folded(place), place)): entry for (_, place), entry in known.items()}
        inputs = _Inputs(self.inputs, ignore_case)
        strange = []
        for spot in existing:
            inputs.check(self.path(spot), known.get(spot))
            if spot not in known and not (
                (spot in reports and is_report(self.path(spot)))
                or (spot in manifests and is_manifest(self.path(spot), self.source))
            ):
                strange.append(str(self.path(spot)))
        if strange:
            raise self._not_ours(strange, runs)
        kept = [self.path(spot) for spot in existing if spot not in reports]
        if kept and self.root is not None and not self.overwrite:
            are = "exists" if len(kept) == 1 else "exist"
            raise EvoSplitError(f"{listed(kept, _SHOWN)} already {are}; pass overwrite=True or choose another output")
        keep = {(0, str(place)) for place in self.keep}
        old = {spot: state for spot in known if spot not in keep and (state := views[0].state(spot[1]))}
        self._check_may_go(old, known, inputs)
        if self.root is not None:
            old[0, RECORD] = views[0].state(RECORD)
        return Changes(
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
                errno.EXDEV: "the images are on another file system, so use images='symlink' or images='copy'",
                errno.ENOSYS: "if no links can be made there, use images='copy'",
                errno.EOPNOTSUPP: "if no links can be made there, use images='copy'",
                errno.EPERM: "choose a directory that you may write to, or images='copy' if no links can be made there",
                errno.EACCES: "choose a directory that you may write to",
                errno.EROFS: "choose a directory that you may write to",
            }
            remedy = remedies.get(error.errno or 0, "choose another output directory")
            what = f"write to {self.folders[0]}"
            if isinstance(error.filename, str) and error.filename2 is None:
                path = Path(error.filename)
                above = [folder for folder in self.folders if folder in (path, *path.parents)]
                what = f"write to {max(above, key=lambda each: len(each.parts))}" if above else f"read {error.filename}"
                remedy = remedy if above else "see whether it is there and may be read"
            raise EvoSplitError(f"cannot {what}: {error.strerror or error}; nothing was changed; {remedy}") from error

    @cached_property
    def folders(self) -> Sequence[Path]:
        """The directories to write into: the output directory, then those of single files outside of it."""
        singles = [path for path in (*self.reports, *self.manifests) if self._below_root(path) is None]
        return list(dict.fromkeys([*([] if self.root is None else [self.root]), *(path.parent for path in singles)]))

    def spot(self, path: Path) -> Spot:
        """Return the folder of a single file and its path below it."""
        below = self._below_root(path)
        return (self.folders.index(path.parent), path.name) if below is None else (0, below)

    def path(self, spot: Spot) -> Path:
        """Return where something belongs."""
        return self.folders[spot[0]] / spot[1]

    def check_distinct(self, folder: Path, *, ignore_case: bool) -> None:
        """Refuse two outputs that would be one file in this folder, or one of which would be a folder of the other."""
        at = self.folders.index(folder)
        reserved = [RECORD] if at == 0 and self.root is not None else []
        places = [*reserved, *(place for where, place in self._spots if where == at)]
        check_distinct(folder, places, ignore_case=ignore_case)

    @cached_property
    def _spots(self) -> Sequence[Spot]:
        return [*((0, str(place)) for place in self.files), *(map(self.spot, (*self.reports, *self.manifests)))]

    def _below_root(self, path: Path) -> str | None:
        if self.root is None:
            return None
        root, entry = self.root.resolve(), entry_of(path)
        return entry.relative_to(root).as_posix() if root in entry.parents else None

    def _replaces(self, run: Run) -> bool:
        own = run.writer == self.writer
        return own and ((self.overwrite and not self.keep) or any(str(place) in run.files for place in self.files))

    def _not_ours(self, strange: Sequence[str], runs: Sequence[Run]) -> EvoSplitError:
        """Return the error for files that this writer did not write, which names another that did."""
        writers = {str(self.path((0, place))): run.writer for run in runs for place in run.files}
        if others := [path for path in strange if writers.get(path, self.writer) != self.writer]:
            return EvoSplitError(
                f"{self.root} holds an output of the {writers[others[0]]} adapter ({listed(others, _SHOWN)}), "
                f"which {self.writer} does not replace; choose another output"
            )
        written = "written by EvoSplit, or was changed since" if len(strange) == 1 else "written by EvoSplit"
        are = "exists, but was not" if len(strange) == 1 else "exist, but were not"
        return EvoSplitError(f"{listed(strange, _SHOWN)} {are} {written}; move it away, or choose another output")

    def _check_not_linked_inside(self, root: Path) -> None:
        """Refuse an output directory that only a link leads into an input."""
        here, there = root.absolute(), root.resolve()
        for folder in self.input_folders:
            if folder.resolve() in (there, *there.parents) and folder.absolute() not in (here, *here.parents):
                raise EvoSplitError(f"the output {root} leads through a link into the input {folder}; choose another")

    def _check_may_go(self, old: Mapping[Spot, State], known: Mapping[Spot, Entry], inputs: _Inputs) -> None:
        """Refuse to remove inputs, changed files, and pictures that exist nowhere else."""
        kept = []
        names = Counter(state[:2] for state in old.values())
        for spot, state in old.items():
            path, entry = self.path(spot), known[spot]
            inputs.check(path, entry)
            reason = changed(path, entry, state, names[state[:2]])
            if reason and not is_report(path):  # which an audit may have written anew since
                kept.append(f"{path} {reason}")
        if kept:
            raise EvoSplitError(
                f"{listed(kept, _SHOWN)}; nothing was written: move it away, delete it yourself, or choose another "
                "output"
            )


class _Inputs:
    """The files that are read, by every name that leads to them."""

    def __init__(self, paths: Sequence[Path], ignore_case: bool) -> None:
        self._paths = paths
        self._ignore_case = ignore_case
        self._folders: dict[Path, Path] = {}

    def check(self, path: Path, entry: Entry | None) -> None:
        """Refuse to replace or remove an input, or a link to one that no earlier run made."""
        given = self._names.get(self._key(entry_of(path, self._folders)))
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
        return folded(str(entry)) if self._ignore_case else str(entry)

    @cached_property
    def _names(self) -> Mapping[str, Path]:
        names: dict[str, Path] = {}
        for given in self._paths:
            path = given
            names[self._key(entry_of(path, self._folders))] = given
            for _ in range(_LINKS_FOLLOWED):
                if not path.is_symlink():
                    break
                path = path.parent / path.readlink()
                names[self._key(entry_of(path, self._folders))] = given
        return names

    @cached_property
    def _files(self) -> Mapping[tuple[int, int], Path]:
        found: dict[tuple[int, int], Path] = {}
        for path in self._paths:
            with suppress(OSError):
                state = path.stat()
                found[state.st_dev, state.st_ino] = path
        return found

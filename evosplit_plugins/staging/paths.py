"""Paths below folders that may contain links, names that differ in case, and other programs' files."""

from __future__ import annotations

import os
import shutil
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from evosplit import EvoSplitError

__all__ = [
    "State",
    "View",
    "check_distinct",
    "check_space",
    "entry_of",
    "files_below",
    "folded",
    "ignores_case",
    "same_file",
    "tops",
    "write_new",
]

State: TypeAlias = tuple[int, ...]
"""Device, inode, type, size, time and number of names of a file; nothing where there is none."""


class View:
    """The files below a folder; a link or a file in place of a folder is refused."""

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
            raise EvoSplitError(f"{path} is a directory, where a file would be written; choose another name")
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


def check_space(root: Path, needed: int) -> None:
    """Refuse an output that is larger than the free space of the disk."""
    existing = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise EvoSplitError(
            f"the output needs {needed / 1e6:,.1f} MB, but {root} has {free / 1e6:,.1f} MB free; choose another disk"
        )


def ignores_case(folder: Path) -> bool:
    """Whether the file system of a folder, which need not exist, ignores case."""
    for above in (folder.absolute(), *folder.absolute().parents):
        # A folder may be a mount point, so the names in it are tried before its own.
        for name in _names(above):
            other = above / name.swapcase()
            if other.name != name:
                return os.path.lexists(other) and os.path.samestat(other.lstat(), (above / name).lstat())
    return False


def _names(folder: Path) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (entry.name for entry in entries)


def check_distinct(folder: Path, places: Sequence[str], *, ignore_case: bool) -> None:
    """Refuse a plan in which two outputs are the same file, or one is a folder of another."""
    key = folded if ignore_case else str
    seen: dict[str, str] = {}
    for number, place in enumerate(places, start=1):
        other = seen.setdefault(key(place), place)
        if len(seen) < number:
            raise same_file(folder, other, place)
    for above in {parent for place in {place.rpartition("/")[0] for place in seen} for parent in _upwards(place)}:
        if above in seen:
            raise EvoSplitError(f"{folder / seen[above]} would be a file and a folder; give one of them another name")


def same_file(folder: Path, one: str, other: str) -> EvoSplitError:
    """Return the error for two outputs that have one name."""
    both = "" if one == other else f" and {folder / other}"
    return EvoSplitError(f"two outputs would be the same file, {folder / one}{both}; give one of them another name")


def folded(name: str) -> str:
    """Return the form of a name that file systems which ignore case compare."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _upwards(place: str) -> Iterator[str]:
    while place:
        yield place
        place = place.rpartition("/")[0]


def entry_of(path: Path, folders: dict[Path, Path] | None = None) -> Path:
    """Return a path without links above its last part, which may be one; `folders` remembers where links lead."""
    if folders is None:
        return path.parent.resolve() / path.name
    if path.parent not in folders:
        folders[path.parent] = path.parent.resolve()
    return folders[path.parent] / path.name


def files_below(folder: Path) -> tuple[list[str], list[str]]:
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


def tops(folder: Path, files: Iterable[str]) -> list[str]:
    """Return what has to be moved: whole folders where they do not exist yet, else single files."""
    absent: dict[str, str | None] = {"": None}

    def top(place: str) -> str | None:
        if place not in absent:
            above = top(place.rpartition("/")[0])
            absent[place] = above if above is not None else None if os.path.lexists(folder / place) else place
        return absent[place]

    return list(dict.fromkeys(top(place.rpartition("/")[0]) or place for place in sorted(files)))


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist, and wait until it is on disk."""
    with path.open("x", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())

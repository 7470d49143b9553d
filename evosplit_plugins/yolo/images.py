"""Find images on disk, in folders and in lists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evosplit import EvoSplitError
from evosplit_plugins.files import PathLike

__all__ = ["Disk", "Listed", "absolute", "is_image", "read_list", "read_text"]

_SUFFIXES = frozenset(("avif", "bmp", "dng", "heic", "heif", "jp2", "jpeg", "jpg", "mpo", "png", "tif", "tiff", "webp"))
_PREFIXES = ("data/", "./data/", "../data/")  # folders of exporters, where lists were made to be read from elsewhere


def is_image(name: str) -> bool:
    """Whether Ultralytics takes a file for an image, judged by its suffix.

    Examples
    --------
    >>> is_image("a.JPG"), is_image("a.txt"), is_image("jpg")
    (True, False, False)
    """
    _, dot, suffix = name.rpartition(".")
    return bool(dot) and suffix.lower() in _SUFFIXES


def absolute(path: PathLike) -> str:
    """Write a path in full, with slashes, "." and ".." taken out but no link followed."""
    return Path(os.path.normpath(Path(path).absolute())).as_posix()


class Disk:
    """The contents of folders; each folder is read once."""

    def __init__(self) -> None:
        self._files: dict[str, frozenset[str]] = {}
        self._folders: dict[str, tuple[str, ...]] = {}

    def files(self, folder: str) -> frozenset[str]:
        """Return the names of the files in a folder; none if there is no such folder."""
        self._look(folder)
        return self._files[folder]

    def folders(self, folder: str) -> tuple[str, ...]:
        """Return the names of the folders in a folder, in order; hidden ones are left out."""
        self._look(folder)
        return self._folders[folder]

    def has(self, path: str) -> bool:
        """Tell whether there is such a file."""
        folder, _, name = path.rpartition("/")
        return name in self.files(folder)

    def images(self, folder: str) -> Iterator[str]:
        """Yield the images in a folder and below it, as Ultralytics finds them, without hidden ones."""
        found: list[str] = []
        waiting, seen = [folder], set()
        while waiting:
            here = waiting.pop()
            if here != folder:
                real = os.path.realpath(here)
                if real in seen:  # a link that leads to where it is
                    continue
                seen.add(real)
            found += [f"{here}/{name}" for name in self.files(here) if is_image(name) and not name.startswith(".")]
            waiting += [f"{here}/{name}" for name in self.folders(here)]
        return iter(sorted(found))

    def _look(self, folder: str) -> None:
        if folder in self._files:
            return
        files, folders = [], []
        try:
            with os.scandir(folder or "/") as entries:
                for entry in entries:
                    if Path(entry.path).is_dir() if entry.is_symlink() else entry.is_dir():  # a link may lead to itself
                        folders.append(entry.name)
                    else:
                        files.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise EvoSplitError(f"cannot look into {folder}: {error.strerror}; correct it") from error
        self._files[folder] = frozenset(files)
        self._folders[folder] = tuple(sorted(name for name in folders if not name.startswith(".")))


@dataclass
class Listed:
    """The images that a list names.

    Attributes
    ----------
    path
        The list.
    images
        The images that are there, in its order.
    missing
        The lines that name no image.
    """

    path: str
    images: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def read_list(path: str, root: str, disk: Disk) -> Listed:
    """Read a list of images; paths are relative to the list, to the root, or to a prefix that exporters write.

    Parameters
    ----------
    path
        The list.
    root
        The folder of the data set.
    disk
        What is in folders.
    """
    folder = path.rpartition("/")[0]
    bases = list(dict.fromkeys([folder, root, absolute(".")]))
    found = Listed(path)
    for line in read_text(Path(path)).splitlines():
        name = line.strip().replace("\\", "/")
        if not name:
            continue
        image = next((each for each in _candidates(name, bases) if disk.has(each)), None) if is_image(name) else None
        if image is None:
            found.missing.append(line.strip())
        else:
            found.images.append(image)
    return found


def _candidates(name: str, bases: Sequence[str]) -> Iterator[str]:
    if name.startswith("/") or name[1:2] == ":":
        yield absolute(name)
        return
    plain = name.startswith("./") or not name.startswith(".")
    for base in bases:
        yield f"{base}/{name.removeprefix('./')}" if plain and "/.." not in name else absolute(f"{base}/{name}")
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            for base in bases:
                yield f"{base}/{name.removeprefix(prefix)}"


def read_text(path: Path) -> str:
    """Read a text file, whose encoding is UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not UTF-8 at byte {error.start}"
        raise EvoSplitError(f"cannot read {path}: {reason}; correct it") from error

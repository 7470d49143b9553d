"""Writes the subsets: the bytes of each chosen element, made in a hidden folder and moved when complete."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError
from evosplit_plugins.coco.dataset import CocoData
from evosplit_plugins.coco.ids import first_few
from evosplit_plugins.coco.places import Elements
from evosplit_plugins.coco.reading import CocoFile

__all__ = [
    "Staging",
    "annotation_bytes",
    "annotation_size",
    "check_places",
    "check_space",
    "place_image",
]

Mask: TypeAlias = npt.NDArray[np.bool_]

_PIECES_AT_ONCE = 256  # joined in the processor's cache, they are written at half the cost of larger blocks


def annotation_bytes(data: CocoData, chosen: Mask) -> Iterator[bytes]:
    """Yield the annotation file of the chosen rows in pieces.

    Everything but images and annotations comes from the first input, byte for byte; in the lists stand the
    chosen elements of all inputs in their order, with the first input's separators.

    Parameters
    ----------
    data
        What was read.
    chosen
        For each row whether it belongs to the file.
    """
    first = data.files[0]
    view = memoryview(first.buffer)
    begin = 3 if first.buffer[:3] == b"\xef\xbb\xbf" else 0  # other readers choke on a byte order mark
    for elements in first.lists():
        yield from _kept(data, view, begin, elements.first)
        if elements is first.images:
            yield from _elements(data, chosen, "images", elements.separator)
        else:
            yield from _elements(data, chosen, "annotations", elements.separator)
        begin = elements.last
    yield from _kept(data, view, begin, len(view))


def annotation_size(data: CocoData, chosen: Mask) -> int:
    """Return about how many bytes the annotation file of the chosen rows has."""
    size = sum(map(len, data.files[0].skeleton(memoryview(data.files[0].buffer))))
    for file, image_rows, annotation_rows in zip(data.files, data.image_rows, data.annotation_rows, strict=True):
        for elements, rows in ((file.images, image_rows), (file.annotations, annotation_rows)):
            if elements is not None:
                selected = (rows >= 0) & chosen[rows]
                lengths = elements.stops - elements.starts + len(elements.separator)
                size += int(lengths[selected].sum())
    return size


def _kept(data: CocoData, view: memoryview, begin: int, end: int) -> Iterator[bytes]:
    """Yield a piece between the lists, with the list of categories exchanged if its ids had to change."""
    edited = data.edits[0].categories
    start, stop = data.files[0].categories_at
    if edited is not None and begin <= start and stop <= end:
        yield bytes(view[begin:start]) + edited + bytes(view[stop:end])
    else:
        yield bytes(view[begin:end])


def _elements(data: CocoData, chosen: Mask, key: str, separator: bytes) -> Iterator[bytes]:
    written = False
    for position, file in enumerate(data.files):
        elements: Elements | None = getattr(file, key)
        if elements is None:
            continue
        rows = data.image_rows[position] if key == "images" else data.annotation_rows[position]
        edited: Mapping[int, bytes] = getattr(data.edits[position], key)
        for block in _blocks(file, elements, np.flatnonzero((rows >= 0) & chosen[rows]), edited):
            if written:
                yield separator
            written = True
            yield separator.join(block)


def _blocks(
    file: CocoFile, elements: Elements, selected: npt.NDArray[np.int64], edited: Mapping[int, bytes]
) -> Iterator[list[bytes] | list[memoryview]]:
    """Yield the selected elements, some at a time: neighbours in one piece, unless any element was edited."""
    if not len(selected):
        return
    if edited:
        for start in range(0, len(selected), _PIECES_AT_ONCE):
            some = selected[start : start + _PIECES_AT_ONCE].tolist()
            yield [edited[each] if each in edited else file.element(elements, each) for each in some]
        return
    breaks = np.flatnonzero(np.diff(selected) != 1)
    begins = elements.starts[selected[np.concatenate(([0], breaks + 1))]].tolist()
    ends = elements.stops[selected[np.concatenate((breaks, [len(selected) - 1]))]].tolist()
    source = memoryview(file.buffer)
    for start in range(0, len(begins), _PIECES_AT_ONCE):
        some = slice(start, start + _PIECES_AT_ONCE)
        yield [source[begin:end] for begin, end in zip(begins[some], ends[some], strict=True)]


def place_image(mode: str, source: Path, place: Path) -> None:
    """Link or copy one image."""
    if mode == "symlink":
        place.symlink_to(source)
    elif mode == "hardlink":
        place.hardlink_to(source)
    else:
        shutil.copyfile(source, place)


def check_places(root: Path, places: Iterable[PurePosixPath], *, overwrite: bool, inputs: Sequence[Path]) -> None:
    """Refuse to write over an input, without `overwrite` over anything, or through a link below `root`."""
    if root.exists() and not root.is_dir():
        raise EvoSplitError(f"the output {root} is not a directory; choose another one")
    clear: set[PurePosixPath] = {PurePosixPath(".")}
    taken = []
    for place in places:
        for folder in reversed(place.parents):
            if folder in clear:
                continue
            path = root / folder
            if path.is_symlink():
                raise EvoSplitError(f"{path} is a symbolic link, which is not followed; choose another one")
            if path.exists() and not path.is_dir():
                raise EvoSplitError(f"{path} is in the way: a folder of that name is needed; remove it")
            clear.add(folder)
        path = root / place
        if not os.path.lexists(path):
            continue
        for given in inputs:
            if path.exists() and path.samefile(given):
                raise EvoSplitError(f"{path} is the input {given}; choose another output directory")
        if path.is_dir() and not path.is_symlink():
            raise EvoSplitError(f"{path} is a directory where a file would be written; remove it")
        taken.append(str(path))
    if taken and not overwrite:
        exist = "exists" if len(taken) == 1 else "exist"
        raise EvoSplitError(
            f"{first_few(taken, len(taken))} already {exist}; "
            "pass --overwrite (overwrite=True) or choose another output"
        )


def check_space(root: Path, needed: int) -> None:
    """Refuse to start what the disk cannot hold."""
    existing = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise EvoSplitError(
            f"the output needs {needed / 1e6:.0f} MB, but {root} has {free / 1e6:.0f} MB free; choose another disk"
        )


class Staging:
    """A hidden folder in the output directory, where everything is made before it is moved to its place.

    Used as a context manager. If anything fails or is interrupted, also in the middle of `commit`, the output
    directory is left as it was.

    Parameters
    ----------
    root
        The output directory; it is made if it does not exist.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made: list[Path] = []
        self._moves: list[tuple[Path | None, Path]] = []

    def __enter__(self) -> Staging:
        absent = [folder for folder in (self.root, *self.root.parents) if not folder.exists()]
        try:
            for folder in reversed(absent):
                self._made.append(folder)
                folder.mkdir(exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix=".evosplit-", dir=self.root))
            self._new = self._folder / "new"
            self._old = self._folder / "old"
            self._new.mkdir()
            self._old.mkdir()
        except BaseException:
            self._remove_made()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._undo()
        shutil.rmtree(self._folder, ignore_errors=True)
        if kind is not None:
            self._remove_made()

    def path(self, place: PurePosixPath) -> Path:
        """Return where to make what belongs at `place`."""
        path = self._new / place
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

    def commit(self, *, overwrite: bool) -> None:
        """Move everything to its place."""
        self._move(self._new, self.root, overwrite)

    def _move(self, source: Path, target: Path, overwrite: bool) -> None:
        for entry in sorted(source.iterdir()):
            place = target / entry.name
            if entry.is_dir() and not entry.is_symlink() and place.is_dir() and not place.is_symlink():
                self._move(entry, place, overwrite)
                continue
            # Each move is recorded before it happens, so that an interrupt between the two can be undone.
            if os.path.lexists(place):
                if not overwrite:
                    raise EvoSplitError(f"{place} has appeared in the meantime; nothing was written")
                old = self._old / str(len(self._moves))
                self._moves.append((old, place))
                place.rename(old)
            self._moves.append((None, place))
            entry.rename(place)

    def _undo(self) -> None:
        for old, place in reversed(self._moves):
            if old is not None:
                if os.path.lexists(old):
                    old.rename(place)
            elif place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)

    def _remove_made(self) -> None:
        for folder in reversed(self._made):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

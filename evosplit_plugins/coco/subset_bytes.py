"""The bytes of a subset's annotation file: the selected elements, and everything around the lists unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit_plugins.coco.dataset import CocoData
from evosplit_plugins.coco.json_offsets import Elements
from evosplit_plugins.coco.reading import CocoFile

__all__ = ["annotation_bytes", "annotation_size"]

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
        yield from _elements(data, chosen, "images" if elements is first.images else "annotations", elements.separator)
        begin = elements.last
    yield from _kept(data, view, begin, len(view))


def annotation_size(data: CocoData, chosen: Mask) -> int:
    """Return about how many bytes the annotation file of the chosen rows has."""
    size = sum(map(len, data.files[0].skeleton(memoryview(data.files[0].buffer))))
    for file, of_file in zip(data.files, data.rows, strict=True):
        for elements, rows in ((file.images, of_file.images), (file.annotations, of_file.annotations)):
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
        rows: npt.NDArray[np.int64] = getattr(data.rows[position], key)
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

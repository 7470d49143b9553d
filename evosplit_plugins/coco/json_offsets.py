"""The byte offsets of images and annotations in a valid COCO file.

The quick way looks for `}`, a comma and `{` between the elements and proves that it found exactly those; the
other way has the decoder cut out each element, which takes three times as long and always works.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw

__all__ = ["Buffer", "Elements", "address", "cut_out", "find_elements", "look_for"]

Buffer: TypeAlias = "mmap.mmap | bytes | bytearray"
IntArray: TypeAlias = npt.NDArray[np.int64]
ByteArray: TypeAlias = npt.NDArray[np.uint8]

_CHUNK = 1 << 19
_LONGEST_SPACE = 64
_LIST = re.compile(rb'"(images|annotations)"[ \t\r\n]*:[ \t\r\n]*\[[ \t\r\n]*(?=\{)')
_END = re.compile(rb"\}[ \t\r\n]*\]")
_IS_SPACE = np.zeros(256, dtype=bool)
_IS_SPACE[list(b" \t\r\n")] = True


class _Lists(msgspec.Struct):
    images: list[Raw]
    annotations: list[Raw] = []


class _Regions(msgspec.Struct):
    images: Raw
    annotations: Raw = Raw(b"")


@dataclass(frozen=True)
class Elements:
    """Where the elements of one top-level list lie.

    Attributes
    ----------
    starts, stops
        Byte offsets of each element.
    first, last
        No element lies before `first` or from `last` on; for an empty list both point behind its bracket.
    separator
        What stands between the elements, taken from the first two.
    """

    starts: IntArray
    stops: IntArray
    first: int
    last: int
    separator: bytes

    def __len__(self) -> int:
        return len(self.starts)


def address(view: Any) -> int:
    """Return where the bytes of a buffer lie in memory."""
    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])


def find_elements(buffer: Buffer, sizes: Mapping[str, int]) -> dict[str, Elements]:
    """Find the elements of the lists `images` and `annotations`.

    Parameters
    ----------
    buffer
        A valid JSON object, both of whose lists hold objects.
    sizes
        How many elements the lists have; a list that the file lacks is left out.
    """
    return look_for(buffer, sizes) or cut_out(buffer, sizes)


def look_for(buffer: Buffer, sizes: Mapping[str, int]) -> dict[str, Elements] | None:
    """Find the elements by the separators between them; None where the result cannot be proved right.

    The boundaries that are found comprise all true ones. So if a list seems to end at `last` with one
    boundary less than it has elements, either all of them are true, or `last` is not its end. Then it lies
    in a string, which leaves an odd number of quotes before it, or deeper than the list, and the file with
    that piece cut out is not valid any more, because it closes more than it opens.
    """
    data = np.frombuffer(buffer, np.uint8)
    found = _boundaries(data)
    if found is None:
        return None
    stops, starts = found
    lists: dict[str, Elements] = {}
    position = 0
    for _ in sizes:
        match = _LIST.search(buffer, position)
        if match is None:
            return None
        key = match[1].decode()
        n = sizes.get(key, 0)
        first = match.end()
        begin = int(np.searchsorted(stops, first))
        end = begin + n - 1
        if key in lists or n == 0 or end > len(stops):
            return None
        own_starts = np.concatenate(([first], starts[begin:end]))
        closing = _END.search(buffer, int(own_starts[-1]))
        if closing is None:
            return None
        last = closing.start() + 1
        if (end < len(stops) and stops[end] < last) or not _ends_outside_strings(data, first, last):
            return None
        separator = bytes(buffer[int(stops[begin]) : int(starts[begin])]) if n > 1 else b","
        own_stops = np.concatenate((stops[begin:end], [last]))
        lists[key] = Elements(own_starts, own_stops, first, last, separator)
        position = last
    return lists if _is_whole_without(buffer, lists) else None


def _boundaries(data: ByteArray) -> tuple[IntArray, IntArray] | None:
    """Return where a closing brace ends and, after one comma, the next opening brace begins."""
    stops, starts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for begin in range(0, len(data), _CHUNK):
        closing = np.flatnonzero(data[begin : begin + _CHUNK] == ord("}")) + begin
        comma = _after_space(data, closing + 1)
        if comma is None:
            return None
        separated = data[comma] == ord(",")
        opening = _after_space(data, comma[separated] + 1)
        if opening is None:
            return None
        opened = data[opening] == ord("{")
        stops.append(closing[separated][opened] + 1)
        starts.append(opening[opened])
    return np.concatenate(stops), np.concatenate(starts)


def _after_space(data: ByteArray, positions: IntArray) -> IntArray | None:
    """Move each position past the white space that begins there; None if there is very much of it."""
    end = len(data) - 1
    positions = np.minimum(positions, end)
    for _ in range(_LONGEST_SPACE):
        space = _IS_SPACE[data[positions]] & (positions < end)
        if not space.any():
            return positions
        positions = positions + space
    return None


def _ends_outside_strings(data: ByteArray, first: int, last: int) -> bool:
    """Tell whether a piece that begins outside of a string surely ends so: an even number of plain quotes."""
    quotes = 0
    for begin in range(first, last, _CHUNK):
        chunk = data[begin : min(begin + _CHUNK, last)]
        if (chunk == ord("\\")).any():
            return False
        quotes += int(np.count_nonzero(chunk == ord('"')))
    return quotes % 2 == 0


def _is_whole_without(buffer: Buffer, lists: Mapping[str, Elements]) -> bool:
    """Whether the file is valid JSON, with the lists at the same offsets, if each list is replaced by [0]."""
    view = memoryview(buffer)
    pieces: list[Any] = []
    expected: dict[str, int] = {}
    begin = length = 0
    for key, elements in sorted(lists.items(), key=lambda item: item[1].first):
        length += elements.first - begin
        expected[key] = length
        pieces += [view[begin : elements.first], b"0"]
        begin, length = elements.last, length + 1
    skeleton = b"".join([*pieces, view[begin:]])
    try:
        found = msgspec.json.decode(skeleton, type=_Lists)
    except (msgspec.DecodeError, RecursionError):
        return False
    base = address(skeleton)
    return all([address(raw) - base for raw in getattr(found, key)] == [offset] for key, offset in expected.items())


def cut_out(buffer: Buffer, sizes: Mapping[str, int]) -> dict[str, Elements]:
    """Find the elements by decoding the file into views of them."""
    found = msgspec.json.Decoder(_Lists).decode(buffer)
    base = address(buffer)
    lists = {}
    for key in sizes:
        raws: list[Raw] = getattr(found, key)
        if not raws:
            region = getattr(msgspec.json.Decoder(_Regions).decode(buffer), key)
            inside = address(region) - base + 1
            lists[key] = Elements(np.zeros(0, np.int64), np.zeros(0, np.int64), inside, inside, b",")
            continue
        starts = np.fromiter((address(raw) - base for raw in raws), np.int64, len(raws))
        stops = starts + np.fromiter(map(len, raws), np.int64, len(raws))
        separator = bytes(buffer[int(stops[0]) : int(starts[1])]) if len(raws) > 1 else b","
        lists[key] = Elements(starts, stops, int(starts[0]), int(stops[-1]), separator)
    return lists

"""Label files: how often they name each class, and what Ultralytics would refuse.

`read_label_file` reads one file line by line, as Ultralytics does. `count_classes` gives the same for many files: plain
ones are counted on their bytes, all at once, and only those with anything unusual are read line by line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Counted", "Flaw", "Rules", "box_areas", "count_classes", "read_label_file"]

Ints = npt.NDArray[np.int64]

_BOX = 5  # columns: class, x, y, width, height
_POLYGON = 7  # columns: class and at least three points
_OVER, _UNDER = 1.01, -0.01  # as far as coordinates may leave the picture
_PIXELS = 2.0  # more than a coordinate that is a bit outside
_CHUNK = 4 << 20  # bytes that are counted at once
_DIGITS = 4  # of a class in a plain file


@dataclass(frozen=True)
class Rules:
    """The rules that a label file has to follow.

    Attributes
    ----------
    n_classes
        How many classes there are.
    keypoints
        Their number and dimension, if the data is for poses.
    """

    n_classes: int
    keypoints: tuple[int, int] | None = None

    @property
    def pose_columns(self) -> int | None:
        """How many columns a line has, if the data is for poses."""
        return None if self.keypoints is None else _BOX + self.keypoints[0] * self.keypoints[1]


@dataclass(frozen=True)
class Flaw:
    """Why Ultralytics would leave out an image: the kind of error, the line number, and the text."""

    kind: str
    line: int
    found: str


@dataclass(frozen=True)
class Counted:
    """The instances of some label files.

    Attributes
    ----------
    files, classes
        For each instance the position of its file, and its class.
    flaws
        What is wrong, by the position of the file; such a file has no instances.
    """

    files: Ints
    classes: Ints
    flaws: Mapping[int, Flaw]


def read_label_file(content: bytes, rules: Rules) -> list[int] | Flaw:
    r"""Return the class of each distinct line, or the first flaw.

    Examples
    --------
    >>> read_label_file(b"0 0.5 0.5 0.1 0.1\n0 0.5 0.50 0.1 0.1\n1 0.2 0.2 0.1 0.1\n", Rules(2))
    [0, 1]
    >>> read_label_file(b"2 0.5 0.5 0.1 0.1\n", Rules(2))
    Flaw(kind='class', line=1, found='2')
    """
    rows = _rows(content)
    if isinstance(rows, Flaw):
        return rows
    flaw = _wrong_columns(rows, rules)
    if flaw is not None:
        return flaw
    seen: dict[bytes, int] = {}
    for line, tokens in rows:
        values = _numbers(tokens)
        if values is None:
            return Flaw("number", line, " ".join(tokens)[:60])
        flaw = _wrong_values(line, values, tokens, rules)
        if flaw is not None:
            return flaw
        # Ultralytics drops rows that are equal in single precision; 0.0 is added for the sake of -0.
        seen.setdefault((np.array(values, dtype=np.float32) + np.float32(0)).tobytes(), int(values[0]))
    return list(seen.values())


def _rows(content: bytes) -> list[tuple[int, list[str]]] | Flaw:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Flaw("encoding", content.count(b"\n", 0, error.start) + 1, f"byte {error.start}")
    return [(number, line.split()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]


def _wrong_columns(rows: Sequence[tuple[int, list[str]]], rules: Rules) -> Flaw | None:
    expected = rules.pose_columns
    polygons = expected is None and any(len(tokens) >= _POLYGON for _, tokens in rows)
    for line, tokens in rows:
        n = len(tokens)
        if expected is not None:
            if n != expected:
                return Flaw("pose", line, f"{n} columns")
        elif polygons and n == _BOX:
            return Flaw("mixed", line, "")
        elif n == _BOX + 1:
            return Flaw("six", line, " ".join(tokens))
        elif (n < _POLYGON if polygons else n != _BOX) or n % 2 == 0:
            return Flaw("columns", line, f"{n} columns")
    return None


def _numbers(tokens: Sequence[str]) -> list[float] | None:
    try:
        values = [float(token) for token in tokens]
    except ValueError:
        return None
    return values if all(map(math.isfinite, values)) else None


def _wrong_values(line: int, values: Sequence[float], tokens: Sequence[str], rules: Rules) -> Flaw | None:
    name = values[0]
    if name < 0 or name != int(name) or name >= rules.n_classes:
        return Flaw("class", line, tokens[0])
    shown = " ".join(tokens[1:5])
    if rules.keypoints is not None:
        _, dimension = rules.keypoints
        points = [value for at, value in enumerate(values[_BOX:]) if at % dimension < 2]
        box = values[1:_BOX]
        lowest = min(values)
    else:
        box = list(values[1:]) if len(values) == _BOX else _box_of(values[1:])
        points, lowest = box, min(box)
    if max(points, default=0.0) > _OVER:
        return Flaw("pixels" if max(points) > _PIXELS else "outside", line, shown)
    if lowest < _UNDER or (lowest < 0 and min(box[2:]) < 0):
        return Flaw("outside", line, shown)
    return None


def _box_of(points: Sequence[float]) -> list[float]:
    """Return the box around a polygon, as its centre and size: that is what Ultralytics checks."""
    xs, ys = points[::2], points[1::2]
    return [(min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2, max(xs) - min(xs), max(ys) - min(ys)]


def box_areas(content: bytes, rules: Rules) -> list[tuple[int, float]]:
    """Return class and area of each distinct line, as a part of the picture; a polygon's is that of its box."""
    found: dict[bytes, tuple[int, float]] = {}
    for tokens in (line.split() for line in content.decode("utf-8-sig").splitlines()):
        if tokens:
            values = [float(token) for token in tokens]
            is_box = len(values) == _BOX or rules.keypoints is not None
            *_, width, height = values[1:_BOX] if is_box else _box_of(values[1:])
            key = (np.array(values, dtype=np.float32) + np.float32(0)).tobytes()
            found.setdefault(key, (int(values[0]), width * height))
    return list(found.values())


def count_classes(contents: Sequence[bytes], rules: Rules) -> Counted:
    """Count the classes of many label files; the same as `read_label_file` on each."""
    files: list[Ints] = [np.zeros(0, np.int64)]
    classes: list[Ints] = [np.zeros(0, np.int64)]
    flaws: dict[int, Flaw] = {}
    for first, last in _chunks(contents):
        chunk = contents[first:last]
        its_files, its_classes, unusual = _count_plain(chunk, rules)
        files.append(its_files + first)
        classes.append(its_classes)
        for at in unusual.tolist():
            found = read_label_file(chunk[at], rules)
            if isinstance(found, Flaw):
                flaws[first + at] = found
            elif found:
                files.append(np.full(len(found), first + at, dtype=np.int64))
                classes.append(np.array(found, dtype=np.int64))
    return Counted(np.concatenate(files), np.concatenate(classes), flaws)


def _chunks(contents: Sequence[bytes]) -> list[tuple[int, int]]:
    ends, size, first = [], 0, 0
    for position, content in enumerate(contents, start=1):
        size += len(content) + 1
        if size >= _CHUNK or position == len(contents):
            ends.append((first, position))
            first, size = position, 0
    return ends


_SPACE, _DIGIT, _DOT, _OTHER = range(4)
_KINDS = np.full(256, _OTHER, dtype=np.uint8)
_KINDS[[9, 10, 13, 32]] = _SPACE
_KINDS[48:58] = _DIGIT
_KINDS[46] = _DOT
_NEWLINE, _RETURN, _ZERO, _ONE = 10, 13, 48, 49


def _count_plain(contents: Sequence[bytes], rules: Rules) -> tuple[Ints, Ints, Ints]:
    """Count the classes of files that hold nothing but numbers in the usual form; returns also which files do not.

    In the usual form a class is a few digits, a coordinate "0", "1" or "0." and digits, and no line starts with a
    space. So coordinates are between 0 and 1 without being parsed.
    """
    data = np.frombuffer(b"\n" + b"\n".join(contents) + b"\n\n", dtype=np.uint8)
    lengths = np.fromiter(map(len, contents), dtype=np.int64, count=len(contents))
    file_starts = np.concatenate(([1], 1 + np.cumsum(lengths + 1)))[:-1]

    def file_of(positions: Ints) -> Ints:
        return np.asarray(np.searchsorted(file_starts, positions, side="right") - 1, dtype=np.int64)

    unusual = np.zeros(len(contents), dtype=bool)
    kinds = _KINDS[data]
    space = kinds == _SPACE
    newline = data == _NEWLINE
    unusual[file_of(np.flatnonzero(kinds == _OTHER))] = True
    indented = newline[:-1] & space[1:] & ~newline[1:] & (data[1:] != _RETURN)
    lone_return = (data[:-1] == _RETURN) & ~newline[1:]
    unusual[file_of(np.flatnonzero(indented | lone_return))] = True

    starts = np.flatnonzero(space[:-1] & ~space[1:]) + 1
    sizes = np.flatnonzero(~space[:-1] & space[1:]) + 1 - starts
    is_class = newline[starts - 1]
    lines = np.flatnonzero(is_class)
    if not len(lines):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.flatnonzero(unusual)
    columns = np.diff(np.append(lines, len(starts)))
    file_of_line = file_of(starts[lines])

    leading, second = data[starts], data[starts + 1]
    dotted = ~is_class & (leading == _ZERO) & (second == 46) & (sizes > 2)
    plain = is_class | dotted | ((sizes == 1) & ((leading == _ZERO) | (leading == _ONE)))
    if rules.keypoints is not None and rules.keypoints[1] > 2:
        column = np.arange(len(starts)) - np.repeat(lines, columns)
        visible = (column >= _BOX) & ((column - _BOX) % rules.keypoints[1] >= 2)
        plain |= visible & (sizes == 1)
    odd_dots = kinds == _DOT
    odd_dots[starts[dotted] + 1] = False
    unusual[file_of(np.flatnonzero(odd_dots))] = True
    unusual[file_of(starts[~plain])] = True

    n_digits = sizes[lines]
    classes = np.zeros(len(lines), dtype=np.int64)
    for place in range(_DIGITS):
        more = n_digits > place
        classes[more] = classes[more] * 10 + data[starts[lines[more]] + place] - _ZERO
    is_box = columns == _BOX
    if rules.pose_columns is not None:
        wrong = columns != rules.pose_columns
    else:
        wrong = ~is_box & ((columns < _POLYGON) | (columns % 2 == 0))
        unusual |= _present(file_of_line[is_box], len(contents)) & _present(file_of_line[~is_box], len(contents))
    wrong |= (n_digits > _DIGITS) | (classes >= rules.n_classes)
    unusual[file_of_line[wrong]] = True
    unusual[_alike(data, starts, sizes, lines, columns, file_of_line, classes)] = True

    usual = ~unusual[file_of_line]
    return file_of_line[usual], classes[usual], np.flatnonzero(unusual)


def _present(files: Ints, n_files: int) -> npt.NDArray[np.bool_]:
    return np.bincount(files, minlength=n_files) > 0


def _alike(
    data: npt.NDArray[np.uint8], starts: Ints, sizes: Ints, lines: Ints, columns: Ints, files: Ints, classes: Ints
) -> Ints:
    """Return the files with two lines of one class that agree in two decimals of their first two coordinates.

    They may be the same line twice; such files are read line by line.
    """
    keys = files * (classes.max() + 1) + classes
    for offset in (1, 2):
        token = np.minimum(lines + offset, len(starts) - 1)
        for place in (2, 3):
            there = (sizes[token] > place) & (columns > offset)
            digit = data[np.minimum(starts[token] + place, len(data) - 1)]
            keys = keys * 10 + np.where(there, digit - _ZERO, 0)
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    return np.asarray(files[order[1:][same]], dtype=np.int64)

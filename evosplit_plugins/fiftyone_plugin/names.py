"""Count names for each unit: lists of them, some rows at a time, as FiftyOne's database gives them."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit import EvoSplitError, LabelCounts

__all__ = ["EMPTY", "FRAMES", "count_chunks", "count_names", "lists_of", "without_collecting"]

FRAMES = "frames."
EMPTY = "has no sample in this view; there is nothing to split"


@contextmanager
def without_collecting() -> Iterator[None]:
    """Pause the garbage collector while FiftyOne builds an object or more for each sample.

    None of them is garbage, but the collector would traverse all of them again and again, which takes half of the time
    with 100,000 samples.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def count_chunks(chunks: Iterable[Sequence[Any]], paths: Mapping[str, str], *, where: str) -> LabelCounts:
    """Count the labels of each unit: a chunk has the units of some rows, then what was read for each of `paths`."""
    frames = [path.startswith(FRAMES) for path in paths.values()]
    counter = _Counter([f"{field}/" if len(paths) > 1 else "" for field in paths])
    with without_collecting():
        for keys, *columns in chunks:
            counter.add(keys, [lists_of(column, frames=each) for column, each in zip(columns, frames, strict=True)])
    if not counter.units:
        raise EvoSplitError(f"{where} {EMPTY}")
    return counter.counts()


def count_names(keys: Sequence[str], columns: Sequence[Sequence[Sequence[str | None]]]) -> LabelCounts:
    """Count names for each unit: `keys` says which unit a row belongs to, a column has a list of names per row.

    Examples
    --------
    >>> counts = count_names(["u", "v", "u"], [[["cat"], [], ["cat", "dog", None]]])
    >>> counts.ids.tolist(), counts.labels, counts.matrix.toarray().tolist()
    (['u', 'v'], ('cat', 'dog'), [[2, 1], [0, 0]])
    """
    counter = _Counter([""] * len(columns))
    counter.add(keys, columns)
    return counter.counts()


class _Numbers(dict[Any, int]):
    """Gives each new key the next number."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number

    def of(self, keys: Iterable[Any], n: int) -> npt.NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, keys), dtype=np.int32, count=n)


class _Counter:
    """Counts names for each unit, some rows at a time; each column has a prefix for its names."""

    def __init__(self, prefixes: Sequence[str]) -> None:
        self.units = _Numbers()
        self._names = [(prefix, _Numbers()) for prefix in prefixes]
        self._found: list[list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]] = [[] for _ in prefixes]

    def add(self, keys: Sequence[str], columns: Sequence[Sequence[Sequence[str | None]]]) -> None:
        """Add one list of names for each key and column."""
        rows = self.units.of(keys, len(keys))
        for lists, (_, names), found in zip(columns, self._names, self._found, strict=True):
            lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
            found.append((np.repeat(rows, lengths), names.of(chain.from_iterable(lists), int(lengths.sum()))))

    def counts(self) -> LabelCounts:
        """Return what was counted, labels in order."""
        labels = sorted({prefix + name for prefix, names in self._names for name in names if name is not None})
        at = {label: column for column, label in enumerate(labels)}
        rows, columns = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        for (prefix, names), found in zip(self._names, self._found, strict=True):
            column_of = np.array([-1 if name is None else at[prefix + name] for name in names], dtype=np.int32)
            for row, name in found:
                column = column_of[name]
                rows.append(row[column >= 0])
                columns.append(column[column >= 0])
        row, column = np.concatenate(rows), np.concatenate(columns)
        ones = np.ones(len(row), dtype=np.int32)
        matrix = sp.coo_array((ones, (row, column)), shape=(len(self.units), len(labels)))
        return LabelCounts(matrix, ids=list(self.units), labels=labels)


def lists_of(column: Sequence[Any], *, frames: bool) -> list[Sequence[str | None]]:
    """Turn a name, a list of names, or one of these per frame, into one list of names per row."""
    if frames:
        return [[name for frame in row or () for name in _listed(frame)] for row in column]
    return [_listed(row) for row in column]


def _listed(value: Any) -> Sequence[str | None]:
    if isinstance(value, list):
        return value
    return () if value is None else (value,)

"""Ids as COCO files write them: look them up, find repetitions, read "7" as 7."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit_plugins.coco.reading import UNSET

__all__ = ["as_written", "coerced", "column", "is_id", "look_up", "repeated"]

IntArray = npt.NDArray[np.int64]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)", re.ASCII)


def is_id(value: Any) -> bool:
    """Tell whether a value can be an id: an integer or a string, and no boolean."""
    return type(value) is int or type(value) is str


def column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Put ids into an array: int64 where all of them fit, Python objects otherwise."""
    if set(map(type, values)) <= {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def look_up(wanted: npt.NDArray[Any], table: npt.NDArray[Any]) -> IntArray:
    """Return the position of each wanted id in a table of unique ids, -1 where it is absent.

    Examples
    --------
    >>> look_up(column([7, 9, 8]), column([8, 7])).tolist()
    [1, -1, 0]
    >>> look_up(column(["7", None, 8]), column([8, 7])).tolist()
    [-1, -1, 0]
    """
    if not len(table):
        return np.full(len(wanted), -1, dtype=np.int64)
    if wanted.dtype == object or table.dtype == object:
        position_of = {value: position for position, value in enumerate(table.tolist())}
        # A float or a boolean equals an integer for Python, but is no id.
        found = (position_of.get(value, -1) if is_id(value) else -1 for value in wanted.tolist())
        return np.fromiter(found, np.int64, len(wanted))
    low, high = int(table.min()), int(table.max())
    if high - low <= 8 * (len(table) + len(wanted)):
        # Ids that lie close together, as those of COCO do: a table of their positions is several times faster.
        positions = np.full(high - low + 2, -1, dtype=np.int64)
        positions[table - low] = np.arange(len(table))
        inside = (wanted >= low) & (wanted <= high)
        return positions[np.where(inside, wanted - low, -1)]
    order = np.argsort(table, kind="stable")
    ordered = table[order]
    near = np.minimum(np.searchsorted(ordered, wanted), len(table) - 1)
    return np.where(ordered[near] == wanted, order[near], -1)


def repeated(values: npt.NDArray[Any]) -> IntArray:
    """Return the positions of ids that occurred before, ascending."""
    if values.dtype != object:
        if bool((values[1:] > values[:-1]).all()):
            return np.zeros(0, dtype=np.int64)
        _, first = np.unique(values, return_index=True)
        later = np.ones(len(values), dtype=bool)
        later[first] = False
        return np.flatnonzero(later)
    seen: set[Any] = set()
    positions = []
    for position, value in enumerate(values.tolist()):
        if value in seen:
            positions.append(position)
        seen.add(value)
    return np.array(positions, dtype=np.int64)


def coerced(value: Any) -> Any:
    """Read an integer that is written as a string or a fraction; leave everything else as it is.

    Examples
    --------
    >>> coerced("7"), coerced(7.0), coerced("007"), coerced(7.5)
    (7, 7, '007', 7.5)
    """
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def as_written(value: Any) -> str:
    """Show a value as the file has it.

    Examples
    --------
    >>> as_written("7"), as_written(None), as_written(UNSET)
    ('"7"', 'null', 'missing')
    """
    if value is UNSET:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."

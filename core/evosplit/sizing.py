"""Sizes when units are uneven: how close to the targets groups can come, and how to get there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["excess", "fit_sizes", "least_excess", "mend_sizes", "pack"]

Ints = npt.NDArray[Any]

MAX_STATES = 500_000  # fillings, with some or all of the units, that `pack` looks at before it gives up
MAX_CODE = 1 << 62  # fillings that `pack` can tell apart
MAX_BITS = 1 << 33  # size of the sums that `least_excess` looks through, times the number of shifts


def excess(unit_sizes: Ints, assignment: Ints, targets: Ints) -> int:
    """Return by how many samples the subsets miss their targets, in all.

    Examples
    --------
    >>> excess(np.array([3, 1]), np.array([0, 1]), np.array([2, 2]))
    2
    """
    loads = np.bincount(assignment, weights=unit_sizes, minlength=len(targets)).astype(np.int64)
    return int(np.abs(loads - targets).sum())


def least_excess(unit_sizes: Ints, rooms: Ints) -> int:
    """Bound the excess from below: each subset on its own filled with the units that fit best.

    Units are those still to be placed, rooms what is left in each subset (negative if it is overfull).

    Examples
    --------
    >>> least_excess(np.array([3, 3, 3]), np.array([4, 5]))  # 3 and 6 are nearest to 4 and 5
    2
    """
    over = int(np.maximum(-rooms, 0).sum())
    sizes, numbers = np.unique(unit_sizes, return_counts=True)
    whole = int((sizes * numbers).sum())
    if len(sizes) * (whole + 1) > MAX_BITS or (len(sizes) and sizes[0] == 1 and numbers[0] >= sizes[-1]):
        return 2 * over  # units of one sample fill every gap
    sums = 1  # bit s: some units have s samples in all
    for size, number in zip(sizes.tolist(), numbers.tolist(), strict=True):
        step = 1
        while number > 0:
            step = min(step, number)
            sums |= sums << (size * step)
            number -= step
            step *= 2
    below, above = 0, 0
    for room in np.maximum(rooms, 0).tolist():
        lower = sums & ((1 << (room + 1)) - 1)
        down = room - (lower.bit_length() - 1)
        higher = sums >> room
        up = (higher & -higher).bit_length() - 1 if higher else down
        if up < down:
            above += up
        else:
            below += down
    return max(2 * over, over + below + above)


def mend_sizes(unit_sizes: Ints, assignment: Ints, movable: Ints, targets: Ints, rng: np.random.Generator) -> Ints:
    """Move and exchange units, each time what helps most, until no such step brings the sizes nearer to the targets.

    Examples
    --------
    >>> sizes = np.array([4, 1, 1, 2])
    >>> mended = mend_sizes(sizes, np.zeros(4, int), np.ones(4, bool), np.array([4, 4]), np.random.default_rng(0))
    >>> np.bincount(mended, weights=sizes).tolist()
    [4.0, 4.0]
    """
    assignment = assignment.copy()
    loads = np.bincount(assignment, weights=unit_sizes, minlength=len(targets)).astype(np.int64)
    while True:
        deviation = loads - targets
        best, move = 0, None
        for a in np.flatnonzero(deviation > 0):
            leaving = np.append(np.unique(unit_sizes[movable & (assignment == a)]), 0)
            for b in np.flatnonzero(deviation < 0):
                coming = np.append(np.unique(unit_sizes[movable & (assignment == b)]), 0)
                moved = leaving[:, None] - coming
                gain = np.abs(deviation[a] - moved) + np.abs(deviation[b] + moved) - deviation[a] + deviation[b]
                at = np.unravel_index(int(gain.argmin()), gain.shape)
                if gain[at] < best:
                    best, move = int(gain[at]), (a, b, int(leaving[at[0]]), int(coming[at[1]]))
        if move is None:
            return assignment
        a, b, out, back = move
        chosen = [
            (rng.choice(np.flatnonzero(movable & (assignment == source) & (unit_sizes == size))), target)
            for source, target, size in ((a, b, out), (b, a, back))
            if size
        ]
        for unit, target in chosen:
            assignment[unit] = target
        loads[a] += back - out
        loads[b] += out - back


def pack(unit_sizes: Ints, rooms: Ints, less_than: int) -> tuple[Ints | None, bool]:
    """Look for the filling of the rooms with the least excess, and less than `less_than`, among all of them.

    The sizes sum to the rooms. Returns the filling, or None if there is none, and whether that is proven: where there
    are too many different fillings on the way the search gives up.

    Examples
    --------
    >>> pack(np.array([5, 4, 3, 3, 3]), np.array([9, 9]), 2)
    (array([1, 1, 0, 0, 0]), True)
    >>> pack(np.array([5, 5, 5]), np.array([8, 7]), 4)
    (None, True)
    """
    order = np.argsort(-unit_sizes, kind="stable")
    # A filling is one number with a digit for each subset but the roomiest, whose load follows from the others.
    rest = int(np.argmax(rooms))
    others = [j for j in range(len(rooms)) if j != rest]
    most = np.maximum(rooms, 0) + less_than // 2  # no subset may hold more, or there is too much over in all
    places = [math.prod((most[others[:i]] + 1).tolist()) for i in range(len(rooms))]
    if places.pop() > MAX_CODE:
        return None, False

    def loads_of(fillings: Ints, placed: int) -> Ints:
        loads = np.empty((len(rooms), len(fillings)), dtype=np.int64)
        for j, place in zip(others, places, strict=True):
            loads[j] = fillings // place % (most[j] + 1)
        loads[rest] = placed - loads[others].sum(axis=0)
        return loads

    fillings = np.zeros(1, dtype=np.int64)
    layers = [fillings]
    placed = met = 0
    for size in unit_sizes[order].tolist():
        loads = loads_of(fillings, placed)
        placed += size
        steps = [fillings[loads[j] + size <= most[j]] + size * place for j, place in zip(others, places, strict=True)]
        fillings = np.unique(np.concatenate([fillings, *steps]))
        over = np.maximum(loads_of(fillings, placed) - rooms[:, None], 0).sum(axis=0)
        fillings = fillings[2 * over < less_than]
        met += len(fillings)
        if met > MAX_STATES:
            return None, False
        layers.append(fillings)
    misses = np.abs(loads_of(fillings, placed) - rooms[:, None]).sum(axis=0)
    if misses.min(initial=less_than) >= less_than:
        return None, True
    last = fillings[[int(np.argmin(misses))]]
    assignment = np.full(len(order), rest, dtype=np.int64)
    for unit, layer in zip(order[::-1], layers[-2::-1], strict=True):
        size = int(unit_sizes[unit])
        loads = loads_of(last, placed)
        placed -= size
        if loads[rest, 0] >= size and last[0] in layer:
            continue  # it went where the code does not change
        for j, place in zip(others, places, strict=True):
            if loads[j, 0] >= size and last[0] - size * place in layer:
                assignment[unit] = j
                last = last - size * place
                break
    return assignment, True


def fit_sizes(unit_sizes: Ints, assignment: Ints, movable: Ints, targets: Ints, rng: np.random.Generator) -> Ints:
    """Bring the sizes as near to the targets as the units allow; where `pack` gives up, as near as `mend_sizes` comes.

    Examples
    --------
    >>> sizes = np.array([4, 3, 2])
    >>> fitted = fit_sizes(sizes, np.array([0, 1, 1]), np.ones(3, bool), np.array([6, 3]), np.random.default_rng(0))
    >>> np.bincount(fitted, weights=sizes).tolist()
    [6.0, 3.0]
    """
    fitted = mend_sizes(unit_sizes, assignment, movable, targets, rng)
    miss = excess(unit_sizes, fitted, targets)
    held = np.bincount(assignment[~movable], weights=unit_sizes[~movable], minlength=len(targets)).astype(np.int64)
    if miss > least_excess(unit_sizes[movable], targets - held):
        packed, _ = pack(unit_sizes[movable], targets - held, miss)
        if packed is not None:
            fitted[movable] = packed
    return fitted

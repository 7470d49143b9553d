"""Exact sizes with whole groups: how close to the targets the sizes can come, and how to reach them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.rng import Stream

__all__ = ["excess", "fit_sizes", "least_excess", "mend_sizes", "pack", "packings"]

Ints = npt.NDArray[Any]

MANY_SIZES = 25  # of units, beyond which one for one nearly always does, and two for two would take long
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


def least_excess(unit_sizes: Ints, capacities: Ints) -> int:
    """Bound the excess from below: each subset on its own filled with the units that fit best.

    Units are those still to be placed, capacities what is left in each subset (negative if it is overfull). A unit
    larger than any subset overfills the one that it is in.

    Examples
    --------
    >>> least_excess(np.array([3, 3, 3]), np.array([4, 5]))  # 3 and 6 are nearest to 4 and 5
    2
    >>> least_excess(np.array([6, 2, 1]), np.array([3, 3, 3]))
    6
    """
    overfull = int(np.maximum(-capacities, 0).sum())
    over = overfull + int(np.maximum(unit_sizes - max(0, int(capacities.max())), 0).sum())
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
    for capacity in np.maximum(capacities, 0).tolist():
        lower = sums & ((1 << (capacity + 1)) - 1)
        down = capacity - (lower.bit_length() - 1)
        higher = sums >> capacity
        up = (higher & -higher).bit_length() - 1 if higher else down
        if up < down:
            above += up
        else:
            below += down
    return max(2 * over, overfull + below + above)


def mend_sizes(unit_sizes: Ints, assignment: Ints, movable: Ints, targets: Ints, stream: Stream) -> Ints:
    """Greedily move and exchange units until no step brings the sizes nearer to the targets.

    A step takes a unit from one subset to another, perhaps for another one in return; where none helps, two for two.

    Examples
    --------
    >>> sizes = np.array([4, 1, 1, 2])
    >>> mended = mend_sizes(sizes, np.zeros(4, int), np.ones(4, bool), np.array([4, 4]), Stream(0))
    >>> np.bincount(mended, weights=sizes).tolist()
    [4.0, 4.0]
    """
    assignment = assignment.copy()
    loads = np.bincount(assignment, weights=unit_sizes, minlength=len(targets)).astype(np.int64)
    distinct, kind = np.unique(unit_sizes, return_inverse=True)
    # How many movable units of each size each subset has: there may be too many units to look through them each time.
    cells = assignment[movable] * len(distinct) + kind[movable]
    numbers = np.bincount(cells, minlength=len(targets) * len(distinct)).reshape(len(targets), -1)
    while True:
        move = _best_exchange(distinct, numbers, loads - targets, 1) or _best_exchange(
            distinct, numbers, loads - targets, 2
        )
        if move is None:
            return assignment
        a, b, out, back = move
        chosen: list[tuple[int, int]] = []
        for source, target, sizes in ((a, b, out), (b, a, back)):
            for size in sizes:
                alike = np.flatnonzero(movable & (assignment == source) & (unit_sizes == size))
                alike = np.setdiff1d(alike, [unit for unit, _ in chosen])
                chosen.append((int(alike[stream.below(len(alike))]), target))
        for unit, target in chosen:
            numbers[assignment[unit], kind[unit]] -= 1
            numbers[target, kind[unit]] += 1
            assignment[unit] = target
        loads[a] += sum(back) - sum(out)
        loads[b] += sum(out) - sum(back)


def _best_exchange(
    distinct: Ints, numbers: Ints, deviation: Ints, most: int
) -> tuple[int, int, tuple[int, ...], tuple[int, ...]] | None:
    """Find the exchange that brings sizes nearest to the targets: (subset, subset, sizes that leave the first, come).

    At most `most` units go either way; more than one only where there are few sizes, since then one may not do.
    """
    if most > 1 and len(distinct) > MANY_SIZES:
        return None
    best, move = 0, None
    for a in np.flatnonzero(deviation > 0):
        leaving, out = _bundles(distinct, numbers[a], most)
        for b in np.flatnonzero(deviation < 0):
            coming, back = _bundles(distinct, numbers[b], most)
            moved = leaving[:, None] - coming
            gain = np.abs(deviation[a] - moved) + np.abs(deviation[b] + moved) - deviation[a] + deviation[b]
            at = np.unravel_index(int(gain.argmin()), gain.shape)
            if gain[at] < best:
                best, move = int(gain[at]), (int(a), int(b), out[at[0]], back[at[1]])
    return move


def _bundles(distinct: Ints, numbers: Ints, most: int) -> tuple[Ints, list[tuple[int, ...]]]:
    """List the bundles of at most so many units, of sizes of which there are enough: (samples, sizes of the units)."""
    there = distinct[numbers > 0].tolist()
    bundles: list[tuple[int, ...]] = [(size,) for size in there]
    if most > 1:
        bundles += list(combinations(there, 2)) + [(size, size) for size in distinct[numbers > 1].tolist()]
    bundles.append(())
    return np.array([sum(bundle) for bundle in bundles], dtype=np.int64), bundles


def pack(unit_sizes: Ints, capacities: Ints, less_than: int, second: Ints | None = None) -> tuple[Ints | None, bool]:
    """Find the filling of the capacities with the least excess, if that is less than `less_than`.

    The sizes sum to the capacities. Ties are broken by the distance to `second`. Returns the filling, or None if there
    is none, and whether that is proven: the search gives up where there are too many partial fillings.

    Examples
    --------
    >>> pack(np.array([5, 4, 3, 3, 3]), np.array([9, 9]), 2)
    (array([0, 0, 1, 1, 1]), True)
    >>> pack(np.array([5, 5, 5]), np.array([8, 7]), 4)
    (None, True)
    """
    order = np.argsort(-unit_sizes, kind="stable")
    alike = capacities if second is None else np.stack((capacities, second))
    walk = _Fillings(unit_sizes[order], capacities, less_than, _predecessors(alike), MAX_STATES)
    if walk.layers is None:
        return None, False
    loads = walk.loads_of(walk.layers[-1], len(order))
    misses = np.abs(loads - capacities[:, None]).sum(axis=0)
    if misses.min(initial=less_than) >= less_than:
        return None, True
    ties = np.zeros_like(misses) if second is None else np.abs(loads - second[:, None]).sum(axis=0)
    last = int(walk.layers[-1][np.lexsort((ties, misses))[0]])
    assignment = np.empty(len(order), dtype=np.int64)
    for at in range(len(order) - 1, -1, -1):
        size = int(unit_sizes[order[at]])
        held = walk.loads_of(np.array([last]), at + 1)[:, 0]
        for j, weight in walk.steps:
            if held[j] >= size and last - size * weight in walk.layers[at]:
                assignment[order[at]] = j
                last -= size * weight
                break
    return assignment, True


def packings(unit_sizes: Ints, kinds: Ints, capacities: Ints, alike: Ints, at_most: int, limit: int) -> Ints | None:
    """List all ways to fill the capacities with the least excess, if that is no more than `at_most`.

    Units of one kind are interchangeable, and so are subsets whose columns of `alike` are equal; only one of several
    equivalent ways is listed. Returns one row for each way (the subset of each unit), or None if there are more than
    `limit`, or too many partial fillings.

    Examples
    --------
    >>> packings(np.array([2, 1, 1]), np.array([0, 1, 2]), np.array([3, 1]), np.array([3, 1]), 0, 10).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    order = np.lexsort((kinds, -unit_sizes))
    walk = _Fillings(unit_sizes[order], capacities, at_most + 1, _predecessors(alike), limit)
    if walk.layers is None:
        return None
    misses = np.abs(walk.loads_of(walk.layers[-1], len(order)) - capacities[:, None]).sum(axis=0)
    # From the end back to the start: the fillings from which the best ones can be reached.
    alive = [walk.layers[-1][misses == misses.min(initial=at_most)]]
    for at in range(len(order) - 1, -1, -1):
        layer = walk.layers[at]
        leads = np.zeros(len(layer), dtype=bool)
        for j, weight in walk.steps:
            leads |= walk.allowed(layer, at, j) & _among(layer + walk.sizes[at] * weight, alive[0])
        alive.insert(0, layer[leads])
    fillings = alive[0]
    chosen = np.zeros((len(fillings), 0), dtype=np.int16)
    for at in range(len(order)):
        parts, taken = [], []
        for j, weight in walk.steps:
            goes = walk.allowed(fillings, at, j) & _among(fillings + walk.sizes[at] * weight, alive[at + 1])
            if at and kinds[order[at]] == kinds[order[at - 1]]:
                goes &= chosen[:, -1] <= j
            parts.append(fillings[goes] + walk.sizes[at] * weight)
            taken.append(np.hstack((chosen[goes], np.full((int(goes.sum()), 1), j, dtype=np.int16))))
        fillings, chosen = np.concatenate(parts), np.concatenate(taken)
        if len(fillings) > limit:
            return None
    listed = np.empty(chosen.shape, dtype=np.int64)
    listed[:, order] = chosen
    return listed


class _Fillings:
    """The partial fillings, unit by unit, whose excess stays below a limit.

    A filling is one number with a digit for each subset but the one with the most capacity, whose load follows from the
    others. `layers[i]` holds those of the first i units, ascending; it is None if there are more than `max_states` in
    all.
    """

    def __init__(self, sizes: Ints, capacities: Ints, less_than: int, before: Ints, max_states: int) -> None:
        self.sizes, self.before = sizes, before
        self.placed = np.concatenate(([0], np.cumsum(sizes)))
        self.rest = int(np.argmax(capacities))
        self.most = np.maximum(capacities, 0) + less_than // 2  # a subset with more is over by too much alone
        weights, whole = [], 1  # of the digits
        for j in range(len(capacities)):
            weights.append(0 if j == self.rest else whole)
            whole *= 1 if j == self.rest else int(self.most[j]) + 1
        self.steps = list(enumerate(weights))
        self.layers: list[Ints] | None = None
        if whole > MAX_CODE:
            return
        layers = [np.zeros(1, dtype=np.int64)]
        met = 0
        for at, size in enumerate(sizes.tolist()):
            grown = [layers[-1][self.allowed(layers[-1], at, j)] + size * weight for j, weight in self.steps]
            fillings = np.sort(np.concatenate(grown))  # faster than np.unique
            fillings = fillings[np.append(True, np.diff(fillings) > 0)] if len(fillings) else fillings
            over = np.maximum(self.loads_of(fillings, at + 1) - capacities[:, None], 0).sum(axis=0)
            fillings = fillings[2 * over < less_than]
            met += len(fillings)
            if met > max_states:
                return
            layers.append(fillings)
        self.layers = layers

    def loads_of(self, fillings: Ints, n_placed: int) -> Ints:
        """Return the samples in each subset (k x fillings) after the first `n_placed` units."""
        loads = np.empty((len(self.most), len(fillings)), dtype=np.int64)
        for j, weight in self.steps:
            loads[j] = fillings // weight % (self.most[j] + 1) if weight else 0
        loads[self.rest] = self.placed[n_placed] - loads.sum(axis=0)
        return loads

    def allowed(self, fillings: Ints, at: int, j: int) -> npt.NDArray[np.bool_]:
        """Tell from which fillings unit `at` may go to subset j; of equal subsets, the first ones are filled first."""
        loads = self.loads_of(fillings, at)
        may = loads[j] + self.sizes[at] <= self.most[j] if j != self.rest else np.ones(len(fillings), dtype=bool)
        if self.before[j] >= 0:
            may &= (loads[j] > 0) | (loads[self.before[j]] > 0)
        return np.asarray(may)


def _predecessors(alike: Ints) -> Ints:
    """For each column, return the position of the last equal column before it, or -1."""
    columns = np.atleast_2d(alike).T.tolist()
    found: dict[tuple[int, ...], int] = {}
    before = np.full(len(columns), -1)
    for j, column in enumerate(columns):
        before[j] = found.get(tuple(column), -1)
        found[tuple(column)] = j
    return before


def _among(values: Ints, ascending: Ints) -> npt.NDArray[np.bool_]:
    """Tell which values are among some ascending ones."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[at] == values)


def fit_sizes(unit_sizes: Ints, assignment: Ints, movable: Ints, targets: Ints, stream: Stream) -> Ints:
    """Bring the sizes as near to the targets as the units allow, or as `mend_sizes` can where `pack` gives up.

    Examples
    --------
    >>> sizes = np.array([4, 3, 2])
    >>> fitted = fit_sizes(sizes, np.array([0, 1, 1]), np.ones(3, bool), np.array([6, 3]), Stream(0))
    >>> np.bincount(fitted, weights=sizes).tolist()
    [6.0, 3.0]
    """
    fitted = mend_sizes(unit_sizes, assignment, movable, targets, stream)
    miss = excess(unit_sizes, fitted, targets)
    held = np.bincount(assignment[~movable], weights=unit_sizes[~movable], minlength=len(targets)).astype(np.int64)
    if miss > least_excess(unit_sizes[movable], targets - held):
        packed, _ = pack(unit_sizes[movable], targets - held, miss)
        if packed is not None:
            fitted[movable] = packed
    return fitted

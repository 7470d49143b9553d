"""Coverage: how many samples of each label every subset should get, what that costs, and how much is possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.constraints import FREE, Constraints
from evosplit.counts import LabelCounts, compact_csr
from evosplit.measures import flz_bound, logarithm, odds_bounds, odds_deviation, ordered_sum

__all__ = ["CoverCost", "choice_taken", "cover_cost", "fewest_empty", "label_needs"]

MOST_ENTRIES = 1_500  # labels of units times subsets that the integer programme sees, those of the rarest labels
MOST_SECONDS = 1.0  # of its search
MOST_TAKEN = 0.15  # by cover, of the choice that there is in filling a subset: the rest is for all that is balanced

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def label_needs(
    counts: LabelCounts, sizes: Sequence[int], *, order: Ints, cover: bool | str = True, least: int = 1
) -> tuple[Ints, int]:
    """Return how many samples of each label every subset is to get, and how many labels are not asked for.

    Every subset should get `least` samples of each label, or an equal part of those there are. The minimum is lowered
    to what the smallest subset could hold with the samples that have the most labels, because a search for an
    impossible minimum sacrifices rare labels. By default (`cover=True` and `least=1`) the rarest labels are left out
    where covering them would make all labels much more uneven; `cover=False` asks for none.

    Parameters
    ----------
    counts, sizes
        The label counts, and the sizes of the subsets.
    order
        The labels in the order in which their needs are returned; of equally frequent labels the first are covered.
    cover, least
        As `cover` and `min_per_label` of `evosplit.split`.

    Examples
    --------
    >>> counts = LabelCounts([[1, 0], [1, 0], [1, 0], [1, 1]])
    >>> label_needs(counts, (2, 2), order=np.array([0, 1]), least=2)
    (array([2, 1]), 0)
    """
    if not cover:
        return np.zeros(counts.n_labels, dtype=np.int64), 0
    totals = counts.sample_totals[order]
    for_all = totals // len(sizes)
    richest = _most_labels(counts, min(sizes)) if least > 1 else 0
    low, high = 1, least
    while low < high:  # the largest minimum that may fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.clip(for_all, 1, middle).sum() <= richest else (low, middle - 1)
    needs = np.clip(for_all, 1, low).astype(np.int64)
    if cover == "all" or least > 1:  # an explicit minimum holds for all labels
        return needs, 0
    too_costly = _too_costly(counts, order, needs, sizes)
    needs[too_costly] = 0
    return needs, len(too_costly)


@dataclass(frozen=True)
class CoverCost:
    """What covering every label in every subset costs.

    Attributes
    ----------
    labels
        How many labels have more samples in a subset than would be nearest to its share, and no more than it was to
        get.
    ld, ld_without
        LD, and about what it would be if these samples were in the subsets where they do the least harm.
    """

    labels: int
    ld: float
    ld_without: float


def cover_cost(samples: Ints, sizes: Ints, *, least: int = 1) -> CoverCost:
    """Estimate what LD would be without `cover`, one label at a time.

    Parameters
    ----------
    samples
        How many samples with each label each subset holds (labels x k).
    sizes
        The samples of each subset.
    least
        How many samples of each label every subset was to get.

    Examples
    --------
    >>> cost = cover_cost(np.array([[7, 1], [45, 5]]), np.array([90, 10]))
    >>> cost.labels, cost.ld > cost.ld_without  # of the first label, 0.8 of a sample would be the second subset's share
    (0, False)
    >>> cover_cost(np.array([[3, 1], [45, 5]]), np.array([90, 10])).labels
    1
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    totals = samples.sum(axis=1, keepdims=True)
    odds = totals / np.maximum(sizes.sum() - totals, 1)

    def away(counts: Ints) -> Floats:
        return np.asarray(np.abs(counts / np.maximum(sizes - counts, 1) - odds))

    below = np.floor(totals.astype(np.float64) * sizes / max(int(sizes.sum()), 1)).astype(np.int64)
    best = np.where(away(below + 1) < away(below), below + 1, below)
    beyond = (samples > best) & (samples <= least)
    without = np.where(beyond, best, samples)
    left = (samples - without).sum(axis=1)
    while left.any():
        rise = np.where(beyond, np.inf, away(without + 1) - away(without))
        rows = np.flatnonzero((left > 0) & np.isfinite(rise).any(axis=1))
        if not len(rows):
            break
        without[rows, rise[rows].argmin(axis=1)] += 1
        left[rows] -= 1
    ld = float(odds_deviation(samples, sizes).mean()) if samples.size else 0.0
    ld_without = float(odds_deviation(without, sizes).mean()) if samples.size else 0.0
    return CoverCost(int(beyond.any(axis=1).sum()), ld, min(ld, ld_without))


def fewest_empty(counts: LabelCounts, sizes: tuple[int, ...], constraints: Constraints | None = None) -> int:
    """Bound from below how many label-subset combinations stay empty in a split of these sizes.

    Each label on its own gives the first bound. Labels that share their few samples, and subsets too small for all
    labels, leave more empty: an integer programme over the rarest labels finds how many, or a bound of it if that takes
    longer than a second.

    Examples
    --------
    >>> counts = LabelCounts([[1, 1, 0], [1, 0, 1], [0, 1, 1]])  # two of the samples share a subset
    >>> flz_bound(counts.sample_totals, 2), fewest_empty(counts, (2, 1))
    (0, 1)
    """
    k = len(sizes)
    by_label = flz_bound(counts.sample_totals, k) if constraints is None else constraints.flz_bound(counts, k)
    units = _crowd_units(counts, constraints, k) if counts.has_copies else _units(counts, constraints)
    entries = np.bincount(units.presence.indices, minlength=counts.n_labels)
    totals = np.asarray(units.presence.T @ units.copies)
    rarest = np.argsort(totals, kind="stable")
    chosen = np.sort(rarest[(k * np.cumsum(entries[rarest]) <= MOST_ENTRIES) & (totals[rarest] > 1)])
    if not len(chosen):
        return by_label
    units = units._replace(presence=sp.csr_array(units.presence[:, chosen]))
    reach = _reach(units, k)
    capacities = np.asarray(sizes)
    if counts.has_copies and constraints is not None:
        capacities = capacities - constraints.held(k)
    return by_label + int(reach.sum()) - _most_filled(units, capacities, reach)


def _most_labels(counts: LabelCounts, size: int) -> int:
    """Return the largest total number of labels that `size` samples can have."""
    labels = np.diff(counts.presence.indptr).astype(np.int64)
    order = np.argsort(-labels, kind="stable")
    copies = counts.copies[order]
    taken = np.clip(size - (np.cumsum(copies) - copies), 0, copies)
    return int(labels[order] @ taken)


def _too_costly(counts: LabelCounts, order: Ints, needs: Ints, sizes: Sequence[int]) -> Ints:
    """Return the labels whose cover would cost too much; the most frequent labels are covered first.

    A subset whose share of a label is less than half a sample has a smaller LD without it. The cost of covering it
    anyway, summed over labels and subsets, may reach the lower bound of LD, so that cover at most doubles the
    deviation; labels with fewer samples than there are subsets do not count, since some lack them in any case. And
    labels of which a subset's share is less than a sample may take no more than a part of the choice that there is in
    filling it: each rules some of the ways out, and many together leave few in which anything else is balanced. Of a
    label with too few samples for all subsets a part counts, since it is to be in a part of them.
    """
    totals = counts.sample_totals[order]
    size, m, k = np.asarray(sizes, dtype=np.int64), int(sum(sizes)), len(sizes)
    share = totals[:, None].astype(np.float64) * size / m  # no product of integers overflows
    odds = (totals / np.maximum(m - totals, 1))[:, None]
    below = np.floor(share)

    def away(samples: Floats) -> Floats:
        return np.asarray(np.abs(samples / np.maximum(size - samples, 1) - odds))

    least = needs[:, None].astype(np.float64)
    covered = np.minimum(away(np.maximum(below, least)), away(np.maximum(below + 1, least)))
    costs = ordered_sum(covered - np.minimum(away(below), away(below + 1)))
    costs[(totals < k) | (totals == m)] = 0.0  # too few for all subsets: some lack them in any case
    affordable = float(ordered_sum(odds_bounds(totals, size)))
    frequent = np.argsort(-totals, kind="stable")
    too_costly = np.cumsum(costs[frequent]) > affordable + 1e-12
    rare = (totals[:, None] > 1) & (share < 1.0) & (size > 0)  # that of one sample is somewhere, whatever is asked
    reach = np.minimum(1.0, totals[:, None] / k)
    taken = np.where(rare, choice_taken(totals, np.maximum(size, 1)) * reach, 0.0)[frequent]
    too_costly |= (np.cumsum(taken, axis=0) > MOST_TAKEN + 1e-12).any(axis=1) & (taken > 0.0).any(axis=1)
    return np.asarray(frequent[too_costly & (totals[frequent] > 0)])


def choice_taken(totals: Ints, sizes: Ints) -> Floats:
    """Return which part of the choice in filling each subset it takes to put some sample of each label there.

    The choice is the logarithm of the number of ways to fill the subset, about m h(p) with p its part of all m samples.
    Of these ways the part 1 - (1 - p)^n, about, has some of the label's n samples, so labels add up. A label that no
    sample has takes none.

    Examples
    --------
    >>> choice_taken(np.array([1000, 5]), np.array([5000, 50])).round(3).tolist()
    [[0.0, 0.0], [0.0, 0.011]]
    """
    m = float(sizes.sum())
    part = np.minimum(sizes / m, 1.0 - 0.5 / m)  # a subset of all samples has no choice, but is not divided by
    absent, power, left = np.ones((len(totals), len(sizes))), 1.0 - part, totals.copy()
    while left.any():  # (1 - p)^n, by multiplications that every machine rounds alike
        absent *= np.where(left[:, None] % 2 == 1, power, 1.0)
        power, left = power * power, left // 2
    present = np.where(totals[:, None] > 0, np.maximum(1.0 - absent, part), 1.0)
    choice = -m * (part * logarithm(part) + (1.0 - part) * logarithm(1.0 - part))
    return np.asarray(logarithm(1.0 / present) / choice)


class _Units(NamedTuple):
    """The units to place: their labels, sizes, the subset that each is locked into, and how many are equal.

    With `all_dealt` every unit has to be in some subset; without it, there are more units than any label needs.
    """

    presence: sp.csr_array
    sizes: Ints
    place: Ints
    copies: Ints
    all_dealt: bool


def _units(counts: LabelCounts, constraints: Constraints | None) -> _Units:
    """Take each sample, or each group, as a unit."""
    unit = np.arange(counts.n_rows)
    place = np.full(counts.n_rows, FREE, dtype=np.int64) if constraints is None else constraints.locked
    if constraints is not None and constraints.groups is not None:
        unit = constraints.groups.code_of_sample
        place = np.full(len(constraints.groups), FREE, dtype=np.int64)
        place[unit] = constraints.locked
    n_units, ones = len(place), np.ones(len(unit), dtype=np.int32)
    members = sp.csr_array((ones, (unit, np.arange(len(unit)))), shape=(n_units, len(unit)))
    presence = sp.csr_array(members @ counts.presence)
    presence.data[:] = 1
    presence.sort_indices()  # a product leaves them in any order
    sizes = np.bincount(unit, minlength=n_units)
    return _Units(presence, sizes, place, np.ones(n_units, dtype=np.int64), all_dealt=True)


def _crowd_units(counts: LabelCounts, constraints: Constraints | None, k: int) -> _Units:
    """Take at most k samples of each row, one for each subset: more would bring no further labels.

    Locked ones take no capacity: that is taken off the sizes.
    """
    locked = np.zeros((counts.n_rows, k), dtype=np.int64)
    if constraints is not None and constraints.locked_copies is not None:
        locked = constraints.locked_copies
    free = counts.copies - locked.sum(axis=1)
    numbers = np.concatenate([free[:, None], locked], axis=1)
    row, where = np.nonzero(numbers)
    copies = np.minimum(numbers[row, where], k)
    sizes = (where == 0).astype(np.int64)
    return _Units(sp.csr_array(counts.presence[row]), sizes, where - 1, copies, all_dealt=False)


def _reach(units: _Units, k: int) -> Ints:
    """Return in how many subsets each label can be at most, on its own: its bound counts the others as empty."""

    def samples(inside: npt.NDArray[np.bool_]) -> Ints:
        return np.asarray(units.presence[inside].T @ units.copies[inside])

    held = sum((samples(units.place == j) > 0).astype(np.int64) for j in range(k))
    return np.asarray(np.minimum(samples(units.place == FREE) + held, k), dtype=np.int64)


def _most_filled(units: _Units, sizes: Ints, reach: Ints) -> int:
    """Bound from above how many combinations of these labels with subsets can be filled."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    from evosplit import _kernels

    features, weights, place = units.presence, units.sizes, units.place
    # Units that are alike are one variable a subset: how many of them it gets.
    whole = compact_csr(sp.hstack([features, sp.csr_array(np.stack([weights, place + 1], axis=1))], format="csr"))
    first, kind = _kernels.distinct_rows(whole.indptr, whole.indices, whole.data)
    kinds, copies = features[first], np.bincount(kind, weights=units.copies).astype(np.int64)
    k, n, q = len(sizes), len(first), features.shape[1]
    subsets = sp.eye_array(k, format="csr")
    nothing = sp.csr_array((n + k, q * k))
    dealt = sp.kron(sp.eye_array(n), np.ones((1, k)))
    filled = sp.kron(weights[first][None], subsets)
    rules: list[Any] = [
        LinearConstraint(
            sp.hstack([sp.vstack([dealt, filled]), nothing], format="csr"),
            np.concatenate([copies, sizes]) if units.all_dealt else 0,
            np.concatenate([copies, sizes]),
        ),
        # A combination counts if a unit with the label is in the subset.
        LinearConstraint(
            sp.hstack([sp.kron(kinds.T, subsets), -sp.eye_array(q * k)], format="csr"), np.zeros(q * k), np.inf
        ),
        LinearConstraint(
            sp.hstack([sp.csr_array((q, n * k)), sp.kron(sp.eye_array(q), np.ones((1, k)))], format="csr"), 0, reach
        ),
    ]
    here = place[first]
    may = (here[:, None] == FREE) | (here[:, None] == np.arange(k))
    most = np.concatenate([np.where(may, copies[:, None], 0).ravel(), np.ones(q * k)])
    found = milp(
        np.concatenate([np.zeros(n * k), -np.ones(q * k)]),
        constraints=rules,
        bounds=Bounds(0, most),
        integrality=np.concatenate([np.ones(n * k), np.zeros(q * k)]),
        options={"time_limit": MOST_SECONDS},
    )
    bound = found.get("mip_dual_bound")
    return int(reach.sum()) if bound is None else min(int(np.floor(-bound + 1e-6)), int(reach.sum()))

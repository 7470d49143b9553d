"""Labels in every subset: what is asked of a split by default, what that may cost, and how much of it is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.constraints import FREE, Constraints
from evosplit.counts import LabelCounts, compact_csr
from evosplit.measures import flz_bound, ordered_sum

__all__ = ["fewest_empty", "label_needs"]

MOST_ENTRIES = 1_500  # labels of units times subsets that the integer programme sees, those of the rarest labels
MOST_SECONDS = 1.0  # of its search

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def label_needs(
    counts: LabelCounts, sizes: Sequence[int], *, order: Ints, cover: bool | str = True, least: int = 1
) -> tuple[Ints, int]:
    """Return how many samples of each label every subset is to get, and how many labels are not asked for.

    Every subset is to get `least` samples of each label, or as many as there are for all. No more is asked than the
    smallest subset can hold even if it gets the samples with the most labels: a search that runs after the impossible
    gives up rare labels for it. By default (`cover=True` and `least=1`) the rarest labels are not asked for where that
    would make all labels much more uneven; `cover=False` asks for none.

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
    richest = np.sort(np.diff(counts.presence.indptr))[::-1][: min(sizes)].sum()
    low, high = 1, least
    while low < high:  # the largest minimum that may fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.clip(for_all, 1, middle).sum() <= richest else (low, middle - 1)
    needs = np.clip(for_all, 1, low).astype(np.int64)
    if cover == "all" or least > 1:  # who asks for a minimum insists on it
        return needs, 0
    too_dear = _too_dear(totals, needs, sizes)
    needs[too_dear] = 0
    return needs, len(too_dear)


def fewest_empty(counts: LabelCounts, sizes: tuple[int, ...], constraints: Constraints | None = None) -> int:
    """Bound from below how many label-subset combinations stay empty in a split of these sizes.

    Each label on its own gives the first bound. Labels that share their few samples, and subsets too small for all
    labels, leave more empty: an integer programme over the rarest labels finds how many or, where a second is not
    enough, a bound of that.

    Examples
    --------
    >>> counts = LabelCounts([[1, 1, 0], [1, 0, 1], [0, 1, 1]])  # two of the samples share a subset
    >>> flz_bound(counts.sample_totals, 2), fewest_empty(counts, (2, 1))
    (0, 1)
    """
    k = len(sizes)
    by_label = flz_bound(counts.sample_totals, k) if constraints is None else constraints.flz_bound(counts, k)
    unit, place = _units(counts, constraints)
    presence = _presence(counts, unit, len(place))
    totals = np.bincount(presence.indices, minlength=counts.n_labels)
    rarest = np.argsort(totals, kind="stable")
    chosen = np.sort(rarest[(k * np.cumsum(totals[rarest]) <= MOST_ENTRIES) & (totals[rarest] > 1)])
    if not len(chosen):
        return by_label
    features = presence[:, chosen]
    reach = _reach(features, place, k)
    filled = _most_filled(features, np.bincount(unit, minlength=len(place)), place, np.asarray(sizes), reach)
    return by_label + int(reach.sum()) - filled


def _too_dear(totals: Ints, needs: Ints, sizes: Sequence[int]) -> Ints:
    """Return the labels whose cover would cost too much, the most frequent ones being covered first.

    A subset whose share of a label is less than half a sample is better off without it, as far as LD goes. What it
    costs to give it the label all the same may add up, over labels and subsets, to the lower bound of LD: so cover at
    most doubles what labels deviate by.
    """
    from evosplit import _kernels

    size, m = np.asarray(sizes, dtype=np.int64), int(sum(sizes))
    odds = totals / np.maximum(m - totals, 1)
    costs = np.zeros(len(totals))
    for j in range(len(size)):
        below = totals * size[j] // m

        def away(x: Ints, s: int = int(size[j])) -> Floats:
            return np.asarray(np.abs(x / np.maximum(s - x, 1) - odds))

        free = np.minimum(away(below), away(below + 1))
        costs += np.minimum(away(np.maximum(below, needs)), away(np.maximum(below + 1, needs))) - free
    costs[(totals < len(size)) | (totals == m)] = 0.0  # too few for all subsets: wherever they are, some lack them
    if not costs.any():
        return np.zeros(0, dtype=np.int64)
    distinct, inverse = np.unique(totals, return_inverse=True)
    affordable = float(ordered_sum(_kernels.odds_bound(distinct, size)[inverse]))
    frequent = np.argsort(-totals, kind="stable")
    return np.asarray(frequent[np.cumsum(costs[frequent]) > affordable + 1e-12])


def _units(counts: LabelCounts, constraints: Constraints | None) -> tuple[Ints, Ints]:
    """Return the unit of each sample, and the subset into which each unit is locked."""
    if constraints is None:
        return np.arange(counts.n_samples), np.full(counts.n_samples, FREE, dtype=np.int64)
    if constraints.groups is None:
        return np.arange(counts.n_samples), constraints.locked
    unit = constraints.groups.code_of_sample
    place = np.full(len(constraints.groups), FREE, dtype=np.int64)
    place[unit] = constraints.locked
    return unit, place


def _presence(counts: LabelCounts, unit: Ints, n_units: int) -> sp.csr_array:
    """Tell which labels occur in which unit."""
    members = sp.csr_array(
        (np.ones(len(unit), dtype=np.int32), (unit, np.arange(len(unit)))), shape=(n_units, len(unit))
    )
    presence = sp.csr_array(members @ counts.presence)
    presence.data[:] = 1
    return presence


def _reach(features: sp.csr_array, place: Ints, k: int) -> Ints:
    """Return in how many subsets each label can be at most, on its own: its bound counts the others as empty."""
    free = np.asarray(features[place == FREE].sum(axis=0)).ravel()
    held = sum((np.asarray(features[place == j].sum(axis=0)).ravel() > 0).astype(np.int64) for j in range(k))
    return np.asarray(np.minimum(free + held, k), dtype=np.int64)


def _most_filled(features: sp.csr_array, weights: Ints, place: Ints, sizes: Ints, reach: Ints) -> int:
    """Bound from above how many combinations of these labels with subsets can be filled."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    from evosplit import _kernels

    # Units that are alike are one variable a subset: how many of them it gets.
    whole = compact_csr(sp.hstack([features, sp.csr_array(np.stack([weights, place + 1], axis=1))], format="csr"))
    first, kind = _kernels.distinct_rows(whole.indptr, whole.indices, whole.data)
    kinds, copies = features[first], np.bincount(kind)
    k, n, q = len(sizes), len(first), features.shape[1]
    subsets = sp.eye_array(k, format="csr")
    nothing = sp.csr_array((n + k, q * k))
    dealt = sp.kron(sp.eye_array(n), np.ones((1, k)))
    filled = sp.kron(weights[first][None], subsets)
    rules: list[Any] = [
        LinearConstraint(
            sp.hstack([sp.vstack([dealt, filled]), nothing], format="csr"),
            np.concatenate([copies, sizes]),
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

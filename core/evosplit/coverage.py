"""In how many subsets labels can be: a lower bound of FLZ that sees what labels share, where that is cheap to prove."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.constraints import FREE, Constraints
from evosplit.counts import LabelCounts, compact_csr
from evosplit.measures import flz_bound

__all__ = ["fewest_empty"]

MOST_ENTRIES = 1_500  # labels of units times subsets that the integer programme sees, those of the rarest labels
MOST_SECONDS = 1.0  # of its search

Ints = npt.NDArray[np.int64]


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

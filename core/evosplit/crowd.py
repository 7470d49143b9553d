"""Equal samples, placed before the search.

A split is a table (types x subsets) until it is done, whether the data came as a row for each sample or as a histogram.
Where there are very many samples, most of each type are *placed* before any search, each subset getting its share; the
search moves the others, a few of each type. So time and memory depend on the number of types, not on that of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.constraints import FREE, Constraints
from evosplit.counts import LabelCounts
from evosplit.measures import rows_in_subsets
from evosplit.ratios import Subsets

__all__ = ["Crowd", "Shares", "place_equal"]

MOST_UNITS = 200_000  # that are searched, more than most data sets have; of more samples, most are placed before
LEAST_UNPLACED = 2  # copies of each type and subset that are searched, however many types there are

Ints = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of the subsets in each type (types x k).

    Attributes
    ----------
    dealt
        How many units each subset gets as its share, rounded down, and those locked into it.
    needs
        What each subset then lacks of its share: less than one unit, or little more.
    """

    dealt: Ints
    needs: Floats


@dataclass(frozen=True, eq=False)
class Crowd:
    """The rows behind a split that is a table.

    Attributes
    ----------
    type_of_row, copies
        The type of each row, and how many samples it stands for.
    locked_rows
        Where each row is one sample: the subset into which it is locked, -1 if it is free.
    locked_copies
        Where rows stand for several samples: how many of each are locked into each subset (rows x k); None if none are.
    locked, placed
        Tables (types x k): how many units of each type are locked into each subset, and how many are in it before the
        search.
    shares
        What the subsets' shares are where samples are placed; else None.
    """

    type_of_row: Ints
    copies: Ints
    locked_rows: Ints
    locked_copies: Ints | None
    locked: Ints
    placed: Ints
    shares: Shares | None = None

    def of_rows(self, type_table: Ints) -> Ints:
        """Distribute the samples of each type and subset over the rows of that type (rows x k)."""
        from evosplit._kernels.tables import share_out

        shared = np.empty((len(self.type_of_row), type_table.shape[1]), dtype=np.int64)
        free = self.copies if self.locked_copies is None else self.copies - self.locked_copies.sum(axis=1)
        share_out(self.type_of_row, free, type_table - self.locked, shared)
        return shared if self.locked_copies is None else shared + self.locked_copies


def place_equal(
    counts: LabelCounts,
    subsets: Subsets,
    type_of_row: Ints,
    features: sp.csr_array,
    copies: Ints,
    constraints: Constraints | None,
) -> Crowd:
    """Collect the locked samples; where there are very many, place most samples of each type by the subsets' shares."""
    from evosplit import _kernels

    n_types, k, sizes = len(copies), len(subsets), np.array(subsets.sizes, dtype=np.int64)
    locked, locked_copies = np.zeros((n_types, k), dtype=np.int64), None
    locked_rows = np.full(0 if counts.has_copies else counts.n_rows, FREE, dtype=np.int64)
    if constraints is None or not constraints.n_locked:
        pass
    elif constraints.locked_copies is not None:
        locked_copies = constraints.locked_copies
        locked = rows_in_subsets(type_of_row, locked_copies, n_types, k)
    else:
        locked_rows = constraints.locked
        held = locked_rows != FREE
        locked = _kernels.count_rows(type_of_row[held], locked_rows[held], n_types, k)
    rows = (type_of_row, counts.copies, locked_rows, locked_copies, locked)
    if int(copies.sum()) - int(locked.sum()) <= MOST_UNITS:
        return Crowd(*rows, placed=locked)
    shares = _shares(counts.n_labels, sizes, features, copies, locked)
    dealt = shares.dealt - locked
    low, high = LEAST_UNPLACED, max(LEAST_UNPLACED, int(dealt.max(initial=0)))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(dealt, middle).sum() <= MOST_UNITS else (low, middle - 1)
    return Crowd(*rows, placed=locked + np.maximum(dealt - low, 0), shares=shares)


def _shares(n_labels: int, sizes: Ints, features: sp.csr_array, copies: Ints, locked: Ints) -> Shares:
    """Deal the samples of each type so that every subset gets its share of each label."""
    from evosplit._kernels.tables import deal_in_bulk, rarest_labels

    # Samples without a label carry the last column, and are spread like any label.
    labels = sp.csr_array(sp.hstack([features[:, :n_labels], features[:, [-1]]], format="csr"))
    totals = np.asarray(labels.T @ copies)
    rarest = rarest_labels(labels.indptr, labels.indices, totals)
    dealt, needs = np.zeros_like(locked), np.zeros(locked.shape)
    deal_in_bulk(
        labels.indptr,
        labels.indices,
        totals,
        sizes,
        np.argsort(totals[rarest], kind="stable"),
        rarest,
        np.ascontiguousarray(labels.T @ locked, dtype=np.float64),
        dealt,
        needs,
        copies - locked.sum(axis=1),
        sizes - locked.sum(axis=0),
    )
    return Shares(locked + dealt, needs)

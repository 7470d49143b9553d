"""How things (labels, label pairs, the categories of a stratum) are shared out among the subsets, as numbers.

The share that a thing should have in a subset is the subset's share of all samples; two functions say how far it is
off:

>>> counts, sizes = np.array([[83, 7, 10], [1, 1, 0]]), np.array([800, 100, 100])
>>> deviations(counts, sizes).round(3).tolist()  # 7 instead of 10: 30 % off; 1 instead of 0.2: 400 %
[0.3, 4.0]
>>> misplaced(counts, sizes).tolist()  # to move until each is as close as whole samples allow
[3, 1]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.measures import odds_bounds, odds_deviation, ordered_sum

__all__ = ["Part", "ShareTable", "deviations", "misplaced"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """How much of something a subset has: the count, its share of all, and the share it should have.

    Examples
    --------
    >>> Part(7, 0.07, 0.1).excess  # 30 % less than its share
    -0.3
    """

    count: int
    share: float
    target: float

    @property
    def excess(self) -> float:
        """How much more (or less) than its share this is, relative to the share; 0 in an empty subset."""
        return round(self.share / self.target - 1, 12) if self.target else 0.0


@dataclass(frozen=True, eq=False)
class ShareTable:
    """Things counted in subsets.

    Attributes
    ----------
    names
        What is counted, one name per row.
    subsets, sizes
        The subsets and how many samples each holds.
    counts
        How often each thing occurs in each subset (rows x subsets).
    """

    names: tuple[str, ...]
    subsets: tuple[str, ...]
    sizes: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def totals(self) -> Ints:
        """How often each thing occurs."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    @cached_property
    def targets(self) -> Floats:
        """The share that everything should have in each subset: the subset's share of all samples."""
        return np.asarray(self.sizes / max(int(self.sizes.sum()), 1))

    @cached_property
    def parts(self) -> tuple[tuple[Part, ...], ...]:
        """What each subset holds of each thing."""
        shares = self.counts / np.maximum(self.totals, 1)[:, None]
        rows = zip(self.counts.tolist(), shares.tolist(), strict=True)
        return tuple(tuple(map(Part, counts, row, self.targets.tolist())) for counts, row in rows)

    @cached_property
    def deviation(self) -> Floats:
        """How far each thing is off, see `deviations`."""
        return deviations(self.counts, self.sizes)


def deviations(counts: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> Floats:
    """Return the largest difference between the shares of each row and the subsets' shares, relative to these.

    0.02 means within 2 % in every subset. It is 0 for rows of zeros; subsets without samples do not count.
    """
    filled = sizes > 0
    target = sizes[filled] / max(int(sizes.sum()), 1)
    totals = counts.sum(axis=1)
    if not filled.any():
        return np.zeros(len(counts))
    off = np.abs(counts[:, filled] / np.maximum(totals, 1)[:, None] - target) / target
    return np.where(totals > 0, off.max(axis=1), 0.0)


def misplaced(counts: npt.NDArray[Any], sizes: npt.NDArray[Any], *, least: int = 0) -> Ints:
    """Count how many would have to move for each row to be as close to its shares as whole numbers allow.

    Close means: the differences between counts and shares, added up over the subsets, are as small as they can be. Rows
    with enough for all subsets may instead have `least` in each, and be as close as that allows. Counts whose LD is at
    its lower bound are close, too: LD, which compares odds, may prefer other ones than the differences do.

    Examples
    --------
    >>> counts, sizes = np.array([[33, 5, 4], [34, 4, 4], [1, 1, 1]]), np.array([80, 10, 10])
    >>> misplaced(counts, sizes).tolist(), misplaced(counts, sizes, least=1).tolist()
    ([1, 0, 2], [1, 0, 0])
    """
    moves = _moves(counts, sizes, 0)
    if least:
        moves = np.minimum(moves, _moves(counts, sizes, least))
    off = np.flatnonzero(moves)
    deviation = ordered_sum(odds_deviation(counts[off], sizes))
    bounds = odds_bounds(counts[off].sum(axis=1), sizes)
    moves[off[deviation <= bounds * (1.0 + 1e-9)]] = 0
    return moves


def _moves(counts: npt.NDArray[Any], sizes: npt.NDArray[Any], least: int) -> Ints:
    totals = counts.sum(axis=1).astype(np.int64)[:, None]
    sizes = sizes.astype(np.int64)
    # The products may overflow, but their difference is small and therefore right.
    whole = max(int(sizes.sum()), 1)
    guess = (totals * (sizes / whole)).astype(np.int64)
    carry, remainder = np.divmod(totals * sizes - guess * whole, whole)
    below = guess + carry
    minimum = np.where(totals >= least * len(sizes), np.minimum(least, sizes), 0)
    needed = np.maximum(minimum - below, 0)
    # What rounding down leaves over goes first where it is needed, then to the largest remainders; of equal ones to
    # those that have it already.
    left = totals[:, 0] - below.sum(axis=1) - needed.sum(axis=1)
    order = np.argsort(-np.where(needed > 0, -1, 2 * remainder + (counts > below)), axis=1, kind="stable")
    up = np.zeros(counts.shape, dtype=np.int64)
    np.put_along_axis(up, order, (np.arange(len(sizes)) < left[:, None]).astype(np.int64), axis=1)
    nearest = below + needed + up
    too_many = np.maximum(counts - nearest, 0).sum(axis=1)
    # Where more is needed than is left over, subsets above their minimum lack it, no matter which of them.
    lacking = np.maximum(nearest - counts, 0).sum(axis=1)
    bearable = np.maximum(nearest - np.maximum(counts, minimum), 0).sum(axis=1)
    too_few = lacking - np.minimum(bearable, np.maximum(-left, 0))
    return np.asarray(np.maximum(too_few, too_many), dtype=np.int64)

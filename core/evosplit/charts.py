"""What the charts of a split show, as plain numbers: the page, the plots and FiftyOne's panel draw from these.

A *share table* counts things (labels, label pairs, the categories of a stratum) in the subsets. The share that a thing
should have in a subset is the subset's share of all samples; two functions say how far it is off:

>>> counts, sizes = np.array([[83, 7, 10], [1, 1, 0]]), np.array([800, 100, 100])
>>> deviations(counts, sizes).round(3).tolist()  # 7 instead of 10: 30 % off; 1 instead of 0.2: 400 %
[0.3, 4.0]
>>> misplaced(counts, sizes).tolist()  # to move until each is as close as whole samples allow
[3, 1]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit.errors import EvoSplitError

if TYPE_CHECKING:
    from evosplit.front import ParetoFront
    from evosplit.report import SplitReport

__all__ = [
    "FrontPoints",
    "LabelScatter",
    "ShareTable",
    "deviations",
    "front_points",
    "label_scatter",
    "label_shares",
    "listed",
    "misplaced",
    "number",
    "objective_titles",
    "pair_shares",
    "total_shares",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_OBJECTIVE_TITLES: Mapping[str, str] = {
    "samples": "LD: samples with a label",
    "instances": "LD': instances of a label",
    "pairs": "LPD: label pairs",
    "triplets": "label triplets",
    "strata": "strata",
}


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
    unit
        What one of them is called: "samples" or "instances"; "" where the rows differ in that.
    """

    names: tuple[str, ...]
    subsets: tuple[str, ...]
    sizes: Ints
    counts: Ints
    unit: str = "samples"

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
    def shares(self) -> Floats:
        """The share that each thing has in each subset (rows x subsets)."""
        return np.asarray(self.counts / np.maximum(self.totals, 1)[:, None])

    @cached_property
    def deviation(self) -> Floats:
        """How far each thing is off, see `deviations`."""
        return deviations(self.counts, self.sizes)


@dataclass(frozen=True, eq=False)
class LabelScatter:
    """How far each label is off, against how frequent it is.

    Attributes
    ----------
    names
        The labels that occur.
    totals
        The samples with each label.
    deviation, random
        How far it is off in this split, and in random splits on average (see `deviations`).
    """

    names: tuple[str, ...]
    totals: Ints
    deviation: Floats
    random: Floats


@dataclass(frozen=True, eq=False)
class FrontPoints:
    """The trade-offs that were found.

    Attributes
    ----------
    objective_names
        What the columns of `values` measure.
    values
        One row per trade-off; smaller is better.
    reference
        What random splits score, on average.
    chosen
        The row that the split is.
    """

    objective_names: tuple[str, ...]
    values: Floats
    reference: Floats
    chosen: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def titles(self) -> tuple[str, ...]:
        """The objectives in words."""
        return objective_titles(self.objective_names)

    def to_dict(self) -> dict[str, Any]:
        """Return the trade-offs as JSON-able data."""
        return {
            "objective_names": list(self.objective_names),
            "objectives": self.values.tolist(),
            "reference": self.reference.tolist(),
            "chosen": self.chosen,
        }


def deviations(counts: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> Floats:
    """Return how far the shares of each row are from the subsets' shares, at most and relative to the latter.

    0.02 means: within 2 % everywhere. Rows of zeros, and subsets without samples, are not off.
    """
    filled = sizes > 0
    target = sizes[filled] / max(int(sizes.sum()), 1)
    totals = counts.sum(axis=1)
    if not filled.any():
        return np.zeros(len(counts))
    off = np.abs(counts[:, filled] / np.maximum(totals, 1)[:, None] - target) / target
    return np.where(totals > 0, off.max(axis=1), 0.0)


def misplaced(counts: npt.NDArray[Any], sizes: npt.NDArray[Any], *, least: int = 0) -> Ints:
    """Count what would have to move until each row is as close to its shares as whole numbers allow.

    Close means: the differences between counts and shares, added up over the subsets, are as small as they can be. Rows
    with enough for all subsets may instead have `least` in each, and be as close as that allows.

    Examples
    --------
    >>> counts, sizes = np.array([[33, 5, 4], [34, 4, 4], [1, 1, 1]]), np.array([80, 10, 10])
    >>> misplaced(counts, sizes).tolist(), misplaced(counts, sizes, least=1).tolist()
    ([1, 0, 2], [1, 0, 0])
    """
    plain = _moves(counts, sizes, 0)
    return plain if not least else np.minimum(plain, _moves(counts, sizes, least))


def _moves(counts: npt.NDArray[Any], sizes: npt.NDArray[Any], least: int) -> Ints:
    totals = counts.sum(axis=1).astype(np.int64)[:, None]
    sizes = sizes.astype(np.int64)
    below, remainder = np.divmod(totals * sizes, max(int(sizes.sum()), 1))
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


def label_shares(report: SplitReport, *, by: str = "samples", limit: int | None = None) -> ShareTable:
    """Count the labels that occur in the subsets, the rarest first.

    Parameters
    ----------
    report
        The report of a split.
    by
        "samples" (samples with the label) or "instances" (how often it occurs in them).
    limit
        How many labels at most.
    """
    if by not in ("samples", "instances"):
        raise EvoSplitError(f"by is {by!r}; choose 'samples' or 'instances'")
    rows = [row for row in report.labels if row.total][: _checked_limit(limit)]
    counts = [row.samples if by == "samples" else row.instances for row in rows]
    return ShareTable(
        names=tuple(row.label for row in rows),
        subsets=report.names,
        sizes=np.array(report.sizes, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64).reshape(len(rows), len(report.names)),
        unit="samples" if by == "samples" else by,
    )


def total_shares(report: SplitReport) -> ShareTable:
    """Count all instances, and the samples without a label, in the subsets; what does not occur is left out."""
    rows = {"all instances": report.instances, "no label": report.unlabelled}
    found = {name: counts for name, counts in rows.items() if sum(counts)}
    return ShareTable(
        names=tuple(found),
        subsets=report.names,
        sizes=np.array(report.sizes, dtype=np.int64),
        counts=np.array(list(found.values()), dtype=np.int64).reshape(len(found), len(report.names)),
        unit="",
    )


def pair_shares(report: SplitReport, *, limit: int | None = None) -> ShareTable:
    """Count the label pairs that are furthest from their shares in the subsets, the worst first."""
    rows = report.pairs[: _checked_limit(limit)]
    return ShareTable(
        names=tuple(" + ".join(row.labels) for row in rows),
        subsets=report.names,
        sizes=np.array(report.sizes, dtype=np.int64),
        counts=np.array([row.samples for row in rows], dtype=np.int64).reshape(len(rows), len(report.names)),
    )


def label_scatter(report: SplitReport) -> LabelScatter:
    """Set each label's deviation beside its frequency and its deviation in random splits."""
    rows = [row for row in report.labels if row.total]
    return LabelScatter(
        names=tuple(row.label for row in rows),
        totals=np.array([row.total for row in rows], dtype=np.int64),
        deviation=np.array([row.deviation for row in rows]),
        random=np.array([row.random_deviation for row in rows]),
    )


def objective_titles(names: Sequence[str]) -> tuple[str, ...]:
    """Say what objectives measure; pairs beside instances alone take the form that goes with LD'.

    Examples
    --------
    >>> objective_titles(["samples", "pairs"]), objective_titles(["instances", "pairs"])[1]
    (('LD: samples with a label', 'LPD: label pairs'), "LPD': label pairs")
    """
    titles = {**_OBJECTIVE_TITLES}
    if "instances" in names and "samples" not in names:
        titles["pairs"] = "LPD': label pairs"
    return tuple(titles.get(name, name) for name in names)


def front_points(front: ParetoFront, chosen: int) -> FrontPoints:
    """Take the numbers of a front, without its assignments."""
    return FrontPoints(tuple(front.objective_names), front.objectives, front.reference, chosen)


def number(value: float) -> str:
    """Write a measure so that it can be compared at a glance.

    Examples
    --------
    >>> number(3.0), number(0.012345), number(0.000012345)
    ('3', '0.01235', '1.23e-05')
    """
    if float(value).is_integer():
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.2e}"


def listed(names: Sequence[str], limit: int) -> str:
    """Name the first few, and say how many more there are.

    Examples
    --------
    >>> listed(["cat", "dog", "eel"], 2)
    'cat, dog and 1 more'
    """
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _checked_limit(limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise EvoSplitError(f"limit is {limit}; show at least 1, or None for all")
    return limit

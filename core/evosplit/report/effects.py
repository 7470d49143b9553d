"""What groups, locks, strata and minima did to a split, checked on the split itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit.constraints import FREE, Constraints, GroupIndex
from evosplit.counts import LabelCounts
from evosplit.measures import odds_deviation, subset_tables
from evosplit.report.shares import ShareTable

if TYPE_CHECKING:
    from evosplit.result import Split

__all__ = ["ConstraintEffects", "GroupEffect", "effects_of", "strata_deviation", "stratum_table"]


@dataclass(frozen=True)
class GroupEffect:
    """How the groups are distributed over the subsets.

    Attributes
    ----------
    total
        How many groups have a name; samples without one are on their own.
    largest, largest_size
        The largest group and its number of samples.
    per_subset
        How many groups are in each subset.
    torn
        How many are in more than one; none in a split by EvoSplit.
    """

    total: int
    largest: str
    largest_size: int
    per_subset: tuple[int, ...]
    torn: int


@dataclass(frozen=True, eq=False)
class ConstraintEffects:
    """What the constraints of a split did.

    Attributes
    ----------
    groups
        How the groups are distributed; None if none were asked for.
    locked
        How many samples were already placed in each subset.
    moved
        How many of them are not where they were locked; none in a split by EvoSplit.
    strata
        For each stratum its name and its categories counted in the subsets.
    min_per_label
        How many samples of each label every subset was to get.
    below_minimum
        The labels that have fewer in some subset, with the smallest number.
    """

    groups: GroupEffect | None
    locked: tuple[int, ...]
    moved: int
    strata: tuple[tuple[str, ShareTable], ...]
    min_per_label: int
    below_minimum: Mapping[str, int]

    @property
    def binding(self) -> bool:
        """Whether samples could not be placed one by one as labels ask for."""
        return self.groups is not None or sum(self.locked) > 0

    def to_dict(self, subsets: Sequence[str]) -> dict[str, Any]:
        """Return the effects as JSON-able data, given the names of the subsets."""

        def by_subset(values: Iterable[int]) -> dict[str, int]:
            return dict(zip(subsets, values, strict=True))

        groups = self.groups
        return {
            "groups": groups and {**asdict(groups), "per_subset": by_subset(groups.per_subset)},
            "locked": by_subset(self.locked),
            "moved": self.moved,
            "strata": {
                name: [
                    {"category": category, "counts": by_subset(row), "deviation": deviation}
                    for category, row, deviation in zip(
                        table.names, table.counts.tolist(), table.deviation.tolist(), strict=True
                    )
                ]
                for name, table in self.strata
            },
            "min_per_label": self.min_per_label,
            "below_minimum": dict(self.below_minimum),
        }


def effects_of(
    split: Split, counts: LabelCounts, constraints: Constraints, samples: npt.NDArray[np.int64]
) -> ConstraintEffects:
    """Look at a split with its constraints; `samples` counts the samples of each label in each subset."""
    k, least = len(split.names), constraints.min_per_label
    smallest = samples.min(axis=1, initial=least)
    below = np.flatnonzero((smallest < least) & (samples.sum(axis=1) > 0)) if least > 1 else ()
    return ConstraintEffects(
        groups=None if constraints.groups is None else _group_effect(constraints.groups, split.assignment, k),
        locked=tuple(constraints.held(k).tolist()),
        moved=_moved(split, constraints),
        strata=tuple(
            (stratum.name, stratum_table(stratum.counts, split.placement, split.names))
            for stratum in constraints.strata
        ),
        min_per_label=least,
        below_minimum={counts.labels[i]: int(smallest[i]) for i in below},
    )


def _moved(split: Split, constraints: Constraints) -> int:
    if constraints.locked_copies is not None:
        return int(np.maximum(constraints.locked_copies - split.table, 0).sum())
    held = constraints.locked != FREE
    return int((split.assignment[held] != constraints.locked[held]).sum())


def _group_effect(groups: GroupIndex, assignment: npt.NDArray[np.integer[Any]], k: int) -> GroupEffect:
    named = np.array([name is not None for name in groups.names], dtype=bool)
    lies = np.zeros((len(groups), k), dtype=bool)
    lies[groups.code_of_sample, assignment] = True
    sizes = np.where(named, groups.sizes, 0)
    largest = int(np.argmax(sizes))
    return GroupEffect(
        total=int(named.sum()),
        largest=str(groups.names[largest]),
        largest_size=int(sizes[largest]),
        per_subset=tuple(lies[named].sum(axis=0).tolist()),
        torn=int((lies[named].sum(axis=1) > 1).sum()),
    )


def stratum_table(counts: LabelCounts, placement: npt.NDArray[Any], subsets: tuple[str, ...]) -> ShareTable:
    """Count the categories of a stratum in the subsets."""
    tables = subset_tables(counts, placement, len(subsets))
    return ShareTable(counts.labels, subsets, tables.sizes, tables.instances)


def strata_deviation(tables: Sequence[ShareTable]) -> float:
    """Return how uneven strata are, as the objective "strata" measures it: Eq. 2 for categories, averaged."""
    return float(np.mean([odds_deviation(table.counts, table.counts.sum(axis=0)).mean() for table in tables]))

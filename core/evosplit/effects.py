"""What groups, locks, strata and minima did to a split, checked on the split itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.charts import ShareTable, listed
from evosplit.constraints import Constraints, GroupIndex
from evosplit.counts import LabelCounts
from evosplit.result import Split

__all__ = ["ConstraintEffects", "GroupEffect", "effects_of"]

COMMON = 10  # samples per subset, on average, from which a label or category is judged in percent
_NAMED = 5


@dataclass(frozen=True)
class GroupEffect:
    """How the groups lie in the subsets.

    Attributes
    ----------
    n_groups
        How many groups have a name; samples without one are on their own.
    largest, largest_size
        The largest group and its number of samples.
    per_subset
        How many groups lie in each subset.
    torn
        How many lie in more than one: none, in a split of EvoSplit's.
    """

    n_groups: int
    largest: str
    largest_size: int
    per_subset: tuple[int, ...]
    torn: int


@dataclass(frozen=True, eq=False)
class ConstraintEffects:
    """What the constraints of a split did.

    Attributes
    ----------
    subsets
        The names of the subsets.
    groups
        How the groups lie; None if none were asked for.
    locked
        How many samples were already placed in each subset.
    moved
        How many of them are not where they were locked: none, in a split of EvoSplit's.
    strata
        For each stratum its name and its categories counted in the subsets.
    min_per_label
        How many samples of each label every subset was to get.
    below_minimum
        The labels that have fewer in some subset, with the smallest number.
    label_weights
        The labels that mattered more or less than others.
    """

    subsets: tuple[str, ...]
    groups: GroupEffect | None
    locked: tuple[int, ...]
    moved: int
    strata: tuple[tuple[str, ShareTable], ...]
    min_per_label: int
    below_minimum: Mapping[str, int]
    label_weights: Mapping[str, float]

    @property
    def binding(self) -> bool:
        """Whether samples could not be placed one by one as labels ask for."""
        return self.groups is not None or sum(self.locked) > 0

    def in_words(self) -> list[str]:
        """Say what was kept, in plain sentences."""
        lines = []
        if self.groups is not None:
            kept = "all of them whole" if not self.groups.torn else f"{self.groups.torn:,} of them torn apart"
            lines.append(
                f"Groups: {self.groups.n_groups:,}, {kept}; "
                f"the largest, {self.groups.largest}, has {self.groups.largest_size:,} samples."
            )
        if sum(self.locked):
            kept = "all of them in their subsets" if not self.moved else f"{self.moved:,} of them elsewhere"
            lines.append(f"Locked samples: {sum(self.locked):,}, {kept}.")
        for name, table in self.strata:
            enough = COMMON * len(self.subsets)
            common = np.flatnonzero(table.totals >= enough)
            if len(common):
                worst = int(common[np.argmax(table.deviation[common])])
                which = "" if len(common) == len(table) else f" with at least {enough:,} {table.unit}"
                lines.append(
                    f"Every category of {name}{which} is within {100 * table.deviation[worst]:.1f} % of its share "
                    f"(furthest: {table.names[worst]})."
                )
        if self.min_per_label > 1:
            if self.below_minimum:
                which = "label has" if len(self.below_minimum) == 1 else "labels have"
                lines.append(
                    f"{len(self.below_minimum):,} {which} fewer than {self.min_per_label} samples in some subset: "
                    f"{listed(list(self.below_minimum), _NAMED)}."
                )
            else:
                lines.append(f"Every subset has at least {self.min_per_label} samples of every label.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the effects as JSON-able data."""

        def by_subset(values: Any) -> dict[str, Any]:
            return dict(zip(self.subsets, values, strict=True))

        groups = self.groups
        return {
            "groups": None
            if groups is None
            else {
                "total": groups.n_groups,
                "largest": groups.largest,
                "largest_size": groups.largest_size,
                "per_subset": by_subset(groups.per_subset),
                "torn": groups.torn,
            },
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
            "label_weights": dict(self.label_weights),
        }


def effects_of(
    split: Split, counts: LabelCounts, constraints: Constraints, samples: npt.NDArray[np.int64]
) -> ConstraintEffects:
    """Look at a split with its constraints; `samples` counts the samples of each label in each subset."""
    k = len(split.names)
    held = constraints.locked >= 0
    smallest = samples.min(axis=1, initial=constraints.min_per_label)
    below = np.flatnonzero((smallest < constraints.min_per_label) & (samples.sum(axis=1) > 0))
    return ConstraintEffects(
        subsets=split.names,
        groups=None if constraints.groups is None else _group_effect(constraints.groups, split.assignment, k),
        locked=tuple(np.bincount(constraints.locked[held], minlength=k).tolist()),
        moved=int((split.assignment[held] != constraints.locked[held]).sum()),
        strata=tuple((stratum.name, _stratum_table(split, stratum.counts)) for stratum in constraints.strata),
        min_per_label=constraints.min_per_label,
        below_minimum={counts.labels[i]: int(smallest[i]) for i in below} if constraints.min_per_label > 1 else {},
        label_weights=dict(constraints.label_weights),
    )


def _group_effect(groups: GroupIndex, assignment: npt.NDArray[np.integer[Any]], k: int) -> GroupEffect:
    named = np.array([name is not None for name in groups.names], dtype=bool)
    lies = np.zeros((len(groups), k), dtype=bool)
    lies[groups.code_of_sample, assignment] = True
    sizes = np.where(named, groups.sizes, 0)
    largest = int(np.argmax(sizes))
    return GroupEffect(
        n_groups=int(named.sum()),
        largest=str(groups.names[largest]),
        largest_size=int(sizes[largest]),
        per_subset=tuple(lies[named].sum(axis=0).tolist()),
        torn=int((lies[named].sum(axis=1) > 1).sum()),
    )


def _stratum_table(split: Split, counts: LabelCounts) -> ShareTable:
    inside = [counts.matrix[split.indices(name)].sum(axis=0) for name in split.names]
    return ShareTable(
        names=counts.labels,
        subsets=split.names,
        sizes=np.array(split.sizes, dtype=np.int64),
        counts=np.stack(inside, axis=1).astype(np.int64),
        unit="instances" if counts.has_repeats else "samples",
    )

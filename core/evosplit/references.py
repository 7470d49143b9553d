"""What a split is compared with: random splits and iterative stratification of the same data into the same sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from evosplit.charts import deviations
from evosplit.constraints import Constraints, sizes_around_locks
from evosplit.counts import LabelCounts
from evosplit.measures import measures_of, subset_tables
from evosplit.ratios import Subsets

if TYPE_CHECKING:
    from evosplit.result import Split

__all__ = ["MOST_ENTRIES", "MOST_PAIR_ENTRIES", "References", "references_of"]

RANDOM_SPLITS = 3
MOST_ENTRIES = 2_000_000  # labels of samples up to which iterative stratification is run: two seconds or so
MOST_LABELS = 10_000  # labels up to which it is run over their pairs
MOST_PAIR_ENTRIES = 1_000_000  # label pairs of distinct label sets up to which it is run over them: about one second

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class References:
    """The measures of other ways to split.

    Attributes
    ----------
    random
        The means of the measures of a few random splits.
    random_deviation
        How far each label is off in them, on average (see `evosplit.charts.deviations`).
    stratified
        The measures of iterative stratification over labels ("is") and over label pairs ("sois"); empty where groups
        are to stay whole, and without those that would take too long (see `MOST_ENTRIES`, `MOST_LABELS` and
        `MOST_PAIR_ENTRIES`).
    """

    random: dict[str, float]
    random_deviation: Floats
    stratified: dict[str, dict[str, float]]


# A report of every trade-off of a front compares with the same splits.
_cache: WeakKeyDictionary[LabelCounts, dict[Any, References]] = WeakKeyDictionary()


def references_of(split: Split, counts: LabelCounts) -> References:
    """Split the same data in the usual ways; all seeds are fixed, so reports repeat.

    Groups and locks hold for the references too: they say what is possible with them.
    """
    known = _cache.setdefault(counts, {})
    key = (split.names, split.sizes, split.target_sizes, split.constraints)
    if key not in known:
        known[key] = _references(split, counts)
    return known[key]


def _references(split: Split, counts: LabelCounts) -> References:
    targets = np.array(split.target_sizes)
    tables = [subset_tables(counts, assignment, len(targets)) for assignment in _random_assignments(split, counts)]
    measures = [measures_of(table, targets).to_dict() for table in tables]
    stratified = {}
    for method in _affordable(split, counts):
        table = subset_tables(counts, _again(split, counts, method, seed=0), len(targets))
        stratified[method] = measures_of(table, targets).to_dict()
    return References(
        random={name: float(np.mean([found[name] for found in measures])) for name in measures[0]},
        random_deviation=np.mean([deviations(table.images, table.sizes) for table in tables], axis=0),
        stratified=stratified,
    )


def _random_assignments(split: Split, counts: LabelCounts) -> list[npt.NDArray[Any]]:
    if _binding(split) is not None:
        return [_again(split, counts, "random", seed) for seed in range(RANDOM_SPLITS)]
    rng = np.random.default_rng(0)
    filled = np.repeat(np.arange(len(split.names)), split.sizes)
    return [rng.permutation(filled) for _ in range(RANDOM_SPLITS)]


def _again(split: Split, counts: LabelCounts, method: str, seed: int) -> npt.NDArray[Any]:
    """Split the data by another method, with the same groups and locks, and without them into the same sizes."""
    from evosplit.methods import Run, resolve_method
    from evosplit.problem import build_problem

    constraints = _binding(split)
    sizes = split.sizes
    if constraints is not None:
        held = np.bincount(constraints.locked[constraints.locked >= 0], minlength=len(sizes))
        sizes = sizes_around_locks(split.target_sizes, held.tolist())
    # Pairs decide nothing in a random split and in the stratification over labels, and are dear.
    objectives = None if method == "sois" else ("images", "instances")
    problem = build_problem(counts, Subsets(split.names, sizes), objectives=objectives, constraints=constraints)
    solution = resolve_method(method).solve(problem, Run(np.random.default_rng(seed)))
    return problem.of_samples(solution.assignments[0])


def _binding(split: Split) -> Constraints | None:
    """Return the groups and locks of a split, which bind the references too; strata and weights do not."""
    asked = split.constraints
    if asked is None or (asked.groups is None and not asked.n_locked):
        return None
    return Constraints(groups=asked.groups, locked=asked.locked)


def _affordable(split: Split, counts: LabelCounts) -> list[str]:
    constraints = _binding(split)
    grouped = constraints is not None and constraints.groups is not None  # which iterative stratification cannot keep
    if grouped or not 0 < counts.matrix.nnz <= MOST_ENTRIES:
        return []
    lengths = np.diff(counts.label_sets.counts.indptr).astype(np.int64)
    pair_entries = int((lengths * (lengths - 1) // 2).sum())
    return ["is"] if pair_entries > MOST_PAIR_ENTRIES or counts.n_labels > MOST_LABELS else ["sois", "is"]

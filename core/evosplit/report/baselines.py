"""The baselines of a report: random splits and iterative stratification of the same data into the same sizes.

A *random split* is what the method "random" gives: samples dealt out with equal chances into subsets of exactly the
same sizes; locked samples stay where they are, and groups stay whole. What LD, LPD and FLZ are on average is known
exactly, unless there are groups (see `evosplit.measures.expected_deviation`); the rest are means of draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from evosplit.constraints import FREE, Constraints, sizes_around_locks
from evosplit.counts import LabelCounts
from evosplit.measures import expected_deviation, measures_of, subset_tables
from evosplit.ratios import Subsets
from evosplit.report.effects import strata_deviation, stratum_table
from evosplit.report.shares import deviations
from evosplit.rng import Stream

if TYPE_CHECKING:
    from evosplit.result import Split

__all__ = ["Baselines", "baselines_of", "enough_draws"]

MOST_ENTRIES = 2_000_000  # labels of samples up to which iterative stratification is run: two seconds or so
MOST_LABELS = 10_000  # labels up to which it is run over their pairs
MOST_PAIR_ENTRIES = 1_000_000  # label pairs of distinct label sets up to which it is run over them: about one second


@dataclass(frozen=True, eq=False)
class Baselines:
    """The measures of other ways to split.

    Attributes
    ----------
    random
        What random splits give on average; with strata, also how uneven these are ("strata").
    random_spread
        How far one random split is from that, as a standard deviation.
    random_deviation
        How far each label is off in random splits, on average (see `evosplit.report.shares.deviations`).
    draws
        How many random splits were drawn.
    stratified
        The measures of iterative stratification over labels ("is") and over label pairs ("sois"). Empty where groups
        are to stay whole; a method is left out where it would take too long: beyond 2 million labels of samples, for
        pairs also beyond 10,000 labels or 1 million label pairs in the distinct label sets.
    """

    random: dict[str, float]
    random_spread: dict[str, float]
    random_deviation: npt.NDArray[np.float64]
    draws: int
    stratified: dict[str, dict[str, float]]


MOST_DRAWS = 100  # random splits that a small set is compared with

# A report of every trade-off of a front compares with the same splits.
_cache: WeakKeyDictionary[LabelCounts, dict[Any, Baselines]] = WeakKeyDictionary()


def enough_draws(entries: int) -> int:
    """Return how many random splits to draw, given the number of counts to add up for each.

    Small sets, whose random splits differ most, get a hundred; the largest five.

    Examples
    --------
    >>> enough_draws(10_000), enough_draws(1_000_000), enough_draws(100_000_000)
    (100, 15, 5)
    """
    return int(min(max(15_000_000 // max(entries, 1), 5), MOST_DRAWS))


def baselines_of(split: Split, counts: LabelCounts) -> Baselines:
    """Split the same data in the usual ways; all seeds are fixed, so reports repeat.

    Groups and locks hold for the baselines too: they say what is possible with them.
    """
    known = _cache.setdefault(counts, {})
    key = (split.names, split.sizes, split.target_sizes, split.constraints)
    if key not in known:
        known[key] = _baselines(split, counts)
    return known[key]


def _baselines(split: Split, counts: LabelCounts) -> Baselines:
    targets = np.array(split.target_sizes)
    constraints = _binding(split)
    asked = () if split.constraints is None else split.constraints.strata
    subsets = Subsets(split.names, _sizes(split, constraints))
    lengths = np.diff(counts.label_sets.counts.indptr).astype(np.int64)
    draws = enough_draws(int((lengths * (lengths + 1) // 2).sum()) + counts.n_rows)
    measures: list[dict[str, float]] = []
    deviation = np.zeros(counts.n_labels)
    bounds: dict[tuple[int, ...], tuple[float, float]] = {}  # by sizes, which only groups make different
    for assignment in _by_method("random", counts, subsets, constraints, draws):
        tables = subset_tables(counts, assignment, len(targets))
        strata = [stratum_table(stratum.counts, assignment, split.names) for stratum in asked]
        further = {"strata": strata_deviation(strata)} if strata else {}
        sizes = tuple(tables.sizes.tolist())
        found = measures_of(tables, targets, bounds=bounds.get(sizes))
        bounds[sizes] = found.ld_bound, found.lpd_bound
        measures.append(found.to_dict() | further)
        deviation += deviations(tables.samples, tables.sizes) / draws
    columns = {name: np.array([each[name] for each in measures], dtype=np.float64) for name in measures[0]}
    random = {name: float(values.mean()) for name, values in columns.items()}
    if constraints is None or constraints.groups is None:
        random |= _expected(counts, subsets.sizes, constraints)
    stratified = {}
    for method in _affordable(constraints, counts, lengths):
        (made,) = _by_method(method, counts, subsets, constraints)
        stratified[method] = measures_of(subset_tables(counts, made, len(targets)), targets).to_dict()
    return Baselines(
        random=random,
        random_spread={name: float(values.std(ddof=1)) for name, values in columns.items()},
        random_deviation=deviation,
        draws=draws,
        stratified=stratified,
    )


def _binding(split: Split) -> Constraints | None:
    """Return the groups and locks of a split, which bind the baselines too; strata and weights do not."""
    asked = split.constraints
    if asked is None or (asked.groups is None and not asked.n_locked):
        return None
    return Constraints(groups=asked.groups, locked=asked.locked, locked_copies=asked.locked_copies)


def _sizes(split: Split, constraints: Constraints | None) -> tuple[int, ...]:
    """Return the sizes of the baselines' subsets: those of the split, or those that locks allow."""
    if constraints is None:
        return split.sizes
    return sizes_around_locks(split.target_sizes, constraints.held(len(split.names)).tolist())


def _expected(counts: LabelCounts, sizes: tuple[int, ...], constraints: Constraints | None) -> dict[str, float]:
    """Compute what LD, LPD and FLZ are in random splits on average, with locks but without groups."""
    k = len(sizes)
    # The free samples as one more subset.
    if counts.has_copies:
        table = None if constraints is None else constraints.locked_copies
        table = np.zeros((counts.n_rows, k), dtype=np.int64) if table is None else table
        placement = np.column_stack([table, counts.copies - table.sum(axis=1)])
    else:
        locked = np.full(counts.n_rows, FREE) if constraints is None else constraints.locked
        placement = np.where(locked == FREE, k, locked)
    placed = subset_tables(counts, placement, k + 1)
    found = {}
    for name, table in (("ld", placed.samples), ("lpd", placed.pairs)):
        held = {} if constraints is None else {"held": table[:, :k], "held_sizes": placed.sizes[:k]}
        terms = expected_deviation(table.sum(axis=1), sizes, **held)
        found[name] = float(terms.mean()) if len(terms) else 0.0
    none = _chance_of_none(placed.samples[:, k], int(placed.sizes[k]), np.array(sizes) - placed.sizes[:k])
    found["flz"] = round(float(none[placed.samples[:, :k] == 0].sum()), 6)  # a smaller chance is none to a reader
    return found


def _chance_of_none(totals: npt.NDArray[Any], n: int, sizes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the chance that a subset gets none of `totals` among n samples, for each size: hypergeometric.

    >>> _chance_of_none(np.array([0, 1, 3]), 4, np.array([1, 3])).round(12).tolist()
    [[1.0, 1.0], [0.75, 0.25], [0.25, 0.0]]
    """
    # The ways to choose the subset without them, over all ways, both written as factorials.
    left = n - totals[:, None] - sizes[None, :]
    ways = _log_factorial(n - totals)[:, None] + _log_factorial(n - sizes)[None, :] - math.lgamma(n + 1)
    return np.where(left >= 0, np.exp(ways - _log_factorial(np.maximum(left, 0))), 0.0)


def _log_factorial(numbers: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    # That of scipy.special would take a tenth of a second to import.
    different, at = np.unique(numbers, return_inverse=True)
    found = np.array([math.lgamma(number + 1) for number in different.tolist()], dtype=np.float64)
    return found[at].reshape(numbers.shape)


def _by_method(
    method: str, counts: LabelCounts, subsets: Subsets, constraints: Constraints | None, n: int = 1
) -> Iterator[npt.NDArray[Any]]:
    """Split the data by a method, once for each of n seeds."""
    from evosplit.methods import Run, resolve_method
    from evosplit.problem import build_problem

    # Columns that the method ignores, such as pairs in the stratification over labels, are left out: they are costly.
    objectives = {"random": ("samples",), "is": ("samples", "instances")}.get(method)
    problem = build_problem(counts, subsets, objectives=objectives, constraints=constraints)
    for seed in range(n):
        run = Run(Stream.from_seed(seed))
        yield problem.placements(resolve_method(method).solve(problem, run).assignments, run.stream)[0]


def _affordable(constraints: Constraints | None, counts: LabelCounts, lengths: npt.NDArray[np.int64]) -> list[str]:
    grouped = constraints is not None and constraints.groups is not None  # which iterative stratification cannot keep
    if grouped or counts.has_copies or not 0 < counts.matrix.nnz <= MOST_ENTRIES:
        return []
    pair_entries = int((lengths * (lengths - 1) // 2).sum())
    return ["is"] if pair_entries > MOST_PAIR_ENTRIES or counts.n_labels > MOST_LABELS else ["sois", "is"]

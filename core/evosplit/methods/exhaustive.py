"""Exhaustive search over the placements of a few groups: the front is exact where few placements fit the sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.constraints import FREE
from evosplit.front import non_dominated
from evosplit.group_packing import excess, packings
from evosplit.measures import ordered_sum
from evosplit.methods.base import Solution
from evosplit.problem import SplitProblem

__all__ = ["every_split"]

Ints = npt.NDArray[Any]

MOST_UNITS = 100  # beyond so many free units there are always too many ways
MOST_WAYS = 100_000
MOST_CELLS = 20_000_000  # cells to evaluate: ways times columns times subsets
CELLS_AT_ONCE = 2_000_000
MOST_POINTS = 100  # of the front

NO_CHOICE = (
    "the sizes leave no choice: every way to place the groups that comes this near to them is as good as the others; "
    "other ratios or smaller groups would leave some."
)


def every_split(problem: SplitProblem, start: Ints) -> Solution | None:
    """Evaluate every placement with the best possible sizes, unless the sizes of `start` are better.

    Among the placements that lack the fewest labels, the non-dominated ones are returned: the exact front. If it has
    more than `MOST_POINTS` points, the best in each objective and the best on average are kept. Returns None if there
    are too many placements.
    """
    free = np.flatnonzero(problem.locked == FREE)
    limit = min(MOST_WAYS, MOST_CELLS // (problem.features.shape[1] * problem.k))
    if not 0 < len(free) <= MOST_UNITS or limit < 1:
        return None
    at_most = excess(problem.unit_sizes, start, problem.sizes)
    # Subsets of one size into which nothing is locked are interchangeable; the others are told apart by a number.
    locks = problem.locked_table.any(axis=0)
    alike = np.stack((problem.capacities, np.where(locks, np.arange(1, problem.k + 1), 0)))
    kinds = problem.type_of_unit[free]
    ways = packings(problem.unit_sizes[free], kinds, problem.capacities, alike, at_most, limit)
    if ways is None or not len(ways):
        return None
    scores, lacks = [], []
    for some in np.array_split(ways, -(-ways.shape[0] * problem.features.shape[1] * problem.k // CELLS_AT_ONCE)):
        tables = _column_tables(problem, kinds, some)
        scores.append(problem.evaluate(tables))
        lacks.append(problem.shortage(tables))
    objectives, lack = np.concatenate(scores), np.concatenate(lacks)
    covered = np.flatnonzero(lack == lack.min())
    front = covered[_few(problem, objectives[covered])]
    assignments = np.repeat(problem.locked[None], len(front), axis=0)
    assignments[:, free] = ways[front]
    same = len(free) > 1 and np.ptp(objectives, axis=0).max() < 1e-12 and np.ptp(lack) == 0
    return Solution(list(assignments), (NO_CHOICE,) if same and objectives.max() > 1e-12 else ())


def _column_tables(problem: SplitProblem, kinds: Ints, ways: Ints) -> Ints:
    """Sum the features in each subset for each way (ways x columns x k)."""
    features = problem.features[kinds].toarray().astype(np.float64)  # products of floats are much faster, and exact
    held = problem.column_table(problem.locked_table)
    tables = np.empty((len(ways), *held.shape), dtype=np.int64)
    for j in range(problem.k):
        tables[:, :, j] = (ways == j).astype(np.float64) @ features + held[:, j]
    return tables


def _few(problem: SplitProblem, objectives: npt.NDArray[np.float64]) -> list[int]:
    """Choose the points that no other dominates, and of many of those the best."""
    front = non_dominated(np.rint(objectives * 1e12))  # sums in another order differ in the last digits
    if len(front) <= MOST_POINTS:
        return front
    scaled = objectives[front] / np.where(problem.random_reference > 0, problem.random_reference, 1.0)
    chosen = {int(best) for best in scaled.argmin(axis=0)}
    for best in np.argsort(ordered_sum(scaled), kind="stable"):
        if len(chosen) < MOST_POINTS:
            chosen.add(int(best))
    return [front[i] for i in sorted(chosen)]

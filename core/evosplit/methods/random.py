"""A random split of exact size: the baseline that everything else is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evosplit.constraints import FREE
from evosplit.group_packing import fit_sizes
from evosplit.methods.base import Run, Solution
from evosplit.problem import SplitProblem

__all__ = ["Random"]


@dataclass(frozen=True)
class Random:
    """Deal the units out at random."""

    respects: ClassVar[frozenset[str]] = frozenset({"copies", "groups", "locked", "strata", "label_weights"})

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Deal the units, then exchange uneven ones until the sizes are right."""
        assignment = problem.draw(run.stream)
        if problem.uneven:
            free = problem.locked == FREE
            assignment = fit_sizes(problem.unit_sizes, assignment, free, problem.sizes, run.stream)
        return Solution([assignment])

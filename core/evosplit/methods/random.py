"""A random split of exact size: the baseline that everything else is measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evosplit.methods.base import Run, Solution
from evosplit.problem import SplitProblem

__all__ = ["Random"]


@dataclass(frozen=True)
class Random:
    """Deal the units out at random."""

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Shuffle the subset numbers over the units."""
        return Solution([run.rng.permutation(np.repeat(np.arange(problem.k), problem.sizes))])

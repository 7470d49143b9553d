"""Small data for the evolutionary algorithms, and their operators on it."""

from __future__ import annotations

import numpy as np

from evosplit import LabelCounts
from evosplit.methods.base import Run
from evosplit.methods.operators import Genetics
from evosplit.problem import build_problem
from evosplit.ratios import fold_subsets, resolve_subsets
from evosplit.rng import Stream

OBJECTIVES = ("samples", "instances", "pairs")
TINY = np.array([[1, 0, 0], [1, 1, 0], [2, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 3], [0, 0, 1], [1, 1, 0], [0, 1, 1]])


def long_tailed(m=150, q=12, seed=0):
    """Draw labels from frequent to rare, the rarest in fewer samples than there are folds."""
    rng = np.random.default_rng(seed)
    return (rng.random((m, q)) < 0.6 / np.arange(1, q + 1) ** 1.3) * rng.integers(1, 3, size=(m, q))


def run_of(counts, method, *, seed=0, **options):
    """Solve a problem directly; return the fitness of what was found."""
    problem = build_problem(LabelCounts(counts), fold_subsets(5, len(counts)), objectives=("instances",))
    run = Run(Stream(seed), **options)
    genes = method.solve(problem, run).assignments[0]
    return float(problem.evaluate(problem.column_table(problem.type_table(genes)))[0]), run


def genetics_for(counts, sizes, *, objectives=OBJECTIVES, cover=False, rate=0.01):
    """Build the operators for a problem."""
    counts = LabelCounts(counts)
    problem = build_problem(counts, resolve_subsets(list(sizes), counts.n_samples), objectives=objectives, cover=cover)
    return Genetics(problem, objectives, rate)

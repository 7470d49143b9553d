"""Problems for the tests of the search, and what they look at."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings

from evosplit import LabelCounts
from evosplit.constraints import resolve_constraints
from evosplit.methods.evosplit.solve import weight_vectors
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets

EFFORTS = ("fast", "normal", "thorough")
RATIOS = {"train": 0.7, "val": 0.2, "test": 0.1}
few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def problem_of(counts, sizes, *, objectives=None, cover=True, as_table=False, **conditions):
    """Build the problem of splitting these counts into subsets of these sizes."""
    counts = LabelCounts(counts)
    subsets = resolve_subsets(list(sizes), counts.n_samples)
    constraints = resolve_constraints(counts, subsets, **conditions)
    return build_problem(
        counts, subsets, objectives=objectives, cover=cover, constraints=constraints, as_table=as_table
    )


def long_tailed(m=150, q=8, seed=0):
    """Draw frequent and rare labels, some of which go together and some of which repeat."""
    rng = np.random.default_rng(seed)
    present = rng.random((m, q)) < 0.6 / np.arange(1, q + 1)
    present[:, 1] |= present[:, 2] & (rng.random(m) < 0.7)
    return present * rng.integers(1, 3, size=(m, q))


def check_exact_sizes(made, sizes):
    """Check that every point of the front has the sizes asked for."""
    assert made.sizes == tuple(sizes)
    for assignment in made.front.assignments:
        assert np.bincount(assignment, minlength=len(sizes)).tolist() == list(sizes)


def front_cost(made, weights):
    """Return the least weighted cost over the front, in units of a random split's."""
    return (made.front.objectives / np.where(made.front.reference > 0, made.front.reference, 1.0) @ weights).min()


def middle_weights(of):
    """Give the balanced weights of a problem."""
    vectors = weight_vectors(of, 1.0)
    return np.array(vectors[len(vectors) // 2])


def few_large_groups(seed=3):
    """Draw fifteen groups whose labels differ, over 300 samples."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 15, size=300)
    counts = (rng.random((300, 4)) < 0.4 * (rng.random((15, 4)) + 0.2)[groups]).astype(int)
    return counts, groups.tolist()

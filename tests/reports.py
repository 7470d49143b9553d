"""Small data sets and reports on them, for the tests of what a report says and how it is shown."""

from __future__ import annotations

import numpy as np

import evosplit
from evosplit import LabelCounts


def long_tailed(m=400, q=8):
    """Draw counts with a frequent and some rare labels."""
    rng = np.random.default_rng(0)
    return (rng.random((m, q)) < 0.7 / np.arange(1, q + 1) ** 2) * rng.integers(1, 3, (m, q))


def report_on(counts, ratios=(0.8, 0.1, 0.1), **options):
    """Split with a fast method and report."""
    return evosplit.split(counts, ratios, **{"method": "sois", **options}).report()


def report_as_placed(counts, assignment, names=("a", "b"), **facts):
    """Report on a split that was made by hand; the sizes asked for are its own."""
    counts = counts if isinstance(counts, LabelCounts) else LabelCounts(counts)
    sizes = tuple(np.bincount(assignment, minlength=len(names)).tolist())
    facts = {"target_sizes": sizes, **facts}
    return evosplit.Split(names, np.array(assignment), counts.ids, counts=counts, **facts).report()


def constrained(**options):
    """Split a small set with constraints."""
    return evosplit.split(LabelCounts(long_tailed(m=90)), {"train": 60, "test": 30}, effort="fast", **options)

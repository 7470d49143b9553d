"""Children are scored by what they changed, exactly as if they were counted afresh."""

from __future__ import annotations

import numpy as np
import pytest
from genetics import OBJECTIVES, TINY, genetics_for, long_tailed

from evosplit import kfold
from evosplit.methods import incremental_counts
from evosplit.methods.ea import _Pool
from evosplit.methods.operators import Genetics


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_children_are_scored_by_what_they_changed(objective):
    """The fitness that follows the changes of many generations equals the fitness computed afresh, to the last bit."""
    counts, rng = long_tailed(), np.random.default_rng(0)
    everything = genetics_for(counts, (50, 50, 50))
    genetics = Genetics(everything.problem, (objective,), 0.02)
    pool = _Pool(genetics, genetics.draw(6, rng), 4)
    for _ in range(30):
        first, second = pool.ranked[rng.integers(6, size=(2, 4))]
        children = genetics.cross_over(pool.genes[first], pool.genes[second], rng)
        pool.replace_worst(np.stack((first, second), axis=1), genetics.repair(genetics.mutate(children, rng), rng))
        fitness = genetics.score(pool.genes[pool.ranked])[:, 0]
        assert fitness[0] == pool.best
        assert (np.diff(fitness) >= 0).all()


@pytest.mark.parametrize("method", ["ea-lpd", "nsga2"])
def test_same_result_without_room_for_incremental_counts(method, monkeypatch):
    """Where the incremental_counts of a population would not fit in memory, the result is the same."""
    with_incremental_counts = kfold(long_tailed(), 5, method=method, objectives=("instances", "pairs"), effort="fast")
    monkeypatch.setattr(incremental_counts, "MAX_ENTRIES", 0)
    assert not incremental_counts.IncrementalCounts(genetics_for(TINY, (5, 4)), 70)._tables.size
    without = kfold(long_tailed(), 5, method=method, objectives=("instances", "pairs"), effort="fast")
    assert (with_incremental_counts.assignment == without.assignment).all()

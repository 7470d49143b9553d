"""The splits that a search starts from."""

from __future__ import annotations

import numpy as np
import pytest
from searches import front_cost, long_tailed, middle_weights, problem_of

from evosplit import split
from evosplit.methods.base import Run
from evosplit.methods.evosplit import budget, start
from evosplit.methods.iterative import IterativeStratification
from evosplit.rng import Stream


@pytest.mark.parametrize("work", [0, 40_000, 4_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_its_start(monkeypatch, work, seed):
    """However short the search, some split of the front is as good as the stratified start, for balanced weights."""
    monkeypatch.setattr(budget, "BASE", work)
    monkeypatch.setattr(budget, "PER_UNIT", 0)
    counts, sizes = long_tailed(m=120 + 60 * seed, seed=seed), (70 + 60 * seed, 30, 20)
    of = problem_of(counts, sizes, cover=False)
    stratified = IterativeStratification(1).solve(of, Run(Stream.from_seed(seed))).assignments[0]
    made = split(counts, sizes, cover=False, effort="fast", seed=seed)
    weights = middle_weights(of)
    scores = of.evaluate(of.column_table(of.type_table(stratified)))
    assert front_cost(made, weights) <= scores / made.front.reference @ weights + 1e-9


def test_systematic_sample_is_spread_over_equal_units():
    """Of units with equal labels every subset gets its share, rounded, around those that are locked."""
    counts = np.repeat(np.eye(4, dtype=int), 50, axis=0)
    of = problem_of(counts, (160, 40), locked={"test": [0, 1, 60]})
    for seed in range(20):
        sample = start._systematic_sample(of, Stream(seed))
        assert np.bincount(sample).tolist() == [160, 40]
        assert sample[[0, 1, 60]].tolist() == [1, 1, 1]
        free = np.setdiff1d(np.arange(200), [0, 1, 60])
        held = np.array([(sample[free[free // 50 == label]] == 1).sum() for label in range(4)])
        assert (np.abs(held - 37 / 197 * np.array([48, 49, 50, 50])) < 2).all()

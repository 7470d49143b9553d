"""Iterative stratification over labels and over label pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evosplit import EvoSplitError, LabelCounts, kfold, split
from evosplit.methods import iterative
from evosplit.methods.iterative import IterativeStratification
from evosplit.problem import build_problem
from evosplit.ratios import Subsets


def test_as_published_keeps_the_sizes_of_the_papers():
    """The published algorithm may miss the sizes; the split says by how much, and still is a partition."""
    rng = np.random.default_rng(0)
    counts = (rng.random((402, 12)) < 0.3).astype(int)
    made = kfold(counts, 5, method=IterativeStratification(order=1, as_published=True))
    assert made.measures.ed > 0
    assert sum(made.sizes) == 402
    assert made.target_sizes == (81, 81, 80, 80, 80)
    assert f"whose sizes are off by {made.measures.ed:g} on average" in str(made.report())
    assert kfold(counts, 5, method=IterativeStratification(order=1)).measures.ed == 0


def test_bad_order():
    """Iterative stratification knows orders 1 and 2."""
    with pytest.raises(EvoSplitError, match=r"order is 3; choose 1 \(labels\) or 2"):
        IterativeStratification(order=3)


@pytest.mark.parametrize(("n_labels", "moves", "candidates"), [(3, 10, 512), (100, 100, 49), (100, 10_000, 4)])
def test_repairs_compare_fewer_units_where_many_move(n_labels, moves, candidates):
    """The columns that a repair looks at are bounded, but for a few units that it always compares."""
    counts = LabelCounts(np.ones((6, n_labels), dtype=int))
    made = build_problem(counts, Subsets(("a", "b"), (3, 3)), objectives=("samples", "pairs"))
    assert iterative._n_candidates(made, np.array([moves, -moves])) == candidates


@pytest.mark.parametrize("method", ["sois", "is"])
def test_iterative_stratification_knows_strata(method):
    """Strata count as labels for the baselines."""
    column = [str(i % 5) for i in range(100)]
    counts = np.random.default_rng(0).random((100, 6)) < 0.6 / np.arange(1, 7)
    made = split(counts, (60, 40), method=method, strata={"site": column})
    table = pd.crosstab(pd.Series(column), made.assignment).to_numpy()
    assert np.abs(table - [12, 8]).max() <= 2


@pytest.mark.parametrize("seed", range(5))
def test_rarest_first(seed):
    """The rarest label is dealt out before all others: every subset has its share, whatever comes with it."""
    rng = np.random.default_rng(seed)
    counts = (rng.random((200, 8)) < 0.5).astype(int)
    counts[:, 0] = 0
    counts[rng.permutation(200)[:10], 0] = 1
    made = kfold(counts, 5, method=IterativeStratification(1, as_published=True))
    assert made.tables.samples[0].tolist() == [2] * 5


@pytest.mark.parametrize("seed", range(5))
def test_a_small_subset_gets_crowded_samples_too(seed):
    """Of a label's samples those that come with another label go to subsets of all sizes, not to the small ones."""
    alone, together = np.repeat(np.eye(10, dtype=int), 20, axis=0), np.eye(10, dtype=int) + np.eye(10, k=1, dtype=int)
    counts = np.concatenate((alone, np.repeat(together, 20, axis=0)))
    made = split(counts, (320, 80), method="is", seed=seed)
    crowded = np.bincount(made.assignment[200:], minlength=2)
    assert 26 <= crowded[1] <= 54  # 40 of 200 are its share


@pytest.mark.parametrize("seed", range(5))
def test_samples_without_a_label_are_spread(seed):
    """Every subset gets its share of them, and does not just fill up with them."""
    counts = (np.random.default_rng(seed).random((500, 6)) < 0.15).astype(int)
    made = split(counts, (400, 70, 30), method="is", seed=seed)
    nothing = counts.sum(axis=1) == 0
    shares = nothing.sum() * np.array([0.8, 0.14, 0.06])
    assert np.abs(np.bincount(made.assignment[nothing], minlength=3) - shares).max() <= 10


@pytest.mark.parametrize("order", [1, 2])
def test_sizes_are_exact_when_time_is_up(monkeypatch, order):
    """A limit that is over at once ends stratification and repair early, with exact sizes all the same."""
    monkeypatch.setattr(iterative, "MOVES_AT_ONCE", 1)
    counts = np.random.default_rng(order).random((300, 30)) < 0.1
    made = split(counts, (0.9, 0.06, 0.04), method=IterativeStratification(order), time_limit=1e-9)
    assert made.sizes == (270, 18, 12)
    assert "stopped after the time limit" in made.notes[0]
    assert split(counts, (0.9, 0.06, 0.04), method=IterativeStratification(order), time_limit=1e9).sizes == made.sizes

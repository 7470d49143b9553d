"""What a search is to reach, and what a cell costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import long_tailed, problem_of
from strategies import problems

from evosplit.front import NEGLIGIBLE
from evosplit.methods.evosplit.landscape import Attained, Landscape
from evosplit.rng import Stream


def landscape_of(counts, sizes, **conditions):
    """Lay out a problem with a random start."""
    problem, stream = problem_of(counts, sizes, **conditions), Stream(0)
    return Landscape(problem, [problem.draw(stream)], stream)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_targets_of_folds_are_their_shares(k):
    """Subsets of equal size are to get equal parts of the samples without a label, of all labels and all instances."""
    counts = np.random.default_rng(k).poisson(0.1, (20 * k, 9))
    unlabelled, labels, instances = landscape_of(counts, (20,) * k)._targets
    assert unlabelled == pytest.approx((counts.sum(axis=1) == 0).sum() / k)
    assert labels == pytest.approx((counts > 0).sum() / k)
    assert instances == pytest.approx(counts.sum() / k)


@pytest.mark.parametrize("cover", [False, True])
def test_targets_leave_rare_labels_to_large_subsets(cover):
    """A subset too small for its share of any label is to get none but those it must not lack, and more without."""
    counts = np.repeat(np.eye(20, dtype=int), 4, axis=0)
    counts = np.vstack((counts, np.zeros((20, 20), dtype=int)))
    unlabelled, labels = landscape_of(counts, (90, 10), cover="all" if cover else False)._targets
    assert labels.tolist() == ([60.0, 20.0] if cover else [80.0, 0.0])
    assert unlabelled.sum() == pytest.approx(20.0)
    assert unlabelled[1] == pytest.approx(20.0 * 4.0 / 14.0)  # twice its share, where the other is best given 10


@given(problem=problems(min_labels=1, max_subsets=4), cover=st.booleans())
def test_targets_deal_out_all_labels(problem, cover):
    """No subset is to get less than nothing, and together they are to get what there is."""
    counts, sizes = problem
    targets = landscape_of(counts, sizes, cover=cover)._targets
    assert targets.min() >= 0
    there = [(counts == 0).all(axis=1).sum(), (counts > 0).sum(), *([counts.sum()] if counts.max() > 1 else [])]
    assert targets.sum(axis=1) == pytest.approx(np.array(there, dtype=float))


def test_what_is_behind_weighs_more():
    """A cell costs what the cost of a split rises by, a block weighing the more, the further it is behind."""
    rng = np.random.default_rng(0)
    counts = (rng.random((60, 4)) < 0.4) * rng.integers(1, 6, size=(60, 4))
    problem, stream = problem_of(counts, (20, 20, 20)), Stream(0)
    land = Landscape(problem, [problem.draw(stream)], stream)
    weights = (0.25, 0.25, 0.5)
    goals = [goal - NEGLIGIBLE for goal in land._goals]  # where the start is, all weigh as they are given

    def weights_at(attained):
        columns = land.cells(weights, Attained(attained, np.zeros(len(land.totals)))).columns
        return np.array([columns[block.start : block.stop, 0].sum() for block in problem.blocks])

    asked = weights_at(goals)
    for at, block in enumerate(problem.blocks):
        behind = weights_at([4 * goal + 3 * NEGLIGIBLE if other == at else goal for other, goal in enumerate(goals)])
        others = [other for other in range(len(problem.blocks)) if other != at]
        for other in others:
            assert behind[at] / behind[other] == pytest.approx(4 * asked[at] / asked[other]), block.name


def test_orders_do_not_depend_on_who_asks_first():
    """Two threads that ask for the orders of similarity at once, and both make them, get the same."""
    of = problem_of(long_tailed(m=60), (40, 20))
    land = Landscape(of, [of.draw(Stream(0))], Stream(1))
    first = land.orders
    del land.__dict__["orders"]
    for one, two in zip(first, land.orders, strict=True):
        assert all(map(np.array_equal, one, two))

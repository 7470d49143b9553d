"""The front and the rules that pick from it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit import EvoSplitError, ParetoFront
from evosplit.front import non_dominated, pick_from


def front(objectives, names=("samples", "pairs"), reference=(1.0, 1.0)):
    """Make a front of these scores, the i-th point assigning i to every sample."""
    scores = np.array(objectives, dtype=float)
    assignments = np.repeat(np.arange(len(scores))[:, None], 3, axis=1)
    return ParetoFront(scores, names, assignments, np.array(reference))


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12))
def test_non_dominated_are_those_that_nothing_beats(scores):
    """A row is kept, once, unless another one is at least as good in everything and better in something."""
    kept = [scores[i] for i in non_dominated(np.array(scores, dtype=float))]
    beaten = [a for a in scores if any(b != a and all(x <= y for x, y in zip(b, a, strict=True)) for b in scores)]
    assert kept == sorted(set(scores) - set(beaten))


@pytest.mark.parametrize(
    ("rule", "index"),
    [("balanced", 1), ("origin", 2), ("ld", 0), ("lpd", 2), (0, 0), (-1, 2), (np.int64(1), 1)],
)
def test_pick_rules(rule, index):
    """Each rule picks its point: balanced measures each objective in units of a random split's, origin does not."""
    points = front([[0.01, 0.9], [0.02, 0.3], [0.2, 0.05]], reference=(0.1, 1.0))
    assert pick_from(points, rule) == index


def test_balance_weighs_kinds_alike():
    """Labels, by samples and instances together, count as much as pairs, and as strata."""
    assert pick_from(front([[0.16, 0.36], [0.25, 0.26]]), "balanced") == 0
    assert pick_from(front([[0.16, 0.36], [0.25, 0.24]]), "balanced") == 1
    three = ("samples", "instances", "pairs")
    assert pick_from(front([[0.16, 0.64, 0.36], [0.25, 0.49, 0.35]], three, (1, 1, 1)), "balanced") == 1
    strata = ("samples", "pairs", "strata")
    assert pick_from(front([[0.2, 0.5, 0.3], [0.2, 0.2, 0.5]], strata, (1, 1, 1)), "balanced") == 1


def test_balance_keeps_what_is_nearly_even():
    """Labels that are nearly even are not given away for pairs, though the plain sum would be less."""
    assert pick_from(front([[0.02, 0.52], [0.05, 0.45]]), "balanced") == 0


def test_best_in_labels_is_the_least_product():
    """Of two label objectives neither is given up for a little of the other."""
    assert pick_from(front([[0.1, 0.4], [0.25, 0.2]], ("samples", "instances")), "ld") == 0


def test_pick_ties_take_the_better_rest():
    """Of points equal in labels the one better in pairs is picked."""
    points = front([[0.1, 0.2, 0.9], [0.1, 0.2, 0.4]], ("samples", "instances", "pairs"), (1, 1, 1))
    assert pick_from(points, "ld") == 1


@pytest.mark.parametrize("rule", ["balanced", "origin", "ld", "lpd"])
def test_pick_where_an_objective_has_no_range(rule):
    """An objective that is met perfectly, by all points or by random splits, does not divide by zero."""
    with np.errstate(all="raise"):
        assert pick_from(front([[0.0, 0.3], [0.0, 0.2]], reference=(0.0, 0.0)), rule) == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("best", "pick='best' is no rule; choose one of 'balanced', 'origin', 'ld', 'lpd' or an index"),
        (3, r"pick=3 is too far: the front has 2 points; give 0 ... 1"),
        (-3, "pick=-3 is too far: the front has 2 points"),
        (True, "pick=True is no rule; choose one of"),
        ("lpd", r"pick='lpd' needs the objective 'pairs', but the objectives are 'samples', 'instances'"),
    ],
)
def test_bad_picks(rule, message):
    """A rule that does not exist or does not apply is refused."""
    with pytest.raises(EvoSplitError, match=message):
        pick_from(front([[0, 1], [1, 0]], ("samples", "instances")), rule)

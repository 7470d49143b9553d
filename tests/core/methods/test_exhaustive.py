"""Every way to place a few groups: the front is the true one, whatever the seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from searches import few, few_large_groups, problem_of
from strategies import conditions_for, count_matrices, sizes_for

from evosplit import split
from evosplit.front import non_dominated
from evosplit.methods import exhaustive
from evosplit.methods.exhaustive import every_split
from evosplit.ratios import resolve_subsets
from evosplit.rng import Stream


def grouped(counts, sizes, groups, locked):
    """Build the problem of splitting these groups, some of them locked by the number of a subset."""
    names = resolve_subsets(list(sizes), len(counts)).names
    named = None if locked is None else [None if j < 0 else names[j] for j in locked]
    return problem_of(counts, sizes, cover="all", groups=groups, locked=named)


def check_front(problem):
    """Compare what is found with all placements, of which the best sizes count, then the fewest labels lacking."""
    found = every_split(problem, problem.draw(Stream(0)))
    n_labels = problem.counts.n_labels
    gross, scores = [], []
    for placed in itertools.product(range(problem.k), repeat=problem.n_units):
        unit = np.array(placed)
        if ((problem.locked < 0) | (unit == problem.locked)).all():
            table = problem.column_table(problem.type_table(unit))
            loads = np.bincount(unit, problem.unit_sizes, minlength=problem.k)
            lack = np.maximum(problem.needs[:, None] - table[:n_labels], 0).sum()
            gross.append((np.abs(loads - problem.sizes).sum(), lack))
            scores.append(problem.evaluate(table).round(9).tolist())
    best = [score for score, key in zip(scores, gross, strict=True) if key == min(gross)]
    points = []
    for unit in found.assignments:
        assert ((problem.locked < 0) | (unit == problem.locked)).all()
        points.append(problem.evaluate(problem.column_table(problem.type_table(unit))).round(9).tolist())
    front = {tuple(best[i]) for i in non_dominated(np.array(best))}
    assert front <= set(map(tuple, points)) <= set(map(tuple, best))


@few
@given(count_matrices(min_samples=7, max_samples=10, min_labels=1), st.data())
def test_front_is_the_true_one(counts, data):
    """No trade-off of the best sizes and the best cover is missed, nor is any other taken for one."""
    sizes = data.draw(sizes_for(len(counts), max_subsets=3))
    problem = grouped(counts, sizes, *data.draw(conditions_for(len(counts), len(sizes), max_units=6)))
    assume(problem.uneven and (problem.capacities >= 0).all() and (problem.locked < 0).any())
    check_front(problem)


@pytest.mark.parametrize("seed", range(6))
def test_front_around_locks(seed):
    """Of subsets that lack as many samples one has a group already: it is not like another, and its labels count."""
    counts = np.random.default_rng(seed).integers(0, 2, (14, 3))
    locked = [2] * 2 + [-1] * 12
    check_front(grouped(counts, (4, 4, 6) if seed % 2 else (5, 4, 5), (np.arange(14) // 2).tolist(), locked))


@pytest.mark.parametrize(("limit", "value"), [("MOST_UNITS", 14), ("MOST_WAYS", 100), ("MOST_CELLS", 1000)])
def test_too_many_ways(monkeypatch, limit, value):
    """Beyond each of its limits it gives up."""
    counts, groups = few_large_groups()
    problem = grouped(counts, (180, 60, 60), groups, None)
    start = problem.draw(Stream(0))
    assert every_split(problem, start) is not None
    monkeypatch.setattr(exhaustive, limit, value)
    assert every_split(problem, start) is None


def test_a_few_groups_take_no_chance():
    """Where every way is tried, the seed is irrelevant, and nothing is better at these sizes."""
    counts, groups = few_large_groups()
    made = [split(counts, (0.6, 0.2, 0.2), groups=groups, effort="fast", seed=seed) for seed in range(2)]
    assert (made[0].front.objectives == made[1].front.objectives).all()
    drawn = [split(counts, (0.6, 0.2, 0.2), groups=groups, method="random", seed=seed).measures for seed in range(60)]
    comparable = [one.ld for one in drawn if one.ed == made[0].measures.ed]
    assert made[0].pick("ld").measures.ld <= min(comparable) + 1e-12


@pytest.mark.filterwarnings("ignore:group")
def test_sizes_that_leave_no_choice():
    """Where all ways to meet the sizes are equally good the split says so; not where there is a choice."""
    counts = np.array([[1, 0]] * 5 + [[0, 1]] * 3 + [[1, 1]] * 2)
    groups = [0] * 5 + [1] * 3 + [2] * 2
    made = split(counts, (8, 2), groups=groups, effort="fast")
    assert made.sizes == (8, 2)
    assert any("leave no choice" in note for note in made.notes)
    counts, groups = few_large_groups()
    assert not split(counts, (0.6, 0.2, 0.2), groups=groups, effort="fast").notes


def test_a_large_front_is_thinned(monkeypatch):
    """Of more trade-offs than wanted the best in each objective stay."""
    counts, groups = few_large_groups()
    whole = split(counts, (0.6, 0.4), groups=groups, effort="fast")
    monkeypatch.setattr(exhaustive, "MOST_POINTS", 3)
    few_points = split(counts, (0.6, 0.4), groups=groups, effort="fast")
    assert len(few_points.front) == 3 < len(whole.front)
    assert (few_points.front.objectives.min(axis=0) == whole.front.objectives.min(axis=0)).all()

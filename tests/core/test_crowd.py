"""Equal samples: most of many are placed before the search, in their shares; then they are dealt out to the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import check_exact_sizes, few, long_tailed, problem_of

from evosplit import LabelCounts, crowd, split
from evosplit.constraints import resolve_constraints
from evosplit.problem import build_problem
from evosplit.ratios import Subsets


def many(copies, sizes, **conditions):
    """Build the problem of rows with labels a, b, a and b, and none, which stand for so many samples."""
    counts = LabelCounts([[1, 0], [0, 1], [1, 1], [0, 0]], copies=copies)
    subsets = Subsets(tuple("abcdef"[: len(sizes)]), tuple(sizes))
    constraints = resolve_constraints(counts, subsets, **conditions) if conditions else None
    return build_problem(counts, subsets, constraints=constraints)


def test_equal_samples_may_be_placed(monkeypatch):
    """Of more samples than are searched most of each kind are placed before, in their shares; sizes are exact."""
    rng = np.random.default_rng(5)
    kinds = long_tailed(m=12, q=5, seed=5)
    counts, sizes = kinds[rng.choice(12, p=np.arange(1, 13) / 78, size=600)], (400, 133, 67)
    monkeypatch.setattr(crowd, "MOST_UNITS", 100)
    of = problem_of(counts, sizes, as_table=True)
    assert of.n_units <= 100 + 12 * 3
    check_exact_sizes(split(counts, sizes, effort="fast"), sizes)


@pytest.mark.parametrize("most", [0, 40, 300])
def test_what_is_left_to_the_search(monkeypatch, most):
    """As many are left as may be searched, and at least two of each kind in each subset; nobody gets too many."""
    monkeypatch.setattr(crowd, "MOST_UNITS", most)
    problem = many([400, 300, 200, 100], (700, 200, 100))
    placed, shares = problem.crowd.placed, problem.crowd.shares
    assert placed.min() >= 0
    assert (placed <= np.array([400, 300, 200, 100])[:, None] * [0.7, 0.2, 0.1] + 1).all()
    assert (placed.sum(axis=0) <= [700, 200, 100]).all()
    left = shares.dealt - placed
    assert problem.n_units == 1000 - placed.sum()
    assert left.min() >= 0
    assert left.max() == 2 if most == 0 else left.sum() <= most < (left + 1).sum() + 12


def test_locked_copies_count_as_placed(monkeypatch):
    """What is locked is in its subset before the search, and the others are placed around it."""
    monkeypatch.setattr(crowd, "MOST_UNITS", 0)
    locked = np.array([[0, 90], [0, 0], [5, 5], [0, 0]])
    problem = many([400, 300, 200, 100], (800, 200), locked=locked)
    made = problem.crowd
    assert made.locked.tolist() == locked.tolist()
    assert (made.placed >= locked).all()
    assert made.placed[0, 1] == 90  # more than its share of 80 already
    assert made.shares.dealt.sum() >= 990


@few
@given(st.data(), st.integers(2, 4))
def test_rows_get_what_their_kind_has(data, k):
    """Each row gets as many as it stands for, the locked ones where they stay, and a kind in all what it has."""
    n_rows = data.draw(st.integers(1, 6))
    kinds = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))
    numbers = st.lists(st.integers(0, 4), min_size=n_rows * k, max_size=n_rows * k)
    free, held = (np.array(data.draw(numbers)).reshape(n_rows, k) for _ in range(2))
    table, locked = np.zeros((3, k), dtype=np.int64), np.zeros((3, k), dtype=np.int64)
    np.add.at(table, kinds, free + held)
    np.add.at(locked, kinds, held)
    rows = crowd.Crowd(kinds, (free + held).sum(axis=1), np.zeros(0, dtype=np.int64), held, locked, locked).of_rows(
        table
    )
    assert (rows >= held).all()
    assert rows.sum(axis=1).tolist() == (free + held).sum(axis=1).tolist()
    for kind in range(3):
        assert rows[kinds == kind].sum(axis=0).tolist() == table[kind].tolist()

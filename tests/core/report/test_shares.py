"""How things are shared out: parts, deviations, what is misplaced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit.report.shares import ShareTable, deviations, misplaced


@st.composite
def share_tables(draw):
    """Draw subset sizes and counts that fit into them."""
    sizes = draw(st.lists(st.integers(0, 12), min_size=1, max_size=4).filter(sum))
    rows = draw(st.lists(st.tuples(*(st.integers(0, size) for size in sizes)), min_size=1, max_size=4))
    return np.array(rows), np.array(sizes)


def allocations(total, k):
    """Give every way to put a total into k subsets."""
    if k == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in allocations(total - first, k - 1):
            yield (first, *rest)


@given(share_tables())
def test_deviation_is_the_worst_relative_difference(table):
    """A row is off by the largest relative difference between its share and the subset's."""
    counts, sizes = table
    for row, found in zip(counts, deviations(counts, sizes), strict=True):
        expected = 0.0
        for n, size in zip(row, sizes, strict=True):
            if size and row.sum():
                target = size / sizes.sum()
                expected = max(expected, abs(n / row.sum() - target) / target)
        assert found == pytest.approx(expected)


def naive_odds(row, sizes):
    """Give how far the odds of each subset are from those overall, as in Eq. 1."""
    total, whole = sum(row), sum(sizes)
    overall = total / max(whole - total, 1)
    return [abs(n / max(size - n, 1) - overall) if total < whole else 0.0 for n, size in zip(row, sizes, strict=True)]


def nearest(total, sizes, least=0):
    """Give the ways to put a total into subsets, at least so many into each, that are closest to the shares."""
    whole = sum(sizes)
    far = {
        chosen: sum(abs(n * whole - total * size) for n, size in zip(chosen, sizes, strict=True))
        for chosen in allocations(total, len(sizes))
        if all(min(least, size) <= n for n, size in zip(chosen, sizes, strict=True))
    }
    return [chosen for chosen in far if far[chosen] == min(far.values())]


@given(
    st.lists(st.integers(1, 20), min_size=2, max_size=3),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.integers(0, 2),
)
def test_misplaced_is_the_least_that_has_to_move(sizes, row, least):
    """So many have to move, and not fewer, until no other counts are closer to the shares, or to them and a minimum."""
    row = np.minimum(row[: len(sizes)], sizes)
    total = int(row.sum())
    fine = nearest(total, sizes)
    if total >= least * len(sizes):
        fine += nearest(total, sizes, least)
    expected = min(np.abs(row - other).sum() // 2 for other in fine)
    found = misplaced(row[None], np.array(sizes), least=least).tolist()
    assert found == [expected] or found == [0]
    if found != [expected]:  # then no counts have a lower LD
        odds = {chosen: sum(naive_odds(chosen, sizes)) for chosen in allocations(total, len(sizes))
                if all(n <= size for n, size in zip(chosen, sizes, strict=True))}  # fmt: skip
        assert odds[tuple(row.tolist())] == pytest.approx(min(odds.values()))


def test_nothing_has_to_move_where_ld_is_lowest():
    """18 of 174 in a subset of 30 would be nearer to 17.4 than 140 in one of 240 to 139.2, but odds would be worse."""
    sizes = np.array([240, 30, 30])
    assert misplaced(np.array([[140, 17, 17], [139, 17, 18], [138, 18, 18]]), sizes).tolist() == [0, 0, 1]


def test_a_minimum_everywhere_is_not_misplaced():
    """Subsets may have their minimum where a label has enough for all, and others lack it then."""
    sizes = np.array([80, 10, 10])
    assert misplaced(np.array([[1, 1, 1], [2, 1, 0], [3, 0, 0], [0, 3, 0]]), sizes).tolist() == [2, 1, 0, 3]
    assert misplaced(np.array([[1, 1, 1], [2, 1, 0], [0, 3, 0]]), sizes, least=1).tolist() == [0, 1, 2]
    assert misplaced(np.array([[5, 2, 2], [1, 1, 0]]), sizes, least=2).tolist() == [0, 1]
    assert misplaced(np.array([[40, 30, 30]]), 10 * sizes, least=1).tolist() == [40]


@given(share_tables())
def test_parts_are_counts_and_shares(table):
    """A part is a count, its share of the row and the subset's share; the furthest is the row's deviation."""
    counts, sizes = table
    shares = ShareTable(tuple(map(str, range(len(counts)))), tuple(map(str, sizes)), sizes, counts)
    for row, parts, off in zip(counts, shares.parts, shares.deviation, strict=True):
        assert [part.count for part in parts] == row.tolist()
        assert [part.share for part in parts] == pytest.approx((row / max(row.sum(), 1)).tolist())
        assert [part.target for part in parts] == pytest.approx((sizes / sizes.sum()).tolist())
        if row.sum():
            assert max(abs(part.excess) for part in parts if part.target) == pytest.approx(off, abs=1e-12)


def test_nothing_is_not_off():
    """Rows of zeros, and subsets that are all empty, are not off."""
    assert deviations(np.zeros((2, 2), dtype=int), np.array([0, 0])).tolist() == [0, 0]

"""Iterative stratification, repair and uneven units, against slow twins."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from compiled import csr, from_python, seeded
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, splits

from evosplit._kernels import stratification


@given(st.lists(st.integers(0, 8), min_size=1, max_size=12), st.data())
def test_queue_stays_sorted(left, data):
    """After any number of units are taken away the queue is sorted and knows its places and starts."""
    left = np.array(left)
    _, queue, place, start = stratification.build_queue(left)
    for _ in range(data.draw(st.integers(0, 15))):
        waiting = np.flatnonzero(left)
        if len(waiting):
            column = data.draw(st.sampled_from(waiting.tolist()))
            from_python(stratification.take_one)(column, left, queue, place, start)
    assert left[queue].tolist() == sorted(left.tolist())
    assert queue[place].tolist() == list(range(len(left)))
    assert start.tolist() == [(left < n).sum() for n in range(len(start))]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_rarest_is_the_rarest(left):
    """The chosen column has the fewest units left but not none; ties fall on each of the equals."""
    left = np.array(left)
    _, queue, _, start = stratification.build_queue(left)
    state = seeded()
    chosen = {from_python(stratification.choose_rarest)(left, queue, start, state) for _ in range(80)}
    waiting = left[left > 0]
    rarest = np.flatnonzero(left == waiting.min()).tolist() if len(waiting) else [-1]
    assert chosen == set(rarest)


@pytest.mark.parametrize(
    ("desire", "tie_break", "capacity", "expected"),
    [
        ([0.1, 0.9, 0.5], [9, 0, 9], [9, 0, 9], {1}),
        ([0.9, 0.9, 0.5], [1, 2, 9], [9, 0, 9], {1}),
        ([0.9, 0.9, 0.9], [2, 2, 1], [3, 4, 9], {1}),
        ([0.9, 0.9, 0.9], [2, 2, 2], [4, 3, 4], {0, 2}),
        ([0.3, 0.1 + 0.2, 0.1], [0, 0, 0], [1, 1, 1], {0, 1}),
        ([-1.0, -2.0], [0, 0], [0, 0], {0}),
    ],
)
def test_choose_subset(desire, tie_break, capacity, expected):
    """The greatest desire wins, then the tie-break, then the capacity, then chance."""
    arguments = (np.array(desire, dtype=float), np.array(tie_break, dtype=float), np.array(capacity))
    state = seeded()
    assert {from_python(stratification.choose_subset)(*arguments, state) for _ in range(60)} == expected


def stratify(dense, sizes, by_the_rest, in_turn, limit):
    """Run `place_rarest` on the presence of labels."""
    presence = np.asarray(dense) > 0
    indptr, indices, _ = csr(presence)
    by_column = sp.csc_array(sp.csr_array(presence))
    totals = presence.sum(axis=0).astype(np.int64)
    sizes = np.array(sizes)
    dealt = stratification.Dealt(
        table=np.zeros((len(presence), len(sizes)), dtype=np.int64),
        copies_left=np.ones(len(presence), dtype=np.int64),
        counts=np.zeros((len(totals), len(sizes)), dtype=np.int64),
        capacity=sizes.copy(),
    )
    placed = stratification.place_rarest(
        stratification.Columns(indptr, indices, by_column.indptr, by_column.indices, totals),
        stratification.build_queue(totals.copy()), dealt, sizes / sizes.sum(), by_the_rest, in_turn, limit,
        np.empty(totals.max(initial=0), dtype=np.int64), np.empty((2, len(sizes))), seeded(),
    )  # fmt: skip
    return placed, *dealt


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("by_the_rest", [False, True])
@given(problem=problems(min_labels=1))
def test_place_rarest_keeps_its_books(by_the_rest, in_turn, problem):
    """All samples with a label are placed once; counts and capacity are those of the table."""
    dense, sizes = problem
    placed, table, copies_left, counts, capacity = stratify(dense, sizes, by_the_rest, in_turn, limit=10**6)
    labelled = (dense > 0).any(axis=1)
    assert placed == labelled.sum()
    assert table.sum(axis=1).tolist() == labelled.astype(int).tolist()
    assert copies_left.tolist() == (~labelled).astype(int).tolist()
    assert (counts == (dense > 0).T.astype(int) @ table).all()
    assert (capacity == sizes - table.sum(axis=0)).all()


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("by_the_rest", [False, True])
@given(problem=problems(min_labels=1))
def test_rarest_label_is_dealt_like_the_naive(by_the_rest, in_turn, problem):
    """The first label to be dealt is a rarest one, and is spread as by hand: one by one to who wants most."""
    dense, sizes = problem
    totals = (dense > 0).sum(axis=0)
    if not totals.any():
        return
    placed, table, _, counts, _ = stratify(dense, sizes, by_the_rest, in_turn, limit=1)
    assert placed == totals[totals > 0].min()
    shares = [size / sum(sizes) for size in sizes]
    dealt = [label for label in np.flatnonzero(totals == placed) if counts[label].sum() == placed]
    given_out = naive.deal_one_label(int(placed), shares)
    desires = sorted(share * placed - n for share, n in zip(shares, given_out, strict=True))
    found = [sorted(np.array(shares) * placed - counts[label]) for label in dealt]
    assert any(np.allclose(one, desires) for one in found)
    assert table.sum() == placed


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_fill_sizes(copies, data):
    """What is left fills the capacity exactly when the capacity is there."""
    n = sum(copies)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2)))
    capacity = np.diff([0, *cuts, n])
    dealt = stratification.Dealt(
        np.zeros((len(copies), 3), dtype=np.int64), np.array(copies), np.zeros((0, 3), dtype=np.int64), capacity.copy()
    )
    stratification.fill_sizes(dealt, seeded())
    assert dealt.table.sum(axis=0).tolist() == capacity.tolist()
    assert dealt.table.sum(axis=1).tolist() == copies
    assert not dealt.copies_left.any()
    assert not dealt.capacity.any()


@given(st.lists(st.integers(-5, 9), min_size=1, max_size=5), st.integers(0, 30))
def test_fill_sizes_deals_to_the_most_capacity(capacity, n):
    """Wherever sizes are overdrawn or not all is there, the capacities are those of dealing one by one."""
    dealt = stratification.Dealt(
        np.zeros((1, len(capacity)), dtype=np.int64),
        np.array([n]),
        np.zeros((0, 1), dtype=np.int64),
        np.array(capacity),
    )
    stratification.fill_sizes(dealt, seeded())
    left = list(capacity)
    for _ in range(n):
        left[left.index(max(left))] -= 1
    assert sorted(dealt.capacity.tolist()) == sorted(left)
    assert (dealt.table[0] + dealt.capacity).tolist() == capacity


def repair_cost(counts, totals, prices, n_labels, sizes):
    """Tell what a split is worth as `unit_change` sees it, from scratch: labels missing, cost."""
    shares = np.array(sizes) / sum(sizes)
    away = np.abs(counts - totals[:, None] * shares) / shares
    return (counts[:n_labels] == 0).sum(), (prices[:, None] * away).sum()


@given(splits(min_labels=1, max_subsets=3), st.data())
def test_unit_change(drawn, data):
    """The changes are the differences of missing labels and of costs, before and after."""
    dense, assignment, k = drawn
    sizes = np.full(k, len(dense))
    indptr, indices, gains = csr(dense)
    unit, totals = data.draw(st.integers(0, len(dense) - 1)), dense.sum(axis=0)
    prices = np.arange(1.0, dense.shape[1] + 1)
    n_labels = data.draw(st.integers(0, dense.shape[1]))
    counts = np.zeros((dense.shape[1], k), dtype=np.int64)
    for sample, j in enumerate(assignment):
        counts[:, j] += dense[sample]
    after, j = counts.copy(), assignment[unit]
    after[:, j] -= dense[unit]
    row = slice(indptr[unit], indptr[unit + 1])
    found = from_python(stratification.unit_change)(
        indices[row], gains[row], -1.0, counts, totals, prices, n_labels, 1 / k, j
    )
    worth = [repair_cost(table, totals, prices, n_labels, sizes) for table in (counts, after)]
    assert found[0] == worth[1][0] - worth[0][0]
    assert found[1] == pytest.approx(worth[1][1] - worth[0][1])


def repair(dense, totals, prices, n_labels, sizes, movable, assignment, counts, candidates):
    """Run `repair_sizes` on units that are all of different types."""
    excess = np.bincount(assignment, minlength=len(sizes)) - sizes
    work = stratification.Repair(
        *csr(dense), np.arange(len(dense)), totals, prices, n_labels, movable, assignment, counts, excess
    )
    members = np.empty(len(dense), dtype=np.int64)
    return stratification.repair_sizes(work, np.array(sizes) / len(dense), candidates, members, len(dense), seeded())


@pytest.mark.parametrize("candidates", [1, 3, 100])
@given(problem=problems(min_labels=1), seed=st.integers(0, 2**32))
def test_repair_sizes(candidates, problem, seed):
    """Sizes become exact with as few moves as possible, the counts follow, and what is not movable stays."""
    dense, sizes = problem
    k = len(sizes)
    rng = np.random.default_rng(seed)
    assignment = rng.integers(0, k, size=len(dense)).astype(np.int32)
    before = assignment.copy()
    excess = np.bincount(assignment, minlength=k) - sizes
    movable = rng.random(len(dense)) < 0.3
    for j in np.flatnonzero(excess > 0):  # as many as have to move can move
        movable[np.flatnonzero(assignment == j)[: excess[j]]] = True
    counts = np.zeros((dense.shape[1], k), dtype=np.int64)
    for sample, j in enumerate(assignment):
        counts[:, j] += dense[sample]
    ones = np.ones(dense.shape[1])
    moves = repair(dense, dense.sum(axis=0), ones, len(ones), sizes, movable, assignment, counts, candidates)
    assert np.bincount(assignment, minlength=k).tolist() == sizes
    assert moves == (assignment != before).sum() == np.maximum(excess, 0).sum()
    assert (assignment[~movable] == before[~movable]).all()
    assert counts.tolist() == naive.subset_tables(dense, assignment.tolist(), k)[2]


@pytest.mark.parametrize(("locked", "moved"), [([], 3), ([3], 0), ([0, 3], 1)])
def test_repair_moves_the_cheapest(locked, moved):
    """With all candidates on the table the sample whose move costs least is moved, of those that may."""
    dense = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 1], [1, 1]])
    assignment = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)  # the labels lie right, the sizes do not
    counts = np.array([[2, 2], [2, 2]])
    movable = ~np.isin(np.arange(6), locked)
    moves = repair(dense, np.array([4, 4]), np.ones(2), 2, [3, 3], movable, assignment, counts, 10)
    assert moves == 1
    assert np.flatnonzero(assignment != [0, 0, 0, 0, 1, 1]).tolist() == [moved]


@pytest.mark.parametrize(("n_labels", "moved"), [(2, [1]), (0, [0])])
def test_repair_keeps_labels_whatever_it_costs(n_labels, moved):
    """The last sample of a label stays while another may go, however dear that is; columns that are no labels go."""
    dense = np.array([[1, 0], [0, 1], [0, 1], [1, 2]])
    assignment = np.array([0, 0, 0, 1], dtype=np.int32)
    prices, movable = np.array([1e-9, 1e9]), np.ones(4, dtype=bool)
    repair(dense, np.array([2, 4]), prices, n_labels, [2, 2], movable, assignment, np.array([[1, 1], [2, 2]]), 10)
    assert np.flatnonzero(assignment != [0, 0, 0, 1]).tolist() == moved


@given(problem=problems(min_labels=1), data=st.data())
def test_deal_uneven(problem, data):
    """Each unit goes where it fits and most is lacking of what it carries, or where the most capacity is left."""
    dense, sizes = problem
    k, totals = len(sizes), dense.sum(axis=0)
    unit_sizes = np.array([data.draw(st.integers(1, 3)) for _ in dense])
    shares = np.array(sizes) / sum(sizes)
    counts, capacity = np.zeros((dense.shape[1], k), dtype=np.int64), np.array(sizes)
    order = np.arange(len(dense))
    chosen = np.empty(len(dense), dtype=np.int64)
    stratification.deal_uneven(*csr(dense), order, unit_sizes, totals, shares, counts, capacity, chosen)
    held, left = np.zeros((dense.shape[1], k)), np.array(sizes)
    for row, size, j in zip(dense, unit_sizes, chosen, strict=True):
        fits = np.flatnonzero(left >= size)
        if len(fits):
            assert j in fits
            carried = np.flatnonzero(row)
            lacking = 1 - (held[carried] + row[carried, None] / 2) / np.outer(totals[carried], shares)
            desire = (row[carried] / totals[carried]) @ lacking
            assert desire[j] == pytest.approx(desire[fits].max())
        else:
            assert left[j] == left.max()
        held[:, j] += row
        left[j] -= size
    assert (counts == held).all()
    assert (capacity == left).all()

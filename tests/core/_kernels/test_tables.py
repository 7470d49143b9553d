"""The kernels that deal in tables: how many of each type go to each subset."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from compiled import seeded
from hypothesis import given
from hypothesis import strategies as st
from strategies import sizes_for

from evosplit._kernels import tables


def at_random(free, capacity, seed=1):
    """Deal units out at random, into an empty table."""
    table = np.zeros((len(free), len(capacity)), dtype=np.int64)
    tables.deal_at_random(np.array(free, dtype=np.int64), np.array(capacity, dtype=np.int64), table, seeded(seed))
    return table


@st.composite
def crowds(draw, max_types=5):
    """Draw how many units of each type there are, and capacities for all of them."""
    free = draw(st.lists(st.integers(0, 400), min_size=1, max_size=max_types).filter(lambda free: sum(free) > 1))
    return free, draw(sizes_for(sum(free), max_subsets=4))


@given(crowds(), st.integers(0, 1000))
def test_random_tables_are_full(drawn, seed):
    """Every unit is in some subset, every subset has its size."""
    free, capacity = drawn
    table = at_random(free, capacity, seed)
    assert table.min() >= 0
    assert table.sum(axis=1).tolist() == free
    assert table.sum(axis=0).tolist() == capacity


def test_random_tables_have_equal_chances():
    """The tables of 2 + 1 units in subsets of 2 + 1 come as often as the ways to deal the units one by one."""
    ways = Counter()
    for split in itertools.permutations([0, 0, 1]):
        ways[tuple(np.bincount([2 * t + j for t, j in zip([0, 0, 1], split, strict=True)], minlength=4))] += 1
    n = 6_000
    state, found = seeded(), Counter()
    for _ in range(n):
        table = np.zeros((2, 2), dtype=np.int64)
        tables.deal_at_random(np.array([2, 1]), np.array([2, 1]), table, state)
        found[tuple(table.ravel().tolist())] += 1
    assert found.keys() == ways.keys()
    for table, number in ways.items():
        assert found[table] / n == pytest.approx(number / ways.total(), abs=0.03)


@pytest.mark.parametrize("scale", [10, 1_000, 10**9])
def test_random_numbers_spread_as_the_distribution_does(scale):
    """Mean and standard deviation are those of the hypergeometric distribution, drawn exactly or as a normal one."""
    free, capacity = [3 * scale, 7 * scale], [2 * scale, 8 * scale]
    state, drawn = seeded(), []
    for _ in range(2_000):
        table = np.zeros((2, 2), dtype=np.int64)
        tables.deal_at_random(np.array(free), np.array(capacity), table, state)
        drawn.append(table[0, 0])
    whole = 10 * scale
    deviation = math.sqrt(2 * scale * 0.3 * 0.7 * (whole - 2 * scale) / (whole - 1))
    assert np.mean(drawn) == pytest.approx(0.6 * scale, abs=0.1 * deviation)
    assert np.std(drawn) == pytest.approx(deviation, rel=0.07)


@given(crowds(), st.data())
def test_rows_share_what_their_kind_has(drawn, data):
    """Every row gets its copies, all of a kind together what it has, each within k of its part."""
    free, capacity = drawn
    table = at_random(free, capacity)
    kind_of_row, copies = [], []
    for kind, number in enumerate(free):
        while number:
            part = data.draw(st.integers(1, number))
            kind_of_row.append(kind)
            copies.append(part)
            number -= part
    order = data.draw(st.permutations(range(len(copies))))
    kind_of_row, copies = np.array(kind_of_row)[order], np.array(copies)[order]
    shared = np.full((len(copies), len(capacity)), -1)
    tables.share_out(kind_of_row, copies, table.copy(), shared)
    assert shared.min() >= 0
    assert shared.sum(axis=1).tolist() == copies.tolist()
    for kind, number in enumerate(free):
        inside = shared[kind_of_row == kind]
        assert inside.sum(axis=0).tolist() == table[kind].tolist()
        part = copies[kind_of_row == kind][:, None] * table[kind] / max(number, 1)
        assert np.abs(inside - part).max(initial=0) <= len(capacity)


def bulk(labels, copies, sizes, locked=None):
    """Deal types with these labels in bulk: (table, needs, what stays free, what capacity stays)."""
    labels, copies = np.array(labels), np.array(copies)
    locked = np.zeros((len(copies), len(sizes)), dtype=np.int64) if locked is None else np.array(locked)
    rows, columns = np.nonzero(labels)
    indptr = np.searchsorted(rows, np.arange(len(labels) + 1))
    totals = labels.T @ copies
    rarest = tables.rarest_labels(indptr, columns, totals)
    table, needs = np.zeros_like(locked), np.zeros(locked.shape)
    free, capacity = copies - locked.sum(axis=1), np.array(sizes) - locked.sum(axis=0)
    counts = (labels.T @ locked).astype(np.float64)
    order = np.argsort(totals[rarest], kind="stable")
    tables.deal_in_bulk(indptr, columns, totals, np.array(sizes), order, rarest, counts, table, needs, free, capacity)
    return table, needs, free, capacity


@st.composite
def labelled_crowds(draw):
    """Draw types with at least one of four labels each, their copies and sizes of subsets."""
    labels = draw(st.lists(st.tuples(*[st.booleans()] * 4).filter(any), min_size=1, max_size=6))
    copies = draw(st.lists(st.integers(1, 10_000), min_size=len(labels), max_size=len(labels)))
    copies[0] += 1  # two samples make two subsets
    return np.array(labels, dtype=np.int64), copies, draw(sizes_for(sum(copies), max_subsets=4))


@given(labelled_crowds())
def test_bulk_is_the_share_rounded_down(drawn):
    """Without locks every subset gets its share of every type, rounded down; what is missing is less than one unit."""
    labels, copies, sizes = drawn
    table, needs, free, capacity = bulk(labels, copies, sizes)
    share = np.array(copies)[:, None] * np.array(sizes) / sum(sizes)
    assert (np.abs(table - np.floor(share)) <= (np.abs(share - np.rint(share)) < 1e-6)).all()
    assert needs == pytest.approx(share - table, abs=1e-5)
    assert free.tolist() == (copies - table.sum(axis=1)).tolist()
    assert capacity.tolist() == (sizes - table.sum(axis=0)).tolist()


@given(labelled_crowds(), st.data())
def test_bulk_goes_around_locks(drawn, data):
    """With locks no more is dealt than there is, or than fits, and of each type only a few units are left."""
    labels, copies, sizes = drawn
    k = len(sizes)
    locked = np.zeros((len(copies), k), dtype=np.int64)
    for kind, j in itertools.product(range(len(copies)), range(k)):
        most = min(copies[kind] - locked[kind].sum(), sizes[j] - locked[:, j].sum())
        locked[kind, j] = data.draw(st.integers(0, int(most)))
    table, _, free, capacity = bulk(labels, copies, sizes, locked)
    assert min(table.min(), free.min(), capacity.min()) >= 0
    assert (table + locked).sum(axis=1).tolist() == (np.array(copies) - free).tolist()
    assert (table + locked).sum(axis=0).tolist() == (np.array(sizes) - capacity).tolist()
    assert free.max() <= k + len(copies)


def test_bulk_makes_up_for_locks():
    """A label that is locked too often into a subset is dealt to the other, as far as there is some of it."""
    table, *_ = bulk([[1, 0], [0, 1]], [1_000, 1_000], [1_000, 1_000], [[0, 400], [0, 0]])
    assert table.tolist() == [[500, 100], [500, 500]]


@given(crowds(), st.data())
def test_needs_are_met_along_the_line(drawn, data):
    """All units are dealt into the capacities; equal needs are met within k units anywhere along the line."""
    free, capacity = drawn
    share = np.array(capacity) / sum(capacity)
    order = data.draw(st.permutations(range(len(free))))
    table = np.zeros((len(free), len(capacity)), dtype=np.int64)
    needs, left = np.tile(share, (len(free), 1)), np.array(capacity)
    tables.deal_by_needs(np.array(order), needs, np.array(free), left, table)
    assert table.sum(axis=1).tolist() == free
    assert table.sum(axis=0).tolist() == capacity
    assert not left.any()
    so_far = np.cumsum(table[order], axis=0)
    assert np.abs(so_far - np.cumsum(np.array(free)[order])[:, None] * share).max() <= len(capacity)

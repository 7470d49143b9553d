"""Sizes of uneven units: bounds, mending and packing against trying every filling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosplit import group_packing
from evosplit.group_packing import excess, fit_sizes, least_excess, mend_sizes, pack, packings
from evosplit.rng import Stream

few = settings(max_examples=60)


@st.composite
def fillings(draw, max_units=6, overfull=False):
    """Draw unit sizes and capacities that sum to them; with `overfull` a capacity may be negative."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=0, max_size=max_units))
    k = draw(st.integers(2, 3))
    low = -4 if overfull else 0
    capacities = draw(st.lists(st.integers(low, max(sum(sizes), 1)), min_size=k - 1, max_size=k - 1))
    rest = sum(sizes) - sum(capacities)
    if rest < low:
        capacities, rest = [0] * (k - 1), sum(sizes)
    return np.array(sizes, dtype=np.int64), np.array([*capacities, rest])


def excesses(sizes, capacities):
    """List the excess of every way to place the units."""
    k = len(capacities)
    return [
        sum(
            abs(sum(s for s, j in zip(sizes, chosen, strict=True) if j == subset) - capacities[subset])
            for subset in range(k)
        )
        for chosen in itertools.product(range(k), repeat=len(sizes))
    ]


def test_excess():
    """The excess adds up what is too much and what is missing."""
    assert excess(np.array([3, 1, 2]), np.array([0, 0, 2]), np.array([2, 3, 1])) == 2 + 3 + 1


@few
@given(fillings(overfull=True))
def test_least_excess_is_a_bound(filling):
    """No way to place the units is better than the bound."""
    sizes, capacities = filling
    assert 0 <= least_excess(sizes, capacities) <= min(excesses(sizes.tolist(), capacities.tolist()))


@few
@given(fillings())
def test_least_excess_of_two_subsets_is_reached(filling):
    """With two subsets what does not go into one goes into the other: the bound is the best."""
    sizes, capacities = filling
    two = np.array([capacities[0], capacities[1:].sum()])
    assert least_excess(sizes, two) == min(excesses(sizes.tolist(), two.tolist()))


@few
@given(st.lists(st.integers(1, 4), max_size=4), st.integers(2, 3), st.data())
def test_least_excess_with_enough_single_samples(sizes, k, data):
    """Where there are as many single samples as the largest unit has, every size can be met."""
    units = [*sizes, *[1] * max(sizes, default=1)]
    cuts = sorted(data.draw(st.lists(st.integers(max(units), sum(units)), min_size=k - 1, max_size=k - 1)))
    capacities = np.diff([0, *cuts, sum(units)])
    assert least_excess(np.array(units), capacities) == 0


def test_least_excess_of_what_is_overfull():
    """What is too much in one subset is missing in the others: it counts twice."""
    assert least_excess(np.array([1, 1, 1]), np.array([-2, 3, 2])) == 4
    assert least_excess(np.array([], dtype=int), np.array([-2, 1, 1])) == 4


def test_least_excess_gives_up_on_huge_sets(monkeypatch):
    """Where there are too many sums to look through, the bound is what is overfull."""
    sizes, capacities = np.array([3, 5]), np.array([6, 2])
    assert least_excess(sizes, capacities) == 2
    monkeypatch.setattr(group_packing, "MAX_BITS", 10)
    assert least_excess(sizes, capacities) == 0
    assert least_excess(sizes, np.array([-1, 9])) == 2


def test_least_excess_of_units_larger_than_any_subset():
    """What such a unit has beyond the largest subset is too much there and missing elsewhere."""
    assert least_excess(np.array([69, 21, 10]), np.array([34, 33, 33])) == 70
    assert least_excess(np.array([5, 5, 1, 1]), np.array([4, 4, 4])) == 4


@few
@given(fillings(overfull=True), st.integers(0, 99), st.data())
def test_mending_never_makes_it_worse(filling, seed, data):
    """Mending lowers the excess or leaves all where it is; what is not movable stays; no single move helps any more."""
    sizes, targets = filling
    k = len(targets)
    draws = st.lists(st.integers(0, k - 1), min_size=len(sizes), max_size=len(sizes))
    assignment = np.array(data.draw(draws), dtype=np.int64)
    movable = np.array([data.draw(st.booleans()) for _ in sizes], dtype=bool)
    before = assignment.copy()
    mended = mend_sizes(sizes, assignment, movable, targets, Stream(seed))
    assert (assignment == before).all()
    assert (mended[~movable] == before[~movable]).all()
    least = excess(sizes, mended, targets)
    assert least < excess(sizes, before, targets) or (mended == before).all()
    for unit, j in itertools.product(np.flatnonzero(movable), range(k)):
        moved = mended.copy()
        moved[unit] = j
        assert excess(sizes, moved, targets) >= least
    for one, other in itertools.combinations(np.flatnonzero(movable), 2):
        swapped = mended.copy()
        swapped[[one, other]] = mended[[other, one]]
        assert excess(sizes, swapped, targets) >= least


@few
@given(fillings(overfull=True), st.integers(1, 30))
def test_packing_is_exact(filling, less_than):
    """The filling found is the best of all; none is found if none is good enough, and both are proven."""
    sizes, capacities = filling
    best = min(excesses(sizes.tolist(), capacities.tolist()))
    packed, proven = pack(sizes, capacities, less_than)
    assert proven
    assert (packed is not None) == (best < less_than)
    if packed is not None:
        assert excess(sizes, packed, capacities) == best


@few
@given(fillings(overfull=True), st.data())
def test_packing_prefers_what_comes_second(filling, data):
    """Of the fillings with the least excess, the one nearest to the second aims is taken."""
    sizes, capacities = filling
    k = len(capacities)
    second = np.array(data.draw(st.lists(st.integers(0, 20), min_size=k, max_size=k)))
    packed, proven = pack(sizes, capacities, int(np.abs(capacities).sum() + sizes.sum()) + 1, second)
    both = zip(excesses(sizes.tolist(), capacities.tolist()), excesses(sizes.tolist(), second.tolist()), strict=True)
    assert proven
    assert (excess(sizes, packed, capacities), excess(sizes, packed, second)) == min(both)


@few
@given(fillings(overfull=True), st.data())
def test_all_packings_are_listed(filling, data):
    """All ways of the least excess are listed, once, whatever is interchangeable; none if they miss too much."""
    sizes, capacities = filling
    k = len(capacities)
    # Some units of one size are equal, some are not; some subsets with the same capacity are alike, some are not.
    marks = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(sizes), max_size=len(sizes))), dtype=np.int64)
    names = np.array(data.draw(st.lists(st.integers(0, 1), min_size=k, max_size=k)))
    kinds = 2 * sizes + marks

    def canonical(way):
        # What each subset holds; subsets that are alike in any order.
        held = [tuple(sorted(kinds[np.array(way, dtype=int) == j].tolist())) for j in range(k)]
        return tuple(sorted((int(capacities[j]), int(names[j]), held[j]) for j in range(k)))

    every = list(itertools.product(range(k), repeat=len(sizes)))
    misses = excesses(sizes.tolist(), capacities.tolist())
    best = [way for way, miss in zip(every, misses, strict=True) if miss == min(misses)]
    found = packings(sizes, kinds, capacities, np.stack((capacities, names)), min(misses), 5000)
    assert {excess(sizes, way, capacities) for way in found} <= {min(misses)}
    listed = [canonical(way) for way in found]
    assert len(set(listed)) == len(listed)
    assert set(listed) == {canonical(way) for way in best}
    if min(misses) > 0:
        nothing = packings(sizes, kinds, capacities, np.stack((capacities, names)), min(misses) - 1, 5000)
        assert len(nothing) == 0


def test_too_many_packings():
    """More ways than the limit are not listed."""
    sizes, capacities = np.array([1, 1, 1, 1]), np.array([3, 1])
    assert len(packings(sizes, np.arange(4), capacities, capacities, 0, 20)) == 4
    assert packings(sizes, np.arange(4), capacities, capacities, 0, 3) is None


def test_packing_gives_up(monkeypatch):
    """Beyond so many different loads nothing is found and nothing is proven."""
    sizes, capacities = np.array([5, 4, 3, 3, 3]), np.array([9, 9])
    monkeypatch.setattr(group_packing, "MAX_STATES", 3)
    assert pack(sizes, capacities, 10) == (None, False)


@few
@given(fillings(overfull=True), st.integers(0, 99), st.data())
def test_fitting_reaches_the_best(filling, seed, data):
    """Whatever the start, the movable units end as near to the targets as any way to place them."""
    sizes, targets = filling
    k = len(targets)
    start = np.array([data.draw(st.integers(0, k - 1)) for _ in sizes], dtype=np.int64)
    movable = np.array([data.draw(st.booleans()) for _ in sizes], dtype=bool)
    fitted = fit_sizes(sizes, start, movable, targets, Stream(seed))
    assert (fitted[~movable] == start[~movable]).all()
    held = np.bincount(start[~movable], weights=sizes[~movable], minlength=k).astype(int)
    assert excess(sizes, fitted, targets) == min(excesses(sizes[movable].tolist(), (targets - held).tolist()))


@pytest.mark.parametrize(
    ("sizes", "start", "targets"), [([3, 7, 5], [1, 0, 1], [8, 7]), ([5, 5, 3, 6], [0, 0, 1, 1], [9, 10])]
)
def test_mending_exchanges_two_units_where_one_does_not_help(monkeypatch, sizes, start, targets):
    """One or two units change places with two at once; of very many sizes single ones are tried alone."""
    sizes, targets, everything = np.array(sizes), np.array(targets), np.ones(len(sizes), dtype=bool)
    mended = mend_sizes(sizes, np.array(start), everything, targets, Stream(0))
    assert mended.tolist() == [1 - j for j in start]
    monkeypatch.setattr(group_packing, "MANY_SIZES", 2)
    assert excess(sizes, mend_sizes(sizes, np.array(start), everything, targets, Stream(0)), targets) == 2


def test_mending_alone_may_stop_short():
    """Where one unit has to change places with three at once mending finds nothing, fitting does."""
    sizes, start, targets = np.array([11, 3, 4, 5]), np.array([0, 1, 1, 1]), np.array([12, 11])
    everything, stream = np.ones(4, dtype=bool), Stream(0)
    assert excess(sizes, mend_sizes(sizes, start, everything, targets, stream), targets) == 2
    assert fit_sizes(sizes, start, everything, targets, stream).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_many_units_fit_exactly(seed):
    """Some hundred groups of very different sizes are placed to the sample."""
    rng = np.random.default_rng(seed)
    sizes = np.ceil(rng.pareto(1.2, size=300) * 4 + 1).astype(int).clip(max=400)
    whole = int(sizes.sum())
    targets = np.array([whole - 2 * (whole // 10), whole // 10, whole // 10])
    start = rng.integers(0, 3, size=300)
    assert excess(sizes, fit_sizes(sizes, start, np.ones(300, dtype=bool), targets, Stream(seed)), targets) == 0

"""Chance in kernels: the numbers of xorshift, without favour."""

from __future__ import annotations

import numpy as np
import pytest
from compiled import from_python, seeded
from hypothesis import given
from hypothesis import strategies as st

from evosplit._kernels import rng


def test_random_bits_are_xorshift():
    """The generator is xorshift64*, computed here with Python's integers."""
    state, expected = seeded(88172645463325252), 88172645463325252
    for _ in range(100):
        expected ^= expected >> 12
        expected ^= (expected << 25) & (2**64 - 1)
        expected ^= expected >> 27
        assert int(from_python(rng.random_bits)(state)) == expected * 2685821657736338717 % 2**64
        assert int(state[0]) == expected


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_random_below(bound):
    """Draws lie below the bound and spread evenly."""
    state = seeded(12345)
    draws = np.array([from_python(rng.random_below)(state, bound) for _ in range(4000)])
    assert draws.min() >= 0
    assert draws.max() < bound
    assert abs(draws.mean() - (bound - 1) / 2) <= 0.05 * bound


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 2**64 - 1))
def test_shuffle(values, seed):
    """The same values are there, in the order that drawing one after the other from the end gives."""
    shuffled, expected, state = np.array(values, dtype=np.int64), list(values), seeded(seed)
    rng.shuffle(shuffled, seeded(seed))
    for i in range(len(values) - 1, 0, -1):
        other = from_python(rng.random_below)(state, i + 1)
        expected[i], expected[other] = expected[other], expected[i]
    assert shuffled.tolist() == expected
    assert sorted(expected) == sorted(values)


def test_shuffle_favours_no_order():
    """Each of the six orders of three values comes up about as often."""
    state, orders = seeded(3), {}
    for _ in range(6000):
        values = np.arange(3)
        rng.shuffle(values, state)
        orders[tuple(values.tolist())] = orders.get(tuple(values.tolist()), 0) + 1
    assert len(orders) == 6
    assert all(850 <= often <= 1150 for often in orders.values())

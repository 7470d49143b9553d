"""Chance that is the same everywhere: the streams, and what they are made from."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from compiled import from_python
from hypothesis import given, settings
from hypothesis import strategies as st

from evosplit._kernels import rng
from evosplit.rng import Stream

BIT_GENERATORS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]


def test_stream_is_splitmix():
    """The integers are those that the authors of SplitMix64 print for this seed."""
    stream = Stream(1234567)
    assert [stream.draw() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@settings(max_examples=30)
@given(st.integers(1, 2**64 - 1), st.integers(1, 2**32 - 1))
def test_kernels_draw_as_integers_do(seed, bound):
    """A kernel's generator is xorshift64*, as unbounded integers compute it."""
    state, expected = np.array([seed], dtype=np.uint64), seed
    for _ in range(3):
        expected ^= expected >> 12
        expected = (expected ^ (expected << 25)) % 2**64
        expected ^= expected >> 27
        bits = expected * 2685821657736338717 % 2**64
        with np.errstate(over="ignore"):
            before = state.copy()
            assert int(from_python(rng.random_bits)(state)) == bits
            assert int(from_python(rng.random_below)(before, bound)) == (bits >> 32) * bound >> 32


def test_permutations_are_all_as_likely():
    """Each order of three comes in a sixth of many seeds, about; the values stay what they are."""
    values = np.array(["a", "b", "c"])
    found = Counter("".join(Stream(seed).permutation(values)) for seed in range(1200))
    assert len(found) == 6
    assert all(150 < number < 250 for number in found.values())
    assert values.tolist() == ["a", "b", "c"]


@given(st.integers(), st.integers())
def test_integers_of_any_size_are_seeds(a, b):
    """Equal integers start the same stream, whatever their type; others, of any size or sign, another one."""
    assert (Stream.from_seed(a).draw() == Stream.from_seed(b).draw()) == (a == b)


def test_neighbouring_seeds_have_unrelated_streams():
    """No two of many seeds share an integer."""
    streams = [Stream.from_seed(seed) for seed in range(-500, 500)]
    assert len({stream.draw() for stream in streams for _ in range(20)}) == 20_000


def test_numpy_integers_are_seeds():
    """A numpy integer is the integer that it holds."""
    assert Stream.from_seed(np.uint8(200)).draw() == Stream.from_seed(200).draw()


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_generators_are_seeds(kind):
    """A generator is drawn from: the same one gives another stream each time, an equal one the same."""
    first, second = np.random.Generator(kind(5)), np.random.Generator(kind(5))
    drawn = [Stream.from_seed(first).draw() for _ in range(50)]
    assert len(set(drawn)) == 50
    assert drawn == [Stream.from_seed(second).draw() for _ in range(50)]


def test_generators_give_their_raw_words():
    """What is drawn are the words of the bit generator, whose stream numpy keeps, 32 bits of each."""
    words = np.random.MT19937(5).random_raw(2)
    assert (
        Stream.from_seed(np.random.Generator(np.random.MT19937(5))).draw()
        == Stream(int(words[0]) << 32 | int(words[1])).draw()
    )


def test_none_is_another_stream_each_time():
    """Without a seed no two streams are the same."""
    assert len({Stream.from_seed(None).draw() for _ in range(100)}) == 100

"""From ratios, sizes or folds to names and exact sizes."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import ratios

from evosplit import EvoSplitError
from evosplit.ratios import fold_subsets, largest_remainder, resolve_subsets


@pytest.mark.parametrize(
    ("asked", "m", "names", "sizes"),
    [
        ((0.8, 0.2), 10, ("train", "test"), (8, 2)),
        ([0.8, 0.1, 0.1], 10, ("train", "val", "test"), (8, 1, 1)),
        (np.full(4, 0.25), 10, ("subset0", "subset1", "subset2", "subset3"), (3, 3, 2, 2)),
        ({"b": 0.5, "a": 0.5}, 3, ("b", "a"), (2, 1)),
        ((7, 3), 10, ("train", "test"), (7, 3)),
        ({"train": np.int64(9), "test": 1}, 10, ("train", "test"), (9, 1)),
        ((1 / 3, 1 / 3, 1 / 3), 2000, ("train", "val", "test"), (667, 667, 666)),
        ((0.7, 0.2, 0.1), 30, ("train", "val", "test"), (21, 6, 3)),
        ((0.5, 0.4999999), 4, ("train", "test"), (2, 2)),
    ],
)
def test_known_sizes(asked, m, names, sizes):
    """Sequences get default names, mappings keep theirs; fractions are rounded by largest remainder."""
    subsets = resolve_subsets(asked, m)
    assert (subsets.names, subsets.sizes) == (names, sizes)
    assert len(subsets) == len(names)


def test_default_names_can_differ():
    """A host that calls its subsets otherwise gives its own default names."""
    assert resolve_subsets((0.5, 0.5), 2, default_names={2: ("a", "b")}).names == ("a", "b")


@given(ratios(), st.integers(6, 100_000))
def test_sizes_match_naive(fractions, m):
    """Sizes sum to the number of samples, are within one of the exact share, and equal the naive rounding."""
    expected = naive.largest_remainder(fractions, m)
    assume(min(expected) > 0)
    sizes = resolve_subsets(fractions, m).sizes
    assert list(sizes) == expected
    assert sum(sizes) == m
    assert all(abs(size - share * m) < 1 for size, share in zip(sizes, fractions, strict=True))


@given(st.integers(2, 40), st.integers(2, 1000))
def test_folds_are_even(k, m):
    """Folds are numbered, differ by at most one sample, the larger ones first."""
    assume(k <= m)
    subsets = fold_subsets(k, m)
    assert subsets.names == tuple(f"fold{j}" for j in range(k))
    assert sum(subsets.sizes) == m
    assert subsets.sizes[0] - subsets.sizes[-1] <= 1
    assert list(subsets.sizes) == sorted(subsets.sizes, reverse=True)


def test_equal_remainders_favour_the_earlier():
    """Rounding is deterministic: of equal remainders the earlier subset gets the sample."""
    assert largest_remainder(np.array([0.25] * 4), 6).tolist() == [2, 2, 1, 1]
    assert largest_remainder(np.array([0.1] * 10), 30).tolist() == [3] * 10


@pytest.mark.parametrize(
    ("asked", "m", "sizes"),
    [
        ((8, 1, 1), 300, (240, 30, 30)),
        ((8.0, 1.0, 1.0), 300, (240, 30, 30)),  # numbers of a form
        ((80, 10, 10), 300, (240, 30, 30)),
        ((80, 10, 10), 90, (72, 9, 9)),
        ((240.0, 30.0, 30.0), 300, (240, 30, 30)),
        ((80, 10, 10), 100, (80, 10, 10)),
        ((72.5, 12.5, 15), 200, (145, 25, 30)),
        ((99.5, 0.5), 400, (398, 2)),
        ((1, 1), 50, (25, 25)),
        ({"train": 7, "test": 3}, 1000, (700, 300)),
    ],
)
def test_proportions_of_any_sum(asked, m, sizes):
    """Percentages and proportions mean what they say wherever they cannot be meant as sizes."""
    assert resolve_subsets(asked, m).sizes == sizes


@pytest.mark.parametrize(
    ("asked", "m", "message"),
    [
        ((0.8, 0.1), 10, r"the ratios \(0.8, 0.1\) sum to 0.9, not to 1"),
        ({"train": 0.8, "test": 0.3}, 10, "sum to 1.1, not to 1"),
        ((7, 1, 1), 8, r"the sizes \(7, 1, 1\) sum to 9, but there are 8 samples.*or give fractions"),
        ((250.0, 30, 30), 300, r"the sizes \(250, 30, 30\) sum to 310, but there are 300 samples"),
        ((80.5, 0.5), 300, r"sum to 81, not to 1; correct them, or give whole numbers as proportions \(8, 1, 1\)"),
        ((10**400, 1), 10, "the ratio of 'train' has 401 digits; give smaller numbers"),
        ((0.5, -0.5), 10, "the ratio of 'test' is -0.5; ratios and sizes must be positive"),
        ((1.0, 0.0), 10, "the ratio of 'test' is 0.0; ratios and sizes must be positive"),
        ((10, 0), 10, "the ratio of 'test' is 0"),
        ((0.5, float("nan")), 10, "the ratio of 'test' is nan"),
        ((0.5, float("inf")), 10, "the ratio of 'test' is inf"),
        ((0.98, 0.01, 0.01), 10, "the ratio 0.01 gives subset 'val' no sample out of 10; raise it or drop"),
        ((0.4, 0.3, 0.3), 2, "3 subsets for 2 samples; each needs at least one"),
        ((1.0,), 10, "1 subset makes no split; give at least two"),
        ({}, 10, "0 subsets make no split"),
        ("8:2", 10, "ratios='8:2' is neither a dict"),
        (0.8, 10, "ratios=0.8 is neither a dict"),
        (None, 10, "ratios=None is neither a dict"),
        (("a", 0.5), 10, "the ratio of 'train' is 'a'; expected a number"),
        ((True, 0.5), 10, "the ratio of 'train' is True; expected a number"),
        ({"": 0.5, "b": 0.5}, 10, "subset name '' is not a non-empty string"),
        ({1: 0.5, 2: 0.5}, 10, "subset name 1 is not a non-empty string"),
    ],
)
def test_bad_ratios(asked, m, message):
    """Ratios that cannot be met are refused with what they are and what to do."""
    with pytest.raises(EvoSplitError, match=message):
        resolve_subsets(asked, m)


@pytest.mark.parametrize(
    ("k", "m", "message"),
    [
        (1, 10, "n_splits=1 makes no split; give an integer of at least 2"),
        (2.0, 10, "n_splits=2.0 makes no split"),
        (True, 10, "n_splits=True makes no split"),
        (11, 10, "n_splits=11 is too many for 10 samples; each fold needs at least one"),
    ],
)
def test_bad_folds(k, m, message):
    """Folds that cannot be made are refused."""
    with pytest.raises(EvoSplitError, match=message):
        fold_subsets(k, m)

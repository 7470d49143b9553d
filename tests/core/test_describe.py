"""The description of a data set: the columns of the paper's Tables 1 and 2."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from hypothesis import given
from strategies import count_matrices

from evosplit import describe


@given(count_matrices())
def test_matches_naive(counts):
    """Every figure equals its slow twin and is finite."""
    made = describe(counts).to_dict()
    expected = naive.description(counts)
    assert made.keys() == expected.keys()
    for name, value in expected.items():
        assert made[name] == pytest.approx(value, abs=1e-9), name
        assert math.isfinite(made[name])


def test_by_hand():
    """Four samples, two labels: worked out by hand."""
    made = describe([[1, 1], [1, 0], [0, 0], [2, 1]])
    assert (made.samples, made.labels, made.max_labels) == (4, 2, 3)
    assert made.max_frequency == 4 / 4  # four instances of label 0 in four samples
    assert (made.cardinality, made.density) == (6 / 4, 6 / 8)
    assert (made.diversity, made.proportion_diversity, made.complexity) == (4, 1.0, 4 * 2 * 4)
    assert made.average_imbalance == (1 + 2) / 2
    # Two samples carry both labels (imbalance 1 and 2): 1 - sqrt(2) / 1.5; the others add nothing.
    assert made.scumble == pytest.approx(2 / 4 * (1 - math.sqrt(2) / 1.5))
    assert (made.pair_cardinality, made.pair_density, made.pair_max_frequency) == (0.5, 0.25, 0.5)
    assert (made.pair_diversity, made.pair_proportion_diversity) == (1, 0.25)


@pytest.mark.parametrize("counts", [np.zeros((3, 0)), np.zeros((3, 2)), [[1]]])
def test_without_labels(counts):
    """Data without labels, or without pairs, is described by zeros, not by errors."""
    with np.errstate(all="raise"):
        made = describe(counts)
    assert made.scumble == 0
    assert made.pair_diversity == 0

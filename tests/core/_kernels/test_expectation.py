"""What random splits deviate by, on average, where samples are too many to sum over."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evosplit.measures import expected_deviation


def test_expectation_of_many_is_that_of_the_normal_distribution():
    """From some spread on sums over the distribution give way to the normal one, without a jump."""
    scale = {}
    for m in (71_000_000, 72_500_000, 10**10):  # the spread is 2,980, 3,012 and about 35,000
        (found,) = expected_deviation([m // 2], [m // 2, m // 2])
        # Near the share the odds grow by 4 / size for each sample; the mean of |x| is sqrt(2 / pi) deviations.
        spread = math.sqrt(m / 2 * 0.25 * (m / 2) / (m - 1))
        scale[m] = found / (math.sqrt(2 / math.pi) * spread * 4 / (m / 2))
    assert list(scale.values()) == pytest.approx([1.0] * 3, rel=1e-4)


def test_expectation_with_locks_of_many():
    """Where locks keep a label from its share, the expectation is how far it is off."""
    m = 10**10
    held = np.array([[m // 4, 0]])
    (found,) = expected_deviation([m // 2], [m // 2, m // 2], held=held, held_sizes=[m // 4, 0])
    # The other quarter is spread over the free three quarters: a third of it is in the first subset.
    x = m // 4 + m / 4 / 3
    off = abs(x / (m / 2 - x) - 1) + abs((m / 2 - x) / x - 1)
    assert found == pytest.approx(off / 2, rel=1e-3)

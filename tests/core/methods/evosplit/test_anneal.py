"""The losses that annealing accepts."""

from __future__ import annotations

import numpy as np
import pytest

from evosplit.methods.evosplit.anneal import exponential_quantiles


def test_quantiles_are_exponential():
    """The losses that are accepted follow the exponential distribution: positive, mean 1, as its inverse says."""
    quantiles = exponential_quantiles()
    assert quantiles == pytest.approx(-np.log((np.arange(1024) + 0.5) / 1024), rel=1e-12)
    assert quantiles.mean() == pytest.approx(1.0, abs=1e-3)

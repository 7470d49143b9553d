"""The deviations of blocks of columns, against a slow twin."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import splits

from evosplit._kernels import deviation


@given(splits(min_labels=1, max_subsets=3), st.data())
def test_block_deviations(drawn, data):
    """Each block of each split has the weighted mean of its columns, by samples or by its own totals."""
    dense, assignment, k = drawn
    q = dense.shape[1]
    cut = data.draw(st.integers(0, q))
    spans = np.array([(0, cut, 0), (cut, q, 1), (0, q, 0), (q, q, 1)])
    weights = np.array(data.draw(st.lists(st.floats(0.1, 9), min_size=q, max_size=q)))
    drawn_splits = [assignment, assignment[::-1]]
    tables = np.array([naive.subset_tables(dense, list(a), k)[2] for a in drawn_splits]).reshape(2, q, k)
    sizes = np.array([np.bincount(a, minlength=k) for a in drawn_splits]) + int(dense.sum())
    values = np.full((2, len(spans)), np.nan)
    deviation.block_deviations(tables, spans, weights, sizes, np.empty(k, dtype=np.int64), values)
    for table, held, found in zip(tables, sizes, values, strict=True):
        for (start, stop, by_total), value in zip(spans, found, strict=True):
            inside = table[start:stop]
            totals = inside.sum(axis=0) if by_total else held
            expected = naive.weighted_distribution(inside.tolist(), totals.tolist(), weights[start:stop])
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)

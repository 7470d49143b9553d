"""Distinct rows, pairs, sums and the bound of odds, each against a slow twin."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from compiled import csr
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_matrices, sizes_for, splits

from evosplit import _kernels
from evosplit._kernels import counting


@given(count_matrices())
def test_distinct_rows(dense):
    """Rows are numbered by first occurrence."""
    first, number = _kernels.distinct_rows(*csr(dense))
    assert (first.tolist(), number.tolist()) == naive.distinct_rows(dense)


def test_distinct_rows_compares_content():
    """Rows with the same labels but other counts, or with a label more, are different."""
    first, number = _kernels.distinct_rows(*csr([[1, 0], [2, 0], [1, 1], [0, 0], [1, 0], [0, 0]]))
    assert first.tolist() == [0, 1, 2, 3]
    assert number.tolist() == [0, 1, 2, 3, 0, 3]


@given(count_matrices(), st.integers(1, 1024))
def test_pair_codes(dense, kept):
    """Each row lists the codes of its pairs, in order; of a part, a pair is listed by all rows that have it or none."""
    indptr, indices, _ = csr(dense)
    q = dense.shape[1]
    whole, part = (_kernels.pair_codes(indptr, indices, q, parts) for parts in (1024, kept))
    chosen = set(part[1].tolist())
    for row, counts in enumerate(dense.tolist()):
        present = [label for label, count in enumerate(counts) if count]
        expected = [i * q + j for i, j in itertools.combinations(present, 2)]
        listed, some = (codes[pointers[row] : pointers[row + 1]].tolist() for pointers, codes in (whole, part))
        assert listed == expected
        assert some == [code for code in expected if code in chosen]


def test_a_part_of_the_pairs_is_about_as_large_as_asked_for():
    """Of 4,950 pairs a quarter is listed, or a half, and the half has all of the quarter."""
    indptr, indices, _ = csr(np.ones((1, 100), dtype=int))
    quarter, half = (set(_kernels.pair_codes(indptr, indices, 100, kept)[1].tolist()) for kept in (256, 512))
    assert quarter < half
    assert len(quarter) == pytest.approx(4950 / 4, rel=0.1)
    assert len(half) == pytest.approx(4950 / 2, rel=0.1)


@given(st.lists(st.integers(0, 10**12), max_size=60))
def test_unique_codes(codes):
    """The result is that of np.unique with the inverse."""
    array = np.array(codes, dtype=np.int64)
    unique, inverse = _kernels.unique_codes(array)
    expected = np.unique(array, return_inverse=True)
    assert unique.tolist() == expected[0].tolist()
    assert inverse.tolist() == expected[1].tolist()


@pytest.mark.parametrize("highest", [4000, 10**12], ids=["dense", "sparse"])
def test_unique_codes_of_any_density(highest):
    """Codes are found whether they nearly fill their range or are far apart."""
    codes = np.random.default_rng(0).integers(0, highest, size=5000)
    unique, inverse = _kernels.unique_codes(codes)
    assert (unique == np.unique(codes)).all()
    assert (unique[inverse] == codes).all()


def pair_table(dense, weights):
    """Sum the weights of the rows that carry each pair, by code."""
    q = dense.shape[1]
    pairs = naive.label_pairs(dense)
    return {i * q + j: weights[rows].sum(axis=0).tolist() for (i, j), rows in pairs.items()}


@given(count_matrices(min_labels=1), st.integers(1, 3), st.integers(0, 2**32))
def test_pair_totals(dense, k, seed):
    """Each pair's sums are those of the rows that carry it."""
    weights = np.random.default_rng(seed).integers(0, 9, size=(len(dense), k))
    indptr, indices, _ = csr(dense)
    codes, sums = _kernels.pair_totals(indptr, indices, dense.shape[1], weights)
    assert dict(zip(codes.tolist(), sums.tolist(), strict=True)) == pair_table(dense, weights)


@pytest.mark.parametrize("chunk", [1, 1000, 10**6])
def test_pair_totals_a_few_rows_at_a_time(chunk, monkeypatch):
    """However many pairs are counted at a time, the sums are the same."""
    monkeypatch.setattr(counting, "CHUNK", chunk)
    dense = np.ones((2, 50), dtype=int)
    dense[1, :10] = 0
    weights = np.array([[1, 0], [0, 2]])
    indptr, indices, _ = csr(dense)
    codes, sums = _kernels.pair_totals(indptr, indices, 50, weights)
    assert dict(zip(codes.tolist(), sums.tolist(), strict=True)) == pair_table(dense, weights)


@given(splits())
def test_count_rows_and_sum_features(drawn):
    """Cross tables and sums per subset are those of plain loops."""
    dense, assignment, k = drawn
    first, number = naive.distinct_rows(dense)
    table = _kernels.count_rows(np.array(number, dtype=np.int32), np.array(assignment), len(first), k)
    for row in range(len(first)):
        for j in range(k):
            pairs = zip(number, assignment, strict=True)
            assert table[row, j] == sum(pair == (row, j) for pair in pairs)
    sums = _kernels.sum_features(sp.csr_array(dense[first]), table)
    _, _, instances, _ = naive.subset_tables(dense, assignment, k)
    assert sums.tolist() == instances


@given(count_matrices(min_labels=2), st.randoms(use_true_random=False))
def test_column_hashes(dense, random):
    """Equal columns have equal hashes, others do not, and the order of the columns changes nothing."""
    order = list(range(dense.shape[1]))
    random.shuffle(order)
    hashes = _kernels.column_hashes(*csr(dense), dense.shape[1])
    assert _kernels.column_hashes(*csr(dense[:, order]), dense.shape[1]).tolist() == hashes[order].tolist()
    for a, b in itertools.combinations(range(dense.shape[1]), 2):
        assert (hashes[a] == hashes[b]) == (dense[:, a] == dense[:, b]).all()


@given(st.integers(2, 30).flatmap(sizes_for), st.data())
def test_odds_bound(sizes, data):
    """The bound never exceeds the best of all ways to spread a total, and is not far below."""
    totals = data.draw(st.lists(st.integers(0, sum(sizes)), min_size=1, max_size=5))
    bounds = _kernels.odds_bound(np.array(totals), np.array(sizes))
    for total, bound in zip(totals, bounds, strict=True):
        best = naive.best_odds(total, sizes)
        assert 0.5 * best <= bound <= best + 1e-9

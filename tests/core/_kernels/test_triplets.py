"""Label triplets, against a slow twin."""

from __future__ import annotations

import itertools

import numpy as np
from compiled import csr
from hypothesis import given
from strategies import count_matrices

from evosplit._kernels.triplets import triplet_codes


@given(count_matrices(max_labels=6))
def test_triplet_codes(dense):
    """Each row lists the codes of its triplets, in order."""
    indptr, indices, _ = csr(dense)
    q = dense.shape[1]
    pointers, codes = triplet_codes(indptr, indices, q)
    for row, counts in enumerate(dense):
        expected = [(h * q + i) * q + j for h, i, j in itertools.combinations(np.flatnonzero(counts).tolist(), 3)]
        assert codes[pointers[row] : pointers[row + 1]].tolist() == expected

"""Label triplets: enumerated sparsely, as pairs are."""

from __future__ import annotations

import numpy as np

from evosplit._kernels._jit import Ints, jit

__all__ = ["triplet_codes"]


@jit
def triplet_codes(indptr: Ints, indices: Ints, n_labels: int) -> tuple[Ints, Ints]:
    """List the label triplets (h < i < j) of each row: (CSR row pointers, codes (h * q + i) * q + j)."""
    n_rows = len(indptr) - 1
    pointers = np.zeros(n_rows + 1, dtype=np.int64)
    for row in range(n_rows):
        length = indptr[row + 1] - indptr[row]
        pointers[row + 1] = pointers[row] + length * (length - 1) * (length - 2) // 6
    codes = np.empty(pointers[n_rows], dtype=np.int64)
    at = 0
    for row in range(n_rows):
        stop = indptr[row + 1]
        for h in range(indptr[row], stop):
            for i in range(h + 1, stop):
                for j in range(i + 1, stop):
                    codes[at] = (np.int64(indices[h]) * n_labels + indices[i]) * n_labels + indices[j]
                    at += 1
    return pointers, codes

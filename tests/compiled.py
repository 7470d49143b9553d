"""What the tests of the kernels share: their arguments, and a way in to those that only other kernels call."""

from __future__ import annotations

from functools import cache

import numba
import numpy as np
import scipy.sparse as sp


@cache
def from_python(kernel):
    """Compile the function of a kernel once more, with a way in from Python; uncompiled it is the function itself."""
    return numba.njit(kernel.py_func, error_model="numpy") if hasattr(kernel, "py_func") else kernel


def csr(dense):
    """Return the arrays of a CSR matrix, indices sorted."""
    matrix = sp.csr_array(np.asarray(dense))
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.int32)


def seeded(seed=1):
    """Return the state of a kernel's random numbers."""
    return np.array([seed], dtype=np.uint64)

"""Kernels that only other kernels call, made callable from Python."""

from __future__ import annotations

from functools import cache

import numba


@cache
def from_python(kernel):
    """Compile the function of a kernel once more, with a way in from Python; uncompiled it is the function itself."""
    return numba.njit(kernel.py_func, error_model="numpy") if hasattr(kernel, "py_func") else kernel

"""The one way in which kernels are compiled: cached on disk, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Ints", "jit", "jit_sums"]

F = TypeVar("F", bound=Callable[..., Any])
Ints = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


def jit(function: F) -> F:
    """Compile a function for arrays of any type that it is called with."""
    compiled: F = numba.njit(function, cache=True, nogil=True, error_model="numpy")
    return compiled


def jit_sums(function: F) -> F:
    """Compile a function whose sums may be added up in any order, several at a time; NaN must not occur."""
    compiled: F = numba.njit(function, cache=True, nogil=True, error_model="numpy", fastmath=True)
    return compiled

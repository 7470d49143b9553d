"""The one way in which kernels are compiled: cached on disk where there is a place, without the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba.core import event  # the only way that numba offers to hear of its compiling

__all__ = ["Floats", "Ints", "inner", "jit", "lean", "when_compiling"]

F = TypeVar("F", bound=Callable[..., Any])
Ints = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


def jit(function: F) -> F:
    """Compile a function for arrays of any type that it is called with.

    Never with `fastmath`: sums in another order, or fused with products, round otherwise on another CPU.
    """
    return _compiled(function)


def lean(function: F) -> F:
    """Compile a function that allocates nothing: its arrays need no counting of references, a third of the time.

    The default call is made of these, so that the first one ever does not take long.
    """
    return _compiled(function, _nrt=False)


def inner(function: F) -> F:
    """Compile a function that allocates nothing and that only other kernels call, never Python."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True)


def _compiled(function: F, **more: bool) -> F:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **more}
    compiled: F
    try:
        compiled = numba.njit(function, cache=True, **options)
    except RuntimeError:  # neither the package nor the user's cache can be written: compile in each process anew
        compiled = numba.njit(function, **options)
    return compiled


class _FirstCompilation(event.Listener):
    """Calls a function once, when the thread that made it compiles a kernel for the first time."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell: Callable[[], object] | None = tell
        self._owner = threading.get_ident()

    def on_start(self, event: Any) -> None:
        if self._tell is not None and threading.get_ident() == self._owner:
            tell, self._tell = self._tell, None
            tell()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def when_compiling(tell: Callable[[], object]) -> Iterator[None]:
    """Call `tell` if a kernel has to be compiled inside the block; those found in the cache on disk do not count."""
    with event.install_listener("numba:compile", _FirstCompilation(tell)):
        yield

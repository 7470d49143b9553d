"""The tests of the kernels, which also run uncompiled, with NUMBA_DISABLE_JIT=1, for coverage."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(autouse=True, scope="module")
def _wrap_around():
    """Let unsigned integers wrap around in silence where the kernels run as plain Python."""
    with np.errstate(over="ignore"):
        yield

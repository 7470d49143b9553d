"""Random integers: the same sequence on every machine, for one seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from evosplit._kernels._jit import Ints, inner, lean

__all__ = ["random_below", "random_bits", "shuffle"]


@inner
def random_bits(state: Ints) -> Any:
    """Draw 64 random bits (xorshift64*) from a state that is advanced in place."""
    bits = state[0]
    bits ^= bits >> np.uint64(12)
    bits ^= bits << np.uint64(25)
    bits ^= bits >> np.uint64(27)
    state[0] = bits
    return bits * np.uint64(2685821657736338717)


@inner
def random_below(state: Ints, bound: int) -> Any:
    """Draw an integer in [0, bound), bound < 2**32."""
    return np.int64(((random_bits(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@lean
def shuffle(values: Ints, state: Ints) -> None:
    """Put the values in random order, in place."""
    for i in range(len(values) - 1, 0, -1):
        other = random_below(state, i + 1)
        values[i], values[other] = values[other], values[i]

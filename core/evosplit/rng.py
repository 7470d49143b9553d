"""Random numbers that depend on the seed alone, on any machine and with any version of numpy."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Seed", "Stream"]

_MASK = (1 << 64) - 1
_HALF = (1 << 32) - 1

Seed = int | np.random.Generator | None


class Stream:
    """Random 64-bit integers (SplitMix64).

    Examples
    --------
    >>> Stream(0).draw()
    16294208416658607535
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    @classmethod
    def from_seed(cls, seed: Seed) -> Stream:
        """Start a stream from an integer of any size, from a numpy Generator, or from the system's entropy (None).

        Two raw words are drawn from a Generator: numpy guarantees the streams of its bit generators across versions,
        but not those of the methods built on them.

        Examples
        --------
        >>> Stream.from_seed(7).below(100), Stream.from_seed(7 + 2**64).below(100)
        (80, 18)
        """
        if seed is None:
            return cls(int.from_bytes(os.urandom(8), "little"))
        if isinstance(seed, np.random.Generator):
            high, low = (int(word) & _HALF for word in seed.bit_generator.random_raw(2))  # some have 32 bits only
            return cls(high << 32 | low)
        number = int(seed)
        whole = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)
        return cls(int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "little"))

    def draw(self) -> int:
        """Return the next integer."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        value = self._state
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        return value ^ (value >> 31)

    def below(self, bound: int) -> int:
        """Return an integer in [0, bound)."""
        return (self.draw() * bound) >> 64

    def permutation(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values in random order.

        Examples
        --------
        >>> Stream(0).permutation(np.array([10, 20, 30, 40])).tolist()
        [10, 40, 30, 20]
        """
        from evosplit._kernels.rng import shuffle

        order = np.arange(len(values))
        shuffle(order, self.state())
        return values[order]

    def state(self) -> npt.NDArray[np.uint64]:
        """Return the state of a generator of the kernels, never 0."""
        return np.array([self.draw() | 1], dtype=np.uint64)

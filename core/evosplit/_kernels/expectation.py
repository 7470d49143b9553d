"""What a random split gives on average: sums over the hypergeometric distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from evosplit._kernels._jit import Floats, Ints, inner, lean

__all__ = ["expected_deviation"]

_NEGLIGIBLE = 1e-20  # parts of the likeliest count's probability below which a tail is cut off


@inner
def _expected(free: Any, carriers: int, capacity: int, held: int, size: int, target: float) -> Any:
    """Expect |x/(size - x) - target| where x - held of the free carriers are among `capacity` of the free samples.

    The probabilities are found from the likeliest count outwards as ratios to it, with nothing but + - * / in a fixed
    order: they are the same on every machine.
    """
    lowest, highest = max(0, capacity + carriers - free), min(capacity, carriers)
    mode = min(max((capacity + 1) * (carriers + 1) // (free + 2), lowest), highest)
    x = held + mode
    mass, total = 1.0, abs(x / max(size - x, 1) - target)
    others = free - carriers - capacity
    probability = 1.0
    for taken in range(mode, highest):
        up = ((carriers - taken) * (capacity - taken)) / ((taken + 1) * (others + taken + 1))
        probability *= up
        if probability < _NEGLIGIBLE:
            break
        x = held + taken + 1
        mass += probability
        total += probability * abs(x / max(size - x, 1) - target)
    probability = 1.0
    for taken in range(mode, lowest, -1):
        down = (taken * (others + taken)) / ((carriers - taken + 1) * (capacity - taken + 1))
        probability *= down
        if probability < _NEGLIGIBLE:
            break
        x = held + taken - 1
        mass += probability
        total += probability * abs(x / max(size - x, 1) - target)
    return total / mass


@lean
def expected_deviation(totals: Ints, held: Ints, sizes: Ints, held_sizes: Ints, expected: Floats) -> None:
    """Expect, for each total, the mean over subsets of |x_j/(s_j - x_j) - total/(m - total)| in a random split.

    `held` (totals x k) of the samples counted and `held_sizes` (k) of all samples are already placed; the others are
    dealt out with equal chances. The result is written into `expected`.
    """
    k = len(sizes)
    m, free = np.int64(0), np.int64(0)  # of a type: literals would have `_expected` compiled once more
    for j in range(k):
        m += sizes[j]
        free += sizes[j] - held_sizes[j]
    for at in range(len(totals)):
        total = totals[at]
        expected[at] = 0.0
        if total == 0 or total == m:
            continue
        target = total / (m - total)
        carriers = total
        for j in range(k):
            carriers -= held[at, j]
        value = 0.0
        for j in range(k):
            capacity = sizes[j] - held_sizes[j]
            same = j > 0 and sizes[j] == sizes[j - 1] and capacity == sizes[j - 1] - held_sizes[j - 1]
            if not same or held[at, j] != held[at, j - 1]:
                value = _expected(free, carriers, capacity, held[at, j], sizes[j], target)
            expected[at] += value
        expected[at] /= k

"""What a random split gives on average: sums over the hypergeometric distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from evosplit._kernels._jit import Floats, Ints, inner, lean

__all__ = ["expected_deviation"]

_NEGLIGIBLE = 1e-20  # parts of the likeliest count's probability below which a tail is cut off
_NORMAL = 3_000.0  # standard deviation from which on counts are as good as normally distributed
_STEP = 1.0 / 64.0  # between the points at which that distribution is taken, in standard deviations
_FALL = 0.9998779371377774  # its density one step from the middle, exp(-_STEP**2 / 2), over that in the middle
_REACH = 9 * 64  # points on either side
_LARGE = 1 << 31  # samples from which on products of two numbers of them may overflow


@inner
def _expected_normal(mean: float, spread: float, size: int, target: float) -> Any:
    """Expect |x/(size - x) - target| where x is normally distributed, as a sum over points of even distance."""
    mass, total = 0.0, 0.0
    density, fall = 1.0, _FALL
    for at in range(_REACH):
        for side in range(2):
            if at > 0 or side == 0:
                x = min(max(mean + (_STEP * at if side == 0 else -_STEP * at) * spread, 0.0), size)
                mass += density
                total += density * abs(x / max(size - x, 1.0) - target)
        density *= fall
        fall *= _FALL * _FALL
    return total / mass


@inner
def _expected(free: Any, carriers: int, capacity: int, held: int, size: int, target: float) -> Any:
    """Expect |x/(size - x) - target| where x - held of the free carriers are among `capacity` of the free samples.

    The probabilities are found from the likeliest count outwards as ratios to it, with nothing but + - * / in a fixed
    order: they are the same on every machine.
    """
    lowest, highest = max(0, capacity + carriers - free), min(capacity, carriers)
    share = carriers / max(free, 1)
    spread = np.sqrt(max(0.0, capacity * share * (1.0 - share) * ((free - capacity) / max(free - 1.0, 1.0))))
    if spread > _NORMAL:
        return _expected_normal(held + capacity * share, spread, size, target)
    mode = (capacity + 1) * (carriers + 1) // (free + 2) if free < _LARGE else int(capacity * share)
    mode = min(max(mode, lowest), highest)
    x = held + mode
    mass, total = 1.0, abs(x / max(size - x, 1) - target)
    others = free - carriers - capacity
    probability = 1.0
    for taken in range(mode, highest):
        up = (float(carriers - taken) * (capacity - taken)) / (float(taken + 1) * (others + taken + 1))
        probability *= up
        if probability < _NEGLIGIBLE:
            break
        x = held + taken + 1
        mass += probability
        total += probability * abs(x / max(size - x, 1) - target)
    probability = 1.0
    for taken in range(mode, lowest, -1):
        down = (float(taken) * (others + taken)) / (float(carriers - taken + 1) * (capacity - taken + 1))
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

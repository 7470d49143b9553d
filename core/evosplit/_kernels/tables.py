"""Tables instead of units: deal out how many of each type go to each subset, however many there are of a type."""

from __future__ import annotations

from typing import Any

import numpy as np

from evosplit._kernels._jit import Floats, Ints, jit
from evosplit._kernels.rng import random_bits

__all__ = ["deal_at_random", "deal_by_needs", "deal_in_bulk", "rarest_labels", "share_out"]

ROUNDING = 1e-9  # below a whole number that counts as one
EXACT_SPREAD = 30.0  # standard deviation up to which a number is drawn from its exact distribution
NEGLIGIBLE = 1e-20  # parts of the likeliest number's probability below which a tail is cut off


@jit
def rarest_labels(indptr: Ints, indices: Ints, totals: Ints) -> Ints:
    """Return the rarest label of each row; every row has some."""
    rarest = np.empty(len(indptr) - 1, dtype=np.int64)
    for row in range(len(rarest)):
        rarest[row] = indices[indptr[row]]
        for at in range(indptr[row] + 1, indptr[row + 1]):
            if totals[indices[at]] < totals[rarest[row]]:
                rarest[row] = indices[at]
    return rarest


@jit
def deal_in_bulk(
    indptr: Ints,
    indices: Ints,
    totals: Ints,
    sizes: Ints,
    order: Ints,
    rarest: Ints,
    counts: Floats,
    table: Ints,
    needs: Floats,
    free: Ints,
    capacity: Ints,
) -> None:
    """Deal the units of each type in proportion to what the subsets still want of its rarest label, rounded down.

    A subset wants its share of each label (`totals`), less the samples with it that it has (`counts`, labels x k) or
    would have but for the rounding. What capacities prevent is then dealt in proportion to those that are left.
    `counts`, `table` (types x k), `free` and `capacity` change in place; of each type about k units stay free, and
    `needs` (types x k) is what each subset lacks of them. Every type has some label: "no label" is one.
    """
    k = len(sizes)
    m = float(sizes.sum())
    desire = np.empty(k)
    for kind in order:
        label = rarest[kind]
        whole = 0.0
        for j in range(k):
            desire[j] = max(0.0, sizes[j] / m * totals[label] - counts[label, j]) if capacity[j] > 0 else 0.0
            whole += desire[j]
        if whole <= 0.0:
            continue
        before = float(free[kind])
        for j in range(k):
            part = before * (desire[j] / whole)
            n = min(np.int64(part + ROUNDING), capacity[j], free[kind])
            table[kind, j] += n
            free[kind] -= n
            capacity[j] -= n
            needs[kind, j] = part - n
            for at in range(indptr[kind], indptr[kind + 1]):
                counts[indices[at], j] += part
    whole = float(capacity.sum())
    for j in range(k):
        desire[j] = capacity[j] / max(whole, 1.0)
    for kind in order:
        before = float(free[kind]) if free[kind] >= k else 0.0
        for j in range(k):
            n = min(np.int64(before * desire[j]), capacity[j], free[kind])
            table[kind, j] += n
            free[kind] -= n
            capacity[j] -= n


@jit
def deal_by_needs(order: Ints, needs: Floats, free: Ints, capacity: Ints, table: Ints) -> None:
    """Deal the free units of the types in this order, each to the subset whose needs so far are met least.

    So of types that follow one another the subsets together get what they need. `free`, `capacity` and `table` (types
    x k) change in place; no unit stays free.
    """
    k = len(capacity)
    lack = np.zeros(k)
    for kind in order:
        whole = 0.0
        for j in range(k):
            whole += max(0.0, needs[kind, j])
        for j in range(k):
            share = max(0.0, needs[kind, j]) / whole if whole > 0.0 else 1.0 / k
            lack[j] += free[kind] * share
        while free[kind] > 0:
            best = -1
            for j in range(k):
                if capacity[j] > 0 and (best < 0 or lack[j] > lack[best]):
                    best = j
            table[kind, best] += 1
            lack[best] -= 1.0
            capacity[best] -= 1
            free[kind] -= 1


@jit
def _ones(bits: Any) -> Any:
    """Count the bits that are set."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def _uniform(state: Ints) -> Any:
    """Draw a number in [0, 1)."""
    return np.float64(random_bits(state) >> np.uint64(11)) / 9007199254740992.0


@jit
def _rise(x: float, taken: float, wanted: float, whole: float) -> Any:
    """Return how much likelier x + 1 is than x (see `_drawn_from`)."""
    return (wanted - x) * (taken - x) / ((x + 1.0) * (whole - wanted - taken + x + 1.0))


@jit
def _drawn_from(taken: float, wanted: float, whole: float, state: Ints) -> Any:
    """Draw how many of `wanted` are among `taken` of a `whole` (hypergeometric), by + - * / and sqrt alone.

    Where many are likely, the normal distribution is near enough: that of how many of 1,024 random bits are set.
    """
    lowest, highest = max(0.0, taken + wanted - whole), min(taken, wanted)
    if lowest == highest:
        return lowest
    mean = taken * (wanted / whole)
    variance = mean * (1.0 - wanted / whole) * ((whole - taken) / max(whole - 1.0, 1.0))
    if variance > EXACT_SPREAD * EXACT_SPREAD:
        ones = 0
        for _ in range(16):
            ones += _ones(random_bits(state))
        away = (ones - 512 + _uniform(state) - 0.5) / 16.0
        return min(max(np.floor(mean + away * np.sqrt(variance) + 0.5), lowest), highest)
    # From the likeliest number outwards, probabilities are known as ratios to that one's: once to add them up, and
    # once more to find where the sum passes the draw.
    mode = min(max(np.floor((taken + 1.0) * ((wanted + 1.0) / (whole + 2.0))), lowest), highest)
    goal = np.inf
    for _ in range(2):
        passed, x, probability = 0.0, mode, 1.0
        while x <= highest and probability > NEGLIGIBLE:
            passed += probability
            if passed > goal:
                return x
            probability *= _rise(x, taken, wanted, whole)
            x += 1.0
        x, probability = mode - 1.0, 1.0
        while x >= lowest:
            probability /= _rise(x, taken, wanted, whole)
            if probability < NEGLIGIBLE:
                break
            passed += probability
            if passed > goal:
                return x
            x -= 1.0
        goal = _uniform(state) * passed
    return mode


@jit
def deal_at_random(free: Ints, capacity: Ints, table: Ints, state: Ints) -> None:
    """Deal all units out with equal chances, as many to each subset as it has capacity; adds to `table` (types x k)."""
    k = len(capacity)
    left = capacity.copy()
    for kind in range(len(free)):
        n, whole = free[kind], left.sum()
        for j in range(k):
            taken = np.int64(_drawn_from(float(n), float(left[j]), float(whole), state))
            whole -= left[j]
            n -= taken
            left[j] -= taken
            table[kind, j] += taken


@jit
def share_out(kind_of_row: Ints, copies: Ints, table: Ints, shared: Ints) -> None:
    """Let the rows of each kind share what the kind has in each subset (`table`), in proportion to their copies.

    `table` sums to the copies of its rows and is used up; what each row gets is written into `shared` (rows x k).
    """
    k = table.shape[1]
    part = np.empty(k)
    for row in range(len(kind_of_row)):
        kind, left = kind_of_row[row], copies[row]
        share = left / max(float(table[kind].sum()), 1.0)
        for j in range(k):
            part[j] = share * table[kind, j]
            n = min(np.int64(part[j]), table[kind, j], left)
            shared[row, j] = n
            left -= n
        while left > 0:
            best = -1
            for j in range(k):
                if shared[row, j] < table[kind, j] and (
                    best < 0 or part[j] - shared[row, j] > part[best] - shared[row, best]
                ):
                    best = j
            shared[row, best] += 1
            left -= 1
        for j in range(k):
            table[kind, j] -= shared[row, j]

"""Counting kernels: distinct rows, label pairs, sums per subset, the floors of the measures."""

from __future__ import annotations

import numpy as np

from evosplit._kernels._jit import Floats, Ints, jit


@jit
def _mix(value: np.uint64) -> np.uint64:
    # The finaliser of splitmix64: every input bit reaches every output bit.
    value = np.uint64(value)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@jit
def distinct_rows(indptr: Ints, indices: Ints, data: Ints) -> tuple[Ints, Ints]:
    """Find the distinct rows of a CSR matrix by first occurrence: (first row of each, number of each row)."""
    n_rows = len(indptr) - 1
    capacity = 16
    while capacity < 2 * n_rows:
        capacity *= 2
    table = np.full(capacity, -1, dtype=np.int32)
    mask = np.uint64(capacity - 1)
    first_row = np.empty(n_rows, dtype=np.int64)
    number = np.empty(n_rows, dtype=np.int32)
    found = 0
    for row in range(n_rows):
        start, stop = indptr[row], indptr[row + 1]
        code = np.uint64(stop - start)
        for at in range(start, stop):
            code = _mix(code ^ ((np.uint64(indices[at]) << np.uint64(32)) | np.uint64(data[at])))
        slot = code & mask
        while True:
            candidate = table[slot]
            if candidate < 0:
                table[slot] = found
                first_row[found] = row
                number[row] = found
                found += 1
                break
            other = indptr[first_row[candidate]]
            equal = indptr[first_row[candidate] + 1] - other == stop - start
            if equal:
                for offset in range(stop - start):
                    if (
                        indices[start + offset] != indices[other + offset]
                        or data[start + offset] != data[other + offset]
                    ):
                        equal = False
                        break
            if equal:
                number[row] = candidate
                break
            slot = (slot + np.uint64(1)) & mask
    return first_row[:found].copy(), number


@jit
def pair_codes(indptr: Ints, indices: Ints, n_labels: int, kept: int) -> tuple[Ints, Ints]:
    """List the label pairs (i < j) of each row as codes i * n_labels + j: (CSR row pointers, codes).

    Of 1,024 pairs, `kept` are listed, chosen by a hash of their codes.
    """
    n_rows = len(indptr) - 1
    pointers = np.zeros(n_rows + 1, dtype=np.int64)
    codes = np.empty(0, dtype=np.int64)
    for fill in range(2):
        at = 0
        for row in range(n_rows):
            for i in range(indptr[row], indptr[row + 1]):
                for j in range(i + 1, indptr[row + 1]):
                    code = np.int64(indices[i]) * n_labels + indices[j]
                    if kept < 1024 and np.int64(_mix(np.uint64(code)) & np.uint64(1023)) >= kept:
                        continue
                    if fill == 1:
                        codes[at] = code
                    at += 1
            pointers[row + 1] = at
        if fill == 0:
            codes = np.empty(at, dtype=np.int64)
    return pointers, codes


@jit
def _grow(keys: Ints, values: Ints) -> tuple[Ints, Ints]:
    bigger = np.full(4 * len(keys), -1, dtype=np.int64)
    moved = np.zeros(4 * len(keys), dtype=np.int32)
    mask = np.uint64(len(bigger) - 1)
    for old in range(len(keys)):
        if keys[old] >= 0:
            slot = _mix(np.uint64(keys[old])) & mask
            while bigger[slot] >= 0:
                slot = (slot + np.uint64(1)) & mask
            bigger[slot] = keys[old]
            moved[slot] = values[old]
    return bigger, moved


def unique_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Return np.unique(codes, return_inverse=True) for non-negative codes; linear time, by hashing."""
    unique, inverse = _number_codes(codes)
    order = np.argsort(unique)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return unique[order], rank[inverse]


@jit
def _number_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Find the distinct codes by first occurrence: (distinct codes, number of each code)."""
    keys = np.full(1024, -1, dtype=np.int64)
    numbers = np.zeros(1024, dtype=np.int32)
    inverse = np.empty(len(codes), dtype=np.int32)
    found = 0
    for at in range(len(codes)):
        mask = np.uint64(len(keys) - 1)
        slot = _mix(np.uint64(codes[at])) & mask
        while keys[slot] >= 0 and keys[slot] != codes[at]:
            slot = (slot + np.uint64(1)) & mask
        if keys[slot] < 0:
            keys[slot] = codes[at]
            numbers[slot] = found
            inverse[at] = found
            found += 1
            if 2 * found > len(keys):
                keys, numbers = _grow(keys, numbers)
        else:
            inverse[at] = numbers[slot]
    unique = np.empty(found, dtype=np.int64)
    for at in range(len(keys)):
        if keys[at] >= 0:
            unique[numbers[at]] = keys[at]
    return unique, inverse


@jit
def pair_totals(indptr: Ints, indices: Ints, n_labels: int, weights: Ints) -> tuple[Ints, Ints]:
    """Sum `weights` (rows x k) over the rows that carry each label pair: (pair codes, sums of each pair).

    Pairs are counted while they are enumerated: memory grows with the distinct pairs alone.
    """
    n_rows, k = weights.shape
    keys = np.full(1024, -1, dtype=np.int64)
    numbers = np.zeros(1024, dtype=np.int32)
    sums = np.zeros((256, k), dtype=np.int64)
    found = 0
    for row in range(n_rows):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(i + 1, indptr[row + 1]):
                code = np.int64(indices[i]) * n_labels + indices[j]
                mask = np.uint64(len(keys) - 1)
                slot = _mix(np.uint64(code)) & mask
                while keys[slot] >= 0 and keys[slot] != code:
                    slot = (slot + np.uint64(1)) & mask
                if keys[slot] < 0:
                    keys[slot] = code
                    numbers[slot] = found
                    found += 1
                    if found > len(sums):
                        more = np.zeros((2 * len(sums), k), dtype=np.int64)
                        more[: len(sums)] = sums
                        sums = more
                    number = found - 1
                    if 2 * found > len(keys):
                        keys, numbers = _grow(keys, numbers)
                else:
                    number = numbers[slot]
                for column in range(k):
                    sums[number, column] += weights[row, column]
    unique = np.empty(found, dtype=np.int64)
    for at in range(len(keys)):
        if keys[at] >= 0:
            unique[numbers[at]] = keys[at]
    return unique, sums[:found].copy()


def count_rows(group_of_row: Ints, subset_of_row: Ints, n_groups: int, k: int) -> Ints:
    """Cross-tabulate two codes per row: how many rows of each group lie in each subset."""
    cells = np.multiply(group_of_row, k, dtype=np.int64)
    cells += subset_of_row
    return np.bincount(cells, minlength=n_groups * k).reshape(n_groups, k)


@jit
def _odds(part: float, whole: float) -> float:
    # A zero denominator counts as 1.
    return part / max(whole - part, 1.0)


@jit
def _deviation(part: int, whole: int, target: float) -> float:
    return abs(_odds(part, whole) - target)


@jit
def _envelope(size: int, below: int, target: float) -> tuple[int, int, float, float]:
    """Find the lower convex envelope of |x/(size - x) - target| over the integers 0 ... size.

    The term is concave up to its target, convex above it, and bends once more at x = size, where a zero
    denominator counts as 1. So the envelope is a chord from 0 to `reach`, the term itself up to `bend`, and a
    chord from there to `size`: (reach, bend, slope of the first chord, slope of the last).
    """
    if size == 0:
        return 0, 0, 0.0, 0.0
    start = _deviation(0, size, target)
    reach, slope = size, (_deviation(size, size, target) - start) / size
    for x in range(max(below, 1), min(below + 2, size)):
        candidate = (_deviation(x, size, target) - start) / x
        if candidate < slope:
            reach, slope = x, candidate
    bend, last = size, np.inf
    for x in range(max(reach, size - 2), size):
        candidate = (_deviation(size, size, target) - _deviation(x, size, target)) / (size - x)
        if bend == size or candidate > last:
            bend, last = x, candidate
    return reach, bend, slope, last


@jit
def _step(x: int, size: int, target: float, reach: int, bend: int, first: float, last: float) -> float:
    # How much the envelope rises from x to x + 1.
    if x < reach:
        return first
    if x >= bend:
        return last
    return _deviation(x + 1, size, target) - _deviation(x, size, target)


@jit
def odds_bound(totals: Ints, sizes: Ints) -> Floats:
    """Bound from below, for each total, the sum over subsets of |x_j/(s_j - x_j) - total/(m - total)|.

    The integers x_j sum to the total, and 0 <= x_j <= s_j. Replacing each term by its lower convex envelope
    never raises the sum and makes the minimum easy to find: exchange unit steps while that helps.
    """
    k = len(sizes)
    m = sizes.sum()
    bounds = np.zeros(len(totals))
    reach, bend, taken = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    first, last = np.empty(k), np.empty(k)
    for at in range(len(totals)):
        total = totals[at]
        if total == 0 or total == m:
            continue
        target = _odds(total, m)
        for j in range(k):
            below = int(np.floor(total * sizes[j] / m + 1e-9))
            reach[j], bend[j], first[j], last[j] = _envelope(sizes[j], below, target)
            taken[j] = reach[j]
        missing = total - taken.sum()
        while True:
            cheapest, up = -1, np.inf
            dearest, down = -1, -np.inf
            for j in range(k):
                if taken[j] < sizes[j]:
                    rise = _step(taken[j], sizes[j], target, reach[j], bend[j], first[j], last[j])
                    if rise < up:
                        cheapest, up = j, rise
                if taken[j] > 0:
                    fall = _step(taken[j] - 1, sizes[j], target, reach[j], bend[j], first[j], last[j])
                    if fall > down:
                        dearest, down = j, fall
            if missing > 0:
                taken[cheapest] += 1
                missing -= 1
            elif missing < 0:
                taken[dearest] -= 1
                missing += 1
            elif up < down and cheapest != dearest:
                taken[cheapest] += 1
                taken[dearest] -= 1
            else:
                break
        for j in range(k):
            if taken[j] <= reach[j]:
                bounds[at] += _deviation(reach[j], sizes[j], target) - first[j] * (reach[j] - taken[j])
            elif taken[j] <= bend[j]:
                bounds[at] += _deviation(taken[j], sizes[j], target)
            else:
                bounds[at] += _deviation(sizes[j], sizes[j], target) - last[j] * (sizes[j] - taken[j])
    return bounds


@jit
def column_hashes(indptr: Ints, indices: Ints, data: Ints, n_columns: int) -> Ints:
    """Hash the content of each column (which rows hold what), whatever the order of the columns."""
    hashes = np.zeros(n_columns, dtype=np.uint64)
    for row in range(len(indptr) - 1):
        for at in range(indptr[row], indptr[row + 1]):
            entry = (np.uint64(row) << np.uint64(32)) | np.uint64(data[at])
            hashes[indices[at]] += _mix(entry + np.uint64(0x9E3779B97F4A7C15))
    return hashes


@jit
def sum_features(indptr: Ints, indices: Ints, data: Ints, copies: Ints, n_columns: int) -> Ints:
    """Sum the features of `copies` (rows x k) units of each row in each subset: columns x k."""
    k = copies.shape[1]
    table = np.zeros((n_columns, k), dtype=np.int64)
    for row in range(len(indptr) - 1):
        for j in range(k):
            n = copies[row, j]
            if n:
                for at in range(indptr[row], indptr[row + 1]):
                    table[indices[at], j] += n * data[at]
    return table

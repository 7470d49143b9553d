"""Counting: distinct rows, label pairs, sums per subset, the lower bounds of the measures.

What numpy and scipy do as fast is left to them: a kernel takes longer to compile than most sets take to count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from evosplit._kernels._jit import Floats, Ints, lean

__all__ = [
    "column_hashes",
    "count_rows",
    "distinct_rows",
    "odds_bound",
    "pair_codes",
    "pair_totals",
    "sum_features",
    "unique_codes",
]

PARTS = 1024  # in which a sample of the pairs is measured
CHUNK = 1 << 22  # label pairs that are counted at a time


def _mixed(values: Ints) -> Ints:
    """Apply the finaliser of splitmix64, in place: every bit that goes in reaches every bit that comes out."""
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def distinct_rows(indptr: Ints, indices: Ints, data: Ints) -> tuple[Ints, Ints]:
    """Find the distinct rows of a CSR matrix by first occurrence: (first row of each, number of each row).

    The indices of a row are sorted. Rows are compared by hashes, and those that share one entry by entry.
    """
    lengths = np.diff(indptr)
    salt = 0
    while True:
        hashes = _row_hashes(indptr, indices, data, salt)
        _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
        twin = first[number]  # for each row the first one with its hash
        same = lengths == lengths[twin]
        if same.all():
            shift = np.repeat(indptr[:-1] - indptr[twin], lengths)
            twins = np.arange(len(indices)) - shift
            if (indices == indices[twins]).all() and (data == data[twins]).all():
                break
        salt += 1
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return first[order], rank[number]


def _row_hashes(indptr: Ints, indices: Ints, data: Ints, salt: int) -> Ints:
    """Add up the hashes of the entries of each row."""
    entries = indices.astype(np.uint64)
    entries <<= np.uint64(32)
    entries |= data.astype(np.uint64)
    entries += np.uint64(0x9E3779B97F4A7C15 + salt)
    hashes = np.zeros(len(indptr) - 1, dtype=np.uint64)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        hashes[filled] = np.add.reduceat(_mixed(entries), indptr[filled])
    return hashes


def column_hashes(indptr: Ints, indices: Ints, data: Ints, n_columns: int) -> Ints:
    """Hash the content of each column (which rows hold what), whatever the order of the columns."""
    entries = np.repeat(np.arange(len(indptr) - 1, dtype=np.uint64), np.diff(indptr))
    entries <<= np.uint64(32)
    entries |= data.astype(np.uint64)
    entries += np.uint64(0x9E3779B97F4A7C15)
    hashes = np.zeros(n_columns, dtype=np.uint64)
    np.add.at(hashes, indices, _mixed(entries))
    return hashes


def pair_codes(indptr: Ints, indices: Ints, n_labels: int, kept: int) -> tuple[Ints, Ints]:
    """List the label pairs (i < j) of each row as codes i * n_labels + j: (CSR row pointers, codes).

    Of 1,024 pairs, `kept` are listed, chosen by a hash of their codes.
    """
    lengths = np.diff(indptr).astype(np.int64)
    pointers = np.concatenate(([0], np.cumsum(lengths * (lengths - 1) // 2)))
    if kept < PARTS:
        _list_pairs(indptr, indices, n_labels, kept, pointers, np.empty(0, dtype=np.int64))
    codes = np.empty(pointers[-1], dtype=np.int64)
    _list_pairs(indptr, indices, n_labels, kept, pointers, codes)
    return pointers, codes


@lean
def _list_pairs(indptr: Ints, indices: Ints, n_labels: int, kept: int, pointers: Ints, codes: Ints) -> None:
    """Write the codes of the pairs that are kept, if there are elements for them, and where each row ends."""
    at = 0
    for row in range(len(indptr) - 1):
        for i in range(indptr[row], indptr[row + 1]):
            for j in range(i + 1, indptr[row + 1]):
                code = np.int64(indices[i]) * n_labels + indices[j]
                if kept < PARTS:
                    value = np.uint64(code)  # the finaliser of splitmix64, as in `_mixed`
                    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    if np.int64((value ^ (value >> np.uint64(31))) & np.uint64(PARTS - 1)) >= kept:
                        continue
                if len(codes):
                    codes[at] = code
                at += 1
        pointers[row + 1] = at


def unique_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Return np.unique(codes, return_inverse=True) for non-negative codes; in linear time where they are dense."""
    top = int(codes.max(initial=-1)) + 1
    if top > 16 * len(codes) + 65_536:
        unique, inverse = np.unique(codes, return_inverse=True)
        return unique, inverse.astype(np.int32)
    occurs = np.zeros(top, dtype=np.bool_)
    occurs[codes] = True
    unique = np.flatnonzero(occurs)
    rank = np.empty(top, dtype=np.int32)
    rank[unique] = np.arange(len(unique), dtype=np.int32)
    return unique, rank[codes]


def pair_totals(indptr: Ints, indices: Ints, n_labels: int, weights: Ints) -> tuple[Ints, Ints]:
    """Sum `weights` (rows x k) over the rows that carry each label pair: (pair codes in order, sums of each pair).

    Rows are taken a few at a time: memory grows with the distinct pairs alone.
    """
    lengths = np.diff(indptr).astype(np.int64)
    ends = np.cumsum(lengths * (lengths - 1) // 2)
    codes, sums = np.zeros(0, dtype=np.int64), np.zeros((0, weights.shape[1]), dtype=np.int64)
    start = 0
    while start < len(lengths):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        pointers, listed = pair_codes(indptr[start : stop + 1], indices, n_labels, PARTS)
        found, number = unique_codes(listed)
        carried = sp.csr_array(
            (np.ones(len(number), dtype=np.int64), number, pointers), shape=(stop - start, len(found))
        )
        more = np.asarray(carried.T @ weights[start:stop])
        if start == 0:
            codes, sums = found, more
        else:
            codes, place = np.unique(np.concatenate((codes, found)), return_inverse=True)
            added = np.zeros((len(codes), weights.shape[1]), dtype=np.int64)
            added[place[: len(sums)]] = sums
            added[place[len(sums) :]] += more
            sums = added
        start = stop
    return codes, sums


def count_rows(group_of_row: Ints, subset_of_row: Ints, n_groups: int, k: int) -> Ints:
    """Cross-tabulate two codes per row: how many rows of each group lie in each subset."""
    cells = np.multiply(group_of_row, k, dtype=np.int64)
    cells += subset_of_row
    return np.bincount(cells, minlength=n_groups * k).reshape(n_groups, k)


def odds_bound(totals: Ints, sizes: Ints) -> Floats:
    """Bound from below, for each total, the sum over subsets of |x_j/(s_j - x_j) - total/(m - total)|.

    The integers x_j sum to the total, and 0 <= x_j <= s_j. Replacing each term by its lower convex envelope
    never raises the sum and makes the minimum easy to find: exchange unit steps while that helps.
    """
    m = int(sizes.sum())
    rows = np.flatnonzero((totals > 0) & (totals < m))
    envelope = Envelope.of(totals[rows, None], m, sizes)
    taken = envelope.reach.copy()
    missing = totals[rows] - taken.sum(axis=1)
    active = np.arange(len(rows))
    while len(active):
        now, lack = taken[active], missing[active]
        rises = np.where(now < sizes, envelope.rise(active, now), np.inf)
        falls = np.where(now > 0, envelope.rise(active, now - 1), -np.inf)
        cheapest, dearest = rises.argmin(axis=1), falls.argmax(axis=1)
        helps = (lack == 0) & (rises.min(axis=1) < falls.max(axis=1)) & (cheapest != dearest)
        add, drop = (lack > 0) | helps, (lack < 0) | helps
        taken[active[add], cheapest[add]] += 1
        taken[active[drop], dearest[drop]] -= 1
        missing[active] += drop.astype(np.int64) - add
        active = active[add | drop]
    bounds = np.zeros(len(totals))
    for term in envelope.values(taken).T:  # added up in one order: bounds decide what `cover` asks for
        bounds[rows] += term
    return bounds


@dataclass(frozen=True, eq=False)
class Envelope:
    """The lower convex envelopes of |x/(size - x) - target| over the integers 0 ... size (targets x sizes).

    The term is concave up to its target, convex above it, and bends once more at x = size, where a zero
    denominator counts as 1. So the envelope is a chord from 0 to `reach`, the term itself up to `bend`, and a
    chord from there to `size`; `first` and `last` are the slopes of the chords.
    """

    sizes: Ints
    target: Floats
    reach: Ints
    bend: Ints
    first: Floats
    last: Floats

    @classmethod
    def of(cls, total: Ints, m: int, sizes: Ints) -> Envelope:
        """Find where the chords touch: next to the target, and next to the end."""
        target = total / (m - total)
        whole = np.maximum(sizes, 1)
        below = np.floor(total.astype(np.float64) * sizes / m + 1e-9).astype(np.int64)
        start, end = deviation(0, sizes, target), deviation(sizes, sizes, target)
        reach, first = np.broadcast_to(sizes, below.shape), np.where(sizes > 0, (end - start) / whole, 0.0)
        for x in (below, below + 1):
            slope = (deviation(x, sizes, target) - start) / np.maximum(x, 1)
            better = (x > 0) & (x < sizes) & (slope < first)
            reach, first = np.where(better, x, reach), np.where(better, slope, first)
        bend, last = np.broadcast_to(sizes, below.shape), np.full(below.shape, np.inf)
        for back in (2, 1):
            x = sizes - back
            slope = (end - deviation(x, sizes, target)) / back
            better = (x >= reach) & (x >= 0) & ((bend == sizes) | (slope > last))
            bend, last = np.where(better, x, bend), np.where(better, slope, last)
        return cls(sizes, target, reach, bend, first, last)

    def rise(self, rows: Ints, x: Ints) -> Floats:
        """Return how much the envelopes of some rows rise from x to x + 1."""
        target = self.target[rows]
        own = deviation(x + 1, self.sizes, target) - deviation(x, self.sizes, target)
        return np.where(x < self.reach[rows], self.first[rows], np.where(x >= self.bend[rows], self.last[rows], own))

    def values(self, x: Ints) -> Floats:
        """Return the envelopes at x."""
        at_reach, at_end = (deviation(at, self.sizes, self.target) for at in (self.reach, self.sizes))
        last = np.where(x > self.bend, self.last, 0.0)  # where there is no last chord, its slope is infinite
        return np.where(
            x <= self.reach,
            at_reach - self.first * (self.reach - x),
            np.where(x <= self.bend, deviation(x, self.sizes, self.target), at_end - last * (self.sizes - x)),
        )


def deviation(part: Ints | int, whole: Ints, target: Floats) -> Floats:
    """Return how far the odds of a part are from a target; a zero denominator counts as 1."""
    return np.abs(part / np.maximum(whole - part, 1) - target)


def sum_features(rows: sp.csr_array, copies: Ints) -> Ints:
    """Sum the features of `copies` (rows x k) units of each row in each subset: columns x k."""
    table = np.zeros((rows.shape[1], copies.shape[1]), dtype=np.int64)
    _sum_features(rows.indptr, rows.indices, rows.data, copies, table)
    return table


@lean
def _sum_features(indptr: Ints, indices: Ints, data: Ints, copies: Ints, table: Ints) -> None:
    """Add the features to the table; scipy's product would touch every subset, where most rows lie in one."""
    for row in range(len(indptr) - 1):
        for j in range(copies.shape[1]):
            n = copies[row, j]
            if n:
                for at in range(indptr[row], indptr[row + 1]):
                    table[indices[at], j] += n * data[at]

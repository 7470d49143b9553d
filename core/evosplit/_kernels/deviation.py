"""What a split scores: deviations of odds, added up in one order, so that every machine finds the same."""

from __future__ import annotations

from evosplit._kernels._jit import Floats, Ints, lean

__all__ = ["block_deviations"]


@lean
def block_deviations(tables: Ints, spans: Ints, weights: Floats, sizes: Ints, totals: Ints, values: Floats) -> None:
    """Write into `values` the weighted mean over columns and subsets of |x/(t - x) - X/(T - X)| (splits x blocks).

    `tables` (splits x columns x k) has the counts x, which sum to X over the subsets; `sizes` (splits x k) the totals t
    of each subset, which sum to T. A row of `spans` is a block: its first column, its end, and 1 where its own columns
    sum to the totals. A column with X = T deviates nowhere. `totals` (k) is capacity to work in.
    """
    n, _, k = tables.shape
    for split in range(n):
        for block in range(len(spans)):
            start, stop = spans[block, 0], spans[block, 1]
            for j in range(k):
                totals[j] = 0 if spans[block, 2] else sizes[split, j]
            if spans[block, 2]:
                for column in range(start, stop):
                    for j in range(k):
                        totals[j] += tables[split, column, j]
            grand_total = 0
            for j in range(k):
                grand_total += totals[j]
            value = whole = 0.0
            for column in range(start, stop):
                whole += weights[column]
                total = 0
                for j in range(k):
                    total += tables[split, column, j]
                if total == grand_total:
                    continue
                odds = total / max(grand_total - total, 1)
                away = 0.0
                for j in range(k):
                    x = tables[split, column, j]
                    away += abs(x / max(totals[j] - x, 1) - odds)
                value += weights[column] * away
            values[split, block] = value / (whole * k) if stop > start else 0.0

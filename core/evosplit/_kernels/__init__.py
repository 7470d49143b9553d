"""Compiled loops: arrays in, arrays out; no validation, no global state.

Importing this package imports numba, so callers do it inside the function that needs a kernel.
"""

from evosplit._kernels._jit import when_compiling
from evosplit._kernels.counting import (
    column_hashes,
    count_rows,
    distinct_rows,
    odds_bound,
    pair_codes,
    pair_totals,
    sum_features,
    unique_codes,
)

__all__ = [
    "column_hashes",
    "count_rows",
    "distinct_rows",
    "odds_bound",
    "pair_codes",
    "pair_totals",
    "sum_features",
    "unique_codes",
    "when_compiling",
]

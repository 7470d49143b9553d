"""Label triplets: the third order of what LD measures for labels and LPD for label pairs.

The paper names triplets as future work for a many-objective algorithm. The measure is defined as that of the pairs is:
the odds of each triplet of labels that occurs together, over all occurrences of triplets (Eq. 2 on triplets).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.counts import as_label_counts
from evosplit.errors import EvoSplitError
from evosplit.measures import odds_deviation

__all__ = ["triplet_distribution", "triplet_features"]

MAX_TRIPLET_ENTRIES = 400_000_000


def triplet_features(rows: sp.csr_array) -> sp.csr_array:
    """Return which label triplets each row of counts carries: presence (CSR, rows x the distinct triplets that occur).

    The columns are ordered by their labels; memory grows with the triplets that occur, never with q cubed.

    Examples
    --------
    >>> triplet_features(sp.csr_array([[1, 2, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]])).toarray().tolist()
    [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
    """
    from evosplit._kernels.counting import unique_codes
    from evosplit._kernels.triplets import triplet_codes

    lengths = np.diff(rows.indptr).astype(np.int64)
    entries = int((lengths * (lengths - 1) * (lengths - 2) // 6).sum())
    if entries > MAX_TRIPLET_ENTRIES:
        raise EvoSplitError(
            f"the distinct label sets hold {entries:,} label triplets, more than {MAX_TRIPLET_ENTRIES:,} fit in "
            "memory; split with objectives=('instances', 'pairs'), or drop the most frequent labels"
        )
    indptr, codes = triplet_codes(rows.indptr, rows.indices, rows.shape[1])
    distinct, columns = unique_codes(codes)
    presence = np.ones(len(columns), dtype=np.int32)
    return sp.csr_array((presence, columns, indptr), shape=(rows.shape[0], len(distinct)))


def triplet_distribution(counts: Any, assignment: npt.ArrayLike) -> float:
    """Measure how unevenly label triplets are spread over the subsets; 0 is perfect.

    Parameters
    ----------
    counts
        A LabelCounts, or anything that its constructor takes.
    assignment
        For each sample the number of its subset (0 ... k - 1).

    Examples
    --------
    >>> counts = [[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 1]]
    >>> triplet_distribution(counts, [0, 1, 0, 1]), triplet_distribution(counts, [0, 0, 1, 1])
    (0.0, 1.0)
    """
    counts = as_label_counts(counts)
    subsets = np.asarray(assignment)
    if subsets.shape != (counts.n_samples,) or subsets.dtype.kind not in "iu" or subsets.min() < 0:
        raise EvoSplitError(
            f"assignment has shape {subsets.shape} and dtype {subsets.dtype} for {counts.n_samples} samples; "
            "pass one subset number (0 ... k - 1) per sample"
        )
    samples = np.arange(counts.n_samples)
    membership = sp.csr_array((np.ones(len(samples), dtype=np.int64), (subsets, samples)))
    table = (membership @ triplet_features(counts.matrix)).toarray().T
    return float(odds_deviation(table, table.sum(axis=0)).mean()) if table.size else 0.0

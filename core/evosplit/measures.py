r"""How alike the subsets of a split are: the measures of the literature, each beside its equation.

Notation: D the data set of m samples, S_j its subsets (j = 1 ... k), q labels. Every distribution measure
compares the odds of a label in a subset with its odds in the whole data set, averaged over labels and
subsets:

.. math:: \frac{1}{qk} \sum_{i=1}^{q} \sum_{j=1}^{k}
          \left| \frac{x_{ij}}{T_j - x_{ij}} - \frac{X_i}{T - X_i} \right|

=================  =====================================  ===============================
measure            x_ij                                   T_j
=================  =====================================  ===============================
ld (Eq. 1)         samples of S_j with label i            samples in S_j
ld_occurrences     occurrences of label i in S_j          occurrences of all labels in S_j
(LD', Eq. 2)
lpd (Eq. 3)        samples of S_j with label pair i       samples in S_j
lpd_occurrences    samples of S_j with label pair i       occurrences of all pairs in S_j
=================  =====================================  ===============================

The paper's tables report the two occurrence forms. Averages include labels that never occur, as 0; pairs are
those that occur somewhere in D. A label (or pair) that fills the whole data set, T = X_i, deviates by 0; where only
the denominator of a subset is zero, it counts as 1. So no measure is NaN or infinite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.counts import LabelCounts, as_label_counts
from evosplit.errors import EvoSplitError
from evosplit.ratios import resolve_subsets

__all__ = [
    "Measures",
    "SubsetTables",
    "expected_deviation",
    "flz_bound",
    "logarithm",
    "measure",
    "measures_of",
    "odds_bound",
    "odds_bounds",
    "odds_deviation",
    "ordered_sum",
    "rows_in_subsets",
    "subset_tables",
    "triplet_distribution",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Measures:
    """Every measure of one split; smaller is better, 0 is perfect (or the lower bound beside it).

    Attributes
    ----------
    ld, ld_occurrences
        Label distribution over samples (Eq. 1) and over occurrences (LD', Eq. 2).
    lpd, lpd_occurrences
        Label pair distribution over samples (Eq. 3) and over occurrences (what the paper's tables report).
    ed
        Examples distribution (Eq. 4): mean absolute difference between the sizes and the sizes asked for.
    fz, flz
        Subsets that lack some label; label-subset combinations without any sample.
    flz_bound
        A lower bound of `flz`, each label on its own: one with fewer samples than subsets is missing somewhere.
    rld
        Mean of |d - p| / d over labels and subsets, d and p the share of samples with the label in D and S_j.
    dcp
        Mean over labels of the largest excess of a subset's share of the label over its share of the samples.
    ld_bound, lpd_bound
        Rigorous lower bounds of `ld` and `lpd` at these sizes: each label or pair split best on its own.
    """

    ld: float
    ld_occurrences: float
    lpd: float
    lpd_occurrences: float
    ed: float
    fz: int
    flz: int
    flz_bound: int
    rld: float
    dcp: float
    ld_bound: float
    lpd_bound: float

    def to_dict(self) -> dict[str, float]:
        """Return the measures as a plain dictionary."""
        return asdict(self)


@dataclass(frozen=True)
class SubsetTables:
    """The counts of samples, labels and pairs in each subset, from which all measures are computed.

    Attributes
    ----------
    sizes
        Samples in each subset (k).
    samples, instances
        Samples with each label, occurrences of each label, in each subset (q x k).
    pairs
        Samples with each label pair in each subset (pairs x k).
    pair_labels
        The two label indices of each pair (pairs x 2), ordered.
    unlabelled
        Samples without any label in each subset (k).
    """

    sizes: Ints
    samples: Ints
    instances: Ints
    pairs: Ints
    pair_labels: npt.NDArray[np.int32]
    unlabelled: Ints

    @property
    def ld_terms(self) -> Floats:
        """Deviation of each label in each subset, Eq. 1 (q x k)."""
        return odds_deviation(self.samples, self.sizes)

    @property
    def ld_occurrence_terms(self) -> Floats:
        """Deviation of each label in each subset, Eq. 2 (q x k)."""
        return odds_deviation(self.instances, self.instances.sum(axis=0))

    @property
    def lpd_terms(self) -> Floats:
        """Deviation of each label pair in each subset, Eq. 3 (pairs x k)."""
        return odds_deviation(self.pairs, self.sizes)

    @property
    def lpd_occurrence_terms(self) -> Floats:
        """Deviation of each label pair in each subset, Eq. 2 on pairs (pairs x k)."""
        return odds_deviation(self.pairs, self.pairs.sum(axis=0))


def measure(
    counts: Any,
    assignment: npt.ArrayLike,
    ratios: Mapping[str, float] | Sequence[float] | None = None,
) -> Measures:
    """Measure any split, also one made elsewhere.

    Parameters
    ----------
    counts
        A LabelCounts, or anything that its constructor takes.
    assignment
        For each sample the number of its subset (0 ... k - 1); where rows stand for several samples, how many of them
        are in each subset (rows x k).
    ratios
        What the subsets were meant to hold, for `ed`; by default the sizes as they are.

    Examples
    --------
    >>> round(measure([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 1, 0, 1]).ld, 3)
    0.0
    >>> measure([[1, 0], [1, 0], [0, 1], [0, 1]], [0, 0, 1, 1]).flz
    2
    >>> measure(LabelCounts([[1], [0]], copies=[20, 30]), [[10, 10], [20, 10]]).ld
    0.25
    """
    counts = as_label_counts(counts)
    wanted = None if ratios is None else resolve_subsets(ratios, counts.n_samples).sizes
    placement, k = _checked_placement(assignment, counts, None if wanted is None else len(wanted))
    tables = subset_tables(counts, placement, k)
    return measures_of(tables, tables.sizes if wanted is None else np.array(wanted))


def measures_of(
    tables: SubsetTables, wanted_sizes: npt.NDArray[Any], *, bounds: tuple[float, float] | None = None
) -> Measures:
    """Compute every measure from the subset tables; `bounds` are those of LD and LPD, where they are known."""
    sizes, samples = tables.sizes, tables.samples
    k = len(sizes)
    totals = samples.sum(axis=1)
    occurs = totals > 0
    share = totals[occurs, None] / sizes.sum()
    share_in_subset = samples[occurs] / np.maximum(sizes, 1)
    missing = samples == 0
    excess = (samples[occurs] / totals[occurs, None] - sizes / sizes.sum()).max(axis=1) if occurs.any() else np.zeros(0)
    if bounds is None:
        bounds = odds_bound(totals, sizes), odds_bound(tables.pairs.sum(axis=1), sizes)
    return Measures(
        ld=_mean(tables.ld_terms),
        ld_occurrences=_mean(tables.ld_occurrence_terms),
        lpd=_mean(tables.lpd_terms),
        lpd_occurrences=_mean(tables.lpd_occurrence_terms),
        ed=float(np.abs(sizes - wanted_sizes).mean()),
        fz=int(missing.any(axis=0).sum()),
        flz=int(missing.sum()),
        flz_bound=flz_bound(totals, k),
        rld=_mean(np.abs(share_in_subset - share) / share),
        dcp=_mean(excess),
        ld_bound=bounds[0],
        lpd_bound=bounds[1],
    )


def rows_in_subsets(group_of_row: npt.NDArray[Any], placement: npt.NDArray[Any], n_groups: int, k: int) -> Ints:
    """Count the samples of each group of rows in each of k subsets (groups x k).

    `placement` gives the subset of each row, or how many of the samples that it stands for are in each (rows x k).

    Examples
    --------
    >>> rows_in_subsets(np.array([0, 1, 0]), np.array([0, 0, 1]), 2, 2).tolist()
    [[1, 1], [1, 0]]
    >>> rows_in_subsets(np.array([0, 1, 0]), np.array([[5, 1], [2, 2], [0, 1]]), 2, 2).tolist()
    [[5, 2], [2, 2]]
    """
    if placement.ndim == 2:
        columns = [np.bincount(group_of_row, weights=placement[:, j], minlength=n_groups) for j in range(k)]
        return np.stack(columns, axis=1).astype(np.int64)  # sums of floats, but exact: see `LabelCounts`
    from evosplit import _kernels

    return _kernels.count_rows(group_of_row, placement, n_groups, k)


def subset_tables(counts: LabelCounts, placement: npt.NDArray[Any], k: int) -> SubsetTables:
    """Count samples, labels and label pairs in each of k subsets; for `placement` see `rows_in_subsets`."""
    from evosplit import _kernels

    sets = counts.label_sets
    copies = rows_in_subsets(sets.set_of_sample, placement, len(sets.multiplicity), k)
    rows = sets.counts
    samples = np.zeros((counts.n_labels, k), dtype=np.int64)
    instances = np.zeros((counts.n_labels, k), dtype=np.int64)
    per_entry = np.repeat(copies, np.diff(rows.indptr), axis=0)
    for j in range(k):
        samples[:, j] = np.bincount(rows.indices, weights=per_entry[:, j], minlength=counts.n_labels)
        instances[:, j] = np.bincount(rows.indices, weights=per_entry[:, j] * rows.data, minlength=counts.n_labels)
    codes, pairs = _kernels.pair_totals(rows.indptr, rows.indices, counts.n_labels, copies)
    order = np.argsort(codes)
    pair_labels = np.stack(np.divmod(codes[order], max(counts.n_labels, 1)), axis=1).astype(np.int32)
    return SubsetTables(
        sizes=copies.sum(axis=0),
        samples=samples,
        instances=instances,
        pairs=pairs[order],
        pair_labels=pair_labels,
        unlabelled=copies[np.diff(rows.indptr) == 0].sum(axis=0),
    )


def odds_deviation(table: npt.NDArray[Any], subset_totals: npt.NDArray[Any]) -> Floats:
    """Compare the odds of each row in each subset with its odds overall: the terms of Eq. 1, 2 and 3.

    Further axes in front are further splits.

    Examples
    --------
    >>> odds_deviation(np.array([[1, 3]]), np.array([2, 4])).tolist()  # |1/1 - 4/2|, |3/1 - 4/2|
    [[1.0, 1.0]]
    """
    totals = table.sum(axis=-1, keepdims=True)
    grand_total = subset_totals.sum(axis=-1)[..., None, None]
    overall = totals / np.maximum(grand_total - totals, 1)
    terms: Floats = np.abs(table / np.maximum(subset_totals[..., None, :] - table, 1) - overall)
    terms[(totals == grand_total)[..., 0]] = 0.0
    return terms


def ordered_sum(values: Floats) -> Floats:
    """Add up along the last axis from left to right, an order that numpy's sums do not promise.

    Examples
    --------
    >>> float(ordered_sum(np.array([0.1, 0.2, 0.3]))) == (0.1 + 0.2) + 0.3
    True
    """
    if values.shape[-1] == 0:
        return np.zeros(values.shape[:-1])
    return np.asarray(np.cumsum(values, axis=-1)[..., -1])


def logarithm(values: Floats) -> Floats:
    """Return natural logarithms of numbers above 0, by operations that every machine rounds alike.

    Examples
    --------
    >>> logarithm(np.array([1.0, 2.0, 1e-300])).round(12).tolist()
    [0.0, 0.69314718056, -690.775527898214]
    """
    part, exponent = np.frexp(values)  # exact: part is in [0.5, 1)
    low = part < 0.75
    part, exponent = np.where(low, 2.0 * part, part), exponent - low
    z = (part - 1.0) / (part + 1.0)
    power, total = z, np.zeros_like(z)
    for n in range(1, 41, 2):
        total = total + power / n
        power = power * (z * z)
    return np.asarray(2.0 * total + exponent * 0.6931471805599453)


def odds_bound(totals: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> float:
    """Bound the mean of Eq. 1 (or 3) from below for labels (or pairs) of these totals in these subsets."""
    return float(odds_bounds(totals, sizes).mean() / len(sizes)) if len(totals) else 0.0


def odds_bounds(totals: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> Floats:
    """Bound from below, for each of the totals, the terms of Eq. 1 (or 3), added up over the subsets."""
    from evosplit import _kernels

    distinct, inverse = np.unique(totals, return_inverse=True)
    bounds = _kernels.odds_bound(distinct.astype(np.int64), np.asarray(sizes, dtype=np.int64))
    return np.asarray(bounds[inverse])


def flz_bound(totals: npt.NDArray[Any], k: int) -> int:
    """Bound from below how many label-subset combinations stay empty, each label on its own.

    Examples
    --------
    >>> flz_bound(np.array([1, 3, 50]), 3)
    2
    """
    return int(np.maximum(0, k - np.asarray(totals)).sum())


def expected_deviation(
    totals: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    held: npt.ArrayLike | None = None,
    held_sizes: npt.ArrayLike | None = None,
) -> Floats:
    """Return the expected value of Eq. 1 (or 3) of each label (or pair) in a random split, averaged over subsets.

    The result is exact but for rounding, and the same on every machine.

    Parameters
    ----------
    totals
        The samples with each label.
    sizes
        The samples of each subset.
    held, held_sizes
        How many of the samples with each label (labels x subsets), and of all samples, are locked into each subset.

    Examples
    --------
    >>> expected_deviation([1], [1, 1]).tolist()  # in the first subset or in the second: |1/1 - 1/1| and |0/1 - 1/1|
    [0.5]
    >>> expected_deviation([1], [1, 1], held=[[1, 0]], held_sizes=[1, 0]).tolist()
    [0.5]
    """
    from evosplit._kernels.expectation import expected_deviation as expect

    totals = np.asarray(totals, dtype=np.int64)
    sizes = np.asarray(sizes, dtype=np.int64)
    if held is None or held_sizes is None:
        distinct, inverse = np.unique(totals, return_inverse=True)
        placed, held_sizes = np.zeros((len(distinct), len(sizes)), dtype=np.int64), np.zeros_like(sizes)
    else:
        rows = np.column_stack([totals, np.asarray(held, dtype=np.int64)])
        rows, inverse = np.unique(rows, axis=0, return_inverse=True)
        placed, distinct = np.ascontiguousarray(rows[:, 1:]), np.ascontiguousarray(rows[:, 0])
    expected = np.empty(len(distinct))
    expect(distinct, placed, sizes, np.asarray(held_sizes, dtype=np.int64), expected)
    return np.asarray(expected[inverse.ravel()])


def triplet_distribution(counts: Any, assignment: npt.ArrayLike) -> float:
    """Measure how unevenly label triplets are spread over the subsets; 0 is perfect.

    The measure is defined as that of the pairs is: the odds of each triplet of labels that occurs together, over all
    occurrences of triplets (Eq. 2 on triplets).

    Parameters
    ----------
    counts
        A LabelCounts, or anything that its constructor takes.
    assignment
        As in `measure`.

    Examples
    --------
    >>> counts = [[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 1]]
    >>> triplet_distribution(counts, [0, 1, 0, 1]), triplet_distribution(counts, [0, 0, 1, 1])
    (0.0, 1.0)
    """
    from evosplit import _kernels
    from evosplit.features import triplet_features

    counts = as_label_counts(counts)
    placement, k = _checked_placement(assignment, counts, None)
    sets = counts.label_sets
    copies = rows_in_subsets(sets.set_of_sample, placement, len(sets.multiplicity), k)
    triplets = triplet_features(sets.counts)
    table = _kernels.sum_features(triplets, copies)
    return _mean(odds_deviation(table, table.sum(axis=0)))


def _checked_placement(
    assignment: npt.ArrayLike, counts: LabelCounts, k: int | None
) -> tuple[npt.NDArray[np.int64], int]:
    array, m = np.asarray(assignment), counts.n_rows
    if array.ndim == 2:
        return _checked_table(array, counts, k)
    if counts.has_copies:
        raise EvoSplitError(
            f"assignment has {array.ndim} dimension(s), but rows of counts stand for several samples; "
            "pass how many of each row are in each subset (rows x k)"
        )
    if array.shape != (m,):
        raise EvoSplitError(f"assignment has shape {array.shape} for {m} samples; pass one subset number per sample")
    if array.dtype.kind not in "biu":
        raise EvoSplitError(f"assignment has dtype {array.dtype}; pass subset numbers (0 ... k - 1)")
    found = int(array.max()) + 1
    if array.min() < 0 or (k is not None and found > k):
        wrong = np.flatnonzero((array < 0) | (array >= (found if k is None else k)))
        limit = "" if k is None else f" and less than the {k} subsets of ratios"
        raise EvoSplitError(f"assignment[{wrong[0]}] is {array[wrong[0]]}; subset numbers are at least 0{limit}")
    return array.astype(np.int64), max(found if k is None else k, 1)


def _checked_table(table: npt.NDArray[Any], counts: LabelCounts, k: int | None) -> tuple[npt.NDArray[np.int64], int]:
    n_subsets = table.shape[1] if k is None else k
    if table.shape != (counts.n_rows, n_subsets) or table.dtype.kind not in "iu":
        raise EvoSplitError(
            f"assignment has shape {table.shape} and dtype {table.dtype}; pass integers, one row for each of the "
            f"{counts.n_rows} rows of counts and one column for each subset"
        )
    wrong = np.flatnonzero((table < 0).any(axis=1) | (table.sum(axis=1) != counts.copies))
    if len(wrong):
        raise EvoSplitError(
            f"assignment[{wrong[0]}] is {table[wrong[0]].tolist()}, but the row stands for "
            f"{counts.copies[wrong[0]]} samples; its entries are at least 0 and sum to that"
        )
    return table.astype(np.int64), n_subsets


def _mean(terms: Floats) -> float:
    return float(terms.mean()) if terms.size else 0.0

"""`LabelCounts`: how often each label occurs in each sample, the input of everything else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.errors import EvoSplitError

__all__ = ["LabelCounts", "LabelSets", "Pairs", "as_label_counts", "compact_csr", "find_pairs", "freeze_csr"]

_MOST = int(np.iinfo(np.int32).max)
_MOST_SAMPLES = 1 << 52  # largest number of copies or instances: floats hold their sums exactly


@dataclass(frozen=True)
class LabelSets:
    """The distinct rows of a count matrix: samples with equal counts are interchangeable.

    Attributes
    ----------
    counts
        One row per distinct label set (CSR, n_sets x q).
    set_of_sample
        For each row of the data the row of `counts` that equals it.
    multiplicity
        How many samples share each row.
    """

    counts: sp.csr_array
    set_of_sample: npt.NDArray[np.int32]
    multiplicity: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """The label pairs that occur together in at least one sample (presence only, first < second).

    Attributes
    ----------
    first, second
        Label indices of each pair, ordered by (first, second).
    totals
        Number of samples that carry each pair.
    indptr, indices
        CSR structure: row i of the rows that were asked about carries the pairs
        `indices[indptr[i]:indptr[i + 1]]`.
    """

    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    totals: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.first)


class LabelCounts:
    """Non-negative integer counts of labels per sample, with sample ids and label names; immutable.

    Parameters
    ----------
    counts
        Counts of q labels in m samples (m x q): a 2-D array, nested sequences of numbers, any scipy sparse
        matrix, or a pandas DataFrame (its index gives the ids, its columns the label names). Rows without any
        label are legal.
    ids
        One unique id per row, integers or strings; by default 0 ... m - 1.
    labels
        One unique name per label; by default the column numbers as strings.
    copies
        How many equal samples each row stands for, at least 1; by default one. So a histogram can replace a billion
        samples: time and memory depend only on its rows.

    Examples
    --------
    >>> counts = LabelCounts([[2, 0], [0, 1], [0, 0]], labels=["cat", "dog"])
    >>> counts
    LabelCounts(3 samples, 2 labels, 3 instances)
    >>> counts.matrix.toarray().tolist()
    [[2, 0], [0, 1], [0, 0]]
    >>> LabelCounts([[1, 1], [0, 0]], copies=[3_000_000_000, 5])
    LabelCounts(3000000005 samples in 2 rows, 2 labels, 6000000000 instances)
    """

    def __init__(
        self,
        counts: Any,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        copies: npt.ArrayLike | None = None,
    ) -> None:
        if isinstance(counts, LabelCounts):
            raise EvoSplitError("counts is a LabelCounts already: use it as it is")
        if hasattr(counts, "columns") and hasattr(counts, "to_numpy"):  # a DataFrame, without importing pandas
            ids = counts.index.to_numpy() if ids is None else ids
            labels = list(counts.columns) if labels is None else labels
            counts = counts.to_numpy()
        self._matrix = _checked_matrix(counts)
        m, q = self._matrix.shape
        self._ids = _checked_ids(ids, m)
        self._labels = _checked_labels(labels, q)
        self._copies = None if copies is None else _checked_copies(copies, self._matrix)

    @classmethod
    def from_lists(
        cls,
        lists: Iterable[Iterable[Any] | None],
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        copies: npt.ArrayLike | None = None,
    ) -> LabelCounts:
        """Count labels given as one list per sample; a label listed twice counts as two instances.

        Labels are strings or integers; `None` entries and empty or missing (`None`) lists are no labels.
        `labels` fixes the order and may name labels that never occur; by default the labels found, sorted.
        `copies` tells how many equal samples each list stands for.

        Examples
        --------
        >>> counts = LabelCounts.from_lists([["cat", "cat", "dog"], [], None])
        >>> counts.labels, counts.matrix.toarray().tolist()
        (('cat', 'dog'), [[2, 1], [0, 0], [0, 0]])
        """
        if isinstance(lists, (str, bytes)):
            raise EvoSplitError(
                f"lists is the string {lists!r}; pass one list of labels per sample: [['cat'], ['dog', 'dog']]"
            )
        found: dict[Any, int] = {}
        columns: list[int] = []
        lengths: list[int] = []
        for row, entries in enumerate(lists):
            if isinstance(entries, (str, bytes)):
                raise EvoSplitError(
                    f"sample {row} has the string {entries!r} where a list of labels is expected; write [{entries!r}]"
                )
            before = len(columns)
            for label in () if entries is None else entries:
                if label is None:
                    continue
                if not isinstance(label, (str, int, np.integer)) or isinstance(label, bool):
                    raise EvoSplitError(f"sample {row} has the label {label!r}; labels are strings or integers")
                columns.append(found.setdefault(label, len(found)))
            lengths.append(len(columns) - before)
        order = _label_order(found) if labels is None else list(labels)
        position = {label: i for i, label in enumerate(order)}
        unknown = [label for label in found if label not in position]
        if unknown:
            raise EvoSplitError(
                f"{len(unknown)} labels occur in the lists but not in labels=, the first is {unknown[0]!r}; add them"
            )
        renumber = np.array([position[label] for label in found], dtype=np.int32)
        indptr = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        indices = renumber[np.asarray(columns, dtype=np.int64)] if columns else np.zeros(0, dtype=np.int32)
        matrix = sp.csr_array(
            (np.ones(len(indices), dtype=np.int32), indices, indptr), shape=(len(lengths), len(order))
        )
        return cls(matrix, ids=ids, labels=order, copies=copies)

    @property
    def matrix(self) -> sp.csr_array:
        """The counts (CSR, int32, rows x q): indices sorted, no stored zeros, arrays read-only."""
        return self._matrix

    @property
    def ids(self) -> npt.NDArray[Any]:
        """The id of each row."""
        return self._ids

    @property
    def labels(self) -> tuple[str, ...]:
        """The label names, in column order."""
        return self._labels

    @property
    def copies(self) -> npt.NDArray[np.int64]:
        """How many equal samples each row stands for."""
        return np.broadcast_to(np.int64(1), self.n_rows) if self._copies is None else self._copies

    @property
    def has_copies(self) -> bool:
        """Whether some row stands for more than one sample."""
        return self._copies is not None

    @property
    def n_rows(self) -> int:
        """Number of rows: as many as there are samples, unless some stand for several."""
        return int(self._matrix.shape[0])

    @cached_property
    def n_samples(self) -> int:
        """Number of samples, m."""
        return self.n_rows if self._copies is None else int(self._copies.sum())

    @property
    def n_labels(self) -> int:
        """Number of labels, q."""
        return int(self._matrix.shape[1])

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        rows = f" in {self.n_rows} rows" if self.has_copies else ""
        return (
            f"LabelCounts({self.n_samples} samples{rows}, {self.n_labels} labels, {int(self.totals.sum())} instances)"
        )

    @cached_property
    def totals(self) -> npt.NDArray[np.int64]:
        """Instances of each label in the whole data set."""
        return _frozen(_column_sums(self._matrix, self._matrix.data, self._copies))

    @cached_property
    def sample_totals(self) -> npt.NDArray[np.int64]:
        """Samples that carry each label."""
        return _frozen(_column_sums(self._matrix, None, self._copies))

    @cached_property
    def has_repeats(self) -> bool:
        """Whether some label occurs more than once in some sample."""
        return bool((self._matrix.data > 1).any())

    @cached_property
    def presence(self) -> sp.csr_array:
        """Which labels occur in which sample: the counts with every positive entry set to 1."""
        ones = np.ones_like(self._matrix.data)
        return freeze_csr(sp.csr_array((ones, self._matrix.indices, self._matrix.indptr), shape=self._matrix.shape))

    @cached_property
    def label_sets(self) -> LabelSets:
        """The distinct rows, in the order in which they first occur."""
        from evosplit import _kernels

        matrix = self._matrix
        first_row, set_of_sample = _kernels.distinct_rows(matrix.indptr, matrix.indices, matrix.data)
        multiplicity = np.bincount(set_of_sample, weights=self._copies, minlength=len(first_row)).astype(np.int64)
        return LabelSets(
            counts=freeze_csr(compact_csr(matrix[first_row])),
            set_of_sample=_frozen(set_of_sample),
            multiplicity=_frozen(multiplicity),
        )

    @cached_property
    def pairs(self) -> Pairs:
        """The label pairs that occur, and which of them each distinct label set carries."""
        sets = self.label_sets
        return find_pairs(sets.counts, sets.multiplicity)


def find_pairs(rows: sp.csr_array, multiplicity: npt.NDArray[np.int64], kept: int = 1024) -> Pairs:
    """Enumerate the label pairs of each row: memory grows with the pairs that occur, never with q squared.

    Only `kept` of every 1,024 pairs are taken, always the same ones.
    """
    from evosplit import _kernels

    indptr, codes = _kernels.pair_codes(rows.indptr, rows.indices, rows.shape[1], kept)
    unique, indices = _kernels.unique_codes(codes)
    q = max(rows.shape[1], 1)
    weights = np.repeat(multiplicity, np.diff(indptr))
    totals = np.bincount(indices, weights=weights, minlength=len(unique)).astype(np.int64)
    return Pairs(
        first=_frozen((unique // q).astype(np.int32)),
        second=_frozen((unique % q).astype(np.int32)),
        totals=_frozen(totals),
        indptr=_frozen(indptr),
        indices=_frozen(indices),
    )


def compact_csr(matrix: Any) -> sp.csr_array:
    """Copy a CSR matrix into 32-bit arrays (pointers and indices 64-bit only beyond 2**31 entries).

    Kernels are compiled once for each combination of types, so there is only this one.
    """
    index = np.int32 if matrix.nnz <= np.iinfo(np.int32).max else np.int64
    arrays = (matrix.data.astype(np.int32), matrix.indices.astype(index), matrix.indptr.astype(index))
    return sp.csr_array(arrays, shape=matrix.shape)


def as_label_counts(counts: Any) -> LabelCounts:
    """Return a LabelCounts as it is; construct one from anything else."""
    return counts if isinstance(counts, LabelCounts) else LabelCounts(counts)


def _checked_matrix(counts: Any) -> sp.csr_array:
    source: Any
    if sp.issparse(counts):
        source = counts
        if source.ndim != 2:
            raise EvoSplitError(f"counts has {source.ndim} dimension(s); expected 2: samples x labels")
        if source.format == "coo":
            # The conversion adds up repeated entries, and a sum of small integers could overflow.
            source = source.astype(np.result_type(source.dtype, np.int64), copy=False)
        source = source.tocsr()
        _check_values(
            source.data,
            lambda i: (int(np.searchsorted(source.indptr, i, "right")) - 1, int(source.indices[i])),
        )
    else:
        source = sp.csr_array(_checked_dense(counts))
    if source.shape[0] == 0:
        raise EvoSplitError("counts is empty: there is no sample to split")
    if not source.has_canonical_format or not source.data.all():
        source = source.astype(np.int64, copy=True)
        source.sum_duplicates()  # repeated entries add up
        source.eliminate_zeros()
    if source.nnz and int(source.data.max()) > np.iinfo(np.int32).max:
        raise EvoSplitError(
            f"counts holds {int(source.data.max())}, more than 2**31 - 1 instances of one label in one sample"
        )
    return freeze_csr(compact_csr(source))


def _checked_dense(counts: Any) -> npt.NDArray[Any]:
    try:
        dense = np.asarray(counts)
    except ValueError as error:
        raise EvoSplitError(f"counts is ragged ({error}); for lists of labels use LabelCounts.from_lists") from error
    if dense.dtype == object:
        try:
            dense = dense.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise EvoSplitError(
                f"counts holds something that is no number ({error}); for lists of labels use LabelCounts.from_lists"
            ) from error
        except OverflowError as error:
            raise EvoSplitError("counts holds a number of hundreds of digits; counts are below 2**31") from error
    if dense.dtype.kind not in "biuf":
        raise EvoSplitError(
            f"counts has dtype {dense.dtype}; expected numbers; for lists of labels use LabelCounts.from_lists"
        )
    if dense.ndim != 2:
        raise EvoSplitError(f"counts has {dense.ndim} dimension(s); expected 2: samples x labels")
    _check_values(dense.ravel(), lambda i: (int(i // dense.shape[1]), int(i % dense.shape[1])))
    return dense


def _check_values(values: npt.NDArray[Any], place: Any) -> None:
    if values.dtype.kind not in "biuf":
        raise EvoSplitError(f"counts has dtype {values.dtype}; expected non-negative integers")
    if values.dtype.kind == "b" or not values.size:
        return
    wrong = (values < 0) | (values > _MOST)
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong |= ~np.isfinite(values) | (values != np.floor(values))
    if wrong.any():
        first = int(np.argmax(wrong))
        row, column = place(first)
        raise EvoSplitError(
            f"counts[{row}, {column}] is {values[first]}; counts are non-negative integers below 2**31 "
            f"({int(wrong.sum())} such values); turn scores into counts first, "
            "for example (scores > 0.5).astype(int)"
        )


def _checked_ids(ids: Iterable[Any] | None, m: int) -> npt.NDArray[Any]:
    if ids is None:
        return _frozen(np.arange(m, dtype=np.int64))
    items = ids if isinstance(ids, np.ndarray) else list(ids)
    if len(items) != m:
        raise EvoSplitError(f"{len(items)} ids for {m} samples; pass one id per row of counts")
    array = np.asarray(items)
    if array.ndim != 1 or array.dtype.kind not in "iuUO" or (isinstance(items, list) and _mixes_types(items)):
        array = np.empty(m, dtype=object)
        for position, value in enumerate(items):
            array[position] = value.item() if isinstance(value, np.generic) else value
    if array.dtype == object:
        for position, value in enumerate(array):
            if not isinstance(value, (str, int, np.integer)) or isinstance(value, bool):
                raise EvoSplitError(f"id {value!r} of sample {position} is neither a string nor an integer")
        n_unique = len(set(array.tolist()))
    else:
        n_unique = len(np.unique(array))
    if n_unique != m:
        seen: set[Any] = set()
        repeated = next(value for value in array.tolist() if value in seen or seen.add(value))  # type: ignore[func-returns-value]
        raise EvoSplitError(f"id {repeated!r} occurs more than once ({m - n_unique} repetitions); ids must be unique")
    return _frozen(array.copy())


def _mixes_types(items: list[Any]) -> bool:
    # np.asarray([1, "1"]) would silently turn the integer into a string.
    return len({isinstance(item, str) for item in items}) > 1


def _checked_labels(labels: Iterable[Any] | None, q: int) -> tuple[str, ...]:
    if labels is None:
        return tuple(str(i) for i in range(q))
    names = tuple(str(label) for label in labels)
    if len(names) != q:
        raise EvoSplitError(f"{len(names)} label names for {q} labels; pass one name per column of counts")
    if len(set(names)) != q:
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise EvoSplitError(f"label name {repeated!r} occurs more than once; label names must be unique")
    return names


def _checked_copies(copies: npt.ArrayLike, matrix: sp.csr_array) -> npt.NDArray[np.int64] | None:
    """Return how many samples each row stands for; None if each stands for one."""
    array, n_rows = np.asarray(copies), int(matrix.shape[0])
    if array.shape != (n_rows,):
        raise EvoSplitError(f"copies= has shape {array.shape} for {n_rows} rows; pass one number per row of counts")
    if array.dtype.kind not in "iuf":
        raise EvoSplitError(f"copies= has dtype {array.dtype}; pass positive integers")
    with np.errstate(invalid="ignore"):
        wrong = ~(array >= 1) | (array > _MOST_SAMPLES) | (array != np.floor(array))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise EvoSplitError(
            f"copies[{first}] is {array[first]}; a row stands for at least one sample and at most {_MOST_SAMPLES:,} "
            f"({int(wrong.sum())} such values); leave out rows that stand for none"
        )
    whole = _frozen(array.astype(np.int64))  # a copy: the caller keeps its own
    per_sample = np.bincount(np.repeat(np.arange(n_rows), np.diff(matrix.indptr)), matrix.data, minlength=n_rows)
    for what, total in (("samples", float(whole.sum())), ("instances", float(whole @ per_sample))):
        if total > _MOST_SAMPLES:
            raise EvoSplitError(f"copies= make {total:.3g} {what}, more than the {_MOST_SAMPLES:,} that can be counted")
    return whole if (whole > 1).any() else None


def _column_sums(
    matrix: sp.csr_array, values: npt.NDArray[Any] | None, copies: npt.NDArray[np.int64] | None
) -> npt.NDArray[np.int64]:
    """Add up values of the entries (1 without any) by column, each as often as its row has copies."""
    weights = values
    if copies is not None:
        of_entry = np.repeat(copies, np.diff(matrix.indptr))
        weights = of_entry if values is None else of_entry * values
    # Sums of floats, but exact: no total is beyond 2**53 (see `_MOST_SAMPLES`).
    return np.bincount(matrix.indices, weights=weights, minlength=matrix.shape[1]).astype(np.int64)


def _label_order(found: Iterable[Any]) -> Sequence[Any]:
    # Numbers by value, then strings alphabetically, since Python does not order mixtures.
    return sorted(found, key=lambda label: (isinstance(label, str), label))


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array


def freeze_csr(matrix: sp.csr_array) -> sp.csr_array:
    """Make the arrays of a matrix read-only, in place."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=False)
    return matrix

"""Count label columns on Arrow: no row becomes a Python object, no image is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from evosplit import EvoSplitError
from evosplit_plugins.hf.schema import Leaf, is_list

__all__ = ["UNLABELLED", "HowToCount", "count_columns"]

UNLABELLED = -1  # what `datasets` stores in a ClassLabel for "no label known"
_DENSE = 2**16  # integers of a range below this are numbered by subtraction, others by hashing

IntArray = npt.NDArray[np.int64]
Counted = tuple[sp.csr_array, list[str]]


@dataclass(frozen=True)
class HowToCount:
    """How to interpret the values of label columns whose type is ambiguous.

    Attributes
    ----------
    multi_hot
        True: each list has one entry per label, 0 or 1. False: lists of 0 and 1 are class numbers. None:
        lists that could be either are refused.
    threshold
        From which value on a score counts as its label.
    delimiter
        What stands between the labels of one string.
    """

    multi_hot: bool | None = None
    threshold: float | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not (isinstance(self.threshold, Real) and isfinite(self.threshold)):
            raise EvoSplitError(f"threshold={self.threshold!r} is no number; give one such as 0.5")
        if self.delimiter is not None and not (isinstance(self.delimiter, str) and self.delimiter):
            raise EvoSplitError(
                f"delimiter={self.delimiter!r} is no text; give what stands between labels, such as ','"
            )

    def fits(self, leaf: Leaf) -> bool:
        """Whether a leaf can be the one label column that these options ask for."""
        if self.multi_hot:
            return self.reads_multi_hot(leaf)
        if self.delimiter is not None:
            return leaf.is_string
        if self.threshold is not None:
            return self.reads_indicator(leaf)
        return leaf.holds_labels

    def reads_multi_hot(self, leaf: Leaf) -> bool:
        """Whether a leaf is counted as one entry per label."""
        return self.multi_hot is True and leaf.depth == 1 and leaf.is_number

    def reads_indicator(self, leaf: Leaf) -> bool:
        """Whether a leaf is one label that a row has or has not, whatever its values are."""
        if leaf.depth > 0 or not leaf.is_number:
            return False
        return self.threshold is not None or bool(pa.types.is_boolean(leaf.type))


def count_columns(table: Any, leaves: Sequence[Leaf], rows: IntArray | None, how: HowToCount) -> Counted:
    """Count the labels of each row.

    Parameters
    ----------
    table
        An Arrow table, or what `datasets` wraps around one.
    leaves
        The leaves that hold labels. Of several, each label gets its column as prefix.
    rows
        Which rows of the table the data set shows, in its order; None for all of them as they are. What other
        rows hold is never judged: a filter may have removed them for being wrong.
    how
        What the values mean.

    Returns
    -------
    counts, labels
        Counts of each label in each row, and the names of the labels.
    """
    _check_options_used(leaves, how)
    if len(leaves) == 1:
        matrix, labels = _count(table.column(leaves[0].column), leaves[0], rows, how)
        matrix.sum_duplicates()  # in place, in 32 bits, which LabelCounts then takes as it is
        return matrix, labels
    matrices: list[sp.csr_array] = []
    labels = []
    zero_or_one: list[Leaf] = []
    class_numbers: list[Leaf] = []
    for leaf in leaves:
        column = table.column(leaf.column)
        matrix, names = _count(column, leaf, rows, how)
        one_label = how.reads_indicator(leaf)
        if not one_label and leaf.depth == 0 and leaf.is_integer and leaf.is_number:
            one_label = set(names) <= {"0", "1"}
            (zero_or_one if one_label else class_numbers).append(leaf)
            if one_label:
                matrix, names = _count_indicator(column, leaf, rows, None)
        matrices.append(matrix)
        labels += names if one_label else [f"{leaf.path}:{name}" for name in names]
    if zero_or_one and class_numbers:
        raise EvoSplitError(
            f"column {zero_or_one[0].path!r} holds only 0 and 1, like one label per column, but "
            f"{class_numbers[0].path!r} holds other integers, like class numbers; "
            "pass threshold=1 to take each column as one label, or cast the class numbers to ClassLabel"
        )
    return sp.csr_array(sp.hstack(matrices, format="csr")), labels


def _check_options_used(leaves: Sequence[Leaf], how: HowToCount) -> None:
    listed = ", ".join(str(leaf) for leaf in leaves)
    if how.multi_hot and not any(how.reads_multi_hot(leaf) for leaf in leaves):
        raise EvoSplitError(f"multi_hot=True needs a column of lists of 0 and 1, not {listed}")
    if how.delimiter is not None and not any(leaf.is_string for leaf in leaves):
        raise EvoSplitError(f"delimiter={how.delimiter!r} needs a column of strings, not {listed}")
    if how.threshold is not None and not any(how.reads_indicator(leaf) or how.reads_multi_hot(leaf) for leaf in leaves):
        raise EvoSplitError(
            f"threshold={how.threshold} needs columns with one number per row, or multi_hot=True with "
            f"lists of scores, not {listed}"
        )


def _count(column: Any, leaf: Leaf, rows: IntArray | None, how: HowToCount) -> Counted:
    if how.reads_multi_hot(leaf):
        return _count_multi_hot(column, leaf, rows, how.threshold)
    if how.reads_indicator(leaf):
        return _count_indicator(column, leaf, rows, how.threshold)
    if leaf.holds_labels or pa.types.is_null(leaf.type):
        return _count_labels(column, leaf, rows, how)
    if leaf.is_number and leaf.depth == 1:
        remedy = "if each list has one entry per label, pass multi_hot=True (and threshold= for scores)"
    elif pa.types.is_floating(leaf.type) and leaf.depth == 0:
        remedy = f"scores need threshold=; for class numbers use ds.cast_column({leaf.column!r}, ...)"
    else:
        remedy = "labels are integers, strings or ClassLabel; name another column"
    raise EvoSplitError(f"column {leaf} holds no labels; {remedy}")


def _count_labels(column: Any, leaf: Leaf, rows: IntArray | None, how: HowToCount) -> Counted:
    lengths, values = _flatten(column, leaf.fields)
    if how.delimiter is not None and leaf.is_string:
        parts = pc.split_pattern(values, pattern=how.delimiter)
        lengths = _regroup(lengths, _list_lengths(parts))
        values = pc.utf8_trim_whitespace(pc.list_flatten(parts))
        values = pc.if_else(pc.equal(values, ""), None, values)
    if values.null_count:
        lengths = _regroup(lengths, _numpy(pc.is_valid(values)).astype(np.int64))
        values = values.drop_null()
    found, codes = _encode(values)
    matrix = _gather(_csr(lengths, codes, len(found)), rows)
    if leaf.class_names is not None:
        return _by_class(matrix, found, leaf)
    used = np.flatnonzero(np.bincount(matrix.indices, minlength=len(found))).tolist()
    used.sort(key=lambda code: found[code])
    names = [str(found[code]) for code in used]
    shown = lengths if rows is None else lengths[rows]
    if how.multi_hot is None and leaf.depth == 1 and leaf.is_number and _looks_multi_hot(shown, names):
        raise EvoSplitError(
            f"column {leaf} holds only 0 and 1, in lists that are all of length {int(shown.max())}: "
            "pass multi_hot=True if each entry is one label, multi_hot=False if they are class numbers"
        )
    target = np.full(len(found), -1, dtype=np.int32)
    target[used] = np.arange(len(used), dtype=np.int32)
    return _renumber(matrix, target, len(used)), names


def _by_class(matrix: sp.csr_array, found: list[int], leaf: Leaf) -> Counted:
    names = list(leaf.class_names or ())
    target = np.array([value if 0 <= value < len(names) else -1 for value in found], dtype=np.int32)
    nameless = [code for code, value in enumerate(found) if target[code] < 0 and value != UNLABELLED]
    wrong = np.flatnonzero(np.isin(matrix.indices, nameless)) if nameless else np.zeros(0, dtype=np.int64)
    if len(wrong):
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        raise EvoSplitError(
            f"column {leaf} has the class {found[matrix.indices[wrong[0]]]} in row {row} "
            f"({len(wrong)} such values), but its {len(names)} names give 0 to {len(names) - 1} "
            "(and -1 for unlabelled); cast it to a ClassLabel that fits"
        )
    return _renumber(matrix, target, len(names)), names


def _looks_multi_hot(lengths: IntArray, names: list[str]) -> bool:
    filled = lengths[lengths > 0]
    return bool(set(names) <= {"0", "1"} and len(filled) and filled[0] > 1 and (filled == filled[0]).all())


def _count_multi_hot(column: Any, leaf: Leaf, rows: IntArray | None, threshold: float | None) -> Counted:
    lengths_of: list[IntArray] = []
    on_at: list[IntArray] = []
    wrong_at: list[IntArray] = []
    start = 0
    for chunk in column.chunks:  # chunk by chunk: a dense block may be larger than all that the rest needs
        lengths, values = _flatten(chunk, leaf.fields)
        on, wrong = _switched_on(values, threshold)
        lengths_of.append(lengths)
        on_at.append(np.flatnonzero(on) + start)
        wrong_at.append(np.flatnonzero(wrong) + start)
        start += len(values)
    lengths, positions = _joined(lengths_of), _joined(on_at)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    shown = lengths if rows is None else lengths[rows]
    filled = np.flatnonzero(shown)
    width = int(shown[filled[0]]) if len(filled) else 0
    differing = filled[shown[filled] != width]
    if len(differing):
        raise EvoSplitError(
            f"column {leaf} is not multi-hot: row {filled[0]} has {width} entries, row {differing[0]} has "
            f"{shown[differing[0]]}; lists of class numbers need multi_hot=False"
        )
    _refuse_wrong(np.searchsorted(offsets, _joined(wrong_at), side="right") - 1, rows, leaf)
    row_of = np.searchsorted(offsets, positions, side="right") - 1
    per_row = np.bincount(row_of, minlength=len(lengths))
    matrix = _gather(_csr(per_row, positions - offsets[row_of], int(lengths.max(initial=0))), rows)
    return sp.csr_array(matrix[:, :width]), [str(label) for label in range(width)]


def _count_indicator(column: Any, leaf: Leaf, rows: IntArray | None, threshold: float | None) -> Counted:
    _, values = _flatten(column, leaf.fields)
    on, wrong = _switched_on(values, threshold)
    _refuse_wrong(np.flatnonzero(wrong), rows, leaf)
    matrix = _csr(on.astype(np.int64), np.zeros(int(on.sum()), dtype=np.int32), 1)
    return _gather(matrix, rows), [leaf.path]


def _switched_on(values: Any, threshold: float | None) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which values mean "this label", and which are invalid: without a threshold, all but 0 and 1.

    Nulls and NaN are neither.
    """
    known = _numpy(pc.is_valid(values))
    if values.null_count:
        values = pc.fill_null(values, False if pa.types.is_boolean(values.type) else 0)
    numbers = _numpy(values)
    if threshold is not None:
        return known & (numbers >= threshold), np.zeros(len(numbers), dtype=np.bool_)
    on = numbers == 1
    return on, known & ~on & (numbers != 0) & (numbers == numbers)


def _refuse_wrong(wrong_rows: IntArray, rows: IntArray | None, leaf: Leaf) -> None:
    if rows is not None and len(wrong_rows):
        wrong_rows = np.flatnonzero(np.isin(rows, wrong_rows))
    if len(wrong_rows):
        raise EvoSplitError(
            f"column {leaf} holds something other than 0 and 1 in row {wrong_rows[0]}; "
            "pass threshold= to say from which value on a score counts as its label"
        )


def _flatten(column: Any, fields: Sequence[str]) -> tuple[IntArray, Any]:
    """Return how many values each row has, and the values of all rows in one array."""
    lengths: IntArray | None = None
    n_rows = len(column)
    remaining = list(fields)
    while True:
        # Not .values and .field(): those ignore slices and the nulls of parents.
        if is_list(column.type):
            inner = _list_lengths(column)
            lengths = inner if lengths is None else _regroup(lengths, inner)
            column = pc.list_flatten(column)
        elif remaining and pa.types.is_struct(column.type):
            column = pc.struct_field(column, [remaining.pop(0)])
        else:
            return np.ones(n_rows, dtype=np.int64) if lengths is None else lengths, column


def _list_lengths(column: Any) -> IntArray:
    lengths: IntArray = _numpy(pc.fill_null(pc.list_value_length(column), 0)).astype(np.int64)
    return lengths


def _regroup(lengths: IntArray, inner: IntArray) -> IntArray:
    """Compose two levels: rows of `lengths` elements each, elements of `inner` values each."""
    ends = np.cumsum(lengths)
    totals = np.concatenate(([0], np.cumsum(inner)))
    composed: IntArray = totals[ends] - totals[ends - lengths]
    return composed


def _encode(values: Any) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """Return a list that holds every value (and maybe more), and for each value its position in the list."""
    if not len(values):
        return [], np.zeros(0, dtype=np.int32)
    if pa.types.is_integer(values.type):
        low, high = pc.min_max(values).as_py().values()
        if high - low < _DENSE and high <= np.iinfo(np.int64).max:
            codes = np.empty(len(values), dtype=np.int32)
            start = 0
            for chunk in values.chunks:
                part = codes[start : start + len(chunk)]
                np.subtract(chunk.to_numpy(), low, out=part, dtype=np.int64, casting="unsafe")
                start += len(chunk)
            return list(range(low, high + 1)), codes
    encoded = values.dictionary_encode().unify_dictionaries()
    parts = [chunk.indices.to_numpy() for chunk in encoded.chunks]
    return encoded.chunk(0).dictionary.to_pylist(), np.concatenate(parts)


def _csr(lengths: IntArray, codes: npt.NDArray[Any], n_codes: int) -> sp.csr_array:
    # scipy gives both index arrays the larger of their types: the smaller one saves half of the memory.
    narrow = np.int32 if len(codes) <= np.iinfo(np.int32).max else np.int64
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(narrow)
    ones = np.ones(len(codes), dtype=np.int32)
    return sp.csr_array((ones, codes.astype(narrow, copy=False), indptr), shape=(len(lengths), n_codes))


def _gather(matrix: sp.csr_array, rows: IntArray | None) -> sp.csr_array:
    return matrix if rows is None else sp.csr_array(matrix[rows])


def _renumber(matrix: sp.csr_array, target: npt.NDArray[np.int32], n_labels: int) -> sp.csr_array:
    """Give each column its number in `target` and drop the columns numbered -1."""
    if n_labels == len(target) and np.array_equal(target, np.arange(n_labels)):
        return matrix
    columns = target[matrix.indices]
    kept = columns >= 0
    if not kept.all():
        indptr = np.concatenate(([0], np.cumsum(kept)))[matrix.indptr].astype(matrix.indptr.dtype)
        return sp.csr_array((matrix.data[kept], columns[kept], indptr), shape=(matrix.shape[0], n_labels))
    return sp.csr_array((matrix.data, columns, matrix.indptr), shape=(matrix.shape[0], n_labels))


def _numpy(values: Any) -> npt.NDArray[Any]:
    if isinstance(values, pa.ChunkedArray):
        return np.asarray(values.to_numpy())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)

"""LabelCounts: what it takes, what it refuses, what it knows."""

from __future__ import annotations

import naive
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from strategies import count_matrices

from evosplit import EvoSplitError, LabelCounts
from evosplit.counts import as_label_counts

DENSE = np.array([[2, 0, 1], [0, 0, 0], [1, 1, 0]])


@pytest.mark.parametrize(
    "source",
    [
        DENSE,
        DENSE.tolist(),
        DENSE.astype(np.float32),
        DENSE.astype(np.uint8),
        DENSE.astype(object),
        sp.csr_array(DENSE),
        sp.csc_matrix(DENSE),
        sp.coo_array(DENSE.astype(float)),
        sp.lil_matrix(DENSE),
        pd.DataFrame(DENSE),
    ],
    ids=lambda source: type(source).__name__ + str(getattr(source, "dtype", "")),
)
def test_takes_any_matrix(source):
    """Arrays, nested lists, sparse matrices and DataFrames of any numeric type give the same counts."""
    counts = LabelCounts(source)
    assert counts.matrix.toarray().tolist() == DENSE.tolist()
    assert counts.matrix.dtype == np.int32
    assert (counts.n_samples, counts.n_labels, len(counts)) == (3, 3, 3)


def test_booleans_are_presence():
    """True counts as one instance."""
    assert LabelCounts(DENSE > 0).matrix.toarray().tolist() == (DENSE > 0).astype(int).tolist()


def test_repeated_sparse_entries_add_up():
    """A sparse matrix that names a cell twice means the sum, also where its own integers are too small."""
    places = ([0, 0, 1], [1, 1, 0])
    for source in (
        sp.coo_array((np.array([200, 100, 0], dtype=np.uint8), places), shape=(2, 2)),
        sp.csr_array((np.array([200, 100, 0], dtype=np.uint8), [1, 1, 0], [0, 2, 3]), shape=(2, 2)),
    ):
        counts = LabelCounts(source)
        assert counts.matrix.toarray().tolist() == [[0, 300], [0, 0]]
        assert counts.matrix.nnz == 1
    assert LabelCounts(sp.coo_array(([True] * 3, places), shape=(2, 2))).totals.tolist() == [1, 2]


def test_data_frame_gives_ids_and_labels():
    """A DataFrame's index gives the ids and its columns the label names, unless others are given."""
    frame = pd.DataFrame(DENSE, index=["x", "y", "z"], columns=["cat", "dog", "cow"])
    counts = LabelCounts(frame)
    assert counts.ids.tolist() == ["x", "y", "z"]
    assert counts.labels == ("cat", "dog", "cow")
    assert LabelCounts(frame, ids=[1, 2, 3], labels="abc").labels == ("a", "b", "c")


def test_from_lists_counts_repetitions():
    """A label listed twice is two instances; None and empty lists are samples without labels."""
    counts = LabelCounts.from_lists([["dog", "cat", "cat"], [], None, [None, "dog"]], ids="abcd")
    assert counts.labels == ("cat", "dog")
    assert counts.matrix.toarray().tolist() == [[2, 1], [0, 0], [0, 0], [0, 1]]
    assert counts.ids.tolist() == list("abcd")


def test_from_lists_orders_numbers_by_value():
    """Integer labels are ordered by value, not as text, and come before strings."""
    assert LabelCounts.from_lists([[10, 9], [np.int64(2), "b", "a"]]).labels == ("2", "9", "10", "a", "b")


def test_from_lists_keeps_given_labels():
    """`labels` fixes the order and may name labels that never occur."""
    counts = LabelCounts.from_lists([["b"], ["a"]], labels=["b", "c", "a"])
    assert counts.labels == ("b", "c", "a")
    assert counts.sample_totals.tolist() == [1, 0, 1]


def test_totals_presence_and_repeats():
    """Totals count instances, image totals samples; presence forgets repetitions."""
    counts = LabelCounts(DENSE)
    assert counts.totals.tolist() == [3, 1, 1]
    assert counts.sample_totals.tolist() == [2, 1, 1]
    assert counts.presence.toarray().tolist() == (DENSE > 0).astype(int).tolist()
    assert counts.has_repeats
    assert not LabelCounts(DENSE > 0).has_repeats


@given(count_matrices())
def test_label_sets_match_naive(dense):
    """The distinct rows, their order and multiplicity are those of a dictionary of rows."""
    first, number = naive.distinct_rows(dense)
    sets = LabelCounts(dense).label_sets
    assert sets.counts.toarray().tolist() == dense[first].tolist()
    assert sets.set_of_sample.tolist() == number
    assert sets.multiplicity.tolist() == np.bincount(number).tolist()


@given(count_matrices())
def test_pairs_match_naive(dense):
    """The pairs are those of itertools.combinations, each with the samples that carry it."""
    counts = LabelCounts(dense)
    pairs, expected = counts.pairs, naive.label_pairs(dense)
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == list(expected)
    assert pairs.totals.tolist() == [len(samples) for samples in expected.values()]
    carried = [[] for _ in expected]
    for sample, row in enumerate(counts.label_sets.set_of_sample):
        for pair in pairs.indices[pairs.indptr[row] : pairs.indptr[row + 1]]:
            carried[pair].append(sample)
    assert carried == list(expected.values())
    assert len(pairs) == len(expected)


def test_caller_keeps_its_data():
    """The counts are a copy: neither side sees what the other does later, and the arrays are read-only."""
    dense, sparse, ids = DENSE.copy(), sp.csr_array(DENSE.astype(np.int32)), np.array([7, 8, 9])
    from_dense, from_sparse = LabelCounts(dense, ids=ids), LabelCounts(sparse)
    dense[:], ids[:] = 5, 0
    sparse.data[:] = 5
    assert from_dense.matrix.toarray().tolist() == DENSE.tolist() == from_sparse.matrix.toarray().tolist()
    assert from_dense.ids.tolist() == [7, 8, 9]
    frozen = [from_dense.matrix.data, from_dense.matrix.indices, from_dense.matrix.indptr, from_dense.ids]
    frozen += [from_dense.totals, from_dense.presence.data, from_dense.label_sets.set_of_sample]
    for array in frozen:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_unsorted_sparse_input_stays_unsorted():
    """Sorting the indices happens in the copy, not in the caller's matrix."""
    source = sp.csr_array((np.array([1, 2]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert LabelCounts(source).matrix.indices.tolist() == [0, 2]
    assert source.indices.tolist() == [2, 0]


def test_ids_keep_their_type():
    """Integer ids stay integers, strings stay strings, and 1 is not "1"."""
    assert LabelCounts(DENSE).ids.tolist() == [0, 1, 2]
    assert LabelCounts(DENSE, ids=[30, 10, 20]).ids.tolist() == [30, 10, 20]
    assert LabelCounts(DENSE, ids=["1", 1, np.int64(2)]).ids.tolist() == ["1", 1, 2]
    assert LabelCounts(DENSE, ids=(f"{i}.jpg" for i in range(3))).ids.tolist() == ["0.jpg", "1.jpg", "2.jpg"]


def test_labels_may_be_absent():
    """A data set without label columns is legal."""
    counts = LabelCounts(np.zeros((4, 0)))
    assert counts.n_labels == 0
    assert len(counts.pairs) == 0
    assert counts.label_sets.multiplicity.tolist() == [4]


def test_pass_through():
    """A LabelCounts is used as it is; anything else is counted."""
    counts = LabelCounts(DENSE)
    assert as_label_counts(counts) is counts
    assert as_label_counts(DENSE.tolist()).totals.tolist() == [3, 1, 1]


def test_repr_says_what_it_holds():
    """The representation gives the size without the data."""
    assert repr(LabelCounts(DENSE)) == "LabelCounts(3 samples, 3 labels, 5 instances)"


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[0, 1], [np.nan, 1]], r"counts\[1, 0\] is nan.*1 such values"),
        ([[0, np.inf]], r"counts\[0, 1\] is inf"),
        ([[0, -1], [-2, 1]], r"counts\[0, 1\] is -1.*2 such values"),
        ([[0.5, 1]], r"counts\[0, 0\] is 0.5; counts are non-negative integers.*astype\(int\)"),
        (sp.csr_array([[0.0, 0.0], [0.0, 0.25]]), r"counts\[1, 1\] is 0.25"),
        (sp.coo_array([[0, 0], [0, -3]]), r"counts\[1, 1\] is -3"),
        ([[2**31, 0]], r"counts\[0, 0\] is 2147483648; .* below 2\*\*31"),
        (np.array([[2**63 + 1]], dtype=np.uint64), r"counts\[0, 0\] is 9223372036854775809"),
        (sp.coo_array(([2**30, 2**30], ([0, 0], [0, 0])), shape=(1, 1)), r"counts\[0, 0\] is 2147483648"),
        (sp.csr_array(([2**30, 2**30], [0, 0], [0, 2]), shape=(1, 1)), "counts holds 2147483648"),
        (np.zeros((0, 3)), "counts is empty: there is no sample to split"),
        ([1, 2, 3], r"counts has 1 dimension\(s\); expected 2"),
        (sp.coo_array(np.array([1, 2])), r"counts has 1 dimension\(s\); expected 2"),
        ([[1, 2], [3]], "counts is ragged.*LabelCounts.from_lists"),
        ([["cat"], ["dog"]], "expected numbers; for lists of labels use LabelCounts.from_lists"),
        ([[1, None]], r"counts\[0, 1\] is nan"),
        (np.array([[1, "cat"]], dtype=object), "something that is no number.*LabelCounts.from_lists"),
        ([[0, 10**400]], "counts holds a number of hundreds of digits; counts are below"),
        (np.array([[1j]]), "counts has dtype complex128"),
        (sp.csr_array(np.array([[1j]])), "counts has dtype complex128; expected non-negative integers"),
        (LabelCounts([[1]]), "a LabelCounts already"),
    ],
)
def test_bad_counts(counts, message):
    """What is not a matrix of counts is refused, with the value and its place."""
    with pytest.raises(EvoSplitError, match=message):
        LabelCounts(counts)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2], "2 ids for 3 samples; pass one id per row"),
        (["a", "b", "a"], "id 'a' occurs more than once.*ids must be unique"),
        ([1, "x", 1], "id 1 occurs more than once"),
        ([1, 2, None], "id None of sample 2 is neither a string nor an integer"),
        ([1.5, 2.5, 3.5], "id 1.5 of sample 0 is neither"),
        ([True, "x", 2], "id True of sample 0 is neither"),
        (np.zeros((3, 2)), r"id array\(\[ *0.?, +0.?\]\) of sample 0 is neither"),  # as others made numpy print
        ([(1, 2), (3, 4), (5, 6)], r"id \(1, 2\) of sample 0 is neither"),
    ],
)
def test_bad_ids(ids, message):
    """Ids must be as many as the samples, unique, integers or strings."""
    with pytest.raises(EvoSplitError, match=message):
        LabelCounts(DENSE, ids=ids)


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ([1], r"copies= has shape \(1,\) for 2 rows; pass one number per row"),
        ([1, 0], r"copies\[1\] is 0; a row stands for at least one sample.*leave out rows that stand for none"),
        ([1, -3], r"copies\[1\] is -3"),
        ([1.5, 2], r"copies\[0\] is 1.5"),
        ([np.nan, 2], r"copies\[0\] is nan"),
        (["1", "2"], "copies= has dtype <U1; pass positive integers"),
        ([2**60, 1], r"copies\[0\] is 1152921504606846976"),
        ([2**52, 1], "copies= make 4.5e.15 samples, more than the 4,503,599,627,370,496 that can be counted"),
        ([2**51, 1], "copies= make 6.76e.15 instances"),
    ],
)
def test_bad_copies(copies, message):
    """Copies that are no positive whole numbers, or make more than can be counted exactly, are refused."""
    with pytest.raises(EvoSplitError, match=message):
        LabelCounts([[1, 2], [0, 0]], copies=copies)


def test_copies():
    """A row counts as often as it has copies; without any, or with one each, rows are samples."""
    counts = LabelCounts.from_lists([["a", "a"], ["b"], []], copies=[2, 5, 3])
    assert (counts.n_samples, counts.n_rows, len(counts)) == (10, 3, 3)
    assert counts.has_copies
    assert counts.copies.tolist() == [2, 5, 3]
    assert counts.totals.tolist() == [4, 5]
    assert counts.sample_totals.tolist() == [2, 5]
    with pytest.raises(ValueError, match="read-only"):
        counts.copies[0] = 1
    for plain in (LabelCounts([[1], [0]]), LabelCounts([[1], [0]], copies=[1.0, 1.0])):
        assert not plain.has_copies
        assert plain.copies.tolist() == [1, 1]
        assert repr(plain) == "LabelCounts(2 samples, 1 labels, 1 instances)"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "1 label names for 3 labels"),
        (["a", "b", "a"], "label name 'a' occurs more than once"),
        (["1", 1, 2], "label name '1' occurs more than once"),
    ],
)
def test_bad_labels(labels, message):
    """Label names must be as many as the columns, and unique."""
    with pytest.raises(EvoSplitError, match=message):
        LabelCounts(DENSE, labels=labels)


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        ("cat", {}, "lists is the string 'cat'; pass one list of labels per sample"),
        ([["a"], "cat"], {}, r"sample 1 has the string 'cat'.*write \['cat'\]"),
        ([["a"], [1.5]], {}, "sample 1 has the label 1.5; labels are strings or integers"),
        ([["a"], [True]], {}, "sample 1 has the label True"),
        ([["a", "b"], ["c"]], {"labels": ["b"]}, "2 labels occur in the lists but not in labels=.*is 'a'"),
        ([], {}, "counts is empty"),
    ],
)
def test_bad_lists(lists, options, message):
    """Lists of labels that are none are refused, with the sample."""
    with pytest.raises(EvoSplitError, match=message):
        LabelCounts.from_lists(lists, **options)

"""Data sets, dicts of them and streams are read alike, and what cannot be read is named."""

from __future__ import annotations

import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Image, IterableDataset, Value
from datasets.search import BaseIndex
from hf_data import KINDS, LABELLED, NAMES, as_lists, dataset, stream

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_hf
from evosplit_plugins.hf import read_counts


def test_splits_whose_labels_are_all_null_can_be_merged():
    """An unlabelled test split, as the hub has them, takes part without labels."""
    parts = DatasetDict(
        {"train": Dataset.from_dict({"label": ["x", "y"]}), "test": Dataset.from_dict({"label": [None]})}
    )
    assert as_lists(read_counts(parts)) == [["x"], ["y"], []]


def test_a_stream_without_features_and_with_text_keys():
    """A plain generator works, whatever else it yields, also when its first rows show no label."""

    def rows():
        for i in range(2500):
            yield {"name": f"{i}.jpg", "labels": [] if i < 1500 else ["x"] * (i % 3), "image": object()}

    ds = IterableDataset.from_generator(rows)
    counts = read_counts(ds, label_column="labels", key="name")
    assert dict(zip(counts.ids.tolist(), as_lists(counts), strict=True)) == {
        row["name"]: row["labels"] for row in rows()
    }
    splits = evosplit_hf(ds, (2000, 500), label_column="labels", key="name", method="random")
    assert sum(1 for _ in splits["test"]) == 500


def test_a_stream_counts_without_decoding_and_keeps_labels_with_their_key():
    """Counting reads the label and key columns only."""
    undecodable = stream().cast_column("image", Image())
    counts = read_counts(undecodable, key="id")
    assert counts.ids.tolist() == list(range(100, 130))
    assert as_lists(counts) == [[NAMES[i % 3]] * (i % 4) for i in range(30)]


def _with_index():
    ds = Dataset.from_dict({"labels": [["x"], ["y"]], "vector": [[0.0], [1.0]]})
    ds._indexes["vector"] = BaseIndex()  # what add_faiss_index stores, without faiss
    return ds


def _mixed_rows():
    for i in range(2000):
        yield {"id": i, "labels": [1] if i < 1000 else ["x"]}


HALVES = (0.5, 0.5)


BAD_INPUT = {
    "an empty data set": (lambda: evosplit_hf(LABELLED.select([]), HALVES), "no rows"),
    "an empty dict": (lambda: evosplit_hf(DatasetDict(), HALVES), "no split"),
    "an empty stream": (
        lambda: evosplit_hf(IterableDataset.from_generator(lambda: iter(())), HALVES, key="id"),
        "the stream has no rows",
    ),
    "an emptied stream": (
        lambda: evosplit_hf(stream().take(0), HALVES, key="id"),
        "the stream has no rows",
    ),
    "a list": (lambda: evosplit_hf([["x"]], HALVES), "ds is a list; pass a Dataset"),
    "a search index": (
        lambda: evosplit_hf(_with_index(), HALVES),
        r"search index 'vector'.*drop_index\('vector'\)",
    ),
    "a search index in a dict": (
        lambda: evosplit_hf(DatasetDict({"train": _with_index()}), HALVES),
        r"split 'train' of the data set has the search index",
    ),
    "a column that one split lacks": (
        lambda: evosplit_hf(DatasetDict({"a": LABELLED, "b": LABELLED.remove_columns("score")}), HALVES),
        "'a' and 'b' differ in the columns 'score'",
    ),
    "another type in one split": (
        lambda: evosplit_hf(DatasetDict({"a": LABELLED, "b": LABELLED.cast_column("score", Value("string"))}), HALVES),
        r"'a' has score \(double\), 'b' has score \(string\); cast one",
    ),
    "a field that one split lacks": (
        lambda: evosplit_hf(
            DatasetDict({"a": Dataset.from_dict({"o": [{"x": 1, "y": 1}]}), "b": Dataset.from_dict({"o": [{"x": 1}]})}),
            HALVES,
        ),
        r"'a' has o\.y \(int64\), 'b' has no o\.y",
    ),
    "differing ClassLabel names": (
        lambda: evosplit_hf(
            DatasetDict(
                {
                    "train": dataset("label", [0], KINDS),
                    "test": dataset("label", [0], ClassLabel(names=["cow", "bee", "ant"])),
                }
            ),
            HALVES,
        ),
        r"names of 'label' differ: 'train' has 'ant', 'bee', 'cow', 'test' has 'cow', 'bee', 'ant'",
    ),
    "a stream without key": (
        lambda: evosplit_hf(stream(), HALVES),
        "needs key=.*no numbers that stay the same",
    ),
    "an unknown key": (
        lambda: evosplit_hf(LABELLED, HALVES, key="name"),
        "no column 'name' for key=; it has: labels, score, id",
    ),
    "a key of floats": (lambda: read_counts(LABELLED, key="score"), r"key='score' is score \(double\)"),
    "a null key": (lambda: read_counts(LABELLED, key="id"), r"key='id' is null in row 2 \(1 such rows\)"),
    "a repeated key": (
        lambda: read_counts(LABELLED.select([0, 1]), key="id"),
        r"key='id' holds 1 more than once \(1 repetitions\)",
    ),
    "a stream of mixed types": (
        lambda: read_counts(IterableDataset.from_generator(_mixed_rows), label_column="labels", key="id"),
        "rows of the stream have different types",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_named_with_its_place_and_remedy(call, message):
    """Each mistake gives an EvoSplitError that says what to do."""
    with pytest.raises(EvoSplitError, match=message):
        call()

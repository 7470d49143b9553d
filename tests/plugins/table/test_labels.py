"""Every form of labels is read alike."""

from __future__ import annotations

import json

import pytest
from table_rows import LISTS, ROW_IDS, label_counts, matrix

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from evosplit_plugins.table import read_counts  # noqa: E402


def test_list():
    """A list, repeats kept; nulls are no labels."""
    lists = [None if each is None else [*each, None] for each in LISTS]
    counts = read_counts(pa.table({"id": ROW_IDS, "labels": pa.array(lists, pa.list_(pa.string()))}))
    assert matrix(counts) == label_counts()


def test_structs():
    """A field of the structs in a list."""
    boxes = [None if each is None else [{"label": label, "box": [0.5]} for label in each] for each in LISTS]
    made = pa.table({"id": ROW_IDS, "annotations": boxes})
    assert matrix(read_counts(made, label_column="annotations.label")) == label_counts()
    with pytest.raises(EvoSplitError, match=r"say which field is the label: 'annotations.label'"):
        read_counts(made, label_column="annotations")


def test_delimited():
    """A text with a delimiter, with blanks around it."""
    texts = [None if each is None else " ; ".join(each) for each in LISTS]
    made = pa.table({"id": ROW_IDS, "labels": texts})
    assert matrix(read_counts(made, delimiter=";")) == label_counts()


def test_json():
    """Texts that are lists in JSON are recognised."""
    texts = [None if each is None else json.dumps(each) for each in LISTS]
    assert matrix(read_counts(pa.table({"id": ROW_IDS, "labels": texts}))) == label_counts()
    blank = pa.table({"id": ["a", "b", "c"], "labels": ["", " ", '["cat"]']})
    assert matrix(read_counts(blank)) == {"a": {}, "b": {}, "c": {"cat": 1}}


def test_broken_json():
    """A text that only looks like a list is refused, unless each is said to be one label."""
    made = pa.table({"id": ["a", "b"], "labels": ['["cat"x]', '["cat"]']})
    with pytest.raises(EvoSplitError, match=r"holds 1 texts that are no JSON lists of labels, for example '\["):
        read_counts(made)
    assert read_counts(made, delimiter="").labels == ('["cat"]', '["cat"x]')


def test_integers():
    """One integer is one label."""
    counts = read_counts(pa.table({"id": [3, 1], "label": [10, 2]}))
    assert matrix(counts) == {1: {"2": 1}, 3: {"10": 1}}


@pytest.mark.parametrize("kind", ["integer", "boolean", "text"])
def test_columns(kind):
    """A column of counts, of booleans, or of their texts, for each label."""
    cat, dog = [2, 0, None], [1, 1, 0]
    if kind == "boolean":
        cat, dog = [True, False, None], [True, True, False]
    if kind == "text":
        cat, dog = ["2", "0", ""], ["1", "1", "0"]
    counts = read_counts(pa.table({"id": ["a", "b", "c"], "cat": cat, "dog": dog}), label_column=["cat", "dog"])
    assert matrix(counts) == {"a": {"cat": 1 if kind == "boolean" else 2, "dog": 1}, "b": {"dog": 1}, "c": {}}


@pytest.mark.parametrize("histogram", [False, True])
def test_large_counts(histogram):
    """Counts may be large, whole floats and their texts; labels that never occur are none."""
    columns = {"id": ["a", "b"], "x": [300_000, 1], "never": [0, None], "y": [2.0, 0.0], "z": ["1.0", " "]}
    counts = read_counts(pa.table(columns), label_column=["x", "never", "y", "z"], histogram=histogram)
    assert counts.labels == ("x", "y", "z")
    assert sorted(counts.matrix.toarray().tolist()) == [[1, 0, 0], [300_000, 2, 1]]


@pytest.mark.parametrize("sign", [",", ";", "|"])
def test_no_guessing(sign):
    """Whether a sign separates labels or belongs to one is never guessed."""
    made = pa.table({"id": ["a", "b"], "labels": ["cat", f"New York{sign} NY"]})
    with pytest.raises(EvoSplitError, match=r"in 1 cells, for example 'New York. NY'; say whether"):
        read_counts(made)
    assert read_counts(made, delimiter="").labels == (f"New York{sign} NY", "cat")
    assert len(read_counts(made, delimiter=sign).labels) == 3

"""The column with the labels is found, or what could be it is named."""

from __future__ import annotations

import pytest
from datasets import Dataset, Features, Image, Sequence, Value
from hf_data import KINDS, LABELLED

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_hf
from evosplit_plugins.hf import read_counts

FOUND = {
    "objects.category": Features(
        {"id": Value("int64"), "objects": Sequence({"category": KINDS, "id": Value("int64")})}
    ),
    "objects.label": Features({"objects": [{"label": Value("int64"), "bbox": Sequence(Value("float32"))}]}),
    "emotions": Features({"text": Value("string"), "emotions": Sequence(KINDS)}),
    "labels": Features({"text": Value("string"), "labels": Sequence(Value("string"))}),
    "label": Features({"image": Image(), "label": KINDS, "name": Value("string")}),
    "species": Features({"image": Image(), "species": KINDS}),
}


@pytest.mark.parametrize(("path", "features"), FOUND.items(), ids=FOUND.keys())
def test_the_label_column_is_found_and_named_in_the_report(path, features):
    """Without label_column the usual columns are found, and the report tells which one."""
    values = {"emotions": [0], "labels": ["x"], "label": 0, "species": 1}
    if "id" in features:
        values["objects"] = {"category": [0], "id": [1]}
    else:
        values["objects"] = [{"label": 0, "bbox": [0.0]}]
    ds = Dataset.from_list([{name: values.get(name) for name in features}] * 4, features=features)
    _, split = evosplit_hf(ds, (0.5, 0.5), method="random", return_split=True)
    assert split.source["reading"]["label_column"] == path
    assert f"column {path} (" in str(split.report())


def test_an_ambiguous_data_set_lists_the_candidates_and_the_call():
    """Two columns that could hold labels are never guessed between."""
    features = Features({"objects": Sequence({"category": KINDS}), "label": KINDS, "fine": KINDS})
    ds = Dataset.from_list([{"objects": {"category": [0]}, "label": 1, "fine": 2}], features=features)
    with pytest.raises(
        EvoSplitError, match=r"2 columns.*objects\.category.*label \(ClassLabel\).*label_column='objects"
    ):
        read_counts(ds)


HALVES = (0.5, 0.5)


BAD_INPUT = {
    "no label column": (
        lambda: evosplit_hf(Dataset.from_dict({"text": ["a"]}), HALVES),
        r"no column looks like labels among text \(string\); name it with label_column=",
    ),
    "floats called labels": (
        lambda: evosplit_hf(Dataset.from_dict({"labels": [[1.0, 0.0]]}), HALVES),
        "if 'labels' is multi-hot, pass multi_hot=True",
    ),
    "unknown path": (
        lambda: evosplit_hf(LABELLED, HALVES, label_column="labelz"),
        r"label_column='labelz' is no column .*\(did you mean 'labels'\?\); it has: labels \(list of string\), score",
    ),
    "unknown field": (
        lambda: read_counts(Dataset.from_dict({"o": [{"category": [1]}]}), label_column="o.label"),
        r"label_column='o\.label' is no column.*o\.category \(list of int64\)",
    ),
    "a struct": (
        lambda: read_counts(Dataset.from_dict({"o": [{"category": [1], "area": [1.0]}]}), label_column="o"),
        r"'o' has several fields; name the one(?=.*o\.category \(list of int64\)).*o\.area",  # in Arrow's order
    ),
    "no columns": (lambda: read_counts(LABELLED, label_column=[]), r"label_column=\[\] names nothing"),
    "a column twice": (lambda: read_counts(LABELLED, label_column=["labels", "labels"]), "repeats a name"),
}


@pytest.mark.parametrize(("call", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_named_with_its_place_and_remedy(call, message):
    """Each mistake gives an EvoSplitError that says what to do."""
    with pytest.raises(EvoSplitError, match=message):
        call()

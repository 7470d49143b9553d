"""What a source of rows knows beside labels: files, pictures, ids of saved splits, and what tells rows apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from datasets import Dataset, DatasetDict, Features, Image, Sequence, Value

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins import evosplit_hf
from evosplit_plugins.hf import apply_split, audit
from evosplit_plugins.hf.adapter import HfReading
from evosplit_plugins.hf.reading import read_dataset, read_divided

RATIOS = {"train": 0.5, "test": 0.5}
N = 20
ROBOFLOW = "{}_jpg.rf.{:032x}.jpg"


@pytest.mark.parametrize("column", ["file_name", "image"])
def test_copies_of_a_picture_stay_together(column):
    """Paths are known from a column of names, or from the pictures themselves; the option lets copies part."""
    files = [f"{i}.jpg" for i in range(N)] + [f"./{i}.jpg" if i % 2 else ROBOFLOW.format(i, i) for i in range(N)]
    labels = [[i % 3] for i in range(2 * N)]
    if column == "image":  # bytes with the name that they had: equal names of other sizes are other pictures
        cells = [{"bytes": b"x" * (1 + i % N), "path": name} for i, name in enumerate(files)]
        features = Features({"image": Image(), "labels": Sequence(Value("int64"))})
        ds = Dataset.from_dict({"image": cells, "labels": labels}, features=features)
    else:
        ds = Dataset.from_dict({"file_name": files, "labels": labels})
    number = {name: i % N for i, name in enumerate(files)}
    options = {"label_column": "labels", "effort": "fast", "return_split": True}
    _, split = evosplit_hf(ds.shuffle(seed=1), RATIOS, **options)
    subsets = [set() for _ in range(N)]
    for name, j in zip(split.file_names, split.assignment.tolist(), strict=True):
        subsets[number[name]].add(j)
    assert all(len(each) == 1 for each in subsets)
    assert "40 rows are copies of 20 pictures, by file name; they stay together." in split.notes
    _, split = evosplit_hf(ds, RATIOS, group_copies=False, **options)
    assert split.constraints is None
    assert split.settings["group_copies"] is False


def test_pictures_of_one_name_inside_a_data_set():
    """A picture inside a data set keeps the last part of its path alone: with another size it is another picture."""
    cells = [{"bytes": b"x" * size, "path": "0.jpg"} for size in (1, 2, 2)]
    ds = Dataset.from_dict({"image": cells}, features=Features({"image": Image()}))
    one, two, three = read_dataset(ds, HfReading(), read_labels=False).pictures
    assert one != two == three


def test_files_of_the_first_column_that_has_some():
    """Of several columns with pictures the first that knows a path; none where all are without."""
    features = Features({"mask": Image(), "image": Image()})
    bare, named = {"bytes": b"x", "path": None}, {"bytes": b"x", "path": "a.jpg"}
    for cell, expected in ((named, ["a.jpg"]), (bare, None)):
        ds = Dataset.from_dict({"mask": [bare], "image": [cell]}, features=features)
        assert read_dataset(ds, HfReading(), read_labels=False).files == expected


def test_a_stream_knows_no_files():
    """They would cost a column of every row; patterns for file names are refused."""
    ds = Dataset.from_dict({"id": [1, 2, 3, 4], "file_name": ["a", "b", "c", "d"], "label": [0, 1, 0, 1]})
    with pytest.raises(EvoSplitError, match=r"group_regex='\.' looks into file names, but the samples have none"):
        evosplit_hf(ds.to_iterable_dataset(), RATIOS, key="id", group_regex=".")


@pytest.mark.parametrize("adapter", ["hf", "coco"])
def test_row_numbers_are_ids_of_our_own_splits_only(adapter):
    """0, 1, 2, 3 of another adapter are its ids, which a column may hold; ours are rows."""
    counts = LabelCounts(np.eye(4, dtype=int), ids=range(4))
    split = replace(evosplit.split(counts, {"train": 3, "test": 1}, method="random"), source={"adapter": adapter})
    ds = Dataset.from_dict({"image_id": [3, 2, 1, 0]})
    (test,) = apply_split(ds, split)["test"]["image_id"]
    (row,) = split.ids("test").tolist()
    assert test == (3 - row if adapter == "hf" else row)


def data_set(numbers, **more):
    """Make a data set of labels and ids."""
    rng = np.random.default_rng(len(numbers))
    names = np.array(["cat", "dog", "fox"])
    labels = [names[rng.random(3) < 0.4].tolist() for _ in numbers]
    return Dataset.from_dict({"labels": labels, "image_id": list(numbers), **more})


def test_an_audit_finds_shared_ids_and_groups():
    """Rows are told apart by their ids, which is said; groups come from a column."""
    splits = DatasetDict(
        {
            "train": data_set(range(40), patient=[i // 4 for i in range(40)]),
            "test": data_set(range(38, 58), patient=[i // 4 for i in range(38, 58)]),
        }
    )
    judged = audit(splits, group_by="patient", compare=False)
    assert judged.split.sizes == (40, 20)
    assert judged.failures() == [
        "train and test share 2 image_ids: 38, 39.",
        "train and test share 1 group (6 samples): 9.",
    ]
    assert "Rows are told apart by column 'image_id'." in judged.split.notes
    assert judged.split.source["reading"] == {"label_column": "labels"}
    with pytest.raises(EvoSplitError, match="no column 'nope' for key="):
        audit(splits, key="nope")
    with pytest.raises(EvoSplitError, match=r"key='labels' is labels \(list of string\)"):
        audit(splits, key="labels")
    with pytest.raises(EvoSplitError, match="pass a DatasetDict with two or more"):
        audit(splits["train"])


def test_numbers_that_start_anew_are_no_leak():
    """Ids that number the rows of each split say nothing; a column named by the user is taken at its word."""
    splits = DatasetDict({"train": data_set(range(20)), "test": data_set(range(10))})
    assert read_divided(splits, HfReading()).shared_keys() == {}
    assert audit(splits, key="image_id", compare=False).leaks[0].n_shared == 10
    named = DatasetDict(
        {
            "train": data_set(range(20), file_name=[f"{i}.jpg" for i in range(20)]),
            "test": data_set(range(10), file_name=[f"{i}.jpg" for i in range(19, 29)]),
        }
    )
    (leak,) = audit(named, compare=False).leaks
    assert str(leak) == "train and test share 1 file_name: 19.jpg."


def test_an_audit_compares_pictures():
    """`same_bytes` compares what the picture columns hold, without decoding; no pictures, no comparison."""

    def part(colours):
        features = Features({"labels": Sequence(Value("string")), "image": Image()})
        cells = [{"bytes": bytes([colour]) * 10, "path": None} for colour in colours]
        return data_set(colours).remove_columns(["image_id"]).add_column("image", cells).cast(features)

    splits = DatasetDict({"train": part([1, 2, 3, 4]), "test": part([5, 2])})
    (leak,) = audit(splits, same_bytes=True, compare=False).leaks
    assert str(leak) == "train and test share 1 identical file: train[1]."
    source = read_divided(splits, HfReading())
    assert source.contents() == [None, "train[1]", None, None, None, "train[1]"]
    bare = DatasetDict({"train": data_set(range(4)), "test": data_set(range(4, 6))})
    with pytest.raises(EvoSplitError, match="same_bytes=True compares pictures, but no column holds any"):
        audit(bare, same_bytes=True)

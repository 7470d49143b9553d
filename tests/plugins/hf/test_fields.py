"""Groups, locks and strata that columns of a data set name, on the real `datasets` library."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import (
    Dataset,
    DatasetDict,
    Features,
    Image,
    IterableDataset,
    IterableDatasetDict,
    Sequence,
    Value,
)
from hf_data import KINDS, NO_IMAGE

from evosplit import EvoSplitError, EvoSplitWarning, Split
from evosplit_plugins import evosplit_hf
from evosplit_plugins.hf import apply_split
from evosplit_plugins.hf.adapter import HfReading
from evosplit_plugins.hf.reading import read_dataset

RATIOS = {"train": 0.6, "validation": 0.2, "test": 0.2}
QUICK = {"effort": "fast", "label_column": "objects.category"}
FEATURES = Features(
    {
        "image": Image(),
        "id": Value("int64"),
        "name": Value("string"),
        "objects": Sequence({"category": KINDS, "size": Value("string")}),
        "meta": {"patient": Value("string"), "age": Value("float32"), "kind": KINDS},
        "video": Value("int32"),
        "night": Value("bool"),
        "tags": Sequence(Value("string")),
        "boxes": Sequence(Sequence(Value("float32"))),
    }
)


def rows(n: int = 60, seed: int = 0, first: int = 0) -> Dataset:
    """Make frames of videos of four, with patients, ages and tags, and pictures that cannot be decoded."""
    rng = np.random.default_rng(seed)
    numbers = range(first, first + n)
    found = [rng.integers(0, 3, rng.integers(0, 5)).tolist() for _ in numbers]
    return Dataset.from_dict(
        {
            "image": [NO_IMAGE] * n,
            "id": [1000 + number for number in numbers],
            "name": [f"row {number}" for number in numbers],
            "objects": [{"category": row, "size": ["large" if x else "small" for x in row]} for row in found],
            "meta": [
                {"patient": f"p{number // 3}", "age": float(rng.normal(50, 9)), "kind": number % 3}
                for number in numbers
            ],
            "video": [number // 4 for number in numbers],
            "night": [number % 2 == 0 for number in numbers],
            "tags": [["x", "y"][: number % 3] for number in numbers],
            "boxes": [[[1.0, 2.0]]] * n,
        },
        features=FEATURES,
    )


def column_groups(ds, column):
    """Give what names the group of each row."""
    return list(read_dataset(ds, HfReading(), read_labels=False).fields(groups=[column], strata=[]).groups[column])


def values(ds, column):
    """Read a column, dotted for a field, and no other."""
    name, _, field = column.partition(".")
    found = ds.select_columns(name)[name][:]
    return [value[field] for value in found] if field else found


def subsets_of(splits: DatasetDict, column: str) -> dict:
    """Map each value of a column to the names of the subsets that hold it."""
    found: dict = {}
    for name, part in splits.items():
        for value in values(part, column):
            found.setdefault(value, set()).add(name)
    return found


@pytest.mark.parametrize("column", ["video", "meta.patient"])
@pytest.mark.parametrize("view", [lambda ds: ds, lambda ds: ds.shuffle(seed=3), lambda ds: ds.select(range(9, 51))])
def test_groups_stay_whole(column, view):
    """No video and no patient crosses subsets, whatever rows the data set shows, and sizes are exact."""
    ds = view(rows())
    splits = evosplit_hf(ds, RATIOS, group_by=column, **QUICK)
    assert all(len(names) == 1 for names in subsets_of(splits, column).values())
    assert sum(map(len, splits.values())) == len(ds)


def test_rows_without_a_group_are_on_their_own_and_counted():
    """Null is no group, and the report says how many rows have none."""
    ds = rows().map(lambda row, at: {"video": None if at in (5, 6, 7) else row["video"]}, with_indices=True)
    assert column_groups(ds, "video")[4:9] == [1, None, None, None, 2]
    _, split = evosplit_hf(ds, RATIOS, group_by="video", return_split=True, **QUICK)
    assert "3 rows have no 'video', so each is a group of its own." in split.notes
    groups = split.constraints.groups
    assert groups.sizes[groups.code_of_sample[[5, 6, 7]]].tolist() == [1, 1, 1]


def test_class_labels_and_booleans_name_groups():
    """A ClassLabel names groups by its names, with -1 for none; a boolean makes two groups."""
    ds = Dataset.from_dict({"kind": [0, 2, -1, None]}, features=Features({"kind": KINDS}))
    assert column_groups(ds, "kind") == ["ant", "cow", None, None]
    assert column_groups(rows(4), "night") == [True, False, True, False]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (lambda ds: [3, 17, 40], None),
        (lambda ds: np.array([3, 17, 40]), None),
        (lambda ds: [1003, 1017, 1040], "id"),
        (lambda ds: ["row 3", "row 17", "row 40"], "name"),
        (lambda ds: ds.select([40, 3, 17]), "id"),
        (lambda ds: ds.select([40, 3, 17]).to_iterable_dataset(), "id"),
    ],
)
def test_locked_rows_stay(given, key):
    """Row numbers, ids and data sets all lock the same rows, and the sizes are those of the whole."""
    ds = rows()
    splits = evosplit_hf(ds, RATIOS, locked={"test": given(ds)}, key=key, **QUICK)
    assert {1003, 1017, 1040} <= set(values(splits["test"], "id"))
    assert [len(part) for part in splits.values()] == [36, 12, 12]


def test_splits_of_a_dataset_dict_stay():
    """`locked` keeps the rows of a split where they are; the other splits are divided anew."""
    parts = DatasetDict({"train": rows(50), "test": rows(10, 1, 500)})
    splits, split = evosplit_hf(parts, RATIOS, locked=["test"], return_split=True, **QUICK)
    assert set(range(1500, 1510)) <= set(values(splits["test"], "id"))
    assert [len(part) for part in splits.values()] == [36, 12, 12]
    assert split.settings["locked_subsets"] == ["test"]


def test_a_data_set_grows_without_moving_an_old_row():
    """Old splits are locked, new rows are shared out, and everything old is where it was."""
    old = evosplit_hf(rows(50), {"train": 0.8, "test": 0.2}, **QUICK)
    both = DatasetDict({**old, "new": rows(50, 1, 500)})
    grown = evosplit_hf(both, {"train": 0.8, "test": 0.2}, locked=["train", "test"], key="id", **QUICK)
    for name, part in old.items():
        assert set(values(part, "id")) <= set(values(grown[name], "id"))
    assert [len(part) for part in grown.values()] == [80, 20]


def test_locks_by_name_and_by_row_add_up():
    """Splits that stay and rows that stay are locked together."""
    parts = DatasetDict({"train": rows(50), "test": rows(5, 1, 500)})
    splits = evosplit_hf(parts, RATIOS, locked={"test": None, "validation": [2]}, **QUICK)
    assert set(range(1500, 1505)) <= set(values(splits["test"], "id"))
    assert 1002 in values(splits["validation"], "id")


def test_locks_from_files(tmp_path):
    """A list of ids, and the subset of a saved split, lock rows as the ids themselves do."""
    _, old = evosplit_hf(rows(30), {"train": 0.8, "test": 0.2}, key="name", return_split=True, **QUICK)
    old.save(tmp_path / "split.json")
    (tmp_path / "test.txt").write_text("\n".join(old.ids("test")))
    for path in (tmp_path / "split.json", str(tmp_path / "test.txt")):
        splits = evosplit_hf(rows(), RATIOS, locked={"test": path}, key="name", **QUICK)
        assert set(old.ids("test")) <= set(values(splits["test"], "name"))


def test_locks_that_overfill_a_subset_are_told():
    """More locked rows than asked for stay, with a note that says how many."""
    with pytest.warns(EvoSplitWarning, match="20 samples are locked into 'test', 8 more than the 12 asked for"):
        splits = evosplit_hf(rows(), RATIOS, locked={"test": range(20)}, **QUICK)
    assert len(splits["test"]) == 20


def test_strata_of_every_kind():
    """Strings, numbers, booleans, ClassLabel and lists become strata, without decoding a picture."""
    columns = ["night", "meta.age", "meta.kind", "tags", "objects.size"]
    ds = rows(90)
    _, split = evosplit_hf(ds, RATIOS, stratify_by=columns, return_split=True, **QUICK)
    strata = {stratum.name: stratum.counts for stratum in split.constraints.strata}
    assert list(strata) == columns == split.settings["stratify_by"]
    assert strata["meta.kind"].labels == ("ant", "bee", "cow")
    assert strata["meta.age"].n_labels == 5
    assert strata["tags"].matrix.toarray().tolist() == [["x" in tags, "y" in tags] for tags in values(ds, "tags")]
    nights = strata["night"].matrix.toarray()
    for j, size in enumerate(split.sizes):
        assert np.abs(nights[split.assignment == j].sum(axis=0) - size / 2).max() <= 2


def test_strata_of_shuffled_rows_belong_to_their_rows():
    """Under an indices mapping each row keeps its own value."""
    ds = rows().shuffle(seed=5)
    _, split = evosplit_hf(ds, RATIOS, stratify_by=["meta.kind", "tags"], return_split=True, **QUICK)
    kinds, tags = (stratum.counts for stratum in split.constraints.strata)
    assert [kinds.labels[kind] for kind in kinds.matrix.indices] == [
        KINDS.names[kind] for kind in values(ds, "meta.kind")
    ]
    assert tags.matrix.sum(axis=1).tolist() == [len(row) for row in values(ds, "tags")]


def test_streams_respect_everything_by_key():
    """A stream, in any order, keeps groups and locks and balances strata like the data set that it streams."""
    parts = DatasetDict({"train": rows(50).remove_columns("image"), "test": rows(10, 1, 500).remove_columns("image")})
    options = {"group_by": "video", "locked": "test", "stratify_by": ["night", "tags"], "key": "id", **QUICK}
    whole, split = evosplit_hf(parts, RATIOS, return_split=True, **options)
    streams = IterableDatasetDict(
        {name: part.shuffle(seed=2).to_iterable_dataset(3).shuffle(seed=7) for name, part in parts.items()}
    )
    divided, streamed = evosplit_hf(streams, RATIOS, return_split=True, **options)
    assert set(range(1500, 1510)) <= {row["id"] for row in divided["test"]}
    for name, part in divided.items():
        seen = list(part)
        assert len(seen) == len(whole[name])
        videos = {row["video"] for row in seen}
        assert not videos & {row["video"] for other in divided if other != name for row in divided[other]}
    by_id = dict(zip(split.sample_ids.tolist(), split.constraints.strata[0].counts.matrix.indices, strict=True))
    again = dict(zip(streamed.sample_ids.tolist(), streamed.constraints.strata[0].counts.matrix.indices, strict=True))
    assert by_id == again


def test_a_stream_is_read_once():
    """Labels, keys, groups, strata and the splits that stay come from one pass over each stream."""
    read = []

    def generate(numbers):
        for number in numbers:
            read.append(number)
            yield {"id": number, "label": number % 2, "video": number // 4, "night": number % 3 == 0}

    features = Features(
        {"id": Value("int64"), "label": Value("int64"), "video": Value("int64"), "night": Value("bool")}
    )
    parts = {"train": range(40), "test": range(40, 50)}
    streams = IterableDatasetDict(
        {
            name: IterableDataset.from_generator(generate, features=features, gen_kwargs={"numbers": list(numbers)})
            for name, numbers in parts.items()
        }
    )
    options = {"key": "id", "group_by": "video", "stratify_by": "night", "locked": ["test"], "effort": "fast"}
    evosplit_hf(streams, {"train": 0.8, "test": 0.2}, **options)
    assert read == list(range(50))


def test_folds_keep_groups_whole():
    """In every fold of a cross-validation, train and test share no video."""
    for fold in evosplit_hf(rows(), folds=3, group_by="video", **QUICK):
        assert not set(values(fold["train"], "video")) & set(values(fold["test"], "video"))


def test_minimum_and_weights_are_passed_on():
    """`min_per_label` and `label_weights` reach the split and its settings."""
    _, split = evosplit_hf(rows(), RATIOS, min_per_label=3, label_weights={"cow": 2}, return_split=True, **QUICK)
    assert split.settings["min_per_label"] == 3
    assert split.settings["label_weights"] == {"cow": 2.0}


def test_same_seed_same_fingerprints_with_conditions():
    """Groups, locks and strata leave the fingerprints reproducible."""
    options = {"group_by": "video", "locked": {"test": [0]}, "stratify_by": "night", **QUICK}
    prints = [{name: part._fingerprint for name, part in evosplit_hf(rows(), RATIOS, **options).items()} for _ in "ab"]
    assert prints[0] == prints[1]


def test_the_manifest_says_what_was_asked_and_is_replayed(tmp_path):
    """Groups, strata and locks are settings of the split; with its key it divides the same rows again."""
    parts = DatasetDict({"train": rows(50), "test": rows(10, 1, 500)})
    options = {"group_by": "video", "stratify_by": ["night", "tags"], "locked": ["test"], "key": "id", **QUICK}
    made, split = evosplit_hf(parts, RATIOS, return_split=True, **options)
    split.save(tmp_path / "split.json")
    saved = Split.load(tmp_path / "split.json")
    asked = {"group_by": ["video"], "stratify_by": ["night", "tags"], "locked_subsets": ["test"], "ratios": RATIOS}
    assert {name: saved.settings[name] for name in asked} == asked
    assert saved.source == {
        "adapter": "hf",
        "inputs": [],
        "reading": {"key": "id", "label_column": "objects.category"},
    }
    for again in (apply_split(parts, saved), apply_split(DatasetDict(dict(reversed(parts.items()))), saved)):
        assert {name: sorted(values(part, "id")) for name, part in again.items()} == {
            name: sorted(values(part, "id")) for name, part in made.items()
        }


DS = rows()
PARTS = DatasetDict({"train": rows(50), "test": rows(10, 1, 500)})
NULLS = Dataset.from_dict(
    {"label": [0, 1, 0, 1], "site": [None] * 4}, features=Features({"label": KINDS, "site": Value("string")})
)

REFUSED = {
    "no such group": (DS, {"group_by": "vidoe"}, r"group_by='vidoe' is no column .*\(did you mean 'video'\?\)"),
    "a struct of groups": (DS, {"group_by": "meta"}, r"'meta' has several fields; name the one.*meta\.patient"),
    "a list of groups": (DS, {"group_by": "tags"}, r"group_by='tags' is tags \(list of string\); a group is"),
    "a fraction as group": (DS, {"group_by": "meta.age"}, r"meta\.age \(float\); a group is named by one integer"),
    "a picture as group": (DS, {"group_by": "image"}, r"group_by='image' is image \(Image\); a group is"),
    "only nulls": (
        NULLS,
        {"group_by": "site", "label_column": "label"},
        "group_by='site': no sample has a value",
    ),
    "no such stratum": (
        DS,
        {"stratify_by": ["nigth"]},
        r"stratify_by='nigth' is no .*\(did you mean 'night'\?\)",
    ),
    "a stratum of lists of lists": (DS, {"stratify_by": "boxes"}, r"'boxes' is boxes"),
    "a stratum twice": (DS, {"stratify_by": ["video", "video"]}, "repeats a name"),
    "a stratum that never repeats": (DS, {"stratify_by": "name"}, "'name' has 60 different values in 60 samples"),
    "a lock without splits": (
        DS,
        {"locked": ["test"]},
        "'test', which the data set does not have: it is not divided",
    ),
    "a lock of no subset": (
        PARTS,
        {"locked": ["tests"]},
        "locked= names the subset 'tests'; the subsets",
    ),
    "a lock of no split": (PARTS, {"locked": ["validation"]}, "does not have: its subsets are 'train', 'test'"),
    "locked that is a number": (
        DS,
        {"locked": 3},
        r"locked=3 names no subset; pass for example locked=",
    ),
    "locked into no subset": (
        DS,
        {"locked": {"val": [1]}},
        "locked= names the subset 'val'; the subsets",
    ),
    "locked by a file that is not there": (DS, {"locked": {"test": "3"}}, "cannot read '3', which locks samples into"),
    "a locked mask": (DS, {"locked": {"test": np.ones(60, bool)}}, r"is a mask; pass ids, such as numpy\.flatnonzero"),
    "locked rows that are not there": (
        DS,
        {"locked": {"test": [1, 60, 77]}},
        "2 of 3 samples are not in .*: 60, 77",
    ),
    "a locked data set without key": (DS, {"locked": {"test": DS}}, "is a data set; name the column .*key='image_id'"),
    "rows locked twice": (
        DS,
        {"locked": {"test": [1], "train": [1]}},
        r"puts 1 row into two subsets: 1 \(test and",
    ),
    "a group locked twice": (
        DS,
        {"locked": {"test": [0], "train": [1]}, "group_by": "video"},
        r"1 group is locked into more than one subset \(0; the first into 'train' and 'test'\)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictions_are_refused_with_the_offender(case):
    """Each is named with its place and the remedy, before the search."""
    ds, options, message = REFUSED[case]
    with pytest.raises(EvoSplitError, match=message):
        evosplit_hf(ds, RATIOS, **{**QUICK, **options})


@pytest.mark.parametrize(
    ("column", "values", "found"),
    [
        ("image_id", ["a.jpg", "b.JPEG"], ["a.jpg", "b.JPEG"]),
        ("id", ["a/1.png", "b/1.png"], ["a/1.png", "b/1.png"]),
        ("id", ["a.jpg", "b"], None),
        ("id", ["a.jpg", None], None),
        ("id", [".jpg", "a.jpg"], None),
        ("id", [1, 2], None),
        ("caption", ["a.jpg", "b.jpg"], None),
    ],
)
def test_ids_that_are_names_of_images(column, values, found):
    """They are files: other adapters find the samples by them, and copies of one stay together."""
    ds = Dataset.from_dict({column: values, "labels": [[0], [1]]})
    files = read_dataset(ds, HfReading(label_column="labels")).files
    assert (None if files is None else list(files)) == found


def test_names_in_ids_are_saved():
    """A split of such rows is replayed on data that know files alone."""
    ds = Dataset.from_dict({"image_id": ["b.jpg", "./b.jpg", "a.jpg", "c.jpg"], "labels": [[0], [1], [0], [1]]})
    made = evosplit_hf(ds, (2, 2), label_column="labels", method="evosplit", effort="fast", return_split=True)[1]
    assert made.file_names == ("b.jpg", "./b.jpg", "a.jpg", "c.jpg")
    assert made.assignment[0] == made.assignment[1]

"""The manifest: its schema, what is refused when it is read, and how data that was not split is told apart."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit._version import ENGINE_VERSION
from evosplit.manifest import difference_of_ids, ids_hash, manifest_schema

COUNTS = LabelCounts(np.tile([[1, 0], [0, 2], [1, 1]], (4, 1)), ids=[f"{i}.jpg" for i in range(12)])


def checked(manifest):
    """Validate a manifest against the schema, as it is in a file."""
    manifest = json.loads(json.dumps(manifest))
    jsonschema.Draft202012Validator(manifest_schema()).validate(manifest)
    return manifest


def test_schema_is_a_schema():
    """The schema is valid itself and describes each of its keys."""
    schema = manifest_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(entry["description"] for entry in schema["properties"].values())
    assert set(schema["required"]) <= set(schema["properties"])


@pytest.mark.parametrize(
    "made",
    [
        lambda: evosplit.split(COUNTS, (0.5, 0.5), effort="fast"),
        lambda: evosplit.kfold(COUNTS, 3, method="sois"),
        lambda: evosplit.split(COUNTS, {"a": 3, "b": 9}, method="random", seed=None, pick=0),
        lambda: evosplit.split(COUNTS, (0.5, 0.5), effort="fast", seed=np.random.default_rng(1)),
        lambda: evosplit.split(
            COUNTS,
            (0.5, 0.5),
            effort="fast",
            groups=np.arange(12) // 5,
            locked={"test": ["0.jpg"]},
            strata={"light": ["day", "night"] * 6},
            label_weights={"1": 2},
        ),
        lambda: Split(("a", "b"), np.array([0] * 6 + [1] * 6), COUNTS.ids, (6, 6)),
        lambda: evosplit.split(
            LabelCounts(COUNTS.matrix, ids=COUNTS.ids, copies=range(1, 13)), (39, 39), effort="fast"
        ),
    ],
    ids=["default", "folds", "random", "generator", "constraints", "bare", "copies"],
)
def test_every_split_is_valid_and_comes_back(made, tmp_path):
    """What is saved follows the schema, holds no key that it does not describe, and gives the same split again."""
    split = made()
    split.save(tmp_path / "split.json")
    manifest = checked(json.loads((tmp_path / "split.json").read_text(encoding="utf-8")))
    assert manifest.keys() <= manifest_schema()["properties"].keys()
    again = Split.load(tmp_path / "split.json")
    assert again.quotas(COUNTS.ids[::-1]).tolist() == split.table[::-1].tolist()
    assert again.best_ed == split.best_ed
    assert again.to_manifest() == manifest


def test_unknown_keys_are_ignored():
    """A later EvoSplit may add keys without another version."""
    manifest = checked({**evosplit.split(COUNTS, (0.5, 0.5), method="is").to_manifest(), "mood": "good"})
    assert Split.from_manifest(manifest).sizes == (6, 6)


@pytest.mark.parametrize("engine", [ENGINE_VERSION + 1, None])
def test_replay_does_not_depend_on_the_engine(engine):
    """A split that another version of the engine made, or one before all versions, is replayed as it is."""
    made = evosplit.split(COUNTS, (0.5, 0.5), method="is")
    manifest = made.to_manifest()
    assert manifest["settings"].pop("engine") == ENGINE_VERSION
    if engine is not None:
        manifest["settings"]["engine"] = engine
    again = Split.from_manifest(checked(manifest))
    assert again.assign(COUNTS.ids).tolist() == made.assignment.tolist()
    assert again.settings.get("engine") == engine


def test_old_manifests_without_best_ed():
    """A manifest without the least size error has none."""
    manifest = evosplit.split(COUNTS, (0.5, 0.5), method="is").to_manifest()
    del manifest["best_ed"]
    assert Split.from_manifest(checked(manifest)).best_ed == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "split.json has manifest version 2, this EvoSplit reads 1; upgrade evosplit-plugins"),
        ({"version": 0}, "manifest version 0, which no EvoSplit has written"),
        ({"version": "1"}, "manifest version '1', which no EvoSplit has written"),
        ({"version": True}, "manifest version True, which no EvoSplit has written"),
        ({"version": None}, "manifest version None"),
        ({"names": ["train", "train"]}, r"names the subsets \['train', 'train'\], not by different words"),
        ({"names": [1, 2]}, r"names the subsets \[1, 2\]"),
        ({"names": []}, r"names the subsets \[\]"),
        ({"sizes": [6, "6"]}, "a subset of the size '6'"),
        ({"target_sizes": [6, -6]}, "a subset of the size -6"),
        ({"assignment": [True] * 12}, "subsets other than its 2"),
        ({"table": 3}, "has no list 'table'"),
        ({"table": [[1, 0]] * 11 + [[1]]}, r"has the row \[1\] in its table, not one number for each of its 2 subsets"),
        ({"table": [[1, 0]] * 11 + [[1.5, 0]]}, r"has the row \[1.5, 0\] in its table"),
        ({"table": [[1, 0]] * 12}, "its table does not have its sizes"),
        ({"settings": ["seed"]}, r"has 'settings' \['seed'\]; it is damaged"),
        ({"notes": "none"}, "has 'notes' 'none'"),
        ({"best_ed": "low"}, "has 'best_ed' 'low'"),
        ({"measures": {}}, "lacks the measure 'dcp', or has it wrong"),
        ({"measures": 7}, "has 'measures' 7"),
    ],
)
def test_broken_manifest(change, message):
    """A manifest of another version or with damaged parts is refused: where, what, and what helps."""
    manifest = {**evosplit.split(COUNTS, (0.5, 0.5), method="is").to_manifest(), **change}
    with pytest.raises(jsonschema.ValidationError):
        checked(manifest)
    with pytest.raises(EvoSplitError, match=message):
        Split.from_manifest(manifest, source="split.json")


@pytest.mark.parametrize("measure", ["ld", "flz"])
@pytest.mark.parametrize("value", ["much", None, True])
def test_measures_are_numbers(measure, value):
    """A measure that is no number is refused when the manifest is read, not when it is used."""
    manifest = evosplit.split(COUNTS, (0.5, 0.5), method="is").to_manifest()
    manifest["measures"][measure] = value
    with pytest.raises(EvoSplitError, match=f"lacks the measure '{measure}', or has it wrong"):
        Split.from_manifest(manifest)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1.5, *range(11)], "split.json is damaged: id 1.5 of sample 0 is neither a string nor an integer"),
        ([3, *range(11)], "split.json is damaged: id 3 occurs more than once"),
    ],
)
def test_impossible_ids(ids, message):
    """Ids that no data set can have are refused with the name of the file, whatever the hash says."""
    manifest = evosplit.split(COUNTS, (0.5, 0.5), method="is").to_manifest()
    manifest |= {"ids": ids, "ids_sha256": ids_hash(ids)}
    with pytest.raises(EvoSplitError, match=message):
        Split.from_manifest(manifest, source="split.json")


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, '{"format": "evosplit-split"', "<html></html>", '{"images": [], "annotations": []}', "null"],
    ids=["empty", "deep", "cut", "html", "coco", "null"],
)
def test_foreign_file(tmp_path, text):
    """A file that is something else is refused with its path, and with what to pass instead."""
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EvoSplitError, match=r"other\.json' is (not JSON|no EvoSplit manifest).*pass a split\.json"):
        Split.load(path)


def test_ids_that_are_no_text(tmp_path):
    """File names with bytes of an unknown encoding are saved and come back."""
    ids = [b"\xff.jpg".decode("utf-8", "surrogateescape"), "ä.jpg", "b.jpg", "c.jpg"]
    split = evosplit.split(LabelCounts(np.eye(4, dtype=int), ids=ids), (2, 2), method="random")
    split.save(tmp_path / "split.json")
    assert Split.load(tmp_path / "split.json").sample_ids.tolist() == ids


ids_of_data = st.lists(st.one_of(st.integers(0, 5), st.sampled_from(["0", "1", "2", "a"])), max_size=6)


@given(ids_of_data, st.lists(st.integers(0, 5), unique=True, max_size=6))
@settings(max_examples=200)
def test_difference_is_told_only_where_there_is_one(given_ids, known):
    """The same ids in any order are no difference, everything else is."""
    same = sorted(map(repr, given_ids)) == sorted(map(repr, known))
    assert (difference_of_ids(given_ids, known) is None) == same


@pytest.mark.parametrize(
    ("given_ids", "message"),
    [
        (["1", "2", "3"], "they differ in type only, such as '1' in the data and 1 in the split: convert them"),
        ([1, 2, "3", "x"], "1 of them differ in type only, such as '3' in the data and 3 in the split"),
        (
            [1, 2, 9],
            r"1 id is not in the split \(first: 9\); 1 id of the split is missing \(first: 3\); 2 ids agree",
        ),
        ([1, 2], r"1 id of the split is missing \(first: 3\)$"),
        ([1, 2, 3, 3], "^1 id is repeated$"),
    ],
)
def test_difference_in_words(given_ids, message):
    """How many ids are unknown, missing or repeated, which first, and whether only their type differs."""
    with pytest.raises(ValueError, match=message):
        raise ValueError(difference_of_ids(given_ids, [1, 2, 3]))


def test_replay_refuses_other_types():
    """A split of the rows 0 ... 11 is not replayed on their numbers as texts."""
    split = evosplit.split(COUNTS.matrix, (0.5, 0.5), method="random")
    with pytest.raises(
        EvoSplitError, match=r"the data is not what was split: 12 ids .* differ in type only.*split anew"
    ):
        split.assign([str(i) for i in range(12)])


def test_ids_hash_knows_types_not_order():
    """The hash ignores the order, and tells 1 from "1"."""
    assert ids_hash([1, 2, "a"]) == ids_hash(["a", 2, 1])
    assert ids_hash([1]) != ids_hash(["1"])
    assert ids_hash(["ab", "c"]) != ids_hash(["a", "bc"])

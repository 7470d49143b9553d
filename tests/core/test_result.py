"""Split, its front and pick rules, its manifest."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, LabelCounts, ParetoFront, Split

COUNTS = LabelCounts(
    [[1, 0], [0, 2], [1, 1], [0, 0], [1, 0], [0, 1]],
    ids=["a.jpg", "b.jpg", "c.jpg", "ä.jpg", "e.jpg", "f.jpg"],
    labels=["cat", "dog"],
)


def made(**options):
    """Split the small data set."""
    return evosplit.split(COUNTS, {"train": 0.5, "val": 0.5}, **{"method": "sois", "seed": 3, **options})


def test_subsets_and_folds():
    """Names, sizes, positions, ids and folds tell the same story as the assignment."""
    split = made()
    assert split.names == ("train", "val")
    assert split.sizes == split.target_sizes == (3, 3)
    for j, name in enumerate(split.names):
        assert split.indices(name).tolist() == np.flatnonzero(split.assignment == j).tolist()
        assert split.indices(name).dtype == np.int64
        assert split.ids(name).tolist() == [COUNTS.ids[i] for i in split.indices(name)]
    folds = list(split.folds())
    assert len(folds) == 2
    for j, (train, test) in enumerate(folds):
        assert test.tolist() == np.flatnonzero(split.assignment == j).tolist()
        assert sorted([*train, *test]) == list(range(6))


def test_repr_is_short():
    """The representation gives the names and sizes."""
    assert repr(made()) == "Split(train: 3, val: 3)"


def test_unknown_subset():
    """Asking for a subset that is not there lists those that are."""
    with pytest.raises(EvoSplitError, match="there is no subset 'test'; the subsets are 'train', 'val'"):
        made().indices("test")


def test_assignment_cannot_be_changed():
    """The assignment is read-only: a split does not change once it is made."""
    with pytest.raises(ValueError, match="read-only"):
        made().assignment[0] = 1


def test_pick_gives_another_split():
    """`pick` returns the split at another point and leaves the first one as it was."""
    split = made()
    points = ParetoFront(
        np.array([[0.1, 0.9], [0.9, 0.1]]),
        ("samples", "pairs"),
        np.array([split.assignment, 1 - split.assignment]),
        np.ones(2),
    )
    both = Split(split.names, split.assignment, split.sample_ids, split.target_sizes, front=points, counts=COUNTS)
    other = both.pick(np.int64(1))
    assert (other.assignment == 1 - both.assignment).all()
    assert (other.chosen, both.chosen) == (1, 0)
    assert json.dumps(other.to_manifest()["settings"]) == '{"pick": 1}'
    assert both.pick("ld").assignment.tolist() == both.assignment.tolist()


def test_measures_are_those_of_the_assignment():
    """`measures` is what `measure` finds, compared with the sizes asked for."""
    split = made()
    assert split.measures == evosplit.measure(COUNTS, split.assignment, (3, 3))


# --- the manifest


@pytest.mark.parametrize("ids", [None, [5, 3, 9, 1, 2, 7], list("abcdef"), [1, "1", 2, "2", 3, "x"]])
def test_manifest_round_trip(tmp_path, ids):
    """A saved split comes back: names, sizes, ids of the same type, assignment, measures, settings."""
    counts = LabelCounts(COUNTS.matrix, ids=ids)
    split = evosplit.split(counts, (0.5, 0.5), method="is", seed=5)
    split.save(tmp_path / "split.json")
    loaded = Split.load(tmp_path / "split.json")
    assert (loaded.names, loaded.sizes, loaded.target_sizes) == (split.names, split.sizes, split.target_sizes)
    assert loaded.assignment.tolist() == split.assignment.tolist()
    assert loaded.sample_ids.tolist() == counts.ids.tolist()
    assert [type(sample) for sample in loaded.sample_ids.tolist()] == [type(s) for s in counts.ids.tolist()]
    assert loaded.measures == split.measures
    assert loaded.settings == split.settings
    assert loaded.settings["seed"] == 5
    assert loaded.to_manifest() == split.to_manifest()


def test_manifest_is_plain_json(tmp_path):
    """The manifest is versioned JSON with the ids as they are."""
    made().save(tmp_path / "split.json")
    text = (tmp_path / "split.json").read_text(encoding="utf-8")
    manifest = json.loads(text)
    assert (manifest["format"], manifest["version"]) == ("evosplit-split", 1)
    assert "ä.jpg" in text
    assert [path.name for path in tmp_path.iterdir()] == ["split.json"]


def test_manifest_of_a_loaded_split_has_no_front():
    """A loaded split can be replayed but not picked from, nor reported on."""
    loaded = Split.from_manifest(made().to_manifest())
    with pytest.raises(EvoSplitError, match=r"keeps no front; call evosplit\.split again"):
        loaded.pick("ld")
    with pytest.raises(EvoSplitError, match="carries no label counts; make the report where the data is"):
        loaded.report()


def test_split_without_counts_or_measures():
    """A split that carries neither counts nor measures says how to measure it."""
    manifest = made().to_manifest()
    manifest["measures"] = None
    loaded = Split.from_manifest(manifest)
    assert loaded.to_manifest()["measures"] is None
    with pytest.raises(EvoSplitError, match=r"measure it with evosplit.measure\(counts, split.assignment\)"):
        _ = loaded.measures


def without(key):
    """Drop a key."""
    return lambda manifest: manifest.pop(key)


def setting(key, value):
    """Change a value."""
    return lambda manifest: manifest.__setitem__(key, value)


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (setting("format", "other"), "is no EvoSplit manifest: its 'format' is not 'evosplit-split'"),
        (setting("version", 2), "manifest version 2, this EvoSplit reads 1; upgrade"),
        (without("assignment"), "has no list 'assignment'; it is damaged"),
        (without("target_sizes"), "has no list 'target_sizes'"),
        (setting("ids", "abc"), "has no list 'ids'"),
        (without("ids_sha256"), "changed by hand: its ids do not match their hash"),
        (lambda manifest: manifest["ids"].reverse(), None),
        (lambda manifest: manifest["ids"].__setitem__(0, "z.jpg"), "its ids do not match their hash"),
        (lambda manifest: manifest["ids"].append("z.jpg"), "7 ids, 6 assignments, 2 names and 2 sizes that"),
        (lambda manifest: manifest["names"].append("test"), "6 ids, 6 assignments, 3 names and 2 sizes"),
        (lambda manifest: manifest["assignment"].__setitem__(0, 2), "subsets other than its 2"),
        (lambda manifest: manifest["assignment"].__setitem__(0, "val"), "subsets other than its 2"),
        (
            lambda manifest: manifest["assignment"].__setitem__(0, 1 - manifest["assignment"][0]),
            "changed by hand: its assignment does not have its sizes",
        ),
    ],
)
def test_tampered_manifest(tamper, message):
    """A manifest that was changed or damaged is refused with its name; the order of the ids may change."""
    manifest = json.loads(json.dumps(made().to_manifest()))
    tamper(manifest)
    if message is None:
        assert Split.from_manifest(manifest).sizes == (3, 3)
    else:
        with pytest.raises(EvoSplitError, match=message):
            Split.from_manifest(manifest, source="'split.json'")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the manifest .*split.json.: No such file"),
        ("{", "split.json' is not JSON .*pass a split.json written by EvoSplit"),
        ("[1, 2]", "split.json' is no EvoSplit manifest"),
        (b"\xff\xfe\x00", "is not JSON"),
    ],
)
def test_unreadable_manifest(tmp_path, content, message):
    """A file that is missing, no JSON or something else is refused with its path."""
    path = tmp_path / "split.json"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(EvoSplitError, match=message):
        Split.load(path)


def test_failed_save_keeps_the_old_file(tmp_path):
    """Saving what JSON cannot hold leaves the old manifest, and nothing half-written, behind."""
    path = tmp_path / "split.json"
    made().save(path)
    before = path.read_text()
    with pytest.raises(TypeError):
        replace(made(), source={"adapter": object()}).save(path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_save_where_nothing_is(tmp_path):
    """A missing directory is named."""
    with pytest.raises(EvoSplitError, match=r"cannot write the manifest .*missing.*No such file"):
        made().save(tmp_path / "missing" / "split.json")


# --- replay


def test_replay_in_any_order(tmp_path):
    """A loaded split assigns the same ids in any order to the same subsets."""
    split = made()
    split.save(tmp_path / "split.json")
    loaded = Split.load(tmp_path / "split.json")
    order = [3, 1, 4, 0, 5, 2]
    assert loaded.assign(COUNTS.ids[order]).tolist() == split.assignment[order].tolist()
    assert loaded.assign(iter(COUNTS.ids.tolist())).tolist() == split.assignment.tolist()


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a.jpg", "b.jpg", "c.jpg", "ä.jpg", "e.jpg"], r"1 id of the split is missing \(first: 'f.jpg'\)"),
        ([*COUNTS.ids.tolist(), "g.jpg", "h.jpg"], r"2 ids are not in the split \(first: 'g.jpg'\)"),
        ([1, 2], r"2 ids are not in the split \(first: 1\); 6 ids .* missing .*split anew"),
        ([*COUNTS.ids.tolist(), "a.jpg"], "1 id is repeated"),
    ],
)
def test_replay_on_other_data(ids, message):
    """Ids that differ from those split are refused: how many, and which first."""
    with pytest.raises(EvoSplitError, match=message):
        made().assign(ids)

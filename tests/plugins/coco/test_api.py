"""Splitting, replaying and auditing COCO files from Python."""

from __future__ import annotations

import json

import pytest
from coco_files import QUICK, RATIOS, annotation_files, captions, elements, instances, load, tree, write

from evosplit import EvoSplitError, Split, measure
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import apply_split, audit
from evosplit_plugins.staging import RECORD


@pytest.mark.parametrize(
    ("ratios", "names"),
    [((0.5, 0.5), ("train", "val")), ([20, 5, 5], ("train", "val", "test")), ((0.4, 0.2, 0.2, 0.2), None)],
)
def test_unnamed_ratios_get_the_usual_names(tmp_path, ratios, names):
    """Two unnamed ratios are train and val here, three train, val, test, more are numbered."""
    split = evosplit_coco(write(tmp_path / "a.json", instances()), tmp_path / "out", ratios, dry_run=True, **QUICK)
    assert split.names == (names or ("subset0", "subset1", "subset2", "subset3"))


def test_same_seed_same_bytes(tmp_path):
    """The same input and seed give the same files; the hidden record also knows when they were written."""
    path = write(tmp_path / "a.json", instances(40))
    for name in ("one", "two"):
        evosplit_coco(path, tmp_path / name, RATIOS, effort="fast", seed=3)
    one, two = (tree(tmp_path / name) for name in ("one", "two"))
    del one[RECORD], two[RECORD]
    assert one == two


def test_apply_replays_a_split_byte_for_byte(tmp_path):
    """A saved split gives the same files again, also on a file in another order."""
    made = instances(40)
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, having_annotations=True, **QUICK)
    apply_split(path, tmp_path / "out" / "split.json", tmp_path / "again")
    assert annotation_files(tmp_path / "again") == annotation_files(tmp_path / "out")
    made["images"].reverse()
    apply_split(write(tmp_path / "b.json", made), tmp_path / "out" / "split.json", tmp_path / "turned")
    for name, data in annotation_files(tmp_path / "turned").items():
        assert sorted(elements(data, "images")) == sorted(elements(annotation_files(tmp_path / "out")[name], "images"))


def test_apply_gives_captions_the_subsets_of_the_instances(tmp_path):
    """Captions follow a split of the instances into the same directory, and get no categories."""
    split = evosplit_coco(write(tmp_path / "a.json", instances()), tmp_path / "out", RATIOS, **QUICK)
    before = tree(tmp_path / "out")
    del before[RECORD]
    again = apply_split(write(tmp_path / "c.json", captions()), tmp_path / "out" / "split.json", tmp_path / "out")
    for name in RATIOS:
        path = tmp_path / "out" / "annotations" / f"captions_{name}.json"
        assert again.ids(name).tolist() == split.ids(name).tolist()
        data = json.loads(path.read_bytes())
        assert [image["id"] for image in data["images"]] == split.ids(name).tolist()
        assert {a["image_id"] for a in data["annotations"]} == set(split.ids(name).tolist())
        assert "categories" not in data
        assert len(load(path).anns) == 2 * len(data["images"])
    assert before.items() <= tree(tmp_path / "out").items()


def test_apply_refuses_other_images(tmp_path):
    """A manifest of other images is refused, with what differs, and nothing is written."""
    evosplit_coco(write(tmp_path / "a.json", instances(20)), tmp_path / "out", RATIOS, **QUICK)
    other = write(tmp_path / "b.json", instances(25))
    with pytest.raises(EvoSplitError, match="5 ids are not in the split"):
        apply_split(other, tmp_path / "out" / "split.json", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_manifest_says_how_the_split_was_made(tmp_path):
    """The manifest has the settings, ratios, measures, ids and what was read, and loads as a split."""
    path = write(tmp_path / "a.json", instances(40))
    split = evosplit_coco(path, tmp_path / "out", RATIOS, seed=5, count_crowd=False, **QUICK)
    manifest = json.loads((tmp_path / "out" / "split.json").read_text())
    assert manifest["settings"]["ratios"] == RATIOS
    assert manifest["settings"]["seed"] == 5
    assert manifest["settings"]["method"] == "random"
    assert manifest["measures"]["ld"] == split.measures.ld
    assert manifest["source"]["inputs"] == ["a.json"]
    assert manifest["source"]["reading"] == {"count_crowd": False}
    assert manifest["file_names"] == [image["file_name"] for image in instances(40)["images"]]
    loaded = Split.load(tmp_path / "out" / "split.json")
    assert loaded.assignment.tolist() == split.assignment.tolist()


def test_audit_measures_subsets_as_they_are(tmp_path):
    """An audit gives the measures of the very split that was written, whoever wrote it."""
    path = write(tmp_path / "a.json", instances(60))
    split = evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    written = {name: tmp_path / "out" / "annotations" / f"instances_{name}.json" for name in RATIOS}
    found = audit(list(written.values()), compare=False).split
    assert found.names == tuple(RATIOS)
    assert found.sizes == split.sizes
    assert found.measures.ld == pytest.approx(split.measures.ld)
    assert found.measures == measure(found.counts, found.assignment)
    assert audit({"a": written["val"], "b": written["test"]}, compare=False).split.names == ("a", "b")


def test_audit_tells_shared_images_from_shared_numbers(tmp_path):
    """Files that number their images alike are fine; files that hold the same image are reported."""
    one, two = instances(20), instances(20, seed=1)
    for image in two["images"]:
        image["file_name"] = "b" + image["file_name"]
    paths = [write(tmp_path / name / "_annotations.coco.json", made) for name, made in (("train", one), ("valid", two))]
    judged = audit(paths, compare=False)
    assert judged.split.names == ("train", "valid")
    assert judged.leaks == judged.split.notes == ()
    two["images"][4]["file_name"] = one["images"][0]["file_name"]
    write(paths[1], two)
    assert list(map(str, audit(paths, compare=False).leaks)) == ["train and valid share 1 file name: 000001.jpg."]
    for made in (one, two):
        for image in made["images"]:
            del image["file_name"]
    for path, made in zip(paths, (one, two), strict=True):
        write(path, made)
    assert audit(paths, compare=False).leaks[0].n_shared == 20  # by id, where there is nothing else


def test_audit_needs_two_files(tmp_path):
    """One file is no split."""
    with pytest.raises(EvoSplitError, match="two annotation files or more"):
        audit([write(tmp_path / "a.json", instances())])


def test_copies_of_a_picture_stay_together(tmp_path):
    """One picture in two rounds of annotation, under one name written in three ways, never crosses subsets."""
    one, two = instances(20), instances(20, seed=1, first_id=100)
    for number, (first, second) in enumerate(zip(one["images"], two["images"], strict=True)):
        first["file_name"] = f"{number}.jpg"
        second["file_name"] = f"./{number}.jpg" if number % 2 else f"{number}_jpg.rf.{number:032x}.jpg"
    both = {key: [*one[key], *two[key]] if key in ("images", "annotations") else one[key] for key in one}
    path = write(tmp_path / "both.json", both)
    split = evosplit_coco(path, tmp_path / "out", (0.5, 0.5), effort="fast")
    assert "40 images are copies of 20 pictures, by file name; they stay together." in split.notes
    assert split.assignment[:20].tolist() == split.assignment[20:].tolist()
    assert audit(tmp_path / "out", compare=False).failures() == []
    apart = evosplit_coco(path, tmp_path / "apart", (0.5, 0.5), effort="fast", group_copies=False)
    assert not any("stay together" in note for note in apart.notes)
    assert audit(tmp_path / "apart", compare=False).failures() != []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratios": None}, "neither ratios= nor folds= is given"),
        ({"folds": 5}, "ratios= and folds= are both given"),
        ({"ratios": None, "folds": 1}, "folds=1 makes no split; give an integer of at least 2"),
        ({"ratios": None, "folds": 2.5}, "folds=2.5 makes no split; give an integer of at least 2"),
        ({"ratios": 0.8}, "ratios=0.8 is neither a dict"),
        ({"ratios": {"train": 0.8, "val": 0.3}}, "sum to 1.1"),
        ({"ratios": {"a/b": 0.5, "c": 0.5}}, "subset name 'a/b'"),
        ({"ratios": {1: 0.5, "c": 0.5}}, "subset name 1 "),
        ({"ratios": {"..": 0.5, "c": 0.5}}, r"subset name '\.\.'"),
        ({"ratios": {"Train": 0.5, "train": 0.5}}, "'Train' and 'train' would be one file"),
        (
            {"ratios": {"val": 0.5, "valid": 0.5}, "layout": "roboflow"},
            "two outputs would be the same file, .*valid",
        ),
        ({"layout": "lists"}, "layout='lists' is unknown; choose one of coco, roboflow, yolo"),
        ({"layout": "yolo"}, "layout='yolo' is a tree of images and labels; say how the images come there"),
        ({"polygons": True}, "polygons=True is for layout='yolo'; leave it out"),
        ({"images": "move"}, "images='move' is unknown; choose one of"),
        ({"images": "copy"}, "given are images='copy' and no image_root="),
        ({"image_root": "."}, "given are images='none' and an image_root="),
        ({"train_files": True}, "complements of folds"),
        ({"method": "magic"}, "method='magic' is unknown"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path, options, message):
    """Each bad option is named, with what to pass instead, and nothing is written."""
    path = write(tmp_path / "a.json", instances())
    with pytest.raises(EvoSplitError, match=message):
        evosplit_coco(path, tmp_path / "out", **{"ratios": RATIOS, **QUICK, **options})
    assert not (tmp_path / "out").exists()


def test_progress_goes_from_nothing_to_all_once(tmp_path):
    """Reading, searching and writing share one bar, which never falls and ends at 1."""
    seen: list[tuple[float, str]] = []
    path = write(tmp_path / "a.json", instances(40))
    evosplit_coco(
        path,
        tmp_path / "out",
        RATIOS,
        effort="fast",
        on_progress=lambda done, message: seen.append((done, message)),
    )
    assert seen[0] == (0.0, "reading a.json")
    assert seen[-1][0] == 1.0
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len({done for done, _ in seen}) > 5
    assert {"reading a.json", "writing"} < {message for _, message in seen}

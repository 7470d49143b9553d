"""Annotation files are merged, mended as asked, and counted right."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from coco_files import NAMES, QUICK, RATIOS, annotation_files, around, elements, instances, panoptic, write

from evosplit import EvoSplitWarning
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import read_counts


def test_counts_every_instance_of_every_category(tmp_path):
    """The counts are those of a plain loop over the annotations, in the order of images and categories."""
    made = instances(40)
    counts = read_counts(write(tmp_path / "a.json", made))
    expected = np.zeros((40, len(NAMES)), dtype=int)
    for annotation in made["annotations"]:
        expected[annotation["image_id"] - 1, annotation["category_id"] // 10 - 1] += 1
    assert counts.matrix.toarray().tolist() == expected.tolist()
    assert counts.labels == NAMES
    assert counts.ids.tolist() == [image["id"] for image in made["images"]]


def test_counts_segments_of_panoptic_files(tmp_path):
    """Panoptic annotations count each of their segments."""
    made = panoptic()
    counts = read_counts(write(tmp_path / "a.json", made))
    for row, annotation in enumerate(made["annotations"]):
        expected = Counter(segment["category_id"] // 10 - 1 for segment in annotation["segments_info"])
        assert counts.matrix.toarray()[row].tolist() == [expected[label] for label in range(len(NAMES))]


@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_panoptic_images_without_any_segment(tmp_path):
    """A panoptic file whose segments are all empty is one without labels, not a broken one."""
    made = panoptic()
    for annotation in made["annotations"]:
        annotation["segments_info"] = []
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, **QUICK)
    assert split.counts.totals.sum() == 0
    assert set(annotation_files(tmp_path / "out", "panoptic")) == set(RATIOS)


@pytest.mark.parametrize("make", [instances, panoptic])
def test_crowds_count_unless_ignored(tmp_path, make):
    """`count_crowd=False` leaves crowds out of the counts, and only out of the counts."""
    made = make()
    path = write(tmp_path / "a.json", made)
    parts = [part for annotation in made["annotations"] for part in annotation.get("segments_info", [annotation])]
    crowds = sum(part["iscrowd"] for part in parts)
    assert crowds > 0
    assert read_counts(path).totals.sum() == len(parts)
    assert read_counts(path, count_crowd=False).totals.sum() == len(parts) - crowds
    evosplit_coco(path, tmp_path / "out", RATIOS, count_crowd=False, **QUICK)
    kind = "panoptic" if make is panoptic else "instances"
    written = sum(len(elements(data, "annotations")) for data in annotation_files(tmp_path / "out", kind).values())
    assert written == len(made["annotations"])


def test_images_without_annotations_are_spread_or_left_out(tmp_path):
    """By default every image is split; `having_annotations` leaves the empty ones out of everything."""
    made = instances(30)
    path = write(tmp_path / "a.json", made)
    annotated = {annotation["image_id"] for annotation in made["annotations"]}
    assert len(annotated) < 30
    assert sum(evosplit_coco(path, tmp_path / "all", RATIOS, **QUICK).sizes) == 30
    split = evosplit_coco(path, tmp_path / "some", RATIOS, having_annotations=True, **QUICK)
    assert set(split.sample_ids.tolist()) == annotated
    written = [
        json.loads(part)["id"]
        for data in annotation_files(tmp_path / "some").values()
        for part in elements(data, "images")
    ]
    assert sorted(written) == sorted(annotated)


def test_categories_may_share_a_name_or_lack_one(tmp_path):
    """Labels stay apart when categories are called alike, and a nameless one is called by its id."""
    made = instances()
    made["categories"] = [
        {"id": 10, "name": "x"},
        {"id": 20, "name": "x"},
        {"id": 30},
        {"id": 40, "name": "y"},
    ]
    made["categories"].append({"id": 50, "name": None})
    assert read_counts(write(tmp_path / "a.json", made)).labels == ("x", "x (id 20)", "30", "y", "50")


def test_several_inputs_are_merged(tmp_path):
    """Files with the same categories, in whatever order, are split as one."""
    first, second = instances(20), instances(20, seed=1, first_id=500)
    second["categories"].reverse()
    one, two = write(tmp_path / "one.json", first), write(tmp_path / "two.json", second, indent=1)
    split = evosplit_coco([one, two], tmp_path / "out", RATIOS, **QUICK)
    assert sum(split.sizes) == 40
    label = split.counts.labels.index("person")
    people = [a for made in (first, second) for a in made["annotations"] if a["category_id"] == 10]
    assert split.counts.totals[label] == len(people)
    for key in ("images", "annotations"):
        written = [part for data in annotation_files(tmp_path / "out").values() for part in elements(data, key)]
        expected = elements(one.read_bytes(), key) + elements(two.read_bytes(), key)
        assert sorted(written) == sorted(expected)
    assert around(annotation_files(tmp_path / "out")["val"]) == around(one.read_bytes())


def test_inputs_that_differ_elsewhere_are_merged_with_a_note(tmp_path):
    """The first file's other keys are written, and the difference is mentioned."""
    first, second = instances(20), instances(20, seed=1, first_id=500)
    second["licenses"] = []
    with pytest.warns(EvoSplitWarning, match="'licenses' of .*two.json differs"):
        read_counts([write(tmp_path / "one.json", first), write(tmp_path / "two.json", second)])


def test_inputs_with_an_empty_list_are_merged(tmp_path):
    """A first file without annotations still has a place for those of the second."""
    first, second = instances(20), instances(20, seed=1, first_id=500)
    first["annotations"] = []
    paths = [write(tmp_path / "one.json", first), write(tmp_path / "two.json", second)]
    evosplit_coco(paths, tmp_path / "out", RATIOS, **QUICK)
    written = [part for data in annotation_files(tmp_path / "out").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(elements(paths[1].read_bytes(), "annotations"))


def test_many_categories_give_an_answer(tmp_path):
    """A hundred thousand categories, most of them never used, are read, split and written."""
    made = instances()
    made["categories"] += [{"id": 1000 + number, "name": f"class {number}"} for number in range(100_000)]
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, effort="fast")
    assert split.counts.n_labels == 100_005
    assert split.counts.totals.sum() == len(made["annotations"])
    assert split.sizes == (18, 6, 6)

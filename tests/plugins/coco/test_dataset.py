"""Annotation files are merged, mended as asked, and counted right."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from coco_files import NAMES, annotation_files, around, elements, instances, load, panoptic, write

from evosplit import EvoSplitError, EvoSplitWarning
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import read_counts

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
QUICK = {"method": "random"}


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made["images"][0].update(id=3), r"share 1 image id: 3; renumber"),
        (
            lambda made: made["categories"][1].update(name="boat"),
            r'differ in 1 category: 20 is "bicycle" and "boat"',
        ),
        (lambda made: made["categories"].append({"id": 60, "name": "sun"}), r'60 is missing and "sun"'),
        (
            lambda made: made["annotations"][0].update(id=1000),
            r"two.json annotations\[0\] has id 1000; pass reassign_ids=True",
        ),
    ],
)
def test_inputs_that_conflict_are_refused(tmp_path, change, message):
    """Shared image ids, other categories and repeated annotation ids are refused with the list."""
    second = instances(20, seed=1, first_id=500)
    change(second)
    for annotation in second["annotations"]:
        if annotation["image_id"] == 500:
            annotation["image_id"] = second["images"][0]["id"]
    paths = [write(tmp_path / "one.json", instances(20)), write(tmp_path / "two.json", second)]
    with pytest.raises(EvoSplitError, match=message):
        read_counts(paths)


def test_the_same_file_twice_is_refused(tmp_path):
    """A file given twice, also by another name, is refused at once."""
    path = write(tmp_path / "a.json", instances())
    (tmp_path / "b.json").hardlink_to(path)
    with pytest.raises(EvoSplitError, match="given twice"):
        read_counts([path, tmp_path / "b.json"])


def test_reassign_ids_changes_only_repeated_ids(tmp_path):
    """Repeated, null and fractional annotation ids get new ones above the largest; nothing else changes."""
    made = instances()
    n = len(made["annotations"])
    for position, value in ((3, 1000), (5, None), (7, 2.5)):
        made["annotations"][position]["id"] = value
    path = write(tmp_path / "a.json", made)
    with pytest.raises(EvoSplitError, match=r"3 annotations have an id that is taken or no id.*reassign_ids=True"):
        read_counts(path)
    evosplit_coco(path, tmp_path / "out", RATIOS, reassign_ids=True, **QUICK)
    written = [
        json.loads(part)
        for data in annotation_files(tmp_path / "out").values()
        for part in elements(data, "annotations")
    ]
    by_place = {json.dumps(item["segmentation"]): item for item in written}
    largest = max(1000 + n - 1, 1000)
    for position, item in enumerate(made["annotations"]):
        now = by_place[json.dumps(item["segmentation"])]
        fresh = {3: largest + 1, 5: largest + 2, 7: largest + 3}
        assert now == {**item, "id": fresh.get(position, item["id"])}
    assert len({item["id"] for item in written}) == n


def test_coerce_ids_makes_both_sides_agree(tmp_path):
    """Ids written as strings or fractions are refused, and with `coerce_ids` read and written as integers."""
    made = instances()
    for position, annotation in enumerate(made["annotations"]):
        annotation["image_id"] = str(annotation["image_id"]) if position % 2 else float(annotation["image_id"])
        annotation["category_id"] = str(annotation["category_id"])
        annotation["id"] = str(annotation["id"])
    made["images"][0]["id"] = "1"
    made["categories"][0]["id"] = 10.0
    path = write(tmp_path / "a.json", made)
    with pytest.raises(EvoSplitError, match="coerce_ids=True"):
        read_counts(path)
    evosplit_coco(path, tmp_path / "out", RATIOS, coerce_ids=True, **QUICK)
    before = instances()
    found = []
    for name in RATIOS:
        after = load(tmp_path / "out" / "annotations" / f"instances_{name}.json")
        assert after.dataset["categories"] == before["categories"]
        found += after.dataset["annotations"]
        assert {a["image_id"] for a in after.dataset["annotations"]} <= set(after.getImgIds())
    assert sorted(found, key=lambda a: a["id"]) == before["annotations"]
    assert b'"categories": [{"id": 10, "name": "person"}' in annotation_files(tmp_path / "out")["val"]


@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_coerce_ids_in_panoptic_segments(tmp_path):
    """The categories of segments are coerced too, also in a file with NaN, and nothing else is touched."""
    made = panoptic()
    for annotation in made["annotations"]:
        for segment in annotation["segments_info"]:
            segment["category_id"] = str(segment["category_id"])
            segment["area"] = float("nan")
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, coerce_ids=True, **QUICK)
    text = json.dumps(made["annotations"])
    for category in range(10, 60, 10):
        text = text.replace(f'"category_id": "{category}"', f'"category_id": {category}')
    expected = elements(b'{"annotations": ' + text.encode() + b"}", "annotations")
    written = [
        part
        for data in annotation_files(tmp_path / "out", "panoptic").values()
        for part in elements(data, "annotations")
    ]
    assert sorted(written) == sorted(expected)


def test_drop_orphans_leaves_out_what_belongs_nowhere(tmp_path):
    """Annotations of unknown images or categories are refused, or with `drop_orphans` left out."""
    made = instances()
    for position, change in enumerate(({"image_id": 999}, {"category_id": 7}, {"image_id": None})):
        made["annotations"][position].update(change)
    path = write(tmp_path / "a.json", made)
    with pytest.raises(
        EvoSplitError,
        match=r"2 annotations belong to no image: annotations\[0\] \(id 1000\) has image_id 999",
    ):
        read_counts(path)
    with pytest.warns(EvoSplitWarning, match="3 annotations of unknown images or categories were left out"):
        evosplit_coco(path, tmp_path / "out", RATIOS, drop_orphans=True, **QUICK)
    written = [part for data in annotation_files(tmp_path / "out").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(elements(path.read_bytes(), "annotations")[3:])


def test_many_categories_give_an_answer(tmp_path):
    """A hundred thousand categories, most of them never used, are read, split and written."""
    made = instances()
    made["categories"] += [{"id": 1000 + number, "name": f"class {number}"} for number in range(100_000)]
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", RATIOS, effort="fast")
    assert split.counts.n_labels == 100_005
    assert split.counts.totals.sum() == len(made["annotations"])
    assert split.sizes == (18, 6, 6)

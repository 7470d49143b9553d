"""Small, medium and large instances of each class, as COCO tells them apart."""

from __future__ import annotations

from collections import Counter

import pytest
from coco_files import FAST, NAMES, RATIOS, instances, panoptic, read, videos, write

from evosplit import EvoSplitError, EvoSplitWarning
from evosplit_plugins import evosplit_coco


def sizes(source):
    """Count the instances by class and size."""
    return source.fields(groups=(), strata=["area"]).strata["area"]


def test_class_and_size_are_counted_as_coco_does(tmp_path):
    """Small is below 32 squared, large from 96 squared on; each class and size that occurs is a column."""
    made = videos(40)
    counts = sizes(read(write(tmp_path / "a.json", made)))
    expected: Counter[tuple[int, str]] = Counter()
    for annotation in made["annotations"]:
        area = annotation["area"]
        size = "small" if area < 32**2 else "medium" if area < 96**2 else "large"
        expected[annotation["image_id"], f"{NAMES[annotation['category_id'] // 10 - 1]} {size}"] += 1
    found = {
        (row + 1, counts.labels[label]): n
        for row, found in enumerate(counts.matrix.toarray().tolist())
        for label, n in enumerate(found)
        if n
    }
    assert found == expected
    assert counts.totals.min() > 0


@pytest.mark.parametrize("count_crowd", [True, False])
def test_segments_have_sizes_too(tmp_path, count_crowd):
    """Panoptic files have the areas in their segments; crowds that do not count have no size either."""
    made = panoptic()
    parts = [segment for annotation in made["annotations"] for segment in annotation["segments_info"]]
    for number, segment in enumerate(parts):
        segment["area"] = (5, 5000, 50000)[number % 3]
    source = read(write(tmp_path / "a.json", made), count_crowd=count_crowd)
    by_size = sizes(source)
    counted = [segment for segment in parts if count_crowd or not segment["iscrowd"]]
    assert by_size.totals.sum() == source.counts.totals.sum() == len(counted)
    large = sum(n for label, n in zip(by_size.labels, by_size.totals.tolist(), strict=True) if "large" in label)
    assert large == sum(segment["area"] == 50000 for segment in counted)


def test_annotations_without_an_area_are_counted_as_such(tmp_path):
    """No area, a negative one, text, NaN and Infinity are no size, and the note says how many there are."""
    made = instances(20)
    del made["annotations"][0]["area"]
    for number, area in enumerate((None, -1, "9", float("nan"), float("inf")), start=1):
        made["annotations"][number]["area"] = area
    with pytest.warns(EvoSplitWarning, match="NaN, Infinity"):
        source = read(write(tmp_path / "a.json", made))
    found = source.fields(groups=(), strata=["area"])
    assert found.notes == ("6 annotations have no area and count for no size.",)
    assert found.strata["area"].totals.sum() == len(made["annotations"]) - 6


def test_strata_are_read_only_when_asked_for(tmp_path):
    """Without strata by area, areas are not looked at: a file in which they make no sense is split."""
    made = instances(20)
    for annotation in made["annotations"]:
        annotation["area"] = {"no": "number"}
    path = write(tmp_path / "a.json", made)
    assert sum(evosplit_coco(path, tmp_path / "out", RATIOS, **FAST).sizes) == 20
    with pytest.raises(EvoSplitError, match=r"none of the \d+ annotations has an 'area'"):
        evosplit_coco(path, tmp_path / "two", RATIOS, stratify_by="area", **FAST)


def test_an_area_beyond_all_floats_is_large(tmp_path):
    """JSON knows integers of any length; so does an image field that is balanced."""
    content = instances(20)
    content["annotations"][0]["area"] = 10**400
    for number, image in enumerate(content["images"]):
        image["altitude"] = 10**400 + number if number < 12 else number
    path = write(tmp_path / "a.json", content)
    split = evosplit_coco(path, tmp_path / "out", RATIOS, stratify_by=["area", "altitude"], effort="fast")
    area, altitude = split.constraints.strata
    assert area.counts.totals.sum() == len(content["annotations"])
    assert altitude.counts.totals.tolist() != [20]

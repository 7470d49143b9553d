"""Ids that are mended on request: repeated ones, and those that are written as texts or fractions."""

from __future__ import annotations

import json

import pytest
from coco_files import QUICK, RATIOS, annotation_files, elements, instances, load, panoptic, write

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import read_counts


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

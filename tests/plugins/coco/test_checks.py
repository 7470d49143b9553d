"""What does not fit together is refused: inputs that conflict, annotations that belong nowhere."""

from __future__ import annotations

import pytest
from coco_files import QUICK, RATIOS, annotation_files, elements, instances, write

from evosplit import EvoSplitError, EvoSplitWarning
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import read_counts


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

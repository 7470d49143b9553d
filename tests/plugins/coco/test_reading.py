"""What is read from annotation files is what they hold; bad files are refused with a sentence."""

from __future__ import annotations

import gzip
import json
import os

import pytest
from coco_files import QUICK, RATIOS, captions, changed, instances, panoptic, write
from hypothesis import given, settings
from hypothesis import strategies as st

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import read_counts
from evosplit_plugins.coco.reading import read_file

TEXT = json.dumps(instances())


def without(*keys):
    """Make a file that lacks some keys."""
    return {key: value for key, value in instances().items() if key not in keys}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", r"a\.json is empty", id="empty"),
        pytest.param(b"  \n ", "not valid JSON: Input data was truncated", id="blank"),
        pytest.param(TEXT[: len(TEXT) // 2], "not valid JSON: Input data was truncated", id="truncated"),
        pytest.param(TEXT + "x", r"trailing characters \(byte \d+\)", id="trailing"),
        pytest.param("id,name\n1,2\n", r"it starts with 'id,name", id="not JSON"),
        pytest.param("0 0.5 0.5 0.1 0.1\n", "it starts with '0 0.5", id="YOLO"),
        pytest.param("[]", "holds a JSON list", id="list"),
        pytest.param("{}", "missing required field images", id="not COCO"),
        pytest.param(without("images"), "missing required field images", id="no images"),
        pytest.param({**instances(), "images": None}, "Expected array, got null - at images", id="null images"),
        pytest.param({**instances(), "images": [3]}, r"got int - at images\[0\]", id="images of numbers"),
        pytest.param({**instances(), "images": [], "annotations": []}, "holds no image", id="zero images"),
        pytest.param(without("annotations"), "has no 'annotations'", id="no annotations"),
        pytest.param(without("categories"), "has no 'categories', but its annotations", id="no categories"),
        pytest.param({**instances(), "categories": {}}, "'categories' is not a list", id="categories object"),
        pytest.param({**instances(), "categories": [1]}, r"categories\[0\] is 1", id="categories of numbers"),
        pytest.param(captions(), "carries no categories .*evosplit coco apply", id="captions"),
        pytest.param(TEXT.encode("utf-16"), "is UTF-16", id="UTF-16"),
        pytest.param(TEXT.encode("utf-16-be"), "is UTF-16", id="UTF-16 without mark"),
        pytest.param(TEXT.encode().replace(b"person", b"p\xe9rson"), r"not UTF-8: byte \d+ is 0xe9", id="latin 1"),
        pytest.param(b"PK\x03\x04 and so on", "is a zip archive", id="zip"),
        pytest.param(b"\x1f\x8b and so on", "is a damaged gzip file", id="bad gzip"),
        pytest.param(gzip.compress(TEXT.encode())[:-20], "is a damaged gzip file", id="short gzip"),
        pytest.param(gzip.compress(b""), "is empty once decompressed", id="empty gzip"),
        pytest.param('{"images": [], "x": ' + "[" * 100_000, "nested too deeply", id="deep"),
        pytest.param('{"images": [],' + TEXT[1:], "has the key 'images' more than once", id="two lists"),
        pytest.param(changed(images={1: {"id": None}}), r"images\[1\] has id null", id="null image id"),
        pytest.param(changed(images={1: {"id": True}}), r"images\[1\] has id true", id="true image id"),
        pytest.param(changed(images={1: {"id": 2.0}}), r"images\[1\] has id 2.0; pass coerce", id="float image id"),
        pytest.param(changed(images={1: {"id": 2.5}}), r"images\[1\] has id 2.5", id="fractional image id"),
        pytest.param(changed(images={1: {"id": float("nan")}}), r"images\[1\] has id NaN;", id="NaN image id"),
        pytest.param(changed(images={1: {"id": 1}}), "1 image repeats an id: 1;", id="repeated image id"),
        pytest.param(
            changed(annotations={0: {"image_id": "1"}}),
            r'1 annotation belongs to no image: annotations\[0\] \(id 1000\) has image_id "1"; pass coerce_ids=True',
            id="string image id",
        ),
        pytest.param(
            changed(annotations={n: {"image_id": 99} for n in range(5)}),
            r"5 annotations belong to no image: .* and 2 more; pass drop_orphans=True",
            id="unknown image",
        ),
        pytest.param(changed(annotations={0: {"image_id": None}}), "has image_id null", id="null image_id"),
        pytest.param(
            changed(annotations={0: {"image_id": 1.0}}), "has image_id 1.0.*coerce_ids=True", id="float image_id"
        ),
        pytest.param(changed(annotations={0: {"image_id": [1]}}), r"has image_id \[1\]", id="list image_id"),
        pytest.param(
            changed(annotations={0: {"category_id": 3}}),
            r"1 annotation has an unknown category: annotations\[0\].* has category_id 3; pass drop_orphans=True",
            id="unknown category",
        ),
        pytest.param(changed(annotations={0: {"category_id": "10"}}), '"10"; pass coerce', id="string category"),
        pytest.param(changed(annotations={0: {"category_id": None}}), "has category_id null", id="null category"),
        pytest.param(
            changed(annotations={1: {"id": 1000}}),
            r"annotations\[1\] has id 1000; pass reassign_ids=True",
            id="repeated",
        ),
        pytest.param(
            changed(annotations={1: {"id": None}}),
            r"annotations\[1\] has id null; pass reassign_ids=True",
            id="null id",
        ),
        pytest.param(
            changed(annotations={1: {"id": 7.5}}),
            r"annotations\[1\] has id 7.5; pass reassign_ids=True",
            id="float id",
        ),
        pytest.param(changed(categories={1: {"id": 10}}), "1 category repeats an id: 10", id="repeated category"),
        pytest.param(changed(categories={1: {"id": None}}), r"categories\[1\] has id null", id="null category id"),
        pytest.param(changed(categories={1: {"id": 20.0}}), "has id 20.0; pass coerce", id="float category id"),
        pytest.param(
            changed(categories={1: {"instance_count": -4}}),
            "category 20 has instance_count -4",
            id="negative count",
        ),
        pytest.param(
            {**panoptic(), "categories": panoptic()["categories"][:2]},
            r"6 annotations have an unknown .*\[2\] has a segment with category_id 30.*drop_orphans=True",
            id="unknown segment category",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_bad_files_are_refused_with_a_sentence(tmp_path, content, message):
    """Each bad file gives one error that names the file, the place and the remedy; nothing is written."""
    path = write(tmp_path / "a.json", content)
    with pytest.raises(EvoSplitError, match=message) as refused:
        evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    assert "a.json" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_paths_that_are_no_files_are_refused(tmp_path):
    """A missing path, a directory, a pipe, an unreadable file and no path at all each get a sentence."""
    with pytest.raises(EvoSplitError, match=r"cannot read .*none\.json: No such file"):
        read_counts(tmp_path / "none.json")
    with pytest.raises(EvoSplitError, match="is a directory; pass the annotation file inside"):
        read_counts(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EvoSplitError, match="is not a regular file"):
        read_counts(tmp_path / "pipe")
    with pytest.raises(EvoSplitError, match="no annotation file was given"):
        read_counts([])
    if os.geteuid():
        path = write(tmp_path / "secret.json", TEXT)
        path.chmod(0)
        with pytest.raises(EvoSplitError, match="Permission denied"):
            read_counts(path)


KEYS = st.sampled_from(["a", "b.c", "é", "with space", "x-y", "__class__"])


FIELD = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.floats(allow_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(KEYS, FIELD | st.dictionaries(KEYS, FIELD), max_size=3), min_size=1, max_size=8), KEYS)
def test_image_fields_are_those_that_python_reads(tmp_path_factory, images, key):
    """Any field of any image is what Python's own json finds there, odd keys and NaN included."""
    made = {"images": [{**image, "id": number} for number, image in enumerate(images)], "annotations": []}
    path = write(tmp_path_factory.mktemp("fields") / "a.json", made)
    keys = (key, f"{key}.a", f"a.{key}")
    values = read_file(path)[0].image_values(keys)
    assert list(values) == list(dict.fromkeys(keys))
    for asked in keys:
        expected = []
        for image in json.loads(path.read_text(encoding="utf-8"))["images"]:
            value = image.get(asked, image)
            for name in asked.split(".") if value is image else ():
                value = value.get(name) if isinstance(value, dict) else None
            expected.append(value)
        found = [None if repr(value) == "UNSET" else value for value in values[asked]]
        assert repr(found) == repr(expected)

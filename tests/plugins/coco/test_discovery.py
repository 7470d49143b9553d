"""Annotation files are recognised by their first keys, and folders by the names of files in them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from coco_files import captions, instances, panoptic, write
from file_systems import no_privileges

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco.discovery import coco_files, is_annotation_file, is_manifest

TEXT = json.dumps(instances())
LONG = {"annotations": [{"id": number, "image_id": 1, "category_id": 1} for number in range(40_000)]}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(instances(), True, id="instances"),
        pytest.param(captions(), True, id="captions"),
        pytest.param(panoptic(), True, id="panoptic"),
        pytest.param(b"\xef\xbb\xbf\n " + TEXT.encode(), True, id="byte order mark"),
        pytest.param({"info": {"images": [1]}, **instances()}, True, id="an object before"),
        pytest.param({**LONG, "images": [{"id": 1}]}, True, id="annotations first, and long"),
        pytest.param(LONG, True, id="annotations, as far as one can see"),
        pytest.param({"annotations": []}, False, id="annotations alone"),
        pytest.param({"info": {"images": []}, "note": '"images": ['}, False, id="images elsewhere"),
        pytest.param({"images": {"a": 1}}, False, id="images that are no list"),
        pytest.param({"version": "1", "shapes": [], "imagePath": "a.jpg"}, False, id="labelme"),
        pytest.param([{"image_id": 1}], False, id="results"),
        pytest.param("images", False, id="text"),
        pytest.param(b"", False, id="empty"),
        pytest.param(TEXT.encode("utf-16"), False, id="UTF-16"),
    ],
)
def test_files(tmp_path, content, expected):
    """Plain and gzip alike; what is cut short, damaged or not there is none."""
    path = write(tmp_path / "a.json", content)
    assert is_annotation_file(path) == expected
    assert is_annotation_file(write(tmp_path / "b.json.gz", gzip.compress(path.read_bytes()))) == expected
    assert not is_annotation_file(write(tmp_path / "a.txt", path.read_bytes()))
    assert not is_annotation_file(write(tmp_path / "c.json.gz", b"\x1f\x8b and so on"))
    assert not is_annotation_file(tmp_path / "none.json")
    assert not is_manifest(path)


@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("how", [{"ratios": (0.6, 0.2, 0.2)}, {"folds": 11}, {"folds": 3, "train_files": True}])
@pytest.mark.parametrize("layout", ["coco", "roboflow"])
def test_what_was_written_is_found(tmp_path, layout, how, gzipped):
    """The subsets of each layout are found in their order, without complements; the manifest is no annotation file."""
    path, out = write(tmp_path / "a.json", instances(40)), tmp_path / "out"
    split = evosplit_coco(path, out, layout=layout, gzip=gzipped, method="random", cover=False, **how)
    found = coco_files(out)
    assert len(found) == len(split.names)
    folds = split.is_kfold and layout == "roboflow"
    called = [path.relative_to(out).parts[0] if folds else path.as_posix() for path in found]
    for name, where in zip(split.names, called, strict=True):
        assert name in where
    assert is_manifest(out / "split.json")
    assert not is_annotation_file(out / "split.json")
    assert all(map(is_annotation_file, found))


def test_other_folders(tmp_path):
    """Folders of other things hold nothing."""
    write(tmp_path / "train.txt", "a.jpg")
    write(tmp_path / "data.json", {"images": []})
    assert coco_files(tmp_path) == []
    assert coco_files(tmp_path / "none") == []
    assert coco_files(Path(tmp_path / "data.json")) == []


def test_a_subset_that_may_not_be_read_is_not_left_out(tmp_path):
    """An audit of the others alone would find no leak into it."""
    for name in ("train", "valid", "test"):
        write(tmp_path / name / "_annotations.coco.json", instances())
    assert len(coco_files(tmp_path)) == 3
    (tmp_path / "valid").chmod(0)
    with no_privileges(), pytest.raises(EvoSplitError, match=r"cannot read .*valid: Permission denied; make it"):
        coco_files(tmp_path)
    (tmp_path / "valid").chmod(0o700)

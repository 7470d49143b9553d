"""What is written is what was read, byte for byte."""

from __future__ import annotations

import gzip
import json

import pytest
from coco_files import QUICK, RATIOS, annotation_files, around, elements, instances, load, odd_files, write
from hypothesis import HealthCheck, given, settings

from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import apply_split


def test_pycocotools_loads_every_subset_with_the_same_annotations(tmp_path):
    """For pycocotools each image has the annotations it had, in exactly one of the files."""
    path = write(tmp_path / "a.json", instances(60))
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    before = load(path)
    seen: list[int] = []
    for name in RATIOS:
        after = load(tmp_path / "out" / "annotations" / f"instances_{name}.json")
        assert after.loadCats(after.getCatIds()) == before.loadCats(before.getCatIds())
        for image in after.getImgIds():
            ids = after.getAnnIds(imgIds=image)
            assert ids == before.getAnnIds(imgIds=image)
            assert after.loadAnns(ids) == before.loadAnns(ids)
        seen += after.getImgIds()
    assert sorted(seen) == sorted(before.getImgIds())


def test_subsets_follow_the_split(tmp_path):
    """Each file holds the images that the returned split says, with exact sizes, in the input's order."""
    made = instances(50)
    split = evosplit_coco(write(tmp_path / "a.json", made), tmp_path / "out", (0.5, 0.3, 0.2), **QUICK)
    assert split.names == ("train", "val", "test")
    assert split.sizes == (25, 15, 10)
    for name, data in annotation_files(tmp_path / "out").items():
        assert [json.loads(part)["id"] for part in elements(data, "images")] == split.ids(name).tolist()


@given(text=odd_files())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_every_byte_survives(tmp_path_factory, text):
    """However the file looks, each element comes out byte for byte, once, in order; so does the rest."""
    folder = tmp_path_factory.mktemp("bytes")
    path = write(folder / "a.json", text.encode("utf-8", "surrogatepass"))
    data = path.read_bytes()
    split = evosplit_coco(path, folder / "out", (0.5, 0.5), **QUICK)
    subset_of = dict(zip(split.sample_ids.tolist(), split.assignment.tolist(), strict=True))
    for position, name in enumerate(split.names):
        written = (folder / "out" / "annotations" / f"instances_{name}.json").read_bytes()
        for key, field in (("images", "id"), ("annotations", "image_id")):
            expected = [part for part in elements(data, key) if subset_of[json.loads(part)[field]] == position]
            assert elements(written, key) == expected
        assert around(written) == around(data)


def test_unknown_keys_and_order_stay_in_their_place(tmp_path):
    """Keys that nobody knows, and pretty printing, are in every file as they were in the input."""
    made = {"zebra": {"x": [1.50]}, **instances(), "videos": [{"id": 1}], "": None}
    path = write(tmp_path / "a.json", made, indent=2)
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    for data in annotation_files(tmp_path / "out").values():
        assert around(data) == around(path.read_bytes())
        assert b"\n    {\n      " in data


def test_string_ids_and_ids_beyond_64_bits(tmp_path):
    """Ids may be strings or integers of any size, as long as both sides agree."""
    made = instances(10)
    new = {image["id"]: f"img-{image['id']}" if image["id"] % 2 else 10**25 + image["id"] for image in made["images"]}
    for image in made["images"]:
        image["id"] = new[image["id"]]
    for annotation in made["annotations"]:
        annotation["image_id"] = new[annotation["image_id"]]
    path = write(tmp_path / "a.json", made)
    split = evosplit_coco(path, tmp_path / "out", (0.5, 0.5), **QUICK)
    assert set(split.sample_ids.tolist()) == set(new.values())
    apply_split(path, tmp_path / "out" / "split.json", tmp_path / "again")
    assert annotation_files(tmp_path / "again") == annotation_files(tmp_path / "out")


def test_keypoints_lvis_and_rle_pass_through(tmp_path):
    """Fields of other kinds of COCO files survive, and name the files after their kind."""
    made = instances()
    made["categories"][0].update(
        keypoints=["nose"], skeleton=[[1, 1]], instance_count=7, frequency="r", synset="x.n.01"
    )
    made["annotations"][0].update(
        keypoints=[1, 2, 2], num_keypoints=1, segmentation={"counts": "a\\b}{", "size": [2, 2]}
    )
    made["images"][0].update(neg_category_ids=[10], not_exhaustive_category_ids=[])
    path = write(tmp_path / "a.json", made)
    evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    written = annotation_files(tmp_path / "out", "person_keypoints")
    assert set(written) == set(RATIOS)
    for key in ("images", "annotations"):
        parts = [part for data in written.values() for part in elements(data, key)]
        assert sorted(parts) == sorted(elements(path.read_bytes(), key))


def test_gzip_in_and_out(tmp_path):
    """A compressed input gives the same subsets, and compressed outputs hold the same bytes, every time."""
    plain = write(tmp_path / "a.json", instances(40))
    packed = write(tmp_path / "b.json.gz", gzip.compress(plain.read_bytes()))
    evosplit_coco(plain, tmp_path / "plain", RATIOS, **QUICK)
    for name in ("packed", "again"):
        evosplit_coco(packed, tmp_path / name, RATIOS, gzip=True, **QUICK)
    assert {
        name: gzip.decompress(data) for name, data in annotation_files(tmp_path / "packed").items()
    } == annotation_files(tmp_path / "plain")
    assert annotation_files(tmp_path / "packed") == annotation_files(tmp_path / "again")
    assert (tmp_path / "packed" / "annotations" / "instances_val.json.gz").exists()

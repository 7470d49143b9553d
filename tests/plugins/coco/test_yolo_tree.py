"""The layout "yolo": what Ultralytics makes of COCO files itself, in subsets that it loads whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from coco_files import QUICK, RATIOS, instances, panoptic, write
from ultralytics_client import client  # noqa: F401  (a fixture)
from yolo_files import png

from evosplit import EvoSplitError
from evosplit_plugins.cli import main
from evosplit_plugins.coco import evosplit_coco
from evosplit_plugins.yolo import audit, read_counts


def made_with_parts():
    """Make a file whose categories are numbered as Ultralytics expects it, with polygons of every kind."""
    made = instances(40)
    for category in made["categories"]:
        category["id"] //= 10
    for number, annotation in enumerate(made["annotations"]):
        annotation["category_id"] //= 10
        x, y, w, h = annotation["bbox"]
        kind = number % 5
        if kind == 1:
            part = [x, y, x + w / 3, y, x + w / 3, y + h]
            annotation["segmentation"] = [
                part,
                [value + w / 2 if at % 2 == 0 else value for at, value in enumerate(part)],
            ]
        elif kind == 2:
            annotation["segmentation"] = []
        elif kind == 3:
            del annotation["segmentation"]
    made["annotations"].append({**made["annotations"][0], "id": 99999})  # the same once more
    made["annotations"].append({**made["annotations"][1], "id": 99998, "bbox": [1, 1, 0, 5], "segmentation": []})
    return made


@pytest.fixture
def pictures(tmp_path):
    """Make the pictures of the file."""
    for number, image in enumerate(instances(40)["images"]):
        write(tmp_path / "pictures" / image["file_name"], png(number))
    return tmp_path / "pictures"


def labels_below(folder):
    """Read all label files as lists of numbers, by the name of the image."""
    return {
        path.stem: [list(map(float, line.split())) for line in path.read_text().splitlines()]
        for path in folder.rglob("*.txt")
    }


@pytest.mark.parametrize("polygons", [False, True])
def test_labels_are_those_of_ultralytics(client, tmp_path, pictures, polygons):  # noqa: F811
    """The same lines as Ultralytics' own converter writes; where it joins parts, the same corners and the same box."""
    from ultralytics.data.converter import convert_coco

    path = write(tmp_path / "annotations" / "instances_all.json", made_with_parts())
    convert_coco(str(path.parent), str(tmp_path / "theirs"), use_segments=polygons, cls91to80=False)
    how = {"layout": "yolo", "images": "symlink", "image_root": pictures, "polygons": polygons}
    evosplit_coco(path, tmp_path / "out", RATIOS, **how, **QUICK)
    ours, theirs = labels_below(tmp_path / "out" / "labels"), labels_below(tmp_path / "theirs" / "labels")
    assert {name for name, lines in theirs.items() if lines} == set(ours)
    n_lines = 0
    for name, lines in ours.items():
        assert len(lines) == len(theirs[name])
        for one, other in zip(lines, theirs[name], strict=True):
            n_lines += 1
            assert one[0] == other[0]
            a, b = (np.array(line[1:]).reshape(-1, 2) for line in (one, other))
            if len(a) != len(b) or not np.allclose(a, b, atol=2e-6):
                assert polygons
                assert np.allclose(a.min(axis=0), b.min(axis=0), atol=2e-6)
                assert np.allclose(a.max(axis=0), b.max(axis=0), atol=2e-6)
                assert {tuple(point) for point in a.round(5)} == {tuple(point) for point in b.round(5)}
    assert n_lines > 50


@pytest.mark.parametrize(("task", "polygons"), [("detect", False), ("segment", True)])
@pytest.mark.parametrize("mode", ["symlink", "hardlink", "copy"])
def test_ultralytics_loads_it(client, tmp_path, pictures, task, polygons, mode):  # noqa: F811
    """Every image, and every label that is no crowd."""
    path = write(tmp_path / "a.json", made_with_parts())
    how = {"layout": "yolo", "images": mode, "image_root": pictures, "polygons": polygons}
    split = evosplit_coco(path, tmp_path / "out", RATIOS, count_crowd=False, **how, **QUICK)
    loaded = client.load(tmp_path / "out" / "data.yaml", task)
    counts = read_counts(tmp_path / "out")
    assert {name: len(each.images) for name, each in loaded.items()} == dict(zip(split.names, split.sizes, strict=True))
    assert sum(sum(each.instances.values()) for each in loaded.values()) == counts.totals.sum()
    shapes = {
        (each["image_id"], each["category_id"], *each["bbox"])
        for each in made_with_parts()["annotations"]
        if not each["iscrowd"] and each["bbox"][2]
    }
    assert counts.totals.sum() == len(shapes)
    assert audit(tmp_path / "out", compare=False).split.sizes == split.sizes


def test_folds(client, tmp_path, pictures):  # noqa: F811
    """A yaml file for each fold."""
    path = write(tmp_path / "a.json", made_with_parts())
    evosplit_coco(path, tmp_path / "out", folds=4, layout="yolo", images="symlink", image_root=pictures, **QUICK)
    for number in range(4):
        loaded = client.load(tmp_path / "out" / f"fold{number}.yaml")
        assert {name: len(each.images) for name, each in loaded.items()} == {"train": 30, "val": 10}


def test_names_and_notes(tmp_path, pictures):
    """The classes are those of the file, whatever they are called; what YOLO does not know is told."""
    made = made_with_parts()
    made["categories"][1]["name"] = 'no: "ä" #'
    path = write(tmp_path / "a.json", made)
    how = {"layout": "yolo", "images": "symlink", "image_root": pictures}
    split = evosplit_coco(path, tmp_path / "out", RATIOS, **how, **QUICK)
    content = yaml.safe_load((tmp_path / "out" / "data.yaml").read_text(encoding="utf-8"))
    assert list(content["names"].values()) == list(split.counts.labels)
    assert content["train"] == "images/train"
    assert read_counts(tmp_path / "out").labels == split.counts.labels


def test_folders_in_names(tmp_path):
    """Folders of the file names stay, but for one that is called images."""
    made = instances()
    for image in made["images"]:
        image["file_name"] = f"images/deep/images/{image['file_name']}"
        write(tmp_path / image["file_name"], png(image["id"]))
    path = write(tmp_path / "a.json", made)
    how = {"layout": "yolo", "images": "symlink", "image_root": tmp_path}
    split = evosplit_coco(path, tmp_path / "out", RATIOS, count_crowd=False, **how, **QUICK)
    assert len(list((tmp_path / "out" / "images" / "val" / "deep").rglob("*.jpg"))) == split.sizes[1]
    assert read_counts(tmp_path / "out").totals.tolist() == split.counts.totals.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"images": "none", "image_root": None}, "layout='yolo' is a tree of images and labels; say how"),
        ({"gzip": True}, "gzip=True makes no sense for layout='yolo'"),
        ({"train_files": True}, "train_files=True makes no sense"),
        ({"ratios": {"a": 0.5, "b": 0.5}}, "trains on 'train' and validates on 'val'"),
        ({"ratios": {"train": 0.5, "v.1": 0.5}}, "cannot be part of a file name"),
    ],
    ids=str,
)
def test_refused(tmp_path, pictures, options, message):
    """What Ultralytics could not read is refused, and nothing is written."""
    path = write(tmp_path / "a.json", made_with_parts())
    how = {"ratios": RATIOS, "layout": "yolo", "images": "symlink", "image_root": pictures, **options}
    with pytest.raises(EvoSplitError, match=message):
        evosplit_coco(path, tmp_path / "out", **how, **QUICK)
    assert not (tmp_path / "out").exists()


def test_files_without_boxes(tmp_path, pictures):
    """Panoptic files have none; and images need their sizes."""
    how = {"layout": "yolo", "images": "symlink", "image_root": pictures}
    with pytest.raises(EvoSplitError, match=r"layout='yolo' needs boxes, but p\.json holds panoptic"):
        evosplit_coco(write(tmp_path / "p.json", panoptic()), tmp_path / "out", RATIOS, **how, **QUICK)
    made = instances(40)
    del made["images"][3]["width"]
    made["images"][5]["height"] = 0
    with pytest.raises(
        EvoSplitError, match=r"2 images have no width and height, .*: images\[3\], images\[5\]; add them"
    ):
        evosplit_coco(write(tmp_path / "s.json", made), tmp_path / "out", RATIOS, **how, **QUICK)
    made = instances(2)
    made["images"][1]["file_name"] = "000001.png"
    write(pictures / "000001.png", png())
    path = write(tmp_path / "t.json", made)
    with pytest.raises(EvoSplitError, match=r"000001\.jpg and 000001\.png would share a label file"):
        evosplit_coco(path, tmp_path / "out", {"train": 1, "val": 1}, **how, **QUICK)


def test_manifest_is_there(tmp_path, pictures):
    """The split can be replayed on the tree."""
    path = write(tmp_path / "a.json", instances(40))
    how = {"layout": "yolo", "images": "symlink", "image_root": pictures}
    split = evosplit_coco(path, tmp_path / "out", RATIOS, **how, **QUICK)
    saved = json.loads((tmp_path / "out" / "split.json").read_text())
    assert saved["source"]["adapter"] == "coco"
    for name in RATIOS:
        found = {path.name for path in (tmp_path / "out" / "images" / name).iterdir()}
        assert found == {Path(split.file_names[row]).name for row in split.indices(name)}


def test_command(tmp_path, pictures, capsys):
    """`evosplit split` takes the layouts of whatever adapter it finds."""
    path = write(tmp_path / "a.json", instances(40))
    words = ["split", str(path), "-o", str(tmp_path / "out"), "--ratios", "8:1:1", "--method", "random", "--quiet"]
    assert main([*words, "--layout", "yolo", "--images", "symlink", "--image-root", str(pictures)]) == 0
    assert main(["audit", str(tmp_path / "out"), "--no-compare", "--allow-leaks", "--quiet"]) == 0
    assert main([*words, "--layout", "tree"]) == 2
    assert "invalid choice: 'tree' (choose from" in capsys.readouterr().err
    words[1:4] = [str(tmp_path / "out"), "-o", str(tmp_path / "again")]
    assert main([*words, "--layout", "tree", "--images", "copy"]) == 0
    assert len(list((tmp_path / "again" / "images" / "train").iterdir())) == 32

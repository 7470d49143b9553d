"""Ultralytics loads what EvoSplit writes: every image, every label, every background, and nothing else."""

from __future__ import annotations

import asyncio
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
import yolo_files as yf
from ultralytics_client import client  # noqa: F401  (a fixture)
from yolo_files import RATIOS

from evosplit_plugins.demo import draw_demo
from evosplit_plugins.yolo import YoloAdapter, YoloReading, evosplit_yolo

LINES = {"detect": yf.box, "segment": yf.polygon, "obb": yf.obb, "pose": yf.pose}
KEYS = {"pose": {"kpt_shape": "[2, 3]"}}
OUTPUTS = {
    "lists": {},
    "symlink": {"layout": "tree", "images": "symlink"},
    "hardlink": {"layout": "tree", "images": "hardlink"},
    "copy": {"layout": "tree", "images": "copy"},
    "roboflow": {"layout": "roboflow", "images": "copy"},
}


class SilentHandler(SimpleHTTPRequestHandler):
    """Serves files, and tells nobody."""

    def log_message(self, *given):
        pass


def said(split):
    """Give what EvoSplit says of each subset: the files, the labels of each class, the backgrounds."""
    rows = split.counts.matrix.toarray()
    return {
        name: (
            sorted(Path(split.file_names[row]).name for row in split.indices(name)),
            {j: int(n) for j, n in enumerate(rows[split.indices(name)].sum(axis=0)) if n},
            int((rows[split.indices(name)].sum(axis=1) == 0).sum()),
        )
        for name in split.names
    }


def found(loaded):
    """Give the same of what Ultralytics loads."""
    return {
        name: (sorted(Path(path).name for path in each.images), each.instances, each.backgrounds)
        for name, each in loaded.items()
    }


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("task", LINES)
def test_all_is_loaded(client, tmp_path, monkeypatch, task, output):  # noqa: F811
    """As many images, labels and backgrounds in each subset as the split says, from any working directory."""
    data = yf.ultralytics(tmp_path / "data", yf.pictures(line=LINES[task]), **KEYS.get(task, {}))
    split = evosplit_yolo(data, tmp_path / "out", RATIOS, **OUTPUTS[output])
    (tmp_path / "elsewhere").mkdir()
    for folder in (tmp_path, tmp_path / "elsewhere", tmp_path / "out", tmp_path / "data"):
        monkeypatch.chdir(folder)
        assert found(client.load(tmp_path / "out" / "data.yaml", task)) == said(split)


@pytest.mark.parametrize("output", OUTPUTS)
def test_folds(client, tmp_path, output):  # noqa: F811
    """Each fold is validated on once, and trained on in the others."""
    data = yf.ultralytics(tmp_path / "data", yf.pictures())
    split = evosplit_yolo(data, tmp_path / "out", folds=4, **OUTPUTS[output])
    parts = said(split)
    for name in split.names:
        loaded = found(client.load(tmp_path / "out" / f"{name}.yaml"))
        assert loaded["val"] == parts[name]
        assert loaded["train"][0] == sorted(file for other in parts if other != name for file in parts[other][0])


def test_beside_the_data(client, tmp_path, monkeypatch):  # noqa: F811
    """In the folder of the data the lists begin with ./, so that the whole can be moved."""
    data = yf.ultralytics(tmp_path / "data", yf.pictures())
    split = evosplit_yolo(data, tmp_path / "data", RATIOS)
    (tmp_path / "data").rename(tmp_path / "moved")
    assert all(line.startswith("./images/") for line in (tmp_path / "moved" / "val.txt").read_text().splitlines())
    assert found(client.load(tmp_path / "moved" / "split.yaml")) == said(split)
    monkeypatch.chdir(tmp_path / "moved")
    assert found(client.load("split.yaml")) == said(split)


def test_through_a_link(client, tmp_path):  # noqa: F811
    """A folder that a link leads to is read and written through the link."""
    yf.ultralytics(tmp_path / "real", yf.pictures())
    (tmp_path / "link").symlink_to(tmp_path / "real")
    split = evosplit_yolo(tmp_path / "link" / "data.yaml", tmp_path / "link", RATIOS)
    assert found(client.load(tmp_path / "link" / "split.yaml")) == said(split)


def test_again_over_an_earlier_tree(client, tmp_path):  # noqa: F811
    """What Ultralytics remembers of an earlier split is gone with it: labels that changed are read anew."""
    data = yf.ultralytics(tmp_path / "data", yf.pictures())
    where = {"layout": "tree", "images": "copy"}
    evosplit_yolo(data, tmp_path / "out", RATIOS, **where)
    client.load(tmp_path / "out" / "data.yaml")
    caches = sorted((tmp_path / "out" / "labels").glob("*.cache"))
    assert len(caches) == 3
    for path in (tmp_path / "data" / "labels").rglob("*.txt"):
        path.write_text(path.read_text().replace("0 0.", "2 0."))
    split = evosplit_yolo(data, tmp_path / "out", RATIOS, **where, overwrite=True)
    assert not any(path.exists() for path in caches)
    assert found(client.load(tmp_path / "out" / "data.yaml")) == said(split)


def test_demo(client, tmp_path):  # noqa: F811
    """The drawn pictures, whose labels come from polygons."""
    data = draw_demo(tmp_path / "demo", n_images=30, format="yolo").annotations
    split = evosplit_yolo(data, tmp_path / "out", RATIOS)
    assert found(client.load(tmp_path / "out" / "data.yaml")) == said(split)


def test_classes(client, tmp_path):  # noqa: F811
    """Folders of classes are found as such, in every subset."""
    from ultralytics.data.utils import check_cls_dataset

    for number in range(30):
        folder = tmp_path / "data" / "abc"[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.png").write_bytes(yf.png(number))
    evosplit_yolo(tmp_path / "data", tmp_path / "out", RATIOS)
    loaded = check_cls_dataset(str(tmp_path / "out"))
    assert loaded["names"] == {0: "a", 1: "b", 2: "c"}
    assert [loaded[name].name for name in RATIOS] == list(RATIOS)
    told = "\n".join(client.said)
    for n in (18, 6, 6):
        assert f"found {n} images in 3 classes" in told


def test_ndjson(client, tmp_path):  # noqa: F811
    """Ultralytics' own converter fetches the images of each subset, with their labels."""
    from ultralytics.data.converter import convert_ndjson_to_yolo

    pictures = yf.ultralytics(tmp_path / "data", yf.pictures()).parent
    boxes = {
        path.stem: [list(map(float, line.split())) for line in path.read_text().splitlines()]
        for path in pictures.rglob("*.txt")
    }
    handler = partial(SilentHandler, directory=str(pictures))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        records = [
            {
                "type": "image",
                "file": path.name,
                "url": f"http://127.0.0.1:{server.server_port}/{quote(path.relative_to(pictures).as_posix())}",
                "split": "train",
                "annotations": {"boxes": boxes.get(path.stem, [])},
            }
            for path in sorted(pictures.rglob("*.png"))
        ]
        about = {"type": "dataset", "task": "detect", "class_names": {str(j): name for j, name in enumerate(yf.NAMES)}}
        source = tmp_path / "set.ndjson"
        source.write_text("".join(f"{json.dumps(record)}\n" for record in (about, *records)))
        split = evosplit_yolo(source, tmp_path / "out", RATIOS)
        yaml = asyncio.run(convert_ndjson_to_yolo(tmp_path / "out" / "data.ndjson", tmp_path / "converted"))
        server.shutdown()
    loaded = client.load(yaml)
    assert {name: (len(each.images), each.instances, each.backgrounds) for name, each in loaded.items()} == {
        name: (len(files), instances, backgrounds) for name, (files, instances, backgrounds) in said(split).items()
    }


@pytest.mark.parametrize("maker", [yf.roboflow, yf.listed, yf.darknet], ids=lambda maker: maker.__name__)
def test_of_other_layouts(client, tmp_path, maker):  # noqa: F811
    """Whatever the data came from, what is written is for Ultralytics."""
    (tmp_path / "data").mkdir()
    data = maker(tmp_path / "data", yf.pictures())
    for name, how in OUTPUTS.items():
        split = evosplit_yolo(data, tmp_path / name, RATIOS, **how)
        assert found(client.load(tmp_path / name / "data.yaml")) == said(split)


def test_counts_are_those_of_ultralytics(client, tmp_path):  # noqa: F811
    """What is counted is what Ultralytics counts: equal lines once, odd spacing and line ends as they are."""
    root = tmp_path / "data"
    odd = {
        "a": "0 0.5 0.5 0.1 0.1\r\n0 0.50 0.5 0.1 0.10\r\n\r\n",
        "b": "\ufeff1\t0.5\t0.5  0.1 0.1\n   \n  2 0.5 0.5 0.1 0.1",
        "c": "1.0 1 1 1.000 1.01\n0 5e-1 0.5 -0 0\n",
        "d": "\n\n0 -0.005 0.5 0.1 0.1\n0 0.5 0.5 1e-05 1e-5\n0 0.5 0.5 0.00001 0.00001\n",
    }
    yf.write_pictures(root, [yf.Picture(f"{name}.png", ("0 0.5 0.5 0.1 0.1",)) for name in odd])
    for name, text in odd.items():
        (root / "labels" / f"{name}.txt").write_bytes(text.encode())
    (root / "data.yaml").write_text(yf.yaml_text(train="images", val="images"))
    source = YoloAdapter().read([str(root / "data.yaml")], YoloReading())
    from ultralytics.data.utils import check_det_dataset

    from evosplit_plugins.yolo import read_counts

    assert len(source) == 4
    totals = read_counts(root).totals.tolist()
    from ultralytics.data.dataset import YOLODataset

    data = check_det_dataset(str(root / "data.yaml"))
    made = YOLODataset(img_path=data["train"], data=data, task="detect", augment=False, imgsz=32)
    classes = [int(j) for label in made.labels for j in label["cls"].reshape(-1)]
    assert len(made.labels) == 4
    assert [classes.count(j) for j in range(3)] == totals

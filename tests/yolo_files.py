"""Small YOLO data sets in every layout, which the tests write themselves."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from evosplit_plugins.yolo import YoloAdapter, YoloReading

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
NAMES = ("cat", "dog", "eel")


def png(number=0, side=12):
    """Make the bytes of a small picture, another one for each number."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + bytes((number * 7 % 256, number // 256 % 256, 99)) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * side)) + chunk(b"IEND", b"")


@dataclass(frozen=True)
class Picture:
    """An image with its classes; `lines` are those of its label file, None for no file."""

    name: str
    lines: tuple[str, ...] | None

    @property
    def classes(self):
        """Count its classes."""
        found = [int(line.split()[0]) for line in self.lines or ()]
        return {j: found.count(j) for j in set(found)}


def box(j, k=0):
    """Write a box of a class; another `k` is another box."""
    return f"{j} 0.{40 + k} 0.5 0.2 0.{10 + k}"


def polygon(j, k=0):
    """Write a polygon."""
    return f"{j} 0.1 0.1 0.{50 + k} 0.2 0.4 0.{60 + k}"


def obb(j, k=0):
    """Write a box that is turned: four corners."""
    return f"{j} 0.1 0.1 0.{50 + k} 0.1 0.{50 + k} 0.6 0.1 0.6"


def pose(j, k=0):
    """Write a box with two points, each with whether it is visible."""
    return f"{j} 0.{40 + k} 0.5 0.2 0.2 0.3 0.4 2 0 0 0"


def pictures(n=40, line=box):
    """Make images of all kinds: several labels, a label twice, an empty label file, none at all."""
    kinds = [(0, 0, 1), (1,), (), (2, 0), None, (0,), (1, 2, 2, 2)]
    made = []
    for number in range(n):
        kind = kinds[number * 3 % len(kinds)] if number % 11 else ()
        name = f"{('pic', 'ä b', 'x#1', 'y[2]')[number % 4]}_{number:03}.png"
        made.append(Picture(name, None if kind is None else tuple(line(j, k) for k, j in enumerate(kind))))
    return made


def write_pictures(root, data, images="images", labels="labels"):
    """Write images and their label files into two folders."""
    for folder in (images, labels):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(data):
        (root / images / each.name).write_bytes(png(number))
        if each.lines is not None:
            text = "".join(f"{line}\n" for line in each.lines)
            (root / labels / each.name).with_suffix(".txt").write_text(text, encoding="utf-8")


def yaml_text(**keys):
    """Write a yaml file with the three classes."""
    return "".join(f"{key}: {value}\n" for key, value in {"names": "[cat, dog, eel]", **keys}.items())


def ultralytics(root, data, *, flat=False, **keys):
    """Write images/train, images/val and a data.yaml; `flat` has all images in one folder."""
    if flat:
        write_pictures(root, data)
        text = yaml_text(train="images", val="images", **keys)
    else:
        cut = len(data) * 3 // 4
        write_pictures(root, data[:cut], "images/train", "labels/train")
        write_pictures(root, data[cut:], "images/val", "labels/val")
        text = yaml_text(train="images/train", val="images/val", **keys)
    (root / "data.yaml").write_text(text, encoding="utf-8")
    return root / "data.yaml"


def roboflow(root, data):
    """Write a Roboflow export: train, valid and test, and paths with one ../ too many."""
    for at, name in enumerate(("train", "valid", "test")):
        write_pictures(root, data[at::3], f"{name}/images", f"{name}/labels")
    text = yaml_text(train="../train/images", val="../valid/images", test="../test/images", nc=3)
    (root / "data.yaml").write_text(f"{text}\nroboflow:\n  workspace: mine\n  version: 3\n", encoding="utf-8")
    return root / "data.yaml"


def listed(root, data, prefix="./", subsets=("train", "val")):
    """Write one folder of images and a list for each subset, whose lines begin with a prefix."""
    write_pictures(root, data)
    for at, name in enumerate(subsets):
        lines = [f"{prefix}images/{each.name}\n" for each in data[at :: len(subsets)]]
        (root / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    (root / "data.yaml").write_text(yaml_text(**{name: f"{name}.txt" for name in subsets}), encoding="utf-8")
    return root / "data.yaml"


def darknet(root, data):
    """Write what Darknet trains on: obj.data, obj.names, lists, and labels beside the images."""
    write_pictures(root, data, "obj_train_data", "obj_train_data")
    (root / "obj.names").write_text("".join(f"{name}\n" for name in NAMES), encoding="utf-8")
    lines = [f"data/obj_train_data/{each.name}\n" for each in data]
    (root / "train.txt").write_text("".join(lines), encoding="utf-8")
    described = "classes = 3\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n"
    (root / "obj.data").write_text(described, encoding="utf-8")
    return root / "obj.data"


def by_name(counts):
    """Give the labels of each image, by the name of its file."""
    rows = counts.matrix.toarray().tolist()
    named = zip(counts.ids.tolist(), rows, strict=True)
    return {Path(name).name: {j: n for j, n in enumerate(row) if n} for name, row in named}


def expected(data):
    """Give what `by_name` has to find."""
    return {each.name: each.classes for each in data}


def read(*paths, **options):
    """Read a data set."""
    return YoloAdapter().read([str(path) for path in paths], YoloReading(**options))


def names_in(path):
    """Give the names of the images of a list, or of a folder."""
    if path.is_dir():
        return sorted(each.name for each in path.rglob("*") if each.suffix != ".txt" and each.is_file())
    return sorted(Path(line).name for line in path.read_text(encoding="utf-8").splitlines())

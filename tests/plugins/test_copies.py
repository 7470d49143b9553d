"""Copies of one picture never cross subsets unless asked to, at any adapter; the audit of our own output is clean."""

from __future__ import annotations

import json

import coco_files
import pytest

from evosplit_plugins.cli import main

RATIOS = {"train": 0.5, "test": 0.5}
N = 20
ROBOFLOW = "{}_jpg.rf.{:032x}.jpg"


def names_twice():
    """Name pictures twice each, in three ways of writing one name."""
    first = [f"{i}.jpg" for i in range(N)]
    return first, [f"./{i}.jpg" if i % 2 else ROBOFLOW.format(i, i) for i in range(N)]


@pytest.fixture
def annotated_twice(tmp_path):
    """Write a file of pictures that two rounds of annotation hold, merged."""
    first, second = names_twice()
    one, two = coco_files.instances(N), coco_files.instances(N, seed=1, first_id=100)
    for content, names in ((one, first), (two, second)):
        for image, name in zip(content["images"], names, strict=True):
            image["file_name"] = name
    one["images"] += two["images"]
    one["annotations"] += two["annotations"]
    return coco_files.write(tmp_path / "both.json", one)


def subsets_of_pictures(places):
    """Give the subsets of each picture, from pairs of a name and its subset."""
    found = {}
    for name, subset in places:
        number = name.removeprefix("./").rpartition("/")[2].partition(".")[0].removesuffix("_jpg")
        found.setdefault(number, set()).add(subset)
    return found


def test_coco(annotated_twice, tmp_path, capsys):
    """Same picture, same subset, with a note; the option lets them part, and then the audit finds the leak."""
    words = ["coco", "split", str(annotated_twice), "-s", "train:50", "-s", "test:50", "--effort", "fast"]
    assert main([*words, "-o", str(tmp_path / "out")]) == 0
    assert "40 samples are copies of 20 pictures, by file name; they stay together." in capsys.readouterr().out
    places = []
    for name in RATIOS:
        content = json.loads((tmp_path / "out" / "annotations" / f"instances_{name}.json").read_text())
        places += [(image["file_name"], name) for image in content["images"]]
    assert all(len(subsets) == 1 for subsets in subsets_of_pictures(places).values())
    assert main(["audit", str(tmp_path / "out"), "--no-compare", "--quiet"]) == 0
    assert main([*words, "-o", str(tmp_path / "apart"), "--no-group-copies"]) == 0
    assert "stay together" not in capsys.readouterr().out
    assert main(["audit", str(tmp_path / "apart"), "--no-compare", "--quiet"]) == 1


def test_fiftyone(fiftyone, new_dataset):
    """Samples of one file are one picture."""
    from evosplit_plugins import evosplit_fiftyone

    first, second = names_twice()
    samples = [
        fiftyone.Sample(filepath=f"/data/{name}", gt=fiftyone.Classification(label=str(i % 3)))
        for i, name in enumerate([*first, *second])
    ]
    dataset = new_dataset(samples)
    split = evosplit_fiftyone(dataset, RATIOS, field="subset", effort="fast")
    places = zip(*dataset.values(["filepath", "subset"]), strict=True)
    assert all(len(subsets) == 1 for subsets in subsets_of_pictures(places).values())
    assert "40 samples are copies of 20 pictures, by file name; they stay together." in split.notes
    split = evosplit_fiftyone(dataset, RATIOS, field="subset", effort="fast", group_copies=False)
    assert split.constraints is None
    assert split.settings["group_copies"] is False

"""Subsets handed over to FiftyOne's exporters."""

from __future__ import annotations

import os

import numpy as np
import pytest
from fiftyone_samples import boxes

from evosplit import EvoSplitError
from evosplit_plugins.staging import RECORD

NAMES = ("cat", "dog", "owl")


@pytest.fixture
def api(fiftyone):
    """Give the public functions."""
    from evosplit_plugins import fiftyone_plugin

    return fiftyone_plugin


@pytest.fixture
def dataset(fiftyone, api, new_dataset, tmp_path):
    """Give twelve pictures in three subsets; two have the same file name, one has no box, one no label at all."""
    from PIL import Image

    rng = np.random.default_rng(0)
    samples = []
    for i in range(12):
        path = tmp_path / "pictures" / str(i % 2) / ("same.png" if i < 2 else f"{i}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), (i, i, i)).save(path)
        names = rng.choice(NAMES, size=0 if i == 5 else 3).tolist()
        samples.append(fiftyone.Sample(filepath=str(path), gt=None if i == 6 else boxes(fiftyone, *names)))
    made = new_dataset(samples)
    api.evosplit_fiftyone(made, {"train": 8, "val": 2, "test": 2}, effort="fast")
    return made


@pytest.mark.parametrize("format", ["coco", "yolo"])
@pytest.mark.parametrize("media", ["copy", "symlink"])
def test_export(fiftyone, api, dataset, tmp_path, format, media):
    """Each subset loads again with its samples and labels, under the same classes; pictures are copied or linked."""
    before, seen = fiftyone.list_datasets(), []
    options = {"format": format, "media": media, "on_progress": lambda done, message: seen.append(done)}
    sizes = api.export_subsets(dataset, tmp_path / "out", **options)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1], len(seen)) == (0.0, 1.0, 7)
    assert sizes == {"train": 8, "val": 2, "test": 2}
    assert fiftyone.list_datasets() == before
    pictures = list((tmp_path / "out").rglob("*.png"))
    assert len(pictures) == 12
    assert all(path.is_symlink() is (media == "symlink") for path in pictures)
    if format == "coco":
        assert {path.name for path in (tmp_path / "out").iterdir()} == {"train", "val", "test", RECORD}
    else:
        text = (tmp_path / "out" / "dataset.yaml").read_text()
        assert str(tmp_path) not in text
        assert all(name in text for name in (*NAMES, "train", "val", "test"))


def test_field_and_view(api, dataset, tmp_path):
    """Subsets of a field, and of a view, are exported as well."""
    dataset.set_values("part", ["a", "b"] * 6)
    assert api.export_subsets(dataset.limit(6), tmp_path / "out", ["a", "b"], field="part") == {"a": 3, "b": 3}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"format": "voc"}, "format='voc' is unknown; choose from 'coco', 'yolo'"),
        ({"media": "move"}, "media='move' is unknown"),
        ({"label_field": "nope"}, "'nope' of dataset .* holds Detections or Polylines.*'gt'"),
        ({"names": ["train", "gone"]}, "no sample of dataset .* is in 'gone'"),
    ],
)
def test_refused(api, dataset, tmp_path, options, match):
    """What cannot be exported is named, and nothing is written."""
    with pytest.raises(EvoSplitError, match=match):
        api.export_subsets(dataset, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_never_over_files(api, dataset, tmp_path):
    """A directory with anything in it is left alone; an empty one is filled."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(EvoSplitError, match="exists, and nothing in it is replaced"):
        api.export_subsets(dataset, out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    (out / "mine.txt").unlink()
    assert sum(api.export_subsets(dataset, out).values()) == 12


def test_failure_leaves_nothing(api, dataset, tmp_path):
    """When a picture is missing, no part of the export stays behind."""
    (tmp_path / "pictures" / "0" / "4.png").unlink()
    there = sorted(tmp_path.iterdir())
    with pytest.raises(Exception, match=r"4\.png|does not load"):
        api.export_subsets(dataset, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == there


def test_killed_export(api, dataset, tmp_path, monkeypatch):
    """What a killed export leaves is removed by the next one, which writes there."""
    from evosplit_plugins.staging import Staging

    def stop(staging):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "commit", stop)
        patch.setattr(Staging, "_leave", lambda staging: os.close(staging._lock))  # which a killed process does
        with pytest.raises(KeyboardInterrupt):
            api.export_subsets(dataset, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".evosplit-")]
    assert sum(api.export_subsets(dataset, tmp_path / "out").values()) == 12
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"train", "val", "test", RECORD}


def test_through_a_link(api, dataset, tmp_path):
    """A link to an empty directory is filled where it leads to."""
    (tmp_path / "there").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "there")
    assert sum(api.export_subsets(dataset, tmp_path / "out", format="yolo").values()) == 12
    assert (tmp_path / "there" / "dataset.yaml").exists()

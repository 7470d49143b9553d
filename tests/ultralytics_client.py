"""Ultralytics itself, as the judge of what EvoSplit writes for it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest
from PIL import Image


@dataclass(frozen=True)
class Loaded:
    """What Ultralytics loads of one subset.

    Attributes
    ----------
    images
        The paths of the images, as it knows them.
    instances
        How many labels of each class it has.
    backgrounds
        How many images have none.
    """

    images: tuple[str, ...]
    instances: dict[int, int]
    backgrounds: int


class Ultralytics:
    """Loads data sets as a training does, up to the first batch."""

    def __init__(self, folder, monkeypatch):
        monkeypatch.setenv("YOLO_CONFIG_DIR", str(folder))
        monkeypatch.setenv("YOLO_OFFLINE", "true")
        monkeypatch.setattr("PIL.Image.open", Image.open)  # it puts one of its own in its place
        pytest.importorskip("ultralytics.data.dataset", reason="Ultralytics and torch are not installed")
        from ultralytics.utils import LOGGER

        self.said = []
        handler = logging.Handler()
        handler.emit = lambda record: self.said.append(record.getMessage())
        monkeypatch.setattr(LOGGER, "handlers", [handler])
        monkeypatch.setattr("ultralytics.data.utils.check_font", lambda *given: None)  # fetches a font

    def load(self, yaml, task="detect"):
        """Load every subset of a yaml file; a label or image that it leaves out is an error."""
        from ultralytics.data.utils import check_det_dataset

        data = check_det_dataset(str(yaml))
        return {key: self.subset(data, key, task) for key in ("train", "val", "test") if data.get(key)}

    def subset(self, data, key, task):
        from ultralytics.data.dataset import YOLODataset

        del self.said[:]
        made = YOLODataset(img_path=data[key], data=data, task=task, augment=False, imgsz=32, prefix="")
        wrong = [line for line in self.said if "corrupt" in line and ", 0 corrupt" not in line]
        assert wrong == [], "\n".join(wrong)
        assert not [line for line in self.said if "duplicate" in line]
        instances = {}
        for label in made.labels:
            for number in label["cls"].reshape(-1).astype(int).tolist():
                instances[number] = instances.get(number, 0) + 1
        backgrounds = sum(len(label["cls"]) == 0 for label in made.labels)
        return Loaded(tuple(made.im_files), instances, backgrounds)


@pytest.fixture
def client(tmp_path_factory, monkeypatch):
    """Give Ultralytics, with settings of its own."""
    return Ultralytics(tmp_path_factory.mktemp("ultralytics"), monkeypatch)

"""The YOLO adapter and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evosplit.wording import Nouns
from evosplit_plugins.adapter import Adapter, Destination, Location, Write, WriteOptions
from evosplit_plugins.files import PathLike
from evosplit_plugins.options import option
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.yolo.description import looks_like_yolo
from evosplit_plugins.yolo.fields import YoloSource
from evosplit_plugins.yolo.reading import read_yolo
from evosplit_plugins.yolo.writing import IMAGE_MODES, LAYOUTS, YoloOutput

__all__ = ["YoloAdapter", "YoloReading", "YoloWriting"]


@dataclass(frozen=True, kw_only=True)
class YoloReading:
    """How to read a YOLO data set; `evosplit_yolo` describes the options."""

    root: PathLike | None = option(
        None, "the folder of the data set, where the yaml file names another", kind="path", metavar="DIR"
    )
    names: PathLike | None = option(
        None, "a file with the names of the classes, one in each line", kind="path", metavar="FILE"
    )
    drop_bad: bool = option(False, "leave out images whose label files Ultralytics rejects", kind="switch")
    having_annotations: bool = option(False, "leave out images without labels", kind="switch")


@dataclass(frozen=True, kw_only=True)
class YoloWriting(WriteOptions):
    """How to write a YOLO data set; `evosplit_yolo` describes the options."""

    layout: str | None = option(
        None,
        "lists: train.txt and data.yaml, the images stay where they are (default); tree: images/train and "
        "labels/train; roboflow: train/images and train/labels",
        kind="text",
        choices=LAYOUTS,
    )
    images: str | None = option(
        None,
        "how images and labels come into a tree (default symlink)",
        kind="text",
        choices=IMAGE_MODES,
    )


class YoloAdapter(Adapter):
    """YOLO data sets: data.yaml, Roboflow, CVAT, Darknet, folders of classes, NDJSON."""

    name = "yolo"
    summary = "YOLO data sets"
    location = Location(
        "DATA",
        "a data.yaml or the folder of a data set; an obj.data, an .ndjson file, or lists of images (.txt)",
        several=True,
    )
    reading = YoloReading
    writing = YoloWriting
    nouns = Nouns(sample="image", samples="images", label="class", labels="classes")
    default_names: ClassVar[Mapping[int, tuple[str, ...]]] = {2: ("train", "val"), 3: ("train", "val", "test")}

    def detect(self, paths: Sequence[str]) -> bool:
        """Recognise a yaml file, an obj.data, an .ndjson file, and folders by their contents."""
        return looks_like_yolo(paths)

    def read(
        self, paths: Sequence[str], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> YoloSource:
        """Find the images and count the classes in their label files; no image is opened."""
        return read_yolo(paths, options, need_labels=need_labels, on_progress=on_progress)

    def read_subsets(self, paths: Sequence[str], options: Any, *, on_progress: OnProgress | None = None) -> YoloSource:
        """Read the subsets of the yaml file, the folders or the lists."""
        return read_yolo(paths, options, divided=True, on_progress=on_progress)

    def plan(self, to: Destination[Any, Any]) -> Write:
        """Plan lists or a tree, and the yaml files; refuse names that Ultralytics cannot read."""
        return YoloOutput(to).write

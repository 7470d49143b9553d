"""`YoloSource`: the images of a YOLO data set, their label files, folders and box sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.box_sizes import size_of
from evosplit_plugins.contents import same_contents
from evosplit_plugins.matching import picture_of
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Fields, Source
from evosplit_plugins.yolo.description import Description

__all__ = ["AREA", "FOLDER", "YoloSource", "short_name"]

AREA, FOLDER = "area", "folder"
_PIXELS = 640**2  # of an image at Ultralytics' default size
_DIVIDING = ("images", "train", "val", "valid", "validation", "test")  # folders that say nothing of an image


@dataclass(frozen=True, eq=False, kw_only=True)
class YoloSource(Source):
    """Images of a YOLO data set.

    Attributes
    ----------
    description
        The description of the data set.
    images, label_files
        The path of each image, and of its label file, None where it has none; both are empty for an .ndjson file.
    areas
        Reads class and area of the boxes of each image.
    lines
        The lines of an .ndjson file: for each image the position of its line.
    """

    description: Description
    images: Sequence[str] = ()
    label_files: Sequence[str | None] = ()
    areas: Callable[[], Sequence[Sequence[tuple[int, float]]]] | None = None
    lines: Sequence[int] = ()

    @cached_property
    def pictures(self) -> Sequence[str | None]:
        """The name of each picture; Roboflow's copies of one source are one picture, also in different folders."""
        return [picture_of(short_name(name) if name and ".rf." in name else name or "") for name in self.files or ()]

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Return the folder of each image, and how many boxes of each class and size it has."""
        for parameter, names, known in (("group_by", groups, (FOLDER,)), ("stratify_by", strata, (FOLDER, AREA))):
            for name in names:
                if name not in known:
                    raise EvoSplitError(
                        f"{parameter}={name!r} is nothing that YOLO data knows of an image; "
                        f"it knows {' and '.join(map(repr, known))}, and group_regex= looks into file names"
                    )
        found: dict[str, Any] = {name: self._folders if name == FOLDER else self._sizes() for name in strata}
        return Fields(groups=dict.fromkeys(groups, self._folders), strata=found)

    @cached_property
    def _folders(self) -> list[str]:
        return [(name or "").rpartition("/")[0] or "." for name in self.files or ()]

    def _sizes(self) -> LabelCounts:
        if self.areas is None:
            raise EvoSplitError(f"stratify_by={AREA!r} needs boxes, but {self.called} has none; leave it out")
        names = self.counts.labels
        return LabelCounts.from_lists(
            [f"{names[j]} {size_of(area * _PIXELS)}" for j, area in boxes] for boxes in self.areas()
        )

    def contents(self, on_progress: OnProgress | None = None) -> Sequence[str | None]:
        """Compare the files of the images."""
        return same_contents([Path(image) for image in self.images], on_progress)

    def shared_keys(self) -> Mapping[str, Sequence[Any]]:
        """Return the paths below the folder of the data set."""
        return {"file": list(self.files or ())}


def short_name(path: str) -> str:
    """Return the path of an image without the folders by which data sets are divided.

    Examples
    --------
    >>> short_name("train/images/a/x.jpg"), short_name("images/val/x.jpg"), short_name("x.jpg")
    ('a/x.jpg', 'x.jpg', 'x.jpg')
    """
    *folders, name = path.split("/")
    while folders and folders[0] in _DIVIDING:
        folders.pop(0)
    return "/".join([*folders, name])

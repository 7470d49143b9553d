"""The layout "yolo": images, label files and a yaml file as Ultralytics expects them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evosplit import EvoSplitError, Split
from evosplit_plugins.adapter import Destination, Outcome
from evosplit_plugins.coco.fields import CocoSource
from evosplit_plugins.coco.images import find_images, image_names, placed
from evosplit_plugins.coco.layouts import Target
from evosplit_plugins.coco.yolo_labels import yolo_labels
from evosplit_plugins.files import one_for_each
from evosplit_plugins.output import Output, check_subset_names
from evosplit_plugins.progress import OnProgress, Steps
from evosplit_plugins.staging import Staging, check_space
from evosplit_plugins.ultralytics import label_path, subset_keys, subset_values, yaml_value

if TYPE_CHECKING:
    from evosplit_plugins.coco.adapter import CocoWriting

__all__ = ["YoloTree"]


class YoloTree:
    """The planned YOLO tree of a split; the constructor refuses what cannot be written."""

    def __init__(self, to: Destination[CocoSource, CocoWriting]) -> None:
        source, subsets, options = to.source, to.subsets, to.options
        if options.images == "none" or source.how.image_root is None:
            raise EvoSplitError(
                "layout='yolo' is a tree of images and labels; say how the images come there and from where, for "
                "example images='symlink' and image_root='images'"
            )
        for name in ("gzip", "train_files"):
            if getattr(options, name):
                raise EvoSplitError(f"{name}=True makes no sense for layout='yolo'; leave it out")
        check_subset_names(subsets.names, forbidden=".")  # Ultralytics would give f.1 and f.2 one cache
        if not subsets.is_kfold:
            subset_keys(subsets.names)
        data = source.data
        folders = one_for_each(source.how.image_root, len(data.files), "image_root")
        self._options = options
        self._labels = data.counts.labels
        names = image_names(data)
        self._names = [_short(name) for name in names]
        _check_stems(self._names)
        self._images = find_images(data, names, folders)
        self._lines = yolo_labels(data, polygons=options.polygons)
        self._notes = (*data.notes, *self._lines.notes)
        self._targets = [
            Target(PurePosixPath(f"{name}.yaml"), (j,), PurePosixPath("images", name))
            for j, name in enumerate(subsets.names)
        ]
        self._yamls = [str(target.path) for target in self._targets] if subsets.is_kfold else ["data.yaml"]
        self._output = Output(to, [file.path for file in data.files], list(dict.fromkeys(folders)))
        self._output.plan([PurePosixPath(name) for name in self._yamls]).check()

    def write(self, split: Split, on_progress: OnProgress | None) -> Outcome:
        """Write everything, or nothing."""
        wanted = [
            (target, split.indices(name).tolist()) for target, name in zip(self._targets, split.names, strict=True)
        ]
        images = placed(self._images, self._names, wanted)
        texts = self._texts(split)
        if self._options.images == "copy":
            check_space(self._output.root, sum(image.size for image in images.values()))

        def make(staging: Staging) -> None:
            steps = Steps(on_progress, len(texts) + len(images))
            for path, text in texts.items():
                staging.path(path).write_text(text, encoding="utf-8", newline="\n")
                steps.add("writing labels")
            for path, image in images.items():
                staging.put(self._options.images, image.path, path)
                steps.add("placing images")

        plan = self._output.plan([*texts, *images], [image.path for image in images.values()])
        written = self._output.write(plan, split, make)
        files = [self._output.root / name for name in self._yamls]
        facts = {"images placed": len(images), "data": str(files[0])}
        return Outcome(split, (*files, *written), facts, self._notes)

    def _texts(self, split: Split) -> Mapping[PurePosixPath, str]:
        """Return the text of each label file and yaml file; an image without labels has none."""
        texts: dict[PurePosixPath, str] = {}
        for target, name in zip(self._targets, split.names, strict=True):
            for row in split.indices(name).tolist():
                if self._lines.lines[row]:
                    path = PurePosixPath(label_path(f"/{target.images / self._names[row]}")[1:])
                    texts[path] = "".join(f"{line}\n" for line in self._lines.lines[row])
        where = {name: str(target.images) for target, name in zip(self._targets, split.names, strict=True)}
        names = "".join(f"  {j}: {json.dumps(name, ensure_ascii=False)}\n" for j, name in enumerate(self._labels))
        for file in self._yamls:
            values = subset_values(where, file.removesuffix(".yaml") if split.is_kfold else None)
            said = "".join(f"{key}: {yaml_value(value)}\n" for key, value in values.items())
            texts[PurePosixPath(file)] = f"{said}names:\n{names}"
        return texts


def _check_stems(names: Sequence[PurePosixPath]) -> None:
    """Refuse images that would share a label file; some file systems do not tell Name from name."""
    seen: dict[str, PurePosixPath] = {}
    for name in names:
        other = seen.setdefault(str(name.with_suffix("")).casefold(), name)
        if other is not name:
            raise EvoSplitError(f"{other} and {name} would share a label file; rename one of them")


def _short(name: PurePosixPath) -> PurePosixPath:
    """Leave out a folder "images", which is there already."""
    return name.relative_to("images") if name.parts[0] == "images" and len(name.parts) > 1 else name

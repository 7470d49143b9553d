"""Write annotation files and images: planned and checked before the search, written all or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, Split
from evosplit_plugins.adapter import Destination, Outcome
from evosplit_plugins.coco.fields import CocoSource
from evosplit_plugins.coco.images import ImageFile, check_names, find_images, image_names, placed
from evosplit_plugins.coco.layouts import IMAGE_MODES, plan_targets
from evosplit_plugins.coco.subset_bytes import annotation_bytes, annotation_size
from evosplit_plugins.files import one_for_each
from evosplit_plugins.output import Output
from evosplit_plugins.progress import OnProgress, Steps
from evosplit_plugins.staging import Plan, Staging, check_space

if TYPE_CHECKING:
    from evosplit_plugins.coco.adapter import CocoWriting

__all__ = ["CocoOutput"]

Mask: TypeAlias = npt.NDArray[np.bool_]
Images: TypeAlias = Mapping[PurePosixPath, ImageFile]

_IMAGE_WEIGHT = 100_000  # an image takes about as long as this many bytes


class CocoOutput:
    """The planned output of a split; the constructor refuses what cannot be written."""

    def __init__(self, to: Destination[CocoSource, CocoWriting]) -> None:
        source, subsets, options = to.source, to.subsets, to.options
        if options.images not in IMAGE_MODES:
            raise EvoSplitError(f"images={options.images!r} is unknown; choose one of {', '.join(IMAGE_MODES)}")
        root = source.how.image_root
        if (options.images == "none") != (root is None):
            raise EvoSplitError(
                "to link or copy images say how and from where, for example images='symlink' and image_root='images'; "
                f"given are images={options.images!r} and {'no' if root is None else 'an'} image_root="
            )
        self._data = data = source.data
        self._options = options
        self._targets = plan_targets(
            options.layout,
            subsets.names,
            data.kind,
            folds=subsets.is_kfold,
            train_files=options.train_files,
            gzip=options.gzip,
        )
        links = options.images != "none"
        folders = one_for_each(root, len(data.files), "image_root") if links else []
        self._names = image_names(data) if links else []
        self._images = find_images(data, self._names, folders) if links else []
        self._output = Output(to, [file.path for file in data.files], list(dict.fromkeys(folders)))
        self._check()

    def _check(self) -> None:
        images: Images = {}
        if self._images:
            check_names(self._targets, self._names)
            images = placed(self._images, self._names, [(self._targets[0], range(len(self._names)))])
        one_folder = len({target.images for target in self._targets}) == 1  # else the split decides on the folder
        self._plan(images if one_folder else {}).check()

    def _plan(self, images: Images) -> Plan:
        files = [*(target.path for target in self._targets), *images]
        return self._output.plan(files, [image.path for image in images.values()])

    def write(self, split: Split, on_progress: OnProgress | None) -> Outcome:
        """Write everything, or nothing."""
        data, options = self._data, self._options
        for file in data.files:
            if not file.unchanged():
                raise EvoSplitError(f"{file.path} changed while it was read; nothing was written, start again")
        chosen = [np.isin(split.assignment, target.subsets) for target in self._targets]
        images: Images = {}
        if self._images:
            wanted = [
                (target, np.flatnonzero(mask).tolist()) for target, mask in zip(self._targets, chosen, strict=True)
            ]
            images = placed(self._images, self._names, wanted)
        n_bytes = sum(annotation_size(data, mask) for mask in chosen)
        needed = n_bytes // (4 if options.gzip else 1)  # packed at least that much
        check_space(
            self._output.root, needed + sum(image.size for image in images.values()) * (options.images == "copy")
        )
        steps = Steps(on_progress, n_bytes + _IMAGE_WEIGHT * len(images))
        written = self._output.write(
            self._plan(images), split, lambda staging: self._make(staging, chosen, images, steps)
        )
        return Outcome(
            split,
            (*(self._output.root / target.path for target in self._targets), *written),
            {"images placed": len(images)} if images else {},
            data.notes,
        )

    def _make(self, staging: Staging, chosen: Sequence[Mask], images: Images, steps: Steps) -> None:
        for target, mask in zip(self._targets, chosen, strict=True):
            with staging.open(target.path, packed=self._options.gzip) as write:
                for piece in annotation_bytes(self._data, mask):
                    write(piece)
                    steps.add("writing", len(piece))
        for path, image in images.items():
            staging.put(self._options.images, image.path, path)
            steps.add("placing images", _IMAGE_WEIGHT)

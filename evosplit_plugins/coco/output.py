"""What one command writes: planned and checked before the search, then made as a whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, Split
from evosplit_plugins.coco.dataset import CocoData, Source, as_paths
from evosplit_plugins.coco.layouts import (
    IMAGE_MODES,
    ImageFile,
    Target,
    check_names,
    find_images,
    image_names,
    image_place,
    plan_targets,
)
from evosplit_plugins.coco.reading import OnProgress
from evosplit_plugins.coco.writing import annotation_bytes, annotation_size
from evosplit_plugins.staging import Plan, Staging, check_space

__all__ = ["Outcome", "Output", "WriteOptions"]

MANIFEST = PurePosixPath("split.json")
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class WriteOptions:
    """How to write, as `evosplit_coco` explains."""

    layout: str = "coco"
    images: str = "none"
    image_root: Source | None = None
    train_files: bool = False
    gzip: bool = False
    report: str | os.PathLike[str] | None = None
    overwrite: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a command did.

    Attributes
    ----------
    split
        The split that was made or replayed.
    files
        The files written, images aside; with `dry_run` those that would be.
    n_images
        How many images were linked or copied.
    notes
        Sentences about what was unusual in the input.
    """

    split: Split
    files: tuple[Path, ...]
    n_images: int
    notes: tuple[str, ...]


class Output:
    """What one command is about to write.

    Parameters
    ----------
    data
        What was read.
    root
        The output directory.
    names
        The subsets.
    options
        How to write.
    folds
        Whether the subsets are folds.
    manifest
        The manifest that is replayed; it is not written over itself.
    others
        Further files that were read, and are never written over.
    """

    def __init__(
        self,
        data: CocoData,
        root: Path,
        names: Sequence[str],
        options: WriteOptions,
        *,
        folds: bool,
        manifest: Path | None = None,
        others: Sequence[Path] = (),
    ) -> None:
        if options.images not in IMAGE_MODES:
            raise EvoSplitError(f"images={options.images!r} is unknown; choose one of {', '.join(IMAGE_MODES)}")
        if (options.images == "none") != (options.image_root is None):
            raise EvoSplitError(
                "to link or copy images say how and from where, for example images='symlink' and image_root='images'; "
                f"given are images={options.images!r} and {'no' if options.image_root is None else 'an'} image_root="
            )
        self.data = data
        self.root = root
        self.options = options
        self.targets = plan_targets(
            options.layout,
            names,
            data.kind,
            folds=folds,
            train_files=options.train_files,
            gzip=options.gzip,
        )
        self._inputs = [*(file.path for file in data.files), *([] if manifest is None else [manifest]), *others]
        self._lists = options.layout == "lists"
        self._links = options.images != "none"
        self._names = image_names(data) if self._lists or self._links else []
        self._folders = [] if options.image_root is None else as_paths(options.image_root)
        self._report = None if options.report is None else Path(options.report)
        own = root / MANIFEST
        self._keeps_manifest = manifest is not None and own.exists() and own.samefile(manifest)
        self._files = [target.path for target in self.targets] + ([] if self._keeps_manifest else [MANIFEST])

    def check(self) -> None:
        """Refuse what can be refused before the search."""
        images: list[ImageFile] = []
        if self._links:
            images = self._find_images([(self.targets[0], range(self.data.counts.n_samples))])
            check_names(self.targets, self._names)
        one_folder = len({target.images for target in self.targets}) == 1  # else the split decides where an image goes
        self._plan(images if one_folder else []).check()

    def write(self, split: Split, extra: Mapping[str, Any], on_progress: OnProgress | None) -> Outcome:
        """Write everything, or nothing; `extra` is what the manifest says beside the split."""
        for file in self.data.files:
            if not file.unchanged():
                raise EvoSplitError(f"{file.path} changed while it was read; nothing was written, start again")
        chosen = [np.isin(split.assignment, target.subsets) for target in self.targets]
        images: list[ImageFile] = []
        if self._links:
            pairs = zip(self.targets, chosen, strict=True)
            images = self._find_images([(target, np.flatnonzero(mask).tolist()) for target, mask in pairs])
        plan = self._plan(images)
        manifest = json.dumps(split.to_manifest(extra)).encode() if MANIFEST in self._files else b""
        n_bytes = 0 if self._lists else sum(annotation_size(self.data, mask) for mask in chosen)
        needed = len(manifest) + n_bytes // (4 if self.options.gzip else 1)  # packed at least that much
        if self.options.images == "copy":
            needed += sum(image.source.stat().st_size for image in images)
        check_space(self.root, needed)
        if self.options.dry_run:
            plan.check()
            if self._report is not None:
                with Plan(None, reports=[self._report], inputs=self._inputs).stage() as staging:
                    split.report().save_html(staging.path(self._report))
                    staging.commit()
        else:
            steps = _Steps(n_bytes, len(images), on_progress)
            with plan.stage() as staging:
                self._stage(staging, chosen, images, manifest, steps)
                if self._report is not None:
                    split.report().save_html(staging.path(self._report))
                staging.commit()
            steps.done()
        written = [self.root / place for place in self._files]
        written += [] if self._report is None or self.options.dry_run else [self._report]
        return Outcome(split, tuple(written), len(images), self.data.notes)

    def _stage(
        self,
        staging: Staging,
        chosen: Sequence[Mask],
        images: Sequence[ImageFile],
        manifest: bytes,
        steps: _Steps,
    ) -> None:
        for target, mask in zip(self.targets, chosen, strict=True):
            pieces = self._lines(target, mask) if self._lists else annotation_bytes(self.data, mask)
            with staging.open(target.path, packed=self.options.gzip and not self._lists) as write:
                for piece in pieces:
                    write(piece)
                    steps.wrote(len(piece))
        for image in images:
            staging.put(self.options.images, image.source, image.place)
            steps.placed()
        if manifest:
            with staging.open(MANIFEST) as write:
                write(manifest)

    def _lines(self, target: Target, mask: Mask) -> Iterator[bytes]:
        for row in np.flatnonzero(mask).tolist():
            yield f"./{image_place(target, self._names[row])}\n".encode()

    def _plan(self, images: Sequence[ImageFile]) -> Plan:
        return Plan(
            self.root,
            writer="coco",
            files=[*self._files, *(image.place for image in images)],
            reports=[] if self._report is None else [self._report],
            inputs=[*self._inputs, *(image.source for image in images)],
            input_folders=self._folders,
            keep=[MANIFEST] if self._keeps_manifest else [],
            overwrite=self.options.overwrite,
        )

    def _find_images(self, wanted: Sequence[tuple[Target, Sequence[int]]]) -> list[ImageFile]:
        return find_images(self.data, self._names, wanted, self._folders)


class _Steps:
    """Turns bytes written and images placed into progress, a hundred reports at most."""

    def __init__(self, n_bytes: int, n_images: int, on_progress: OnProgress | None) -> None:
        self._tell = on_progress
        # An image takes about as long as this many bytes.
        self._weight = 100_000
        self._total = max(n_bytes + n_images * self._weight, 1)
        self._so_far = 0
        self._told = -1
        self._add(0, "Writing")

    def wrote(self, n_bytes: int) -> None:
        self._add(n_bytes, "Writing")

    def placed(self) -> None:
        self._add(self._weight, "Placing images")

    def done(self) -> None:
        if self._tell is not None:
            self._tell(1.0, "Written")

    def _add(self, amount: int, message: str) -> None:
        self._so_far += amount
        percent = min(99, 100 * self._so_far // self._total)
        if self._tell is not None and percent > self._told:
            self._told = percent
            self._tell(percent / 100, message)

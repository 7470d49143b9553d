"""What one command writes: planned and checked before the search, then made as a whole."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, Split
from evosplit_plugins.coco.dataset import CocoData, Source
from evosplit_plugins.coco.layouts import (
    IMAGE_MODES,
    ImageFile,
    Target,
    find_images,
    image_names,
    image_place,
    plan_targets,
)
from evosplit_plugins.coco.reading import OnProgress
from evosplit_plugins.coco.writing import (
    Staging,
    annotation_bytes,
    annotation_size,
    check_places,
    check_space,
    place_image,
)

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
            raise EvoSplitError(f"images is {options.images!r}; choose one of {', '.join(IMAGE_MODES)}")
        if (options.images == "none") != (options.image_root is None):
            raise EvoSplitError(
                "to link or copy images say how and from where: --images symlink --image-root DIR "
                f"(now images is {options.images!r} and image_root {options.image_root!r})"
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
        self._report = None if options.report is None else Path(options.report)
        own = root / MANIFEST
        keeps_manifest = manifest is not None and own.exists() and own.samefile(manifest)
        self._files = [target.path for target in self.targets] + ([] if keeps_manifest else [MANIFEST])

    def check(self) -> None:
        """Refuse what can be refused before the search."""
        self._check_places(self.root, self._files)
        if self._report is not None:
            if self._report.absolute() in [(self.root / place).absolute() for place in self._files]:
                raise EvoSplitError(f"the report would be written over {self._report}; give it another name")
            self._check_places(self._report.parent, [PurePosixPath(self._report.name)])
        if self._links:
            self._find_images([(self.targets[0], range(self.data.counts.n_samples))])

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
        self._check_places(self.root, [*self._files, *(image.place for image in images)])
        manifest = json.dumps(split.to_manifest(extra)).encode() if MANIFEST in self._files else b""
        n_bytes = 0 if self._lists else sum(annotation_size(self.data, mask) for mask in chosen)
        needed = len(manifest) + n_bytes // (4 if self.options.gzip else 1)  # packed at least that much
        if self.options.images == "copy":
            needed += sum(image.source.stat().st_size for image in images)
        check_space(self.root, needed)
        if not self.options.dry_run:
            steps = _Steps(n_bytes, len(images), on_progress)
            with _nothing_half_done(self.root), ExitStack() as stack:
                staging = stack.enter_context(Staging(self.root))
                self._stage(staging, chosen, images, manifest, steps)
                stagings = [staging]
                if self._report is not None:
                    stagings.append(stack.enter_context(Staging(self._report.parent)))
                    split.report().save_html(stagings[-1].path(PurePosixPath(self._report.name)))
                for each in stagings:
                    each.commit(overwrite=self.options.overwrite)
                steps.done()
        written = [self.root / place for place in self._files]
        written += [] if self._report is None else [self._report]
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
            place_image(self.options.images, image.source, staging.path(image.place))
            steps.placed()
        if manifest:
            with staging.open(MANIFEST) as write:
                write(manifest)

    def _lines(self, target: Target, mask: Mask) -> Iterator[bytes]:
        for row in np.flatnonzero(mask).tolist():
            yield f"./{image_place(target, self._names[row])}\n".encode()

    def _check_places(self, root: Path, places: Sequence[PurePosixPath]) -> None:
        check_places(root, places, overwrite=self.options.overwrite, inputs=self._inputs)

    def _find_images(self, wanted: Sequence[tuple[Target, Sequence[int]]]) -> list[ImageFile]:
        root = self.options.image_root
        if root is None:
            return []
        folders = [root] if isinstance(root, (str, os.PathLike)) else list(root)
        return find_images(self.data, self._names, wanted, [Path(folder) for folder in folders])


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


@contextmanager
def _nothing_half_done(root: Path) -> Iterator[None]:
    """Turn a failing disk into a sentence; what was there is untouched by then."""
    try:
        yield
    except OSError as error:
        remedies = {
            errno.ENOSPC: "free some space or choose another disk",
            errno.EDQUOT: "free some space or choose another disk",
            errno.EXDEV: "the images are on another file system, so use --images symlink or copy",
            errno.EACCES: "choose a directory that you may write to",
            errno.EROFS: "choose a directory that you may write to",
        }
        remedy = remedies.get(error.errno or 0, "choose another output directory")
        raise EvoSplitError(
            f"cannot write to {root}: {error.strerror or error}; nothing was changed; {remedy}"
        ) from error

"""The COCO adapter and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evosplit import EvoSplitError, LabelCounts
from evosplit.errors import needing
from evosplit.wording import Nouns, counted
from evosplit_plugins.adapter import Adapter, Destination, Location, Write, WriteOptions
from evosplit_plugins.coco.discovery import coco_files, is_annotation_file, subset_names
from evosplit_plugins.coco.layouts import IMAGE_MODES, LAYOUTS
from evosplit_plugins.files import Paths
from evosplit_plugins.options import option, recorded
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Placement

if TYPE_CHECKING:
    from evosplit_plugins.coco.dataset import CocoData
    from evosplit_plugins.coco.fields import CocoSource

__all__ = ["CocoAdapter", "CocoReading", "CocoWriting", "read_divided"]

_LIST = ".txt"


@dataclass(frozen=True, kw_only=True)
class CocoReading:
    """How to read annotation files; `evosplit_coco` describes the options."""

    having_annotations: bool = option(False, "leave out images without annotations", kind="switch")
    count_crowd: bool = option(
        True, "do not count crowd annotations as instances; they are written all the same", kind="switch"
    )
    drop_orphans: bool = option(False, "leave out annotations of unknown images or categories", kind="switch")
    coerce_ids: bool = option(False, 'read and write ids such as "7" and 7.0 as 7', kind="switch")
    reassign_ids: bool = option(False, "give annotations whose id is taken a new one", kind="switch")
    image_root: Paths | None = option(
        None, "the folder of the images; once, or once for each file", kind="paths", metavar="DIR"
    )


@dataclass(frozen=True, kw_only=True)
class CocoWriting(WriteOptions):
    """How to write annotation files; `evosplit_coco` describes the options."""

    layout: str = option(
        "coco",
        "coco: annotations/instances_train.json (default); roboflow: train/_annotations.coco.json, with val called "
        "valid; yolo: images/train, labels/train and data.yaml (Ultralytics)",
        kind="text",
        choices=LAYOUTS,
    )
    images: str = option(
        "none",
        "put the images of --image-root into the layout too (default none)",
        kind="text",
        choices=IMAGE_MODES,
    )
    polygons: bool = option(False, "polygons instead of boxes, in the layout yolo", kind="switch")
    train_files: bool = option(False, "with --folds: also the complement of each fold", kind="switch")
    gzip: bool = option(False, "compress the annotation files (.json.gz)", kind="switch")


class CocoAdapter(Adapter):
    """COCO annotation files: instances, keypoints, panoptic, LVIS, stuff; plain or gzip."""

    name = "coco"
    summary = "COCO annotation files"
    location = Location(
        "FILE", "annotation files (.json or .json.gz), or a folder that holds one for each subset", several=True
    )
    reading = CocoReading
    writing = CocoWriting
    nouns = Nouns(sample="image", samples="images", label="class", labels="classes")
    default_names: ClassVar[Mapping[int, tuple[str, ...]]] = {2: ("train", "val"), 3: ("train", "val", "test")}

    def detect(self, paths: Sequence[str]) -> bool:
        """Recognise annotation files by their first keys, folders by the names of files in them.

        Lists of images count beside the annotation files that have their labels.
        """
        known = [bool(coco_files(path)) if path.is_dir() else is_annotation_file(path) for path in map(Path, paths)]
        lists = [Path(path).suffix.lower() == _LIST for path in paths]
        return any(known) and all(a or b for a, b in zip(known, lists, strict=True))

    def read(
        self, paths: Sequence[str], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> CocoSource:
        """Read annotation files; several are merged, and the images of each count as a subset."""
        files = _annotation_files(paths)
        names = subset_names(files) if len(files) > 1 else None
        return _read(files, names, options, need_labels=need_labels, on_progress=on_progress)

    def read_subsets(self, paths: Sequence[str], options: Any, *, on_progress: OnProgress | None = None) -> CocoSource:
        """Read the subsets that exist: an annotation file each, or lists of the images of annotation files."""
        lists = [Path(path) for path in paths if Path(path).suffix.lower() == _LIST]
        if lists:
            rest = [path for path in paths if Path(path).suffix.lower() != _LIST]
            return _read_lists(lists, rest, options, on_progress)
        files = _annotation_files(paths)
        return read_divided(subset_names(files), files, options, on_progress)

    def plan(self, to: Destination[Any, Any]) -> Write:
        """Plan a layout; refuse one that cannot be written, and images that do not exist."""
        if to.options.layout == "yolo":
            tree: Write = _host("yolo_tree").YoloTree(to).write
            return tree
        if to.options.polygons:
            raise EvoSplitError("polygons=True is for layout='yolo'; leave it out")
        files: Write = _host("writing").CocoOutput(to).write
        return files


def _annotation_files(paths: Sequence[str]) -> list[Path]:
    """List the files; a folder is replaced by the files in it."""
    return [file for path in map(Path, paths) for file in (coco_files(path) if path.is_dir() else ()) or (path,)]


def read_divided(
    names: Sequence[str], files: Sequence[Path], options: CocoReading, on_progress: OnProgress | None
) -> CocoSource:
    """Read one annotation file for each subset; image ids may be repeated between files."""
    if len(files) == 1:
        raise EvoSplitError(
            f"an audit compares subsets, but {files[0]} is one file; give two annotation files or more, such as train "
            "and val"
        )
    return _read(files, names, options, numbered=True, on_progress=on_progress)


def _read(
    files: Sequence[Path],
    names: Sequence[str] | None,
    options: CocoReading,
    *,
    on_progress: OnProgress | None,
    **how: bool,
) -> CocoSource:
    data: CocoData = _host("dataset").read_coco(files, options, **how, on_progress=on_progress)
    subsets = None
    if names is not None:
        of_file = data.by_row([j] * len(rows.images) for j, rows in enumerate(data.rows))
        subsets = Placement(tuple(names), np.array(of_file, dtype=np.int64))
    source: CocoSource = _host("fields").CocoSource(
        counts=data.counts,
        adapter=CocoAdapter.name,
        inputs=tuple(path.name for path in files),
        reading=recorded(options),
        files=data.by_row(file.file_names for file in data.files),
        subsets=subsets,
        has_labels=data.has_labels,
        notes=data.notes,
        data=data,
        how=options,
    )
    return source


def _read_lists(
    lists: Sequence[Path], annotations: Sequence[str], options: CocoReading, on_progress: OnProgress | None
) -> CocoSource:
    """Read subsets from lists of images, one for each."""
    if not annotations:
        raise EvoSplitError(
            f"{lists[0]} lists images without their labels; add the annotation file that was split, "
            "such as instances.json"
        )
    whole = _read(_annotation_files(annotations), None, options, on_progress=on_progress)
    found = [rows[rows >= 0] for rows in (whole.members(path.stem, path) for path in lists)]
    rows = np.concatenate(found)
    left_out = len(whole) - len(np.unique(rows))
    said = counted(left_out, "image in none of the lists was left out.", "images in none of the lists were left out.")
    notes = (said,) if left_out else ()
    return replace(
        whole,
        counts=LabelCounts(whole.counts.matrix[rows], labels=whole.counts.labels),
        inputs=tuple(path.name for path in lists),
        files=[(whole.files or ())[row] for row in rows.tolist()],
        subsets=Placement(tuple(path.stem for path in lists), np.repeat(np.arange(len(lists)), list(map(len, found)))),
        notes=(*whole.notes, *notes),
        rows=rows,
    )


def _host(module: str) -> Any:
    """Load a module that needs msgspec."""
    with needing("msgspec", "COCO files need msgspec", "coco"):
        return import_module(f"evosplit_plugins.coco.{module}")

"""Read a YOLO data set into a `YoloSource`: find the images, read and check their label files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evosplit import EvoSplitError, LabelCounts
from evosplit.wording import counted, listed
from evosplit_plugins.files import usual_order
from evosplit_plugins.options import recorded
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Placement
from evosplit_plugins.ultralytics import label_path
from evosplit_plugins.yolo.description import CLASSIFY, NDJSON, Description, describe
from evosplit_plugins.yolo.fields import YoloSource
from evosplit_plugins.yolo.images import Disk, read_list
from evosplit_plugins.yolo.labels import Flaw, Rules, box_areas, count_classes
from evosplit_plugins.yolo.ndjson import read_ndjson

__all__ = ["read_yolo"]

Ints = npt.NDArray[np.int64]

_FEW = 0.1  # of the images have labels: then they are looked for in the wrong folder
_READ_AT_ONCE = 1 << 16
_STEP = 2000  # files between two reports of progress


@dataclass(frozen=True)
class _Found:
    """The images found: their paths and subsets, the names of the subsets, and sentences for the report."""

    images: list[str]
    subsets: Ints
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_yolo(
    paths: Sequence[str],
    options: Any,
    *,
    need_labels: bool = True,
    divided: bool = False,
    on_progress: OnProgress | None = None,
) -> YoloSource:
    """Read images and their labels.

    Parameters
    ----------
    paths
        What the user named.
    options
        A `YoloReading`.
    need_labels
        Whether images without any label are refused.
    divided
        Make two rows of an image that is in two subsets, for an audit.
    on_progress
        Called with the fraction done and a message.
    """
    described = describe(paths, root=options.root, names=options.names)
    tell = on_progress or (lambda done, message: None)
    tell(0.0, f"reading {described.called}")
    if described.kind == NDJSON:
        return _from_ndjson(described, options, divided)
    disk = Disk()
    found = _find_images(described, disk, divided)
    if not found.images:
        raise EvoSplitError(f"{described.called} has no image; name a data.yaml, or the folder of a YOLO data set")
    if described.kind == CLASSIFY:
        return _from_classes(described, found, options, divided)
    return _from_labels(described, found, disk, options, need_labels, divided, tell)


def _find_images(described: Description, disk: Disk, divided: bool) -> _Found:
    images: list[str] = []
    subsets: list[int] = []
    notes = []
    row_of: dict[str, int] = {}
    both: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    names = tuple(described.subsets)
    n_twice = 0
    for j, (name, paths) in enumerate(described.subsets.items()):
        here: set[str] = set()
        for path in paths:
            for image in _images_of(path, described.root, disk):
                if image in here:
                    n_twice += 1
                    continue
                here.add(image)
                earlier = row_of.setdefault(image, j)
                if earlier != j:
                    pair = (names[earlier], name)
                    both[pair] += 1
                    example.setdefault(pair, image.rpartition("/")[2])
                    if not divided:
                        continue
                images.append(image)
                subsets.append(j)
    for (first, second), n in both.items() if not divided else ():
        are = "image is" if n == 1 else "images are"
        notes.append(f"{n:,} {are} in {first} and {second}: {example[first, second]}; each is taken once.")
    if n_twice:
        notes.append(f"{counted(n_twice, 'line names', 'lines name')} an image a second time; each is taken once.")
    return _Found(images, np.array(subsets, dtype=np.int64), names, (*described.notes, *notes))


def _images_of(path: str, root: str, disk: Disk) -> Iterable[str]:
    if Path(path).is_dir():
        return disk.images(path)
    if not path.lower().endswith(".txt"):
        return [path]
    found = read_list(path, root, disk)
    if found.missing:
        name = path.rpartition("/")[2]
        raise EvoSplitError(
            f"{counted(len(found.missing), 'line', 'lines')} of {name} "
            f"{'names' if len(found.missing) == 1 else 'name'} no image: {listed(found.missing, 3)}; "
            "paths begin with ./ below the list; correct it, or pass root='DIR', the folder of the data set"
        )
    return found.images


def _source(
    described: Description,
    found: _Found,
    counts: LabelCounts,
    options: Any,
    ids: Sequence[str],
    **more: Any,
) -> YoloSource:
    """Build the source, with the attributes that every kind of data set has."""
    divided = more.pop("divided") or len(found.names) > 1
    return YoloSource(
        counts=counts,
        adapter="yolo",
        inputs=tuple(path.name for path in described.inputs) or (described.called,),
        reading=recorded(options),
        files=list(ids),
        subsets=Placement(found.names, found.subsets) if divided and all(found.names) else None,
        description=described,
        notes=found.notes,
        **more,
    )


def _ids(described: Description, images: Sequence[str]) -> tuple[Description, list[str]]:
    """Return each image's path below the root; the root moves up as far as is needed to contain all images."""
    for image in images:
        try:
            image.encode()
        except UnicodeEncodeError:
            raise EvoSplitError(f"the name of {image!a} is not UTF-8; rename the image") from None
    root = described.root
    if not all(image.startswith(f"{root}/") for image in images):
        root = os.path.commonpath([root, *{image.rpartition("/")[0] for image in images}])
        described = replace(described, root=Path(root).as_posix())
    cut = len(described.root.rstrip("/")) + 1
    return described, [image[cut:] for image in images]


# Label files


def _from_labels(
    described: Description,
    found: _Found,
    disk: Disk,
    options: Any,
    need_labels: bool,
    divided: bool,
    tell: OnProgress,
) -> YoloSource:
    described, ids = _ids(described, found.images)
    rules = Rules(len(described.names), described.keypoints)
    label_files = [label_path(image) for image in found.images]
    there = [disk.has(path) for path in label_files]
    _check_shared(found.images, label_files, described)
    n_missing = there.count(False)
    if need_labels and n_missing > (1 - _FEW) * len(there):
        folder = "beside them" if "/labels/" not in label_files[0] else "below labels/"
        raise EvoSplitError(
            f"{n_missing:,} of {len(there):,} images have no label {folder}: is the folder called `images`? "
            "Where there is nothing in an image, an empty .txt says so"
        )
    rows = np.flatnonzero(there)
    paths = [label_files[row] for row in rows.tolist()]
    contents = _read_files(paths, lambda done: tell(0.8 * done, "reading labels"))
    result = count_classes(contents, rules)
    tell(0.9, "counting labels")
    flawed = {int(rows[at]): flaw for at, flaw in result.flaws.items()}
    notes = list(found.notes)
    keep = np.ones(len(ids), dtype=bool)
    if flawed:
        said = _flaws({label_files[row]: flaw for row, flaw in flawed.items()}, described, rules)
        if not options.drop_bad:
            raise EvoSplitError(f"{'; '.join(said)}; Ultralytics leaves such images out, and so does drop_bad=True")
        keep[list(flawed)] = False
        notes.append(f"{counted(len(flawed), 'image is', 'images are')} left out: {'; '.join(said)}.")
    n = len(ids)
    matrix = _count(rows[result.files], result.classes, n, len(described.names))
    if options.having_annotations:
        empty = keep & (np.diff(matrix.indptr) == 0)
        keep &= ~empty
        if empty.any():
            one, many = "image without a label was left out.", "images without a label were left out."
            notes.append(counted(int(empty.sum()), one, many))
    if not keep.any():
        raise EvoSplitError(f"{described.called}: no image is left; there is nothing to split")
    kept = np.flatnonzero(keep).tolist()
    counts = LabelCounts(matrix[kept], ids=None if divided else [ids[row] for row in kept], labels=described.names)
    existing = [label_files[row] if there[row] else None for row in kept]
    return _source(
        described,
        replace(found, subsets=found.subsets[kept], notes=tuple(notes)),
        counts,
        options,
        [ids[row] for row in kept],
        divided=divided,
        has_labels=bool(len(rows)),
        images=[found.images[row] for row in kept],
        label_files=existing,
        areas=lambda: _areas(existing, rules),
    )


def _count(rows: Ints, classes: Ints, n: int, q: int) -> sparse.csr_array:
    return sparse.coo_array((np.ones(len(rows), dtype=np.int64), (rows, classes)), shape=(n, q)).tocsr()


def _areas(label_files: Sequence[str | None], rules: Rules) -> list[list[tuple[int, float]]]:
    there = [path for path in label_files if path is not None]
    contents = iter(_read_files(there))
    return [[] if path is None else box_areas(next(contents), rules) for path in label_files]


def _read_files(paths: Sequence[str], tell: Callable[[float], object] = lambda done: None) -> list[bytes]:
    """Read many small files, each opened relative to its folder, which is quicker."""
    contents: list[bytes] = []
    handle, folder = -1, ""
    relative = os.open in os.supports_dir_fd
    try:
        for number, path in enumerate(paths):
            if number % _STEP == 0:
                tell(number / len(paths))
            here, _, name = path.rpartition("/")
            try:
                if relative and here != folder:
                    if handle >= 0:
                        os.close(handle)
                    handle, folder = os.open(here, os.O_RDONLY), here
                contents.append(_read(name, handle) if relative else Path(path).read_bytes())
            except OSError as error:
                raise EvoSplitError(f"cannot read {path}: {error.strerror}; correct it") from error
    finally:
        if handle >= 0:
            os.close(handle)
    return contents


def _read(name: str, folder: int) -> bytes:
    file = os.open(name, os.O_RDONLY, dir_fd=folder)
    try:
        content = os.read(file, _READ_AT_ONCE)
        if len(content) < _READ_AT_ONCE:
            return content
        pieces = [content]
        while piece := os.read(file, _READ_AT_ONCE):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(file)


def _check_shared(images: Sequence[str], label_files: Sequence[str], described: Description) -> None:
    """Refuse two images with one label file."""
    if len(set(label_files)) == len(set(images)):
        return
    image_of: dict[str, str] = {}
    pairs = [
        (other, image, path)
        for image, path in zip(images, label_files, strict=True)
        if (other := image_of.setdefault(path, image)) != image
    ]
    first, second, path = pairs[0]
    more = f" (and {len(pairs) - 1:,} more)" if len(pairs) > 1 else ""
    raise EvoSplitError(
        f"{first.rpartition('/')[2]} and {second.rpartition('/')[2]} share {_below(path, described.root)}{more}; "
        "rename one of the images"
    )


def _below(path: str, root: str) -> str:
    return path.removeprefix(f"{root}/")


def _flaws(flaws: Mapping[str, Flaw], described: Description, rules: Rules) -> list[str]:
    """Describe the flaws: for each kind how many files have it, and where it is first."""
    by_kind: dict[str, list[tuple[str, Flaw]]] = {}
    for path, flaw in flaws.items():
        by_kind.setdefault(flaw.kind, []).append((f"{_below(path, described.root)}:{flaw.line}", flaw))
    said = []
    for kind, found in sorted(by_kind.items(), key=lambda each: -len(each[1])):
        where, flaw = found[0]
        files = counted(len(found), "label file", "label files")
        said.append(_SAID[kind](files, where, flaw, rules, len(found) == 1))
    return said


def _class_said(files: str, where: str, flaw: Flaw, rules: Rules, one: bool) -> str:
    there = f"there are {rules.n_classes} (0\u2013{rules.n_classes - 1})"
    return f"{files} {'uses' if one else 'use'} class {flaw.found}, {there}: {where}"


_SAID: dict[str, Callable[[str, str, Flaw, Rules, bool], str]] = {
    "class": _class_said,
    "six": lambda files, where, flaw, rules, one: (
        f"{files} {'has' if one else 'have'} 6 columns (confidence or track id?): {where}; cut the sixth"
    ),
    "mixed": lambda files, where, flaw, rules, one: (
        f"{where.rpartition(':')[0]} mixes boxes and polygons" + ("" if one else f", as {files} do")
    ),
    "pixels": lambda files, where, flaw, rules, one: (
        f"{where} holds pixels ({flaw.found}){'' if one else f', as {files} do'}; divide by the image size"
    ),
    "outside": lambda files, where, flaw, rules, one: (
        f"{where} is outside of the image ({flaw.found}){'' if one else f', as {files} are'}; clip it"
    ),
    "columns": lambda files, where, flaw, rules, one: (
        f"{files} {'has' if one else 'have'} lines of another length: {where} has {flaw.found}; "
        "a box has 5, a polygon 7 or more"
    ),
    "pose": lambda files, where, flaw, rules, one: (
        f"{files} {'does' if one else 'do'} not fit `kpt_shape`, which asks for {rules.pose_columns} columns: "
        f"{where} has {flaw.found}"
    ),
    "number": lambda files, where, flaw, rules, one: (
        f"{files} {'has' if one else 'have'} something else than numbers: {where} ({flaw.found})"
    ),
    "encoding": lambda files, where, flaw, rules, one: f"{files} {'is' if one else 'are'} not UTF-8: {where}",
}


# Folders of classes, and NDJSON


def _from_classes(described: Description, found: _Found, options: Any, divided: bool) -> YoloSource:
    described, ids = _ids(described, found.images)
    depth = 0 if described.subsets.keys() == {""} else 1
    classes = [name.split("/")[depth] for name in ids]
    names = tuple(sorted(set(classes)))
    number = {name: j for j, name in enumerate(names)}
    columns = np.array([number[name] for name in classes], dtype=np.int64)
    matrix = _count(np.arange(len(ids)), columns, len(ids), len(names))
    counts = LabelCounts(matrix, ids=None if divided else ids, labels=names)
    described = replace(described, names=names)
    return _source(described, found, counts, options, ids, divided=divided, images=found.images,
                   label_files=[None] * len(ids))  # fmt: skip


def _from_ndjson(described: Description, options: Any, divided: bool) -> YoloSource:
    names, records = read_ndjson(described.inputs[0])
    if options.having_annotations:
        records = [record for record in records if record.classes]
    if not records:
        raise EvoSplitError(f"{described.called} has no image; there is nothing to split")
    files = [record.file for record in records]
    ids = files
    if len(set(files)) < len(files) and not divided:
        ids = [f"{record.subset}/{record.file}" for record in records]
        if len(set(ids)) < len(ids):
            twice = next(name for name, n in Counter(ids).items() if n > 1)
            raise EvoSplitError(f"{described.called} has the image {twice} twice; take one away")
    subsets = tuple(sorted(dict.fromkeys(record.subset for record in records), key=usual_order))
    number = {name: j for j, name in enumerate(subsets)}
    placed = np.array([number[record.subset] for record in records], dtype=np.int64)
    rows = np.repeat(np.arange(len(records)), [len(record.classes) for record in records])
    columns = np.array([j for record in records for j in record.classes], dtype=np.int64)
    matrix = _count(rows, columns, len(records), len(names))
    counts = LabelCounts(matrix, ids=None if divided else ids, labels=names)
    described = replace(described, names=names)
    found = _Found([], placed, subsets)
    return _source(described, found, counts, options, ids, divided=divided, lines=[record.line for record in records])

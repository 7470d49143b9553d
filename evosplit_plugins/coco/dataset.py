"""Read annotation files for a split: merged, checked and counted, with the row that each element belongs to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts
from evosplit.errors import warn
from evosplit.wording import counted
from evosplit_plugins.coco.checks import (
    check_annotation_ids,
    check_categories,
    check_images,
    check_images_differ,
    check_same_categories,
    find_kind,
    labelled,
    owners_of,
)
from evosplit_plugins.coco.ids import column
from evosplit_plugins.coco.reading import CocoFile, read_file, views
from evosplit_plugins.coco.sizes import count_cells
from evosplit_plugins.coco.table import Edits, Table
from evosplit_plugins.progress import OnProgress, part_of

if TYPE_CHECKING:
    from evosplit_plugins.coco.adapter import CocoReading

__all__ = ["CocoData", "FileRows", "read_coco"]

IntArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FileRows:
    """The rows of `CocoData.counts` to which the contents of one file belong, in order; -1 for what is left out.

    Attributes
    ----------
    images, annotations
        The row of each image and annotation.
    instances, labels, positions
        What is counted: the row and the label of each instance, and its position among all annotations and, behind
        them, all segments of the file.
    """

    images: IntArray
    annotations: IntArray
    instances: IntArray
    labels: IntArray
    positions: IntArray


@dataclass(frozen=True)
class CocoData:
    """Annotation files that were read, checked and counted.

    Attributes
    ----------
    files
        The files, in the order given.
    kind
        "instances", "panoptic", "person_keypoints" or "captions".
    counts
        One row per image that takes part; no labels for captions.
    rows
        For each file the rows to which its contents belong.
    edits
        For each file what had to change.
    notes
        Sentences about what was unusual.
    """

    files: tuple[CocoFile, ...]
    kind: str
    counts: LabelCounts
    rows: tuple[FileRows, ...]
    edits: tuple[Edits, ...]
    notes: tuple[str, ...]

    @property
    def has_labels(self) -> bool:
        """Whether the annotations carry categories."""
        return self.kind != "captions"

    def by_row(self, per_file: Iterable[Sequence[Any]]) -> list[Any]:
        """Return one value per row, from the values of all images of each file."""
        return _of_rows(per_file, self.rows)


def read_coco(
    paths: Sequence[Path],
    options: CocoReading,
    *,
    need_labels: bool = True,
    numbered: bool = False,
    on_progress: OnProgress | None = None,
) -> CocoData:
    """Read annotation files, check them and count the annotations of each category in each image.

    Parameters
    ----------
    paths
        The files; several are merged and must have the same categories.
    options
        How to read them.
    need_labels
        Refuse files whose annotations carry no categories.
    numbered
        Number the rows instead of using the image ids, which may then repeat from file to file.
    on_progress
        Called with the fraction done and a message.
    """
    _check_given_once(paths)
    crowd = not options.count_crowd
    tables = [
        Table(*read_file(path, crowd=crowd, on_progress=part_of(on_progress, i, len(paths))), options.coerce_ids)
        for i, path in enumerate(paths)
    ]
    kind = find_kind(tables, need_labels)
    for table in tables:
        check_images(table)
        if kind != "captions":
            check_categories(table)
    if kind != "captions":
        check_same_categories(tables)
    if not numbered:
        check_images_differ(tables)
        check_annotation_ids(tables, options.reassign_ids)

    rows, n_rows, n_dropped = _rows_of(tables, kind != "captions", options)
    if n_rows == 0:
        raise EvoSplitError(f"{tables[0].file.path} holds no image with annotations; there is nothing to split")
    notes = [note for table in tables for note in table.file.notes]
    notes += [] if numbered else _differing_keys(tables)
    if n_dropped:
        notes.append(
            counted(
                n_dropped,
                "annotation of an unknown image or category was left out.",
                "annotations of unknown images or categories were left out.",
            )
        )
    for note in notes:
        warn(note)
    names = _label_names(tables[0]) if kind != "captions" else []
    ids = _of_rows((table.image_ids for table in tables), rows)
    matrix = count_cells([(each.instances, each.labels) for each in rows], n_rows, len(names))
    data = CocoData(
        files=tuple(table.file for table in tables),
        kind=kind,
        counts=LabelCounts(matrix, None if numbered else column(ids), names),
        rows=tuple(rows),
        edits=tuple(table.edits() for table in tables),
        notes=tuple(notes),
    )
    for file in data.files:
        file.release()
    return data


def _rows_of(tables: Sequence[Table], has_labels: bool, options: CocoReading) -> tuple[list[FileRows], int, int]:
    """Give each image a row, one file after the other; also return the numbers of rows and of dropped annotations."""
    rows: list[FileRows] = []
    n_rows = n_dropped = 0
    nothing = np.zeros(0, dtype=np.int64)
    for table in tables:
        owners = owners_of(table, options.drop_orphans)
        found = labelled(table, tables[0], owners, options.drop_orphans) if has_labels else None
        n_dropped += int((owners < 0).sum())
        chosen = np.ones(len(table.image_ids), dtype=bool)
        if options.having_annotations:
            chosen[:] = False
            chosen[owners[owners >= 0]] = True
        images = np.where(chosen, np.cumsum(chosen) - 1 + n_rows, -1)
        annotations = np.where(owners >= 0, images[owners], -1)
        n_rows += int(chosen.sum())
        if found is None:
            rows.append(FileRows(images, annotations, nothing, nothing, nothing))
        else:
            instances = annotations[found.annotations]
            rows.append(FileRows(images, annotations, instances, found.labels, found.positions))
    return rows, n_rows, n_dropped


def _of_rows(per_file: Iterable[Sequence[Any]], rows: Iterable[FileRows]) -> list[Any]:
    taking_part = ((found, (each.images >= 0).tolist()) for found, each in zip(per_file, rows, strict=True))
    return list(chain.from_iterable(compress(found, chosen) for found, chosen in taking_part))


def _check_given_once(paths: Sequence[Path]) -> None:
    if not paths:
        raise EvoSplitError("no annotation file was given; pass at least one, for example instances.json")
    for position, path in enumerate(paths):
        for earlier in paths[:position]:
            if path == earlier or (path.exists() and earlier.exists() and path.samefile(earlier)):
                raise EvoSplitError(f"{path} is given twice; pass each annotation file once")


def _label_names(table: Table) -> list[str]:
    """Name the labels as the categories are; names that are missing or repeated get the id."""
    given: list[Any] = [category.get("name") for category in table.categories]
    if set(map(type, given)) <= {str} and len(set(given)) == len(given) and _is_text("".join(given)):
        return given
    named = [
        str(own) if name is None else str(name).encode("utf-8", "backslashreplace").decode()
        for own, name in zip(table.category_ids, given, strict=True)
    ]
    taken: set[str] = set()
    for position, name in enumerate(named):
        if name in taken:
            name = f"{name} (id {table.category_ids[position]})"
        while name in taken:
            name += "'"
        taken.add(name)
        named[position] = name
    return named


def _is_text(text: str) -> bool:
    """Tell whether a string can be written: lone surrogates cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _differing_keys(tables: Sequence[Table]) -> list[str]:
    """Say which top-level values of later files differ from those of the first file, which are written."""
    notes = []
    first = _other_keys(tables[0]) if len(tables) > 1 else {}
    for table in tables[1:]:
        other = _other_keys(table)
        differing = [key for key in {**first, **other} if first.get(key) != other.get(key)]
        if differing:
            notes.append(
                f"{', '.join(map(repr, differing))} of {table.file.path.name} differs from that of "
                f"{tables[0].file.path.name}, whose value is written."
            )
    return notes


def _other_keys(table: Table) -> dict[Any, Any]:
    skeleton = b"".join(table.file.skeleton(memoryview(table.file.readable)))
    known = ("images", "annotations", "categories")
    return {key: _comparable(bytes(value)) for key, value in views(skeleton).items() if key not in known}


def _comparable(value: bytes) -> Any:
    """Return the value whatever its spacing; the bytes of one that Python cannot hold."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value

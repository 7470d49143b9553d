"""From annotation files to what a split needs: merged, checked, counted, each element with its row."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts
from evosplit.errors import warn
from evosplit_plugins.coco.checks import (
    Edits,
    Table,
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
from evosplit_plugins.coco.reading import CocoFile, OnProgress, read_file, views
from evosplit_plugins.coco.sizes import SizedInstances, count_cells

__all__ = ["CocoData", "Source", "as_paths", "read_coco"]

IntArray: TypeAlias = npt.NDArray[np.int64]
Source: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


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
    sizes
        The instances of each class that are small, medium and large, one column for each that occurs (only
        when asked for).
    image_rows, annotation_rows
        For each file the row of `counts` to which each image and annotation belongs, -1 if it is left out.
    edits
        For each file what had to change.
    settings
        How the files were read, for the manifest.
    notes
        Sentences about what was unusual.
    """

    files: tuple[CocoFile, ...]
    kind: str
    counts: LabelCounts
    sizes: LabelCounts | None
    image_rows: tuple[IntArray, ...]
    annotation_rows: tuple[IntArray, ...]
    edits: tuple[Edits, ...]
    settings: Mapping[str, bool]
    notes: tuple[str, ...]

    @property
    def has_labels(self) -> bool:
        """Whether the annotations carry categories."""
        return self.kind != "captions"


def as_paths(inputs: Source) -> list[Path]:
    """Turn one path or several into a list; the same file twice is an error."""
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if not given:
        raise EvoSplitError("no annotation file was given; pass at least one, for example instances.json")
    paths = [Path(path) for path in given]
    for position, path in enumerate(paths):
        for earlier in paths[:position]:
            if path == earlier or (path.exists() and earlier.exists() and path.samefile(earlier)):
                raise EvoSplitError(f"{path} is given twice; pass each annotation file once")
    return paths


def read_coco(
    inputs: Source,
    *,
    having_annotations: bool = False,
    count_crowd: bool = True,
    drop_orphans: bool = False,
    coerce_ids: bool = False,
    reassign_ids: bool = False,
    need_labels: bool = True,
    numbered: bool = False,
    areas: bool = False,
    on_progress: OnProgress | None = None,
) -> CocoData:
    """Read annotation files, check them and count the annotations of each category in each image.

    Parameters
    ----------
    inputs
        One path or several; several are merged and must have the same categories.
    having_annotations
        Leave out images without annotations.
    count_crowd
        Whether annotations with `iscrowd` count as instances; they are written in any case.
    drop_orphans
        Leave out annotations of images or categories that do not exist, instead of refusing them. Panoptic
        segments of an unknown category are then not counted; their annotation stays.
    coerce_ids
        Read ids such as "7" and 7.0 as 7, and write them so.
    reassign_ids
        Give annotations whose id occurred before, or is no id, a new one above the largest.
    need_labels
        Refuse files whose annotations carry no categories.
    numbered
        Number the rows instead of using the image ids, which may then repeat from file to file.
    areas
        Also count the instances by class and size.
    on_progress
        Called with the fraction done, from 0 to 1 for each file, and a message.
    """
    tables = [
        Table(read_file(path, crowd=not count_crowd, areas=areas, on_progress=on_progress), coerce_ids)
        for path in as_paths(inputs)
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
        check_annotation_ids(tables, reassign_ids)

    image_rows, annotation_rows, cells = [], [], []
    sized = SizedInstances()
    n_rows = n_dropped = 0
    for table in tables:
        owners = owners_of(table, drop_orphans)
        if kind != "captions":
            found = labelled(table, tables[0], owners, drop_orphans)
        n_dropped += int((owners < 0).sum())
        chosen = np.ones(len(table.image_ids), dtype=bool)
        if having_annotations:
            chosen[:] = False
            chosen[owners[owners >= 0]] = True
        rows = np.where(chosen, np.cumsum(chosen) - 1 + n_rows, -1)
        n_rows += int(chosen.sum())
        image_rows.append(rows)
        annotation_rows.append(np.where(owners >= 0, rows[owners], -1))
        if kind != "captions":
            rows_of_found = annotation_rows[-1][found.annotations]
            cells.append((rows_of_found, found.labels))
            if table.file.heads.areas is not None:
                sized.add(rows_of_found, found.labels, table.file.heads.areas[found.places])
    if n_rows == 0:
        raise EvoSplitError(f"{tables[0].file.path} holds no image with annotations; there is nothing to split")

    notes = [note for table in tables for note in table.file.notes]
    notes += [] if numbered else _differing_keys(tables)
    if n_dropped:
        notes.append(f"{n_dropped} annotations of unknown images or categories were left out")
    names = _label_names(tables[0]) if kind != "captions" else []
    sizes = sized.counts(n_rows, names) if areas else None
    if sized.n_unknown:
        notes.append(f"{sized.n_unknown} annotations have no area and count for no size")
    for note in notes:
        warn(note)
    ids = [
        value
        for table, rows in zip(tables, image_rows, strict=True)
        for value, row in zip(table.image_ids, rows.tolist(), strict=True)
        if row >= 0
    ]
    data = CocoData(
        files=tuple(table.file for table in tables),
        kind=kind,
        counts=LabelCounts(count_cells(cells, n_rows, len(names)), None if numbered else column(ids), names),
        sizes=sizes,
        image_rows=tuple(image_rows),
        annotation_rows=tuple(annotation_rows),
        edits=tuple(table.edits() for table in tables),
        settings={
            "having_annotations": having_annotations,
            "count_crowd": count_crowd,
            "drop_orphans": drop_orphans,
            "coerce_ids": coerce_ids,
            "reassign_ids": reassign_ids,
        },
        notes=tuple(notes),
    )
    for file in data.files:
        file.release()
    return data


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
    """Say which top-level keys of later files are not those of the first, whose values are written."""
    notes = []
    first = _other_keys(tables[0]) if len(tables) > 1 else {}
    for table in tables[1:]:
        other = _other_keys(table)
        differing = [key for key in {**first, **other} if first.get(key) != other.get(key)]
        if differing:
            notes.append(
                f"{', '.join(map(repr, differing))} of {table.file.path} differs from that of "
                f"{tables[0].file.path}, whose value is written"
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

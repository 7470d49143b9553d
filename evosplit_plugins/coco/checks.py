"""Checks of annotation files: problems are refused, or repaired or left out if the user asked for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError
from evosplit.wording import counted, listed
from evosplit_plugins.coco.ids import as_written, coerced, column, is_id, look_up, repeated
from evosplit_plugins.coco.reading import UNSET
from evosplit_plugins.coco.table import Table

__all__ = [
    "Instances",
    "check_annotation_ids",
    "check_categories",
    "check_images",
    "check_images_differ",
    "check_same_categories",
    "find_kind",
    "labelled",
    "owners_of",
]

IntArray: TypeAlias = npt.NDArray[np.int64]

_DROP = "pass drop_orphans=True to leave them out"
_COERCE = "pass coerce_ids=True to read and write them as integers"
_REASSIGN = "pass reassign_ids=True to give them new ids"
_IDS_SHOWN = 10


def find_kind(tables: Sequence[Table], need_labels: bool) -> str:
    """Return the kind of the files: panoptic, person_keypoints, captions or instances."""
    kinds = []
    for table in tables:
        file = table.file
        named = any(value is not UNSET for value in table.annotation_categories)
        if table.segments is not None:
            kinds.append("panoptic")
        elif not named and (file.annotations is None or not file.categories):
            kinds.append("captions")
        elif any(category.get("keypoints") for category in table.categories):
            kinds.append("person_keypoints")
        else:
            kinds.append("instances")
        if need_labels and file.annotations is None:
            raise EvoSplitError(f"{file.path} has no 'annotations'; there is nothing to balance")
        if need_labels and kinds[-1] == "captions":
            raise EvoSplitError(
                f"{file.path} carries no categories (captions?), so there is nothing to balance; split the "
                "instances file of the same images, then: evosplit coco apply split.json captions.json -o out"
            )
        if kinds[-1] != "captions" and file.categories is None:
            raise EvoSplitError(f"{file.path} has no 'categories', but its annotations name some; add the list")
    if len(set(kinds)) > 1:
        found = ", ".join(f"{table.file.path} ({kind})" for table, kind in zip(tables, kinds, strict=True))
        raise EvoSplitError(f"the files are of different kinds: {found}; split one kind and replay it on the others")
    return kinds[0]


def check_images(table: Table) -> None:
    """Refuse a file without images, and images whose ids are not valid or not unique."""
    path = table.file.path
    if not table.image_ids:
        raise EvoSplitError(f"{path} holds no image; there is nothing to split")
    _check_ids(
        path,
        table.image_ids,
        "image",
        "images",
        written=lambda position: table.file.written(table.file.images, position, "id"),
    )


def _check_ids(path: Path, ids: Sequence[Any], one: str, many: str, *, written: Callable[[int], str]) -> None:
    """Refuse ids that are not valid, and repeated ones."""
    wrong = []
    if not set(map(type, ids)) <= {int, str}:
        wrong = [position for position, value in enumerate(ids) if not is_id(value)]
    if wrong:
        shown = (f"{many}[{position}] has id {written(position)}" for position in wrong)
        remedy = f"give each {one} an integer id"
        if any(isinstance(ids[position], float) for position in wrong):
            remedy = _COERCE
        raise EvoSplitError(f"{path}: {listed(shown, 3, total=len(wrong))}; {remedy}")
    again = repeated(column(ids))
    if len(again):
        shown = (as_written(ids[position]) for position in again)
        raise EvoSplitError(
            f"{path}: {counted(len(again), f'{one} repeats an id', f'{many} repeat an id')}: "
            f"{listed(shown, _IDS_SHOWN, total=len(again))}; give each {one} its own id"
        )


def check_images_differ(tables: Sequence[Table]) -> None:
    """Refuse files that share image ids."""
    for position, table in enumerate(tables):
        for earlier in tables[:position]:
            found = look_up(column(table.image_ids), column(earlier.image_ids))
            shared = np.flatnonzero(found >= 0)
            if len(shared):
                shown = (as_written(table.image_ids[each]) for each in shared)
                raise EvoSplitError(
                    f"{earlier.file.path} and {table.file.path} share "
                    f"{counted(len(shared), 'image id', 'image ids')}: "
                    f"{listed(shown, _IDS_SHOWN, total=len(shared))}; renumber the images of one of them"
                )


def check_categories(table: Table) -> None:
    """Refuse categories whose ids are not valid or not unique, or whose counts are negative."""
    path = table.file.path
    ids = table.category_ids
    _check_ids(path, ids, "category", "categories", written=lambda position: as_written(ids[position]))
    negative = [
        f"category {as_written(table.category_ids[position])} has {key} {category[key]}"
        for key in ("image_count", "instance_count")
        for position, category in enumerate(table.categories)
        if key in category and isinstance(category[key], (int, float)) and category[key] < 0
    ]
    if negative:
        raise EvoSplitError(f"{path}: {listed(negative, 3)}; counts cannot be negative, correct the file")


def check_same_categories(tables: Sequence[Table]) -> None:
    """Refuse files that give an id different names; other facts about a category may differ."""

    def names(table: Table) -> dict[Any, Any]:
        return {own: category.get("name") for own, category in zip(table.category_ids, table.categories, strict=True)}

    first = names(tables[0])
    for table in tables[1:]:
        other = names(table)
        if other == first:
            continue
        pairs = [(own, first.get(own, UNSET), other.get(own, UNSET)) for own in {**first, **other}]
        conflicts = [
            f"{as_written(own)} is {as_written(here)} and {as_written(there)}"
            for own, here, there in pairs
            if here != there
        ]
        raise EvoSplitError(
            f"{tables[0].file.path} and {table.file.path} differ in "
            f"{counted(len(conflicts), 'category', 'categories')}: "
            f"{listed(conflicts, _IDS_SHOWN, total=len(conflicts))}; only files with equal categories are merged"
        )


def check_annotation_ids(tables: Sequence[Table], reassign: bool) -> None:
    """Refuse annotation ids that are not valid or repeated; a missing id is legal, as in panoptic files."""
    everything = tables[0].annotation_ids
    for table in tables[1:]:
        everything = everything + table.annotation_ids
    all_integers = column(everything)
    if all_integers.dtype != object:
        wrong: list[int] = repeated(all_integers).tolist()
    else:
        wrong = []
        seen: set[Any] = set()
        for position, value in enumerate(everything):
            if value is UNSET:
                continue
            if not is_id(value) or value in seen:
                wrong.append(position)
            else:
                seen.add(value)
    if not wrong:
        return
    starts = np.cumsum([0, *(len(table.annotation_ids) for table in tables)])
    at = [(int(np.searchsorted(starts, position, side="right")) - 1, position) for position in wrong]
    if not reassign:
        shown = (
            f"{tables[which].file.path.name} annotations[{position - starts[which]}] "
            f"has id {tables[which].written(int(position - starts[which]), 'id')}"
            for which, position in at
        )
        raise EvoSplitError(
            f"{counted(len(wrong), 'annotation has', 'annotations have')} an id that is taken or no id: "
            f"{listed(shown, 3, total=len(wrong))}; {_REASSIGN}"
        )
    fresh = max((value for value in everything if type(value) is int), default=0)
    for number, (which, position) in enumerate(at, start=1):
        tables[which].new_ids[int(position - starts[which])] = fresh + number


def owners_of(table: Table, drop: bool) -> IntArray:
    """Return the position of the image of each annotation, -1 if there is none."""
    owners = look_up(column(table.owner_ids), column(table.image_ids))
    lost = np.flatnonzero(owners < 0)
    if len(lost) and not drop:
        shown = (f"{table.called(each)} has image_id {table.written(each, 'image_id')}" for each in lost.tolist())
        values = [table.owner_ids[each] for each in lost.tolist()]
        remedy = _COERCE if any(coerced(value) is not value for value in values) else _DROP
        raise EvoSplitError(
            f"{table.file.path}: {counted(len(lost), 'annotation belongs', 'annotations belong')} to no image: "
            f"{listed(shown, 3, total=len(lost))}; {remedy}"
        )
    return owners


@dataclass(frozen=True)
class Instances:
    """What counts in one file, one entry per instance.

    Attributes
    ----------
    annotations
        The annotation that it is, or is a segment of.
    labels
        Its category, as a position in the list of the first file.
    positions
        Its position among all annotations and, behind them, all segments of the file.
    """

    annotations: IntArray
    labels: IntArray
    positions: IntArray


def labelled(table: Table, first: Table, owners: IntArray, drop: bool) -> Instances:
    """Find the instances that count; the owner of an annotation without a known category is set to -1."""
    known = column(table.category_ids)
    labels = look_up(column(table.annotation_categories), known)
    annotations = np.arange(len(labels), dtype=np.int64)
    counting = np.ones(len(labels), dtype=bool)
    if table.crowd is not None:
        counting &= ~np.array(table.crowd, dtype=bool)
    lost = labels < 0
    if table.segments is not None:
        segmented = np.array([part is not None for part in table.segments], dtype=bool)
        lengths = np.array([len(part or ()) for part in table.segments], dtype=np.int64)
        parts = look_up(column([value for part in table.segments for value in part or ()]), known)
        owner_of_part = np.repeat(annotations, lengths)
        unknown = np.flatnonzero(parts < 0)
        if len(unknown) and not drop:
            _refuse_categories(table, np.unique(owner_of_part[unknown]))
        lost &= ~segmented
        counting &= ~segmented
        annotations = np.concatenate([annotations, owner_of_part])
        labels = np.concatenate([labels, parts])
        counting = np.concatenate([counting, parts >= 0])
    if lost.any():
        if not drop:
            _refuse_categories(table, np.flatnonzero(lost))
        owners[lost] = -1
    counting &= owners[annotations] >= 0
    # The categories of a later file may stand in another order.
    order = look_up(known, column(first.category_ids))
    return Instances(annotations[counting], order[labels[counting]], np.flatnonzero(counting))


def _refuse_categories(table: Table, lost: IntArray) -> NoReturn:
    def shown(position: int) -> str:
        parts = None if table.segments is None else table.segments[position]
        if parts is None:
            return f"{table.called(position)} has category_id {table.written(position, 'category_id')}"
        known = set(table.category_ids)
        wrong = next(value for value in parts if not is_id(value) or value not in known)
        return f"{table.called(position)} has a segment with category_id {as_written(wrong)}"

    values = [table.annotation_categories[each] for each in lost.tolist()]
    if table.segments is not None:
        values += [value for each in lost.tolist() for value in table.segments[each] or ()]
    remedy = _COERCE if any(coerced(value) is not value for value in values) else _DROP
    raise EvoSplitError(
        f"{table.file.path}: {counted(len(lost), 'annotation has', 'annotations have')} an unknown category: "
        f"{listed(map(shown, lost.tolist()), 3, total=len(lost))}; {remedy}"
    )

"""The ids of one annotation file while they are checked: what is wrong is refused, mended or left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError
from evosplit_plugins.coco.ids import as_written, coerced, column, first_few, is_id, look_up, repeated, splice
from evosplit_plugins.coco.places import Elements, address
from evosplit_plugins.coco.reading import UNSET, CocoFile, views

__all__ = [
    "Edits",
    "Instances",
    "Table",
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


@dataclass(frozen=True)
class Edits:
    """New bytes for what had to change in a file: elements by their position, and the list of categories."""

    images: Mapping[int, bytes] = field(default_factory=dict)
    annotations: Mapping[int, bytes] = field(default_factory=dict)
    categories: bytes | None = None


class Table:
    """The ids of one file, with "7" read as 7 if asked for, and the new ids that annotations are given."""

    def __init__(self, file: CocoFile, coerce: bool) -> None:
        self.file = file
        self.coerce = coerce
        self.new_ids: dict[int, int] = {}
        heads = file.heads
        self.image_ids = self._read(file.image_ids)
        self.owner_ids = self._read(heads.image_ids)
        self.annotation_ids = self._read(heads.ids)
        self.annotation_categories = self._read(heads.category_ids)
        self.segments = heads.segments
        if coerce and heads.segments is not None:
            self.segments = [None if part is None else self._read(part) for part in heads.segments]
        self.categories = file.categories or []
        self.category_ids = self._read([category.get("id", UNSET) for category in self.categories])

    def _read(self, values: list[Any]) -> list[Any]:
        return [coerced(value) for value in values] if self.coerce else values

    def place(self, position: int) -> str:
        """Name an annotation as a person would look for it."""
        own = self.file.heads.ids[position]
        return f"annotations[{position}]" + ("" if own is UNSET else f" (id {self.written(position, 'id')})")

    def written(self, position: int, key: str) -> str:
        """Show a value of an annotation exactly as the file has it."""
        if self.file.annotations is None:
            return "missing"
        return self.file.written(self.file.annotations, position, key)

    def edits(self) -> Edits:
        """Write the changed ids into the bytes of the elements that carry them."""
        if not self.coerce and not self.new_ids:
            return Edits()
        file, heads = self.file, self.file.heads
        images = self._edited(file.images, {"id": (file.image_ids, self.image_ids)}, {})
        columns = {
            "image_id": (heads.image_ids, self.owner_ids),
            "category_id": (heads.category_ids, self.annotation_categories),
            "id": (heads.ids, self.annotation_ids),
        }
        annotations = {}
        if file.annotations is not None:
            annotations = self._edited(file.annotations, columns, self.new_ids)
        begin, end = file.categories_at
        categories = None
        written = [category.get("id", UNSET) for category in self.categories]
        if list(map(type, written)) != list(map(type, self.category_ids)):
            categories = _coerced_list(bytes(file.buffer[begin:end]), bytes(file.readable[begin:end]), "id")
        return Edits(images, annotations, categories)

    def _edited(
        self,
        elements: Elements,
        columns: Mapping[str, tuple[list[Any], list[Any]]],
        new_ids: Mapping[int, int],
    ) -> dict[int, bytes]:
        """Return new bytes for the elements of which some id is now of another type or was given anew."""
        edited = {}
        for position in range(len(elements)):
            changes = {
                key: json.dumps(new[position]).encode()
                for key, (old, new) in columns.items()
                if type(old[position]) is not type(new[position])
            }
            if position in new_ids:
                changes["id"] = str(new_ids[position]).encode()
            segmented = "image_id" in columns and self.segments is not None and self.segments[position]
            if not changes and not (self.coerce and segmented):
                continue
            data = self.file.element(elements, position)
            readable = self.file.element(elements, position, readable=True)
            if self.coerce and segmented:
                parts = views(readable)["segments_info"]
                begin = address(parts) - address(readable)
                changes["segments_info"] = _coerced_list(data[begin : begin + len(parts)], bytes(parts), "category_id")
            new = splice(data, readable, changes)
            if new != data:
                edited[position] = new
        return edited


def _coerced_list(data: bytes, readable: bytes, key: str) -> bytes:
    """Coerce the value of one key in each object of a JSON list."""
    changes = {}
    for position, item in views(readable).items():
        values = views(bytes(item))
        old = json.loads(bytes(values[key])) if key in values else None
        new = coerced(old)
        if type(old) is not type(new):
            begin = address(item) - address(readable)
            changes[position] = splice(data[begin : begin + len(item)], bytes(item), {key: json.dumps(new).encode()})
    return splice(data, readable, changes)


def find_kind(tables: Sequence[Table], need_labels: bool) -> str:
    """Tell panoptic files, keypoints, captions and instances apart by what they hold."""
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
    """Refuse images that cannot be told apart."""
    path = table.file.path
    if not table.image_ids:
        raise EvoSplitError(f"{path} holds no image; there is nothing to split")
    wrong = _no_ids(table.image_ids)
    if wrong:
        shown = (
            f"images[{position}] has id {table.file.written(table.file.images, position, 'id')}" for position in wrong
        )
        remedy = "give each image an integer id"
        if any(isinstance(table.image_ids[position], float) for position in wrong):
            remedy = _COERCE
        raise EvoSplitError(f"{path}: {first_few(shown, len(wrong))}; {remedy}")
    again = repeated(column(table.image_ids))
    if len(again):
        shown = (as_written(table.image_ids[position]) for position in again)
        raise EvoSplitError(
            f"{path}: {_many(len(again), 'image repeats an id', 'images repeat an id')}: "
            f"{first_few(shown, len(again), _IDS_SHOWN)}; give each image its own id"
        )


def check_images_differ(tables: Sequence[Table]) -> None:
    """Refuse files that share image ids."""
    for position, table in enumerate(tables):
        for earlier in tables[:position]:
            found = look_up(column(table.image_ids), column(earlier.image_ids))
            shared = np.flatnonzero(found >= 0)
            if len(shared):
                shown = (as_written(table.image_ids[place]) for place in shared)
                raise EvoSplitError(
                    f"{earlier.file.path} and {table.file.path} share "
                    f"{_many(len(shared), 'image id', 'image ids')}: "
                    f"{first_few(shown, len(shared), _IDS_SHOWN)}; renumber the images of one of them"
                )


def check_categories(table: Table) -> None:
    """Refuse categories that cannot be told apart or count less than nothing."""
    path = table.file.path
    wrong = _no_ids(table.category_ids)
    if wrong:
        shown = (f"categories[{position}] has id {as_written(table.category_ids[position])}" for position in wrong)
        remedy = "give each category an integer id"
        if any(isinstance(table.category_ids[position], float) for position in wrong):
            remedy = _COERCE
        raise EvoSplitError(f"{path}: {first_few(shown, len(wrong))}; {remedy}")
    again = repeated(column(table.category_ids))
    if len(again):
        shown = (as_written(table.category_ids[position]) for position in again)
        raise EvoSplitError(
            f"{path}: {_many(len(again), 'category repeats an id', 'categories repeat an id')}: "
            f"{first_few(shown, len(again), _IDS_SHOWN)}; give each category its own id"
        )
    negative = [
        f"category {as_written(table.category_ids[position])} has {key} {category[key]}"
        for key in ("image_count", "instance_count")
        for position, category in enumerate(table.categories)
        if key in category and isinstance(category[key], (int, float)) and category[key] < 0
    ]
    if negative:
        raise EvoSplitError(
            f"{path}: {first_few(negative, len(negative))}; counts cannot be negative, correct the file"
        )


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
            f"{_many(len(conflicts), 'category', 'categories')}: "
            f"{first_few(conflicts, len(conflicts), _IDS_SHOWN)}; only files with equal categories are merged"
        )


def check_annotation_ids(tables: Sequence[Table], reassign: bool) -> None:
    """Refuse annotation ids that are none or occur twice; a missing id is legal, as in panoptic files."""
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
            f"{_many(len(wrong), 'annotation has', 'annotations have')} an id that is taken or no id: "
            f"{first_few(shown, len(wrong))}; {_REASSIGN}"
        )
    fresh = max((value for value in everything if type(value) is int), default=0)
    for number, (which, position) in enumerate(at, start=1):
        tables[which].new_ids[int(position - starts[which])] = fresh + number


def owners_of(table: Table, drop: bool) -> IntArray:
    """Return the position of the image of each annotation, -1 if there is none."""
    owners = look_up(column(table.owner_ids), column(table.image_ids))
    lost = np.flatnonzero(owners < 0)
    if len(lost) and not drop:
        shown = (f"{table.place(place)} has image_id {table.written(place, 'image_id')}" for place in lost.tolist())
        remedy = _DROP
        if any(coerced(table.owner_ids[place]) is not table.owner_ids[place] for place in lost.tolist()):
            remedy = _COERCE
        raise EvoSplitError(
            f"{table.file.path}: {_many(len(lost), 'annotation belongs', 'annotations belong')} to no image: "
            f"{first_few(shown, len(lost))}; {remedy}"
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
    places
        Its place among all annotations and, behind them, all segments of the file.
    """

    annotations: IntArray
    labels: IntArray
    places: IntArray


def labelled(table: Table, first: Table, owners: IntArray, drop: bool) -> Instances:
    """Find the instances that count; an annotation without a known category loses its owner."""
    known = column(table.category_ids)
    labels = look_up(column(table.annotation_categories), known)
    annotations = np.arange(len(labels), dtype=np.int64)
    counting = np.ones(len(labels), dtype=bool)
    if table.file.heads.crowd is not None:
        counting &= ~np.array(table.file.heads.crowd, dtype=bool)
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
    def shown(place: int) -> str:
        parts = None if table.segments is None else table.segments[place]
        if parts is None:
            return f"{table.place(place)} has category_id {table.written(place, 'category_id')}"
        known = set(table.category_ids)
        wrong = next(value for value in parts if not is_id(value) or value not in known)
        return f"{table.place(place)} has a segment with category_id {as_written(wrong)}"

    remedy = _DROP
    values = [table.annotation_categories[place] for place in lost.tolist()]
    if table.segments is not None:
        values += [value for place in lost.tolist() for value in table.segments[place] or ()]
    if any(coerced(value) is not value for value in values):
        remedy = _COERCE
    raise EvoSplitError(
        f"{table.file.path}: {_many(len(lost), 'annotation has', 'annotations have')} an unknown category: "
        f"{first_few(map(shown, lost.tolist()), len(lost))}; {remedy}"
    )


def _no_ids(values: Sequence[Any]) -> list[int]:
    """Return the positions of values that cannot be ids."""
    if set(map(type, values)) <= {int, str}:
        return []
    return [position for position, value in enumerate(values) if not is_id(value)]


def _many(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"

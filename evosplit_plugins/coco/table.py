"""The ids of one annotation file while it is checked, and the new bytes of elements whose ids changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evosplit_plugins.coco.ids import coerced
from evosplit_plugins.coco.json_offsets import Elements, address
from evosplit_plugins.coco.reading import UNSET, Annotations, CocoFile, views

__all__ = ["Edits", "Table", "splice"]


@dataclass(frozen=True)
class Edits:
    """New bytes for what had to change in a file: elements by their position, and the list of categories."""

    images: Mapping[int, bytes] = field(default_factory=dict)
    annotations: Mapping[int, bytes] = field(default_factory=dict)
    categories: bytes | None = None


class Table:
    """The ids of one file, with "7" read as 7 if asked for, and the new ids that annotations are given."""

    def __init__(self, file: CocoFile, annotations: Annotations, coerce: bool) -> None:
        self.file = file
        self.coerce = coerce
        self.new_ids: dict[int, int] = {}
        self.image_ids = self._read(file.image_ids)
        self.owner_ids = self._read(annotations.image_ids)
        self.annotation_ids = self._read(annotations.ids)
        self.annotation_categories = self._read(annotations.category_ids)
        self.crowd = annotations.crowd
        self.segments = annotations.segments
        if coerce and annotations.segments is not None:
            self.segments = [None if part is None else self._read(part) for part in annotations.segments]
        self._as_written = annotations
        self.categories = file.categories or []
        self.category_ids = self._read([category.get("id", UNSET) for category in self.categories])

    def _read(self, values: list[Any]) -> list[Any]:
        return [coerced(value) for value in values] if self.coerce else values

    def called(self, position: int) -> str:
        """Name an annotation as a person would look for it."""
        own = self._as_written.ids[position]
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
        file, before = self.file, self._as_written
        images = self._edited(file.images, {"id": (file.image_ids, self.image_ids)}, {})
        columns = {
            "image_id": (before.image_ids, self.owner_ids),
            "category_id": (before.category_ids, self.annotation_categories),
            "id": (before.ids, self.annotation_ids),
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
        """Return new bytes for the elements with an id of another type, or a new one."""
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


def splice(data: bytes, readable: bytes, changes: Mapping[str, bytes] | Mapping[int, bytes]) -> bytes:
    """Replace some values of a JSON object (by key) or list (by position), leaving every other byte as it is.

    Parameters
    ----------
    data
        The object or list as written.
    readable
        Bytes of the same length that a strict decoder takes.
    changes
        The new values; a key that the object lacks is ignored.

    Examples
    --------
    >>> splice(b'{"id": "7", "x": 1.00}', b'{"id": "7", "x": 1.00}', {"id": b"7"})
    b'{"id": 7, "x": 1.00}'
    >>> splice(b"[1, 2.0]", b"[1, 2.0]", {1: b"2"})
    b'[1, 2]'
    """
    base = address(readable)
    values = views(readable)
    replaced = []
    for key, new in changes.items():
        if key in values:
            replaced.append((address(values[key]) - base, len(values[key]), new))
    pieces = []
    begin = 0
    for start, length, new in sorted(replaced):
        pieces += [data[begin:start], new]
        begin = start + length
    return b"".join([*pieces, data[begin:]])

"""Read a COCO file without parsing it into objects: the ids, and the byte offsets of each image and annotation.

A typed decoder goes over the memory-mapped file once and keeps ids and file names; then the offsets of each element are
found. Elements are written as their bytes, which makes reading fast and the output byte-identical.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Raw, UnsetType

from evosplit import EvoSplitError
from evosplit_plugins.coco.json_bytes import STAND_IN, WHITESPACE, check_text, forgiven, map_file
from evosplit_plugins.coco.json_offsets import Buffer, Elements, address, find_elements
from evosplit_plugins.progress import OnProgress

__all__ = ["UNSET", "Annotations", "CocoFile", "read_file", "views"]

_CROWD = (1, "1")  # and True, which equals 1
_LARGEST_AREA = 2**53


class _Image(msgspec.Struct, gc=False):
    id: Any = UNSET
    file_name: Any = None
    coco_url: Any = None


class _Segment(msgspec.Struct, gc=False):
    category_id: Any = UNSET


class _Annotation(msgspec.Struct, gc=False):
    image_id: Any = UNSET
    category_id: Any = UNSET
    id: Any = UNSET
    segments_info: list[_Segment] | UnsetType | None = UNSET


class _Content(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation] | UnsetType = UNSET
    categories: Raw | UnsetType = UNSET


class _CrowdSegment(_Segment, gc=False):
    iscrowd: Any = 0


class _CrowdAnnotation(_Annotation, gc=False):
    segments_info: list[_CrowdSegment] | UnsetType | None = UNSET  # type: ignore[assignment]
    iscrowd: Any = 0


class _CrowdContent(_Content):
    annotations: list[_CrowdAnnotation] | UnsetType = UNSET  # type: ignore[assignment]


class _SegmentArea(msgspec.Struct, gc=False):
    area: Any = None
    iscrowd: Any = 0


class _Area(msgspec.Struct, gc=False):
    area: Any = None
    segments_info: list[_SegmentArea] | UnsetType | None = UNSET


class _Shape(msgspec.Struct, gc=False):
    bbox: Any = None
    iscrowd: Any = 0


class _PolygonShape(_Shape, gc=False):
    segmentation: Any = None


@dataclass(frozen=True)
class Annotations:
    """The ids in the annotations, one entry each; `UNSET` where the key is missing.

    Attributes
    ----------
    image_ids, category_ids, ids
        As written in the file, of whatever type.
    segments
        For each annotation the category ids of its `segments_info`, or None; None if no annotation has any.
    crowd
        Whether each annotation is a crowd (only when asked for).
    """

    image_ids: list[Any]
    category_ids: list[Any]
    ids: list[Any]
    segments: list[list[Any] | None] | None
    crowd: list[bool] | None

    def __len__(self) -> int:
        return len(self.image_ids)


@dataclass(frozen=True)
class CocoFile:
    """One annotation file: its bytes, the offsets of every image and annotation, and the images' ids and names.

    Attributes
    ----------
    path
        As the user gave it.
    buffer
        The bytes of the file (memory-mapped, decompressed).
    readable
        Bytes of the same length that a strict decoder takes: `buffer`, unless that holds NaN and the like.
    images, annotations
        Where the elements lie; `annotations` is None when the file has no such list.
    image_ids
        As written in the file, of whatever type.
    file_names
        The file name of each image, None where it has none; LVIS has it at the end of `coco_url`.
    categories
        The parsed list of categories, or None when the file has none.
    categories_at
        Byte range of the list of categories.
    stamp
        Size and time of change of the file when it was read.
    notes
        Sentences about what was unusual.
    """

    path: Path
    buffer: Buffer
    readable: Buffer
    images: Elements
    annotations: Elements | None
    image_ids: list[Any]
    file_names: list[str | None]
    categories: list[dict[str, Any]] | None
    categories_at: tuple[int, int]
    stamp: tuple[int, int]
    notes: tuple[str, ...] = ()

    def unchanged(self) -> bool:
        """Whether the file on disk is still the one that was read."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == self.stamp

    def skeleton(self, view: memoryview) -> list[memoryview]:
        """Return the bytes before, between and after the lists of images and annotations."""
        pieces = []
        begin = 0
        for part in self.lists():
            pieces.append(view[begin : part.first])
            begin = part.last
        return [*pieces, view[begin:]]

    def lists(self) -> list[Elements]:
        """Return images and annotations in the order in which they stand in the file."""
        present = [part for part in (self.images, self.annotations) if part is not None]
        return sorted(present, key=lambda part: part.first)

    def release(self) -> None:
        """Let the system take back the pages of the mapped file until they are needed again."""
        if isinstance(self.buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.buffer.madvise(mmap.MADV_DONTNEED)

    def element(self, elements: Elements, position: int, *, readable: bool = False) -> bytes:
        """Return the bytes of one element; with `readable` those that a strict decoder takes."""
        source = self.readable if readable else self.buffer
        return bytes(source[int(elements.starts[position]) : int(elements.stops[position])])

    def written(self, elements: Elements, position: int, key: str) -> str:
        """Show the value of a key of an element exactly as the file has it."""
        readable = self.element(elements, position, readable=True)
        value = views(readable).get(key)
        if value is None:
            return "missing"
        begin = address(value) - address(readable)
        text = self.element(elements, position)[begin : begin + len(value)].decode()
        return text if len(text) <= 40 else text[:37] + "..."

    def image_keys(self, position: int) -> list[str]:
        """List the fields of one image."""
        return [str(name) for name in views(self.element(self.images, position, readable=True))]

    def image_values(self, keys: Sequence[str]) -> dict[str, list[Any]]:
        """Decode fields of every image in one pass, `UNSET` where one is missing; a dotted key leads into objects."""
        # Each key itself, and the object into which it leads: "meta.site" may be a field, or one inside of "meta".
        wanted = list(dict.fromkeys(name for key in keys for name in (key, key.partition(".")[0])))
        columns: dict[str, list[Any]]
        if self.readable is self.buffer:
            names = {f"field{number}": name for number, name in enumerate(wanted)}
            kind = msgspec.defstruct("_Fields", [(name, Any, UNSET) for name in names], rename=names, gc=False)
            images = decode(_list_at(self.readable, self.images), list[kind], self.path)  # type: ignore[valid-type]
            columns = {name: [getattr(image, own) for image in images] for own, name in names.items()}
        else:  # the strict decoder would show what stands in for NaN
            images = json.loads(bytes(_list_at(self.buffer, self.images)))
            columns = {name: [image.get(name, UNSET) for image in images] for name in wanted}
        return {key: _values_at(key, columns) for key in keys}

    def shapes(self, *, polygons: bool) -> list[tuple[Any, list[Any], bool]]:
        """Decode of each annotation its box, the parts of its polygon (if asked for), and whether it is a crowd."""
        if self.annotations is None:
            return []
        kind = _PolygonShape if polygons else _Shape
        found: list[Any] = decode(_list_at(self.readable, self.annotations), list[kind], self.path)  # type: ignore[valid-type]
        self.release()
        parts = [each.segmentation if polygons else None for each in found]
        return [
            (each.bbox, part if isinstance(part, list) else [], each.iscrowd in _CROWD)
            for each, part in zip(found, parts, strict=True)
        ]

    def areas(self, *, count_crowd: bool) -> npt.NDArray[np.float64]:
        """Decode the areas of all annotations, then those of all segments that count; NaN where an area is missing."""
        if self.annotations is None:
            return np.zeros(0)
        found: list[_Area] = decode(_list_at(self.readable, self.annotations), list[_Area], self.path)
        written = [annotation.area for annotation in found]
        written += [
            part.area
            for annotation in found
            for part in annotation.segments_info or ()
            if count_crowd or part.iscrowd not in _CROWD
        ]
        known = [value if type(value) in (int, float) else np.nan for value in written]
        try:
            values = np.array(known, dtype=np.float64)
        except OverflowError:  # integers beyond all floats
            values = np.array([max(-1, min(value, _LARGEST_AREA)) for value in known], dtype=np.float64)
        if self.readable is not self.buffer:
            values[values == STAND_IN] = np.nan
        values[values < 0] = np.nan
        self.release()
        return values


def _list_at(buffer: Buffer, elements: Elements) -> memoryview:
    """Return the bytes of a list with its brackets, of which only white space parts the elements."""
    begin, end = buffer.rfind(b"[", 0, elements.first), buffer.find(b"]", elements.last)
    return memoryview(buffer)[begin : end + 1]


def _values_at(key: str, columns: Mapping[str, list[Any]]) -> list[Any]:
    head, *inner = key.split(".")
    if not inner:
        return columns[key]
    return [
        whole if whole is not UNSET else _inside(value, inner)
        for whole, value in zip(columns[key], columns[head], strict=True)
    ]


def _inside(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key, UNSET) if isinstance(value, dict) else UNSET
    return value


def read_file(
    path: Path, *, crowd: bool = False, on_progress: OnProgress | None = None
) -> tuple[CocoFile, Annotations]:
    """Read one annotation file: its images and categories, and the ids in its annotations.

    Parameters
    ----------
    path
        A JSON file, plain or compressed with gzip.
    crowd
        Also find out which annotations are crowds.
    on_progress
        Called with the fraction done and a message.
    """
    tell = on_progress or (lambda done, message: None)
    message = f"reading {path.name}"
    tell(0.0, message)
    buffer, stamp = map_file(path)
    check_text(buffer, path)
    tell(0.1, message)
    shape = _CrowdContent if crowd else _Content
    notes: list[str] = []
    readable = buffer
    try:
        content = decode(buffer, shape, path)
    except EvoSplitError as error:
        if isinstance(error.__cause__, msgspec.ValidationError):
            raise
        copy, found = forgiven(buffer)
        if not found:
            raise
        content = decode(copy, shape, path)
        readable = copy
        notes.append(f"{path.name} holds {', '.join(found)}, which JSON does not know: read the slower way.")
    image_ids = [image.id for image in content.images]
    names = [image.file_name for image in content.images]
    if not all(type(name) is str and name for name in names):
        names = [_file_name(image.file_name, image.coco_url) for image in content.images]
    has_annotations = content.annotations is not UNSET
    annotations = _columns(content.annotations if has_annotations else [], crowd)
    categories, categories_at = _categories(content.categories, buffer, readable, path)
    del content
    tell(0.6, message)
    sizes = {"images": len(image_ids)} | ({"annotations": len(annotations)} if has_annotations else {})
    elements = find_elements(readable, sizes)
    file = CocoFile(
        path=path,
        buffer=buffer,
        readable=readable,
        images=elements["images"],
        annotations=elements.get("annotations"),
        image_ids=image_ids,
        file_names=names,
        categories=categories,
        categories_at=categories_at,
        stamp=stamp,
        notes=tuple(notes),
    )
    _check_single_keys(file)
    if readable is not buffer:
        values = file.image_values(("file_name", "coco_url"))
        names[:] = map(_file_name, values["file_name"], values["coco_url"])
    file.release()
    tell(1.0, message)
    return file, annotations


def _file_name(name: Any, url: Any) -> str | None:
    if isinstance(name, str) and name:
        return name
    return "/".join(url.split("/")[-2:]) if isinstance(url, str) and url else None


def decode(data: Any, kind: Any, path: Path) -> Any:
    """Decode JSON of a known shape, with errors that name the file."""
    try:
        return msgspec.json.Decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        raise EvoSplitError(
            f"{path} is not a COCO annotation file: {_plain(str(error))}; expected an object with the lists "
            "'images', 'annotations' and 'categories'"
        ) from error
    except msgspec.DecodeError as error:
        raise EvoSplitError(f"{path} is not valid JSON: {_plain(str(error))}; export or download it again") from error
    except RecursionError as error:
        raise EvoSplitError(f"{path} is nested too deeply to be a COCO annotation file") from error


def views(data: bytes) -> dict[Any, Raw]:
    """Return views of the values of a valid JSON object by key, or of a valid JSON list by position."""
    if data.lstrip(WHITESPACE).startswith(b"["):
        return dict(enumerate(msgspec.json.decode(data, type=list[Raw])))
    return msgspec.json.decode(data, type=dict[Any, Raw])


def _plain(message: str) -> str:
    """Turn the decoder's `$.images[3]` into images[3]."""
    return message.replace("$.", "").replace("`", "")


def _columns(annotations: Sequence[Any], crowd: bool) -> Annotations:
    segments: list[list[Any] | None] | None = None
    if list in set(map(type, map(attrgetter("segments_info"), annotations))):
        segments = [
            None
            if annotation.segments_info is None or annotation.segments_info is UNSET
            else [part.category_id for part in annotation.segments_info if not (crowd and part.iscrowd in _CROWD)]
            for annotation in annotations
        ]
    return Annotations(
        image_ids=list(map(attrgetter("image_id"), annotations)),
        category_ids=list(map(attrgetter("category_id"), annotations)),
        ids=list(map(attrgetter("id"), annotations)),
        segments=segments,
        crowd=[annotation.iscrowd in _CROWD for annotation in annotations] if crowd else None,
    )


def _categories(
    raw: Any, buffer: Buffer, readable: Buffer, path: Path
) -> tuple[list[dict[str, Any]] | None, tuple[int, int]]:
    if raw is UNSET or bytes(raw) == b"null":
        return None, (0, 0)
    begin = address(raw) - address(readable)
    end = begin + len(raw)
    # The original bytes and Python's own decoder: names may hold what the strict one refuses.
    try:
        parsed = json.loads(bytes(buffer[begin:end]))
    except (ValueError, RecursionError) as error:
        raise EvoSplitError(f"{path}: cannot read the categories: {error}") from error
    if not isinstance(parsed, list):
        raise EvoSplitError(f"{path}: 'categories' is not a list; expected objects with id and name")
    for position, category in enumerate(parsed):
        if not isinstance(category, dict):
            raise EvoSplitError(
                f"{path}: categories[{position}] is {str(category)[:40]}; expected an object with id and name"
            )
    return parsed, (begin, end)


def _check_single_keys(file: CocoFile) -> None:
    """Refuse a file that has one of the lists twice, since readers differ in which one they take."""
    skeleton = b"".join(file.skeleton(memoryview(file.readable)))
    if all(skeleton.count(b'"%s"' % key) < 2 for key in (b"images", b"annotations", b"categories")):
        return
    top: list[tuple[str, Any]] = []

    def keep(pairs: list[tuple[str, Any]]) -> None:
        top[:] = pairs  # the outermost object comes last

    try:
        json.loads(skeleton, object_pairs_hook=keep)
    except (ValueError, RecursionError) as error:
        raise EvoSplitError(f"{file.path}: cannot read its top level: {error}") from error
    names = [name for name, _ in top]
    for key in ("images", "annotations", "categories"):
        if names.count(key) > 1:
            raise EvoSplitError(f"{file.path} has the key {key!r} more than once; merge the lists first")

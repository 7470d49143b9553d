"""Reads a COCO file without building it: where each image and annotation lies, and the ids of each.

A typed decoder goes over the memory-mapped file and keeps nothing but ids; then the place of each element is
found. The bytes are never parsed into objects and written again, which is what makes the door fast and its
output byte-identical.
"""

from __future__ import annotations

import codecs
import gzip
import json
import mmap
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Raw, UnsetType

from evosplit import EvoSplitError
from evosplit_plugins.coco.places import Buffer, Elements, address, find_elements

__all__ = [
    "UNSET",
    "Annotations",
    "CocoFile",
    "ImageName",
    "OnProgress",
    "decode",
    "read_file",
    "views",
]

OnProgress: TypeAlias = Callable[[float, str], "bool | None"]

_CHUNK = 1 << 20
_WHITESPACE = b" \t\r\n"
_CROWD = (1, "1")  # and True, which equals 1
_LARGEST_AREA = 2**53
_STANDS_IN = 0.5  # what `_forgiven` puts in the place of NaN and Infinity


class _Image(msgspec.Struct, gc=False):
    id: Any = UNSET


class ImageName(msgspec.Struct, gc=False):
    """What says where the file of an image is."""

    file_name: Any = None
    coco_url: Any = None


class _Segment(msgspec.Struct, gc=False):
    category_id: Any = UNSET


class _DetailedSegment(_Segment, gc=False):
    iscrowd: Any = 0
    area: Any = None


class _Annotation(msgspec.Struct, gc=False):
    image_id: Any = UNSET
    category_id: Any = UNSET
    id: Any = UNSET
    segments_info: list[_Segment] | UnsetType | None = UNSET


class _DetailedAnnotation(msgspec.Struct, gc=False):
    image_id: Any = UNSET
    category_id: Any = UNSET
    id: Any = UNSET
    segments_info: list[_DetailedSegment] | UnsetType | None = UNSET
    iscrowd: Any = 0
    area: Any = None


class _Heads(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation] | UnsetType = UNSET
    categories: Raw | UnsetType = UNSET


class _DetailedHeads(msgspec.Struct):
    images: list[_Image]
    annotations: list[_DetailedAnnotation] | UnsetType = UNSET
    categories: Raw | UnsetType = UNSET


@dataclass(frozen=True)
class Annotations:
    """What the annotations say, one entry each; `UNSET` where the key is missing.

    Attributes
    ----------
    image_ids, category_ids, ids
        As written in the file, of whatever type.
    segments
        For each annotation the category ids of its `segments_info`, or None; None if no annotation has any.
    crowd
        Whether each annotation is a crowd (only when asked for).
    areas
        The area of each annotation, followed by that of each entry of `segments`, NaN where there is none
        (only when asked for).
    """

    image_ids: list[Any]
    category_ids: list[Any]
    ids: list[Any]
    segments: list[list[Any] | None] | None
    crowd: list[bool] | None
    areas: npt.NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.image_ids)


@dataclass(frozen=True)
class CocoFile:
    """One annotation file: its bytes, the place of every image and annotation, and their ids.

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
    heads
        The ids that the annotations carry.
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
    heads: Annotations
    categories: list[dict[str, Any]] | None
    categories_at: tuple[int, int]
    stamp: tuple[int, int]
    notes: tuple[str, ...] = ()

    def unchanged(self) -> bool:
        """Tell whether the file on disk is still the one that was read."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == self.stamp

    def skeleton(self, view: memoryview) -> list[memoryview]:
        """Return what lies before, between and behind the images and annotations."""
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

    def image_fields(self, kind: type[Any]) -> list[Any]:
        """Decode a few more fields of every image, as the given Struct."""
        region = memoryview(self.readable)[self.images.first : self.images.last]
        return cast("list[Any]", decode(b"".join((b"[", region, b"]")), list[kind], self.path))  # type: ignore[valid-type]

    def image_values(self, key: str) -> list[Any]:
        """Return a field of every image, `UNSET` where it is missing; a dotted key leads into objects."""
        head, *inner = key.split(".")
        if self.readable is self.buffer:
            names = {"whole": key} if not inner else {"whole": key, "head": head}
            kind = msgspec.defstruct("_Field", [(name, Any, UNSET) for name in names], rename=names, gc=False)
            pairs = [(image.whole, getattr(image, "head", UNSET)) for image in self.image_fields(kind)]
        else:  # the strict decoder would show what stands in for NaN
            region = self.buffer[self.images.first : self.images.last]
            images = json.loads(b"".join((b"[", region, b"]")))
            pairs = [(image.get(key, UNSET), image.get(head, UNSET)) for image in images]
        if not inner:
            return [whole for whole, _ in pairs]
        return [_inside(value, inner) if whole is UNSET else whole for whole, value in pairs]


def _inside(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key, UNSET) if isinstance(value, dict) else UNSET
    return value


def read_file(
    path: Path, *, crowd: bool = False, areas: bool = False, on_progress: OnProgress | None = None
) -> CocoFile:
    """Read one annotation file.

    Parameters
    ----------
    path
        A JSON file, plain or compressed with gzip.
    crowd
        Also find out which annotations are crowds.
    areas
        Also read the areas of annotations and segments.
    on_progress
        Called with the fraction done and a message.
    """
    tell = on_progress or (lambda done, message: None)
    message = f"Reading {path.name}"
    tell(0.0, message)
    buffer, stamp = _open(path)
    _check_opening(buffer, path)
    _check_utf8(buffer, path)
    tell(0.1, message)
    shape = _DetailedHeads if crowd or areas else _Heads
    notes: list[str] = []
    readable = buffer
    try:
        heads = decode(buffer, shape, path)
    except EvoSplitError as error:
        if isinstance(error.__cause__, msgspec.ValidationError):
            raise
        shadow, found = _forgiven(buffer)
        if not found:
            raise
        heads = decode(shadow, shape, path)
        readable = shadow
        notes.append(f"{path} holds {', '.join(found)}, which JSON does not know: read the slower way")
    image_ids = [image.id for image in heads.images]
    has_annotations = heads.annotations is not UNSET
    columns = _columns(heads.annotations if has_annotations else [], crowd, areas, readable is not buffer)
    categories, categories_at = _categories(heads.categories, buffer, readable, path)
    del heads
    tell(0.6, message)
    sizes = {"images": len(image_ids)} | ({"annotations": len(columns)} if has_annotations else {})
    elements = find_elements(readable, sizes)
    file = CocoFile(
        path=path,
        buffer=buffer,
        readable=readable,
        images=elements["images"],
        annotations=elements.get("annotations"),
        image_ids=image_ids,
        heads=columns,
        categories=categories,
        categories_at=categories_at,
        stamp=stamp,
        notes=tuple(notes),
    )
    _check_single_keys(file)
    file.release()
    tell(1.0, message)
    return file


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
    if data.lstrip(_WHITESPACE).startswith(b"["):
        return dict(enumerate(msgspec.json.decode(data, type=list[Raw])))
    return msgspec.json.decode(data, type=dict[Any, Raw])


def _plain(message: str) -> str:
    """Turn the decoder's `$.images[3]` into images[3]."""
    return message.replace("$.", "").replace("`", "")


def _open(path: Path) -> tuple[Buffer, tuple[int, int]]:
    """Map the file into memory, decompressed; the second value is the file's size and time of change."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise EvoSplitError(f"{path} is a directory; pass the annotation file inside it")
        if not stat.S_ISREG(status.st_mode):
            raise EvoSplitError(f"{path} is not a regular file; save its contents to one first")
        if status.st_size == 0:
            raise EvoSplitError(f"{path} is empty; export or download it again")
        stream: IO[bytes] = path.open("rb")
    except OSError as error:
        raise EvoSplitError(f"cannot read {path}: {error.strerror}") from error
    stamp = (status.st_size, status.st_mtime_ns)
    with stream:
        if stream.read(2) != b"\x1f\x8b":
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), stamp
        stream.seek(0)
        # Decompressed into an unnamed file and mapped: a large one must not fill the memory.
        with tempfile.TemporaryFile() as plain:
            try:
                with gzip.GzipFile(fileobj=stream) as packed:
                    shutil.copyfileobj(packed, plain, _CHUNK)
                plain.flush()
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise EvoSplitError(f"{path} is a damaged gzip file ({error}); download it again") from error
            except OSError as error:
                raise EvoSplitError(
                    f"cannot decompress {path}: {error.strerror}; set TMPDIR to a larger disk"
                ) from error
            if plain.tell() == 0:
                raise EvoSplitError(f"{path} is empty once decompressed; export or download it again")
            return mmap.mmap(plain.fileno(), 0, access=mmap.ACCESS_READ), stamp


def _check_opening(buffer: Buffer, path: Path) -> None:
    head = bytes(buffer[:64])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:4]:
        raise EvoSplitError(f"{path} is UTF-16 or UTF-32 text; convert it: iconv -f UTF-16 -t UTF-8")
    if head.startswith(b"PK\x03\x04"):
        raise EvoSplitError(f"{path} is a zip archive; unpack it and pass the annotation file")
    head = head.removeprefix(codecs.BOM_UTF8).lstrip(_WHITESPACE)
    if head.startswith(b"["):
        raise EvoSplitError(
            f"{path} holds a JSON list (detection results?), not a COCO annotation file; "
            "expected an object with the lists 'images', 'annotations' and 'categories'"
        )
    if head and not head.startswith(b"{"):
        shown = head[:24].decode("utf-8", "replace")
        raise EvoSplitError(f"{path} is not a COCO annotation file: it starts with {shown!r} instead of '{{'")


def _check_utf8(buffer: Buffer, path: Path) -> None:
    """Refuse bytes that are no UTF-8, which the decoder would let through."""
    data = np.frombuffer(buffer, np.uint8)
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(data), _CHUNK):
        chunk = data[begin : begin + _CHUNK]
        pending = len(decoder.getstate()[0])
        if pending or chunk.max() > 127:
            try:
                decoder.decode(chunk.tobytes(), final=begin + _CHUNK >= len(data))
            except UnicodeDecodeError as error:
                raise EvoSplitError(
                    f"{path} is not UTF-8: byte {begin - pending + error.start} is "
                    f"0x{error.object[error.start]:02x}; convert it, for example: iconv -f LATIN1 -t UTF-8"
                ) from None


_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|Infinity', re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def _forgiven(buffer: Buffer) -> tuple[bytearray, list[str]]:
    """Copy the bytes, replacing what Python's json takes and JSON does not by something of the same length.

    Every offset stays valid, so that the original bytes can be written. NaN and Infinity become fractions,
    which no id may be.
    """
    shadow = bytearray(buffer)
    found: dict[str, None] = {}
    if shadow.startswith(codecs.BOM_UTF8):
        shadow[:3] = b"   "
        found["a byte order mark"] = None
    for match in _TOKEN.finditer(buffer):
        token = match.group()
        if token == b"NaN":
            shadow[match.start() : match.end()] = b"0.5"
            found["NaN"] = None
        elif token == b"Infinity":
            shadow[match.start() : match.end()] = b"0.500000"
            found["Infinity"] = None
        elif b"\\u" in token:
            for offset in _lone_surrogates(token):
                begin = match.start() + offset
                shadow[begin : begin + 6] = b"\\u003f"
                found["lone surrogates"] = None
    return shadow, list(found)


def _lone_surrogates(token: bytes) -> list[int]:
    lone: list[int] = []
    high: int | None = None  # where a high surrogate waits for its low one
    for match in _ESCAPE.finditer(token):
        code = int(match.group(1), 16) if match.group(1) else 0
        if 0xDC00 <= code <= 0xDFFF and high is not None and match.start() == high + 6:
            high = None
            continue
        if high is not None:
            lone.append(high)
            high = None
        if 0xD800 <= code <= 0xDBFF:
            high = match.start()
        elif 0xDC00 <= code <= 0xDFFF:
            lone.append(match.start())
    if high is not None:
        lone.append(high)
    return lone


def _columns(annotations: Sequence[Any], crowd: bool, areas: bool, forgiven: bool) -> Annotations:
    parts: list[list[Any] | None] | None = None
    if list in set(map(type, map(attrgetter("segments_info"), annotations))):
        parts = [
            None
            if annotation.segments_info is None or annotation.segments_info is UNSET
            else [part for part in annotation.segments_info if not (crowd and part.iscrowd in _CROWD)]
            for annotation in annotations
        ]
    return Annotations(
        image_ids=list(map(attrgetter("image_id"), annotations)),
        category_ids=list(map(attrgetter("category_id"), annotations)),
        ids=list(map(attrgetter("id"), annotations)),
        segments=None
        if parts is None
        else [None if some is None else [part.category_id for part in some] for some in parts],
        crowd=[annotation.iscrowd in _CROWD for annotation in annotations] if crowd else None,
        areas=_areas(annotations, parts or (), forgiven) if areas else None,
    )


def _areas(annotations: Sequence[Any], segments: Sequence[list[Any] | None], forgiven: bool) -> npt.NDArray[np.float64]:
    written = [annotation.area for annotation in annotations]
    written += [part.area for some in segments for part in some or ()]
    known = [value if type(value) in (int, float) else np.nan for value in written]
    try:
        values = np.array(known, dtype=np.float64)
    except OverflowError:  # integers beyond all floats
        values = np.array([max(-1, min(value, _LARGEST_AREA)) for value in known], dtype=np.float64)
    if forgiven:
        values[values == _STANDS_IN] = np.nan
    values[values < 0] = np.nan
    return values


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
    """Refuse a file that has one of the lists twice: readers differ in which of them they take."""
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

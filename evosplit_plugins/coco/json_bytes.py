"""Open a JSON file as bytes: memory-mapped and decompressed; what cannot be JSON in UTF-8 is refused."""

from __future__ import annotations

import codecs
import gzip
import mmap
import re
import shutil
import stat
import tempfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from evosplit import EvoSplitError
from evosplit_plugins.coco.json_offsets import Buffer

__all__ = ["STAND_IN", "WHITESPACE", "check_text", "forgiven", "map_file"]

STAND_IN = 0.5
"""What `forgiven` writes instead of NaN and Infinity."""
WHITESPACE = b" \t\r\n"

_CHUNK = 1 << 20
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|Infinity', re.DOTALL)
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def map_file(path: Path) -> tuple[Buffer, tuple[int, int]]:
    """Map a file into memory, decompressed; the second value is the file's size and time of change."""
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


def check_text(buffer: Buffer, path: Path) -> None:
    """Refuse a file that does not begin like COCO, or is not UTF-8, which the decoder does not check."""
    _check_opening(buffer, path)
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


def _check_opening(buffer: Buffer, path: Path) -> None:
    head = bytes(buffer[:64])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:4]:
        raise EvoSplitError(f"{path} is UTF-16 or UTF-32 text; convert it: iconv -f UTF-16 -t UTF-8")
    if head.startswith(b"PK\x03\x04"):
        raise EvoSplitError(f"{path} is a zip archive; unpack it and pass the annotation file")
    head = head.removeprefix(codecs.BOM_UTF8).lstrip(WHITESPACE)
    if head.startswith(b"["):
        raise EvoSplitError(
            f"{path} holds a JSON list (detection results?), not a COCO annotation file; "
            "expected an object with the lists 'images', 'annotations' and 'categories'"
        )
    if head and not head.startswith(b"{"):
        shown = head[:24].decode("utf-8", "replace")
        raise EvoSplitError(f"{path} is not a COCO annotation file: it starts with {shown!r} instead of '{{'")


def forgiven(buffer: Buffer) -> tuple[bytearray, list[str]]:
    """Copy the bytes, with extensions of JSON that Python accepts replaced by valid JSON of the same length.

    Every offset stays valid, so that the original bytes can be written. NaN and Infinity become fractions, which no id
    may be. The second value lists what was found.
    """
    copy = bytearray(buffer)
    found: dict[str, None] = {}
    if copy.startswith(codecs.BOM_UTF8):
        copy[:3] = b"   "
        found["a byte order mark"] = None
    for match in _TOKEN.finditer(buffer):
        token = match.group()
        if token == b"NaN":
            copy[match.start() : match.end()] = b"0.5"
            found["NaN"] = None
        elif token == b"Infinity":
            copy[match.start() : match.end()] = b"0.500000"
            found["Infinity"] = None
        elif b"\\u" in token:
            for offset in _lone_surrogates(token):
                begin = match.start() + offset
                copy[begin : begin + 6] = b"\\u003f"
                found["lone surrogates"] = None
    return copy, list(found)


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

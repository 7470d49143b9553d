"""Finds annotation files: recognised by their first keys, listed for a folder, named after their subsets."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from evosplit.manifest import FORMAT
from evosplit_plugins.files import check_readable, usual_order

__all__ = ["SUFFIXES", "coco_files", "is_annotation_file", "is_manifest", "subset_names"]

SUFFIXES = (".json", ".json.gz")
_ROBOFLOW = "_annotations.coco.json"
_HEAD = 1 << 20
_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(?:\s*:\s*(?=(\S)))?|[{}\[\]]', re.DOTALL)


def is_annotation_file(path: Path) -> bool:
    """Tell from the beginning of a file whether it looks like COCO: a JSON object with a list of images.

    Where long annotations come before the images, a list of annotations is enough.
    """
    if not path.name.lower().endswith(SUFFIXES):
        return False
    head, is_whole = _head(path)
    known = ((b"images", b"["),) if is_whole else ((b"images", b"["), (b"annotations", b"["))
    return any(each in known for each in _top_keys(head))


def is_manifest(path: Path) -> bool:
    """Tell from the beginning of a file whether it is a saved split.

    Examples
    --------
    >>> is_manifest(Path("instances.json"))
    False
    """
    return path.name.lower().endswith(".json") and f'"{FORMAT}"'.encode() in _head(path)[0]


def _head(path: Path) -> tuple[bytes, bool]:
    """Return the beginning of a file, decompressed, and whether that is all of it; b"" if it cannot be read."""
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as stream:
            head = stream.read(_HEAD)
            return head.removeprefix(codecs.BOM_UTF8), len(head) < _HEAD
    except (OSError, EOFError, zlib.error):
        return b"", True


def _top_keys(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give the keys of a JSON object with the first character of each value, as far as it goes."""
    if not head.lstrip().startswith(b"{"):
        return
    depth = 0
    for match in _TOKEN.finditer(head):
        token = match[0]
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and match[2] is not None:
            yield match[1], match[2]


def coco_files(folder: Path) -> list[Path]:
    """List the COCO files of a folder, one for each subset; empty if it does not look like a COCO data set.

    It knows `annotations/instances_train.json` (also without `annotations`), `train/_annotations.coco.json`, and folds
    (`annotations/fold0.json`, `fold0/_annotations.coco.json`, `fold0/valid/_annotations.coco.json`), whose complements
    are left out.
    """
    for where in (folder / "annotations", folder):
        for pattern in ("instances_*", "fold[0-9]*"):
            there = [path for end in SUFFIXES for path in where.glob(f"{pattern}{end}")]
            found = [path for path in there if not re.match(r"fold[0-9]+_train\.", path.name)]
            if found:
                return sorted(sorted(found, key=_natural), key=lambda path: usual_order(path.name.partition("_")[2]))
    for pattern in (f"fold[0-9]*/valid/{_ROBOFLOW}*", f"*/{_ROBOFLOW}*"):
        found = [path for path in folder.glob(pattern) if path.name.removeprefix(_ROBOFLOW) in ("", ".gz")]
        if found:
            check_readable(folder)  # else the subset of a folder that may not be read would be left out silently
            return sorted(sorted(found, key=_natural), key=lambda path: usual_order(path.parent.name))
    return []


def _natural(path: Path) -> list[int | str]:
    """Order fold10 after fold9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]


def subset_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name subsets after their files, or after the folders where all files have the same name.

    Examples
    --------
    >>> subset_names([Path("annotations/instances_train.json"), Path("annotations/instances_val.json.gz")])
    ('train', 'val')
    >>> subset_names([Path("train/_annotations.coco.json"), Path("valid/_annotations.coco.json")])
    ('train', 'valid')
    >>> subset_names([Path("fold0/valid/_annotations.coco.json"), Path("fold1/valid/_annotations.coco.json")])
    ('fold0', 'fold1')
    """
    stems = [path.name.removesuffix(".gz").removesuffix(".json") for path in paths]
    folders = [path.absolute().parent for path in paths]
    while len(set(stems)) == 1 and len(paths) > 1 and all(folder.name for folder in folders):
        stems, folders = [folder.name for folder in folders], [folder.parent for folder in folders]
    words = [stem.split("_") for stem in stems]
    while len({parts[0] for parts in words}) == 1 and all(len(parts) > 1 for parts in words):
        words = [parts[1:] for parts in words]
    names = ["_".join(parts) for parts in words]
    return tuple(names if len(set(names)) == len(names) else map(str, paths))

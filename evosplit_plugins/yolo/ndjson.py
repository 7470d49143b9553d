"""NDJSON as Ultralytics exchanges it: a line for the data set, then one for each image with its `split`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit_plugins.yolo.images import read_text

__all__ = ["Record", "check_has_no_folder", "read_ndjson", "with_subset"]

_SPLIT = re.compile(r'"split"\s*:\s*("(?:[^"\\]|\\.)*"|null)')


@dataclass(frozen=True)
class Record:
    """The image of one line: its file, its subset, and the class of each of its annotations."""

    line: int
    file: str
    subset: str
    classes: tuple[int, ...]


def read_ndjson(path: Path) -> tuple[tuple[str, ...], list[Record]]:
    """Read the names of the classes and the images of an .ndjson file."""
    names: tuple[str, ...] = ()
    records: list[Record] = []
    for number, line in enumerate(read_text(path).splitlines()):
        if not line.strip():
            continue
        where = f"{path.name}:{number + 1}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise EvoSplitError(f"{where} is no JSON: {error}; correct it") from error
        if not isinstance(entry, dict):
            raise EvoSplitError(f"{where} is no object; write one for the data set, then one for each image")
        if "class_names" in entry and "file" not in entry:
            names = _names(entry["class_names"], where)
        elif isinstance(entry.get("file"), str) and entry["file"]:
            records.append(Record(number, entry["file"], str(entry.get("split") or ""), _classes(entry, where)))
        elif entry.get("type") != "dataset":
            raise EvoSplitError(f"{where} has no `file`; correct it")
    used = max((j for record in records for j in record.classes), default=-1)
    if not names:
        names = tuple(f"class_{j}" for j in range(used + 1))
    if used >= len(names):
        first = next(record for record in records if used in record.classes)
        raise EvoSplitError(
            f"{path.name}:{first.line + 1} uses class {used}, there are {len(names)} (0\u2013{len(names) - 1}); "
            "correct it, or add the name to `class_names`"
        )
    return names, records


def _names(given: Any, where: str) -> tuple[str, ...]:
    try:
        by_number = {int(key): str(name) for key, name in given.items()}
    except (AttributeError, ValueError):
        raise EvoSplitError(f"{where}: `class_names` does not map numbers to names; correct it") from None
    return tuple(by_number.get(j, f"class_{j}") for j in range(max(by_number, default=-1) + 1))


def _classes(entry: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """Return the class of each distinct annotation, of the first kind (boxes, segments, ...) that the image has."""
    annotations = entry.get("annotations") or {}
    kinds = annotations.values() if isinstance(annotations, dict) else [annotations]
    given: Any = next((each for each in kinds if each), [])
    if not isinstance(given, list):
        raise EvoSplitError(f"{where}: `annotations` holds no lists; correct it")
    rows = [each if isinstance(each, list) else [each] for each in given]
    try:
        distinct = dict.fromkeys(tuple(row) for row in rows)
        classes = tuple(int(row[0]) for row in distinct)
    except (TypeError, ValueError, IndexError):
        classes = (-1,)
    if any(j < 0 for j in classes):
        raise EvoSplitError(f"{where}: an annotation does not start with the number of a class; correct it")
    return classes


def check_has_no_folder(path: Path) -> None:
    """Refuse an .ndjson file whose images are in folders by subset, where a new split would not find them."""
    described: Mapping[str, Any] = next((json.loads(line) for line in read_text(path).splitlines() if line.strip()), {})
    folder = described.get("path")
    if folder and described.get("task") not in ("classify", "depth"):
        raise EvoSplitError(
            f"{path.name} has `path`: {folder!r}, so that Ultralytics looks for the images of each subset in a folder "
            f"of its own, {folder}/images/train and so on; split that folder instead, or give each image its `url`"
        )


def with_subset(line: str, subset: str) -> str:
    """Return a line with another `split`, and everything else as it was.

    Examples
    --------
    >>> with_subset('{"file": "a.jpg",  "split": "train"}', "val")
    '{"file": "a.jpg",  "split": "val"}'
    """
    expected = {**json.loads(line), "split": subset}
    said = json.dumps(subset)
    tries: Sequence[str] = [line[: found.start(1)] + said + line[found.end(1) :] for found in _SPLIT.finditer(line)]
    for changed in (*tries, f'{line.rstrip()[:-1].rstrip()}, "split": {said}}}'):
        try:
            if json.loads(changed) == expected:
                return changed
        except ValueError:
            continue
    return json.dumps(expected, ensure_ascii=False)

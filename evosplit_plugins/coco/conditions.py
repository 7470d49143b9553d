"""What a split respects beside its sizes, read from the annotation files: groups, locks and strata."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError
from evosplit_plugins.coco.dataset import CocoData, Source
from evosplit_plugins.coco.ids import as_written, coerced, column, first_few, is_id, look_up, repeated
from evosplit_plugins.coco.reading import UNSET, CocoFile, OnProgress, read_file, views

__all__ = ["AREA", "MATCHES", "Conditions", "file_names", "group_values", "image_values"]

AREA = "area"
MATCHES = ("id", "file_name")
_IDS_SHOWN = 10

IntArray: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Conditions:
    """What the user asks for, as `evosplit_coco` explains.

    Attributes
    ----------
    group_by, group_regex
        Which images stay together: those with an equal field, or with an equal part of their file names.
    lock
        Annotation files, by the subset in which their images stay.
    match
        How the images of these files are found: by "id" or by "file_name".
    stratify_by
        Image fields to balance, and "area".
    group_copies
        Whether images of the same file name stay together.
    """

    group_by: str | None = None
    group_regex: str | None = None
    lock: Mapping[str, Source] = field(default_factory=dict)
    match: str = "id"
    stratify_by: str | Sequence[str] = ()
    group_copies: bool = True

    def __post_init__(self) -> None:
        if self.group_by is not None and self.group_regex is not None:
            raise EvoSplitError("group_by= and group_regex= exclude each other; give one of them")
        if self.group_regex is not None:
            _compiled(self.group_regex)
        if not isinstance(self.lock, Mapping):
            raise EvoSplitError(
                f"lock={self.lock!r} names no subset; pass for example lock={{'test': 'old_test.json'}}"
            )
        if self.match not in MATCHES:
            raise EvoSplitError(f"match={self.match!r} is unknown; choose one of {', '.join(MATCHES)}")
        names = self.strata
        if not all(names) or len(set(names)) != len(names):
            raise EvoSplitError(
                f"stratify_by={self.stratify_by!r} repeats a field, or is empty; name each once, such as 'area,weather'"
            )

    @property
    def strata(self) -> tuple[str, ...]:
        """The names of what is to be balanced."""
        if isinstance(self.stratify_by, str):
            return tuple(part.strip() for part in self.stratify_by.split(",")) if self.stratify_by else ()
        return tuple(self.stratify_by)

    @property
    def needs_areas(self) -> bool:
        """Whether the areas of the annotations have to be read."""
        return AREA in self.strata

    @property
    def lock_files(self) -> list[tuple[str, Path]]:
        """Each file of locked images, with its subset."""
        files = []
        for name, given in self.lock.items():
            paths = [given] if isinstance(given, (str, os.PathLike)) else list(given)
            files += [(name, Path(path)) for path in paths]
        return files

    def check_subsets(self, names: Sequence[str]) -> None:
        """Refuse locks into subsets that nobody asked for."""
        for name in self.lock:
            if name not in names:
                raise EvoSplitError(
                    f"lock= names the subset {name!r}; the subsets of this split are {', '.join(names)}"
                )

    def recorded(self) -> dict[str, Any]:
        """Return what was asked for, as the manifest keeps it."""
        asked: dict[str, Any] = {}
        if self.group_by is not None:
            asked["group_by"] = self.group_by
        if self.group_regex is not None:
            asked["group_regex"] = self.group_regex
        if self.lock:
            asked["lock"] = {
                name: [path.name for owner, path in self.lock_files if owner == name] for name in self.lock
            }
            asked["match"] = self.match
        if self.strata:
            asked["stratify_by"] = list(self.strata)
        if not self.group_copies:
            asked["group_copies"] = False
        return asked

    def resolve(self, data: CocoData, on_progress: OnProgress | None) -> tuple[dict[str, Any], list[str]]:
        """Return the keyword arguments for `evosplit.split`, and sentences for its report."""
        options: dict[str, Any] = {}
        notes: list[str] = []
        if self.group_by is not None or self.group_regex is not None:
            options["groups"] = group_values(data, self.group_by, self.group_regex)
            alone = options["groups"].count(None)
            if alone:
                what = f"no {self.group_by!r}" if self.group_by is not None else "a file name that does not match"
                notes.append(f"{_images(alone, 'has', 'have')} {what}, so each is a group of its own.")
        if self.lock:
            options["locked"], left_out = _locked(self, data, on_progress)
            if left_out:
                notes.append(f"{_images(left_out, 'is', 'are')} locked but without annotations, so left out.")
        if self.strata:
            options["strata"] = {name: data.sizes if name == AREA else _stratum(data, name) for name in self.strata}
        return options, notes


def group_values(data: CocoData, key: str | None = None, regex: str | None = None) -> list[int | str | None]:
    """Return what names the group of each row; None for an image on its own.

    Parameters
    ----------
    data
        What was read.
    key
        The field of the images that names their group, with dots into objects.
    regex
        Instead: what to find in their file names; the text in its first parentheses names the group, or all
        that it matches.
    """
    groups: list[int | str | None]
    if regex is not None:
        pattern = _compiled(regex)
        names = _of_rows(data, [_file_names(file) for file in data.files])
        matches = [pattern.search(name) if isinstance(name, str) else None for name in names]
        # An empty text names nothing, else a regex that can match nothing would put all images into one group.
        groups = [None if match is None else match[1 if pattern.groups else 0] or None for match in matches]
        if not any(groups):
            shown = first_few((as_written(name) for name in names), len(names))
            raise EvoSplitError(f"group_regex={regex!r} matches none of the file names ({shown}); correct it")
        return groups
    groups = []
    for value in image_values(data, key or ""):
        value = coerced(value) if isinstance(value, float) else value
        if value is not None and not is_id(value) and not isinstance(value, bool):
            raise EvoSplitError(
                f"group_by={key!r} gives {as_written(value)} for an image; a group is named by an integer or a "
                f"string{_fields_inside(key or '', value)}"
            )
        groups.append(value)
    return groups


def file_names(data: CocoData) -> list[str | None]:
    """Return the file name of each row; None where it has none."""
    found = _of_rows(data, [_file_names(file) for file in data.files])
    return [name if isinstance(name, str) and name else None for name in found]


def image_values(data: CocoData, key: str) -> list[Any]:
    """Return a field of the image of each row, None where it is missing; one that no image has is an error."""
    found = _of_rows(data, [file.image_values(key) for file in data.files])
    values = [None if value is UNSET else value for value in found]
    if all(value is None for value in values):
        raise EvoSplitError(
            f"no image has {'a value in ' if UNSET not in found else ''}{key!r}{_known_keys(data, key)}"
        )
    return values


def _of_rows(data: CocoData, per_file: Sequence[Sequence[Any]]) -> list[Any]:
    """Bring one value per image of each file into the order of the rows."""
    values: list[Any] = [None] * data.counts.n_samples
    for found, rows in zip(per_file, data.image_rows, strict=True):
        for value, row in zip(found, rows.tolist(), strict=True):
            if row >= 0:
                values[row] = value
    return values


def _file_names(file: CocoFile) -> list[Any]:
    """Return the file name of each image; LVIS has it at the end of `coco_url`."""
    names = file.image_values("file_name")
    if all(isinstance(name, str) for name in names):
        return names
    urls = file.image_values("coco_url")
    return [
        "/".join(url.split("/")[-2:]) if not isinstance(name, str) and isinstance(url, str) else name
        for name, url in zip(names, urls, strict=True)
    ]


def _known_keys(data: CocoData, key: str) -> str:
    """Tell which fields there are instead."""
    file = data.files[0]
    known = [str(name) for name in views(file.element(file.images, 0, readable=True))]
    close = difflib.get_close_matches(key, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return f"{hint}; the first image has: {', '.join(known)}"


def _fields_inside(key: str, value: Any) -> str:
    if isinstance(value, dict) and value:
        return "; name a field inside: " + ", ".join(f"{key}.{name}" for name in list(value)[:5])
    return ""


def _stratum(data: CocoData, key: str) -> list[Any]:
    values = image_values(data, key)
    for value in values:
        if isinstance(value, (list, dict)):
            raise EvoSplitError(
                f"stratify_by={key!r} gives {as_written(value)} for an image; only strings, numbers and booleans "
                f"can be balanced{_fields_inside(key, value)}"
            )
    return values


def _compiled(regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise EvoSplitError(f"group_regex={regex!r} is no regular expression: {error}") from error


def _locked(conditions: Conditions, data: CocoData, on_progress: OnProgress | None) -> tuple[list[str | None], int]:
    """Return the subset in which each row is locked, and how many locked images are not split at all."""
    locked: list[str | None] = [None] * data.counts.n_samples
    torn: list[tuple[int, str | None, str]] = []
    left_out = 0
    for name, path in conditions.lock_files:
        rows = _rows_of(path, conditions.match, data, on_progress)
        left_out += int((rows < 0).sum())
        for row in rows[rows >= 0].tolist():
            if locked[row] not in (None, name):
                torn.append((row, locked[row], name))
            locked[row] = name
    if torn:
        ids = data.counts.ids.tolist()
        shown = (f"{as_written(ids[row])} ({earlier} and {later})" for row, earlier, later in torn)
        raise EvoSplitError(
            f"{_images(len(torn), 'is', 'are')} locked into two subsets: {first_few(shown, len(torn))}; "
            "lock each image into one"
        )
    return locked, left_out


def _rows_of(path: Path, match: str, data: CocoData, on_progress: OnProgress | None) -> IntArray:
    """Find the images of a file among those that were read; -1 for one that takes no part in the split."""
    for file, rows in zip(data.files, data.image_rows, strict=True):
        if path.exists() and path.samefile(file.path):
            return rows
    locked = read_file(path, on_progress=on_progress)
    everywhere = np.concatenate(data.image_rows)
    if match == "file_name":
        names = [name for file in data.files for name in _file_names(file)]
        wanted, known = column(_file_names(locked)), column(names)
        again = repeated(known)
        if len(again):
            shown = (as_written(known[place]) for place in again)
            raise EvoSplitError(
                f"{_images(len(again), 'has', 'have')} the file name of another one: "
                f"{first_few(shown, len(again))}; lock by id instead: match='id'"
            )
    else:
        as_asked = coerced if data.settings["coerce_ids"] else lambda value: value
        wanted = column([as_asked(value) for value in locked.image_ids])
        known = column([as_asked(value) for file in data.files for value in file.image_ids])
    found = look_up(wanted, known)
    absent = np.flatnonzero(found < 0)
    if len(absent):
        shown = (as_written(wanted[place]) for place in absent)
        other = next(other for other in MATCHES if other != match)
        raise EvoSplitError(
            f"{path}: {len(absent)} of its {len(wanted)} images are not in the input, by {match}: "
            f"{first_few(shown, len(absent), _IDS_SHOWN)}; pass the file that has them as an input too, "
            f"or try match={other!r}"
        )
    return everywhere[found]


def _images(number: int, one: str, many: str) -> str:
    return f"1 image {one}" if number == 1 else f"{number} images {many}"

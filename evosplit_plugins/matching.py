"""Match the samples of a saved split, or of a list, with the samples of some data.

A sample is identified by its id or by the file it came from, whichever both sides have. `find_samples` matches all
samples of a split, `find_members` some samples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, Split
from evosplit.errors import warn
from evosplit.manifest import difference_of_ids
from evosplit.wording import listed

__all__ = ["find_members", "find_samples", "order_of_rows", "picture_of", "plain_path", "replayed"]

Ints = npt.NDArray[np.int64]
Files = Sequence[str | None]

_ROBOFLOW = re.compile(r"(.+?)(?:_(jpe?g|png|bmp|webp|tiff?))?\.rf\.[0-9a-z]{16,}(?:\.([a-z0-9]+))?", re.IGNORECASE)
_SHOWN = 3
_DEEPEST = 8  # parts of a path that are compared, from its end


def plain_path(name: str) -> str:
    r"""Normalise a path: forward slashes, no empty parts and no "." in it.

    Examples
    --------
    >>> plain_path("./train//x.jpg"), plain_path("train\\x.jpg"), plain_path("/data/./x.jpg")
    ('train/x.jpg', 'train/x.jpg', '/data/x.jpg')
    """
    path = name.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def picture_of(name: str) -> str:
    """Return the name of the picture that a file shows; Roboflow's copies of one source are one picture.

    Examples
    --------
    >>> picture_of("./a/cat_jpg.rf.0123456789abcdef0123456789abcdef.jpg"), picture_of("a/cat.jpg")
    ('a/cat.jpg', 'a/cat.jpg')
    """
    path = plain_path(name)
    found = _ROBOFLOW.fullmatch(path) if ".rf." in path else None
    return path if found is None else f"{found[1]}.{found[2] or found[3]}"


def find_samples(split: Split, ids: Mapping[str, Sequence[Any]], files: Files | None = None, *, where: str) -> Ints:
    """Find the samples of some data in a split: by id, else by file name or path.

    Parameters
    ----------
    split
        The split, with its ids and perhaps file names.
    ids
        Candidates for the ids of the data, the likeliest first, by name: `{"image id": [7, 9]}`.
    files
        The file name or path of each sample, None where there is none.
    where
        What the data is, for the error.

    Returns
    -------
    numpy.ndarray
        For each sample of the data its position in the split. The data must have exactly the samples of the split;
        otherwise the error says how they differ.

    Examples
    --------
    >>> import evosplit
    >>> counts = evosplit.LabelCounts([[1], [0]], ids=["a.jpg", "b.jpg"])
    >>> split = evosplit.split(counts, (1, 1), method="random")
    >>> find_samples(split, {"id": [1, 2]}, ["/data/b.jpg", "/data/a.jpg"], where="it").tolist()
    [1, 0]
    """
    are_numbers = split.sample_ids.dtype.kind in "iu"
    their_files = _names(split.file_names, [] if are_numbers else split.sample_ids.tolist())
    our_files = _names(files, *ids.values())
    by_file = None if their_files is None or our_files is None else _by_file(our_files, their_files)
    for values in ids.values():
        if by_file is None and isinstance(values, range) and are_numbers:
            order = order_of_rows(split.sample_ids, values)
            if order is not None:
                _warn_of_other_files(our_files, their_files, where)
                return order
        known = split.sample_ids.tolist()
        if difference_of_ids(values, known) is None:
            place = {sample: position for position, sample in enumerate(known)}
            by_id = np.array([place[value] for value in values], dtype=np.int64)
            # Numbers may agree by chance; where both sides name all their files, the files know better.
            if by_file is None and are_numbers:
                _warn_of_other_files(our_files, their_files, where)
            return by_id if by_file is None else by_file
    if by_file is not None:
        return by_file
    raise EvoSplitError(_difference(ids, split.sample_ids.tolist(), our_files, their_files, where))


def _warn_of_other_files(ours: Sequence[str] | None, theirs: Sequence[str] | None, where: str) -> None:
    """Say so if numbers agree, but not one file is called alike, whatever its suffix: it may be other data."""
    if ours is not None and theirs is not None:
        last = [[path.rpartition("/")[2] for path in paths] for paths in (ours, theirs)]
        names = [{name.rpartition(".")[0] or name for name in each} for each in last]
        if names[0].isdisjoint(names[1]):
            warn(
                f"the ids of {where} are those of the split, but none of its files is called as one of the split "
                f"({ours[0]}; there {theirs[0]}): is it the same data?"
            )


def order_of_rows(ids: npt.NDArray[Any], rows: range) -> Ints | None:
    """Return the position of each row number among integer ids, without Python objects; None if they differ.

    Examples
    --------
    >>> order_of_rows(np.array([2, 0, 1]), range(3)), order_of_rows(np.array([2, 0, 7]), range(3))
    (array([1, 2, 0]), None)
    """
    numbers = np.arange(rows.start, rows.stop, dtype=np.int64)
    if np.array_equal(ids, numbers):
        return numbers - rows.start
    order = np.argsort(ids, kind="stable").astype(np.int64)
    return order if np.array_equal(ids[order], numbers) else None


def replayed(split: Split, found: Ints, ids: npt.NDArray[Any], **changes: Any) -> Split:
    """Return the split in the order of the data, with its ids; `changes` are further fields."""
    files = None if split.file_names is None else tuple(split.file_names[position] for position in found.tolist())
    return replace(
        split,
        **{
            "placement": split.placement[found],
            "sample_ids": ids,
            "file_names": files,
            "front": None,
            "counts": None,
            "constraints": None,
            **changes,
        },
    )


def _names(files: Files | None, *ids: Sequence[Any]) -> list[str] | None:
    """Return a path for each sample, or None; ids that are strings may be paths themselves."""
    for values in ([] if files is None else [files], *([each] for each in ids)):
        for column in values:
            if len(column) and all(isinstance(name, str) and name for name in column):
                return [plain_path(str(name)) for name in column]
    return None


def _by_file(ours: Sequence[str], theirs: Sequence[str]) -> Ints | None:
    """Match paths one to one, in the strictest of `_ways` in which all of them match; None if there is no such way."""
    for shorten in _ways(ours, theirs):
        here, there = [shorten(0, path) for path in ours], [shorten(1, path) for path in theirs]
        place = {name: position for position, name in enumerate(there)}
        if len(place) == len(there) == len(here) and set(here) == place.keys():
            return np.array([place[name] for name in here], dtype=np.int64)
    return None


def _ways(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[Callable[[int, str], str]]:
    """Yield ways to shorten paths, strictest first: whole, below the common folder, the last parts, the name."""
    yield lambda side, path: path
    folders = [_common_folder(ours), _common_folder(theirs)]
    yield lambda side, path: path[folders[side] :]
    deepest = max(path.count("/") for path in (*ours, *theirs))
    for n in range(min(deepest, _DEEPEST), 0, -1):
        yield lambda side, path, n=n: "/".join(path.split("/")[-n:])  # type: ignore[misc]


def _common_folder(paths: Sequence[str]) -> int:
    """Return the length of the folder that all paths have in common."""
    first, last = min(paths), max(paths)
    shared = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first.rfind("/", 0, shared) + 1


def _difference(
    ids: Mapping[str, Sequence[Any]], known: Sequence[Any], ours: Files | None, theirs: Files | None, where: str
) -> str:
    """Say why samples were not found."""
    (called, values), *_ = ids.items()
    said = f"by {called}, {difference_of_ids(values, known)}"
    if ours is None and theirs is None:
        files = "neither names files"
    elif ours is None or theirs is None:
        files = f"{'the data' if ours is None else 'the split'} names no files, by which they could be told"
    else:
        names = [path.rpartition("/")[2] for path in ours if path], [path.rpartition("/")[2] for path in theirs if path]
        again = difference_of_ids(*names, noun="name")
        files = f"by file name, {again}" if again else "their file names are not unique"
    return f"{where} is not what was split: {said}; {files}; replay it on the same data, or split anew"


def find_members(
    wanted: Sequence[Any], wanted_files: Files | None, ids: Sequence[Any], files: Files | None, *, where: str
) -> Ints:
    """Find some samples in the data: by file name or path if both sides have them, else by id.

    Parameters
    ----------
    wanted, wanted_files
        The ids of the samples to find, and their files where these are known.
    ids, files
        The ids and files of the data.
    where
        What names the samples, for the error.

    Returns
    -------
    numpy.ndarray
        The rows of the samples; all rows of a file that several samples share.

    Examples
    --------
    >>> find_members(["b.jpg"], ["b.jpg"], [1, 2], ["data/a.jpg", "data/b.jpg"], where="test.txt").tolist()
    [1]
    >>> find_members([2], None, [1, 2], None, where="locked['test']").tolist()
    [1]
    """
    theirs, ours = _names(wanted_files, wanted), _names(files, ids)
    if theirs is not None and ours is not None:
        rows = _rows_by_file(theirs, ours)
        if rows is not None:
            return rows
        if wanted_files is not None and not any(isinstance(each, str) for each in wanted):
            # Numbers agree by chance; where both sides name all their files, only the files count.
            names = {path.rpartition("/")[2] for path in ours}
            strange = [path for path in theirs if path.rpartition("/")[2] not in names]
            said = (
                f"{len(strange)} of {len(theirs)} files are not in the data: {listed(map(repr, strange), _SHOWN)}"
                if strange
                else "its file names fit several files of the data, or several of them one"
            )
            raise EvoSplitError(f"{where}: {said}; name files that are there, or give the ids alone")
    row_of = {sample: row for row, sample in enumerate(ids)}
    if wanted and all(isinstance(each, str) for each in wanted) and ids and all(isinstance(each, int) for each in ids):
        wanted = [int(each) if re.fullmatch(r"-?\d{1,18}", each) else each for each in wanted]  # a list of numbers
    missing = [sample for sample in wanted if sample not in row_of]
    if not missing:
        return np.array([row_of[sample] for sample in wanted], dtype=np.int64)
    by = "by id" if theirs is None or ours is None else "by id or file name"
    raise EvoSplitError(
        f"{where}: {len(missing)} of {len(wanted)} samples are not in the data, {by}: "
        f"{listed(map(repr, missing), _SHOWN)}; name samples that are there, or add the data that has them"
    )


def _rows_by_file(wanted: Sequence[str], files: Sequence[str]) -> Ints | None:
    """Match each path with the file of the longest common suffix; None if a match is missing, ambiguous or used twice.

    The folder that the wanted paths have in common says nothing, since they may be a part of the files.
    """
    rows_of: dict[str, list[int]] = {}
    for row, path in enumerate(files):
        rows_of.setdefault(path, []).append(row)
    files_of: dict[str, list[str]] = {}
    for path in rows_of:
        for end in _ends(path):
            files_of.setdefault(end, []).append(path)
    found: dict[str, None] = {}
    paths = dict.fromkeys(wanted)
    for path in paths:
        shared = path if path in rows_of else next((end for end in _ends(path) if end in files_of), None)
        if shared is None or (shared not in rows_of and len(files_of[shared]) > 1):
            return None
        found[shared if shared in rows_of else files_of[shared][0]] = None
    return (
        np.array([row for path in found for row in rows_of[path]], dtype=np.int64) if len(found) == len(paths) else None
    )


def _ends(path: str) -> Iterator[str]:
    """Yield the ends of a path, the longest first."""
    parts = path.split("/")
    for n in range(min(len(parts), _DEEPEST), 0, -1):
        yield "/".join(parts[-n:])

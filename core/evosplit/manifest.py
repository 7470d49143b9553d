"""The manifest, `split.json`: what it contains, how it is checked, and how differences from the data are described.

A manifest is a JSON object that stores one split: `format` and `version`; the subsets in `names`, `sizes` and
`target_sizes`, with `is_kfold` for folds; all samples in `ids`, with the position of each one's subset in `assignment`
(or, where ids stand for several samples, how many of each go to each subset in `table`); `ids_sha256`, to detect manual
changes; `file_names`, where they differ from the ids; and how the split was made: `source`, `settings`, `notes`,
`measures`, `best_ed` and the version of `evosplit`. `manifest_schema()` returns its JSON Schema, with a description of
every key. Unknown keys are ignored; an unknown version is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from typing import Any

from evosplit.errors import EvoSplitError
from evosplit.measures import Measures
from evosplit.wording import counted

__all__ = ["FORMAT", "VERSION", "as_text", "check_manifest", "difference_of_ids", "ids_hash", "manifest_schema"]

FORMAT = "evosplit-split"
VERSION = 1
_LISTS = ("names", "sizes", "target_sizes", "ids")


def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the manifests that this version writes.

    Examples
    --------
    >>> manifest_schema()["properties"]["version"]["const"]
    1
    """
    text = files("evosplit").joinpath("schemas", f"split-{VERSION}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def as_text(manifest: Mapping[str, Any]) -> str:
    r"""Write a manifest as JSON, whatever its ids and file names are.

    Examples
    --------
    >>> as_text({"ids": ["ü.jpg"]}), as_text({"ids": ["\udcfc.jpg"]}).isascii()
    ('{"ids": ["ü.jpg"]}', True)
    """
    text = json.dumps(manifest, ensure_ascii=False)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(manifest)  # half a surrogate pair, as in file names of unknown encoding, needs escapes
    return text


def check_manifest(manifest: Any, source: str) -> None:
    """Refuse data that is not a manifest of this version, or a manifest that was damaged or edited."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise EvoSplitError(f"{source} is no EvoSplit manifest: its 'format' is not {FORMAT!r}; pass a split.json")
    _check_version(manifest.get("version"), source)
    placement = "table" if "table" in manifest else "assignment"
    for key in (*_LISTS, placement):
        if not isinstance(manifest.get(key), list):
            raise EvoSplitError(f"{source} has no list {key!r}; it is damaged, save the split again")
    names, ids, sizes, placed = (manifest[key] for key in ("names", "ids", "sizes", placement))
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise EvoSplitError(f"{source} names the subsets {names!r}, not by different words; save the split again")
    held = _sizes_of_table(placed, names, source) if placement == "table" else _sizes_of(placed, names, source)
    if len(ids) != len(placed) or not len(names) == len(sizes) == len(manifest["target_sizes"]):
        raise EvoSplitError(
            f"{source} has {len(ids)} ids, {len(placed)} assignments, {len(names)} names "
            f"and {len(sizes)} sizes that do not fit together; save the split again"
        )
    for size in (*sizes, *manifest["target_sizes"]):
        if type(size) is not int or size < 0:
            raise EvoSplitError(f"{source} has a subset of the size {size!r}; it is damaged, save the split again")
    if ids_hash(ids) != manifest.get("ids_sha256"):
        raise EvoSplitError(f"{source} was changed by hand: its ids do not match their hash; save the split again")
    if held != sizes:
        raise EvoSplitError(
            f"{source} was changed by hand: its {placement} does not have its sizes; save the split again"
        )
    _check_facts(manifest, source)


def _sizes_of(assignment: list[Any], names: list[str], source: str) -> list[int]:
    """Count the samples in each subset."""
    if not all(type(number) is int and 0 <= number < len(names) for number in assignment):
        raise EvoSplitError(f"{source} assigns samples to subsets other than its {len(names)}; save the split again")
    return [assignment.count(j) for j in range(len(names))]


def _sizes_of_table(table: list[Any], names: list[str], source: str) -> list[int]:
    """Add up the rows of a table, one entry for each subset."""
    for row in table:
        if not isinstance(row, list) or len(row) != len(names) or not all(type(n) is int and n >= 0 for n in row):
            raise EvoSplitError(
                f"{source} has the row {row!r} in its table, not one number for each of its {len(names)} subsets; "
                "save the split again"
            )
    return [sum(column) for column in zip(*table, strict=True)]


def _check_version(version: Any, source: str) -> None:
    if type(version) is int and version > VERSION:
        raise EvoSplitError(
            f"{source} has manifest version {version}, this EvoSplit reads {VERSION}; upgrade evosplit-plugins"
        )
    if version != VERSION or type(version) is not int:
        raise EvoSplitError(
            f"{source} has manifest version {version!r}, which no EvoSplit has written; save the split again"
        )


def _check_facts(manifest: dict[str, Any], source: str) -> None:
    """Check the entries that a replay does not need."""
    expected: dict[str, tuple[type, ...]] = {
        "settings": (dict, type(None)),
        "notes": (list, type(None)),
        "measures": (dict, type(None)),
        "best_ed": (int, float),
        "is_kfold": (bool,),
        "file_names": (list, type(None)),
        "source": (dict, type(None)),
    }
    absent: dict[str, Any] = {"best_ed": 0, "is_kfold": False}
    for key, kinds in expected.items():
        value = manifest.get(key, absent.get(key))
        if not isinstance(value, kinds) or isinstance(value, bool) != (bool in kinds):
            raise EvoSplitError(f"{source} has {key!r} {value!r}; it is damaged, save the split again")
    files = manifest.get("file_names")
    if files is not None and (
        len(files) != len(manifest["ids"]) or not all(name is None or isinstance(name, str) for name in files)
    ):
        raise EvoSplitError(f"{source} has other file names than one for each id; it is damaged, save the split again")
    measures = manifest.get("measures")
    if measures is not None:
        known = {field.name for field in fields(Measures)}
        wrong = sorted(known ^ set(measures)) or [
            name for name, value in measures.items() if not isinstance(value, (int, float)) or isinstance(value, bool)
        ]
        if wrong:
            raise EvoSplitError(
                f"{source} lacks the measure {wrong[0]!r}, or has it wrong; it is damaged, save the split again"
            )


def ids_hash(ids: Iterable[Any]) -> str:
    """Hash a collection of ids whatever its order; 1 and "1" differ."""
    encode = json.JSONEncoder().encode  # as json.dumps, only faster; and so is str() of an integer
    lines = sorted(str(sample) if type(sample) is int else encode(sample) for sample in ids)
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def difference_of_ids(given: Sequence[Any], known: Sequence[Any], *, noun: str = "id") -> str | None:
    """Say how the ids of some data differ from those that were split; None if they are the same, in any order.

    `noun` is what an id is called.

    Examples
    --------
    >>> difference_of_ids(["b", "a"], ["a", "b"])
    >>> print(difference_of_ids(["a", "c"], ["a", "b"]))
    1 id is not in the split (first: 'c'); 1 id of the split is missing (first: 'b'); 1 id agrees
    >>> print(difference_of_ids(["1", "2"], [1, 2]).rpartition("; ")[2])
    they differ in type only, such as '1' in the data and 1 in the split: convert them
    """
    in_data, in_split = set(given), set(known)
    unknown = [sample for sample in given if sample not in in_split]
    missing = [sample for sample in known if sample not in in_data]
    parts = []
    if unknown:
        parts.append(f"{counted(len(unknown), f'{noun} is', f'{noun}s are')} not in the split (first: {unknown[0]!r})")
    if missing:
        lost = counted(len(missing), f"{noun} of the split is", f"{noun}s of the split are")
        parts.append(f"{lost} missing (first: {missing[0]!r})")
    if len(in_data) < len(given):
        parts.append(f"{counted(len(given) - len(in_data), f'{noun} is', f'{noun}s are')} repeated")
    if unknown and missing:
        by_text = {str(sample): sample for sample in missing}
        alike = [sample for sample in unknown if str(sample) in by_text]
        if alike:
            who = "they differ" if len(alike) == len(unknown) == len(missing) else f"{len(alike)} of them differ"
            pair = f"{alike[0]!r} in the data and {by_text[str(alike[0])]!r} in the split"
            parts.append(f"{who} in type only, such as {pair}: convert them")
        else:
            parts.append(counted(len(in_data & in_split), f"{noun} agrees", f"{noun}s agree"))
    return "; ".join(parts) or None

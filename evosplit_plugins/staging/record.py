"""The record of what earlier runs wrote into a directory, so that a later run replaces only that."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from evosplit import EvoSplitError, Split
from evosplit_plugins.staging.paths import State

__all__ = ["RECORD", "Entry", "Run", "changed", "is_manifest", "is_report", "read_record", "written_record"]

RECORD = ".evosplit.json"
_FORMAT, _VERSION = "evosplit-output", 1

Entry: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """What one run wrote into a directory.

    Attributes
    ----------
    writer
        The adapter.
    files
        What is known of each file, by its path: `size` and `mtime_ns`, and `source` if it is a copy; or `link`, the
        target of a symbolic link; or `hard` for a hard link.
    folders
        The folders that it made.
    """

    writer: str
    files: Mapping[str, Entry]
    folders: Sequence[str]


def read_record(root: Path) -> list[Run]:
    """Read what earlier runs wrote into a directory.

    Paths outside of it are refused, since the record may come from an untrusted source.
    """
    path = root / RECORD
    if not os.path.lexists(path):
        return []
    try:
        text = path.read_bytes()
    except OSError as error:
        raise EvoSplitError(
            f"cannot read {path}, which says what EvoSplit wrote there: {error.strerror}; make it readable, or choose "
            "another output"
        ) from error
    try:
        record = json.loads(text)
        if record["format"] != _FORMAT or record["version"] != _VERSION:
            raise ValueError(f"its format is {record['format']} {record['version']}")
        runs = [Run(str(run["writer"]), dict(run["files"]), list(run["folders"])) for run in record["runs"]]
        for place in (place for run in runs for place in (*run.files, *run.folders)):
            pure = PurePosixPath(place)
            foreign = os.sep == "\\" and "\\" in place  # elsewhere a letter like any other
            if pure.is_absolute() or not pure.parts or ".." in pure.parts or str(pure) != place or foreign:
                raise ValueError(f"it names {place!r}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EvoSplitError(
            f"{path} is not a valid record of what EvoSplit wrote there ({error}); delete it, and the files it lists"
        ) from error
    return runs


def written_record(runs: Sequence[Run]) -> str:
    """Return the record of some runs, for `read_record`."""
    return json.dumps(
        {
            "format": _FORMAT,
            "version": _VERSION,
            "runs": [{"writer": run.writer, "files": run.files, "folders": list(run.folders)} for run in runs],
        }
    )


def changed(path: Path, entry: Entry, state: State, n_names: int) -> str | None:
    """Say why a file of an earlier run must not be removed; None if it may be."""
    *_, kind, size, mtime_ns, n_links = state
    if "link" in entry:
        same = kind == stat.S_IFLNK and str(path.readlink()) == entry["link"]
        return None if same else "was put in place of a link of EvoSplit"
    if kind != stat.S_IFREG:
        return "was put in place of a file of EvoSplit"
    if "hard" in entry:
        return None if n_links > n_names else "is the last link to its picture"
    if (size, mtime_ns) != (entry.get("size"), entry.get("mtime_ns")):
        return "was changed since EvoSplit wrote it"
    if "source" in entry:
        source = Path(entry["source"])
        if not source.is_file() or source.stat().st_size != size:
            return f"is a copy of {source}, which is gone or has changed"
    return None


def is_report(path: Path) -> bool:
    """Whether a file is a report that EvoSplit wrote."""
    from evosplit.report.html import is_report_page  # with all that draws a page, which few commands need

    start = "<!doctype"
    with suppress(OSError, ValueError), path.open(encoding="utf-8", newline="") as stream:
        return not path.is_symlink() and stream.read(len(start)) == start and is_report_page(start + stream.read())
    return False


def is_manifest(path: Path, source: Mapping[str, Any]) -> bool:
    """Whether a file is a manifest; one that names other data than `source` does is refused."""
    try:
        found = Split.load(path).source
    except EvoSplitError:
        return False
    names = [(each.get("adapter"), each.get("inputs")) for each in (found, source)]
    if found and source and names[0] != names[1]:
        adapter, inputs = names[0]
        of = ", ".join(map(str, inputs)) if isinstance(inputs, list) else "other data"
        raise EvoSplitError(f"{path} holds a split of {of} ({adapter}), which would be lost; choose another name")
    return not path.is_symlink()

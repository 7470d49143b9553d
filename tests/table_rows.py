"""Rows for the tests of tables, and what any engine has to make of them, computed slowly and plainly."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pytest

RATIOS = {"train": 0.7, "val": 0.2, "test": 0.1}
LISTS = ([], ["cat", "cat", "dog"], ["dog"], None, ["3"])
ROW_IDS = [f"s{i}" for i in range(len(LISTS))]
KINDS = [[], ["cat"], ["cat", "dog"], ["dog", "dog"], ["eel, grilled"], ["cat", "dog", "eel, grilled"], ["ä;ö"]]


def rows(n=600):
    """Make rows: a third is empty, one label has a separator in it, ids have quotes and braces."""
    return pa.table(
        {
            "id": [f"{'{x}' if i % 9 == 0 else chr(39) if i % 7 == 0 else 's'}{i:04}" for i in range(n)],
            "labels": [KINDS[(5 * i + i // 11) % 7] if i % 3 else [] for i in range(n)],
            "clip": [None if i % 10 == 0 else f"clip {i // 6}" for i in range(n)],
            "site": [("north", "south", None)[i % 3] for i in range(n)],
            "width": [float(i % 23) for i in range(n)],
        }
    )


def subset_of(table, column="split"):
    """Give the subset of each id in a table of Arrow."""
    return dict(zip(table.column("id").to_pylist(), table.column(column).to_pylist(), strict=True))


def as_kind(table, kind):
    """Turn an Arrow table into one of another library."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(table)
    if kind == "duckdb":
        return pytest.importorskip("duckdb").connect().from_arrow(table)
    return table


def as_arrow(made, kind):
    """Turn what came back into an Arrow table."""
    if kind == "pandas":
        return pa.Table.from_pandas(made, preserve_index=False)
    if kind == "polars":
        return made.to_arrow()
    return made.to_arrow_table() if kind == "duckdb" else made


def dealt(table, split, seed):
    """Deal the rows of each label set out in the order of a hash, as the split says: the rule, without an engine."""
    cells = {}
    for sample, labels in zip(table.column("id").to_pylist(), table.column("labels").to_pylist(), strict=True):
        cells.setdefault(json.dumps(sorted(labels), ensure_ascii=False), []).append(sample)
    expected = {}

    def place(sample):
        digest = hashlib.md5(f"{seed}:{sample}".encode()).digest()
        return int.from_bytes(digest[:8], "little") % 2**60, sample

    for key, quotas in zip(split.sample_ids.tolist(), split.table.tolist(), strict=True):
        queue = sorted(cells.pop(key), key=place)
        for name, n in zip(split.names, quotas, strict=True):
            expected |= dict.fromkeys(queue[:n], name)
            queue = queue[n:]
        assert not queue
    assert not cells
    return expected


def checksum(pairs):
    """Hash who is where, in any order."""
    lines = sorted(f"{sample}\t{subset}" for sample, subset in pairs)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def named_rows(n=600):
    """Make rows whose ids are paths: of clips, of which some are pictures that Roboflow has copied."""
    table = rows(n)
    ids = []
    for i in range(n):
        folder = "other" if i % 20 in (10, 11) else f"clip{i // 12}"
        name = i // 10 * 10 if i % 10 < 2 else i
        copy = hashlib.md5(str(i).encode()).hexdigest()
        ids.append(f"{'./' if i % 2 else ''}{folder}/{name}_jpg.rf.{copy}.jpg")
    return table.set_column(0, "id", pa.array(ids))


def wholes(names, made, column="split"):
    """Tell whether rows with the same name are in one subset."""
    found = {}
    for name, subset in zip(names, made.column(column).to_pylist(), strict=True):
        found.setdefault(name, set()).add(subset)
    found.pop(None, None)
    return all(len(each) == 1 for each in found.values())


def label_counts():
    """Count the labels of `LISTS` by the ids of the rows."""
    return {name: {label: each.count(label) for label in each or []} for name, each in zip(ROW_IDS, LISTS, strict=True)}


def matrix(counts):
    """Give the counts of each id by label."""
    return {
        sample: {counts.labels[j]: int(n) for j, n in zip(row.indices, row.data, strict=True)}
        for sample, row in zip(counts.ids.tolist(), (counts.matrix[[i]] for i in range(len(counts))), strict=True)
    }

"""Kinds of rows are counted as a loop over all rows counts them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from table_rows import RATIOS

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from evosplit_plugins.table import TableReading, cells, evosplit_table, read_counts  # noqa: E402
from evosplit_plugins.table.memory import open_table  # noqa: E402
from evosplit_plugins.table.queries import CellColumns  # noqa: E402
from evosplit_plugins.table.reading import read_table  # noqa: E402


def as_json(labels):
    """Write the labels of a row as the name of its kind has them."""
    return json.dumps(sorted(labels), ensure_ascii=False)


def counted(table, **columns):
    """Count the kinds of rows that some columns tell apart."""
    source = read_table(open_table(table, TableReading(histogram=True)).engine, TableReading(histogram=True))
    return cells.count_cells(source.queries, CellColumns(**columns), "the table")


def test_one_kind_for_equal_labels(table):
    """Rows with the same labels are one kind, in the order of their names."""
    expected = Counter(as_json(labels) for labels in table.column("labels").to_pylist())
    counts = read_counts(table, histogram=True)
    assert dict(zip(counts.ids.tolist(), counts.copies.tolist(), strict=True)) == expected
    assert counts.ids.tolist() == sorted(expected)
    for name, row in zip(counts.ids.tolist(), counts.matrix.toarray().tolist(), strict=True):
        assert Counter(json.loads(name)) == {label: n for label, n in zip(counts.labels, row, strict=True) if n}


def test_strata_and_locks_tell_kinds_apart(table):
    """What is balanced and where a row stays is in the name of its kind; a null is one, too."""
    old = ["test" if i % 5 == 0 else None for i in range(len(table))]
    found = counted(table.append_column("split", pa.array(old)), strata=("site",), there={"test": 1})
    rows = zip(*(table.column(name).to_pylist() for name in ("labels", "site")), old, strict=True)
    expected = Counter()
    for labels, site, subset in rows:
        more = {"site": site} | ({"locked": 1} if subset else {})
        expected[f"[{as_json(labels)}, {json.dumps(more, sort_keys=True)}]"] += 1
    assert dict(zip(found.counts.ids.tolist(), found.counts.copies.tolist(), strict=True)) == expected
    assert found.counts.ids.tolist() == sorted(expected)
    assert found.locks.tolist() == [1 if '"locked": 1' in name else -1 for name in found.counts.ids]
    assert found.values("s0") == [json.loads(name)[1]["site"] for name in found.counts.ids]
    given = cells.cell_table(found, twice=2 * np.arange(len(found.counts)))
    assert given.column("cell").to_pylist() == np.flatnonzero(found.locks < 0).tolist()
    assert given.column("twice").to_pylist() == [2 * cell for cell in given.column("cell").to_pylist()]


def test_counts_name_kinds(table):
    """Where labels are counted in columns, each is written out as often in the name of a kind."""
    made = pa.table({"id": range(4), "ä": [2, 0, 2, 0], "x": [1, 0, 1, 3]})
    counts = read_counts(made, label_column=["ä", "x"], histogram=True)
    expected = {'["x", "ä", "ä"]': 2, "[]": 1, '["x", "x", "x"]': 1}
    found = dict(zip(counts.ids.tolist(), counts.copies.tolist(), strict=True))
    assert {json.dumps(sorted(json.loads(name)), ensure_ascii=False): n for name, n in found.items()} == expected


def test_too_many_kinds_of_rows(table, monkeypatch):
    """More than one machine takes: refused with their number and an estimate, before any search."""
    monkeypatch.setattr(cells, "MOST_CELLS", 3)
    with pytest.raises(EvoSplitError, match=r"has 7 different rows, which would take about 0 GiB on one machine"):
        evosplit_table(table, RATIOS, histogram=True)


def test_larger_counts(monkeypatch):
    """Counts that name kinds of rows are written out; more than fit are refused."""
    monkeypatch.setattr(cells, "MOST_INSTANCES", 10)
    made = pa.table({"id": ["a", "b"], "x": [10, 1], "y": [0, 0]})
    with pytest.raises(EvoSplitError, match=r"counts 11 labels in 2 different rows, more than 10,"):
        read_counts(made, label_column=["x", "y"], histogram=True)

"""What DuckDB does differently from what one expects, and what is done about it."""

from __future__ import annotations

import json

import pytest
from table_rows import subset_of

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

from evosplit_plugins.table import duckdb_engine, evosplit_table, read_counts  # noqa: E402


def test_tables_of_the_user():
    """Tables that a connection has, whatever they are called, are not taken for ours, and none is added."""
    connection = duckdb.connect()
    for name in ("cells", "groups", "locks", "copies", "placed"):
        connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS cell_key, 'a' AS placed_id, 'a' AS locked_id")
    table = pa.table(
        {"id": [f"s{i}" for i in range(40)], "labels": [["x"], ["y"]] * 20, "clip": [i // 4 for i in range(40)]}
    )
    given = connection.from_arrow(table)
    for options in ({}, {"histogram": True}, {"histogram": True, "group_by": "clip", "locked": {"test": ["s1"]}}):
        made = evosplit_table(given, (0.5, 0.5), **options).table.to_arrow_table()
        assert subset_of(made) == subset_of(evosplit_table(table, (0.5, 0.5), **options).table)
    assert len(connection.sql("SHOW TABLES").fetchall()) == 5


def test_ids_of_128_bits():
    """Integers beyond 64 bits are integers."""
    ids = duckdb.sql("SELECT 12345678901234567890123::HUGEINT + range AS id, ['x'] AS labels FROM range(4)")
    assert read_counts(ids).ids.tolist() == [12345678901234567890123 + i for i in range(4)]


def test_late_keys_of_json(tmp_path):
    """A key that comes late, and a value of another kind than the first ones, are kept."""
    rows = [{"id": i, "label": "xy"[i % 2], "v": 1} for i in range(30_000)]
    rows[25_000] |= {"note": "late", "v": "text"}
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = evosplit_table(path, (0.5, 0.5), output=tmp_path / "out", method="random").table
    back = json.loads(made.read_text(encoding="utf-8").splitlines()[25_000])
    assert (back["note"], back["v"]) == ("late", "text")


@pytest.mark.parametrize("kind", [str, int])
@pytest.mark.parametrize(
    ("order", "repeats"),
    [
        (range(50), False),
        ([*range(50), 49], True),
        ([*range(50), 3], True),
        ([*range(25, 50), *range(25)], False),
        ([0, 0, *range(1, 50)], True),
    ],
    ids=["ascending", "last one twice", "ascending at first", "not in order", "first one twice"],
)
def test_repeated_ids_in_any_order(monkeypatch, kind, order, repeats):
    """Ids that ascend are known to differ without being brought together; one that repeats is found wherever it is."""
    monkeypatch.setattr(duckdb_engine, "_FIRST", 10)
    ids = [kind(100 + number) for number in order]
    made = pa.table({"id": ids, "labels": [["x"]] * len(ids)})
    if repeats:
        with pytest.raises(EvoSplitError, match=r"repeats 1 id"):
            read_counts(made)
    else:
        assert len(read_counts(made)) == 50

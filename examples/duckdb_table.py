"""A table in parquet files, split where it lies: DuckDB counts the rows, and deals them out.

Prints the report, what the subsets hold, and what a replay of the saved split gives.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from evosplit_plugins import evosplit_table
from evosplit_plugins.table import apply_split, read_counts

RATIOS = {"train": 0.8, "val": 0.1, "test": 0.1}

with tempfile.TemporaryDirectory() as folder:
    photos = Path(folder) / "photos.parquet"
    # 200,000 photos with zero to four tags, of which a few are rare; twenty photos of each user.
    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(f"""
        COPY (
            SELECT 'photo ' || n AS id, n // 20 AS user, [t FOR t IN tags IF t <> 'none'] AS tags
            FROM (SELECT n, list_transform(range(n % 5), lambda i: CASE
                WHEN random() < 0.5 THEN 'person' WHEN random() < 0.5 THEN 'car' WHEN random() < 0.3 THEN 'dog'
                WHEN random() < 0.01 THEN 'lynx' ELSE 'none' END) AS tags FROM range(200000) AS rows(n))
        ) TO '{photos}' (FORMAT parquet)
    """)  # noqa: S608  (a path of our own)

    # Beyond 100,000 rows, rows with equal tags are only counted: this is all that is searched.
    counts = read_counts(photos, label_column="tags")
    print(counts)

    written, split = evosplit_table(photos, RATIOS, label_column="tags", output=Path(folder) / "out", effort="fast")
    print(split.report())
    rows = duckdb.read_parquet(str(written))
    print(rows.aggregate("split, count(*) AS photos, sum(list_contains(tags, 'lynx')::INT) AS lynxes").order("photos"))

    # The manifest replays it, on the same rows in any order.
    again, _ = apply_split(duckdb.read_parquet(str(photos)), Path(folder) / "out" / "split.json")
    both = again.aggregate("split, count(*) AS photos", "split").order("photos").fetchall()
    print("replayed:", both)

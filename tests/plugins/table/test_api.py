"""The functions for Python: audits of subsets that a column or files name, and their progress."""

from __future__ import annotations

import pytest

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import apply_split, audit, evosplit_table, read_counts  # noqa: E402


class TestAudit:
    """Subsets that a column names."""

    def test_leaks(self, table):
        """Ids in two subsets and torn groups leak."""
        names = ["train" if i % 4 else "test" for i in range(len(table))]
        divided = table.append_column("split", pa.array(names))
        twice = pa.concat_tables([divided, divided.slice(0, 1).set_column(5, "split", pa.array(["train"]))])
        judged = audit(twice, group_by="clip", compare=False)
        assert {leak.kind for leak in judged.leaks} >= {"group"}
        assert [leak.n_shared for leak in judged.leaks if leak.kind != "group"] == [1]

    def test_files_are_subsets(self, table, tmp_path):
        """Several files without a column are a subset each."""
        pq.write_table(table.slice(0, 400), tmp_path / "train.parquet")
        pq.write_table(table.slice(400), tmp_path / "test.parquet")
        judged = audit([tmp_path / "train.parquet", tmp_path / "test.parquet"], compare=False)
        assert dict(zip(judged.split.names, judged.split.sizes, strict=True)) == {"train": 400, "test": 200}

    @pytest.mark.parametrize("histogram", [False, True])
    def test_order_of_subsets(self, histogram):
        """Names that have no usual order are in that of the alphabet."""
        names = [f"part {i % 7}" for i in range(42)]
        table = pa.table({"id": range(42), "labels": [["x"], ["y"]] * 21, "split": names})
        judged = audit(table, compare=False, histogram=histogram)
        assert judged.split.names == tuple(f"part {i}" for i in range(7))

    def test_not_divided(self, table):
        """A table without subsets cannot be judged."""
        with pytest.raises(EvoSplitError, match="an audit compares subsets"):
            audit(table)


@pytest.mark.parametrize("in_file", [False, True])
def test_progress_is_one_bar(table, tmp_path, in_file):
    """Whatever is done with a table, in memory or in a file, is reported from its beginning to its end."""
    given, output = table, {}
    if in_file:
        given, output = tmp_path / "rows.parquet", {"output": tmp_path / "out"}
        pq.write_table(table, given)
    made = evosplit_table(given, (0.5, 0.5), method="random", **output).split
    judged = table.append_column("split", pa.array(["train", "test"] * (len(table) // 2)))
    calls = {
        read_counts: (given,),
        apply_split: (given, made),
        evosplit_table: (given, (0.5, 0.5)),
        audit: (judged,),
    }
    for call, arguments in calls.items():
        seen = []
        more = {**output, "overwrite": True} if output and call in (apply_split, evosplit_table) else {}
        more |= {"effort": "fast"} if call in (evosplit_table, audit) else {}
        call(*arguments, on_progress=lambda done, message, seen=seen: seen.append(done), **more)
        assert (seen[0], seen[-1]) == (0.0, 1.0), call
        assert seen == sorted(seen)

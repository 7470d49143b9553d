"""What a table holds, in memory and in files, and what is refused."""

from __future__ import annotations

import pytest
from file_systems import no_privileges
from table_rows import LISTS, RATIOS, ROW_IDS, as_kind, label_counts, matrix, subset_of

from evosplit import EvoSplitError
from evosplit_plugins.cli import main

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

import pyarrow.csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import evosplit_table, read_counts  # noqa: E402


class TestLongTable:
    """One row for each label in another table."""

    @pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
    def test_long_table(self, kind):
        """One row for each label in another table; samples without any are in the table of ids alone."""
        pairs = [(f"s{i}", label) for i, each in enumerate(LISTS) for label in each or []]
        long = pa.table({"sample": [a for a, _ in pairs], "label": [b for _, b in pairs]})
        ids = pa.table({"id": ROW_IDS})
        if kind == "duckdb":
            connection = duckdb.connect()
            ids, long = connection.from_arrow(ids), connection.from_arrow(long)
        else:
            ids, long = as_kind(ids, kind), as_kind(long, kind)
        counts = read_counts(ids, label_table=long, label_table_id="sample", label_column="label")
        assert matrix(counts) == label_counts()

    def test_long_table_in_files(self, tmp_path, table):
        """The same in files; columns of the output are those of the table of ids."""
        pairs = [(row["id"], label) for row in table.to_pylist() for label in row["labels"]]
        pq.write_table(table.drop_columns(["labels"]), tmp_path / "ids.parquet")
        long = tmp_path / "labels.csv"
        pyarrow.csv.write_csv(pa.table({"id": [a for a, _ in pairs], "name": [b for _, b in pairs]}), long)
        made = evosplit_table(
            tmp_path / "ids.parquet", RATIOS, label_table=long, label_column="name", output=tmp_path / "out"
        )
        assert subset_of(pq.read_table(made.table)) == subset_of(evosplit_table(table, RATIOS).table)
        assert pq.read_table(made.table).column_names == ["id", "clip", "site", "width", "split"]
        asked = ["--label-table", str(long), "--label-column", "name", "--ratios", "7:2:1", "--quiet"]
        assert main(["table", "split", str(tmp_path / "ids.parquet"), "-o", str(tmp_path / "again"), *asked]) == 0
        assert subset_of(pq.read_table(tmp_path / "again" / "ids.parquet")) == subset_of(pq.read_table(made.table))

    def test_stray_labels(self):
        """Labels of samples that the table does not have are refused: a long table needs all ids."""
        long = pa.table({"id": ["a", "x", "y"], "label": ["cat", "cat", "dog"]})
        with pytest.raises(EvoSplitError, match=r"labels of 2 ids that the table does not have, for example 'x'"):
            read_counts(pa.table({"id": ["a", "b"]}), label_table=long, label_column="label")


class TestBadInput:
    """Refused, with the value, the place and the remedy."""

    @pytest.mark.parametrize(
        ("columns", "options", "message"),
        [
            ({"id": ["a", "a", "b"], "labels": [["x"]] * 3}, {}, r"repeats 1 id, for example 'a' \(up to 2 rows"),
            ({"id": ["a", None, None], "labels": [["x"]] * 3}, {}, r"null in 2 of 3 rows, for example where labels is"),
            ({"id": ["a"], "labels": [["x"]]}, {"id_column": "key"}, r"id_column='key' is no column of the table"),
            ({"key": ["a"], "labels": [["x"]]}, {}, r"no column 'id' or 'image_id' for the ids"),
            ({"id": ["a"], "tags": [["x"]]}, {}, r"no column 'labels' or 'label' for the labels"),
            ({"id": [0.5], "labels": [["x"]]}, {}, r"id_column='id' holds DOUBLE; ids are texts or integers"),
            ({"id": ["a"], "labels": [[0.5]]}, {}, r"labels are texts or integers"),
            ({"id": ["a"], "labels": [True]}, {}, r"label_column='labels' holds BOOLEAN"),
            ({"id": ["a", "b"], "x": [1, -1], "y": [0, 0]}, {"label_column": ["x", "y"]}, r"'x' of the table is '-1'"),
            ({"id": ["a", "b"], "x": [1.5, 1], "y": [0, 0]}, {"label_column": ["x", "y"]}, r"hold no count"),
            (
                {"id": ["a"], "x": [0], "y": [float("nan")]},
                {"label_column": ["x", "y"]},
                r"'y' of the table is 'nan' in",
            ),
            (
                {"id": ["a"], "x": [float("inf")], "y": [0]},
                {"label_column": ["x", "y"]},
                r"'x' of the table is 'inf' in",
            ),
            (
                {"id": ["a"], "x": [1e30], "y": [0]},
                {"label_column": ["x", "y"]},
                r"in one of 1 rows that hold no count",
            ),
            ({"id": ["a"], "x": ["y"], "y": ["0"]}, {"label_column": ["x", "y"]}, r"'x' of the table is 'y' in one"),
            ({"id": ["a"], "labels": [["x;y"]]}, {"delimiter": ";"}, r"delimiter=';' cuts texts, but .* VARCHAR\[\]"),
            ({"id": ["a"], "label": [3]}, {"delimiter": ";"}, r"delimiter=';' cuts texts, but .* BIGINT; leave it out"),
            ({"id": ["a"], "x": [1], "y": [1]}, {"label_column": ["x", "y"], "delimiter": ";"}, r"each is one label"),
            ({"id": ["a", "b"], "labels": [["x"]] * 2, "split": [1, 2]}, {"column": "labels"}, r"'labels' already"),
            ({"id": ["a", "b"], "labels": [["x"]] * 2, "Split": ["n", "n"]}, {"subset_column": "id"}, r"'Split'"),
            ({"id": [], "labels": []}, {"label_column": "labels"}, r"no rows|holds|labels are"),
            ({"id": ["a", "b"], "ID": ["a", "b"], "labels": [["x"]] * 2}, {}, r"the column 'id' twice"),
            ({"id": ["a", "b"], "labels": [["x"]] * 2}, {"output": "out"}, r"output='out' is for tables in files"),
            ({"id": ["a", "b"], "labels": [["x"]] * 2}, {"engine": "spark"}, r"engine='spark'"),
        ],
        ids=str,
    )
    def test_refused(self, columns, options, message):
        """One sentence."""
        with pytest.raises(EvoSplitError, match=message):
            evosplit_table(pa.table(columns), (0.5, 0.5), **options)

    def test_no_table(self):
        """Something else."""
        with pytest.raises(EvoSplitError, match="table is a dict; pass a pandas or polars DataFrame"):
            evosplit_table({"id": []}, (0.5, 0.5))

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.xlsx", b"", r"is no table that can be read"),
            ("a.parquet", b"PAR1 nonsense", r"DuckDB cannot read the table"),
            ("a.jsonl", b"{broken\n", r"DuckDB cannot read the table"),
        ],
    )
    def test_files(self, tmp_path, name, content, message):
        """Files that are none."""
        (tmp_path / name).write_bytes(content)
        with pytest.raises(EvoSplitError, match=message):
            evosplit_table(tmp_path / name, RATIOS, output=tmp_path / "out")
        with pytest.raises(EvoSplitError, match="no such file or folder"):
            evosplit_table(tmp_path / "missing.parquet", RATIOS, output=tmp_path / "out")
        with pytest.raises(EvoSplitError, match=r"is an address, .* read it with your own connection"):
            evosplit_table("s3://bucket/table.parquet", RATIOS, output=tmp_path / "out")

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
    def test_column_twice(self, tmp_path, name):
        """DuckDB would give the second one another name."""
        if name == "a.csv":
            (tmp_path / name).write_text("id,label,x,X\n1,a,2,3\n2,a,2,3\n", encoding="utf-8")
        elif name == "a.jsonl":
            (tmp_path / name).write_text('{"id": 1, "label": "a", "x": 2, "X": 3}\n' * 2, encoding="utf-8")
        else:
            pq.write_table(pa.table({"id": [1, 2], "label": ["a", "a"], "x": [2, 2], "X": [3, 3]}), tmp_path / name)
        with pytest.raises(EvoSplitError, match=r"has the column '[xX]' twice, at least in capitals; rename one"):
            evosplit_table(tmp_path / name, (0.5, 0.5), output=tmp_path / "out")

    def test_folder_that_may_not_be_read(self, tmp_path):
        """Its rows would be missing in every subset, and nobody would know."""
        for name in ("a=1", "a=2", ".hidden"):
            (tmp_path / name).mkdir()
            pq.write_table(pa.table({"id": [name], "labels": [["cat"]]}), tmp_path / name / "x.parquet")
        (tmp_path / ".hidden").chmod(0)
        with no_privileges():
            assert len(read_counts(tmp_path)) == 2
            (tmp_path / "a=2").chmod(0)
            with pytest.raises(EvoSplitError, match=r"cannot read .*a=2: Permission denied; make it readable"):
                read_counts(tmp_path)
        for name in ("a=2", ".hidden"):
            (tmp_path / name).chmod(0o700)

    def test_column_that_only_looks_renamed(self, tmp_path):
        """A number at the end of a name is nothing unusual."""
        (tmp_path / "a.csv").write_text("id,label,x,x_1\n1,a,2,3\n2,a,2,3\n", encoding="utf-8")
        made = evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / "out").table
        assert made.read_text(encoding="utf-8").startswith("id,label,x,x_1,split\n")

    def test_separators(self, tmp_path):
        """Files that separate their cells in different ways are not one table."""
        (tmp_path / "a.csv").write_text("id,label\n1,a\n", encoding="utf-8")
        (tmp_path / "b.csv").write_text("id;label\n2;a\n", encoding="utf-8")
        with pytest.raises(EvoSplitError, match=r"a.csv has ',' between its cells, and .*b.csv has ';'"):
            evosplit_table([tmp_path / "a.csv", tmp_path / "b.csv"], (0.5, 0.5), output=tmp_path / "out")

"""What a table holds: every form of labels, in memory and in files, and what is refused."""

from __future__ import annotations

import json

import pytest
from table_rows import RATIOS, as_kind, subset_of

from evosplit import EvoSplitError
from evosplit_plugins.cli import main

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

import pyarrow.csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import cells, evosplit_table, read_counts  # noqa: E402


def matrix(counts):
    """Give the counts of each id by label."""
    return {
        sample: {counts.labels[j]: int(n) for j, n in zip(row.indices, row.data, strict=True)}
        for sample, row in zip(counts.ids.tolist(), (counts.matrix[[i]] for i in range(len(counts))), strict=True)
    }


class TestLabels:
    """Every form of labels is read alike."""

    LISTS = ([], ["cat", "cat", "dog"], ["dog"], None, ["3"])

    def expected(self):
        lists = {f"s{i}": each or [] for i, each in enumerate(self.LISTS)}
        return {name: {label: each.count(label) for label in each} for name, each in lists.items()}

    def ids(self):
        return [f"s{i}" for i in range(len(self.LISTS))]

    def test_list(self):
        """A list, repeats kept; nulls are no labels."""
        lists = [None if each is None else [*each, None] for each in self.LISTS]
        counts = read_counts(pa.table({"id": self.ids(), "labels": pa.array(lists, pa.list_(pa.string()))}))
        assert matrix(counts) == self.expected()

    def test_structs(self):
        """A field of the structs in a list."""
        boxes = [None if each is None else [{"label": label, "box": [0.5]} for label in each] for each in self.LISTS]
        made = pa.table({"id": self.ids(), "annotations": boxes})
        assert matrix(read_counts(made, label_column="annotations.label")) == self.expected()
        with pytest.raises(EvoSplitError, match=r"say which field is the label: 'annotations.label'"):
            read_counts(made, label_column="annotations")

    def test_delimited(self):
        """A text with a delimiter, with blanks around it."""
        texts = [None if each is None else " ; ".join(each) for each in self.LISTS]
        made = pa.table({"id": self.ids(), "labels": texts})
        assert matrix(read_counts(made, delimiter=";")) == self.expected()

    def test_json(self):
        """Texts that are lists in JSON are recognised."""
        texts = [None if each is None else json.dumps(each) for each in self.LISTS]
        assert matrix(read_counts(pa.table({"id": self.ids(), "labels": texts}))) == self.expected()

    def test_broken_json(self):
        """A text that only looks like a list is refused, unless each is said to be one label."""
        made = pa.table({"id": ["a", "b"], "labels": ['["cat"x]', '["cat"]']})
        with pytest.raises(EvoSplitError, match=r"holds 1 texts that are no JSON lists of labels, for example '\["):
            read_counts(made)
        assert read_counts(made, delimiter="").labels == ('["cat"]', '["cat"x]')

    def test_integers(self):
        """One integer is one label."""
        counts = read_counts(pa.table({"id": [3, 1], "label": [10, 2]}))
        assert matrix(counts) == {1: {"2": 1}, 3: {"10": 1}}

    @pytest.mark.parametrize("kind", ["integer", "boolean", "text"])
    def test_columns(self, kind):
        """A column of counts, of booleans, or of their texts, for each label."""
        cat, dog = [2, 0, None], [1, 1, 0]
        if kind == "boolean":
            cat, dog = [True, False, None], [True, True, False]
        if kind == "text":
            cat, dog = ["2", "0", ""], ["1", "1", "0"]
        counts = read_counts(pa.table({"id": ["a", "b", "c"], "cat": cat, "dog": dog}), label_column=["cat", "dog"])
        assert matrix(counts) == {"a": {"cat": 1 if kind == "boolean" else 2, "dog": 1}, "b": {"dog": 1}, "c": {}}

    @pytest.mark.parametrize("histogram", [False, True])
    def test_large_counts(self, histogram):
        """Counts may be large, whole floats and their texts; labels that never occur are none."""
        columns = {"id": ["a", "b"], "x": [300_000, 1], "never": [0, None], "y": [2.0, 0.0], "z": ["1.0", " "]}
        counts = read_counts(pa.table(columns), label_column=["x", "never", "y", "z"], histogram=histogram)
        assert counts.labels == ("x", "y", "z")
        assert sorted(counts.matrix.toarray().tolist()) == [[1, 0, 0], [300_000, 2, 1]]

    def test_larger_counts(self, monkeypatch):
        """Counts that name kinds of rows are written out; more than fit are refused."""
        monkeypatch.setattr(cells, "MOST_INSTANCES", 10)
        made = pa.table({"id": ["a", "b"], "x": [10, 1], "y": [0, 0]})
        with pytest.raises(EvoSplitError, match=r"counts 11 labels in 2 different rows, more than 10,"):
            read_counts(made, label_column=["x", "y"], histogram=True)

    @pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
    def test_long_table(self, kind):
        """One row for each label in another table; samples without any are in the table of ids alone."""
        pairs = [(f"s{i}", label) for i, each in enumerate(self.LISTS) for label in each or []]
        long = pa.table({"sample": [a for a, _ in pairs], "label": [b for _, b in pairs]})
        ids = pa.table({"id": self.ids()})
        if kind == "duckdb":
            connection = duckdb.connect()
            ids, long = connection.from_arrow(ids), connection.from_arrow(long)
        else:
            ids, long = as_kind(ids, kind), as_kind(long, kind)
        counts = read_counts(ids, label_table=long, label_table_id="sample", label_column="label")
        assert matrix(counts) == self.expected()

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

    @pytest.mark.parametrize("sign", [",", ";", "|"])
    def test_no_guessing(self, sign):
        """Whether a sign separates labels or belongs to one is never guessed."""
        made = pa.table({"id": ["a", "b"], "labels": ["cat", f"New York{sign} NY"]})
        with pytest.raises(EvoSplitError, match=r"in 1 cells, for example 'New York. NY'; say whether"):
            read_counts(made)
        assert read_counts(made, delimiter="").labels == (f"New York{sign} NY", "cat")
        assert len(read_counts(made, delimiter=sign).labels) == 3


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

"""Tables in memory and in files, on DuckDB."""

from __future__ import annotations

import json

import numpy as np
import pytest
from table_rows import RATIOS, dealt, rows, subset_of

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins.cli import main

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

import pyarrow.csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import apply_split, audit, evosplit_table, fields, groups, read_counts, reading, writing  # noqa: E402


@pytest.fixture(scope="module")
def table():
    """Give some rows."""
    return rows()


def as_kind(table, kind):
    """Turn an Arrow table into one of another library."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(table)
    if kind == "duckdb":
        return duckdb.connect().from_arrow(table)
    return table


def as_arrow(made, kind):
    """Turn what came back into an Arrow table."""
    if kind == "pandas":
        return pa.Table.from_pandas(made, preserve_index=False)
    if kind == "polars":
        return made.to_arrow()
    return made.to_arrow_table() if kind == "duckdb" else made


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
        """A text that only looks like a list is refused."""
        with pytest.raises(EvoSplitError, match=r"labels|JSON"):
            read_counts(pa.table({"id": ["a"], "labels": ['["cat"x]']}))

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


class TestSameSplit:
    """One seed, one split."""

    @pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
    @pytest.mark.parametrize("histogram", [False, True])
    def test_any_library_and_order(self, table, kind, histogram):
        """Which library holds the table, and in which order, does not matter; the table comes back as it was."""
        expected, split = evosplit_table(table, RATIOS, histogram=histogram, seed=5)
        order = np.random.default_rng(0).permutation(len(table))
        given = as_kind(table.take(order), kind)
        made = evosplit_table(given, RATIOS, histogram=histogram, seed=5)
        assert type(made.table) is type(given)
        back = as_arrow(made.table, kind)
        assert back.column_names == [*table.column_names, "split"]
        assert subset_of(back) == subset_of(expected)
        assert made.split.sizes == split.sizes == (420, 120, 60)
        if kind != "duckdb":  # whose relations have no order
            assert back.column("id").to_pylist() == table.take(order).column("id").to_pylist()

    def test_rows_as_the_engine(self, table):
        """A small table is split as `evosplit.split` splits its rows, in the order of the ids."""
        ordered = table.sort_by("id")
        counts = LabelCounts.from_lists(ordered.column("labels").to_pylist(), ids=ordered.column("id").to_pylist())
        expected = evosplit.split(counts, RATIOS, seed=2)
        made = evosplit_table(table, RATIOS, seed=2).split
        assert made.sample_ids.tolist() == counts.ids.tolist()
        assert made.assignment.tolist() == expected.assignment.tolist()

    @pytest.mark.parametrize("seed", [0, 7])
    def test_histogram_as_the_engine(self, table, seed):
        """A large one as `evosplit.split` splits its histogram; rows are dealt out as the slow rule says."""
        made, split = evosplit_table(table, RATIOS, histogram=True, seed=seed)
        assert np.array_equal(split.table, evosplit.split(read_counts(table, histogram=True), RATIOS, seed=seed).table)
        assert subset_of(made) == dealt(table, split, seed)

    def test_limits_beyond_expectation(self, table, monkeypatch):
        """Where a limit is not near to where it is expected, the engine is asked again."""
        expected = subset_of(evosplit_table(table, RATIOS, histogram=True).table)
        monkeypatch.setattr(writing, "_DEVIATIONS", 1e-3)
        monkeypatch.setattr(writing, "_FEW", 0.0)
        assert subset_of(evosplit_table(table, RATIOS, histogram=True).table) == expected

    def test_many_rows_are_counted(self, table, monkeypatch):
        """From some size on a table is only counted."""
        monkeypatch.setattr(reading, "MOST_ROWS", len(table) - 1)
        assert evosplit_table(table, RATIOS).split.has_copies
        monkeypatch.setattr(reading, "MOST_ROWS", len(table))
        assert not evosplit_table(table, RATIOS).split.has_copies

    def test_integer_ids(self):
        """Integers are ids, in their own order."""
        made = pa.table({"id": [10, 9, 100, 1], "labels": [["a"], ["a"], ["b"], ["b"]]})
        assert read_counts(made).ids.tolist() == [1, 9, 10, 100]
        assert evosplit_table(made, (0.5, 0.5), histogram=True).split.sizes == (2, 2)

    def test_folds(self, table):
        """Folds have a column of their own name."""
        for histogram in (False, True):
            made, split = evosplit_table(table, folds=4, histogram=histogram)
            assert split.is_kfold
            assert split.sizes == (150,) * 4
            assert set(made.column("fold").to_pylist()) == {"fold0", "fold1", "fold2", "fold3"}


@pytest.mark.parametrize("histogram", [False, True])
class TestConstraints:
    """Groups, locks and strata by columns, held row by row or counted."""

    def test_groups(self, table, histogram):
        """A group is never torn; rows without one are on their own."""
        made, split = evosplit_table(table, RATIOS, group_by="clip", histogram=histogram)
        clips = {}
        for clip, subset in zip(table.column("clip").to_pylist(), made.column("split").to_pylist(), strict=True):
            if clip is not None:
                clips.setdefault(clip, set()).add(subset)
        assert all(len(each) == 1 for each in clips.values())
        assert split.sizes == (420, 120, 60)
        assert any(note.startswith("60 rows have no 'clip'") for note in split.notes)

    def test_two_kinds_of_groups(self, table, histogram):
        """Rows that share either value stay together."""
        other = pa.array([None if i % 50 else f"chain {i // 200}" for i in range(len(table))])
        linked = table.append_column("chain", other)
        made = evosplit_table(linked, RATIOS, group_by=["clip", "chain"], histogram=histogram).table.to_pydict()
        for name in ("clip", "chain"):
            found = {}
            for value, subset in zip(made[name], made["split"], strict=True):
                if value is not None:
                    found.setdefault(value, set()).add(subset)
            assert all(len(each) == 1 for each in found.values())

    def test_locks_by_id(self, table, histogram):
        """Ids that are locked stay; the sizes are exact."""
        ids = table.column("id").to_pylist()[:40]
        made, split = evosplit_table(table, RATIOS, locked={"test": ids}, histogram=histogram)
        found = subset_of(made)
        assert {found[each] for each in ids} == {"test"}
        assert split.sizes == (420, 120, 60)

    def test_locks_by_column(self, table, histogram):
        """A subset that the table has stays; the new column takes the place of the old one."""
        old = ["test" if i % 15 == 0 else None if i % 4 else "train" for i in range(len(table))]
        made, split = evosplit_table(table.append_column("split", pa.array(old)), RATIOS, locked=["test"],
                                     histogram=histogram)  # fmt: skip
        assert made.column_names == [*table.column_names, "split"]
        kept = [new for before, new in zip(old, made.column("split").to_pylist(), strict=True) if before == "test"]
        assert set(kept) == {"test"}
        assert split.sizes == (420, 120, 60)

    def test_groups_with_locks(self, table, histogram):
        """A locked row takes its group along."""
        first = table.column("id").to_pylist()[1]
        made = evosplit_table(table, RATIOS, group_by="clip", locked={"val": [first]}, histogram=histogram).table
        rows = made.to_pydict()
        assert {b for a, b in zip(rows["clip"], rows["split"], strict=True) if a == "clip 0"} == {"val"}

    @pytest.mark.parametrize("name", ["site", "width"])
    def test_strata(self, table, histogram, name):
        """A column is balanced: categories, and bins of many numbers."""
        split = evosplit_table(table, RATIOS, stratify_by=name, histogram=histogram).split
        (stratum,) = split.constraints.strata
        held = np.zeros((stratum.counts.n_labels, 3))
        table_of = split.table
        for row, column in zip(*stratum.counts.matrix.nonzero(), strict=True):
            held[column] += table_of[row]
        assert stratum.counts.n_labels == (3 if name == "site" else 5)
        assert stratum.counts.totals.sum() == 600
        expected = stratum.counts.totals[:, None] * np.array([0.7, 0.2, 0.1])
        assert np.abs(held - expected).max() <= 3

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"group_by": "nope"}, r"group_by='nope' is no column of the table; it has 'id', 'labels'"),
            ({"stratify_by": "labels"}, r"stratify_by='labels' holds"),
            ({"locked": {"test": ["nobody"]}}, r"nobody|names 1 rows, and the table has 0"),
            ({"locked": ["val"]}, r"locked= keeps the subset 'val'"),
            ({"locked": {"other": []}}, r"locked= names the subset 'other'"),
        ],
        ids=str,
    )
    def test_refused(self, table, histogram, asked, message):
        """What is not there is named."""
        with pytest.raises(EvoSplitError, match=message):
            evosplit_table(table, RATIOS, histogram=histogram, **asked)


class TestFiles:
    """What is written."""

    def write(self, table, path):
        """Write a table in the format that the name tells."""
        if path.suffix == ".parquet":
            pq.write_table(table, path)
        elif path.suffix == ".csv":
            texts = [json.dumps(each) for each in table.column("labels").to_pylist()]
            pyarrow.csv.write_csv(table.set_column(1, "labels", pa.array(texts)), path)
        else:
            lines = [json.dumps({**row, "day": "2026-01-02"}) for row in table.to_pylist()]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def read(self, path):
        """Read one back, everything as it stands there."""
        if path.suffix == ".parquet":
            return pq.read_table(path).to_pylist()
        if path.suffix == ".csv":
            import csv

            with path.open(encoding="utf-8", newline="") as stream:
                return list(csv.DictReader(stream))
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    @pytest.mark.parametrize("histogram", [False, True])
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
    def test_as_the_input_was(self, table, tmp_path, suffix, histogram):
        """The same format, columns, order of columns and values; one column more."""
        path = self.write(table, tmp_path / f"data{suffix}")
        before = path.read_bytes()
        made = evosplit_table(path, RATIOS, output=tmp_path / "out", histogram=histogram)
        assert made.table == tmp_path / "out" / f"data{suffix}"
        given, back = self.read(path), self.read(made.table)
        assert list(back[0]) == [*given[0], "split"]
        without = [{name: value for name, value in row.items() if name != "split"} for row in back]
        if histogram:  # dealt out on all cores, in no order
            given, without = (sorted(each, key=lambda row: row["id"]) for each in (given, without))
        assert without == given
        expected = evosplit_table(table, RATIOS, histogram=histogram).table
        assert {row["id"]: row["split"] for row in back} == subset_of(expected)
        assert path.read_bytes() == before
        assert json.loads((tmp_path / "out" / "split.json").read_text(encoding="utf-8"))["source"]["adapter"] == "table"

    def test_leading_zeros(self, tmp_path):
        """Texts of a CSV file are not taken for numbers."""
        (tmp_path / "a.csv").write_text("id,label\n001,1.50\n002,1.50\n", encoding="utf-8")
        made = evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / "out").table
        assert sorted(made.read_text(encoding="utf-8").splitlines())[0].startswith("001,1.50,")

    @pytest.mark.parametrize("histogram", [False, True])
    def test_partitions(self, table, tmp_path, histogram):
        """A folder for each subset, as Hive names it, which reads back as a table and passes the audit."""
        path = self.write(table, tmp_path / "data.parquet")
        out = tmp_path / "out"
        split = evosplit_table(path, RATIOS, output=out, partition_by_split=True, histogram=histogram).split
        assert {each.name for each in out.iterdir() if each.is_dir()} == {"split=train", "split=val", "split=test"}
        judged = audit(out, compare=False)
        assert judged.failures() == []
        assert dict(zip(judged.split.names, judged.split.sizes, strict=True)) == dict(
            zip(split.names, split.sizes, strict=True)
        )

    @pytest.mark.parametrize("histogram", [False, True])
    def test_lists_of_ids(self, table, tmp_path, histogram):
        """A list for each subset, in the order of the ids."""
        path = self.write(table, tmp_path / "data.parquet")
        split = evosplit_table(path, RATIOS, output=tmp_path / "out", ids_only=True, histogram=histogram).split
        expected = subset_of(evosplit_table(table, RATIOS, histogram=histogram).table)
        for name in split.names:
            lines = (tmp_path / "out" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            assert lines == sorted(sample for sample, subset in expected.items() if subset == name)

    def test_id_that_is_no_line(self, tmp_path):
        """An id with a line break cannot be listed; nothing is written."""
        pq.write_table(pa.table({"id": ["a", "b\nc"], "labels": [["x"], ["x"]]}), tmp_path / "data.parquet")
        with pytest.raises(EvoSplitError, match=r"the id 'b\\nc' of 'id' cannot stand in a line"):
            evosplit_table(tmp_path / "data.parquet", (0.5, 0.5), output=tmp_path / "out", ids_only=True)
        assert not (tmp_path / "out").exists()

    def test_folders(self, table, tmp_path):
        """A folder of files is one table."""
        (tmp_path / "data").mkdir()
        for number in range(3):
            pq.write_table(table.slice(number * 200, 200), tmp_path / "data" / f"part-{number}.parquet")
        made = evosplit_table(tmp_path / "data", RATIOS, output=tmp_path / "out").table
        assert made.name == "data.parquet"
        assert subset_of(pq.read_table(made)) == subset_of(evosplit_table(table, RATIOS).table)
        with pytest.raises(EvoSplitError, match="lies inside of the input"):
            evosplit_table(tmp_path / "data", RATIOS, output=tmp_path / "data" / "out")

    def test_needs_an_output(self, table, tmp_path):
        """Nothing is written in place."""
        path = self.write(table, tmp_path / "data.parquet")
        with pytest.raises(EvoSplitError, match="never changed in place"):
            evosplit_table(path, RATIOS)
        with pytest.raises(EvoSplitError, match="is the input"):
            evosplit_table(path, RATIOS, output=tmp_path, overwrite=True)
        assert pq.read_table(path).column_names == table.column_names

    def test_existing_output(self, table, tmp_path):
        """An output that exists is kept, unless it may be replaced."""
        path = self.write(table, tmp_path / "data.parquet")
        first = evosplit_table(path, RATIOS, output=tmp_path / "out").table.read_bytes()
        with pytest.raises(EvoSplitError, match="already exist"):
            evosplit_table(path, RATIOS, output=tmp_path / "out", seed=1)
        assert (tmp_path / "out" / "data.parquet").read_bytes() == first
        evosplit_table(path, RATIOS, output=tmp_path / "out", seed=1, overwrite=True)
        assert (tmp_path / "out" / "data.parquet").read_bytes() != first

    @pytest.mark.parametrize(
        ("histogram", "change"), [(False, "more"), (False, "fewer"), (True, "more"), (True, "fewer"), (True, "other")]
    )
    def test_changed_between_the_passes(self, table, tmp_path, histogram, change):
        """A table that changes while it is split is noticed, and nothing is written."""
        path = self.write(table, tmp_path / "data.parquet")
        changed = {
            "more": pa.concat_tables([table, table.slice(0, 5).set_column(0, "id", pa.array(list("abcde")))]),
            "fewer": table.slice(1),
            "other": table.set_column(1, "labels", pa.array([["new"]] * len(table))),
        }[change]

        def replace_file(done, message):
            if message == "writing":
                pq.write_table(changed, path)

        with pytest.raises(EvoSplitError, match="has changed since its labels were counted"):
            evosplit_table(path, RATIOS, output=tmp_path / "out", histogram=histogram, on_progress=replace_file)
        assert not (tmp_path / "out").exists()


class TestReplay:
    """A saved split, applied again."""

    @pytest.mark.parametrize("options", [{}, {"group_by": "clip"}, {"stratify_by": ["site", "width"]}], ids=str)
    @pytest.mark.parametrize("histogram", [False, True])
    def test_same_rows(self, table, tmp_path, histogram, options):
        """In another order, from the manifest alone."""
        made, split = evosplit_table(table, RATIOS, histogram=histogram, seed=3, **options)
        split.save(tmp_path / "split.json")
        again = apply_split(table.take(list(range(len(table)))[::-1]), tmp_path / "split.json")
        assert subset_of(again) == subset_of(made)

    def test_in_files(self, table, tmp_path):
        """The manifest lies beside the table that was written."""
        pq.write_table(table, tmp_path / "data.parquet")
        evosplit_table(tmp_path / "data.parquet", RATIOS, output=tmp_path / "out", histogram=True)
        apply_split(tmp_path / "data.parquet", tmp_path / "out" / "split.json", output=tmp_path / "again")
        first, again = (pq.read_table(tmp_path / name / "data.parquet") for name in ("out", "again"))
        assert subset_of(first) == subset_of(again)

    def test_other_rows(self, table):
        """A table that differs is refused, with how."""
        split = evosplit_table(table, RATIOS, histogram=True).split
        with pytest.raises(EvoSplitError, match=r"is not what was split: it has [\d,]+ rows like"):
            apply_split(table.slice(1), split)

    @pytest.mark.parametrize("group_by", [None, "clip"])
    def test_locked_rows(self, table, tmp_path, group_by):
        """Ids that were locked are kept beside the cells."""
        ids = table.column("id").to_pylist()[:3]
        made, split = evosplit_table(table, RATIOS, histogram=True, group_by=group_by, locked={"test": ids})
        split.save(tmp_path / "split.json")
        assert subset_of(apply_split(table, tmp_path / "split.json")) == subset_of(made)

    def test_counted_and_named(self, table, tmp_path):
        """A split that names samples needs them, and one of kinds of rows needs these."""
        named = evosplit_table(table, RATIOS).split
        with pytest.raises(EvoSplitError, match="histogram=False"):
            apply_split(table, named, histogram=True)
        counted = evosplit_table(table, RATIOS, histogram=True).split
        with pytest.raises(EvoSplitError, match="only counted"):
            apply_split(table, counted, histogram=False)
        assert Split.from_manifest(counted.to_manifest()).has_copies


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

    def test_not_divided(self, table):
        """A table without subsets cannot be judged."""
        with pytest.raises(EvoSplitError, match="an audit compares subsets"):
            audit(table)


class TestBadInput:
    """Refused, with the value, the place and the remedy."""

    @pytest.mark.parametrize(
        ("columns", "options", "message"),
        [
            ({"id": ["a", "a", "b"], "labels": [["x"]] * 3}, {}, r"repeats 1 ids, for example 'a' \(up to 2 rows"),
            ({"id": ["a", None, None], "labels": [["x"]] * 3}, {}, r"is null in 2 of 3 rows"),
            ({"id": ["a"], "labels": [["x"]]}, {"id_column": "key"}, r"id_column='key' is no column of the table"),
            ({"key": ["a"], "labels": [["x"]]}, {}, r"no column 'id' or 'image_id' for the ids"),
            ({"id": ["a"], "tags": [["x"]]}, {}, r"no column 'labels' or 'label' for the labels"),
            ({"id": [0.5], "labels": [["x"]]}, {}, r"id_column='id' holds DOUBLE; ids are texts or integers"),
            ({"id": ["a"], "labels": [[0.5]]}, {}, r"labels are texts or integers"),
            ({"id": ["a"], "labels": [True]}, {}, r"label_column='labels' holds BOOLEAN"),
            ({"id": ["a", "b"], "x": [1, -1], "y": [0, 0]}, {"label_column": ["x", "y"]}, r"'x' of the table is '-1'"),
            ({"id": ["a", "b"], "x": [1.5, 1], "y": [0, 0]}, {"label_column": ["x", "y"]}, r"hold no count"),
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

    def test_too_many_kinds_of_rows(self, table, monkeypatch):
        """More than one machine takes: refused with their number and an estimate, before any search."""
        monkeypatch.setattr(fields, "MOST_CELLS", 3)
        with pytest.raises(EvoSplitError, match=r"has 7 different rows, which would take about 0 GiB on one machine"):
            evosplit_table(table, RATIOS, histogram=True)

    def test_too_many_rows_in_groups(self, table, monkeypatch):
        """The same for groups."""
        monkeypatch.setattr(groups, "MOST_IN_GROUPS", 99)
        with pytest.raises(EvoSplitError, match=r"101 groups with more than 99 different label sets in them would"):
            evosplit_table(table, RATIOS, histogram=True, group_by="clip")

    def test_many_copies(self):
        """Sums beyond 32 bits: a histogram of as many rows as nobody could hold, solved and counted exactly."""
        copies = np.array([4_000_000_000, 3_000_000_000, 3_000_000_000])
        counts = LabelCounts.from_lists([[], ["cat"], ["cat", "dog"]], ids=["[]", "a", "b"], copies=copies)
        split = evosplit.split(counts, RATIOS)
        assert split.sizes == (7_000_000_000, 2_000_000_000, 1_000_000_000)
        assert np.array_equal(split.table.sum(axis=1), copies)

"""What is written: as the input was, with one column more, all of it or nothing."""

from __future__ import annotations

import csv
import json

import pytest
from table_rows import RATIOS, subset_of

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import pyarrow.csv  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import audit, evosplit_table  # noqa: E402


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

    @pytest.mark.parametrize("sign", [",", ";", "|", "\t"])
    def test_separators(self, tmp_path, sign):
        """What stands between the cells of a CSV file stands there again."""
        text = "\r\n".join(
            sign.join(cells) for cells in (["id", '"la, b;el"'], ["1", "x"], ["2", '"a|b,\ty;"'], ["3", "x"])
        )
        (tmp_path / "a.csv").write_text("\ufeff" + text, encoding="utf-8")
        made = evosplit_table(
            tmp_path / "a.csv", (2, 1), output=tmp_path / "out", label_column="la, b;el", delimiter=""
        ).table
        with made.open(encoding="utf-8", newline="") as stream:
            heading, *lines = csv.reader(stream, delimiter=sign)
        assert heading == ["id", "la, b;el", "split"]
        assert [line[:2] for line in lines] == [["1", "x"], ["2", "a|b,\ty;"], ["3", "x"]]

    def test_leading_zeros(self, tmp_path):
        """Texts of a CSV file are not taken for numbers."""
        (tmp_path / "a.csv").write_text("id,label\n001,1.50\n002,1.50\n", encoding="utf-8")
        made = evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / "out").table
        assert sorted(made.read_text(encoding="utf-8").splitlines())[0].startswith("001,1.50,")

    def test_every_row_of_csv(self, tmp_path):
        """No row is taken for a comment or a title, and a cell may hold quotes and line breaks."""
        text = 'id,label\n#1,x\n"a ""b""",x\n\'c,y\n"d\nd",y\n'
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        made = evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / "out").table
        with made.open(encoding="utf-8", newline="") as stream:
            assert [line[0] for line in csv.reader(stream)] == ["id", "#1", 'a "b"', "'c", "d\nd"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (b"", "a.csv is empty"),
            (b"id,label\n1,x\n2,x,y,z\n", "line 3: 4 cells where the heading has 2; mend the line"),
            (b"id,label\n1,x\n2\n", "line 3: 1 cell where the heading has 2; mend the line"),
            (b"My table\nid,label\n1,x\n2,x\n", "line 2: 2 cells where the heading has 1; mend the line"),
            (b'id,label\n1,"a"x"\n2,b\n', "line 2: .* mend its quotes"),
            (b"id,label\n1,x\n2,caf\xe9\n", "line 3: this is not written in UTF-8; convert the file"),
        ],
    )
    def test_broken_csv(self, tmp_path, text, message):
        """The line that is none is named, and nothing is written."""
        (tmp_path / "a.csv").write_bytes(text)
        with pytest.raises(EvoSplitError, match=message):
            evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / "out")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("histogram", [False, True])
    def test_partitions(self, table, tmp_path, histogram):
        """A folder for each subset, as Hive names it, which reads back as a table and passes the audit."""
        path = self.write(table, tmp_path / "data.parquet")
        out = tmp_path / "out"
        split = evosplit_table(path, RATIOS, output=out, partition_by_split=True, histogram=histogram).split
        assert {each.name for each in (out / "data").iterdir()} == {"split=train", "split=val", "split=test"}
        # Other libraries read the folder as it is: nothing but partitions lies in it.
        back = pq.read_table(out / "data")
        assert subset_of(back) == subset_of(evosplit_table(table, RATIOS, histogram=histogram).table)
        with pytest.raises(EvoSplitError, match="already exist"):
            evosplit_table(path, RATIOS, output=out, partition_by_split=True, histogram=histogram)
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

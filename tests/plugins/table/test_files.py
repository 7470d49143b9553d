"""Folders of files as one table."""

from __future__ import annotations

import pytest

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import evosplit_table  # noqa: E402


class TestPartitions:
    """Folders named as Hive does."""

    def table(self, folder, **more):
        folder.mkdir(parents=True)
        ids = [f"{folder.name} {i}" for i in range(4)]
        further = {name: [each] * 4 for name, each in more.items()}
        pq.write_table(pa.table({"id": ids, "labels": [["x"]] * 4, **further}), folder / "a.parquet")

    def columns(self, path, tmp_path):
        """Split, and give the columns that come out."""
        made = evosplit_table(path, (0.5, 0.5), output=tmp_path / "out").table
        return pq.ParquetFile(made).read().to_pydict()

    def test_of_a_folder(self, tmp_path):
        """Their names are columns, but not those of folders above."""
        for day in ("mon", "tue"):
            self.table(tmp_path / "run=5" / "parts" / f"day={day}")
        found = self.columns(tmp_path / "run=5" / "parts", tmp_path)
        assert list(found) == ["id", "labels", "day", "split"]
        assert found["day"] == ["mon"] * 4 + ["tue"] * 4

    def test_named_themselves(self, tmp_path):
        """A folder that is a partition has its name, too."""
        self.table(tmp_path / "day=mon")
        assert self.columns(tmp_path / "day=mon", tmp_path)["day"] == ["mon"] * 4

    def test_of_a_file(self, tmp_path):
        """A file has the columns that are in it, whatever its folder is called."""
        self.table(tmp_path / "run=5", run="mine")
        assert self.columns(tmp_path / "run=5" / "a.parquet", tmp_path)["run"] == ["mine"] * 4

    def test_column_and_folder(self, tmp_path):
        """What is in the files would be replaced by the name of the folder."""
        self.table(tmp_path / "run=5", run="mine")
        with pytest.raises(EvoSplitError, match=r"'run' is a column of .*a.parquet, and also a folder above it"):
            self.columns(tmp_path / "run=5", tmp_path)

"""One seed, one split: as the engine solves it, dealt out as the slow rule says, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from table_rows import RATIOS, as_arrow, as_kind, dealt, subset_of

import evosplit
from evosplit import LabelCounts

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from evosplit_plugins.table import evosplit_table, read_counts, reading, writing  # noqa: E402


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

    def test_many_copies(self):
        """Sums beyond 32 bits: a histogram of as many rows as nobody could hold, solved and counted exactly."""
        copies = np.array([4_000_000_000, 3_000_000_000, 3_000_000_000])
        counts = LabelCounts.from_lists([[], ["cat"], ["cat", "dog"]], ids=["[]", "a", "b"], copies=copies)
        split = evosplit.split(counts, RATIOS)
        assert split.sizes == (7_000_000_000, 2_000_000_000, 1_000_000_000)
        assert np.array_equal(split.table.sum(axis=1), copies)

"""Locks and strata by columns, held row by row or counted; saved splits applied again."""

from __future__ import annotations

import numpy as np
import pytest
from table_rows import RATIOS, subset_of

from evosplit import EvoSplitError, Split

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import apply_split, evosplit_table  # noqa: E402


@pytest.mark.parametrize("histogram", [False, True])
class TestConstraints:
    """Groups, locks and strata by columns, held row by row or counted."""

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


class TestReplay:
    """A saved split, applied again."""

    @pytest.mark.parametrize(
        "options", [{}, {"group_by": "clip", "stratify_by": ["site"]}, {"stratify_by": ["site", "width"]}], ids=str
    )
    @pytest.mark.parametrize("histogram", [False, True])
    def test_same_rows(self, table, tmp_path, histogram, options):
        """In another order, from the manifest alone."""
        made, split = evosplit_table(table, RATIOS, histogram=histogram, seed=3, **options)
        split.save(tmp_path / "split.json")
        again, _ = apply_split(table.take(list(range(len(table)))[::-1]), tmp_path / "split.json")
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
        assert subset_of(apply_split(table, tmp_path / "split.json").table) == subset_of(made)

    def test_counted_and_named(self, table, tmp_path):
        """A split that names samples needs them, and one of kinds of rows needs these."""
        named = evosplit_table(table, RATIOS).split
        with pytest.raises(EvoSplitError, match="histogram=False"):
            apply_split(table, named, histogram=True)
        counted = evosplit_table(table, RATIOS, histogram=True).split
        with pytest.raises(EvoSplitError, match="only counted"):
            apply_split(table, counted, histogram=False)
        assert Split.from_manifest(counted.to_manifest()).has_copies

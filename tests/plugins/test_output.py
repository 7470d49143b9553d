"""What all that writes shares: names of subsets, and a page that goes into a file of its own."""

from __future__ import annotations

import pytest
from coco_files import tree

from evosplit import EvoSplitError
from evosplit_plugins.output import check_subset_names, plan_page

LABELS = [["cat"], ["dog"], ["cat", "dog"], []]


@pytest.mark.parametrize("names", [("Val", "val"), ("é", "e\u0301"), ("Straße", "STRASSE")], ids=str)
def test_names_that_are_one_file_somewhere(names):
    """Names that differ in case alone, or in how a letter is written, are refused on every disk."""
    with pytest.raises(EvoSplitError, match="would be one file; give one another name"):
        check_subset_names(names)


def test_no_page():
    """Without a path there is nothing to write."""
    assert plan_page(None) is None


@pytest.mark.parametrize("call", ["evosplit_table", "apply_split"])
def test_page_of_a_table_in_memory(call, tmp_path):
    """It replaces an earlier page, and nothing else; this is known before the search."""
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    from evosplit_plugins import table

    rows = pa.table({"id": range(40), "labels": LABELS * 10})
    made = table.evosplit_table(rows, (30, 10), method="random").split
    given = {"evosplit_table": {"ratios": (30, 10), "method": "random"}, "apply_split": {"split": made}}[call]
    page = tmp_path / "page.html"
    for _ in range(2):
        getattr(table, call)(rows, **given, report=page)
        assert "EvoSplit" in page.read_text(encoding="utf-8")
    page.write_text("mine")
    before = tree(tmp_path)

    def hear(done, message):
        assert message == "reading", "it searched"

    with pytest.raises(EvoSplitError, match=r"page\.html exists, but was not written by EvoSplit"):
        getattr(table, call)(rows, **given, report=page, on_progress=hear)
    assert tree(tmp_path) == before


def test_labels_of_a_table_are_an_input(tmp_path):
    """A table of labels that an earlier run wrote is not replaced by a split that reads it."""
    pytest.importorskip("duckdb")
    from evosplit_plugins import evosplit_table

    (tmp_path / "t.csv").write_text("id,labels\n" + "".join(f"{number},cat\n" for number in range(20)))
    evosplit_table(tmp_path / "t.csv", (15, 5), output=tmp_path / "out", method="random")
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"t\.csv is the input .*t\.csv; choose another output"):
        evosplit_table(
            tmp_path / "t.csv",
            (15, 5),
            output=tmp_path / "out",
            label_table=tmp_path / "out" / "t.csv",
            label_column="labels",
            method="random",
            overwrite=True,
        )
    assert tree(tmp_path) == before

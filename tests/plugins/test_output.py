"""What all that writes shares: names of subsets, and a page that goes into a file of its own."""

from __future__ import annotations

import os

import pytest
from coco_files import QUICK, RATIOS, instances, tree, write

from evosplit import EvoSplitError
from evosplit_plugins import evosplit_coco
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


@pytest.mark.skipif(os.name == "nt", reason="no process can be kept from writing large files")
@pytest.mark.parametrize("beside", [True, False])
def test_a_disk_that_takes_no_more_is_told_as_one(tmp_path, beside):
    """Whichever file was the last: the message names the folder and what helps, nothing of how files are made."""
    import resource

    path = write(tmp_path / "a.json", instances())
    page = tmp_path / ("pages" if beside else "out") / "page.html"
    page.parent.mkdir()
    before = tree(tmp_path)
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    told = set()
    limit = 64
    while True:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
        try:
            evosplit_coco(path, tmp_path / "out", RATIOS, report=page, **QUICK)
            break
        except EvoSplitError as error:
            told.add(str(error))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
        assert tree(tmp_path) == before
        limit *= 2
    assert page.stat().st_size > (tmp_path / "out" / "split.json").stat().st_size > 256
    assert told == {
        f"cannot write to {tmp_path / 'out'}: File too large; nothing was changed; choose another output directory"
    }


@pytest.mark.parametrize("linked", [False, True])
def test_data_in_the_place_of_the_manifest(tmp_path, linked):
    """Annotations that are called, or linked, as the manifest is to be are no manifest that may stay: it is refused."""
    own = tmp_path / "out" / "split.json"
    path = write(tmp_path / "a.json" if linked else own, instances())
    if linked:
        own.parent.mkdir()
        own.symlink_to(path)
    before = tree(tmp_path)
    with pytest.raises(EvoSplitError, match=r"split\.json is (linked to )?the input .*; choose another output"):
        evosplit_coco(path, own.parent, RATIOS, overwrite=True, **QUICK)
    assert tree(tmp_path) == before

"""Audits of tables that are only counted: what they would say if each row were held."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from table_rows import named_rows

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from evosplit_plugins.cli import main  # noqa: E402
from evosplit_plugins.table import audit, divided, reading  # noqa: E402


@pytest.fixture(scope="module")
def leaking():
    """Give a table whose subsets share ids, pictures and groups; some rows are in no subset."""
    table = named_rows()
    subsets = ["train", "val", "test", None, "train", "train", ""]
    ids = table.column("id").to_pylist()
    ids[100], ids[101], ids[102] = ids[4], ids[7], "./" + ids[7]
    columns = {"id": ids, "labels": table.column("labels"), "clip": table.column("clip"), "site": table.column("width")}
    return pa.table({**columns, "split": [subsets[i % 7] for i in range(len(table))]})


ASKED = {
    "labels": {},
    "group": {"group_by": "clip"},
    "groups": {"group_by": ["clip", "site"]},
    "regex": {"group_regex": r"^(?:\./)?(clip\d+)/"},
    "regex and group": {"group_regex": r"^(?:\./)?(clip\d+)/", "group_by": "clip"},
}


def said(judged):
    """Tell what was found, but for which examples are shown."""
    leaks = [(leak.kind, leak.subsets, leak.n_shared, leak.n_samples) for leak in judged.leaks]
    notes = sorted(re.sub(r": .*", "", note) for note in judged.split.notes)
    return leaks, notes, judged.split.sizes, judged.split.measures, judged.verdict


@pytest.mark.parametrize("case", ASKED)
def test_as_if_rows_were_held(leaking, case):
    """The same leaks, repeats, sizes, measures and verdict, and examples that are among those of the rows."""
    rows, counted = (audit(leaking, histogram=each, compare=False, **ASKED[case]) for each in (False, True))
    assert said(counted) == said(rows)
    assert {leak.kind for leak in counted.leaks} >= {"file name", "source picture"}
    ids = {*leaking.column("id").to_pylist(), *leaking.column("clip").to_pylist()}
    for leak in counted.leaks:
        if leak.kind == "file name":
            assert {each in ids or f"./{each}" in ids for each in leak.examples} == {True}


def test_compared(leaking):
    """EvoSplit's own split at the same sizes is beside it; it is more even, and keeps groups whole."""
    judged = audit(leaking, histogram=True, group_by="clip")
    assert judged.instead is not None
    assert judged.instead.sizes == judged.split.sizes
    assert judged.instead.measures.ld < judged.split.measures.ld


def test_many_rows_are_counted(leaking, monkeypatch):
    """From some size on nothing is held for each row."""
    monkeypatch.setattr(reading, "MOST_ROWS", 10)
    assert audit(leaking, compare=False).split.has_copies


def test_ids_that_are_integers():
    """Integers repeat like texts."""
    table = pa.table({"id": [1, 2, 1, 4], "labels": [["a"], ["b"]] * 2, "split": ["train", "train", "val", "val"]})
    rows, counted = (audit(table, histogram=each) for each in (False, True))
    assert [str(leak) for leak in counted.leaks] == [str(leak) for leak in rows.leaks]
    assert [str(leak) for leak in counted.leaks] == ["train and val share 1 file name: 1."]


def test_command(leaking, tmp_path, capsys):
    """At the shell: leaks make it fail, and the JSON is whole."""
    import pyarrow.parquet as pq

    pq.write_table(leaking, tmp_path / "a.parquet")
    assert main(["table", "audit", str(tmp_path / "a.parquet"), "--histogram", "--json", "--group-by", "clip"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {leak["kind"] for leak in told["leaks"]} == {"file name", "source picture", "group"}
    assert told["evosplit"]["sizes"] == {"train": 257, "val": 86, "test": 86}


@pytest.mark.parametrize(
    ("subsets", "options", "message"),
    [
        (["a"] * 70, {}, "there is only 'a' in the table; give two or more"),
        ([""] * 70, {}, r"no row has a subset"),
        ([f"s{i}" for i in range(70)], {}, r"subset_column='split' of the table names more than 62 subsets"),
        (["a", "b"] * 35, {"group_by": "nope"}, r"group_by='nope' is no column"),
        (["a", "b"] * 35, {"group_regex": "x"}, r"group_regex='x' .*holds integers"),
        (["a", "b"] * 35, {"subset_column": "nope"}, r"subset_column='nope' is no column"),
    ],
)
def test_bad_input(subsets, options, message):
    """What cannot be judged is named."""
    table = pa.table({"id": np.arange(70), "labels": [["x"]] * 70, "split": subsets})
    with pytest.raises(EvoSplitError, match=message):
        audit(table, histogram=True, **options)


def test_no_subsets(leaking):
    """A table without a column of subsets says which option names it."""
    with pytest.raises(EvoSplitError, match=r"is not divided into several; see subset_column="):
        audit(leaking.drop_columns(["split"]), histogram=True)


def test_too_many_groups(leaking, monkeypatch):
    """More combinations than one machine takes are refused."""
    monkeypatch.setattr(divided, "MOST_IN_GROUPS", 5)
    with pytest.raises(EvoSplitError, match=r"more than 5 combinations of names"):
        audit(leaking, histogram=True, group_by=["clip", "site"])

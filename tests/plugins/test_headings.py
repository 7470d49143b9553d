"""What the heading of a table tells: the separator, and the columns by their usual names or those that are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from evosplit import EvoSplitError
from evosplit_plugins.headings import IDS, LABELS, find_column, separator_in, usual_column


@pytest.mark.parametrize(
    ("heading", "sign"),
    [
        ("id,subset,labels", ","),
        ("id;subset;labels", ";"),
        ("id\tsubset\tlabels", "\t"),
        ("id|labels", "|"),
        ("id;subset;cat,dog,fox,owl", ";"),  # one column of labels whose name has commas
        ('id,"cat; dog; fox; owl",labels', ","),  # none cuts through quotes
        ("ID;Subset", ";"),
        ("name,a;b;c", ";"),  # nothing is known, so the most cells decide
        ("id", ","),
        ("", ","),
    ],
)
def test_separator(heading, sign):
    """The sign that gives the most columns that are known; else the one that gives the most."""
    assert separator_in(heading, Path("a.csv")) == sign


def test_separator_of_a_known_column():
    """A column that the user names is known; in a file of tabs nothing else is looked for."""
    assert separator_in("sample|fold,a,b", Path("a.csv")) == ","
    assert separator_in("sample|fold,a,b", Path("a.csv"), known=("Sample",)) == "|"
    assert separator_in("id,subset", Path("a.TSV")) == "\t"


def test_usual_columns():
    """The likeliest name comes first, in capitals or not."""
    assert usual_column(["path", "File_Name", "label"], IDS) == "File_Name"
    assert usual_column(["path", "label"], ("labels",)) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tags", "label_column='tags' is no column of a.csv; it has 'id', 'cats'"),
        ("CATS", "label_column='CATS' is no column of a.csv"),
        (
            None,
            "a.csv has no column 'labels' or 'label' for the labels; it has 'id', 'cats': say which with label_column=",
        ),
    ],
)
def test_no_such_column(given, message):
    """The error names the columns there are, and the parameter."""
    assert find_column(["id", "cats"], "cats", LABELS, "the labels", "label_column", "a.csv") == "cats"
    with pytest.raises(EvoSplitError, match=f"^{message}"):
        find_column(["id", "cats"], given, LABELS, "the labels", "label_column", "a.csv")

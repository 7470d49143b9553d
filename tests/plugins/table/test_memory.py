"""Tables that a library holds come back as they were, with one column more."""

from __future__ import annotations

import pytest
from table_rows import RATIOS, as_kind, subset_of

from evosplit import EvoSplitError

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")

from evosplit_plugins.request import Request  # noqa: E402
from evosplit_plugins.table import TableReading, evosplit_table, read_counts  # noqa: E402
from evosplit_plugins.table.memory import kind_of, open_table  # noqa: E402
from evosplit_plugins.table.reading import POSITION, read_table  # noqa: E402
from evosplit_plugins.walk import run  # noqa: E402


class Frame(pd.DataFrame):
    """A class of one's own."""


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
def test_tables_are_told_apart(table, kind):
    """By their class, or the one it is derived from; what is none of them is none."""
    assert kind_of(as_kind(table, kind)) == kind
    assert kind_of(Frame()) == "pandas"
    assert [kind_of(each) for each in ([], {}, "table.csv", pd.Series([1]), duckdb)] == [None] * 5


@pytest.mark.parametrize("histogram", [False, True])
def test_a_data_frame_keeps_what_arrow_does_not_hold(histogram):
    """Its index, objects of any kind, and the order of the columns stay; the frame itself is not changed."""
    frame = pd.DataFrame(
        {"id": ["c", "a", "b", "d"], "thing": [object(), 1, "x", None], "labels": [["x"], [], ["x"], []]},
        index=[7, 7, 1, 0],
    )
    before = frame.copy()
    made = evosplit_table(frame, (0.5, 0.5), histogram=histogram).table
    assert list(made.columns) == ["id", "thing", "labels", "split"]
    pd.testing.assert_frame_equal(made.drop(columns="split"), before)
    pd.testing.assert_frame_equal(frame, before)
    assert made["split"].value_counts().to_dict() == {"train": 2, "test": 2}


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars"])
def test_an_old_column_is_replaced_in_its_place(table, kind):
    """Subsets that are there already give way to the new ones."""
    old = table.add_column(1, "split", pa.array(["train"] * len(table)))
    made = evosplit_table(as_kind(old, kind), RATIOS).table
    columns = made.column_names if kind == "pyarrow" else list(made.columns)
    assert columns == ["id", "split", *table.column_names[1:]]
    assert set(made["split"].to_pylist() if kind == "pyarrow" else made["split"].to_list()) == set(RATIOS)


def test_a_table_that_changes_meanwhile():
    """Rows that have gone since they were counted are noticed, not placed wrongly."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS id, ['x'] AS labels FROM range(100)")
    opened, how = open_table(connection.table("t"), TableReading()), TableReading(histogram=True)
    source = read_table(opened.engine, how)
    split = run(source, Request(ratios=(0.5, 0.5)))
    assert len(opened.with_subsets(source, split, None).fetchall()) == 100
    connection.execute("UPDATE t SET labels = ['y'] WHERE id < 10")
    with pytest.raises(EvoSplitError, match="the table has changed since its labels were counted"):
        opened.with_subsets(source, split, None).fetchall()


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda table: [1], {}, "table is a list; pass a pandas or polars DataFrame"),
        (lambda table: table.append_column(POSITION, table.column("id")), {}, "which is a name of ours; rename it"),
        (lambda table: table.append_column("ID", table.column("id")), {}, "the column 'id' twice, at least in cap"),
        (lambda table: table, {"engine": "spark"}, "engine='spark': a table of pyarrow stays where it is"),
        (lambda table: table, {"label_table": {}}, "label_table= is no table; pass one of the same kind"),
    ],
    ids=["no table", "our name", "twice", "engine", "label table"],
)
def test_refused(table, make, options, message):
    """What cannot be opened is named, with the remedy."""
    with pytest.raises(EvoSplitError, match=message):
        read_counts(make(table), **options)


def test_tables_of_two_libraries(table):
    """The labels may lie in a table of another library, as long as it is in memory, too."""
    lists = [(row["id"], label) for row in table.to_pylist() for label in row["labels"]]
    long = pd.DataFrame(lists, columns=["id", "label"])
    made = evosplit_table(table.drop_columns(["labels"]), RATIOS, label_table=long, label_column="label").table
    assert subset_of(made) == subset_of(evosplit_table(table, RATIOS).table)

"""Tables on Spark: real sessions, real worker processes, and the same split as on DuckDB."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from spark_session import check_spark, new_session
from table_rows import RATIOS, checksum, named_rows, rows, subset_of

from evosplit import EvoSplitError
from evosplit.methods.evosplit import budget

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

import pyarrow.parquet as pq  # noqa: E402

from evosplit_plugins.table import TableReading, apply_split, audit, cells, evosplit_table, read_counts  # noqa: E402
from evosplit_plugins.table.files import open_files  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Split on two worker processes, as on a cluster; they start while the other tests of this file run."""
    check_spark()
    folder = tmp_path_factory.mktemp("cluster")
    # Workers leave their files in Spark's home, which may be read-only: one of links takes its place.
    home = folder / "spark"
    home.mkdir()
    for part in Path(find_spec("pyspark").submodule_search_locations[0]).iterdir():
        if part.name != "work":
            (home / part.name).symlink_to(part)
    pq.write_table(rows(), folder / "rows.parquet")
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from importlib.util import find_spec
from pathlib import Path
from spark_session import new_session
from table_rows import RATIOS, checksum
from evosplit.methods.evosplit import budget
from evosplit_plugins import evosplit_table
budget.BASE = {budget.BASE}
spark = new_session("local-cluster[2,1,1024]", Path({str(folder)!r}))
frame = spark.read.parquet({str(folder / "rows.parquet")!r}).repartition(4)
made = evosplit_table(frame, RATIOS, histogram=True, unique_ids=True).table
print(spark.sparkContext.master, checksum((row["id"], row["split"]) for row in made.select("id", "split").collect()))
spark.stop()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "SPARK_HOME": str(home), "PYTHONPATH": os.pathsep.join([str(ROOT / "core"), str(ROOT)])},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def sessions(tmp_path_factory, cluster):
    """Give a function that gives the session with two threads, or a new one where that was stopped."""
    check_spark()
    folder = tmp_path_factory.mktemp("spark")
    yield lambda: new_session("local[2]", folder)
    new_session("local[2]", folder).stop()


@pytest.fixture
def spark(sessions):
    """Give a session with two threads."""
    return sessions()


def spread(spark, table, n_partitions):
    """Make a DataFrame in another order, with so many partitions."""
    return spark.createDataFrame(table).repartition(n_partitions, "site", "width")


CASES = {
    "rows": {"histogram": False},
    "histogram": {"histogram": True, "seed": 4},
    "folds": {"histogram": True, "folds": 3},
    "strata": {"histogram": True, "stratify_by": ["site", "width"]},
    "groups and locks": {"histogram": True, "group_by": "clip", "locked": {"test": ["s0001"]}},
}
PATH = r"^(?:\./)?(clip\d+)/\w+\.rf\.[^.]{32}\.jpg$"


@pytest.mark.parametrize("case", CASES)
def test_same_split_as_duckdb(spark, table, case):
    """Who goes where does not depend on the engine, nor on partitions."""
    options = {**CASES[case]}
    ratios = None if "folds" in options else RATIOS
    column = "fold" if "folds" in options else "split"
    expected, split = evosplit_table(table, ratios, **options)
    made = evosplit_table(spread(spark, table, 5), ratios, **options)
    back = made.table.toArrow()
    assert back.column_names == [*table.column_names, column]
    assert checksum(subset_of(back, column).items()) == checksum(subset_of(expected, column).items())
    assert made.split.sizes == split.sizes
    assert made.split.sample_ids.tolist() == split.sample_ids.tolist()


def test_names_in_ids(spark):
    """Groups by a part of the id, and copies of a picture by its name, are the same; what subsets share, too."""
    table = named_rows()
    given = spark.createDataFrame(table)
    expected = evosplit_table(table, RATIOS, histogram=True, group_regex=PATH)
    made = evosplit_table(given, RATIOS, histogram=True, group_regex=PATH)
    assert checksum(subset_of(made.table.toArrow()).items()) == checksum(subset_of(expected.table).items())
    assert made.split.notes == expected.split.notes
    assert any("are copies of" in note for note in made.split.notes)
    leaking = table.append_column("split", pa.array([("train", "val")[i % 7 == 0] for i in range(len(table))]))
    here, there = (
        audit(each, histogram=True, group_regex=PATH, compare=False)
        for each in (leaking, spark.createDataFrame(leaking))
    )
    assert [leak.kind for leak in here.leaks] == ["source picture", "group"]
    assert here.to_dict() == there.to_dict()


def test_skew(spark, table):
    """Rows do not wait for others of their label set: none are brought together to get their subsets."""
    made = evosplit_table(spread(spark, table, 3), RATIOS, histogram=True, seed=1).table
    plan = made._jdf.queryExecution().optimizedPlan().toString()
    assert "Join" in plan
    assert not {"Window", "Aggregate", "Sort"} & set(re.findall(r"\w+", plan))


def test_forms_of_labels(spark):
    """Structs, delimited texts, JSON, columns of counts and a long table are read as on DuckDB."""
    ids = ["a", "b", "c"]
    forms = {
        "structs": ({"id": ids, "boxes": [[{"l": "x y"}, {"l": "z"}], [], None]}, {"label_column": "boxes.l"}),
        "cut": ({"id": ids, "labels": ["x.y . z", "", None]}, {"delimiter": "."}),
        "json": ({"id": ids, "labels": ['["x, y", "z", "z"]', "[]", None]}, {}),
        "counts": ({"id": ids, "x": ["1.0", "0", "2"], "y": [0, 0, None]}, {"label_column": ["x", "y"]}),
        "single": ({"id": ids, "label": [3, 3, 12]}, {}),
    }
    for name, (columns, options) in forms.items():
        table = pa.table(columns)
        here, there = read_counts(table, **options), read_counts(spark.createDataFrame(table), **options)
        assert here.labels == there.labels, name
        assert (here.matrix != there.matrix).nnz == 0, name
    long = pa.table({"id": ["a", "a", "c"], "label": ["x", "x", "y"]})
    table = pa.table({"id": ids})
    here = read_counts(table, label_table=long, label_column="label")
    there = read_counts(spark.createDataFrame(table), label_table=spark.createDataFrame(long), label_column="label")
    assert (here.matrix != there.matrix).nnz == 0


def test_files(spark, table, tmp_path):
    """Files are written with all columns, partitioned or not; a saved split is applied to them; the audit passes."""
    pq.write_table(table, tmp_path / "data.parquet")
    options = {"engine": "spark", "histogram": True}
    made = evosplit_table(
        tmp_path / "data.parquet", RATIOS, output=tmp_path / "out", partition_by_split=True, **options
    )
    expected = subset_of(evosplit_table(table, RATIOS, histogram=True).table)
    assert subset_of(spark.read.parquet(str(tmp_path / "out" / "data")).toArrow()) == expected
    assert audit(tmp_path / "out", compare=False).failures() == []
    again = apply_split(
        tmp_path / "data.parquet", tmp_path / "out" / "split.json", output=tmp_path / "again", engine="duckdb"
    )
    assert subset_of(pq.read_table(again.table)) == expected
    plain = evosplit_table(tmp_path / "data.parquet", RATIOS, output=tmp_path / "plain", **options)
    parts = [pq.read_table(part) for part in sorted(plain.table.glob("part-*"))]
    assert subset_of(pa.concat_tables(parts)) == expected
    assert made.split.sizes == (420, 120, 60)
    evosplit_table(tmp_path / "data.parquet", RATIOS, output=tmp_path / "lists", ids_only=True, **options)
    lines = (tmp_path / "lists" / "val.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(sample for sample, subset in expected.items() if subset == "val")


def test_too_many_kinds_of_rows(spark, table, monkeypatch):
    """Refused with their number, as on DuckDB."""
    monkeypatch.setattr(cells, "MOST_CELLS", 3)
    with pytest.raises(EvoSplitError, match=r"has 7 different rows, which would take about 0 GiB on one machine"):
        evosplit_table(spark.createDataFrame(table), RATIOS, histogram=True, unique_ids=True)


def test_changed_between_the_passes(spark, table, tmp_path):
    """Rows that were not counted stop the query that would place them."""
    pq.write_table(table, tmp_path / "data.parquet")
    other = table.set_column(1, "labels", pa.array([["new"]] * len(table)))
    frame = spark.read.parquet(str(tmp_path / "data.parquet"))
    made = evosplit_table(frame, RATIOS, histogram=True).table
    pq.write_table(other, tmp_path / "data.parquet")
    spark.catalog.refreshByPath(str(tmp_path / "data.parquet"))
    with pytest.raises(Exception, match="has changed since its labels were counted"):
        made.collect()


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"id": ["a", "a"], "labels": [["x"]] * 2}, {}, r"repeats 1 id, for example 'a'"),
        ({"id": ["a", None], "labels": [["x"]] * 2}, {}, r"null in 1 of 2 rows, for example where labels is"),
        ({"id": ["a", "b"], "labels": ["x, y", "z"]}, {}, r"say whether it stands between labels"),
        ({"id": ["a", "b"], "labels": ['["x"y]', '["z"]']}, {}, r"1 texts that are no JSON lists of labels"),
        ({"id": ["a", "b"], "x": [-1, 0], "y": [0, 0]}, {"label_column": ["x", "y"]}, r"hold no count"),
    ],
    ids=str,
)
def test_bad_input(spark, columns, options, message):
    """Refused as on DuckDB."""
    frame = spark.createDataFrame(pa.table(columns))
    with pytest.raises(EvoSplitError, match=message):
        evosplit_table(frame, (0.5, 0.5), **options)


def test_csv(spark, tmp_path):
    """The rows of a CSV file are those that DuckDB finds, and a line that is none is refused."""
    assert spark is not None  # the session that the command takes up
    (tmp_path / "a.csv").write_text('id,label\n#1,x\n"a ""b""",x\n\'c,"y\ny"\nd,"y\ny"\n', encoding="utf-8")
    made = [
        evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / name, engine=name, ids_only=True).split
        for name in ("duckdb", "spark")
    ]
    lists = [sorted((tmp_path / name).rglob("*.txt")) for name in ("duckdb", "spark")]
    assert [path.read_text() for path in lists[0]] == [path.read_text() for path in lists[1]]
    assert made[0].sizes == made[1].sizes == (2, 2)
    (tmp_path / "a.csv").write_text("id,label\n1,x\n2\n", encoding="utf-8")
    with pytest.raises(EvoSplitError):
        evosplit_table(tmp_path / "a.csv", (0.5, 0.5), output=tmp_path / "other", engine="spark")
    assert not (tmp_path / "other").exists()


def test_files_that_differ(spark, tmp_path):
    """The columns of all files are read, in the order of the first; what Spark would confuse is refused."""
    assert spark is not None  # the session that the command takes up
    parts = [{"id": ["a", "b"], "label": ["x", "x"], "z": [1, 1]}, {"label": ["x", "x"], "id": ["c", "d"], "y": [2, 2]}]
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(parts):
        pq.write_table(pa.table(part), tmp_path / "parts" / f"{number}.parquet")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "label": "x", "b": 2, "a": 3}\n{"id": 2, "c": 1}\n', encoding="utf-8")
    for given, expected in (("parts", ["id", "label", "z", "y"]), ("a.jsonl", ["id", "label", "b", "a", "c"])):
        opened = open_files([tmp_path / given], TableReading(engine="spark"))
        assert list(opened.engine.columns) == expected
    (tmp_path / "a.csv").write_text("id,label\n1,x\n2,x\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("label,id\nx,3\nx,4\n", encoding="utf-8")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with pytest.raises(EvoSplitError, match="Spark cannot read the table"):
        evosplit_table(paths, (0.5, 0.5), output=tmp_path / "out", engine="spark")


def test_local_cluster(cluster, table):
    """Two worker processes, as on a cluster: the same checksum."""
    said, complaint = cluster.communicate(timeout=900)
    assert cluster.returncode == 0, complaint[-2000:]
    expected = checksum(subset_of(evosplit_table(table, RATIOS, histogram=True).table).items())
    assert said.split()[-2:] == ["local-cluster[2,1,1024]", expected]


def test_session_that_has_stopped(spark, table):
    """A session that has stopped is named as the reason."""
    frame = spark.createDataFrame(table)
    spark.stop()
    with pytest.raises(EvoSplitError, match="the Spark session of the table has stopped"):
        evosplit_table(frame, RATIOS)

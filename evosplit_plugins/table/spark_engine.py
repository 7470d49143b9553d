"""Spark: tables on many machines. Sessions are the user's; nothing but counts and quotas passes through the driver."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evosplit import EvoSplitError
from evosplit.errors import needing
from evosplit_plugins.table.engine import ColumnType, Dialect, Engine, common_separator
from evosplit_plugins.table.reading import data_files, with_labels

if TYPE_CHECKING:
    from evosplit_plugins.table.adapter import TableReading

__all__ = ["SparkEngine", "open_on_spark"]

_KINDS = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "varchar", "char"), "text"),
    "boolean": "boolean",
}
_OURS = re.compile(r"evosplit: ([^\n]*?)(?: SQLSTATE| *$|\n)")


DIALECT = Dialect(
    as_text="CAST({} AS STRING)",
    as_texts="CAST({} AS ARRAY<STRING>)",
    plucked="transform({}, x -> x.{})",
    from_json="from_json({}, 'array<string>')",
    tidied="array_sort(filter(coalesce({}, CAST(array() AS ARRAY<STRING>)), x -> x IS NOT NULL))",
    list_key="xxhash64({1})",
    gathered="array_sort(collect_list({}) FILTER (WHERE {}))",
    element="get({}, CAST({} - 1 AS INTEGER))",
    listed="array({})",
    replaced="regexp_replace({}, {}, {})",
    failing="CAST(raise_error({}) AS INT)",
)


class SparkEngine(Engine):
    """A DataFrame of Spark.

    Parameters
    ----------
    frame
        The table.
    """

    name = "spark"
    dialect = DIALECT
    data = "{data}"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @cached_property
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns in their order."""
        with _as_sentences(self._frame):
            return {each.name: _type(each.dataType) for each in self._frame.schema.fields}

    def fetch(self, sql: str, **tables: Any) -> Any:
        """Run a query whose result is small."""
        with _as_sentences(self._frame):
            return self.query(sql, **tables).toArrow()

    def query(self, sql: str, **tables: Any) -> Any:
        """Give what a query returns, as a DataFrame that is not computed yet."""
        from pyspark.sql.functions import broadcast

        with _as_sentences(self._frame):
            session = self._frame.sparkSession
            small = {
                name: broadcast(session.createDataFrame(each)) if hasattr(each, "to_batches") else each
                for name, each in tables.items()
            }
            return session.sql(sql, data=self._frame, **small)

    def like(self, made: Any) -> SparkEngine:
        """Hold another DataFrame of the same session."""
        return SparkEngine(made)

    def write(self, made: Any, path: Path, form: str, *, separator: str = ",", by: str | None = None) -> int:
        """Write a DataFrame into a folder, or into a folder for each value of a column."""
        from pyspark.sql import Observation
        from pyspark.sql.functions import count, lit

        seen = Observation()
        with _as_sentences(self._frame, "write"):
            writer = made.observe(seen, count(lit(1)).alias("n")).write.mode("append")
            writer = writer if by is None else writer.partitionBy(by)
            if form == "csv":
                writer = writer.option("header", True).option("sep", separator).option("escape", '"')
            writer.format(form).save(path.absolute().as_uri())
            for name in ("_SUCCESS", "._SUCCESS.crc"):
                (path / name).unlink(missing_ok=True)
            return int(seen.get["n"])

    def pairs(self, made: Any, first: str, second: str) -> Iterator[tuple[str, str]]:
        """Give two columns in the order of the first."""
        from pyspark.sql.functions import col

        with _as_sentences(self._frame):
            id_at, subset_at = (col(f"`{name.replace('`', '``')}`") for name in (first, second))
            text = id_at.cast("string").alias("first")
            for row in made.select(text, subset_at).orderBy("first").toLocalIterator():
                yield row[0], row[1]

    def table(self, name: str) -> str:
        """Name a small table in a query."""
        return f"{{{name}}}"

    def quoted(self, name: str) -> str:
        """Write the name of a column."""
        return "`" + _escaped(name.replace("`", "``")) + "`"

    def literal(self, text: str) -> str:
        """Write a text."""
        return "'" + _escaped(text.replace("\\", "\\\\").replace("'", "\\'")) + "'"

    def cut(self, expression: str, delimiter: str) -> str:
        """Cut a text into a list."""
        return f"transform(split({expression}, {self.literal(re.escape(delimiter))}), x -> nullif(trim(x), ''))"

    def mixed(self, expressions: Sequence[str]) -> str:
        """Hash values; nulls, which Spark skips, are told."""
        return f"xxhash64({', '.join(f'{each}, {each} IS NULL' for each in expressions)})"

    def hashed(self, seed: int, text: str) -> str:
        """Hash a text."""
        md5 = f"md5(concat('{seed}:', {text}))"
        digits = ", ".join(f"substring({md5}, {at}, {n})" for at, n in [(16, 1), *((at, 2) for at in range(13, 0, -2))])
        return f"CAST(conv(concat({digits}), 16, 10) AS BIGINT)"


def open_on_spark(files: Sequence[Path], form: str, how: TableReading, root: Path | None = None) -> SparkEngine:
    """Open files with the active session, or a new one that is configured from outside.

    Partitions named as Hive does, in the folder `root`, are columns.
    """
    with needing("pyspark", "engine='spark' needs pyspark", "spark"):
        from pyspark.sql import SparkSession
    session = SparkSession.builder.appName("evosplit").getOrCreate()
    engine = SparkEngine(_load(session, files, form, root))
    if how.label_table is None:
        return engine
    other = _load(session, *data_files([Path(how.label_table)]))
    return SparkEngine(with_labels(engine, how, engine.table("long"), other.columns, long=other))


def _load(session: Any, files: Sequence[Path], form: str, root: Path | None = None) -> Any:
    """Read files as texts where a format has no types, with the columns of all of them."""
    reader = session.read.format(form)
    if form == "parquet":
        reader = reader.option("mergeSchema", True)
    if form == "csv":
        # Rows that are no rows are an error, and a cell may hold a line break; each file is then read by one task. So
        # are files with other columns than the first one, whose cells would be taken for those of the first.
        reader = reader.options(header=True, sep=common_separator(files), escape='"', multiLine=True, mode="FAILFAST")
        reader = reader.option("enforceSchema", False)
    if root is not None:
        reader = reader.option("basePath", root.as_uri())
    with _as_sentences(None):
        return _in_order(reader.load([path.absolute().as_uri() for path in files]), files, form)


def _in_order(frame: Any, files: Sequence[Path], form: str) -> Any:
    """Order the columns of JSON lines as in the first of them; Spark sorts them."""
    if form != "json":
        return frame
    with files[0].open(encoding="utf-8-sig") as stream:
        try:
            first = json.loads(stream.readline())
        except (ValueError, RecursionError):  # an array over several lines, which Spark refuses itself
            return frame
    known = [name for name in first if name in frame.columns] if isinstance(first, dict) else []
    order = [*known, *(name for name in frame.columns if name not in known)]
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in order))


def _escaped(text: str) -> str:
    """Keep braces as they are, since Spark formats queries."""
    return text.replace("{", "{{").replace("}", "}}")


@contextmanager
def _as_sentences(frame: Any, doing: str = "read") -> Iterator[None]:
    """Turn what Spark says of the data, and of a session that has stopped, into an error of ours."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except EvoSplitError:
        raise
    except (PySparkException, Py4JError, AttributeError, AssertionError, ConnectionError) as error:
        ours = _OURS.search(str(error))
        if ours is not None:
            raise EvoSplitError(ours[1].strip().rstrip(".")) from error
        if frame is not None and _has_stopped(frame):
            stopped = "the Spark session of the table has stopped; start one and read the table again"
            raise EvoSplitError(stopped) from error
        if isinstance(error, (AttributeError, AssertionError)):
            raise
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise EvoSplitError(f"Spark cannot {doing} the table: {said[:300]}", parameter=()) from error


def _has_stopped(frame: Any) -> bool:
    """Tell whether the session of a table has stopped."""
    session = frame.sparkSession
    if hasattr(session, "is_stopped"):  # Spark Connect
        return bool(session.is_stopped)
    # Private, but the public ways tell only of the session that is active in this thread.
    started = getattr(session.sparkContext, "_jsc", None)
    return started is None or bool(started.sc().isStopped())


def _type(given: Any) -> ColumnType:
    """Describe a type of Spark."""
    shown, name = given.simpleString(), given.typeName()
    if name == "array":
        return ColumnType("list", shown, element=_type(given.elementType))
    if name == "struct":
        return ColumnType("struct", shown, fields={each.name: _type(each.dataType) for each in given.fields})
    return ColumnType(_KINDS.get(name.partition("(")[0], "other"), shown)

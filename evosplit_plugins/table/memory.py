"""Tables in memory: told apart without their libraries, given to an engine, and returned with a new column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evosplit import EvoSplitError, Split
from evosplit_plugins.adapter import Destination, Outcome, Write
from evosplit_plugins.output import plan_page
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.table.adapter import TableAdapter, TableReading
from evosplit_plugins.table.duckdb_engine import DuckEngine, connect
from evosplit_plugins.table.engine import Engine
from evosplit_plugins.table.fields import TableSource
from evosplit_plugins.table.reading import POSITION, read_table, with_labels
from evosplit_plugins.table.writing import column_name, placed_rows

__all__ = ["InMemory", "InMemoryAdapter", "kind_of", "open_table"]

_LIBRARIES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table", "pyspark": "DataFrame"}


@dataclass(frozen=True, eq=False)
class InMemory:
    """A table that a library holds.

    Attributes
    ----------
    kind
        "pandas", "polars", "pyarrow", "duckdb" or "pyspark".
    table
        The table.
    engine
        What answers questions about it.
    """

    kind: str
    table: Any
    engine: Engine

    def with_subsets(self, source: TableSource, split: Split, column: str | None) -> Any:
        """Return the same kind of table with the subset of each row; nothing else changes."""
        name, keep = column_name(source, column, is_kfold=split.is_kfold)
        if self.kind in ("duckdb", "pyspark"):
            return placed_rows(source, split, column=name, keep=keep)
        found = self._subset_of_row(source, split)
        if self.kind == "pandas":
            return self.table.assign(**{name: found})
        if self.kind == "polars":
            import polars

            return self.table.with_columns(polars.Series(name, found))
        import pyarrow as pa

        values = pa.array(found, pa.string())
        if name in self.table.column_names:
            return self.table.set_column(self.table.column_names.index(name), name, values)
        return self.table.append_column(name, values)

    def _subset_of_row(self, source: TableSource, split: Split) -> list[str]:
        """Return the subset of each row, in the order of the table."""
        names = np.array(split.names, dtype=object)
        if not source.is_histogram and source.order is not None:
            found = np.empty(len(source), dtype=object)
            found[source.order] = names[split.assignment]
            return list(found)
        placed = placed_rows(source, split, column="subset", keep=(POSITION,)).to_arrow_table()
        if len(placed) != sum(split.sizes):
            raise EvoSplitError("the table has changed since its labels were counted; split it again")
        order = np.argsort(placed.column(POSITION).to_numpy())
        values: list[str] = placed.column("subset").take(order).to_pylist()
        return values


class InMemoryAdapter(TableAdapter):
    """The adapter for a table that a library holds: given as the only path, it comes back among the outcome's facts."""

    needs_output = False

    def read(
        self, paths: Sequence[Any], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> TableSource:
        """Count the labels where the table is; a small table is held row by row."""
        held = _held(paths, options, on_progress)
        return replace(read_table(held.engine, options, need_labels=need_labels), held=held)

    def read_subsets(self, paths: Sequence[Any], options: Any, *, on_progress: OnProgress | None = None) -> TableSource:
        """Read subsets from a column that names them."""
        held = _held(paths, options, on_progress)
        return replace(read_table(held.engine, options, divided=True), held=held)

    def plan(self, to: Destination[Any, Any]) -> Write:
        """Plan the new column, and the page of the report; nothing else is written."""
        source: TableSource = to.source
        column_name(source, to.options.column, is_kfold=to.subsets.is_kfold)
        write_page = plan_page(to.options.report, to.inputs)

        def write(split: Split, on_progress: OnProgress | None) -> Outcome:
            assert source.held is not None  # noqa: S101  (it was read by this adapter)
            made = source.held.with_subsets(source, split, to.options.column)
            if write_page is not None:
                write_page(split.report(nouns=to.nouns))
            return Outcome(split, facts={"table": made})

        return write


def _held(paths: Sequence[Any], options: TableReading, on_progress: OnProgress | None) -> InMemory:
    """Open the only table, and report that it is being read."""
    if on_progress is not None:
        on_progress(0.0, "reading")
    (table,) = paths
    return open_table(table, options)


def kind_of(table: Any) -> str | None:
    """Tell which library holds a table; None if it is none that is known."""
    for base in type(table).__mro__:
        library = base.__module__.partition(".")[0]
        if base.__name__ == _LIBRARIES.get(library):
            return library
        if library in ("duckdb", "_duckdb") and base.__name__ == "DuckDBPyRelation":
            return "duckdb"
    return None


def open_table(table: Any, how: TableReading) -> InMemory:
    """Give a table to an engine."""
    kind = kind_of(table)
    if kind == "pyspark" and not hasattr(table, "sparkSession"):
        raise EvoSplitError("table is one of pandas on Spark; pass table.to_spark()")
    if kind is None:
        raise EvoSplitError(
            f"table is a {type(table).__name__}; pass a pandas or polars DataFrame, a pyarrow Table, a DuckDB "
            "relation, a PySpark DataFrame, or paths of files"
        )
    if how.engine is not None and (how.engine == "spark") != (kind == "pyspark"):
        raise EvoSplitError(f"engine={how.engine!r}: a table of {kind} stays where it is; leave it out")
    if kind == "pyspark":
        from evosplit_plugins.table.spark_engine import SparkEngine

        return InMemory(kind, table, _with_label_table(SparkEngine(table), how))
    if kind == "duckdb":
        return InMemory(kind, table, _with_label_table(DuckEngine(table), how))
    if POSITION in _names(table):
        raise EvoSplitError(f"the table has a column {POSITION!r}, which is a name of ours; rename it")
    _check_names(_names(table))
    arrow = _as_arrow(table)
    import pyarrow as pa

    arrow = arrow.append_column(POSITION, pa.array(np.arange(len(arrow))))
    connection = connect()
    return InMemory(kind, table, _with_label_table(DuckEngine(connection.from_arrow(arrow), connection), how))


def _with_label_table(engine: Engine, how: TableReading) -> Engine:
    """Add the labels of a long table."""
    other: Any = how.label_table
    if other is None:
        return engine
    kind = kind_of(other)
    if kind is None:
        raise EvoSplitError("label_table= is no table; pass one of the same kind as the table itself")
    if isinstance(engine, DuckEngine):
        if kind == "pyspark":
            raise EvoSplitError("label_table= is a Spark table and the other one is not; pass both of one kind")
        long = other if kind == "duckdb" else _as_arrow(other)
        names = list(other.columns) if kind == "duckdb" else list(long.column_names)
        return engine.like(with_labels(engine, how, engine.table("long"), names, long=long))
    from evosplit_plugins.table.spark_engine import SparkEngine

    if kind != "pyspark" or not isinstance(engine, SparkEngine):
        raise EvoSplitError("label_table= is no Spark table and the other one is; pass both of one kind")
    return SparkEngine(with_labels(engine, how, engine.table("long"), other.columns, long=other))


def _names(table: Any) -> list[str]:
    return [str(name) for name in getattr(table, "column_names", getattr(table, "columns", ()))]


def _check_names(names: Sequence[str]) -> None:
    """Refuse names of columns that no engine tells apart."""
    lower = [name.casefold() for name in names]
    if len(set(lower)) < len(lower):
        twice = next(name for name, each in zip(names, lower, strict=True) if lower.count(each) > 1)
        raise EvoSplitError(f"the table has the column {twice!r} twice, at least in capitals; rename one")


def _as_arrow(table: Any) -> Any:
    """Turn a table into one of Arrow; columns that Arrow cannot hold are left out."""
    import pyarrow as pa

    kind = kind_of(table)
    if kind == "pyarrow":
        return table
    if kind == "polars":
        return table.to_arrow()
    made = {}
    for name in table.columns:
        try:
            made[str(name)] = pa.Array.from_pandas(table[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            continue  # objects of any kind stay in the data frame
    return pa.table(made)

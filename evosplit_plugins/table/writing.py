"""Give each row its subset, and write the table with it: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from evosplit import EvoSplitError, Split
from evosplit_plugins.adapter import Destination, Outcome
from evosplit_plugins.output import Output, check_subset_names
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import Staging
from evosplit_plugins.table.engine import HASH_BITS
from evosplit_plugins.table.fields import Cells, TableSource
from evosplit_plugins.table.queries import CHANGED, PREFIX

if TYPE_CHECKING:
    from evosplit_plugins.table.adapter import TableWriting

__all__ = ["HOT_ROWS", "TableOutput", "column_name", "placed_rows"]

HOT_ROWS = 1_000_000  # of one cell: more are ranked in parts, so that no worker gets them all
_PARTS = 4  # times as many parts as needed: hashes do not fill them evenly


def column_name(source: TableSource, column: str | None, *, is_kfold: bool) -> tuple[str, tuple[str, ...]]:
    """Return what the column with the subsets is called, and the columns of the table in their order."""
    name = column or ("fold" if is_kfold else "split")
    keep = tuple(each for each in source.queries.engine.columns if not each.startswith(PREFIX))
    if name in keep and name != source.queries.subset:
        raise EvoSplitError(f"{source.called} has a column {name!r} already; name another with column=")
    same = [each for each in keep if each.casefold() == name.casefold() and each != name]
    if same:
        raise EvoSplitError(f"{source.called} has a column {same[0]!r}, which engines take for {name!r}; see column=")
    return name, keep


def placed_rows(source: TableSource, split: Split, *, column: str, keep: Sequence[str]) -> Any:
    """Give the table with the subset of each row, as the engine's own kind of table.

    Parameters
    ----------
    source
        The table.
    split
        Its split.
    column
        What the column with the subsets is called.
    keep
        The columns of the result, in order.
    """
    import pyarrow as pa

    queries = source.queries
    if not source.is_histogram:
        names = np.array(split.names, dtype=object)[split.assignment]
        ids = [str(each) for each in split.sample_ids.tolist()]
        placed = pa.table({"placed_id": pa.array(ids, pa.string()), "subset": pa.array(names.tolist(), pa.string())})
        return queries.engine.query(queries.joined(keep, column), placed=placed)
    cells: Cells = source.state["cells"]
    seed = _order_seed(split)
    tables = {"cells": _quotas(cells, split, even=queries.engine.even)}
    if source.state["locks"] is not None:
        tables["locks"] = source.state["locks"]
    buckets = _buckets(source, cells, seed, tables)
    if buckets is not None:
        tables["buckets"] = buckets
    sql = queries.placed(cells.columns, seed, split.names, buckets=buckets is not None, keep=keep, column=column)
    return queries.engine.query(sql, **tables)


def _order_seed(split: Split) -> int:
    """Return the seed by which the rows of a cell are ordered; that of a split without one is 0."""
    return int(split.settings.get("seed") or 0)


def _quotas(cells: Cells, split: Split, *, even: bool) -> Any:
    """Make the table of free cells with the cumulative number of rows of each subset."""
    import pyarrow as pa

    table = split.table
    free = np.flatnonzero(cells.locks < 0)
    chosen = cells.found.take(free)
    upto = np.cumsum(table[free], axis=1)
    parts = {name: chosen.column(name) for name in cells.columns.names if name != "lock"}
    bits = np.zeros(len(free), dtype=np.int32)
    if even:
        wanted = np.maximum(cells.copies[free] * _PARTS // HOT_ROWS, 1)
        bits = np.where(cells.copies[free] > HOT_ROWS, np.ceil(np.log2(wanted)), 0).astype(np.int32)
    parts["cell"] = pa.array(np.arange(len(free)), pa.int64())
    parts["bits"] = pa.array(np.minimum(bits, HASH_BITS // 2), pa.int32())
    parts |= {f"upto{j}": pa.array(upto[:, j], pa.int64()) for j in range(upto.shape[1])}
    return pa.table(parts)


def _buckets(source: TableSource, cells: Cells, seed: int, tables: dict[str, Any]) -> Any:
    """Count how many rows of each large cell come before those of each bucket; None if no cell is large."""
    import pyarrow as pa

    quotas = tables["cells"]
    bits = quotas.column("bits").to_numpy()
    if not bits.any():
        return None
    found = source.queries.engine.fetch(source.queries.in_buckets(cells.columns, seed), **tables)
    cell, bucket, n = (found.column(name).to_numpy() for name in ("cell", "bucket", "n"))
    order = np.lexsort((bucket, cell))
    cell, bucket, n = cell[order], bucket[order], n[order]
    total = quotas.column(f"upto{cells.columns.n_subsets - 1}").to_numpy()
    if not np.array_equal(np.bincount(cell, weights=n, minlength=len(bits))[bits > 0], total[bits > 0]):
        raise EvoSplitError(CHANGED.partition(": ")[2])
    before = np.cumsum(n) - n
    first = np.r_[True, cell[1:] != cell[:-1]]
    before -= np.maximum.accumulate(np.where(first, before, 0))
    return pa.table({"cell": cell, "bucket": bucket, "before": before})


class TableOutput:
    """What one command is about to write; what can be refused before the search is refused when it is made."""

    def __init__(self, to: Destination[TableSource, TableWriting]) -> None:
        source, subsets, root, options = to.source, to.subsets, to.root, to.options
        if source.opened is None:
            raise EvoSplitError(f"output={str(root)!r}: only tables in files are written; this one is returned instead")
        if options.ids_only and options.partition_by_split:
            raise EvoSplitError("ids_only=True and partition_by_split=True exclude each other; leave out one of them")
        self._source, self._subsets, self._root, self._options = source, subsets, root, options
        self._opened = source.opened
        self._column, self._keep = column_name(source, options.column, is_kfold=subsets.is_kfold)
        check_subset_names(subsets.names, forbidden="=" if options.partition_by_split else "")
        folders = [path for path in self._opened.paths if path.is_dir()]
        for folder in folders:
            if folder.resolve() in (root.resolve(), *root.resolve().parents):
                raise EvoSplitError(f"the output {root} lies inside of the input {folder}; choose another")
        self._output = Output(to, self._opened.files, folders)
        self._plan = self._output.plan(self._files)
        self._plan.check()

    @property
    def _files(self) -> list[PurePosixPath]:
        """The files that are known before they are written."""
        if self._options.ids_only:
            return [PurePosixPath(f"{name}.txt") for name in self._subsets.names]
        one = not self._options.partition_by_split and self._source.queries.engine.ordered
        return [PurePosixPath(self._opened.base)] if one else []

    def write(self, split: Split, on_progress: OnProgress | None) -> Outcome:
        """Write everything, or nothing."""

        def make(staging: Staging) -> None:
            if on_progress is not None:
                on_progress(0.1, "writing")
            n = self._write_ids(split, staging) if self._options.ids_only else self._write_table(split, staging)
            if n != sum(split.sizes):
                raise EvoSplitError(
                    f"{self._source.called} has changed since its labels were counted: {sum(split.sizes):,} rows then, "
                    f"{n:,} now; nothing was written: split it again"
                )

        written = self._output.write(self._plan, split, make)
        where = self._root if self._options.partition_by_split else self._root / self._opened.base
        listed = [self._root / each for each in self._files] or [where]
        return Outcome(split, (*listed, *written), {}, self._source.notes)

    def _write_table(self, split: Split, staging: Staging) -> int:
        made = placed_rows(self._source, split, column=self._column, keep=self._keep)
        engine, form = self._source.queries.engine, self._opened.form
        if not self._options.partition_by_split:
            return engine.write(made, staging.path(PurePosixPath(self._opened.base)), form)
        return engine.write(made, staging.path(PurePosixPath("x")).parent, form, by=self._column)

    def _write_ids(self, split: Split, staging: Staging) -> int:
        """Write a list for each subset, in the order of the ids."""
        queries = self._source.queries
        made = placed_rows(self._source, split, column=self._column, keep=(queries.id,))
        n = 0
        with ExitStack() as stack:
            write = {name: stack.enter_context(staging.open(PurePosixPath(f"{name}.txt"))) for name in split.names}
            for line, subset in queries.engine.pairs(made, queries.id, self._column):
                if len(line.splitlines()) != 1 or line != line.strip():
                    raise EvoSplitError(f"the id {line!r} of {queries.id!r} cannot stand in a line of a list")
                write[subset](f"{line}\n".encode())
                n += 1
        return n

"""Give each row its subset, and write the table with it: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from evosplit import EvoSplitError, Split
from evosplit_plugins.adapter import Destination, Outcome
from evosplit_plugins.output import Output, check_subset_names
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import Staging
from evosplit_plugins.table.cells import Cells, cell_table
from evosplit_plugins.table.engine import HASH_BITS, common_separator
from evosplit_plugins.table.fields import TableSource
from evosplit_plugins.table.groups import GroupedSplit, Groups
from evosplit_plugins.table.queries import CHANGED, PREFIX

if TYPE_CHECKING:
    from evosplit_plugins.table.adapter import TableWriting

__all__ = ["TableOutput", "column_name", "placed_rows"]

_HIGHEST = 1 << HASH_BITS  # beyond all hashes
_DEVIATIONS, _FEW, _WIDER = 6.0, 20.0, 8.0  # standard deviations, and rows, in which a limit is looked for; then more


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
    seed = int(split.settings.get("seed") or 0)  # that of a split without one is 0
    cells: Cells = source.state["cells"]
    groups: Groups | None = source.state["groups"]
    tables = dict(source.state["tables"])
    quotas = np.where(cells.locks[:, None] < 0, split.table, 0)
    if groups is not None and isinstance(split, GroupedSplit):
        into = split.subset_of_values
        quotas = groups.quotas_alone(split.table, into)
        named = {f"g{number}": pa.array(each) for number, each in enumerate(split.values)}
        tables["groups"] = pa.table({**named, "into": pa.array(into, pa.int32())})
    free = bool(quotas.any())
    if free:
        limits = _limits(source, cells, quotas, seed, tables)
        tables["cells"] = cell_table(cells, **{f"t{j}": limits[:, j] for j in range(limits.shape[1])})
    sql = queries.placed(cells.columns, seed, split.names, keep=keep, column=column, free=free)
    return queries.engine.query(sql, **tables)


def _limits(source: TableSource, cells: Cells, quotas: Any, seed: int, tables: Mapping[str, Any]) -> Any:
    """Return the hash at which each subset of each cell ends (cells x k).

    The engine sorts only hashes near to where a limit is expected, within so many standard deviations, and is asked
    again where one is not among them.
    """
    upto = np.cumsum(quotas, axis=1)
    n = upto[:, -1:]
    limits = np.where(upto == n, _HIGHEST, -1)
    open_ = (upto > 0) & (upto < n)
    within, again = _DEVIATIONS, False
    while open_.any():
        share = upto / np.maximum(n, 1)
        half = within * np.sqrt(share * (1 - share) / np.maximum(n, 1)) + _FEW / np.maximum(n, 1)
        ends = [(np.clip(share + sign * half, 0, 1) * _HIGHEST).astype(np.int64) for sign in (-1, 1)]
        low, high = np.where(open_, ends[0], _HIGHEST), np.where(open_, ends[1], -1)
        asked = np.flatnonzero(open_.any(axis=1) if again else (n > 0).ravel())
        columns = {f"{name}{j}": each[:, j] for name, each in (("upto", upto), ("low", low), ("high", high))
                   for j in range(upto.shape[1] - 1)}  # fmt: skip
        table = cell_table(cells, **columns).filter(np.isin(np.flatnonzero(cells.locks < 0), asked))
        found = source.queries.engine.fetch(
            source.queries.limits(cells.columns, seed, upto.shape[1] - 1), **{**tables, "cells": table}
        )
        cell = found.column("cell").to_numpy()
        if len(cell) != len(asked) or not np.array_equal(found.column("n").to_numpy(), n[cell, 0]):
            raise EvoSplitError(CHANGED.partition(": ")[2])
        for j in range(upto.shape[1] - 1):
            at, after = (found.column(f"{name}{j}").fill_null(-1).to_numpy() for name in ("t", "after"))
            good = open_[cell, j] & (at >= low[cell, j]) & (at <= high[cell, j])
            if (at == after)[good].any():
                raise EvoSplitError(f"two ids of {source.queries.id!r} have the same hash; split with another seed")
            limits[cell[good], j] = at[good]
            open_[cell[good], j] = False
        within, again = within * _WIDER, True
    return limits


class TableOutput:
    """What one command will write; making it refuses all that can be refused before the search."""

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
        self._output = Output(to, [*self._opened.files, *self._opened.label_files], folders)
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
        where = self._root / (self._opened.stem if self._options.partition_by_split else self._opened.base)
        listed = [self._root / each for each in self._files] or [where]
        return Outcome(split, (*listed, *written), {}, self._source.notes)

    def _write_table(self, split: Split, staging: Staging) -> int:
        made = placed_rows(self._source, split, column=self._column, keep=self._keep)
        write = partial(self._source.queries.engine.write, made, form=self._opened.form)
        if self._opened.form == "csv":
            write = partial(write, separator=common_separator(self._opened.files))
        if not self._options.partition_by_split:
            return write(staging.path(PurePosixPath(self._opened.base)))
        return write(staging.path(PurePosixPath(self._opened.stem, "x")).parent, by=self._column)

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

"""Count the labels of a table: row by row where rows are few, kind by kind where they are many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.table.queries import CellColumns, Queries

__all__ = ["Cells", "cell_table", "count_cells", "count_rows"]

MOST_CELLS = 4_000_000  # distinct rows that one machine is asked to solve
MOST_INSTANCES = 200_000_000  # labels of all distinct rows, which are written out to name them
_BYTES_A_CELL = 1_400  # of memory, measured with six labels in each

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """The kinds of rows that a table has.

    Attributes
    ----------
    columns
        What is asked beside labels.
    found
        As the engine gave them (an Arrow table), in the order of `ids`.
    counts
        The labels of each cell, which stands for its rows; the ids are its labels, and whatever else tells it apart, as
        JSON.
    locks
        The subset in which its rows stay, -1 if they are free.
    """

    columns: CellColumns
    found: Any
    counts: LabelCounts
    locks: Ints

    def values(self, name: str) -> list[Any]:
        """Return what a column holds in each cell."""
        values: list[Any] = self.found.column(name).to_pylist()
        return values


def cell_table(cells: Cells, **columns: Any) -> Any:
    """Make a table for the engine: the key and number of each free cell, and further columns."""
    import pyarrow as pa

    free = np.flatnonzero(cells.locks < 0)
    keys = cells.found.column("cell_key").take(free)
    return pa.table({"cell_key": keys, "cell": free, **{name: each[free] for name, each in columns.items()}})


def count_cells(queries: Queries, columns: CellColumns, called: str, locks: Any = None) -> Cells:
    """Count the rows of each cell, in the order of their names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    engine = queries.engine
    tables = {} if locks is None else {"locks": locks}
    found = engine.fetch(queries.histogram(columns, MOST_CELLS + 1), **tables)
    if len(found) > MOST_CELLS:
        n = engine.first(queries.n_cells(columns), **tables)["n"]
        raise EvoSplitError(
            f"{called} has {n:,} different rows, which would take about {n * _BYTES_A_CELL / 2**30:.0f} GiB on one "
            f"machine; at most {MOST_CELLS:,} are solved: leave out rare labels or stratify_by="
        )
    labels = found.column("labels")
    if queries.labels.form == "counts":
        labels = pa.chunked_array([_written_out(_matrix_of(labels, queries), queries.labels.columns)])
    ids = _as_json(labels)
    lock = found.column("lock").fill_null(-1).to_numpy()
    if columns.strata or columns.is_locked:
        values = [found.column(f"s{number}").to_pylist() for number in range(len(columns.strata))]
        written = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
        for row, each in enumerate(ids := ids.to_pylist()):
            more = {title: column[row] for title, column in zip(columns.strata, values, strict=True)}
            more |= {"locked": int(lock[row])} if lock[row] >= 0 else {}
            ids[row] = f"[{each}, {written(more)}]" if more else each
        ids = pa.array(ids)
    order = pc.sort_indices(ids)
    found = found.set_column(found.column_names.index("labels"), "labels", labels).take(order)
    counts = _counted(found.column("labels"), ids.take(order), found.column("n").to_numpy())
    cells = Cells(columns, found, counts, lock[order].astype(np.int64))
    keys = cells.found.column("cell_key").to_numpy()[cells.locks < 0]
    if len(np.unique(keys)) < len(keys):
        raise EvoSplitError(
            f"two kinds of rows of {called} have the same hash of 64 bits, by chance; add another label"
        )
    return cells


def _as_json(labels: Any) -> Any:
    """Write lists of labels as JSON; all of it in Arrow, for there may be millions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = labels.combine_chunks()
    known = lists.flatten().dictionary_encode()
    written = pa.array([json.dumps(each, ensure_ascii=False) for each in known.dictionary.to_pylist()], pa.string())
    lists = pa.ListArray.from_arrays(_offsets(lists), written.take(known.indices))
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ", "), "]", "")


def _counted(labels: Any, ids: Any, copies: Ints) -> LabelCounts:
    """Count what `LabelCounts.from_lists` counts, in Arrow."""
    lists = labels.combine_chunks()
    known = lists.flatten().dictionary_encode()
    names = known.dictionary.to_pylist()
    order = LabelCounts.from_lists([names]).labels
    column = {name: j for j, name in enumerate(order)}
    columns = np.array([column[name] for name in names], dtype=np.int32)[known.indices.to_numpy()]
    made = (np.ones(len(columns), dtype=np.int32), columns, _offsets(lists).to_numpy())
    matrix = csr_array(made, shape=(len(ids), len(order)))
    return LabelCounts(matrix, ids=ids.to_numpy(zero_copy_only=False), labels=order, copies=copies)


def _offsets(lists: Any) -> Any:
    """Return where each list begins, from 0 on."""
    import pyarrow.compute as pc

    return pc.subtract(lists.offsets, lists.offsets[0])


def count_rows(column: Any, queries: Queries, ids: Sequence[Any] | None) -> LabelCounts:
    """Count the labels of each row, of what the engine gave."""
    if queries.labels.form != "counts":
        return LabelCounts.from_lists([sorted(each) for each in column.to_pylist()], ids=ids)
    matrix, names = _matrix_of(column, queries), queries.labels.columns
    column_of = {names[j]: j for j in np.unique(matrix.indices).tolist()}
    labels = LabelCounts.from_lists([list(column_of)]).labels
    return LabelCounts(matrix[:, [column_of[name] for name in labels]], ids=ids, labels=labels)


def _matrix_of(column: Any, queries: Queries) -> csr_array:
    """Turn lists of one number for each label into a matrix."""
    values = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return csr_array(values.reshape(len(column), len(queries.labels.columns)))


def _written_out(counts: csr_array, names: Sequence[str]) -> Any:
    """Turn counts into lists that have each label as often."""
    import pyarrow as pa

    n = int(counts.sum())
    if n > MOST_INSTANCES:
        raise EvoSplitError(
            f"label_column= counts {n:,} labels in {counts.shape[0]:,} different rows, more than {MOST_INSTANCES:,}, "
            "which would not fit in memory; divide the counts, or pass histogram=False"
        )
    ends = np.cumsum(np.concatenate(([0], counts.sum(axis=1)))).astype(np.int32)
    labels = pa.array(list(names), pa.string()).take(pa.array(np.repeat(counts.indices, counts.data)))
    return pa.ListArray.from_arrays(pa.array(ends), labels)

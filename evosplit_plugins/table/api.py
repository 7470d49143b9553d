"""Tables from Python: count, split, replay, audit; in memory, in files, on Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit.methods.base import Method
from evosplit.rng import Seed
from evosplit_plugins.audit import Audit
from evosplit_plugins.calls import apply_as_called, audit_as_called, count_as_called, split_as_called
from evosplit_plugins.files import PathLike, as_texts
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.table.adapter import TableAdapter
from evosplit_plugins.table.memory import InMemoryAdapter

__all__ = ["Divided", "apply_split", "audit", "evosplit_table", "read_counts"]


class Divided(NamedTuple):
    """A table that is divided.

    Attributes
    ----------
    table
        The table with a column for the subset of each row, of the same kind as it was; of files, the path of what was
        written.
    split
        The split, with its report, front and measures.
    """

    table: Any
    split: Split


@checked_keywords()
def read_counts(
    table: Any,
    *,
    id_column: str | None = None,
    label_column: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    label_table: Any = None,
    label_table_id: str | None = None,
    subset_column: str | None = None,
    histogram: bool | None = None,
    unique_ids: bool = False,
    engine: str | None = None,
    on_progress: OnProgress | None = None,
) -> LabelCounts:
    """Count the labels of each row; of a large table, of each kind of row, with the number of rows it stands for.

    Parameters
    ----------
    table, id_column, label_column, delimiter, label_table, label_table_id, subset_column
        As for `evosplit_table`.
    histogram, unique_ids, engine
        As for `evosplit_table`.
    on_progress
        Called with the fraction done and a message.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"id": ["b", "a", "c"], "labels": [["cat", "dog"], ["cat", "cat"], None]})
    >>> counts = read_counts(table)
    >>> counts.ids.tolist(), counts.labels, counts.matrix.toarray().tolist()
    (['a', 'b', 'c'], ('cat', 'dog'), [[2, 0], [1, 1], [0, 0]])
    """
    given = locals()
    if _in_files(table):
        return count_as_called(TableAdapter(), as_texts(table), given)
    return count_as_called(InMemoryAdapter(), [table], given)


@checked_keywords()
def evosplit_table(
    table: Any,
    ratios: Mapping[str, float] | Sequence[float] | None = None,
    *,
    folds: int | None = None,
    id_column: str | None = None,
    label_column: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    label_table: Any = None,
    label_table_id: str | None = None,
    subset_column: str | None = None,
    histogram: bool | None = None,
    unique_ids: bool = False,
    engine: str | None = None,
    column: str | None = None,
    output: PathLike | None = None,
    partition_by_split: bool = False,
    ids_only: bool = False,
    report: PathLike | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    group_copies: bool = True,
    stratify_by: str | Sequence[str] | None = None,
    locked: Mapping[str, Any] | Sequence[str] | None = None,
    method: str | Method = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
    pick: str | int = "balanced",
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Divided:
    """Split a table of any size where it is; the rows get a column `split`, or `fold`.

    Rows that are equal in what matters are one unit: the engine that holds the table counts them, one machine solves
    the histogram, and the engine deals the rows out in the order of a hash of seed and id. So the same seed gives the
    same split on DuckDB and Spark, with any number of partitions, and in any order of the rows. A table of at most
    100,000 rows is split row by row, in the order of the ids, exactly as `evosplit.split` does it.

    Parameters
    ----------
    table
        A pandas or polars DataFrame, a pyarrow Table, a DuckDB relation, a PySpark DataFrame; or files of parquet, CSV
        or JSON lines and folders of them, which need `output`. Sessions and connections are yours.
    ratios
        A mapping from subset names to ratios, or a sequence (two: train, test; three: train, val, test). Fractions sum
        to 1; whole numbers are exact sizes if they sum to the number of rows, else proportions.
    folds
        Make that many folds of equal size instead.
    id_column
        The column with the ids, texts or integers, one for each row; by default `id` (or `image_id`, `file_name`,
        `filename`, `image`, `path`).
    label_column
        The labels, by default `labels` or `label`: a list (repeats count), a field of a list of structs
        (`"annotations.label"`), a text or integer that is one label, a text with a delimiter or a list in JSON. Several
        columns are one label each, with a count (or 0 and 1) in each cell.
    delimiter
        What stands between the labels of one text; `""` where each text is one label, whatever is in it.
    label_table
        A table of the same kind (or a file) with a row for each label, where the labels are not in the table itself;
        `label_column` is then one of its columns. Rows that it does not name have no label.
    label_table_id
        The column of `label_table` with the ids; by default it has the same name as in the table.
    subset_column
        The column with subsets that exist, for `locked`; by default `subset` or `split`. A new column of the same name
        replaces it.
    histogram
        Whether equal rows are only counted, instead of held one by one; None for tables of more than 100,000 rows.
    unique_ids
        The ids are known to be unique: do not look for repeated ones, which takes a pass over them.
    engine
        For files: "duckdb" (the default), or "spark" for the active session.
    column
        What the new column is called.
    output
        For files: the directory to write into, with `split.json` beside the table; never an input.
    partition_by_split
        For files: write a folder for each subset, named as Hive does (`split=train`), instead of a column.
    ids_only
        For files: write a list of ids for each subset instead of the table.
    report
        Also write the report as an HTML page there.
    overwrite
        Replace what an earlier run wrote into `output`; never an input, nor a file that EvoSplit did not write.
    dry_run
        For files: do everything but write; only the page of `report` is written.
    group_by
        Columns: rows with an equal value in one of them stay together.
    group_regex
        Rows stay together whose ids, if they are file names, match with the same text. Where rows are only counted,
        an expression that DuckDB or Spark would read otherwise than Python is refused.
    group_copies
        Keep rows together whose ids name the same picture.
    stratify_by
        Columns to balance beside the labels.
    locked
        Rows that are already placed: a mapping from subset names to ids, a text file of them or a saved split; or the
        names of subsets that `subset_column` has.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs, seed
        As for `evosplit.split`.
    on_progress
        Called with the fraction done and a message; returning False stops with the best split so far.

    Returns
    -------
    Divided
        The table and the split: `table, split = evosplit_table(...)`.

    Examples
    --------
    >>> import pyarrow
    >>> labels = [["cat"], ["cat", "dog"], ["dog"], ["cat", "cat"], ["dog", "cat"], []]
    >>> table = pyarrow.table({"id": range(6), "labels": labels})
    >>> divided, split = evosplit_table(table, {"train": 0.5, "test": 0.5})
    >>> divided.column_names, split.sizes
    (['id', 'labels', 'split'], (3, 3))
    """
    given = locals()
    if _in_files(table):
        done = split_as_called(TableAdapter(), _with_output(table, output), given)
        return Divided(done.files[0], done.split)
    _refuse_output(output=output, partition_by_split=partition_by_split, ids_only=ids_only, dry_run=dry_run)
    done = split_as_called(InMemoryAdapter(), [table], given)
    return Divided(done.facts["table"], done.split)


@checked_keywords()
def apply_split(
    table: Any,
    split: Split | PathLike,
    *,
    id_column: str | None = None,
    label_column: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    label_table: Any = None,
    label_table_id: str | None = None,
    subset_column: str | None = None,
    histogram: bool | None = None,
    unique_ids: bool | None = None,
    engine: str | None = None,
    column: str | None = None,
    output: PathLike | None = None,
    partition_by_split: bool = False,
    ids_only: bool = False,
    report: PathLike | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Divided:
    """Give the rows of a table the subsets of an existing split; they are found by id, whichever adapter made it.

    The split of a table whose rows were only counted finds them by their kind; it is applied to that same table.

    Parameters
    ----------
    table
        The table, with exactly the samples of the split.
    split
        The split, or the path of its manifest `split.json`.
    id_column, label_column, delimiter, label_table, label_table_id, subset_column, histogram, unique_ids, engine
        As for `evosplit_table`; None means as when the split was made.
    column, output, partition_by_split, ids_only, report, overwrite, dry_run, on_progress
        As for `evosplit_table`.

    Returns
    -------
    Divided
        The table and the split, as for `evosplit_table`.
    """
    given = locals()
    if _in_files(table):
        done = apply_as_called(TableAdapter(), _with_output(table, output), given)
        return Divided(done.files[0], done.split)
    _refuse_output(output=output, partition_by_split=partition_by_split, ids_only=ids_only, dry_run=dry_run)
    done = apply_as_called(InMemoryAdapter(), [table], given)
    return Divided(done.facts["table"], done.split)


@checked_keywords()
def audit(
    table: Any,
    *,
    id_column: str | None = None,
    label_column: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    label_table: Any = None,
    label_table_id: str | None = None,
    subset_column: str | None = None,
    histogram: bool | None = None,
    unique_ids: bool = False,
    engine: str | None = None,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    compare: bool = True,
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Judge subsets that exist: how even they are, what leaks, and what EvoSplit would give at the same sizes.

    Parameters
    ----------
    table
        A table whose `subset_column` tells the subset of each row; or several files, of which each is a subset.
    id_column, label_column, delimiter, label_table, label_table_id, subset_column, histogram, unique_ids, engine
        As for `evosplit_table`. Ids may repeat: between subsets that is a leak.
    group_by, group_regex
        What belongs together and leaks where it does not, as for `evosplit_table`.
    compare
        Whether to make a split at the same sizes with EvoSplit, to set beside it.
    effort, time_limit, n_jobs, seed
        Of that split, as for `evosplit.split`.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    Audit
        The leaks, the report, a verdict, and the split that EvoSplit makes.
    """
    given = locals()
    if _in_files(table):
        return audit_as_called(TableAdapter(), as_texts(table), given)
    return audit_as_called(InMemoryAdapter(), [table], given)


def _in_files(table: Any) -> bool:
    """Tell paths from tables in memory."""
    one = isinstance(table, (str, os.PathLike))
    several = isinstance(table, (list, tuple)) and bool(table)
    return one or (several and all(isinstance(each, (str, os.PathLike)) for each in table))


def _with_output(table: Any, output: PathLike | None) -> list[str]:
    if output is None:
        raise EvoSplitError("a table in files is never changed in place; name a directory with output=")
    return as_texts(table)


def _refuse_output(**given: Any) -> None:
    """Refuse options that are about files."""
    for name, value in given.items():
        if value:
            raise EvoSplitError(f"{name}={value!r} is for tables in files; this one is returned, so leave it out")

"""Find out what a table holds, refuse what cannot be split, and read it: row by row, or counted by the engine."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evosplit import EvoSplitError
from evosplit.wording import counted, listed
from evosplit_plugins.files import usual_order
from evosplit_plugins.headings import DELIMITERS, IDS, LABELS, SUBSETS, find_column, usual_column
from evosplit_plugins.options import recorded
from evosplit_plugins.source import Placement
from evosplit_plugins.table.cells import count_cells, count_rows
from evosplit_plugins.table.divided import count_subsets
from evosplit_plugins.table.engine import ColumnType, Engine
from evosplit_plugins.table.fields import TableSource
from evosplit_plugins.table.labels import Labels, count_in
from evosplit_plugins.table.queries import PREFIX, CellColumns, Queries

if TYPE_CHECKING:
    from evosplit_plugins.table.adapter import TableReading
    from evosplit_plugins.table.files import Opened

__all__ = ["MOST_ROWS", "POSITION", "data_files", "partition_root", "read_table",
           "with_labels"]  # fmt: skip

FORMS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json",
         ".json": "json"}  # fmt: skip
MOST_ROWS = 100_000  # of a table that is held row by row; a larger one is counted
POSITION = f"{PREFIX}row"
_SKIPPED = ("split.json",)  # of what lies in a folder


def form_of(path: Path) -> str:
    """Tell the format of a file by its name."""
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise EvoSplitError(f"{path} is no table that can be read; its name has to end in {', '.join(FORMS)}")
    return form


def data_files(paths: Sequence[Path]) -> tuple[list[Path], str]:
    """List the files of a table, and tell their format; of a folder those in it and below it."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [
                each
                for each in _files_below(path)
                if each.is_file() and each.suffix.lower() in FORMS and each.name not in _SKIPPED
            ]
            if not inside:
                raise EvoSplitError(f"{path} holds no table: nothing in it ends in {', '.join(FORMS)}")
            found += inside
        elif path.is_file():
            found.append(path)
        elif re.match(r"\w+:/", str(path)):
            raise EvoSplitError(
                f"{path} is an address, and only files are opened by name; read it with your own connection of DuckDB "
                "or session of Spark, and pass the table that this gives"
            )
        else:
            raise EvoSplitError(f"cannot read {path}: there is no such file or folder")
    forms = {form_of(path) for path in found}
    if len(forms) > 1:
        raise EvoSplitError(f"{found[0].parent} mixes {' and '.join(sorted(forms))}; name files of one kind")
    filled = [path for path in found if path.stat().st_size]  # Spark writes empty ones beside others
    if not filled:
        raise EvoSplitError(f"{found[0]} is empty; there is nothing to split")
    return filled, forms.pop()


def _files_below(folder: Path) -> list[Path]:
    """List the files of a folder in order, without hidden ones; what may not be read is not passed over."""

    def refuse(error: OSError) -> NoReturn:
        raise EvoSplitError(f"cannot read {error.filename}: {error.strerror}; make it readable") from error

    found = []
    for here, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [Path(here, name) for name in files if not name.startswith((".", "_"))]
    return sorted(found)


def partition_root(paths: Sequence[Path]) -> Path | None:
    """Return the folder of Hive partitions such as `split=train`; None if there are no such partitions.

    Of a single file, whatever the folder is called that it lies in, all columns are in the file.
    """
    for path in map(Path.absolute, paths):
        root = path if path.is_dir() else path.parent
        if "=" in root.name and (path.is_dir() or len(paths) > 1):
            while "=" in root.name:
                root = root.parent
            return root
        if path.is_dir() and any(each.is_dir() for each in path.rglob("*=*")):
            return root
    return None


def read_table(
    engine: Engine,
    how: TableReading,
    *,
    inputs: Sequence[str] = (),
    need_labels: bool = True,
    divided: bool = False,
    files: Opened | None = None,
) -> TableSource:
    """Read a table.

    Parameters
    ----------
    engine
        Where it is.
    how
        Which columns mean what.
    inputs
        What it is called.
    need_labels
        Whether a table without labels is refused.
    divided
        Whether it is read to be judged: each row counts, also where ids repeat.
    files
        Where it comes from, if it is in files.
    """
    called = ", ".join(inputs) or "the table"
    columns = _columns(engine)
    id_column = find_column(columns, how.id_column, IDS, "the ids", "id_column", called)
    if columns[id_column].kind not in ("text", "integer"):
        raise EvoSplitError(
            f"id_column={id_column!r} holds {columns[id_column].shown}; ids are texts or integers, so cast it"
        )
    subset = usual_column(columns, SUBSETS)
    if how.subset_column is not None:
        subset = find_column(columns, how.subset_column, (), "the subsets", "subset_column", called)
    labels = _labels(engine, columns, how, called, need_labels=need_labels)
    queries = Queries(engine, id_column, labels, subset)
    n_rows, repeats = _checked_rows(queries, called, unique=not how.unique_ids, divided=divided)
    if labels.form in ("single", "json"):
        queries = Queries(engine, id_column, _checked_texts(queries, how, called), subset)
    if labels.form == "counts":
        _check_counts(queries, called)
    wanted = n_rows > MOST_ROWS if how.histogram is None else how.histogram
    common: dict[str, Any] = {
        "adapter": "table",
        "inputs": tuple(inputs),
        "reading": {**recorded(how), "histogram": wanted},
        "has_labels": labels.form != "none",
        "queries": queries,
        "opened": files,
    }
    if wanted and divided:
        return count_subsets(queries, called, common, repeats=repeats)
    if wanted:
        cells = count_cells(queries, CellColumns(), called)
        return TableSource(counts=cells.counts, is_histogram=True, state={"plain": cells}, **common)
    return _rows(queries, common, divided=divided)


def _columns(engine: Engine) -> dict[str, ColumnType]:
    """Leave out the columns that are ours."""
    return {name: each for name, each in engine.columns.items() if not name.startswith(PREFIX)}


def with_labels(engine: Engine, how: TableReading, other: str, label_columns: Sequence[str], **tables: Any) -> Any:
    """Add the labels of another table, which has a row for each label; returns the engine's own kind of table.

    Parameters
    ----------
    engine
        Where the table of ids is.
    how
        Which columns mean what; `label_column` is one of the other table.
    other
        What the other table is called in a query.
    label_columns
        The columns of the other table.
    **tables
        The other table, if the query does not name files.
    """
    given = (how.label_column,) if isinstance(how.label_column, str) else tuple(how.label_column or ())
    if len(given) != 1:
        raise EvoSplitError("label_table= needs label_column=, the column of that table that holds one label a row")
    id_column = find_column(_columns(engine), how.id_column, IDS, "the ids", "id_column", "the table")
    there = how.label_table_id or id_column
    for name, parameter in ((given[0], "label_column"), (there, "label_table_id")):
        if name not in label_columns:
            raise EvoSplitError(
                f"{parameter}={name!r} is no column of label_table=; it has {listed(map(repr, label_columns), 20)}"
            )
    ours = engine.as_text(f"d.{engine.quoted(id_column)}")
    theirs = engine.as_text(engine.quoted(there))
    stray = engine.first(
        f"SELECT count(*) AS n, min(k) AS example FROM (SELECT DISTINCT {theirs} AS k FROM {other}) AS l "
        f"WHERE NOT EXISTS (SELECT 1 FROM {engine.data} AS d WHERE {ours} = l.k)",
        **tables,
    )
    if stray["n"]:
        raise EvoSplitError(
            f"label_table= has labels of {stray['n']:,} ids that the table does not have, for example "
            f"{stray['example']!r}; add them to the table, which has to name every sample"
        )
    label = engine.as_text(engine.quoted(given[0]))
    gathered = (
        f"SELECT {theirs} AS {PREFIX}key, {engine.gathered(label, f'{label} IS NOT NULL')} "
        f"AS {LONG} FROM {other} GROUP BY {theirs}"
    )
    return engine.query(
        f"SELECT d.*, l.{LONG} FROM {engine.data} AS d LEFT JOIN ({gathered}) AS l ON {ours} = l.{PREFIX}key", **tables
    )


LONG = f"{PREFIX}long"


def _labels(engine: Engine, columns: Any, how: TableReading, called: str, *, need_labels: bool) -> Labels:
    """Find out how the labels are written."""
    if LONG in engine.columns:
        _refuse_delimiter(how, "label_table= has one label in each row")
        return Labels("list", LONG)
    given = (how.label_column,) if isinstance(how.label_column, str) else tuple(how.label_column or ())
    if len(given) > 1:
        for name in given:
            kind = columns[find_column(columns, name, (), "labels", "label_column", called)].kind
            if kind not in ("integer", "number", "boolean", "text"):
                raise EvoSplitError(f"label_column={name!r} holds {columns[name].shown}; with several, each is a count")
        _refuse_delimiter(how, "of several label columns each is one label")
        return Labels("counts", given[0], columns=given)
    if not given:
        if usual_column(columns, LABELS) is None and not need_labels:
            return Labels("none")
        given = (find_column(columns, None, LABELS, "the labels", "label_column", called),)
    (name,) = given
    column, _, field = (name, "", "") if name in columns else name.partition(".")
    kind = columns[find_column(columns, column, (), "the labels", "label_column", called)]
    if kind.kind != "text":
        _refuse_delimiter(how, f"label_column={name!r} holds {kind.shown}")
    if kind.kind == "list":
        return Labels("list", column, _field(kind.element or ColumnType("other"), name, field, kind.shown))
    if field or kind.kind not in ("text", "integer"):
        raise EvoSplitError(
            f"label_column={name!r} holds {kind.shown}; labels are a list, a list of structs ('annotations.label'), a "
            "text, an integer, or a column of 0 and 1 for each"
        )
    if how.delimiter:
        return Labels("cut", column, delimiter=how.delimiter)
    return Labels("single", column)


def _refuse_delimiter(how: TableReading, reason: str) -> None:
    if how.delimiter:
        raise EvoSplitError(f"delimiter={how.delimiter!r} cuts texts, but {reason}; leave it out")


def _field(element: ColumnType, name: str, field: str, shown: str) -> str | None:
    """Check what a list holds; returns the field of its structs that is the label."""
    if element.kind == "struct":
        inner = element.fields.get(field)
        if inner is None:
            known = listed([f"'{name.partition('.')[0]}.{each}'" for each in element.fields], 10)
            raise EvoSplitError(f"label_column={name!r} holds structs; say which field is the label: {known}")
        element = inner
    elif field:
        raise EvoSplitError(f"label_column={name!r} names a field, but the column holds {shown}")
    if element.kind not in ("text", "integer"):
        raise EvoSplitError(f"label_column={name!r} holds {shown}; labels are texts or integers")
    return field or None


def _checked_rows(queries: Queries, called: str, *, unique: bool, divided: bool) -> tuple[int, bool]:
    """Count the rows and tell whether ids are repeated; only a divided table may repeat ids, none may lack them."""
    found = queries.engine.first(queries.sizes())
    n_rows, n_ids = int(found["n_rows"]), int(found["n_ids"])
    if n_rows == 0:
        raise EvoSplitError(f"{called} has no rows; there is nothing to split")
    if n_ids < n_rows:
        row = queries.engine.first(queries.row_without_id())
        others = [name for name in row if name != queries.id and not name.startswith(PREFIX)]
        example = f", for example where {others[0]} is {reprlib.repr(row[others[0]])}" if others else ""
        raise EvoSplitError(
            f"id_column={queries.id!r} is null in {n_rows - n_ids:,} of {n_rows:,} rows{example}; every sample needs "
            "an id"
        )
    engine = queries.engine
    if not unique or engine.ascends(queries.id) or engine.first(queries.n_different())["n"] == n_rows:
        return n_rows, False
    if not divided:
        repeated = engine.first(queries.repeated_ids())
        if repeated["n"]:
            raise EvoSplitError(
                f"id_column={queries.id!r} repeats {counted(int(repeated['n']), 'id', 'ids')}, for example "
                f"{repeated['example']!r} (up to {int(repeated['most']):,} rows with one id); give each row its "
                "own. If the table has a row for each label, pass it as label_table=, and the table of ids in its place"
            )
    return n_rows, True


def _checked_texts(queries: Queries, how: TableReading, called: str) -> Labels:
    """Find out whether texts are JSON lists; refuse to guess whether a comma separates labels or belongs to one."""
    engine, labels = queries.engine, queries.labels
    if engine.columns[labels.column].kind != "text":
        return labels
    if how.delimiter == "":
        return labels
    at = engine.quoted(labels.column)
    text = f"trim({at})"
    asked = [f"{text} <> ''", f"{text} LIKE '[%]'", *(f"{text} LIKE '%{sign}%'" for sign in DELIMITERS)]
    (filled, _), (in_json, _), *signs = queries.tested(asked, [at] * len(asked))
    if filled and filled == in_json:
        ((n, example),) = queries.tested([f"{text} <> '' AND {engine.from_json(text)} IS NULL"], [at])
        if n:
            raise EvoSplitError(
                f"label_column={labels.column!r} of {called} holds {n:,} texts that are no JSON lists of labels, for "
                f"example {example!r}; mend them, or pass delimiter='' if each is one label"
            )
        return Labels("json", labels.column)
    for sign, (n, example) in zip(DELIMITERS, signs, strict=True):
        if n:
            raise EvoSplitError(
                f"label_column={labels.column!r} of {called} has {sign!r} in {n:,} cells, for example {example!r}; say "
                f"whether it stands between labels, with delimiter={sign!r}, or belongs to one, with delimiter=''"
            )
    return labels


def _check_counts(queries: Queries, called: str) -> None:
    """Refuse what is no count, with the name of its column, which is only then looked for: there may be thousands."""
    engine = queries.engine
    wrong = {}
    for name in queries.labels.columns:
        if engine.columns[name].kind == "boolean":
            continue
        at = engine.quoted(name)
        number = engine.as_number(at)
        empty = f" AND trim({at}) <> ''" if engine.columns[name].kind == "text" else ""
        whole = f"{number} >= 0 AND {number} = floor({number}) AND {count_in(engine, name)} IS NOT NULL"
        wrong[name] = f"({at} IS NOT NULL{empty} AND NOT coalesce({whole}, false))"
    if not wrong:
        return
    if not engine.first(f"SELECT count(*) AS n FROM {engine.data} WHERE {' OR '.join(wrong.values())}")["n"]:
        return
    for name, condition in wrong.items():
        ((n, example),) = queries.tested([condition], [engine.quoted(name)])
        if n:
            raise EvoSplitError(
                f"label_column={name!r} of {called} is {example!r} in one of {n:,} rows that hold no count; with "
                "several label columns each holds a count, or 0 and 1"
            )


def _rows(queries: Queries, common: dict[str, Any], *, divided: bool) -> TableSource:
    """Read the id and labels of each row, in the order of the ids."""
    engine = queries.engine
    position = POSITION if POSITION in engine.columns else None
    wanted = [queries.subset] if queries.subset is not None else []
    found = engine.fetch(queries.rows(wanted, position=position))
    ids = found.column("id").to_pylist()
    if engine.columns[queries.id].kind == "integer":
        ids = list(map(int, ids))  # those of 128 bits come as decimals
    order = sorted(range(len(ids)), key=ids.__getitem__)
    if divided:
        order = list(range(len(ids)))
    found = found.take(order)
    ids = [ids[row] for row in order]
    subsets = None
    notes: tuple[str, ...] = ()
    keys: list[Any] = list(ids)

    if queries.subset is not None:
        values = [None if each is None else str(each) for each in found.column("v0").to_pylist()]
        left_out = sum(not each for each in values)
        if divided and left_out:
            keep = [row for row, each in enumerate(values) if each]
            found, ids, values = found.take(keep), [ids[row] for row in keep], [values[row] for row in keep]
            notes = (f"{left_out:,} rows without a subset were left out.",)
        keys = list(zip(ids, values, strict=True))
        names = tuple(sorted(sorted({each for each in values if each}), key=usual_order))
        number = {name: j for j, name in enumerate(names)}
        subsets = Placement(names, np.array([number[each] if each else -1 for each in values], dtype=np.int64))
    if not ids:
        raise EvoSplitError("no row has a subset; there is nothing to audit")
    return TableSource(
        counts=count_rows(found.column("labels"), queries, None if divided else ids),
        files=[str(each) for each in ids] if isinstance(ids[0], str) or divided else None,
        subsets=subsets,
        keys=keys if divided else None,
        order=None if position is None else np.array(found.column("at").to_pylist(), dtype=np.int64),
        notes=notes,
        **common,
    )

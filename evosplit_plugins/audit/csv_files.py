"""Audits of subsets in CSV files with the columns id, subset and labels, without a database engine."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from evosplit import EvoSplitError, LabelCounts
from evosplit.rng import Seed
from evosplit.wording import counted
from evosplit_plugins.adapter import Adapter, Destination, Location
from evosplit_plugins.audit.result import Audit
from evosplit_plugins.calls import audit_as_called
from evosplit_plugins.contents import same_contents
from evosplit_plugins.files import Paths, as_paths, as_texts, one_for_each, usual_order
from evosplit_plugins.headings import DELIMITERS, IDS, LABELS, SUBSETS, find_column, separator_in, usual_column
from evosplit_plugins.options import option, recorded
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Fields, Placement, Source

__all__ = ["CsvAdapter", "CsvReading", "audit_csv"]

_SUFFIXES = (".csv", ".tsv")


@dataclass(frozen=True, kw_only=True)
class CsvReading:
    """How to read a table.

    Attributes
    ----------
    id_column, subset_column
        The columns with the ids and the subsets; by default `id` (or `image_id`, `file_name`, `filename`, `image`,
        `path`) and `subset` (or `split`). Lines without a subset are left out. Several files without a column for the
        subset are one subset each, named after the files.
    label_column
        The column with the labels of each sample, by default `labels` or `label`; an empty cell is no label. Several
        columns are one label each, with a count (or 0 and 1) in each cell.
    delimiter
        What stands between the labels of one cell; by default it is found, where only one of `;`, `|` and `,` occurs.
        Cells such as `["cat", "dog"]` are read as JSON.
    image_root
        The folder of the files that the ids name, once or once for each table.
    """

    id_column: str | None = option(
        None, "the column with the ids (default: id, image_id, file_name, ...)", kind="text", metavar="NAME"
    )
    subset_column: str | None = option(
        None, "the column with the subsets (default: subset or split)", kind="text", metavar="NAME"
    )
    label_column: str | Sequence[str] | None = option(
        None, "the column with the labels; repeat for several (default: found)", kind="list", metavar="NAME"
    )
    delimiter: str | None = option(None, "what stands between the labels of one cell", kind="text", metavar="TEXT")
    image_root: Paths | None = option(
        None, "the folder of the images; once, or once for each file", kind="paths", metavar="DIR"
    )


class CsvAdapter(Adapter):
    """Tables of existing splits; they can be audited."""

    name = "csv"
    summary = "CSV files"
    location = Location("FILE", "CSV files in UTF-8 with a header line", several=True)
    reading = CsvReading
    field = "column"
    verbs: ClassVar[tuple[str, ...]] = ("audit",)

    def detect(self, paths: Sequence[str]) -> bool:
        """Recognise them by their suffix."""
        return all(Path(path).suffix.lower() in _SUFFIXES for path in paths)

    def read(
        self, paths: Sequence[str], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> Source:
        """Read one line for each sample."""
        return _read_tables(as_paths(paths), options)

    def plan(self, to: Destination[Any, Any]) -> NoReturn:
        """Refuse: tables are read only."""
        raise EvoSplitError("CSV files are read for audits only; split them with evosplit.split in Python")


def audit_csv(
    inputs: Paths,
    *,
    id_column: str | None = None,
    subset_column: str | None = None,
    label_column: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    image_root: Paths | None = None,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    same_bytes: bool = False,
    compare: bool = True,
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Audit:
    r"""Judge the subsets that a table names; see `CsvReading` and `evosplit_plugins.audit.audit` for the parameters.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "splits.csv"
    ...     _ = path.write_text("id,subset,labels\na.jpg,train,cat;dog\nb.jpg,val,cat\n")
    ...     judged = audit_csv(path)
    >>> judged.split.names, judged.leaks
    (('train', 'val'), ())
    """
    return audit_as_called(CsvAdapter(), as_texts(inputs), locals())


@dataclass(frozen=True, eq=False, kw_only=True)
class _CsvSource(Source):
    """The lines of tables, with all their cells."""

    rows: list[_Row]
    columns: Sequence[str]
    paths: list[Path]

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Return the cells of the columns; an empty cell is no value."""
        found = {
            name: [row.cells[find_column(self.columns, name, (), "the groups", "group_by", self.called)] or None
                   for row in self.rows]
            for name in groups
        }  # fmt: skip
        return Fields(groups=found)

    def shared_keys(self) -> dict[str, Sequence[Any]]:
        """Return the ids as they are written."""
        return {"id": list(self.files or ())}

    def contents(self, on_progress: OnProgress | None = None) -> Sequence[str | None]:
        """Compare the files that the ids name."""
        return same_contents(self.paths, on_progress)


def _read_tables(paths: list[Path], how: CsvReading) -> Source:
    tables = [_read(number, path, how.subset_column) for number, path in enumerate(paths)]
    columns = tables[0][0]
    for path, (other, _) in zip(paths, tables, strict=True):
        if set(other) != set(columns):
            differing = ", ".join(map(repr, sorted(set(other) ^ set(columns))))
            raise EvoSplitError(f"{paths[0]} and {path} differ in the columns {differing}; give them the same")
    name = paths[0].name if len(paths) == 1 else f"{paths[0].name} ..."
    ids_in = find_column(columns, how.id_column, IDS, "the ids", "id_column", name)
    rows = [row for _, lines in tables for row in lines]
    subset_of_row, left_out = _subsets(paths, tables, columns, how.subset_column)
    rows = [row for row, subset in zip(rows, subset_of_row, strict=True) if subset]
    subsets = [subset for subset in subset_of_row if subset]
    if not rows:
        raise EvoSplitError(f"{name} has no line with a subset; there is nothing to audit")
    names = tuple(sorted(dict.fromkeys(subsets), key=usual_order))
    number = {subset: position for position, subset in enumerate(names)}
    ids = [_needed(row, ids_in) for row in rows]
    counts, notes = _labels(rows, columns, how.label_column, how.delimiter, name)
    if left_out:
        left = counted(left_out, "line without a subset was", "lines without a subset were")
        notes.append(f"{left} left out.")
    roots = one_for_each(how.image_root, len(paths), "image_root")
    return _CsvSource(
        counts=counts,
        adapter="csv",
        inputs=tuple(path.name for path in paths),
        reading=recorded(how),
        files=ids,
        subsets=Placement(names, np.array([number[subset] for subset in subsets], dtype=np.int64)),
        notes=tuple(notes),
        rows=rows,
        columns=columns,
        paths=[roots[row.table] / row.cells[ids_in] for row in rows],
    )


@dataclass(frozen=True)
class _Row:
    """One line of a table: the number of the table, where it is, its cells by column."""

    table: int
    place: str
    cells: dict[str, str]


def _read(number: int, path: Path, subset_column: str | None) -> tuple[list[str], list[_Row]]:
    """Read a file; returns its columns and its lines."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise EvoSplitError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EvoSplitError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error
    if "\0" in text:
        raise EvoSplitError(f"{path} holds a zero byte, so it is no CSV file in UTF-8; save it as UTF-8")
    heading = text.lstrip("\r\n").partition("\n")[0].rstrip("\r")
    separator = separator_in(heading, path, known=() if subset_column is None else (subset_column,))
    lines = _lines(path, text, separator)
    _, names = next(lines, (0, []))
    columns = [cell.strip() for cell in names]
    repeated = sorted({column for column in columns if columns.count(column) > 1})
    if not any(columns):
        raise EvoSplitError(f"{path} is empty; its first line names the columns, such as id,subset,labels")
    if repeated:
        raise EvoSplitError(f"{path} has the column {repeated[0]!r} more than once; give each column its own name")
    rows = []
    for line, cells in lines:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            raise EvoSplitError(
                f"{path}, line {line}: {len(cells)} cells where the heading has {len(columns)}; put cells that contain "
                f"{separator!r} into quotes"
            )
        rows.append(_Row(number, f"{path.name}, line {line}", dict(zip(columns, map(str.strip, cells), strict=True))))
    if not rows:
        raise EvoSplitError(f"{path} has a heading but no line below it; there is nothing to audit")
    return columns, rows


def _lines(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        try:
            yield reader.line_num + 1, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise EvoSplitError(
                f"{path}, line {reader.line_num}: {error}; check the quotes: a quote inside of quotes is written twice"
            ) from error


def _subsets(
    paths: Sequence[Path],
    tables: Sequence[tuple[list[str], list[_Row]]],
    columns: Sequence[str],
    given: str | None,
) -> tuple[list[str], int]:
    """Return the subset of each line, and the number of lines without one."""
    several = len(paths) > 1
    if several and given is None and usual_column(columns, SUBSETS) is None:
        stems = [path.stem for path in paths]
        if len(set(stems)) < len(stems):
            stems = [str(path) for path in paths]
        return [stem for stem, (_, rows) in zip(stems, tables, strict=True) for _ in rows], 0
    column = find_column(columns, given, SUBSETS, "the subsets", "subset_column", paths[0].name)
    found = [row.cells[column] for _, rows in tables for row in rows]
    return found, found.count("")


def _needed(row: _Row, column: str) -> str:
    if not row.cells[column]:
        raise EvoSplitError(f"{row.place} has no {column!r}; every sample needs one")
    return row.cells[column]


def _labels(
    rows: Sequence[_Row], columns: Sequence[str], given: str | Sequence[str] | None, delimiter: str | None, name: str
) -> tuple[LabelCounts, list[str]]:
    """Count the labels of each line; also returns sentences for the report."""
    several = [] if given is None or isinstance(given, str) else list(given)
    if len(several) > 1:
        for column in several:
            find_column(columns, column, (), "labels", "label_column", name)
        matrix = [[_count(row, column) for column in several] for row in rows]
        return LabelCounts(np.array(matrix, dtype=np.int64), labels=several), []
    only = several[0] if several else given if isinstance(given, str) else None
    column = find_column(columns, only, LABELS, "the labels", "label_column", name)
    cells = [row.cells[column] for row in rows]
    cut, notes = _cutter(cells, column, delimiter, name)
    return LabelCounts.from_lists([cut(row, cell) for row, cell in zip(rows, cells, strict=True)]), notes


def _count(row: _Row, column: str) -> int:
    cell = row.cells[column] or "0"
    if not re.fullmatch(r"[0-9]{1,9}", cell):
        raise EvoSplitError(
            f"{row.place}: {column!r} is {cell!r}; with several label columns each holds a count, or 0 and 1"
        )
    return int(cell)


def _cutter(
    cells: Sequence[str], column: str, delimiter: str | None, name: str
) -> tuple[Callable[[_Row, str], list[str]], list[str]]:
    """Choose how cells become lists of labels."""
    if delimiter is not None:
        if not delimiter:
            raise EvoSplitError("delimiter= is empty; give what stands between the labels, such as ';'")
        return lambda row, cell: _parts(cell, delimiter), []
    filled = [cell for cell in cells if cell]
    if filled and all(cell.startswith("[") for cell in filled):
        return _from_json, []
    found = [sign for sign in DELIMITERS if any(sign in cell for cell in filled)]
    if len(found) > 1:
        raise EvoSplitError(
            f"the column {column!r} of {name} contains {' and '.join(map(repr, found))}; say what stands between the "
            f"labels, for example delimiter={found[0]!r}"
        )
    if not found:
        return lambda row, cell: [cell] if cell else [], []
    (sign,) = found
    return lambda row, cell: _parts(cell, sign), [f"The labels in {column!r} are separated by {sign!r}."]


def _parts(cell: str, delimiter: str) -> list[str]:
    return [part.strip() for part in cell.split(delimiter) if part.strip()]


def _from_json(row: _Row, cell: str) -> list[str]:
    if not cell:
        return []
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise EvoSplitError(f"{row.place}: the labels {cell[:40]!r} are no JSON list ({error})") from error
    if not all(isinstance(label, (str, int)) for label in found):
        raise EvoSplitError(f"{row.place}: the labels {cell[:40]!r} are not all strings or integers")
    return [str(label) for label in found]

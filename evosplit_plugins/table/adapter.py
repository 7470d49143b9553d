"""The table adapter: its options, and the way from files to a source and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evosplit.wording import Nouns
from evosplit_plugins.adapter import Adapter, Destination, Location, Write, WriteOptions
from evosplit_plugins.files import PathLike
from evosplit_plugins.options import option
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import read_record
from evosplit_plugins.table.fields import TableSource
from evosplit_plugins.table.files import open_files
from evosplit_plugins.table.reading import read_table
from evosplit_plugins.table.writing import TableOutput

__all__ = ["TableAdapter", "TableReading", "TableWriting"]

ENGINES = ("duckdb", "spark")
_DETECTED = (".parquet", ".pq", ".jsonl", ".csv", ".tsv")
_OF_A_HUB = re.compile(r"-\d{5}-of-\d{5}$")


@dataclass(frozen=True, kw_only=True)
class TableReading:
    """How to read a table; `evosplit_table` describes the options."""

    id_column: str | None = option(
        None,
        "the column with the ids (default: id, image_id, file_name, ...)",
        kind="text",
        flag="--id",
        metavar="NAME",
    )
    label_column: str | Sequence[str] | None = option(
        None,
        "the column with the labels, or NAME.FIELD of a list of structs; repeat for one column of counts a label "
        "(default: labels or label)",
        kind="list",
        metavar="NAME",
    )
    delimiter: str | None = option(
        None, "what stands between the labels of one text ('' if each text is one label)", kind="text", metavar="TEXT"
    )
    label_table: PathLike | None = option(
        None, "a table with a row for each label, where they are not in the table itself", kind="path", metavar="FILE"
    )
    label_table_id: str | None = option(
        None, "the column with the ids in --label-table (default: as in the table)", kind="text", metavar="NAME"
    )
    subset_column: str | None = option(
        None, "the column with subsets that exist (default: subset or split)", kind="text", metavar="NAME"
    )
    histogram: bool | None = option(
        None, "only count equal rows, instead of holding each (default: above 100,000 rows)", kind="switch"
    )
    unique_ids: bool = option(False, "the ids are known to be unique: do not look for repeated ones", kind="switch")
    engine: str | None = option(None, "what reads the table (default duckdb)", kind="text", choices=ENGINES)


@dataclass(frozen=True, kw_only=True)
class TableWriting(WriteOptions):
    """How to write a table; `evosplit_table` describes the options."""

    column: str | None = option(
        None, "what the column with the subsets is called (default split, or fold)", kind="text", metavar="NAME"
    )
    partition_by_split: bool = option(
        False, "write a folder for each subset, as Hive does, instead of a column", kind="switch"
    )
    ids_only: bool = option(False, "write lists of ids instead of the table", kind="switch")


class TableAdapter(Adapter):
    """Tables: parquet, CSV and JSON lines, read by DuckDB or Spark."""

    name = "table"
    summary = "tables of any size"
    location = Location("TABLE", "files of parquet, CSV or JSON lines, or folders of them", several=True)
    reading = TableReading
    writing = TableWriting
    nouns = Nouns(sample="row", samples="rows")
    field = "column"

    def detect(self, paths: Sequence[str]) -> bool:
        """Recognise files of parquet, CSV or JSON lines, partitions named as Hive does, and what it has written.

        A file that is named as one of several on the Hugging Face Hub is left to that adapter, and so is every single
        file where DuckDB is not installed.
        """
        if len(paths) > 1:
            return all(Path(path).suffix.lower() in _DETECTED for path in paths)
        (path,) = map(Path, paths)
        if path.is_file():
            known = path.suffix.lower() in _DETECTED and _OF_A_HUB.search(path.stem) is None
            return known and find_spec("duckdb") is not None
        if not path.is_dir():
            return False
        parts = [each for each in path.iterdir() if "=" in each.name and each.is_dir()]
        return bool(parts) or any(run.writer == self.name for run in read_record(path))

    def read(
        self, paths: Sequence[str], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> TableSource:
        """Count the labels where the table is; a small table is held row by row."""
        if on_progress is not None:
            on_progress(0.0, "reading")
        opened = open_files([Path(path) for path in paths], options)
        return read_table(opened.engine, options, inputs=opened.names, need_labels=need_labels, files=opened)

    def read_subsets(self, paths: Sequence[str], options: Any, *, on_progress: OnProgress | None = None) -> TableSource:
        """Read subsets from a column that names them, or from one file each."""
        if on_progress is not None:
            on_progress(0.0, "reading")
        opened = open_files([Path(path) for path in paths], options, divided=True)
        return read_table(opened.engine, options, inputs=opened.names, divided=True, files=opened)

    def plan(self, to: Destination[Any, Any]) -> Write:
        """Plan the table with its new column, a folder for each subset, or lists of ids."""
        return TableOutput(to).write

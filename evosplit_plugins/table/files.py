"""Open files and folders as a table, on the engine that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evosplit import EvoSplitError
from evosplit_plugins.headings import SUBSETS, usual_column
from evosplit_plugins.table.duckdb_engine import scan, table_function
from evosplit_plugins.table.engine import Engine
from evosplit_plugins.table.reading import data_files, partition_root, with_labels

if TYPE_CHECKING:
    from evosplit_plugins.table.adapter import TableReading

__all__ = ["Opened", "open_files"]


@dataclass(frozen=True)
class Opened:
    """Files that are open as a table.

    Attributes
    ----------
    engine
        What holds them.
    names
        What the user calls them.
    paths
        What the user named.
    files, form
        The files and their format.
    label_files
        Those of the label table, which are read too.
    """

    engine: Engine
    names: tuple[str, ...]
    paths: tuple[Path, ...]
    files: tuple[Path, ...]
    form: str
    label_files: tuple[Path, ...] = ()

    @property
    def base(self) -> str:
        """The name of the file to write: that of the only input file, else one made from the folder."""
        suffix = self.files[0].suffix.lower()
        return f"{self.stem}{'.jsonl' if suffix == '.json' else suffix}"

    @property
    def stem(self) -> str:
        """The same without its suffix: the name of the folder of partitions."""
        only = self.paths[0] if len(self.paths) == 1 else None
        stem = "table" if only is None else only.stem if only.is_file() else only.resolve().name
        return stem or "table"


def open_files(paths: Sequence[Path], how: TableReading, *, divided: bool = False) -> Opened:
    """Open a table.

    Parameters
    ----------
    paths
        Files and folders.
    how
        How to read it.
    divided
        Whether several files without a column of subsets are a subset each, named after the files.
    """
    files, form = data_files(paths)
    label_files, label_form = ([], "") if how.label_table is None else data_files([Path(how.label_table)])
    root = partition_root(paths)
    engine: Engine
    if how.engine not in (None, "duckdb", "spark"):
        raise EvoSplitError(f"engine={how.engine!r} is unknown; choose duckdb or spark")
    if how.engine == "spark":
        from evosplit_plugins.table.spark_engine import open_on_spark

        engine = open_on_spark(files, form, how, root)
    else:
        engine = scan(files, form, root=root)
        named = how.subset_column is not None or usual_column(engine.columns, SUBSETS) is not None
        if divided and len(files) > 1 and not named:
            engine = scan(files, form, by_file=True)
        if label_files:
            known = list(scan(label_files, label_form).columns)
            engine = engine.like(with_labels(engine, how, table_function(label_files, label_form), known))
    return Opened(engine, tuple(path.name for path in paths), tuple(paths), tuple(files), form, tuple(label_files))

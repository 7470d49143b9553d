"""Tables of any size: DuckDB on one machine, Spark on many, the same split on both.

>>> from evosplit_plugins import evosplit_table
>>> table, split = evosplit_table(frame, {"train": 0.8, "val": 0.1, "test": 0.1}, id_column="id")  # doctest: +SKIP
>>> print(split.report())  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosplit_plugins.on_demand import on_demand

if TYPE_CHECKING:
    from evosplit_plugins.table.adapter import TableAdapter, TableReading, TableWriting
    from evosplit_plugins.table.api import Divided, apply_split, audit, evosplit_table, read_counts

__all__ = [
    "Divided",
    "TableAdapter",
    "TableReading",
    "TableWriting",
    "apply_split",
    "audit",
    "evosplit_table",
    "read_counts",
]

__getattr__, __dir__ = on_demand(
    __name__, __all__, lambda name: f"{__name__}.{'adapter' if name.startswith('Table') else 'api'}"
)

"""What an engine that holds a table has to do: tell its columns, run a query, write a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

__all__ = ["HASH_BITS", "ColumnType", "Engine"]

HASH_BITS = 60  # of the hash that orders the rows of a table


@dataclass(frozen=True)
class ColumnType:
    """What a column holds.

    Attributes
    ----------
    kind
        "text", "integer", "number", "boolean", "list", "struct" or "other".
    shown
        What the engine calls it.
    element
        What a list holds.
    fields
        What a struct holds.
    """

    kind: str
    shown: str = ""
    element: ColumnType | None = None
    fields: Mapping[str, ColumnType] = field(default_factory=dict)


class Engine(ABC):
    """A table where it is, with the few expressions that SQL engines write differently.

    Queries name the table `self.data`, and further small tables by `self.table(name)`. What both engines take alike is
    written once, in `evosplit_plugins.table.queries`.

    Attributes
    ----------
    name
        The word for it.
    data
        What the table is called in a query.
    even
        Whether rows of one kind have to be dealt out in parts, because one worker would get them all.
    ordered
        Whether rows have an order to keep.
    """

    name: ClassVar[str]
    data: str
    even: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns in their order."""

    @abstractmethod
    def fetch(self, sql: str, **tables: Any) -> Any:
        """Run a query whose result is small; returns an Arrow table. `tables` are Arrow tables that it names."""

    @abstractmethod
    def query(self, sql: str, **tables: Any) -> Any:
        """Give what a query returns as the engine's own kind of table, where nothing is collected."""

    @abstractmethod
    def write(self, made: Any, path: Path, form: str, *, by: str | None = None) -> int:
        """Write what `query` gave, and count its rows.

        The format is "parquet", "csv" or "json" lines; with `by`, there is a folder for each value of that column.
        """

    @abstractmethod
    def pairs(self, made: Any, first: str, second: str) -> Iterator[tuple[str, str]]:
        """Give two columns of what `query` gave as texts, in the order of the first, without holding all of them."""

    def table(self, name: str) -> str:
        """Name a small table in a query."""
        return name

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Write the name of a column."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """Write a text."""

    @abstractmethod
    def as_text(self, expression: str) -> str:
        """Turn a value into a text."""

    def as_number(self, expression: str) -> str:
        """Turn a value into a float, null where it is none."""
        return f"TRY_CAST({expression} AS DOUBLE)"

    def as_integer(self, expression: str) -> str:
        """Turn a value into an integer of 64 bits, null where it is none."""
        return f"TRY_CAST({expression} AS BIGINT)"

    @abstractmethod
    def label_list(self, expression: str, field: str | None) -> str:
        """Turn a list, or a field of the structs in it, into a sorted list of texts without nulls, never null."""

    @abstractmethod
    def parts(self, expression: str, delimiter: str) -> str:
        """Cut a text where the delimiter is, into a sorted list of what is not blank, never null."""

    @abstractmethod
    def from_json(self, expression: str) -> str:
        """Turn a text such as `["cat", "dog"]` into a list of texts."""

    @abstractmethod
    def collected(self, expression: str) -> str:
        """Gather the texts of a group of rows into a sorted list."""

    @abstractmethod
    def listed(self, expressions: list[str]) -> str:
        """Make a list of values."""

    @abstractmethod
    def shifted(self, expression: str, bits: str) -> str:
        """Shift an integer to the right."""

    def is_nan(self, expression: str) -> str:
        """Tell whether a float is no number."""
        return f"isnan({expression})"

    @abstractmethod
    def hashed(self, seed: int, text: str) -> str:
        """Hash a text into an integer of `HASH_BITS` bits, the same on every engine."""

    @abstractmethod
    def failing(self, message: str) -> str:
        """Stop the query with a message, where an integer is expected."""

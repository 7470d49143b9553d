"""What an engine that holds a table has to do: tell its columns, run a query, write a result."""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from evosplit import EvoSplitError
from evosplit.wording import counted
from evosplit_plugins.headings import separator_in

__all__ = ["HASH_BITS", "ColumnType", "Dialect", "Engine", "broken_line", "common_separator", "heading"]

HASH_BITS = 60  # of the hash that orders the rows of a table


def common_separator(paths: Sequence[Path]) -> str:
    """Find what stands between the cells of CSV files; it has to be the same in all of them."""
    found = {path: separator_of(path) for path in paths if len(heading(path)) > 1}
    signs = set(found.values())
    if len(signs) > 1:
        first, other = (next(path for path in found if found[path] == sign) for sign in sorted(signs)[:2])
        raise EvoSplitError(
            f"{first} has {found[first]!r} between its cells, and {other} has {found[other]!r}; name files of one kind"
        )
    return signs.pop() if signs else separator_of(paths[0])


def heading(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return next(csv.reader(stream, delimiter=separator_of(path)), [])


def separator_of(path: Path) -> str:
    """Find what stands between the cells of a CSV file, by its first line."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return separator_in(stream.readline(1 << 16), path)


def broken_line(path: Path) -> str | None:
    """Name the first line of a CSV file that is not written as the format asks, and what is wrong with it."""
    width = 0
    with path.open("rb") as stream:
        rows = csv.reader((line.decode() for line in stream), delimiter=separator_of(path), strict=True)
        try:
            for cells in rows:
                width = width or len(cells)
                if cells and len(cells) != width:
                    cut = counted(len(cells), "cell", "cells")
                    return f"{path}, line {rows.line_num}: {cut} where the heading has {width}; mend the line"
        except UnicodeDecodeError:
            return f"{path}, line {rows.line_num + 1}: this is not written in UTF-8; convert the file"
        except csv.Error as error:
            return f"{path}, line {rows.line_num}: {error}; mend its quotes, one in a cell is written twice"
    return None


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


class Dialect(NamedTuple):
    """The SQL expressions that engines write differently; the method of `Engine` of the same name documents each."""

    as_text: str
    as_texts: str
    plucked: str
    from_json: str
    tidied: str
    list_key: str
    gathered: str
    element: str
    listed: str
    replaced: str
    failing: str


class Engine(ABC):
    """A table where it is, with the few expressions that SQL engines write differently.

    Queries name the table `self.data`, and further small tables by `self.table(name)`. What both engines take alike is
    written once, in `evosplit_plugins.table.queries`.

    Attributes
    ----------
    name
        The word for it.
    dialect
        What it writes differently.
    data
        What the table is called in a query.
    ordered
        Whether rows have an order to keep.
    """

    name: ClassVar[str]
    dialect: ClassVar[Dialect]
    data: str
    ordered: ClassVar[bool] = False

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, ColumnType]:
        """The columns in their order."""

    @abstractmethod
    def fetch(self, sql: str, **tables: Any) -> Any:
        """Run a query whose result is small; returns an Arrow table. `tables` are Arrow tables that it names."""

    def first(self, sql: str, **tables: Any) -> dict[str, Any]:
        """Return the first row that a query gives, by the names of its columns."""
        found: dict[str, Any] = self.fetch(sql, **tables).to_pylist()[0]
        return found

    def ascends(self, column: str) -> bool:
        """Whether the values of a column strictly ascend, as far as that can be found out quickly.

        If they do, no value is repeated, and nothing has to be sorted or grouped to know it.
        """
        return False

    @abstractmethod
    def query(self, sql: str, **tables: Any) -> Any:
        """Give what a query returns as the engine's own kind of table, where nothing is collected."""

    @abstractmethod
    def like(self, made: Any) -> Engine:
        """Hold what `query` gave."""

    @abstractmethod
    def write(self, made: Any, path: Path, form: str, *, separator: str = ",", by: str | None = None) -> int:
        """Write what `query` gave, and count its rows.

        The format is "parquet", "csv" (with a separator) or "json" lines; with `by`, there is a folder for each value
        of that column.
        """

    @abstractmethod
    def pairs(self, made: Any, first: str, second: str) -> Iterator[tuple[str, str]]:
        """Give two columns of what `query` gave as texts, in the order of the first, without holding all of them."""

    @abstractmethod
    def table(self, name: str) -> str:
        """Name a small table in a query."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Write the name of a column."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """Write a text."""

    @abstractmethod
    def cut(self, expression: str, delimiter: str) -> str:
        """Cut a text where the delimiter is, into a list; null for what is blank."""

    @abstractmethod
    def mixed(self, expressions: Sequence[str]) -> str:
        """Hash values into an integer of 64 bits, which only this engine has to know."""

    @abstractmethod
    def hashed(self, seed: int, text: str) -> str:
        """Hash a seed and a text into an integer of `HASH_BITS` bits, the same on every engine.

        Those are the last bits of the first eight bytes of the MD5 of `seed:text`, the least significant byte first.
        """

    def as_text(self, expression: str) -> str:
        """Turn a value into a text."""
        return self.dialect.as_text.format(expression)

    def as_number(self, expression: str) -> str:
        """Turn a value into a float, null where it is none."""
        return f"TRY_CAST({expression} AS DOUBLE)"

    def as_integer(self, expression: str) -> str:
        """Turn a value into an integer of 64 bits, null where it is none."""
        return f"TRY_CAST({expression} AS BIGINT)"

    def plucked(self, expression: str, field: str) -> str:
        """Turn a list of structs into the list of one of their fields."""
        return self.dialect.plucked.format(expression, self.quoted(field))

    def as_texts(self, expression: str) -> str:
        """Turn a list into one of texts."""
        return self.dialect.as_texts.format(expression)

    def from_json(self, expression: str) -> str:
        """Turn a text such as `["cat", "dog"]` into a list of texts, null where it is none."""
        return self.dialect.from_json.format(expression)

    def tidied(self, expression: str) -> str:
        """Sort a list of texts and leave out nulls; no list is an empty one."""
        return self.dialect.tidied.format(expression)

    def list_key(self, expression: str) -> str:
        """Write a value that stands for a list of texts in any order: the same as for the list that is tidied."""
        return self.dialect.list_key.format(expression, self.tidied(expression))

    def gathered(self, expression: str, condition: str) -> str:
        """Gather the values of a group of rows into a sorted list, where a condition holds."""
        return self.dialect.gathered.format(expression, condition)

    def element(self, expression: str, position: str) -> str:
        """Take an element of a list, counted from 1; null for the one at 0, and beyond the end."""
        return self.dialect.element.format(expression, position)

    def listed(self, expressions: Sequence[str]) -> str:
        """Make a list of values."""
        return self.dialect.listed.format(", ".join(expressions))

    def extracted(self, expression: str, pattern: str, group: int) -> str:
        """Take what some parentheses of the first match of a pattern hold, 0 for all of it; an empty text for none."""
        return f"regexp_extract({expression}, {self.literal(pattern)}, {group})"

    def replaced(self, expression: str, pattern: str, by: str) -> str:
        """Replace all matches of a pattern."""
        return self.dialect.replaced.format(expression, self.literal(pattern), self.literal(by))

    def is_nan(self, expression: str) -> str:
        """Tell whether a float is no number."""
        return f"isnan({expression})"

    def failing(self, message: str) -> str:
        """Stop the query with a message, where an integer is expected."""
        return self.dialect.failing.format(self.literal(message))

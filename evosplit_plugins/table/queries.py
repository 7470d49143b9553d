"""The queries, written once for all engines: what is checked, counted, and how rows get their subset.

Rows that nobody has to tell apart, because their labels and whatever else matters are equal, form a *cell*. The engine
counts the rows of each cell; the split says how many of them go to each subset; and the rows of a cell are dealt out in
the order of a hash of seed and id, which is the same on every engine and in any order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evosplit_plugins.table.engine import HASH_BITS, Engine

__all__ = ["CHANGED", "PREFIX", "Binned", "CellColumns", "Labels", "Queries"]

PREFIX = "__evosplit_"  # of columns that are ours
CHANGED = "evosplit: the table has changed since its labels were counted; nothing was written: split it again"


@dataclass(frozen=True)
class Labels:
    """Where the labels of a row are.

    Attributes
    ----------
    form
        "none", "list", "single" (one label in a cell), "cut" (several, with a delimiter between), "json" or "counts"
        (a column for each label).
    column
        The column, or the first of several.
    field
        For a list of structs, the field that holds the label.
    delimiter
        What stands between the labels of a cell.
    columns
        The columns of "counts".
    """

    form: str
    column: str = ""
    field: str | None = None
    delimiter: str = ""
    columns: tuple[str, ...] = ()

    def sql(self, engine: Engine) -> str:
        """Write the labels of a row as a list, which is never null."""
        at = engine.quoted(self.column)
        if self.form == "list":
            return engine.label_list(at, self.field)
        if self.form == "cut":
            return engine.parts(at, self.delimiter)
        if self.form == "json":
            return engine.label_list(engine.from_json(f"nullif(trim({at}), '')"), None)
        if self.form == "single":
            text = f"nullif(trim({engine.as_text(at)}), '')"
            return engine.label_list(_only(engine, text), None)
        if self.form == "counts":
            return engine.listed([f"coalesce({engine.as_integer(engine.quoted(name))}, 0)" for name in self.columns])
        return engine.label_list(_only(engine, engine.as_text("NULL")), None)


@dataclass(frozen=True)
class Binned:
    """A column of numbers as bins: the position of the first limit that is not less than the number, and its name."""

    limits: tuple[float, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class CellColumns:
    """What tells cells apart beside labels.

    Attributes
    ----------
    groups, strata
        Columns.
    bins
        How strata of many different numbers are binned.
    there
        Subsets that rows stay in, by their numbers, as the column of subsets names them.
    named
        Whether further locked rows are named in the table `locks`.
    n_subsets
        How many subsets there are.
    """

    groups: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    bins: Mapping[str, Binned] = field(default_factory=dict)
    there: Mapping[str, int] = field(default_factory=dict)
    named: bool = False
    n_subsets: int = 0

    @property
    def names(self) -> list[str]:
        """What the columns that tell cells apart are called in queries."""
        groups = [f"g{number}" for number in range(len(self.groups))]
        return ["labels", *groups, *(f"s{number}" for number in range(len(self.strata))), "lock"]

    @property
    def is_locked(self) -> bool:
        """Whether rows are locked at all."""
        return bool(self.there) or self.named


@dataclass(frozen=True)
class Queries:
    """The queries about one table.

    Attributes
    ----------
    engine
        Where the table is.
    id, subset
        The columns of ids and of subsets that exist.
    labels
        Where the labels are.
    """

    engine: Engine
    id: str
    labels: Labels
    subset: str | None = None

    def column(self, name: str) -> str:
        """Write a column as it is read: no number where it is none, whatever else is unusual as a text."""
        at, kind = self.engine.quoted(name), self.engine.columns[name].kind
        if kind == "number":
            return self.engine.as_number(at)
        return at if kind in ("text", "integer", "boolean") else self.engine.as_text(at)

    # Checks

    def sizes(self) -> str:
        """Count rows, and those that have an id."""
        at = self.engine.quoted(self.id)
        return f"SELECT count(*) AS n_rows, count({at}) AS n_ids FROM {self.engine.data}"

    def repeated_ids(self) -> str:
        """Count the ids that occur more than once, and give one of them with its number of rows."""
        at = self.engine.quoted(self.id)
        return (
            f"SELECT count(*) AS n, min({self.engine.as_text('id')}) AS example, max(n_rows) AS most FROM "
            f"(SELECT {at} AS id, count(*) AS n_rows FROM {self.engine.data} GROUP BY {at} HAVING count(*) > 1) AS r"
        )

    def count_where(self, condition: str, example: str) -> str:
        """Count rows that are wrong, and give an example."""
        shown = self.engine.as_text(example)
        return f"SELECT count(*) AS n, min({shown}) AS example FROM {self.engine.data} WHERE {condition}"

    # Rows

    def rows(self, columns: Sequence[str] = (), *, labels: bool = True, position: str | None = None) -> str:
        """Give the id and labels of each row, and of some columns the values."""
        id_at = self.engine.quoted(self.id)
        chosen = [f"{id_at if self._id_is_integer else self.engine.as_text(id_at)} AS id"]
        chosen += [f"{self.labels.sql(self.engine)} AS labels"] if labels else []
        chosen += [f"{self.column(name)} AS v{number}" for number, name in enumerate(columns)]
        chosen += [f"{self.engine.quoted(position)} AS at"] if position is not None else []
        return f"SELECT {', '.join(chosen)} FROM {self.engine.data}"

    @property
    def _id_is_integer(self) -> bool:
        return self.engine.columns[self.id].kind == "integer"

    # Cells

    def values(self, column: str, most: int) -> str:
        """Count the rows of each value of a column."""
        at = self.column(column)
        return f"SELECT {at} AS value, count(*) AS n FROM {self.engine.data} GROUP BY {at} LIMIT {most}"

    def histogram(self, cells: CellColumns, most: int) -> str:
        """Count the rows of each cell."""
        named = ", ".join(f"{PREFIX}{name} AS {name}" for name in cells.names)
        return f"SELECT {named}, count(*) AS n FROM ({self._keyed(cells)}) AS keyed GROUP BY {_own(cells)} LIMIT {most}"

    def n_cells(self, cells: CellColumns) -> str:
        """Count the cells."""
        names = _own(cells)
        return f"SELECT count(*) AS n FROM (SELECT {names} FROM ({self._keyed(cells)}) AS keyed GROUP BY {names}) AS c"

    def in_buckets(self, cells: CellColumns, seed: int) -> str:
        """Count the rows of each bucket of the cells that are dealt out in buckets."""
        return (
            f"SELECT {PREFIX}cell AS cell, {PREFIX}bucket AS bucket, count(*) AS n FROM "
            f"({self._in_cells(cells, seed)}) AS found WHERE {PREFIX}bits > 0 AND {PREFIX}lock IS NULL "
            f"GROUP BY {PREFIX}cell, {PREFIX}bucket"
        )

    def placed(
        self,
        cells: CellColumns,
        seed: int,
        names: Sequence[str],
        *,
        buckets: bool,
        keep: Sequence[str],
        column: str,
    ) -> str:
        """Give all rows with their subset.

        Parameters
        ----------
        cells
            What tells cells apart; the table `cells` holds them, with the cumulative quotas of the subsets.
        seed
            The seed of the order within a cell.
        names
            The subsets.
        buckets
            Whether the table `buckets` says how many rows of a cell come before those of each bucket.
        keep
            The columns of the result, in order; `column` among them is replaced, else it comes last.
        column
            What the column with the subsets is called.
        """
        ranked = (
            f"row_number() OVER (PARTITION BY {PREFIX}cell, {PREFIX}bucket, {PREFIX}lock "
            f"ORDER BY {PREFIX}hashed, {PREFIX}id)"
        )
        inner = f"SELECT found.*, {ranked} AS {PREFIX}rank FROM ({self._in_cells(cells, seed)}) AS found"
        rank = f"{PREFIX}rank"
        if buckets:
            inner = (
                f"SELECT ranked.*, coalesce(b.before, 0) AS {PREFIX}before FROM ({inner}) AS ranked LEFT JOIN "
                f"{self.engine.table('buckets')} AS b ON ranked.{PREFIX}cell = b.cell "
                f"AND ranked.{PREFIX}bucket = b.bucket"
            )
            rank = f"({PREFIX}rank + {PREFIX}before)"
        cases = [f"WHEN {rank} <= {PREFIX}upto{j} THEN {self.engine.literal(name)}" for j, name in enumerate(names)]
        if cells.is_locked:
            stay = [f"WHEN {PREFIX}lock = {j} THEN {self.engine.literal(name)}" for j, name in enumerate(names)]
            cases = [*stay, *cases]
        made = f"CASE {' '.join(cases)} ELSE {self._failing} END"
        return f"SELECT {self._chosen(keep, column, made)} FROM ({inner}) AS placed"

    def joined(self, keep: Sequence[str], column: str) -> str:
        """Give all rows with the subset that the table `placed` has for their ids."""
        at = self.engine.as_text(f"d.{self.engine.quoted(self.id)}")
        chosen = self._chosen(keep, column, f"coalesce(p.subset, {self._failing})", "d.")
        source, order = self.engine.data, ""
        if self.engine.ordered:
            source = f"(SELECT *, row_number() OVER () AS {PREFIX}at FROM {source})"
            order = f" ORDER BY d.{PREFIX}at"
        other = self.engine.table("placed")
        return f"SELECT {chosen} FROM {source} AS d LEFT JOIN {other} AS p ON {at} = p.placed_id{order}"

    @property
    def _failing(self) -> str:
        return self.engine.as_text(self.engine.failing(CHANGED))

    def _chosen(self, keep: Sequence[str], column: str, made: str, prefix: str = "") -> str:
        named = f"{made} AS {self.engine.quoted(column)}"
        kept = [named if name == column else f"{prefix}{self.engine.quoted(name)}" for name in keep]
        return ", ".join(kept if column in keep else [*kept, named])

    def _keyed(self, cells: CellColumns, *, seed: int | None = None) -> str:
        """Give each row what tells its cell; with a seed, also the row itself and its hash."""
        engine = self.engine
        id_text = engine.as_text(f"d.{engine.quoted(self.id)}")
        chosen = [f"{self.labels.sql(engine)} AS {PREFIX}labels"]
        chosen += [f"{self._group(name)} AS {PREFIX}g{number}" for number, name in enumerate(cells.groups)]
        chosen += [f"{self._stratum(name, cells)} AS {PREFIX}s{number}" for number, name in enumerate(cells.strata)]
        chosen.append(f"{self._lock(cells)} AS {PREFIX}lock")
        if seed is not None:
            chosen += ["d.*", f"{id_text} AS {PREFIX}id", f"{engine.hashed(seed, id_text)} AS {PREFIX}hashed"]
        source = f"{engine.data} AS d"
        if cells.named:
            source += f" LEFT JOIN {engine.table('locks')} AS l ON {id_text} = l.locked_id"
        return f"SELECT {', '.join(chosen)} FROM {source}"

    def _in_cells(self, cells: CellColumns, seed: int) -> str:
        """Give each row the number of its cell, with the quotas of that, and its bucket there."""
        same = [f"k.{PREFIX}labels = c.labels"]
        same += [f"k.{PREFIX}{name} IS NOT DISTINCT FROM c.{name}" for name in cells.names if name[0] in "gs"]
        shift = f"CAST({HASH_BITS} - c.bits AS INTEGER)"
        bucket = f"CASE WHEN c.bits > 0 THEN {self.engine.shifted(f'k.{PREFIX}hashed', shift)} ELSE 0 END"
        quotas = ", ".join(f"c.upto{j} AS {PREFIX}upto{j}" for j in range(cells.n_subsets))
        return (
            f"SELECT k.*, c.cell AS {PREFIX}cell, c.bits AS {PREFIX}bits, {bucket} AS {PREFIX}bucket, {quotas} "
            f"FROM ({self._keyed(cells, seed=seed)}) AS k LEFT JOIN {self.engine.table('cells')} AS c "
            f"ON {' AND '.join(same)}"
        )

    def _group(self, name: str) -> str:
        kind = self.engine.columns[name].kind
        at = f"d.{self.engine.quoted(name)}"
        return at if kind in ("text", "integer") else self.engine.as_text(at)

    def _stratum(self, name: str, cells: CellColumns) -> str:
        """Write the value of a stratum as a text, or as the number of its bin."""
        at = self.engine.quoted(name)
        binned = cells.bins.get(name)
        if binned is None:
            return self.engine.as_text(at)
        number = self.engine.as_number(at)
        cases = " ".join(f"WHEN {number} <= {_double(limit)} THEN '{j}'" for j, limit in enumerate(binned.limits))
        missing = f"{number} IS NULL OR {self.engine.is_nan(number)}"
        return f"CASE WHEN {missing} THEN NULL {cases} ELSE '{len(binned.limits)}' END"

    def _lock(self, cells: CellColumns) -> str:
        """Write the number of the subset in which a row stays, null where it is free."""
        cases = ""
        if cells.there and self.subset is not None:
            at = self.engine.as_text(f"d.{self.engine.quoted(self.subset)}")
            cases = " ".join(f"WHEN {at} = {self.engine.literal(name)} THEN {j}" for name, j in cells.there.items())
        if cells.named:
            cases += " WHEN l.locked_into IS NOT NULL THEN l.locked_into"
        return f"CAST(CASE {cases} ELSE NULL END AS INTEGER)" if cases else "CAST(NULL AS INTEGER)"


def _double(number: float) -> str:
    """Write a float so that every engine reads the same one."""
    text = repr(number) if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
    return f"CAST('{text}' AS DOUBLE)"


def _own(cells: CellColumns) -> str:
    return ", ".join(f"{PREFIX}{name}" for name in cells.names)


def _only(engine: Engine, text: str) -> str:
    """Make a list of one text."""
    return engine.listed([text])

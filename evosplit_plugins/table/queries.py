"""The queries, written once for all engines: what is checked, counted, and how rows get their subset.

Rows that nobody has to tell apart, because their labels and whatever else matters are equal, form a *cell*. The engine
counts the rows of each cell; the split says how many of them go to each subset; and the rows of a cell are dealt out in
the order of a hash of seed and id, which is the same on every engine and in any order of the rows. So a subset of a
cell ends at some hash: once the engine has found these limits, a row's own hash tells where it goes, and no row waits
for another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evosplit_plugins.table.engine import Engine
from evosplit_plugins.table.labels import Labels
from evosplit_plugins.table.patterns import ROBOFLOW, Pattern

__all__ = ["CHANGED", "PREFIX", "Binned", "CellColumns", "Queries"]

PREFIX = "__evosplit_"  # of columns that are ours
CHANGED = "evosplit: the table has changed since its labels were counted; nothing was written: split it again"


@dataclass(frozen=True)
class Binned:
    """A column of numbers as bins: the position of the first limit that is not less than the number, and its name."""

    limits: tuple[float, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class CellColumns:
    """What a request asks about the rows beside their labels; strata and locks tell cells apart.

    Attributes
    ----------
    groups, strata
        Columns.
    regex
        What finds a further name of a group in an id.
    copies
        Whether rows whose ids name a picture in the table `copies` form a group, too.
    bins
        How strata of many different numbers are binned.
    there
        Subsets that rows stay in, by their numbers, as the column of subsets names them.
    named
        Whether further locked rows are named in the table `locks`.
    """

    groups: tuple[str, ...] = ()
    regex: Pattern | None = None
    copies: bool = False
    strata: tuple[str, ...] = ()
    bins: Mapping[str, Binned] = field(default_factory=dict)
    there: Mapping[str, int] = field(default_factory=dict)
    named: bool = False

    @property
    def is_locked(self) -> bool:
        """Whether rows are locked at all."""
        return bool(self.there) or self.named

    @property
    def n_named(self) -> int:
        """How many names of groups a row can have, beside that of its picture."""
        return len(self.groups) + (self.regex is not None)

    @property
    def n_keys(self) -> int:
        """How many names of groups a row can have."""
        return self.n_named + self.copies


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
        return f"SELECT count(*) AS n_rows, count({self.engine.quoted(self.id)}) AS n_ids FROM {self.engine.data}"

    def row_without_id(self) -> str:
        """Give a row whose id is null."""
        return f"SELECT * FROM {self.engine.data} WHERE {self.engine.quoted(self.id)} IS NULL LIMIT 1"

    def n_different(self) -> str:
        """Count the hashes of ids: as many as there are different ids, or by chance less."""
        hashed = self.engine.mixed([self.engine.quoted(self.id)])
        return f"SELECT count(DISTINCT {hashed}) AS n FROM {self.engine.data}"

    def repeated_ids(self) -> str:
        """Count the ids that occur more than once, and give one of them with its number of rows."""
        at = self.engine.quoted(self.id)
        return (
            f"SELECT count(*) AS n, min({self.engine.as_text('id')}) AS example, max(n_rows) AS most FROM "
            f"(SELECT {at} AS id, count(*) AS n_rows FROM {self.engine.data} GROUP BY {at} HAVING count(*) > 1) AS r"
        )

    def n_found(self, regex: Pattern) -> str:
        """Count the rows in whose ids a regular expression finds a text."""
        return f"SELECT count({self.key(CellColumns(regex=regex))}) AS n FROM {self.engine.data} AS d"

    def some_id(self) -> str:
        """Give an id."""
        return f"SELECT min({self._id_text}) AS example FROM {self.engine.data} AS d"

    def tested(self, conditions: Sequence[str], shown: Sequence[str]) -> list[tuple[int, Any]]:
        """For each condition, count its rows and find an example of a column among them, all in one pass."""
        told = [
            f"count(CASE WHEN {condition} THEN 1 END) AS n{number}, "
            f"min(CASE WHEN {condition} THEN {self.engine.as_text(at)} END) AS example{number}"
            for number, (condition, at) in enumerate(zip(conditions, shown, strict=True))
        ]
        found = list(self.engine.first(f"SELECT {', '.join(told)} FROM {self.engine.data}").values()) if told else []
        return list(zip(found[::2], found[1::2], strict=True))

    # Rows

    def rows(self, columns: Sequence[str] = (), *, labels: bool = True, position: str | None = None) -> str:
        """Give the id and labels of each row, and of some columns the values."""
        id_at = self.engine.quoted(self.id)
        is_integer = self.engine.columns[self.id].kind == "integer"
        chosen = [f"{id_at if is_integer else self.engine.as_text(id_at)} AS id"]
        chosen += [f"{self.labels.sql(self.engine)} AS labels"] if labels else []
        chosen += [f"{self.column(name)} AS v{number}" for number, name in enumerate(columns)]
        chosen += [f"{self.engine.quoted(position)} AS at"] if position is not None else []
        return f"SELECT {', '.join(chosen)} FROM {self.engine.data}"

    # Cells

    def values(self, column: str, most: int) -> str:
        """Count the rows of each value of a column."""
        at = self.column(column)
        return f"SELECT {at} AS value, count(*) AS n FROM {self.engine.data} GROUP BY {at} LIMIT {most}"

    def histogram(self, cells: CellColumns, most: int | None = None) -> str:
        """Count the rows of each cell and return them with its key, for at most `most` cells.

        Rows are grouped as they are first: that leaves few lists to sort.
        """
        strata = [f"s{number}" for number in range(len(cells.strata))]
        given = {"raw": self.labels.raw(self.engine)}
        given |= {name: self._stratum(of, cells) for name, of in zip(strata, cells.strata, strict=True)}
        given["lock"] = self._lock(cells)
        inner = self._grouped(_selected(given, self._rows(cells)), list(given), "count(*)")
        told = {"labels": self.labels.sql(self.engine, "raw"), **{name: name for name in (*strata, "lock", "n")}}
        found = self._grouped(_selected(told, f"({inner}) AS r"), ["labels", *strata, "lock"], "sum(n)")
        key = "labels" if self.labels.form == "counts" else self.engine.list_key("labels")
        return f"SELECT c.*, {self.engine.mixed([key, *strata])} AS cell_key FROM ({found}) AS c{_at_most(most)}"

    def n_cells(self, cells: CellColumns) -> str:
        """Count the cells."""
        return f"SELECT count(*) AS n FROM ({self.histogram(cells)}) AS c"

    def in_groups(self, cells: CellColumns, most: int | None = None) -> str:
        """Count the rows of each cell of the table `cells` in each group, locked rows apart."""
        given = {f"g{number}": key for number, key in enumerate(self._keys(cells))}
        names = list(given)
        given |= {"lock": self._lock(cells), "cell_key": self._key(cells)}
        rows = _selected(given, self._rows(cells))
        joined = (
            f"SELECT {', '.join([*(f'k.{name}' for name in names), 'k.lock', 'c.cell'])} FROM ({rows}) AS k "
            f"LEFT JOIN {self.engine.table('cells')} AS c ON k.cell_key = c.cell_key"
        )
        return f"{self._grouped(joined, [*names, 'lock', 'cell'], 'count(*)')}{_at_most(most)}"

    def n_groups(self, cells: CellColumns) -> str:
        """Count the groups."""
        distinct = ", ".join(self._keys(cells))
        return f"SELECT count(*) AS n FROM (SELECT DISTINCT {distinct} FROM {self._rows(cells)}) AS g"

    # Names of pictures, and what subsets share

    def rewritten(self) -> str:
        """Count the ids that may not be the name of their picture, as `picture_of` writes it."""
        told = [f"instr({self._id_text}, {self.engine.literal(sign)}) > 0" for sign in ("/", "\\", ".rf.")]
        odd = " OR ".join([*told, f"{self._id_text} = '.'"])
        return f"SELECT count(CASE WHEN {odd} THEN 1 END) AS n FROM {self.engine.data} AS d"

    def copies(self, cells: CellColumns, most: int) -> str:
        """Give the pictures of several rows, with their number and the first and last subset they are locked in."""
        rows = _selected({"picture": self.picture(), "lock": self._lock(cells)}, self._rows(cells))
        return (
            f"SELECT picture, count(*) AS n, min(lock) AS first, max(lock) AS last FROM ({rows}) AS k "
            f"GROUP BY picture HAVING count(*) > 1 LIMIT {most}"
        )

    def shared(self, value: str, cells: CellColumns) -> str:
        """Count the values that several rows have, by the set of subsets (bits of `mask`) that these are in.

        Beside it the rows of each subset with such a value, how many values each has more than once, and examples.
        """
        k = len(cells.there)
        rows = _selected({"value": self.engine.as_text(value), "lock": self._lock(cells)}, self._rows(cells))
        held = ", ".join(f"count(CASE WHEN lock = {j} THEN 1 END) AS h{j}" for j in range(k))
        found = f"SELECT value, {held} FROM ({rows}) AS k WHERE value IS NOT NULL GROUP BY value HAVING count(*) > 1"
        mask = " + ".join(f"CASE WHEN h{j} > 0 THEN CAST({1 << j} AS BIGINT) ELSE 0 END" for j in range(k))
        told = ["mask", "count(*) AS n_values", "min(value) AS example"]
        for j in range(k):
            told += [
                f"CAST(sum(h{j}) AS BIGINT) AS n{j}",
                f"count(CASE WHEN h{j} > 1 THEN 1 END) AS again{j}",
                f"min(CASE WHEN h{j} > 1 THEN value END) AS twice{j}",
            ]
        return f"SELECT {', '.join(told)} FROM (SELECT *, {mask} AS mask FROM ({found}) AS v) AS m GROUP BY mask"

    def subsets(self, most: int) -> str:
        """Count the rows of each subset that exists, under the names that are in the column."""
        at = self.engine.as_text(self.engine.quoted(str(self.subset)))
        return f"SELECT {at} AS value, count(*) AS n FROM {self.engine.data} GROUP BY {at} LIMIT {most}"

    def in_a_subset(self) -> str:
        """Give the rows that are in a subset."""
        at = self.engine.as_text(self.engine.quoted(str(self.subset)))
        return f"SELECT * FROM {self.engine.data} WHERE {at} <> ''"

    def key(self, cells: CellColumns) -> str:
        """Write the only name of a group that a row can have."""
        (key,) = self._keys(cells)
        return key

    def in_subsets(self, cells: CellColumns, most: int) -> str:
        """Count the rows with each combination of names of groups in each subset."""
        given = {f"g{number}": key for number, key in enumerate(self._keys(cells))}
        rows = _selected({**given, "lock": self._lock(cells)}, self._rows(cells))
        return f"{self._grouped(rows, [*given, 'lock'], 'count(*)')} LIMIT {most}"

    def file_name(self) -> str:
        """Write an id as `plain_path` does."""
        engine = self.engine
        path = f"replace({self._id_text}, {engine.literal(chr(92))}, '/')"
        path = engine.replaced(path, r"/(?:\.?/)+", "/")
        path = engine.replaced(engine.replaced(path, r"\A(?:\.(?:/|\z))+", ""), r"/\.?\z", "")
        rooted = f"{self._id_text} LIKE '/%' OR instr({self._id_text}, {engine.literal(chr(92))}) = 1"
        return f"CASE WHEN {path} = '' AND ({rooted}) THEN '/' ELSE {path} END"

    def source_picture(self) -> str:
        """Write the picture that Roboflow made a file from, null where it did not."""
        path = self.file_name()
        name, *ends = (self.engine.extracted(path, ROBOFLOW, group) for group in (1, 2, 3))
        end = f"coalesce({', '.join(f'nullif({each}, {chr(39) * 2})' for each in ends)}, 'None')"
        made = f"CASE WHEN {name} <> '' THEN concat({name}, '.', {end}) END"
        return f"CASE WHEN instr({self._id_text}, '.rf.') > 0 THEN {made} END"

    def picture(self) -> str:
        """Write the picture that an id names, as `picture_of` does."""
        return f"coalesce({self.source_picture()}, {self.file_name()})"

    # Rows and their subsets

    def limits(self, cells: CellColumns, seed: int, n_limits: int) -> str:
        """Find the hash with which each subset of a cell ends, and the next hash.

        The table `cells` has for each limit the number of rows up to it (`upto`), and a range of hashes in which it
        lies as good as certainly (`low`, `high`): only hashes in these are sorted. A limit outside of its range is
        wrong.
        """
        engine = self.engine
        rows = _selected(
            {"cell_key": self._key(cells), "h": self._hash(seed)}, f"{self._rows(cells)}{self._free(cells)}"
        )
        inside = " OR ".join(f"k.h BETWEEN c.low{j} AND c.high{j}" for j in range(n_limits))
        ranged = f"SELECT k.h, c.*, {inside} AS inside FROM ({rows}) AS k JOIN {engine.table('cells')} AS c " \
                 "ON k.cell_key = c.cell_key"  # fmt: skip
        skipped = [f"count(CASE WHEN h < low{j} AND NOT inside THEN 1 END) AS skipped{j}" for j in range(n_limits)]
        found = ", ".join(["cell", "count(*) AS n", f"{engine.gathered('h', 'inside')} AS hs", *skipped])
        told = ["f.cell", "f.n"]
        for j in range(n_limits):
            at = f"greatest(c.upto{j} - f.skipped{j}, 0)"
            told += [f"{engine.element('f.hs', at)} AS t{j}", f"{engine.element('f.hs', f'{at} + 1')} AS after{j}"]
        return (
            f"SELECT {', '.join(told)} FROM (SELECT {found} FROM ({ranged}) AS r GROUP BY cell) AS f "
            f"JOIN {engine.table('cells')} AS c ON f.cell = c.cell"
        )

    def placed(
        self, cells: CellColumns, seed: int, names: Sequence[str], *, keep: Sequence[str], column: str, free: bool
    ) -> str:
        """Give all rows with their subset.

        Parameters
        ----------
        cells
            What is asked about the rows. The table `cells` holds the hash at which each subset of a cell ends, and with
            groups the table `groups` the number of the subset of each.
        seed
            The seed of the order within a cell.
        names
            The subsets.
        keep
            The columns of the result, in order; `column` among them is replaced, else it comes last.
        column
            What the column with the subsets is called.
        free
            Whether there are rows that are neither locked nor in a group.
        """
        engine = self.engine
        given = {f"{PREFIX}g{number}": key for number, key in enumerate(self._keys(cells))}
        keys = range(cells.n_keys)
        cases = []
        if cells.is_locked:
            given[f"{PREFIX}lock"] = self._lock(cells)
            cases += [f"WHEN k.{PREFIX}lock = {j} THEN {engine.literal(name)}" for j, name in enumerate(names)]
        joins = ""
        if keys:
            same = [f"k.{PREFIX}g{number} IS NOT DISTINCT FROM g.g{number}" for number in keys]
            joins += f" LEFT JOIN {engine.table('groups')} AS g ON {' AND '.join(same)}"
            cases += [f"WHEN g.into = {j} THEN {engine.literal(name)}" for j, name in enumerate(names)]
        if free:
            given |= {f"{PREFIX}key": self._key(cells), f"{PREFIX}hash": self._hash(seed)}
            joins += f" LEFT JOIN {engine.table('cells')} AS c ON k.{PREFIX}key = c.cell_key"
            alone = "".join(f" AND k.{PREFIX}g{number} IS NULL" for number in keys)
            for j, name in enumerate(names):
                cases.append(f"WHEN k.{PREFIX}hash <= c.t{j}{alone} THEN {engine.literal(name)}")
        made = f"CASE {' '.join(cases)} ELSE {self._failing} END"
        rows = f"SELECT {', '.join(['d.*', *(f'{each} AS {name}' for name, each in given.items())])}"
        chosen = self._chosen(keep, column, made, "k.")
        return f"SELECT {chosen} FROM ({rows} FROM {self._rows(cells)}) AS k{joins}"

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

    def _chosen(self, keep: Sequence[str], column: str, made: str, prefix: str) -> str:
        named = f"{made} AS {self.engine.quoted(column)}"
        kept = [named if name == column else f"{prefix}{self.engine.quoted(name)}" for name in keep]
        return ", ".join(kept if column in keep else [*kept, named])

    def _grouped(self, rows: str, names: Sequence[str], n: str) -> str:
        listed = ", ".join(names)
        return f"SELECT {listed}, CAST({n} AS BIGINT) AS n FROM ({rows}) AS k GROUP BY {listed}"

    def _rows(self, cells: CellColumns) -> str:
        """Write the table, called `d`, with the locks of rows that are named, and the pictures that several show."""
        rows = f"{self.engine.data} AS d"
        if cells.named:
            rows += f" LEFT JOIN {self.engine.table('locks')} AS l ON {self._id_text} = l.locked_id"
        if cells.copies:
            rows += f" LEFT JOIN {self.engine.table('copies')} AS p ON {self.picture()} = p.picture"
        return rows

    def _free(self, cells: CellColumns) -> str:
        """Restrict to rows that are neither locked nor in a group."""
        told = [f"{key} IS NULL" for key in self._keys(cells)]
        told += [f"{self._lock(cells)} IS NULL"] if cells.is_locked else []
        return f" WHERE {' AND '.join(told)}" if told else ""

    @property
    def _id_text(self) -> str:
        return self.engine.as_text(f"d.{self.engine.quoted(self.id)}")

    def _hash(self, seed: int) -> str:
        return self.engine.hashed(seed, self._id_text)

    def _key(self, cells: CellColumns) -> str:
        """Write the number that stands for the cell of a row."""
        return self.engine.mixed([self.labels.key(self.engine), *(self._stratum(name, cells) for name in cells.strata)])

    def _keys(self, cells: CellColumns) -> list[str]:
        """Write what names groups: columns, a part of the id, the picture that several rows show."""
        keys = [self._group(name) for name in cells.groups]
        if cells.regex is not None:
            found = self.engine.extracted(self._id_text, cells.regex.text, cells.regex.group)
            keys.append(f"nullif({found}, '')")
        return [*keys, "p.picture"] if cells.copies else keys

    def _group(self, name: str) -> str:
        kind = self.engine.columns[name].kind
        at = f"d.{self.engine.quoted(name)}"
        if kind == "number":
            return self.engine.as_integer(self.engine.as_number(at))
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


def _selected(given: Mapping[str, str], source: str) -> str:
    return f"SELECT {', '.join(f'{each} AS {name}' for name, each in given.items())} FROM {source}"


def _at_most(most: int | None) -> str:
    return "" if most is None else f" LIMIT {most}"


def _double(number: float) -> str:
    """Write a float so that every engine reads the same one."""
    text = repr(number) if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
    return f"CAST('{text}' AS DOUBLE)"

"""The samples of a table: one row for each where they are few, one for each kind of row where they are many."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, Split
from evosplit.constraints import FEW_NUMBERS, binned
from evosplit.methods import resolve_method
from evosplit.wording import counted, listed
from evosplit_plugins.files import names_file
from evosplit_plugins.headings import find_column
from evosplit_plugins.request import Request
from evosplit_plugins.source import Asked, Fields, Source, listed_ids, named_in_file
from evosplit_plugins.table.cells import Cells, cell_table, count_cells
from evosplit_plugins.table.groups import MOST_IN_GROUPS, GroupedSplit, Groups, count_groups
from evosplit_plugins.table.patterns import Pattern, portable
from evosplit_plugins.table.queries import PREFIX, Binned, CellColumns, Queries

if TYPE_CHECKING:
    from evosplit_plugins.table.files import Opened
    from evosplit_plugins.table.memory import InMemory

__all__ = ["TableSource"]

MOST_VALUES = 1_000_000  # different numbers of a stratum

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableSource(Source):
    """The rows of a table.

    Attributes
    ----------
    queries
        The questions that can be asked about the table.
    is_histogram
        Whether `counts` has one row for each kind of row instead of one for each row.
    order
        Where there is one row of counts for each row: the position of each in the table, if that is known.
    keys
        Where ids may repeat, because the table is divided already: the id and subset of each row.
    opened, held
        The files that it is in; or what holds it in memory.
    state
        The cells that were counted last and what is in each group, with the question that they answer and the ids that
        are locked.
    """

    queries: Queries
    is_histogram: bool = False
    order: Ints | None = None
    keys: Sequence[Any] | None = None
    opened: Opened | None = None
    held: InMemory | None = None
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """Name it for a reader."""
        return ", ".join(self.inputs) or "the table"

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the rows come from, and what defines the cells, so that a replay finds them again."""
        known = super().provenance
        if self.is_histogram and "cells" in self.state:
            columns: CellColumns = self.state["cells"].columns
            known["cells"] = {
                "groups": list(columns.groups),
                "strata": list(columns.strata),
                "there": list(columns.there),
                "named": self.state["named"],
                "regex": self.state["regex"],
                "copies": columns.copies,
            }
        return known

    # One row for each sample

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Read columns, all of them in one pass."""
        wanted = list(dict.fromkeys([*groups, *strata]))
        for parameter, names in (("group_by", groups), ("stratify_by", strata)):
            self.check_columns(parameter, names)
        if not wanted:
            return Fields()
        values = self.column_values(wanted)
        return Fields(
            groups={name: values[name] for name in groups},
            strata={name: _numbers_of(values[name]) for name in strata},
        )

    def column_values(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """Read columns, in the order of the samples."""
        further = [] if self.keys is None or self.queries.subset is None else [self.queries.subset]
        found = self.queries.engine.fetch(self.queries.rows([*names, *further], labels=False))
        keys = found.column("id").to_pylist()
        if further:
            subsets = found.column(f"v{len(names)}").to_pylist()
            keys = [(each, None if subset is None else str(subset)) for each, subset in zip(keys, subsets, strict=True)]
        rows: dict[Any, list[int]] = {}
        for row, key in enumerate(keys):
            rows.setdefault(key, []).append(row)
        try:
            order = [rows[key].pop() for key in (self.counts.ids.tolist() if self.keys is None else self.keys)]
        except (KeyError, IndexError) as error:
            raise EvoSplitError(f"{self.called} has changed since it was read: ids are gone; read it again") from error
        taken = found.take(order)
        return {name: taken.column(f"v{number}").to_pylist() for number, name in enumerate(names)}

    def check_columns(self, parameter: str, names: Sequence[str]) -> None:
        """Refuse columns that are not there, or that hold lists."""
        columns = self.queries.engine.columns
        theirs = [each for each in columns if not each.startswith(PREFIX)]
        for name in names:
            find_column(theirs, name, (), "", parameter, self.called)
            if columns[name].kind in ("list", "struct"):
                raise EvoSplitError(f"{parameter}={name!r} holds {columns[name].shown}; name a column of single values")

    def check_groups(self, names: Sequence[str]) -> None:
        """Refuse groups that are named by numbers other than integers."""
        engine = self.queries.engine
        names = [name for name in names if engine.columns[name].kind == "number"]
        wrong = []
        for name in names:
            number = engine.as_number(engine.quoted(name))
            whole = f"{number} = floor({number}) AND {engine.as_integer(number)} IS NOT NULL"
            wrong.append(f"{number} IS NOT NULL AND NOT {engine.is_nan(number)} AND NOT ({whole})")
        for name, (n, example) in zip(names, self.queries.tested(wrong, list(map(engine.quoted, names))), strict=True):
            if n:
                raise EvoSplitError(
                    f"group_by={name!r} gives {example!r} for a sample; a group is named by an integer or a text"
                )

    # One row for each kind of row

    def asked(self, request: Request, names: Sequence[str]) -> Asked | None:
        """Count the rows of each cell, and turn the request into what the engine takes."""
        if not self.is_histogram:
            return None
        has_groups = "groups" in getattr(resolve_method(request.method), "respects", ())
        for parameter, columns in (("group_by", request.groups), ("stratify_by", request.strata)):
            self.check_columns(parameter, columns)
        cells = self.cells(
            request.groups,
            request.strata,
            request.locks,
            names,
            regex=request.group_regex,
            copies=request.group_copies and has_groups,
        )
        strata = {
            name: _categories(cells.values(f"s{number}"), cells.columns.bins.get(name))
            for number, name in enumerate(request.strata)
        }
        if self.state["groups"] is not None:
            groups: Groups = self.state["groups"]
            _check_free(groups.lock)
            asked = groups.asked(cells.counts, names, strata)
            return replace(asked, notes=(*asked.notes, *self.state["said"]))
        if not cells.columns.is_locked:
            return Asked(cells.counts, None, None, strata, self.state["said"])
        _check_free(cells.locks)
        locked = [None if lock < 0 else names[lock] for lock in cells.locks.tolist()]
        return Asked(cells.counts, None, locked, strata, self.state["said"])

    def replay(self, split: Split) -> Split | None:
        """Find the cells of a saved split; the same rows then go to the same subsets."""
        kept = split.source.get("cells")
        if not self.is_histogram:
            if kept:
                raise EvoSplitError(
                    f"the split is of {sum(split.sizes):,} rows that were only counted, and {self.called} has "
                    f"{len(self):,}; apply it to the table that was split"
                )
            return None
        if not isinstance(kept, Mapping):
            raise EvoSplitError(
                f"the split names each of its samples, but the rows of {self.called} are only counted; pass "
                "histogram=False to hold them"
            )
        locks = {**dict.fromkeys(kept.get("there") or ()), **(kept.get("named") or {})}
        cells = self.cells(
            tuple(kept.get("groups") or ()),
            tuple(kept.get("strata") or ()),
            locks,
            split.names,
            regex=kept.get("regex"),
            copies=bool(kept.get("copies")),
        )
        quotas, copies = split.quotas(cells.counts.ids), cells.counts.copies
        if not np.array_equal(quotas.sum(axis=1), copies):
            row = int(np.argmax(quotas.sum(axis=1) != copies))
            raise EvoSplitError(
                f"{self.called} is not what was split: it has {copies[row]:,} rows like {cells.counts.ids[row]}, the "
                f"split {quotas[row].sum():,}; apply it to the same table, or split anew"
            )
        found: dict[str, Any] = {
            "placement": quotas,
            "sample_ids": cells.counts.ids,
            "counts": cells.counts if self.has_labels else None,
        }
        groups: Groups | None = self.state["groups"]
        if groups is None:
            return replace(split, **found)
        into = groups.replayed(split, self.called)[None]
        return GroupedSplit.of(split, values=groups.values, into=into, **found)

    def cells(
        self,
        groups: Sequence[str],
        strata: Sequence[str],
        locks: Mapping[str, Any],
        names: Sequence[str],
        *,
        regex: str | None = None,
        copies: bool = False,
    ) -> Cells:
        """Count the rows of each cell and group, unless the last call asked for the same."""
        asked = (tuple(groups), tuple(strata), repr(locks), tuple(names), regex, copies)
        if self.state.get("asked") != asked:
            columns, ids = self._lock_columns(groups, strata, locks, names)
            columns = replace(columns, regex=self.pattern(regex))
            self.check_groups(groups)
            table = self._lock_table(ids)
            tables = {} if table is None else {"locks": table}
            said: tuple[str, ...] = ()
            if copies:
                shown, said = self._copies(columns, tables)
                columns = replace(columns, copies=shown is not None)
                tables |= {} if shown is None else {"copies": shown}
            # The locks of groups are told where these are counted.
            telling = replace(columns, there={}, named=False) if columns.n_keys else columns
            plain: Cells = self.state["plain"]
            cells = plain
            if strata or telling.is_locked:
                cells = count_cells(self.queries, replace(telling, copies=False), self.called, table)
            cells = replace(cells, columns=columns)
            within = None
            if columns.n_keys:
                within = count_groups(self.queries, columns, cell_table(cells), **tables)
            named = {name: [each for each, j in ids.items() if names[j] == name] for name in locks} if ids else None
            self.state.update(
                asked=asked, cells=cells, tables=tables, groups=within, named=named, regex=regex, said=said
            )
        counted: Cells = self.state["cells"]
        return counted

    def pattern(self, regex: str | None) -> Pattern | None:
        """Write a regular expression for the engine; refuse what it would take otherwise, and what finds nothing."""
        if regex is None:
            return None
        if self.queries.engine.columns[self.queries.id].kind != "text":
            raise EvoSplitError(
                f"group_regex={regex!r} looks into file names, but {self.queries.id!r} holds integers; use group_by="
            )
        pattern = portable(regex)
        if pattern.ends:
            at = self.queries.engine.quoted(self.queries.id)
            ((n, example),) = self.queries.tested([f"{at} LIKE {self.queries.engine.literal('%' + chr(10))}"], [at])
            if n:
                raise EvoSplitError(
                    f"group_regex={regex!r} looks for the end of ids, and {n:,} of them end with a line break, for "
                    f"example {example!r}; mend them"
                )
        if not self.queries.engine.first(self.queries.n_found(pattern))["n"]:
            example = self.queries.engine.first(self.queries.some_id())["example"]
            raise EvoSplitError(
                f"group_regex={regex!r} finds no text in any id of {self.queries.id!r}, such as {example!r}; correct it"
            )
        return pattern

    def _copies(self, columns: CellColumns, tables: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
        """Find the pictures that several rows show, None if there are none; and say so."""
        import pyarrow.compute as pc

        queries, known = self.queries, self.state
        if queries.engine.columns[queries.id].kind != "text" and not known.get("repeats"):
            return None, ()
        if not known.get("repeats") and not queries.engine.first(queries.rewritten())["n"]:
            return None, ()
        found = queries.engine.fetch(queries.copies(columns, MOST_IN_GROUPS + 1), **tables)
        if len(found) > MOST_IN_GROUPS:
            raise EvoSplitError(
                f"group_copies=: more than {MOST_IN_GROUPS:,} pictures of {self.called} are in several rows, too many "
                "for one machine; pass group_copies=False"
            )
        found = found.filter(pc.less_equal(found.column("n"), max(2, len(self) // 2)))
        torn = pc.fill_null(pc.less(found.column("first"), found.column("last")), False)
        n_torn = pc.sum(torn).as_py() or 0
        leaking = counted(n_torn, "picture is", "pictures are")
        said = [f"{leaking} locked into several subsets, so they leak."] if n_torn else []
        found = found.filter(pc.invert(torn))
        if not len(found):
            return None, tuple(said)
        pictures = counted(len(found), "picture", "pictures")
        said.append(f"{pc.sum(found.column('n')).as_py():,} rows are copies of {pictures}, by id; they stay together.")
        return found.select(["picture"]), tuple(said)

    def _lock_columns(
        self, groups: Sequence[str], strata: Sequence[str], locks: Mapping[str, Any], names: Sequence[str]
    ) -> tuple[CellColumns, dict[str, int]]:
        """Tell what is asked about the rows, and which ids are locked."""
        there = {name: names.index(name) for name, reference in locks.items() if reference is None}
        if there and self.queries.subset is None:
            raise EvoSplitError(
                f"locked= keeps the subset {next(iter(there))!r}, but {self.called} has no column of subsets; name it "
                "with subset_column="
            )
        bins = {name: limits for name in strata if (limits := self._limits(name)) is not None}
        ids: dict[str, int] = {}
        for name, reference in locks.items():
            for each in [] if reference is None else _locked_ids(name, reference):
                if ids.setdefault(str(each), names.index(name)) != names.index(name):
                    raise EvoSplitError(f"locked= puts the row {each!r} into two subsets; lock each into one")
        if there:
            self._check_there(there)
        return CellColumns(groups=tuple(groups), strata=tuple(strata), bins=bins, there=there, named=bool(ids)), ids

    def _lock_table(self, ids: Mapping[str, int]) -> Any:
        """Make a table of the ids that are locked; None if there are none."""
        if not ids:
            return None
        import pyarrow as pa

        into = pa.array(list(ids.values()), pa.int32())
        table = pa.table({"locked_id": pa.array(list(ids), pa.string()), "locked_into": into})
        at = self.queries.engine.as_text(f"d.{self.queries.engine.quoted(self.queries.id)}")
        n = self.queries.engine.first(
            f"SELECT count(*) AS n FROM {self.queries.engine.data} AS d "
            f"JOIN {self.queries.engine.table('locks')} AS l ON {at} = l.locked_id",
            locks=table,
        )["n"]
        if n != len(ids):
            raise EvoSplitError(
                f"locked= names {len(ids):,} rows, and {self.called} has {n:,} of them; leave out the others"
            )
        return table

    def _check_there(self, there: Mapping[str, int]) -> None:
        """Refuse subsets that no row is in."""
        subset = str(self.queries.subset)
        found = self.queries.engine.fetch(self.queries.values(subset, 1000)).column("value").to_pylist()
        for name in there:
            if name not in map(str, found):
                known = listed((repr(each) for each in sorted(map(str, found))), 5)
                raise EvoSplitError(
                    f"locked= keeps the subset {name!r}, which {subset!r} of {self.called} does not have; "
                    f"it has {known}"
                )

    def _limits(self, name: str) -> Binned | None:
        """Bin a stratum of many different numbers; None where its values are categories."""
        queries = self.queries
        if queries.engine.columns[name].kind not in ("integer", "number", "text"):
            return None
        found = queries.engine.fetch(queries.values(name, MOST_VALUES + 1))
        if len(found) > MOST_VALUES:
            raise EvoSplitError(
                f"stratify_by={name!r} has more than {MOST_VALUES:,} different values; round them in another column"
            )
        try:  # numbers in CSV files are texts
            values = [float("nan") if each is None else float(each) for each in found.column("value").to_pylist()]
        except ValueError:
            return None
        array = np.array(values)
        if len({each for each in values if each == each}) <= FEW_NUMBERS:
            return None
        titles, code = binned(array, np.array(found.column("n").to_pylist(), dtype=np.int64))
        known = ~np.isnan(array)
        used = np.unique(code[known])
        highest = [float(array[known & (code == each)].max()) for each in used]
        return Binned(tuple(highest[:-1]), tuple(titles[each] for each in used))


def _locked_ids(subset: str, reference: Any) -> list[Any]:
    if isinstance(reference, (list, tuple)) and reference and all(map(names_file, reference)):
        return [each for path in reference for each in _locked_ids(subset, path)]
    if isinstance(reference, (str, os.PathLike)):
        return named_in_file(Path(reference), subset)[0]
    return listed_ids(reference, subset)


def _check_free(locks: Ints) -> None:
    if (locks >= 0).all():
        raise EvoSplitError("locked= places every sample already, so there is nothing to split; lock fewer")


def _numbers_of(values: list[Any]) -> list[Any]:
    """Take texts for numbers where all of them are, as in CSV files."""
    filled = [value for value in values if value is not None]
    if not filled or not all(isinstance(value, str) for value in filled):
        return values
    try:
        return [None if value is None else float(value) for value in values]
    except ValueError:
        return values


def _categories(values: list[Any], bins: Binned | None) -> list[Any]:
    """Name the bins that the engine numbered."""
    return values if bins is None else [None if value is None else bins.names[int(value)] for value in values]

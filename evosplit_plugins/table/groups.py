"""Groups of a table whose rows are only counted: the engine counts what is in each, and each goes to one subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.constraints import GroupIndex
from evosplit.front import ParetoFront
from evosplit.wording import counted
from evosplit_plugins.grouping import Links, joined
from evosplit_plugins.source import Asked
from evosplit_plugins.table.queries import CHANGED, CellColumns, Queries

__all__ = ["MOST_IN_GROUPS", "GroupedSplit", "Groups", "count_groups", "links_of"]

MOST_IN_GROUPS = 16_000_000  # label sets in groups that one machine is asked to solve
_BYTES_A_SET = 400  # of memory that each takes, measured with twelve rows in a group

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupedSplit(Split):
    """A split of groups of rows that are only counted.

    Attributes
    ----------
    values
        The values of the columns that name groups (columns x combinations).
    into
        The subset of the rows with each combination, for each point of the front.
    """

    values: Sequence[list[Any]] = ()
    into: npt.NDArray[Any] = field(default_factory=lambda: np.zeros((1, 0), dtype=np.int64))

    @classmethod
    def of(cls, split: Split, **changes: Any) -> GroupedSplit:
        """Make one of another split."""
        return cls(**{**{each.name: getattr(split, each.name) for each in fields(Split)}, **changes})

    @property
    def subset_of_values(self) -> Ints:
        """The subset of the rows with each combination of values."""
        return np.asarray(self.into[self.chosen if len(self.into) > 1 else 0])

    def to_manifest(self) -> dict[str, Any]:
        """Return what `Split.to_manifest` does, with the subset of each group."""
        manifest = super().to_manifest()
        source = manifest["source"]
        return {**manifest, "source": {**source, "cells": {**source["cells"], **self.told}}}

    @property
    def told(self) -> dict[str, list[Any]]:
        """The subset of each group, as the manifest keeps it."""
        return {"values": list(self.values), "into": self.subset_of_values.tolist()}


@dataclass(frozen=True, eq=False)
class Groups:
    """What is in each group: so many rows of a cell.

    Attributes
    ----------
    values
        The values that rows in a group have (columns x combinations).
    combination
        For each entry the combination of values, -1 for rows without a group; entries with a group come first.
    group
        The group of each combination; those that share a value are one.
    names
        What each group is called.
    cell, n, lock
        The cell of each entry, how many rows it has, and the subset in which they stay, -1 if they are free.
    notes
        Sentences about rows that have no name of a group.
    """

    values: list[list[Any]]
    combination: Ints
    group: Ints
    names: list[Any]
    cell: Ints
    n: Ints
    lock: Ints
    notes: tuple[str, ...] = ()

    @property
    def alone(self) -> npt.NDArray[np.bool_]:
        """Which entries are of rows without a group."""
        return self.combination < 0

    def asked(self, counts: LabelCounts, names: Sequence[str], strata: Mapping[str, list[Any]]) -> Asked:
        """Turn them into what the engine takes: whole groups, and rows on their own."""
        single = self.alone & (self.lock < 0)  # each such row is one of its own
        entry = np.repeat(np.arange(len(self.cell)), np.where(single, self.n, 1))
        copies = np.where(single, 1, self.n)[entry]
        is_alone = self.alone[entry]
        group = np.append(self.group, 0)[self.combination[entry]]
        group[is_alone] = len(self.names) + np.arange(int(is_alone.sum()))
        cell, k = self.cell[entry], len(names)
        some_row = np.zeros(len(self.group), dtype=np.int64)
        some_row[self.combination[entry[~is_alone]]] = np.flatnonzero(~is_alone)

        def finish(split: Split) -> Split:
            front = split.front
            assert front is not None  # noqa: S101  (it was made just now)
            tables = []
            for each in front.assignments:
                flat = np.bincount(cell * k + each, weights=copies, minlength=len(counts) * k)
                tables.append(flat.reshape(-1, k).astype(np.int64))
            return GroupedSplit.of(
                split,
                placement=tables[split.chosen],
                sample_ids=counts.ids,
                counts=counts,
                front=ParetoFront(front.objectives, front.objective_names, np.stack(tables), front.reference),
                values=self.values,
                into=front.assignments[:, some_row],
                constraints=None,
            )

        return Asked(
            LabelCounts(counts.matrix[cell], labels=counts.labels, copies=copies if (copies > 1).any() else None),
            GroupIndex((*self.names, *[None] * int(is_alone.sum())), group, copies),
            [None if lock < 0 else names[lock] for lock in self.lock[entry].tolist()]
            if (self.lock >= 0).any()
            else None,
            {name: np.array(values, dtype=object)[cell].tolist() for name, values in strata.items()},
            self.notes,
            finish,
        )

    def quotas_alone(self, table: Ints, subset_of_values: Ints) -> Ints:
        """Return how many free rows without a group go to each subset (cells x k)."""
        rest = table.copy()
        told = ~self.alone
        into = np.where(told, np.append(subset_of_values, -1)[self.combination], self.lock)
        np.subtract.at(rest, (self.cell[into >= 0], into[into >= 0]), self.n[into >= 0])
        return rest

    def replayed(self, split: Split, called: str) -> Ints:
        """Return the subset of each combination in a saved split."""
        kept = split.told if isinstance(split, GroupedSplit) else split.source["cells"]
        known = dict(zip(zip(*kept["values"], strict=True), kept["into"], strict=True))
        try:
            return np.array([known[each] for each in zip(*self.values, strict=True)], dtype=np.int64)
        except KeyError as error:
            raise EvoSplitError(
                f"{called} is not what was split: it has the group {error.args[0]}, the split has not; apply it to the "
                "same table, or split anew"
            ) from error


def count_groups(queries: Queries, columns: CellColumns, cells: Any, **tables: Any) -> Groups:
    """Let the engine count the rows of each cell in each group.

    Parameters
    ----------
    queries, columns
        What is asked.
    cells
        A table with the key and number of each cell.
    **tables
        The table of locked rows, if there are any.
    """
    import pyarrow.compute as pc

    found = queries.engine.fetch(queries.in_groups(columns, MOST_IN_GROUPS + 1), cells=cells, **tables)
    if len(found) > MOST_IN_GROUPS:
        n = queries.engine.first(queries.n_groups(columns))["n"]
        raise _too_many(
            columns, f"{n:,} groups with more than {MOST_IN_GROUPS:,} different label sets in them", len(found)
        )
    if found.column("cell").null_count:
        raise EvoSplitError(CHANGED.partition(": ")[2])
    codes, dictionaries = [], []
    for number in range(columns.n_keys):
        encoded = found.column(f"g{number}").combine_chunks().dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary)
        rank = np.empty(len(order) + 1, dtype=np.int64)
        rank[order.to_numpy()], rank[-1] = np.arange(len(order)), -1
        codes.append(rank[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])
        dictionaries.append(encoded.dictionary.take(order).to_pylist())
    for name, code in zip(columns.groups, codes, strict=False):
        if (code < 0).all():
            raise EvoSplitError(f"group_by={name!r}: no sample has a value there; name another field")
    lock = found.column("lock").combine_chunks().fill_null(-1).to_numpy().astype(np.int64)
    cell, n = found.column("cell").to_numpy(), found.column("n").to_numpy()
    del found
    alone = np.all([code < 0 for code in codes], axis=0)
    notes = _without(columns, int(n[np.all([code < 0 for code in codes[: columns.n_named]], axis=0)].sum()))
    n_alone = int(n[alone & (lock < 0)].sum())
    if len(n) + n_alone > MOST_IN_GROUPS:
        raise _too_many(columns, f"{n_alone:,} rows without a group, each of which is one of its own,", n_alone)
    order = np.lexsort((lock, cell, *codes[::-1], alone))
    codes, cell, n, lock, alone = [code[order] for code in codes], cell[order], n[order], lock[order], alone[order]
    changes = np.any([np.diff(code, prepend=-2) != 0 for code in codes], axis=0)
    combination = np.where(alone, -1, np.cumsum(changes) - 1)
    first = np.flatnonzero(changes & ~alone)
    values = [
        [None if code < 0 else known[code] for code in column[first].tolist()]
        for column, known in zip(codes, dictionaries, strict=True)
    ]
    if len(values) == 1:
        return Groups(values, combination, np.arange(len(first)), values[0], cell, n, lock, notes)
    linked = joined(links_of(columns, values)) or []
    code_of = {name: code for code, name in enumerate(dict.fromkeys(linked))}
    group = np.array([code_of[name] for name in linked], dtype=np.int64)
    return Groups(values, combination, group, list(code_of), cell, n, lock, notes)


def links_of(columns: CellColumns, values: Sequence[list[Any]]) -> list[Links]:
    """Say how what names groups is called, where there are several."""
    several = len(columns.groups) > 1
    links = [Links(each, f"{name}=" if several else "") for each, name in zip(values, columns.groups, strict=False)]
    links += [Links(each) for each in values[len(columns.groups) : columns.n_named]]
    return links + [Links(each, "picture ", names_groups=False) for each in values[columns.n_named :]]


def _without(columns: CellColumns, n: int) -> tuple[str, ...]:
    """Say how many rows no column and no part of an id puts into a group."""
    if not n or not columns.n_named:
        return ()
    verb, each = ("has", "it is") if n == 1 else ("have", "each is")
    what = " or ".join(map(repr, columns.groups)) if columns.groups else "matching id"
    return (f"{counted(n, 'row', 'rows')} {verb} no {what}, so {each} a group of its own.",)


def _too_many(columns: CellColumns, what: str, n: int) -> EvoSplitError:
    asked, leave = "group_regex=", "leave out group_regex="
    if columns.groups:
        asked, leave = f"group_by={columns.groups[0]!r}", "leave out group_by="
    elif columns.regex is None:
        asked, leave = "group_copies=True", "pass group_copies=False"
    return EvoSplitError(
        f"{asked}: {what} would take more than {n * _BYTES_A_SET / 2**30:.0f} GiB on one machine; {leave}, or split "
        "one row for each group"
    )

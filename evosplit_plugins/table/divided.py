"""Tables that are divided already and only counted: what each subset holds, and what subsets share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from evosplit import EvoSplitError
from evosplit_plugins.audit.leaks import FILE_NAME, GROUP, SOURCE_PICTURE, Leak, Shared, find_leaks, repeated
from evosplit_plugins.files import usual_order
from evosplit_plugins.grouping import joined
from evosplit_plugins.source import Placement
from evosplit_plugins.table.cells import cell_table, count_cells
from evosplit_plugins.table.fields import TableSource
from evosplit_plugins.table.groups import MOST_IN_GROUPS, links_of
from evosplit_plugins.table.queries import CellColumns, Queries

__all__ = ["DividedSource", "count_subsets"]

_MOST_SUBSETS = 62  # bits of the number that tells which of them hold something


class DividedSource(TableSource):
    """The rows of a table that is divided, which are only counted."""

    def shared(self, groups: Sequence[str], regex: str | None) -> Shared:
        """Let the engine count what several subsets have; what belongs together in more than one way is joined here."""
        assert self.subsets is not None  # noqa: S101  (else it is not judged)
        queries, names = self.queries, self.subsets.names
        there = CellColumns(there={name: j for j, name in enumerate(names)})
        self.check_columns("group_by", groups)
        self.check_groups(groups)
        columns = replace(there, groups=tuple(groups), regex=self.pattern(regex))
        values = {}
        rewritten = bool(queries.engine.first(queries.rewritten())["n"])
        if rewritten or self.state["repeats"]:
            values[FILE_NAME] = queries.file_name()
        if rewritten:
            values[SOURCE_PICTURE] = queries.source_picture()
        leaks: list[Leak] = []
        repeats: list[str] = []
        for kind, value in values.items():
            found = queries.engine.fetch(queries.shared(value, there)).to_pylist()
            leaks += _leaks(kind, found, names)
            repeats += _repeats(kind, found, names)
        if columns.n_named == 1:
            found = queries.engine.fetch(queries.shared(queries.key(columns), columns)).to_pylist()
            leaks += _leaks(GROUP, found, names)
        elif columns.n_named:
            leaks += self._joined(columns, names)
        return Shared(tuple(leaks), tuple(repeats))

    def _joined(self, columns: CellColumns, names: Sequence[str]) -> list[Leak]:
        """Find the groups that subsets share, where rows with an equal value in any column are one group."""
        found = self.queries.engine.fetch(self.queries.in_subsets(columns, MOST_IN_GROUPS + 1))
        if len(found) > MOST_IN_GROUPS:
            raise EvoSplitError(
                f"the groups of {self.called} have more than {MOST_IN_GROUPS:,} combinations of names, too many for "
                "one machine; audit one of them at a time"
            )
        values = [found.column(f"g{number}").to_pylist() for number in range(columns.n_named)]
        linked = joined(links_of(columns, values))
        n = found.column("n").to_numpy()
        return [] if linked is None else find_leaks(GROUP, linked, found.column("lock").to_numpy(), names, n)


def count_subsets(queries: Queries, called: str, common: Mapping[str, Any], *, repeats: bool) -> DividedSource:
    """Count the rows of each kind in each subset.

    Parameters
    ----------
    queries
        The questions that can be asked about the table.
    called
        What it is called.
    common
        What else the source knows.
    repeats
        Whether ids may repeat.
    """
    notes = []
    if queries.subset is None:
        raise EvoSplitError(f"an audit compares subsets, but {called} is not divided into several; see subset_column=")
    held = queries.engine.fetch(queries.subsets(_MOST_SUBSETS + 2)).to_pylist()
    names = sorted(sorted(each["value"] for each in held if each["value"]), key=usual_order)
    if len(names) > _MOST_SUBSETS:
        raise EvoSplitError(
            f"subset_column={queries.subset!r} of {called} names more than {_MOST_SUBSETS} subsets; name another column"
        )
    if not names:
        raise EvoSplitError("no row has a subset; there is nothing to audit")
    left_out = sum(each["n"] for each in held if not each["value"])
    if left_out:
        notes.append(f"{left_out:,} rows without a subset were left out.")
        queries = replace(queries, engine=queries.engine.like(queries.engine.query(queries.in_a_subset())))
    cells = count_cells(queries, CellColumns(), called)
    columns = CellColumns(there={name: j for j, name in enumerate(names)})
    found = queries.engine.fetch(queries.in_groups(columns), cells=cell_table(cells))
    table = np.zeros((len(cells.counts), len(names)), dtype=np.int64)
    table[found.column("cell").to_numpy(), found.column("lock").to_numpy()] = found.column("n").to_numpy()
    return DividedSource(
        counts=cells.counts,
        is_histogram=True,
        subsets=Placement(tuple(names), table),
        notes=tuple(notes),
        state={"plain": cells, "repeats": repeats},
        **{**common, "queries": queries},
    )


def _leaks(kind: str, found: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Leak]:
    """Add up what two subsets have, over all sets of subsets that have something."""
    leaks = []
    for a, b in combinations(range(len(names)), 2):
        both = [each for each in found if each["mask"] >> a & 1 and each["mask"] >> b & 1]
        if both:
            n_shared = sum(each["n_values"] for each in both)
            n_samples = sum(each[f"n{a}"] + each[f"n{b}"] for each in both)
            examples = tuple(sorted(each["example"] for each in both)[:3])
            leaks.append(Leak(kind, (names[a], names[b]), n_shared, int(n_samples), examples))
    return leaks


def _repeats(kind: str, found: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Say which subsets hold something more than once."""
    sentences = []
    for j, name in enumerate(names):
        again = [each for each in found if each[f"again{j}"]]
        if again:
            examples = sorted(each[f"twice{j}"] for each in again)[:3]
            sentences.append(repeated(kind, name, sum(each[f"again{j}"] for each in again), examples))
    return sentences

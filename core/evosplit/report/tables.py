"""The tables of a report as plain data: what every renderer shows, in which order and written how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from evosplit.report.shares import ShareTable, misplaced
from evosplit.report.terminal import columns as columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evosplit.report.numbers import LabelRow, SplitReport

__all__ = [
    "Column",
    "Table",
    "front_table",
    "label_table",
    "measure_table",
    "missing_table",
    "number",
    "objective_titles",
    "overview",
    "pair_table",
    "percent",
    "strata_table",
    "subset_table",
]

_SHORTEST_NAME = 14
Kind = Literal["name", "count", "percent", "measure", "part"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    heading
        What stands above it.
    kind
        What its cells are: "name" (text, aligned left; all others right), "count" (an integer), "percent" (1.0 is
        100 %), "measure" (a float) or "part" (a `Part`); None is an empty cell.
    extra
        Whether it is left out where there is not enough space for the whole table.
    """

    heading: str
    kind: Kind = "count"
    extra: bool = False

    def write(self, cell: Any) -> str:
        """Write a cell of this column."""
        if cell is None:
            return ""
        if self.kind == "name":
            return str(cell)
        if self.kind == "count":
            return f"{cell:,}"
        if self.kind == "percent":
            return percent(cell)
        if self.kind == "measure":
            return number(cell)
        return f"{cell.count:,} {percent(cell.share):>7}"


@dataclass(frozen=True)
class Table:
    """Rows under headings; the cells are values, which the columns know how to write.

    Examples
    --------
    >>> table = Table("Sizes", (Column("subset", "name"), Column("share", "percent", extra=True)), (("train", 0.8),))
    >>> table.texts()
    (('train', '80.0 %'),)
    >>> [column.heading for column in table.fitting(10).columns]
    ['subset']
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Return the cells as text."""
        writers = [column.write for column in self.columns]
        return tuple(tuple(write(cell) for write, cell in zip(writers, row, strict=True)) for row in self.rows)

    def widths(self) -> list[int]:
        """Return how many columns of a terminal each column takes."""
        texts = [tuple(column.heading for column in self.columns), *self.texts()]
        return [max(map(columns_of, cells)) for cells in zip(*texts, strict=True)]

    def fitting(self, width: int) -> Table:
        """Return the table, without its extra columns if lines of `width` characters are too short for all.

        Columns have two spaces between them; names may be cut, down to 14 characters.
        """
        widths = [
            min(each, _SHORTEST_NAME) if column.kind == "name" else each
            for column, each in zip(self.columns, self.widths(), strict=True)
        ]
        if sum(widths) + 2 * (len(widths) - 1) <= width:
            return self
        kept = [at for at, column in enumerate(self.columns) if not column.extra]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)


def number(value: float) -> str:
    """Write a measure so that it can be compared at a glance.

    Examples
    --------
    >>> number(3.0), number(0.012345), number(0.000012345)
    ('3', '0.0123', '1.23e-05')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.3g}" if 0.001 <= abs(value) < 1000 else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2e}"


def percent(share: float) -> str:
    """Write a share: with one decimal, none from 100 % on, two below 0.1 %.

    Examples
    --------
    >>> percent(0.1234), percent(4), percent(0.0004), percent(0)
    ('12.3 %', '400 %', '0.04 %', '0.0 %')
    """
    value = 100 * abs(share)
    return f"{100 * share:,.{0 if value >= 99.95 else 1 if value >= 0.1 or not value else 2}f} %"


def overview(report: SplitReport, *, labels: int, beside: tuple[str, SplitReport] | None = None) -> list[Table]:
    """Return the tables that show a split at a glance, those with rows, the measures last.

    Parameters
    ----------
    report
        The report of the split.
    labels
        How many labels to list at most.
    beside
        Another split of the same data to compare with, and what to call it.
    """
    tables = [
        subset_table(report),
        label_table(report, limit=labels, beside=beside),
        pair_table(report, limit=5),
        strata_table(report, limit=10),
        missing_table(report, limit=8),
        measure_table(report, beside=beside),
    ]
    return [table for table in tables if len(table)]


def subset_table(report: SplitReport) -> Table:
    """List the subsets with their samples, instances and constraints; also the sizes asked for, if they differ."""
    nouns, effects = report.nouns, report.effects
    columns: list[tuple[Column, Sequence[Any]]] = [
        (Column("subset", "name"), report.names),
        (Column(nouns.samples, "part"), [row.samples for row in report.subsets]),
        (Column("instances", "part"), [row.instances for row in report.subsets]),
    ]
    if report.sizes != report.target_sizes:
        columns.insert(2, (Column("asked for"), report.target_sizes))
    if report.n_unlabelled:
        columns.append((Column(f"no {nouns.label}", "part"), [row.unlabelled for row in report.subsets]))
    if effects is not None and effects.groups is not None:
        columns.append((Column("groups", extra=True), effects.groups.per_subset))
    if effects is not None and any(effects.locked):
        columns.append((Column("locked", extra=True), effects.locked))
    return _from_columns("What each subset holds", columns)


def label_table(
    report: SplitReport,
    *,
    by: str = "samples",
    limit: int | None = None,
    beside: tuple[str, SplitReport] | None = None,
) -> Table:
    """List the labels, rarest first; of more than `limit` those that are furthest from their shares."""
    nouns, total = report.nouns, len(report.occurring)
    rows: Sequence[LabelRow] = report.occurring
    title = f"{nouns.labels.capitalize()}, rarest first"
    if limit is not None and total > limit:
        rows = report.worst_labels(limit)
        title = f"The {limit:,} of {total:,} {nouns.labels} furthest from their share"
    of_samples = by == "samples"
    columns = [
        Column(nouns.label, "name"),
        Column(nouns.samples if of_samples else by),
        Column("off by", "percent"),
        *([Column(beside[0], "percent")] if beside is not None else []),
        *([Column("random", "percent"), Column("to move")] if of_samples else []),
        *(Column(name, "part", extra=True) for name in report.names),
    ]
    other = {} if beside is None else {row.label: row.deviation for row in beside[1].labels}
    table = report.shares(rows, by=by)
    cells = [
        (
            row.label,
            sum(getattr(row, by)),
            row.deviation if of_samples else row.instance_deviation,
            *([other[row.label]] if beside is not None else []),
            *([row.random_deviation, row.misplaced] if of_samples else []),
            *parts,
        )
        for row, parts in zip(rows, table.parts, strict=True)
    ]
    return Table(title, tuple(columns), tuple(cells))


def pair_table(report: SplitReport, *, limit: int | None = None) -> Table:
    """List the label pairs that are furthest from their shares, the worst first."""
    pairs = report.pairs[:limit]
    title = f"The {len(pairs):,} of {report.n_pairs:,} label pairs furthest from their share"
    columns = _share_columns("pair", report.nouns.samples, report.names)
    return Table(title, columns, tuple(_share_rows(report.shares(pairs), [row.misplaced for row in pairs])))


def strata_table(report: SplitReport, *, limit: int | None = None) -> Table:
    """List the categories of all strata, first those of which most would have to move to have their share."""
    rows = [
        (name, *row)
        for name, table in (report.effects.strata if report.effects is not None else ())
        for row in _share_rows(table, misplaced(table.counts, table.sizes).tolist())
        if row[1]
    ]
    rows.sort(key=lambda row: (-row[4], -row[3]))
    which = "Categories" if limit is None or len(rows) <= limit else f"The {limit:,} of {len(rows):,} categories"
    columns = (Column("stratum", "name"), *_share_columns("category", "times", report.names))
    return Table(f"{which} of the strata furthest from their share", columns, tuple(rows[:limit]))


def missing_table(report: SplitReport, *, limit: int | None = None) -> Table:
    """List the labels that some subset lacks, the most frequent first."""
    nouns, rows = report.nouns, report.missing_labels()
    some = f"{limit:,} of {len(rows):,} " if limit is not None and len(rows) > limit else ""
    title = f"{some}{nouns.labels} that some subset lacks".capitalize()
    columns = (Column(nouns.label, "name"), Column(nouns.samples), Column("missing in", "name"))
    return Table(title, columns, tuple((row.label, row.total, ", ".join(row.missing)) for row in rows[:limit]))


def measure_table(report: SplitReport, *, beside: tuple[str, SplitReport] | None = None) -> Table:
    """List the measures beside those of other methods and their lower bounds.

    SOIS and IS are iterative stratification over label pairs and over labels; `beside` takes their place.
    """
    rows = report.measure_rows
    other = {row.key: row.value for row in beside[1].measure_rows} if beside is not None else {}
    columns: list[tuple[Column, Sequence[Any]]] = [
        (Column("measure", "name"), [f"{row.name}, {row.meaning}" for row in rows]),
        (Column("this split", "measure"), [row.value for row in rows]),
    ]
    if beside is not None:
        columns.append((Column(beside[0], "measure"), [other.get(row.key) for row in rows]))
    elif report.baselines.stratified:
        columns.append((Column("SOIS", "measure", extra=True), [row.by_pairs for row in rows]))
        columns.append((Column("IS", "measure", extra=True), [row.by_labels for row in rows]))
    columns += [
        (Column("random", "measure"), [row.random for row in rows]),
        (Column("±", "percent", extra=True), [row.relative_spread or None for row in rows]),
        (Column("bound", "measure"), [row.bound for row in rows]),
    ]
    return _from_columns("Measures, smaller is better", columns)


def front_table(report: SplitReport) -> Table:
    """List the trade-offs that were found; no rows where there is no choice."""
    front = report.front
    if front is None or len(front) == 1 or len(front.objective_names) == 1:
        return Table("Trade-offs", (Column("trade-off", "name"),), ())
    columns = (Column(title, "measure") for title in objective_titles(front.objective_names))
    rows = tuple(
        (f"{i} (in use)" if i == report.chosen else str(i), *values)
        for i, values in enumerate(front.objectives.tolist())
    )
    return Table("Trade-offs", (Column("trade-off", "name"), *columns), rows)


def objective_titles(names: Iterable[str]) -> tuple[str, ...]:
    """Return the titles of objectives; with instances but without samples, pairs are measured as LPD'.

    Examples
    --------
    >>> objective_titles(["samples", "pairs"]), objective_titles(["instances", "pairs"])[1]
    (('LD: samples per label', 'LPD: label pairs'), "LPD': label pairs")
    """
    names = tuple(names)
    titles = {
        "samples": "LD: samples per label",
        "instances": "LD': instances per label",
        "pairs": "LPD': label pairs" if "instances" in names and "samples" not in names else "LPD: label pairs",
        "triplets": "label triplets",
        "strata": "strata",
    }
    return tuple(titles.get(name, name) for name in names)


def _from_columns(title: str, columns: Sequence[tuple[Column, Sequence[Any]]]) -> Table:
    rows = zip(*(cells for _, cells in columns), strict=True)
    return Table(title, tuple(column for column, _ in columns), tuple(rows))


def _share_columns(what: str, unit: str, subsets: Sequence[str]) -> tuple[Column, ...]:
    parts = (Column(name, "part", extra=True) for name in subsets)
    return Column(what, "name"), Column(unit), Column("off by", "percent"), Column("to move"), *parts


def _share_rows(table: ShareTable, to_move: Sequence[int]) -> list[tuple[Any, ...]]:
    rows = zip(table.names, table.totals.tolist(), table.deviation.tolist(), to_move, table.parts, strict=True)
    return [(*row, *parts) for *row, parts in rows]

"""The report as plain text, for a terminal of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosplit.report.tables import Table, overview
from evosplit.report.terminal import clean, clip, pad, wrap

if TYPE_CHECKING:
    from evosplit.report.numbers import SplitReport

__all__ = ["as_text", "table_lines"]

_LINE = 80
_LABELS = 8


def as_text(report: SplitReport) -> str:
    """Write the summary, then the tables."""
    lines = [line for sentence in report.summary for line in wrap(clean(sentence), _LINE)]
    for table in overview(report, labels=_LABELS):
        lines += ["", *table_lines(table, _LINE)]
    return "\n".join(lines)


def table_lines(table: Table, width: int) -> list[str]:
    """Lay out a table in lines of at most `width` columns, its title first; names are cut where they are too long."""
    table = table.fitting(width)
    widths = table.widths()
    named = [at for at, column in enumerate(table.columns) if column.kind == "name"]
    while sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(named, key=lambda at: widths[at])
        if widths[widest] <= 1:
            break
        widths[widest] -= 1
    head = tuple(column.heading for column in table.columns)
    lines = [clip(table.title, width)]
    for cells in (head, *table.texts()):
        fields = enumerate(zip(cells, widths, strict=True))
        lines.append("  ".join(pad(clip(cell, w), w, right=at not in named) for at, (cell, w) in fields).rstrip())
    return lines

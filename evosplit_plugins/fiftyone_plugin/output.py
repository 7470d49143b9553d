"""What the operators and the panel show of a split: tables of plain values, and the schemas that draw them.

Label, subset and field names are data. Table cells show them as they are; the App reads notices, errors and
descriptions as Markdown, so what goes there passes through `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone.operators.types as types

from evosplit import Split, SplitReport

__all__ = [
    "PANEL",
    "add_table",
    "measure_table",
    "message_output",
    "missing_table",
    "plain",
    "size_table",
    "split_output",
    "split_result",
]

PANEL = "evosplit_panel"
_MISSING_SHOWN = 10
Rows = list[dict[str, str]]
# The App gives every table at least 650 pixels and wide cells; a narrow panel would cut that off. Names, in the
# first column, may break anywhere.
_CELL = {"px": 0.75, "&:first-of-type": {"overflowWrap": "anywhere"}}
_TABLE = {
    "table": {"sx": {"minWidth": 0}},
    "tableHeadCell": {"sx": {**_CELL, "color": "text.secondary"}},
    "tableBodyCell": {"sx": _CELL},
}
SIZE_COLUMNS = {"subset": "Subset", "samples": "Samples", "share": "Share", "asked": "Asked for"}
MISSING_COLUMNS = {"label": "Label", "samples": "Samples", "missing": "Missing in"}


def plain(text: str) -> str:
    r"""Keep the App from reading a text as Markdown.

    Examples
    --------
    >>> print(plain("a_b *c* <i>"))
    a\_b \*c\* \<i\>
    """
    return re.sub(r"([\\`*_\[\]<>&~#|])", r"\\\1", text)


def number(value: float) -> str:
    """Write a measure so that it can be compared at a glance.

    Examples
    --------
    >>> number(3.0), number(0.012345), number(0.000012345)
    ('3', '0.01235', '1.23e-05')
    """
    if float(value).is_integer():
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 0.001 else f"{value:.2e}"


def size_table(report: SplitReport) -> Rows:
    """List the subsets with their sizes and shares."""
    total = sum(report.sizes)
    return [
        {
            "subset": name,
            "samples": f"{size:,}",
            "share": f"{100 * size / total:.1f} %",
            "asked": f"{target:,}",
        }
        for name, size, target in zip(report.names, report.sizes, report.target_sizes, strict=True)
    ]


def measure_table(report: SplitReport, applied: SplitReport | None = None) -> Rows:
    """List the measures beside a random split's and what is possible; `applied` adds a column."""
    rows = []
    others = applied.measure_rows() if applied is not None else report.measure_rows()
    for (name, meaning, value, random, floor), other in zip(report.measure_rows(), others, strict=True):
        row = {"measure": f"{name}: {meaning}", "split": number(value)}
        if applied is not None:
            row["applied"] = number(other[2])
        row["random"] = number(random)
        row["floor"] = "" if floor is None else number(floor)
        rows.append(row)
    return rows


def missing_table(report: SplitReport) -> Rows:
    """List the labels that some subset lacks."""
    return [
        {"label": row.label, "samples": f"{sum(row.images):,}", "missing": ", ".join(row.missing)}
        for row in report.missing_labels()[:_MISSING_SHOWN]
    ]


def worst_table(report: SplitReport, limit: int = 8) -> Rows:
    """List the labels whose shares are furthest from those of the subsets."""
    return [
        {
            "label": row.label,
            "samples": f"{sum(row.images):,}",
            "per_subset": " / ".join(str(n) for n in row.images),
            "off": f"{100 * row.deviation:.1f} %",
        }
        for row in report.worst_labels(limit)
    ]


def split_result(split: Split, *, key: str, label_fields: Sequence[str], field: str | None) -> dict[str, Any]:
    """Return the result of a run: numbers for callers and records, rows for the output."""
    report = split.report()
    whole = report.to_dict()
    return {
        "run_key": key,
        "label_fields": list(label_fields),
        "field": field,
        "sizes": whole["sizes"],
        "measures": whole["measures"],
        "random": whole["random"],
        "floor": whole["floor"],
        "summary": " ".join(report.summary),
        "size_rows": size_table(report),
        "measure_rows": measure_table(report),
        "missing_rows": missing_table(report),
        "missing_count": len(report.missing_labels()),
    }


def split_output(result: Mapping[str, Any]) -> Any:
    """Build the schema that shows a result."""
    outputs = types.Object()
    where = f"the field {result['field']}" if result.get("field") else "sample tags"
    outputs.view("done", types.Notice(label=plain(f"Written as {where}. {result.get('summary', '')}")))
    add_table(outputs, "size_rows", "Sizes", SIZE_COLUMNS)
    columns = {
        "measure": "Measure",
        "split": "This split",
        "random": "Random split",
        "floor": "Best possible",
    }
    add_table(outputs, "measure_rows", "How alike the subsets are (smaller is better)", columns)
    if result.get("missing_rows"):
        title = f"Labels missing in some subset ({result.get('missing_count')})"
        add_table(outputs, "missing_rows", title, MISSING_COLUMNS)
    outputs.btn(
        "open_panel",
        label="Open the EvoSplit panel",
        icon="call_split",
        variant="outlined",
        on_click="open_panel",
        params={"name": PANEL, "isActive": True, "layout": "horizontal"},
    )
    return types.Property(outputs, view=types.View(label="EvoSplit"))


def message_output(title: str, message: str, *, error: bool = False) -> Any:
    """Build the schema that shows one sentence."""
    outputs = types.Object()
    outputs.view("message", types.Error(label=plain(message)) if error else types.Notice(label=plain(message)))
    return types.Property(outputs, view=types.View(label=title))


def add_table(outputs: Any, name: str, title: str, columns: Mapping[str, str]) -> None:
    """Add a table whose rows are the value of `name`; `columns` maps the keys of a row to headings."""
    table = types.TableView(label=title, size="small", componentsProps=_TABLE)
    for key, heading in columns.items():
        table.add_column(key, label=heading)
    outputs.list(name, types.Object(), view=table, label=title)

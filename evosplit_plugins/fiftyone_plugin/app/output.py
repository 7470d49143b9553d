"""What the operators and the panel show of a split: tables of plain values, and the schemas that draw them.

Label, subset and field names are data. Table cells show them as they are; the App reads notices, errors and
descriptions as Markdown, so what goes there passes through `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import fiftyone.operators.types as types
from evosplit.charts import misplaced, number

from evosplit import Split, SplitReport

__all__ = [
    "PANEL",
    "add_notes",
    "add_table",
    "in_words",
    "instance_columns",
    "instance_table",
    "lines",
    "measure_table",
    "message_output",
    "missing_table",
    "plain",
    "size_columns",
    "size_table",
    "split_output",
    "split_result",
    "strata_columns",
    "strata_table",
]

PANEL = "evosplit_panel"
_MISSING_SHOWN = 10
_STRATA_SHOWN = 10
Rows = list[dict[str, str]]
# The App gives every table at least 650 pixels, wide cells and large headings; a narrow panel would cut that off.
# Names, in the first column, may break anywhere, but not into single letters.
_TABLE = {
    "table": {"sx": {"minWidth": 0}},
    "tableHeadCell": {"sx": {"px": 0.75, "fontSize": "0.875rem", "color": "text.secondary"}},
    "tableBodyCell": {"sx": {"px": 0.75, "&:first-of-type": {"overflowWrap": "anywhere", "minWidth": "4rem"}}},
}
MISSING_COLUMNS = {"label": "Label", "samples": "Samples", "missing": "Missing in"}


def plain(text: str) -> str:
    r"""Keep the App from reading a text as Markdown.

    Examples
    --------
    >>> print(plain("a_b *c* <i>"))
    a\_b \*c\* \<i\>
    """
    return re.sub(r"([\\`*_\[\]<>&~#|])", r"\\\1", text)


def lines(sentences: Iterable[str]) -> str:
    """Put each sentence on a line of its own, in the App's Markdown.

    Examples
    --------
    >>> lines(["One.", "Two."]).splitlines()
    ['One.  ', 'Two.']
    """
    return "  \n".join(map(plain, sentences))


def size_columns(report: SplitReport) -> dict[str, str]:
    """Choose the columns of `size_table`; groups and kept samples take the room of the shares in a narrow panel."""
    columns = {"subset": "Subset", "samples": "Samples", "share": "Share", "asked": "Asked for"}
    further = {}
    if report.effects is not None and report.effects.groups is not None:
        further["groups"] = "Groups"
    if report.effects is not None and any(report.effects.locked):
        further["kept"] = "Kept"
    if further:
        del columns["share"]
    return columns | further


def size_table(report: SplitReport) -> Rows:
    """List the subsets with their sizes and shares, their groups and what was kept in them."""
    rows = [
        {
            "subset": row.name,
            "samples": f"{row.size:,}",
            "share": f"{100 * row.share:.1f}\xa0%",
            "asked": f"{row.target:,}",
        }
        for row in report.subset_rows()
    ]
    columns = size_columns(report)
    if report.effects is not None:
        for at, row in enumerate(rows):
            if "groups" in columns and report.effects.groups is not None:
                row["groups"] = f"{report.effects.groups.per_subset[at]:,}"
            if "kept" in columns:
                row["kept"] = f"{report.effects.locked[at]:,}"
    return rows


def instance_columns(report: SplitReport) -> dict[str, str]:
    """Choose the columns of `instance_table`."""
    columns = {"subset": "Subset", "instances": "Instances", "share": "Share"}
    return columns | ({"unlabelled": "No label"} if report.n_unlabelled else {})


def instance_table(report: SplitReport) -> Rows:
    """List the subsets with their instances, and with their samples that have no label."""
    return [
        {
            "subset": row.name,
            "instances": f"{row.instances:,}",
            "share": f"{100 * row.instance_share:.1f}\xa0%",
            "unlabelled": f"{row.unlabelled:,} ({100 * row.unlabelled_share:.1f}\xa0%)",
        }
        for row in report.subset_rows()
    ]


def measure_table(report: SplitReport, applied: SplitReport | None = None) -> Rows:
    """List the measures beside a random split's and what is possible; `applied` adds a column."""
    rows = []
    others = _measures(applied if applied is not None else report)
    for (name, value, random, bound), other in zip(_measures(report), others, strict=True):
        row = {"measure": name, "split": number(value)}
        if applied is not None:
            row["applied"] = number(other[1])
        row["random"] = number(random)
        row["bound"] = "" if bound is None else number(bound)
        rows.append(row)
    return rows


def _measures(report: SplitReport) -> list[tuple[str, float, float, float | None]]:
    """List (name, this split, random, bound or None), the further fields last."""
    rows = [
        (f"{name}: {meaning}", value, random, bound) for name, meaning, value, random, bound in report.measure_rows()
    ]
    if report.front is not None and "strata" in report.front.objective_names:
        at = report.front.objective_names.index("strata")
        value, random = report.front.values[report.front.chosen, at], report.front.reference[at]
        rows.append(("Strata: further fields", float(value), float(random), None))
    return rows


def strata_table(report: SplitReport) -> Rows:
    """List the values of further fields, first those of which most would have to move to have their exact share."""
    if report.effects is None:
        return []
    found = []
    for name, table in report.effects.strata:
        order = zip(misplaced(table.counts, table.sizes).tolist(), table.deviation.tolist(), strict=True)
        found += [
            (to_move, off, {"field": name, "category": category, "per_subset": " / ".join(map(str, counts))})
            for (to_move, off), category, counts in zip(order, table.names, table.counts.tolist(), strict=True)
            if sum(counts)
        ]
    found.sort(key=lambda row: (-row[0], -row[1]))
    return [{**row, "off": f"{100 * off:.1f} %"} for _, off, row in found[:_STRATA_SHOWN]]


def strata_columns(report: SplitReport) -> dict[str, str]:
    """Name the columns of `strata_table`."""
    return {"field": "Field", "category": "Value", "per_subset": " / ".join(report.names), "off": "Off by"}


def missing_table(report: SplitReport) -> Rows:
    """List the labels that some subset lacks."""
    return [
        {"label": row.label, "samples": f"{sum(row.samples):,}", "missing": ", ".join(row.missing)}
        for row in report.missing_labels()[:_MISSING_SHOWN]
    ]


def worst_table(report: SplitReport, limit: int = 8) -> Rows:
    """List the labels whose shares are furthest from those of the subsets."""
    return [
        {
            "label": row.label,
            "samples": f"{sum(row.samples):,}",
            "per_subset": " / ".join(str(n) for n in row.samples),
            "off": f"{100 * row.deviation:.1f} %",
        }
        for row in report.worst_labels(limit)
    ]


def in_words(report: SplitReport) -> tuple[str, ...]:
    """Return the summary without the notes, which are shown apart."""
    return report.summary[: len(report.summary) - len(report.notes)]


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
        "bound": whole["bound"],
        "constraints": whole["constraints"],
        "summary": list(in_words(report)),
        "notes": list(report.notes),
        "size_columns": size_columns(report),
        "size_rows": size_table(report),
        "instance_columns": instance_columns(report),
        "instance_rows": instance_table(report),
        "measure_rows": measure_table(report),
        "strata_columns": strata_columns(report),
        "strata_rows": strata_table(report),
        "missing_rows": missing_table(report),
        "missing_count": len(report.missing_labels()),
    }


def split_output(result: Mapping[str, Any]) -> Any:
    """Build the schema that shows a result."""
    outputs = types.Object()
    where = f"the field {result['field']}" if result.get("field") else "sample tags"
    outputs.view("done", types.Notice(label=lines([f"Written as {where}.", *(result.get("summary") or ())])))
    add_notes(outputs, result.get("notes") or ())
    add_table(outputs, "size_rows", "Sizes", result.get("size_columns") or {})
    add_table(outputs, "instance_rows", "Labels in each subset", result.get("instance_columns") or {})
    columns = {
        "measure": "Measure",
        "split": "This split",
        "random": "Random split",
        "bound": "Lower bound",
    }
    add_table(outputs, "measure_rows", "How alike the subsets are (smaller is better)", columns)
    if result.get("strata_rows"):
        add_table(outputs, "strata_rows", "Further fields, furthest from their share", result["strata_columns"])
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


def add_notes(outputs: Any, notes: Sequence[str]) -> None:
    """Show what went otherwise than asked."""
    if notes:
        outputs.view("notes", types.Warning(label=lines(note[:1].upper() + note[1:] for note in notes)))


def add_table(outputs: Any, name: str, title: str, columns: Mapping[str, str]) -> None:
    """Add a table whose rows are the value of `name`; `columns` maps the keys of a row to headings."""
    table = types.TableView(label=title, size="small", componentsProps=_TABLE)
    for key, heading in columns.items():
        table.add_column(key, label=heading)
    outputs.list(name, types.Object(), view=table, label=title)

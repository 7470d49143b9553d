"""What the operators and the panel show of a split: the tables of its report, laid out for the App.

Label, subset and field names are data. Table cells show them as they are; the App reads notices, errors and
descriptions as Markdown, so what goes there passes through `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import fiftyone.operators.types as types

from evosplit import Split, SplitReport
from evosplit.report.numbers import MeasureRow
from evosplit.report.sentences import Highlight, highlights_of
from evosplit.report.tables import Table, overview
from evosplit_plugins.audit import Audit
from evosplit_plugins.fiftyone_plugin.app.figures import label_figure, labels_in_words

__all__ = [
    "LABELS",
    "PANEL",
    "add_notes",
    "add_table",
    "at_a_glance",
    "audit_output",
    "audit_result",
    "in_words",
    "lines",
    "meanings",
    "message_output",
    "plain",
    "shown_tables",
    "sizes_of",
    "split_output",
    "split_result",
    "table_columns",
    "table_rows",
]

PANEL = "evosplit_panel"
TAKE = "@evosplit/evosplit/take_audited"
LABELS = "Label distribution"
_LABELS = 8
_MEANINGS = {
    "ld": "for each label, the odds that a sample has it: how far they differ between a subset and the whole.",
    "ld_occurrences": "the same for instances: of all boxes in a subset, how many are of the label.",
    "lpd": "the same for every two labels that occur together in a sample.",
    "lpd_occurrences": "of all such pairs in a subset, how many are of these two labels.",
    "ed": "how many samples the subsets are larger or smaller than asked for, on average.",
    "flz": "how often a subset has no sample at all of a label.",
    "strata": "how far the categories of the strata are from their shares, all taken together.",
}
_WITHOUT_LABELS = ("ed", "strata")
_WIDTH = 72  # characters of a table in a narrow panel
# The App gives every table at least 650 pixels, wide cells and large headings; a narrow panel would cut that off.
# Headings and names, in the first column, may break anywhere, but not into single letters.
# The wheel scrolls what a table is in.
_CELL = {"px": 0.5, "fontSize": "0.8rem"}
_TABLE = {
    "tableContainer": {"sx": {"overscrollBehaviorY": "auto !important"}},
    "table": {"sx": {"minWidth": 0}},
    "tableHeadCell": {"sx": {**_CELL, "color": "text.secondary", "overflowWrap": "anywhere", "minWidth": "2rem"}},
    "tableBodyCell": {"sx": {**_CELL, "&:first-of-type": {"overflowWrap": "anywhere", "minWidth": "3rem"}}},
}
_FOLDED = {"accordion": {"label": "All numbers", "defaultExpanded": False}}
_OUTDENTED = {"container": {"sx": {"ml": -1, "mr": 1}}}  # the App indents lists, beyond the right edge too


def plain(text: str) -> str:
    r"""Keep the App from reading a text as Markdown.

    Examples
    --------
    >>> print(plain("a_b *c* <i>"))
    a\_b \*c\* \<i\>
    """
    return re.sub(r"([\\`*_\[\]<>&~#|])", r"\\\1", text)


def sizes_of(sizes: Split | Mapping[str, int]) -> str:
    """Write subsets with their sizes.

    Examples
    --------
    >>> sizes_of({"train": 1200, "test": 300})
    'train 1,200, test 300'
    """
    named = sizes if isinstance(sizes, Mapping) else dict(zip(sizes.names, sizes.sizes, strict=True))
    return ", ".join(f"{name} {size:,}" for name, size in named.items())


def lines(sentences: Iterable[str]) -> str:
    """Put each sentence on a line of its own, in the App's Markdown.

    Examples
    --------
    >>> lines(["One.", "Two."]).splitlines()
    ['One.  ', 'Two.']
    """
    return "  \n".join(map(plain, sentences))


def shown_tables(report: SplitReport, beside: tuple[str, SplitReport] | None = None) -> list[Table]:
    """Return the tables of a report, as wide as a panel; `beside` is another split to compare with, and its name.

    Where there are no labels, no column counts them and no measure is about them.
    """
    tables = overview(report, labels=_LABELS, beside=beside)
    if not report.occurring:
        *tables, measures = (_without(table, ("instances", f"no {report.nouns.label}")) for table in tables)
        told = zip(measures.rows, report.measure_rows, strict=True)
        tables.append(replace(measures, rows=tuple(row for row, measure in told if measure in _told(report))))
    return [table.fitting(_WIDTH) for table in tables]


def _without(table: Table, headings: Sequence[str]) -> Table:
    """Leave out columns."""
    kept = [at for at, column in enumerate(table.columns) if column.heading not in headings]
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)


def table_columns(table: Table) -> dict[str, str]:
    """Map the keys of the rows of `table_rows` to headings."""
    return {f"c{at}": column.heading for at, column in enumerate(table.columns)}


def table_rows(table: Table) -> list[dict[str, str]]:
    """Return the rows of a table as the App reads them; what the terminal aligns is told apart by parentheses."""
    keys = list(table_columns(table))
    kinds = [column.kind for column in table.columns]
    return [
        {key: _cell(text, kind) for key, kind, text in zip(keys, kinds, texts, strict=True)} for texts in table.texts()
    ]


def _cell(text: str, kind: str) -> str:
    if kind == "name":
        return text
    number, _, share = text.partition(" ") if kind == "part" else ("", "", text)
    share = re.sub(" +%", "\xa0%", share.strip())  # the sign stays with its number
    return f"{number} ({share})" if number else share


def at_a_glance(report: SplitReport) -> str:
    """Return the highlights of a report, a line for each, in the App's Markdown; without labels its sizes alone."""
    sizes, *others = highlights_of(report)
    return "  \n".join(map(_highlighted, [sizes, *others] if report.occurring else [sizes]))


def _highlighted(found: Highlight) -> str:
    return f"{plain(found.title)}: **{plain(found.value)}** · {plain(found.meaning)}"


def audit_at_a_glance(audit: Audit) -> str:
    """Return the verdict of an audit and what it rests on, without the measures, in the App's Markdown."""
    _, *judged, missing = highlights_of(audit.report)  # its sizes are as they are
    if not judged:
        return lines([audit.verdict, *audit.comparison()])
    vary = f"single random splits of these sizes vary by ±\xa0{100 * audit.spread['ld']:.0f}\xa0%"
    if audit.verdict.startswith("No better"):  # which may stand beside "1.7 × closer"
        vary += f", and up to ±\xa0{100 * audit.chance['ld']:.0f}\xa0% counts as chance"
    verdict = f"**{plain(audit.verdict.partition(':')[0])}** · {vary}"
    return "  \n".join([verdict, *map(_highlighted, [*judged, missing]), *map(plain, audit.comparison())])


def in_words(report: SplitReport) -> tuple[str, ...]:
    """Return the summary without the notes, which are shown apart."""
    return report.summary[: len(report.summary) - len(report.notes)]


def _told(report: SplitReport) -> list[MeasureRow]:
    """Return the measures that say something: without labels those of sizes and strata."""
    return [row for row in report.measure_rows if report.occurring or row.key in _WITHOUT_LABELS]


def meanings(report: SplitReport) -> str:
    """Say in one sentence each what the measures of a report mean, in the App's Markdown."""
    return "  \n".join(f"**{plain(row.name)}**: {plain(_MEANINGS[row.key])}" for row in _told(report))


def split_result(split: Split, *, key: str, label_fields: Sequence[str], field: str | None) -> dict[str, Any]:
    """Return the result of a run: numbers for callers and records, rows for the output."""
    report = split.report()
    whole = report.to_dict()
    return {
        "run_key": key,
        "label_fields": list(label_fields),
        "field": field,
        **{name: whole[name] for name in ("sizes", "measures", "random", "bound", "constraints")},
        "glance": at_a_glance(report),
        **(_drawn(report) if report.occurring else {}),
        "summary": list(in_words(report)),
        "notes": list(report.notes),
        "meanings": meanings(report),
        **_packed(report, shown_tables(report)),
    }


def audit_result(audit: Audit) -> dict[str, Any]:
    """Return what an audit found, with rows for the output; EvoSplit's split stands beside the one found."""
    instead = audit.instead_report
    return {
        "verdict": audit.verdict,
        "glance": audit_at_a_glance(audit),
        "leaks": [str(leak) for leak in audit.leaks],
        "notes": list(audit.split.notes),
        **(_drawn(audit.report) if audit.report.occurring else {}),
        "meanings": meanings(audit.report),
        **_packed(audit.report, shown_tables(audit.report, None if instead is None else ("EvoSplit", instead))),
    }


def _drawn(report: SplitReport) -> dict[str, Any]:
    return {"figure": label_figure(report), "figure_in_words": labels_in_words(report)}


def _packed(report: SplitReport, tables: Sequence[Table]) -> dict[str, Any]:
    """Pack tables for `_add_tables`: the first is seen at once, the rows of the others are in a list that is folded.

    Without labels there is no picture, and the strata, which were balanced, are seen too; the measures are last.
    """
    named = {f"table{at}": table for at, table in enumerate(tables)}
    rows = {name: table_rows(table) for name, table in named.items()}
    seen = 1 if report.occurring or len(tables) < 3 else 2
    return {
        "tables": {name: {"title": table.title, "columns": table_columns(table)} for name, table in named.items()},
        **{name: rows.pop(name) for name in list(named)[:seen]},
        "numbers": [rows],
    }


def split_output(result: Mapping[str, Any]) -> Any:
    """Build the schema that shows a result."""
    outputs = types.Object()
    where = f"the field {result['field']}" if result.get("field") else "sample tags"
    done = f"Written as {where}."
    if result.get("ended"):
        done = f"Ended at {result['ended']}, written as {where}; see the EvoSplit panel of {result['dataset']}."
    outputs.view("done", types.Notice(label="  \n".join(filter(None, (plain(done), result.get("glance"))))))
    add_notes(outputs, result.get("notes") or ())
    _add_figure(outputs, result)
    outputs.btn(
        "open_panel",
        label="Open the EvoSplit panel",
        icon="call_split",
        variant="outlined",
        on_click="open_panel",
        params={"name": PANEL, "isActive": True, "layout": "horizontal"},
    )
    _add_tables(outputs, result)
    return types.Property(outputs, view=types.View(label="EvoSplit"))


def audit_output(result: Mapping[str, Any]) -> Any:
    """Build the schema that shows an audit."""
    outputs = types.Object()
    outputs.view("verdict", types.Notice(label=result["glance"]))
    if result["leaks"]:
        outputs.view("leaks", types.Warning(label=lines(f"Leak: {leak}" for leak in result["leaks"])))
    else:
        outputs.view("leaks", types.Notice(label="No leaks were found."))
    add_notes(outputs, result["notes"])
    if result.get("instead"):
        outputs.btn(
            "take",
            label="Take EvoSplit's split instead",
            icon="call_split",
            variant="contained",
            on_click=TAKE,
            params=result["instead"],
        )
    _add_figure(outputs, result)
    _add_tables(outputs, result)
    return types.Property(outputs, view=types.View(label="EvoSplit: audit"))


def _add_figure(outputs: Any, result: Mapping[str, Any]) -> None:
    if result.get("figure"):
        outputs.view("labels_header", types.HeaderView(label=LABELS, description=result["figure_in_words"]))
        outputs.plot("labels", **result["figure"])


def _add_tables(outputs: Any, result: Mapping[str, Any]) -> None:
    """Show what each subset holds; sentences and all other tables are folded, the measures with what they mean last."""
    numbers = types.Object()
    if result.get("summary"):
        numbers.view("summary", types.HeaderView(label="In words", description=lines(result["summary"])))
    for name, table in result["tables"].items():
        add_table(outputs if name in result else numbers, name, table["title"], table["columns"])
    numbers.view("meanings", types.HeaderView(label="What the measures mean", description=result["meanings"]))
    # The App folds items of lists only.
    folded = types.View(componentsProps=_FOLDED)
    view = types.ListView(items=folded, collapsible=True, read_only=True, componentsProps=_OUTDENTED)
    outputs.list("numbers", numbers, view=view)


def message_output(title: str, message: str, *, error: bool = False) -> Any:
    """Build the schema that shows one sentence."""
    outputs = types.Object()
    outputs.view("message", types.Error(label=plain(message)) if error else types.Notice(label=plain(message)))
    return types.Property(outputs, view=types.View(label=title))


def add_notes(outputs: Any, notes: Sequence[str]) -> None:
    """Show what went otherwise than asked."""
    if notes:
        outputs.view("notes", types.Warning(label=lines(note[:1].upper() + note[1:] for note in notes)))


def add_table(outputs: Any, name: str, title: str, columns: Mapping[str, str], **clicks: Any) -> None:
    """Add a table whose rows are the value of `name`; `columns` maps the keys of a row to headings."""
    style: dict[str, Any] = dict(_TABLE)
    if clicks:
        style["tableBodyRow"] = {"sx": {"cursor": "pointer", "&:hover": {"backgroundColor": "action.hover"}}}
        clicks["description"] = "Click a row to see its samples."
    table = types.TableView(label=title, size="small", componentsProps=style, **clicks)
    for key, heading in columns.items():
        table.add_column(key, label=heading)
    outputs.list(name, types.Object(), view=table, label=title)

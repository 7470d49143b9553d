"""The report as one self-contained HTML page: no network, dark and light, narrow and wide, for 3 labels or 3,000.

`page.html` is the page; it gets its style, its script and the tables of the report, the long ones as JSON. Names are
data: in the markup they are escaped, the script writes them as text, and a content security policy lets no script run
but the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from evosplit._version import __version__
from evosplit.methods import METHODS
from evosplit.report.sentences import highlights_of
from evosplit.report.tables import (
    Column,
    Table,
    front_table,
    label_table,
    measure_table,
    pair_table,
    strata_table,
    subset_table,
)
from evosplit.wording import counted

if TYPE_CHECKING:
    from evosplit.report.numbers import SplitReport
    from evosplit.report.shares import Part

__all__ = ["is_report_page", "report_page"]

_BEFORE_SEAL = '<meta charset="utf-8">\n'
_SEAL = re.compile(r'<meta name="evosplit-seal" content="[0-9a-f]{64}">\n')
_INNERMOST = re.compile(r"<!-- if (\w+) -->\n((?:(?!<!-- if ).)*?)<!-- end -->\n", flags=re.DOTALL)
_DIGITS = 5  # significant ones, in the numbers for charts


def report_page(report: SplitReport) -> str:
    """Return the page of a report, with a seal by which it is known again."""
    page = _page(report)
    return page.replace(_BEFORE_SEAL, f"{_BEFORE_SEAL}{_seal(page)}", 1)


def is_report_page(text: str) -> bool:
    """Tell whether a text is a page that `report_page` made, unchanged.

    Examples
    --------
    >>> is_report_page("<!doctype html><title>EvoSplit report</title>")
    False
    """
    found = _SEAL.search(text)
    return found is not None and found[0] == _seal(text.replace(found[0], "", 1))


def _seal(page: str) -> str:
    return f'<meta name="evosplit-seal" content="{hashlib.sha256(page.encode(errors="replace")).hexdigest()}">\n'


@cache
def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _page(report: SplitReport) -> str:
    nouns, settings, script = report.nouns, report.settings, _asset("page.js")
    trade_offs, strata = front_table(report), strata_table(report)
    stratified, labelled = bool(report.baselines.stratified), bool(report.occurring)
    grouped = report.effects is not None and report.effects.groups is not None
    shown = {
        "labels": labelled,
        "no_labels": not labelled,
        "repeats": report.has_repeats,
        "pairs": bool(report.pairs),
        "strata": len(strata) > 0,
        "front": len(trade_offs) > 0,
        "one_best": report.front is not None and not len(trade_offs),
        "colours": len(trade_offs.columns) > 3,
        "stratified": stratified,
        "grouped": labelled and not stratified and grouped,
        "too_large": labelled and not stratified and not grouped,
        "recipe": settings.get("seed") is not None,
        "no_recipe": "seed" in settings and settings["seed"] is None,
    }
    tiles = (
        f'<div class="tile {each.mood}"><dt>{_e(each.title)}</dt><dd><div class="big">{_e(each.value)}</div>'
        f'<div class="small">{_e(each.meaning)}</div></dd></div>'
        for each in highlights_of(report)
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values = {
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "style": _asset("page.css"),
        "script": script,
        # In JSON, every < can be written as an escape, so nothing in it ends the element.
        "data": json.dumps(_data(report, strata, trade_offs), separators=(",", ":")).replace("<", "\\u003c"),
        "version": _e(__version__),
        "facts": _e(_facts(report)),
        "tiles": "".join(tiles),
        "summary": "".join(f"<li>{_e(line)}</li>" for line in report.summary),
        "subset_table": _table(subset_table(report), "subsets"),
        "measure_table": _table(measure_table(report), "measures"),
        "front_table": _table(trade_offs),
        "settings": "".join(f"<dt>{_e(key)}</dt><dd>{_e(_plain(value))}</dd>" for key, value in settings.items()),
        "recipe": _e(_recipe(report)),
        "n_front": f"{len(trade_offs):,}",
        "n_pairs": f"{report.n_pairs:,}",
        "n_pairs_exact": f"{report.n_pairs_exact:,}",
        "n_pairs_shown": f"{len(report.pairs):,}" if len(report.pairs) < report.n_pairs else "all",
        "draws": str(report.baselines.draws),
        "least": str(report.least),
        **{name: _e(noun) for name, noun in asdict(nouns).items()},
        "Labels": _e(nouns.labels.capitalize()),
    }
    template = _asset("page.html")
    while _INNERMOST.search(template):
        template = _INNERMOST.sub(lambda found: found[2] if shown[found[1]] else "", template)
    return Template(template).substitute(values)


def _e(text: object) -> str:
    """Escape a text; half a surrogate pair, which no file can hold, becomes a question mark."""
    return html.escape(str(text).encode("utf-8", "replace").decode("utf-8"))


def _facts(report: SplitReport) -> str:
    nouns = report.nouns
    facts = [counted(sum(report.sizes), nouns.sample, nouns.samples)]
    if report.n_unlabelled:
        facts.append(f"{report.n_unlabelled:,} without {nouns.labels}")
    facts.append(counted(len(report.occurring), nouns.label, nouns.labels))
    facts.append(counted(len(report.subsets), "subset", "subsets"))
    if "method" in report.settings:
        facts.append(f"method {report.settings['method']}")
    return " · ".join(facts)


def _table(table: Table, kind: str = "") -> str:
    """Lay out a table; the first cell of a row is its heading."""
    columns = table.columns
    top = "".join(f'<th scope="col"{_wide(column)}>{_e(column.heading)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{_dot(at) if kind == "subsets" else ""}<bdi>{_e(texts[0])}</bdi></th>'
        + "".join(
            f"<td{_wide(column)}>{_part(cell, at) if column.kind == 'part' else _e(text)}</td>"
            for column, cell, text in zip(columns[1:], row[1:], texts[1:], strict=True)
        )
        + "</tr>"
        for at, (row, texts) in enumerate(zip(table.rows, table.texts(), strict=True))
    )
    return f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _wide(column: Column) -> str:
    return ' class="wide"' if column.extra else ""


def _dot(at: int) -> str:
    return f'<span class="dot" style="--c: var(--s{at % 8})"></span>'


def _part(part: Part, at: int) -> str:
    count, share = Column("", "part").write(part).split(" ", 1)
    bar = f'<span class="bullet" aria-hidden="true"><i style="width: {_bar(part):.1f}%"></i></span>'
    return f'<div style="--c: var(--s{at % 8})">{count}<span class="share">{share.strip()}</span>{bar}</div>'


def _bar(part: Part) -> float:
    """Return how long the bar of a part is, in percent: half where the share is what it should be."""
    return 50 * min(part.excess + 1, 2) if part.target else 0.0


def _recipe(report: SplitReport) -> str:
    """Write the call that gives the same split again, for data that is the same."""
    settings = report.settings
    sizes = dict(zip(report.names, report.target_sizes, strict=True))
    options = [
        # A method that is no name is recorded as the call that makes it.
        f"{key}={value if key == 'method' and value not in METHODS else repr(value)}"
        for key, value in settings.items()
        if key in ("method", "objectives", "cover", "min_per_label", "label_weights", "pick", "effort", "seed")
    ]
    given = [f"{key}={key}" for key in ("groups", "locked", "strata") if key in settings]
    call = ",\n    ".join(["counts", repr(sizes), *options, *given])
    return f"evosplit.split(\n    {call},\n)"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _data(report: SplitReport, strata: Table, trade_offs: Table) -> dict[str, Any]:
    """Collect what the script shows."""
    nouns = report.nouns
    tables = {
        "labels": _table_data(label_table(report), nouns.label, nouns.labels),
        "instances": _table_data(label_table(report, by="instances"), nouns.label, nouns.labels),
        "pairs": _table_data(pair_table(report), "pair", "pairs"),
        "strata": _table_data(strata, "category", "categories"),
    }
    front = {
        "titles": [column.heading for column in trade_offs.columns[1:]],
        "values": [_rounded(row[1:]) for row in trade_offs.rows],
        "chosen": report.chosen,
    }
    return {**asdict(nouns), "tables": tables, "front": front}


def _table_data(table: Table, one: str, many: str) -> dict[str, Any]:
    columns = [{"heading": c.heading, "kind": c.kind, "extra": c.extra} for c in table.columns]
    return {"one": one, "many": many, "columns": columns, "rows": [list(map(_value, row)) for row in table.rows]}


def _value(cell: Any) -> Any:
    if isinstance(cell, (str, int)):
        return cell
    return _rounded([cell])[0] if isinstance(cell, float) else [cell.count, *_rounded([cell.share, _bar(cell)])]


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]

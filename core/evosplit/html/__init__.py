"""The report as one self-contained HTML page: no network, dark and light, narrow and wide, for 3 labels or 3,000.

The page holds its style, its script and the numbers of the report as JSON. Names are data: in the markup they are
escaped, the script writes them as text, and a content security policy lets no script run but the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evosplit._version import __version__
from evosplit.charts import ShareTable, label_scatter, label_shares, number, pair_shares
from evosplit.methods import METHODS

if TYPE_CHECKING:
    from evosplit.charts import FrontPoints
    from evosplit.effects import ConstraintEffects
    from evosplit.report import MeasureRow, SplitReport

__all__ = ["is_report_page", "report_page"]

_BEFORE_SEAL = '<meta charset="utf-8">\n'
_SEAL = re.compile(r'<meta name="evosplit-seal" content="[0-9a-f]{64}">\n')
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


def _page(report: SplitReport) -> str:
    sections = [
        ("summary", "In short", _summary(report)),
        ("sizes", "Sizes", _sizes(report)),
        ("labels", "Labels", _labels(report)),
        ("pairs", "Label pairs", _pairs(report)),
        ("measures", "Measures", _measures(report)),
        ("trade-offs", "Trade-offs", _front(report)),
        ("constraints", "Constraints", _constraints(report.effects)),
        ("settings", "Settings", _settings(report)),
    ]
    shown = [(key, title, body) for key, title, body in sections if body]
    links = "".join(f'<li><a href="#{key}">{title}</a></li>' for key, title, _ in shown)
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{title}</h2>{content}</section>\n'
        for key, title, content in shown
    )
    style, script = _asset("page.css"), _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    # In JSON, every < can be written as an escape, so nothing in it ends the element.
    data = json.dumps(_data(report), separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>EvoSplit report</title>\n<style>{style}</style>\n</head>\n<body>\n{_header(report)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{body}</main>\n'
        f"<footer><p>Made with EvoSplit {_e(__version__)}. In measures, smaller is better.</p></footer>\n"
        f'<script type="application/json" id="data">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


@cache
def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _e(text: object) -> str:
    """Escape a text; half a surrogate pair, which no file can hold, becomes a question mark."""
    return html.escape(str(text).encode("utf-8", "replace").decode("utf-8"))


def _name(text: object) -> str:
    """Escape a name; one in a script written from right to left does not turn what follows."""
    return f"<bdi>{_e(text)}</bdi>"


def _header(report: SplitReport) -> str:
    occurring = sum(1 for row in report.labels if row.total)
    facts = [
        _plural(sum(report.sizes), "sample"),
        _plural(occurring, "label"),
        _plural(len(report.names), "subset"),
    ]
    if report.n_unlabelled:
        facts.insert(1, f"{report.n_unlabelled:,} without labels")
    if "method" in report.settings:
        facts.append(f"method {report.settings['method']}")
    words = " · ".join(map(_e, facts))
    return f'<header><h1><span>EvoSplit</span> report</h1><p class="meta">{words}</p></header>\n'


def _summary(report: SplitReport) -> str:
    lines = "".join(f"<li>{_e(line)}</li>" for line in report.summary)
    return f'<dl class="tiles">{"".join(_tiles(report))}</dl><ul class="points">{lines}</ul>'


def _tiles(report: SplitReport) -> Iterable[str]:
    measures = report.measures
    if report.sizes == report.target_sizes:
        yield _tile("Sizes", "exact", "as asked for", "good")
    else:
        least = f"groups and locks allow {number(report.best_ed)}" if report.best_ed else "on average"
        yield _tile("Sizes", f"± {number(measures.ed)}", least, "" if measures.ed <= report.best_ed else "bad")
    for title, key in (("Labels", "ld"), ("Label pairs", "lpd")):
        value, random = getattr(measures, key), report.random[key]
        if random > 0 and value == 0:
            yield _tile(title, "perfect", "exactly their shares in every subset", "good")
        elif random > 0:
            better = value <= random
            times = random / value if better else value / random
            words = f"{'closer to' if better else 'further from'} their shares than in the average random split"
            yield _tile(
                title, f"{times:.1f} ×" if times < 10 else f"{times:,.0f} ×", words, "good" if better else "bad"
            )
    empty = sum(len(row.missing) for row in report.missing_labels())
    nowhere = measures.flz - empty  # combinations of labels that no sample carries
    proved = measures.flz <= report.flz_bound
    if not empty:
        words = "every label is in every subset"
    elif proved:
        words = "times in a subset; no split of these sizes has fewer"
    else:
        words = f"times in a subset; lower bound {report.flz_bound - nowhere:,}"
    yield _tile("A label is missing", f"{empty:,}", words, "good" if proved else "")


def _tile(title: str, value: str, words: str, mood: str) -> str:
    return (
        f'<div class="tile {mood}"><dt>{_e(title)}</dt>'
        f'<dd><div class="big">{_e(value)}</div><div class="small">{_e(words)}</div></dd></div>'
    )


def _sizes(report: SplitReport) -> str:
    widest = max(*report.sizes, *report.target_sizes, 1)
    bare = report.n_unlabelled > 0
    rows = []
    for j, row in enumerate(report.subset_rows()):
        bar = (
            f'<span class="bullet" aria-hidden="true" style="--c: {_colour(j)}; --t: {100 * row.target / widest:.2f}%">'
            f'<i style="width: {100 * row.size / widest:.2f}%"></i></span>'
        )
        difference = "" if row.size == row.target else f' <span class="none">{row.size - row.target:+,}</span>'
        cells = [_subset(j, row.name), f"{row.size:,}{difference}", f"{row.target:,}", f"{100 * row.share:.2f} %", bar]
        cells.append(_held(row.instances, row.instance_share))
        rows.append([*cells, _held(row.unlabelled, row.unlabelled_share)] if bare else cells)
    heads = ["subset", "samples", "asked for", "share", "", "instances", *(["no label"] if bare else [])]
    return _table(heads, rows, "sizes")


def _held(count: int, share: float) -> str:
    return f'{count:,}<span class="share">{100 * share:.2f} %</span>'


def _labels(report: SplitReport) -> str:
    if not any(row.total for row in report.labels):
        return "<p>No sample carries a label.</p>"
    choice = ""
    if _has_repeats(report):
        options = '<option value="0">samples</option><option value="1">instances</option>'
        choice = f"<label>count <select>{options}</select></label>"
    return (
        "<p>How far each label is off: the largest difference between its share in a subset and the subset's share of "
        "all samples, relative to the latter. Rare labels cannot come closer than whole samples allow.</p>"
        '<ul class="legend"><li><span class="dot" style="--c: var(--accent)"></span>this split</li>'
        '<li><span class="dot"></span>random splits, on average</li></ul>'
        '<div class="chart" data-chart="scatter"></div>'
        "<p>All labels, the rarest first. A bar ends at the line in its middle where the share is exactly right; “to "
        "move” counts the samples that would have to change subsets until the label, on its own, is as close to its "
        f"shares as whole samples allow.</p>{_share_table('labels', 'labels', choice)}"
    )


def _pairs(report: SplitReport) -> str:
    if not report.pairs:
        return ""
    exact = f"{report.n_pairs_exact:,} of {report.n_pairs:,}"
    return (
        f"<p>Labels that occur together in a sample. {exact} pairs are as close to their shares as whole samples "
        f"allow; here are the {len(report.pairs):,} that are furthest from them.</p>{_share_table('pairs', 'pairs')}"
    )


def _share_table(key: str, what: str, choice: str = "", search: bool = True) -> str:
    """Make a place for a table that the script fills."""
    tools = (
        f'<div class="tools"><label class="search">search <input type="search" aria-label="Search {_e(what)}" '
        f'autocomplete="off"></label>{choice}<p role="status"></p></div>'
    )
    return (
        f'<div data-table="{key}">{tools if search else ""}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_e(what)}">'
        "<table></table></div></div>"
    )


def _measures(report: SplitReport) -> str:
    rows = report.comparison()
    marks = {"self": "this split", "random": "random", "least": "out of reach"}
    if "sois" in report.stratified:
        marks["pairs"] = "stratified by pairs"
    if "is" in report.stratified:
        marks["labels"] = "stratified by labels"
    legend = "".join(f'<li><span class="mark {kind}"></span>{words}</li>' for kind, words in marks.items())
    stratified = '<span class="long">stratified</span> by'
    columns = ["this split", f"{stratified} pairs", f"{stratified} labels", "random", "bound"]
    values = [[row.value, row.by_pairs, row.by_labels, row.random, row.bound] for row in rows]
    shown = [j for j in range(len(columns)) if any(line[j] is not None for line in values)]
    cells = [
        [
            f'{row.name}<span class="soft">, {row.meaning}</span>',
            *(_number(line[j]) + (_spread(row) if columns[j] == "random" else "") for j in shown),
        ]
        for row, line in zip(rows, values, strict=True)
    ]
    without = ""
    if not report.stratified:
        grouped = report.effects is not None and report.effects.groups is not None
        why = "it cannot keep groups whole" if grouped else "the data is too large or has no labels"
        without = f"<p>Iterative stratification is not among them: {why}.</p>"
    return (
        "<p>How uneven labels and pairs are over the subsets, beside other ways to split the same data. The scale is "
        "relative to the average random split (± says how far single ones are from it); each step to the left is ten "
        f"times better. The hatched part is out of reach for any split of these sizes.</p>{without}"
        f'<ul class="legend">{legend}</ul>{_tracks(rows)}'
        f"{_table(['measure', *(columns[j] for j in shown)], cells, 'measures')}"
    )


def _spread(row: MeasureRow) -> str:
    return f'<span class="share">± {100 * row.random_spread / row.random:.0f} %</span>' if row.random_spread else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Lay out cells that are HTML already; the first of a row is its heading."""
    top = "".join(f'<th scope="col">{cell}</th>' if cell else "<td></td>" for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _tracks(rows: Sequence[MeasureRow]) -> str:
    """Draw a track for each measure of evenness, on one scale: the ratio to a random split, in powers of ten."""
    even = [row for row in rows if row.name in ("LD", "LD'", "LPD", "LPD'") and row.random > 0]
    if not even:
        return ""
    ratios = [
        value / row.random for row in even for value in (row.value, row.by_pairs, row.by_labels, row.bound) if value
    ]
    low = math.floor(math.log10(min([*ratios, 0.1])) - 0.05)
    high = math.log10(max([*ratios, 1.0])) + 0.04

    def place(ratio: float) -> float:
        return 100 * (math.log10(max(ratio, 10**low)) - low) / (high - low)

    parts = []
    for row in even:
        marks = ""
        if row.bound is not None:
            marks += f'<span class="bound" style="width: {place(row.bound / row.random):.2f}%"></span>'
        for kind, value in (
            ("self", row.value),
            ("random", row.random),
            ("labels", row.by_labels),
            ("pairs", row.by_pairs),
        ):
            if value is not None:
                marks += f'<span class="mark {kind}" style="left: {place(value / row.random):.2f}%"></span>'
        parts.append(f'<div class="name">{row.name}<small>{row.meaning}</small></div>')
        parts.append(f'<div class="track" aria-hidden="true">{marks}</div>')
    ticks = "".join(
        f'<span style="left: {place(10.0**power):.2f}%">{"random" if power == 0 else f"1/{10**-power:,}"}</span>'
        for power in range(low, 1)
    )
    return f'<div class="tracks">{"".join(parts)}<div></div><div class="ticks" aria-hidden="true">{ticks}</div></div>'


def _front(report: SplitReport) -> str:
    front = report.front
    if front is None:
        return ""
    if len(front) == 1 or len(front.titles) == 1:
        return "<p>The search found one best split, no trade-offs.</p>"
    rows = [
        [f"{i} (in use)" if i == front.chosen else str(i), *map(_number, values)]
        for i, values in enumerate(front.values.tolist())
    ]
    return (
        f"<p>{len(front)} splits were found of which none is better than another in everything. The star is the one in "
        'use; another is taken by its number, <code>split.pick(0)</code>, or by a rule, <code>split.pick("lpd")</code>.'
        f'</p>{_colours(front)}<div class="panels" data-chart="front"></div><details><summary>As a table</summary>'
        f"{_table(['trade-off', *map(_e, front.titles)], rows)}</details>"
    )


def _colours(front: FrontPoints) -> str:
    if len(front.titles) < 3:
        return ""
    return (
        '<p class="soft">The colour of a point tells what its chart does not show: <span class="less">less</span> is '
        'better than <span class="more">more</span>.</p>'
    )


def _constraints(effects: ConstraintEffects | None) -> str:
    if effects is None:
        return ""
    parts = ['<ul class="points">', *(f"<li>{_e(line)}</li>" for line in effects.in_words()), "</ul>"]
    columns: list[tuple[str, Sequence[int]]] = []
    if effects.groups is not None:
        columns.append(("groups", effects.groups.per_subset))
    if sum(effects.locked):
        columns.append(("locked samples", effects.locked))
    if columns:
        rows = [
            [_subset(j, name), *(f"{values[j]:,}" for _, values in columns)] for j, name in enumerate(effects.subsets)
        ]
        parts.append(_table(["subset", *(title for title, _ in columns)], rows))
    for at, (name, table) in enumerate(effects.strata):
        parts.append(f"<h3>{_name(name)}</h3>{_share_table(f'stratum{at}', name, search=len(table) > 10)}")
    if effects.label_weights:
        weights = sorted(effects.label_weights.items(), key=lambda item: -item[1])
        parts.append(f"<h3>Weights</h3>{_table(['label', 'weight'], [[_name(key), f'{w:g}'] for key, w in weights])}")
    return "".join(parts)


def _settings(report: SplitReport) -> str:
    facts = "".join(f"<dt>{_e(key)}</dt><dd>{_e(_plain(value))}</dd>" for key, value in report.settings.items())
    facts += f"<dt>evosplit</dt><dd>{_e(__version__)}</dd>"
    return f'<dl class="facts">{facts}</dl>{_recipe(report)}'


def _recipe(report: SplitReport) -> str:
    """Write the call that gives the same split again, for data that is the same."""
    settings = report.settings
    if "method" not in settings:
        return ""
    if settings.get("seed") is None:
        return "<p>Without an integer as its seed, this split is repeated from its manifest only.</p>"
    sizes = dict(zip(report.names, report.target_sizes, strict=True))
    options = [
        # A method that is no name is recorded as the call that makes it.
        f"{key}={value if key == 'method' and value not in METHODS else repr(value)}"
        for key, value in settings.items()
        if key in ("method", "objectives", "cover", "min_per_label", "label_weights", "pick", "effort", "seed")
    ]
    given = [f"{key}={key}" for key in ("groups", "locked", "strata") if key in settings]
    call = ",\n    ".join(["counts", repr(sizes), *options, *given])
    words = "The same data gives the same split, unless the search is stopped early:"
    return f"<p>{words}</p><pre>evosplit.split(\n    {_e(call)},\n)</pre>"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _data(report: SplitReport) -> dict[str, Any]:
    """Collect the numbers that the script draws."""
    samples = label_shares(report)
    views = [samples, label_shares(report, by="instances")] if _has_repeats(report) else [samples]
    occurring = [row for row in report.labels if row.total]
    pairs = pair_shares(report)
    tables = {
        "labels": {
            **_table_data("label", "labels", *views),
            "sorted": "total",
            "random": _rounded(row.random_deviation for row in occurring),
            "move": [row.misplaced for row in occurring],
        },
        "pairs": {**_table_data("pair", "pairs", pairs), "move": [row.misplaced for row in report.pairs]},
    }
    strata = report.effects.strata if report.effects is not None else ()
    for at, (_, table) in enumerate(strata):
        tables[f"stratum{at}"] = _table_data("category", "categories", table)
    scatter = label_scatter(report)
    front = report.front
    return {
        "subsets": list(report.names),
        "targets": _rounded(samples.targets),
        "tables": tables,
        "scatter": {
            "names": list(scatter.names),
            "totals": scatter.totals.tolist(),
            "off": _rounded(scatter.deviation),
            "random": _rounded(scatter.random),
        },
        "front": None
        if front is None
        else {
            "titles": list(front.titles),
            "values": [_rounded(point) for point in front.values],
            "chosen": front.chosen,
        },
    }


def _table_data(what: str, many: str, *views: ShareTable) -> dict[str, Any]:
    return {
        "what": what,
        "many": many,
        "names": list(views[0].names),
        "sorted": None,
        "views": [
            {"unit": table.unit, "counts": table.counts.tolist(), "off": _rounded(table.deviation)} for table in views
        ],
    }


def _has_repeats(report: SplitReport) -> bool:
    return any(row.instances != row.samples for row in report.labels)


def _rounded(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


def _subset(j: int, name: str) -> str:
    return f'<span class="dot" style="--c: {_colour(j)}"></span>{_name(name)}'


def _colour(j: int) -> str:
    return f"var(--s{j % 8})"


def _plural(n: int, one: str, many: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    short = f"{value:.3g}" if 0.001 <= value < 1000 else number(value)
    return short.replace("e-0", "e-")

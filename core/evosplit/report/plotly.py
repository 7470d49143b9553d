"""The figures of a report, as what Plotly reads: dictionaries of traces and layout.

Plotly reads a little HTML in its texts, so names are escaped: a label called `<b>` is drawn as those three characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evosplit.errors import EvoSplitError, needing
from evosplit.report.tables import number, objective_titles, percent
from evosplit.report.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plotly.graph_objects import Figure

    from evosplit.front import ParetoFront
    from evosplit.report.numbers import SplitReport
    from evosplit.report.shares import ShareTable

__all__ = ["as_figure", "escape", "front_figure", "label_figure", "pair_figure"]

# Readable on dark and light backgrounds, also for colour-blind readers (after Okabe and Ito).
COLOURS = ("#4e9bd6", "#e69f00", "#26a982", "#cc79a7", "#d5673a", "#a0a03c", "#8d7ad6", "#7f8c8d")
GREY = "#8a8f98"
ACCENT = "#ff6d04"
SCALE = ((0, "#4e9bd6"), (0.5, "#a9a9a9"), (1, "#e69f00"))  # from less, which is better, to more
_ROW = 22  # pixels for a row of a chart
_LONGEST_NAME = 26
_FURTHEST = 1.5  # times its share by which a point may be off; those further away stand at the edge


def as_figure(drawing: dict[str, Any]) -> Figure:
    """Make a figure of Plotly's."""
    with needing("plotly", "plots need plotly", "report"):
        from plotly.graph_objects import Figure
    return Figure(drawing)


def escape(text: str) -> str:
    """Keep Plotly from reading a text as HTML.

    Examples
    --------
    >>> escape("<script>alert(1)</script>")
    '&lt;script&gt;alert(1)&lt;/script&gt;'
    """
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label_figure(report: SplitReport, *, by: str = "samples", limit: int | None = None) -> dict[str, Any]:
    """Draw the rarest labels: a row for each, a point for each subset; grey bars show random splits."""
    rows = report.occurring[: _checked(limit)]
    random = [row.random_deviation for row in rows] if by == "samples" else []
    unit = report.nouns.samples if by == "samples" else by
    return _share_figure(report.shares(rows, by=by), unit, random)


def pair_figure(report: SplitReport, *, limit: int | None = None) -> dict[str, Any]:
    """Draw the label pairs that are furthest from their shares in the same way."""
    return _share_figure(report.shares(report.pairs[: _checked(limit)]), report.nouns.samples)


def _share_figure(table: ShareTable, unit: str, random: Sequence[float] = ()) -> dict[str, Any]:
    """Draw how far each thing is from its share in each subset, in percent of the share.

    There is a trace for each subset, in their order, with a point for each row; further traces follow.
    """
    rows, totals, k = list(range(len(table))), table.totals.tolist(), len(table.subsets)
    traces: list[dict[str, Any]] = []
    lacking: list[tuple[float, str]] = []
    for j, name in enumerate(table.subsets):
        parts = [table.parts[i][j] for i in rows]
        height = [i + min(0.6 / k, 0.2) * (j - (k - 1) / 2) for i in rows]  # so that equal ones can be told apart
        said = [f"{escape(table.names[i])} in {escape(name)}" for i in rows]
        lacking += [(height[i], f"{said[i]}: none of {totals[i]:,} {unit}") for i in rows if not parts[i].count]
        hover = [
            f"{said[i]}<br>{part.count:,} of {totals[i]:,} {unit}: {percent(part.share)} "
            f"(target {percent(part.target)})"
            for i, part in enumerate(parts)
        ]
        x = [100 * min(part.excess, _FURTHEST) if part.count else None for part in parts]
        traces.append(_trace(escape(name), x, height, hover, {"color": COLOURS[j % len(COLOURS)], "size": 9}))
    if lacking:
        heights, hover = map(list, zip(*lacking, strict=True))
        cross = {"color": ACCENT, "size": 9, "symbol": "x"}
        traces.append(_trace("none at all", [-100] * len(lacking), heights, hover, cross))
    if random:
        traces.append(_random_bars(table.names, random))
    points = [abs(x) for trace in traces[:k] for x in trace["x"] if x is not None]
    near = not lacking and max([*points, *(100 * value for value in random)], default=0) <= 50
    ticks = [-100, -50, 0, 50, 100, 150]
    told = [f"{'≥ ' if tick == 100 * _FURTHEST else ''}{tick} %" for tick in ticks]
    axis = {"ticksuffix": " %", "nticks": 7} if near else {"tickvals": ticks, "ticktext": told}
    names = [name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in table.names]
    return {
        "data": traces,
        "layout": {
            "height": 120 + _ROW * len(rows),
            "margin": {"t": 40, "r": 28, "b": 56, "l": 16},
            "showlegend": True,
            "hovermode": "closest",
            "bargap": 0.3,
            "xaxis": {
                "title": {"text": f"more or less than its share (beside each name: its {unit})", "standoff": 12},
                **axis,
                "zeroline": True,
                "zerolinecolor": GREY,
                "zerolinewidth": 2,
                "automargin": True,
                "fixedrange": True,
            },
            "yaxis": {
                "range": [len(rows) - 0.5, -0.5],
                "tickmode": "array",
                "tickvals": rows,
                "ticktext": [f"{escape(name)} ({total:,}) " for name, total in zip(names, totals, strict=True)],
                "automargin": True,
                "fixedrange": True,
            },
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "normal"},
        },
    }


def _random_bars(names: Sequence[str], random: Sequence[float]) -> dict[str, Any]:
    """Draw how far off random splits are on either side, as far as the axis goes."""
    right = [100 * min(value, _FURTHEST) for value in random]
    left = [-min(width, 100) for width in right]
    widths = [end - start for start, end in zip(left, right, strict=True)]
    hover = [
        f"{escape(name)}<br>off by {percent(off)} in random splits, on average"
        for name, off in zip(names, random, strict=True)
    ]
    bar = {"type": "bar", "orientation": "h", "base": left}
    return _trace("random splits", widths, list(range(len(names))), hover, {"color": GREY, "opacity": 0.25}, **bar)


def front_figure(front: ParetoFront, chosen: int, *, selected: int | None = None) -> dict[str, Any]:
    """Draw the trade-offs: the first two objectives as axes, the third as colour, the fourth as size.

    The chosen one is a star; `selected`, if it is another one, is ringed. All values are in the hover text.
    """
    values, titles = front.objectives, objective_titles(front.objective_names)
    everyone, up = range(len(front)), min(1, len(titles) - 1)
    ringed = selected if selected != chosen else None
    hover = [
        "<br>".join(f"{title}: {number(value)}" for title, value in zip(titles, point, strict=True))
        + ("<br>chosen" if i == chosen else "")
        for i, point in enumerate(values.tolist())
    ]
    colours: dict[str, Any] = {"color": [ACCENT if i == chosen else COLOURS[0] for i in everyone]}
    outline = 1.5 if len(titles) > 2 and np.ptp(values[:, 2]) > 0 else 0
    if outline:
        title = {"text": f"colour: {escape(titles[2])}", "side": "right", "font": {"size": 12}}
        bar = {"title": title, "tickformat": ".1e", "nticks": 5, "thickness": 12, "outlinewidth": 0}
        colours = {"color": values[:, 2].tolist(), "colorscale": SCALE, "colorbar": bar}
    sizes = np.full(len(front), 10.0)
    if len(titles) > 3 and np.ptp(values[:, 3]) > 0:
        sizes = 8 + 8 * (values[:, 3] - values[:, 3].min()) / np.ptp(values[:, 3])
    marker = {
        "opacity": 1,
        **colours,
        "symbol": ["star" if i == chosen else "circle" for i in everyone],
        "size": [float(sizes[i]) + (12 if i == chosen else 4 if i == ringed else 0) for i in everyone],
        "line": {
            "color": [ACCENT if i == chosen else GREY for i in everyone],
            "width": [3 if i == ringed else outline if i == chosen else 0 for i in everyone],
        },
    }
    trace = _trace("trade-offs", values[:, 0].tolist(), values[:, up].tolist(), hover, marker)
    layout = {
        "height": 300,
        "margin": {"t": 12, "r": 24, "b": 56, "l": 24},
        "hovermode": "closest",
        "xaxis": _value_axis(titles[0]),
        "yaxis": _value_axis(titles[up]),
    }
    return {"data": [{**trace, "showlegend": False}], "layout": layout}


def _trace(
    name: str, x: list[Any], y: list[Any], hover: list[str], marker: dict[str, Any], **kind: Any
) -> dict[str, Any]:
    """Make a trace; of points, unless its kind says otherwise."""
    kind = kind or {"type": "scatter", "mode": "markers"}
    return {**kind, "name": name, "x": x, "y": y, "marker": marker, "hovertext": hover, "hoverinfo": "text"}


def _value_axis(title: str) -> dict[str, Any]:
    words = {"text": escape(title), "standoff": 12}
    return {"title": words, "automargin": True, "tickformat": ".1e", "nticks": 5, "fixedrange": True}


def _checked(limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise EvoSplitError(f"limit={limit} shows nothing; give at least 1, or None for all")
    return limit

"""The figures of a report, as what Plotly reads: dictionaries of traces and layout, drawn from `evosplit.charts`.

Plotly reads a little HTML in its texts, so names are escaped: a label called `<b>` is drawn as those three characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evosplit.charts import FrontPoints, ShareTable, number
from evosplit.terminal import clean

__all__ = ["COLOURS", "escape", "front_figure", "label_figure", "pair_figure"]

# Readable on dark and light backgrounds, also for colour-blind readers (after Okabe and Ito).
COLOURS = ("#4e9bd6", "#e69f00", "#26a982", "#cc79a7", "#d5673a", "#a0a03c", "#8d7ad6", "#7f8c8d")
GREY = "#8a8f98"
ACCENT = "#ff6d04"
SCALE = ((0, "#4e9bd6"), (0.5, "#a9a9a9"), (1, "#e69f00"))  # from less, which is better, to more
_ROW = 22  # pixels for a row of a chart
_LONGEST_NAME = 26


def escape(text: str) -> str:
    """Keep Plotly from reading a text as HTML.

    Examples
    --------
    >>> escape("<script>alert(1)</script>")
    '&lt;script&gt;alert(1)&lt;/script&gt;'
    """
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label_figure(table: ShareTable, totals: ShareTable | None = None) -> dict[str, Any]:
    """Draw a bar for each row, cut into the subsets' shares; dashes mark where the cuts should be.

    The rows of `totals` come below the others.
    """
    tables = [table] if totals is None else [table, totals]
    names = [name for part in tables for name in part.names]
    sums = [total for part in tables for total in part.totals.tolist()]
    units = [part.unit and f" {part.unit}" for part in tables for _ in part.names]
    rows = list(range(len(names)))
    traces = []
    for j, name in enumerate(table.subsets):
        target = 100 * float(table.targets[j])
        shares = [100 * share for part in tables for share in part.shares[:, j].tolist()]
        counts = [count for part in tables for count in part.counts[:, j].tolist()]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": escape(name),
                "x": shares,
                "y": rows,
                "marker": {"color": COLOURS[j % len(COLOURS)]},
                "hovertext": [
                    f"{escape(names[i])} in {escape(name)}<br>{counts[i]:,} of {sums[i]:,}{units[i]}: "
                    f"{shares[i]:.1f} % (target {target:.1f} %)"
                    for i in rows
                ],
                "hoverinfo": "text",
            }
        )
    edges = (100 * table.targets.cumsum())[:-1].tolist()
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "bargap": 0.25,
            "height": 90 + _ROW * len(rows),
            "margin": {"t": 40, "r": 28, "b": 30, "l": 16},
            "showlegend": True,
            "xaxis": {
                "range": [0, 100],
                "tickvals": [0, 25, 50, 75, 100],
                "ticktext": ["0 %", "25 %", "50 %", "75 %", "100 %"],
                "automargin": True,
                "fixedrange": True,
            },
            "yaxis": _rows_axis(names, sums),
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "normal"},
            "shapes": [line for edge in edges for line in _target_line(edge)],
        },
    }


def pair_figure(table: ShareTable) -> dict[str, Any]:
    """Draw for each row a point per subset: how far its share is from the subset's share, in percent of the latter."""
    rows = list(range(len(table)))
    totals = table.totals.tolist()
    traces = []
    for j, name in enumerate(table.subsets):
        target = float(table.targets[j])
        shares = table.shares[:, j].tolist()
        counts = table.counts[:, j].tolist()
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": escape(name),
                "x": [100 * (share / target - 1) if target else 0.0 for share in shares],
                "y": rows,
                "marker": {"color": COLOURS[j % len(COLOURS)], "size": 10},
                "hovertext": [
                    f"{escape(table.names[i])} in {escape(name)}<br>{counts[i]:,} of {totals[i]:,} {table.unit}, "
                    f"{totals[i] * target:,.1f} would be its share"
                    for i in rows
                ],
                "hoverinfo": "text",
            }
        )
    return {
        "data": traces,
        "layout": {
            "height": 120 + _ROW * len(rows),
            "margin": {"t": 40, "r": 28, "b": 56, "l": 16},
            "showlegend": True,
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": "more or less than its share, in %", "standoff": 12},
                "zeroline": True,
                "zerolinecolor": GREY,
                "zerolinewidth": 2,
                "automargin": True,
            },
            "yaxis": _rows_axis(table.names, totals),
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "normal"},
        },
    }


def front_figure(points: FrontPoints, *, selected: int | None = None) -> dict[str, Any]:
    """Draw the trade-offs: the first two objectives as axes, the third as colour, the fourth as size.

    The chosen one is a star; `selected`, if it is another one, is ringed. All values are in the hover text.
    """
    across, up = points.values[:, 0], points.values[:, min(1, len(points.objective_names) - 1)]
    hover = [
        "<br>".join(f"{title}: {number(value)}" for title, value in zip(points.titles, values, strict=True))
        + ("<br>chosen" if i == points.chosen else "")
        for i, values in enumerate(points.values.tolist())
    ]
    everyone = range(len(points))
    ringed = selected if selected != points.chosen else None
    values = points.values
    colours: dict[str, Any] = {"color": [ACCENT if i == points.chosen else COLOURS[0] for i in everyone]}
    outline = 1.5 if values.shape[1] > 2 and np.ptp(values[:, 2]) > 0 else 0
    if outline:
        title = {"text": f"colour: {escape(points.titles[2])}", "side": "right", "font": {"size": 12}}
        bar = {"title": title, "tickformat": ".1e", "nticks": 5, "thickness": 12, "outlinewidth": 0}
        colours = {"color": values[:, 2].tolist(), "colorscale": SCALE, "colorbar": bar}
    sizes = [10.0] * len(points)
    if values.shape[1] > 3 and np.ptp(values[:, 3]) > 0:
        sizes = (8 + 8 * (values[:, 3] - values[:, 3].min()) / np.ptp(values[:, 3])).tolist()
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers",
                "name": "trade-offs",
                "x": across.tolist(),
                "y": up.tolist(),
                "hovertext": hover,
                "hoverinfo": "text",
                "showlegend": False,
                "marker": {
                    "opacity": 1,
                    **colours,
                    "symbol": ["star" if i == points.chosen else "circle" for i in everyone],
                    "size": [sizes[i] + (12 if i == points.chosen else 4 if i == ringed else 0) for i in everyone],
                    "line": {
                        "color": [ACCENT if i == points.chosen else GREY for i in everyone],
                        "width": [3 if i == ringed else outline if i == points.chosen else 0 for i in everyone],
                    },
                },
            }
        ],
        "layout": {
            "height": 300,
            "margin": {"t": 12, "r": 24, "b": 56, "l": 24},
            "hovermode": "closest",
            "xaxis": _value_axis(points.titles[0]),
            "yaxis": _value_axis(points.titles[min(1, len(points.titles) - 1)]),
        },
    }


def _rows_axis(names: Sequence[str], totals: Sequence[int]) -> dict[str, Any]:
    return {
        "autorange": "reversed",
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [f"{_short(name)} ({total:,}) " for name, total in zip(names, totals, strict=True)],
        "automargin": True,
        "fixedrange": True,
    }


def _value_axis(title: str) -> dict[str, Any]:
    words = {"text": escape(title), "standoff": 12}
    return {"title": words, "automargin": True, "tickformat": ".1e", "nticks": 5, "fixedrange": True}


def _target_line(edge: float) -> list[dict[str, Any]]:
    """Draw dark dashes on a white line, which stand out from every bar and from both backgrounds."""
    ends = {"type": "line", "xref": "x", "yref": "paper", "x0": edge, "x1": edge, "y0": 0, "y1": 1}
    return [
        {**ends, "line": {"color": "#ffffff", "width": 3}},
        {**ends, "line": {"color": "#222222", "width": 1.5, "dash": "4px,4px"}},
    ]


def _short(text: str) -> str:
    return escape(text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…")

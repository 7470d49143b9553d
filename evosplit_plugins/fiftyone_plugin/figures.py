"""The two figures of the panel, as Plotly data: pure functions from a report to traces and layout.

Plotly reads a little HTML in its texts, so names are escaped: a label called `<b>` is drawn as those three
characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evosplit import ParetoFront, SplitReport
from evosplit_plugins.fiftyone_plugin.output import number

__all__ = ["escape", "front_figure", "hidden_objectives", "label_figure", "shown_labels"]

# Readable on the App's dark and light backgrounds, also for colour-blind readers (after Okabe and Ito).
COLOURS = ("#4e9bd6", "#e69f00", "#26a982", "#cc79a7", "#d5673a", "#a0a03c", "#8d7ad6", "#7f8c8d")
GREY = "#8a8f98"
ACCENT = "#ff6d04"
LABELS_AT_FIRST = 24
LABELS_AT_MOST = 1000
_ROW = 22  # pixels for a label's bar
_LONGEST_NAME = 26
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}  # the wheel scrolls the panel
_MEANINGS = {
    "images": "LD: images with a label",
    "instances": "LD': instances of a label",
    "pairs": "LPD: label pairs",
    "triplets": "label triplets",
    "strata": "strata",
}


def escape(text: str) -> str:
    """Keep Plotly from reading a text as HTML.

    Examples
    --------
    >>> escape("<script>alert(1)</script>")
    '&lt;script&gt;alert(1)&lt;/script&gt;'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _short(text: str) -> str:
    return escape(text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…")


def shown_labels(report: SplitReport, *, everything: bool) -> int:
    """Return how many labels the figure shows, the rarest first."""
    occurring = sum(1 for row in report.labels if sum(row.instances))
    return min(occurring, LABELS_AT_MOST if everything else LABELS_AT_FIRST)


def label_figure(report: SplitReport, *, everything: bool = False) -> dict[str, Any]:
    """Draw a bar for each label, rarest on top, cut into the subsets' shares; dashes mark the targets."""
    rows = [row for row in report.labels if sum(row.instances)][: shown_labels(report, everything=everything)]
    total = sum(report.target_sizes)
    targets = [100 * size / total for size in report.target_sizes]
    traces = []
    for j, name in enumerate(report.names):
        shares = [100 * row.instances[j] / sum(row.instances) for row in rows]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": escape(name),
                "x": shares,
                "y": list(range(len(rows))),
                "marker": {"color": COLOURS[j % len(COLOURS)]},
                "hovertext": [
                    f"{escape(row.label)} in {escape(name)}<br>"
                    f"{row.instances[j]:,} of {sum(row.instances):,} instances: "
                    f"{share:.1f} % (target {targets[j]:.1f} %)<br>"
                    f"{row.images[j]:,} of {sum(row.images):,} samples"
                    for row, share in zip(rows, shares, strict=True)
                ],
                "hoverinfo": "text",
            }
        )
    edges = [sum(targets[: j + 1]) for j in range(len(targets) - 1)]
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
            "yaxis": {
                "autorange": "reversed",
                "tickmode": "array",
                "tickvals": list(range(len(rows))),
                "ticktext": [f"{_short(row.label)} ({sum(row.instances):,}) " for row in rows],
                "automargin": True,
                "fixedrange": True,
            },
            "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "normal"},
            "shapes": [line for edge in edges for line in _target_line(edge)],
        },
        "config": _CONFIG,
    }


def _target_line(edge: float) -> list[dict[str, Any]]:
    """Draw dark dashes on a white line, which stand out from every bar and from both backgrounds."""
    ends = {"type": "line", "xref": "x", "yref": "paper", "x0": edge, "x1": edge, "y0": 0, "y1": 1}
    return [
        {**ends, "line": {"color": "#ffffff", "width": 3}},
        {**ends, "line": {"color": "#222222", "width": 1.5, "dash": "4px,4px"}},
    ]


def front_figure(front: ParetoFront, *, applied: int | None, selected: int) -> dict[str, Any]:
    """Draw the trade-offs: the first two objectives as axes, the rest in the hover text."""
    names = front.objective_names
    x = front.objectives[:, 0]
    y = front.objectives[:, min(1, len(names) - 1)]
    hover = [
        "<br>".join(f"{_MEANINGS.get(name, name)}: {number(value)}" for name, value in zip(names, point, strict=True))
        + ("<br>applied" if i == applied else "")
        for i, point in enumerate(front.objectives.tolist())
    ]
    ringed = selected if selected != applied else None
    trace: Mapping[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "name": "trade-offs",
        "x": x.tolist(),
        "y": y.tolist(),
        "hovertext": hover,
        "hoverinfo": "text",
        "showlegend": False,
        "marker": {
            "opacity": 1,
            "color": [ACCENT if i == applied else COLOURS[0] for i in range(len(front))],
            "symbol": ["star" if i == applied else "circle" for i in range(len(front))],
            "size": [16 if i == applied else 14 if i == ringed else 10 for i in range(len(front))],
            "line": {"color": GREY, "width": [3 if i == ringed else 0 for i in range(len(front))]},
        },
    }
    return {
        "data": [trace],
        "layout": {
            "height": 300,
            "margin": {"t": 12, "r": 24, "b": 56, "l": 24},
            "hovermode": "closest",
            "xaxis": _axis(names[0]),
            "yaxis": _axis(names[min(1, len(names) - 1)]),
        },
        "config": _CONFIG,
    }


def _axis(name: str) -> dict[str, Any]:
    title = {"text": escape(_MEANINGS.get(name, name)), "standoff": 12}
    return {"title": title, "automargin": True, "tickformat": ".1e", "nticks": 5, "fixedrange": True}


def hidden_objectives(names: Sequence[str]) -> str:
    """Say what the two axes do not show.

    Examples
    --------
    >>> hidden_objectives(["images", "instances", "pairs"])
    ' Hover over a point for LPD: label pairs.'
    """
    hidden = [_MEANINGS.get(name, name) for name in names[2:]]
    return f" Hover over a point for {', '.join(hidden)}." if hidden else ""

"""Two splits beside each other, label by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evosplit import SplitReport
from evosplit.report import plotly
from evosplit.report.tables import percent
from evosplit_plugins.fiftyone_plugin.app.figures import of_fixed_height

__all__ = ["LabelPair", "compare_labels", "comparison_figure", "in_words"]

SHOWN = 24
_FURTHEST = 1.5  # times its share; what is off by more stands at the edge
_ALIKE = 0.005  # differences below half a percent of the share are none
# A ring around a dot: where both splits are as close, both are seen.
_DOT = {"color": plotly.COLOURS[0], "size": 8}
_RING = {"color": plotly.COLOURS[1], "size": 12, "symbol": "circle-open", "line": {"width": 2}}


@dataclass(frozen=True)
class LabelPair:
    """One label in two splits: how many samples have it, and how far it is off its shares here and there."""

    label: str
    total: int
    here: float
    there: float

    @property
    def difference(self) -> float:
        """How much closer it is here."""
        return self.there - self.here


def compare_labels(here: SplitReport, there: SplitReport) -> list[LabelPair]:
    """Pair the labels that occur in both splits, those that differ most first."""
    other = {row.label: row.deviation for row in there.occurring}
    found = [
        LabelPair(row.label, row.total, row.deviation, other[row.label]) for row in here.occurring if row.label in other
    ]
    return sorted(found, key=lambda pair: -abs(pair.difference))


def in_words(pairs: Sequence[LabelPair], name: str) -> str:
    """Say in a sentence which of the splits is closer.

    Examples
    --------
    >>> in_words([LabelPair("cat", 9, 0.1, 0.3), LabelPair("dog", 5, 0.2, 0.2)], "split 1")
    'Of 2 labels, 1 is closer to its shares here, 0 in split 1, 1 as close.'
    """
    if not pairs:
        return f"This split and {name} have no label in common."
    here = sum(pair.difference > _ALIKE for pair in pairs)
    there = sum(pair.difference < -_ALIKE for pair in pairs)
    closer = "is closer to its shares" if here == 1 else "are closer to their shares"
    alike = len(pairs) - here - there
    return f"Of {len(pairs):,} labels, {here:,} {closer} here, {there:,} in {name}, {alike:,} as close."


def comparison_figure(pairs: Sequence[LabelPair], name: str) -> dict[str, Any]:
    """Draw how far the labels that differ most are off their shares in both splits, joined by a line."""
    rows = list(enumerate(pairs[:SHOWN]))
    lines: dict[str, list[Any]] = {"x": [], "y": []}
    for at, pair in rows:
        lines["x"] += [_percent(pair.here), _percent(pair.there), None]
        lines["y"] += [at, at, None]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            **lines,
            "line": {"color": plotly.GREY, "width": 2},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for called, marker, values in (
        ("this split", _DOT, [pair.here for _, pair in rows]),
        (name, _RING, [pair.there for _, pair in rows]),
    ):
        hover = [
            f"{plotly.escape(pair.label)} in {plotly.escape(called)}: off by {percent(value)}"
            for (_, pair), value in zip(rows, values, strict=True)
        ]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plotly.escape(called),
                "x": [_percent(value) for value in values],
                "y": [at for at, _ in rows],
                "marker": marker,
                "hovertext": hover,
                "hoverinfo": "text",
            }
        )
    layout = {
        "height": 138 + 22 * len(rows),
        "margin": {"t": 40, "r": 28, "b": 74, "l": 16},
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "yref": "container", "y": 1, "yanchor": "top"},
        "xaxis": {
            "title": {"text": "furthest from its share<br>in any subset", "standoff": 12},
            "ticksuffix": " %",
            "rangemode": "tozero",
            "automargin": True,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [len(rows) - 0.5, -0.5],
            "tickmode": "array",
            "tickvals": [at for at, _ in rows],
            "ticktext": [f"{plotly.escape(_short(pair.label))} ({pair.total:,}) " for _, pair in rows],
            "automargin": True,
            "fixedrange": True,
        },
    }
    return of_fixed_height({"data": traces, "layout": layout})


def _percent(value: float) -> float:
    return 100 * min(value, _FURTHEST)


def _short(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"

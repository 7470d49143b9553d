"""The two figures of the panel: the core's drawings, set up for the App."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from evosplit import ParetoFront, SplitReport
from evosplit.report import plotly
from evosplit.report.tables import objective_titles

__all__ = ["front_figure", "hidden_objectives", "label_figure", "of_fixed_height", "shown_labels"]

LABELS_AT_FIRST = 24
LABELS_AT_MOST = 1000
_AXIS = "% more or less than its share"  # the words above it say what is beside the names
_LEGEND_ROW = 19  # pixels
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}  # the wheel scrolls the panel


def shown_labels(report: SplitReport, *, everything: bool) -> int:
    """Return how many labels the figure shows, the rarest first."""
    return min(len(report.occurring), LABELS_AT_MOST if everything else LABELS_AT_FIRST)


def label_figure(report: SplitReport, *, everything: bool = False) -> dict[str, Any]:
    """Draw how far each label is from its share in each subset, and in random splits; the rarest on top."""
    shown = max(shown_labels(report, everything=everything), 1)
    figure = plotly.label_figure(report, limit=shown)
    layout = figure["layout"]
    # Held by the top of the plot: what is placed by the axes stays behind when a resize changes the rows of the legend.
    layout["legend"] |= {"yref": "container", "y": 1, "yanchor": "top"}
    above = 16 + _LEGEND_ROW * ceil(len(figure["data"]) / 2)  # two names fit into the narrowest panel
    layout["height"] += above - layout["margin"]["t"]
    layout["margin"] |= {"t": above}
    axis = layout["xaxis"]
    axis["title"]["text"] = _AXIS
    # A narrow panel turns numbers that do not fit beside one another: without their unit they do.
    axis |= {"ticksuffix": "", "autotickangles": [0, 90]}
    if "ticktext" in axis:
        axis["ticktext"] = [text.removesuffix(" %") for text in axis["ticktext"]]
    return of_fixed_height(figure)


def front_figure(front: ParetoFront, *, applied: int, selected: int) -> dict[str, Any]:
    """Draw the trade-offs: the one in use is a star, the selected one is ringed."""
    figure = plotly.front_figure(front, applied, selected=selected)
    figure["layout"]["xaxis"] |= {"nticks": 5, "autotickangles": [0, 90]}
    return of_fixed_height(figure)


def hidden_objectives(names: Sequence[str]) -> str:
    """Say how what the two axes do not show is drawn.

    Examples
    --------
    >>> hidden_objectives(["samples", "instances", "pairs"])
    ' The colour shows LPD: label pairs.'
    """
    ways = ("The colour shows", "the size")
    shown = [f"{way} {title}" for way, title in zip(ways, objective_titles(names)[2:], strict=False)]
    return f" {', '.join(shown)}." if shown else ""


def of_fixed_height(figure: dict[str, Any]) -> dict[str, Any]:
    """Fix the height of the plot's element, from which a responsive plot takes its own whenever the window changes."""
    style = {"height": f"{figure['layout']['height']}px", "width": "100%"}
    return {**figure, "config": _CONFIG, "componentsProps": {"plotly": {"style": style}}}

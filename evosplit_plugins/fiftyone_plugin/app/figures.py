"""The two figures of the panel: the core's drawings, set up for the App."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from evosplit import ParetoFront, SplitReport
from evosplit.report import plotly
from evosplit.report.numbers import LabelRow
from evosplit.report.tables import objective_titles

__all__ = ["front_figure", "hidden_objectives", "label_figure", "labels_in_words", "of_fixed_height"]

LABELS_AT_FIRST = 24
LABELS_AT_MOST = 1000
_AXIS = "% more or less<br>than its share"  # in two lines, for a panel beside others
_LEGEND_ROW, _TITLE_ROW = 19, 18  # pixels
_LONG = 24  # characters of the name of a label with its number
_MARKED, _NOTICEABLE = 5, 0.1  # labels at most; how far they are off their shares at least
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}  # the wheel scrolls the panel


def _shown(report: SplitReport, *, everything: bool) -> Sequence[LabelRow]:
    return report.occurring[: LABELS_AT_MOST if everything else LABELS_AT_FIRST]


def _marked(rows: Sequence[LabelRow]) -> set[int]:
    """Tell which rows are worth a look: of those that are noticeably off, the ones with most samples to move."""
    off = [at for at, row in enumerate(rows) if row.misplaced and not row.missing and row.deviation > _NOTICEABLE]
    return set(sorted(off, key=lambda at: -rows[at].misplaced)[:_MARKED])


def labels_in_words(report: SplitReport, *, everything: bool = False) -> str:
    """Say what `label_figure` shows."""
    rows = _shown(report, everything=everything)
    which = f"{len(rows):,} of {len(report.occurring):,} labels. " if len(rows) < len(report.occurring) else ""
    bold = " Bold: those of which most samples are in the wrong subset." if _marked(rows) else ""
    return (
        f"{which}The rarest labels on top, beside each the samples that have it: how much more or less than its "
        f"share a subset holds; grey bars show random splits, a cross a label that a subset lacks.{bold}"
    )


def label_figure(report: SplitReport, *, everything: bool = False) -> dict[str, Any]:
    """Draw how far each label is from its share in each subset, and in random splits; the rarest on top."""
    rows = _shown(report, everything=everything)
    figure = plotly.label_figure(report, limit=max(len(rows), 1))
    layout = figure["layout"]
    names = layout["yaxis"]["ticktext"]
    beside = 1 if max(map(len, names), default=0) > _LONG else 2
    for at in _marked(rows):
        names[at] = f"<b>{names[at]}</b>"
    # Held by the top of the plot: what is placed by the axes stays behind when a resize changes the rows of the legend.
    layout["legend"] |= {"yref": "container", "y": 1, "yanchor": "top"}
    # Two subsets fit beside one another into a narrow panel, unless long names of labels leave them no space.
    above = 16 + _LEGEND_ROW * ceil(len(figure["data"]) / beside)
    layout["height"] += above - layout["margin"]["t"] + _TITLE_ROW
    layout["margin"] |= {"t": above, "b": layout["margin"]["b"] + _TITLE_ROW}
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
    layout = {**figure["layout"], "hoverlabel": {"font": {"color": "black"}}}  # on the colour of the point
    return {**figure, "layout": layout, "config": _CONFIG, "componentsProps": {"plotly": {"style": style}}}

"""The two figures of the panel: the core's charts and drawings, cut and set up for the App."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evosplit.charts import front_points, label_shares, objective_titles, total_shares

from evosplit import ParetoFront, SplitReport, plots

__all__ = ["front_figure", "hidden_objectives", "label_figure", "shown_labels"]

LABELS_AT_FIRST = 24
LABELS_AT_MOST = 1000
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "responsive": True}  # the wheel scrolls the panel


def shown_labels(report: SplitReport, *, everything: bool) -> int:
    """Return how many labels the figure shows, the rarest first."""
    occurring = sum(1 for row in report.labels if row.total)
    return min(occurring, LABELS_AT_MOST if everything else LABELS_AT_FIRST)


def label_figure(report: SplitReport, *, everything: bool = False) -> dict[str, Any]:
    """Draw a bar for each label, rarest on top, cut into the subsets' shares; dashes mark the targets.

    All instances together, and samples without a label, come below them.
    """
    shown = max(shown_labels(report, everything=everything), 1)
    figure = plots.label_figure(label_shares(report, by="instances", limit=shown), total_shares(report))
    return {**figure, "config": _CONFIG}


def front_figure(front: ParetoFront, *, applied: int, selected: int) -> dict[str, Any]:
    """Draw the trade-offs: the one in use is a star, the selected one is ringed."""
    return {**plots.front_figure(front_points(front, applied), selected=selected), "config": _CONFIG}


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

"""The figures of a report: Plotly draws what the charts hold."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit.charts import FrontPoints, label_shares, pair_shares, total_shares
from evosplit.plots import front_figure

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report():
    """Give the report of a split with trade-offs and a dangerous name."""
    rng = np.random.default_rng(3)
    counts = (rng.random((200, 6)) < 0.3) * rng.integers(1, 4, (200, 6))
    labels = ["cat", "dog", HOSTILE, "x\x1b[31m", "a & b", "猫"]
    return evosplit.split(LabelCounts(counts, labels=labels), {"train": 0.7, "<i>val</i>": 0.3}, effort="fast").report()


def test_labels_are_drawn_as_counted(report):
    """A bar for each label and subset, as long as its share; dashes at the subsets' shares."""
    figure = report.plot_labels(by="instances")
    table = label_shares(report, by="instances")
    totals = total_shares(report)
    assert type(figure).__module__.startswith("plotly.graph_objs")
    assert [list(trace.x) for trace in figure.data] == (100 * np.concatenate([table.shares, totals.shares]).T).tolist()
    assert [text.partition(" (")[0] for text in figure.layout.yaxis.ticktext[-2:]] == ["all instances", "no label"]
    assert {shape.x0 for shape in figure.layout.shapes} == {100 * table.targets[0]}
    assert len(report.plot_labels(limit=2).data[0].x) == 2 + 2
    assert len(report.plot_labels(limit=None).data[0].x) == 6 + 2


def test_pairs_are_drawn_as_counted(report):
    """A point for each pair and subset: how far its share is off, in percent."""
    figure = report.plot_pairs(limit=5)
    table = pair_shares(report, limit=5)
    expected = 100 * (table.shares / table.targets - 1)
    for j, trace in enumerate(figure.data):
        assert list(trace.x) == pytest.approx(expected[:, j].tolist())
    assert f"{table.counts[0, 1]} of {table.totals[0]} samples" in figure.data[1].hovertext[0]


def test_front_is_drawn_with_the_choice(report):
    """Every trade-off is a point, the chosen one a star, with all objectives in its text."""
    (trace,) = report.plot_front().data
    assert list(trace.x) == report.front.values[:, 0].tolist()
    assert list(trace.marker.symbol).count("star") == 1
    assert trace.marker.symbol[report.front.chosen] == "star"
    assert trace.hovertext[report.front.chosen].endswith("<br>chosen")
    assert all(title in trace.hovertext[0] for title in report.front.titles)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_objective_of_the_front_is_drawn(n):
    """The third objective is the colour, the fourth the size; fronts of fewer look as they did."""
    names = ("samples", "instances", "pairs", "strata")[:n]
    values = np.array([[1.0, 4.0, 2.0, 3.0], [2.0, 3.0, 1.0, 4.0], [3.0, 1.0, 4.0, 1.0]])[:, :n]
    marker = front_figure(FrontPoints(names, values, np.ones(n), 1))["data"][0]["marker"]
    assert ("colorbar" in marker) == (n > 2)
    if n > 2:
        assert marker["colorbar"]["title"]["text"] == "colour: LPD: label pairs"
    assert (marker["color"] == values[:, min(2, n - 1)].tolist()) == (n > 2)
    assert (marker["size"][0] != marker["size"][2]) == (n > 3)
    alone = front_figure(FrontPoints(names, values[:1], np.ones(n), 0))["data"][0]["marker"]
    assert "colorbar" not in alone


@pytest.mark.parametrize("plot", ["plot_labels", "plot_pairs", "plot_front"])
def test_names_are_text(report, plot):
    """No name reaches Plotly as markup or with control characters, and every figure can be written."""
    figure = getattr(report, plot)()
    text = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
    assert "<script" not in text
    assert "<i>" not in text
    assert "\\u001b" not in text
    if plot == "plot_labels":
        assert "&lt;script&gt;" in text
        assert "猫" in text


def test_no_front_to_plot():
    """A split that was made elsewhere says that it has no trade-offs."""
    counts = LabelCounts([[1], [1], [0], [0]])
    made = evosplit.Split(("a", "b"), np.array([0, 1, 0, 1]), counts.ids, (2, 2), counts=counts)
    with pytest.raises(EvoSplitError, match="no trade-offs to plot: it was replayed, or made elsewhere"):
        made.report().plot_front()


@pytest.mark.parametrize("plot", ["plot_labels", "plot_pairs", "plot_front"])
def test_without_plotly(report, plot, monkeypatch):
    """Without Plotly, the error names the line that installs it."""
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(EvoSplitError, match=r'pip install "evosplit-plugins\[report\]"'):
        getattr(report, plot)()

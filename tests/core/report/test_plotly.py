"""The figures of a report: Plotly draws what its tables hold."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from reports import report_as_placed

import evosplit
from evosplit import EvoSplitError, LabelCounts, ParetoFront
from evosplit.report.plotly import front_figure
from evosplit.report.tables import objective_titles

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report():
    """Give the report of a split with trade-offs and a dangerous name."""
    rng = np.random.default_rng(3)
    counts = (rng.random((200, 6)) < 0.3) * rng.integers(1, 4, (200, 6))
    labels = ["cat", "dog", HOSTILE, "x\x1b[31m", "a & b", "猫"]
    return evosplit.split(LabelCounts(counts, labels=labels), {"train": 0.7, "<i>val</i>": 0.3}, effort="fast").report()


@pytest.mark.parametrize("by", ["samples", "instances"])
def test_labels_are_drawn_as_counted(report, by):
    """A point for each label and subset: how far its share is off; bars show random splits, of samples only."""
    figure = report.plot_labels(by=by)
    parts = report.shares(report.occurring, by=by).parts
    assert type(figure).__module__.startswith("plotly.graph_objs")
    for j, trace in enumerate(figure.data[:2]):
        assert list(trace.x) == pytest.approx([100 * row[j].excess for row in parts])
    if by == "samples":
        off = [100 * row.random_deviation for row in report.occurring]
        assert list(figure.data[2].x) == pytest.approx([2 * width for width in off])
    assert len(figure.data) == (3 if by == "samples" else 2)
    assert [round(height) for height in figure.data[1].y] == list(range(6))
    assert len(report.plot_labels(by=by, limit=2).data[0].x) == 2
    assert len(report.plot_labels(by=by, limit=None).data[0].x) == 6


def test_pairs_are_drawn_as_counted(report):
    """A point for each pair and subset, the worst pairs first; what is beyond the edge points there."""
    figure = report.plot_pairs(limit=5)
    parts = report.shares(report.pairs[:5]).parts
    for j, trace in enumerate(figure.data[:2]):
        drawn = [100 * min(row[j].excess, 1.5) if row[j].count else None for row in parts]
        assert list(trace.x) == pytest.approx(drawn)
    assert f"{parts[0][1].count} of {report.pairs[0].total} samples" in figure.data[1].hovertext[0]


def test_what_a_subset_lacks_is_crossed_out():
    """A label that is not in a subset is a cross; one far beyond its share stands at the edge."""
    far, lacks, cross, _ = report_as_placed([[1], [0], [0], [0]], [0, 1, 1, 1]).plot_labels().data
    assert (far.x, lacks.x) == ((150,), (None,))
    assert (cross.x, cross.y, cross.marker.symbol) == ((-100,), lacks.y, "x")
    assert cross.hovertext == ("0 in b: none of 1 samples",)


def test_ticks(report):
    """Where something reaches an edge the ticks say so; where all is close to its share, Plotly chooses finer ones."""
    far = report_as_placed([[1], [0], [0], [0]], [0, 1, 1, 1]).plot_labels().layout.xaxis
    assert far.ticktext[-1] == "≥ 150 %"
    near = report.plot_labels(by="instances")
    assert max(abs(x) for trace in near.data for x in trace.x) <= 50
    assert near.layout.xaxis.tickvals is None
    assert near.layout.xaxis.ticksuffix == " %"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "pixels"}, "by='pixels' is not known; choose 'samples' or 'instances'"),
        ({"limit": 0}, "limit=0 shows nothing; give at least 1, or None for all"),
    ],
)
def test_wrong_options(report, options, message):
    """What cannot be shown is refused."""
    with pytest.raises(EvoSplitError, match=message):
        report.plot_labels(**options)


def test_front_is_drawn_with_the_choice(report):
    """Every trade-off is a point, the chosen one a star, with all objectives in its text."""
    (trace,) = report.plot_front().data
    assert list(trace.x) == report.front.objectives[:, 0].tolist()
    assert list(trace.marker.symbol).count("star") == 1
    assert trace.marker.symbol[report.chosen] == "star"
    assert trace.hovertext[report.chosen].endswith("<br>chosen")
    assert all(title in trace.hovertext[0] for title in objective_titles(report.front.objective_names))


def front(names, values):
    """Give a front of these values."""
    return ParetoFront(values, names, np.zeros((len(values), 1), dtype=int), np.ones(len(names)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_objective_of_the_front_is_drawn(n):
    """The third objective is the colour, the fourth the size; fronts of fewer look as they did."""
    names = ("samples", "instances", "pairs", "strata")[:n]
    values = np.array([[1.0, 4.0, 2.0, 3.0], [2.0, 3.0, 1.0, 4.0], [3.0, 1.0, 4.0, 1.0]])[:, :n]
    marker = front_figure(front(names, values), 1)["data"][0]["marker"]
    assert ("colorbar" in marker) == (n > 2)
    if n > 2:
        assert marker["colorbar"]["title"]["text"] == "colour: LPD: label pairs"
    assert (marker["color"] == values[:, min(2, n - 1)].tolist()) == (n > 2)
    assert (marker["size"][0] != marker["size"][2]) == (n > 3)
    alone = front_figure(front(names, values[:1]), 0)["data"][0]["marker"]
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
    report = report_as_placed([[1], [1], [0], [0]], [0, 1, 0, 1])
    with pytest.raises(EvoSplitError, match="no trade-offs to plot: it was replayed, or made elsewhere"):
        report.plot_front()


@pytest.mark.parametrize("plot", ["plot_labels", "plot_pairs", "plot_front"])
def test_without_plotly(report, plot, monkeypatch):
    """Without Plotly, the error names the line that installs it."""
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(EvoSplitError, match=r'pip install "evosplit-plugins\[report\]"'):
        getattr(report, plot)()

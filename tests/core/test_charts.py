"""The numbers behind the charts: shares, deviations, what is misplaced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit.charts import (
    deviations,
    front_points,
    label_scatter,
    label_shares,
    misplaced,
    number,
    objective_titles,
    pair_shares,
)


@st.composite
def share_tables(draw):
    """Draw subset sizes and counts that fit into them."""
    sizes = draw(st.lists(st.integers(0, 12), min_size=1, max_size=4).filter(sum))
    rows = draw(st.lists(st.tuples(*(st.integers(0, size) for size in sizes)), min_size=1, max_size=4))
    return np.array(rows), np.array(sizes)


def allocations(total, k):
    """Give every way to put a total into k subsets."""
    if k == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in allocations(total - first, k - 1):
            yield (first, *rest)


@given(share_tables())
def test_deviation_is_the_worst_relative_difference(table):
    """A row is off by the largest relative difference between its share and the subset's."""
    counts, sizes = table
    for row, found in zip(counts, deviations(counts, sizes), strict=True):
        expected = 0.0
        for n, size in zip(row, sizes, strict=True):
            if size and row.sum():
                target = size / sizes.sum()
                expected = max(expected, abs(n / row.sum() - target) / target)
        assert found == pytest.approx(expected)


def nearest(total, sizes, least=0):
    """Give the ways to put a total into subsets, at least so many into each, that are closest to the shares."""
    whole = sum(sizes)
    far = {
        chosen: sum(abs(n * whole - total * size) for n, size in zip(chosen, sizes, strict=True))
        for chosen in allocations(total, len(sizes))
        if all(min(least, size) <= n for n, size in zip(chosen, sizes, strict=True))
    }
    return [chosen for chosen in far if far[chosen] == min(far.values())]


@given(
    st.lists(st.integers(1, 20), min_size=2, max_size=3),
    st.lists(st.integers(0, 4), min_size=3, max_size=3),
    st.integers(0, 2),
)
def test_misplaced_is_the_least_that_has_to_move(sizes, row, least):
    """So many have to move, and not fewer, until no other counts are closer to the shares, or to them and a minimum."""
    row = np.minimum(row[: len(sizes)], sizes)
    total = int(row.sum())
    fine = nearest(total, sizes)
    if total >= least * len(sizes):
        fine += nearest(total, sizes, least)
    expected = min(np.abs(row - other).sum() // 2 for other in fine)
    assert misplaced(row[None], np.array(sizes), least=least).tolist() == [expected]


def test_a_minimum_everywhere_is_not_misplaced():
    """Subsets may have their minimum where a label has enough for all, and others lack it then."""
    sizes = np.array([80, 10, 10])
    assert misplaced(np.array([[1, 1, 1], [2, 1, 0], [3, 0, 0], [0, 3, 0]]), sizes).tolist() == [2, 1, 0, 3]
    assert misplaced(np.array([[1, 1, 1], [2, 1, 0], [0, 3, 0]]), sizes, least=1).tolist() == [0, 1, 2]
    assert misplaced(np.array([[5, 2, 2], [1, 1, 0]]), sizes, least=2).tolist() == [0, 1]
    assert misplaced(np.array([[40, 30, 30]]), sizes, least=1).tolist() == [40]


def small_report():
    """Report on labels of which one repeats, one is rare and one never occurs."""
    lists = [["cat", "cat"], ["cat", "dog"], ["cat"], ["dog", "cat"], ["eel"], []] * 5
    counts = LabelCounts.from_lists(lists, labels=["cat", "dog", "eel", "fox"])
    return evosplit.split(counts, {"train": 20, "test": 10}, effort="fast").report()


def test_label_shares_are_those_of_the_report():
    """Labels that occur come rarest first, counted by samples or by instances."""
    report = small_report()
    by_images, by_instances = label_shares(report), label_shares(report, by="instances")
    assert by_images.names == ("eel", "dog", "cat")
    assert by_images.totals.tolist() == [5, 10, 20]
    assert by_instances.totals.tolist() == [5, 10, 25]
    assert by_images.shares.sum(axis=1).tolist() == pytest.approx([1, 1, 1])
    assert by_images.targets.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert by_images.deviation.tolist() == [row.deviation for row in report.labels if row.total]
    assert by_instances.deviation.tolist() == [row.instance_deviation for row in report.labels if row.total]
    assert len(label_shares(report, limit=2)) == 2


def test_pairs_are_counted():
    """The only pair of the data is listed with its samples in each subset."""
    report = small_report()
    table = pair_shares(report)
    assert table.names == ("cat + dog",)
    assert table.totals.tolist() == [10]
    assert (report.n_pairs, report.n_pairs_exact) == (1, int(report.pairs[0].misplaced == 0))


def test_scatter_holds_every_label_that_occurs():
    """Each label comes with its frequency, its deviation and that of random splits."""
    report = small_report()
    scatter = label_scatter(report)
    assert scatter.names == ("eel", "dog", "cat")
    assert scatter.totals.tolist() == [5, 10, 20]
    assert scatter.random.tolist() == [row.random_deviation for row in report.labels if row.total]
    assert (scatter.random > 0).any()


def test_front_points_are_the_front():
    """The points are the objectives of the front, with the chosen one marked and the objectives in words."""
    counts = np.random.default_rng(0).integers(0, 3, (60, 4))
    split = evosplit.split(counts, (0.5, 0.5), effort="fast")
    points = front_points(split.front, split.chosen)
    assert points.values.tolist() == split.front.objectives.tolist()
    assert points.chosen == split.chosen
    assert points.titles == objective_titles(split.front.objective_names)
    assert points.titles[0] == "LD: samples with a label"
    assert points.to_dict() == split.report().to_dict()["front"]


@pytest.mark.parametrize(
    "objectives", [("samples", "instances", "pairs"), ("samples", "pairs"), ("instances", "pairs")]
)
def test_titles_name_what_is_measured(objectives):
    """The measure that an objective is called after is the one that it is."""
    counts = np.random.default_rng(0).integers(0, 3, (60, 4))
    split = evosplit.split(counts, (0.5, 0.5), effort="fast", objectives=objectives)
    measured = {row.name: row.value for row in split.report().comparison()}
    for title, value in zip(objective_titles(objectives), split.front.objectives[split.chosen], strict=True):
        assert value == pytest.approx(measured[title.partition(":")[0]])


def test_an_empty_report_has_empty_charts():
    """Data without any label gives tables without rows."""
    counts = LabelCounts(np.zeros((4, 2), dtype=int))
    split = evosplit.Split(("a", "b"), np.array([0, 0, 1, 1]), counts.ids, (2, 2), counts=counts)
    report = split.report()
    assert len(label_shares(report)) == len(pair_shares(report)) == len(label_scatter(report).names) == 0
    assert deviations(np.zeros((2, 2), dtype=int), np.array([0, 0])).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "pixels"}, "by is 'pixels'; choose 'samples' or 'instances'"),
        ({"limit": 0}, "limit is 0; show at least 1, or None for all"),
    ],
)
def test_wrong_options(options, message):
    """What cannot be shown is refused."""
    with pytest.raises(EvoSplitError, match=message):
        label_shares(small_report(), **options)


def test_numbers_are_short():
    """Measures are written in few characters, whatever their size."""
    assert [number(value) for value in (0, 12, 0.25, 0.0123456, 1.234e-7)] == ["0", "12", "0.25", "0.01235", "1.23e-07"]

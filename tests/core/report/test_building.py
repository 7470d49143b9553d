"""The numbers of a report are those of the split, counted by hand, on odd data as well."""

from __future__ import annotations

import json

import numpy as np
import pytest
from reports import long_tailed, report_as_placed, report_on

import evosplit
from evosplit import EvoSplitError, LabelCounts


def test_numbers_are_the_measures():
    """The report holds the split's measures, its sizes and the counts of every label."""
    counts = long_tailed()
    split = evosplit.split(counts, (0.8, 0.1, 0.1), method="sois")
    report = split.report()
    assert report.measures == split.measures
    assert (report.names, report.sizes, report.target_sizes) == (split.names, split.sizes, split.target_sizes)
    assert len(report.labels) == counts.shape[1]
    for row in report.labels:
        label = int(row.label)
        for j, name in enumerate(split.names):
            inside = counts[split.indices(name), label]
            assert row.samples[j] == (inside > 0).sum()
            assert row.instances[j] == inside.sum()
            assert (name in row.missing) == (row.samples[j] == 0)


def test_labels_come_rarest_first():
    """Rows are ordered by the number of samples with the label; those that never occur are not among the occurring."""
    report = report_on(np.hstack([long_tailed(), np.zeros((400, 1), dtype=int)]))
    totals = [sum(row.samples) for row in report.labels]
    assert totals == sorted(totals)
    assert (len(report.labels), len(report.occurring)) == (9, 8)


def test_deviation_by_hand():
    """Three of four samples of a label in one half: 50 % more than its share."""
    (row,) = report_as_placed([[1], [1], [1], [0], [1], [0], [0], [0]], [0, 0, 0, 0, 1, 1, 1, 1]).labels
    assert row.samples == (3, 1)
    assert row.deviation == pytest.approx(0.5)


def test_subsets_hold_samples_instances_and_samples_without_a_label():
    """Each subset tells what it holds of all, as a number and as a share, beside the share that it should hold."""
    counts = np.array([[5], [1], [1], [1], [0], [0], [0], [0]] * 5)
    report = report_as_placed(counts, [0, 1, 1, 1, 0, 0, 0, 1] * 5)
    first = report.subsets[0]
    assert (first.samples.count, first.instances.count, first.unlabelled.count) == (20, 25, 15)
    assert (first.samples.share, first.instances.share, first.unlabelled.share) == (0.5, 0.625, 0.75)
    assert {first.samples.target, first.instances.target, first.unlabelled.target} == {0.5}
    assert first.instances.excess == 0.25
    assert report.n_unlabelled == 20
    data = report.to_dict()
    assert (data["instances"], data["unlabelled"]) == ({"a": 25, "b": 15}, {"a": 15, "b": 5})


def test_pairs_are_counted():
    """The only pair of the data is listed with its samples in each subset."""
    report = report_on(LabelCounts.from_lists([["cat"], ["cat", "dog"], ["cat", "dog"], []]), (0.5, 0.5))
    assert [row.labels for row in report.pairs] == [("cat", "dog")]
    assert report.pairs[0].total == 2
    assert (report.n_pairs, report.n_pairs_exact) == (1, int(report.pairs[0].misplaced == 0))


def test_labels_that_share_samples_are_not_held_against_the_split():
    """Where labels stand in each other's way, the report knows how many cells every split leaves empty."""
    counts = np.array(
        [[1, 1, 0], [1, 0, 1], [0, 1, 1]] * 2 + [[0, 0, 0]] * 6
    )  # one sample of a subset shows two labels
    report = report_on(counts, (10, 1, 1), effort="normal", method="evosplit", cover="all")
    assert (report.measures.flz, report.measures.flz_bound) == (2, 2)
    assert (report.n_missing, report.missing_bound) == (2, 2)
    assert report.to_dict()["bound"]["flz"] == 2


@pytest.mark.parametrize("counts", [np.ones((4, 1), dtype=int), np.eye(4, dtype=int), [[9], [0]]])
def test_tiny_data(counts):
    """Tiny data has a report without NaN."""
    report = report_on(counts, (0.5, 0.5))
    assert "nan" not in str(report) + json.dumps(report.to_dict(), allow_nan=False)


def test_an_empty_subset():
    """A split made elsewhere may have a subset without any sample."""
    report = report_as_placed(long_tailed(), np.where(np.arange(400) % 2, 0, 2), ("a", "b", "c"))
    assert report.sizes == (200, 0, 200)
    assert set(report.baselines.stratified) == {"sois", "is"}
    assert all(np.isfinite(list(found.values())).all() for found in report.baselines.stratified.values())
    assert "nan" not in str(report)


def test_a_split_without_counts():
    """A split that was read from a manifest says where its report can be made."""
    made = evosplit.Split(("a", "b"), np.array([0, 1]), np.arange(2), (1, 1))
    with pytest.raises(EvoSplitError, match="carries no label counts; make the report where the data is"):
        made.report()

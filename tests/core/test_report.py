"""The report: the same numbers as text and as data."""

from __future__ import annotations

import json

import numpy as np
import pytest

import evosplit
from evosplit import LabelCounts


def long_tailed(m=400, q=8):
    """Draw counts with a frequent and some rare labels."""
    rng = np.random.default_rng(0)
    return (rng.random((m, q)) < 0.7 / np.arange(1, q + 1) ** 2) * rng.integers(1, 3, (m, q))


def report_on(counts, ratios=(0.8, 0.1, 0.1), **options):
    """Split with a fast method and report."""
    return evosplit.split(counts, ratios, **{"method": "sois", **options}).report()


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
            assert row.images[j] == (inside > 0).sum()
            assert row.instances[j] == inside.sum()
            assert (name in row.missing) == (row.images[j] == 0)


def test_labels_come_rarest_first():
    """Rows are ordered by the number of samples with the label."""
    totals = [sum(row.images) for row in report_on(long_tailed()).labels]
    assert totals == sorted(totals)


def test_deviation_by_hand():
    """Three of four samples of a label in one half: 50 % more than its share."""
    counts = LabelCounts([[1], [1], [1], [0], [1], [0], [0], [0]])
    split = evosplit.Split(
        names=("a", "b"),
        assignment=np.array([0, 0, 0, 0, 1, 1, 1, 1]),
        sample_ids=counts.ids,
        target_sizes=(4, 4),
        counts=counts,
    )
    (row,) = split.report().labels
    assert row.images == (3, 1)
    assert row.deviation == pytest.approx(0.5)


def test_random_is_near_a_random_split():
    """The reference is the mean of random splits of the same sizes, the same each time."""
    counts = long_tailed()
    report = report_on(counts)
    found = [evosplit.split(counts, (0.8, 0.1, 0.1), method="random", seed=s).measures.ld for s in range(20)]
    assert min(found) <= report.random["ld"] <= max(found)
    assert report_on(counts).random == report.random
    assert report.measures.ld < report.random["ld"]


def test_json_is_complete():
    """The dictionary survives JSON and holds sizes, measures, floors, labels, front and settings."""
    report = report_on(long_tailed(), seed=np.int64(4))
    data = json.loads(json.dumps(report.to_dict()))
    assert data == report.to_dict()
    assert data["sizes"] == {"train": 320, "val": 40, "test": 40}
    assert data["floor"].keys() == {"ld", "lpd", "flz"}
    assert data["settings"]["method"] == "sois"
    assert data["front"]["objective_names"] == ["images", "instances", "pairs"]
    first = data["labels"][0]
    assert sum(first["images"].values()) == first["total_images"]
    assert sum(first["instances"].values()) == first["total_instances"]
    assert sum(first["share"].values()) == pytest.approx(1)


@pytest.mark.parametrize("k", [2, 3, 12])
def test_text_fits_a_terminal(k):
    """The text is at most 80 columns wide, whatever the names, and shows every subset and measure."""
    labels = [f"a label with a very long name {'x' * 60} {i}\n" for i in range(8)]
    counts = LabelCounts(long_tailed(), labels=labels)
    names = [f"subset {'y' * 70} {j}" for j in range(k)]
    text = str(report_on(counts, dict.fromkeys(names, 1 / k)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("subset yyy") >= k
    for name in ("LD,", "LD',", "LPD,", "ED,", "FLZ,", "random", "floor"):
        assert name in text


def test_summary_speaks_plainly():
    """The summary says whether sizes are exact, how far classes are off, and what is missing."""
    counts = np.zeros((60, 3), dtype=int)
    counts[:50, 0] = 1
    counts[::2, 1] = 1
    counts[:2, 2] = 1
    report = report_on(counts, (20, 20, 20))
    assert report.summary[0] == "3 subsets, exactly the sizes asked for."
    assert any("Every class with at least 30 images is within" in line for line in report.summary)
    assert any(line.startswith("1 class has fewer images than there are subsets") for line in report.summary)
    assert "Every subset has every class that it can have." in report.summary
    assert [row.label for row in report.missing_labels()] == ["2"]


def test_summary_of_a_bad_split():
    """Sizes that are off and cells that could be filled are said."""
    counts = LabelCounts([[1], [1], [0], [0]])
    split = evosplit.Split(
        names=("a", "b"),
        assignment=np.array([0, 0, 0, 1]),
        sample_ids=counts.ids,
        target_sizes=(2, 2),
        notes=("something was different.",),
        counts=counts,
    )
    summary = split.report().summary
    assert summary[0] == "2 subsets, sizes off by 1 on average."
    assert "1 class-subset combination is empty that could be filled." in summary
    assert summary[-1] == "something was different."
    assert split.report().to_dict()["front"] is None


def test_many_missing_labels_are_cut():
    """Of many missing labels the most frequent are shown, and how many more there are."""
    text = str(report_on(np.eye(30, 20, dtype=int), (10, 10, 10)))
    assert "... and 12 more" in text


@pytest.mark.parametrize("counts", [np.ones((4, 1), dtype=int), np.eye(4, dtype=int), [[9], [0]]])
def test_tiny_data(counts):
    """Tiny data has a report without NaN."""
    report = report_on(counts, (0.5, 0.5))
    assert "nan" not in str(report) + json.dumps(report.to_dict(), allow_nan=False)


def test_page_is_self_contained_and_escapes_names(tmp_path):
    """The page loads nothing, and a label or subset called like a script shows as text."""
    hostile = "<script>alert(1)</script>"
    counts = LabelCounts([[1, 0], [1, 1], [0, 1], [0, 0]], labels=[hostile, "dog"])
    made = evosplit.split(counts, {"<b>train</b>": 0.5, "test": 0.5}, method="random")
    page = tmp_path / "report.html"
    made.report().save_html(page)
    text = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "&lt;b&gt;train&lt;/b&gt;" in text
    assert "<script" not in text
    assert "<b>" not in text
    assert "http" not in text

"""What a report says in words; each sentence is true of the numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from reports import constrained, report_as_placed, report_on

import evosplit
from evosplit import LabelCounts
from evosplit.report.sentences import highlights_of
from evosplit.wording import Nouns


def test_summary_speaks_plainly():
    """The summary says whether sizes are exact, how far labels are off, and what is missing."""
    counts = np.zeros((60, 3), dtype=int)
    counts[:50, 0] = 1
    counts[::2, 1] = 1
    counts[:2, 2] = 1
    report = report_on(counts, (20, 20, 20))
    words = "\n".join(report.summary)
    assert report.summary[0] == "60 samples in 3 subsets of exactly the sizes asked for."
    assert re.search(
        r"Every label with at least 30 samples is within \d+\.\d % of its share \(furthest: [01]\)\.", words
    )
    assert "1 label has fewer than 3 samples, too few for every subset: 2." in words
    assert "In 1 case a subset lacks a label; no split of these sizes has fewer." in words
    assert (
        "Taken one by one, all labels are as close to their shares as whole samples, and at least 1 in every subset, "
        "allow." in words
    )
    assert re.search(r"Labels are .* in the average random split \(LD; single random splits vary by ± \d+ %\)\.", words)


def test_summary_of_a_bad_split():
    """Sizes that are off and cells that could be filled are said; notes come last."""
    notes = ("something was different.",)
    report = report_as_placed([[1], [1], [0], [0]], [0, 0, 0, 1], target_sizes=(2, 2), notes=notes)
    assert report.summary[0] == "4 samples in 2 subsets, whose sizes are off by 1 on average."
    assert "In 1 case a subset lacks a label; the lower bound is 0." in report.summary
    assert report.summary[-1] == "something was different."


def test_every_label_everywhere():
    """Where nothing is missing, rare or off, the summary is short and says so."""
    assert report_on(np.tile([[1, 0], [1, 1]], (40, 1)), (0.5, 0.5)).summary == (
        "80 samples in 2 subsets of exactly the sizes asked for.",
        "Each subset's share of all instances is exactly its share of all samples.",
        "Every label is within 0.0 % of its share (furthest: 1).",
        "Taken one by one, all labels are as close to their shares as whole samples, and at least 1 in every subset, "
        "allow.",
        "Every label is in every subset.",
        "Labels have exactly their shares in every subset.",
        "Label pairs have exactly their shares in every subset.",
    )


def test_totals_are_told():
    """All instances, and the samples without a label, are told apart from the labels."""
    counts = np.array([[5], [1], [1], [1], [0], [0], [0], [0]] * 5)
    summary = report_as_placed(counts, [0, 1, 1, 1, 0, 0, 0, 1] * 5).summary
    assert "Each subset's share of all instances is within 25.0 % of its share of all samples." in summary
    assert "Each subset's share of the samples without a label is within 50.0 % of its share of all samples." in summary


def test_without_labels_nothing_is_said_of_their_totals():
    """A split by strata alone has neither instances nor samples without a label to tell of."""
    made = evosplit.split(LabelCounts(np.zeros((60, 1), dtype=int)), (40, 20), strata={"light": ["day", "night"] * 30})
    assert not any("Each subset's share" in line for line in made.report().summary)


def test_a_minimum_is_told_as_it_was_lowered():
    """No subset of ten samples could hold a thousand of each label, so no sentence says that it was to."""
    report = report_on(np.tile(np.eye(5, dtype=int), (40, 1)), (180, 20), method="evosplit", min_per_label=1000)
    assert report.least == 4
    assert "at least 4 in every subset" in " ".join(report.summary)
    assert report.effects.min_per_label == 1000


def test_labels_that_never_occur():
    """Labels without any sample are named, and are not missing anywhere."""
    counts = LabelCounts(np.tile([[1, 0, 0], [1, 0, 1]], (40, 1)), labels=["cat", "unicorn", "dog"])
    summary = report_on(counts, (0.5, 0.5)).summary
    assert "Every label is in every subset." in summary
    assert "1 label occurs in no sample: unicorn." in summary


def test_no_better_than_random_is_said():
    """A split that is worse than chance, or as chance has it, is told so, in the summary and in the highlights."""
    report = report_as_placed(np.repeat([[1], [0]], 50, axis=0), np.repeat([0, 1], 50))
    assert re.search(r"Labels are \d+ times further from their shares than in", "\n".join(report.summary))
    random = report.baselines.random | {"ld": 1.04 * report.measures.ld}
    alike = replace(report, baselines=replace(report.baselines, random=random))
    assert "Labels are as close to their shares as in the average random split" in "\n".join(alike.summary)
    assert [each.value for each in highlights_of(alike)][1] == "as close"


def test_one_of_several_labels():
    """Of several labels one is, two are."""
    counts = np.array([[1, 0]] * 4 + [[0, 1]] * 4 + [[0, 0]] * 2)
    one = report_as_placed(counts, [0, 0, 0, 1, 0, 0, 1, 1, 1, 1]).summary
    assert any(line.startswith("Taken one by one, 1 of 2 labels is as close") for line in one)
    none = report_as_placed(counts, [0, 0, 0, 1, 0, 1, 1, 1, 0, 1]).summary
    assert any(line.startswith("Taken one by one, 0 of 2 labels are as close") for line in none)


def test_constraints_are_told():
    """Groups, locks, strata and minima are said to be kept, or not."""
    split = constrained(groups=np.arange(90) // 3, locked={"test": [0, 1, 2]})
    summary = split.report().summary
    assert "Groups: 30, all of them whole; the largest, 0, has 3 samples." in summary
    assert "Locked samples: 3, all of them in their subsets." in summary
    assert "Locked samples: 3, 3 of them elsewhere." in replace(split, placement=1 - split.assignment).report().summary
    torn = replace(split, placement=np.arange(90) % 2).report().summary
    assert any("Groups: 30, 30 of them torn apart" in line for line in torn)
    summary = constrained(strata={"light": ["day", "night", "dusk"] * 30}, min_per_label=4).report().summary
    assert any(line.startswith("Every category of light is within") for line in summary)
    assert any("fewer than 4 samples in some subset" in line for line in summary)
    assert any("and at least 4 in every subset" in line for line in summary)


def test_what_groups_can_reach():
    """A label whose samples are all in one group cannot be in two subsets, and that is not held against the split."""
    counts = np.zeros((40, 2), dtype=int)
    counts[:4, 0] = 1
    counts[::2, 1] = 1
    groups = np.concatenate([np.zeros(4, dtype=int), np.arange(1, 37)])
    report = evosplit.split(counts, {"train": 20, "test": 20}, effort="fast", groups=groups).report()
    assert [row.label for row in report.missing_labels()] == ["0"]
    fewest = "no split of these sizes has fewer, groups and locks considered"
    assert f"In 1 case a subset lacks a label; {fewest}." in report.summary
    assert list(highlights_of(report))[-1].meaning == f"times in a subset; {fewest}"


def test_size_errors_that_groups_force():
    """Sizes that groups do not allow are said to be as near as is possible."""
    split = evosplit.split(np.ones((12, 1), dtype=int), {"a": 6, "b": 6}, effort="fast", groups=np.arange(12) // 4)
    assert split.report().summary[0] == (
        "12 samples in 2 subsets, whose sizes are off by 2 on average, the least that groups and locks allow."
    )


def test_adapters_hand_over_their_nouns():
    """Where samples are images and labels classes, sentences and tables say so."""
    nouns = Nouns(sample="image", samples="images", label="class", labels="classes")
    split = constrained(groups=np.arange(90) // 3, locked={"test": [0, 1, 2]}, min_per_label=3)
    report = replace(split, counts=LabelCounts(np.hstack([split.counts.matrix.toarray(), np.zeros((90, 1), int)])))
    told = f"{report.report(nouns)}"
    assert "90 images in 2 subsets" in told
    assert re.search(r"class(es)? occurs? in no image: .*8\.", told)
    assert re.search("sample|labels? [^p]", told) is None


def test_highlights():
    """What is seen first: sizes, labels and pairs beside random splits, and what is missing, each with its mood."""
    good = list(highlights_of(report_on(np.tile([[1, 0], [1, 1]], (40, 1)), (0.5, 0.5))))
    assert [(each.title, each.value, each.mood) for each in good] == [
        ("Sizes", "exact", "good"),
        ("Labels", "perfect", "good"),
        ("Label pairs", "perfect", "good"),
        ("A label is missing", "0", "good"),
    ]
    bad = list(highlights_of(report_as_placed([[1], [1], [0], [0]], [0, 0, 0, 1], target_sizes=(2, 2))))
    assert [(each.title, each.value, each.mood) for each in bad] == [
        ("Sizes", "± 1", "bad"),
        ("Labels", bad[1].value, "bad"),
        ("A label is missing", "1", ""),
    ]
    assert bad[-1].meaning == "times in a subset; the lower bound is 0"


def test_cover_says_what_it_costs():
    """Labels that a small subset has beyond its share are counted, with LD as it is and about as it would be."""
    counts = np.hstack((np.tile(np.eye(6, dtype=int), (5, 1)), np.ones((30, 1), dtype=int)))
    counts = np.vstack((counts, np.eye(270, 7, k=-300, dtype=int)))
    made = evosplit.split(counts, (290, 10), cover="all", effort="fast")
    report = made.report()
    assert report.cover.labels == 6
    (sentence,) = [line for line in report.summary if "LD would be about" in line]
    assert sentence.startswith(
        "Because every subset is to have at least 1 of each label, 6 labels are further from their shares in some "
        "subset than whole samples require; without that,"
    )
    assert report.to_dict()["cover"]["ld_without"] < report.measures.ld
    without = evosplit.split(counts, (290, 10), cover=False, effort="fast").report()
    assert without.cover is None
    assert not any("LD would be about" in line for line in without.summary)

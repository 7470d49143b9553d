"""The report: the same numbers as text and as data."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit.charts import total_shares
from evosplit.terminal import clean, clip, columns, wrap


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
            assert row.samples[j] == (inside > 0).sum()
            assert row.instances[j] == inside.sum()
            assert (name in row.missing) == (row.samples[j] == 0)


def test_labels_come_rarest_first():
    """Rows are ordered by the number of samples with the label."""
    totals = [sum(row.samples) for row in report_on(long_tailed()).labels]
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
    assert row.samples == (3, 1)
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
    """The dictionary survives JSON and holds sizes, measures, bounds, labels, front and settings."""
    report = report_on(long_tailed(), seed=np.int64(4))
    data = json.loads(json.dumps(report.to_dict()))
    assert data == report.to_dict()
    assert data["sizes"] == {"train": 320, "val": 40, "test": 40}
    assert data["bound"].keys() == {"ld", "lpd", "flz", "ed"}
    assert data["settings"]["method"] == "sois"
    assert data["front"]["objective_names"] == ["samples", "instances", "pairs"]
    first = data["labels"][0]
    assert sum(first["samples"].values()) == first["total_samples"]
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
    for name in ("LD,", "LD',", "LPD,", "ED,", "FLZ,", "random", "bound"):
        assert name in text


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
    assert "1 time a label is missing in a subset; no split of these sizes has fewer." in words
    assert "Labels as close to their shares as whole samples allow, each on its own: all 3." in words
    assert re.search(
        r"Compared with the average random split \(single ones scatter by \d+ % in labels and \d+ % in label pairs\), "
        "labels are .* their shares and label pairs are .*",
        words,
    )
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
    assert summary[0] == "4 samples in 2 subsets, whose sizes are off by 1 on average."
    assert "1 time a label is missing in a subset; no split of these sizes has fewer than 0." in summary
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


def test_every_label_everywhere():
    """Where nothing is missing, rare or off, the summary is short and says so."""
    report = report_on(np.tile([[1, 0], [1, 1]], (40, 1)), (0.5, 0.5))
    scatter = round(100 * report.random_spread["ld"] / report.random["ld"])  # the second label is the pair
    assert report.summary == (
        "80 samples in 2 subsets of exactly the sizes asked for.",
        "Instances of all labels together are within 0.0 % of their share.",
        "Every label is within 0.0 % of its share (furthest: 1).",
        "Labels as close to their shares as whole samples allow, each on its own: all 2.",
        "Every label is in every subset.",
        f"Compared with the average random split (single ones scatter by {scatter} % in labels and {scatter} % in "
        "label pairs), labels have exactly their shares and label pairs have exactly their shares.",
    )


def test_labels_that_never_occur():
    """Labels without any sample are named, and are not missing anywhere."""
    counts = LabelCounts(np.tile([[1, 0, 0], [1, 0, 1]], (40, 1)), labels=["cat", "unicorn", "dog"])
    summary = report_on(counts, (0.5, 0.5)).summary
    assert "Every label is in every subset." in summary
    assert "1 label occurs nowhere: unicorn." in summary


def test_worse_than_random_is_said():
    """A split that is worse than chance is told so."""
    counts = LabelCounts(np.repeat([[1, 1], [0, 0]], 50, axis=0))
    halves = np.repeat([0, 1], 50)
    split = evosplit.Split(("a", "b"), halves, counts.ids, (50, 50), counts=counts)
    assert re.search(r"labels are \d+ times further from their shares", "\n".join(split.report().summary))


def test_labels_that_share_samples_are_not_held_against_the_split():
    """Where labels stand in each other's way, the report knows how many cells every split leaves empty."""
    counts = np.array(
        [[1, 1, 0], [1, 0, 1], [0, 1, 1]] * 2 + [[0, 0, 0]] * 6
    )  # one sample of a subset shows two labels
    report = report_on(counts, (10, 1, 1), effort="normal", method="evosplit")
    assert (report.measures.flz, report.measures.flz_bound, report.flz_bound) == (2, 0, 2)
    assert report.to_dict()["bound"]["flz"] == 2
    assert "2 times a label is missing in a subset; no split of these sizes has fewer." in report.summary


def test_instances_and_samples_without_a_label():
    """Text, data and plots say what each subset holds of all instances and of the samples without a label."""
    counts = np.array([[5], [1], [1], [1], [0], [0], [0], [0]] * 5)
    split = evosplit.Split(("a", "b"), np.repeat([0, 1], 20), np.arange(40), (20, 20), counts=LabelCounts(counts))
    split = replace(split, assignment=np.array([0, 1, 1, 1, 0, 0, 0, 1] * 5))
    report = split.report()
    assert (report.instances, report.unlabelled, report.n_unlabelled) == ((25, 15), (15, 5), 20)
    data = report.to_dict()
    assert (data["instances"], data["unlabelled"]) == ({"a": 25, "b": 15}, {"a": 15, "b": 5})
    assert re.search(r"^a +20 +20 +50\.00% +25 +62\.50% +15 +75\.00%$", str(report), flags=re.MULTILINE)
    assert "Instances of all labels together are within 25.0 % of their share." in report.summary
    assert "Samples without a label are within 50.0 % of their share." in report.summary
    totals = total_shares(report)
    assert (totals.names, totals.counts.tolist()) == (("all instances", "no label"), [[25, 15], [15, 5]])
    assert "no label" not in str(report_on(np.ones((9, 1), dtype=int)))


def test_an_empty_subset():
    """A split made elsewhere may have a subset without any sample."""
    counts = LabelCounts(long_tailed())
    assignment = np.zeros(400, dtype=int)
    assignment[::2] = 2
    split = evosplit.Split(("a", "b", "c"), assignment, counts.ids, (200, 0, 200), counts=counts)
    report = split.report()
    assert report.sizes == (200, 0, 200)
    assert set(report.stratified) == {"sois", "is"}
    assert all(np.isfinite(list(found.values())).all() for found in report.stratified.values())
    assert "nan" not in str(report)


# --- what constraints did


def constrained(**options):
    """Split a small set with constraints."""
    return evosplit.split(LabelCounts(long_tailed(m=90)), {"train": 60, "test": 30}, effort="fast", **options)


def test_groups_and_locks_are_reported():
    """The report counts groups and locked samples in each subset, checked on the split itself."""
    groups = [None if i < 10 else f"clip {i // 8}" for i in range(90)]
    split = constrained(groups=groups, locked={"test": [0, 1, 2]})
    report = split.report()
    effects = report.effects
    assert effects.groups.n_groups == len({group for group in groups if group})
    assert sum(effects.groups.per_subset) == effects.groups.n_groups
    assert (effects.groups.torn, effects.moved, effects.locked) == (0, 0, (0, 3))
    assert effects.groups.largest_size == 8
    assert re.search("Groups: 11, all of them whole; the largest, clip [0-9]+, has 8 samples.", str(report))
    assert "Locked samples: 3, all of them in their subsets." in report.summary
    assert report.stratified == {}
    data = json.loads(json.dumps(report.to_dict()))["constraints"]
    assert data["groups"]["per_subset"].keys() == {"train", "test"}


def test_torn_groups_are_told():
    """A split made elsewhere that tears groups or moves locked samples apart is told so."""
    split = constrained(groups=np.arange(90) // 3, locked={"test": [0, 1, 2]})
    elsewhere = replace(split, assignment=1 - split.assignment)
    assert "Locked samples: 3, 3 of them elsewhere." in elsewhere.report().summary
    torn = replace(split, assignment=np.arange(90) % 2)
    assert any("Groups: 30, 30 of them torn apart" in line for line in torn.report().summary)


def test_what_groups_can_reach():
    """A label whose samples are all in one group cannot be in two subsets, and that is not held against the split."""
    counts = np.zeros((40, 2), dtype=int)
    counts[:4, 0] = 1
    counts[::2, 1] = 1
    groups = np.concatenate([np.zeros(4, dtype=int), np.arange(1, 37)])
    split = evosplit.split(counts, {"train": 20, "test": 20}, effort="fast", groups=groups)
    report = split.report()
    assert [row.label for row in report.missing_labels()] == ["0"]
    assert any(
        line.endswith("no split of these sizes has fewer, groups and locks considered.") for line in report.summary
    )
    assert report.to_dict()["bound"]["flz"] == 1


def test_size_errors_that_groups_force():
    """Sizes that groups do not allow are off by the least that is possible, and the report says that."""
    split = evosplit.split(np.ones((12, 1), dtype=int), {"a": 6, "b": 6}, effort="fast", groups=np.arange(12) // 4)
    report = split.report()
    assert report.summary[0] == (
        "12 samples in 2 subsets, whose sizes are off by 2 on average, the least that groups and locks allow."
    )
    assert report.to_dict()["bound"]["ed"] == 2


def test_strata_and_minima_are_reported():
    """Strata are counted by category, labels below the minimum are named, weights are kept."""
    split = constrained(strata={"light": ["day", "night", "dusk"] * 30}, min_per_label=4, label_weights={"3": 2.5})
    report = split.report()
    ((name, table),) = report.effects.strata
    assert (name, table.names) == ("light", ("day", "dusk", "night"))
    assert table.counts.sum(axis=0).tolist() == [60, 30]
    below = {row.label: min(row.samples) for row in report.labels if row.total and min(row.samples) < 4}
    assert below
    assert report.effects.below_minimum == below
    assert any(line.startswith("Every category of light is within") for line in report.summary)
    assert any("fewer than 4 samples in some subset" in line for line in report.summary)
    assert report.effects.label_weights == {"3": 2.5}
    kept = constrained(min_per_label=2, objectives=("samples",)).report()
    assert kept.effects.min_per_label == 2


# --- names are data


def test_hostile_names_in_a_terminal():
    """Control characters, escapes and line breaks in names are shown as question marks, and change no column."""
    labels = ["\x1b[31mred", "a\nb", "\u202eright", "[bold]rich[/bold]", "\x07bell", "\x9b0m", "tab\t", "nul\0"]
    counts = LabelCounts(long_tailed(), labels=labels)
    text = str(report_on(counts, {"train\x1b[0m": 0.5, "te\nst": 0.5}))
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "?[31mred" in text
    assert "[bold]rich[/bold]" in text
    assert "train?[0m" in text


def test_wide_names_fit():
    """Characters that take two columns are counted as two."""
    labels = ["猫" * 40 + str(i) for i in range(8)]
    text = str(report_on(LabelCounts(long_tailed(), labels=labels), {"訓練" * 20: 0.5, "test": 0.5}))
    assert max(map(columns, text.splitlines())) <= 80


def test_wrapping_keeps_the_words():
    """Lines are broken at spaces, long words within, and nothing is lost."""
    text = "short words and averyveryverylongword " * 5
    lines = wrap(text, 12)
    assert max(map(columns, lines)) <= 12
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrap("", 10) == []
    assert clip(clean("e\u0301" * 9), 9) == "e\u0301" * 9


def test_short_representation():
    """In a session, a report of a thousand labels shows as one line."""
    assert repr(report_on(long_tailed(), (0.5, 0.5))) == "SplitReport(train: 200, test: 200; 8 labels)"


# --- the page


def page_of(tmp_path, report):
    """Write the page and read it."""
    report.save_html(tmp_path / "report.html")
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_page_is_self_contained_and_escapes_names(tmp_path):
    """The page names no address, runs one script of known content, and holds names as text only."""
    hostile = "</script><script>alert(1)</script>"
    counts = LabelCounts([[1, 0], [1, 1], [0, 1], [0, 0]], labels=[hostile, "dog"])
    text = page_of(tmp_path, evosplit.split(counts, {"<b>train</b>": 0.5, "test": 0.5}, method="random").report())
    assert "&lt;b&gt;train&lt;/b&gt;" in text
    assert "<b>" not in text
    assert set(re.findall(r"https?:[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, flags=re.DOTALL)
    assert [attributes for attributes, _ in scripts] == [' type="application/json" id="data"', ""]
    digest = base64.b64encode(hashlib.sha256(scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert json.loads(scripts[0][1])["tables"]["labels"]["names"] == ["</script><script>alert(1)</script>", "dog"]


def test_page_holds_the_numbers_of_the_report(tmp_path):
    """Tables and charts of the page are the report's numbers."""
    split = evosplit.split(LabelCounts(long_tailed()), (0.8, 0.1, 0.1), effort="fast")
    report = split.report()
    text = page_of(tmp_path, report)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.DOTALL).group(1))
    labels = data["tables"]["labels"]
    assert labels["views"][0]["counts"] == [list(row.samples) for row in report.labels]
    assert labels["views"][1]["counts"] == [list(row.instances) for row in report.labels]
    assert data["scatter"]["off"] == pytest.approx([row.deviation for row in report.labels], rel=1e-4)
    assert data["tables"]["pairs"]["views"][0]["counts"] == [list(row.samples) for row in report.pairs]
    assert data["front"]["chosen"] == split.chosen
    for line in report.summary:
        assert f"<li>{html.escape(line)}</li>" in text


def test_page_gives_the_call_that_repeats_the_split(tmp_path):
    """The call in the page, run on the same data, gives the same split."""
    counts = LabelCounts(long_tailed())
    made = evosplit.split(counts, {"a": 0.5, "it's": 0.5}, effort="fast", seed=7, pick=0, label_weights={"2": 3})
    text = page_of(tmp_path, made.report())
    call = html.unescape(re.search(r"<pre>(.*?)</pre>", text, flags=re.DOTALL).group(1))
    again = eval(call, {"evosplit": evosplit, "counts": counts})
    assert again.assignment.tolist() == made.assignment.tolist()
    unseeded = evosplit.split(counts, (0.5, 0.5), method="random", seed=None).report()
    assert "repeated from its manifest only" in page_of(tmp_path, unseeded)


@pytest.mark.parametrize("name", ["\ud800", "\x00", "a" * 5000, "\u202eabc", ""])
def test_page_of_strange_names(tmp_path, name):
    """Whatever a name is, the page is written and is UTF-8."""
    counts = LabelCounts([[1, 0], [1, 1], [0, 1], [0, 0]], labels=[name, "dog"])
    assert page_of(tmp_path, report_on(counts, (0.5, 0.5))).endswith("</html>\n")


def test_page_where_nothing_is(tmp_path):
    """A directory that does not exist is named, and nothing is left behind."""
    with pytest.raises(EvoSplitError, match=r"cannot write the report .*missing.*No such file"):
        report_on(long_tailed()).save_html(tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []

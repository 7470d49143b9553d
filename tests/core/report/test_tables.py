"""The tables that every renderer shows, and their plain text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from reports import constrained, long_tailed, report_as_placed, report_on

import evosplit
from evosplit import LabelCounts
from evosplit.report.tables import (
    Column,
    Table,
    front_table,
    label_table,
    measure_table,
    missing_table,
    number,
    objective_titles,
    overview,
    pair_table,
    percent,
    strata_table,
    subset_table,
)
from evosplit.report.terminal import clean, clip, columns, wrap
from evosplit.report.text import table_lines


def test_labels_are_those_of_the_report():
    """All labels that occur come rarest first, with their parts; of too many, the worst."""
    report = report_on(long_tailed())
    table = label_table(report)
    assert [row[:5] for row in table.rows] == [
        (row.label, row.total, row.deviation, row.random_deviation, row.misplaced) for row in report.labels
    ]
    for row, found in zip(report.labels, table.rows, strict=True):
        assert tuple(part.count for part in found[5:]) == row.samples
        assert sum(part.share for part in found[5:]) == pytest.approx(1)
        assert max(abs(part.excess) for part in found[5:]) == pytest.approx(row.deviation)
    by_instances = label_table(report, by="instances")
    assert [row[1:3] for row in by_instances.rows] == [
        (sum(row.instances), row.instance_deviation) for row in report.labels
    ]
    few = label_table(report, limit=3)
    assert few.title == "The 3 of 8 labels furthest from their share"
    assert [row[0] for row in few.rows] == [row.label for row in report.worst_labels(3)]


def test_subsets_show_what_there_is():
    """The sizes asked for, samples without a label, groups and locks have columns only where there is something."""
    whole = subset_table(report_on(np.ones((9, 1), dtype=int)))
    assert [column.heading for column in whole.columns] == ["subset", "samples", "instances"]
    split = constrained(groups=np.arange(90) // 8, locked={"test": [0, 1, 2]})
    headings = [column.heading for column in subset_table(split.report()).columns]
    assert headings == ["subset", "samples", "asked for", "instances", "no label", "groups", "locked"]


def test_pairs_and_missing_labels():
    """The worst pairs, and the labels that some subset lacks, the most frequent first."""
    report = report_on(long_tailed())
    assert [row[0] for row in pair_table(report, limit=2).rows] == [" + ".join(row.labels) for row in report.pairs[:2]]
    missing = missing_table(report_on(np.eye(30, 20, dtype=int), (10, 10, 10)), limit=8)
    assert missing.title == "8 of 20 labels that some subset lacks"
    assert len(missing) == 8
    assert missing.rows[0][2].count(",") == 1  # of three subsets


def test_strata_come_worst_first():
    """Categories of all strata are in one table, first those of which most would have to move."""
    lights = ["day", "night", "dusk"] * 30
    report = constrained(strata={"light": lights, "site": [f"s{i % 7}" for i in range(90)]}).report()
    table = strata_table(report)
    assert {row[0] for row in table.rows} == {"light", "site"}
    assert sum(row[2] for row in table.rows if row[0] == "light") == 90
    assert [row[4] for row in table.rows] == sorted((row[4] for row in table.rows), reverse=True)
    assert strata_table(report, limit=3).title == "The 3 of 10 categories of the strata furthest from their share"


def test_measures_beside_another_split():
    """Another split takes the place of the stratified ones; what is not known is an empty cell."""
    report, other = report_on(long_tailed()), report_on(long_tailed(), method="random")
    assert [column.heading for column in measure_table(report).columns[1:]] == [
        *("this split", "SOIS", "IS", "random", "±", "bound")
    ]
    table = measure_table(report, beside=("EvoSplit", other))
    assert [column.heading for column in table.columns[1:]] == ["this split", "EvoSplit", "random", "±", "bound"]
    assert [row[2] for row in table.rows] == [row.value for row in other.measure_rows]
    assert table.texts()[1][-1] == ""
    labels = label_table(report, beside=("EvoSplit", other))
    assert [row[3] for row in labels.rows] == [row.deviation for row in other.labels]


def test_trade_offs():
    """The front is a table with the chosen point marked; one point is no choice."""
    counts = np.random.default_rng(0).integers(0, 3, (60, 4))
    split = evosplit.split(counts, (0.5, 0.5), method="random")
    objectives = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3]])
    placements = np.stack([split.assignment, split.assignment[::-1]])
    front = evosplit.ParetoFront(objectives, ("samples", "instances", "pairs"), placements, np.ones(3))
    split = replace(split, front=front, chosen=1)
    table = front_table(split.report())
    assert [row[1:] for row in table.rows] == [tuple(point) for point in split.front.objectives.tolist()]
    assert table.rows[split.chosen][0] == f"{split.chosen} (in use)"
    assert len(front_table(report_as_placed(counts, np.arange(60) % 2))) == 0


@pytest.mark.parametrize(
    "objectives", [("samples", "instances", "pairs"), ("samples", "pairs"), ("instances", "pairs")]
)
def test_titles_name_what_is_measured(objectives):
    """The measure that an objective is called after is the one that it is."""
    counts = np.random.default_rng(0).integers(0, 3, (60, 4))
    split = evosplit.split(counts, (0.5, 0.5), effort="fast", objectives=objectives)
    measured = {row.name: row.value for row in split.report().measure_rows}
    for title, value in zip(objective_titles(objectives), split.front.objectives[split.chosen], strict=True):
        assert value == pytest.approx(measured[title.partition(":")[0]])


def test_nothing_to_show():
    """Data without any label has no rows of labels, pairs or missing labels, and these tables are left out."""
    report = report_as_placed(np.zeros((4, 2), dtype=int), [0, 0, 1, 1])
    assert len(label_table(report)) == len(pair_table(report)) == len(missing_table(report)) == 0
    assert [table.columns[0].heading for table in overview(report, labels=8)] == ["subset", "measure"]


def test_numbers_are_short():
    """Measures and shares are written in few characters, whatever their size."""
    assert [number(value) for value in (0, 12, 0.25, 0.0123456, 1.234e-7, 12345.6)] == [
        *("0", "12", "0.25", "0.0123", "1.23e-07", "12,346")
    ]
    assert [percent(value) for value in (0, 0.00042, 0.5, 0.9996, 12)] == [
        *("0.0 %", "0.04 %", "50.0 %", "100 %", "1,200 %")
    ]


def test_extra_columns_give_way():
    """All extra columns are left out together where a line is too short for them and 14 characters of a name."""
    columns = (Column("name", "name"), Column("n"), Column("a", extra=True), Column("b", extra=True))
    table = Table("", columns, (("x" * 40, 1, 2, 3),))
    assert table.fitting(14 + 3 * 3) == table
    assert table.fitting(14 + 3 * 3 - 1) == Table("", columns[:2], (("x" * 40, 1),))
    assert table_lines(table, 23)[2] == f"{'x' * 11}...  1  2  3"


# --- as text


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


def test_text_shows_shares():
    """The subsets are listed with what they hold and its share."""
    counts = np.array([[5], [1], [1], [1], [0], [0], [0], [0]] * 5)
    text = str(report_as_placed(counts, [0, 1, 1, 1, 0, 0, 0, 1] * 5))
    assert re.search(r"^a +20 +50\.0 % +25 +62\.5 % +15 +75\.0 %$", text, flags=re.MULTILINE)
    assert "no label" not in str(report_on(np.ones((9, 1), dtype=int)))


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

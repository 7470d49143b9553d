"""The tables that every renderer shows, and their plain text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reports import constrained, long_tailed, report_as_placed, report_on

import evosplit
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

"""Rows that stand for many equal samples: the split of a histogram is a split of the samples behind it."""

from __future__ import annotations

import tracemalloc
import warnings

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import count_matrices, sizes_for

from evosplit import EvoSplitError, EvoSplitWarning, LabelCounts, Split, describe, kfold, measure, problem, split
from evosplit.constraints import GroupIndex, resolve_constraints
from evosplit.coverage import fewest_empty
from evosplit.methods import METHODS
from evosplit.ratios import Subsets

ABLE = ("evosplit", "random")
few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def histograms(draw, most=6):
    """Draw rows, how many samples each stands for (one of them for several), and sizes of subsets."""
    rows = draw(count_matrices(max_samples=8, min_labels=1))
    copies = draw(st.lists(st.integers(1, most), min_size=len(rows), max_size=len(rows)))
    copies[0] = max(copies[0], 2)
    return rows, copies, draw(sizes_for(sum(copies), max_subsets=4))


def crowd(n_rows=200, q=8, seed=0, scale=50):
    """Draw a histogram with frequent and rare rows, and a row without any label."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((n_rows, q)) < 0.6 / np.arange(1, q + 1)) * rng.integers(1, 3, size=(n_rows, q))
    rows[0] = 0
    return LabelCounts(rows, copies=1 + (scale * rng.pareto(1.2, n_rows)).astype(int))


def expand(rows, table):
    """Write every sample out: (counts, assignment)."""
    subsets = np.tile(np.arange(table.shape[1]), len(rows))
    return np.repeat(rows, table.sum(axis=1), axis=0), np.repeat(subsets, table.ravel())


def check_table(made, copies, sizes):
    """Check the law: every sample in one subset, every subset of its size, at every point of the front."""
    assert made.sizes == tuple(sizes)
    for table in (made.table, *made.front.placements):
        assert table.min() >= 0
        assert table.sum(axis=1).tolist() == list(copies)
        assert table.sum(axis=0).tolist() == list(sizes)


@pytest.mark.parametrize("method", ABLE)
@few
@given(drawn=histograms(), seed=st.integers(0, 100))
def test_law(method, drawn, seed):
    """Copies and sizes are exact, and all measures are those of the samples written out."""
    rows, copies, sizes = drawn
    names = [f"s{j}" for j in range(len(sizes))]
    counts = LabelCounts(rows, copies=copies)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvoSplitWarning)  # no sample has a label
        made = split(counts, dict(zip(names, sizes, strict=True)), method=method, effort="fast", seed=seed)
    check_table(made, copies, sizes)
    written_out, assignment = expand(rows, made.table)
    expected = naive.measures(written_out, assignment.tolist(), len(sizes), sizes)
    assert {name: made.measures.to_dict()[name] for name in expected} == pytest.approx(expected)
    assert measure(counts, made.table, sizes) == made.measures


@few
@given(drawn=histograms())
def test_numbers_of_the_data(drawn):
    """Totals, descriptions and bounds are those of the samples written out."""
    rows, copies, sizes = drawn
    counts, written_out = LabelCounts(rows, copies=copies), LabelCounts(np.repeat(rows, copies, axis=0))
    assert (counts.n_samples, counts.n_rows) == (len(written_out), len(rows))
    assert counts.totals.tolist() == written_out.totals.tolist()
    assert counts.sample_totals.tolist() == written_out.sample_totals.tolist()
    assert counts.pairs.totals.tolist() == written_out.pairs.totals.tolist()
    assert describe(counts).to_dict() == pytest.approx(describe(written_out).to_dict())
    assert fewest_empty(counts, tuple(sizes)) == fewest_empty(written_out, tuple(sizes))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_copies_of_one_change_nothing(method):
    """Rows that stand for one sample each are samples, for every method."""
    rows = crowd().matrix.toarray()[:60]
    plain, ones = (
        kfold(counts, 3, method=method, effort="fast")
        for counts in (LabelCounts(rows), LabelCounts(rows, copies=np.ones(60)))
    )
    assert plain.assignment.tolist() == ones.assignment.tolist()
    assert plain.front.assignments.tolist() == ones.front.assignments.tolist()
    assert ones.table.tolist() == np.eye(3, dtype=int)[ones.assignment].tolist()


@pytest.mark.parametrize("most", [200_000, 100])
def test_rows_and_their_histogram_are_split_alike(monkeypatch, most):
    """Equal samples go to the subsets as often as a row that stands for them, whether some are placed or none."""
    monkeypatch.setattr("evosplit.crowd.MOST_UNITS", most)
    counts = crowd(n_rows=20, scale=8)
    rows = np.repeat(counts.matrix.toarray(), counts.copies, axis=0)
    histogram, samples = (split(of, (0.7, 0.2, 0.1), effort="fast") for of in (counts, rows))
    table = np.zeros_like(histogram.table)
    np.add.at(table, (np.repeat(np.arange(20), counts.copies), samples.assignment), 1)
    _, kind = np.unique(counts.matrix.toarray(), axis=0, return_inverse=True)
    for of_kind in range(kind.max() + 1):
        inside = kind.ravel() == of_kind
        assert table[inside].sum(axis=0).tolist() == histogram.table[inside].sum(axis=0).tolist()


def test_few_copies_are_all_searched():
    """As long as there are few samples, none is placed before the search."""
    counts = LabelCounts([[1, 0], [0, 1]], copies=[30, 50])
    made = problem.build_problem(counts, Subsets(("a", "b"), (40, 40)))
    assert made.n_units == 80
    assert not made.placed_table.any()


@pytest.mark.parametrize("times", [1, 1_000, 10**8])
def test_time_and_memory_follow_the_rows(monkeypatch, times):
    """However many samples a row stands for, the units of the search are as many."""
    monkeypatch.setattr("evosplit.crowd.MOST_UNITS", 2_000)
    counts = crowd(scale=500)
    more = LabelCounts(counts.matrix, copies=counts.copies * times)
    made = problem.build_problem(more, Subsets(("a", "b"), (more.n_samples // 2, more.n_samples - more.n_samples // 2)))
    assert made.n_units <= 2_000 + 2 * made.n_types
    assert (made.type_table(made.draw(problem.Stream(0))).sum(axis=1) == made.copies).all()


def test_memory_is_flat():
    """Ten times as many samples behind the same rows take no more memory, from the counts to the report."""
    counts = crowd(scale=2_000)
    peaks = []

    def run(times):
        data = LabelCounts(counts.matrix, copies=counts.copies * times)
        split(data, (0.8, 0.1, 0.1), effort="fast").report().to_dict()

    run(1)  # all that is loaded once
    for times in (1, 10):
        tracemalloc.start()
        run(times)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.1 * peaks[0]


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_kept_where_there_are_many(seed):
    """Every subset has its share of every row within what is left to the search, and labels are near their bound."""
    counts = crowd(seed=seed, scale=100_000)
    made = split(counts, (0.8, 0.1, 0.1), effort="fast", seed=seed)
    check_table(made, counts.copies, made.target_sizes)
    assert made.measures.ld <= 1.5 * made.measures.ld_bound + 1e-12
    assert made.measures.lpd <= 0.05 * made.report().baselines.random["lpd"]
    bare = made.tables.unlabelled
    assert np.abs(bare - bare.sum() * np.array(made.sizes) / counts.n_samples).max() <= 0.001 * bare.sum()


def test_samples_beyond_any_memory():
    """Ten billion samples are counted, split and reported exactly."""
    copies = [4_000_000_001, 3_000_000_000, 2_999_999_998, 1]
    counts = LabelCounts([[1, 1], [1, 0], [0, 0], [0, 1]], copies=copies)
    made = split(counts, (0.8, 0.1, 0.1), effort="fast")
    check_table(made, copies, (8_000_000_000, 1_000_000_000, 1_000_000_000))
    assert made.tables.samples.sum(axis=1).tolist() == [7_000_000_001, 4_000_000_002]
    report = made.report()
    assert "10,000,000,000 samples in 3 subsets of exactly the sizes asked for." in report.summary
    assert all(row.misplaced <= 100_000 for row in report.labels)
    assert np.isfinite(list(report.baselines.random.values())).all()


def test_same_seed_same_split():
    """A seed fixes the table, on any number of threads; another seed gives another one."""
    counts = crowd()
    one, two, other = (
        kfold(counts, 4, effort="fast", seed=seed, n_jobs=n_jobs) for seed, n_jobs in ((1, 1), (1, 2), (2, 1))
    )
    assert one.front.placements.tolist() == two.front.placements.tolist()
    assert one.table.tolist() != other.table.tolist()


@pytest.mark.parametrize("method", ABLE)
def test_equal_rows_share_alike(method):
    """Rows with equal labels are one type; each gets its part of what that has."""
    counts = LabelCounts([[1, 0], [0, 1], [1, 0]], copies=[6_000, 9_000, 3_000])
    made = split(counts, (0.5, 0.5), method=method, effort="fast")
    first, third = made.table[0] / 6_000, made.table[2] / 3_000
    assert first == pytest.approx(third, abs=0.001)


# --- constraints


@few
@given(drawn=histograms(), seed=st.integers(0, 100), data=st.data())
def test_locks_hold(drawn, seed, data):
    """So many of each row stay in each subset as are locked there, and the sizes are exact where locks allow them."""
    rows, copies, sizes = drawn
    names = tuple(f"s{j}" for j in range(len(sizes)))
    locked = np.zeros((len(rows), len(sizes)), dtype=np.int64)
    for row in range(len(rows)):
        for j in range(len(sizes)):
            most = min(copies[row] - locked[row].sum(), sizes[j] - locked[:, j].sum())
            locked[row, j] = data.draw(st.integers(0, int(most)))
    counts = LabelCounts(rows, copies=copies)
    asked = dict(zip(names, sizes, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvoSplitWarning)  # no sample has a label
        made = split(counts, asked, locked=locked, effort="fast", seed=seed)
    check_table(made, copies, sizes)
    assert (made.table >= locked).all()
    if locked.any():
        assert made.report().effects.locked == tuple(locked.sum(axis=0).tolist())
        assert made.report().effects.moved == 0
        constraints = resolve_constraints(counts, Subsets(names, tuple(sizes)), locked=locked)
        written_out = LabelCounts(np.repeat(rows, copies, axis=0))
        each = [[j] * n for row in locked for j, n in enumerate(row)]
        flat = iter([j for some in each for j in some])
        one_by_one = []
        for row, number in enumerate(copies):
            held = [next(flat) for _ in range(locked[row].sum())]
            one_by_one += [names[j] for j in held] + [None] * (number - len(held))
        same = resolve_constraints(written_out, Subsets(names, tuple(sizes)), locked=one_by_one)
        assert constraints.flz_bound(counts, len(sizes)) == same.flz_bound(written_out, len(sizes))
        assert fewest_empty(counts, tuple(sizes), constraints) == fewest_empty(written_out, tuple(sizes), same)


@pytest.mark.parametrize(
    "locked",
    [{"test": ["b"]}, [None, "test", None], np.array([[0, 0], [0, 700], [0, 0]])],
    ids=["by id", "by row", "as a table"],
)
def test_forms_of_locks(locked):
    """A row is locked whole, by its id or its place; a table locks some of its samples."""
    counts = LabelCounts([[1, 0], [0, 1], [0, 1]], ids=["a", "b", "c"], copies=[5_000, 700, 4_300])
    made = split(counts, {"train": 0.8, "test": 0.2}, locked=locked, effort="fast")
    check_table(made, counts.copies, (8_000, 2_000))
    assert made.table[1].tolist() == [0, 700]
    assert made.settings["locked"] == 700
    # The label that is locked into test is spread by the other row that has it.
    assert made.tables.samples[1].tolist() == [4_000, 1_000]


def test_overfull_locks_are_reported():
    """Where more is locked into a subset than it should hold, the others share the rest."""
    counts = LabelCounts([[1, 0], [0, 1]], copies=[600, 400])
    with pytest.warns(EvoSplitWarning, match="300 samples are locked into 'test', 200 more than the 100 asked for"):
        made = split(counts, (0.8, 0.1, 0.1), locked=np.array([[0, 0, 300], [0, 0, 0]]), effort="fast")
    assert sum(made.sizes) == 1_000
    assert made.sizes[2] == 300
    assert made.measures.ed == pytest.approx(made.best_ed)


def test_strata_of_rows():
    """Strata are given for each row and balanced over its samples; numbers are binned by samples, not by rows."""
    rng = np.random.default_rng(0)
    counts = crowd(120)
    light, size = rng.choice(["day", "night"], 120), rng.random(120)
    made = split(counts, (0.8, 0.2), strata={"light": light, "size": size}, effort="fast")
    check_table(made, counts.copies, made.target_sizes)
    written_out = LabelCounts(np.repeat(counts.matrix.toarray(), counts.copies, axis=0))
    subsets = Subsets(made.names, made.sizes)
    rows = resolve_constraints(counts, subsets, strata={"size": size})
    samples = resolve_constraints(written_out, subsets, strata={"size": np.repeat(size, counts.copies)})
    (binned,), (expected,) = rows.strata, samples.strata
    assert binned.counts.labels == expected.counts.labels
    assert binned.counts.totals.tolist() == expected.counts.totals.tolist()
    for _, table in made.report().effects.strata:
        assert table.totals.sum() == counts.n_samples
        assert table.deviation.max() < 0.02


def test_counted_strata_take_the_copies_of_the_labels():
    """A stratum that is counted says nothing of copies, or the same as the labels."""
    counts = LabelCounts([[1], [0]], copies=[30, 10])
    subsets = Subsets(("a", "b"), (20, 20))
    boxes = [[1, 0], [2, 1]]
    for stratum in (LabelCounts(boxes), LabelCounts(boxes, copies=[30, 10])):
        (found,) = resolve_constraints(counts, subsets, strata={"boxes": stratum}).strata
        assert found.counts.totals.tolist() == [50, 10]
    with pytest.raises(EvoSplitError, match="the stratum 'boxes' has other copies than the labels"):
        resolve_constraints(counts, subsets, strata={"boxes": LabelCounts(boxes, copies=[1, 2])})


def test_minimum_of_every_label():
    """Every subset gets as many samples of each label as asked for, however rare it is."""
    rows = np.eye(5, dtype=int)
    counts = LabelCounts(rows, copies=[100_000, 5_000, 60, 9, 6])
    made = split(counts, (0.98, 0.01, 0.01), min_per_label=3, effort="fast")
    assert made.tables.samples.min(axis=1).tolist()[2:] == [3, 3, 2]


# --- what there is not


def test_no_subset_of_a_row():
    """Where samples of a row may be in different subsets, asking for its subset names what to ask instead."""
    made = kfold(crowd(), 2, effort="fast")
    assert made.has_copies
    for ask in (
        lambda: made.assignment,
        lambda: made.indices("fold0"),
        lambda: made.ids("fold0"),
        lambda: list(made.folds()),
        lambda: made.assign(made.sample_ids),
    ):
        with pytest.raises(EvoSplitError, match=r"rows stand for several samples.*use Split\.table"):
            ask()
    with pytest.raises(EvoSplitError, match=r"rows stand for several samples.*use placements"):
        _ = made.front.assignments


@pytest.mark.parametrize("is_locked", [False, True])
def test_rows_within_groups(is_locked):
    """Rows that stand for several samples of a group are split as these samples, one by one."""
    rng = np.random.default_rng(3)
    rows, copies, codes = rng.integers(0, 2, (300, 5)), rng.integers(1, 5, 300), np.arange(300) // 5
    locked = ["test" if is_locked and row == 7 else None for row in range(300)]
    groups = GroupIndex(tuple(range(60)), codes, copies)
    made = split(LabelCounts(rows, copies=copies), (0.7, 0.2, 0.1), groups=groups, locked=locked, effort="fast")
    of_row = np.repeat(np.arange(300), copies)
    each = {"groups": codes[of_row], "locked": [locked[row] for row in of_row]}
    expected = split(LabelCounts(rows[of_row]), (0.7, 0.2, 0.1), effort="fast", **each)
    assert made.sizes == expected.sizes
    assert made.settings == expected.settings
    assert made.assignment[of_row].tolist() == expected.assignment.tolist()


def test_groups_are_refused():
    """Samples of one row cannot be told apart, so they are in no group."""
    with pytest.raises(EvoSplitError, match="groups= cannot be kept where rows of counts stand for several samples"):
        split(LabelCounts([[1], [0]], copies=[3, 4]), (0.5, 0.5), groups=["a", "b"])


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(ABLE)))
def test_methods_that_take_samples(method):
    """A method that deals with samples one by one refuses rows that stand for several."""
    with pytest.raises(EvoSplitError, match=f"method='{method}' takes one sample a row.*use method='evosplit'"):
        split(LabelCounts([[1], [0]], copies=[3, 4]), (0.5, 0.5), method=method)


@pytest.mark.parametrize(
    ("locked", "message"),
    [
        (np.zeros((2, 3), dtype=int), r"locked= is a table of shape \(2, 3\) and dtype int64; pass integers, one row"),
        (np.zeros((2, 2)), "dtype float64; pass integers"),
        (
            np.array([[2, 2], [0, 0]]),
            r"locked\[0\] is \[2, 2\], but the row stands for 3 samples; lock at most so many",
        ),
        (np.array([[0, 0], [-1, 0]]), r"locked\[1\] is \[-1, 0\]"),
    ],
)
def test_bad_tables_of_locks(locked, message):
    """A table of locks that does not fit is refused, with its place."""
    with pytest.raises(EvoSplitError, match=message):
        split(LabelCounts([[1], [0]], copies=[3, 4]), (0.5, 0.5), locked=locked)


def test_a_table_of_locks_for_samples():
    """Samples may be locked by a table, too."""
    made = split([[1], [0], [1], [0]], (0.5, 0.5), locked=np.array([[0, 1], [0, 0], [1, 0], [0, 0]]))
    assert made.assignment[[0, 2]].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([0, 1], "assignment has 1 dimension.*pass how many of each row are in each subset"),
        ([[1, 2]], r"assignment has shape \(1, 2\)"),
        ([[1.0, 2.0], [4.0, 0.0]], "dtype float64"),
        ([[1, 1], [4, 0]], r"assignment\[0\] is \[1, 1\], but the row stands for 3 samples"),
        ([[1, 2], [5, -1]], r"assignment\[1\] is \[5, -1\]"),
    ],
)
def test_bad_tables_to_measure(table, message):
    """A table that is no split of the rows is refused, with its place."""
    with pytest.raises(EvoSplitError, match=message):
        measure(LabelCounts([[1], [0]], copies=[3, 4]), table)


# --- kept and replayed


def test_saved_and_replayed(tmp_path):
    """The manifest keeps the table, which is replayed by the ids of the rows, in any order."""
    counts = LabelCounts([[1, 0], [0, 1], [0, 0]], ids=["x", "y", ""], copies=[10, 20, 30])
    made = split(counts, (0.5, 0.5), effort="fast", locked=np.array([[1, 0], [0, 0], [0, 0]]))
    made.save(tmp_path / "split.json")
    again = Split.load(tmp_path / "split.json")
    assert again.table.tolist() == made.table.tolist()
    assert again.sizes == made.sizes
    assert again.measures == made.measures
    assert again.quotas(["", "x", "y"]).tolist() == made.table[[2, 0, 1]].tolist()
    with pytest.raises(EvoSplitError, match="the data is not what was split: 1 id is not in the split"):
        again.quotas(["x", "y", "z"])


def test_another_pick():
    """Every point of the front is a table, with its own measures."""
    made = split(crowd(), (0.7, 0.2, 0.1), effort="fast")
    for rule in ("ld", "lpd", 0, -1):
        other = made.pick(rule)
        check_table(other, made.counts.copies, made.sizes)
        assert other.measures.ld == pytest.approx(other.front.objectives[other.chosen][0])

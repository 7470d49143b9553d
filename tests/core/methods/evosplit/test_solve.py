"""What the default method promises: optima of tiny sets, early ends, no worse by effort, odd sets."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from searches import EFFORTS, RATIOS, check_exact_sizes, few, front_cost, long_tailed, middle_weights, problem_of

from evosplit import EvoSplitWarning, kfold, measure, split
from evosplit.methods import exhaustive
from evosplit.methods.evosplit import budget, landscape, solve, start
from evosplit.methods.evosplit.solve import weight_vectors

COUNTED = pytest.mark.parametrize("counted", [True, False], ids=["counted", "given"])


def tiny(seed, m=8, q=3):
    """Draw a set small enough to enumerate, every label in some sample."""
    counts = np.random.default_rng(seed).integers(0, 3, size=(m, q))
    counts[np.arange(q), np.arange(q)] = 1
    return counts


@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (4, 2, 2)], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_optimum_of_tiny_sets(sizes, seed):
    """No split is better in samples and in instances than the end of the front for the labels, by enumeration."""
    counts = np.minimum(tiny(seed), 1)
    found = split(counts, sizes, cover=False, pick="ld", effort="fast", seed=seed).measures
    for assignment in naive.assignments_of(sizes):
        _, samples, instances, _ = naive.subset_tables(counts, assignment, len(sizes))
        ld = naive.distribution(samples, sizes)
        ld_occurrences = naive.distribution(instances, [sum(inside) for inside in zip(*instances, strict=True)])
        assert ld > found.ld - 1e-9 or ld_occurrences > found.ld_occurrences - 1e-9


@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (4, 2, 2)], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_balanced_optimum_of_tiny_sets(sizes, seed):
    """One of the front is at or near the best of all splits for the balanced weights, by enumeration.

    Not always at it: the totals of labels, and samples without any, weigh a little too.
    """
    of = problem_of(tiny(seed), sizes, cover=False)
    made = split(tiny(seed), sizes, cover=False, seed=seed)
    weights = middle_weights(of)
    scores = [
        of.evaluate(of.column_table(of.type_table(np.array(assignment)))) for assignment in naive.assignments_of(sizes)
    ]
    reference = np.where(made.front.reference > 0, made.front.reference, 1.0)
    best = (np.array(scores) / reference @ weights).min()
    assert best - 1e-9 <= front_cost(made, weights) <= 1.05 * best + 1e-9


@COUNTED
@pytest.mark.parametrize("objectives", [None, ("samples",), ("pairs",)], ids=["default", "samples", "pairs"])
@pytest.mark.parametrize("seed", range(4))
def test_cover_of_tiny_sets(monkeypatch, counted, objectives, seed):
    """No split of the front leaves more empty cells than the best of all splits must."""
    monkeypatch.setattr(landscape, "COUNTED_COLUMNS", 256 if counted else 0)
    for q, sizes in ((3, (4, 4)), (2, (5, 2, 1)), (3, (3, 2, 2))):
        counts = tiny(seed, m=sum(sizes), q=q) * (np.random.default_rng(seed).random((sum(sizes), q)) < 0.7)
        counts[np.arange(q), np.arange(q)] = 1
        made = split(counts, sizes, objectives=objectives, cover="all", effort="fast", seed=seed)
        fewest = naive.fewest_empty_cells(counts, sizes)
        assert [measure(counts, point).flz for point in made.front.assignments] == [fewest] * len(made.front)


@COUNTED
@pytest.mark.parametrize("seed", range(3))
def test_cover_of_rare_labels(monkeypatch, counted, seed):
    """Rare labels reach every subset, and those with fewer samples as many as they can, at every point of the front."""
    monkeypatch.setattr(landscape, "COUNTED_COLUMNS", 256 if counted else 0)
    rng = np.random.default_rng(seed)
    counts = np.hstack([long_tailed(200, 5, seed), np.zeros((200, 6), dtype=int)])
    for label in range(5, 11):
        counts[rng.choice(200, size=label - 3, replace=False), label] = 1
    made = split(counts, (100, 60, 20, 20), cover="all", effort="fast", seed=seed)
    bound = made.measures.flz_bound
    assert bound == 3
    assert [measure(counts, point).flz for point in made.front.assignments] == [bound] * len(made.front)


def test_samples_without_a_label_and_the_total_of_labels_are_spread():
    """By default every subset has about its share of samples without a label, and of all labels together.

    Over many seeds the means are 2.2 and 1.4 here, those of random splits 4.2 and 11.
    """
    off = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        counts = (rng.random((400, 8)) < 0.9 / np.arange(2, 10)).astype(int)
        counts[rng.random(400) < 0.15] = 0
        made = split(counts, RATIOS, seed=seed)
        share = np.array(made.sizes) / 400
        held = [np.bincount(made.assignment, weights=w) for w in (counts.sum(axis=1) == 0, counts.sum(axis=1))]
        off.append([np.abs(one - share * one.sum()).max() for one in held])
    empty, labels = np.mean(off, axis=0)
    assert empty <= 3.5
    assert labels <= 2.2


@pytest.mark.parametrize("seed", range(6))
def test_totals_are_balanced(monkeypatch, seed):
    """Folds have about their shares of all instances and of the samples without a label.

    Over 60 seeds they are off by at most 2.6 % and 2.8; random ones on average by 12 % and 6.
    """
    monkeypatch.setattr(budget, "BASE", 20_000_000)
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(1.0, 1.0, size=(600, 1)) * rng.uniform(0.1, 0.5, size=8))
    counts[:60] = 0
    fold = kfold(counts, 4, effort="fast", seed=seed).assignment
    instances, empty = counts.sum(axis=1), (counts == 0).all(axis=1)
    assert np.bincount(fold, instances) == pytest.approx(instances.sum() / 4, rel=0.04)
    assert np.bincount(fold, empty) == pytest.approx(empty.sum() / 4, abs=4)


def test_front_has_trade_offs():
    """The front has points of exact size, none dominated; its ends are best in labels and in pairs."""
    made = split(long_tailed(m=300), (200, 60, 40), effort="fast")
    check_exact_sizes(made, (200, 60, 40))
    scores = made.front.objectives
    for one, other in itertools.permutations(scores, 2):
        assert (one < other).any()
    in_labels = scores[:, :2].prod(axis=1)
    assert in_labels[made.pick("ld").chosen] == in_labels.min()
    assert made.pick("lpd").measures.lpd == pytest.approx(scores[:, 2].min())


@COUNTED
@pytest.mark.filterwarnings("ignore:group")  # some are larger than a subset
@settings(parent=few, max_examples=15)
@given(
    seed=st.integers(0, 9999),
    m=st.integers(20, 60),
    q=st.integers(3, 6),
    cover=st.sampled_from([False, "all"]),
    grouped=st.booleans(),
    locks=st.integers(0, 2),
    work=st.sampled_from([0, 20_000, 400_000]),
)
@example(seed=294, m=59, q=5, cover=False, grouped=True, locks=1, work=400_000)  # a start is a point of the front
def test_more_effort_is_never_worse(monkeypatch, counted, seed, m, q, cover, grouped, locks, work):
    """Whatever a smaller effort finds, a greater one finds too, or better; with groups and locked samples as well."""
    monkeypatch.setattr(budget, "BASE", work)
    monkeypatch.setattr(budget, "PER_UNIT", 0)
    monkeypatch.setattr(landscape, "COUNTED_COLUMNS", 256 if counted else 0)
    monkeypatch.setattr(exhaustive, "MOST_WAYS", 0)
    groups = np.random.default_rng(seed).integers(m // 2, size=m) if grouped else None
    locked = ["train" if unit < locks else None for unit in (range(m) if groups is None else groups)]
    options = {"cover": cover, "groups": groups, "locked": locked, "seed": seed}
    counts = long_tailed(m, q, seed)
    made = [split(counts, {"train": 0.7, "test": 0.3}, effort=effort, **options) for effort in EFFORTS]
    for worse, better in itertools.pairwise(made):
        # Sizes come first, then labels that are missing somewhere; the front is compared where both are equal.
        before, after = ((one.measures.ed, one.measures.flz if cover else 0) for one in (worse, better))
        assert after <= before
        if after == before:
            reached = better.front.objectives[:, None] <= worse.front.objectives
            assert reached.all(axis=2).any(axis=0).all()


@COUNTED
def test_threads_do_not_change_the_front(monkeypatch, counted):
    """One thread, two and as many as there are give the same front, point by point."""
    monkeypatch.setattr(landscape, "COUNTED_COLUMNS", 256 if counted else 0)
    counts = long_tailed(m=90)
    one, two, any_number = (split(counts, (60, 20, 10), seed=3, n_jobs=n_jobs) for n_jobs in (1, 2, -1))
    assert one.front.assignments.tolist() == two.front.assignments.tolist() == any_number.front.assignments.tolist()
    assert one.chosen == two.chosen == any_number.chosen


@pytest.mark.parametrize("objectives", [("samples",), ("pairs",), ("samples", "instances"), ("pairs", "triplets")])
def test_one_weight_vector(objectives):
    """Without labels against pairs there is one vector: all objectives alike."""
    assert weight_vectors(problem_of(long_tailed(), (100, 50), objectives=objectives), 0.5) == [
        (1 / len(objectives),) * len(objectives)
    ]


def test_one_weight_vector_where_no_labels_meet():
    """Where no sample has two labels there is no pair to weigh."""
    vectors = weight_vectors(problem_of(np.eye(6, 3, dtype=int), (3, 3)), 1.0)
    assert [sum(vector) for vector in vectors] == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    "objectives", [None, ("samples", "pairs"), ("instances", "pairs"), ("pairs", "samples", "triplets")], ids=str
)
@pytest.mark.parametrize("patience", [0.0, 0.3, 1.0])
def test_weight_vectors(objectives, patience):
    """The weights are positive, sum to 1, and lead from the labels first, whatever the pairs, to the pairs."""
    of = problem_of(long_tailed(), (100, 50), objectives=objectives)
    vectors = np.array(weight_vectors(of, patience))
    assert vectors.sum(axis=1) == pytest.approx(1)
    assert (vectors > 0).all()
    labels = [i for i, name in enumerate(of.objectives) if name in ("samples", "instances")]
    ratio = vectors[:, of.objectives.index("pairs")] / vectors[:, labels[0]]
    assert (np.diff(ratio) > 0).all()
    assert ratio[0] < 1e-4
    assert ratio[-1] > 10


def test_cover_says_what_it_leaves_out():
    """Many labels that are too rare for a small subset are not forced into it, and a note says how many."""
    counts = np.hstack((np.tile(np.eye(60, dtype=int), (5, 1)), np.ones((300, 1), dtype=int)))
    made = split(counts, (290, 10), effort="fast")
    every = split(counts, (290, 10), cover="all", effort="fast")
    (note,) = made.notes
    assert "rare labels are not forced into every subset" in note
    assert "cover='all'" in note
    assert every.notes == ()
    assert made.measures.ld <= every.measures.ld + 1e-12
    check_exact_sizes(every, (290, 10))


@pytest.mark.parametrize("options", [{}, {"groups": np.arange(300) // 2}], ids=["samples", "groups"])
def test_nothing_is_laid_out_when_time_is_up(monkeypatch, options):
    """Once the limit is over, the first start is the split: neither further ones nor the search are prepared."""

    def refuse(*_):
        raise AssertionError("there is no time for this")

    monkeypatch.setattr(solve, "Landscape", refuse)
    monkeypatch.setattr(start, "_systematic_sample", refuse)
    made = split(long_tailed(m=300), (200, 60, 40), time_limit=1e-9, **options)
    assert made.sizes == (200, 60, 40)
    assert len(made.front) == 1
    assert any("stopped after the time limit" in note for note in made.notes)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limit_stops(n_jobs):
    """A limit that is over at once gives a valid split, no worse than a random one, and a note."""
    made = split(long_tailed(m=300), (200, 60, 40), effort="thorough", time_limit=1e-9, n_jobs=n_jobs)
    check_exact_sizes(made, (200, 60, 40))
    assert (made.front.objectives[made.chosen] <= made.front.reference).all()
    assert made.notes == ("stopped after the time limit of 1e-09 s: this is the best split found so far.",)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [1, 4, 9])
@pytest.mark.parametrize("grouped", [False, True], ids=["samples", "groups"])
def test_caller_stops(n_jobs, after, grouped):
    """Returning False stops soon, with a valid split and a note."""
    calls = []

    def stop(done, message):
        calls.append(done)
        return len(calls) < after

    groups = np.arange(300) // 2 if grouped else None
    made = split(long_tailed(m=300), (200, 60, 40), effort="thorough", groups=groups, n_jobs=n_jobs, on_progress=stop)
    check_exact_sizes(made, (200, 60, 40))
    if len(calls) >= after:  # with threads, all may be done before
        assert made.notes == ("stopped early on request: this is the best split found so far.",)


def test_errors_of_the_caller_pass_through(monkeypatch):
    """An exception in `on_progress` ends the work and reaches the caller, with threads as without."""
    monkeypatch.setattr(budget, "BASE", 40_000_000)

    def fail(done, message):
        if "trade-offs" in message:
            raise RuntimeError("the window is closed")

    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="the window is closed"):
            split(long_tailed(m=300), (200, 60, 40), n_jobs=n_jobs, on_progress=fail)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("grouped", [False, True], ids=["samples", "groups"])
def test_progress_grows_to_one(n_jobs, grouped):
    """The caller hears growing fractions from 0 to 1, the last one once."""
    heard = []
    groups = np.arange(150) // 2 if grouped else None
    split(long_tailed(), (100, 30, 20), n_jobs=n_jobs, groups=groups, on_progress=lambda *report: heard.append(report))
    fractions = [done for done, _ in heard]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == 1
    assert fractions.count(1) == 1
    assert any("trade-offs" in message for _, message in heard)


DEGENERATE = {
    "one label": (np.arange(12)[:, None] % 2, (6, 6), {}),
    "a label in every image": (np.hstack([np.ones((12, 1)), np.eye(12)[:, :3]]).astype(int), (8, 4), {}),
    "all samples equal": (np.full((9, 2), 2), (3, 3, 3), {}),
    "as many subsets as samples": (np.eye(5, dtype=int), (1, 1, 1, 1, 1), {}),
    "two samples": (np.array([[1, 0], [0, 1]]), (1, 1), {}),
    "one image with a label": (np.eye(10, dtype=int)[:, :1], (5, 5), {}),
    "labels that never occur": (np.hstack([np.zeros((8, 2)), np.ones((8, 1))]).astype(int), (4, 4), {}),
    "very uneven sizes": (long_tailed(m=40), (38, 1, 1), {}),
    "many instances in one image": (np.array([[1000, 1], [1, 1], [1, 0], [0, 1]]), (2, 2), {}),
    "all locked": (long_tailed(m=6), (4, 2), {"locked": ["train"] * 4 + ["test"] * 2}),
    "all but one locked": (long_tailed(m=6), (4, 2), {"locked": ["train"] * 4 + ["test", None]}),
    "a subset full of locks": (long_tailed(m=9), (4, 3, 2), {"locked": [None] * 7 + ["test"] * 2}),
    "groups of one size": (long_tailed(m=12), (6, 6), {"groups": np.arange(12) // 2}),
    "equal groups": (np.tile([[1, 0], [0, 1]], (6, 1)), (6, 6), {"groups": np.arange(12) // 2}),
}


@COUNTED
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_sets(monkeypatch, counted, name):
    """Odd data is split to size for every single objective and for all, without a warning or a NaN."""
    monkeypatch.setattr(landscape, "COUNTED_COLUMNS", 256 if counted else 0)
    monkeypatch.setattr(exhaustive, "MOST_WAYS", 0)
    counts, sizes, conditions = DEGENERATE[name]
    with np.errstate(all="raise", under="ignore"):
        for objectives in (None, ("samples",), ("instances",), ("pairs",)):
            made = split(counts, sizes, objectives=objectives, **conditions)
            check_exact_sizes(made, sizes)
            assert np.isfinite(made.front.objectives).all()


def test_locks_may_leave_a_subset_empty():
    """A subset for which locks elsewhere leave no sample stays empty; the others are split."""
    with pytest.warns(EvoSplitWarning, match="11 samples are locked into 'test', 6 more than the 5 asked for"):
        made = split(long_tailed(m=12, q=3), {"train": 6, "val": 1, "test": 5}, locked={"test": range(11)})
    assert sum(made.sizes) == 12
    assert made.sizes[2] == 11
    assert np.isfinite(made.front.objectives).all()


@pytest.mark.parametrize("k", [2, 3, 20])
def test_folds_of_few_labels(k):
    """Folds have their sizes, and labels that divide evenly do."""
    counts = np.repeat(np.eye(3, dtype=int), 4 * k, axis=0)
    made = kfold(counts, k, effort="fast")
    check_exact_sizes(made, (12,) * k)
    assert made.measures.ld == pytest.approx(0)

"""What the default method promises: optima of tiny sets, bounded work, no jumps, early ends, no worse by effort."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from strategies import problems

from evosplit import EvoSplitWarning, LabelCounts, crowd, kfold, measure, split
from evosplit._kernels import exchange
from evosplit.constraints import resolve_constraints
from evosplit.front import NEGLIGIBLE
from evosplit.methods import exhaustive
from evosplit.methods.base import Run
from evosplit.methods.evosplit import budget, landscape, solve, start
from evosplit.methods.evosplit.anneal import exponential_quantiles
from evosplit.methods.evosplit.budget import Budget, rounds_of
from evosplit.methods.evosplit.landscape import Attained, Landscape
from evosplit.methods.evosplit.solve import weight_vectors
from evosplit.methods.iterative import IterativeStratification
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets
from evosplit.rng import Stream

EFFORTS = ("fast", "normal", "thorough")
RATIOS = {"train": 0.7, "val": 0.2, "test": 0.1}
COUNTED = pytest.mark.parametrize("counted", [True, False], ids=["counted", "given"])
few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
SLACK = 1.1  # a search ends with the trial, and mending with the label, that reaches the work planned
QUALITY_JUMP = 1.25  # between two sides of a threshold; at most 1.08 over 25 seeds


def problem_of(counts, sizes, *, objectives=None, cover=True, as_table=False, **conditions):
    """Build the problem of splitting these counts into subsets of these sizes."""
    counts = LabelCounts(counts)
    subsets = resolve_subsets(list(sizes), counts.n_samples)
    constraints = resolve_constraints(counts, subsets, **conditions)
    return build_problem(
        counts, subsets, objectives=objectives, cover=cover, constraints=constraints, as_table=as_table
    )


def long_tailed(m=150, q=8, seed=0):
    """Draw frequent and rare labels, some of which go together and some of which repeat."""
    rng = np.random.default_rng(seed)
    present = rng.random((m, q)) < 0.6 / np.arange(1, q + 1)
    present[:, 1] |= present[:, 2] & (rng.random(m) < 0.7)
    return present * rng.integers(1, 3, size=(m, q))


def tiny(seed, m=8, q=3):
    """Draw a set small enough to enumerate, every label in some sample."""
    counts = np.random.default_rng(seed).integers(0, 3, size=(m, q))
    counts[np.arange(q), np.arange(q)] = 1
    return counts


def check_exact_sizes(made, sizes):
    """Check that every point of the front has the sizes asked for."""
    assert made.sizes == tuple(sizes)
    for assignment in made.front.assignments:
        assert np.bincount(assignment, minlength=len(sizes)).tolist() == list(sizes)


def front_cost(made, weights):
    """Return the least weighted cost over the front, in units of a random split's."""
    return (made.front.objectives / np.where(made.front.reference > 0, made.front.reference, 1.0) @ weights).min()


def middle_weights(of):
    """Give the balanced weights of a problem."""
    vectors = weight_vectors(of, 1.0)
    return np.array(vectors[len(vectors) // 2])


# --- quality


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


@pytest.mark.parametrize("work", [0, 40_000, 4_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_its_start(monkeypatch, work, seed):
    """However short the search, some split of the front is as good as the stratified start, for balanced weights."""
    monkeypatch.setattr(budget, "BASE", work)
    monkeypatch.setattr(budget, "PER_UNIT", 0)
    counts, sizes = long_tailed(m=120 + 60 * seed, seed=seed), (70 + 60 * seed, 30, 20)
    of = problem_of(counts, sizes, cover=False)
    stratified = IterativeStratification(1).solve(of, Run(Stream.from_seed(seed))).assignments[0]
    made = split(counts, sizes, cover=False, effort="fast", seed=seed)
    weights = middle_weights(of)
    scores = of.evaluate(of.column_table(of.type_table(stratified)))
    assert front_cost(made, weights) <= scores / made.front.reference @ weights + 1e-9


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


def landscape_of(counts, sizes, **conditions):
    """Lay out a problem with a random start."""
    problem, stream = problem_of(counts, sizes, **conditions), Stream(0)
    return Landscape(problem, [problem.draw(stream)], stream)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_targets_of_folds_are_their_shares(k):
    """Subsets of equal size are to get equal parts of the samples without a label, of all labels and all instances."""
    counts = np.random.default_rng(k).poisson(0.1, (20 * k, 9))
    unlabelled, labels, instances = landscape_of(counts, (20,) * k)._targets
    assert unlabelled == pytest.approx((counts.sum(axis=1) == 0).sum() / k)
    assert labels == pytest.approx((counts > 0).sum() / k)
    assert instances == pytest.approx(counts.sum() / k)


@pytest.mark.parametrize("cover", [False, True])
def test_targets_leave_rare_labels_to_large_subsets(cover):
    """A subset too small for its share of any label is to get none of them, but for those it must not lack."""
    counts = np.repeat(np.eye(20, dtype=int), 4, axis=0)
    counts = np.vstack((counts, np.zeros((20, 20), dtype=int)))
    unlabelled, labels = landscape_of(counts, (90, 10), cover="all" if cover else False)._targets
    assert labels.tolist() == ([60.0, 20.0] if cover else [80.0, 0.0])
    assert unlabelled.tolist() == [18.0, 2.0]


@pytest.mark.parametrize("seed", range(6))
def test_totals_are_balanced(monkeypatch, seed):
    """Folds have their shares of all instances, within 3 %, and of the samples without a label, within one."""
    monkeypatch.setattr(budget, "BASE", 20_000_000)
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(1.0, 1.0, size=(600, 1)) * rng.uniform(0.1, 0.5, size=8))
    counts[:60] = 0
    fold = kfold(counts, 4, effort="fast", seed=seed).assignment
    instances, empty = counts.sum(axis=1), (counts == 0).all(axis=1)
    assert np.bincount(fold, instances) == pytest.approx(instances.sum() / 4, rel=0.03)
    assert np.bincount(fold, empty) == pytest.approx(empty.sum() / 4, abs=1)


@given(problem=problems(min_labels=1, max_subsets=4), cover=st.booleans())
def test_targets_deal_out_all_labels(problem, cover):
    """No subset is to get less than nothing, and together they are to get what there is."""
    counts, sizes = problem
    targets = landscape_of(counts, sizes, cover=cover)._targets
    assert targets.min() >= 0
    there = [(counts == 0).all(axis=1).sum(), (counts > 0).sum(), *([counts.sum()] if counts.max() > 1 else [])]
    assert targets.sum(axis=1) == pytest.approx(np.array(there, dtype=float))


def test_what_is_behind_weighs_more():
    """A cell costs what the cost of a split rises by, a block weighing the more, the further it is behind."""
    rng = np.random.default_rng(0)
    counts = (rng.random((60, 4)) < 0.4) * rng.integers(1, 6, size=(60, 4))
    problem, stream = problem_of(counts, (20, 20, 20)), Stream(0)
    land = Landscape(problem, [problem.draw(stream)], stream)
    weights = (0.25, 0.25, 0.5)
    goals = [goal - NEGLIGIBLE for goal in land._goals]  # where the start is, all weigh as they are given

    def weights_at(attained):
        columns = land.cells(weights, Attained(attained, np.zeros(land.n_totals))).columns
        return np.array([columns[block.start : block.stop, 0].sum() for block in problem.blocks])

    asked = weights_at(goals)
    for at, block in enumerate(problem.blocks):
        behind = weights_at([4 * goal + 3 * NEGLIGIBLE if other == at else goal for other, goal in enumerate(goals)])
        others = [other for other in range(len(problem.blocks)) if other != at]
        for other in others:
            assert behind[at] / behind[other] == pytest.approx(2 * asked[at] / asked[other]), block.name


def test_systematic_sample_is_spread_over_equal_units():
    """Of units with equal labels every subset gets its share, rounded, around those that are locked."""
    counts = np.repeat(np.eye(4, dtype=int), 50, axis=0)
    of = problem_of(counts, (160, 40), locked={"test": [0, 1, 60]})
    for seed in range(20):
        sample = start._systematic_sample(of, Stream(seed))
        assert np.bincount(sample).tolist() == [160, 40]
        assert sample[[0, 1, 60]].tolist() == [1, 1, 1]
        free = np.setdiff1d(np.arange(200), [0, 1, 60])
        held = np.array([(sample[free[free // 50 == label]] == 1).sum() for label in range(4)])
        assert (np.abs(held - 37 / 197 * np.array([48, 49, 50, 50])) < 2).all()


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


def test_equal_samples_may_be_placed(monkeypatch):
    """Of more samples than are searched most of each kind are placed before, in their shares; sizes are exact."""
    rng = np.random.default_rng(5)
    kinds = long_tailed(m=12, q=5, seed=5)
    counts, sizes = kinds[rng.choice(12, p=np.arange(1, 13) / 78, size=600)], (400, 133, 67)
    monkeypatch.setattr(crowd, "MOST_UNITS", 100)
    of = problem_of(counts, sizes, as_table=True)
    assert of.n_units <= 100 + 12 * 3
    check_exact_sizes(split(counts, sizes, effort="fast"), sizes)


# --- effort and chance


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


def test_orders_do_not_depend_on_who_asks_first():
    """Two threads that ask for the orders of similarity at once, and both make them, get the same."""
    of = problem_of(long_tailed(m=60), (40, 20))
    land = Landscape(of, [of.draw(Stream(0))], Stream(1))
    first = land.orders
    del land.__dict__["orders"]
    for one, two in zip(first, land.orders, strict=True):
        assert all(map(np.array_equal, one, two))


# --- how much work


@given(st.integers(1, 11), st.integers(0, 10**9))
def test_a_greater_effort_begins_with_a_smaller_one(n_vectors, work):
    """The rounds of a smaller effort are the first of a greater; together a normal search has the work planned."""
    fast, normal, thorough = (rounds_of(effort, n_vectors, work) for effort in EFFORTS)
    assert fast == normal[: len(fast)]
    assert normal == thorough[: len(normal)]
    assert len(fast) <= len(normal) < len(thorough)
    ancestors, *children = normal
    assert set(ancestors.vectors) == {n_vectors // 2}
    assert sorted(at for each in children for at in each.vectors) == list(range(n_vectors))
    assert {0, n_vectors - 1} <= set(fast[1].vectors)
    spent = [sum(each.work * len(each.vectors) for each in rounds) for rounds in (fast, normal, thorough)]
    assert spent[0] <= spent[1] <= work
    assert spent[2] <= 10 * max(work, 1)


@given(st.integers(1, 10**7), st.floats(0, 3000), st.integers(1, 10**10))
def test_budget_grows_with_the_units_and_never_jumps(units, columns, table):
    """More units get more work, slower memory less; a percent more of anything changes it by a few percent."""
    here = Budget.of(units, columns, table)
    more, larger, denser = (
        Budget.of(units + 1 + units // 100, columns, table),
        Budget.of(units, columns, table + 1 + table // 100),
        Budget.of(units, columns * 1.01, table),
    )
    assert here.work <= more.work <= 1.02 * here.work + 2 * budget.PER_UNIT
    assert 0.97 * here.work - 1 <= larger.work <= here.work
    assert denser.work == here.work
    assert here.work <= budget.BASE + budget.PER_UNIT * units
    for other in (more, larger, denser):
        assert other.patience == pytest.approx(here.patience, rel=0.03 if units > 100 else 1.0)
        assert 0 <= other.patience <= 1


@given(st.floats(1, 2**40))
def test_log2_is_near_and_grows(x):
    """The cheap logarithm is exact at powers of two, never above the true one by more than nothing, and grows."""
    assert np.log2(x) - 0.0861 <= budget.log2(x) <= np.log2(x) + 1e-12
    assert budget.log2(x) <= budget.log2(x * 1.001)


def test_quantiles_are_exponential():
    """The losses that are accepted follow the exponential distribution: positive, mean 1, as its inverse says."""
    quantiles = exponential_quantiles()
    assert quantiles == pytest.approx(-np.log((np.arange(1024) + 0.5) / 1024), rel=1e-12)
    assert quantiles.mean() == pytest.approx(1.0, abs=1e-3)


@pytest.fixture
def meter(monkeypatch):
    """Count the columns that searches evaluate, beside what they planned: a list of (done, planned)."""
    readings = []

    class Metered(solve._Clock):
        def __init__(self, run, work):
            readings.append([0, work])
            super().__init__(run, work)

    def counting(kernel):
        def count(*arguments):
            done, made = kernel(*arguments)
            readings[-1][0] += int(done)
            return done, made

        return count

    monkeypatch.setattr(solve, "_Clock", Metered)
    for name in ("search", "mend"):
        monkeypatch.setattr(exchange, name, counting(getattr(exchange, name)))
    return readings


def dense(m, q, per_sample, seed=0):
    """Draw samples with so many labels each, on average, frequent and rare ones."""
    chances = 1 / np.arange(1, q + 1) ** 0.7
    return np.random.default_rng(seed).random((m, q)) < np.minimum(chances * per_sample / chances.sum(), 0.9)


COSTLY = {
    "26 labels each": (dense(300, 100, 26), (200, 60, 40), {}),
    "2 labels, 20 subsets": (dense(400, 2, 1), (20,) * 20, {}),
    "rare labels in 20 subsets": (dense(400, 100, 3), (20,) * 20, {}),
    "rare labels in small subsets": (dense(400, 100, 3), (380, 10, 10), {"cover": "all"}),
    "groups": (dense(400, 20, 3), RATIOS, {"groups": np.random.default_rng(0).integers(0, 200, 400)}),
}


@pytest.mark.parametrize("name", COSTLY)
def test_work_is_bounded(monkeypatch, meter, name):
    """Columns evaluated, counted one by one, are no more than planned, whatever the samples are like."""
    monkeypatch.setattr(budget, "BASE", 20_000_000)
    counts, sizes, options = COSTLY[name]
    for effort in ("fast", "normal"):
        split(counts, sizes, effort=effort, **options)
    (fast, for_fast), (normal, for_normal) = meter
    assert for_fast <= for_normal <= budget.BASE + budget.PER_UNIT * 800  # empty units are units too
    assert fast <= SLACK * for_fast
    assert normal <= SLACK * for_normal


def doubled(counts):
    """Give most samples twins."""
    return np.vstack((counts, counts, counts))


THRESHOLDS = {
    "totals are counted in narrow blocks": (landscape, "COUNTED_COLUMNS", 0, 256),
    "equal samples are placed": (crowd, "MOST_UNITS", 0, 10**9),
    "pairs are sampled": (budget, "PAIR_ENTRIES", None, 10**9),
}


def quality(made):
    """Return the mean, over weights from labels to pairs, of the best weighted sum on the front; less is better."""
    scaled = made.front.objectives / made.front.reference
    share = np.linspace(0.05, 0.95, 19)[:, None]
    return (share * scaled[:, :-1].mean(axis=1) + (1 - share) * scaled[:, -1]).min(axis=1).mean()


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("seed", range(2))
def test_no_jump_where_a_threshold_is_crossed(monkeypatch, meter, name, seed):
    """On either side of each threshold a set is split about as well, for about the same work."""
    monkeypatch.setattr(budget, "PER_UNIT", 100)  # searches are short here: units that are placed would be most of it
    counts = doubled((long_tailed(m=80, q=10, seed=seed) > 0).astype(int))
    where, constant, below, above = THRESHOLDS[name]
    if below is None:  # one pair fewer than there are
        below = int(sum(len(naive.label_pairs([row])) for row in np.unique(counts, axis=0))) - 1
        monkeypatch.setattr(budget, "PAIR_ENTRIES_PER_SAMPLE", 0)
    found = []
    for value in (below, above):
        monkeypatch.setattr(where, constant, value)
        found.append(quality(split(counts, RATIOS, effort="fast", seed=seed)))
    assert max(found) <= QUALITY_JUMP * min(found)
    (_, one), (_, other) = meter
    assert max(one, other) <= 1.1 * min(one, other)


# --- weights


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


# --- rare labels, many pairs


@few
@given(seed=st.integers(0, 9999), q=st.integers(2, 60), k=st.integers(2, 6))
def test_cover_leaves_out_the_rarest(seed, q, k):
    """What is not asked for in every subset are the rarest labels; cover="all" asks for all, cover=False for none."""
    counts = np.random.default_rng(seed).random((90, q)) < 1.5 / np.arange(1, q + 1) ** 1.5
    sizes = (90 - 3 * (k - 1), *(3,) * (k - 1))
    of = problem_of(counts, sizes)
    totals = of.column_totals[:q]
    left_out, occurs = of.needs == 0, totals > 0
    assert of.uncovered == left_out.sum()
    assert totals[left_out].max(initial=0) <= totals[occurs & ~left_out].min(initial=10**9)
    every = problem_of(counts, sizes, cover="all")
    assert (every.uncovered, every.needs.tolist()) == (0, [1] * q)
    none = problem_of(counts, sizes, cover=False)
    assert (none.uncovered, none.cover) == (0, False)


@few
@given(seed=st.integers(0, 9999), q=st.integers(1, 8), sizes=st.sampled_from([(70, 20, 10), (50, 50), (10,) * 10]))
def test_cover_leaves_out_nothing_that_comes_by_itself(seed, q, sizes):
    """Where every subset's share of each label is a sample or more, all labels are asked for."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((100, q), dtype=int)
    for label in range(q):
        counts[rng.permutation(100)[: rng.integers(10, 100)], label] = 1
    assert problem_of(counts, sizes).uncovered == 0


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


def test_too_many_pairs_are_sampled(monkeypatch):
    """Of more pairs than there is time for a part is searched, a note says so, and the order of labels is no matter."""
    monkeypatch.setattr(budget, "PAIR_ENTRIES", 2_000)
    monkeypatch.setattr(budget, "PAIR_ENTRIES_PER_SAMPLE", 0)
    counts = dense(150, 40, 12).astype(int)
    made = split(counts, RATIOS, effort="fast")
    check_exact_sizes(made, (105, 30, 15))
    assert any("a random part was searched" in note for note in made.notes)
    order = np.random.default_rng(0).permutation(40)
    assert (split(counts[:, order], RATIOS, effort="fast").assignment == made.assignment).all()
    assert made.measures.lpd <= split(counts, RATIOS, method="random").measures.lpd
    of = build_problem(LabelCounts(counts), resolve_subsets(RATIOS, 150), pair_entries=2_000)
    assert of.pairs_kept < 1024
    assert of.features[:, of.blocks[-1].start : of.blocks[-1].stop].nnz <= 1.2 * 2_000


# --- early ends


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


# --- odd sets


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

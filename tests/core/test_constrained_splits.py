"""Splits under conditions: groups whole, locks kept, strata spread, labels weighed; small ones against all splits."""

from __future__ import annotations

import copy
import itertools
import warnings
from functools import partial

import naive
import numpy as np
import pandas as pd
import pytest
import searches
from hypothesis import assume, given
from hypothesis import strategies as st
from searches import few, few_large_groups
from strategies import conditions_for, count_matrices, sizes_for

from evosplit import EvoSplitError, EvoSplitWarning, LabelCounts, Split, kfold, measure, split
from evosplit.constraints import sizes_around_locks
from evosplit.front import non_dominated
from evosplit.methods import exhaustive
from evosplit.methods.evosplit import landscape
from evosplit.methods.iterative import IterativeStratification
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets

NAMES = ("train", "val", "test")
RATIOS = {"train": 0.7, "val": 0.2, "test": 0.1}
long_tailed = partial(searches.long_tailed, m=120, q=6, seed=1)
SEARCHES = pytest.mark.parametrize("counted", [True, False, None], ids=["counted", "given", "exhaustive"])


def make(counts, ratios, **options):
    """Split with little effort, deaf to warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvoSplitWarning)
        return split(counts, ratios, **{"effort": "fast", **options})


def choose_search(monkeypatch, counted):
    """Take odds against counted totals (True) or given ones (False), or try everything that is small (None)."""
    monkeypatch.setattr(landscape, "COUNTED_COLUMNS", 0 if counted is False else 256)
    monkeypatch.setattr(exhaustive, "MOST_WAYS", 100_000 if counted is None else 0)


def uneven_groups(m=120, n=40, seed=1):
    """Draw a group for each sample; some are large, some of one sample."""
    rng = np.random.default_rng(seed)
    shares = rng.exponential(size=n) + 0.1
    return rng.choice(n, p=shares / shares.sum(), size=m)


def locked_groups(groups, subsets):
    """Lock one of the smaller groups into each of these subsets; give the subset of each sample, -1 if it is free."""
    locked = np.full(len(groups), -1)
    by_size = np.argsort(np.bincount(groups)[np.unique(groups)])
    for j, small in zip(subsets, np.unique(groups)[by_size], strict=False):
        locked[groups == small] = j
    return locked.tolist()


def by_name(locked, names):
    """Turn subset numbers into what `split` takes."""
    return None if locked is None else [None if j < 0 else names[j] for j in locked]


def check_conditions(made, groups=None, locked=None):
    """Check the law at every point of the front: complete, groups whole, locks untouched."""
    m, k = len(made.assignment), len(made.names)
    together = np.concatenate([made.indices(name) for name in made.names])
    assert sorted(together.tolist()) == list(range(m)), "subsets overlap or leave samples out"
    units, fixed = naive.units_of(m, groups, locked)
    for point in (made.assignment, *made.front.assignments):
        assert set(point.tolist()) <= set(range(k))
        for unit, stays in zip(units, fixed, strict=True):
            assert len(set(point[unit].tolist())) == 1, "a group is torn"
            assert stays in (-1, point[unit[0]]), "a locked sample moved"


# --- the law


@st.composite
def requests(draw, max_labels=3):
    """Draw a small set with sizes, groups, locks, strata, weights and needs, each of which may be missing."""
    counts = draw(count_matrices(min_samples=3, max_samples=9, min_labels=1, max_labels=max_labels))
    m = len(counts)
    sizes = draw(sizes_for(m, max_subsets=3))
    groups, locked = draw(conditions_for(m, len(sizes), max_units=6))
    options = {}
    if draw(st.booleans()):
        options["strata"] = {"site": draw(st.lists(st.sampled_from(["a", "b", None]), min_size=m, max_size=m))}
    if draw(st.booleans()):
        options["label_weights"] = {"0": draw(st.floats(0.1, 50))}
    if draw(st.booleans()):
        options["min_per_label"] = draw(st.integers(2, 3))
    return counts, sizes, groups, locked, options


@SEARCHES
@few
@given(drawn=requests(), seed=st.integers(0, 2**32))
def test_law(monkeypatch, counted, drawn, seed):
    """Whatever is asked for: groups whole, locks kept, sizes as close as possible, no NaN, the input untouched."""
    choose_search(monkeypatch, counted)
    counts, sizes, groups, locked, options = drawn
    assume(counts.any())
    names = NAMES[: len(sizes)]
    asked = {"groups": groups, "locked": by_name(locked, names), **options}
    before = copy.deepcopy((counts, asked))
    with np.errstate(all="raise", under="ignore"):
        made = make(counts, dict(zip(names, sizes, strict=True)), seed=seed, **asked)
    assert (counts == before[0]).all()
    assert asked == before[1]
    check_conditions(made, groups, locked)
    assert made.target_sizes == tuple(sizes)
    assert np.isfinite(made.front.objectives).all()
    assert np.isfinite(list(made.measures.to_dict().values())).all()
    str(made.report())

    legal = naive.legal_assignments(len(counts), len(sizes), groups, locked)
    units, fixed = naive.units_of(len(counts), groups, locked)
    held = [sum(len(unit) for unit, j in zip(units, fixed, strict=True) if j == subset) for subset in range(len(sizes))]
    aims = sizes_around_locks(sizes, held)

    def misses(assignment):
        return naive.size_excess(assignment, sizes), naive.size_excess(assignment, aims)

    # As near to what was asked for as can be, then to what was made of it because of locks.
    least = min(misses(assignment) for assignment in legal)
    assert {misses(point.tolist()) for point in made.front.assignments} == {least}
    assert made.measures.ed == pytest.approx(least[0] / len(sizes))
    assert made.best_ed == pytest.approx(made.measures.ed)


@pytest.mark.parametrize("method", ["random", "sois", "is"])
@few
@given(drawn=requests(), seed=st.integers(0, 2**32))
def test_law_of_the_baselines(method, drawn, seed):
    """The other methods keep locks, and a random split groups too; the sizes are the best that there are."""
    counts, sizes, groups, locked, options = drawn
    assume(counts.any())
    options.pop("min_per_label", None)
    if method != "random":
        groups = None
        options.pop("label_weights", None)
    names = NAMES[: len(sizes)]
    asked = {"groups": groups, "locked": by_name(locked, names), **options}
    made = make(counts, dict(zip(names, sizes, strict=True)), method=method, seed=seed, **asked)
    check_conditions(made, groups, locked)
    held = [0 if locked is None else locked.count(j) for j in range(len(sizes))]
    if all(n <= size for n, size in zip(held, sizes, strict=True)) and groups is None:
        assert made.sizes == tuple(sizes)
    legal = naive.legal_assignments(len(counts), len(sizes), groups, locked)
    best = min(naive.size_excess(assignment, sizes) for assignment in legal)
    assert made.best_ed == pytest.approx(best / len(sizes))


def test_groups_without_labels():
    """Where no sample has a label, groups are still whole and the sizes the best."""
    groups = [0, 0, 0, 1, 1, 2, 2, 3, 3]
    with pytest.warns(EvoSplitWarning, match="no sample carries any label"):
        made = split(np.zeros((9, 2)), (5, 4), groups=groups)
    check_conditions(made, groups)
    assert made.sizes == (5, 4)


@SEARCHES
def test_same_seed_same_split(monkeypatch, counted):
    """A seed fixes the split under all conditions at once, whatever the number of threads; another one changes it."""
    choose_search(monkeypatch, counted)
    counts = long_tailed()
    groups = uneven_groups()
    options = {
        "groups": groups,
        "locked": by_name(locked_groups(groups, (2, 0, 2)), NAMES),
        "strata": {"site": [str(i % 3) for i in range(120)]},
        "label_weights": {"2": 4},
        "min_per_label": 2,
    }
    first, second, threads, other = (
        make(counts, RATIOS, seed=seed, n_jobs=n_jobs, **options).front
        for seed, n_jobs in ((3, 1), (3, 1), (3, 2), (4, 1))
    )
    assert (first.assignments == second.assignments).all()
    assert (first.assignments == threads.assignments).all()
    assert first.assignments.tolist() != other.assignments.tolist()


def test_names_of_groups_are_irrelevant():
    """Numbers, texts, tuples, an array, a column: the same partition gives the same split."""
    counts, numbers = long_tailed(), uneven_groups()
    first = make(counts, RATIOS, groups=numbers).assignment
    for groups in (
        [f"video {99 - i}" for i in numbers],
        [("scene", int(i)) for i in numbers],
        pd.Series(numbers).astype("category"),
        (str(i) for i in numbers),
    ):
        assert (make(counts, RATIOS, groups=groups).assignment == first).all()


def test_groups_of_one_are_no_groups():
    """Groups that nobody shares, and locks and strata that are empty, change nothing."""
    counts = long_tailed()
    first = make(counts, RATIOS).assignment
    assert (make(counts, RATIOS, groups=range(120)).assignment == first).all()
    assert (make(counts, RATIOS, groups=[None] * 120).assignment == first).all()
    assert (make(counts, RATIOS, locked={}, strata={}, label_weights={"0": 1}).assignment == first).all()


def test_forms_of_locks_are_irrelevant():
    """Locks by id and locks by sample give the same split."""
    counts = LabelCounts(long_tailed(), ids=[f"{i}.jpg" for i in range(120)])
    locked = {"test": ["7.jpg", "3.jpg"], "val": ["11.jpg"]}
    of_sample = [None] * 120
    of_sample[7] = of_sample[3] = "test"
    of_sample[11] = "val"
    first = make(counts, RATIOS, locked=locked)
    assert (make(counts, RATIOS, locked=of_sample).assignment == first.assignment).all()
    assert set(locked["test"]) <= set(first.ids("test"))
    assert "11.jpg" in first.ids("val")


@pytest.mark.parametrize("seed", range(3))
def test_order_of_samples_is_irrelevant(seed):
    """Permuting the samples keeps the law, the sizes and about the quality."""
    counts, groups = long_tailed(), uneven_groups()
    locked = np.array(locked_groups(groups, (2, 1)))
    order = np.random.default_rng(seed).permutation(120)
    first = make(counts, RATIOS, groups=groups, locked=by_name(locked, NAMES))
    other = make(counts[order], RATIOS, groups=groups[order], locked=by_name(locked[order], NAMES))
    check_conditions(other, groups[order].tolist(), locked[order].tolist())
    assert (first.measures.ed, first.best_ed) == (other.measures.ed, other.best_ed)
    assert other.sizes == first.sizes
    scores = [np.linalg.norm(made.front.objectives[made.chosen] / made.front.reference) for made in (first, other)]
    assert max(scores) <= 3 * min(scores)


def test_kfold_takes_conditions():
    """Folds keep groups whole and locks in their fold."""
    groups = uneven_groups(n=60)
    locked = locked_groups(groups, (2, 2, 0))
    made = kfold(long_tailed(), 4, groups=groups, locked=by_name(locked, [f"fold{j}" for j in range(4)]), effort="fast")
    check_conditions(made, groups.tolist(), locked)
    assert made.sizes == (30, 30, 30, 30)


def test_early_stop_keeps_the_law():
    """A search that is stopped at once still respects everything."""
    counts, groups = long_tailed(m=400), uneven_groups(m=400, n=90)
    locked = locked_groups(groups, (1, 2))
    made = make(
        counts, RATIOS, groups=groups, locked=by_name(locked, NAMES), effort="thorough", on_progress=lambda *_: False
    )
    check_conditions(made, groups.tolist(), locked)
    assert made.measures.ed == made.best_ed == 0
    assert any("stopped early" in note for note in made.notes)


# --- quality


def optimum_under(counts, sizes, groups, locked, needs):
    """Find, among all legal splits of the best sizes, the least lack of labels and, with it, the least LD."""
    k = len(sizes)
    legal = naive.legal_assignments(len(counts), k, groups, locked)
    least = min(naive.size_excess(assignment, sizes) for assignment in legal)
    ranked = []
    for assignment in legal:
        if naive.size_excess(assignment, sizes) == least:
            ld = naive.measures(counts, assignment, k, sizes)["ld"]
            ranked.append((naive.lack_of(counts, assignment, needs, k), ld))
    return min(ranked)


def tiny(seed, m=10, q=3):
    """Draw counts, groups and locks that are small enough to enumerate."""
    rng = np.random.default_rng(seed)
    counts = (rng.random((m, q)) < 0.45).astype(int)
    counts[np.arange(q), np.arange(q)] = 1
    groups = rng.integers(0, 7, size=m).tolist()
    locked = [-1] * m
    first = groups[0]
    for sample in range(m):
        if groups[sample] == first:
            locked[sample] = seed % 2
    return counts, groups, locked


@pytest.mark.parametrize("sizes", [(5, 5), (7, 3), (4, 3, 3)], ids=str)
def test_optimum_of_tiny_sets(monkeypatch, sizes):
    """Also the search reaches the best sizes and the best cover of all splits, and mostly the best LD among those."""
    choose_search(monkeypatch, counted=True)
    names, optimal = NAMES[: len(sizes)], 0
    for seed in range(8):
        counts, groups, locked = tiny(seed)
        made = make(
            counts, dict(zip(names, sizes, strict=True)), groups=groups, locked=by_name(locked, names),
            objectives=("samples",), seed=seed,
        )  # fmt: skip
        lack, ld = optimum_under(counts, sizes, groups, locked, [1] * 3)
        assert made.measures.flz == lack
        assert made.measures.flz_bound <= lack
        assert made.measures.ld >= ld - 1e-9
        optimal += made.measures.ld <= ld + 1e-9
    assert optimal >= 5


@few
@given(drawn=requests())
def test_true_front_of_a_few_groups(drawn):
    """With few groups the front misses no trade-off of all legal splits of the best sizes and cover; no pick does."""
    counts, sizes, groups, locked, options = drawn
    assume(counts.any() and groups is not None)
    names, k = NAMES[: len(sizes)], len(sizes)
    asked = {"groups": groups, "locked": by_name(locked, names), "cover": "all", **options}
    made = make(counts, dict(zip(names, sizes, strict=True)), **asked)
    assume(len(made.constraints.groups) < len(counts))
    assume(not any("locked" in note for note in made.notes))  # overfull: the sizes are fixed beforehand
    subsets = resolve_subsets(list(sizes), len(counts))
    problem = build_problem(LabelCounts(counts), subsets, constraints=made.constraints, cover="all")
    needs = naive.needs_of(counts, sizes, options.get("min_per_label", 1))
    gross, scores = [], []
    for assignment in naive.legal_assignments(len(counts), k, groups, locked):
        gross.append((naive.size_excess(assignment, sizes), naive.lack_of(counts, assignment, needs, k)))
        of_unit = np.zeros(problem.n_units, dtype=np.int64)
        of_unit[problem.unit_of_sample] = assignment
        scores.append(problem.evaluate(problem.column_table(problem.type_table(of_unit))))
    best = [score for score, key in zip(np.round(scores, 9), gross, strict=True) if key == min(gross)]
    found = {tuple(row) for row in np.round(made.front.objectives, 9).tolist()}
    assert found <= {tuple(row) for row in best}
    assert {tuple(best[i]) for i in non_dominated(np.array(best))} <= found
    if "samples" in made.front.objective_names and not (counts > 1).any() and "label_weights" not in options:
        column = made.front.objective_names.index("samples")
        assert made.pick("ld").measures.ld == pytest.approx(min(row[column] for row in best))


@pytest.mark.parametrize("seed", range(3, 9))
def test_search_comes_near_to_all_ways(monkeypatch, seed):
    """Without trying every way the search finds the same sizes, nothing better, and nothing worse than chance."""
    counts, groups = few_large_groups(seed)
    made = []
    for counted in (None, True):
        choose_search(monkeypatch, counted)
        made.append(make(counts, (0.6, 0.2, 0.2), groups=groups, pick="ld"))
    assert made[1].measures.ed == made[0].measures.ed
    assert made[0].measures.ld - 1e-12 <= made[1].measures.ld <= made[1].front.reference[0]


@SEARCHES
@pytest.mark.parametrize("seed", range(6))
def test_cover_at_its_bound(monkeypatch, counted, seed):
    """No split of the front leaves more empty cells than the best of all legal ones must."""
    choose_search(monkeypatch, counted)
    counts, groups, locked = tiny(seed + 50)
    made = make(counts, dict(zip(NAMES, (4, 3, 3), strict=True)), groups=groups, locked=by_name(locked, NAMES))
    fewest, _ = optimum_under(counts, (4, 3, 3), groups, locked, [1] * 3)
    assert [measure(counts, point).flz for point in made.front.assignments] == [fewest] * len(made.front)


@pytest.mark.parametrize("seed", range(3))
def test_better_than_random_group_splits(seed):
    """What is spread is far better than in random group splits, on average, with exact sizes."""
    counts, groups = long_tailed(m=600, seed=seed), uneven_groups(m=600, n=150, seed=seed)
    made = make(counts, RATIOS, groups=groups, seed=seed)
    drawn = [make(counts, RATIOS, groups=groups, method="random", seed=s).measures for s in range(25)]
    assert made.measures.ed == 0
    parts = {"ld": 0.6, "ld_occurrences": 0.6, "lpd": 0.7, "lpd_occurrences": 0.9, "rld": 0.7}
    for name, part in parts.items():
        assert getattr(made.measures, name) < part * np.mean([getattr(one, name) for one in drawn]), name


@pytest.mark.parametrize("seed", range(2))
def test_videos_in_small_subsets(monkeypatch, seed):
    """Where frames of a video are alike, given totals too serve better than random splits, on average."""
    choose_search(monkeypatch, counted=False)
    rng = np.random.default_rng(seed)
    shares = rng.lognormal(0, 1, 250)
    groups = rng.choice(250, p=shares / shares.sum(), size=2000)
    shown = rng.random((250, 15)) < 0.7 / np.arange(1, 16)
    counts = (shown[groups] & (rng.random((2000, 15)) < 0.8)).astype(int)
    drawn = [make(counts, (0.8, 0.1, 0.1), groups=groups, method="random", seed=s).measures for s in range(25)]
    for objectives, parts in (
        (("pairs",), {"lpd": 0.9, "lpd_occurrences": 0.95}),
        (None, {"ld": 0.5, "lpd": 0.95, "lpd_occurrences": 0.95, "rld": 0.7}),
    ):
        made = make(counts, (0.8, 0.1, 0.1), groups=groups, objectives=objectives, effort="normal")
        for name, part in parts.items():
            by_chance = np.mean([getattr(one, name) for one in drawn])
            assert getattr(made.measures, name) < part * by_chance, (objectives, name)


def test_groups_beside_overfull_locks():
    """Where locks overfill a subset, groups come as near as they can to the sizes asked for, not to an even share."""
    counts = np.ones((22, 1), dtype=int)
    groups = [0] * 7 + [1] * 7 + [2] * 8
    made = make(counts, {"train": 14, "val": 6, "test": 2}, groups=groups, locked={"test": [14]})
    assert made.sizes == (14, 0, 8)  # 7 each would be nearer to the even share of 10 and 4
    assert made.measures.ed == made.best_ed == 4


def test_new_data_joins_an_old_split():
    """New samples join a locked split: no old one moves, the whole has the ratios and is balanced."""
    counts = long_tailed(m=300)
    old = make(counts[:200], RATIOS, method="random")
    locked = [old.names[j] for j in old.assignment] + [None] * 100
    made = make(counts, RATIOS, locked=locked)
    assert (made.assignment[:200] == old.assignment).all()
    assert made.sizes == (210, 60, 30)
    by_chance = make(counts, RATIOS, locked=locked, method="random")
    assert made.measures.ld < 0.5 * by_chance.measures.ld


def test_everything_locked():
    """With every sample locked there is nothing to do, and nothing changes."""
    counts = long_tailed(m=30)
    for groups in (None, [i // 2 for i in range(30)]):
        locked = [NAMES[i // 10] for i in range(30)]
        made = make(counts, (10, 10, 10), groups=groups, locked=locked)
        assert made.assignment.tolist() == [i // 10 for i in range(30)]


# --- strata


COLUMNS = {
    "weather": [("wet", "dry", "dry", None)[i % 4] for i in range(120)],
    "night": [i % 7 == 0 for i in range(120)],
}


@pytest.mark.parametrize("groups", [None, "uneven"])
def test_strata_are_measured(groups):
    """The objective "strata" is the mean over the strata of how unevenly their categories are spread."""
    groups = None if groups is None else uneven_groups()
    made = make(long_tailed(), RATIOS, strata=COLUMNS, groups=groups)
    assert made.front.objective_names == ("samples", "instances", "pairs", "strata")
    assert [stratum.name for stratum in made.constraints.strata] == ["weather", "night"]
    for scores, point in zip(made.front.objectives, made.front.assignments, strict=True):
        expected = naive.strata_distribution(COLUMNS.values(), point.tolist(), 3)
        assert scores[3] == pytest.approx(expected)
        measured = measure(long_tailed(), point)
        assert scores[:3] == pytest.approx([measured.ld, measured.ld_occurrences, measured.lpd])


def test_strata_are_spread():
    """Strata come out far better than by chance, and much better than if nobody had asked."""
    counts = long_tailed(m=400)
    columns = {"site": [f"site {i * i % 11}" for i in range(400)], "age": np.random.default_rng(0).normal(size=400)}
    made = make(counts, RATIOS, strata=columns)
    assert made.front.objectives[made.chosen, 3] < 0.3 * made.front.reference[3]
    bins = [stratum.counts.matrix.toarray().argmax(axis=1).tolist() for stratum in made.constraints.strata]
    asked, unasked = (
        naive.strata_distribution(bins, one.assignment.tolist(), 3) for one in (made, make(counts, RATIOS))
    )
    assert asked < 0.5 * unasked


def test_counted_strata():
    """Counts such as boxes by size are spread like labels: by their occurrences."""
    rng = np.random.default_rng(2)
    areas = rng.integers(0, 4, size=(120, 3))
    made = make(long_tailed(), RATIOS, strata={"area": LabelCounts(areas, labels=["small", "medium", "large"])})
    for scores, point in zip(made.front.objectives, made.front.assignments, strict=True):
        table = naive.subset_tables(areas, point.tolist(), 3)[2]
        assert scores[3] == pytest.approx(naive.distribution(table, np.sum(table, axis=0).tolist()))


def test_strata_without_labels():
    """Where no sample has a label the strata alone are spread, without a word about nothing to balance."""
    column = ["a"] * 30 + ["b"] * 20 + ["c"] * 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = split(np.zeros((60, 1)), (30, 20, 10), strata={"site": column}, effort="fast")
    table = pd.crosstab(pd.Series(column), made.assignment).to_numpy()
    assert np.abs(table - np.outer([30, 20, 10], [0.5, 1 / 3, 1 / 6])).max() < 1


def test_chosen_objectives_keep_the_strata():
    """Strata are an objective whatever the others are; naming them gives the order."""
    column = {"site": [str(i % 3) for i in range(120)]}
    assert make(long_tailed(), RATIOS, strata=column, objectives=["pairs"]).front.objective_names == ("pairs", "strata")
    made = make(long_tailed(), RATIOS, strata=column, objectives=["strata", "samples"])
    assert made.front.objective_names == ("strata", "samples")


# --- labels


def test_label_weights_are_measured():
    """Weighted labels weigh more in the averages; a pair weighs as much as the heavier of its labels."""
    counts, weights = long_tailed(), [1.0, 5.0, 1.0, 0.5, 1.0, 1.0]
    made = make(counts, RATIOS, label_weights={"1": 5, "3": 0.5})
    assert made.settings["label_weights"] == {"1": 5.0, "3": 0.5}
    pairs = [max(weights[a], weights[b]) for a, b in naive.label_pairs(counts)]
    for scores, point in zip(made.front.objectives, made.front.assignments, strict=True):
        sizes, samples, instances, with_pair = naive.subset_tables(counts, point.tolist(), 3)
        expected = [
            naive.weighted_distribution(samples, sizes, weights),
            naive.weighted_distribution(instances, np.sum(instances, axis=0).tolist(), weights),
            naive.weighted_distribution(with_pair, sizes, pairs),
        ]
        assert scores == pytest.approx(expected)


def test_label_weights_matter():
    """Labels that weigh more come out better, those that weigh less worse, on average."""
    deviation = {weight: [] for weight in (0.05, 1.0, 50.0)}
    for seed, weight in itertools.product(range(4), deviation):
        counts = np.random.default_rng(seed).integers(0, 2, size=(40, 16))
        made = make(counts, RATIOS, label_weights={"4": weight}, objectives=("samples",), seed=seed)
        sizes, samples, _, _ = naive.subset_tables(counts, made.assignment.tolist(), 3)
        deviation[weight].append(naive.distribution([samples[4]], sizes))
    light, usual, heavy = (np.mean(values) for values in deviation.values())
    assert heavy <= usual <= light
    assert heavy < light


@SEARCHES
@pytest.mark.parametrize("groups", [None, "uneven"])
def test_min_per_label(monkeypatch, counted, groups):
    """Every subset gets as many samples of a label as asked for, or as there are for all."""
    choose_search(monkeypatch, counted)
    counts = np.hstack([long_tailed(m=300), np.zeros((300, 3), dtype=int)])
    rare = np.random.default_rng(4).permutation(300)[:25]
    counts[rare[:15], 6] = counts[rare[15:23], 7] = counts[rare[23:], 8] = 1
    if groups is not None:
        groups = uneven_groups(m=300, n=100).tolist()
        for sample in rare:  # their groups would decide where they can go
            groups[sample] = None
    made = make(counts, RATIOS, min_per_label=4, groups=groups)
    for point in made.front.assignments:
        samples = np.array(naive.subset_tables(counts, point.tolist(), 3)[1])
        assert samples[:7].min() >= 4
        assert samples[7].min() == 8 // 3
        assert samples[8].max() == 1
    without = make(counts, RATIOS)
    assert min(np.array(naive.subset_tables(counts, without.assignment.tolist(), 3)[1])[6]) < 4


def test_a_minimum_that_does_not_fit_costs_no_label_its_place():
    """Asked for more of each label than the smallest subset can hold, none is lost that fewer keep; a note says so."""
    counts = np.hstack([long_tailed(m=200), np.zeros((200, 1), dtype=int)])
    counts[:9, -1] = 1
    for least in (2, 8, 19, 1000):
        made = make(counts, {"train": 0.8, "val": 0.1, "test": 0.1}, min_per_label=least, effort="fast")
        assert np.array(naive.subset_tables(counts, made.assignment.tolist(), 3)[1]).min() >= 1
        lowered = max(naive.needs_of(counts, made.sizes, least))
        said = (
            f"min_per_label={least} is lowered to {lowered}: a subset of 20 samples cannot hold more of every label "
            "that has so many."
        )
        assert [note for note in made.notes if "lowered" in note] == ([said] if least == 1000 else [])


@pytest.mark.parametrize("seed", range(6))
def test_every_label_gets_a_part_of_a_minimum_that_does_not_fit(seed):
    """No label pays for the others: each gets a third of what it needs in every subset (0.57 or more in 60 tries)."""
    counts = np.random.default_rng(seed).random((150, 12)) < np.linspace(0.05, 0.6, 12)
    counts = counts[:, counts.sum(axis=0) > 2].astype(int)
    made = make(counts, (120, 15, 15), min_per_label=100, effort="fast")
    needs = np.array(naive.needs_of(counts, made.sizes, 100))
    samples = np.array(naive.subset_tables(counts, made.assignment.tolist(), 3)[1])
    assert (samples / needs[:, None]).min() >= 1 / 3


# --- what is said


def test_overfull_locks_are_reported():
    """Locks beyond a subset's size are reported with by how much; the others share what is left."""
    counts = long_tailed(m=100)
    with pytest.warns(EvoSplitWarning, match="25 samples are locked into 'test', 15 more than the 10 asked for"):
        made = split(counts, RATIOS, locked={"test": range(25)}, effort="fast")
    assert made.sizes == (58, 17, 25)
    assert made.target_sizes == (70, 20, 10)
    assert made.notes[0] == (
        "25 samples are locked into 'test', 15 more than the 10 asked for; the others share the rest."
    )
    assert made.measures.ed == made.best_ed == pytest.approx(10)


def test_locks_may_leave_nothing_for_others():
    """Where locks leave a subset without any sample the rest is still split, without a division by zero."""
    counts = long_tailed(m=12, q=3)
    for method, groups in (("evosplit", None), ("evosplit", [i // 2 for i in range(12)]), ("sois", None)):
        with np.errstate(all="raise", under="ignore"):
            made = make(counts, (10, 1, 1), locked={"test": range(11)}, method=method, groups=groups)
        assert made.sizes[2] >= 11
        assert sum(made.sizes) == 12
        assert np.isfinite(made.front.objectives).all()


def test_large_groups_are_named():
    """Groups that fit into one subset only, or into none, are named before the search."""
    groups = ["long"] * 40 + ["b"] * 12 + [f"g{i}" for i in range(48)]
    with pytest.warns(EvoSplitWarning, match="group 'long' has 40 samples, more than every subset but 'train'"):
        made = split(long_tailed(m=100), (60, 30, 10), groups=groups, effort="fast")
    assert made.notes == ("group 'long' has 40 samples, more than every subset but 'train'.",)
    assert made.sizes == (60, 30, 10)
    assert set(made.assignment[:40]) == {0}
    with pytest.warns(
        EvoSplitWarning, match="'long' has 40 samples, more than every subset; the sizes asked for cannot"
    ):
        made = split(long_tailed(m=100), (35, 35, 30), groups=groups, effort="fast")
    assert made.measures.ed == made.best_ed == pytest.approx(10 / 3)


def test_many_large_groups_are_counted():
    """Only the first few large groups are named."""
    groups = [i // 10 for i in range(100)]
    made = make(long_tailed(m=100), (90, 5, 5), groups=groups, cover=False)
    assert len(made.notes) == 6
    assert made.notes[4] == "group 4 has 10 samples, more than every subset but 'train'."
    assert made.notes[5] == "5 further groups are as large."


def test_locked_groups_are_not_complained_about():
    """A large group that is locked is no surprise; nor is anything said where all goes well."""
    groups = ["long"] * 40 + list(range(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = split(long_tailed(m=100), (60, 30, 10), groups=groups, locked={"train": [0]}, effort="fast")
    assert made.notes == ()


def test_split_tells_its_conditions(tmp_path):
    """The settings record what was asked for, the measures know what is possible, the manifest the best ED."""
    groups = [0, 0, 0, 1, 1, 2, 2, 3]
    counts = np.zeros((8, 2), dtype=int)
    counts[:3, 0] = counts[3:, 1] = 1
    made = make(
        counts, (4, 4), groups=groups, locked={"test": [7]}, strata={"s": list("aabbaabb")}, min_per_label=2,
        label_weights={"0": 3},
    )  # fmt: skip
    asked = {"groups": 4, "locked": 1, "strata": ["s"], "min_per_label": 2, "label_weights": {"0": 3.0}}
    assert {name: made.settings[name] for name in asked} == asked
    assert made.measures.flz_bound == 1  # the first label is in one group only
    assert measure(counts, made.assignment).flz_bound == 0
    assert len(made.constraints.groups) == 4
    assert (made.constraints.n_locked, made.constraints.min_per_label) == (1, 2)
    odd = make(counts, (4, 4), groups=[0] * 5 + [1] * 3)
    assert odd.measures.ed == odd.best_ed == 1
    odd.save(tmp_path / "split.json")
    assert Split.load(tmp_path / "split.json").best_ed == 1
    assert make(counts, (4, 4)).constraints is None
    assert make(counts, (4, 4)).best_ed == 0


def test_pick_keeps_the_conditions():
    """Another point of the front carries the same constraints and the same best ED."""
    groups = uneven_groups()
    made = make(long_tailed(), RATIOS, groups=groups)
    other = made.pick("lpd")
    assert other.constraints is made.constraints
    assert other.best_ed == made.best_ed
    check_conditions(other, groups.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "nsga2", "groups": [0] * 8}, "method='nsga2' knows no groups; use method='evosplit', or leave"),
        ({"method": "ea-ld", "locked": {"test": [0]}}, "method='ea-ld' knows no locked; .* leave out locked="),
        ({"method": "ea-lpd", "strata": {"s": list("abababab")}}, "method='ea-lpd' knows no strata"),
        ({"method": "sois", "groups": [0] * 8}, "method='sois' knows no groups"),
        ({"method": "is", "label_weights": {"0": 2}}, "method='is' knows no label weights"),
        ({"method": "random", "min_per_label": 2}, "method='random' knows no min per label"),
        (
            {"method": IterativeStratification(order=1), "groups": [0] * 8},
            r"IterativeStratification\(order=1, as_published=False\) knows no groups; use method='evosplit'",
        ),
        ({"objectives": ["strata"]}, "objectives= names 'strata', but there are none; pass strata="),
        ({"groups": [1, 2]}, "groups has 2 values for 8 samples"),
        (
            {"groups": [0, 0, *range(1, 7)], "locked": {"train": [0], "test": [1]}},
            r"1 group is locked into more than one subset \(0; the first into 'train' and 'test'\)",
        ),
        ({"locked": {"test": [8]}}, r"locked\['test'\] names 1 id that the data set does not have \(8\)"),
        ({"locked": {"val": [1]}}, "locked names the subset 'val'; the subsets are 'train', 'test'"),
        ({"min_per_label": 0}, "min_per_label=0 is no minimum"),
        ({"label_weights": {"x": 2}}, "label_weights= names the label 'x'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refused(options, message):
    """What a method cannot do and what contradicts itself is refused, before any search."""

    def never(*_):
        raise AssertionError("the search has begun")

    with pytest.raises(EvoSplitError, match=message):
        split(np.eye(8, 2, dtype=int), (4, 4), on_progress=never, **options)

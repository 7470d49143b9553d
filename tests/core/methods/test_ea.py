"""The paper's single-objective algorithm: its operators, its fitness, its runs."""

from __future__ import annotations

import itertools

import joblib
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from evosplit import EvoSplitError, LabelCounts, kfold, split
from evosplit.methods import incremental_counts
from evosplit.methods.base import Run
from evosplit.methods.ea import EvolutionaryAlgorithm, _Pool
from evosplit.methods.operators import Genetics
from evosplit.problem import build_problem
from evosplit.ratios import fold_subsets, resolve_subsets
from evosplit.rng import Stream

OBJECTIVES = ("samples", "instances", "pairs")
TINY = np.array([[1, 0, 0], [1, 1, 0], [2, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 3], [0, 0, 1], [1, 1, 0], [0, 1, 1]])


def long_tailed(m=150, q=12, seed=0):
    """Draw labels from frequent to rare, the rarest in fewer samples than there are folds."""
    rng = np.random.default_rng(seed)
    return (rng.random((m, q)) < 0.6 / np.arange(1, q + 1) ** 1.3) * rng.integers(1, 3, size=(m, q))


def genetics_for(counts, sizes, *, objectives=OBJECTIVES, cover=False, rate=0.01):
    """Build the operators for a problem."""
    counts = LabelCounts(counts)
    problem = build_problem(counts, resolve_subsets(list(sizes), counts.n_samples), objectives=objectives, cover=cover)
    return Genetics(problem, objectives, rate)


def sizes_of(population, k):
    """Count the units in each subset of each individual."""
    return [np.bincount(genes, minlength=k).tolist() for genes in population]


@settings(max_examples=50)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_repair_makes_sizes_exact_with_the_fewest_moves(problem, seed):
    """A repaired individual has the exact sizes, and only what was too much has moved."""
    counts, sizes = problem
    genetics, rng = genetics_for(counts, sizes), np.random.default_rng(seed)
    broken = rng.integers(0, len(sizes), size=(5, len(counts))).astype(np.int8)
    repaired = genetics.repair(broken, rng)
    assert sizes_of(repaired, len(sizes)) == [sizes] * 5
    for before, after in zip(broken, repaired, strict=True):
        surplus = np.bincount(before, minlength=len(sizes)) - sizes
        assert (before != after).sum() == surplus[surplus > 0].sum()
        assert (surplus[before[before != after]] > 0).all()
    assert (genetics.repair(repaired, rng) == repaired).all()


def test_repair_moves_any_unit_to_any_place():
    """The repair is random: every unit of the full subset may move, to every subset that lacks one."""
    genetics, rng = genetics_for(np.ones((6, 1)), (2, 2, 2)), np.random.default_rng(0)
    broken = np.tile(np.array([0, 0, 0, 0, 1, 2], dtype=np.int8), (200, 1))
    moved = {(unit, int(after[unit])) for after in genetics.repair(broken, rng) for unit in range(4)}
    assert moved == {(unit, j) for unit in range(4) for j in range(3)}


@pytest.mark.parametrize("seed", range(5))
def test_cover_repair_spreads_every_label(seed):
    """After the repair a label with k samples is in all k subsets, a rarer one in as many as it has samples."""
    counts = long_tailed(seed=seed)
    sizes = fold_subsets(10, len(counts)).sizes
    genetics = genetics_for(counts, sizes, cover=True)
    drawn = genetics.draw(20, np.random.default_rng(seed))
    assert sizes_of(drawn, 10) == [list(sizes)] * 20
    for genes in drawn:
        for label in range(counts.shape[1]):
            reached = set(genes[counts[:, label] > 0].tolist())
            assert len(reached) == min(10, (counts[:, label] > 0).sum())


@settings(max_examples=40)
@given(problem=problems(max_samples=7, max_subsets=3), seed=st.integers(0, 2**32))
def test_cover_repair_finds_the_least_flz(problem, seed):
    """On data small enough to enumerate, the repair leaves as few empty label-subset combinations as possible."""
    counts, sizes = problem
    genes = genetics_for(counts, sizes, cover=True).draw(1, np.random.default_rng(seed))[0]
    _, samples, _, _ = naive.subset_tables(counts, genes.tolist(), len(sizes))
    assert sum(count == 0 for row in samples for count in row) == naive.fewest_empty_cells(counts, sizes)


def test_crossover_joins_head_and_tail():
    """A child is the first parent up to one cut and the second from there on; any cut inside is possible."""
    genetics, rng = genetics_for(np.ones((5, 1)), (3, 2)), np.random.default_rng(0)
    first, second = np.zeros((100, 5), np.int8), np.ones((100, 5), np.int8)
    children = genetics.cross_over(first, second, rng)
    assert (np.diff(children, axis=1) >= 0).all()
    assert set(children.sum(axis=1).tolist()) == {1, 2, 3, 4}
    assert not first.any()
    assert second.all()


@pytest.mark.parametrize(("rate", "expected"), [(0.01, 2), (0.0, 1), (0.1, 20), (1.0, 200)])
def test_mutation_reassigns_a_share_of_the_genes(rate, expected):
    """A mutation changes exactly the share of the genes, at least one, each to another subset; parents stay."""
    genetics, rng = genetics_for(long_tailed(m=200), (100, 60, 40), rate=rate), np.random.default_rng(0)
    parents = genetics.draw(4000, rng)
    before = parents.copy()
    mutants = genetics.mutate(parents, rng)
    assert (parents == before).all()
    assert ((mutants != parents).sum(axis=1) == expected).all()
    assert (mutants != parents).any(axis=0).all(), "some gene is never mutated"
    assert set(mutants.ravel().tolist()) == {0, 1, 2}


@settings(max_examples=40)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_population_is_scored_as_the_measures_say(problem, seed):
    """The fitness of each individual is the measure of its split, for every objective."""
    counts, sizes = problem
    genetics = genetics_for(counts, sizes)
    population = genetics.draw(4, np.random.default_rng(seed))
    for scores, genes in zip(genetics.score(population), population, strict=True):
        expected = naive.measures(counts, genes.tolist(), len(sizes), sizes)
        assert scores == pytest.approx([expected[name] for name in ("ld", "ld_occurrences", "lpd")])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_children_are_scored_by_what_they_changed(objective):
    """The fitness that follows the changes of many generations equals the fitness computed afresh, to the last bit."""
    counts, rng = long_tailed(), np.random.default_rng(0)
    everything = genetics_for(counts, (50, 50, 50))
    genetics = Genetics(everything.problem, (objective,), 0.02)
    pool = _Pool(genetics, genetics.draw(6, rng), 4)
    for _ in range(30):
        first, second = pool.ranked[rng.integers(6, size=(2, 4))]
        children = genetics.cross_over(pool.genes[first], pool.genes[second], rng)
        pool.replace_worst(np.stack((first, second), axis=1), genetics.repair(genetics.mutate(children, rng), rng))
        fitness = genetics.score(pool.genes[pool.ranked])[:, 0]
        assert fitness[0] == pool.best
        assert (np.diff(fitness) >= 0).all()


@pytest.mark.parametrize("method", ["ea-lpd", "nsga2"])
def test_same_result_without_room_for_incremental_counts(method, monkeypatch):
    """Where the incremental_counts of a population would not fit in memory, the result is the same."""
    with_incremental_counts = kfold(long_tailed(), 5, method=method, objectives=("instances", "pairs"), effort="fast")
    monkeypatch.setattr(incremental_counts, "MAX_ENTRIES", 0)
    assert not incremental_counts.IncrementalCounts(genetics_for(TINY, (5, 4)), 70)._tables.size
    without = kfold(long_tailed(), 5, method=method, objectives=("instances", "pairs"), effort="fast")
    assert (with_incremental_counts.assignment == without.assignment).all()


@pytest.mark.parametrize("method", ["ea-ld", "ea-lpd"])
def test_finds_the_optimum_of_a_tiny_set(method):
    """The best of all splits, known by enumeration, is found."""
    sizes, best = (3, 3, 3), np.inf
    measure = "ld_occurrences" if method == "ea-ld" else "lpd_occurrences"
    for ones in itertools.combinations(range(1, 9), 2):  # sample 0 is in subset 0: subsets are interchangeable
        rest = [sample for sample in range(1, 9) if sample not in ones]
        for twos in itertools.combinations(rest[1:], 2):
            assignment = np.full(9, 2)
            assignment[[0, *ones]] = 0
            assignment[[rest[0], *twos]] = 1
            best = min(best, naive.measures(TINY, assignment.tolist(), 3, sizes)[measure])
    made = split(TINY, sizes, method=method, objectives=("instances", "pairs"), cover=False)
    assert getattr(made.measures, measure) == pytest.approx(best)


def test_each_method_minimises_its_own_measure():
    """In labels "ea-ld" is better, in label pairs "ea-lpd"."""
    counts = long_tailed(m=300, q=6)
    ld, lpd = (kfold(counts, 5, method=method, objectives=OBJECTIVES).measures for method in ("ea-ld", "ea-lpd"))
    assert ld.ld_occurrences < lpd.ld_occurrences
    assert lpd.lpd_occurrences < ld.lpd_occurrences


def test_defaults_are_the_papers():
    """Every default is the value that the paper states."""
    method = EvolutionaryAlgorithm()
    assert (method.population, method.crossovers, method.mutations) == (50, 10, 10)
    assert (method.mutation_rate, method.patience, method.restarts) == (0.01, 25, 5)


def test_run_ends_when_patience_does():
    """Where nothing can improve, a run takes one generation more than its patience."""
    heard = []
    method = EvolutionaryAlgorithm(patience=7, restarts=3)
    split(np.ones((8, 1)), (4, 4), method=method, objectives=("instances",), on_progress=lambda *r: heard.append(r))
    assert [message.split(":")[0] for _, message in heard[:-1]] == [
        f"run {i} of 3" for i in (1, 2, 3) for _ in range(8)
    ]
    assert heard[-1] == (1.0, "done")


def run_of(counts, method, *, seed=0, **options):
    """Solve a problem directly; return the fitness of what was found."""
    problem = build_problem(LabelCounts(counts), fold_subsets(5, len(counts)), objectives=("instances",))
    run = Run(Stream(seed), **options)
    genes = method.solve(problem, run).assignments[0]
    return float(problem.evaluate(problem.column_table(problem.type_table(genes)))[0]), run


def test_best_of_several_runs():
    """Five runs are at least as good as their first one, and "thorough" as "normal"."""
    counts = long_tailed()
    fitness = [run_of(counts, EvolutionaryAlgorithm(), effort=effort)[0] for effort in ("fast", "normal", "thorough")]
    assert sorted(fitness, reverse=True) == fitness
    assert fitness[2] < fitness[0]


def test_more_patience_is_no_worse():
    """A run that waits longer continues the shorter one."""
    counts = long_tailed()
    short, long = (run_of(counts, EvolutionaryAlgorithm(patience=patience, restarts=1))[0] for patience in (5, 50))
    assert long < short


def test_same_result_in_threads_and_processes():
    """Neither n_jobs nor the joblib backend of the caller changes the result."""
    counts, method = long_tailed(), EvolutionaryAlgorithm(restarts=3)
    alone = split(counts, (0.5, 0.5), method=method, objectives=("instances",), n_jobs=1)
    threads = split(counts, (0.5, 0.5), method=method, objectives=("instances",), n_jobs=2)
    heard = []
    with joblib.parallel_config(backend="loky", n_jobs=2):
        processes = split(
            counts, (0.5, 0.5), method=method, objectives=("instances",), on_progress=lambda *r: heard.append(r)
        )
        _, run = run_of(counts, EvolutionaryAlgorithm(patience=10**6, restarts=2), time_limit=1.0)
    assert (alone.assignment == threads.assignment).all()
    assert (alone.assignment == processes.assignment).all()
    assert heard == [(1.0, "done")]
    assert "time limit of 1 s" in run.stopped


def test_stopping_leaves_out_what_has_not_begun():
    """Once told to stop, no further run begins, and the best so far is returned."""
    heard = []

    def stop_in_second_run(done, message):
        heard.append(message)
        return not message.startswith("run 2")

    made = split(long_tailed(), (0.8, 0.2), method="ea-ld", objectives=("instances",), on_progress=stop_in_second_run)
    assert made.sizes == (120, 30)
    assert sum(message.startswith("run 2") for message in heard) == 1
    assert not any(message.startswith("run 3") for message in heard)
    assert any("stopped early on request" in note for note in made.notes)


@pytest.mark.parametrize("generations", [1, 20])
def test_stopping_returns_the_best_so_far(generations):
    """The split that is returned is the one whose fitness was reported last."""
    heard = []

    def stop(done, message):
        heard.append(message)
        return len(heard) < generations

    made = split(long_tailed(), (0.8, 0.2), method="ea-ld", objectives=("instances",), on_progress=stop)
    assert len(heard) == generations
    assert heard[-1] == f"run 1 of 5: best {made.measures.ld_occurrences:.3g}"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"population": 1}, "population is 1; give an integer of at least 2"),
        ({"patience": 0}, "patience is 0; give an integer of at least 1"),
        ({"restarts": 2.5}, "restarts is 2.5; give an integer of at least 1"),
        ({"crossovers": -1}, "crossovers is -1; give an integer of at least 0"),
        ({"crossovers": 0, "mutations": 0}, "a generation needs at least one child"),
        ({"mutation_rate": 1.5}, "mutation_rate is 1.5; give a share of the genes between 0 and 1"),
        ({"mutation_rate": float("nan")}, "mutation_rate is nan"),
    ],
)
def test_bad_parameters(parameters, message):
    """A parameter with which no run is possible is refused by name."""
    with pytest.raises(EvoSplitError, match=message):
        EvolutionaryAlgorithm(**parameters)


def test_objective_has_to_be_asked_for():
    """Minimising what the split does not ask for is an error that says so."""
    with pytest.raises(
        EvoSplitError, match="the method minimises 'pairs', but objectives is \\('samples',\\); add 'pairs'"
    ):
        split(long_tailed(), (0.5, 0.5), method="ea-lpd", objectives=("samples",))

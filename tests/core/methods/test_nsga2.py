"""The paper's multi-objective algorithm on pymoo and the many-objective variant."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import binary_tournament
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from evosplit import EvoSplitError, LabelCounts, kfold, split
from evosplit.measures import triplet_distribution
from evosplit.methods import nsga2
from evosplit.methods.nsga2 import NSGA2
from evosplit.methods.operators import Genetics
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets

PAPERS = ("instances", "pairs")
TINY = np.array([[1, 0, 0], [1, 1, 0], [2, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 3], [0, 0, 1], [1, 1, 0]])


def labels(m=120, q=6, seed=0):
    """Draw labels that often go together."""
    rng = np.random.default_rng(seed)
    present = rng.random((m, q)) < 0.6 / np.arange(1, q + 1)
    present[:, 1] |= present[:, 3] & (rng.random(m) < 0.8)
    return present.astype(int)


def dominated(point, others):
    """Tell whether some other point is as good in everything and better in something."""
    return any((other <= point).all() and (other < point).any() for other in others)


def first_population(counts, method, objectives=PAPERS):
    """Draw a first, evaluated population."""
    counts = LabelCounts(counts)
    problem = build_problem(counts, resolve_subsets((0.5, 0.3, 0.2), counts.n_samples), objectives=objectives)
    genetics = Genetics(problem, objectives, method.mutation_rate)
    selection = nsga2._Crowding() if len(objectives) <= 2 else nsga2._Niches(nsga2._directions(len(objectives), 50))
    return nsga2._Pool(genetics, method, selection, np.random.default_rng(0)), genetics


def test_defaults_are_the_papers():
    """Population, children and stop rule are those of the single-objective algorithm."""
    method = NSGA2()
    assert (method.population, method.crossovers, method.mutations) == (50, 10, 10)
    assert (method.mutation_rate, method.patience, method.restarts) == (0.01, 25, 5)


def test_front_is_not_dominated():
    """No point of the front dominates another one, and each is what its assignment scores."""
    made = kfold(labels(), 5, method="nsga2", objectives=PAPERS, effort="fast")
    assert len(made.front) > 1
    for at, point in enumerate(made.front.objectives):
        assert not dominated(point, made.front.objectives)
        assert made.pick(at).measures.ld_occurrences == pytest.approx(point[0])
        assert made.pick(at).measures.lpd_occurrences == pytest.approx(point[1])


def test_finds_the_whole_front_of_a_tiny_set():
    """All trade-offs, known by enumeration, are found."""
    counts = LabelCounts(TINY)
    problem = build_problem(counts, resolve_subsets((5, 3), 8), objectives=PAPERS, cover=False)
    every = np.zeros((56, 8), dtype=np.int8)
    for genes, chosen in zip(every, itertools.combinations(range(8), 3), strict=True):
        genes[list(chosen)] = 1
    scores = Genetics(problem, PAPERS, 0.01).score(every)
    best = np.unique([point for point in scores if not dominated(point, scores)], axis=0)
    made = split(TINY, (5, 3), method="nsga2", objectives=PAPERS, cover=False)
    assert made.front.objectives == pytest.approx(best)


@pytest.mark.parametrize("objectives", [PAPERS, (*PAPERS, "triplets")])
def test_same_seed_same_front(objectives):
    """A seed fixes the whole front, whatever the number of threads; another seed gives another one."""
    counts, method = labels(m=60), NSGA2(restarts=2, patience=5)
    first, again, threads, other = (
        split(counts, (0.6, 0.4), method=method, objectives=objectives, seed=seed, n_jobs=n_jobs).front
        for seed, n_jobs in ((1, 1), (1, 1), (1, 2), (2, 1))
    )
    assert (first.assignments == again.assignments).all()
    assert (first.assignments == threads.assignments).all()
    assert first.assignments.shape != other.assignments.shape or (first.assignments != other.assignments).any()


def test_origin_picks_the_nearest():
    """`pick="origin"` takes the point with the least Euclidean distance to the origin."""
    made = kfold(labels(), 5, method="nsga2", objectives=PAPERS, effort="fast", pick="origin")
    distances = (made.front.objectives**2).sum(axis=1)
    assert distances[made.chosen] == distances.min()


def test_cover_holds_on_the_whole_front():
    """With `cover` every label reaches every subset at every point of the front; without it some do not."""
    counts = labels(q=10)
    assert (counts.sum(axis=0) >= 5).all()
    made = kfold(counts, 5, method="nsga2", objectives=PAPERS, effort="fast")
    assert all(made.pick(at).measures.flz == 0 for at in range(len(made.front)))
    method = NSGA2(patience=1, restarts=1)
    loose = [kfold(counts, 5, method=method, objectives=PAPERS, cover=False, seed=seed) for seed in range(5)]
    assert any(made.pick(at).measures.flz > 0 for made in loose for at in range(len(made.front)))


@pytest.mark.parametrize(("crossovers", "mutations"), [(10, 10), (0, 18), (18, 0)])
def test_children_by_crossover_and_by_mutation(crossovers, mutations):
    """A generation has as many children as asked for, distinct, new, of exact size; mutants are near a parent."""
    method = NSGA2(crossovers=crossovers, mutations=mutations, mutation_rate=0)
    pool, genetics = first_population(labels(), method)
    parents = pool._counts.genes[pool._rows]
    children = np.array(list(pool._breed()[0].values()))
    assert len({row.tobytes() for row in (*parents, *children)}) == 50 + crossovers + mutations
    assert (np.apply_along_axis(np.bincount, 1, children) == genetics.problem.sizes).all()
    # A mutant differs from its parent in the mutated gene and in the one that repairs the sizes.
    mutants = [min((parent != child).sum() for parent in parents) == 2 for child in children]
    assert sum(mutants) >= mutations - (1 if crossovers else 0), "a mutant that equals its parent is bred anew"


@pytest.mark.parametrize("objectives", [PAPERS, (*PAPERS, "triplets")])
def test_new_individuals_are_evaluated(objectives):
    """The scores of the survivors are those of their genes, also after many generations."""
    pool, genetics = first_population(labels(), NSGA2(), objectives)
    for _ in range(20):
        assert pool.next_generation()
    assert len(pool._rows) == 50
    assert (pool._scores == genetics.score(pool._counts.genes[pool._rows])).all()
    assert pool.front == {tuple(point) for point in pool._scores if not dominated(point, pool._scores)}
    assert (pool.best == pool._counts.genes[pool._rows[: len(pool.best)]]).all()


def test_tournament_and_survival_are_pymoos():
    """Parents and survivors are those that pymoo's own NSGA-II chooses, with the same chance.

    But for the last of them that are equally crowded: which of these it takes, pymoo leaves to the CPU's way to sort.
    """
    unconstrained = Problem(n_obj=2)
    for seed in range(15):
        ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        scores = ours.integers(12, size=(70, 2)).astype(float)
        theirs.integers(12, size=(70, 2))
        selection = nsga2._Crowding()
        chosen, n_best = selection.survive(scores, 50, ours)
        everyone = Population.new("F", scores, "at", np.arange(70), "CV", np.zeros((70, 1)))
        survivors = RankAndCrowding().do(unconstrained, everyone, n_survive=50, random_state=theirs)
        ranks = NonDominatedSorting().do(scores, return_rank=True)[1][chosen]
        assert (ranks[:n_best] == 0).all()
        assert (ranks[n_best:] > 0).all()
        found = []
        for at, rank, crowding in (
            (chosen, ranks, selection._distances),
            survivors.get("at", "rank", "crowding"),
        ):
            ranked = list(zip(rank.tolist(), (-crowding).tolist(), at.tolist(), strict=True))
            last = max(one[:2] for one in ranked)
            found.append(sorted((*one[:2], one[2] if one[:2] < last else None) for one in ranked))
        assert found[0] == found[1]

        pairs = ours.integers(50, size=(60, 2))
        theirs = np.random.default_rng()
        theirs.bit_generator.state = ours.bit_generator.state
        same = Population.new("F", scores[chosen], "crowding", selection._distances, "rank", ranks)
        algorithm = SimpleNamespace(tournament_type="comp_by_dom_and_crowding", random_state=theirs)
        assert (selection.compare(pairs, ours) == binary_tournament(same, pairs, algorithm)[:, 0]).all()


def test_run_ends_when_the_front_no_longer_changes():
    """Where nothing can improve, a run ends after its patience; every generation is reported."""
    heard = []
    counts = np.tile([[1, 0], [0, 1]], (10, 1))
    method = NSGA2(patience=6, restarts=1)
    made = split(counts, (10, 10), method=method, objectives=("instances",), on_progress=lambda *r: heard.append(r))
    assert made.front.objectives.tolist() == [[0.0]]
    first = next(at for at, (_, message) in enumerate(heard) if message.endswith("nearest to the origin 0"))
    assert len(heard[first:-1]) == 1 + 6
    assert heard[-1] == (1.0, "done")


def test_stopping_returns_the_front_so_far():
    """Stopped in its tenth generation, a run returns what it has found until then."""
    heard = []

    def stop_at_ten(done, message):
        heard.append(message)
        return len(heard) < 10

    made = kfold(labels(), 5, method="nsga2", objectives=PAPERS, pick="origin", on_progress=stop_at_ten)
    nearest = np.linalg.norm(made.front.objectives[made.chosen])
    assert len(heard) == 10
    assert heard[-1] == f"run 1 of 5: front of {len(made.front)}, nearest to the origin {nearest:.3g}"
    assert any("stopped early on request" in note for note in made.notes)


def test_many_objectives():
    """Labels, pairs and triplets are spread together by U-NSGA-III: every objective is well below a random split's."""
    counts = labels(m=200)
    made = kfold(counts, 4, method="nsga2", objectives=("instances", "pairs", "triplets"), effort="fast")
    assert not any(dominated(point, made.front.objectives) for point in made.front.objectives)
    for point, assignment in zip(made.front.objectives, made.front.assignments, strict=True):
        assert point[2] == pytest.approx(triplet_distribution(counts, assignment))
    assert (made.front.objectives.min(axis=0) < 0.7 * made.front.reference).all()


def test_papers_objectives_are_the_default():
    """Without objectives the front is one of instances and pairs."""
    assert kfold(labels(m=40), 2, method="nsga2", effort="fast").front.objective_names == PAPERS


@pytest.mark.parametrize(("n_objectives", "population"), [(3, 50), (4, 50), (5, 20), (3, 3), (6, 4)])
def test_reference_directions_fit_the_population(n_objectives, population):
    """There are never more reference directions than individuals, except for one per objective."""
    directions = nsga2._directions(n_objectives, population)
    assert len(directions) <= max(population, n_objectives)
    assert directions.sum(axis=1) == pytest.approx(1)


def test_bad_parameters():
    """A parameter with which no run is possible is refused by name."""
    with pytest.raises(EvoSplitError, match="population is 0; give an integer of at least 2"):
        NSGA2(population=0)


def test_more_objectives_than_individuals():
    """Fewer individuals than objectives are refused."""
    with pytest.raises(EvoSplitError, match="population is 3, fewer than the 4 objectives; give at least 4"):
        kfold(labels(m=40), 2, method=NSGA2(population=3), objectives=("samples", "instances", "pairs", "triplets"))


def test_nothing_is_printed(capfd):
    """A run with as few individuals as objectives prints nothing."""
    kfold(labels(m=40), 2, method=NSGA2(population=3, restarts=1), objectives=(*PAPERS, "triplets"))
    assert capfd.readouterr() == ("", "")

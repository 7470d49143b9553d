"""The paper's second approach (section 4): NSGA-II on pymoo, and U-NSGA-III for more than two objectives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pymoo.algorithms.moo import nsga2, unsga3
from pymoo.config import Config
from pymoo.core.algorithm import Algorithm
from pymoo.core.crossover import Crossover
from pymoo.core.duplicate import DuplicateElimination
from pymoo.core.evaluator import Evaluator
from pymoo.core.individual import Individual
from pymoo.core.mating import Mating
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.core.termination import Termination
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
from pymoo.util.ref_dirs import get_reference_directions

from evosplit.errors import EvoSplitError
from evosplit.methods.base import Run, Solution
from evosplit.methods.incremental_counts import IncrementalCounts
from evosplit.methods.operators import Genetics, check_settings, share_done
from evosplit.methods.restarts import Watch, run_restarts
from evosplit.problem import SplitProblem

__all__ = ["NSGA2"]

Genes = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class NSGA2:
    """Evolve a front of trade-offs between all objectives with pymoo's NSGA-II; the fronts of several runs are joined.

    Operators and numbers are those of `EvolutionaryAlgorithm`; parents are chosen by NSGA-II's tournament, and no two
    individuals of a population are alike. The best individuals are those that no other one dominates: a run ends when
    they have not changed for `patience` generations. ``pick="origin"`` takes the point of the front that the paper
    takes. With more than two objectives, such as ``objectives=("instances", "pairs", "triplets")``, pymoo's
    U-NSGA-III takes the place of NSGA-II.

    The defaults are the values that the paper states; ``mutation_rate=0`` comes closer to the results that it prints.

    Parameters
    ----------
    population
        Individuals in the population.
    crossovers, mutations
        Children made by crossover and by mutation in a generation.
    mutation_rate
        The share of the genes that a mutation reassigns to another subset; one gene at least.
    patience
        Generations without a change of the front after which a run ends.
    restarts
        Independent runs, whose fronts are joined.

    Examples
    --------
    >>> import evosplit
    >>> made = evosplit.split([[1, 1], [1, 1], [1, 0], [1, 0]], (0.5, 0.5), method="nsga2", pick="origin")
    >>> made.front.objectives.tolist()
    [[0.0, 0.0]]
    """

    population: int = 50
    crossovers: int = 10
    mutations: int = 10
    mutation_rate: float = 0.01
    patience: int = 25
    restarts: int = 5

    default_objectives: ClassVar[tuple[str, ...]] = ("instances", "pairs")

    def __post_init__(self) -> None:
        check_settings(self)

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Return the fronts of all runs."""
        if len(problem.objectives) > max(self.population, 2):
            raise EvoSplitError(
                f"population is {self.population}, fewer than the {len(problem.objectives)} objectives; "
                f"give at least {len(problem.objectives)}"
            )
        genetics = Genetics(problem, problem.objectives, self.mutation_rate)
        fronts = run_restarts(partial(_evolve, self, genetics), self.restarts, run)
        return Solution([genes for front in fronts for genes in front])


def _evolve(method: NSGA2, genetics: Genetics, restart: int, seed: int, watch: Watch) -> Genes:
    """Run the algorithm once; return the individuals that no other one dominates."""
    Config.warnings["not_compiled"] = False  # a library prints nothing
    algorithm = _algorithm(method, genetics)
    algorithm.setup(_PopulationProblem(genetics), termination=_Patience(method.patience, restart, watch), seed=seed)
    with np.errstate(all="ignore"):  # pymoo divides by spans that may be 0, and mends what comes of it
        algorithm.run()
    survivors = algorithm.pop
    first = NonDominatedSorting().do(survivors.get("F"), only_non_dominated_front=True)
    genes: Genes = survivors[first].get("X")
    return genes


def _algorithm(method: NSGA2, genetics: Genetics) -> Algorithm:
    n_objectives, children = len(genetics.objectives), method.crossovers + method.mutations
    if n_objectives <= 2:
        kind: type[Algorithm] = _Unconstrained
        extra: dict[str, Any] = {"survival": _RankAndCrowding()}
        compare = _by_dominance_and_crowding
    else:
        kind, extra = unsga3.UNSGA3, {"ref_dirs": _directions(n_objectives, method.population)}
        compare = unsga3.comp_by_rank_and_ref_line_dist
    selection = TournamentSelection(func_comp=compare)
    repair, distinct = _Repair(), _Distinct()
    mating = _Breeding(
        selection,
        _OnePointCrossover(),
        _Reassignment(),
        crossed=method.crossovers / children,
        repair=repair,
        eliminate_duplicates=distinct,
        n_max_iterations=10,
    )
    return kind(
        pop_size=method.population,
        n_offsprings=children,
        sampling=_RandomSplits(),
        selection=selection,
        mating=mating,
        repair=repair,
        eliminate_duplicates=distinct,
        evaluator=_ByChanges(IncrementalCounts(genetics, method.population + children)),
        output=None,
        **extra,
    )


class _Unconstrained(nsga2.NSGA2):  # type: ignore[misc]  # pymoo publishes no types
    """NSGA-II where every individual is feasible, so none is asked."""

    def _set_optimum(self, **kwargs: Any) -> None:
        self.opt = self.pop[[individual.data["rank"] == 0 for individual in self.pop]]


class _RankAndCrowding(RankAndCrowding):  # type: ignore[misc]
    """NSGA-II's survival, with fewer detours to the individuals than pymoo's own."""

    def _do(
        self,
        problem: _PopulationProblem,
        pop: Population,
        *args: Any,
        n_survive: int,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Population:
        scores = np.array([individual.F for individual in pop])
        survivors: list[Rows] = []
        left = n_survive
        for rank, front in enumerate(self.nds.do(scores, n_stop_if_ranked=n_survive)):
            surplus = max(0, len(front) - left)
            crowding = self.crowding_func.do(scores[front], n_remove=surplus)
            for at, distance in zip(front, crowding, strict=True):
                pop[at].data.update(rank=rank, crowding=distance)
            if surplus:
                # Ties by chance; an unstable sort would break them as the CPU has it.
                shuffled = random_state.permutation(len(front))
                front = front[shuffled[np.argsort(-crowding[shuffled], kind="stable")[:-surplus]]]
            survivors.append(front)
            left -= len(front)
        return pop[np.concatenate(survivors)]


def _by_dominance_and_crowding(pop: Population, pairs: Rows, random_state: np.random.Generator, **kwargs: Any) -> Rows:
    """Let of two individuals the one win that dominates, else the one in the emptier place, else chance.

    This is pymoo's binary tournament without constraints, for all pairs at once.
    """
    scores = np.array([individual.F for individual in pop])
    crowding = np.array([individual.data["crowding"] for individual in pop])
    first, second = pairs.T
    ahead = (scores[first] < scores[second]).any(axis=1)
    behind = (scores[first] > scores[second]).any(axis=1)
    undecided = ahead == behind
    ahead[undecided] = crowding[first[undecided]] > crowding[second[undecided]]
    behind[undecided] = crowding[first[undecided]] < crowding[second[undecided]]
    undecided = ahead == behind
    ahead[undecided] = random_state.integers(2, size=undecided.sum()) == 0
    winners: Rows = np.where(ahead, first, second)[:, np.newaxis]
    return winners


def _directions(n_objectives: int, population: int) -> Floats:
    """Spread at most as many reference directions as there are individuals evenly over the objectives."""
    partitions = 1
    while True:
        finer = get_reference_directions("das-dennis", n_objectives, n_partitions=partitions + 1)
        if len(finer) > population:
            break
        partitions += 1
    directions: Floats = get_reference_directions("das-dennis", n_objectives, n_partitions=partitions)
    return directions


class _PopulationProblem(Problem):  # type: ignore[misc]  # pymoo publishes no types
    """The split problem as pymoo sees it: one integer variable per unit, whole populations evaluated at once."""

    def __init__(self, genetics: Genetics) -> None:
        self.genetics = genetics
        split = genetics.problem
        super().__init__(n_var=split.n_units, n_obj=len(genetics.objectives), xl=0, xu=split.k - 1, vtype=int)

    def _evaluate(self, x: Genes, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        out["F"] = self.genetics.score(x)


class _ByChanges(Evaluator):  # type: ignore[misc]
    """Evaluates children by what they changed in the parents that `_Breeding` has noted."""

    def __init__(self, incremental_counts: IncrementalCounts) -> None:
        super().__init__()
        self.incremental_counts = incremental_counts
        self.children = np.empty(0, dtype=np.intp)

    def _eval(
        self,
        problem: _PopulationProblem,
        pop: Population,
        evaluate_values_of: Any,
        *,
        algorithm: Algorithm,
        **kwargs: Any,
    ) -> None:
        genes = np.array([individual.X for individual in pop])
        if len(algorithm.pop) == 0:
            rows = np.arange(len(pop))
            scores = self.incremental_counts.place(genes)
        else:
            alive = np.zeros(len(self.incremental_counts.genes), dtype=np.bool_)
            alive[[individual.data["row"] for individual in algorithm.pop]] = True
            self.incremental_counts.adopt(self.children[alive[self.children]])
            rows = np.flatnonzero(~alive)[: len(pop)]
            parents = np.array([individual.data["parents"] for individual in pop])
            scores = self.incremental_counts.breed(rows, parents, genes)
            self.children = rows
        for individual, row, score in zip(pop, rows, scores, strict=True):
            individual.F = score
            individual.data["row"] = row
            individual.evaluated.update(evaluate_values_of)


class _RandomSplits(Sampling):  # type: ignore[misc]
    """Random splits of exact size."""

    def _do(
        self,
        problem: _PopulationProblem,
        n_samples: int,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Genes:
        return problem.genetics.draw(n_samples, random_state)


class _OnePointCrossover(Crossover):  # type: ignore[misc]
    """Two parents, one cut, one child."""

    def __init__(self) -> None:
        super().__init__(n_parents=2, n_offsprings=1, prob=1.0)

    def _do(
        self,
        problem: _PopulationProblem,
        x: Genes,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Genes:
        return problem.genetics.cross_over(x[0], x[1], random_state)[np.newaxis]


class _Reassignment(Mutation):  # type: ignore[misc]
    """A share of the genes get another subset."""

    def _do(
        self,
        problem: _PopulationProblem,
        x: Genes,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Genes:
        return problem.genetics.mutate(x, random_state)


class _Repair(Repair):  # type: ignore[misc]
    """Exact sizes and, if the problem asks for it, covered labels."""

    def _do(self, problem: _PopulationProblem, x: Genes, *, random_state: np.random.Generator, **kwargs: Any) -> Genes:
        return problem.genetics.repair(x, random_state)


class _Breeding(Mating):  # type: ignore[misc]
    """Children by crossover and children by mutation side by side, where pymoo's own mating mutates what it crossed."""

    def __init__(self, *args: Any, crossed: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.crossed = crossed

    def do(
        self,
        problem: _PopulationProblem,
        pop: Population,
        n_offsprings: int,
        *,
        random_state: np.random.Generator,
        algorithm: Algorithm,
        **kwargs: Any,
    ) -> Population:
        """Breed individuals that are unlike each other and all of the population.

        The operators are handed matrices of genes. pymoo's own loop wraps and unwraps every individual between any two
        of them, which takes longer than the operators themselves.
        """
        options = {"random_state": random_state, "algorithm": algorithm, **kwargs}
        rows = np.array([individual.data["row"] for individual in pop])
        seen = {_code(individual) for individual in pop}
        children: list[Individual] = []
        for _ in range(self.n_max_iterations):
            bred, parents = self._breed(problem, pop, rows, n_offsprings - len(children), options)
            for genes, couple in zip(self.repair._do(problem, bred, **options), parents, strict=True):
                child = Individual(X=genes.copy(), parents=couple)
                if _code(child) not in seen:
                    seen.add(_code(child))
                    children.append(child)
            if len(children) == n_offsprings:
                break
        return Population.create(*children)

    def _breed(
        self, problem: _PopulationProblem, pop: Population, rows: Rows, n: int, options: dict[str, Any]
    ) -> tuple[Genes, Rows]:
        """Return the genes of n children, not repaired, and the rows of their parents."""
        genes, random_state = options["algorithm"].evaluator.incremental_counts.genes, options["random_state"]
        n_crossed = round(self.crossed * n)
        bred, parents = [], []
        # pymoo lets chance decide whether an operator is applied; here each always is, but the numbers are drawn.
        if n_crossed:
            couples = rows[self.selection(problem, pop, n_crossed, n_parents=2, to_pop=False, **options)]
            random_state.random(n_crossed)
            bred.append(self.crossover._do(problem, genes[couples.T], **options)[0])
            parents.append(couples)
        if n_crossed < n:
            chosen = rows[self.selection(problem, pop, n - n_crossed, n_parents=1, to_pop=False, **options)]
            bred.append(self.mutation._do(problem, genes[chosen[:, 0]], **options))
            random_state.random(n - n_crossed)
            parents.append(chosen[:, [0, 0]])
        return np.concatenate(bred), np.concatenate(parents)


def _code(individual: Individual) -> bytes:
    """Return the genes as bytes, kept with the individual: they no longer change, and bytes keep their hash."""
    if "code" not in individual.data:
        individual.data["code"] = individual.X.tobytes()
    code: bytes = individual.data["code"]
    return code


class _Distinct(DuplicateElimination):  # type: ignore[misc]
    """Drops individuals whose genes equal those of another one."""

    def _do(
        self, pop: Population, other: Population | None, is_duplicate: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        seen = set() if other is None else {_code(individual) for individual in other}
        for at, individual in enumerate(pop):
            code = _code(individual)
            is_duplicate[at] = code in seen
            if other is None:
                seen.add(code)
        return is_duplicate


class _Patience(Termination):  # type: ignore[misc]
    """Ends a run whose front no longer changes, or that is asked to stop; reports every generation."""

    def __init__(self, patience: int, restart: int, watch: Watch) -> None:
        super().__init__()
        self.patience, self.restart, self.watch = patience, restart, watch
        self.front: set[tuple[float, ...]] = set()
        self.stale = 0

    def _update(self, algorithm: Algorithm) -> float:
        front = {tuple(individual.F) for individual in algorithm.opt}
        self.stale = self.stale + 1 if front == self.front else 0
        self.front = front
        nearest = min(math.hypot(*point) for point in front)
        message = f"front of {len(front)}, nearest to the origin {nearest:.3g}"
        goes_on = self.watch(self.restart, share_done(algorithm.n_iter - 1, self.patience), message)
        return 0.0 if goes_on and self.stale <= self.patience else 1.0

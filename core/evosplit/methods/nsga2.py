"""The paper's second approach (section 4): NSGA-II on pymoo, and U-NSGA-III for more than two objectives."""

from __future__ import annotations

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

from evosplit.methods.base import Run, Solution
from evosplit.methods.operators import Genetics, check_settings, share_done
from evosplit.methods.restarts import Watch, run_restarts
from evosplit.problem import SplitProblem

__all__ = ["NSGA2"]

Genes = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]


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
        genetics = Genetics(problem, problem.objectives, self.mutation_rate)
        fronts = run_restarts(partial(_evolve, self, genetics), self.restarts, run)
        return Solution([genes for front in fronts for genes in front])


def _evolve(method: NSGA2, genetics: Genetics, restart: int, seed: int, watch: Watch) -> Genes:
    """Run the algorithm once; return the individuals that no other one dominates."""
    Config.warnings["not_compiled"] = False  # a library prints nothing
    algorithm = _algorithm(method, len(genetics.objectives))
    algorithm.setup(_PopulationProblem(genetics), termination=_Patience(method.patience, restart, watch), seed=seed)
    with np.errstate(all="ignore"):  # pymoo divides by spans that may be 0, and mends what comes of it
        algorithm.run()
    survivors = algorithm.pop
    first = NonDominatedSorting().do(survivors.get("F"), only_non_dominated_front=True)
    genes: Genes = survivors[first].get("X")
    return genes


def _algorithm(method: NSGA2, n_objectives: int) -> Algorithm:
    if n_objectives <= 2:
        kind, extra = nsga2.NSGA2, {"survival": RankAndCrowding()}
        compare = nsga2.binary_tournament
    else:
        kind, extra = unsga3.UNSGA3, {"ref_dirs": _directions(n_objectives, method.population)}
        compare = unsga3.comp_by_rank_and_ref_line_dist
    selection = TournamentSelection(func_comp=compare)
    repair, distinct = _Repair(), _Distinct()
    mating = _Breeding(
        selection,
        _OnePointCrossover(),
        _Reassignment(),
        crossed=method.crossovers / (method.crossovers + method.mutations),
        repair=repair,
        eliminate_duplicates=distinct,
        n_max_iterations=10,
    )
    return kind(
        pop_size=method.population,
        n_offsprings=method.crossovers + method.mutations,
        sampling=_RandomSplits(),
        selection=selection,
        mating=mating,
        repair=repair,
        eliminate_duplicates=distinct,
        output=None,
        **extra,
    )


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
        first, second = np.ascontiguousarray(x[0]), np.ascontiguousarray(x[1])
        return problem.genetics.cross_over(first, second, random_state)[np.newaxis]


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

    def _do(
        self,
        problem: _PopulationProblem,
        pop: Population,
        n_offsprings: int,
        parents: Any = None,
        random_state: np.random.Generator | None = None,
        **kwargs: Any,
    ) -> Population:
        n_crossed = round(self.crossed * n_offsprings)
        children = Population.empty()
        if n_crossed:
            couples = self.selection(problem, pop, n_crossed, n_parents=2, random_state=random_state, **kwargs)
            children = self.crossover(problem, couples, random_state=random_state, **kwargs)
        if n_crossed < n_offsprings:
            chosen = self.selection(
                problem, pop, n_offsprings - n_crossed, n_parents=1, random_state=random_state, **kwargs
            )
            # New individuals: a copy of an evaluated one would never be evaluated again.
            copies = Population.new(X=chosen[:, 0].get("X"))
            children = Population.merge(children, self.mutation(problem, copies, random_state=random_state, **kwargs))
        return children


class _Distinct(DuplicateElimination):  # type: ignore[misc]
    """Drops individuals whose genes equal those of another one."""

    def _do(
        self, pop: Population, other: Population | None, is_duplicate: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        seen = set() if other is None else {individual.X.tobytes() for individual in other}
        for at, individual in enumerate(pop):
            code = individual.X.tobytes()
            is_duplicate[at] = code in seen
            if other is None:
                seen.add(code)
        return is_duplicate


class _Patience(Termination):  # type: ignore[misc]
    """Ends a run whose front no longer changes, or that is asked to stop; reports every generation."""

    def __init__(self, patience: int, restart: int, watch: Watch) -> None:
        super().__init__()
        self.patience, self.restart, self.watch = patience, restart, watch
        self.front, self.stale = np.empty((0, 0)), 0

    def _update(self, algorithm: Algorithm) -> float:
        front = np.unique(algorithm.opt.get("F"), axis=0)
        self.stale = self.stale + 1 if np.array_equal(front, self.front) else 0
        self.front = front
        nearest = np.linalg.norm(front, axis=1).min()
        message = f"front of {len(front)}, nearest to the origin {nearest:.3g}"
        goes_on = self.watch(self.restart, share_done(algorithm.n_iter - 1, self.patience), message)
        return 0.0 if goes_on and self.stale <= self.patience else 1.0

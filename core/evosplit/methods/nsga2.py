"""The paper's second approach (section 4): NSGA-II on pymoo, and U-NSGA-III for more than two objectives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from pymoo.algorithms.moo.nsga3 import ReferenceDirectionSurvival
from pymoo.algorithms.moo.unsga3 import comp_by_rank_and_ref_line_dist
from pymoo.config import Config
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding.metrics import get_crowding_function
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
from pymoo.util.ref_dirs import get_reference_directions

from evosplit.errors import EvoSplitError
from evosplit.methods.base import Run, Solution
from evosplit.methods.incremental_counts import IncrementalCounts
from evosplit.methods.operators import Evolution, Genetics, share_done
from evosplit.methods.restarts import Watch, run_restarts
from evosplit.problem import SplitProblem

__all__ = ["NSGA2"]

Genes = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

BREEDING_ROUNDS = 10  # after which a generation has fewer children: nearly all splits of a tiny data set are known


@dataclass(frozen=True)
class NSGA2(Evolution):
    """Evolve a front of trade-offs between all objectives with pymoo's NSGA-II; the fronts of several runs are joined.

    Operators and numbers are those of `EvolutionaryAlgorithm`; parents are chosen by NSGA-II's tournament, and no two
    individuals of a population are alike. The best individuals are those that no other one dominates: a run ends when
    they have not changed for `patience` generations. ``pick="origin"`` takes the point of the front that the paper
    takes. With more than two objectives, such as ``objectives=("instances", "pairs", "triplets")``, pymoo's
    U-NSGA-III takes the place of NSGA-II.

    The defaults are the values that the paper states; ``mutation_rate=0`` comes closer to the results that it prints.

    Parameters
    ----------
    population, crossovers, mutations, mutation_rate, restarts
        As for `EvolutionaryAlgorithm`; the fronts of all runs are joined.
    patience
        Generations without a change of the front after which a run ends.

    Examples
    --------
    >>> import evosplit
    >>> made = evosplit.split([[1, 1], [1, 1], [1, 0], [1, 0]], (0.5, 0.5), method="nsga2", pick="origin")
    >>> made.front.objectives.tolist()
    [[0.0, 0.0]]
    """

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
    rng = np.random.default_rng(seed)
    n_objectives = len(genetics.objectives)
    selection: _Selection = _Crowding() if n_objectives <= 2 else _Niches(_directions(n_objectives, method.population))
    pool = _Pool(genetics, method, selection, rng)
    generation = stale = 0
    front = pool.front
    while stale <= method.patience:
        nearest = min(math.hypot(*point) for point in front)
        message = f"front of {len(front)}, nearest to the origin {nearest:.3g}"
        if not watch(restart, share_done(generation, method.patience), message) or not pool.next_generation():
            break
        generation += 1
        stale = stale + 1 if pool.front == front else 0
        front = pool.front
    return pool.best


class _Pool:
    """The population, and the next generations of it."""

    def __init__(self, genetics: Genetics, method: NSGA2, selection: _Selection, rng: np.random.Generator) -> None:
        self._genetics, self._method, self._selection, self._rng = genetics, method, selection, rng
        n_rows = method.population + method.crossovers + method.mutations
        self._counts = IncrementalCounts(genetics, n_rows)
        # Of each row; the genes of an individual never change, and bytes keep their hash.
        self._codes = [b""] * n_rows
        drawn = {genes.tobytes(): genes for genes in genetics.draw(method.population, rng)}
        self._codes[: len(drawn)] = drawn
        self._scores = self._counts.place(np.array(list(drawn.values())))
        self._rows = np.arange(len(drawn))
        self._survive()

    @property
    def front(self) -> set[tuple[float, ...]]:
        """The scores of the individuals that no other one dominates."""
        return {tuple(scores) for scores in self._scores[: self._n_best].tolist()}

    @property
    def best(self) -> Genes:
        """The genes of the individuals that no other one dominates."""
        genes: Genes = self._counts.genes[self._rows[: self._n_best]]
        return genes

    def next_generation(self) -> bool:
        """Let the best of parents and children survive; return whether there were children."""
        children, parents = self._breed()
        if not children:
            return False
        free = np.setdiff1d(np.arange(len(self._codes)), self._rows)[: len(children)]
        for row, code in zip(free, children, strict=True):
            self._codes[row] = code
        scores = self._counts.breed(free, np.array(parents), np.array(list(children.values())))
        self._rows = np.concatenate((self._rows, free))
        self._scores = np.concatenate((self._scores, scores))
        self._survive()
        self._counts.adopt(np.intersect1d(free, self._rows))
        return True

    def _survive(self) -> None:
        survivors, self._n_best = self._selection.survive(self._scores, self._method.population, self._rng)
        self._rows, self._scores = self._rows[survivors], self._scores[survivors]

    def _breed(self) -> tuple[dict[bytes, Genes], list[Rows]]:
        """Return children unlike each other and all of the population, and the rows of the parents of each."""
        seen = {self._codes[row] for row in self._rows}
        children: dict[bytes, Genes] = {}
        parents: list[Rows] = []
        wanted = self._method.crossovers + self._method.mutations
        for _ in range(BREEDING_ROUNDS):
            missing = wanted - len(children)
            crossed = round(self._method.crossovers / wanted * missing)
            couples = np.concatenate((self._winners(crossed, 2), self._winners(missing - crossed, 1)[:, [0, 0]]))
            first, second = self._counts.genes[couples[:crossed].T]
            bred = np.concatenate(
                (
                    self._genetics.cross_over(first, second, self._rng),
                    self._genetics.mutate(self._counts.genes[couples[crossed:, 0]], self._rng),
                )
            )
            for genes, couple in zip(self._genetics.repair(bred, self._rng), couples, strict=True):
                code = genes.tobytes()
                if code not in seen and code not in children:
                    children[code] = genes
                    parents.append(couple)
            if len(children) == wanted:
                break
        return children, parents

    def _winners(self, n: int, each: int) -> Rows:
        """Choose n times as many parents as a child needs, each by a tournament of two; return their rows."""
        n_alive = len(self._rows)
        rounds = math.ceil(2 * n * each / n_alive)
        drawn = self._rng.permuted(np.tile(np.arange(n_alive), (rounds, 1)), axis=1)
        pairs = drawn.ravel()[: 2 * n * each].reshape(-1, 2)
        winners: Rows = self._rows[self._selection.compare(pairs, self._rng)].reshape(n, each)
        return winners


class _Selection(Protocol):
    """Decides which individuals survive, and which of two survivors becomes a parent."""

    def survive(self, scores: Floats, n: int, rng: np.random.Generator) -> tuple[Rows, int]:
        """Return the n best, the non-dominated ones first, and the number of the latter."""
        ...

    def compare(self, pairs: Rows, rng: np.random.Generator) -> Rows:
        """Return the winner of each pair; survivors are numbered in the order of `survive`."""
        ...


class _Crowding:
    """NSGA-II: by dominance, then by the distance to the neighbours on the front."""

    def survive(self, scores: Floats, n: int, rng: np.random.Generator) -> tuple[Rows, int]:
        measure = get_crowding_function("cd")
        survivors: list[Rows] = []
        distances: list[Floats] = []
        left = n
        for front in NonDominatedSorting().do(scores, n_stop_if_ranked=n):
            surplus = max(0, len(front) - left)
            distance = measure.do(scores[front], n_remove=surplus)
            if surplus:
                # Ties by chance; an unstable sort, such as pymoo's, would break them as the CPU has it.
                shuffled = rng.permutation(len(front))
                kept = shuffled[np.argsort(-distance[shuffled], kind="stable")[:-surplus]]
                front, distance = front[kept], distance[kept]
            survivors.append(front)
            distances.append(distance)
            left -= len(front)
        chosen = np.concatenate(survivors)
        self._scores, self._distances = scores[chosen], np.concatenate(distances)
        return chosen, len(survivors[0])

    def compare(self, pairs: Rows, rng: np.random.Generator) -> Rows:
        first, second = pairs.T
        ahead = (self._scores[first] < self._scores[second]).any(axis=1)
        behind = (self._scores[first] > self._scores[second]).any(axis=1)
        undecided = ahead == behind
        ahead[undecided] = self._distances[first[undecided]] > self._distances[second[undecided]]
        behind[undecided] = self._distances[first[undecided]] < self._distances[second[undecided]]
        undecided = ahead == behind
        ahead[undecided] = rng.integers(2, size=undecided.sum()) == 0
        winners: Rows = np.where(ahead, first, second)
        return winners


class _Niches:
    """U-NSGA-III: by dominance, then by how near and how crowded the reference direction is."""

    def __init__(self, directions: Floats) -> None:
        self._survival = ReferenceDirectionSurvival(directions)
        self._problem = Problem(n_obj=directions.shape[1])

    def survive(self, scores: Floats, n: int, rng: np.random.Generator) -> tuple[Rows, int]:
        everyone = Population.new("F", scores, "at", np.arange(len(scores)))
        with np.errstate(all="ignore"):  # pymoo divides by ranges that may be 0, and corrects the result
            self._population = self._survival.do(self._problem, everyone, n_survive=n, random_state=rng)
        return self._population.get("at"), int((self._population.get("rank") == 0).sum())

    def compare(self, pairs: Rows, rng: np.random.Generator) -> Rows:
        winners: Rows = comp_by_rank_and_ref_line_dist(self._population, pairs, random_state=rng)[:, 0]
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

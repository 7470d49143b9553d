"""The paper's first approach (section 3): a single-objective evolutionary algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.errors import EvoSplitError
from evosplit.methods.base import Run, Solution
from evosplit.methods.incremental_counts import IncrementalCounts
from evosplit.methods.operators import Evolution, Genetics, share_done
from evosplit.methods.restarts import Watch, run_restarts
from evosplit.problem import SplitProblem

__all__ = ["EvolutionaryAlgorithm"]

Genes = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EvolutionaryAlgorithm(Evolution):
    """Evolve a population of splits towards the least deviation in one objective; best of several runs.

    In every generation `crossovers` children are made by one-point crossover and `mutations` by mutation, of parents
    drawn by their rank. All are repaired to the exact sizes (and to cover the labels, if the problem asks for it), and
    the best of parents and children survive. "ea-ld" is this method with ``objective="instances"`` (LD', Eq. 2),
    "ea-lpd" with ``objective="pairs"`` (LPD over occurrences).

    The defaults are the values that the paper states. Smaller steps and a longer wait,
    ``mutation_rate=0, patience=100``, reach the results that it prints.

    Parameters
    ----------
    objective
        What to minimise: one of the objectives of the split.
    population
        Individuals in the population, n.
    crossovers, mutations
        Children made by crossover and by mutation in a generation, c and m.
    mutation_rate
        The share of the genes that a mutation reassigns to another subset; one gene at least.
    patience
        Generations without a better best individual after which a run ends, gen_max.
    restarts
        Independent runs; the best result is taken.

    Examples
    --------
    >>> import evosplit
    >>> method = EvolutionaryAlgorithm(objective="pairs", restarts=2)
    >>> evosplit.split([[1, 1], [1, 1], [1, 0], [1, 0]], (0.5, 0.5), method=method).measures.lpd
    0.0
    """

    objective: str = "instances"

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Return the best individual of all runs."""
        if self.objective not in problem.objectives:
            raise EvoSplitError(
                f"the method minimises {self.objective!r}, but objectives is {problem.objectives}; "
                f"add {self.objective!r}, or leave objectives out"
            )
        genetics = Genetics(problem, (self.objective,), self.mutation_rate)
        results = run_restarts(partial(_evolve, self, genetics), self.restarts, run)
        _, best = min(results, key=lambda result: result[0])
        return Solution([best])


def _evolve(
    method: EvolutionaryAlgorithm, genetics: Genetics, restart: int, seed: int, watch: Watch
) -> tuple[float, Genes]:
    """Run the algorithm once; return the fitness and the genes of the best individual."""
    rng = np.random.default_rng(seed)
    n, children = method.population, method.crossovers + method.mutations
    pool = _Pool(genetics, genetics.draw(n, rng), children)
    by_rank = np.arange(n, 0, -1) / (n * (n + 1) / 2)  # linear ranking: the best is n times as likely as the last
    generation = stale = 0
    best = pool.best
    while stale <= method.patience and watch(restart, share_done(generation, method.patience), f"best {best:.3g}"):
        first, second = pool.ranked[rng.choice(n, size=(2, children), p=by_rank)]
        crossed = slice(0, method.crossovers)
        mutated = slice(method.crossovers, children)
        second[mutated] = first[mutated]
        bred = np.concatenate(
            (
                genetics.cross_over(pool.genes[first[crossed]], pool.genes[second[crossed]], rng),
                genetics.mutate(pool.genes[first[mutated]], rng),
            )
        )
        pool.replace_worst(np.stack((first, second), axis=1), genetics.repair(bred, rng))
        generation += 1
        stale = 0 if pool.best < best else stale + 1
        best = pool.best
    return best, pool.genes[pool.ranked[0]].copy()


class _Pool:
    """The population, ranked, and space for the children."""

    def __init__(self, genetics: Genetics, individuals: Genes, children: int) -> None:
        n = len(individuals)
        self._incremental_counts = IncrementalCounts(genetics, n + children)
        self._fitness = np.zeros(n + children)
        self._fitness[:n] = self._incremental_counts.place(individuals)[:, 0]
        self.ranked = np.argsort(self._fitness[:n], kind="stable")
        self._free = np.arange(n, n + children)

    @property
    def genes(self) -> Genes:
        """The genes of every row; `ranked` lists the rows of the population."""
        return self._incremental_counts.genes

    @property
    def best(self) -> float:
        """Fitness of the best individual."""
        return float(self._fitness[self.ranked[0]])

    def replace_worst(self, parents: npt.NDArray[np.intp], children: Genes) -> None:
        """Let the best of population and children survive; `parents` are the rows of each child's parents."""
        n = len(self.ranked)
        self._fitness[self._free] = self._incremental_counts.breed(self._free, parents, children)[:, 0]
        everyone = np.concatenate((self.ranked, self._free))
        everyone = everyone[np.argsort(self._fitness[everyone], kind="stable")]
        self._incremental_counts.adopt(self._free[np.isin(self._free, everyone[:n])])
        self.ranked, self._free = everyone[:n], everyone[n:]

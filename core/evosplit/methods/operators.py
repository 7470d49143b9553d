"""The paper's operators on populations (section 3): what the single- and the multi-objective algorithm share.

A population is an integer matrix, one row per individual, one gene per unit: the subset to which the unit is assigned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.errors import EvoSplitError
from evosplit.features import Block
from evosplit.problem import SplitProblem

__all__ = ["Evolution", "Genetics", "share_done"]

Genes = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]

COVER_PATIENCE = 10  # rounds without progress after which labels that compete for samples are left as they are


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """The parameters of both evolutionary methods, with the values that the paper states; each describes its own."""

    population: int = 50
    crossovers: int = 10
    mutations: int = 10
    mutation_rate: float = 0.01
    patience: int = 25
    restarts: int = 5

    default_objectives: ClassVar[tuple[str, ...]] = ("instances", "pairs")

    def __post_init__(self) -> None:
        least_of = {"population": 2, "crossovers": 0, "mutations": 0, "patience": 1, "restarts": 1}
        for name, least in least_of.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise EvoSplitError(f"{name} is {value!r}; give an integer of at least {least}")
        if self.crossovers + self.mutations == 0:
            raise EvoSplitError("crossovers and mutations are both 0; a generation needs at least one child")
        if not 0 <= self.mutation_rate <= 1:
            raise EvoSplitError(f"mutation_rate is {self.mutation_rate!r}; give a share of the genes between 0 and 1")


@dataclass(frozen=True, eq=False)
class Genetics:
    """Draw, breed, repair and evaluate the individuals of a problem.

    Parameters
    ----------
    problem
        What is to be split.
    objectives
        Which of the problem's objectives to evaluate, in which order.
    mutation_rate
        The share of the genes that a mutation gives another subset; at least one gene.
    """

    problem: SplitProblem
    objectives: tuple[str, ...]
    mutation_rate: float

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns of each objective in `features`."""
        by_name = {block.name: block for block in self.problem.blocks}
        laid_out, start = [], 0
        for name in self.objectives:
            block = by_name[name]
            laid_out.append(Block(name, start, start + block.width, block.by_total))
            start += block.width
        return tuple(laid_out)

    @cached_property
    def features(self) -> sp.csr_array:
        """The features of each type that the objectives evaluate, side by side."""
        by_name = {block.name: block for block in self.problem.blocks}
        parts = [self.problem.features[:, by_name[name].start : by_name[name].stop] for name in self.objectives]
        return sp.csr_array(sp.hstack(parts, format="csr"))

    @cached_property
    def odds(self) -> Floats:
        """The odds of each column in the whole; -1 for a column that fills its block and so can have no deviation."""
        totals = self.problem.copies @ self.features
        odds = np.empty(len(totals))
        for block in self.blocks:
            part = totals[block.start : block.stop]
            whole = part.sum() if block.by_total else self.problem.sizes.sum()
            odds[block.start : block.stop] = np.where(part == whole, -1.0, part / np.maximum(whole - part, 1))
        return odds

    @cached_property
    def layout(self) -> npt.NDArray[np.int64]:
        """The blocks as the kernels take them: start, stop, whether odds are taken against the block's total."""
        return np.array([(block.start, block.stop, block.by_total) for block in self.blocks], dtype=np.int64)

    @property
    def gene_type(self) -> type[np.signedinteger[Any]]:
        """The smallest type that holds the number of a subset."""
        return np.int8 if self.problem.k <= np.iinfo(np.int8).max else np.int32

    @cached_property
    def mutated_genes(self) -> int:
        """How many genes a mutation changes before the repair."""
        return max(1, round(self.mutation_rate * self.problem.n_units))

    def draw(self, n: int, rng: np.random.Generator) -> Genes:
        """Draw random individuals."""
        filled = np.repeat(np.arange(self.problem.k, dtype=self.gene_type), self.problem.sizes)
        return self.repair(rng.permuted(np.tile(filled, (n, 1)), axis=1), rng)

    def cross_over(self, first: Genes, second: Genes, rng: np.random.Generator) -> Genes:
        """Return one child per row: one-point crossover, not repaired."""
        from evosplit._kernels import population as kernels

        return kernels.cross_over(first, second, rng)

    def mutate(self, parents: Genes, rng: np.random.Generator) -> Genes:
        """Return one mutant per row: random genes get another subset, not repaired."""
        from evosplit._kernels import population as kernels

        mutants = parents.copy()
        kernels.mutate(mutants, self.mutated_genes, self.problem.k, rng)
        return mutants

    def repair(self, population: Genes, rng: np.random.Generator) -> Genes:
        """Return the population with units moved at random until sizes are exact and, if asked, labels are covered."""
        from evosplit._kernels import population as kernels

        repaired = population.copy()
        kernels.repair_sizes(repaired, self.problem.sizes, rng)
        if self.problem.cover and len(self._holders[1]):
            kernels.repair_cover(
                *self._labels,
                self.problem.type_of_unit,
                *self._holders,
                repaired,
                self.problem.sizes,
                COVER_PATIENCE,
                rng,
            )
        return repaired

    def score(self, population: Genes) -> Floats:
        """Evaluate all individuals: one row each, one column per objective."""
        from evosplit._kernels import population as kernels

        rows = self.features
        return kernels.score_population(
            rows.indptr,
            rows.indices,
            rows.data,
            self.problem.type_of_unit,
            self.odds,
            self.layout,
            self.problem.sizes,
            population,
        )

    @cached_property
    def _labels(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        presence = sp.csr_array(self.problem.features[:, : self.problem.counts.n_labels])
        presence.sort_indices()
        return presence.indptr, presence.indices

    @cached_property
    def _holders(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        presence = self.problem.features[:, : self.problem.counts.n_labels]
        units = sp.csc_array(presence[self.problem.type_of_unit])
        units.sort_indices()
        return units.indptr, units.indices


def share_done(generation: int, patience: int) -> float:
    """Guess how far a run is: its length is not known beforehand, so the share rises ever more slowly towards 1.

    Examples
    --------
    >>> share_done(0, 25), share_done(500, 25)
    (0.0, 0.5)
    """
    return generation / (generation + 20 * patience)

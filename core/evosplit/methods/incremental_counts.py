"""Individuals with the counts of their subsets, so that a child is evaluated by its difference from a parent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.methods.operators import Genetics

__all__ = ["IncrementalCounts"]

Genes = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

MAX_ENTRIES = 2**28  # of all tables together, 1 GiB


class IncrementalCounts:
    """Space for individuals, one row each, in arrays that are never copied.

    `place` fills a row from genes, `breed` from the row of a parent. Since most children do not survive, `breed` leaves
    the row incomplete: `adopt` completes it before it may become a parent, and until then its parent's row must stay.
    Where the tables would take too much memory, every individual is evaluated from its genes alone.
    """

    def __init__(self, genetics: Genetics, n_rows: int) -> None:
        rows, problem = genetics.features, genetics.problem
        shape = (n_rows, problem.k, rows.shape[1])
        self._genetics, self._fits = genetics, math.prod(shape) <= MAX_ENTRIES
        self.genes: Genes = np.zeros((n_rows, problem.n_units), dtype=genetics.gene_type)
        self._features = (rows.indptr, rows.indices, rows.data, problem.type_of_unit)
        self._measure = (genetics.odds, genetics.layout, problem.sizes)
        self._tables = np.zeros(shape if self._fits else (0, 0, 0), dtype=np.int32)
        self._deviations = np.zeros((n_rows, len(genetics.blocks), problem.k))
        self._touched = np.zeros((n_rows, problem.k), dtype=np.bool_)
        self._nearest = np.zeros(n_rows, dtype=np.intp)

    def place(self, individuals: Genes) -> Floats:
        """Fill the first rows; return their scores (individuals x objectives)."""
        from evosplit._kernels import population as kernels

        n = len(individuals)
        self.genes[:n] = individuals
        if not self._fits:
            return self._genetics.score(individuals)
        return kernels.tally_population(
            *self._features, *self._measure, self.genes[:n], self._tables[:n], self._deviations[:n]
        )

    def breed(self, rows: Rows, parents: Rows, individuals: Genes) -> Floats:
        """Fill rows with children; return their scores.

        `parents` holds one row per child: the rows of its parents. The more it shares with one, the less it takes.
        """
        from evosplit._kernels import population as kernels

        self.genes[rows] = individuals
        if not self._fits:
            return self._genetics.score(individuals)
        return kernels.score_children(
            *self._features,
            *self._measure,
            self.genes,
            self._tables,
            self._deviations,
            self._touched,
            self._nearest,
            parents,
            rows,
        )

    def adopt(self, rows: Rows) -> None:
        """Complete the rows of children that survive."""
        from evosplit._kernels import population as kernels

        if self._fits:
            kernels.adopt_children(self._tables, self._touched, self._nearest, rows)

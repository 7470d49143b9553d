"""`SplitProblem`: what every method solves.

The unit that moves is a sample, or a whole group of samples. Units with equal features are interchangeable, so they are
merged into *types* with a number of copies. A type's features are counts in columns: images with a label, instances of
a label, images with a label pair, and so on; a subset's state is the sum of the features of its units. Whatever has to
be spread evenly is a block of columns, so groups, locks and further strata are data, not other algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.counts import LabelCounts, LabelSets, compact_csr, find_pairs
from evosplit.errors import EvoSplitError
from evosplit.measures import odds_deviation
from evosplit.ratios import Subsets
from evosplit.triplets import triplet_features

__all__ = ["Block", "SplitProblem", "build_problem", "default_objectives"]

OBJECTIVES = ("images", "instances", "pairs", "triplets")
MAX_PAIR_ENTRIES = 400_000_000

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """A range of feature columns that is spread as one objective.

    Attributes
    ----------
    name
        The objective.
    start, stop
        The columns.
    by_total
        Whether odds are taken against all occurrences in the block (Eq. 2), or against the samples (Eq. 1).
    """

    name: str
    start: int
    stop: int
    by_total: bool

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """Types of units with their features, to be dealt into subsets of given sizes.

    Attributes
    ----------
    counts
        The label counts of the samples.
    subsets
        Names and sizes of the subsets.
    objectives
        What is spread, in the order of the front's columns.
    cover
        Whether every label is to reach every subset where that is possible.
    features
        CSR (types x columns); the first `n_labels` columns count images with each label.
    blocks
        The columns of each objective.
    type_of_unit, copies
        The type of each unit, and the number of units of each type.
    """

    counts: LabelCounts
    subsets: Subsets
    objectives: tuple[str, ...]
    cover: bool
    features: sp.csr_array
    blocks: tuple[Block, ...]
    type_of_unit: npt.NDArray[np.int32]
    copies: Ints

    @property
    def n_units(self) -> int:
        """How many units there are to place."""
        return len(self.type_of_unit)

    @property
    def n_types(self) -> int:
        """How many kinds of units differ."""
        return len(self.copies)

    @property
    def k(self) -> int:
        """Number of subsets."""
        return len(self.subsets)

    @cached_property
    def sizes(self) -> Ints:
        """The subset sizes, as an array."""
        return np.array(self.subsets.sizes, dtype=np.int64)

    @cached_property
    def column_totals(self) -> Ints:
        """The sum of each feature over all units."""
        weights = np.repeat(self.copies, np.diff(self.features.indptr)) * self.features.data
        return np.bincount(self.features.indices, weights=weights, minlength=self.features.shape[1]).astype(np.int64)

    @cached_property
    def block_sums(self) -> npt.NDArray[np.int32]:
        """What a unit of each type adds to the total that a block's odds are taken against (types x blocks)."""
        sums = np.ones((self.n_types, len(self.blocks)), dtype=np.int32)
        for at, block in enumerate(self.blocks):
            if block.by_total:
                sums[:, at] = self.features[:, block.start : block.stop].sum(axis=1)
        return sums

    def type_table(self, assignment: npt.NDArray[Any]) -> Ints:
        """Count the units of each type in each subset (types x k)."""
        from evosplit import _kernels

        return _kernels.count_rows(self.type_of_unit, assignment, self.n_types, self.k)

    def column_table(self, type_table: Ints) -> Ints:
        """Sum the features in each subset (columns x k)."""
        from evosplit import _kernels

        rows = self.features
        return _kernels.sum_features(rows.indptr, rows.indices, rows.data, type_table, rows.shape[1])

    def evaluate(self, column_table: Ints) -> Floats:
        """Return the objectives of a split, given the sums of its features (see `column_table`)."""
        values = np.zeros(len(self.blocks))
        for at, block in enumerate(self.blocks):
            table = column_table[block.start : block.stop]
            totals = table.sum(axis=0) if block.by_total else self.sizes
            values[at] = odds_deviation(table, totals).mean() if table.size else 0.0
        return values

    @cached_property
    def random_reference(self) -> Floats:
        """What a random split scores on each objective: the mean of three, drawn with a fixed seed."""
        rng = np.random.default_rng(0)
        filled = np.repeat(np.arange(self.k), self.sizes)
        scores = [self.evaluate(self.column_table(self.type_table(rng.permutation(filled)))) for _ in range(3)]
        return np.asarray(np.mean(scores, axis=0))


def default_objectives(counts: LabelCounts) -> tuple[str, ...]:
    """Return what the data asks for: images and pairs, and instances where labels repeat within a sample."""
    return ("images", "instances", "pairs") if counts.has_repeats else ("images", "pairs")


def build_problem(
    counts: LabelCounts, subsets: Subsets, *, objectives: Sequence[str] | None = None, cover: bool = True
) -> SplitProblem:
    """Merge equal samples into types and lay out the feature columns of the objectives."""
    wanted = _checked_objectives(objectives, counts)
    sets = _canonical_sets(counts)
    rows = sets.counts
    presence = sp.csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    parts = [presence]
    spans = {"images": (0, counts.n_labels)}
    if "instances" in wanted:
        if counts.has_repeats or "images" in wanted:
            spans["instances"] = (counts.n_labels, 2 * counts.n_labels)
            parts.append(rows)
        else:
            spans["instances"] = spans["images"]
    if "pairs" in wanted:
        start = sum(part.shape[1] for part in parts)
        pairs = _pair_features(rows, sets.multiplicity)
        parts.append(pairs)
        spans["pairs"] = (start, start + pairs.shape[1])
    if "triplets" in wanted:
        start = sum(part.shape[1] for part in parts)
        triplets = triplet_features(rows)
        parts.append(triplets)
        spans["triplets"] = (start, start + triplets.shape[1])
    features = parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")
    features.sort_indices()
    features = compact_csr(features)
    blocks = tuple(Block(name, *spans[name], by_total=name != "images") for name in wanted)
    return SplitProblem(
        counts=counts,
        subsets=subsets,
        objectives=wanted,
        cover=cover,
        features=features,
        blocks=blocks,
        type_of_unit=sets.set_of_sample,
        copies=sets.multiplicity,
    )


def _checked_objectives(objectives: Sequence[str] | None, counts: LabelCounts) -> tuple[str, ...]:
    if objectives is None:
        return default_objectives(counts)
    if isinstance(objectives, str):
        objectives = (objectives,)
    for name in objectives:
        if name not in OBJECTIVES:
            raise EvoSplitError(f"unknown objective {name!r}; choose from {', '.join(map(repr, OBJECTIVES))}")
    if not objectives or len(set(objectives)) != len(objectives):
        raise EvoSplitError(f"objectives is {tuple(objectives)}; name at least one, each once")
    return tuple(objectives)


def _canonical_sets(counts: LabelCounts) -> LabelSets:
    """Order the labels by their content, so that the order in which the caller lists them does not matter."""
    from evosplit import _kernels

    sets = counts.label_sets
    rows = sets.counts
    content = _kernels.column_hashes(rows.indptr, rows.indices, rows.data, rows.shape[1])
    rank = np.empty(rows.shape[1], dtype=np.int32)
    rank[np.argsort(content, kind="stable")] = np.arange(rows.shape[1], dtype=np.int32)
    renamed = sp.csr_array((rows.data.copy(), rank[rows.indices], rows.indptr.copy()), shape=rows.shape)
    renamed.sort_indices()
    return LabelSets(renamed, sets.set_of_sample, sets.multiplicity)


def _pair_features(rows: sp.csr_array, multiplicity: Ints) -> sp.csr_array:
    lengths = np.diff(rows.indptr).astype(np.int64)
    entries = int((lengths * (lengths - 1) // 2).sum())
    if entries > MAX_PAIR_ENTRIES:
        raise EvoSplitError(
            f"the distinct label sets hold {entries:,} label pairs, more than {MAX_PAIR_ENTRIES:,} fit in memory; "
            'split with objectives=("images", "instances"), or drop the most frequent labels'
        )
    pairs = find_pairs(rows, multiplicity)
    ones = np.ones(len(pairs.indices), dtype=np.int32)
    return sp.csr_array((ones, pairs.indices, pairs.indptr), shape=(rows.shape[0], len(pairs)))

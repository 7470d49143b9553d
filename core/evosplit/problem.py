"""`SplitProblem`: what every method solves.

The unit that moves is a sample, or a whole group of samples. Units with equal features are interchangeable, so they are
merged into *types* with a number of copies. A type's features are counts in columns (see `evosplit.features`); a
subset's state is the sum of the features of its units. So groups, locks and strata need no algorithms of their own.

During the search a split is a table (types x subsets); which of several equal samples goes where is decided at the end
(see `evosplit.crowd`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.constraints import FREE, Constraints
from evosplit.counts import LabelCounts, LabelSets, compact_csr
from evosplit.coverage import label_needs
from evosplit.crowd import Crowd, place_equal
from evosplit.features import PARTS, Block, checked_objectives, lay_out
from evosplit.measures import expected_deviation, ordered_sum
from evosplit.ratios import Subsets
from evosplit.rng import Stream

__all__ = ["SplitProblem", "build_problem"]

DRAWS = 3  # random splits of which the mean is the reference, where the exact mean is not known

Ints = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """Types of units with their features, to be distributed over subsets of given sizes.

    Attributes
    ----------
    counts
        The label counts of the samples.
    subsets
        Names and sizes of the subsets.
    objectives
        What is spread, in the order of the front's columns.
    needs
        How many samples of each label every subset is to get where that is possible; 0 without `cover`.
    features
        CSR (types x columns); the first `n_labels` columns count samples with each label, the one behind the blocks
        those without any. Where units are uneven, the last one counts their samples.
    blocks
        The columns of the objectives.
    weights
        How much each column counts within its block.
    type_of_unit, copies, type_sizes
        The type of each unit; the number of units of each type, placed ones included; the number of samples in a unit
        of each type.
    unit_of_sample
        The unit of each sample; None where each is a unit itself.
    locked
        The subset in which each unit stays, -1 for those that are free.
    crowd
        What is known of the rows of the data where a split is a table; None where each unit has a subset.
    pairs_kept
        How many of 1,024 label pairs have a column; the others are too many for the time that a search may take.
    uncovered
        How many labels are not asked for in every subset, because that would make all labels much more uneven.
    """

    counts: LabelCounts
    subsets: Subsets
    objectives: tuple[str, ...]
    needs: Ints
    features: sp.csr_array
    blocks: tuple[Block, ...]
    weights: Floats
    type_of_unit: npt.NDArray[np.int32]
    copies: Ints
    type_sizes: Ints
    unit_of_sample: Ints | None
    locked: Ints
    pairs_kept: int = PARTS
    uncovered: int = 0
    crowd: Crowd | None = None

    @property
    def cover(self) -> bool:
        """Whether every label is to reach every subset where that is possible."""
        return bool(self.needs.any())

    @property
    def uneven(self) -> bool:
        """Whether units differ in size."""
        return self.unit_of_sample is not None

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

    @property
    def empty_column(self) -> int:
        """The column that counts the samples without any label."""
        return int(self.features.shape[1]) - (2 if self.uneven else 1)

    @cached_property
    def sizes(self) -> Ints:
        """The subset sizes, as an array."""
        return np.array(self.subsets.sizes, dtype=np.int64)

    @cached_property
    def unit_sizes(self) -> Ints:
        """How many samples each unit holds."""
        return np.asarray(self.type_sizes[self.type_of_unit])

    @cached_property
    def locked_table(self) -> Ints:
        """How many units of each type are locked into each subset (types x k)."""
        if self.crowd is not None:
            return self.crowd.locked
        held = self.locked != FREE
        if not held.any():
            return np.zeros((self.n_types, self.k), dtype=np.int64)
        from evosplit import _kernels

        return _kernels.count_rows(self.type_of_unit[held], self.locked[held], self.n_types, self.k)

    @property
    def placed_table(self) -> Ints:
        """How many units of each type are in each subset before the search (types x k): locked, or placed there."""
        return self.locked_table if self.crowd is None else self.crowd.placed

    @cached_property
    def capacities(self) -> Ints:
        """How many samples each subset still has to get beside those that are already in it."""
        return np.asarray(self.sizes - self.type_sizes @ self.placed_table)

    @cached_property
    def column_totals(self) -> Ints:
        """The sum of each feature over all units."""
        weights = np.repeat(self.copies, np.diff(self.features.indptr)) * self.features.data
        return np.bincount(self.features.indices, weights=weights, minlength=self.features.shape[1]).astype(np.int64)

    @cached_property
    def _spans(self) -> Ints:
        """The blocks as the kernel takes them: start, stop, whether odds are taken against the block's total."""
        spans = [(block.start, block.stop, block.by_total) for block in self.blocks]
        return np.array(spans, dtype=np.int64).reshape(-1, 3)

    def type_table(self, assignment: npt.NDArray[Any]) -> Ints:
        """Count the units of each type in each subset (types x k), placed ones included.

        `assignment` gives the subset of each unit; what is already such a table is returned as it is.
        """
        if assignment.ndim == 2:
            return assignment
        from evosplit import _kernels

        table = _kernels.count_rows(self.type_of_unit, assignment, self.n_types, self.k)
        return table if self.crowd is None else table + self.crowd.placed

    def column_table(self, type_table: Ints) -> Ints:
        """Sum the features in each subset (columns x k)."""
        from evosplit import _kernels

        return _kernels.sum_features(self.features, type_table)

    def evaluate_blocks(self, column_table: Ints, sizes: Ints | None = None) -> Floats:
        """Return the deviation of each block, given the sums of the features and the sizes of the subsets.

        Further axes in front are further splits.
        """
        from evosplit._kernels.deviation import block_deviations

        *further, n_columns, k = column_table.shape
        tables = np.ascontiguousarray(column_table, dtype=np.int64).reshape(-1, n_columns, k)
        held = np.broadcast_to(self.sizes if sizes is None else sizes, (*further, k)).reshape(-1, k)
        values = np.empty((len(tables), len(self.blocks)))
        capacity = np.empty(k, dtype=np.int64)
        block_deviations(tables, self._spans, self.weights, np.array(held, dtype=np.int64), capacity, values)
        return values.reshape(*further, len(self.blocks))

    def evaluate(self, column_table: Ints) -> Floats:
        """Return the objectives of a split, given the sums of its features (see `column_table`)."""
        sizes = column_table[..., -1, :] if self.uneven else self.sizes
        return self.by_objective(self.evaluate_blocks(column_table, sizes))

    def by_objective(self, of_blocks: Floats) -> Floats:
        """Average the blocks of each objective; further axes in front are further splits."""
        means = []
        for name in self.objectives:
            inside = [at for at, block in enumerate(self.blocks) if block.name == name]
            means.append(ordered_sum(of_blocks[..., inside]) / len(inside))
        return np.stack(means, axis=-1)

    def draw(self, stream: Stream) -> Ints:
        """Deal the free units out at random; the sizes are exact if all units are of one sample, else about right.

        Returns the subset of each unit, or a table (see `type_table`) where most samples are placed before the search.
        """
        if self.crowd is not None and self.crowd.shares is not None:
            from evosplit._kernels.tables import deal_at_random

            table = self.locked_table.copy()
            free, capacities = self.copies - table.sum(axis=1), self.sizes - table.sum(axis=0)
            deal_at_random(free, capacities, table, stream.state())
            return table
        assignment = self.locked.copy()
        free = stream.permutation(np.flatnonzero(self.locked == FREE))
        if not self.uneven:
            assignment[free] = np.repeat(np.arange(self.k), self.capacities)
            return assignment
        sizes = self.unit_sizes[free]
        middle = np.cumsum(sizes) - (sizes + 1) // 2
        assignment[free] = np.searchsorted(np.cumsum(self.capacities), middle, side="right")
        return assignment

    @cached_property
    def block_reference(self) -> Floats:
        """What a random split scores on each block.

        Where units are samples and odds are taken against them, the exact mean; else that of `DRAWS` with a fixed seed.
        """
        known = [not self.uneven and not block.by_total for block in self.blocks]
        reference = np.zeros(len(self.blocks))
        if not all(known):
            stream = Stream(0)
            for _ in range(DRAWS):
                table = self.column_table(self.type_table(self.draw(stream)))
                reference += self.evaluate_blocks(table, table[-1] if self.uneven else self.sizes)
            reference /= DRAWS
        placed: dict[str, Ints] = {}
        held = self.column_table(self.locked_table) if self.locked_table.any() else None
        for at in np.flatnonzero(known):
            inside = slice(self.blocks[at].start, self.blocks[at].stop)
            if held is not None:
                placed = {"held": held[inside], "held_sizes": self.type_sizes @ self.locked_table}
            terms = expected_deviation(self.column_totals[inside], self.sizes, **placed)
            weights = self.weights[inside]
            reference[at] = ordered_sum(terms * weights) / ordered_sum(weights) if len(terms) else 0.0
        return reference

    @cached_property
    def random_reference(self) -> Floats:
        """What a random split scores on each objective: the unit of objectives in the search and in `pick`."""
        return self.by_objective(self.block_reference)

    def shortage(self, tables: Ints) -> Ints:
        """Return how badly labels are lacking in column tables (... x columns x k): 0 where every need is met.

        What a subset lacks of a label counts in parts of the need, in integers, and squared: so of a minimum that does
        not fit every label gets a part, and those that need one sample get it before others get their tenth.
        """
        needs = self.needs[:, None]
        missing = np.maximum(needs - tables[..., : len(needs), :], 0)
        missing = missing * self.needs.max(initial=1) // np.maximum(needs, 1)
        return np.asarray((missing * missing).sum(axis=(-2, -1)))

    def placements(self, assignments: Sequence[Ints], stream: Stream) -> Ints:
        """Turn splits into the subset of each sample, or into how many of each row go to each subset.

        Where a split is a table (types x k), equal units are dealt out at random, in all splits alike.
        """
        if self.counts.has_copies and self.crowd is not None:
            of_rows = self.crowd.of_rows
            return np.stack([of_rows(self.type_table(assignment)) for assignment in assignments])
        type_of_unit, locked = self.type_of_unit, self.locked
        if self.crowd is not None:
            type_of_unit, locked = self.crowd.type_of_row, self.crowd.locked_rows
            assignments = [self.type_table(assignment) for assignment in assignments]
        small: Any = np.int8 if self.k <= 127 else np.int32
        made, order = np.empty((len(assignments), len(locked)), dtype=small), None
        for at, assignment in enumerate(assignments):
            if assignment.ndim == 1:
                made[at] = assignment
                continue
            if order is None:
                free = stream.permutation(np.flatnonzero(locked == FREE))
                order = free[np.argsort(type_of_unit[free], kind="stable")]
                subsets = np.tile(np.arange(self.k, dtype=small), self.n_types)
            made[at] = locked
            made[at, order] = np.repeat(subsets, (assignment - self.locked_table).ravel())
        return made if self.unit_of_sample is None else np.ascontiguousarray(made[:, self.unit_of_sample])


def build_problem(
    counts: LabelCounts,
    subsets: Subsets,
    *,
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    constraints: Constraints | None = None,
    pair_entries: int | None = None,
    as_table: bool = False,
) -> SplitProblem:
    """Merge equal units into types and lay out the feature columns of the objectives.

    Where the distinct samples have more than `pair_entries` label pairs, only a sample of the pairs is laid out. With
    `as_table`, and always where rows stand for several samples, a split is a table, and most of very many samples are
    placed before the search. Groups stay units of their own.
    """
    strata = constraints.strata if constraints is not None else ()
    wanted = checked_objectives(objectives, bool(strata))
    sets, rank = _canonical_sets(counts)
    type_of_sample, rows, multiplicity, strata_rows = _merge_with_strata(
        sets, [stratum.counts.matrix for stratum in strata], counts.copies
    )
    laid = lay_out(
        rows,
        multiplicity,
        wanted,
        label_weights=_label_weights(counts, constraints, rank),
        has_repeats=counts.has_repeats,
        strata=strata_rows,
        pair_entries=pair_entries,
    )
    features, weights = laid.matrix, laid.weights
    unit_of_sample, crowd = None, None
    locked = np.full(counts.n_rows, FREE, dtype=np.int64) if constraints is None else constraints.locked
    type_of_unit, copies, type_sizes = type_of_sample, multiplicity, np.ones(len(multiplicity), dtype=np.int64)
    groups = None if constraints is None else constraints.groups
    if groups is not None and len(groups) == counts.n_rows == counts.n_samples:
        groups = None  # every sample is one of its own
    if groups is None and (as_table or counts.has_copies):
        crowd = place_equal(counts, subsets, type_of_sample, features, multiplicity, constraints)
        free = multiplicity - crowd.placed.sum(axis=1)
        type_of_unit = np.repeat(np.arange(len(multiplicity), dtype=np.int32), free)
        locked = np.full(len(type_of_unit), FREE, dtype=np.int64)
    elif groups is not None:
        unit_of_sample, n_units = groups.code_of_sample, len(groups)
        sizes = sp.csr_array(np.ones((len(multiplicity), 1), dtype=np.int32))
        features, weights = sp.csr_array(sp.hstack([features, sizes], format="csr")), np.append(weights, 1.0)
        members = (counts.copies.astype(np.int32), (unit_of_sample, type_of_sample))
        features, type_of_unit, copies = _merge_into_units(
            sp.csr_array(members, shape=(n_units, features.shape[0])) @ features
        )
        type_sizes = features[:, [-1]].toarray().ravel().astype(np.int64)
        of_unit = np.full(n_units, FREE, dtype=np.int64)
        of_unit[unit_of_sample] = locked
        locked = of_unit
    features.sort_indices()
    least = 1 if constraints is None else constraints.min_per_label
    needs, uncovered = label_needs(counts, subsets.sizes, order=np.argsort(rank), cover=cover, least=least)
    return SplitProblem(
        counts=counts,
        subsets=subsets,
        objectives=wanted,
        needs=needs,
        uncovered=uncovered,
        features=compact_csr(features),
        blocks=laid.blocks,
        weights=weights,
        type_of_unit=type_of_unit,
        copies=copies,
        type_sizes=type_sizes,
        unit_of_sample=unit_of_sample,
        locked=locked,
        pairs_kept=laid.pairs_kept,
        crowd=crowd,
    )


def _merge_with_strata(
    sets: LabelSets, strata: Sequence[sp.csr_array], copies_of_row: Ints
) -> tuple[npt.NDArray[np.int32], sp.csr_array, Ints, list[sp.csr_array]]:
    """Tell samples with equal labels apart by their strata: (type of each sample, labels, copies, strata)."""
    if not strata:
        return sets.set_of_sample, sets.counts, sets.multiplicity, []
    from evosplit import _kernels

    number = sp.csr_array(sets.set_of_sample[:, None] + 1)
    whole = compact_csr(sp.hstack([number, *strata], format="csr"))
    first, type_of_sample = _kernels.distinct_rows(whole.indptr, whole.indices, whole.data)
    multiplicity = np.bincount(type_of_sample, weights=copies_of_row, minlength=len(first)).astype(np.int64)
    rows = compact_csr(sets.counts[sets.set_of_sample[first]])
    return type_of_sample, rows, multiplicity, [sp.csr_array(part[first]) for part in strata]


def _merge_into_units(features: sp.csr_array) -> tuple[sp.csr_array, npt.NDArray[np.int32], Ints]:
    """Merge units with equal features: (features, type of each unit, copies)."""
    from evosplit import _kernels

    features.sort_indices()  # a product leaves them in any order
    summed = compact_csr(features)
    first, type_of_unit = _kernels.distinct_rows(summed.indptr, summed.indices, summed.data)
    return sp.csr_array(summed[first]), type_of_unit, np.bincount(type_of_unit, minlength=len(first)).astype(np.int64)


def _label_weights(counts: LabelCounts, constraints: Constraints | None, rank: Ints) -> Floats:
    weights = np.ones(counts.n_labels)
    if constraints is not None and constraints.label_weights:
        position = {label: i for i, label in enumerate(counts.labels)}
        for label, weight in constraints.label_weights.items():
            weights[rank[position[label]]] = weight
    return weights


def _canonical_sets(counts: LabelCounts) -> tuple[LabelSets, Ints]:
    """Order the labels by their content, so that the order in which the caller lists them does not matter.

    Returns the place of each label as well.
    """
    from evosplit import _kernels

    sets = counts.label_sets
    rows = sets.counts
    content = _kernels.column_hashes(rows.indptr, rows.indices, rows.data, rows.shape[1])
    rank = np.empty(rows.shape[1], dtype=np.int32)
    rank[np.argsort(content, kind="stable")] = np.arange(rows.shape[1], dtype=np.int32)
    renamed = sp.csr_array((rows.data.copy(), rank[rows.indices], rows.indptr.copy()), shape=rows.shape)
    renamed.sort_indices()
    return LabelSets(renamed, sets.set_of_sample, sets.multiplicity), rank

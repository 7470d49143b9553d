"""`SplitProblem`: what every method solves.

The unit that moves is a sample, or a whole group of samples. Units with equal features are interchangeable, so they are
merged into *types* with a number of copies. A type's features are counts in columns: samples with a label, instances of
a label, samples with a label pair, and so on; a subset's state is the sum of the features of its units. Whatever has to
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

from evosplit.baselines import expected_deviation
from evosplit.constraints import FREE, Constraints
from evosplit.counts import LabelCounts, LabelSets, compact_csr, find_pairs
from evosplit.errors import EvoSplitError
from evosplit.measures import ordered_sum
from evosplit.ratios import Subsets
from evosplit.rng import Stream
from evosplit.triplets import triplet_features

__all__ = ["Block", "SplitProblem", "build_problem", "default_objectives"]

OBJECTIVES = ("samples", "instances", "pairs", "triplets", "strata")
MAX_PAIR_ENTRIES = 400_000_000
NARROW = 64  # labels up to which their occurrences are spread too where none repeats, for LD' counts them otherwise
DRAWS = 3  # random splits of which the mean is the reference, where the exact mean is not known
PARTS = 1024  # in which a sample of the pairs is measured

Ints = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """A range of feature columns whose odds are taken against one total.

    Attributes
    ----------
    name
        The objective. Each stratum is a block of its own in the objective "strata".
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
        The type of each unit; the number of units of each type; the number of samples in a unit of each type.
    unit_of_sample
        The unit of each sample, None if they are the same.
    locked
        The subset in which each unit stays, -1 for those that are free.
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
        held = self.locked != FREE
        if not held.any():
            return np.zeros((self.n_types, self.k), dtype=np.int64)
        from evosplit import _kernels

        return _kernels.count_rows(self.type_of_unit[held], self.locked[held], self.n_types, self.k)

    @cached_property
    def capacities(self) -> Ints:
        """How many samples each subset still has to get beside those locked into it."""
        return np.asarray(self.sizes - self.type_sizes @ self.locked_table)

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
        """Count the units of each type in each subset (types x k)."""
        from evosplit import _kernels

        return _kernels.count_rows(self.type_of_unit, assignment, self.n_types, self.k)

    def column_table(self, type_table: Ints) -> Ints:
        """Sum the features in each subset (columns x k)."""
        from evosplit import _kernels

        rows = self.features
        return _kernels.sum_features(rows.indptr, rows.indices, rows.data, type_table, rows.shape[1])

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
        """Deal the free units out at random; the sizes are exact if all units are of one sample, else about right."""
        assignment = self.locked.copy()
        free = stream.permutation(np.flatnonzero(self.locked == FREE))
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
                placed = {"held": held[inside], "held_sizes": self.sizes - self.capacities}
            terms = expected_deviation(self.column_totals[inside], self.sizes, **placed)
            weights = self.weights[inside]
            reference[at] = ordered_sum(terms * weights) / ordered_sum(weights) if len(terms) else 0.0
        return reference

    @cached_property
    def random_reference(self) -> Floats:
        """What a random split scores on each objective."""
        return self.by_objective(self.block_reference)

    def of_samples(self, assignment: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Turn the subset of each unit into that of each sample."""
        return assignment if self.unit_of_sample is None else assignment[self.unit_of_sample]


def default_objectives(counts: LabelCounts) -> tuple[str, ...]:
    """Return what the data asks for: samples and pairs, and instances where labels repeat within a sample."""
    return ("samples", "instances", "pairs") if counts.has_repeats else ("samples", "pairs")


def build_problem(
    counts: LabelCounts,
    subsets: Subsets,
    *,
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    constraints: Constraints | None = None,
    pair_entries: int | None = None,
) -> SplitProblem:
    """Merge equal units into types and lay out the feature columns of the objectives.

    Where the distinct samples have more than `pair_entries` label pairs, only a sample of the pairs is laid out.
    """
    strata = constraints.strata if constraints is not None else ()
    wanted = _checked_objectives(objectives, counts, bool(strata))
    sets, rank = _canonical_sets(counts)
    type_of_sample, rows, multiplicity, strata_rows = _merge_with_strata(sets, [s.counts.matrix for s in strata])
    label_weights = _label_weights(counts, constraints, rank)

    presence = sp.csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    parts, weights, blocks = [presence], [label_weights], []
    pairs_kept = PARTS

    def lay(name: str, part: sp.csr_array, of_columns: Floats, by_total: bool = True) -> None:
        start = sum(other.shape[1] for other in parts)
        parts.append(part)
        weights.append(of_columns)
        blocks.append(Block(name, start, start + part.shape[1], by_total))

    for name in (name for name in OBJECTIVES if name in wanted):
        if name == "samples":
            blocks.append(Block(name, 0, counts.n_labels, by_total=False))
            if "instances" not in wanted and 1 < counts.n_labels <= NARROW:  # a companion, no objective
                lay("instances", presence, label_weights)
        elif name == "instances" and not counts.has_repeats and "samples" not in wanted:
            blocks.append(Block(name, 0, counts.n_labels, by_total=True))
        elif name == "instances":
            lay(name, rows, label_weights)
        elif name == "pairs":
            pairs, first, second, pairs_kept = _pair_features(rows, multiplicity, pair_entries)
            # LPD is about samples (Eq. 3); but beside LD' alone it takes the form of the paper's tables.
            by_total = "instances" in wanted and "samples" not in wanted
            lay(name, pairs, np.maximum(label_weights[first], label_weights[second]), by_total)
        elif name == "triplets":
            triplets = triplet_features(rows)
            lay(name, triplets, np.ones(triplets.shape[1]))
        else:
            for part in strata_rows:
                lay(name, part, np.ones(part.shape[1]))
    empty = (np.diff(rows.indptr) == 0).astype(np.int32)
    parts.append(sp.csr_array(empty[:, None]))
    weights.append(np.ones(1))
    unit_of_sample = None
    locked = np.full(counts.n_samples, FREE, dtype=np.int64) if constraints is None else constraints.locked
    type_of_unit, copies, type_sizes = type_of_sample, multiplicity, np.ones(len(multiplicity), dtype=np.int64)
    if constraints is not None and constraints.groups is not None and len(constraints.groups) < counts.n_samples:
        unit_of_sample = constraints.groups.code_of_sample
        n_units = len(constraints.groups)
        parts.append(sp.csr_array(np.ones((len(multiplicity), 1), dtype=np.int32)))
        weights.append(np.ones(1))
    features = sp.csr_array(sp.hstack(parts, format="csr"))
    if unit_of_sample is not None:
        features, type_of_unit, copies = _merge_into_units(features, type_of_sample, unit_of_sample, n_units)
        type_sizes = features[:, [-1]].toarray().ravel().astype(np.int64)
        of_unit = np.full(n_units, FREE, dtype=np.int64)
        of_unit[unit_of_sample] = locked
        locked = of_unit
    features.sort_indices()
    needs, uncovered = np.zeros(counts.n_labels, dtype=np.int64), 0
    if cover:
        least = 1 if constraints is None else constraints.min_per_label
        needs = _needs(counts, rank, subsets.sizes, least)
        if cover != "all" and least == 1:  # who asks for a minimum insists on it
            too_dear = _too_dear(counts.sample_totals[np.argsort(rank)], needs, subsets.sizes)
            needs[too_dear], uncovered = 0, len(too_dear)
    return SplitProblem(
        counts=counts,
        subsets=subsets,
        objectives=wanted,
        needs=needs,
        uncovered=uncovered,
        features=compact_csr(features),
        blocks=tuple(blocks),
        weights=np.concatenate(weights),
        type_of_unit=type_of_unit,
        copies=copies,
        type_sizes=type_sizes,
        unit_of_sample=unit_of_sample,
        locked=locked,
        pairs_kept=pairs_kept,
    )


def _merge_with_strata(
    sets: LabelSets, strata: Sequence[sp.csr_array]
) -> tuple[npt.NDArray[np.int32], sp.csr_array, Ints, list[sp.csr_array]]:
    """Tell samples with equal labels apart by their strata: (type of each sample, labels, copies, strata)."""
    if not strata:
        return sets.set_of_sample, sets.counts, sets.multiplicity, []
    from evosplit import _kernels

    number = sp.csr_array(sets.set_of_sample[:, None] + 1)
    whole = compact_csr(sp.hstack([number, *strata], format="csr"))
    first, type_of_sample = _kernels.distinct_rows(whole.indptr, whole.indices, whole.data)
    multiplicity = np.bincount(type_of_sample, minlength=len(first)).astype(np.int64)
    rows = compact_csr(sets.counts[sets.set_of_sample[first]])
    return type_of_sample, rows, multiplicity, [sp.csr_array(part[first]) for part in strata]


def _merge_into_units(
    features: sp.csr_array, type_of_sample: Ints, unit_of_sample: Ints, n_units: int
) -> tuple[sp.csr_array, npt.NDArray[np.int32], Ints]:
    """Sum the features of the samples of each unit and merge equal units: (features, type of each unit, copies)."""
    from evosplit import _kernels

    ones = np.ones(len(unit_of_sample), dtype=np.int32)
    members = sp.csr_array((ones, (unit_of_sample, type_of_sample)), shape=(n_units, features.shape[0]))
    summed = sp.csr_array(members @ features)
    summed.sort_indices()
    summed = compact_csr(summed)
    first, type_of_unit = _kernels.distinct_rows(summed.indptr, summed.indices, summed.data)
    return sp.csr_array(summed[first]), type_of_unit, np.bincount(type_of_unit, minlength=len(first)).astype(np.int64)


def _label_weights(counts: LabelCounts, constraints: Constraints | None, rank: Ints) -> Floats:
    weights = np.ones(counts.n_labels)
    if constraints is not None and constraints.label_weights:
        position = {label: i for i, label in enumerate(counts.labels)}
        for label, weight in constraints.label_weights.items():
            weights[rank[position[label]]] = weight
    return weights


def _needs(counts: LabelCounts, rank: Ints, sizes: Sequence[int], least: int) -> Ints:
    """Return how many samples of each label every subset is to get: as many as asked, or as there are for all.

    No more is asked than the smallest subset can hold even if it gets the samples with the most labels: a search that
    runs after the impossible gives up rare labels for it.
    """
    for_all = counts.sample_totals // len(sizes)
    richest = np.sort(np.diff(counts.presence.indptr))[::-1][: min(sizes)].sum()
    low, high = 1, least
    while low < high:  # the largest minimum that may fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.clip(for_all, 1, middle).sum() <= richest else (low, middle - 1)
    needs = np.empty(counts.n_labels, dtype=np.int64)
    needs[rank] = np.clip(for_all, 1, low)
    return needs


def _too_dear(totals: Ints, needs: Ints, sizes: Sequence[int]) -> Ints:
    """Return the labels whose cover would cost too much, the most frequent ones being covered first.

    A subset whose share of a label is less than half a sample is better off without it, as far as LD goes. What it
    costs to give it the label all the same may add up, over labels and subsets, to the lower bound of LD: so cover at
    most doubles what labels deviate by.
    """
    from evosplit import _kernels

    size, m = np.asarray(sizes, dtype=np.int64), int(sum(sizes))
    odds = totals / np.maximum(m - totals, 1)
    costs = np.zeros(len(totals))
    for j in range(len(size)):
        below = totals * size[j] // m

        def away(x: Ints, s: int = int(size[j])) -> Floats:
            return np.asarray(np.abs(x / np.maximum(s - x, 1) - odds))

        free = np.minimum(away(below), away(below + 1))
        costs += np.minimum(away(np.maximum(below, needs)), away(np.maximum(below + 1, needs))) - free
    costs[(totals < len(size)) | (totals == m)] = 0.0  # too few for all subsets: wherever they are, some lack them
    if not costs.any():
        return np.zeros(0, dtype=np.int64)
    distinct, inverse = np.unique(totals, return_inverse=True)
    affordable = float(ordered_sum(_kernels.odds_bound(distinct, size)[inverse]))
    frequent = np.argsort(-totals, kind="stable")
    return np.asarray(frequent[np.cumsum(costs[frequent]) > affordable + 1e-12])


def _checked_objectives(objectives: Sequence[str] | None, counts: LabelCounts, has_strata: bool) -> tuple[str, ...]:
    further = ("strata",) if has_strata else ()
    if objectives is None:
        return (*default_objectives(counts), *further)
    if isinstance(objectives, str):
        objectives = (objectives,)
    for name in objectives:
        if name not in OBJECTIVES:
            raise EvoSplitError(f"unknown objective {name!r}; choose from {', '.join(map(repr, OBJECTIVES))}")
    if not objectives or len(set(objectives)) != len(objectives):
        raise EvoSplitError(f"objectives={tuple(objectives)} repeats one, or is empty; name each once")
    if "strata" in objectives and not has_strata:
        raise EvoSplitError(
            "objectives= names 'strata', but there are none; pass strata={'weather': one value per sample}"
        )
    return tuple(objectives) if "strata" in objectives else (*objectives, *further)


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


def _pair_features(
    rows: sp.csr_array, multiplicity: Ints, most_entries: int | None
) -> tuple[sp.csr_array, Ints, Ints, int]:
    """Lay out the label pairs of each type: (features, the labels of each column, how many of 1,024 pairs are kept)."""
    lengths = np.diff(rows.indptr).astype(np.int64)
    entries = int((lengths * (lengths - 1) // 2).sum())
    kept = PARTS if most_entries is None else max(1, min(PARTS, PARTS * most_entries // max(entries, 1)))
    if entries * kept // PARTS > MAX_PAIR_ENTRIES:
        raise EvoSplitError(
            f"the distinct label sets hold {entries:,} label pairs, more than {MAX_PAIR_ENTRIES:,} fit in memory; "
            "split with objectives=('samples', 'instances'), or drop the most frequent labels"
        )
    pairs = find_pairs(rows, multiplicity, kept)
    # Frequent pairs side by side, so that what a search looks at most often stays in the cache.
    order = np.argsort(-pairs.totals, kind="stable")
    column = np.empty(len(pairs), dtype=np.int32)
    column[order] = np.arange(len(pairs), dtype=np.int32)
    ones = np.ones(len(pairs.indices), dtype=np.int32)
    features = sp.csr_array((ones, column[pairs.indices], pairs.indptr), shape=(rows.shape[0], len(pairs)))
    features.sort_indices()
    return features, pairs.first[order], pairs.second[order], kept

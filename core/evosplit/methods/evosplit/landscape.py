"""The problem as the search sees it: units in slots, the cost of a cell for a weight vector, the score of a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.front import NEGLIGIBLE, non_dominated
from evosplit.group_packing import mend_sizes
from evosplit.measures import ordered_sum
from evosplit.methods.evosplit.budget import Budget
from evosplit.problem import SplitProblem
from evosplit.rng import Stream

__all__ = ["Candidate", "Landscape", "Score"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

# Width up to which a block's totals are counted, and all its cells evaluated when they change; times the patience.
COUNTED_COLUMNS = 256
ORDERS = 8  # orders of similarity, each for another importance of the labels
TOTALS = 0.3  # weight of a total, in parts of a label's, where it is off by a hundredth or more; the nearer, the less
FAR = 1e6  # odds of a total are taken against so many times its target, so that they are plain parts of it


@dataclass(frozen=True, eq=False)
class Candidate:
    """A split in the search: the unit in each slot, slots ordered by subset."""

    unit_at: npt.NDArray[np.int32]


class Attained(NamedTuple):
    """How far a split is from even: each block, over a random split's; how much each total weighs for being off."""

    blocks: tuple[float, ...]
    totals: Floats


@dataclass(frozen=True, eq=False)
class Score:
    """What a split is worth.

    Attributes
    ----------
    excess, lack
        By how many samples the sizes are off, and how badly labels are lacking.
    blocks, objectives
        The deviations of the blocks, each over a random split's, and the objectives themselves.
    totals
        How far samples without a label and the totals of labels and instances are from their shares, weighted.
    """

    excess: int
    lack: int
    blocks: tuple[float, ...]
    objectives: tuple[float, ...]
    totals: float


class Landscape:
    """The problem as the search sees it.

    Beside the columns of the problem there is one for the total of labels, and where labels repeat one for that of
    instances. Of uneven units some are empty, so that an exchange can also move one unit alone.
    """

    def __init__(self, problem: SplitProblem, starts: Sequence[Ints], stream: Stream) -> None:
        self.problem = problem
        movable = [problem.type_table(start) - problem.placed_table for start in starts]
        empty = movable[0].sum(axis=0) // 4 + 1 if problem.uneven else np.zeros_like(problem.sizes)
        movable = [np.vstack((table, empty)) for table in movable]
        self._per_type = movable[0].sum(axis=1)
        self.type_of = np.repeat(np.arange(len(self._per_type), dtype=np.int32), self._per_type)
        self.starts = [_candidate(table) for table in movable]
        self.slots = movable[0].sum(axis=0)
        self.first_slot = np.concatenate(([0], np.cumsum(self.slots)))

        n_labels = problem.counts.n_labels
        added = [slice(0, n_labels)]
        if problem.counts.has_repeats:
            added += [slice(block.start, block.stop) for block in problem.blocks if block.name == "instances"]
        sums = np.stack([problem.features[:, columns].sum(axis=1) for columns in added], axis=1, dtype=np.int32)
        self.features = sp.csr_array(sp.hstack([problem.features, sp.csr_array(sums)], format="csr"))
        self.features.sort_indices()
        totals = [problem.column_totals[columns].sum() for columns in added]
        self.column_totals = np.concatenate((problem.column_totals, totals))
        self.n_columns = len(problem.column_totals)
        self.totals = np.array([problem.empty_column, *range(self.n_columns, len(self.column_totals))])
        self.budget = Budget.of(self.n_movable, problem.counts.n_labels, self.columns_per_unit, self.table_bytes)
        most = COUNTED_COLUMNS * self.budget.patience
        self.counted = [at for at, block in enumerate(problem.blocks) if block.by_total and block.width <= most]
        # An objective that is 0 in random splits is none to speak of: it keeps its own unit.
        self.reference = [float(value) if value > 1e-12 else 1.0 for value in problem.block_reference]
        self._order_state = stream.state()
        self._scores: dict[Candidate, Score] = {}

    @property
    def n_movable(self) -> int:
        """How many units the search may move."""
        return len(self.type_of)

    @property
    def has_choice(self) -> bool:
        """Whether units of different types can change places."""
        return int((self._per_type > 0).sum()) > 1 and int((self.slots > 0).sum()) > 1

    @property
    def columns_per_unit(self) -> float:
        """How many columns a unit has, on average."""
        return float(self.problem.copies @ np.diff(self.problem.features.indptr)) / float(self.problem.copies.sum())

    @property
    def table_bytes(self) -> int:
        """How much memory the search reads here and there."""
        return int(self.features.shape[1] * (8 * self.problem.k + 32) + 8 * self.features.nnz + 16 * self.n_movable)

    @cached_property
    def units(self) -> Any:
        """What is exchanged, for the kernels."""
        from evosplit._kernels import exchange

        rows = self.features
        sums = np.zeros((len(self._per_type), max(len(self.problem.blocks), 1)), dtype=np.int64)
        for at in self.counted:
            block = self.problem.blocks[at]
            sums[:-1, at] = rows[:, block.start : block.stop].sum(axis=1)
        return exchange.Units(
            indptr=np.append(rows.indptr, rows.indptr[-1]).astype(np.int64),
            indices=rows.indices.astype(np.int32),
            data=rows.data.astype(np.int32),
            sums=sums,
            sizes=np.append(self.problem.type_sizes, 0).astype(np.int64),
            type_of=self.type_of,
            first_of=np.concatenate(([0], np.cumsum(self._per_type))).astype(np.int64),
            occurring=np.flatnonzero(self._per_type).astype(np.int64),
        )

    def of_blocks(self, weights: Sequence[float]) -> list[float]:
        """Turn the weights of the objectives into those of the blocks; strata share theirs."""
        names = [block.name for block in self.problem.blocks]
        by_name = dict(zip(self.problem.objectives, weights, strict=True))
        return [by_name[name] / names.count(name) for name in names]

    @cached_property
    def _goals(self) -> list[float]:
        """The least deviation of each block in any start, over a random split's."""
        of_starts = zip(*(self.score(start).blocks for start in self.starts), strict=True)
        return [min(of_start) + NEGLIGIBLE for of_start in of_starts]

    @cached_property
    def _bases(self) -> Floats:
        """What odds are taken against in each subset: a row for each block, each total, twice the sizes."""
        sizes = self.problem.sizes.astype(np.float64)
        share = sizes / float(self.problem.sizes.sum())
        rows = []
        for block in self.problem.blocks:
            whole = float(self.column_totals[block.start : block.stop].sum())
            rows.append(whole * share if block.by_total else sizes)
        return np.array([*rows, *(FAR * np.maximum(self._targets, 1.0)), 2.0 * sizes])

    @cached_property
    def _targets(self) -> Floats:
        """How many samples without a label, labels and instances in all each subset is to get (a row for each).

        Of instances its share. Of labels as many as it gets when every label is spread as evenly as can be: rare ones
        are best left to large subsets, unless `cover` gives them to the small ones. A subset that is best given fewer
        labels than its share is to get more samples without any, and the other way round: else the targets would pull
        against one another.
        """
        problem, sizes = self.problem, self.problem.sizes.astype(np.float64)
        wholes = self.column_totals[self.totals].astype(np.float64)
        targets: Floats = wholes[:, None] * sizes / float(problem.sizes.sum())
        unlabelled, labels = targets[:2]
        uncovered = self._spread_labels(np.zeros_like(problem.needs))
        labelled = (sizes - unlabelled) * uncovered / np.maximum(labels, NEGLIGIBLE)
        targets[0] = np.clip(sizes - labelled, 0.5 * unlabelled, 2.0 * unlabelled)
        targets[0] *= wholes[0] / max(1.0, float(ordered_sum(targets[0])))
        targets[1] = self._spread_labels(problem.needs)
        return targets

    def _spread_labels(self, needs: Ints) -> Floats:
        """Return how many labels each subset gets in all when each label is spread as evenly as needs allow."""
        problem, sizes = self.problem, self.problem.sizes.astype(np.float64)
        totals = self.column_totals[: problem.counts.n_labels].astype(np.float64)
        share = totals[:, None] * sizes / float(problem.sizes.sum())
        # Of a label that has too few samples for every subset, some get one and the others none.
        enough = totals >= problem.k * needs
        below = np.where(enough[:, None], np.maximum(np.floor(share), needs[:, None]), 0.0)
        left = totals - below.sum(axis=1)
        dearer = (1.0 - 2.0 * (share - below)) / sizes  # to have one more than that
        rank = np.argsort(np.argsort(dearer, axis=1, kind="stable"), axis=1, kind="stable")
        spread = below + (rank < left[:, None])
        spread[:, int(np.argmax(problem.sizes))] += np.minimum(left, 0.0)
        labels = spread.sum(axis=0)
        order = np.argsort(problem.sizes, kind="stable")
        for equal in np.split(order, np.flatnonzero(np.diff(problem.sizes[order]) > 1) + 1):
            labels[equal] = labels[equal].sum() / len(equal)  # which of them a tie favours is chance
        return np.asarray(labels)

    @cached_property
    def _columns(self) -> tuple[Floats, Floats]:
        """The parameters of the columns for weights of 1, and other weights, that put rare columns first."""
        from evosplit._kernels import exchange

        problem, m = self.problem, float(self.problem.sizes.sum())
        columns = np.zeros((len(self.column_totals), 4))
        rare = np.zeros(len(columns))
        for at, block in enumerate(problem.blocks):
            inside = slice(block.start, block.stop)
            totals = self.column_totals[inside].astype(np.float64)
            whole = float(self.column_totals[inside].sum()) if block.by_total else m
            price = np.where(totals < whole, 1.0 / (self.reference[at] * problem.k), 0.0)
            importance = problem.weights[inside]
            rarer = importance / np.sqrt(np.maximum(totals, 1.0))
            columns[inside, exchange.WEIGHT] = price * importance / (ordered_sum(importance) or 1.0)
            rare[inside] = price * rarer / (ordered_sum(rarer) or 1.0)
            columns[inside, exchange.ODDS] = totals / np.maximum(whole - totals, 1.0)
            columns[inside, exchange.BLOCK] = -1 - at if at in self.counted else at
        columns[: problem.counts.n_labels, exchange.NEED] = problem.needs
        columns[self.totals, exchange.ODDS] = 1.0 / (FAR - 1.0)
        columns[self.totals, exchange.BLOCK] = len(problem.blocks) + np.arange(len(self.totals))
        return columns, rare

    @cached_property
    def _spans(self) -> Ints:
        spans = [(self.problem.blocks[at].start, self.problem.blocks[at].stop, at) for at in self.counted]
        return np.array(spans, dtype=np.int64).reshape(-1, 3)

    def attained(self, state: Any) -> Attained:
        """Return how far a state is from even."""
        blocks = self.problem.evaluate_blocks(state.counts[: self.n_columns], self.problem.sizes + state.excess)
        relative = tuple(float(value) / unit for value, unit in zip(blocks, self.reference, strict=True))
        return Attained(relative, self._urgency_of_totals(state.counts))

    def _urgency_of_totals(self, counts: Ints) -> Floats:
        """Return the weight of each total, in parts of a label's.

        The nearer a total is, the less it weighs: to keep it exact would keep exchanges from being made.
        """
        off = np.abs(counts[self.totals] - self._targets) / np.maximum(self._targets, 1.0)
        near = [min(1.0, 100.0 * float(total) / self.problem.k) for total in ordered_sum(off)]
        return np.array([1.0, *[TOTALS] * (len(near) - 1)]) * near

    def cells(self, weights: Sequence[float], attained: Attained, rare: float = 0.0) -> Any:
        """Return what each cell costs; the more `rare` is, up to 1, the more a column counts the rarer it is.

        Near a split that has attained these deviations, a block weighs as `cost` rises there, a total as it is off.
        """
        from evosplit._kernels import exchange

        of_blocks = self.of_blocks(weights)
        behind = [(d + NEGLIGIBLE) / goal for d, goal in zip(attained.blocks, self._goals, strict=True)]
        slopes = [weight * by for weight, by in zip(of_blocks, behind, strict=True)]
        scale = ordered_sum(np.array(of_blocks)) / (ordered_sum(np.array(slopes)) or 1.0)
        of_blocks = [slope * float(scale) for slope in slopes]
        true, rarer = self._columns
        columns = true.copy()
        for block, weight in zip(self.problem.blocks, of_blocks, strict=True):
            inside = columns[block.start : block.stop, exchange.WEIGHT]
            if rare > 0.0:
                inside *= 1.0 - rare
                inside += rare * rarer[block.start : block.stop]
            inside *= weight
        price = FAR * self._price_of_label(of_blocks)
        per_sample = self.column_totals[self.totals] / float(self.problem.sizes.sum())
        columns[self.totals, exchange.WEIGHT] = price * per_sample * attained.totals
        return exchange.Cells(columns, self._spans, int(self.problem.needs.max(initial=1)))

    def _price_of_label(self, of_blocks: Sequence[float]) -> float:
        """Return the weight of one label's column where samples with it are spread, else 0."""
        for at, (block, weight) in enumerate(zip(self.problem.blocks, of_blocks, strict=True)):
            if block.name == "samples":
                return weight / (self.reference[at] * self.problem.k * max(block.width, 1))
        return 0.0

    def price_sizes(self, cells: Any, price: float) -> None:
        """Let a sample too many, in a subset of middling size, cost so much; in place."""
        middling = float(np.sort(self.problem.sizes)[self.problem.k // 2])
        cells.columns[self.n_columns - 1] = (0.5 * price * middling, 1.0, 0.0, len(self._bases) - 1)

    def state(self, candidate: Candidate) -> Any:
        """Lay out a candidate for the kernels, which change it in place."""
        from evosplit import _kernels
        from evosplit._kernels import exchange

        unit_at = candidate.unit_at.copy()
        slot_of = np.empty_like(unit_at)
        slot_of[unit_at] = np.arange(len(unit_at), dtype=np.int32)
        table = self.type_table(candidate)
        counts = _kernels.sum_features(self.features, table)
        totals = self._bases.copy()
        for at in self.counted:
            block = self.problem.blocks[at]
            totals[at] = counts[block.start : block.stop].sum(axis=0)
        return exchange.State(
            unit_at=unit_at,
            slot_of=slot_of,
            starts=self.first_slot,
            counts=counts,
            totals=totals,
            excess=self.problem.type_sizes @ table - self.problem.sizes,
            gains=np.zeros(len(counts), dtype=np.int64),
        )

    def type_table(self, candidate: Candidate) -> Ints:
        """Return units per type and subset."""
        table = self.problem.placed_table.copy()
        kinds = self.type_of[candidate.unit_at]
        n_types = self.problem.n_types
        for j in range(self.problem.k):
            inside = kinds[self.first_slot[j] : self.first_slot[j + 1]]
            table[:, j] += np.bincount(inside, minlength=n_types + 1)[:n_types]
        return table

    def score(self, candidate: Candidate, state: Any = None) -> Score:
        """Evaluate a candidate, laid out as `state` if it is already, or remember what it is worth."""
        if candidate not in self._scores:
            problem = self.problem
            state = state or self.state(candidate)
            counts, excess = state.counts, state.excess
            blocks = problem.evaluate_blocks(counts[: self.n_columns], problem.sizes + excess)
            off = np.abs(counts[self.totals] - self._targets) / np.maximum(problem.sizes, 1)
            off *= self._urgency_of_totals(counts)[:, None]
            self._scores[candidate] = Score(
                excess=int(np.abs(excess).sum()),
                lack=int(problem.shortage(counts)),
                blocks=tuple(float(value) / unit for value, unit in zip(blocks, self.reference, strict=True)),
                objectives=tuple(problem.by_objective(blocks).tolist()),
                totals=float(ordered_sum(off.ravel())),
            )
        return self._scores[candidate]

    def cost(self, candidate: Candidate, weights: Sequence[float]) -> tuple[int, int, float]:
        """Return what a candidate is worth for a weight vector: sizes first, then missing labels, then the cost.

        A block costs the square of its deviation, in parts of what the starts have: so it weighs the more, the further
        it is behind.
        """
        score = self.score(candidate)
        of_blocks = self.of_blocks(weights)
        cost = self._price_of_label(of_blocks) * score.totals
        for weight, deviation, goal in zip(of_blocks, score.blocks, self._goals, strict=True):
            away = deviation + NEGLIGIBLE
            cost += weight * away * away / (2.0 * goal)
        return score.excess, score.lack, cost

    def best_of(self, candidates: Sequence[Candidate], weights: Sequence[float]) -> Candidate:
        """Return the best of the candidates for a weight vector."""
        return min(candidates, key=lambda candidate: self.cost(candidate, weights))

    def front_of(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return those that no other one dominates, of those with the best sizes and the fewest missing labels."""
        scores = [self.score(candidate) for candidate in candidates]
        least = min((score.excess, score.lack) for score in scores)
        right = [i for i, score in enumerate(scores) if (score.excess, score.lack) == least]
        best = non_dominated(np.array([scores[i].objectives for i in right]))
        return [candidates[right[i]] for i in best]

    def mend_sizes(self, candidate: Candidate, stream: Stream) -> Candidate:
        """Exchange units until the sizes are right, or no exchange of two brings them nearer."""
        subset = np.repeat(np.arange(self.problem.k, dtype=np.int32), self.slots)
        here = np.empty(self.n_movable, dtype=np.int64)
        here[candidate.unit_at] = subset
        sizes = np.append(self.problem.type_sizes, 0)[self.type_of]
        capacities = self.problem.capacities
        mended = mend_sizes(sizes, here, sizes > 0, capacities, stream)
        # A unit that moved without another one in return has changed places with an empty one.
        gone = np.bincount(mended, minlength=self.problem.k) - self.slots
        for j in np.flatnonzero(gone > 0):
            for other in np.flatnonzero(gone < 0):
                number = min(gone[j], -gone[other])
                mended[np.flatnonzero((mended == j) & (sizes == 0))[:number]] = other
                gone[j] -= number
                gone[other] += number
        return Candidate(np.argsort(mended, kind="stable").astype(np.int32))

    @cached_property
    def _labels(self) -> sp.csr_array:
        """The labels of each type; the last one is the empty unit."""
        n_labels = self.problem.counts.n_labels
        nothing = sp.csr_array((1, n_labels), dtype=np.int32)
        return sp.csr_array(sp.vstack([self.features[:, :n_labels], nothing], format="csr"))

    @cached_property
    def carriers(self) -> tuple[Ints, Ints, int]:
        """The units that carry each label: (start of each list, units, number of columns that are about labels)."""
        from evosplit._kernels import exchange

        problem, n_labels = self.problem, self.problem.counts.n_labels
        # The first columns count samples with a label even where that is no objective: `cover` needs them.
        about_labels = [block.stop for block in problem.blocks if block.name in ("samples", "instances")]
        starts, units = exchange.carriers_of_labels(self._labels, self.type_of, n_labels)
        return starts, units, max(about_labels, default=n_labels)

    @cached_property
    def orders(self) -> list[Any]:
        """Orders of similarity of the types, for random importances of the labels.

        Every second one puts units of equal size side by side first, so that exchanges keep the sizes.
        """
        from evosplit._kernels import exchange, rng

        made = []
        state = self._order_state.copy()  # two threads may come here at once, and must find the same
        for turn in range(ORDERS):
            labels, neighbours = np.arange(self.problem.counts.n_labels), self.units.occurring.copy()
            rng.shuffle(labels, state)
            rng.shuffle(neighbours, state)
            importance = np.empty_like(labels)
            importance[labels] = np.arange(len(labels))
            keys = exchange.similarity_keys(self._labels, importance)
            neighbours = neighbours[np.argsort(keys[neighbours], kind="stable")]
            if self.problem.uneven and turn % 2 == 0:
                neighbours = neighbours[np.argsort(self.units.sizes[neighbours], kind="stable")]
            rank = np.zeros(len(self._per_type), dtype=np.int64)
            rank[neighbours] = np.arange(len(neighbours))
            made.append(exchange.Order(neighbours, rank))
        return made


def _candidate(table: Ints) -> Candidate:
    """Take units of each type for each subset, as many as the table says."""
    subset_of = np.repeat(np.tile(np.arange(table.shape[1], dtype=np.int32), len(table)), table.ravel())
    return Candidate(np.argsort(subset_of, kind="stable").astype(np.int32))

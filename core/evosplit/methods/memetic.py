"""The default engine: a memetic multi-objective search.

How it works, in the order of the code:

1. *Start*. Iterative stratification deals out the rarest label pairs first: a good split by itself. Of equal units in
   very large sets only a few stay movable, so the work grows with the number of distinct label sets, not with the
   number of samples.
2. *Ancestor*. An exchange search (`_kernels.exchange`) improves the start for a balanced weighting of the objectives:
   two units change places, only the labels and pairs in which they differ are evaluated, and the temperature of an
   annealing schedule decides which losses are accepted.
3. *Evolution*. A population holds one split for each of a fan of weightings, from all for the labels to all for the
   label pairs. In every generation each of them has a child with a neighbour in the fan: what both parents agree on is
   inherited, half of what they differ in comes from the other one. The child is improved by the exchange search for
   its own weighting and replaces its parent where it is better.
4. *Front*. Of all splits, those that no other one dominates are the answer.

The weightings are independent tasks within a generation, each with its own random stream; so the result is the same
whatever the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.methods.base import Run, Solution
from evosplit.methods.iterative import IterativeStratification
from evosplit.problem import SplitProblem
from evosplit.result import non_dominated

__all__ = ["Memetic"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

EXACT_COLUMNS = 256  # up to so many feature columns every trial evaluates the odds themselves
MOVABLE_LIMIT = 400_000  # beyond so many units, most of those that are equal are fixed where they start
MOVABLE_COPIES = 2  # how many equal units of each subset stay movable then
ORDERS = 8  # orders of similarity, each for another importance of the labels
REACH = 10  # how far apart in such an order the partners of an exchange lie
SETTLING = 6  # rounds of mending labels one by one, at most
SETTLING_SHARE = 0.25  # evaluations in all these rounds, as a part of the trials of the search
SETTLED_FIRST = 3.0  # how much more images with a label weigh while mending
FIRST = 1e5  # how much an objective weighs that comes before the others
TASK_TRIALS = 8  # trials per movable unit below which a generation is not worth while
CHUNK = 200_000  # trials between two looks at the clock
MIN_CHUNKS = 10  # steps of every annealing at least, so that it ends frozen however short it is


@dataclass(frozen=True)
class Plan:
    """How much work an effort stands for.

    Attributes
    ----------
    root, enough, per_unit
        Trial exchanges in all: `root` times the square root of the number of movable units but at most `enough`, and
        at least `per_unit` for each of them. Small sets get many trials per unit, large ones a few.
    points
        Weightings in the fan.
    generations
        How often the population has children.
    """

    root: int
    enough: int
    per_unit: int
    points: int
    generations: int

    def trials(self, n_movable: int) -> int:
        """Return the number of trial exchanges for so many movable units."""
        return int(max(min(self.root * n_movable**0.5, self.enough), self.per_unit * n_movable))


PLANS = {
    "fast": Plan(root=25_000, enough=3_000_000, per_unit=25, points=3, generations=1),
    "normal": Plan(root=120_000, enough=6_000_000, per_unit=40, points=7, generations=2),
    "thorough": Plan(root=600_000, enough=60_000_000, per_unit=400, points=11, generations=4),
}


@dataclass(frozen=True)
class Memetic:
    """Evolve a front of trade-offs with an exchange search inside.

    Parameters
    ----------
    ancestor_share
        The part of the trials that goes into the common ancestor.
    hot, warm
        First temperature of the ancestor's annealing, in units of the mean price of one misplaced count: for small
        problems, and for those where stratification leaves little to gain.
    cold
        Last temperature of every search, relative to the ancestor's first one.
    reheat
        First temperature of every later search.
    frozen
        The last part of every search, in which only improvements are accepted.
    centre
        Weight of the pairs over that of the labels in the middle of the fan. Labels are few and settle easily, so the
        pairs lead.
    label_end, pair_end
        By how much that ratio differs from the middle's next to the ends of the fan.
    """

    ancestor_share: float = 0.3
    hot: float = 3.0
    warm: float = 0.3
    cold: float = 0.02
    reheat: float = 0.3
    frozen: float = 0.2
    centre: float = 2.0
    label_end: float = 100.0
    pair_end: float = 10.0

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Return those of all splits met that no other one dominates."""
        plan = PLANS[run.effort]
        order = 2 if "pairs" in problem.objectives else 1
        start = IterativeStratification(order).solve(problem, Run(run.rng)).assignments[0]
        landscape = Landscape(problem, start, run.rng)
        trials = plan.trials(landscape.n_movable)
        clock = _Clock(run, trials)
        for_ancestor = int(self.ancestor_share * trials)
        # With few trials for each unit, fewer and longer searches serve better.
        tasks_worth = (trials - for_ancestor) // (TASK_TRIALS * max(landscape.n_movable, 1))
        points = int(np.clip(tasks_worth, 3, plan.points))
        fan = weightings(problem.objectives, points, self.centre, self.label_end, self.pair_end)
        generations = int(np.clip(tasks_worth // len(fan), 1, plan.generations))
        each = (trials - for_ancestor) // (len(fan) * generations)
        seeds = iter(run.rng.integers(1, 2**63 - 1, size=1 + generations * len(fan), dtype=np.uint64))

        hot = self.hot if landscape.exact else self.warm
        first = _Task(self, landscape, fan[len(fan) // 2], landscape.start, None, next(seeds), for_ancestor, hot)
        ancestor = _work([first], run.n_jobs, clock, "searching for a balanced split")[0]
        found = [ancestor]
        population = [ancestor] * len(fan)
        for generation in range(generations):
            if clock.stopped:
                break
            tasks = []
            for i, weights in enumerate(fan):
                # Mates lie towards the middle of the fan and outwards in turn, so that genes travel both ways.
                other = i + (1 if (i < len(fan) // 2) == (generation % 2 == 1) else -1)
                mate = population[other] if generation and 0 <= other < len(fan) else None
                tasks.append(_Task(self, landscape, weights, population[i], mate, next(seeds), each, self.reheat))
            message = f"evolving {len(fan)} trade-offs, generation {generation + 1} of {generations}"
            children = _work(tasks, run.n_jobs, clock, message)
            for i, weights in enumerate(fan):
                if landscape.cost(children[i], weights) <= landscape.cost(population[i], weights):
                    population[i] = children[i]
            found += children
        run.report(1.0, "done")
        scores = np.array([problem.evaluate(landscape.tables(candidate)[1]) for candidate in found])
        return Solution(landscape.assignments([found[i] for i in non_dominated(scores)]))


def weightings(objectives: Sequence[str], points: int, centre: float, label_end: float, pair_end: float) -> Floats:
    """Fan out weights for the objectives, from the labels (first row) to the pairs (last row).

    The ratio of the weights changes in equal steps; but in the first row labels come first, whatever the pairs say.
    """
    for_pairs = np.array([name in ("pairs", "triplets") for name in objectives])
    if for_pairs.all() or not for_pairs.any():
        return np.ones((1, len(objectives)))
    position = np.linspace(-1, 1, points)
    ratio = centre * np.where(position < 0, label_end**position, pair_end**position)
    ratio[0] = 1 / FIRST
    weights = np.where(for_pairs, ratio[:, None], 1.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Candidate:
    """A split in the search: the unit in each slot, slots ordered by subset."""

    unit_at: npt.NDArray[np.int32]


class Landscape:
    """The problem as the search sees it: movable units, slots, the price of each cell for a weighting."""

    def __init__(self, problem: SplitProblem, start: Ints, rng: np.random.Generator) -> None:
        self.problem = problem
        # Equal units in one subset are as good as each other: beyond a few, they need not be movable.
        table = problem.type_table(start)
        self.fixed = np.maximum(table - MOVABLE_COPIES, 0) if problem.n_units > MOVABLE_LIMIT else np.zeros_like(table)
        movable = table - self.fixed
        self.type_of = np.repeat(np.arange(problem.n_types, dtype=np.int32), movable.sum(axis=1))
        subset_of = np.repeat(np.tile(np.arange(problem.k, dtype=np.int32), problem.n_types), movable.ravel())
        self.start = Candidate(np.argsort(subset_of, kind="stable").astype(np.int32))
        self.slots = movable.sum(axis=0)
        self.starts = np.concatenate(([0], np.cumsum(self.slots)))
        self.indptr = problem.features.indptr
        self.indices = problem.features.indices
        self.data = problem.features.data
        self.block_sums = problem.block_sums
        self.scale = problem.sizes.sum() / problem.sizes
        # An objective that is 0 in random splits is none to speak of: it keeps its own unit.
        self.reference = np.where(problem.random_reference > 1e-12, problem.random_reference, 1.0)
        spread = np.abs(self.block_sums - np.average(self.block_sums, axis=0, weights=problem.copies))
        self.spread = np.maximum(1.0, 2 * np.average(spread, axis=0, weights=problem.copies))
        self.largest_unit = int(problem.features.sum(axis=1).max()) if problem.features.nnz else 1
        # The first columns count images with a label even where that is no objective: `cover` needs them.
        spread_labels = [block.stop for block in problem.blocks if block.name in ("images", "instances")]
        self.label_columns = max(spread_labels, default=problem.counts.n_labels)
        self.exact = problem.features.shape[1] <= EXACT_COLUMNS
        self._shuffled = rng.permutation(problem.n_units)
        self._order_rng = np.random.default_rng(rng.integers(2**63))

    @property
    def n_movable(self) -> int:
        """How many units the search may move."""
        return len(self.type_of)

    @cached_property
    def _fixed_counts(self) -> Ints:
        return self.problem.column_table(self.fixed)

    def columns(self, weights: Floats) -> tuple[Floats, Floats, float, float]:
        """Return the parameters of each feature column, the same linearised, penalty for a missing label, a price.

        A cell's price is the derivative of its term of Eq. 1 - 3 at its target, divided by a random split's objective,
        times the weight of the objective.
        """
        problem = self.problem
        table = np.zeros((problem.features.shape[1], 4))
        exact = np.zeros_like(table)
        price = np.zeros(len(table))
        totals = problem.column_totals
        for at, block in enumerate(problem.blocks):
            inside = slice(block.start, block.stop)
            whole = max(float(totals[inside].sum() if block.by_total else problem.sizes.sum()), 1.0)
            share = totals[inside] / whole
            base = weights[at] / (self.reference[at] * max(block.width, 1) * problem.k)
            slope = base / whole / np.maximum(1 - share, 1 / whole) ** 2
            full = share >= 1
            price[inside] = np.where(full, 0.0, slope)
            table[inside, 0] = price[inside]
            table[inside, 1] = share
            table[inside, 3] = at
            exact[inside, 0] = np.where(full, 0.0, base)
            exact[inside, 1] = totals[inside] / np.maximum(whole - totals[inside], 1)
            exact[inside, 3] = at
        if problem.cover:
            table[: problem.counts.n_labels, 2] = exact[: problem.counts.n_labels, 2] = 1.0
        means = []
        for block in problem.blocks:
            inside = slice(block.start, block.stop)
            if (price[inside] * totals[inside]).any():
                means.append(float(np.average(price[inside], weights=totals[inside])))
        # In a large problem, between the cheapest and the dearest block: neither is frozen, neither melts.
        cheapest, dearest = min(means, default=0.0), max(means, default=0.0)
        mean = (cheapest if self.exact else float(np.sqrt(cheapest * dearest))) * float(np.median(self.scale))
        # No exchange can gain more than this by spreading its features better, so a missing label always costs more.
        penalty = 2 * self.largest_unit * float(price.max(initial=0.0)) * float(self.scale.max()) or 1.0
        return exact if self.exact else table, table, penalty, mean

    def tables(self, candidate: Candidate) -> tuple[Ints, Ints, Ints]:
        """Return units per type and subset, feature counts per column and subset, block totals per subset."""
        type_table = self.fixed.copy()
        kinds = self.type_of[candidate.unit_at]
        for j in range(self.problem.k):
            type_table[:, j] += np.bincount(kinds[self.starts[j] : self.starts[j + 1]], minlength=self.problem.n_types)
        counts = self.problem.column_table(type_table).astype(np.int32)
        totals = self.block_sums.T.astype(np.int64) @ type_table
        return type_table, counts, totals

    def cost(self, candidate: Candidate, weights: Floats) -> float:
        """Return the weighted sum of the objectives, each over a random split's, and a penalty for missing labels."""
        problem = self.problem
        counts = self.tables(candidate)[1]
        scaled = problem.evaluate(counts) / self.reference
        missing = int((counts[: problem.counts.n_labels] == 0).sum()) if problem.cover else 0
        return float(weights @ scaled) + 1e3 * missing

    def assignments(self, candidates: Sequence[Candidate]) -> list[npt.NDArray[np.integer[Any]]]:
        """Turn candidates into one subset number per unit of the problem; equal units are dealt out at random."""
        order = self._shuffled[np.argsort(self.problem.type_of_unit[self._shuffled], kind="stable")]
        made: list[npt.NDArray[np.integer[Any]]] = []
        small: Any = np.int8 if self.problem.k <= 127 else np.int32
        for candidate in candidates:
            type_table = self.tables(candidate)[0]
            assignment = np.empty(self.problem.n_units, dtype=small)
            assignment[order] = np.repeat(
                np.tile(np.arange(self.problem.k, dtype=small), len(type_table)), type_table.ravel()
            )
            made.append(assignment)
        return made

    def inherit(self, mother: Candidate, father: Candidate, rng: np.random.Generator) -> Candidate:
        """Cross two splits: agreements stay, about half of the differences follow the father, sizes stay exact.

        Units that the parents place differently form cycles: this one sits where that one goes. Following a cycle moves
        one unit into and one out of each subset on the way, so any set of whole cycles keeps the sizes.
        """
        subset = np.repeat(np.arange(self.problem.k, dtype=np.int32), self.slots)
        here = np.empty(self.n_movable, dtype=np.int32)
        there = np.empty(self.n_movable, dtype=np.int32)
        here[mother.unit_at], there[father.unit_at] = subset, subset
        moving = rng.permutation(np.flatnonzero(here != there))
        from evosplit._kernels import exchange

        exchange.follow_cycles(here, there, moving, self.problem.k, len(moving) // 2)
        return Candidate(np.argsort(here, kind="stable").astype(np.int32))

    @cached_property
    def carriers(self) -> tuple[Ints, Ints]:
        """The units that carry each label: (start of each list, units)."""
        from evosplit._kernels import exchange

        return exchange.carriers_of_labels(self.indptr, self.indices, self.type_of, self.problem.counts.n_labels)

    @cached_property
    def orders(self) -> list[tuple[Ints, Ints]]:
        """Orders of similarity, for random importances of the labels, each with every unit's place in it."""
        made = []
        for _ in range(ORDERS):
            neighbours = self._similarity_order(
                self._order_rng.permutation(self.problem.counts.n_labels), self._order_rng
            )
            rank = np.empty_like(neighbours)
            rank[neighbours] = np.arange(len(neighbours), dtype=np.int32)
            made.append((neighbours, rank))
        return made

    def _similarity_order(self, labels: Ints, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Sort the movable units by their labels, the first of `labels` being the most important; ties at random."""
        from evosplit._kernels import exchange

        rank = np.empty(len(labels), dtype=np.int64)
        rank[labels] = np.arange(len(labels))
        keys = exchange.similarity_keys(self.indptr, self.indices, rank)
        shuffled = rng.permutation(self.n_movable).astype(np.int32)
        return np.asarray(shuffled[np.argsort(keys[self.type_of[shuffled]], kind="stable")])


@dataclass(frozen=True)
class _Task:
    """One search: improve a split (or the child of two) for a weighting."""

    method: Memetic
    landscape: Landscape
    weights: Floats
    mother: Candidate
    father: Candidate | None
    seed: np.uint64
    trials: int
    hot: float

    def run(self, clock: _Clock) -> Candidate:
        """Mend what is grossly wrong, search while the temperature falls, mend what is left."""
        from evosplit._kernels import exchange

        land = self.landscape
        rng = np.random.default_rng(int(self.seed))
        candidate = self.mother if self.father is None else land.inherit(self.mother, self.father, rng)
        unit_at = candidate.unit_at.copy()
        slot_of = np.empty_like(unit_at)
        slot_of[unit_at] = np.arange(len(unit_at), dtype=np.int32)
        _, counts, totals = land.tables(candidate)
        state = np.array([self.seed], dtype=np.uint64)
        units = (land.indptr, land.indices, land.data, land.block_sums, land.type_of)
        split = (unit_at, slot_of, land.starts, counts, totals)

        def settle(weights: Floats, only_missing: bool) -> None:
            _, linear, penalty, _ = land.columns(weights)
            threshold = 0.5 * penalty if only_missing else 1e-12
            for turn in range(SETTLING):
                order = land.orders[turn % len(land.orders)]
                made = exchange.settle(
                    *units, linear, land.scale, penalty, land.spread, *split, *order, *land.carriers,
                    land.label_columns, REACH, threshold, int(self.trials * SETTLING_SHARE / SETTLING), state,
                )  # fmt: skip
                if made == 0:
                    break

        if land.problem.cover:
            settle(self.weights, only_missing=True)
        columns, _, penalty, price = land.columns(self.weights)
        search = exchange.search_exact if land.exact else exchange.search
        chunks = max(MIN_CHUNKS, round(self.trials / CHUNK))
        time = np.arange(chunks + 1) / chunks
        cold = self.method.cold * (self.method.hot if land.exact else self.method.warm)
        temperatures = price * self.hot * (cold / self.hot) ** (time / (1 - self.method.frozen))
        for chunk in range(chunks):
            is_frozen = time[chunk + 1] > 1 - self.method.frozen + 1e-9
            first, last = (0.0, 0.0) if is_frozen else temperatures[chunk : chunk + 2]
            order = land.orders[int(rng.integers(len(land.orders)))]
            search(
                *units, columns, land.scale, penalty, land.spread, *split, *order, REACH,
                self.trials // chunks, first, last, state,
            )  # fmt: skip
            if not clock.tick(self.trials // chunks):
                break
        if not land.exact:
            emphasis = np.array([SETTLED_FIRST if name == "images" else 1.0 for name in land.problem.objectives])
            settle(self.weights * emphasis, only_missing=False)
        return Candidate(unit_at)


class _Clock:
    """Counts trials over all threads and tells the caller, from the caller's own thread only."""

    def __init__(self, run: Run, trials: int) -> None:
        self._run, self._trials = run, trials
        self._done, self._lock, self._owner = 0, threading.Lock(), threading.get_ident()
        self._message = ""
        self.stopped = False

    def announce(self, message: str) -> None:
        """Say what is being done from now on."""
        self._message = message
        self.look()

    def tick(self, trials: int) -> bool:
        """Count trials; return whether to go on."""
        with self._lock:
            self._done += trials
        if threading.get_ident() == self._owner:
            self.look()
        elif self._run.out_of_time:
            self.stopped = True
        return not self.stopped

    def look(self) -> None:
        """Report the progress and learn whether to stop."""
        if not self._run.report(min(0.99, self._done / self._trials), self._message):
            self.stopped = True


def _work(tasks: Sequence[_Task], n_jobs: int, clock: _Clock, message: str) -> list[Candidate]:
    """Run the tasks, on threads if asked (the kernels hold no lock); the caller's thread keeps reporting."""
    clock.announce(message)
    if n_jobs == 1 or len(tasks) == 1:
        return [task.run(clock) for task in tasks]
    with ThreadPoolExecutor(None if n_jobs < 0 else n_jobs) as pool:
        futures = [pool.submit(task.run, clock) for task in tasks]
        try:
            while wait(futures, timeout=0.3, return_when=FIRST_EXCEPTION).not_done:
                clock.look()
        except BaseException:
            clock.stopped = True
            raise
        return [future.result() for future in futures]

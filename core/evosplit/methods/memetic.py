"""The default engine: a memetic multi-objective search.

How it works, in the order of the code:

1. *Start*. Iterative stratification deals out the rarest label pairs first: a good split of equal sizes by itself. For
   subsets that are much smaller than others, a systematic sample: units in an order in which similar ones are
   neighbours, dealt out evenly. Of equal units in very large sets only a few stay movable, so the work grows with the
   number of distinct label sets, not with the number of samples.
2. *Ancestor*. An exchange search (`_kernels.exchange`) improves the start for a balanced weighting of the objectives:
   two units change places, only the labels and pairs in which they differ are evaluated, and the temperature of an
   annealing schedule decides which losses are accepted. At first, rare labels and pairs weigh more than the objectives
   say. Two such searches compete, from two starts where there are two; the better end wins.
3. *Evolution*. A population holds one split for each of a fan of weightings, from all for the labels to all for the
   label pairs. In every generation each of them has a child: the exchange search goes on from it at a lower
   temperature, for its own weighting. Then every weighting takes the best of all parents and children, also of those
   that were bred for another one. (Crossing two splits was tried and left out: with as many trials it gains nothing.)
   Groups of very different sizes freeze early, the large ones first: a child then starts with a few of them misplaced,
   and there are more and shorter generations.
4. *Front*. Of all splits, those that no other one dominates are the answer.

More effort goes on where less ends: the fast search is the beginning of the normal one, and the thorough one a normal
one with another, longer one after it. So the front never gets worse with more effort.

The weightings are independent tasks within a generation, each with its own random stream; so the result is the same
whatever the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from evosplit.constraints import FREE
from evosplit.methods.base import Run, Solution
from evosplit.methods.exhaustive import every_split
from evosplit.methods.iterative import IterativeStratification
from evosplit.problem import SplitProblem
from evosplit.result import non_dominated
from evosplit.sizing import fit_sizes, mend_sizes

__all__ = ["Memetic"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

EXACT_COLUMNS = 256  # up to so many feature columns every trial evaluates the odds themselves
FEW_COLUMNS = 192  # such a trial costs as much as any other with about so many columns
MANY = 40_000  # units beyond which the number of trials falls, see `Plan`
MOVABLE_LIMIT = 400_000  # beyond so many units, most of those that are equal are fixed where they start
MOVABLE_COPIES = 2  # how many equal units of each subset stay movable then
ORDERS = 8  # orders of similarity, each for another importance of the labels
REACH = 10  # how far apart in such an order the partners of an exchange lie
MELTING_TRIALS = 200  # trials per unit below which a child's search melts less of its parent
SETTLING = 12  # rounds of mending labels one by one, at most
SETTLING_SHARE = 3.0  # evaluations in all these rounds, over the trials of the search
SETTLED_FIRST = 10.0  # how much more images with a label weigh while mending
SETTLED_ALONE = 40.0  # the same where there are no instances to heed
EMPTY = 8  # empty places in each subset, at least, where units are uneven
SIZE_PRICE = 1.0  # what a sample too many costs until the search is frozen, in units of a misplaced count
SIZE_GROWTH = 10.0  # by how much that price grows until then, where every trial evaluates the odds themselves
TRIAL_SHARE = 1.75  # how much more the search of groups may cost than that of their samples
UNEVEN_SETTLING = 0.2  # in place of `SETTLING_SHARE`: groups carry many labels at once
UNEVEN_HEAT = 0.15  # first temperature of the ancestor at least, in samples of the mean unit
UNEVEN_REHEAT = 0.1  # that of the first children; later ones start colder
UNEVEN_COLD = 3.0  # last temperature over that of single samples: there are no smaller steps to wait for
KICKED = 2  # units, rather large ones, that change places before a child's search
MOST_TASKS = 300  # searches of small problems with uneven units
SHORTEST_TASK = 2_000  # trials in one of them at least
FIRST = 1e5  # how much an objective weighs that comes before the others
INSTANCES = 2.0  # how much more instances weigh than samples, which settle more easily
LEANING = 4.0  # the same in a row that leans towards them
SMALL_SHARE = 0.05  # part of the samples below which a smaller subset is not stratified
SIMILAR_SIZES = 0.5  # smallest over largest subset above which stratification alone is the start
FEW_POINTS = 4  # weightings in the fan at least
LARGE_FAN = 5  # weightings from which on there is such a row
TASK = 8  # trials per movable unit below which a generation is not worth while
LONG_TASK = 128  # the same where every search melts its parent
CHUNK = 200_000  # trials between two looks at the clock
BEGINNING = 1 / 6  # part of the generations after which a plan that is not carried out to the end breaks off
MIN_CHUNKS = 10  # steps of every annealing at least, so that it ends frozen however short it is


@dataclass(frozen=True)
class Plan:
    """How much work an effort stands for.

    Attributes
    ----------
    root, enough, per_unit
        Trial exchanges in all: `root` times the square root of the number of movable units but at most `enough`, beyond
        `MANY` units fewer and fewer, but at least `per_unit` for each of them. Small sets get many trials per unit,
        large ones, where stratification leaves little to gain, a few.
    points
        Weightings in the fan.
    generations
        How often the population has children.
    whole
        Whether it is gone through to the end; else only a beginning is, up to the first children for the ends and the
        middle of the fan.
    before
        Another plan, carried out first; the front is that of both.
    """

    root: int
    enough: int
    per_unit: int
    points: int
    generations: int
    whole: bool = True
    before: Plan | None = None

    @property
    def rounds(self) -> list[Plan]:
        """All plans to be carried out, in this order."""
        return [*(self.before.rounds if self.before else []), self]

    def trials(self, n_movable: int) -> int:
        """Return the number of trial exchanges for so many movable units."""
        at_most = self.enough * min(1.0, MANY / max(n_movable, 1))
        return int(max(min(self.root * n_movable**0.5, at_most), self.per_unit * n_movable))


NORMAL = Plan(root=70_000, enough=6_000_000, per_unit=22, points=7, generations=3)
PLANS = {
    "fast": replace(NORMAL, whole=False),
    "normal": NORMAL,
    "thorough": Plan(root=550_000, enough=55_000_000, per_unit=380, points=11, generations=4, before=NORMAL),
}


@dataclass(frozen=True)
class Memetic:
    """Evolve a front of trade-offs with an exchange search inside.

    Parameters
    ----------
    ancestor_share
        The part of the trials that goes into the common ancestor.
    hot, melting, warm
        First temperature of an ancestor's annealing, in units of the mean price of one misplaced count: hot in small
        problems, melting where the start is rough, and warm to keep what stratification has done well.
    cold
        Last temperature of a search, relative to the first one.
    reheat
        First temperature of every later search, relative to that of a stratified ancestor.
    frozen
        The last part of every search, in which only improvements are accepted.
    smooth
        Until then, in small problems, a deviation that is small beside this part of the odds counts by its square, so
        that large ones, which few units can mend, come first. That fades while the search cools down.
    rare
        Until then a label or pair weighs the more the rarer it is, by this power: those that have few places to be
        right settle first, and the frequent ones, which always find a partner, around them. In small problems, with
        more time for each unit, that fades while the search cools down.
    centre, steep_centre
        Weight of the pairs over that of the labels in the middle of the fan. Labels are few and settle easily, so the
        pairs lead; they lead by far where samples with a label are all there is to mend afterwards.
    label_end, pair_end
        By how much that ratio differs from the middle's next to the ends of the fan.
    """

    ancestor_share: float = 0.3
    hot: float = 2.0
    melting: float = 6.0
    warm: float = 0.3
    cold: float = 0.02
    reheat: float = 0.7
    frozen: float = 0.2
    smooth: float = 0.1
    rare: float = 0.5
    centre: float = 2.0
    steep_centre: float = 12.0
    label_end: float = 100.0
    pair_end: float = 10.0

    respects: ClassVar[frozenset[str]] = frozenset({"groups", "locked", "strata", "min_per_label", "label_weights"})

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Return those of all splits met that no other one dominates."""
        starts = _starts(problem, run)
        if run.stopped is not None:
            return Solution([starts[0].assignment])
        if problem.uneven and run.report(0.0, "trying every way to place the groups"):
            optimum = every_split(problem, starts[0].assignment)
            if optimum is not None:
                run.report(1.0, "done")
                return optimum

        landscape = Landscape(problem, [start.assignment for start in starts], run.rng)
        schedules = [self._schedule(landscape, plan) for plan in PLANS[run.effort].rounds]
        clock = _Clock(run, sum(schedule.trials for schedule in schedules))
        met: list[Candidate] = []
        for schedule in schedules:
            if not clock.stopped:
                met += self._evolve(starts, landscape, schedule, run, clock)
        run.report(1.0, "done")
        if problem.uneven:
            met.append(landscape.starts[0])  # the best sizes that are known
        return Solution(landscape.assignments(landscape.front_of(met)))

    def _evolve(
        self, starts: Sequence[Start], landscape: Landscape, schedule: Schedule, run: Run, clock: _Clock
    ) -> list[Candidate]:
        """Find an ancestor, let it have children, and these again; return all of them."""
        tasks = self._contest(starts, landscape, schedule, run.rng)
        met = _work(tasks, run.n_jobs, clock, "searching for a balanced split")
        if landscape.rugged:
            population = landscape.best_of([*met, *landscape.starts], schedule.fan)
        else:
            population = landscape.best_of(met, schedule.middle[None]) * len(schedule.fan)
        for generation, rows in enumerate(schedule.breeders):
            if clock.stopped:
                break
            tasks = self._breed(population, landscape, schedule, generation, run.rng)
            message = f"evolving {len(rows)} trade-offs, generation {generation + 1} of {len(schedule.breeders)}"
            children = _work([tasks[row] for row in rows], run.n_jobs, clock, message)
            met += children
            population = landscape.best_of([*population, *children], schedule.fan)
        return met

    def _schedule(self, landscape: Landscape, plan: Plan) -> Schedule:
        """Divide the trials between the ancestor and the children, and choose the weightings."""
        objectives, blocks = landscape.problem.objectives, landscape.problem.blocks
        trials = int(plan.trials(landscape.n_movable) / landscape.effort_per_trial)
        for_ancestor = int(self.ancestor_share * trials)
        for_children = trials - for_ancestor
        # With few trials for each unit, fewer and longer searches serve better.
        tasks_worth = for_children // ((LONG_TASK if landscape.exact else TASK) * max(landscape.n_movable, 1))
        points = int(np.clip(tasks_worth, min(FEW_POINTS, plan.points), plan.points))
        centre = self.steep_centre if landscape.mends_labels else self.centre
        fan = weightings(objectives, points, centre, self.label_end, self.pair_end)
        small_fan = weightings(objectives, 3, centre, self.label_end, self.pair_end)
        if landscape.rugged and not any(block.width for block in blocks if block.name in ("pairs", "triplets")):
            fan = fan[:1]  # where no labels meet, all weightings are one
        generations = int(np.clip(tasks_worth // len(fan), 1, plan.generations))
        if landscape.rugged:
            # A search that tries every exchange about once, from here and there, beats few long ones.
            worth = for_children // max(landscape.n_movable**2, SHORTEST_TASK)
            generations = max(generations, min(worth, MOST_TASKS) // len(fan))
        breeders = [list(range(len(fan)))] * generations
        if not plan.whole:
            lowest = max(0, len(fan) - points)  # behind the row that leans towards the instances
            beginning = int(BEGINNING * generations)
            breeders[beginning:] = [sorted({lowest, (lowest + len(fan)) // 2, len(fan) - 1})]
        for_child = for_children // (generations * len(fan))
        return Schedule(for_ancestor, for_child, fan, small_fan[len(small_fan) // 2], generations, breeders)

    def _contest(
        self, starts: Sequence[Start], landscape: Landscape, schedule: Schedule, rng: np.random.Generator
    ) -> list[_Task]:
        """Let two searches compete to be the ancestor."""
        rivals = list(zip(starts, landscape.starts, strict=True))
        if len(rivals) == 1 and not landscape.problem.uneven:
            rivals *= 2  # from one start, by chance different: so two threads have work from the beginning
        tasks = []
        for (start, candidate), seed in zip(rivals, _seeds(rng, len(rivals)), strict=True):
            if landscape.exact:
                hot, cold = max(self.hot, UNEVEN_HEAT * landscape.mean_step), self._coldest(landscape)
            elif start.melts:
                hot, cold = self.melting, self.cold * self.melting
            else:
                hot, cold = self.warm, self._coldest(landscape)
            trials = schedule.for_ancestor // len(rivals)
            tasks.append(_Task(self, landscape, schedule.middle, candidate, seed, trials, hot, cold))
        return tasks

    def _breed(
        self,
        population: Sequence[Candidate],
        landscape: Landscape,
        schedule: Schedule,
        generation: int,
        rng: np.random.Generator,
    ) -> list[_Task]:
        """Let every split of the population have a child, for its own weighting."""
        cold = self._coldest(landscape)
        if landscape.rugged:
            left = 1 - generation / schedule.generations
            hot = max(self.warm, UNEVEN_REHEAT * landscape.mean_step * left)
        elif landscape.exact:
            # Whatever melts takes its time to settle again.
            patience = schedule.for_child / (MELTING_TRIALS * max(landscape.n_movable, 1))
            hot = max(cold, self.reheat * self.hot * min(1.0, patience))
        else:
            hot = self.reheat * self.warm
        seeds = _seeds(rng, len(population))
        return [
            _Task(self, landscape, weights, parent, seed, schedule.for_child, hot, cold, is_child=True)
            for weights, parent, seed in zip(schedule.fan, population, seeds, strict=True)
        ]

    def _coldest(self, landscape: Landscape) -> float:
        """Return the last temperature of a search."""
        first = self.hot if landscape.exact else self.warm
        return self.cold * first * (UNEVEN_COLD if landscape.rugged else 1.0)


@dataclass(frozen=True, eq=False)
class Schedule:
    """What is searched for, and how long.

    Attributes
    ----------
    for_ancestor, for_child
        Trial exchanges of the searches for an ancestor together, and of each child's.
    fan, middle
        The weightings of the population, and that of the ancestor.
    generations
        How often the population has children, if all is gone through.
    breeders
        The rows of the fan that have a child, for each generation that there is.
    """

    for_ancestor: int
    for_child: int
    fan: Floats
    middle: Floats
    generations: int
    breeders: list[list[int]]

    @property
    def trials(self) -> int:
        """Trial exchanges in all."""
        return self.for_ancestor + self.for_child * sum(map(len, self.breeders))


@dataclass(frozen=True, eq=False)
class Start:
    """Where an ancestor starts from: the subset of each unit, and whether to melt it first."""

    assignment: Ints
    melts: bool


def _seeds(rng: np.random.Generator, n: int) -> Ints:
    """Draw a seed for each of n tasks."""
    return rng.integers(1, 2**63 - 1, size=n, dtype=np.uint64)


def _starts(problem: SplitProblem, run: Run) -> list[Start]:
    """Stratify, or take a systematic sample, or both where it is not clear which of them leads further.

    Stratification deals out rare pairs first, and with them the samples that have many labels: subsets of equal size
    get their parts of these, a small one gets none.
    """
    if problem.uneven:
        return [Start(_deal_uneven(problem, run), melts=False)]
    smallest, largest = problem.sizes.min(), problem.sizes.max()
    if smallest >= SIMILAR_SIZES * largest or problem.features.shape[1] <= EXACT_COLUMNS:
        return [Start(_stratified(problem, run), melts=False)]
    systematic = Start(_systematic_sample(problem, run.rng), melts=True)
    if smallest < SMALL_SHARE * problem.sizes.sum():
        return [systematic]
    return [Start(_stratified(problem, run), melts=False), systematic]


def _stratified(problem: SplitProblem, run: Run) -> Ints:
    """Stratify iteratively, by label pairs if they are an objective."""
    method = IterativeStratification(2 if "pairs" in problem.objectives else 1)

    def pass_on(_: float, message: str) -> None:
        if run.stopped is None:  # whoever stops now still gets a stratified split
            run.report(0.0, message)

    return np.asarray(method.solve(problem, Run(run.rng, on_progress=pass_on)).assignments[0])


def _systematic_sample(problem: SplitProblem, rng: np.random.Generator) -> Ints:
    """Line up the free units, similar ones side by side, and let every subset have its share all along the line."""
    from evosplit._kernels import exchange

    n_labels = problem.counts.n_labels
    rank = np.empty(n_labels, dtype=np.int64)
    rank[np.argsort(-problem.column_totals[:n_labels], kind="stable")] = np.arange(n_labels)
    keys = exchange.similarity_keys(problem.features.indptr, problem.features.indices, rank)
    place_of_type = np.empty(problem.n_types, dtype=np.int32)
    place_of_type[np.argsort(keys, kind="stable")] = np.arange(problem.n_types)
    free = rng.permutation(np.flatnonzero(problem.locked == FREE))
    queue = free[np.argsort(place_of_type[problem.type_of_unit[free]], kind="stable")]
    turns = np.concatenate([(np.arange(room) + rng.random()) / max(room, 1) for room in problem.rooms])
    subsets = np.repeat(np.arange(problem.k, dtype=np.int32), problem.rooms)
    assignment = problem.locked.astype(np.int32)
    assignment[queue] = subsets[np.argsort(turns, kind="stable")]
    return assignment


def _deal_uneven(problem: SplitProblem, run: Run) -> Ints:
    """Deal out uneven units from the largest to the smallest, then exchange some until the sizes are right."""
    from evosplit._kernels import stratification as kernels

    free = np.flatnonzero(problem.locked == FREE)
    queue = run.rng.permutation(free)
    queue = queue[np.argsort(-problem.unit_sizes[queue], kind="stable")]
    assignment = problem.locked.copy()
    assignment[queue] = kernels.deal_uneven(
        problem.features.indptr, problem.features.indices, problem.features.data, problem.type_of_unit[queue],
        problem.unit_sizes[queue], problem.column_totals, problem.sizes / problem.sizes.sum(),
        problem.column_table(problem.locked_table), problem.rooms.copy(),
    )  # fmt: skip
    return fit_sizes(problem.unit_sizes, assignment, problem.locked == FREE, problem.sizes, run.rng)


def weightings(objectives: Sequence[str], points: int, centre: float, label_end: float, pair_end: float) -> Floats:
    """Fan out weights for the objectives, from the labels (first row) to the pairs (last row).

    The ratio of the weights changes in equal steps; but in the first row labels come first, whatever the pairs say.
    Where samples with a label and its instances are both to be spread, a large fan gets one more row, ahead of the
    others, that leans towards the instances.
    """
    for_pairs = np.array([name in ("pairs", "triplets") for name in objectives])
    if for_pairs.all() or not for_pairs.any():
        return np.ones((1, len(objectives))) / len(objectives)
    position = np.linspace(-1, 1, points)
    ratio = centre * np.where(position < 0, label_end**position, pair_end**position)
    ratio[0] = 1 / FIRST
    weights = np.where(for_pairs, ratio[:, None], [INSTANCES if name == "instances" else 1.0 for name in objectives])
    if points >= LARGE_FAN and {"images", "instances"} <= set(objectives):
        weights = np.vstack(([LEANING if name == "instances" else 1.0 for name in objectives], weights))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def emphasise_images(weights: Floats, objectives: Sequence[str]) -> Floats:
    """Raise the weight of samples with a label for the mending, unless the weighting leans towards the instances."""
    by_name = dict(zip(objectives, weights, strict=True))
    if by_name.get("instances", 0.0) > INSTANCES * by_name.get("images", 0.0):
        return weights
    emphasis = SETTLED_FIRST if "instances" in by_name else SETTLED_ALONE
    return np.array([weight * (emphasis if name == "images" else 1.0) for name, weight in by_name.items()])


@dataclass(frozen=True, eq=False)
class Candidate:
    """A split in the search: the unit in each slot, slots ordered by subset."""

    unit_at: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Score:
    """What a split is worth.

    Attributes
    ----------
    blocks
        The blocks of the objectives, each over a random split's.
    objectives
        The objectives themselves.
    penalties
        For wrong sizes, which come before missing labels; both come before everything else.
    """

    blocks: Floats
    objectives: Floats
    penalties: float


class Landscape:
    """The problem as the search sees it: movable units, slots, the price of each cell for a weighting."""

    def __init__(self, problem: SplitProblem, starts: Sequence[Ints], rng: np.random.Generator) -> None:
        self.problem = problem
        # Equal units in one subset are as good as each other: beyond a few, they need not be movable.
        tables, locked = [problem.type_table(start) for start in starts], problem.locked_table
        crowd = np.maximum(np.minimum.reduce(tables) - locked - MOVABLE_COPIES, 0)
        self.fixed = locked + (crowd if problem.n_units > MOVABLE_LIMIT else 0)
        # Uneven units also need empty places to move into: units of a type without features.
        movable = [table - self.fixed for table in tables]
        empty = np.maximum(EMPTY, movable[0].sum(axis=0) // 4) if problem.uneven else np.zeros_like(problem.sizes)
        movable = [np.vstack((table, empty)) for table in movable]
        self.type_of = np.repeat(np.arange(len(movable[0]), dtype=np.int32), movable[0].sum(axis=1))
        self.starts = [self._candidate(table) for table in movable]
        self.slots = movable[0].sum(axis=0)
        self.first_slot = np.concatenate(([0], np.cumsum(self.slots)))
        rows = problem.features
        self.indptr = np.append(rows.indptr, rows.indptr[-1])
        self.indices = rows.indices
        self.data = rows.data
        self.block_sums = np.vstack((problem.block_sums, np.zeros((1, len(problem.blocks)), dtype=np.int32)))
        if problem.uneven:
            self.block_sums = np.hstack((self.block_sums, np.zeros((len(self.block_sums), 1), dtype=np.int32)))
        self.scale = problem.sizes.sum() / np.maximum(problem.sizes, 1)  # full already, a subset may aim at nothing
        # An objective that is 0 in random splits is none to speak of: it keeps its own unit.
        self.reference = np.where(problem.block_reference > 1e-12, problem.block_reference, 1.0)
        sums = self.block_sums[:-1]
        spread = np.abs(sums - np.average(sums, axis=0, weights=problem.copies))
        self.spread = np.maximum(1.0, 2 * np.average(spread, axis=0, weights=problem.copies))
        self.largest_unit = int(problem.features.sum(axis=1).max()) if problem.features.nnz else 1
        # The first columns count samples with a label even where that is no objective: `cover` needs them.
        spread_labels = [block.stop for block in problem.blocks if block.name in ("images", "instances")]
        self.label_columns = max(spread_labels, default=problem.counts.n_labels)
        self.exact = problem.features.shape[1] <= EXACT_COLUMNS
        self._shuffled = rng.permutation(np.flatnonzero(problem.locked == FREE))
        self._order_seed = int(rng.integers(2**63))
        self._scores: dict[Candidate, Score] = {}

    @staticmethod
    def _candidate(table: Ints) -> Candidate:
        """Take units of each type for each subset, as many as the table says."""
        subset_of = np.repeat(np.tile(np.arange(table.shape[1], dtype=np.int32), len(table)), table.ravel())
        return Candidate(np.argsort(subset_of, kind="stable").astype(np.int32))

    @property
    def mends_labels(self) -> bool:
        """Whether mending after a search settles the labels, so that the search itself can serve the pairs."""
        both = {"images", "instances"} <= set(self.problem.objectives)
        return not (self.exact or self.problem.uneven or both)

    @property
    def rugged(self) -> bool:
        """Whether large units freeze early, so that it takes many searches to place them well."""
        return self.problem.uneven and self.exact

    @property
    def mean_step(self) -> float:
        """How many samples move at a time, where that matters for the temperature, else 0."""
        return float(self.problem.unit_sizes.mean()) if self.rugged else 0.0

    @cached_property
    def effort_per_trial(self) -> float:
        """How much longer a trial takes than usual, because it evaluates many columns or moves whole groups."""
        if self.exact:
            return max(0.6 if self.rugged else 0.35, float((self.problem.features.shape[1] / FEW_COLUMNS) ** 1.5))
        if not self.problem.uneven:
            return 1.0
        per_unit = np.average(np.diff(self.problem.features.indptr), weights=self.problem.copies)
        per_sample = self.problem.features.data @ np.repeat(self.problem.copies, np.diff(self.problem.features.indptr))
        return max(1.0, float(per_unit / (TRIAL_SHARE * per_sample / self.problem.sizes.sum())))

    @property
    def n_movable(self) -> int:
        """How many units the search may move."""
        return len(self.type_of)

    def of_blocks(self, weights: Floats) -> Floats:
        """Turn the weights of the objectives into those of the blocks; strata share theirs."""
        names = [block.name for block in self.problem.blocks]
        by_name = dict(zip(self.problem.objectives, weights, strict=True))
        return np.array([by_name[name] / names.count(name) for name in names])

    def columns(
        self, weights: Floats, *, strict: bool = False, rare: float = 0.0
    ) -> tuple[Floats, Floats, float, float]:
        """Return the parameters of each feature column, the same linearised, penalty for a missing label, a price.

        A cell's price is the derivative of its term of Eq. 1 - 3 at its target, divided by a random split's objective,
        times the weight of the objective, and less for frequent columns by the power `rare` of their totals. Uneven
        units have a column for their size too; `strict` puts it first.
        """
        problem = self.problem
        table = np.zeros((problem.features.shape[1], 4))
        exact = np.zeros_like(table)
        price = np.zeros(len(table))
        totals = problem.column_totals
        for at, (block, weight) in enumerate(zip(problem.blocks, self.of_blocks(weights), strict=True)):
            inside = slice(block.start, block.stop)
            whole = max(float(totals[inside].sum() if block.by_total else problem.sizes.sum()), 1.0)
            share = totals[inside] / whole
            importance = problem.weights[inside] * np.maximum(totals[inside], 1.0) ** -rare
            base = weight * importance / max(importance.sum(), 1e-300) / (self.reference[at] * problem.k)
            slope = base / whole / np.maximum(1 - share, 1 / whole) ** 2
            full = share >= 1
            price[inside] = np.where(full, 0.0, slope)
            table[inside, 0] = price[inside]
            table[inside, 1] = share
            table[inside, 3] = at
            exact[inside, 0] = np.where(full, 0.0, base)
            exact[inside, 1] = totals[inside] / np.maximum(whole - totals[inside], 1)
            exact[inside, 3] = at
        table[: problem.counts.n_labels, 2] = exact[: problem.counts.n_labels, 2] = problem.needs
        means = []
        of_blocks = self.of_blocks(weights)
        for block, weight in zip(problem.blocks, of_blocks, strict=True):
            inside = slice(block.start, block.stop)
            # In a small problem, an objective that comes last has no say in the temperature.
            has_say = not self.exact or weight * FIRST > 2 * of_blocks.max()
            if has_say and (price[inside] * totals[inside]).any():
                means.append(float(np.average(price[inside], weights=totals[inside])))
        # In a large problem, between the cheapest and the dearest block: neither is frozen, neither melts.
        cheapest, dearest = min(means, default=0.0), max(means, default=0.0)
        mean = (cheapest if self.exact else float(np.sqrt(cheapest * dearest))) * float(np.median(self.scale))
        # No exchange can gain more than this by spreading its features better, so a missing label always costs more.
        penalty = 2 * self.largest_unit * float(price.max(initial=0.0)) * float(self.scale.max()) or 1.0
        if problem.uneven:
            # A block of its own whose total is twice the size asked for: at its target the odds are 1.
            dear = 2 * self.largest_unit * penalty if strict else SIZE_PRICE * mean
            slope_of_size = dear / float(self.scale.min() if strict else np.median(self.scale))
            table[-1] = (slope_of_size, 0.5, 0.0, len(problem.blocks))
            exact[-1] = (slope_of_size * problem.sizes.sum() / 2, 1.0, 0.0, len(problem.blocks))
        return exact if self.exact else table, table, penalty, mean

    def tables(self, candidate: Candidate) -> tuple[Ints, Ints, Ints]:
        """Return units per type and subset, feature counts per column and subset, block totals per subset."""
        type_table = self.fixed.copy()
        kinds = self.type_of[candidate.unit_at]
        n_types = self.problem.n_types
        for j in range(self.problem.k):
            inside = kinds[self.first_slot[j] : self.first_slot[j + 1]]
            type_table[:, j] += np.bincount(inside, minlength=n_types + 1)[:n_types]
        counts = self.problem.column_table(type_table).astype(np.int32)
        totals = self.block_sums[:-1].T.astype(np.int64) @ type_table
        if self.problem.uneven:
            totals[-1] = 2 * self.problem.sizes
        return type_table, counts, totals

    @cached_property
    def least_excess(self) -> int:
        """How many samples the start misses its sizes by: the best that is known."""
        return self.excess(self.starts[0])

    def excess(self, candidate: Candidate) -> int:
        """Return by how many samples the subsets miss their sizes, in all."""
        return int(np.abs(self.problem.type_sizes @ self.tables(candidate)[0] - self.problem.sizes).sum())

    def score(self, candidate: Candidate) -> Score:
        """Evaluate a candidate, or remember what it is worth."""
        if candidate not in self._scores:
            problem = self.problem
            type_table, counts, _ = self.tables(candidate)
            sizes = problem.type_sizes @ type_table
            lack = int(np.maximum(problem.needs[:, None] - counts[: problem.counts.n_labels], 0).sum())
            self._scores[candidate] = Score(
                blocks=problem.evaluate_blocks(counts, sizes) / self.reference,
                objectives=problem.evaluate(counts),
                penalties=1e3 * lack + 1e9 * float(np.abs(sizes - problem.sizes).sum()),
            )
        return self._scores[candidate]

    def cost(self, candidate: Candidate, weights: Floats) -> float:
        """Return the weighted sum of the objectives, each over a random split's, and the penalties."""
        score = self.score(candidate)
        return float(self.of_blocks(weights) @ score.blocks) + score.penalties

    def best_of(self, candidates: Sequence[Candidate], fan: Floats) -> list[Candidate]:
        """Return for each weighting the best of the candidates."""
        scores = [self.score(candidate) for candidate in candidates]
        costs = np.array([score.blocks for score in scores]) @ np.array([self.of_blocks(row) for row in fan]).T
        best = np.argmin(costs + np.array([[score.penalties] for score in scores]), axis=0)
        return [candidates[i] for i in best]

    def front_of(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return those that no other one dominates, of those with the least penalties."""
        scores = [self.score(candidate) for candidate in candidates]
        least = min(score.penalties for score in scores)
        right = [i for i, score in enumerate(scores) if score.penalties == least]
        best = non_dominated(np.array([scores[i].objectives for i in right]))
        return [candidates[right[i]] for i in best]

    def assignments(self, candidates: Sequence[Candidate]) -> list[npt.NDArray[np.integer[Any]]]:
        """Turn candidates into one subset number per unit of the problem; equal units are dealt out at random."""
        problem = self.problem
        order = self._shuffled[np.argsort(problem.type_of_unit[self._shuffled], kind="stable")]
        made: list[npt.NDArray[np.integer[Any]]] = []
        small: Any = np.int8 if problem.k <= 127 else np.int32
        subsets = np.tile(np.arange(problem.k, dtype=small), problem.n_types)
        for candidate in candidates:
            free = self.tables(candidate)[0] - problem.locked_table
            assignment = problem.locked.astype(small)
            assignment[order] = np.repeat(subsets, free.ravel())
            made.append(assignment)
        return made

    def mend_sizes(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        """Exchange units until the sizes are right, or no exchange of two brings them nearer."""
        subset = np.repeat(np.arange(self.problem.k, dtype=np.int32), self.slots)
        here = np.empty(self.n_movable, dtype=np.int64)
        here[candidate.unit_at] = subset
        sizes = np.append(self.problem.type_sizes, 0)[self.type_of]
        rooms = self.problem.sizes - self.problem.type_sizes @ self.fixed
        mended = mend_sizes(sizes, here, sizes > 0, rooms, rng)
        # A unit that moved without another one in return has changed places with an empty one.
        gone = np.bincount(mended, minlength=self.problem.k) - self.slots
        for j in np.flatnonzero(gone > 0):
            for other in np.flatnonzero(gone < 0):
                number = min(gone[j], -gone[other])
                mended[np.flatnonzero((mended == j) & (sizes == 0))[:number]] = other
                gone[j] -= number
                gone[other] += number
        return Candidate(np.argsort(mended, kind="stable").astype(np.int32))

    def kicked(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        """Let a few units, rather large ones, change places with anything elsewhere."""
        unit_at = candidate.unit_at.copy()
        subset = np.repeat(np.arange(self.problem.k), self.slots)
        chances = np.sqrt(np.append(self.problem.type_sizes, 0)[self.type_of[unit_at]])
        if not chances.any():
            return candidate
        number = min(KICKED, int((chances > 0).sum()))
        for slot in rng.choice(len(chances), size=number, replace=False, p=chances / chances.sum()):
            other = rng.choice(np.flatnonzero(subset != subset[slot]))
            unit_at[[slot, other]] = unit_at[[other, slot]]
        return Candidate(unit_at)

    @cached_property
    def carriers(self) -> tuple[Ints, Ints]:
        """The units that carry each label: (start of each list, units)."""
        from evosplit._kernels import exchange

        return exchange.carriers_of_labels(self.indptr, self.indices, self.type_of, self.problem.counts.n_labels)

    @cached_property
    def orders(self) -> list[tuple[Ints, Ints]]:
        """Orders of similarity, for random importances of the labels, each with every unit's place in it.

        Every second one puts units of equal size side by side first, so that exchanges keep the sizes.
        """
        made = []
        rng = np.random.default_rng(self._order_seed)  # two threads may come here at once, and must find the same
        sizes = np.append(self.problem.type_sizes, 0)[self.type_of]
        for turn in range(ORDERS):
            neighbours = self._similarity_order(rng.permutation(self.problem.counts.n_labels), rng)
            if self.problem.uneven and turn % 2 == 0:
                neighbours = neighbours[np.argsort(sizes[neighbours], kind="stable")]
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
    """One search: improve a split for a weighting."""

    method: Memetic
    landscape: Landscape
    weights: Floats
    parent: Candidate
    seed: np.uint64
    trials: int
    hot: float
    cold: float
    is_child: bool = False

    def run(self, clock: _Clock) -> Candidate:
        """Mend what is grossly wrong, search while the temperature falls, mend what is left."""
        from evosplit._kernels import exchange

        land = self.landscape
        rng = np.random.default_rng(int(self.seed))
        start = land.kicked(self.parent, rng) if land.rugged and self.is_child else self.parent
        unit_at = start.unit_at.copy()
        slot_of = np.empty_like(unit_at)
        slot_of[unit_at] = np.arange(len(unit_at), dtype=np.int32)
        _, counts, totals = land.tables(start)
        state = np.array([self.seed], dtype=np.uint64)
        units = (land.indptr, land.indices, land.data, land.block_sums, land.type_of)
        split = (unit_at, slot_of, land.first_slot, counts, totals)

        def settle(weights: Floats, only_missing: bool) -> None:
            _, linear, penalty, _ = land.columns(weights, strict=True)
            threshold = 0.5 * penalty if only_missing else 1e-12
            budget = self.trials * (UNEVEN_SETTLING if land.problem.uneven else SETTLING_SHARE)
            for turn in range(SETTLING):
                order = land.orders[turn % len(land.orders)]
                made = exchange.settle(
                    *units, linear, land.scale, penalty, land.spread, *split, *order,
                    *land.carriers, land.label_columns, REACH, threshold, int(budget / SETTLING), state,
                )  # fmt: skip
                if made == 0:
                    break

        if land.problem.cover:
            settle(self.weights, only_missing=True)
        early, _, penalty, price = land.columns(self.weights, rare=self.method.rare)
        late = land.columns(self.weights)[0] if land.exact else early
        strict, _, last_penalty, _ = land.columns(self.weights, strict=True)
        penalty = max(penalty, last_penalty)
        chunks = max(MIN_CHUNKS, round(self.trials / CHUNK))
        time = np.arange(chunks + 1) / chunks
        temperatures = price * self.hot * (self.cold / self.hot) ** (time / (1 - self.method.frozen))
        for chunk in range(chunks):
            is_frozen = time[chunk + 1] > 1 - self.method.frozen + 1e-9
            first, last = (0.0, 0.0) if is_frozen else temperatures[chunk : chunk + 2]
            left = max(0.0, 1 - time[chunk] / (1 - self.method.frozen))
            columns = late + left * (early - late)
            order = land.orders[int(rng.integers(len(land.orders)))]
            if land.rugged:
                columns[-1, 0] *= SIZE_GROWTH ** (chunk / chunks)
            arguments = (
                *units, strict if is_frozen else columns, land.scale, last_penalty if is_frozen else penalty,
                land.spread, *split, *order, REACH, self.trials // chunks, first, last, state,
            )  # fmt: skip
            if land.exact:
                exchange.search_exact(*arguments, 0.0 if is_frozen else left * self.method.smooth)
            else:
                exchange.search(*arguments)
            if not clock.tick(self.trials // chunks):
                break
        if land.problem.uneven and land.excess(Candidate(unit_at)) > land.least_excess:
            unit_at[:] = land.mend_sizes(Candidate(unit_at), rng).unit_at
            slot_of[unit_at] = np.arange(len(unit_at), dtype=np.int32)
            _, counts[:], totals[:] = land.tables(Candidate(unit_at))
            if land.problem.cover:
                settle(self.weights, only_missing=True)
        if not land.exact:
            # Groups carry many labels at once: mending one of them by force would spoil the others.
            even = not land.problem.uneven
            settle(
                emphasise_images(self.weights, land.problem.objectives) if even else self.weights, only_missing=False
            )
        made = Candidate(unit_at)
        land.score(made)  # here, beside the other threads
        return made


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
        if not self._run.report(min(0.99, self._done / max(self._trials, 1)), self._message):
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

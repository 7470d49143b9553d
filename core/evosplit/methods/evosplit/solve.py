"""The default method, told in one function: starts, ancestors, generations of weight vectors, the front."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import ClassVar

from evosplit.methods.base import Run, Solution
from evosplit.methods.evosplit.anneal import Search
from evosplit.methods.evosplit.budget import pair_entries, rounds_of
from evosplit.methods.evosplit.landscape import Candidate, Landscape
from evosplit.methods.evosplit.start import find_starts
from evosplit.methods.exhaustive import every_split
from evosplit.problem import SplitProblem

__all__ = ["EvoSplit", "weight_vectors"]

HOT = 0.25  # first temperature of a search; ten times as much or as little changes the result by a few percent
RATIOS = (1e-5, 0.33, 2.0, 7.0, 27.0)  # weight of the pairs over that of the labels: from labels first to nearly none
IN_HASTE = 3.0  # by how much more pairs weigh where there is little time: labels are mended afterwards, pairs are not


@dataclass(frozen=True)
class EvoSplit:
    """Evolve a front of trade-offs by exchanging units between subsets.

    A stratified split is improved for a balanced weighting of the objectives: two units change places, only the
    columns in which they differ are evaluated, and a falling temperature decides which losses are accepted. Two such
    ancestors compete. Then a population holds a split for each of a few weight vectors, from all for the labels to
    nearly all for the label pairs; each is improved from the best split found so far for its vector, whichever vector
    that was bred for. Of all splits, those that no other one dominates are the answer.

    A greater effort begins with what a smaller one does, so the front never gets worse by it.
    """

    respects: ClassVar[frozenset[str]] = frozenset(
        {"copies", "groups", "locked", "strata", "min_per_label", "label_weights"}
    )

    def pair_entries(self, n_samples: int) -> int:
        """Return how many label pairs of distinct samples there is time to search; beyond, a sample of them is."""
        return pair_entries(n_samples)

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Return those of all splits met that no other one dominates."""
        starts = find_starts(problem, run)
        if problem.uneven and run.report(0.0, "trying every way to place the groups"):
            optimum = every_split(problem, starts[0])
            if optimum is not None:
                run.report(1.0, "done")
                return optimum
        landscape = None if run.stopped or run.out_of_time else Landscape(problem, starts, run.stream)
        if landscape is None or not landscape.has_choice:
            run.report(1.0, "done")
            return Solution(starts[:1])

        patience = landscape.budget.patience
        vectors = weight_vectors(problem, patience)
        ancestors, *rounds = rounds_of(run.effort, len(vectors), landscape.budget.work)
        clock = _Clock(run, sum(round.work * len(round.vectors) for round in (ancestors, *rounds)))

        def search(parent: Candidate, vector: int, work: int, hot: float) -> Search:
            return Search(landscape, vectors[vector], parent, run.stream.draw(), work, hot, patience)

        middle = len(vectors) // 2
        rivals = sorted(landscape.starts, key=lambda start: landscape.cost(start, vectors[middle]))
        rivals = (rivals * 2)[:2]  # where there is one start, it has two searches, which chance tells apart
        temperatures = (HOT * patience, HOT)  # where time is short, keep what the better start has
        met = clock.work(
            [search(start, middle, ancestors.work, hot) for start, hot in zip(rivals, temperatures, strict=True)],
            "searching for a balanced split",
        )
        hot = temperatures[met.index(landscape.best_of(met, vectors[middle]))]
        met += landscape.starts
        for number, round in enumerate(rounds):
            if clock.stopped:
                break
            tasks = [search(landscape.best_of(met, vectors[at]), at, round.work, hot) for at in round.vectors]
            met += clock.work(tasks, f"evolving {len(tasks)} trade-offs, round {number + 1} of {len(rounds)}")
        run.report(1.0, "done")
        return Solution([landscape.type_table(candidate) for candidate in landscape.front_of(met)])


def weight_vectors(problem: SplitProblem, patience: float) -> list[tuple[float, ...]]:
    """Return weights for the objectives, from the labels (first) to the label pairs (last); they sum to 1."""
    paired = [block for block in problem.blocks if block.name in ("pairs", "triplets")]
    apart = any(block.width for block in paired) and len(problem.objectives) > len({block.name for block in paired})
    vectors = []
    for ratio in RATIOS if apart else (1.0,):
        ratio *= IN_HASTE - (IN_HASTE - 1.0) * patience if apart else 1.0
        raw = [ratio if name in ("pairs", "triplets") else 1.0 for name in problem.objectives]
        total = 0.0
        for weight in raw:
            total += weight
        vectors.append(tuple(weight / total for weight in raw))
    return vectors


class _Clock:
    """Runs searches, counts their work over all threads and tells the caller, from the caller's own thread only."""

    def __init__(self, run: Run, work: int) -> None:
        self._run, self._work = run, work
        self._done, self._lock, self._owner = 0, threading.Lock(), threading.get_ident()
        self._message = ""
        self.stopped = False

    def work(self, searches: Sequence[Search], message: str) -> list[Candidate]:
        """Run the searches, on threads if asked (the kernels hold no lock); the caller's thread keeps reporting."""
        self._message = message
        self._look()
        n_jobs = self._run.n_jobs
        if n_jobs == 1 or len(searches) == 1:
            return [search.run(self._tick) for search in searches]
        with ThreadPoolExecutor(None if n_jobs < 0 else n_jobs) as pool:
            futures = [pool.submit(search.run, self._tick) for search in searches]
            try:
                while wait(futures, timeout=0.3, return_when=FIRST_EXCEPTION).not_done:
                    self._look()
            except BaseException:
                self.stopped = True
                raise
            return [future.result() for future in futures]

    def _tick(self, work: int) -> bool:
        """Count work; return whether to go on."""
        with self._lock:
            self._done += work
        if threading.get_ident() == self._owner:
            self._look()
        elif self._run.out_of_time:
            self.stopped = True
        return not self.stopped

    def _look(self) -> None:
        """Report the progress and learn whether to stop."""
        if not self._run.report(min(0.99, self._done / max(self._work, 1)), self._message):
            self.stopped = True

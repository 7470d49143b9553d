"""Best of several runs: independent restarts of an algorithm, in parallel through joblib."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import joblib

from evosplit.methods.base import Run

__all__ = ["Watch", "run_restarts"]

T = TypeVar("T")
EFFORT_FACTORS = {"fast": 0.2, "normal": 1.0, "thorough": 4.0}


class Watch(Protocol):
    """What a restart calls after every generation."""

    def __call__(self, restart: int, done: float, message: str) -> bool:
        """Report how far a restart is; return whether it should continue."""
        ...


def run_restarts(evolve: Callable[[int, int, Watch], T], restarts: int, run: Run) -> list[T]:
    """Call `evolve(restart, seed, watch)` once per restart and return the results in order.

    The seeds are drawn beforehand, so the results do not depend on `run.n_jobs`. "fast" makes a fifth of the restarts,
    "thorough" four times as many. They run in threads, since the kernels release the GIL, unless the caller selected
    another joblib backend (`joblib.parallel_config`). If that one uses processes, `on_progress` is called only at the
    end. Once the run is stopped, no further restart begins.
    """
    n = max(1, round(restarts * EFFORT_FACTORS[run.effort]))
    seeds = [run.stream.draw() for _ in range(n)]
    watch = _SharedWatch(run, n)
    # n_jobs=None leaves the number to the caller's joblib.parallel_config, if there is one.
    workers = joblib.Parallel(n_jobs=None if run.n_jobs == 1 else run.n_jobs, prefer="threads")
    results = workers(joblib.delayed(_evolve)(evolve, restart, seed, watch) for restart, seed in enumerate(seeds))
    if run.stopped is None:
        run.report(1.0, "done")
    return [result for result in results if result is not None]


def _evolve(
    evolve: Callable[[int, int, Watch], T], restart: int, seed: int, watch: _SharedWatch | _Deadline
) -> T | None:
    if restart > 0 and watch.stopped:
        return None
    return evolve(restart, seed, watch)


class _SharedWatch:
    """Adds up the progress of all restarts; pickled for another process, it keeps only the time limit."""

    def __init__(self, run: Run, restarts: int) -> None:
        self._run = run
        self._done = [0.0] * restarts
        self._lock = threading.Lock()

    @property
    def stopped(self) -> bool:
        return self._run.stopped is not None

    def __call__(self, restart: int, done: float, message: str) -> bool:
        with self._lock:
            self._done[restart] = max(self._done[restart], done)
            share = sum(self._done) / len(self._done)
            return not self.stopped and self._run.report(share, f"run {restart + 1} of {len(self._done)}: {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _Deadline, (self._run.remaining,)


class _Deadline:
    """The part of a watch that works in another process."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def stopped(self) -> bool:
        return time.monotonic() >= self._end

    def __call__(self, restart: int, done: float, message: str) -> bool:
        return not self.stopped

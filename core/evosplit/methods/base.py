"""The interface of all methods: a `SplitProblem` and a `Run` in, a `Solution` out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from evosplit.problem import SplitProblem
from evosplit.rng import Stream

__all__ = ["EFFORTS", "Method", "OnProgress", "Run", "Solution"]

EFFORTS = ("fast", "normal", "thorough")
OnProgress: TypeAlias = Callable[[float, str], "bool | None"]


@dataclass
class Run:
    """One run of a method: its random stream, its budget and its progress callback.

    Attributes
    ----------
    stream
        The source of randomness. A method that needs a numpy generator seeds it with ``run.stream.draw()``; its splits
        may then differ between versions of numpy.
    effort
        "fast", "normal" or "thorough": the amount of work, fixed so that a seed fixes the result.
    n_jobs
        How many threads or processes may work at a time; the result does not depend on it.
    time_limit
        Seconds after which the best so far is returned.
    on_progress
        Called with the fraction done and a message; returning False stops with the best split so far.
    """

    stream: Stream
    effort: str = "normal"
    n_jobs: int = 1
    time_limit: float | None = None
    on_progress: OnProgress | None = None
    stopped: str | None = None
    _started: float = field(default_factory=time.monotonic)

    def report(self, done: float, message: str) -> bool:
        """Report progress to the caller; return whether to continue."""
        if self.on_progress is not None and self.on_progress(min(max(done, 0.0), 1.0), message) is False:
            self.stopped = "stopped early on request: this is the best split found so far."
        if self.out_of_time:
            self.stopped = (
                f"stopped after the time limit of {self.time_limit:g} s: this is the best split found so far."
            )
        return self.stopped is None

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        return self.time_limit is not None and time.monotonic() - self._started >= self.time_limit

    @property
    def remaining(self) -> float:
        """Seconds left before the time limit."""
        return np.inf if self.time_limit is None else self.time_limit - (time.monotonic() - self._started)


@dataclass(frozen=True)
class Solution:
    """One or more candidate splits: the subset number of each unit, one row per candidate."""

    assignments: Sequence[npt.NDArray[np.integer[Any]]]
    notes: tuple[str, ...] = ()


@runtime_checkable
class Method(Protocol):
    """A way to solve a problem."""

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Return candidate splits of exact size."""
        ...

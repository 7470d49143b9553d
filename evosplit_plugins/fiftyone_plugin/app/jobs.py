"""Run a search in the background, so that the App can show its progress and cancel it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

from evosplit import Split

__all__ = ["SearchJob", "cancel"]

Search = Callable[[Callable[[float, str], bool | None]], Split]
_running: dict[str, SearchJob] = {}


@dataclass
class SearchJob:
    """A search in a thread of its own; `with` starts it, and leaving the block tells it to stop.

    Attributes
    ----------
    search
        The function to run; it is given an `on_progress`.
    key
        Under which `cancel` finds the job.
    progress
        How far it is: the fraction done and a message.
    """

    search: Search
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    progress: tuple[float, str] = (0.0, "Starting")
    _stop: threading.Event = field(default_factory=threading.Event)
    _found: Future[Split] = field(default_factory=Future)

    def __enter__(self) -> SearchJob:
        _running[self.key] = self
        threading.Thread(target=self._work, name=f"evosplit-{self.key}", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        _running.pop(self.key, None)

    def _work(self) -> None:
        try:
            self._found.set_result(self.search(self._on_progress))
        except BaseException as error:  # handed to the thread that waits
            self._found.set_exception(error)

    def _on_progress(self, done: float, message: str) -> bool:
        self.progress = (done, message)
        return not self.cancelled

    def stop(self) -> None:
        """Tell the search to stop at its next step."""
        self._stop.set()

    @property
    def cancelled(self) -> bool:
        """Whether the search was told to stop."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the search, at most so long; returns whether it has ended."""
        return bool(wait([self._found], seconds).done)

    def result(self) -> Split:
        """Return the split, or raise what the search raised."""
        return self._found.result(timeout=0)


def cancel(key: str) -> bool:
    """Stop a running job; returns whether there was one."""
    job = _running.get(key)
    if job is not None:
        job.stop()
    return job is not None

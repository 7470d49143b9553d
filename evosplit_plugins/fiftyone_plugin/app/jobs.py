"""Work in the background, whose progress the App shows and which its user can cancel."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import fiftyone.operators.types as types

from evosplit_plugins.fiftyone_plugin.app.base import PLUGIN, AppOperator, show
from evosplit_plugins.fiftyone_plugin.app.output import message_output
from evosplit_plugins.progress import OnProgress

__all__ = ["CancelSplit", "Job", "cancel", "watched"]

T = TypeVar("T")
_running: dict[str, Job[Any]] = {}
_POLL_SECONDS = 0.25


@dataclass
class Job(Generic[T]):
    """A task in a thread of its own; `with` starts it, and leaving the block tells it to stop.

    Attributes
    ----------
    task
        The function to run; it is given an `on_progress`.
    key
        Under which `cancel` finds the job.
    progress
        How far it is: the fraction done and a message.
    """

    task: Callable[[OnProgress], T]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    progress: tuple[float, str] = (0.0, "Starting")
    _stop: threading.Event = field(default_factory=threading.Event)
    _found: Future[T] = field(default_factory=Future)

    def __enter__(self) -> Job[T]:
        _running[self.key] = self
        threading.Thread(target=self._work, name=f"evosplit-{self.key}", daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        _running.pop(self.key, None)

    def _work(self) -> None:
        try:
            self._found.set_result(self.task(self._on_progress))
        except BaseException as error:  # handed to the thread that waits
            self._found.set_exception(error)

    def _on_progress(self, done: float, message: str) -> bool:
        self.progress = (done, message)
        return not self.cancelled

    def stop(self) -> None:
        """Tell the task to stop at its next step."""
        self._stop.set()

    @property
    def cancelled(self) -> bool:
        """Whether the task was told to stop."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the task, at most so long; returns whether it has ended."""
        return bool(wait([self._found], seconds).done)

    def result(self) -> T:
        """Return what the task found, or raise what it raised."""
        return self._found.result(timeout=0)


def cancel(key: str) -> bool:
    """Stop a running job; returns whether there was one."""
    job = _running.get(key)
    if job is not None:
        job.stop()
    return job is not None


class CancelSplit(AppOperator):
    """Stop what the progress dialog shows."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "cancel_split",
        "label": "EvoSplit: cancel",
        "unlisted": True,
    }

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Stop it; nothing has been written yet."""
        return {"cancelled": cancel(str(ctx.params.get("job", "")))}


def watched(ctx: Any, title: str, task: Callable[[OnProgress], T], then: str) -> Generator[Any, None, T | None]:
    """Do something in the background and show how far it is; returns None if it was cancelled.

    Parameters
    ----------
    ctx
        The context of the operator.
    title
        The title of the dialog.
    task
        The function to run; it is given an `on_progress`.
    then
        What is done with its result: the last thing that the progress says.
    """
    with Job(task) as job:
        while not job.wait(_POLL_SECONDS):
            yield _show_progress(ctx, title, job.key, *job.progress)
        if not job.cancelled:
            found = job.result()
            yield _show_progress(ctx, title, job.key, 0.95, then)
            if not job.cancelled:
                return found
    yield show(ctx, message_output(title, "Cancelled. The dataset is as it was."), {})
    return None


def _show_progress(ctx: Any, title: str, job: str, done: float, message: str) -> Any:
    outputs = types.Object()
    outputs.float("progress", view=types.ProgressView(label=message))
    outputs.btn(
        "cancel",
        label="Cancel",
        variant="outlined",
        on_click=f"{PLUGIN}/cancel_split",
        params={"job": job},
    )
    return show(ctx, types.Property(outputs, view=types.View(label=title)), {"progress": done})

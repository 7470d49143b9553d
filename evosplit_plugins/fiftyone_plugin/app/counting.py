"""Questions that the form asks the database: answered in the background, and once for each state of the dataset.

The form is built at every keystroke, and counting a million samples takes longer than anybody waits for a form. What is
not known in time comes later: the App asks for it again, and waits.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, TypeVar

from evosplit_plugins.fiftyone_plugin.reading import flattened

__all__ = ["Counter", "last_change", "wait"]

T = TypeVar("T")
PATIENCE = 0.7  # seconds that a form waits for all its questions together; the App builds it twice when it opens
_REMEMBERED = 64
_answers: OrderedDict[str, Future[Any]] = OrderedDict()
_lock = threading.Lock()
_workers = ThreadPoolExecutor(2, thread_name_prefix="count-evosplit")


def last_change(dataset: Any) -> str:
    """Say when a dataset and its samples were changed last, by the database's index."""
    latest = flattened(dataset).sort_by("last_modified_at", reverse=True).limit(1).values("last_modified_at")
    return f"{dataset.last_modified_at} {latest} {dataset.count()}"


class Counter:
    """Asks the questions of one form.

    Attributes
    ----------
    waiting
        Whether a question was not answered in time.
    """

    def __init__(self, ctx: Any, patience: float | None = None) -> None:
        request = ctx.request_params
        keys = ("dataset_name", "view_target", "view", "filters", "extended", "selected")
        # The samples of videos do not tell when their frames were changed.
        prompt = (ctx.params.get("prompt_id") or ctx.prompt_id) if ctx.dataset.get_frame_field_schema() else None
        asked = [request.get(key) for key in keys]
        self._about = [last_change(ctx.dataset), ctx.params.get("view_target"), prompt, asked]
        self._deadline = time.monotonic() + (PATIENCE if patience is None else patience)
        self.waiting = False

    def ask(self, what: Sequence[Any], find: Callable[[], T]) -> T | None:
        """Return the answer to a question; None while it is looked for. An error is raised again."""
        key = json.dumps([self._about, list(what)], default=str)
        with _lock:
            if key not in _answers:
                _answers[key] = _workers.submit(find)
            answer: Future[T] = _answers[key]
            _answers.move_to_end(key)
            while len(_answers) > _REMEMBERED:
                _answers.popitem(last=False)
        try:
            return answer.result(timeout=max(self._deadline - time.monotonic(), 0))
        except NotInTime:
            if answer.done():
                raise
            self.waiting = True
            return None


def wait() -> None:
    """Wait until all questions are answered."""
    for answer in list(_answers.values()):
        answer.exception()

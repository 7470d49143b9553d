"""Runs in the background, as the panel tells of them: the App of open-source FiftyOne has no page for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import fiftyone.operators.types as types
from fiftyone.factory import DelegatedOperationPagingParams
from fiftyone.operators.delegated import DelegatedOperationService

from evosplit import EvoSplitError
from evosplit.wording import counted
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.app.base import PLUGIN, in_words_of_the_form
from evosplit_plugins.fiftyone_plugin.app.output import plain, sizes_of

__all__ = ["QueuedRun", "add_queued", "queued_runs", "result_of"]

_CALLED = {"evosplit": "split", "audit_split": "audit", "export_subsets": "export"}
_ENDED = ("completed", "failed")
_TOLD = timedelta(days=1)  # for which the panel tells of a run that has ended
_BETWEEN_LOOKS = 3_000  # milliseconds


@dataclass(frozen=True)
class QueuedRun:
    """A run that was scheduled: which operator, how far it is, what came of it; times are UTC."""

    key: str
    operator: str
    state: str
    since: datetime
    progress: str
    result: Any
    error: str

    @property
    def ended(self) -> bool:
        """Whether it has come to an end, good or bad."""
        return self.state in _ENDED


def queued_runs(dataset: Any) -> list[QueuedRun]:
    """Return the latest scheduled split, audit and export of a dataset, unless it is long ended."""
    service = DelegatedOperationService()
    found = []
    for operator in _CALLED:
        paging = DelegatedOperationPagingParams(limit=1)
        listed = service.list_operations(f"{PLUGIN}/{operator}", dataset_name=dataset.name, paging=paging)
        found += [_read(operator, document) for document in listed]
    return [run for run in found if not run.ended or datetime.now(timezone.utc) - run.since < _TOLD]


def result_of(dataset: Any, key: str) -> Any:
    """Return what a scheduled run gave."""
    for run in queued_runs(dataset):
        if run.key == key and run.result:
            return run.result
    raise EvoSplitError("the result of this run is not there any more; run it again")


def _read(operator: str, document: Any) -> QueuedRun:
    times = (document.failed_at, document.completed_at, document.started_at, document.queued_at, document.scheduled_at)
    status, result = document.status, document.result
    progress = f"{status.progress or 0:.0%} ({status.label})" if status is not None and status.label else ""
    return QueuedRun(
        key=str(document.id),
        operator=operator,
        state=document.run_state,
        since=_utc(next(filter(None, times))),
        progress=progress,
        result=None if result is None else result.result,
        error=_reason("" if result is None else result.error or ""),
    )


def _utc(time: datetime) -> datetime:
    """Tell a time in UTC, as the database keeps it; FiftyOne may be set to read it in another zone."""
    return time.astimezone(timezone.utc) if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _reason(trace: str) -> str:
    """Take the reason from the text of an exception; what a user can have caused stands for itself."""
    last = next((line.strip() for line in reversed(trace.splitlines()) if line.strip()), "its log tells more")
    kind, _, text = last.partition(": ")
    return in_words_of_the_form(EvoSplitError(text)) if text and kind.startswith(EvoSplitError.__module__) else last


def add_queued(panel: Any, dataset: Any, found: Sequence[QueuedRun], *, on_look: Any, on_show: Any) -> None:
    """Tell how far each run is, when it ended and where its result is; look again until all have ended."""
    for run in found:
        what = f"The scheduled {_CALLED[run.operator]}"
        when = f"{run.since:%Y-%m-%d %H:%M} UTC"
        name = f"queued_{run.operator}"
        if run.state == "failed":
            panel.view(name, types.Error(label=plain(f"{what} failed at {when}: {run.error}")))
        elif run.state == "completed":
            said = _what_came(dataset, run)
            if said:
                panel.view(name, types.Success(label=plain(f"{what} ended at {when}: {said}")))
            if run.operator == "audit_split" and run.result:
                panel.btn("show_audit", label="Show the audit", on_click=on_show, params={"run": run.key})
        elif run.state == "running":
            far = f", {run.progress}" if run.progress else ""
            panel.view(name, types.Notice(label=plain(f"{what} has been running since {when}{far}.")))
        else:
            panel.view(name, types.Notice(label=f"{what} waits since {when} for `fiftyone delegated launch`."))
    if not all(run.ended for run in found):
        panel.view("looking", types.TimerView(interval=_BETWEEN_LOOKS, on_interval=on_look))


def _what_came(dataset: Any, run: QueuedRun) -> str:
    """Say what a run that has ended gave; nothing of a split that another one followed, or that was undone."""
    result = run.result or {}
    if run.operator == "audit_split" and result:
        leaks = len(result["leaks"])
        found = counted(leaks, "leak was found", "leaks were found") if leaks else "No leaks were found"
        return f"{result['verdict']} {found}."
    if run.operator == "export_subsets":
        return str(result.get("message", ""))
    if result.get("run_key") not in runs.run_keys(dataset)[-1:]:
        return ""
    where = f"the field {result['field']}" if result.get("field") else "sample tags"
    number = runs.run_number(result["run_key"])
    return f"split {number}, {sizes_of(result['sizes'])}, written as {where}."

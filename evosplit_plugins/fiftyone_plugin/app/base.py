"""What the operators share: how they are described, and how they ask and tell the App."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin.app.output import PANEL, message_output, plain

__all__ = [
    "ALSO_DELEGATED",
    "ICON",
    "PLUGIN",
    "AppOperator",
    "RecordOperator",
    "in_a_sentence",
    "in_app",
    "refresh_app",
    "refresh_panels",
    "refreshing_app",
    "refuse",
    "show",
]

PLUGIN = "@evosplit/evosplit"
ICON = "call_split"
ALSO_DELEGATED = {"allow_immediate_execution": True, "allow_delegated_execution": True}
logger = logging.getLogger(__name__)
_HAS_FILTERS = tuple(map(int, fo.__version__.split(".")[:2])) >= (1, 16)  # from then on the App can be told to set them
_UNTIL_LOADED = (1.5, 2.5)  # seconds; the App does not tell when it has loaded the dataset anew, and clears them then


class AppOperator(foo.Operator):  # type: ignore[misc]  # fiftyone is untyped
    """An operator that says in `about` what FiftyOne wants to know of it."""

    about: ClassVar[Mapping[str, Any]]

    @property
    def config(self) -> Any:
        """Describe it; the form is built anew at every change."""
        return foo.OperatorConfig(**{"dynamic": True, **self.about})


class RecordOperator(AppOperator, ABC):
    """What the operators on recorded splits share: a form under their own name, a sentence as the result."""

    def form(self, inputs: Any) -> Any:
        """Show inputs under the name of the operator."""
        return types.Property(inputs, view=types.View(label=self.config.label))

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Do it; the App is told in a sentence why it cannot be done, Python by the exception."""
        try:
            return self.do(ctx)
        except Exception as error:
            if ctx.delegated or not in_app(ctx):
                raise
            return {"error": in_a_sentence(error)}

    @abstractmethod
    def do(self, ctx: Any) -> dict[str, Any]:
        """Do what the operator is for, and say so in `message`."""

    def resolve_output(self, ctx: Any) -> Any:
        """Say what was done, or why not."""
        results = ctx.results or {}
        error = results.get("error")
        return message_output(self.config.label, error or results.get("message", ""), error=bool(error))


def in_app(ctx: Any) -> bool:
    """Whether the App asks, not Python."""
    return ctx.request_params.get("spaces") is not None  # the layout of the App, which only the App sends


def refresh_app(ctx: Any, field: str | None, *, created: bool = False) -> Any:
    """Have the App show what was written, without losing the user's view and filters.

    Only setting the view makes the App look for new fields. It clears the filters of the sidebar, so that they become
    part of the view.
    """
    if field is None or not created:
        return ctx.ops.reload_samples()
    try:
        return ctx.ops.set_view(ctx.view)
    except ValueError:  # the view, or a filter, is of a field that undo has deleted
        return ctx.ops.reload_dataset()


def refreshing_app(ctx: Any, field: str | None, *, created: bool = False) -> Iterator[Any]:
    """Do the same in a stream, where there is time to set the filters of the sidebar again."""
    filters = ctx.request_params.get("filters")
    if not (created and filters and _HAS_FILTERS):
        yield refresh_app(ctx, field, created=created)
        return
    yield ctx.trigger("set_view", {"view": ctx.request_params.get("view") or []})
    for seconds in _UNTIL_LOADED:
        time.sleep(seconds)
        yield ctx.trigger("set_filters", filters)


def refresh_panels(ctx: Any) -> list[Any]:
    """Have open EvoSplit panels show the latest split; returns the messages for a stream."""
    waiting = [ctx.request_params.get("spaces") or {}]
    messages = []
    while waiting:
        node = waiting.pop()
        waiting.extend(node.get("children") or [])
        if node.get("type") == PANEL:
            asked = {"panel_id": node["component_id"], "panel_state": {}, "__method__": "on_refresh"}
            messages.append(ctx.trigger(f"{PLUGIN}/{PANEL}", asked))
    return messages


def show(ctx: Any, schema: Any, results: dict[str, Any]) -> Any:
    """Show something in the dialog of a running operator."""
    return ctx.ops.show_output(schema.to_json(), results)


def refuse(inputs: Any, sentence: str, name: str = "refused") -> None:
    """Show what is wrong, and keep the form from being executed."""
    prop = inputs.view(name, types.Error(label=plain(sentence)))
    prop.invalid = True
    prop.error_message = sentence


def in_a_sentence(error: Exception, *, written: bool = False) -> str:
    """Say what went wrong; what no user can have caused is logged, and the state of the dataset is said."""
    if isinstance(error, EvoSplitError):
        text = str(error)
        return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
    logger.error("EvoSplit failed", exc_info=error)
    state = "The samples were written" if written else "The dataset is as it was"
    return f"EvoSplit failed: {type(error).__name__}: {error}. {state}; the log of the App server tells more."

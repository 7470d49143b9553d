"""How the App is told to show what was written, without losing what the user looks at."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar

import fiftyone as fo

from evosplit_plugins.fiftyone_plugin.app.base import PLUGIN, AppOperator
from evosplit_plugins.fiftyone_plugin.app.output import PANEL

__all__ = ["LoadFields", "LoadSamples", "keep_filters", "refresh_app", "refresh_panels"]

_CAN_BE_SET = tuple(map(int, fo.__version__.split(".")[:2])) >= (1, 16)  # the filters, by an operator of the App
_MARK = "evosplit"  # something in a filter that the App and the database ignore
_LOOKS, _LOOKS_AFTER, _BETWEEN_LOOKS = 20, 3, 0.5  # at the filters at most; once they are set again; seconds between


def refresh_app(ctx: Any, field: str | None, *, changed: bool = False) -> list[Any]:
    """Have the App show what was written, with the user's view and filters; returns the messages for a stream.

    Where a field was created or deleted (`changed`) the App has to list its fields anew.
    """
    if field is None or not changed:
        return [ctx.trigger(f"{PLUGIN}/load_samples")]
    return [ctx.trigger(f"{PLUGIN}/load_fields", {"field": field})]


def keep_filters(ctx: Any) -> None:
    """Have the filters of the sidebar set again where the App loads the dataset anew for another reason."""
    filters = ctx.request_params.get("filters")
    if filters and _CAN_BE_SET:
        ctx.trigger(f"{PLUGIN}/load_fields", {"filters": filters, "looks": _LOOKS})


class LoadSamples(AppOperator):
    """Have the App load the samples of the grid anew, with the filters of the sidebar as they are now.

    FiftyOne's own way, `reload_samples`, counts anew, but the grid shows what it has loaded before for the same view
    and filters. Filters that differ, if only in a mark, are loaded.
    """

    about: ClassVar[Mapping[str, Any]] = {"name": "load_samples", "label": "EvoSplit: load samples", "unlisted": True}

    def execute(self, ctx: Any) -> None:
        """Load them."""
        filters = ctx.request_params.get("filters")
        if not filters:
            ctx.ops.reload_dataset()
        elif _CAN_BE_SET:
            ctx.trigger("set_filters", _as_new(filters))
        else:
            ctx.ops.reload_samples()


class LoadFields(AppOperator):
    """Have the App load the dataset anew; it clears the filters of the sidebar then, which are set again.

    It does not tell when it has cleared them, so that it is asked again and again.
    """

    about: ClassVar[Mapping[str, Any]] = {"name": "load_fields", "label": "EvoSplit: load fields", "unlisted": True}

    def execute(self, ctx: Any) -> None:
        """Load the fields, or look at the filters as they are now."""
        filters, looks = ctx.params.get("filters"), int(ctx.params.get("looks", _LOOKS))
        shown = ctx.request_params.get("filters") or {}
        if filters is None:
            filters = _load(ctx, ctx.params["field"], shown)
        elif not shown:
            ctx.trigger("set_filters", _as_new(filters))
            looks = min(looks, _LOOKS_AFTER)
        elif _plain(shown) != _plain(filters):  # the user has set others by now
            return
        if filters and looks > 1:
            time.sleep(_BETWEEN_LOOKS)
            ctx.trigger(self.uri, {"filters": filters, "looks": looks - 1})


def _load(ctx: Any, field: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Have the App load the dataset anew; returns the filters to set again. What is about a field goes with it."""
    stages = left = ctx.request_params.get("view") or []
    if ctx.dataset.get_field(field) is None:
        filters = {path: value for path, value in filters.items() if not _names(path, field)}
        left = [stage for stage in stages if not _names(stage.get("kwargs"), field)]
    if filters and not _CAN_BE_SET:
        with suppress(ValueError):  # the view, or a filter, is of the field that is gone
            ctx.ops.set_view(ctx.view)  # in which they become a part of the view
            return {}
    if left == stages:
        ctx.ops.reload_dataset()
    else:
        ctx.trigger("set_view", {"view": left})
    return dict(filters) if _CAN_BE_SET else {}


def _as_new(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Mark filters, so that the App takes them for others."""
    return {path: {**value, _MARK: uuid.uuid4().hex} for path, value in filters.items()}


def _plain(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Take the marks off filters."""
    return {path: {name: part for name, part in value.items() if name != _MARK} for path, value in filters.items()}


def _names(given: Any, field: str) -> bool:
    """Tell whether a filter or an argument of a stage is about a field, as it is written for the database too."""
    if isinstance(given, str):
        path = given.removeprefix("$")
        return path == field or path.startswith(f"{field}.")
    if isinstance(given, Mapping):
        return any(_names(part, field) for part in (*given, *given.values()))
    return isinstance(given, list | tuple) and any(_names(part, field) for part in given)


def refresh_panels(ctx: Any) -> list[Any]:
    """Have open EvoSplit panels show the latest split; returns the messages for a stream."""
    waiting = [ctx.request_params.get("spaces") or {}]
    messages = []
    while waiting:
        node = waiting.pop()
        waiting.extend(node.get("children") or [])
        if node.get("type") == PANEL:
            state = (node.get("state") or {}).get("state") or {}
            asked = {"panel_id": node["component_id"], "panel_state": state, "__method__": "on_refresh"}
            messages.append(ctx.trigger(f"{PLUGIN}/{PANEL}", asked))
    return messages

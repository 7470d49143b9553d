"""Recorded splits: how a list names them, and the operator that takes back the latest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import api, runs
from evosplit_plugins.fiftyone_plugin.app.base import RecordOperator, refuse
from evosplit_plugins.fiftyone_plugin.app.inputs import add_one
from evosplit_plugins.fiftyone_plugin.app.output import plain, sizes_of
from evosplit_plugins.fiftyone_plugin.app.refreshing import refresh_app, refresh_panels
from evosplit_plugins.fiftyone_plugin.app.request import in_groups, several

__all__ = ["NO_RECORD", "UndoSplit", "run_label", "run_labels"]

NO_RECORD = "No split by EvoSplit is recorded on this dataset."
NOT_LATEST = "Somebody undid this split or made another one in the meantime; open this again to see the latest."


class UndoSplit(RecordOperator):
    """Take back the latest split."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "undo_split",
        "label": "EvoSplit: undo",
        "description": "Restore the tags (or the field) as they were before the latest split",
        "icon": "undo",
    }

    def __call__(self, samples: Any) -> None:
        """Undo from Python."""
        api.undo_split(samples)

    def ask(self, ctx: Any) -> Any:
        """Say what will be undone; where others split or undo meanwhile it still names that, and `do` says why not."""
        inputs = types.Object()
        keys, named = runs.run_keys(ctx.dataset), ctx.params.get("run_key")
        if not keys and named is None:
            refuse(inputs, NO_RECORD)
        else:
            key = keys[-1] if named is None else named
            field = ctx.dataset.get_run_info(key).config.field if key in keys else None
            note = f"Brings back what {f'the field {plain(field)}' if field else 'the tags'} held before"
            label = run_label(ctx.dataset, key) if key in keys else str(runs.run_number(key))
            add_one(inputs, "run_key", {key: label}, label="Takes back the split", description=note)
        return self.form(inputs)

    def do(self, ctx: Any) -> dict[str, Any]:
        """Undo."""
        if ctx.params.get("run_key") not in (None, *runs.run_keys(ctx.dataset)[-1:]):
            raise EvoSplitError(NOT_LATEST)
        run = api.undo_split(ctx.dataset)
        refresh_app(ctx, run.field, changed=run.created_field)
        refresh_panels(ctx)
        undone = f"Split {runs.run_number(run.key)} was undone"
        return {"message": f"{undone}: {len(run.samples):,} samples are as they were."}


def run_label(dataset: Any, key: str) -> str:
    """Name a recorded split for a reader: its number, sizes, how it was made, and when."""
    info = dataset.get_run_info(key)
    settings = info.config.settings
    said = [sizes_of(info.config.sizes)]
    said += [f"{name} {settings[name]}" for name in ("seed", "effort") if settings.get(name) is not None]
    groups = in_groups(several(settings.get("group_by")), settings.get("near_duplicates"), settings.get("group_regex"))
    if groups:
        said.append(f"groups by {groups}")
    if info.config.field:
        said.append(f"field {info.config.field}")
    return f"{runs.run_number(key)}: {' · '.join(said)} ({info.timestamp:%Y-%m-%d %H:%M} UTC)"


def run_labels(dataset: Any) -> dict[str, str]:
    """Name the recorded splits of a dataset for a reader, the latest first."""
    return {key: run_label(dataset, key) for key in reversed(runs.run_keys(dataset))}

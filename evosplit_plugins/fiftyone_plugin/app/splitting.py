"""The EvoSplit operator: form, search in the background, result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any, ClassVar

import fiftyone.operators as foo
import fiftyone.operators.types as types

from evosplit import EvoSplitError, Split
from evosplit_plugins.fiftyone_plugin import api
from evosplit_plugins.fiftyone_plugin.app.base import (
    ALSO_DELEGATED,
    ICON,
    AppOperator,
    in_a_sentence,
    in_app,
    show,
    show_error,
)
from evosplit_plugins.fiftyone_plugin.app.form import build_form
from evosplit_plugins.fiftyone_plugin.app.jobs import watched
from evosplit_plugins.fiftyone_plugin.app.output import message_output, split_output, split_result
from evosplit_plugins.fiftyone_plugin.app.refreshing import refresh_app, refresh_panels
from evosplit_plugins.fiftyone_plugin.app.request import SplitRequest, several
from evosplit_plugins.fiftyone_plugin.reading import root_dataset
from evosplit_plugins.fiftyone_plugin.runs import SplitRun

__all__ = ["EvoSplit"]


class EvoSplit(AppOperator):
    """Split the samples of a dataset, view or selection."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "evosplit",
        "label": "EvoSplit",
        "description": "Split samples into subsets that share labels, instances and label pairs evenly",
        "execute_as_generator": True,
        "icon": ICON,
        **ALSO_DELEGATED,
    }

    def __call__(
        self,
        samples: Any,
        ratios: Mapping[str, float] | Sequence[float] | None = None,
        *,
        delegate: bool = False,
        **options: Any,
    ) -> Any:
        """Split from Python, as `evosplit_fiftyone` does; with `delegate` the run is queued instead.

        A queued run takes the options that the form has: folds, label_field, field, overwrite, keep_tags, group_by,
        near_duplicates (a brain key or a field), duplicate_threshold, group_copies, stratify_by, locked (names of
        subsets), cover, min_per_label, label_weights, effort, seed.
        """
        if not delegate:
            return api.evosplit_fiftyone(samples, ratios, **options)
        field = options.pop("field", None)
        if isinstance(options.get("locked"), Mapping):
            raise EvoSplitError("a queued run takes locked= as the names of subsets that are there; tag the samples")
        for name in ("label_field", "group_by", "stratify_by", "locked"):
            if options.get(name) is not None:
                options[name] = list(several(options[name]))
        if not isinstance(options.get("near_duplicates"), str | None):
            raise EvoSplitError("a queued run takes near_duplicates= as a brain key or a field; save the index first")
        params = {
            "ratios": dict(ratios) if isinstance(ratios, Mapping) else ratios and list(ratios),
            "write": "tags" if field is None else "field",
            "field": field,
            **options,
        }
        given = {name: value for name, value in params.items() if value is not None}
        target = {"view": samples.view(), "dataset": root_dataset(samples)}
        return foo.execute_operator(self.uri, {**target, "params": given, "request_delegation": True})

    def resolve_placement(self, ctx: Any) -> Any:
        """Put a button above the grid."""
        button = types.Button(label="EvoSplit", icon=ICON, prompt=True)
        return types.Placement(types.Places.SAMPLES_GRID_SECONDARY_ACTIONS, button)

    def ask(self, ctx: Any) -> Any:
        """Build the form."""
        return build_form(ctx)

    def execute(self, ctx: Any) -> Any:
        """Stream progress and result to the App; to Python and to a delegated run return the result."""
        if ctx.delegated:
            return self._run(ctx, ctx.set_progress)
        return self._stream(ctx) if in_app(ctx) else self._run(ctx, None)

    def resolve_output(self, ctx: Any) -> Any:
        """Show the result of a run that was not streamed."""
        results = ctx.results or {}
        return split_output(results) if results else message_output("EvoSplit", "The run has not ended.", error=True)

    def _run(self, ctx: Any, set_progress: Any) -> dict[str, Any]:
        samples = ctx.target_view()
        request = SplitRequest.from_params(ctx.params)

        def on_progress(done: float, message: str) -> None:
            if set_progress is not None:
                set_progress(progress=done, label=message)

        _, result = _write(samples, request.search(samples, on_progress), request)
        if ctx.delegated:
            result["ended"] = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
            result["dataset"] = ctx.dataset.name
        return result

    def _stream(self, ctx: Any) -> Iterator[Any]:
        """Search in the background and write at the end, so that cancelling leaves the dataset as it was."""
        written = False
        try:
            samples = ctx.target_view()
            request = SplitRequest.from_params(ctx.params)
            search = partial(request.search, samples)
            split = yield from watched(ctx, "EvoSplit", search, "Writing")
            if split is None:
                return
            run, result = _write(samples, split, request)
            written = True
            yield from refresh_app(ctx, run.field, changed=run.created_field)
            yield from refresh_panels(ctx)
            yield show(ctx, split_output(result), result)
        except Exception as error:  # an exception in a generator would freeze the App's progress bar
            yield from show_error(ctx, "EvoSplit", in_a_sentence(error, written=written))


def _write(samples: Any, split: Split, request: SplitRequest) -> tuple[SplitRun, dict[str, Any]]:
    run = request.write(samples, split)
    return run, split_result(split, key=run.key, label_fields=run.label_fields, field=run.field)

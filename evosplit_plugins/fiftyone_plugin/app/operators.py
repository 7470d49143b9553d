"""The operators of the App: split, undo, save a manifest, replay it, audit.

Each is thin: the form comes from `form`, the work is done by `request` and `api`, what is shown comes from `output`.
"""

from __future__ import annotations

import base64
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
import fiftyone.operators.types as types

from evosplit import EvoSplitError, Split
from evosplit_plugins.fiftyone_plugin import api, fields, runs
from evosplit_plugins.fiftyone_plugin.app import jobs
from evosplit_plugins.fiftyone_plugin.app.form import add_overwrite, build_form
from evosplit_plugins.fiftyone_plugin.app.output import (
    PANEL,
    audit_output,
    audit_result,
    message_output,
    plain,
    split_output,
    split_result,
)
from evosplit_plugins.fiftyone_plugin.app.request import SplitRequest, several
from evosplit_plugins.fiftyone_plugin.reading import root_dataset

__all__ = [
    "ICON",
    "OPERATORS",
    "PLUGIN",
    "ApplyManifest",
    "AuditSplit",
    "CancelSplit",
    "EvoSplit",
    "SaveManifest",
    "UndoSplit",
    "reload_app",
    "run_label",
]

PLUGIN = "@evosplit/evosplit"
ICON = "call_split"
_POLL_SECONDS = 0.25
_TAGS = "tags"  # FiftyOne has this field on every sample, so that no other one is called so
logger = logging.getLogger(__name__)


class EvoSplit(foo.Operator):  # type: ignore[misc]  # fiftyone is untyped
    """Split the samples of a dataset, view or selection."""

    @property
    def config(self) -> Any:
        """Stream progress; may be queued."""
        return foo.OperatorConfig(
            name="evosplit",
            label="EvoSplit",
            description="Split samples into subsets that share labels, instances and label pairs evenly",
            dynamic=True,
            execute_as_generator=True,
            allow_immediate_execution=True,
            allow_delegated_execution=True,
            icon=ICON,
        )

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

    def resolve_input(self, ctx: Any) -> Any:
        """Build the form."""
        return build_form(ctx)

    def execute(self, ctx: Any) -> Any:
        """Stream progress and result to the App; to Python and to a delegated run return the result."""
        if ctx.delegated:
            return self._run(ctx, ctx.set_progress)
        return self._stream(ctx) if _in_app(ctx) else self._run(ctx, None)

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

        result = _write(samples, request.search(samples, on_progress), request)
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
            search = jobs.SearchJob(lambda on_progress: request.search(samples, on_progress))
            with search:
                while not search.wait(_POLL_SECONDS):
                    yield _show_progress(ctx, search.key, *search.progress)
                cancelled = search.cancelled
                if not cancelled:
                    split = search.result()
                    yield _show_progress(ctx, search.key, 0.95, "Writing")
                    cancelled = search.cancelled
            if cancelled:
                yield _show(ctx, message_output("EvoSplit", "Cancelled. The dataset is as it was."), {})
                return
            result = _write(samples, split, request)
            written = True
            yield reload_app(ctx, request.field)
            yield from _refresh_panels(ctx)
            yield _show(ctx, split_output(result), result)
        except Exception as error:  # an exception in a generator would freeze the App's progress bar
            sentence = _sentence(error, written=written)
            yield _show(ctx, message_output("EvoSplit", sentence, error=True), {})
            yield ctx.ops.notify(sentence, variant="error")


class CancelSplit(foo.Operator):  # type: ignore[misc]  # fiftyone is untyped
    """Stop the search that the progress dialog shows."""

    @property
    def config(self) -> Any:
        """Hidden from the operator browser."""
        return foo.OperatorConfig(name="cancel_split", label="EvoSplit: cancel", unlisted=True)

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Stop it; nothing has been written yet."""
        return {"cancelled": jobs.cancel(str(ctx.params.get("job", "")))}


class _RecordOperator(foo.Operator, ABC):  # type: ignore[misc]  # fiftyone is untyped
    """What the operators on recorded splits share: a form under their own name, a sentence as the result."""

    def _form(self, inputs: Any) -> Any:
        return types.Property(inputs, view=types.View(label=self.config.label))

    def execute(self, ctx: Any) -> dict[str, Any]:
        """Do it; the App is told in a sentence why it cannot be done, Python by the exception."""
        try:
            return self._do(ctx)
        except Exception as error:
            if not _in_app(ctx):
                raise
            return {"error": _sentence(error, written=False)}

    @abstractmethod
    def _do(self, ctx: Any) -> dict[str, Any]:
        """Do what the operator is for, and say so in `message`."""

    def resolve_output(self, ctx: Any) -> Any:
        """Say what was done, or why not."""
        results = ctx.results or {}
        error = results.get("error")
        return message_output(self.config.label, error or results.get("message", ""), error=bool(error))


class UndoSplit(_RecordOperator):
    """Take back the latest split."""

    @property
    def config(self) -> Any:
        """Listed in the operator browser."""
        return foo.OperatorConfig(
            name="undo_split",
            label="EvoSplit: undo",
            description="Restore the tags (or the field) as they were before the latest split",
            dynamic=True,
            icon="undo",
        )

    def __call__(self, samples: Any) -> None:
        """Undo from Python."""
        api.undo_split(samples)

    def resolve_input(self, ctx: Any) -> Any:
        """Say what will be undone."""
        inputs = types.Object()
        keys = runs.run_keys(ctx.dataset)
        if not keys:
            _refuse(inputs, "No split by EvoSplit is recorded on this dataset.")
        else:
            info = ctx.dataset.get_run_info(keys[-1])
            sizes = ", ".join(f"{name} {size:,}" for name, size in info.config.sizes.items())
            where = f"the field {info.config.field}" if info.config.field else "tags"
            made = info.timestamp.strftime("%Y-%m-%d %H:%M")
            what = f"Takes back the split of {made} UTC: {sizes}, written as {where}."
            inputs.view("what", types.Notice(label=plain(what)))
        return self._form(inputs)

    def _do(self, ctx: Any) -> dict[str, Any]:
        run = api.undo_split(ctx.dataset)
        reload_app(ctx, run.field)
        _refresh_panels(ctx)
        return {"message": f"The split {run.key} was undone: {len(run.samples):,} samples are as they were."}


class SaveManifest(_RecordOperator):
    """Save the latest split to a file."""

    @property
    def config(self) -> Any:
        """Listed in the operator browser."""
        return foo.OperatorConfig(
            name="save_manifest",
            label="EvoSplit: save manifest",
            description="Write a recorded split to a file, to replay it later or elsewhere",
            dynamic=True,
            icon="save",
        )

    def __call__(self, samples: Any, path: str, *, run_key: str | None = None) -> Split:
        """Save from Python."""
        return api.save_manifest(samples, path, run_key=run_key)

    def resolve_input(self, ctx: Any) -> Any:
        """Ask which split, and where to."""
        inputs = types.Object()
        keys = runs.run_keys(ctx.dataset)
        if not keys:
            _refuse(inputs, "No split by EvoSplit is recorded on this dataset.")
        else:
            choices = types.DropdownView()
            for key in reversed(keys):
                choices.add_choice(key, label=run_label(ctx.dataset, key))
            inputs.enum("run_key", choices.values(), default=keys[-1], label="Split", view=choices)
            _ask_way(inputs, "download", "Download it", "Save it to")
            if _on_server(ctx):
                note = "On the machine that runs FiftyOne; a file that is no manifest is not replaced"
                inputs.str("path", default=str(Path.home() / "split.json"), label="File", description=note)
        return self._form(inputs)

    def _do(self, ctx: Any) -> dict[str, Any]:
        key = ctx.params.get("run_key")
        if _on_server(ctx):
            path = _path(ctx)
            split = api.save_manifest(ctx.dataset, path, run_key=key)
            return {"message": f"{len(split.sample_ids):,} entries were written to {path}."}
        name = f"{ctx.dataset.slug}-split.json"
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            split = api.save_manifest(ctx.dataset, path, run_key=key)
            content = base64.b64encode(path.read_bytes()).decode("ascii")
        ctx.ops.browser_download(f"data:application/json;base64,{content}", filename=name)
        return {"message": f"{len(split.sample_ids):,} entries were downloaded as {name}."}


class ApplyManifest(_RecordOperator):
    """Replay a saved split."""

    @property
    def config(self) -> Any:
        """Listed in the operator browser."""
        return foo.OperatorConfig(
            name="apply_manifest",
            label="EvoSplit: apply manifest",
            description="Tag the samples as a saved split says",
            dynamic=True,
            icon="replay",
        )

    def __call__(self, samples: Any, path: str, *, field: str | None = None, overwrite: bool = False) -> Split:
        """Replay from Python."""
        return api.apply_split(samples, path, field=field, overwrite=overwrite)

    def resolve_input(self, ctx: Any) -> Any:
        """Ask for the file and where to write."""
        inputs = types.Object()
        inputs.view_target(ctx, action_description="Tag")
        _ask_way(inputs, "upload", "Upload it", "Read it from")
        if _on_server(ctx):
            note = "A split.json on the machine that runs FiftyOne"
            inputs.str("path", required=True, label="File", description=note)
        else:
            # The form is resolved at every change; only the run needs the content.
            view = types.FileView(types=".json", lite=True)
            inputs.define_property("manifest", types.UploadedFile(), required=True, label="A split.json", view=view)
        inputs.str(
            "field",
            label="Field",
            description="Write into this field; empty for sample tags",
            allow_empty=True,
        )
        field = ctx.params.get("field")
        if field and ctx.dataset.get_field(field) is not None and field not in runs.written_fields(ctx.dataset):
            add_overwrite(inputs)
        return self._form(inputs)

    def _do(self, ctx: Any) -> dict[str, Any]:
        field, overwrite = ctx.params.get("field") or None, bool(ctx.params.get("overwrite"))
        with TemporaryDirectory() as folder:
            path = _path(ctx) if _on_server(ctx) else _uploaded(ctx, Path(folder))
            split = api.apply_split(ctx.target_view(), path, field=field, overwrite=overwrite)
        reload_app(ctx, field)
        _refresh_panels(ctx)
        sizes = ", ".join(f"{name} {size:,}" for name, size in zip(split.names, split.sizes, strict=True))
        return {"message": f"Replayed: {sizes}."}


class AuditSplit(_RecordOperator):
    """Judge the split that tags or a field hold, whoever made it."""

    @property
    def config(self) -> Any:
        """Listed in the operator browser."""
        return foo.OperatorConfig(
            name="audit_split",
            label="EvoSplit: audit",
            description="How even a split is, what leaks, what EvoSplit would give instead",
            dynamic=True,
            icon="fact_check",
        )

    def resolve_input(self, ctx: Any) -> Any:
        """Ask where the subsets are, and what belongs together."""
        inputs = types.Object()
        where = types.DropdownView()
        where.add_choice(_TAGS, label="Sample tags")
        strings = ctx.dataset.get_field_schema(ftype=fo.StringField)
        for name in strings:
            if name != "filepath":
                where.add_choice(name, label=f"The field {name}")
        inputs.enum("where", where.values(), default=_TAGS, label="The subsets are in", view=where)
        if (ctx.params.get("where") or _TAGS) == _TAGS:
            tags = types.DropdownView(multiple=True, allow_duplicates=False)
            for name in ctx.dataset.distinct("tags"):
                tags.add_choice(name, label=name)
            note = "By default those of the latest split, else the usual ones: train, val, test"
            inputs.list("tags", types.String(), default=[], required=False, label="Tags", description=note, view=tags)
        groups = types.DropdownView(multiple=True, allow_duplicates=False)
        for name in fields.group_fields(ctx.dataset):
            groups.add_choice(name, label=name)
        inputs.list(
            "group_by",
            types.String(),
            default=[],
            required=False,
            label="Samples that belong together have the same",
            description="For example a clip or a patient; equal files are always looked for",
            view=groups,
        )
        return self._form(inputs)

    def _do(self, ctx: Any) -> dict[str, Any]:
        where = ctx.params.get("where") or _TAGS
        tags = several(ctx.params.get("tags"))
        audit = api.audit(
            ctx.dataset,
            tags or None,
            field=None if where == _TAGS else where,
            group_by=several(ctx.params.get("group_by")) or None,
            effort="fast",
        )
        return audit_result(audit)

    def resolve_output(self, ctx: Any) -> Any:
        """Show verdict, leaks and the tables beside EvoSplit's split."""
        results = ctx.results or {}
        return audit_output(results) if "verdict" in results else super().resolve_output(ctx)


OPERATORS: Sequence[type[Any]] = (EvoSplit, CancelSplit, UndoSplit, SaveManifest, ApplyManifest, AuditSplit)


def run_label(dataset: Any, key: str) -> str:
    """Name a recorded split for a reader: its number, sizes, how it was made, and when."""
    info = dataset.get_run_info(key)
    settings = info.config.settings
    said = [", ".join(f"{name} {size:,}" for name, size in info.config.sizes.items())]
    said += [f"{name} {settings[name]}" for name in ("seed", "effort") if settings.get(name) is not None]
    groups = several(settings.get("group_by"))
    if groups:
        said.append(f"groups by {', '.join(groups)}")
    if info.config.field:
        said.append(f"field {info.config.field}")
    return f"{key.removeprefix('evosplit_')}: {' · '.join(said)} ({info.timestamp:%Y-%m-%d %H:%M} UTC)"


def reload_app(ctx: Any, field: str | None) -> Any:
    """Have the App show what was written; only tags can be read anew without losing the user's view and filters."""
    return ctx.ops.reload_samples() if field is None else ctx.ops.reload_dataset()


def _write(samples: Any, split: Split, request: SplitRequest) -> dict[str, Any]:
    run = request.write(samples, split)
    return split_result(split, key=run.key, label_fields=run.label_fields, field=run.field)


def _show_progress(ctx: Any, job: str, done: float, message: str) -> Any:
    outputs = types.Object()
    outputs.float("progress", view=types.ProgressView(label=message))
    outputs.btn(
        "cancel",
        label="Cancel",
        variant="outlined",
        on_click=f"{PLUGIN}/cancel_split",
        params={"job": job},
    )
    return _show(ctx, types.Property(outputs, view=types.View(label="EvoSplit")), {"progress": done})


def _show(ctx: Any, schema: Any, results: dict[str, Any]) -> Any:
    return ctx.ops.show_output(schema.to_json(), results)


def _refresh_panels(ctx: Any) -> list[Any]:
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


def _refuse(inputs: Any, sentence: str) -> None:
    prop = inputs.view("refused", types.Error(label=plain(sentence)))
    prop.invalid = True
    prop.error_message = sentence


def _in_app(ctx: Any) -> bool:
    return ctx.request_params.get("spaces") is not None  # the layout of the App, which only the App sends


def _ask_way(inputs: Any, browser: str, here: str, there: str) -> None:
    """Ask whether a file is on the machine of the browser, the first choice, or on that of FiftyOne."""
    way = types.RadioGroup(orientation="horizontal")
    way.add_choice(browser, label=here)
    way.add_choice("server", label=f"{there} the machine that runs FiftyOne")
    inputs.enum("way", way.values(), default=browser, label="The file", view=way)


def _on_server(ctx: Any) -> bool:
    way = ctx.params.get("way")
    return bool(way == "server" or (way is None and ctx.params.get("path") is not None))


def _uploaded(ctx: Any, folder: Path) -> Path:
    """Put the uploaded file into a folder."""
    given = ctx.params.get("manifest") or {}
    content = given.get("content")
    if not content:
        raise EvoSplitError("no file is given; choose the split.json that was saved")
    path = folder / Path(str(given.get("name") or "split.json")).name
    path.write_bytes(base64.b64decode(str(content).rpartition(",")[2]))  # some browsers send a data URL
    return path


def _path(ctx: Any) -> Path:
    given = str(ctx.params.get("path") or "").strip()
    if not given:
        raise EvoSplitError("no file is given; name one, for example split.json")
    return Path(given).expanduser()


def _sentence(error: Exception, *, written: bool) -> str:
    if isinstance(error, EvoSplitError):
        text = str(error)
        return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
    logger.exception("EvoSplit failed")
    state = "The samples were written" if written else "The dataset is as it was"
    return f"EvoSplit failed: {type(error).__name__}: {error}. {state}; the log of the App server tells more."

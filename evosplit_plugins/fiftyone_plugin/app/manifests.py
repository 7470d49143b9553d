"""The operators that save a recorded split to a file and replay one, through the browser or on the server."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import fiftyone.operators.types as types

from evosplit import EvoSplitError, Split
from evosplit_plugins.fiftyone_plugin import api, runs
from evosplit_plugins.fiftyone_plugin.app.base import RecordOperator, refuse
from evosplit_plugins.fiftyone_plugin.app.form import add_overwrite
from evosplit_plugins.fiftyone_plugin.app.inputs import add_one
from evosplit_plugins.fiftyone_plugin.app.output import sizes_of
from evosplit_plugins.fiftyone_plugin.app.records import NO_RECORD, run_labels
from evosplit_plugins.fiftyone_plugin.app.refreshing import refresh_app, refresh_panels

__all__ = ["ApplyManifest", "SaveManifest"]


class SaveManifest(RecordOperator):
    """Save the latest split to a file."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "save_manifest",
        "label": "EvoSplit: save manifest",
        "description": "Write a recorded split to a file, to replay it later or elsewhere",
        "icon": "save",
    }

    def __call__(self, samples: Any, path: str, *, run_key: str | None = None) -> Split:
        """Save from Python."""
        return api.save_manifest(samples, path, run_key=run_key)

    def ask(self, ctx: Any) -> Any:
        """Ask which split, and where to."""
        inputs = types.Object()
        known, named = run_labels(ctx.dataset), ctx.params.get("run_key")
        if not known and named is None:
            refuse(inputs, NO_RECORD)
        else:
            # One that was undone while the form was open stays in it, so that the reason is shown.
            gone = {} if named in (None, *known) else {named: "undone in the meantime"}
            add_one(inputs, "run_key", {**known, **gone}, label="Split")
            _ask_way(inputs, "download", "Download it", "Save it to")
            if _on_server(ctx):
                note = "On the machine that runs FiftyOne; a file that is no manifest is not replaced"
                inputs.str("path", default=str(Path.home() / "split.json"), label="File", description=note)
        return self.form(inputs)

    def do(self, ctx: Any) -> dict[str, Any]:
        """Write the file, to the browser or on the server."""
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


class ApplyManifest(RecordOperator):
    """Replay a saved split."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "apply_manifest",
        "label": "EvoSplit: apply manifest",
        "description": "Tag the samples as a saved split says",
        "icon": "replay",
    }

    def __call__(self, samples: Any, path: str, *, field: str | None = None, overwrite: bool = False) -> Split:
        """Replay from Python."""
        return api.apply_split(samples, path, field=field, overwrite=overwrite)

    def ask(self, ctx: Any) -> Any:
        """Ask for the file and where to write."""
        inputs = types.Object()
        # A split is replayed on all that was split; what the grid shows is often only looked at.
        inputs.view_target(ctx, action_description="Tag", default_target="DATASET")
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
        return self.form(inputs)

    def do(self, ctx: Any) -> dict[str, Any]:
        """Write what the file says."""
        field, overwrite = ctx.params.get("field") or None, bool(ctx.params.get("overwrite"))
        created = field is not None and ctx.dataset.get_field(field) is None
        with TemporaryDirectory() as folder:
            path = _path(ctx) if _on_server(ctx) else _uploaded(ctx, Path(folder))
            try:
                split = api.apply_split(ctx.target_view(), path, field=field, overwrite=overwrite)
            except EvoSplitError as error:  # an upload is known by its name, not by where it lies for now
                error.args = (str(error).replace(f"{folder}{os.sep}", ""),)
                raise
        refresh_app(ctx, field, changed=created)
        refresh_panels(ctx)
        return {"message": f"Replayed: {sizes_of(split)}."}


def _ask_way(inputs: Any, browser: str, here: str, there: str) -> None:
    """Ask whether a file is on the machine of the browser, the first choice, or on that of FiftyOne."""
    ways = {browser: here, "server": f"{there} the machine that runs FiftyOne"}
    add_one(inputs, "way", ways, radio=True, label="The file")


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
    return Path(given).expanduser().absolute()  # nobody in the App knows in which directory the server is

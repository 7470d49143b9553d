"""The operator that exports each subset with FiftyOne's own exporters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import fiftyone.operators.types as types

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import exporting, runs
from evosplit_plugins.fiftyone_plugin.app.base import ALSO_DELEGATED, RecordOperator, refuse
from evosplit_plugins.fiftyone_plugin.app.inputs import add_one
from evosplit_plugins.fiftyone_plugin.app.output import sizes_of
from evosplit_plugins.fiftyone_plugin.app.records import NO_RECORD

__all__ = ["ExportSubsets"]

_FORMATS = {"coco": "COCO: a folder for each subset", "yolo": "YOLO: one dataset.yaml with all subsets"}
_MEDIA = {"copy": "copied", "symlink": "linked"}


class ExportSubsets(RecordOperator):
    """Export the subsets of the latest split."""

    about: ClassVar[Mapping[str, Any]] = {
        "name": "export_subsets",
        "label": "EvoSplit: export",
        "description": "Write each subset of the latest split as COCO or YOLO, with FiftyOne's own exporters",
        "icon": "drive_folder_upload",
        **ALSO_DELEGATED,
    }

    def __call__(self, samples: Any, output: str, **options: Any) -> dict[str, int]:
        """Export from Python."""
        return exporting.export_subsets(samples, output, **options)

    def ask(self, ctx: Any) -> Any:
        """Ask for format, labels and directory."""
        inputs = types.Object()
        known = exporting.exportable_fields(ctx.dataset)
        if not runs.run_keys(ctx.dataset):
            refuse(inputs, NO_RECORD)
        elif not known:
            refuse(inputs, "No field of this dataset holds Detections or Polylines, which the formats take.")
        else:
            add_one(inputs, "format", _FORMATS, radio=True, label="Format")
            latest = runs.load_run(ctx.dataset)
            likely = next((name for name in latest.label_fields if name in known), known[0])
            add_one(inputs, "label_field", {name: name for name in known}, default=likely, label="Labels")
            add_one(inputs, "media", _MEDIA, radio=True, label="Pictures are")
            note = "A new one on the machine that runs FiftyOne; nothing that exists is replaced"
            home = str(Path.home() / f"{ctx.dataset.slug}-split")
            inputs.str("output", default=home, label="Directory", description=note)
            if Path(str(ctx.params.get("output") or home)).expanduser().exists():
                refuse(inputs, "This directory exists; name a new one.")
        return self.form(inputs)

    def do(self, ctx: Any) -> dict[str, Any]:
        """Export, and load what was written to check it."""
        output = str(ctx.params.get("output") or "").strip()
        if not output:
            raise EvoSplitError("no directory is given; name a new one")
        if not runs.run_keys(ctx.dataset):  # it was undone while the form was open
            raise EvoSplitError(NO_RECORD)
        options = {name: ctx.params[name] for name in ("format", "label_field", "media") if ctx.params.get(name)}
        sizes = exporting.export_subsets(ctx.dataset, output, **options)
        where = Path(output).expanduser().absolute()
        return {"message": f"Written to {where}, and checked by loading it: {sizes_of(sizes)}."}

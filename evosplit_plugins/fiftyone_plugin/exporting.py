"""Export the subsets of a split with FiftyOne's exporters, and check the result by loading it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import fiftyone as fo

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.reading import choose_fields, is_generated, label_paths, name_of, root_dataset
from evosplit_plugins.fiftyone_plugin.source import subset_names
from evosplit_plugins.fiftyone_plugin.writing import subset_view
from evosplit_plugins.files import PathLike
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import Plan, settle

__all__ = ["FORMATS", "MEDIA", "export_subsets", "exportable_fields"]

FORMATS = {"coco": fo.types.COCODetectionDataset, "yolo": fo.types.YOLOv5Dataset}
MEDIA = {"copy": True, "symlink": "symlink"}
_EXPORTED = (fo.Detections, fo.Polylines)


def exportable_fields(samples: Any) -> list[str]:
    """List the fields that both formats can hold: boxes and polygons of pictures."""
    return [name for name in label_paths(samples) if _kind(samples, name) in _EXPORTED]


def export_subsets(
    samples: Any,
    output: PathLike,
    names: Sequence[str] | None = None,
    *,
    format: str = "coco",
    label_field: str | None = None,
    field: str | None = None,
    media: str = "copy",
    on_progress: OnProgress | None = None,
) -> dict[str, int]:
    """Export each subset of a split with FiftyOne's exporters, all of them or nothing.

    Parameters
    ----------
    samples
        A dataset or view of pictures; only its samples are exported.
    output
        A new directory. COCO has a folder for each subset in it, YOLO a `dataset.yaml` that names them.
    names, field
        The tags of the subsets, or the field that holds them and its values; by default those of the latest split.
    format
        "coco" or "yolo".
    label_field
        A field with Detections or Polylines; by default that of the latest split, else the most likely one.
    media
        "copy" or "symlink".
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    dict
        How many samples each subset has. What was written is loaded again first: as many samples, and as many labels of
        each class.
    """
    dataset = root_dataset(samples)
    target = Path(output).expanduser()
    for value, known, parameter in ((format, FORMATS, "format"), (media, MEDIA, "media")):
        if value not in known:
            raise EvoSplitError(f"{parameter}={value!r} is unknown; choose from {', '.join(map(repr, known))}")
    if is_generated(samples) or dataset.media_type != fo.core.media.IMAGE:
        raise EvoSplitError(
            f"{name_of(samples)} shows no whole pictures, which alone can be exported; export it in Python"
        )
    settle(target)  # what an export that was killed left there
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise EvoSplitError(f"{str(target)!r} exists, and nothing in it is replaced; name a new directory")
    if not target.parent.is_dir():
        raise EvoSplitError(f"{str(target.parent)!r} is no directory; make it first, or choose another one")
    latest = runs.load_run(dataset) if runs.run_keys(dataset) and names is None and field is None else None
    if latest is not None:
        names, field = latest.split.names, latest.field
    names = tuple(names or subset_names(dataset, field))
    chosen = _label_field(samples, label_field, latest)
    classes = sorted(name for name in samples.distinct(choose_fields(samples, chosen)[chosen]) if name is not None)
    views = {name: subset_view(samples, name, field) for name in names}
    empty = [name for name, view in views.items() if not view.count()]
    if empty:
        raise EvoSplitError(f"no sample of {name_of(samples)} is in {empty[0]!r}; name the subsets that there are")
    with Plan(target, writer="fiftyone").stage() as staging:
        stage = staging.path(PurePosixPath())
        for at, (name, view) in enumerate(views.items()):
            if on_progress is not None:
                on_progress(0.8 * at / len(views), f"exporting {name}")
            _export(view, stage, name, format, chosen, classes, media)
        for at, (name, view) in enumerate(views.items()):
            if on_progress is not None:
                on_progress(0.8 + 0.2 * at / len(views), f"checking {name}")
            _check(view, stage, name, format, chosen)
        staging.commit()
    if on_progress is not None:
        on_progress(1.0, "done")
    return {name: view.count() for name, view in views.items()}


def _kind(samples: Any, name: str) -> Any:
    return getattr(samples.get_field(name), "document_type", None)


def _label_field(samples: Any, asked: str | None, latest: runs.SplitRun | None) -> str:
    known = exportable_fields(samples)
    recorded = [name for name in (latest.label_fields if latest is not None else ()) if name in known]
    if asked is None and recorded:
        return recorded[0]
    if asked is None and known:
        likely = next(iter(choose_fields(samples, None)))
        return likely if likely in known else known[0]
    if asked is None or asked not in known:
        what = "no field" if asked is None else repr(asked)
        raise EvoSplitError(
            f"{what} of {name_of(samples)} holds Detections or Polylines, which the formats take; fields that do: "
            f"{', '.join(map(repr, known)) or 'none'}"
        )
    return asked


def _where(stage: Path, name: str, format: str) -> dict[str, Any]:
    """Say where a subset is, to export or to load it."""
    if format == "coco":
        return {"export_dir": str(stage / name)}
    return {"export_dir": str(stage), "split": name}


def _export(view: Any, stage: Path, name: str, format: str, field: str, classes: Sequence[str], media: str) -> None:
    further = {"include_path": False} if format == "yolo" else {}  # the directory gets its name at the end
    view.export(
        **_where(stage, name, format),
        dataset_type=FORMATS[format],
        label_field=field,
        classes=list(classes),
        export_media=MEDIA[media],
        **further,
    )


def _check(view: Any, stage: Path, name: str, format: str, field: str) -> None:
    """Load a subset again, and compare it with what was exported."""
    where = _where(stage, name, format)
    found = fo.Dataset.from_dir(
        dataset_dir=where.pop("export_dir"),
        dataset_type=FORMATS[format],
        label_field="loaded",
        # YOLO's pictures without labels have no label file.
        **({"label_types": "detections"} if format == "coco" else {"include_all_data": True}),
        **where,
    )
    try:
        path = choose_fields(view, field)[field]
        wanted = _numbers(view, path)
        written = _numbers(found, "loaded.detections.label")
    finally:
        found.delete()
    if wanted != written:
        raise EvoSplitError(
            f"what FiftyOne wrote for {name!r} does not load as it was: {written[0]:,} samples and "
            f"{sum(written[1].values()):,} labels instead of {wanted[0]:,} and {sum(wanted[1].values()):,}; "
            "nothing was kept"
        )


def _numbers(samples: Any, path: str) -> tuple[int, Mapping[str, int]]:
    labels = Counter({name: n for name, n in samples.count_values(path).items() if name is not None and n})
    return samples.count(), labels

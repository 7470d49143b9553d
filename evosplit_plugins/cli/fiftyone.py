"""`evosplit fiftyone`: split FiftyOne datasets, take a split back, replay a saved one, link the plugin."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit.ratios import DEFAULT_NAMES
from evosplit_plugins.cli.audit import add_audit
from evosplit_plugins.cli.common import (
    add_group_flags,
    add_output_flags,
    add_split_flags,
    add_stratify_flag,
    listed,
    progress,
    ratios_from,
    show_report,
    split_options,
    tell,
)
from evosplit_plugins.staging import Plan

__all__ = ["load_samples", "register"]

DEMO_NAME = "evosplit-demo"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `fiftyone` commands."""
    group = commands.add_parser(
        "fiftyone",
        help="split FiftyOne datasets",
        description="Split FiftyOne datasets: labels in, sample tags out.",
    )
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    split = verbs.add_parser(
        "split",
        help="tag the samples of a dataset with their subsets",
        description="Split a dataset and tag its samples; an earlier split is replaced, other tags stay.",
    )
    _add_dataset(split)
    split.add_argument(
        "-l",
        "--label-field",
        action="append",
        metavar="FIELD",
        help="a field whose labels are spread, frames.FIELD for frame labels; repeat it for several "
        "(default: the most likely one)",
    )
    _add_field(split)
    split.add_argument(
        "--keep",
        action="store_true",
        help="leave samples that are in a subset where they are; the ratios refer to the whole",
    )
    add_group_flags(split, "FIELD[,FIELD...]", "this field (filepath: the folder)", copies=True)
    split.add_argument(
        "--near-duplicates",
        metavar="KEY",
        help="near duplicates never cross subsets either: a similarity run of FiftyOne Brain, or a field with the id "
        "of each sample's original",
    )
    split.add_argument(
        "--duplicate-threshold",
        type=float,
        metavar="X",
        help="the distance up to which samples of that run are near duplicates (default 0.2)",
    )
    add_stratify_flag(split, "FIELD", "these fields, categories, numbers or labels (area: class x box size)")
    split.add_argument("--manifest", type=Path, metavar="PATH", help="also write the split to a split.json")
    add_split_flags(split)
    split.set_defaults(run=_split)

    add_audit(verbs, "fiftyone")

    replay = verbs.add_parser(
        "apply",
        help="replay a saved split",
        description="Tag the samples as a split.json says: by sample id, else by file path or file name.",
    )
    replay.add_argument("manifest", type=Path, metavar="SPLIT", help="the split.json of an earlier split")
    _add_dataset(replay)
    _add_field(replay)
    add_output_flags(replay)
    replay.set_defaults(run=_apply)

    undo = verbs.add_parser(
        "undo",
        help="restore the tags as they were before the latest split",
        description="Take back the latest split of a dataset; call it again to go further back.",
    )
    undo.add_argument("dataset", metavar="DATASET", help="the name of the dataset")
    add_output_flags(undo)
    undo.set_defaults(run=_undo)

    install = verbs.add_parser(
        "install",
        help="let the FiftyOne App find the plugin",
        description="Link the EvoSplit plugin into FiftyOne's plugins directory.",
    )
    install.add_argument("--plugins-dir", type=Path, metavar="DIR", help="another plugins directory")
    install.add_argument("--overwrite", action="store_true", help="replace a downloaded copy of the plugin")
    add_output_flags(install)
    install.set_defaults(run=_install)

    demo = verbs.add_parser(
        "demo",
        help="split the demo data set and open the App",
        description="Draw the demo data set, split it in FiftyOne and open the App with the EvoSplit plugin.",
    )
    demo.add_argument("-o", "--output", type=Path, default=Path("demo/data"), metavar="DIR", help="default: demo/data")
    demo.add_argument("--images", type=int, default=300, metavar="N", help="how many (default 300)")
    demo.add_argument("--port", type=int, metavar="N", help="the port of the App (default: FiftyOne's)")
    demo.add_argument("--no-app", dest="app", action="store_false", help="split only, do not open the App")
    add_output_flags(demo)
    demo.set_defaults(run=_demo)


def _add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", metavar="DATASET", help="the name of the dataset")
    parser.add_argument("--view", metavar="NAME", help="a saved view instead of the whole dataset")


def _add_field(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--field", metavar="NAME", help="write into this field instead of tags")
    parser.add_argument(
        "--overwrite", action="store_true", help="with --field: replace values there that EvoSplit did not write"
    )


def _split(args: argparse.Namespace) -> int:
    ratios = ratios_from(args, DEFAULT_NAMES)
    samples = load_samples(args.dataset, args.view)
    reports, manifests = ([] if path is None else [path] for path in (args.report, args.manifest))
    if reports or manifests:
        Plan(None, reports=reports, manifests=manifests).check()
    with progress(args) as on_progress:
        split = _door().evosplit_fiftyone(
            samples,
            ratios,
            folds=args.folds,
            label_field=args.label_field,
            field=args.field,
            keep=args.keep,
            overwrite=args.overwrite,
            group_field=listed([args.group_by or ""]),
            near_duplicates=args.near_duplicates,
            duplicate_threshold=args.duplicate_threshold,
            strata_fields=listed(args.stratify_by),
            group_copies=args.group_copies,
            on_progress=on_progress,
            **split_options(args),
        )
    if args.manifest is not None:
        _door().save_manifest(samples, args.manifest)
    show_report(args, split, {"dataset": args.dataset, "written as": args.field or "tags"})
    return 0


def _apply(args: argparse.Namespace) -> int:
    samples = load_samples(args.dataset, args.view)
    split = _door().apply_manifest(samples, args.manifest, field=args.field, overwrite=args.overwrite)
    sizes = dict(zip(split.names, split.sizes, strict=True))
    tell(args, {"dataset": args.dataset, "sizes": sizes}, {name: f"{size} samples" for name, size in sizes.items()})
    return 0


def _undo(args: argparse.Namespace) -> int:
    run = _door().undo_split(load_samples(args.dataset))
    said = {"undone": f"{run.key}, {len(run.samples)} samples are as they were"}
    tell(args, {"dataset": args.dataset, "undone": run.key, "samples": len(run.samples)}, said)
    return 0


def _install(args: argparse.Namespace) -> int:
    _door()
    from evosplit_plugins.fiftyone_plugin.install import install

    home = install(args.plugins_dir, overwrite=args.overwrite)
    tell(args, {"plugin": str(home)})
    return 0


def _demo(args: argparse.Namespace) -> int:
    # The link lies beside the pictures, so that the demo leaves FiftyOne's own plugins directory alone.
    plugins = args.output.resolve() / "plugins"
    os.environ["FIFTYONE_PLUGINS_DIR"] = str(plugins)
    door = _door()
    import fiftyone as fo

    from evosplit_plugins.demo import draw_demo
    from evosplit_plugins.fiftyone_plugin.install import install

    with progress(args) as on_progress:
        demo = draw_demo(args.output, n_images=args.images, overwrite=True, on_progress=on_progress)
        dataset = fo.Dataset.from_dir(
            dataset_type=fo.types.COCODetectionDataset,
            data_path=str(demo.images),
            labels_path=str(demo.annotations),
            label_types="detections",
            label_field="ground_truth",
            name=DEMO_NAME,
            overwrite=True,
            persistent=True,
            progress=False,
        )
        # What the form offers to keep together and to balance.
        records = {record["file_name"]: record for record in json.loads(demo.annotations.read_text())["images"]}
        names = [Path(path).name for path in dataset.values("filepath")]
        for field in ("clip", "world"):
            dataset.set_values(field, [records[name][field] for name in names])
        install(plugins, overwrite=True)
        ratios = {"train": 0.8, "val": 0.1, "test": 0.1}
        split = door.evosplit_fiftyone(dataset, ratios, label_field="ground_truth", on_progress=on_progress)
    show_report(args, split, {"dataset": DEMO_NAME})
    if args.app:
        port = {} if args.port is None else {"port": args.port}
        session = fo.launch_app(dataset, address="127.0.0.1", **port)
        print("Open the EvoSplit panel with the + beside Samples; Ctrl+C ends the App.", file=sys.stderr)
        with suppress(KeyboardInterrupt):
            session.wait(-1)
    return 0


def load_samples(name: str, view: str | None = None) -> Any:
    """Load a dataset, or a saved view of it; what does not exist is named with what does."""
    _door()
    import fiftyone as fo

    if not fo.dataset_exists(name):
        known = ", ".join(fo.list_datasets()) or "none"
        raise EvoSplitError(f"there is no dataset {name!r}; the datasets here: {known}")
    dataset = fo.load_dataset(name)
    if view is None:
        return dataset
    if not dataset.has_saved_view(view):
        known = ", ".join(dataset.list_saved_views()) or "none"
        raise EvoSplitError(f"dataset {name!r} has no saved view {view!r}; its views: {known}")
    return dataset.load_saved_view(view)


def _door() -> Any:
    """Load the door, and keep FiftyOne's own progress bars off: ours are shown."""
    os.environ.setdefault("FIFTYONE_SHOW_PROGRESS_BARS", "false")
    import evosplit_plugins.fiftyone_plugin.door

    return evosplit_plugins.fiftyone_plugin.door

"""The further commands of FiftyOne: undo a split, install the plugin, show the demo."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from evosplit_plugins.cli.commands import Commands, add_output_flags, directory
from evosplit_plugins.cli.render import show_report, tell
from evosplit_plugins.cli.terminal import progress
from evosplit_plugins.progress import Phases

__all__ = ["add_commands"]

DEMO_NAME = "evosplit-demo"


def add_commands(verbs: Commands[argparse.ArgumentParser]) -> None:
    """Add `undo`, `install` and `demo`."""
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
    default = Path("demo/data")
    where = f"the directory to draw into (default {default})"
    demo.add_argument("-o", "--output", type=directory, default=default, metavar="DIR", help=where)
    demo.add_argument("--images", type=int, default=300, metavar="N", help="how many pictures (default 300)")
    demo.add_argument("--port", type=int, metavar="N", help="the port of the App (default: FiftyOne's)")
    demo.add_argument("--no-app", dest="app", action="store_false", help="split only, do not open the App")
    add_output_flags(demo)
    demo.set_defaults(run=_demo)


def _api() -> Any:
    """Load the adapter's functions, and keep FiftyOne's own progress bars off: ours are shown."""
    os.environ.setdefault("FIFTYONE_SHOW_PROGRESS_BARS", "false")
    import evosplit_plugins.fiftyone_plugin.reading  # before the others: without FiftyOne it names the extra
    import evosplit_plugins.fiftyone_plugin.api  # isort: skip

    return evosplit_plugins.fiftyone_plugin.api


def _undo(args: argparse.Namespace) -> int:
    api = _api()
    from evosplit_plugins.fiftyone_plugin.reading import load_samples

    run = api.undo_split(load_samples(args.dataset))
    said = {"undone": f"{run.key}, {len(run.samples)} samples are as they were"}
    tell(args, {"dataset": args.dataset, "undone": run.key, "samples": len(run.samples)}, said)
    return 0


def _install(args: argparse.Namespace) -> int:
    _api()
    from evosplit_plugins.fiftyone_plugin.app.install import install

    home = install(args.plugins_dir, overwrite=args.overwrite)
    tell(args, {"plugin": str(home)})
    return 0


def _demo(args: argparse.Namespace) -> int:
    # The link lies beside the pictures, so that the demo leaves FiftyOne's own plugins directory alone.
    plugins = args.output.resolve() / "plugins"
    os.environ["FIFTYONE_PLUGINS_DIR"] = str(plugins)

    def say(step: str) -> None:
        if not args.quiet:
            print(step, file=sys.stderr, flush=True)

    say("Loading FiftyOne")
    api = _api()
    import fiftyone as fo

    from evosplit_plugins.demo import draw_demo
    from evosplit_plugins.fiftyone_plugin.app.install import install
    from evosplit_plugins.fiftyone_plugin.app.starting import Services

    install(plugins, overwrite=True)
    port = fo.config.default_app_port if args.port is None else args.port
    say(f"Starting its database{' and the App' if args.app else ''} in the background, which takes some 15 seconds")
    with Services(app_port=port if args.app else None) as services:
        with progress(args) as on_progress:
            phases = Phases(on_progress, drawing=5, splitting=5)
            say(f"Drawing {args.images} pictures")
            demo = draw_demo(args.output, n_images=args.images, overwrite=True, on_progress=phases("drawing"))
            services.wait_for_database()
            say("Loading them into FiftyOne")
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
            say("Splitting; the very first time this compiles the engine")
            ratios = {"train": 0.8, "val": 0.1, "test": 0.1}
            split = api.evosplit_fiftyone(dataset, ratios, label_field="ground_truth", on_progress=phases("splitting"))
        show_report(args, split, {"dataset": DEMO_NAME})
        if args.app:
            say("Waiting for the App")
            session = services.open_app(dataset)
            say(f"The App is at {session.url}")
            say("Open the EvoSplit panel with the + beside Samples; Ctrl+C ends the App.")
            with suppress(KeyboardInterrupt):
                session.wait(-1)
            say("Ending the App")
    return 0

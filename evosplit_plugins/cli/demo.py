"""`evosplit demo`: draw a small data set to try EvoSplit on."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from evosplit_plugins.cli.commands import Commands, add_output_directory, add_output_flags
from evosplit_plugins.cli.render import tell
from evosplit_plugins.cli.terminal import progress

__all__ = ["register"]


def register(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the `demo` command."""
    parser = commands.add_parser(
        "demo",
        help="draw a small data set of pictures to try EvoSplit on",
        description="Draw little worlds with cats, boats and rockets: images/ and a COCO instances.json, or YOLO's "
        "labels/ and data.yaml.",
    )
    add_output_directory(parser)
    parser.add_argument("--images", type=int, default=300, metavar="N", help="how many pictures (default 300)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same pictures (default 0)")
    parser.add_argument("--format", choices=["coco", "yolo"], help="the format of the labels (default coco)")
    parser.add_argument("--overwrite", action="store_true", help="replace the files of an earlier run")
    add_output_flags(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from evosplit_plugins.demo import draw_demo

    with progress(args) as on_progress:
        demo = draw_demo(
            args.output,
            n_images=args.images,
            seed=args.seed,
            format=args.format or "coco",
            overwrite=args.overwrite,
            on_progress=on_progress,
        )
    told = {key: value if isinstance(value, int) else str(value) for key, value in asdict(demo).items()}
    drew = f"{demo.n_images} pictures with {demo.n_annotations} annotations"
    tell(args, told, {"drew": drew, "images": demo.images, "annotations": demo.annotations})
    return 0

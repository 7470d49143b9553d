"""`evosplit demo`: draw a small data set to try EvoSplit on."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from evosplit_plugins.cli.common import add_output_flags, progress

__all__ = ["register"]


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `demo` command."""
    parser = commands.add_parser(
        "demo",
        help="draw a small data set of pictures to try EvoSplit on",
        description="Draw little worlds with cats, boats and rockets: images/ and a COCO instances.json.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="the directory to draw into"
    )
    parser.add_argument("--images", type=int, default=300, metavar="N", help="how many (default 300)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="same seed, same pictures (default 0)"
    )
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
            overwrite=args.overwrite,
            on_progress=on_progress,
        )
    if args.json:
        print(
            json.dumps(
                {key: v if isinstance(v, int) else str(v) for key, v in asdict(demo).items()}, indent=2
            )
        )
    elif not args.quiet:
        print(f"drew {demo.n_images} pictures with {demo.n_annotations} annotations")
        print(f"images: {demo.images}")
        print(f"annotations: {demo.annotations}")
    return 0

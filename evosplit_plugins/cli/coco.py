"""`evosplit coco`: split COCO annotation files, audit existing splits, replay a saved one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evosplit import EvoSplitError
from evosplit_plugins.cli.audit import add_audit
from evosplit_plugins.cli.common import (
    add_group_flags,
    add_output_directory,
    add_output_flags,
    add_report_flag,
    add_split_flags,
    add_stratify_flag,
    listed,
    progress,
    ratios_from,
    show_report,
    split_options,
    tell,
)

if TYPE_CHECKING:
    from evosplit_plugins.coco.conditions import Conditions
    from evosplit_plugins.coco.output import Outcome, WriteOptions

__all__ = ["register"]


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `coco` commands."""
    group = commands.add_parser(
        "coco",
        help="split COCO annotation files",
        description="Split COCO annotation files: instances, keypoints, panoptic, LVIS, stuff.",
    )
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    split = verbs.add_parser(
        "split",
        help="make new subsets or folds",
        description="Split annotation files; every image and annotation is written byte for byte.",
    )
    split.add_argument("inputs", nargs="+", type=Path, metavar="FILE", help="annotation files (.json or .json.gz)")
    add_output_directory(split)
    add_split_flags(split)
    _add_condition_flags(split)
    _add_reading_flags(split)
    _add_writing_flags(split)
    split.set_defaults(run=_split)

    add_audit(verbs, "coco")

    replay = verbs.add_parser(
        "apply",
        help="replay a saved split",
        description="Write the subsets of a saved split, for the same file or another of the same images.",
    )
    replay.add_argument("manifest", type=Path, metavar="SPLIT", help="the split.json of an earlier split")
    replay.add_argument("inputs", nargs="+", type=Path, metavar="FILE", help="annotation files (.json or .json.gz)")
    add_output_directory(replay)
    _add_reading_flags(replay)
    _add_writing_flags(replay)
    add_output_flags(replay)
    add_report_flag(replay)
    replay.set_defaults(run=_apply)


def _add_condition_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to respect beside the sizes")
    add_group_flags(group, "KEY", "this field of the images (dotted for nested)", regex=True, copies=True)
    group.add_argument(
        "--lock",
        action="append",
        metavar="NAME=FILE",
        help="the images of this annotation file stay in the subset NAME (test=old_test.json); repeat for several",
    )
    group.add_argument(
        "--match",
        choices=("id", "file_name"),
        default="id",
        help="how the images of --lock are found in the input (default id)",
    )
    what = "these fields of the images, and with 'area' the small, medium and large instances of each class"
    add_stratify_flag(group, "KEY", what)


def _add_reading_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reading")
    group.add_argument("--having-annotations", action="store_true", help="leave out images without annotations")
    crowd = group.add_mutually_exclusive_group()
    crowd.add_argument(
        "--count-crowd",
        action="store_true",
        default=None,
        help="crowd annotations count as instances (default)",
    )
    crowd.add_argument(
        "--ignore-crowd",
        dest="count_crowd",
        action="store_false",
        help="they do not; they are written all the same",
    )
    group.add_argument(
        "--drop-orphans", action="store_true", help="leave out annotations of unknown images or categories"
    )
    group.add_argument("--coerce-ids", action="store_true", help='read and write ids such as "7" and 7.0 as 7')
    group.add_argument("--reassign-ids", action="store_true", help="give annotations whose id is taken a new one")


def _add_writing_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("writing")
    group.add_argument(
        "--layout",
        choices=("coco", "roboflow", "lists"),
        default="coco",
        help="coco: annotations/instances_train.json (default); roboflow: train/_annotations.coco.json, "
        "with val called valid; lists: train.txt with a line ./images/name for each image (Ultralytics)",
    )
    group.add_argument(
        "--images",
        choices=("none", "symlink", "hardlink", "copy"),
        default="none",
        help="put the images into the layout too (default none)",
    )
    group.add_argument(
        "--image-root",
        action="append",
        type=Path,
        metavar="DIR",
        help="the folder of the images; once, or once for each FILE",
    )
    group.add_argument("--train-files", action="store_true", help="with --folds: also the complement of each fold")
    group.add_argument("--gzip", action="store_true", help="compress the annotation files (.json.gz)")
    group.add_argument("--overwrite", action="store_true", help="replace an earlier output (never an input)")
    group.add_argument("--dry-run", action="store_true", help="search and report, but write nothing else")


def _reading(args: argparse.Namespace) -> dict[str, bool]:
    """Collect the reading flags that were given."""
    names = ("having_annotations", "count_crowd", "drop_orphans", "coerce_ids", "reassign_ids")
    given = {name: getattr(args, name, None) for name in names}
    return {name: value for name, value in given.items() if value is not None and (value or name == "count_crowd")}


def _writing(args: argparse.Namespace) -> WriteOptions:
    from evosplit_plugins.coco.output import WriteOptions

    return WriteOptions(
        layout=args.layout,
        images=args.images,
        image_root=args.image_root,
        train_files=args.train_files,
        gzip=args.gzip,
        report=args.report,
        overwrite=args.overwrite,
        dry_run=args.dry_run,
    )


def _conditions(args: argparse.Namespace) -> Conditions:
    from evosplit_plugins.coco.conditions import Conditions

    lock: dict[str, list[str]] = {}
    for entry in args.lock or ():
        name, equals, path = entry.partition("=")
        if not (name and equals and path):
            raise EvoSplitError(
                f"--lock {entry} does not say what stays where; write for example --lock test=old.json", parameter=()
            )
        lock.setdefault(name, []).append(path)
    return Conditions(args.group_by, args.group_regex, lock, args.match, listed(args.stratify_by), args.group_copies)


def _split(args: argparse.Namespace) -> int:
    from evosplit_plugins.coco.door import DEFAULT_NAMES, resplit

    ratios = ratios_from(args, DEFAULT_NAMES)
    conditions = _conditions(args)
    with progress(args) as on_progress:
        outcome = resplit(
            args.inputs,
            args.output,
            ratios,
            folds=args.folds,
            reading=_reading(args),
            conditions=conditions,
            writing=_writing(args),
            on_progress=on_progress,
            **split_options(args),
        )
    show_report(args, outcome.split, _done(args, outcome), page=False)
    return 0


def _apply(args: argparse.Namespace) -> int:
    from evosplit_plugins.coco.door import replay

    with progress(args) as on_progress:
        outcome = replay(
            args.inputs,
            args.manifest,
            args.output,
            reading=_reading(args),
            writing=_writing(args),
            on_progress=on_progress,
        )
    if outcome.split.counts is not None:
        show_report(args, outcome.split, _done(args, outcome), page=False)
        return 0
    sizes = dict(zip(outcome.split.names, outcome.split.sizes, strict=True))
    done = _done(args, outcome)
    tell(args, {"sizes": sizes, **done}, {**{name: f"{size} images" for name, size in sizes.items()}, **done})
    return 0


def _done(args: argparse.Namespace, outcome: Outcome) -> dict[str, Any]:
    """Tell which files there are now: named values for JSON, headed lines for a reader."""
    files = [str(path) for path in outcome.files]
    if args.json:
        return {
            "files": files,
            "images_placed": outcome.n_images,
            "dry_run": args.dry_run,
            "input_notes": list(outcome.notes),
        }
    placed = {"images placed": outcome.n_images} if outcome.n_images else {}
    page = {"wrote": [str(args.report)]} if args.dry_run and args.report is not None else {}
    return {"would write" if args.dry_run else "wrote": files, **page, **placed}

"""`evosplit hf`: split Hugging Face data sets, audit existing splits, replay a saved one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evosplit import Split
from evosplit_plugins.cli.audit import add_audit
from evosplit_plugins.cli.common import (
    add_group_flags,
    add_output_directory,
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

__all__ = ["register"]

_LABEL_FLAGS = ("label_column", "multi_hot", "threshold", "delimiter")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `hf` commands."""
    group = commands.add_parser(
        "hf",
        help="split Hugging Face data sets",
        description="Split Hugging Face data sets, from disk or from the hub.",
    )
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)

    split = verbs.add_parser(
        "split",
        help="make new subsets or folds",
        description="Split a data set and write a DatasetDict; splits that it has already are joined first.",
    )
    _add_source(split)
    _add_label_flags(split)
    split.add_argument("--key", metavar="COLUMN", help="a unique column that names the rows in split.json")
    _add_writing_flags(split)
    add_split_flags(split)
    _add_condition_flags(split)
    split.set_defaults(run=_split)

    add_audit(verbs, "hf")

    replay = verbs.add_parser(
        "apply",
        help="replay a saved split",
        description="Write the subsets of a split.json, also one that another door made.",
    )
    replay.add_argument("manifest", type=Path, metavar="SPLIT", help="the split.json of an earlier split")
    _add_source(replay)
    replay.add_argument("--key", metavar="COLUMN", help="the column with the ids of the split (default: row numbers)")
    _add_writing_flags(replay)
    add_output_flags(replay)
    replay.set_defaults(run=_apply)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a directory of save_to_disk, a folder or file of parquet, json or csv, a folder of images, or a hub name",
    )
    parser.add_argument("--config", metavar="NAME", help="the configuration of a data set that has several")
    parser.add_argument(
        "--source-split",
        action="append",
        metavar="NAME",
        help="take this split of the source; repeat for several (default: all)",
    )


def _add_label_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("labels")
    group.add_argument(
        "--label-column",
        action="append",
        metavar="PATH",
        help="the column with the labels, such as objects.category; repeat for several (default: found)",
    )
    group.add_argument(
        "--multi-hot",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether lists of 0 and 1 have one entry per label",
    )
    group.add_argument("--threshold", type=float, metavar="X", help="from which value on a score counts as its label")
    group.add_argument("--delimiter", metavar="TEXT", help="what stands between the labels of one string")


def _add_condition_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to respect beside the sizes")
    add_group_flags(group, "COLUMN", "this column (dotted for nested)", copies=True)
    group.add_argument(
        "--lock",
        action="append",
        metavar="NAME",
        help="the rows of this split of the source stay in the subset of that name; repeat for several",
    )
    add_stratify_flag(group, "COLUMN", "these columns (dotted for nested)")


def _add_writing_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("writing")
    add_output_directory(group)
    group.add_argument(
        "--format",
        choices=("arrow", "parquet"),
        default="arrow",
        help="arrow: for load_from_disk (default); parquet: files for load_dataset and the hub",
    )
    group.add_argument("--max-shard-size", default="500MB", metavar="SIZE", help="size of one file (default 500MB)")
    group.add_argument("--overwrite", action="store_true", help="replace an earlier output (never the source)")
    group.add_argument("--dry-run", action="store_true", help="search and report, but write nothing")


def _split(args: argparse.Namespace) -> int:
    hf = _door(args)
    ratios = ratios_from(args, hf.door.DEFAULT_NAMES)
    _check(hf, args)
    ds = hf.storage.load(args.source, config=args.config, splits=args.source_split)
    with progress(args) as on_progress:
        result, split = hf.door.evosplit_hf(
            ds,
            ratios,
            folds=args.folds,
            key=args.key,
            group_column=args.group_by,
            lock=args.lock,
            stratify_columns=listed(args.stratify_by) or None,
            group_copies=args.group_copies,
            return_split=True,
            on_progress=on_progress,
            **_labels(args),
            **split_options(args),
        )
    show_report(args, split, _save(hf, args, result, split), page=args.dry_run)
    return 0


def _apply(args: argparse.Namespace) -> int:
    hf = _door(args)
    _check(hf, args)
    split = Split.load(args.manifest)
    ds = hf.storage.load(args.source, config=args.config, splits=args.source_split)
    done = _save(hf, args, hf.door.apply_split(ds, split, key=args.key), split, inputs=[args.manifest])
    sizes = dict(zip(split.names, split.sizes, strict=True))
    tell(args, {"sizes": sizes, **done}, {**{name: f"{size} rows" for name, size in sizes.items()}, **done})
    return 0


def _door(args: argparse.Namespace) -> Any:
    """Load the door, and keep its own progress bars off where ours are."""
    import evosplit_plugins.hf.door
    import evosplit_plugins.hf.storage

    if args.quiet or not sys.stderr.isatty():
        from datasets import disable_progress_bars

        disable_progress_bars()
    return evosplit_plugins.hf


def _labels(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the label flags; one column is passed by itself, since a list of columns has prefixes."""
    columns = args.label_column
    column = columns[0] if columns is not None and len(columns) == 1 else columns
    return {**{name: getattr(args, name) for name in _LABEL_FLAGS}, "label_column": column}


def _check(hf: Any, args: argparse.Namespace) -> None:
    """Refuse what cannot be written before any work is done."""
    hf.storage.shard_bytes(args.max_shard_size)
    report, given = getattr(args, "report", None), [args.manifest] if hasattr(args, "manifest") else []
    hf.storage.check_output(args.output, args.source, args.overwrite, report=report, inputs=given)


def _save(
    hf: Any, args: argparse.Namespace, result: Any, split: Split, inputs: Sequence[Path] = ()
) -> dict[str, Any]:
    """Write the subsets or folds; tell what there is now, as named values for JSON, as headed lines for a reader."""
    if args.dry_run:
        return {"files": [], "dry_run": True} if args.json else {"would write": str(args.output)}
    parts = dict(zip(split.names, result, strict=True)) if split.is_kfold else {"": result}
    files = hf.storage.save(
        parts,
        args.output,
        split,
        source=args.source,
        form=args.format,
        max_shard_size=args.max_shard_size,
        report=getattr(args, "report", None),
        inputs=inputs,
        overwrite=args.overwrite,
    )
    names = [str(path) for path in files]
    return {"files": names, "dry_run": False} if args.json else {"wrote": names}

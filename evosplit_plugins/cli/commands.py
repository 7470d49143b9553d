"""The commands `split`, `apply` and `audit` of an adapter, made from its class attributes and options."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit.wording import counted
from evosplit_plugins.adapter import Adapter, Outcome
from evosplit_plugins.cli.options import add_options, add_request_flags, request_from, shared_options, values_from
from evosplit_plugins.cli.render import show_audit, show_report, tell
from evosplit_plugins.cli.terminal import printing, progress
from evosplit_plugins.options import options_of
from evosplit_plugins.output import plan_page
from evosplit_plugins.registry import Described, get_adapter
from evosplit_plugins.walk import apply_with, split_with

__all__ = [
    "Commands",
    "add_adapter",
    "add_audit_flags",
    "add_output_directory",
    "add_output_flags",
    "directory",
    "in_words",
]

Commands = argparse._SubParsersAction  # argparse has no public name for it

_AUDIT_EPILOG = (
    "exit code: 0 if all is well, 1 for a leak or more than --fail-over, 2 for bad input, 130 when interrupted"
)


def add_adapter(commands: Commands[argparse.ArgumentParser], adapter: Adapter) -> Commands[argparse.ArgumentParser]:
    """Add the commands of an adapter; returns the group, for further commands."""
    told = in_words(adapter)
    group = commands.add_parser(adapter.name, help=told, description=f"{told[0].upper()}{told[1:]}.")
    verbs = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if "split" in adapter.verbs:
        _add_split(verbs, adapter)
    if "apply" in adapter.verbs:
        _add_apply(verbs, adapter)
    if "audit" in adapter.verbs:
        _add_audit(verbs, adapter)
    return verbs


def in_words(adapter: Adapter | Described) -> str:
    """Say what the commands of an adapter do, for the help.

    Examples
    --------
    >>> in_words(get_adapter("coco"))
    'split and audit COCO annotation files'
    """
    return f"{' and '.join(verb for verb in ('split', 'audit') if verb in adapter.verbs)} {adapter.summary}"


def _add_split(verbs: Commands[argparse.ArgumentParser], adapter: Adapter) -> None:
    parser = verbs.add_parser(
        "split",
        help="make new subsets or folds",
        description=f"Split {adapter.summary} into subsets of exact size that are as alike as possible.",
    )
    _add_location(parser, adapter)
    add_request_flags(parser, adapter)
    _add_reading_and_writing(parser, adapter)
    parser.set_defaults(run=_split, adapter=adapter.name)


def _add_apply(verbs: Commands[argparse.ArgumentParser], adapter: Adapter) -> None:
    parser = verbs.add_parser(
        "apply",
        help="replay a saved split",
        description=f"Divide {adapter.summary} as a split.json says, whichever adapter wrote it: "
        f"{adapter.nouns.samples} are found by id, else by file name or path.",
    )
    parser.add_argument("saved", type=Path, metavar="SPLIT", help="the split.json of an earlier split")
    _add_location(parser, adapter)
    _add_reading_and_writing(parser, adapter)
    parser.set_defaults(run=_apply, adapter=adapter.name)


def _add_audit(verbs: Commands[argparse.ArgumentParser], adapter: Adapter) -> None:
    parser = verbs.add_parser(
        "audit",
        help="judge existing splits, find leaks, compare with EvoSplit",
        description="Judge existing subsets: how even they are compared with random ones and with what is possible, "
        "which labels are worst, what leaks from one into another, and what EvoSplit would give at the same sizes.",
        epilog=_AUDIT_EPILOG,
    )
    _add_location(parser, adapter)
    add_audit_flags(parser, adapter)
    add_options(parser.add_argument_group("reading"), options_of(adapter.reading), adapter)
    add_output_flags(parser)
    parser.set_defaults(run=_audit, adapter=adapter.name)


_SEARCH = ("seed", "effort", "time_limit", "n_jobs")
_TOGETHER = {
    "group_by": "{samples} with an equal value in this {field} belong together: subsets that share one leak; repeat "
    "it, or separate by commas, for several",
    "group_regex": "{samples} whose file names match with the same text (of the first parentheses, if there are any) "
    "belong together",
}


def add_audit_flags(parser: argparse.ArgumentParser, adapter: Adapter | type[Adapter]) -> None:
    """Add the flags of audits, which are the same for every adapter."""
    judging = parser.add_argument_group("judging")
    judging.add_argument(
        "--fail-over",
        type=float,
        metavar="X",
        help="exit with 1 if LD, LD' or LPD is more than X times that of random splits",
    )
    judging.add_argument("--allow-leaks", action="store_true", help="report leaks, but do not exit with 1 for them")
    judging.add_argument(
        "--same-bytes", action="store_true", help="also look for files of the same content in different subsets"
    )
    add_options(judging, [replace(each, help=_TOGETHER[each.name]) for each in shared_options(*_TOGETHER)], adapter)
    compare = parser.add_argument_group("the split to compare with")
    compare.add_argument("--no-compare", dest="compare", action="store_false", help="do not search for a better split")
    add_options(compare, shared_options(*_SEARCH), adapter)
    parser.add_argument("--report", type=Path, metavar="PATH", help="also write the report as an HTML page")


def _add_location(parser: argparse.ArgumentParser, adapter: Adapter) -> None:
    where = adapter.location
    parser.add_argument("paths", nargs="+" if where.several else 1, metavar=where.metavar, help=where.help)


def _add_reading_and_writing(parser: argparse.ArgumentParser, adapter: Adapter) -> None:
    add_options(parser.add_argument_group("reading"), options_of(adapter.reading), adapter)
    group = parser.add_argument_group("writing")
    if adapter.needs_output:
        add_output_directory(group)
    add_options(group, options_of(adapter.writing), adapter)
    add_output_flags(parser)


def add_output_directory(parser: argparse._ActionsContainer) -> None:
    """Add `-o`, the directory that a command writes into."""
    parser.add_argument(
        "-o", "--output", type=directory, required=True, metavar="DIR", help="the directory to write into"
    )


def directory(text: str) -> Path:
    """Parse a directory; an empty name, as of an unset variable, is refused rather than taken for the current one."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a directory, or . for this one")
    return Path(text)


def add_output_flags(parser: argparse._ActionsContainer) -> None:
    """Add `--quiet`, `--json` and `--debug`, which every command has."""
    parser.add_argument("--quiet", action="store_true", help="show no progress bar, and print nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _options(args: argparse.Namespace, holder: type) -> Any:
    return holder(**values_from(args, options_of(holder)))


def _split(args: argparse.Namespace) -> int:
    adapter = get_adapter(args.adapter)
    request = request_from(args)
    with progress(args) as on_progress:
        outcome = split_with(
            adapter,
            args.paths,
            request,
            output=getattr(args, "output", None),
            reading=_options(args, adapter.reading),
            writing=_options(args, adapter.writing),
            on_progress=on_progress,
        )
    _show(args, adapter, outcome)
    return 0


def _apply(args: argparse.Namespace) -> int:
    adapter = get_adapter(args.adapter)
    with progress(args) as on_progress:
        outcome = apply_with(
            adapter,
            args.paths,
            args.saved,
            output=getattr(args, "output", None),
            reading=values_from(args, options_of(adapter.reading)),
            writing=_options(args, adapter.writing),
            on_progress=on_progress,
        )
    _show(args, adapter, outcome)
    return 0


def _show(args: argparse.Namespace, adapter: Adapter, outcome: Outcome) -> None:
    """Print the report, and what was written; without label counts, the sizes."""
    dry_run = bool(getattr(args, "dry_run", False))
    files = [str(path) for path in outcome.files]
    if args.json:
        done = {**outcome.facts, "files": files, "dry_run": dry_run, "input_notes": list(outcome.notes)}
    else:
        page = str(getattr(args, "report", None))  # which a dry run writes too
        told = {
            "would write": [path for path in files if dry_run and path != page],
            "wrote": [path for path in files if not dry_run or path == page],
        }
        done = {**outcome.facts, **{what: paths for what, paths in told.items() if paths}}
    split = outcome.split
    if split.counts is not None:
        show_report(args, split, done, nouns=adapter.nouns)
        return
    sizes = dict(zip(split.names, split.sizes, strict=True))
    in_words = {name: counted(n, adapter.nouns.sample, adapter.nouns.samples) for name, n in sizes.items()}
    tell(args, {"sizes": sizes, **done}, {**in_words, **done})


def _audit(args: argparse.Namespace) -> int:
    from evosplit_plugins.calls import audit_as_called

    adapter = get_adapter(args.adapter)
    if args.fail_over is not None and not args.fail_over > 0:
        raise EvoSplitError(
            f"--fail-over {args.fail_over:g} is no limit; give a positive number, such as 2", parameter=()
        )
    write_page = plan_page(args.report, [Path(each) for each in args.paths if Path(each).is_file()])
    options = [*options_of(adapter.reading), *shared_options("group_by", "group_regex", *_SEARCH)]
    given = {**values_from(args, options), "same_bytes": args.same_bytes, "compare": args.compare}
    with progress(args) as on_progress:
        judged = audit_as_called(adapter, args.paths, {**given, "on_progress": on_progress})
    judged = replace(judged, nouns=adapter.nouns)
    failures = judged.failures(args.fail_over, allow_leaks=args.allow_leaks)
    if write_page is not None:
        write_page(judged.report)
    with printing():
        if args.json:
            print(json.dumps({**judged.to_dict(), "passed": not failures, "failures": failures}, indent=2))
        elif not args.quiet:
            show_audit(judged, failures, judged=args.fail_over is not None)
    return 1 if failures else 0

"""`evosplit audit`: judge splits that exist, of every door and from tables; with exit codes for CI.

`add_audit` registers the same command for one door alone, as `evosplit coco audit`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from evosplit import EvoSplitError
from evosplit_plugins.cli.common import (
    OnProgress,
    add_group_flags,
    add_output_flags,
    add_report_flag,
    add_search_flags,
    check_page,
    clean,
    missing_lines,
    percent,
    plain_table,
    printing,
    progress,
    save_page,
    search_options,
    share_table,
    subset_table,
    terminal,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evosplit_plugins.audit import Audit, Found

__all__ = ["add_audit", "register"]

_KINDS = {"coco": "COCO files", "hf": "Hugging Face data sets", "fiftyone": "FiftyOne datasets", "csv": "CSV files"}
_SOURCES = {
    "coco": "one annotation file for each subset, or a folder that holds them; or lists of images (.txt, or their "
    "folder) and the annotation file that was split",
    "hf": "a directory of save_to_disk, a folder of parquet, json or csv files, or a hub name",
    "fiftyone": "the name of the dataset",
    None: "COCO files (one for each subset) or their folder, a CSV file, a directory of a Hugging Face data set, "
    "or with --as fiftyone the name of a FiftyOne dataset",
}
_EPILOG = "exit code: 0 if all is well, 1 for a leak or more than --fail-over, 2 for bad input, 130 when interrupted"
_WORST_LABELS, _WORST_PAIRS = 8, 5


@dataclass(frozen=True)
class _Flag:
    """A flag that only some kinds of sources know; None means that it was not given."""

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def dest(self) -> str:
        """The attribute that argparse gives it."""
        long = next(name for name in self.names if name.startswith("--"))
        return str(self.options.get("dest", long[2:].replace("-", "_")))


_FLAGS = (
    _Flag(
        ("hf", "csv"),
        ("--label-column",),
        {
            "action": "append",
            "metavar": "NAME",
            "help": "the column with the labels; repeat for several (default: found)",
        },
    ),
    _Flag(("hf", "csv"), ("--delimiter",), {"metavar": "TEXT", "help": "what stands between the labels of one string"}),
    _Flag(
        ("csv",),
        ("--id-column",),
        {"metavar": "NAME", "help": "the column with the ids (default: id, image_id, file_name, ...)"},
    ),
    _Flag(
        ("csv",),
        ("--subset-column",),
        {"metavar": "NAME", "help": "the column with the subsets (default: subset or split)"},
    ),
    _Flag(
        ("coco",),
        ("--ignore-crowd",),
        {"dest": "count_crowd", "action": "store_false", "help": "crowd annotations do not count as instances"},
    ),
    _Flag(
        ("coco",),
        ("--drop-orphans",),
        {"action": "store_true", "help": "leave out annotations of unknown images or categories"},
    ),
    _Flag(("coco",), ("--coerce-ids",), {"action": "store_true", "help": 'read ids such as "7" and 7.0 as 7'}),
    _Flag(
        ("coco", "csv"),
        ("--image-root",),
        {
            "action": "append",
            "type": Path,
            "metavar": "DIR",
            "help": "the folder of the images for --same-bytes; once, or once for each SOURCE",
        },
    ),
    _Flag(("hf",), ("--config",), {"metavar": "NAME", "help": "the configuration of a data set that has several"}),
    _Flag(
        ("hf",),
        ("--source-split",),
        {
            "action": "append",
            "metavar": "NAME",
            "help": "take this split of the source; repeat for several (default: all)",
        },
    ),
    _Flag(("hf",), ("--key",), {"metavar": "COLUMN", "help": "the column that tells the rows apart (default: found)"}),
    _Flag(
        ("hf",),
        ("--multi-hot",),
        {"action": argparse.BooleanOptionalAction, "help": "whether lists of 0 and 1 have one entry per label"},
    ),
    _Flag(
        ("hf",),
        ("--threshold",),
        {"type": float, "metavar": "X", "help": "from which value on a score counts as its label"},
    ),
    _Flag(
        ("fiftyone",),
        ("-t", "--tag"),
        {"action": "append", "metavar": "TAG", "help": "the tag of a subset, repeated for each (default: found)"},
    ),
    _Flag(
        ("fiftyone",),
        ("--field",),
        {"metavar": "NAME", "help": "the field that holds the subsets, instead of tags"},
    ),
    _Flag(
        ("fiftyone",),
        ("-l", "--label-field"),
        {
            "action": "append",
            "metavar": "FIELD",
            "help": "a field with labels; repeat for several (default: the most likely one)",
        },
    ),
    _Flag(("fiftyone",), ("--view",), {"metavar": "NAME", "help": "a saved view instead of the whole dataset"}),
    _Flag(
        ("fiftyone",),
        ("--near-duplicates",),
        {"metavar": "KEY", "help": "near duplicates belong together: a similarity run of FiftyOne Brain, or a field"},
    ),
    _Flag(
        ("fiftyone",),
        ("--duplicate-threshold",),
        {"type": float, "metavar": "X", "help": "the distance up to which samples of that run are near duplicates"},
    ),
)
_GROUPINGS = {
    "coco": ("KEY", "this key of the images (dotted for nested)"),
    "hf": ("COLUMN", "this column (dotted for nested)"),
    "fiftyone": ("FIELD[,FIELD...]", "this field (filepath: the folder)"),
    None: ("NAME", "this key of the images, column or field (CSV: group, if there is one)"),
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `audit` command."""
    add_audit(commands)


def add_audit(commands: argparse._SubParsersAction[argparse.ArgumentParser], kind: str | None = None) -> None:
    """Add an `audit` command, for sources of one kind ("coco", "hf", "fiftyone") or of any."""
    parser = commands.add_parser(
        "audit",
        help="judge splits that exist, find leaks, compare with EvoSplit",
        usage="%(prog)s [flags] SOURCE" + ("" if kind in ("hf", "fiftyone") else " [SOURCE ...]"),
        description="Judge subsets that exist, whoever made them: how even they are beside random ones and what is "
        "possible, where it hurts, what leaks from one into another, and what EvoSplit would give at the same sizes.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "sources", nargs=1 if kind in ("hf", "fiftyone") else "+", metavar="SOURCE", help=_SOURCES[kind]
    )
    if kind is None:
        parser.add_argument(
            "--as", dest="kind", choices=tuple(_KINDS), help="what the sources are, where their names do not tell"
        )
    judging = parser.add_argument_group("judging")
    judging.add_argument(
        "--fail-over",
        type=float,
        metavar="X",
        help="exit with 1 if LD, LD' or LPD is more than X times that of random splits",
    )
    judging.add_argument("--allow-leaks", action="store_true", help="report leaks, but do not exit with 1 for them")
    judging.add_argument(
        "--same-bytes", action="store_true", help="also look for images of the same content in different subsets"
    )
    metavar, where = _GROUPINGS[kind]
    add_group_flags(judging, metavar, where, regex=kind in ("coco", None))
    compare = parser.add_argument_group("the split to compare with")
    compare.add_argument("--no-compare", dest="compare", action="store_false", help="do not search for a better split")
    add_search_flags(compare)
    for title, flags in _by_title(kind):
        group = parser.add_argument_group(title)
        for flag in flags:
            group.add_argument(*flag.names, **{"default": None, **flag.options})
    add_output_flags(parser)
    add_report_flag(parser)
    parser.set_defaults(run=_run, door=kind)


def _by_title(kind: str | None) -> list[tuple[str, list[_Flag]]]:
    """Arrange the flags of one kind, or of all under the kinds that know them."""
    if kind is not None:
        return [("reading", [flag for flag in _FLAGS if kind in flag.kinds])]
    titles: dict[str, list[_Flag]] = {}
    for flag in _FLAGS:
        titles.setdefault("reading " + " and ".join(_KINDS[known] for known in flag.kinds), []).append(flag)
    return list(titles.items())


def _run(args: argparse.Namespace) -> int:
    from evosplit_plugins.audit import audit, detect

    kind = args.door or args.kind or detect(args.sources)
    if kind in ("hf", "fiftyone") and len(args.sources) > 1:
        raise EvoSplitError(f"{len(args.sources)} sources are given, but {_KINDS[kind]} are audited one at a time")
    _check_flags(args, kind)
    if args.fail_over is not None and not args.fail_over > 0:
        raise EvoSplitError(f"--fail-over {args.fail_over:g} is no limit; give a positive number, such as 2")
    files = [Path(source) for source in args.sources if Path(source).is_file()]
    check_page(args.report, files)
    with progress(args) as on_progress:
        found = _READERS[kind](args, args.sources, on_progress)
        told = audit(found, compare=args.compare, on_progress=on_progress, **search_options(args))
    failures = told.failures(args.fail_over, allow_leaks=args.allow_leaks)
    if args.report is not None:
        save_page(told.report, args.report, files)
    with printing():
        if args.json:
            print(json.dumps({**told.to_dict(), "passed": not failures, "failures": failures}, indent=2))
        elif not args.quiet:
            _show(told, failures, judged=args.fail_over is not None)
    return 1 if failures else 0


def _check_flags(args: argparse.Namespace, kind: str) -> None:
    """Refuse flags that sources of this kind do not know."""
    foreign = [flag for flag in _FLAGS if kind not in flag.kinds and getattr(args, flag.dest, None) is not None]
    if kind not in ("coco", "csv") and getattr(args, "group_regex", None) is not None:
        foreign.append(_Flag(("coco", "csv"), ("--group-regex",)))
    if foreign:
        flag = foreign[0]
        what = " and ".join(_KINDS[known] for known in flag.kinds)
        raise EvoSplitError(
            f"{flag.names[-1]} is for {what}, but this is read as {_KINDS[kind]}; "
            f"leave it out, or say --as {flag.kinds[0]}"
        )


def _given(args: argparse.Namespace, kind: str, *, without: Sequence[str] = ()) -> dict[str, Any]:
    """Collect the flags of a kind that were given."""
    values = {flag.dest: getattr(args, flag.dest) for flag in _FLAGS if kind in flag.kinds}
    return {name: value for name, value in values.items() if value is not None and name not in without}


def _coco(args: argparse.Namespace, sources: Sequence[str], on_progress: OnProgress) -> Found:
    from evosplit_plugins.audit import coco_files, from_coco, from_lists, list_files

    paths = [Path(source) for source in sources]
    lists = [each for path in paths for each in ([path] if path.suffix.lower() == ".txt" else list_files(path))]
    if lists:
        if args.same_bytes:
            raise EvoSplitError("--same-bytes is not for lists of images; audit the annotation files of the subsets")
        annotations = [path for path in paths if path.suffix.lower() in (".json", ".gz")]
        reading = _given(args, "coco", without=("image_root",))
        grouping = {"group_by": args.group_by, "group_regex": args.group_regex}
        return from_lists(lists, annotations, **grouping, **reading, on_progress=on_progress)
    if len(paths) == 1 and paths[0].is_dir():
        paths = coco_files(paths[0])
        if len(paths) < 2:
            raise EvoSplitError(
                f"{sources[0]} holds no annotations/instances_*.json or */_annotations.coco.json of two subsets; "
                "name the annotation files"
            )
    grouping = {"group_by": args.group_by, "group_regex": args.group_regex}
    reading = _given(args, "coco")
    return from_coco(paths, **grouping, **reading, same_bytes=args.same_bytes, on_progress=on_progress)


def _hf(args: argparse.Namespace, sources: Sequence[str], on_progress: OnProgress) -> Found:
    from evosplit import Split
    from evosplit_plugins.audit import from_hf
    from evosplit_plugins.hf.storage import MANIFEST, load, load_folds

    if args.quiet or not sys.stderr.isatty():
        from datasets import disable_progress_bars

        disable_progress_bars()
    (source,) = sources
    manifest = Path(source) / MANIFEST
    made = Split.load(manifest) if manifest.is_file() else None
    if made is not None and made.is_kfold:
        ds = load_folds(Path(source), made.names)
    else:
        ds = load(source, config=args.config, splits=args.source_split)
    options = _given(args, "hf", without=("config", "source_split"))
    columns = options.pop("label_column", None)
    if columns is not None:
        options["label_column"] = columns[0] if len(columns) == 1 else columns
    if not options and made is not None:  # the labels that the split was made with
        settings = made.settings
        names = ("label_column", "multi_hot", "threshold", "delimiter")
        options = {name: settings[name] for name in names if settings.get(name) is not None}
    return from_hf(ds, group_by=args.group_by, same_bytes=args.same_bytes, on_progress=on_progress, **options)


def _fiftyone(args: argparse.Namespace, sources: Sequence[str], on_progress: OnProgress) -> Found:
    from evosplit_plugins.audit import from_fiftyone
    from evosplit_plugins.cli.fiftyone import load_samples

    (name,) = sources
    options = _given(args, "fiftyone", without=("view", "tag"))
    by = [part.strip() for part in (args.group_by or "").split(",") if part.strip()]
    samples = load_samples(name, args.view)
    return from_fiftyone(samples, args.tag, group_by=by, same_bytes=args.same_bytes, on_progress=on_progress, **options)


def _csv(args: argparse.Namespace, sources: Sequence[str], on_progress: OnProgress) -> Found:
    from evosplit_plugins.audit import from_csv

    grouping = {"group_by": args.group_by, "group_regex": args.group_regex}
    reading = _given(args, "csv")
    return from_csv(sources, **grouping, **reading, same_bytes=args.same_bytes, on_progress=on_progress)


_READERS = {"coco": _coco, "hf": _hf, "fiftyone": _fiftyone, "csv": _csv}


def _show(told: Audit, failures: Sequence[str], *, judged: bool) -> None:
    """Print what matters first: leaks, the verdict, the measures, then where it hurts."""
    console = terminal()
    for leak in told.leaks:
        console.print(Text("LEAK ", style="bold red") + Text(clean(str(leak)), style="default"))
    console.print(Text(told.verdict, style="bold"))
    for line in told.comparison():
        console.print(Text(line))
    tables = (subset_table(told.report, ("samples",)), _measures(told), _labels(told, console), _pairs(told, console))
    for table in tables:
        if table.row_count:
            console.print(table)
    for line in (*missing_lines(told.report), *told.split.notes):
        console.print(Text(clean(line)))
    if judged or failures:
        console.print(_outcome(told, failures))


def _outcome(told: Audit, failures: Sequence[str]) -> Text:
    """Sum up why the command fails; the leaks were listed before."""
    if not failures:
        return Text("passed", style="bold green")
    leaks = {str(leak) for leak in told.leaks}
    reasons = [reason.removesuffix(".") for reason in failures if reason not in leaks]
    n_leaks = len(failures) - len(reasons)
    if n_leaks:
        reasons.insert(0, f"{n_leaks} {'leak' if n_leaks == 1 else 'leaks'}")
    return Text("failed: ", style="bold red") + Text("; ".join(reasons), style="default")


def _measures(told: Audit) -> Table:
    compared = [] if told.instead_report is None else told.instead_report.measure_rows()
    headings = ["found", "random", "scatter", "x random", *(["EvoSplit"] if compared else []), "bound"]
    table = plain_table("measure, less is better", *headings)
    for place, row in enumerate(told.report.comparison()):
        name, meaning, value, random, bound = row.name, row.meaning, row.value, row.random, row.bound
        spread = row.random_spread / random if random else 0.0
        if name == "ED" and not value:
            continue  # nobody asked for other sizes
        table.add_row(
            f"{name}, {meaning}",
            _short(value),
            _short(random),
            f"{100 * spread:.0f}%" if spread else "",
            f"{value / random:.2f}" if random else "",
            *([_short(compared[place][2])] if compared else []),
            "" if bound is None else _short(bound),
        )
    return table


def _short(value: float) -> str:
    """Write a measure in seven characters, so that five of them fit beside their meaning."""
    return f"{value:.2g}" if value < 0.01 else f"{value:.3g}"


def _labels(told: Audit, console: Console) -> Table:
    rows = told.report.worst_labels(_WORST_LABELS)
    after = [("off by", [percent(row.deviation) for row in rows])]
    if told.instead_report is not None:
        there = {row.label: row.deviation for row in told.instead_report.labels}
        after.append(("EvoSplit", [percent(there[row.label]) for row in rows]))
    return share_table(
        "label",
        [(row.label, row.samples) for row in rows],
        told.report.names,
        console.width,
        title="labels furthest from their share",
        before=[("images", [str(sum(row.samples)) for row in rows])],
        after=after,
    )


def _pairs(told: Audit, console: Console) -> Table:
    rows = told.report.pairs[:_WORST_PAIRS]
    return share_table(
        "label pair",
        [(" + ".join(row.labels), row.samples) for row in rows],
        told.report.names,
        console.width,
        title="label pairs furthest from their share",
        before=[("images", [str(sum(row.samples)) for row in rows])],
        after=[("off by", [percent(row.deviation) for row in rows])],
    )

"""What the commands of all doors share: flags, ratios, progress bars and the report."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from evosplit import EvoSplitError
from evosplit.terminal import clean
from evosplit_plugins.staging import Plan

if TYPE_CHECKING:
    from rich.console import Console

    from evosplit import Split, SplitReport

__all__ = [
    "OnProgress",
    "add_group_flags",
    "add_output_directory",
    "add_output_flags",
    "add_report_flag",
    "add_search_flags",
    "add_split_flags",
    "add_stratify_flag",
    "check_page",
    "clean",
    "listed",
    "measure_text",
    "missing_lines",
    "percent",
    "plain_table",
    "printing",
    "progress",
    "ratios_from",
    "save_page",
    "search_options",
    "share_table",
    "show_extra",
    "show_report",
    "split_options",
    "subset_table",
    "tell",
    "terminal",
]

OnProgress = Callable[[float, str], bool | None]
_Column = tuple[str, Sequence[str]]

_CLASSES_SHOWN = 100
_CLASS_WIDTH = 14
_MISSING_SHOWN = 8


def add_split_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say how to split, and those of `add_output_flags`."""
    group = parser.add_argument_group("how to split (one of -s, --ratios, --folds)")
    group.add_argument(
        "-s",
        "--subset",
        action="append",
        metavar="NAME:RATIO",
        help="one subset, repeated for each: fractions that sum to 1 (-s train:0.8 -s val:0.2), proportions "
        "(80, 10, 10) or exact sizes",
    )
    group.add_argument("--ratios", metavar="8:1:1", help="proportions of unnamed subsets")
    group.add_argument("--folds", type=int, metavar="K", help="K folds of equal size instead of subsets")
    add_search_flags(group)
    group.add_argument(
        "--method",
        default="evosplit",
        metavar="NAME",
        help="evosplit (default), nsga2, ea-ld, ea-lpd, sois, is or random",
    )
    group.add_argument(
        "--pick",
        default="balanced",
        metavar="RULE",
        help="which trade-off to take: balanced (default), origin, ld, lpd or an index",
    )
    group.add_argument(
        "--no-cover", dest="cover", action="store_false", help="do not insist on each label in each subset"
    )
    group.add_argument(
        "--cover",
        choices=["all"],
        default=True,
        help="all: insist on it also where that makes labels more than twice as uneven",
    )
    group.add_argument(
        "--min-per-label",
        type=int,
        metavar="N",
        help="give each subset at least N samples of each label that has enough (default 1)",
    )
    group.add_argument(
        "--label-weight",
        action="append",
        metavar="NAME=W",
        help="a label that matters more (or less) than the others, such as rare=5; repeat for several",
    )
    add_output_flags(parser)
    add_report_flag(parser)


def add_search_flags(parser: argparse._ActionsContainer) -> None:
    """Add the flags that say how long to search, for every command that runs the engine."""
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same split (default 0)")
    parser.add_argument(
        "--effort",
        default="normal",
        metavar="LEVEL",
        help="how much to search: fast, normal (default) or thorough",
    )
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop the search after this time")
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="threads for the search, -1 for all cores (default 1); the result is the same",
    )


def add_group_flags(
    parser: argparse._ActionsContainer, metavar: str, where: str, *, regex: bool = False, copies: bool = False
) -> None:
    """Add the flags that say what belongs together.

    Parameters
    ----------
    parser
        Where to add them.
    metavar, where
        What `--group-by` takes, and what that names.
    regex
        Whether there are file names for `--group-regex`.
    copies
        Whether the command makes a split, which `--no-group-copies` lets part copies.
    """
    parser.add_argument(
        "--group-by",
        metavar=metavar,
        help=f"samples with the same value of {where} belong together and never cross subsets",
    )
    if regex:
        parser.add_argument(
            "--group-regex",
            metavar="REGEX",
            help="samples whose file names match with the same text (of the first parentheses, if there are any) "
            "belong together",
        )
    if copies:
        parser.add_argument(
            "--no-group-copies",
            dest="group_copies",
            action="store_false",
            help="let samples of the same picture (equal file names, Roboflow's copies of one source) part",
        )


def add_stratify_flag(parser: argparse._ActionsContainer, metavar: str, what: str) -> None:
    """Add `--stratify-by`, which `listed` takes apart; `what` tells what is balanced besides the labels."""
    parser.add_argument(
        "--stratify-by",
        action="append",
        metavar=f"{metavar}[,...]",
        help=f"also balance {what}; repeat it, or separate by commas, for several",
    )


def listed(entries: Sequence[str] | None) -> list[str]:
    """Take apart what was given with commas, by repeating a flag, or both.

    Examples
    --------
    >>> listed(["area, weather", "site"]), listed(None)
    (['area', 'weather', 'site'], [])
    """
    return [name.strip() for entry in entries or () for name in entry.split(",") if name.strip()]


def add_output_directory(parser: argparse._ActionsContainer) -> None:
    """Add `-o`, the directory that a command writes into."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the directory to write into")


def add_report_flag(parser: argparse._ActionsContainer) -> None:
    """Add `--report`, for every command that prints a report."""
    parser.add_argument("--report", type=Path, metavar="PATH", help="also write the report as an HTML page")


def add_output_flags(parser: argparse._ActionsContainer) -> None:
    """Add `--quiet`, `--json` and `--debug`, which every command knows."""
    parser.add_argument("--quiet", action="store_true", help="no progress bars and no report")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def ratios_from(
    args: argparse.Namespace, default_names: Mapping[int, tuple[str, ...]]
) -> dict[str, float | int] | None:
    """Read the subsets from `-s` or `--ratios`; None when `--folds` was given instead.

    `default_names` gives the host's names for unnamed ratios, by their number.

    Examples
    --------
    >>> args = argparse.Namespace(subset=None, ratios="8:2", folds=None)
    >>> ratios_from(args, {2: ("train", "val")})
    {'train': 0.8, 'val': 0.2}
    """
    given = [
        flag
        for flag, value in (("-s", args.subset), ("--ratios", args.ratios), ("--folds", args.folds))
        if value is not None
    ]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else "nothing says how to split"
        raise EvoSplitError(f"{said}; give one of -s train:0.8 -s val:0.2, --ratios 8:1:1 or --folds 5")
    if args.subset is not None:
        return _named_ratios(args.subset)
    if args.ratios is not None:
        return _unnamed_ratios(args.ratios, default_names)
    return None


def _named_ratios(entries: list[str]) -> dict[str, float | int]:
    ratios: dict[str, float | int] = {}
    for entry in entries:
        name, colon, value = entry.rpartition(":")
        if not colon or not name:
            raise EvoSplitError(f"-s {entry} names no subset; write for example -s train:0.8 -s val:0.2")
        if name in ratios:
            raise EvoSplitError(f"-s {entry} names the subset {name!r} a second time; give each subset once")
        ratios[name] = _number(value, f"-s {entry}")
    return ratios


def _unnamed_ratios(text: str, default_names: Mapping[int, tuple[str, ...]]) -> dict[str, float | int]:
    values = [_number(value, f"--ratios {text}") for value in re.split("[:/,]", text)]
    total = float(sum(values))
    if min(values) <= 0 or len(values) < 2:
        raise EvoSplitError(f"--ratios {text} does not give two or more positive numbers; write for example 8:1:1")
    if max(values) < 1 and abs(total - 1) > 1e-6:
        raise EvoSplitError(
            f"--ratios {text} sums to {total:.6g}, not to 1; correct it, or write proportions such as 8:1:1"
        )
    names = default_names.get(len(values), tuple(f"subset{j}" for j in range(len(values))))
    return {name: value / total for name, value in zip(names, values, strict=True)}


def _number(text: str, place: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        raise EvoSplitError(f"{text!r} in {place} is not a number") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise EvoSplitError(f"{text!r} in {place} is not a finite number")
    return value


def split_options(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the keyword arguments for `evosplit.split` and `evosplit.kfold`."""
    pick: str | int = args.pick
    if args.pick.lstrip("-").isdigit():
        pick = int(args.pick)
    options = {"method": args.method, "cover": args.cover, "pick": pick, **search_options(args)}
    if args.min_per_label is not None:
        if not args.cover:
            raise EvoSplitError("--min-per-label and --no-cover exclude each other; leave out one of them")
        options["min_per_label"] = args.min_per_label
    if args.label_weight is not None:
        options["label_weights"] = _label_weights(args.label_weight)
    return options


def search_options(args: argparse.Namespace) -> dict[str, Any]:
    """Collect what the flags of `add_search_flags` say, as keyword arguments of the engine."""
    return {"effort": args.effort, "time_limit": args.time_limit, "n_jobs": args.jobs, "seed": args.seed}


def _label_weights(entries: Sequence[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for entry in entries:
        name, equals, value = entry.rpartition("=")
        if not equals or not name:
            raise EvoSplitError(
                f"--label-weight {entry} names no label; write for example --label-weight rare=5", parameter=()
            )
        if name in weights:
            raise EvoSplitError(
                f"--label-weight {entry} names the label {name!r} a second time; give each label once", parameter=()
            )
        weights[name] = float(_number(value, f"--label-weight {entry}"))
    return weights


@contextmanager
def printing() -> Iterator[None]:
    """Let the reader go away, as `| head` does: the rest is not printed, and the command ends as it would have."""
    try:
        yield
        sys.stdout.flush()  # a reader that has gone away shows itself here, not at exit
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal() -> Console:
    """Give what prints tables to stdout; it leaves a reader that has gone away to `printing`."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:  # rich would exit with 1
            raise BrokenPipeError

    return Terminal(highlight=False)


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[OnProgress]:
    """Give an `on_progress` callable that draws bars on stderr; silent off a terminal or with `--quiet`.

    A value that falls back starts a new bar, so one callable serves reading, search and writing in turn.
    """
    if args.quiet or not sys.stderr.isatty():
        yield lambda done, message: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    last = 1.0
    task: TaskID | None = None

    def on_progress(done: float, message: str) -> None:
        nonlocal last, task
        if task is None or done < last:
            if task is not None:
                bars.update(task, completed=1.0)
            task = bars.add_task(clean(message), total=1.0)
        bars.update(task, completed=done, description=clean(message))
        last = done

    with bars:
        yield on_progress


def show_report(
    args: argparse.Namespace,
    split: Split,
    extra: Mapping[str, Any] | None = None,
    *,
    page: bool = True,
) -> None:
    """Print the report of a split (tables, or JSON with `--json`) and write the page of `--report`.

    Parameters
    ----------
    args
        The flags of the command.
    split
        The split; it carries its label counts.
    extra
        What the door adds, such as the files it wrote: JSON gets it as it is, a reader one line for each.
    page
        Whether to write the page; a door that has written it already says False.
    """
    target: Path | None = getattr(args, "report", None) if page else None
    if args.quiet and not args.json and target is None:
        return
    report = split.report()
    if target is not None:
        save_page(report, target)
    if args.json:
        print(json.dumps({**report.to_dict(), **(extra or {})}, indent=2))
    elif not args.quiet:
        console = terminal()
        for table in (_classes(report, console.width), _subsets(report), _measures(report)):
            if table.row_count:
                console.print(table)
        for line in (*report.summary, *missing_lines(report)):
            console.print(Text(clean(line)))
        show_extra(extra)


def check_page(path: Path | None, inputs: Sequence[Path] = ()) -> None:
    """Refuse a page that could not be written, or not without losing something."""
    if path is not None:
        Plan(None, reports=[path], inputs=inputs).check()


def save_page(report: SplitReport, path: Path, inputs: Sequence[Path] = ()) -> None:
    """Write the page of a report; only such a page is replaced."""
    with Plan(None, reports=[path], inputs=inputs).stage() as stage:
        report.save_html(stage.path(path))
        stage.commit()


def show_extra(extra: Mapping[str, Any] | None) -> None:
    """Print what a door adds to the report: a line for each value, lists with a line for each entry."""
    for key, value in (extra or {}).items():
        if isinstance(value, (list, tuple)):
            print("\n  ".join([f"{clean(key)}:", *(clean(str(entry)) for entry in value)]))
        else:
            print(f"{clean(key)}: {clean(str(value))}")


def tell(args: argparse.Namespace, values: Mapping[str, Any], lines: Mapping[str, Any] | None = None) -> None:
    """Say what a command did: `values` as JSON with `--json`, else `lines` (or the values) one by one."""
    if args.json:
        print(json.dumps(dict(values), indent=2))
    elif not args.quiet:
        show_extra(values if lines is None else lines)


def _classes(report: SplitReport, width: int) -> Table:
    """List the classes with their images in each subset."""
    rows = [row for row in reversed(report.labels) if sum(row.samples)]
    title = "images of each class, and their share"
    if len(rows) > _CLASSES_SHOWN:
        title = f"the {_CLASSES_SHOWN} of {len(rows)} classes furthest from their share (--json lists all)"
        rows = report.worst_labels(_CLASSES_SHOWN)
    return share_table(
        "class",
        [(row.label, row.samples) for row in rows],
        report.names,
        width,
        title=title,
        before=[
            ("images", [str(sum(row.samples)) for row in rows]),
            ("instances", [str(sum(row.instances)) for row in rows]),
        ],
        after=[("off by", [percent(row.deviation) for row in rows])],
    )


def share_table(
    heading: str,
    rows: Sequence[tuple[str, Sequence[int]]],
    names: Sequence[str],
    width: int,
    *,
    title: str,
    before: Sequence[_Column],
    after: Sequence[_Column],
) -> Table:
    """Make a table of names and their images in each subset; the range of shares where the columns do not fit.

    Parameters
    ----------
    heading
        What the names are.
    rows
        Each name with its images in each subset.
    names
        The subsets.
    width
        The columns of the terminal.
    title
        What stands above the table.
    before, after
        Further columns, each a heading and its cells, before and after those of the subsets.
    """
    shares = [[f"{images[j]} {percent(images[j] / sum(images)):>6}" for _, images in rows] for j in range(len(names))]
    columns = [*before, *zip(names, shares, strict=True), *after]
    room = width - _columns_width(columns)
    if room < _CLASS_WIDTH:
        lowest = [_extreme(images, names, min(images)) for _, images in rows]
        highest = [_extreme(images, names, max(images)) for _, images in rows]
        columns = [*before, ("lowest share", lowest), ("highest share", highest), *after]
        room = max(width - _columns_width(columns), _CLASS_WIDTH)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(heading, no_wrap=True, overflow="ellipsis", max_width=room)
    for title_of_column, _ in columns:
        table.add_column(Text(clean(title_of_column)), justify="right", no_wrap=True)
    for (name, _), *cells in zip(rows, *(cells for _, cells in columns), strict=True):
        table.add_row(Text(clean(name)), *map(Text, cells))
    return table


def _columns_width(columns: Sequence[_Column]) -> int:
    """Return how much of a line all columns but the first take, the spaces between them included."""
    return 3 + sum(2 + max(map(cell_len, (heading, *cells))) for heading, cells in columns)


def _extreme(images: Sequence[int], names: Sequence[str], value: int) -> str:
    return clean(f"{names[list(images).index(value)]} {percent(value / sum(images))}")


def percent(share: float) -> str:
    """Write a share for a column.

    Examples
    --------
    >>> percent(0.1234)
    '12.3%'
    """
    return f"{100 * share:.1f}%"


def _subsets(report: SplitReport) -> Table:
    return subset_table(report, ("size", "asked for"))


def subset_table(report: SplitReport, columns: tuple[str, ...]) -> Table:
    """List the subsets with their sizes, all instances and the samples without a label, each with its share."""
    bare = report.n_unlabelled > 0
    table = plain_table("subset", *columns, "share", "instances", "share", *(["no label", "share"] if bare else []))
    for row in report.subset_rows():
        sizes = [str(row.size), str(row.target)][: len(columns)]
        held = [f"{100 * row.share:.2f}%", str(row.instances), f"{100 * row.instance_share:.2f}%"]
        none = [str(row.unlabelled), f"{100 * row.unlabelled_share:.2f}%"] if bare else []
        table.add_row(Text(clean(row.name)), *sizes, *held, *none)
    return table


def _measures(report: SplitReport) -> Table:
    table = plain_table("measure (smaller is better)", "this split", "random", "bound", "gain")
    for name, meaning, value, random, bound in report.measure_rows():
        table.add_row(
            f"{name}, {meaning}",
            measure_text(value),
            measure_text(random),
            "" if bound is None else measure_text(bound),
            f"{random / value:.1f} x" if value and random else "",
        )
    return table


def plain_table(first: str, *others: str, title: str | None = None) -> Table:
    """Start a table whose first column is text and whose others are numbers; headings are shown as they are."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(Text(clean(first)))
    for heading in others:
        table.add_column(Text(clean(heading)), justify="right", no_wrap=True)
    return table


def measure_text(value: float) -> str:
    """Write a measure short enough for a column.

    Examples
    --------
    >>> measure_text(0.25), measure_text(0.000123), measure_text(0)
    ('0.25', '1.23e-04', '0')
    """
    return f"{value:.3g}" if value == 0 or value >= 0.01 else f"{value:.2e}"


def missing_lines(report: SplitReport) -> list[str]:
    """Say which labels are missing where, most frequent first."""
    rows = report.missing_labels()
    lines = []
    for row in rows[:_MISSING_SHOWN]:
        n = sum(row.samples)
        images = f"{n} image" if n == 1 else f"{n} images"
        lines.append(f"{row.label} ({images}) is missing in {', '.join(row.missing)}.")
    more = len(rows) - len(lines)
    return [*lines, f"... and {more} more."] if more else lines

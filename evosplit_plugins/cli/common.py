"""What the commands of all doors share: flags, ratios, progress bars and the report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from evosplit import EvoSplitError

if TYPE_CHECKING:
    from evosplit import Split, SplitReport
    from evosplit.report import LabelRow

__all__ = [
    "OnProgress",
    "add_output_flags",
    "add_split_flags",
    "clean",
    "progress",
    "ratios_from",
    "show_extra",
    "show_report",
    "split_options",
]

OnProgress = Callable[[float, str], bool | None]

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
        help="one subset, repeated for each: fractions that sum to 1 (-s train:0.8 -s val:0.2) "
        "or integers as exact sizes",
    )
    group.add_argument("--ratios", metavar="8:1:1", help="proportions of unnamed subsets")
    group.add_argument("--folds", type=int, metavar="K", help="K folds of equal size instead of subsets")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same split (default 0)")
    group.add_argument(
        "--effort",
        default="normal",
        metavar="LEVEL",
        help="how much to search: fast, normal (default) or thorough",
    )
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
    group.add_argument("--time-limit", type=float, metavar="SECONDS", help="stop the search after this time")
    group.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="threads for the search, -1 for all cores (default 1); the result is the same",
    )
    add_output_flags(parser)
    parser.add_argument("--report", type=Path, metavar="PATH", help="also write the report as an HTML page")


def add_output_flags(parser: argparse.ArgumentParser) -> None:
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
    values = [_number(value, f"--ratios {text}") for value in text.split(":")]
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
    return {
        "method": args.method,
        "cover": args.cover,
        "pick": pick,
        "effort": args.effort,
        "time_limit": args.time_limit,
        "n_jobs": args.jobs,
        "seed": args.seed,
    }


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
        report.save_html(target)
    if args.json:
        print(json.dumps({**report.to_dict(), **(extra or {})}, indent=2))
    elif not args.quiet:
        from rich.console import Console

        console = Console(highlight=False)
        for table in (_classes(report, console.width), _subsets(report), _measures(report)):
            if table.row_count:
                console.print(table)
        for line in (*report.summary, *_missing(report)):
            console.print(Text(clean(line)))
        show_extra(extra)


def show_extra(extra: Mapping[str, Any] | None) -> None:
    """Print what a door adds to the report: a line for each value, lists with a line for each entry."""
    for key, value in (extra or {}).items():
        if isinstance(value, (list, tuple)):
            print("\n  ".join([f"{key}:", *(clean(str(entry)) for entry in value)]))
        else:
            print(f"{key}: {clean(str(value))}")


def clean(text: str) -> str:
    """Replace what could steer a terminal: names come from files, and files are data."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _classes(report: SplitReport, width: int) -> Table:
    """List the classes with their images in each subset; the range of shares where the columns do not fit."""
    rows = [row for row in reversed(report.labels) if sum(row.images)]
    title = "images of each class, and their share"
    if len(rows) > _CLASSES_SHOWN:
        title = f"the {_CLASSES_SHOWN} of {len(rows)} classes furthest from their share (--json lists all)"
        rows = report.worst_labels(_CLASSES_SHOWN)
    lines = [[str(sum(row.images)), str(sum(row.instances)), *_shares(row), _off(row)] for row in rows]
    headings = ["images", "instances", *report.names, "off by"]
    room = width - _columns_width(headings, lines)
    if room < _CLASS_WIDTH:
        headings[2:-1] = ["lowest share", "highest share"]
        lines = [[*line[:2], *_extremes(row, report.names), line[-1]] for line, row in zip(lines, rows, strict=True)]
        room = max(width - _columns_width(headings, lines), _CLASS_WIDTH)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("class", no_wrap=True, overflow="ellipsis", max_width=room)
    for heading in headings:
        table.add_column(Text(clean(heading)), justify="right", no_wrap=True)
    for row, line in zip(rows, lines, strict=True):
        table.add_row(Text(clean(row.label)), *map(Text, line))
    return table


def _columns_width(headings: list[str], lines: list[list[str]]) -> int:
    """Return how much of a line all columns but the first take, the spaces between them included."""
    columns = zip(headings, *lines, strict=True) if lines else ()
    return 3 + sum(2 + max(map(len, column)) for column in columns)


def _shares(row: LabelRow) -> list[str]:
    return [f"{count} {100 * count / sum(row.images):5.1f}%" for count in row.images]


def _extremes(row: LabelRow, names: Sequence[str]) -> list[str]:
    ends = (min(row.images), max(row.images))
    return [clean(f"{names[row.images.index(n)]} {100 * n / sum(row.images):.1f}%") for n in ends]


def _off(row: LabelRow) -> str:
    return f"{100 * row.deviation:.1f}%"


def _subsets(report: SplitReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("subset")
    for heading in ("size", "asked for", "share"):
        table.add_column(heading, justify="right")
    for name, size, target in zip(report.names, report.sizes, report.target_sizes, strict=True):
        share = f"{100 * size / sum(report.sizes):.2f}%"
        table.add_row(Text(clean(name)), str(size), str(target), share)
    return table


def _measures(report: SplitReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("measure (smaller is better)")
    for heading in ("this split", "random", "floor", "gain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, meaning, value, random, floor in report.measure_rows():
        table.add_row(
            f"{name}, {meaning}",
            _measure(value),
            _measure(random),
            "" if floor is None else _measure(floor),
            f"{random / value:.1f} x" if value and random else "",
        )
    return table


def _measure(value: float) -> str:
    return f"{value:.3g}" if value == 0 or value >= 0.01 else f"{value:.2e}"


def _missing(report: SplitReport) -> list[str]:
    rows = report.missing_labels()
    lines = []
    for row in rows[:_MISSING_SHOWN]:
        n = sum(row.images)
        images = f"{n} image" if n == 1 else f"{n} images"
        lines.append(f"{row.label} ({images}) is missing in {', '.join(row.missing)}.")
    more = len(rows) - len(lines)
    return [*lines, f"... and {more} more."] if more else lines

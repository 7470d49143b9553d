"""The terminal: progress on stderr, tables on stdout, closed pipes."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from evosplit.report.terminal import clean, columns, wrap
from evosplit_plugins.progress import OnProgress

__all__ = ["printing", "progress", "show", "width"]

_STYLES = {"bold": "1", "dim": "2", "bold red": "1;31", "bold green": "1;32"}


@contextmanager
def printing() -> Iterator[None]:
    """Tolerate a closed pipe, as with `| head`: the rest is not printed, and the command ends normally."""
    try:
        yield
        sys.stdout.flush()  # a closed pipe is noticed here, not at exit
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def width() -> int:
    """Count the columns of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def show(text: str, start: str = "", style: str = "") -> None:
    """Print a text in lines that fit the terminal, after a `start` that terminals show bold or coloured."""
    start, whole = clean(start), clean(start + text)
    lines = [whole] if columns(whole) <= width() else wrap(whole, width())
    if style and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        on, off = f"\x1b[{_STYLES[style]}m", "\x1b[0m"
        if text:
            lines[0] = f"{on}{start}{off}{lines[0].removeprefix(start)}"
        else:
            lines = [f"{on}{line}{off}" for line in lines]
    print("\n".join(lines))


@contextmanager
def progress(args: argparse.Namespace) -> Iterator[OnProgress]:
    """Return an `on_progress` callable that draws one bar on stderr; silent off a terminal or with `--quiet`."""
    if args.quiet or not sys.stderr.isatty():
        yield lambda done, message: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    task = bar.add_task("starting", total=1.0)

    def on_progress(done: float, message: str) -> None:
        bar.update(task, completed=done, description=clean(message))

    with bar:
        yield on_progress

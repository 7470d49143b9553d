"""The terminal: progress on stderr, tables on stdout, closed pipes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evosplit.report.terminal import clean
from evosplit_plugins.progress import OnProgress

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["printing", "progress", "terminal"]


@contextmanager
def printing() -> Iterator[None]:
    """Tolerate a closed pipe, as with `| head`: the rest is not printed, and the command ends normally."""
    try:
        yield
        sys.stdout.flush()  # a closed pipe is noticed here, not at exit
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def terminal() -> Console:
    """Return the console for stdout; it leaves a closed pipe to `printing`."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:  # rich would exit with 1
            raise BrokenPipeError

    return Terminal(highlight=False)


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

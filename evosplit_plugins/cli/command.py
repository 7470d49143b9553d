"""The parser of all commands, and what becomes of their errors."""

from __future__ import annotations

import argparse
import io
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from types import FrameType
from typing import NoReturn, TextIO

from evosplit import EvoSplitError
from evosplit_plugins.cli import audit, coco, demo, fiftyone, hf
from evosplit_plugins.cli.common import clean, printing
from evosplit_plugins.cli.wording import in_flags

__all__ = ["build_parser", "main"]


_EPILOG = """\
examples:
  evosplit coco split instances.json -o out -s train:0.8 -s val:0.2
  evosplit hf split my_data -o my_splits --ratios 8:1:1
  evosplit fiftyone split my-dataset --folds 5
  evosplit audit train.json val.json --fail-over 2

exit codes:
  0    done
  1    evosplit audit found a leak, or more than --fail-over allows
  2    bad input; one line on stderr says what, where and what helps
  130  interrupted; nothing is left half written

Each command explains its flags: evosplit coco split --help. Colours appear on
terminals only, and not where NO_COLOR is set."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of repeating the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {clean(message)} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Build the parser with the commands of every door."""
    parser = _Parser(
        prog="evosplit",
        description="Split multi-label data sets into alike subsets of exact size.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"evosplit {version('evosplit-plugins')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (coco, hf, fiftyone, audit, demo):
        module.register(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, as `evosplit_plugins.cli.main` explains; an interrupt is left to that."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show must not end the command
    parser = build_parser()
    args = parser.parse_args(argv)
    with warnings.catch_warnings(), _terminable():
        warnings.showwarning = _show_warning
        code = None
        try:
            with printing():
                code = args.run(args)
            return int(code or 0)
        except (EvoSplitError, OSError, ImportError) as error:
            if args.debug:
                traceback.print_exc()
            print(f"evosplit: error: {_one_line(in_flags(error, _flags(parser)))}", file=sys.stderr)
            return 2


@contextmanager
def _terminable() -> Iterator[None]:
    """Let a request to terminate clean up as an interrupt does."""

    def stop(signum: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + signum)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    """Collect the flags of all commands."""
    flags: set[str] = set()
    for action in parser._actions:  # argparse has no public way to look into its commands
        flags.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                flags |= _flags(command)
    return flags


def _one_line(message: object) -> str:
    return clean(" ".join(str(message).split()))


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"evosplit: note: {_one_line(message)}", file=sys.stderr)

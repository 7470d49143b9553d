"""`evosplit completion`: print a script with which a shell completes all commands and flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from evosplit.errors import needing
from evosplit_plugins.cli.commands import Commands

__all__ = ["register"]

SHELLS = ("bash", "zsh", "tcsh")


def register(commands: Commands[argparse.ArgumentParser], build_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the `completion` command."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and flags",
        description='Print a completion script. For bash: eval "$(evosplit completion bash)"',
    )
    parser.add_argument("shell", choices=SHELLS, help="for which shell")
    parser.set_defaults(run=lambda args: _run(args, build_parser()))


def _run(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    with needing("shtab", "completion scripts need shtab", "completion"):
        import shtab
    print(shtab.complete(parser, shell=args.shell))
    return 0

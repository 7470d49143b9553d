"""The `evosplit` command, with commands for every adapter that are made from its options."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Everything is imported in here, so that an interrupt during imports prints one line, too.

    Parameters
    ----------
    argv
        The arguments; by default those of the process.

    Returns
    -------
    int
        0 when done, 1 when an audit failed, 2 for bad input (one line on stderr says what and where), 130 when
        interrupted.
    """
    often = gc.get_threshold()
    # What a command imports stays to its end; looking through it for garbage again and again costs a small split 2 %.
    gc.set_threshold(50_000, *often[1:])
    try:
        from evosplit_plugins.cli import parser

        return parser.run(argv)
    except KeyboardInterrupt:
        print("evosplit: interrupted", file=sys.stderr)
        return 130
    finally:
        gc.set_threshold(*often)

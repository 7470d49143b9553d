"""The parser of all commands, format detection, and the handling of errors."""

from __future__ import annotations

import argparse
import io
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

from evosplit import EvoSplitError, __version__
from evosplit.report.terminal import clean
from evosplit.wording import listed
from evosplit_plugins.adapter import Adapter, WriteOptions
from evosplit_plugins.cli import completion, demo, fiftyone
from evosplit_plugins.cli.commands import (
    Commands,
    add_adapter,
    add_audit_flags,
    add_output_flags,
    directory,
    in_words,
)
from evosplit_plugins.cli.options import add_options, add_request_flags
from evosplit_plugins.cli.terminal import printing
from evosplit_plugins.cli.wording import in_flags
from evosplit_plugins.options import options_of
from evosplit_plugins.registry import Described, all_adapters, described, detect, each_adapter, get_adapter, is_own

__all__ = ["build_parser", "known_flags", "run"]

_EPILOG = """\
examples:
  evosplit split instances.json -o out -s train:0.8 -s val:0.2
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
_DETECTING = {
    "split": "split files or a folder of any kind that is recognised",
    "apply": "replay a saved split on files or a folder",
    "audit": "judge existing splits, find leaks, compare with EvoSplit",
}
_FURTHER = {"fiftyone": fiftyone.add_commands}  # commands that only one adapter has


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {clean(message)} (see {self.prog} --help)\n")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Build the parser of all commands, or of `only` one: the others are then no more than lines of the help."""
    parser: argparse.ArgumentParser = _Parser(
        prog="evosplit",
        description="Split multi-label data sets into alike subsets of exact size.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"evosplit {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if only is not None and is_own(only):
        _add_commands(commands, only)
        return parser
    known = described()
    _add_detecting_commands(commands, known)
    for name, words in known.items():
        if only in (None, name):
            _add_commands(commands, name)
        else:
            commands.add_parser(name, help=in_words(words))
    demo.register(commands)
    completion.register(commands, build_parser)
    return parser


def _add_commands(commands: Commands[argparse.ArgumentParser], name: str) -> None:
    verbs = add_adapter(commands, get_adapter(name))
    if name in _FURTHER:
        _FURTHER[name](verbs)


def _add_detecting_commands(commands: Commands[argparse.ArgumentParser], known: Mapping[str, Described]) -> None:
    for verb, told in _DETECTING.items():
        able = {name: adapter for name, adapter in known.items() if verb in adapter.verbs}
        kinds = ", ".join(f"{name} ({adapter.summary})" for name, adapter in able.items())
        description = (
            f"Recognises what the files are and runs the command of that adapter, with all of its flags: {kinds}. "
            f"See, for example, evosplit coco {verb} --help."
        )
        _add_detecting(commands.add_parser(verb, help=told, description=description), verb, list(able))


def _add_detecting(parser: argparse.ArgumentParser, verb: str, names: Sequence[str] | None = None) -> None:
    """Add the flags that all adapters share, for help; before parsing, `_resolved` inserts the detected adapter."""
    if verb == "apply":
        parser.add_argument("manifest", metavar="SPLIT", help="the split.json of an earlier split")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, or a folder")
    parser.add_argument("--as", dest="kind", choices=names, help="which adapter, where the files do not tell")
    if verb == "split":
        add_request_flags(parser, Adapter)
    if verb == "audit":
        add_audit_flags(parser, Adapter)
    else:
        parser.add_argument("-o", "--output", type=directory, metavar="DIR", help="the directory to write into")
        add_options(parser, options_of(WriteOptions))
    add_output_flags(parser)


def _resolved(argv: Sequence[str]) -> list[str]:
    """Turn `split PATH ...` into `coco split PATH ...`, or whichever adapter PATH is for; keep all other commands.

    Examples
    --------
    >>> _resolved(["audit", "a.csv", "--no-compare"]), _resolved(["audit", "x", "--as", "hf"])
    (['csv', 'audit', 'a.csv', '--no-compare'], ['hf', 'audit', 'x'])
    """
    if not argv or argv[0] not in _DETECTING or {"-h", "--help"} & set(argv):
        return list(argv)
    verb, *rest = argv
    for position, word in enumerate(rest):
        if word == "--as" and position + 1 < len(rest):
            return [_named(rest[position + 1], verb), verb, *rest[:position], *rest[position + 2 :]]
        if word.startswith("--as="):
            return [_named(word.removeprefix("--as="), verb), verb, *rest[:position], *rest[position + 1 :]]
    for name, adapter in each_adapter():
        if verb in adapter.verbs:
            paths, strange = _sorted_out(verb, rest, [adapter])
            if paths and not strange and _may_exist(paths[0]) and adapter.detect(paths):
                return [name, verb, *rest]
    paths, _ = _sorted_out(verb, rest, all_adapters().values())
    if not paths:
        raise EvoSplitError(f"nothing to {verb} is named; give files or a folder: evosplit {verb} PATH ...")
    if not _may_exist(paths[0]):
        raise EvoSplitError(
            f"there is no file or directory {paths[0]!r}; for a FiftyOne dataset of that name: evosplit fiftyone "
            f"{verb} {paths[0]} ..., for a data set of the Hugging Face hub: evosplit hf {verb} {paths[0]} ..."
        )
    try:
        return [detect(paths, verb), verb, *rest]
    except EvoSplitError as error:
        hint = "; the saved split comes first: evosplit apply SPLIT PATH ..." if verb == "apply" else ""
        raise EvoSplitError(f"{error}, such as --as coco{hint}", parameter=()) from error


def _named(name: str, verb: str) -> str:
    """Check the adapter of `--as`."""
    able = [known for known, words in described().items() if verb in words.verbs]
    if name not in able:
        raise EvoSplitError(f"--as {name} is no adapter that can {verb}; choose from {', '.join(able)}")
    return name


def _sorted_out(verb: str, words: Sequence[str], adapters: Iterable[Adapter]) -> tuple[list[str], list[str]]:
    """Tell the paths among some arguments from the values of the flags that adapters have; also the unknown flags."""
    parser = _Parser(prog=f"evosplit {verb}", add_help=False, conflict_handler="resolve")
    _add_detecting(parser, verb)
    for adapter in adapters:
        options = [*options_of(adapter.reading), *options_of(adapter.writing)]
        # Adapters give one flag other choices; the command of the right one checks them.
        add_options(parser, [each if each.kind == "switch" else replace(each, choices=()) for each in options], adapter)
    end = words.index("--") if "--" in words else len(words)
    after = [f"./{word}" if word.startswith("-") else word for word in words[end + 1 :]]  # all of them are paths
    found, unknown = parser.parse_known_args([*words[:end], *after])
    named = [*found.paths, *(word for word in unknown if not word.startswith("-"))]
    paths = [word for word in named if Path(word).exists()] or named[:1]
    return paths, [word for word in unknown if word.startswith("-")]


def _may_exist(path: str) -> bool:
    """Whether a path exists, or is that of a CSV file, whose own adapter reports a missing one."""
    return Path(path).exists() or Path(path).suffix.lower() in (".csv", ".tsv")


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; see `evosplit_plugins.cli.main`, which also handles interrupts."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show must not end the command
    given = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in given
    with warnings.catch_warnings(), _terminable():
        warnings.showwarning = _show_warning
        try:
            args = _parsed(_resolved(given))
            code = None
            with printing():
                code = args.run(args)
            return int(code or 0)
        except SystemExit as stop:  # of argparse, after its help or its one line, or of a request to terminate
            return int(stop.code or 0)
        except (EvoSplitError, OSError, ImportError) as error:
            if debug:
                traceback.print_exc()
            print(f"evosplit: error: {_one_line(in_flags(error, known_flags(build_parser())))}", file=sys.stderr)
            return 2


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """Parse all arguments; the error for an unknown flag suggests the nearest known one."""
    parser = build_parser(words[0] if words else "")
    args, unknown = parser.parse_known_args(words)
    if not unknown:
        return args
    command = parser
    for word in words[:2]:
        command = _commands(command).get(word, command)
    hints = [hint for word in unknown if (hint := _hint(command, word))]
    command.error("; ".join([f"unrecognized arguments: {' '.join(unknown)}", *dict.fromkeys(hints)]))


def _hint(command: argparse.ArgumentParser, word: str) -> str:
    """Suggest what an unknown argument may have meant; empty if nothing is close."""
    flag = word.partition("=")[0]
    if not flag.startswith("-"):
        single = [action for action in command._actions if action.dest == "paths" and action.nargs == 1]
        return f"give one {single[0].metavar}" if single else ""
    verb = command.prog.rpartition(" ")[2]
    groups = _commands(build_parser()).values()
    others = [each for group in groups for name, each in _commands(group).items() if name == verb]
    owners = [each.prog for each in others if flag in known_flags(each)]
    near = get_close_matches(flag, known_flags(command), 1, cutoff=0.75)
    if owners:
        return f"{flag} belongs to {listed(owners)}"
    return f"{flag} looks like {near[0]}" if near else ""


@contextmanager
def _terminable() -> Iterator[None]:
    """Exit through `finally` blocks on SIGTERM, so that it cleans up as an interrupt does."""

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


def known_flags(parser: argparse.ArgumentParser) -> set[str]:
    """Collect the flags of all commands."""
    own = {flag for action in parser._actions for flag in action.option_strings}  # argparse has no public way
    return own.union(*map(known_flags, _commands(parser).values()))


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands right below a parser, by name."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: command for group in groups for name, command in group.choices.items()}


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

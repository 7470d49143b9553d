"""Make flags from declared options (`evosplit_plugins.options`), and read their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit_plugins.adapter import Adapter
from evosplit_plugins.options import Option, options_of
from evosplit_plugins.request import Request

__all__ = ["add_options", "add_request_flags", "request_from", "shared_options", "values_from"]

_GROUPS = {
    "how to split (one of -s, --ratios, --folds)": (
        "ratios",
        "folds",
        "seed",
        "effort",
        "time_limit",
        "n_jobs",
        "method",
        "objectives",
        "pick",
    ),
    "what to respect beside the sizes": (
        "group_by",
        "group_regex",
        "group_copies",
        "stratify_by",
        "locked",
        "cover",
        "min_per_label",
        "label_weights",
    ),
}


def shared_options(*names: str) -> list[Option]:
    """List the options of `Request`, or those of these names."""
    return [each for each in options_of(Request) if not names or each.name in names]


def add_request_flags(parser: argparse.ArgumentParser, adapter: Adapter | type[Adapter]) -> None:
    """Add the flags of `Request`."""
    for title, names in _GROUPS.items():
        group = parser.add_argument_group(title)
        if "ratios" in names:
            group.add_argument(
                "-s",
                "--subset",
                action="append",
                metavar="NAME:RATIO",
                default=argparse.SUPPRESS,
                help="one subset, repeated for each: fractions that sum to 1 (-s train:0.8 -s val:0.2), proportions "
                "(80, 10, 10) or exact sizes",
            )
        by_name = {each.name: each for each in shared_options(*names)}
        add_options(group, [by_name[name] for name in names], adapter)


def add_options(
    parser: argparse._ActionsContainer, options: Iterable[Option], adapter: Adapter | type[Adapter] = Adapter
) -> None:
    """Add a flag for each option; flags that are not given leave no attribute in the parsed arguments.

    Parameters
    ----------
    parser
        Where to add them.
    options
        The options.
    adapter
        The adapter whose nouns the help uses.
    """
    words = {**asdict(adapter.nouns), "field": adapter.field, "FIELD": adapter.field.upper()}
    for each in options:
        told = each.help.format(**words).replace("%", "%%")
        if each.kind == "switch":
            _add_switch(parser, each, told)
            continue
        names = [*([each.short] if each.short else []), each.flag]
        metavar = None if each.metavar is None else each.metavar.format(**words)
        how: dict[str, Any] = {"dest": each.name, "default": argparse.SUPPRESS, "help": told}
        if each.kind in ("names", "list", "weights", "locks", "paths"):
            how["action"] = "append"
        if each.kind in _TYPES:
            how["type"] = _TYPES[each.kind]
        how |= {"choices": each.choices} if each.choices else {"metavar": metavar or each.name.upper()}
        parser.add_argument(*names, **how)


_TYPES: dict[str, Callable[[str], Any]] = {"integer": int, "number": float, "path": Path, "paths": Path}


def _add_switch(parser: argparse._ActionsContainer, each: Option, told: str) -> None:
    how: dict[str, Any] = {"dest": each.name, "default": argparse.SUPPRESS}
    if each.choices:
        parser.add_argument(f"--no-{each.flag[2:]}", action="store_false", help=told, **how)
        parser.add_argument(each.flag, choices=each.choices, help=argparse.SUPPRESS, **how)
    elif each.default is None:
        parser.add_argument(each.flag, action=argparse.BooleanOptionalAction, help=told, **how)
    elif each.default:
        parser.add_argument(f"--no-{each.flag[2:]}", action="store_false", help=told, **how)
    else:
        names = [*([each.short] if each.short else []), each.flag]
        parser.add_argument(*names, action="store_true", help=told, **how)


def values_from(args: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """Collect the options that were given, as the parameters that Python takes."""
    given = {}
    for each in options:
        if hasattr(args, each.name):
            read = _READ.get(each.kind)
            value = getattr(args, each.name)
            given[each.name] = value if read is None else read(value, each.flag)
    return given


def request_from(args: argparse.Namespace) -> Request:
    """Make a `Request` from the flags of `add_request_flags`.

    Examples
    --------
    >>> dict(request_from(argparse.Namespace(subset=["train:0.8", "val:0.2"])).ratios)
    {'train': 0.8, 'val': 0.2}
    """
    values = values_from(args, shared_options())
    subset = getattr(args, "subset", None)
    flags = {"-s": subset is not None, "--ratios": "ratios" in values, "--folds": "folds" in values}
    given = [flag for flag, there in flags.items() if there]
    if len(given) != 1:
        said = f"{' and '.join(given)} exclude each other" if given else "nothing says how to split"
        raise EvoSplitError(f"{said}; give one of -s train:0.8 -s val:0.2, --ratios 8:1:1 or --folds 5", parameter=())
    if subset is not None:
        values["ratios"] = _named_ratios(subset)
    return Request(**values)


def _named_ratios(entries: Sequence[str]) -> dict[str, float | int]:
    ratios: dict[str, float | int] = {}
    for entry in entries:
        name, colon, value = entry.rpartition(":")
        if not colon or not name:
            raise EvoSplitError(f"-s {entry} names no subset; write for example -s train:0.8 -s val:0.2", parameter=())
        if name in ratios:
            raise EvoSplitError(
                f"-s {entry} names the subset {name!r} a second time; give each subset once", parameter=()
            )
        ratios[name] = _number(value, f"-s {entry}")
    return ratios


def _unnamed_ratios(text: str, flag: str) -> tuple[float | int, ...]:
    values = tuple(_number(value, f"{flag} {text}") for value in re.split("[:/,]", text))
    if len(values) < 2 or min(values) <= 0:
        raise EvoSplitError(
            f"{flag} {text} does not give two or more positive numbers; write for example 8:1:1", parameter=()
        )
    return values


def _number(text: str, place: str) -> float | int:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        raise EvoSplitError(f"{text!r} in {place} is not a number; write for example 0.8", parameter=()) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise EvoSplitError(f"{text!r} in {place} is not a finite number; write for example 0.8", parameter=())
    return value


def _names(entries: Sequence[str], flag: str) -> tuple[str, ...]:
    """Split names that are separated by commas, given by repeated flags, or both."""
    return tuple(name.strip() for entry in entries for name in entry.split(",") if name.strip())


def _weights(entries: Sequence[str], flag: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for entry in entries:
        name, equals, value = entry.rpartition("=")
        if not equals or not name:
            raise EvoSplitError(f"{flag} {entry} names no label; write for example {flag} rare=5", parameter=())
        if name in weights:
            raise EvoSplitError(f"{flag} {entry} names {name!r} a second time; give each label once", parameter=())
        weights[name] = float(_number(value, f"{flag} {entry}"))
    return weights


def _locks(entries: Sequence[str], flag: str) -> Mapping[str, Any]:
    locks: dict[str, Any] = {}
    for entry in entries:
        name, equals, path = entry.partition("=")
        if not name or (equals and not path):
            raise EvoSplitError(
                f"{flag} {entry} does not say what stays where; write for example {flag} test=old_test.txt",
                parameter=(),
            )
        if name in locks:
            raise EvoSplitError(
                f"{flag} {entry} names the subset {name!r} a second time; put all of it into one file", parameter=()
            )
        locks[name] = path if equals else None
    return locks


def _pick(text: str, flag: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


_READ: dict[str, Callable[[Any, str], Any]] = {
    "ratios": _unnamed_ratios,
    "names": _names,
    "list": lambda entries, flag: tuple(entries),
    "paths": lambda entries, flag: tuple(entries),
    "weights": _weights,
    "locks": _locks,
    "pick": _pick,
}

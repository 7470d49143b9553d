"""Options declared once, as fields of frozen dataclasses, from which the flags of the command line are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

__all__ = ["KINDS", "Option", "call_with", "option", "options_of", "recorded", "stated"]

T = TypeVar("T")

KINDS = (
    "switch",
    "text",
    "integer",
    "number",
    "path",
    "paths",
    "names",
    "list",
    "weights",
    "locks",
    "ratios",
    "pick",
)
_KEY = "evosplit"


@dataclass(frozen=True)
class Option:
    """One option, as the command line needs it.

    Attributes
    ----------
    name
        The parameter in Python.
    default
        Its value where it is not given.
    kind
        What it holds, one of `KINDS`: a "switch" is true or false (or None, if it may be left open); "names" are
        several, which a user may separate by commas, a "list" several that may contain commas; "weights" map names to
        numbers.
    help
        A sentence fragment; `{field}`, `{samples}`, `{label}` and the like are replaced by the adapter's nouns.
    flag
        The flag, where it is not the name with hyphens.
    short
        A flag of one letter beside it.
    metavar
        What stands for the value in the help.
    choices
        The values it may have; any if there are none.
    """

    name: str
    default: Any
    kind: str
    help: str
    flag: str
    short: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()


def option(
    default: Any,
    help: str,
    *,
    kind: str,
    flag: str | None = None,
    short: str | None = None,
    metavar: str | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """Declare a field of a dataclass as an option; see `Option` for the parameters."""
    about = {"help": help, "kind": kind, "flag": flag, "short": short, "metavar": metavar, "choices": tuple(choices)}
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is unknown; choose one of {', '.join(KINDS)}")
    return field(default=default, metadata={_KEY: about})


def options_of(holder: type) -> list[Option]:
    """List the options that a dataclass declares.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Reading:
    ...     count_crowd: bool = option(True, "count crowd annotations as instances", kind="switch")
    >>> [(each.name, each.flag) for each in options_of(Reading)]
    [('count_crowd', '--count-crowd')]
    """
    found = []
    for each in fields(holder):
        about: Mapping[str, Any] | None = each.metadata.get(_KEY)
        if about is not None:
            flag = about["flag"] or f"--{each.name.replace('_', '-')}"
            default = None if each.default is MISSING else each.default
            found.append(Option(name=each.name, default=default, **{**about, "flag": flag}))
    return found


def recorded(values: Any) -> dict[str, Any]:
    """Return the options of an instance that differ from their defaults, as a manifest keeps them.

    Paths are left out: they belong to one machine.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Reading:
    ...     count_crowd: bool = option(True, "count crowd annotations as instances", kind="switch")
    >>> recorded(Reading()), recorded(Reading(count_crowd=False))
    ({}, {'count_crowd': False})
    """
    kept = [each for each in options_of(type(values)) if each.kind not in ("path", "paths")]
    given = {each.name: getattr(values, each.name) for each in kept if getattr(values, each.name) != each.default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def call_with(taker: Callable[..., T], given: Mapping[str, Any], **more: Any) -> T:
    """Call a function or class with those of some arguments that it has parameters for.

    Public functions spell out their parameters, and pass them on to the dataclasses that group them.

    Parameters
    ----------
    taker
        What to call.
    given
        The arguments of the calling function: its `locals()`, taken first thing.
    more
        Further arguments, which take precedence.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Reading:
    ...     count_crowd: bool = True
    >>> def read(path, count_crowd=True):
    ...     return call_with(Reading, locals())
    >>> read("instances.json", count_crowd=False)
    Reading(count_crowd=False)
    """
    names = inspect.signature(taker).parameters
    return taker(**{**{name: given[name] for name in names if name in given}, **more})


def stated(holder: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some arguments that a dataclass has fields for and that are not None.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Reading:
    ...     count_crowd: bool = True
    ...     coerce_ids: bool = False
    >>> stated(Reading, {"path": "instances.json", "count_crowd": False, "coerce_ids": None})
    {'count_crowd': False}
    """
    return {each.name: given[each.name] for each in fields(holder) if given.get(each.name) is not None}

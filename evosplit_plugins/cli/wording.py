"""Write errors of the library with flags instead of parameters: `group_by='clip'` becomes `--group-by clip`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

from evosplit import EvoSplitError
from evosplit_plugins.adapter import Adapter
from evosplit_plugins.options import options_of
from evosplit_plugins.registry import all_adapters, get_adapter
from evosplit_plugins.request import Request

__all__ = ["PYTHON_ONLY", "in_flags", "note_in_flags"]

# Parameters of the engine and of single functions whose flags have other names.
_FLAGS = {"groups": "--group-by", "strata": "--stratify-by", "kind": "--as", "n_images": "--images"}
PYTHON_ONLY = frozenset(
    {"brain_key", "by", "copies", "counts", "labels", "limit", "metric", "random_state", "test_size", "train_size"}
)


@cache
def _all_flags() -> dict[str, str]:
    return _declared(all_adapters().values())


def _declared(adapters: Iterable[Adapter]) -> dict[str, str]:
    """Map the options that are declared for a split and by some adapters to their flags."""
    holders = [Request, *(holder for each in adapters for holder in (each.reading, each.writing))]
    return {each.name: each.flag for holder in holders for each in options_of(holder)}


def in_flags(error: BaseException, known: Collection[str]) -> str:
    """Return the message of an error with flags instead of the parameters that it names.

    Parameters
    ----------
    error
        The error.
    known
        All existing flags; other words before an equals sign are not parameters.

    Examples
    --------
    >>> in_flags(EvoSplitError("min_per_label=3 and cover=False exclude each other"), ["--min-per-label", "--no-cover"])
    '--min-per-label 3 and --no-cover exclude each other'
    >>> in_flags(EvoSplitError("name the subset: locked={'test': 'old.json'}"), ["--lock"])
    'name the subset: --lock test=old.json'
    >>> in_flags(EvoSplitError("pass locked={'test': ids}"), ["--lock"])
    'pass --lock test=FILE'
    """
    return _rewritten(error, _all_flags(), known) if isinstance(error, EvoSplitError) else str(error)


def note_in_flags(note: str, adapter: str | None = None) -> str:
    """Return a sentence of a report, of this adapter, with flags in the place of the parameters that it speaks of.

    Examples
    --------
    >>> note_in_flags("Rare labels are not forced into every subset (cover='all' insists).")
    'Rare labels are not forced into every subset (--cover all insists).'
    """
    if "=" not in note:
        return note
    declared = _declared([] if adapter is None else [get_adapter(adapter)])
    return _rewritten(EvoSplitError(note), declared, set(declared.values()))


def _rewritten(error: EvoSplitError, declared: Mapping[str, str], known: Collection[str]) -> str:
    flags = {**_FLAGS, **declared}

    def said(parameter: str, value: str) -> str | None:
        flag = flags.get(parameter, f"--{parameter.replace('_', '-')}")
        has_flag = parameter not in PYTHON_ONLY and (flag in known or f"--no-{flag[2:]}" in known)
        return _said(flag, value) if has_flag else None

    return error.rewritten(said)


def _said(flag: str, written: str) -> str:
    try:
        value: Any = ast.literal_eval(re.sub(r": ids\b", ": 'FILE'", written)) if written else ""
    except (ValueError, SyntaxError):
        value = written
    if value is True:
        return flag
    if value is False:
        return f"--no-{flag[2:]}"
    if isinstance(value, Mapping):
        return " ".join(f"{flag} {name}" if each is None else f"{flag} {name}={each}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(f"{flag} {each}" for each in value) or flag
    return f"{flag} {value}" if value != "" else f"{flag} ''" if written else flag

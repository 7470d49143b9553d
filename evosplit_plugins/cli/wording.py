"""Errors of the library in the words of the shell: `group_by='clip'` becomes `--group-by clip`."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Any

from evosplit import EvoSplitError

__all__ = ["PYTHON_ONLY", "flag_of", "in_flags"]

# Where the flag is not the parameter with hyphens.
_FLAGS = {
    "group_column": "--group-by",
    "group_field": "--group-by",
    "groups": "--group-by",
    "kind": "--as",
    "label_weights": "--label-weight",
    "locked": "--lock",
    "n_images": "--images",
    "n_jobs": "--jobs",
    "names": "--tag",
    "strata": "--stratify-by",
    "strata_fields": "--stratify-by",
    "stratify_columns": "--stratify-by",
}
PYTHON_ONLY = frozenset(
    {"brain_key", "counts", "labels", "metric", "objectives", "random_state", "test_size", "train_size"}
)
_VALUE = (
    r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*\)|-?[\w.]+(?:/[\w.]+)*|)"  # or nothing
)


def flag_of(parameter: str) -> str | None:
    """Return the flag that says the same as a parameter; None if there is none.

    Examples
    --------
    >>> flag_of("group_by"), flag_of("n_jobs"), flag_of("objectives")
    ('--group-by', '--jobs', None)
    """
    if parameter in PYTHON_ONLY:
        return None
    return _FLAGS.get(parameter, f"--{parameter.replace('_', '-')}")


def in_flags(error: BaseException, known: Collection[str]) -> str:
    """Return the message of an error with flags in the place of the parameters that it speaks of.

    Parameters
    ----------
    error
        The error.
    known
        All flags that there are; other words before an equals sign are no parameters of the library.

    Examples
    --------
    >>> in_flags(EvoSplitError("min_per_label=3 and cover=False exclude each other"), ["--min-per-label", "--no-cover"])
    '--min-per-label 3 and --no-cover exclude each other'
    >>> in_flags(EvoSplitError("name the subset: lock={'test': 'old.json'}"), ["--lock"])
    'name the subset: --lock test=old.json'
    """
    message = str(error)
    for parameter in error.parameters if isinstance(error, EvoSplitError) else ():
        flag = flag_of(parameter)
        if flag in known or f"--no-{(flag or '')[2:]}" in known:
            pattern = rf"(?<![\w.'\"/-]){parameter}=({_VALUE})"
            message = re.sub(pattern, lambda found, flag=flag: _said(flag or "", found[1]), message)  # type: ignore[misc]
    return message


def _said(flag: str, written: str) -> str:
    try:
        value: Any = ast.literal_eval(written) if written else ""
    except (ValueError, SyntaxError):
        value = written
    if value is True:
        return flag
    if value is False:
        return f"--no-{flag[2:]}"
    if isinstance(value, Mapping):
        return " ".join(f"{flag} {name}={each}" for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(f"{flag} {each}" for each in value) or flag
    return f"{flag} {value}" if value != "" else f"{flag} ''" if written else flag

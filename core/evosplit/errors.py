"""What EvoSplit raises and warns on purpose, and how it points at the caller."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

__all__ = ["EvoSplitError", "EvoSplitWarning", "MissingExtraError", "checked_keywords", "warn"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_WRITTEN = re.compile(r"(?<![\w.'\"/-])([a-z][a-z_]*)=(?!=)")
_OURS = ("evosplit", "evosplit_plugins")


class EvoSplitError(ValueError):
    """The input cannot be split as asked; the message names the value, the place and the remedy.

    Parameters
    ----------
    message
        The sentence. It writes parameters as Python does: `group_by='clip'`, or `group_by=` without a value.
    parameter
        The parameter or parameters that the sentence speaks of; by default those that it writes so. The command line
        shows their flags instead.

    Examples
    --------
    >>> EvoSplitError("match='name' is unknown; choose id or file_name").parameters
    ('match',)
    """

    def __init__(self, message: str, *, parameter: str | Sequence[str] | None = None) -> None:
        super().__init__(message)
        found = dict.fromkeys(_WRITTEN.findall(message)) if parameter is None else parameter
        self.parameters: tuple[str, ...] = (found,) if isinstance(found, str) else tuple(found)


class MissingExtraError(EvoSplitError, ImportError):
    """Something that is installed on demand is not there; the message names the pip line.

    Examples
    --------
    >>> print(MissingExtraError("COCO files need msgspec", "coco"))
    COCO files need msgspec; run: pip install "evosplit-plugins[coco]"
    """

    def __init__(self, message: str, extra: str) -> None:
        super().__init__(f'{message}; run: pip install "evosplit-plugins[{extra}]"')


class EvoSplitWarning(UserWarning):
    """The split was made, but probably not as the caller imagines."""


def warn(message: str) -> None:
    """Warn at the line that called EvoSplit, however deep inside of it this is called."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, EvoSplitWarning, stacklevel=level)


def checked_keywords(*passed_on: Callable[..., Any]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function refuse keywords that nobody knows, naming itself and what was probably meant.

    Parameters
    ----------
    *passed_on
        Functions whose keyword-only parameters the function takes as well, to pass them on.

    Examples
    --------
    >>> @checked_keywords()
    ... def cut(cake, *, pieces=2):
    ...     return pieces
    >>> cut("apple", piece=3)
    Traceback (most recent call last):
    TypeError: cut() got an unexpected keyword argument 'piece'; did you mean 'pieces'?
    """
    further = [name for function in passed_on for name in _keywords(function)]

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        known = {*_keywords(function, positional=True), *further}

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            for name in kwargs:
                if name not in known:
                    close = difflib.get_close_matches(name, sorted(known), n=3)
                    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
                    raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}")
            return function(*args, **kwargs)

        return call

    return decorate


def _keywords(function: Callable[..., Any], *, positional: bool = False) -> list[str]:
    kinds = {inspect.Parameter.KEYWORD_ONLY} | ({inspect.Parameter.POSITIONAL_OR_KEYWORD} if positional else set())
    return [name for name, each in inspect.signature(function).parameters.items() if each.kind in kinds]

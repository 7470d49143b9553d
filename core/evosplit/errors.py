"""The errors and warnings of EvoSplit."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

__all__ = ["EvoSplitError", "EvoSplitWarning", "MissingExtraError", "checked_keywords", "needing", "warn"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_WRITTEN = re.compile(r"(?<![\w.'\"/-])([a-z][a-z_]*)=(?!=)")
_VALUE = (
    r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*\)|-?[\w.]+(?:/[\w.]+)*|)"  # or nothing
)
_OURS = ("evosplit", "evosplit_plugins")


class EvoSplitError(ValueError):
    """The input cannot be split as asked; the message names the value, the place and the remedy.

    Parameters
    ----------
    message
        The sentence. It writes parameters as Python does: `group_by='clip'`, or `group_by=` without a value.
    parameter
        The parameter or parameters that the message is about; by default those that it writes as above. The command
        line shows their flags instead.

    Examples
    --------
    >>> EvoSplitError("match='name' is unknown; choose id or file_name").parameters
    ('match',)
    """

    def __init__(self, message: str, *, parameter: str | Sequence[str] | None = None) -> None:
        super().__init__(message)
        found = dict.fromkeys(_WRITTEN.findall(message)) if parameter is None else parameter
        self.parameters: tuple[str, ...] = (found,) if isinstance(found, str) else tuple(found)

    def rewritten(self, say: Callable[[str, str], str | None]) -> str:
        """Return the message with the parameters as `say` writes them, for users who know them by other names.

        Parameters
        ----------
        say
            Called with the name and the value as Python writes it ("" without one); returning None leaves both as they
            are.

        Examples
        --------
        >>> EvoSplitError("folds=1 is too few; pass folds=2").rewritten(lambda name, value: f"--{name} {value}")
        '--folds 1 is too few; pass --folds 2'
        """
        message = str(self)
        for name in self.parameters:
            written = re.compile(rf"(?<![\w.'\"/-]){name}=({_VALUE})")
            message = written.sub(lambda found, name=name: say(name, found[1]) or found[0], message)  # type: ignore[misc]
        return message


class MissingExtraError(EvoSplitError, ImportError):
    """An optional dependency is not installed; the message has the pip command.

    Examples
    --------
    >>> print(MissingExtraError("COCO files need msgspec", "coco"))
    COCO files need msgspec; run: pip install "evosplit-plugins[coco]"
    """

    def __init__(self, message: str, extra: str) -> None:
        super().__init__(f'{message}; run: pip install "evosplit-plugins[{extra}]"')


@contextmanager
def needing(package: str, message: str, extra: str) -> Iterator[None]:
    """Raise `MissingExtraError` where a package is not installed; one that is there but broken tells its own error.

    Parameters
    ----------
    package
        What is imported in the block.
    message, extra
        Of the error.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtraError(message, extra) from error


class EvoSplitWarning(UserWarning):
    """The split was made, but something about it may surprise the caller."""


def warn(message: str) -> None:
    """Warn at the line that called EvoSplit, however deep in the library the warning is raised."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, EvoSplitWarning, stacklevel=level)


def checked_keywords() -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function suggest the keyword that was probably meant when it gets an unknown one.

    Examples
    --------
    >>> @checked_keywords()
    ... def cut(cake, *, pieces=2):
    ...     return pieces
    >>> cut("apple", piece=3)
    Traceback (most recent call last):
    TypeError: cut() got an unexpected keyword argument 'piece'; did you mean 'pieces'?
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        known = set(inspect.signature(function).parameters)

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

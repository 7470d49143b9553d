"""Text for a terminal of a fixed width: names are data, may be long, wide, or full of control characters."""

from __future__ import annotations

import unicodedata

__all__ = ["clean", "clip", "columns", "pad", "wrap"]


def clean(text: str) -> str:
    r"""Replace control characters, and those that change the direction of text.

    Examples
    --------
    >>> clean("cat\x1b[31m\ndog")
    'cat?[31m?dog'
    """
    return "".join(character if character.isprintable() else "?" for character in text)


def columns(text: str) -> int:
    """Count the columns that a text takes: East Asian wide characters take two, combining marks none.

    Examples
    --------
    >>> columns("cat"), columns("猫")
    (3, 2)
    """
    return sum(_column(character) for character in text)


def clip(text: str, width: int) -> str:
    """Clean a text and cut it to a width.

    Examples
    --------
    >>> clip("a long name", 8), clip("猫猫猫猫", 7)
    ('a lon...', '猫猫...')
    """
    text = clean(text)
    return text if columns(text) <= width else _head(text, width - 3) + "..."


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill a text with spaces up to a width, behind it or, with `right`, before it."""
    spaces = " " * (width - columns(text))
    return spaces + text if right else text + spaces


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines at its spaces, and within words that are too long for a line.

    Examples
    --------
    >>> wrap("one two abcdefgh", 5)
    ['one', 'two', 'abcde', 'fgh']
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line = ""
        while columns(word) > width:
            lines.append(_head(word, width))
            word = word[len(lines[-1]) :]
        line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def _column(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _head(text: str, width: int) -> str:
    """Take as much of the beginning as fits, at least one character."""
    taken = 0
    for position, character in enumerate(text):
        taken += _column(character)
        if taken > width:
            return text[: max(position, 1)]
    return text

r"""Regular expressions that mean the same in Python, in DuckDB (RE2) and in Spark (Java).

What Python takes is written anew, with what the three agree on: `\d` is a digit of any script in Python and one of
ASCII in the others, `.` stops at other characters in Java, and so on. What cannot be written so is refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evosplit import EvoSplitError
from evosplit_plugins.grouping import compiled

__all__ = ["ROBOFLOW", "Pattern", "portable"]

ROBOFLOW = r"\A([^\x{A}]+?)(?:_([Jj][Pp][Ee]?[Gg]|[Pp][Nn][Gg]|[Bb][Mm][Pp]|[Ww][Ee][Bb][Pp]|[Tt][Ii][Ff][Ff]?))?" \
           r"\.[Rr][Ff]\.[0-9A-Za-z]{16,}(?:\.([A-Za-z0-9]+))?\z"  # fmt: skip
_MOST_TIMES = 1000  # that RE2 repeats something
_SPACES = r"\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}"
_SETS = {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_", "s": _SPACES}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CODES = {"x": 2, "u": 4, "U": 8}
_TIMES = re.compile(r"\{(?!\})([0-9]*)(?:(,)([0-9]*))?\}")


@dataclass(frozen=True)
class Pattern:
    """A regular expression for every engine.

    Attributes
    ----------
    text
        How it is written.
    group
        The number of the parentheses whose text counts, 0 for all that matches.
    ends
        Whether it looks for the end of a text; before a last line break Python sees one, the others do not.
    """

    text: str
    group: int
    ends: bool


def portable(regex: str) -> Pattern:
    r"""Write a regular expression of Python's anew; what other engines would take otherwise is an error.

    Examples
    --------
    >>> portable(r"^(.+?)_\d+$").text
    '\\A([^\\x{A}]+?)_[\\p{Nd}]+\\z'
    """
    reader = _Reader(regex, compiled(regex).groups)
    text, _, _ = reader.choice()
    return Pattern(text, min(reader.n_groups, 1), reader.ends)


_Part = tuple[str, bool, bool]  # what is written; whether it may be empty; whether it holds the parentheses that count


class _Reader:
    """Reads an expression that Python has compiled before, from left to right."""

    def __init__(self, regex: str, n_groups: int) -> None:
        self._regex, self._at = regex, 0
        self.n_groups, self._seen, self.ends = n_groups, 0, False

    def choice(self) -> _Part:
        """Read up to the end, or to the parenthesis that closes."""
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return "|".join(part[0] for part in parts), any(part[1] for part in parts), any(part[2] for part in parts)

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._at < len(self._regex) and self._regex[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))
        return "".join(part[0] for part in parts), all(part[1] for part in parts), any(part[2] for part in parts)

    def _repeated(self, part: _Part) -> _Part:
        text, may_be_empty, counts = part
        told = _TIMES.match(self._regex, self._at)
        if told is not None:
            self._at = told.end()
            least = int(told[1] or 0)
            most = least if told[2] is None else int(told[3]) if told[3] else None
            sign = f"{{{least},{'' if most is None else most}}}"
        elif self._at < len(self._regex) and self._regex[self._at] in "*+?":
            sign = self._regex[self._at]
            least, most = (1 if sign == "+" else 0), (1 if sign == "?" else None)
            self._at += 1
        else:
            return part
        if max(least, most or 0) > _MOST_TIMES:
            raise self._refused(f"{sign}: more than {_MOST_TIMES:,} times")
        if self._take("+"):
            raise self._refused(f"{sign}+, which gives nothing back")
        lazy = "?" if self._take("?") else ""
        if most != 1 and (least, most) != (0, 0):
            if may_be_empty:
                raise self._refused(f"{text}{sign}, which repeats what may be empty")
            if counts:
                raise self._refused(f"{text}{sign}, which repeats the parentheses whose text counts")
        return f"{text}{sign}{lazy}", may_be_empty or least == 0, counts

    def _atom(self) -> _Part:
        sign = self._next()
        if sign == "(":
            return self._parentheses()
        if sign == "[":
            return self._brackets(), False, False
        if sign == "\\":
            return self._escape()
        if sign == ".":
            return r"[^\x{A}]", False, False
        if sign == "^":
            return r"\A", True, False
        if sign == "$":
            self.ends = True
            return r"\z", True, False
        return _literal(sign), False, False

    def _parentheses(self) -> _Part:
        opens, counts = "(?:", False
        if self._take("?"):
            if self._take("#"):
                self._at = self._regex.index(")", self._at) + 1
                return "", True, False
            if self._take("P<"):
                self._at = self._regex.index(">", self._at) + 1
                counts = True
            elif not self._take(":"):
                raise self._refused(f"(?{self._regex[self._at : self._at + 2]}")
        else:
            counts = True
        if counts:
            self._seen += 1
            counts = self._seen == 1
            opens = "(" if counts else opens
        text, may_be_empty, inside = self.choice()
        self._next()
        return f"{opens}{text})", may_be_empty, counts or inside

    def _escape(self) -> _Part:
        sign = self._next()
        if sign in "AZz":
            return (r"\A" if sign == "A" else r"\z"), True, False
        if sign.lower() in _SETS:
            return f"[{'^' if sign.isupper() else ''}{_SETS[sign.lower()]}]", False, False
        return _literal(self._character(sign)), False, False

    def _character(self, sign: str) -> str:
        """Read the character that an escape stands for."""
        if sign in _CODES:
            digits = self._regex[self._at : self._at + _CODES[sign]]
            self._at += _CODES[sign]
            return chr(int(digits, 16))
        if sign in _CONTROL:
            return _CONTROL[sign]
        if sign.isalnum():
            raise self._refused(f"\\{sign}")
        return sign

    def _brackets(self) -> str:
        opens = "[^" if self._take("^") else "["
        items = []
        first = True
        while first or self._regex[self._at] != "]":
            first = False
            low, is_set = self._member()
            if not is_set and self._regex[self._at] == "-" and self._regex[self._at + 1] != "]":
                self._next()
                high, _ = self._member()
                items.append(f"{low}-{high}")
            else:
                items.append(low)
        self._next()
        return f"{opens}{''.join(items)}]"

    def _member(self) -> tuple[str, bool]:
        """Read what stands in brackets: a character, or a set of them."""
        sign = self._next()
        if sign != "\\":
            return _literal(sign), False
        sign = self._next()
        if sign in _SETS:
            return _SETS[sign], True
        if sign == "D":
            return r"\P{Nd}", True
        return _literal("\b" if sign == "b" else self._character(sign)), False

    def _next(self) -> str:
        self._at += 1
        return self._regex[self._at - 1]

    def _take(self, text: str) -> bool:
        if not self._regex.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _refused(self, what: str) -> EvoSplitError:
        return EvoSplitError(
            f"group_regex={self._regex!r} holds {what}, which DuckDB and Spark do not take as Python does; the rows of "
            "this table are only counted, by them: write it otherwise, or make a column of it, for group_by="
        )


def _literal(sign: str) -> str:
    """Write a character so that it means nothing else."""
    return sign if sign == "_" or (sign.isascii() and sign.isalnum()) else f"\\x{{{ord(sign):X}}}"

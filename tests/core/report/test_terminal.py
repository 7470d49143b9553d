"""Names that are long, wide or hostile, in lines of a fixed width."""

from __future__ import annotations

from reports import long_tailed, report_on

from evosplit import LabelCounts
from evosplit.report.terminal import clean, clip, columns, wrap


def test_hostile_names_in_a_terminal():
    """Control characters, escapes and line breaks in names are shown as question marks, and change no column."""
    labels = ["\x1b[31mred", "a\nb", "\u202eright", "[bold]rich[/bold]", "\x07bell", "\x9b0m", "tab\t", "nul\0"]
    counts = LabelCounts(long_tailed(), labels=labels)
    text = str(report_on(counts, {"train\x1b[0m": 0.5, "te\nst": 0.5}))
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "?[31mred" in text
    assert "[bold]rich[/bold]" in text
    assert "train?[0m" in text


def test_wide_names_fit():
    """Characters that take two columns are counted as two."""
    labels = ["猫" * 40 + str(i) for i in range(8)]
    text = str(report_on(LabelCounts(long_tailed(), labels=labels), {"訓練" * 20: 0.5, "test": 0.5}))
    assert max(map(columns, text.splitlines())) <= 80


def test_wrapping_keeps_the_words():
    """Lines are broken at spaces, long words within, and nothing is lost."""
    text = "short words and averyveryverylongword " * 5
    lines = wrap(text, 12)
    assert max(map(columns, lines)) <= 12
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrap("", 10) == []
    assert clip(clean("e\u0301" * 9), 9) == "e\u0301" * 9

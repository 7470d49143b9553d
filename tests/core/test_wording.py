"""Numbers and lists in sentences."""

from __future__ import annotations

from itertools import count

import pytest

from evosplit.wording import counted, listed


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 samples"), (1, "1 sample"), (2, "2 samples"), (1234567, "1,234,567 samples")]
)
def test_counted(n, text):
    """One is singular, nothing else is; thousands are parted."""
    assert counted(n, "sample", "samples") == text


def test_no_more_is_taken_than_shown():
    """Of values whose number is known only those are made that are named."""
    numbers = count()
    assert listed((f"x{number}" for number in numbers), 3, total=2000) == "x0, x1, x2 and 1,997 more"
    assert next(numbers) == 3


@pytest.mark.parametrize(("n", "text"), [(0, ""), (2, "a, b"), (3, "a, b and 1 more")])
def test_all_that_fit_are_named(n, text):
    """Nothing is said of more where there is no more."""
    assert listed("abc"[:n], 2) == listed(iter("abc"[:n]), 2) == text

"""The report as plain text fits a terminal of 80 columns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reports import long_tailed, report_as_placed, report_on

from evosplit import LabelCounts


@pytest.mark.parametrize("k", [2, 3, 12])
def test_text_fits_a_terminal(k):
    """The text is at most 80 columns wide, whatever the names, and shows every subset and measure."""
    labels = [f"a label with a very long name {'x' * 60} {i}\n" for i in range(8)]
    counts = LabelCounts(long_tailed(), labels=labels)
    names = [f"subset {'y' * 70} {j}" for j in range(k)]
    text = str(report_on(counts, dict.fromkeys(names, 1 / k)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("subset yyy") >= k
    for name in ("LD,", "LD',", "LPD,", "ED,", "FLZ,", "random", "bound"):
        assert name in text


def test_text_shows_shares():
    """The subsets are listed with what they hold and its share."""
    counts = np.array([[5], [1], [1], [1], [0], [0], [0], [0]] * 5)
    text = str(report_as_placed(counts, [0, 1, 1, 1, 0, 0, 0, 1] * 5))
    assert re.search(r"^a +20 +50\.0 % +25 +62\.5 % +15 +75\.0 %$", text, flags=re.MULTILINE)
    assert "no label" not in str(report_on(np.ones((9, 1), dtype=int)))

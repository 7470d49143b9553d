"""What belongs together: equal values, parts of file names, copies of one picture, and chains of these."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit import EvoSplitError
from evosplit_plugins.grouping import Links, find_copies, joined, regex_values

VALUES = st.sampled_from([None, 1, 2, "1", "x", ["x", 2], []])


@given(st.data())
def test_groups_are_chains_of_equal_values(data):
    """Two samples are in one group if and only if a chain of equal values links them."""
    n = data.draw(st.integers(1, 10))
    columns = data.draw(st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=1, max_size=3))
    links = [Links(values, f"{at}=" if at else "", names_groups=at < 2) for at, values in enumerate(columns)]
    made = joined(links)

    def values_of(row):
        entries = [(at, column[row]) for at, column in enumerate(columns)]
        lists = [(at, entry if isinstance(entry, list) else [] if entry is None else [entry]) for at, entry in entries]
        return {(at, type(value), value) for at, values in lists for value in values}

    linked = np.array([[i == j or bool(values_of(i) & values_of(j)) for j in range(n)] for i in range(n)])
    for _ in range(n):
        linked = linked @ linked
    if made is None:
        assert not any(values_of(row) for row in range(n))
        return
    for i in range(n):
        assert (made[i] is None) == (not values_of(i))
        for j in range(i):
            together = made[i] is not None and (type(made[i]), made[i]) == (type(made[j]), made[j])
            assert together == linked[i, j]


def test_names():
    """Groups keep the value that names them; chains list the first few; pictures name only what nothing else does."""
    pictures = Links(["a", "a", None, "b", "b"], "picture ", names_groups=False)
    assert joined([Links([1, None, None, None, None]), pictures]) == [1, 1, None, "picture b", "picture b"]
    chain = Links([["a", "b"], ["b", "c"], ["c", "d", "e"]], "clip=")
    assert joined([chain]) == ["clip=a, linked with clip=b, clip=c and 2 more"] * 3
    assert joined([Links(np.array([3, 3, 4]))]) == [3, 3, 4]
    assert joined([Links([float("nan"), None])]) is None
    assert joined([]) is None


class TestCopies:
    """Samples that show one picture."""

    def test_found_and_counted(self):
        """Names that occur more than once."""
        found = find_copies(["a", "b", None, "a", None, "b", "c"])
        assert found.values == ["a", "b", None, "a", None, "b", None]
        assert (found.n_samples, found.n_pictures, found.n_torn) == (4, 2, 0)

    def test_what_names_no_picture(self):
        """A name that most samples carry, such as a placeholder, would make one group of all."""
        assert find_copies(["image.jpg"] * 9 + ["b"]).values == [None] * 10

    def test_locked_apart(self):
        """A picture that is locked into two subsets is left as it is, and counted."""
        found = find_copies(["a", "a", "b", "b"], ["train", "test", None, "test"])
        assert found.values == [None, None, "b", "b"]
        assert found.n_torn == 1


class TestRegex:
    """Groups by file names."""

    def test_first_parentheses_or_all(self):
        """The text of the first parentheses counts, else all that matches; an empty text names nothing."""
        assert regex_values(r"^(.)(.)", ["ab", "ac", "b", None]) == ["a", "a", None, None]
        assert regex_values(r"[0-9]+", ["x12.jpg", "y12.jpg", "z.jpg"]) == ["12", "12", None]
        assert regex_values(r"[0-9]*", ["1x", "x"]) == ["1", None]

    @pytest.mark.parametrize(
        ("regex", "files", "message"),
        [
            ("(", ["a"], r"group_regex='\(' is no regular expression"),
            ("z", ["a.jpg", "b.jpg"], r"finds no text in any file name \(a.jpg, b.jpg\)"),
            ("z", None, "the samples have none"),
            ("z", [None], "the samples have none"),
        ],
    )
    def test_refused(self, regex, files, message):
        """What finds nothing is named, with some of the file names."""
        with pytest.raises(EvoSplitError, match=message):
            regex_values(regex, files)

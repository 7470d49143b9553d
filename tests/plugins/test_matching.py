"""Samples are recognised by id, else by file; copies of one picture stay together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.matching import copies_together, find_samples, picture_of, plain_path, replayed

HASH = "0123456789abcdef0123456789abcdef"


def a_split(ids, files=None):
    """Split samples of these ids at random; perhaps the split knows their files."""
    from dataclasses import replace

    counts = LabelCounts(np.ones((len(ids), 1), dtype=int), ids=ids)
    made = evosplit.split(counts, (0.5, 0.5), method="random")
    return replace(made, file_names=None if files is None else tuple(files))


def found(split, ids, files=None):
    """Find samples of these ids and files in a split."""
    return find_samples(split, {"image id": ids}, files, where="the data").tolist()


def test_by_id():
    """In any order; the type of an id counts."""
    assert found(a_split([7, 8, 9]), [9, 7, 8]) == [2, 0, 1]
    with pytest.raises(EvoSplitError, match=r"the data is not what was split: by image id, .* differ in type only"):
        found(a_split([7, 8]), ["7", "8"])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (["a.jpg", "b.jpg"], ["b.jpg", "a.jpg"]),
        (["./a.jpg", "b.jpg"], ["b.jpg", "a.jpg"]),
        (["a.jpg", "b.jpg"], ["/data/images/b.jpg", "/data/images/a.jpg"]),
        (["x/a.jpg", "y/a.jpg"], ["/data/y/a.jpg", "/data/x/a.jpg"]),
        (["a.jpg", "sub/a.jpg"], ["/data/sub/a.jpg", "/data/a.jpg"]),
        (["C:\\x\\a.jpg", "C:\\x\\b.jpg"], ["/home/b.jpg", "/home/a.jpg"]),
        (["1/a.jpg", "2/b.jpg"], ["3/b.jpg", "4/a.jpg"]),  # by name alone
    ],
)
def test_by_file(theirs, ours):
    """Where ids differ: by path, by the path below a folder, by its last parts, by the name."""
    assert found(a_split([1, 2], theirs), ["p", "q"], ours) == [1, 0]
    assert found(a_split(theirs), [1, 2], ours) == [1, 0]  # ids of the split may be the names
    assert found(a_split([1, 2], theirs), ours) == [1, 0]  # and those of the data


def test_files_know_better_than_numbers_that_agree():
    """Row numbers, say, equal image ids by chance; files that all match say which sample is which."""
    assert found(a_split([0, 1], ["a.jpg", "b.jpg"]), [0, 1], ["b.jpg", "a.jpg"]) == [1, 0]
    assert found(a_split([0, 1], ["a.jpg", "b.jpg"]), [1, 0], ["moved.jpg", "gone.jpg"]) == [1, 0]
    assert found(a_split([0, 1], ["a.jpg", "a.jpg"]), [1, 0], ["a.jpg", "a.jpg"]) == [1, 0]


@pytest.mark.parametrize(
    ("theirs", "ours", "message"),
    [
        (None, None, "2 ids are not in the split .*; neither names files; replay it on the same data, or split anew"),
        (["a.jpg", "b.jpg"], None, "the data names no files"),
        (None, ["a.jpg", "b.jpg"], "the split names no files"),
        (["a.jpg", "b.jpg"], ["a.jpg", "c.jpg"], r"by file name, 1 names are not in the split \(first: 'c.jpg'\)"),
        (["x/a.jpg", "y/a.jpg"], ["a.jpg", "a.jpg"], "by file name, 1 names are repeated|file names are not unique"),
    ],
)
def test_what_differs_is_said(theirs, ours, message):
    """An error says how ids and names differ, and what names no files."""
    with pytest.raises(EvoSplitError, match=message):
        found(a_split([1, 2], theirs), [3, 4], ours)


def test_replayed_is_in_the_order_of_the_data():
    """Subsets and files go with the samples; counts and front stay behind."""
    split = a_split([1, 2, 3, 4], ["a", "b", "c", "d"])
    again = replayed(split, np.array([3, 1, 0, 2]), np.array(["w", "x", "y", "z"]))
    assert again.file_names == ("d", "b", "a", "c")
    assert again.assignment.tolist() == split.assignment[[3, 1, 0, 2]].tolist()
    assert (again.front, again.counts) == (None, None)


@given(st.lists(st.text("ab/.\\", max_size=8)))
def test_plain_path_is_stable(names):
    """Written once in one way, a path stays so."""
    for name in names:
        assert plain_path(plain_path(name)) == plain_path(name)


@pytest.mark.parametrize(
    ("name", "picture"),
    [
        ("./x.jpg", "x.jpg"),
        (f"cat_jpg.rf.{HASH}.jpg", "cat.jpg"),
        (f"train/my_cat_png.rf.{HASH}.jpg", "train/my_cat.png"),
        (f"cat_1_jpeg.rf.{HASH}.jpg", "cat_1.jpeg"),
        ("cat.rf.Ab3dEf6hIj9kLm2nOp5q.jpg", "cat.jpg"),
        ("a.rf.jpg", "a.rf.jpg"),  # no hash
        ("surf.rf.short.jpg", "surf.rf.short.jpg"),
    ],
)
def test_picture_of(name, picture):
    """Roboflow's copies of one source are one picture; nothing else is taken for one."""
    assert picture_of(name) == picture


def test_copies_stay_together():
    """Samples of one picture are one group; the note says how many there are."""
    made, notes = copies_together(None, ["a", "b", None, "a", None])
    assert made == ["picture a", None, None, "picture a", None]
    assert notes == ["2 samples are copies of 1 picture, by file name; they stay together."]
    assert copies_together(None, ["a", "b", None]) == (None, [])
    assert copies_together(["x", None, "x"], ["a", "b", "c"]) == (["x", None, "x"], [])


@given(st.data())
def test_copies_and_groups_are_joined(data):
    """Two samples are in one group if and only if a chain of equal groups and pictures links them."""
    n = data.draw(st.integers(6, 12))
    groups = data.draw(st.lists(st.sampled_from([None, 1, 2, "1"]), min_size=n, max_size=n))
    pictures = data.draw(st.lists(st.sampled_from([None, *"abcdef"]), min_size=n, max_size=n))
    made = list(copies_together(groups, pictures)[0])
    often = {name for name in pictures if name and 1 < pictures.count(name) <= n / 2}
    linked = np.eye(n, dtype=bool)
    for i in range(n):
        for j in range(n):
            same_group = groups[i] is not None and (type(groups[i]), groups[i]) == (type(groups[j]), groups[j])
            linked[i, j] |= same_group or (pictures[i] in often and pictures[i] == pictures[j])
    for _ in range(n):
        linked = linked @ linked
    for i in range(n):
        for j in range(i):
            together = made[i] is not None and (type(made[i]), made[i]) == (type(made[j]), made[j])
            assert together == linked[i, j]


def test_what_no_picture_is_named_by():
    """A name that most samples carry, such as a placeholder, would make one group of all."""
    assert copies_together(None, ["image.jpg"] * 9 + ["b"]) == (None, [])


def test_locked_apart():
    """A picture that is locked into two subsets is left as it is, and said to leak."""
    pictures = ["a", "a", "b", "b"]
    made, notes = copies_together(None, pictures, locked=["train", "test", None, "test"])
    assert made == [None, None, "picture b", "picture b"]
    assert notes[0] == "1 pictures are locked into two subsets or more, so they leak."


def test_methods_without_groups():
    """They split as before, and the note says what follows."""
    made, notes = copies_together(None, ["a", "a", "b"], method="nsga2")
    assert made is None
    assert "knows no groups, so that they may be in different subsets" in notes[0]

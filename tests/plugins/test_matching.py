"""Samples are recognised by id, else by file."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evosplit
from evosplit import EvoSplitError, EvoSplitWarning, LabelCounts
from evosplit_plugins.matching import find_members, find_samples, picture_of, plain_path, replayed

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


def test_by_row_number():
    """A range is matched like the list of its numbers."""
    for ids in ([0, 1, 2, 3], [3, 1, 0, 2]):
        assert found(a_split(ids), range(4)) == found(a_split(ids), [0, 1, 2, 3])
    with pytest.raises(EvoSplitError, match=r"1 id is not in the split \(first: 4\)"):
        found(a_split([3, 1, 0, 2]), range(5))


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
    assert found(a_split([0, 1], ["a.jpg", "b.jpg"]), [1, 0], ["a.jpg", "renamed.jpg"]) == [1, 0]
    assert found(a_split([0, 1], ["a.jpg", "a.jpg"]), [1, 0], ["a.jpg", "a.jpg"]) == [1, 0]


@pytest.mark.parametrize("ids", [[1, 0], range(2)])
def test_numbers_of_other_data_are_not_taken_in_silence(ids):
    """Where numbers agree but not one file does, a warning asks whether it is the same data."""
    asked = r"ids of the data are those of the split, but none .* \(new/x\.jpg; there a\.jpg\): is it the same data\?"
    with pytest.warns(EvoSplitWarning, match=asked):
        assert found(a_split([0, 1], ["a.jpg", "b.jpg"]), ids, ["new/x.jpg", "y.jpg"]) == list(ids)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for files in (["a.png", "x.png"], ["1/b.jpg", "2/b.jpg"], None):
            assert found(a_split([0, 1], ["a.jpg", "b.jpg"]), ids, files) == list(ids)
        assert found(a_split([0, 1]), ids, ["x.jpg", "y.jpg"]) == list(ids)


@pytest.mark.parametrize(
    ("theirs", "ours", "message"),
    [
        (None, None, "2 ids are not in the split .*; neither names files; replay it on the same data, or split anew"),
        (["a.jpg", "b.jpg"], None, "the data names no files"),
        (None, ["a.jpg", "b.jpg"], "the split names no files"),
        (["a.jpg", "b.jpg"], ["a.jpg", "kids.jpg"], r"by file name, 1 name is not in the split \(first: 'kids.jpg'\)"),
        (["x/a.jpg", "y/a.jpg"], ["a.jpg", "a.jpg"], "by file name, 1 name is repeated|file names are not unique"),
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


class TestMembers:
    """Some samples, named by a list or another file."""

    FILES = ("data/a/1.jpg", "data/b/1.jpg", "data/b/2.jpg", "data/b/2.jpg")

    @pytest.mark.parametrize(
        ("wanted", "rows"),
        [
            (["data/a/1.jpg"], [0]),
            (["./b/1.jpg"], [1]),
            (["/elsewhere/b/1.jpg", "a/1.jpg"], [1, 0]),
            (["2.jpg"], [2, 3]),  # both samples of that file
            ([r"b\2.jpg"], [2, 3]),
        ],
    )
    def test_by_file(self, wanted, rows):
        """In the strictest way that finds all of them."""
        assert find_members(wanted, wanted, [7, 8, 9, 10], self.FILES, where="list").tolist() == rows

    @pytest.mark.parametrize(
        ("wanted", "files", "rows"),
        [
            (["images/a/x.jpg"], ["x.jpg", "a/x.jpg"], [1]),  # not x.jpg, though they share no more than a folder
            (["images/x.jpg"], ["x.jpg", "a/x.jpg"], [0]),
            (["images/a/x.jpg", "images/x.jpg"], ["x.jpg", "a/x.jpg"], [1, 0]),
            (["/data/a/x.jpg"], ["/home/b/x.jpg", "/home/a/x.jpg"], [1]),
            (["a/x.jpg", "b/x.jpg"], ["x.jpg", "y.jpg"], None),  # one file for two
            (["a/x.jpg", "z.jpg"], ["x.jpg", "y.jpg"], None),
        ],
    )
    def test_by_the_longest_end(self, wanted, files, rows):
        """A part of the files is found by what each path has in common with a file, and by nothing else."""
        ids = list(range(len(files)))
        if rows is None:
            with pytest.raises(EvoSplitError, match="are not in the data, by id or file name"):
                find_members(wanted, wanted, ids, files, where="list")
        else:
            assert find_members(wanted, wanted, ids, files, where="list").tolist() == rows

    def test_a_name_of_several_files_is_not_guessed(self):
        """1.jpg is in two folders."""
        message = "list: 1 of 1 samples are not in the data, by id or file name: '1.jpg'"
        with pytest.raises(EvoSplitError, match=message):
            find_members(["1.jpg"], ["1.jpg"], [7, 8, 9, 10], self.FILES, where="list")

    def test_by_id(self):
        """Where one side has no files; numbers may come as text from a list."""
        assert find_members([9, 7], None, [7, 8, 9, 10], self.FILES, where="x").tolist() == [2, 0]
        assert find_members(["9", "7"], ["9", "7"], [7, 8, 9], None, where="x").tolist() == [2, 0]
        with pytest.raises(EvoSplitError, match=r"x: 2 of 3 samples are not in the data, by id: 1, 2; name samples"):
            find_members([7, 1, 2], None, [7, 8], None, where="x")

    def test_numbers_do_not_stand_in_for_files(self):
        """Where both sides name their files, ids that agree by chance find nothing."""
        with pytest.raises(EvoSplitError, match=r"x: 1 of 2 files are not in the data: 'z\.jpg'; name files"):
            find_members([7, 8], ["b/2.jpg", "z.jpg"], [7, 8, 9, 10], self.FILES, where="x")
        with pytest.raises(EvoSplitError, match="x: its file names fit several files of the data"):
            find_members([7], ["1.jpg"], [7, 8, 9, 10], self.FILES, where="x")

    @given(st.data())
    def test_any_part_is_found(self, data):
        """Whatever part of the samples is named by its paths is found."""
        paths = st.text("ab/", min_size=1, max_size=6).map(lambda text: f"r/{text}x")
        files = data.draw(st.lists(paths, min_size=1, unique_by=plain_path))
        rows = data.draw(st.lists(st.sampled_from(range(len(files))), min_size=1, unique=True))
        wanted = [files[row] for row in rows]
        assert find_members(wanted, wanted, list(range(len(files))), files, where="x").tolist() == rows

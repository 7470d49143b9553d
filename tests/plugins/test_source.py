"""`Source`: samples in the form that splitting, replaying and auditing work on, and how others name them."""

from __future__ import annotations

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.source import Placement, Source

COUNTS = LabelCounts.from_lists([["cat"], ["dog"], ["cat"], [], ["dog"]], ids=[5, 6, 7, 8, 9])
FILES = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]


def source(**more):
    """Give five samples."""
    return Source(counts=COUNTS, adapter="mine", inputs=("some.data",), files=FILES, **more)


def test_placement_of_some_subsets():
    """Subsets come in the order asked for; whoever is in none of them, or in no subset, is nowhere."""
    divided = source(subsets=Placement(("train", "val", "test"), np.array([0, 0, 1, 2, -1])))
    placed = divided.placement(["test", "train"])
    assert (placed.names, placed.assignment.tolist(), placed.sizes) == (("test", "train"), [1, 1, -1, 0, -1], (1, 2))


def test_placement_of_counted_rows():
    """Rows that stand for several samples are in several subsets."""
    assert Placement(("a", "b"), np.array([[3, 0], [1, 2]])).sizes == (4, 2)


@pytest.mark.parametrize(
    ("subsets", "there"),
    [(None, "it is not divided yet"), (Placement(("train",), np.zeros(5, dtype=int)), "its subsets are 'train'")],
)
def test_a_subset_that_is_not_there(subsets, there):
    """It is named, with those there are, and with another way to say what is locked."""
    message = rf"locked= keeps the subset 'test', which some\.data does not have: {there}; name the samples instead"
    with pytest.raises(EvoSplitError, match=message):
        source(subsets=subsets).placement(["test"])


def test_members_in_several_forms(tmp_path):
    """Ids, in a list or an array; a list of files; a saved split, of which the subset of that name counts; several."""
    listed, saved = tmp_path / "test.txt", tmp_path / "split.json"
    listed.write_text("\n./b.jpg\n\n other/c.jpg \n")
    evosplit.split(COUNTS, {"train": 4, "test": 1}, locked={"test": [9]}).save(saved)
    for reference, rows in (
        ([6, 7], [1, 2]),
        (np.array([6, 7]), [1, 2]),
        (listed, [1, 2]),
        (str(listed), [1, 2]),
        (saved, [4]),
        ([saved, str(listed)], [4, 1, 2]),
    ):
        assert source().members("test", reference).tolist() == rows


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\n \n", r"test\.txt' names no sample to lock into 'test'; write one in each line"),
        (b"\xff\xfea", r"test\.txt', which locks samples into 'test': it is not UTF-8 at byte 0"),
        (None, r"test\.txt', which locks samples into 'test': No such file or directory"),
    ],
)
def test_lists_that_cannot_be_read(tmp_path, content, message):
    """The error names the file, the subset and the reason."""
    path = tmp_path / "test.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EvoSplitError, match=message):
        source().members("test", path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, r"locked\['test'\] is 7; pass the ids of the samples, or the path of a list"),
        ({5: True}, r"locked\['test'\] is \{5: True\}; pass the ids"),
        (np.array([True, False]), r"locked\['test'\] is a mask; pass ids, such as numpy\.flatnonzero\(mask\)"),
    ],
)
def test_what_names_no_samples(given, message):
    """A number, a mapping and a mask are no ids."""
    with pytest.raises(EvoSplitError, match=message):
        source().members("test", given)


def test_what_a_plain_source_does_not_have():
    """Fields and contents are a matter of the adapter; without, the error names what was asked for."""
    assert source().fields(groups=(), strata=()).groups == {}
    with pytest.raises(
        EvoSplitError, match=r"^group_by='clip' is no field of some\.data; it has none beside the labels"
    ):
        source().fields(groups=["clip"], strata=["weather"])
    with pytest.raises(EvoSplitError, match=r"^stratify_by='weather' is no field of some\.data"):
        source().fields(groups=(), strata=["weather"])
    with pytest.raises(
        EvoSplitError, match=r"^same_bytes=True compares the files of the samples, but those of some\.data"
    ):
        source().contents()


def test_what_identifies_samples():
    """Files where there are any, as they are compared; else ids."""
    assert source().shared_keys() == {"file name": FILES}
    assert Source(counts=COUNTS, adapter="mine", files=[None] * 5).shared_keys() == {"id": [5, 6, 7, 8, 9]}
    assert Source(counts=COUNTS, adapter="mine").called == "the mine data"

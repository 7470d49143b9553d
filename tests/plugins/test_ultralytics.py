"""The file conventions of Ultralytics: paths, lines and yaml are read back as they were meant."""

from __future__ import annotations

import os

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evosplit import EvoSplitError
from evosplit_plugins.ultralytics import box_line, label_path, subset_keys, subset_values, yaml_value

sizes = st.integers(1, 4000)
numbers = st.floats(-5000, 5000, allow_nan=False)


@given(st.lists(st.sampled_from(["images", "labels", "a", "images.v2", "Images"]), max_size=4), st.booleans())
def test_label_paths(folders, is_deep):
    """The rule of Ultralytics, as it writes it: the last folder called images becomes labels."""
    image = "/".join(["", *folders, "images" if is_deep else "x", "pic.v1.jpg"])
    sign, other = f"{os.sep}images{os.sep}", f"{os.sep}labels{os.sep}"
    assert label_path(image) == other.join(image.rsplit(sign, 1)).rsplit(".", 1)[0] + ".txt"


@given(numbers, numbers, numbers, numbers, sizes, sizes, st.booleans())
def test_boxes_are_cut_at_the_edges(x, y, width, height, w, h, corners):
    """What is written is the part of the box that lies in the image, in shares of its sides; nothing, nothing."""
    line = box_line(3, [x, y, width, height], (w, h), corners=corners)
    left, right = max(x / w, 0), min((x + width) / w, 1)
    top, bottom = max(y / h, 0), min((y + height) / h, 1)
    if line is None:
        assert right - left <= 1e-12 or bottom - top <= 1e-12
        return
    label, *values = line.split()
    assert label == "3"
    values = list(map(float, values))
    assert all(0 <= value <= 1 for value in values)
    if corners:
        assert values == pytest.approx([left, top, right, top, right, bottom, left, bottom], rel=1e-5, abs=1e-6)
    else:
        expected = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
        assert values == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("box", [None, [], [1, 2, 3], [1, 2, 3, "4"], [1, 2, 3, True], "1234", [0, 0, 0, 5]])
def test_no_box(box):
    """What is no box of four numbers gives no line."""
    assert box_line(0, box, (10, 10)) is None


text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)
awkward = st.sampled_from(
    ["no", "Null", "1e3", "2024-01-01", "0x1f", "a: b", "- a", "#a", "'", '"', "~", ".5", "a\\b", "="]
)


@given(st.lists(text | awkward, max_size=4))
def test_yaml_is_read_as_it_was_meant(values):
    """A text stays a text, whatever YAML might take it for; so does a list of them."""
    assert yaml.safe_load(f"key: {yaml_value(values)}") == {"key": values}
    for value in values:
        assert yaml.safe_load(f"key: {yaml_value(value)}") == {"key": value}


def test_subsets_have_the_keys_of_ultralytics():
    """Train and val are there, val by any of its names; a fold trains on all others."""
    assert subset_keys(["valid", "train", "extra"]) == {"train": "train", "val": "valid", "extra": "extra"}
    where = {"fold0": "0.txt", "fold1": "1.txt", "fold2": "2.txt"}
    assert subset_values(where, "fold2") == {"train": ["0.txt", "1.txt"], "val": "2.txt"}
    assert subset_values({"train": "t", "test": "e"}) == {"train": "t", "val": "e", "test": "e"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train", "val", "valid"], "val and valid are one subset for Ultralytics; rename one of them"),
        (["train", "extra"], "trains on 'train' and validates on 'val', but the subsets are train, extra; name them"),
        (["val", "test"], "trains on 'train'"),
    ],
)
def test_subsets_that_ultralytics_does_not_take(names, message):
    """Refused with what it asks for."""
    with pytest.raises(EvoSplitError, match=message):
        subset_keys(names)

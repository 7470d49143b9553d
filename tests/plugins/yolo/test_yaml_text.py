"""A yaml file with other subsets is otherwise the same, byte for byte."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evosplit_plugins.ultralytics import yaml_value
from evosplit_plugins.yolo.yaml_text import edited

NEW = {"train": "train.txt", "val": "val.txt"}
GONE = ["path", "train", "val", "test", "download"]


def edit(text, new=NEW, gone=GONE):
    """Edit a text, and check that it says what it should."""
    content = yaml.safe_load(text)
    made = edited(text, content, new, [key for key in gone if key in content])
    assert yaml.safe_load(made) == {**{key: value for key, value in content.items() if key not in gone}, **new}
    return made


def test_comments_and_unknown_keys_stay():
    """All that is not about where the images are stays as it was written."""
    text = """\
# My data
path: ../datasets/mine  # where it lies
train: images/train  # 118 images
val:
  # two folders
  - images/val
  - images/more

# Classes
names:
  0: person   # humans
  1: 'traffic light'

nc: 2
roboflow: {workspace: x,   version: 3}
download: |
  import os
  os.system("echo hi")

# The end
kpt_shape: [17, 3]
"""
    assert (
        edit(text)
        == """\
# My data
train: train.txt
val: val.txt

# Classes
names:
  0: person   # humans
  1: 'traffic light'

nc: 2
roboflow: {workspace: x,   version: 3}

# The end
kpt_shape: [17, 3]
"""
    )


@pytest.mark.parametrize(
    "text",
    [
        "{train: a, val: b, names: [x, y]}\n",  # in braces
        "train: &here images\nval: b\nmore: *here\nnames: [x]\n",  # an anchor on a line that goes
        "names: [x]\n",  # nothing to replace
        "names: [x]",  # no line end
        "---\ntrain:\nval: b\nnames: [x]\n...\n",  # an empty value, marks of a document
        "train: [a,\n  b]\nval: >\n  long\n  text\nnames:\n- x\n- y\n",
        "'train': a\n\"val\": b\nnames: [ä, 'no']\n",
        "train: a\r\nval: b\r\nnames: [x]\r\n",
        "test: a\n\n\n# c\ntrain: b\nnames: [x]\n",
    ],
    ids=range(9),
)
def test_forms(text):
    """Whatever form it is written in, it says the same."""
    made = edit(text)
    assert ("\r\n" in made) == ("\r\n" in text)


names = st.text(st.characters(categories=["L", "N", "P", "Z", "S"]), min_size=1, max_size=8)
values = st.one_of(
    names, st.integers(), st.booleans(), st.lists(names, max_size=3), st.dictionaries(names, names, max_size=2)
)


@given(st.dictionaries(names | st.sampled_from(GONE), values, max_size=6), st.booleans())
def test_any_content(content, flow):
    """Any keys and values survive."""
    edit(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, default_flow_style=flow))


@given(st.one_of(names, st.lists(names, min_size=1)))
def test_yaml_value(value):
    """What is written as a value is read back."""
    assert yaml.safe_load(f"key: {yaml_value(value)}") == {"key": value}


def test_without_a_text():
    """Without a file it is written anew."""
    made = edited("", {"names": ["a", "no"]}, NEW, [])
    assert yaml.safe_load(made) == {"names": ["a", "no"], **NEW}

"""Ids are mended in the bytes of a file, and every other byte stays."""

from __future__ import annotations

import json

import pytest
from coco_files import elements, instances, panoptic, write
from hypothesis import given
from hypothesis import strategies as st

from evosplit_plugins.coco.reading import UNSET, read_file, views
from evosplit_plugins.coco.table import Table, splice

values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab,:{", max_size=3), inner, max_size=3),
    max_leaves=5,
)
keys = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
written = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def read(tmp_path, content, *, coerce=True):
    """Read a file into a table."""
    return Table(*read_file(write(tmp_path / "a.json", content)), coerce)


@given(st.dictionaries(keys, values, max_size=5), st.dictionaries(keys, values, max_size=3), written)
def test_keys_are_replaced(given_, further, how):
    """Values of keys that are there are new, in the same order; the bytes between them are as they were."""
    changes = {key: json.dumps(f"new {number}").encode() for number, key in enumerate([*[*given_][::2], *further])}
    data = json.dumps(given_, **how).encode()
    made = splice(data, data, changes)
    expected = {key: json.loads(changes[key]) if key in changes else value for key, value in given_.items()}
    assert list(json.loads(made).items()) == list(expected.items())
    old = {key: bytes(value) for key, value in views(data).items() if key in changes}
    assert splice(made, made, old) == data


@given(st.lists(st.integers(-99, 99), min_size=1), st.data(), st.sampled_from([",", " , ", ",\n"]))
def test_positions_are_replaced(numbers, data, between):
    """In a list by position; what stands between the values is kept."""
    chosen = data.draw(st.sets(st.sampled_from(range(len(numbers)))))
    text = f"[ {between.join(map(str, numbers))} ]".encode()
    new = dict.fromkeys(chosen, b"1e3")
    expected = f"[ {between.join('1e3' if at in chosen else str(n) for at, n in enumerate(numbers))} ]"
    assert splice(text, text, new) == expected.encode()


def test_only_what_changes_is_written(tmp_path):
    """Elements whose ids are integers already have no new bytes; nor has a file that nobody asked to mend."""
    content = instances(6)
    content["images"][2]["id"] = "3"
    content["annotations"][1]["category_id"] = 20.0
    table = read(tmp_path, content)
    edits = table.edits()
    before = (tmp_path / "a.json").read_bytes()
    (image,) = edits.images.items()
    (annotation,) = edits.annotations.items()
    assert image == (2, elements(before, "images")[2].replace(b'"id": "3"', b'"id": 3'))
    assert annotation == (1, elements(before, "annotations")[1].replace(b"20.0", b"20"))
    assert edits.categories is None
    assert table.image_ids == list(range(1, 7))
    untouched = read(tmp_path, content, coerce=False).edits()
    assert not untouched.images
    assert not untouched.annotations


def test_categories_and_segments(tmp_path):
    """Ids of categories are mended in their list, and in the segments of panoptic files."""
    content = panoptic(4)
    content["categories"][1]["id"] = "20"
    content["annotations"][1]["segments_info"][0]["category_id"] = "20"
    table = read(tmp_path, content)
    edits = table.edits()
    assert json.loads(edits.categories) == panoptic(4)["categories"]
    ((at, data),) = edits.annotations.items()
    assert (at, json.loads(data)) == (1, panoptic(4)["annotations"][1])
    assert table.category_ids == [10, 20, 30, 40, 50]
    assert table.segments[1] == [20]


def test_new_ids(tmp_path):
    """Annotations that are given a new id have it in their bytes, also without coercing."""
    table = read(tmp_path, instances(4), coerce=False)
    table.new_ids[0] = 77
    ((at, data),) = table.edits().annotations.items()
    assert (at, json.loads(data)) == (0, {**instances(4)["annotations"][0], "id": 77})


@pytest.mark.parametrize(("value", "shown"), [("7", 'annotations[0] (id "7")'), (7.50, "annotations[0] (id 7.5)")])
def test_annotations_are_called_as_they_are_written(tmp_path, value, shown):
    """A message shows what a search in the file finds."""
    content = instances(3)
    content["annotations"][0]["id"] = value
    del content["annotations"][1]["id"]
    table = read(tmp_path, content)
    assert table.called(0) == shown
    assert table.called(1) == "annotations[1]"
    assert table.annotation_ids[1] is UNSET
    assert table.written(1, "id") == "missing"
    assert table.written(1, "image_id") == "1"

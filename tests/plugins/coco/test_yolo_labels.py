"""Boxes and polygons as lines of YOLO: inside of the image, with all corners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ultralytics_client import client  # noqa: F401  (a fixture)

from evosplit_plugins.coco.yolo_labels import polygon_line
from evosplit_plugins.ultralytics import box_line

numbers = st.floats(-50, 250, allow_nan=False).map(lambda value: round(value, 2))


@given(st.tuples(numbers, numbers, numbers, numbers), st.booleans())
def test_boxes_stay_inside(box, corners):
    """A box is cut at the edges; nothing is written of one that lies outside."""
    line = box_line(1, list(box), (100, 200), corners=corners)
    x, y, w, h = box
    inside = w > 0 and h > 0 and x < 100 and y < 200 and x + w > 0 and y + h > 0
    if line is None:
        assert not inside or min(w, h) < 0.011
    else:
        assert inside
        assert all(0 <= float(value) <= 1 for value in line.split()[1:])


rings = st.lists(st.tuples(numbers, numbers), min_size=3, max_size=6).map(lambda points: [v for p in points for v in p])


@given(st.lists(rings, min_size=1, max_size=4))
def test_joined_polygons_have_all_corners(parts):
    """However many parts, the polygon has the corners of all of them, inside of the image, and no others."""
    line = polygon_line(0, parts, (100, 200))
    corners = {
        (min(max(x / 100, 0), 1), min(max(y / 200, 0), 1))
        for part in parts
        for x, y in zip(part[::2], part[1::2], strict=True)
    }
    if line is None:
        assert len({x for x, _ in corners}) < 2 or len({y for _, y in corners}) < 2
    else:
        values = list(map(float, line.split()[1:]))
        found = set(zip(values[::2], values[1::2], strict=True))
        assert {(float(f"{x:.6g}"), float(f"{y:.6g}")) for x, y in corners} == found


@pytest.mark.parametrize("box", [None, [1, 2, 3], ["a", 1, 1, 1], {}, [1, 1, 1, True]], ids=str)
def test_what_is_no_box(box):
    """Something else than four numbers is no box."""
    assert box_line(0, box, (10, 10)) is None
    assert polygon_line(0, [box, [1, 1, 2, 2]], (10, 10)) is None

"""Sizes of boxes are those of COCO's own evaluation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit_plugins.box_sizes import LIMITS, SIZES, size_of

cocoeval = pytest.importorskip("pycocotools.cocoeval")


def test_limits_are_those_of_pycocotools():
    """The areas between which its scores tell small, medium and large apart."""
    asked = cocoeval.Params("bbox")
    ranges = dict(zip(asked.areaRngLbl, asked.areaRng, strict=True))
    assert [ranges[name] for name in SIZES] == [[0, LIMITS[0]], [LIMITS[0], LIMITS[1]], [LIMITS[1], 1e10]]


@given(st.floats(0, 1e9) | st.sampled_from(LIMITS))
def test_every_area_has_one_size(area):
    """A limit belongs to the larger size."""
    assert [name for name in SIZES if name == size_of(area)] == [
        "small" if area < LIMITS[0] else "large" if area >= LIMITS[1] else "medium"
    ]

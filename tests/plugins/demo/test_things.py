"""The things of the demo: polygons in units of their own size, and the shapes that they are made of."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit_plugins.demo import things
from evosplit_plugins.demo.worlds import HABITS, WORLDS

STANDING = ("boat", "cat", "flower", "house", "snowman", "tree", "whale")
WHERE = [(guest.label, world) for world in WORLDS for guest in WORLDS[world].guests]
coordinates = st.floats(-5, 5)


def drawn(label, world, n=12):
    """Draw a thing some times."""
    return [list(HABITS[label].draw(np.random.default_rng(seed), world)) for seed in range(n)]


@pytest.mark.parametrize(("label", "world"), WHERE)
def test_things_are_sound(label, world):
    """Each has a silhouette of about its own size, and polygons with an area, in colours that there are."""
    for parts in drawn(label, world):
        solid = np.array([point for part in parts if part.solid for point in part.points])
        extent = np.ptp(solid, axis=0)
        assert 0.5 < extent.max() < 2.3
        assert np.abs(solid).max() < 1.4
        for part in parts:
            x, y = np.array(part.points).T
            assert len(part.points) >= 3
            assert abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) > 1e-4
            assert len(part.colour) in (3, 4)
            assert all(isinstance(value, int) and 0 <= value <= 255 for value in part.colour)


@pytest.mark.parametrize("label", STANDING)
def test_what_stands_stands_at_the_origin(label):
    """Its lowest point is near it, above or below, or it would float or sink."""
    for world in {world for of, world in WHERE if of == label}:
        for parts in drawn(label, world):
            lowest = max(y for part in parts if part.solid for _, y in part.points)
            assert -0.05 <= lowest <= 0.13


@pytest.mark.parametrize(("label", "world"), WHERE)
def test_same_numbers_same_thing(label, world):
    """Chance is what it is given, nothing else."""
    assert drawn(label, world, 2) == drawn(label, world, 2)


@given(st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=6), st.floats(-400, 400))
def test_turning_keeps_distances(points, degrees):
    """What is turned and moved is as large as before; a whole turn changes nothing."""
    turned = things.turned(points, degrees, 1, 2)
    for (a, b), (c, d) in zip(pairwise(points), pairwise(turned), strict=True):
        assert math.dist(c, d) == pytest.approx(math.dist(a, b), abs=1e-9)
    assert np.array(things.turned(points, 360)) == pytest.approx(np.array(points), abs=1e-9)
    assert things.turned([(1, 0)], 90, 5, 5)[0] == pytest.approx((5, 6))


@given(st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=6), st.integers(1, 8))
def test_a_smooth_curve_goes_through_its_points(points, steps):
    """Every so many points one that was given, in order."""
    curve = things.smooth(points, steps)
    assert len(curve) == steps * len(points)
    assert np.array(curve[::steps]) == pytest.approx(np.array(points, dtype=float), abs=1e-9)


def test_shapes_by_hand():
    """An ellipse keeps its radii, a stroke its width, a star its two radii; a path is read as it is written."""
    for x, y in things.oval(1, 2, 3, 4, 30, 200):
        assert ((x - 1) / 3) ** 2 + ((y - 2) / 4) ** 2 == pytest.approx(1)
    assert things.oval(0, 0, 1, 1, 0, 90)[0] == pytest.approx((1, 0))
    assert things.oval(0, 0, 1, 1, 0, 90)[-1] == pytest.approx((0, 1))
    a, b, c, d = things.line(0, 0, 3, 4, 0.5)
    assert [math.dist(a, d), math.dist(b, c), math.dist(a, b)] == pytest.approx([0.5, 0.5, 5])
    assert [math.hypot(*point) for point in things.spikes(3, 1, 2)] == pytest.approx([2, 1] * 3)
    assert things.path("0,-.5 1e-1,2") == [(0, -0.5), (0.1, 2)]


@given(st.tuples(*[st.integers(0, 255)] * 4), st.floats(0, 2))
def test_shades(colour, factor):
    """Darker below 1 and lighter above, never beyond what there is; the alpha stays."""
    made = things.shade(colour, factor)
    assert made[3] == colour[3]
    for new, old in zip(made[:3], colour[:3], strict=True):
        assert 0 <= new <= old if factor <= 1 else old - 1 <= new <= 255
    assert things.shade(colour, 1) == colour

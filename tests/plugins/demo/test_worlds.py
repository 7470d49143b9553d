"""The worlds of the demo: who lives where, and the canvas that they are painted on."""

from __future__ import annotations

import numpy as np
import pytest

from evosplit_plugins.demo.worlds import HABITS, HEIGHT, WIDTH, WORLDS, Canvas


def pixels(canvas):
    """Give the finished picture as an array."""
    return np.asarray(canvas.finish())


def test_everybody_lives_somewhere():
    """Worlds come as often as is said, and show things that can be drawn, within the picture."""
    assert sum(world.weight for world in WORLDS.values()) == pytest.approx(1)
    guests = [guest for world in WORLDS.values() for guest in world.guests]
    assert {guest.label for guest in guests} == set(HABITS)
    for world in WORLDS.values():
        labels = [guest.label for guest in world.guests]
        for at, guest in enumerate(world.guests):
            assert 0 < guest.chance <= 1
            assert 1 <= guest.least <= guest.most
            assert 0 < guest.top < guest.bottom < 1
            assert not guest.after or guest.after in labels[:at]  # else nothing would have been seen before it


@pytest.mark.parametrize("name", WORLDS)
def test_backdrops(name):
    """Each is painted all over, the same for the same numbers and another for others."""
    made = []
    for seed in (0, 0, 1):
        canvas = Canvas(1)
        canvas.image.paste((255, 0, 255), (0, 0, WIDTH, HEIGHT))
        WORLDS[name].backdrop(canvas, np.random.default_rng(seed))
        made.append(pixels(canvas))
        assert not (made[-1] == (255, 0, 255)).all(axis=2).any()
    assert (made[0] == made[1]).all()
    assert (made[0] != made[2]).any()


def test_light():
    """By night colours are dimmer, and what shines through does so as much."""
    assert WORLDS["night"].lights((100, 100, 100, 50)) == (62, 62, 86, 50)
    assert WORLDS["meadow"].lights((7, 8, 9)) == (7, 8, 9)


def test_canvas_fills_what_it_is_told():
    """Polygons lie where the pixels of the finished picture are; an alpha lets the ground shine through."""
    canvas = Canvas(3)
    canvas.fill([(10, 20), (30, 20), (30, 40), (10, 40)], (200, 100, 50))
    canvas.fill([(100, 20), (120, 20), (120, 40), (100, 40)], (200, 100, 50, 51))
    found = pixels(canvas)
    assert found.shape == (HEIGHT, WIDTH, 3)
    assert (found[22:38, 12:28] == (200, 100, 50)).all()
    assert np.abs(found[22:38, 102:118].astype(int) - (40, 20, 10)).max() <= 1
    assert not found[45:, :].any()
    assert not found[:, 125:].any()


def test_gradient_blends():
    """From the first colour at the top to the last one at the bottom, evenly, and nothing beyond."""
    canvas = Canvas(2)
    canvas.gradient(0, 100, (0, 0, 0), (200, 100, 0))
    found = pixels(canvas).astype(int)
    assert found[0].max() <= 2
    assert np.abs(found[50] - (100, 50, 0)).max() <= 2
    assert np.abs(found[99] - (200, 100, 0)).max() <= 3
    assert (np.diff(found[:100, 0, 0]) >= 0).all()
    assert not found[101:].any()


def test_exposure():
    """A brighter picture is the same one, brighter."""
    canvas = Canvas(1)
    canvas.fill([(0, 0), (WIDTH, 0), (WIDTH, HEIGHT), (0, HEIGHT)], (100, 200, 250))
    assert np.asarray(canvas.finish(1.05))[100, 100].tolist() == [105, 210, 255]

"""The worlds of the demo pictures: their backdrops, who lives there, and how big and fast it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evosplit_plugins.demo import things
from evosplit_plugins.demo.things import Colour, Part, Point, Rng

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

__all__ = ["HABITS", "HEIGHT", "SKY", "WIDTH", "WORLDS", "Canvas", "Guest"]

WIDTH, HEIGHT = 320, 240
SKY = 0.5  # share of the height above which nothing stands on the ground
SUPERSAMPLING = 3  # pictures are drawn this much larger, then averaged: smooth edges


class Habit(NamedTuple):
    """How a thing is drawn and where it lives."""

    draw: Callable[[Rng, str], Iterator[Part]]
    size: float  # pixels
    drift: Point = (0, 0)  # pixels from one frame of a clip to the next
    tilt: float = 0  # degrees, at most


HABITS = {
    "tree": Habit(things.tree, 78),
    "flower": Habit(things.flower, 34),
    "cloud": Habit(things.cloud, 30, (5, 0)),
    "house": Habit(things.house, 74),
    "star": Habit(things.star, 21),
    "bird": Habit(things.bird, 21, (12, -4), 12),
    "boat": Habit(things.boat, 58, (9, 0), 4),
    "sun": Habit(things.sun, 50, (0, 4)),
    "fish": Habit(things.fish, 20, (9, 2), 14),
    "cat": Habit(things.cat, 46, (6, 0)),
    "moon": Habit(things.moon, 40, (3, -2), 20),
    "snowman": Habit(things.snowman, 68),
    "balloon": Habit(things.balloon, 68, (5, -5)),
    "planet": Habit(things.planet, 74),
    "lighthouse": Habit(things.lighthouse, 134),
    "rocket": Habit(things.rocket, 84, (9, -9), 35),
    "whale": Habit(things.whale, 58, (8, 0), 4),
    "ufo": Habit(things.ufo, 38, (11, 3), 8),
}


class Guest(NamedTuple):
    """How often and where a world shows a thing."""

    label: str
    chance: float
    most: int  # instances in one picture
    top: float  # the band of heights it keeps to, as shares of the picture's height
    bottom: float
    least: int = 1
    after: str = ""  # a label whose presence triples the chance


class World(NamedTuple):
    """A kind of scene: how often it comes, what it looks like and who lives there."""

    weight: float
    backdrop: Callable[[Canvas, Rng], None]
    guests: tuple[Guest, ...]
    light: tuple[float, float, float] = (1, 1, 1)

    def lights(self, colour: Colour) -> Colour:
        """Give a colour as it looks in the light of this world; its alpha stays."""
        return (*(int(c * share) for c, share in zip(colour[:3], self.light, strict=True)), *colour[3:])


class Canvas:
    """A picture under way, addressed in final pixels and painted at a multiple of them."""

    def __init__(self, scale: int = SUPERSAMPLING) -> None:
        from PIL import Image, ImageDraw

        self.scale = scale
        self.image: Image.Image = Image.new("RGB", (WIDTH * scale, HEIGHT * scale))
        self.pen: ImageDraw.ImageDraw = ImageDraw.Draw(self.image, "RGBA")

    def fill(self, points: list[Point], colour: Colour) -> None:
        """Fill a polygon; an alpha in the colour lets the ground shine through."""
        self.pen.polygon([(x * self.scale, y * self.scale) for x, y in points], fill=colour)

    def parts(self, parts: Iterator[Part], x: float, y: float, size: float) -> None:
        """Paint something that belongs to the backdrop and gets no annotation."""
        for part in parts:
            self.fill([(x + size * px, y + size * py) for px, py in part.points], part.colour)

    def gradient(self, top: float, bottom: float, *colours: Colour) -> None:
        """Blend colours from one height down to another."""
        from PIL import Image

        rows = int((bottom - top) * self.scale)
        at = np.linspace(0, len(colours) - 1, rows)
        column = np.stack([np.interp(at, range(len(colours)), [c[i] for c in colours]) for i in range(3)], axis=1)
        strip = np.broadcast_to(column.round().astype(np.uint8)[:, None, :], (rows, WIDTH * self.scale, 3))
        self.image.paste(Image.fromarray(strip), (0, int(top * self.scale)))

    def hills(self, rng: Rng, height: float, swing: float, colour: Colour, waves: float = 2) -> None:
        """Fill the ground below a wavy line."""
        x = np.linspace(0, WIDTH, 81)
        phase = rng.uniform(0, 6.3, 3)
        y = height - swing * (
            0.6 * np.sin(waves * 6.3 * x / WIDTH + phase[0])
            + 0.3 * np.sin(waves * 12 * x / WIDTH + phase[1])
            + 0.1 * np.sin(waves * 25 * x / WIDTH + phase[2])
        )
        self.fill([*zip(x.tolist(), y.tolist(), strict=True), (WIDTH, HEIGHT), (0, HEIGHT)], colour)

    def specks(self, rng: Rng, n: int, top: float, bottom: float, colour: Colour, size: float = 0.7) -> None:
        """Scatter small dots."""
        for x, y, r in zip(rng.uniform(0, WIDTH, n), rng.uniform(top, bottom, n), rng.uniform(0.4, 1, n), strict=True):
            self.fill(things.oval(x, y, r * size, r * size, corners=8), colour)

    def finish(self, exposure: float = 1) -> Image.Image:
        """Scale down to the final size."""
        image = self.image.reduce(self.scale)
        return image if exposure == 1 else image.point(lambda value: value * exposure)


def _pick(rng: Rng, *options: tuple[Colour, ...]) -> tuple[Colour, ...]:
    return options[rng.integers(len(options))]


def meadow(canvas: Canvas, rng: Rng) -> None:
    """Paint hills and grass under a sky of any hour of the day."""
    sky = _pick(
        rng,
        ((104, 178, 232), (190, 226, 246)),
        ((120, 196, 226), (230, 244, 236)),
        ((112, 140, 204), (246, 190, 160), (252, 222, 170)),
        ((140, 170, 220), (250, 214, 214)),
    )
    grass = _pick(rng, ((120, 182, 92),), ((146, 190, 86),), ((104, 168, 104),), ((186, 192, 96),))[0]
    canvas.gradient(0, 160, *sky)
    canvas.hills(rng, 128, 16, (138, 172, 190), 1.2)
    canvas.hills(rng, 142, 12, things.shade(grass, 0.82), 1.6)
    canvas.hills(rng, 158, 7, grass, 1)
    canvas.hills(rng, 208, 8, things.shade(grass, 1.1), 0.7)
    for x, y in zip(rng.uniform(0, WIDTH, 70), rng.uniform(168, HEIGHT, 70), strict=True):
        h = 2 + (y - 160) / 22
        blade = [
            (x - h * 0.5, y),
            (x - h * 0.4, y - h),
            (x, y - h * 0.3),
            (x + h * 0.3, y - h * 1.2),
            (x + h * 0.6, y),
        ]
        canvas.fill(blade, (*things.shade(grass, 0.84), 150))


def sea(canvas: Canvas, rng: Rng) -> None:
    """Paint open water."""
    sky, water = (
        (((116, 188, 236), (220, 240, 248)), ((96, 178, 206), (34, 110, 162))),
        (((90, 110, 180), (250, 160, 120), (255, 214, 140)), ((220, 150, 130), (70, 84, 140))),
        (((150, 206, 226), (244, 244, 226)), ((120, 204, 200), (30, 130, 150))),
        (((130, 150, 174), (206, 216, 224)), ((110, 140, 156), (50, 84, 108))),
    )[rng.integers(4)]
    canvas.gradient(0, 112, *sky)
    if rng.random() < 0.5:
        canvas.hills(rng, 108, 8, things.shade(sky[-1], 0.78), 0.8)
    canvas.gradient(110, HEIGHT, *water)
    for y in np.linspace(116, HEIGHT, 26):
        for x in rng.uniform(-10, WIDTH, 5):
            w, h = rng.uniform(0.5, 1) * (y - 96) * 0.16, (y - 100) * 0.011
            canvas.fill(
                things.oval(x, y + rng.uniform(-3, 3), w, h, corners=12),
                (255, 255, 255, int(rng.integers(25, 75))),
            )


def beach(canvas: Canvas, rng: Rng) -> None:
    """Paint the sea from the sand."""
    sea(canvas, rng)
    shape = int(rng.integers(1 << 31))
    for rise, colour in ((6, (244, 250, 250)), (2, (206, 176, 130)), (0, (240, 216, 166))):
        canvas.hills(np.random.default_rng(shape), 204 - rise, 4, colour, 0.8)
    canvas.specks(rng, 90, 210, HEIGHT, (200, 172, 126), 0.8)


def night(canvas: Canvas, rng: Rng) -> None:
    """Paint a town asleep: a far skyline, a street, small stars."""
    sky = _pick(
        rng,
        ((16, 22, 58), (52, 58, 120), (130, 100, 150)),
        ((10, 26, 56), (36, 72, 118), (96, 130, 160)),
        ((24, 16, 54), (86, 52, 120), (216, 120, 130)),
    )
    canvas.gradient(0, 170, *sky)
    canvas.specks(rng, 90, 0, 130, (255, 255, 255, 170), 0.7)
    x = -5.0
    while x < WIDTH:
        w, h = rng.uniform(14, 34), rng.uniform(12, 46)
        canvas.fill(things.box(x, 160 - h, x + w, 170), things.shade(sky[1], 0.72))
        for wx in np.arange(x + 3, x + w - 3, 5):
            for wy in np.arange(160 - h + 4, 158, 6):
                if rng.random() < 0.22:
                    canvas.fill(things.box(wx, wy, wx + 2, wy + 2.6), (255, 214, 130, 190))
        x += w + rng.uniform(-2, 5)
    canvas.hills(rng, 160, 3, (38, 50, 74), 0.8)
    canvas.hills(rng, 214, 4, (54, 62, 88), 0.6)
    for x in np.arange(rng.uniform(-20, 0), WIDTH, 40):
        canvas.fill([(x, 229), (x + 20, 229), (x + 19, 232), (x - 1, 232)], (120, 126, 150))


def winter(canvas: Canvas, rng: Rng) -> None:
    """Paint mountains and snow."""
    sky = _pick(
        rng,
        ((146, 190, 226), (232, 240, 248)),
        ((150, 160, 206), (250, 214, 214)),
        ((176, 190, 206), (226, 232, 238)),
    )
    rock = things.shade(sky[0], 0.75)
    canvas.gradient(0, 170, *sky)
    for x in rng.uniform(0, WIDTH, 4):
        w, h = rng.uniform(60, 110), rng.uniform(50, 90)
        canvas.fill([(x - w, 170), (x, 170 - h), (x + w, 170)], rock)
        canvas.fill([(x, 170 - h), (x + w, 170), (x + w * 0.25, 170)], things.shade(rock, 0.9))
        cap = [
            (x, 170 - h),
            (x + w * 0.36, 170 - h * 0.64),
            (x + w * 0.16, 170 - h * 0.7),
            (x + w * 0.04, 170 - h * 0.58),
            (x - w * 0.14, 170 - h * 0.7),
            (x - w * 0.33, 170 - h * 0.67),
        ]
        canvas.fill(cap, (250, 252, 255))
    canvas.hills(rng, 150, 8, (214, 226, 240), 1.2)
    canvas.hills(rng, 166, 6, (234, 241, 249), 0.9)
    canvas.hills(rng, 206, 6, (247, 250, 254), 0.7)
    canvas.specks(rng, 160, 0, HEIGHT, (255, 255, 255, 220), 1.5)


def space(canvas: Canvas, rng: Rng) -> None:
    """Paint the far out: a nebula, and sometimes the ground of a moon."""
    sky = _pick(
        rng,
        ((12, 10, 34), (40, 24, 80), (22, 14, 50)),
        ((8, 14, 36), (16, 46, 84), (10, 20, 50)),
        ((20, 8, 32), (80, 24, 76), (30, 12, 50)),
    )
    canvas.gradient(0, HEIGHT, *sky)
    cloud = _pick(
        rng,
        ((150, 80, 200), (70, 120, 220)),
        ((230, 110, 150), (120, 80, 200)),
        ((60, 180, 190), (70, 90, 210)),
    )
    for _ in range(7):
        x, y = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT)
        canvas.parts(things.glow(0, 0, 1, cloud[rng.integers(2)], 6), x, y, rng.uniform(50, 100))
    canvas.specks(rng, 170, 0, HEIGHT, (255, 255, 255, 190), 0.8)
    if rng.random() < 0.4:
        dust = (150, 150, 166)
        canvas.hills(rng, 214, 6, dust, 0.7)
        for x, y in zip(rng.uniform(0, WIDTH, 9), rng.uniform(222, 238, 9), strict=True):
            r = rng.uniform(4, 12)
            canvas.fill(things.oval(x, y, r, r * 0.3), things.shade(dust, 0.8))
            canvas.fill(things.oval(x, y + 0.8, r * 0.85, r * 0.22), things.shade(dust, 0.9))


WORLDS = {
    "meadow": World(
        0.34,
        meadow,
        (
            Guest("sun", 0.5, 1, 0.1, 0.3),
            Guest("cloud", 0.7, 4, 0.06, 0.34),
            Guest("balloon", 0.07, 3, 0.28, 0.5, after="sun"),
            Guest("bird", 0.3, 5, 0.1, 0.46, least=2),
            Guest("house", 0.45, 3, 0.68, 0.86),
            Guest("tree", 0.85, 5, 0.66, 0.9),
            Guest("cat", 0.14, 2, 0.82, 0.97, after="house"),
            Guest("flower", 0.6, 9, 0.8, 0.99, least=3),
        ),
    ),
    "sea": World(
        0.16,
        sea,
        (
            Guest("sun", 0.4, 1, 0.1, 0.3),
            Guest("cloud", 0.55, 3, 0.06, 0.3),
            Guest("bird", 0.45, 4, 0.08, 0.4),
            Guest("lighthouse", 0.2, 1, 0.56, 0.66),
            Guest("boat", 0.8, 4, 0.52, 0.8),
            Guest("whale", 0.18, 1, 0.66, 0.82),
            Guest("fish", 0.3, 7, 0.72, 0.94, least=2, after="whale"),
        ),
    ),
    "beach": World(
        0.1,
        beach,
        (
            Guest("sun", 0.6, 1, 0.1, 0.3),
            Guest("cloud", 0.35, 2, 0.06, 0.3),
            Guest("bird", 0.35, 3, 0.08, 0.4),
            Guest("lighthouse", 0.12, 1, 0.56, 0.64),
            Guest("boat", 0.55, 2, 0.52, 0.72),
            Guest("tree", 0.75, 3, 0.88, 0.96),
            Guest("cat", 0.25, 2, 0.92, 0.98),
        ),
    ),
    "night": World(
        0.2,
        night,
        (
            Guest("star", 0.6, 8, 0.06, 0.4, least=2),
            Guest("moon", 0.6, 1, 0.12, 0.28),
            Guest("cloud", 0.2, 2, 0.12, 0.34),
            Guest("ufo", 0.07, 1, 0.16, 0.34),
            Guest("house", 0.9, 5, 0.74, 0.9),
            Guest("tree", 0.5, 3, 0.74, 0.9),
            Guest("cat", 0.3, 3, 0.9, 0.98),
        ),
        (0.62, 0.62, 0.86),
    ),
    "winter": World(
        0.13,
        winter,
        (
            Guest("cloud", 0.35, 3, 0.08, 0.26),
            Guest("bird", 0.15, 3, 0.1, 0.4),
            Guest("house", 0.45, 2, 0.72, 0.86),
            Guest("tree", 0.9, 6, 0.68, 0.9),
            Guest("snowman", 0.5, 3, 0.82, 0.96),
        ),
        (0.96, 0.98, 1),
    ),
    "space": World(
        0.07,
        space,
        (
            Guest("star", 0.9, 12, 0.05, 0.85, least=4),
            Guest("planet", 0.7, 3, 0.15, 0.8),
            Guest("rocket", 0.5, 2, 0.3, 0.7),
            Guest("ufo", 0.18, 3, 0.15, 0.6),
        ),
    ),
}

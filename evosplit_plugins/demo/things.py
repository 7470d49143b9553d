"""The things of the demo pictures, each a generator of filled polygons.

A thing is drawn in units of its own size, y downwards, with the origin where it stands (or at its centre,
if it floats). The solid parts together are its silhouette; the rest is decoration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Colour", "Part", "Point", "Rng"]

Point = tuple[float, float]
Colour = tuple[int, ...]  # RGB, or RGBA for what shines through
Rng = np.random.Generator


class Part(NamedTuple):
    """One polygon of a thing."""

    points: list[Point]
    colour: Colour
    solid: bool = True  # belongs to the silhouette
    lit: bool = False  # keeps its colour at night


def path(text: str) -> list[Point]:
    """Read points written as in SVG: `"0,0 1,0 .5,1"`."""
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def box(x0: float, y0: float, x1: float, y1: float) -> list[Point]:
    """Give the corners of a rectangle."""
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def oval(
    x: float, y: float, rx: float, ry: float, start: float = 0, stop: float = 360, *, corners: int = 32
) -> list[Point]:
    """Give an ellipse, or its piece between two angles in degrees (clockwise from the right)."""
    step = math.radians(stop - start) / corners
    angles = [math.radians(start) + step * i for i in range(corners + 1)]
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


def line(x0: float, y0: float, x1: float, y1: float, width: float) -> list[Point]:
    """Give a straight stroke."""
    length = math.hypot(x1 - x0, y1 - y0)
    dx, dy = (y1 - y0) / length * width / 2, (x0 - x1) / length * width / 2
    return [(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)]


def smooth(points: Sequence[Point], steps: int = 6) -> list[Point]:
    """Give a closed curve through the points (Catmull-Rom)."""
    p = np.asarray(points, dtype=float)
    before, after, beyond = np.roll(p, 1, 0), np.roll(p, -1, 0), np.roll(p, -2, 0)
    t = np.linspace(0, 1, steps, endpoint=False)[None, :, None]
    a, b, c, d = (v[:, None, :] for v in (before, p, after, beyond))
    curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    return [(float(x), float(y)) for x, y in curve.reshape(-1, 2)]


def spikes(n: int, inner: float, outer: float, turn: float = -90) -> list[Point]:
    """Give a star with n points around the origin."""
    angles = np.radians(turn + np.arange(2 * n) * 180 / n)
    radii = np.where(np.arange(2 * n) % 2, inner, outer)
    return [(r * math.cos(a), r * math.sin(a)) for a, r in zip(angles, radii, strict=True)]


def turned(points: Sequence[Point], degrees: float, x: float = 0, y: float = 0) -> list[Point]:
    """Turn points around the origin, then move them to (x, y)."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [(x + c * px - s * py, y + s * px + c * py) for px, py in points]


def shade(colour: Colour, factor: float) -> Colour:
    """Make a colour darker (factor < 1) or lighter (factor > 1); its alpha stays."""
    mixed = (c * factor if factor <= 1 else 255 - (255 - c) * (2 - factor) for c in colour[:3])
    return (*(int(min(255, max(0, c))) for c in mixed), *colour[3:])


def choose(rng: Rng, *options: Colour) -> Colour:
    """Choose a colour, with a little variation."""
    colour = options[rng.integers(len(options))]
    return tuple(int(c) for c in np.clip(np.add(colour, rng.integers(-12, 13, 3)), 0, 255))


def glow(x: float, y: float, radius: float, colour: Colour, strength: int = 20) -> Iterator[Part]:
    """Give rings of light around a point."""
    for r in np.linspace(1, 0.35, 7):
        yield Part(oval(x, y, radius * r, radius * r), (*colour, strength), solid=False, lit=True)


def shadow(width: float) -> Part:
    """Give the soft dark patch under a thing that stands on the ground."""
    return Part(oval(0, 0, width, width * 0.16), (10, 20, 40, 50), solid=False, lit=True)


def tree(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a palm by the sea, a pine in the snow, a broad crown or a poplar elsewhere."""
    if world == "beach":
        yield from _palm(rng)
    elif world == "winter" or rng.random() < 0.2:
        yield from _pine(rng, snow=world == "winter")
    else:
        yield from _broad_tree(rng)


def _palm(rng: Rng) -> Iterator[Part]:
    lean = float(rng.uniform(-0.18, 0.18))
    green = choose(rng, (52, 150, 84), (70, 160, 70))
    yield shadow(0.2)
    yield Part(
        smooth(
            [
                (-0.05, 0),
                (0.05, 0),
                (0.04 + lean * 0.5, -0.4),
                (0.025 + lean, -0.74),
                (-0.02 + lean, -0.74),
                (-0.03 + lean * 0.5, -0.4),
            ]
        ),
        (150, 108, 70),
    )
    for angle in (-172, -140, -100, -72, -38, -8):
        frond = smooth(path("0,-.03 .2,-.09 .38,.03 .2,-.01 0,.03"))
        if angle < -90:
            frond = [(x, -y) for x, y in frond]
        yield Part(turned(frond, angle, lean, -0.75), shade(green, 0.9 + 0.2 * float(rng.random())))
    for dx in (-0.03, 0.035):
        yield Part(oval(lean + dx, -0.71, 0.032, 0.032), (120, 78, 50))


def _pine(rng: Rng, *, snow: bool) -> Iterator[Part]:
    green = choose(rng, (34, 102, 78), (40, 112, 70), (28, 90, 84))
    yield shadow(0.25)
    yield Part(box(-0.045, -0.18, 0.045, 0), (104, 72, 52))
    for i, (base, half, top) in enumerate(((-0.12, 0.27, -0.52), (-0.36, 0.22, -0.76), (-0.6, 0.16, -1.0))):
        skirt = [
            (-half, base),
            (-half * 0.5, base + 0.03),
            (0, base + 0.015),
            (half * 0.5, base + 0.03),
            (half, base),
        ]
        yield Part([(0, top), *reversed(skirt)], shade(green, 0.9 + 0.12 * i))
        if snow:
            cap = [
                (0, top),
                (half * 0.5, top + 0.2),
                (half * 0.2, top + 0.16),
                (0, top + 0.22),
                (-half * 0.25, top + 0.15),
                (-half * 0.5, top + 0.2),
            ]
            yield Part(cap, (246, 250, 255), solid=False)


def _broad_tree(rng: Rng) -> Iterator[Part]:
    green = choose(rng, (74, 150, 72), (96, 168, 74), (52, 132, 84), (150, 170, 62), (226, 142, 60), (236, 150, 176))
    slim = 0.6 if rng.random() < 0.25 else 1.0
    yield shadow(0.26 * slim)
    yield Part(path("-.06,0 .06,0 .035,-.5 -.035,-.5"), (120, 82, 58))
    crowns = [(-0.15, -0.5, 0.2), (0.16, -0.52, 0.19), (-0.06, -0.7, 0.23), (0.1, -0.76, 0.19)]
    for x, y, r in crowns:
        yield Part(oval(x * slim, y, r * slim * 1.05, r), shade(green, 0.88))
    for x, y, r in crowns:
        yield Part(oval((x - 0.03) * slim, y - 0.03, r * slim * 0.84, r * 0.8), green, solid=False)
    yield Part(oval(-0.1 * slim, -0.8, 0.09 * slim, 0.07), shade(green, 1.2), solid=False)
    if green[0] < 130 and rng.random() < 0.4:
        for _ in range(6):
            x, y = rng.uniform(-0.22, 0.22) * slim, rng.uniform(-0.82, -0.45)
            yield Part(oval(x, y, 0.03, 0.03), (214, 60, 52), solid=False)


def flower(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a stem, two leaves, five to eight petals; now and then a tulip."""
    colour = choose(
        rng, (236, 84, 96), (250, 196, 60), (244, 244, 250), (178, 108, 214), (246, 140, 60), (240, 130, 180)
    )
    leaf = choose(rng, (66, 142, 66), (84, 156, 70))
    yield Part(line(0, 0, 0.02, -0.7, 0.06), leaf)
    yield Part(turned(oval(0.17, 0, 0.17, 0.06), -35, 0, -0.12), leaf)
    yield Part(turned(oval(0.17, 0, 0.17, 0.06), -145, 0, -0.2), shade(leaf, 0.88))
    if rng.random() < 0.3:
        yield Part(smooth(path("-.2,-1 -.23,-.75 0,-.58 .25,-.75 .22,-1 .12,-.88 .01,-1.04 -.1,-.88")), colour)
        yield Part(smooth(path(".01,-1 -.09,-.78 .01,-.62 .11,-.78")), shade(colour, 1.15), solid=False)
        return
    n = int(rng.integers(5, 9))
    for i in range(n):
        yield Part(
            turned(oval(0.18, 0, 0.16, 0.11), i * 360 / n + 10, 0.02, -0.72),
            shade(colour, 1.0 - 0.08 * (i % 2)),
        )
    yield Part(oval(0.02, -0.72, 0.1, 0.1), (250, 206, 80) if colour[2] > 90 else (120, 72, 40))


def cloud(rng: Rng, world: str) -> Iterator[Part]:
    """Draw puffs over a flat base."""
    white: Colour = (252, 253, 255) if rng.random() < 0.8 else (226, 232, 242)
    puffs = [(-0.62, 0.12, 0.38), (-0.2, -0.12, 0.52), (0.3, -0.02, 0.46), (0.72, 0.16, 0.34)]
    puffs = [(x, y, r * float(rng.uniform(0.88, 1.08))) for x, y, r in puffs]
    for x, y, r in puffs:
        yield Part(oval(x, y, r, r), shade(white, 0.92), lit=world != "night")
    yield Part(smooth(path("-.95,.3 -.6,.08 .7,.08 1.02,.32 .7,.5 -.6,.5")), shade(white, 0.92))
    for x, y, r in puffs:
        yield Part(oval(x - 0.04, y - 0.07, r * 0.9, r * 0.86), white, solid=False)


def house(rng: Rng, world: str) -> Iterator[Part]:
    """Draw walls, roof, chimney, door and windows: a cottage or a tall town house."""
    night = world == "night"
    wall = choose(
        rng,
        (244, 226, 196),
        (238, 240, 240),
        (240, 190, 150),
        (176, 206, 220),
        (232, 176, 176),
        (206, 216, 170),
    )
    roof = choose(rng, (190, 82, 64), (120, 84, 74), (84, 96, 120), (160, 70, 84))
    tall = rng.random() < (0.6 if night else 0.3)
    half, eaves = (0.27, -0.68) if tall else (0.42, -0.5)
    pane: Colour = (255, 214, 120) if night and rng.random() < 0.8 else (150, 196, 222)
    lit = night and pane[0] == 255
    yield shadow(half * 1.15)
    side = 1 if rng.random() < 0.5 else -1
    yield Part(box(side * half * 0.55 - 0.05, -0.98, side * half * 0.55 + 0.05, eaves), shade(roof, 0.75))
    if world != "meadow" or rng.random() < 0.4:
        for i in range(3):
            yield Part(
                oval(side * half * 0.55 + 0.05 * i, -1.06 - 0.1 * i, 0.04 + 0.018 * i, 0.04 + 0.014 * i),
                (255, 255, 255, 90 - 20 * i),
                solid=False,
            )
    yield Part(box(-half, eaves, half, 0), wall)
    yield Part(box(-half, -0.06, half, 0), shade(wall, 0.8), solid=False)
    yield Part([(-half - 0.08, eaves + 0.03), (0, -0.95), (half + 0.08, eaves + 0.03)], roof)
    yield Part([(0, -0.95), (half + 0.08, eaves + 0.03), (half * 0.35, eaves + 0.03)], shade(roof, 0.88), solid=False)
    if world == "winter":
        snow = [
            (-half - 0.08, eaves + 0.03),
            (0, -0.97),
            (half + 0.08, eaves + 0.03),
            (half * 0.6, eaves - 0.1),
            (0.06, -0.8),
            (-0.1, -0.74),
            (-half * 0.55, eaves - 0.08),
        ]
        yield Part(snow, (248, 251, 255), solid=False)
    door = choose(rng, (130, 84, 56), (70, 110, 120), (168, 70, 60))
    yield Part(box(-0.08, -0.28, 0.08, 0), door, solid=False)
    yield Part(oval(0.045, -0.13, 0.016, 0.016), (250, 220, 120), solid=False)
    rows = (-0.46, -0.64) if tall else (-0.36,)
    for y in rows:
        for x in (-half * 0.58, half * 0.58):
            yield Part(box(x - 0.085, y, x + 0.085, y + 0.15), (250, 250, 250), solid=False)
            yield Part(box(x - 0.065, y + 0.02, x + 0.065, y + 0.13), pane, solid=False, lit=lit)
            yield Part(box(x - 0.008, y + 0.02, x + 0.008, y + 0.13), (250, 250, 250), solid=False)
    if lit:
        yield from glow(0, eaves + 0.15, half, (255, 200, 90), 7)


def star(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a five-pointed star that shines."""
    colour = choose(rng, (255, 226, 120), (255, 240, 190), (206, 226, 255))
    points = turned(spikes(5, 0.23, 0.5), float(rng.uniform(-20, 20)))
    yield from glow(0, 0, 0.95, colour, 14)
    yield Part(points, colour, lit=True)
    yield Part([(x * 0.5, y * 0.5) for x, y in points], shade(colour, 1.6), solid=False, lit=True)


def bird(rng: Rng, world: str) -> Iterator[Part]:
    """Draw it from the side, wings up or down."""
    gull = world in ("sea", "beach") or rng.random() < 0.25
    colour = (246, 248, 250) if gull else choose(rng, (60, 120, 196), (214, 92, 70), (250, 190, 70), (74, 84, 100))
    wing = (168, 178, 190) if gull else shade(colour, 0.78)
    up = -1 if rng.random() < 0.65 else 0.75
    far = [(0.05, 0), (-0.05, up * 0.42), (-0.22, up * 0.62), (-0.2, up * 0.3), (-0.2, 0)]
    yield Part(smooth(far), shade(wing, 0.85))
    yield Part(smooth(path("-.78,-.1 -.45,0 -.42,.1 -.82,.12 -.68,.02")), wing)
    yield Part(smooth(path("-.55,.02 -.1,-.17 .3,-.16 .52,-.04 .3,.13 -.15,.17")), colour)
    yield Part(path(".49,-.09 .72,-.01 .48,.04"), (245, 166, 50))
    near = [(0.2, -0.02), (0.12, up * 0.48), (-0.08, up * 0.8), (-0.06, up * 0.4), (-0.18, 0.02)]
    yield Part(smooth(near), wing)
    yield Part(oval(0.36, -0.06, 0.04, 0.04), (30, 32, 40), solid=False)


def boat(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a sailing boat, or a small steamer."""
    hull = choose(rng, (186, 60, 56), (52, 96, 150), (240, 240, 240), (44, 124, 116), (240, 170, 60))
    yield Part(oval(0, 0.02, 0.52, 0.05), (255, 255, 255, 110), solid=False, lit=True)
    if rng.random() < 0.28:
        yield Part(box(-0.26, -0.42, 0.24, -0.18), (248, 246, 240))
        funnel = choose(rng, (220, 80, 60), (60, 70, 90))
        yield Part(box(-0.08, -0.7, 0.07, -0.42), funnel)
        yield Part(box(-0.08, -0.62, 0.07, -0.55), (250, 250, 250), solid=False)
        for i in range(3):
            yield Part(
                oval(-0.02 - 0.12 * i, -0.8 - 0.09 * i, 0.06 + 0.03 * i, 0.05 + 0.025 * i),
                (240, 240, 244, 130 - 30 * i),
                solid=False,
            )
        for x in (-0.17, 0.0, 0.16):
            yield Part(oval(x, -0.31, 0.045, 0.045), (110, 170, 204), solid=False)
    else:
        sail = choose(rng, (252, 250, 244), (252, 236, 200), (246, 150, 110), (150, 200, 220))
        yield Part(box(-0.02, -1.0, 0.015, -0.15), (120, 84, 60))
        yield Part(smooth(path(".03,-.97 .25,-.62 .44,-.28 .2,-.25 .03,-.27 .04,-.6"), 5), sail)
        yield Part(path("-.04,-.86 -.04,-.28 -.36,-.28"), shade(sail, 0.9))
        yield Part(path(".01,-1 -.16,-.95 .01,-.9"), choose(rng, (230, 70, 60), (250, 200, 60)))
    yield Part(smooth(path("-.52,-.2 0,-.17 .56,-.22 .4,0 0,.04 -.38,0"), 5), hull)
    yield Part(
        path("-.47,-.15 .51,-.16 .49,-.11 -.45,-.1"),
        shade(hull, 1.55 if hull[0] < 230 else 0.75),
        solid=False,
    )


def sun(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a disc with rays, sometimes with a face."""
    colour = choose(rng, (255, 206, 64), (255, 184, 64), (255, 220, 110))
    yield from glow(0, 0, 1.15, (255, 230, 150), 16)
    rays = int(rng.integers(9, 15))
    yield Part(spikes(rays, 0.34, 0.52, float(rng.uniform(0, 40))), shade(colour, 1.15), lit=True)
    yield Part(oval(0, 0, 0.35, 0.35), colour, lit=True)
    yield Part(oval(-0.03, -0.04, 0.28, 0.27), shade(colour, 1.2), solid=False, lit=True)
    if rng.random() < 0.4:
        for x in (-0.11, 0.11):
            yield Part(oval(x, -0.05, 0.032, 0.045), (130, 80, 30), solid=False, lit=True)
            yield Part(oval(x * 1.7, 0.06, 0.05, 0.035), (250, 140, 90), solid=False, lit=True)
        smile = oval(0, 0.03, 0.13, 0.12, 20, 160)
        yield Part([*smile, *reversed(oval(0, 0.03, 0.11, 0.08, 20, 160))], (130, 80, 30), solid=False, lit=True)


def fish(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a body with tail, fins and stripes."""
    colour = choose(rng, (246, 140, 50), (250, 204, 70), (236, 90, 110), (110, 220, 200), (190, 130, 230))
    dark = shade(colour, 0.8)
    yield Part(smooth(path("-.5,0 -.92,-.36 -.8,0 -.92,.36")), dark)
    yield Part(smooth(path("-.15,-.3 -.2,-.52 .22,-.36 .3,-.2")), dark)
    yield Part(smooth(path("-.58,0 -.2,-.34 .3,-.34 .68,0 .3,.34 -.2,.34")), colour)
    for x in (-0.25, 0.08):
        yield Part(
            smooth([(x, -0.32), (x + 0.13, -0.33), (x + 0.18, 0), (x + 0.13, 0.33), (x, 0.32), (x + 0.05, 0)]),
            (255, 246, 230),
            solid=False,
        )
    yield Part(smooth(path(".02,.08 -.22,.2 -.16,.02")), dark, solid=False)
    yield Part(oval(0.42, -0.08, 0.09, 0.09), (255, 255, 255), solid=False)
    yield Part(oval(0.44, -0.08, 0.05, 0.05), (30, 34, 44), solid=False)
    for i in range(2):
        yield Part(oval(0.8 + 0.1 * i, -0.25 - 0.24 * i, 0.06, 0.06), (255, 255, 255, 120), solid=False)


def cat(rng: Rng, world: str) -> Iterator[Part]:
    """Draw it as it sits and looks at you."""
    fur = choose(rng, (226, 146, 74), (70, 70, 80), (200, 196, 192), (244, 238, 228), (150, 112, 84))
    dark = shade(fur, 0.8)
    yield shadow(0.34)
    yield Part(smooth(path(".2,-.05 .46,-.06 .5,-.3 .42,-.46 .47,-.5 .58,-.3 .54,0 .25,.02")), dark)
    yield Part(smooth(path("-.3,0 -.3,-.24 -.16,-.5 .16,-.5 .3,-.24 .3,0 0,.03")), fur)
    yield Part(smooth(path("-.13,-.02 -.13,-.3 0,-.46 .13,-.3 .13,-.02")), shade(fur, 1.35), solid=False)
    for x in (-0.11, 0.11):
        yield Part(oval(x, -0.02, 0.09, 0.045), shade(fur, 1.15))
    for side in (-1, 1):
        yield Part([(side * 0.26, -0.98), (side * 0.05, -0.84), (side * 0.28, -0.66)], fur)
        yield Part([(side * 0.23, -0.92), (side * 0.11, -0.83), (side * 0.25, -0.72)], (238, 168, 168), solid=False)
    yield Part(oval(0, -0.64, 0.3, 0.25), fur)
    if rng.random() < 0.5:
        for x in (-0.08, 0.0, 0.08):
            yield Part([(x - 0.022, -0.885), (x + 0.022, -0.885), (x, -0.77)], dark, solid=False)
    eye: Colour = (120, 200, 110) if rng.random() < 0.6 else (250, 200, 70)
    for x in (-0.12, 0.12):
        yield Part(oval(x, -0.66, 0.066, 0.07), eye, solid=False, lit=True)
        yield Part(oval(x, -0.66, 0.024, 0.06), (24, 24, 30), solid=False, lit=True)
    yield Part(oval(-0.04, -0.53, 0.055, 0.04), shade(fur, 1.35), solid=False)
    yield Part(oval(0.04, -0.53, 0.055, 0.04), shade(fur, 1.35), solid=False)
    yield Part(path("-.035,-.58 .035,-.58 0,-.54"), (226, 120, 120), solid=False)
    for side in (-1, 1):
        for dy in (-0.03, 0.03):
            yield Part(
                line(side * 0.1, -0.53, side * 0.38, -0.55 + dy * 1.6, 0.012),
                (255, 255, 255, 190),
                solid=False,
            )


def moon(rng: Rng, world: str) -> Iterator[Part]:
    """Draw it crescent or full."""
    colour: Colour = (250, 240, 200) if rng.random() < 0.7 else (236, 240, 250)
    yield from glow(0, 0, 0.95, colour, 11)
    if rng.random() < 0.55:
        inner = oval(0.2, -0.08, 0.4, 0.4, 262.9, 53.5)
        yield Part([*oval(0, 0, 0.5, 0.5, 28.9, 287.5), *inner], colour, lit=True)
    else:
        yield Part(oval(0, 0, 0.5, 0.5), colour, lit=True)
        for x, y, r in ((-0.18, -0.14, 0.11), (0.16, 0.08, 0.14), (-0.1, 0.24, 0.08), (0.2, -0.26, 0.06)):
            yield Part(oval(x, y, r, r), shade(colour, 0.9), solid=False, lit=True)


def snowman(rng: Rng, world: str) -> Iterator[Part]:
    """Draw two balls, hat, carrot and scarf."""
    white: Colour = (250, 252, 255)
    scarf = choose(rng, (214, 60, 60), (60, 120, 190), (70, 150, 90), (240, 170, 50))
    yield shadow(0.34)
    for side in (-1, 1):
        yield Part(line(side * 0.15, -0.46, side * 0.46, -0.62, 0.035), (110, 76, 54))
        yield Part(line(side * 0.38, -0.58, side * 0.42, -0.7, 0.025), (110, 76, 54))
    for y, r in ((-0.25, 0.29), (-0.66, 0.2)):
        yield Part(oval(0, y, r, r), (206, 220, 238))
        yield Part(oval(-0.02, y - 0.02, r * 0.92, r * 0.92), white, solid=False)
    for y in (-0.38, -0.27, -0.16):
        yield Part(oval(0, y, 0.028, 0.028), (50, 54, 64), solid=False)
    yield Part(smooth(path("-.19,-.56 .19,-.56 .2,-.48 0,-.45 -.2,-.48")), scarf)
    yield Part(path(".07,-.5 .16,-.5 .18,-.28 .09,-.28"), shade(scarf, 0.85), solid=False)
    for x in (-0.07, 0.07):
        yield Part(oval(x, -0.71, 0.026, 0.03), (40, 44, 54), solid=False)
    yield Part(path("0,-.68 0,-.61 .2,-.62"), (244, 140, 50), solid=False)
    hat: Colour = (52, 54, 68) if rng.random() < 0.6 else shade(scarf, 0.8)
    yield Part(box(-0.22, -0.86, 0.22, -0.81), hat)
    yield Part(box(-0.14, -1.05, 0.14, -0.84), hat)
    yield Part(box(-0.14, -0.91, 0.14, -0.86), scarf, solid=False)


def balloon(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a hot-air balloon with coloured gores."""
    first = choose(rng, (230, 76, 70), (64, 130, 200), (140, 90, 190), (50, 150, 130))
    second = choose(rng, (252, 214, 90), (252, 248, 236), (250, 160, 80))

    def envelope(width: float) -> list[Point]:
        return [*oval(0, -0.66, 0.37 * width, 0.34, 160, 380), (0.08 * width, -0.22), (-0.08 * width, -0.22)]

    for x in (-0.07, 0.07):
        yield Part(line(x, -0.22, x * 0.9, -0.1, 0.012), (120, 90, 66), solid=False)
    for i, width in enumerate((1.0, 0.68, 0.34)):
        yield Part(envelope(width), first if i % 2 == 0 else second, solid=i == 0)
    yield Part(oval(-0.16, -0.78, 0.07, 0.11), (255, 255, 255, 70), solid=False)
    yield Part(path("-.08,-.12 .08,-.12 .065,0 -.065,0"), (164, 116, 72))
    yield Part(box(-0.085, -0.13, 0.085, -0.105), (120, 82, 52))


def planet(rng: Rng, world: str) -> Iterator[Part]:
    """Draw bands, and a ring now and then."""
    colour = choose(rng, (230, 150, 96), (110, 160, 220), (200, 120, 170), (130, 190, 150), (226, 200, 140))
    ring = rng.random() < 0.5
    tilt = float(rng.uniform(-25, 25))
    pale = shade(colour, 1.4)
    if ring:
        back = [*oval(0, 0, 0.62, 0.17, 180, 360), *reversed(oval(0, 0, 0.46, 0.11, 180, 360))]
        yield Part(turned(back, tilt), shade(pale, 0.85), lit=True)
    yield Part(oval(0, 0, 0.37, 0.37), colour, lit=True)
    for y, thick in ((-0.19, 0.045), (0.02, 0.06), (0.22, 0.04)):
        stripe = oval(0, y, 0.98 * math.sqrt(0.37**2 - y**2), thick)
        yield Part(turned(stripe, tilt), shade(colour, 0.88), solid=False, lit=True)
    crescent = [*oval(0, 0, 0.37, 0.37, -60, 120), *reversed(oval(-0.09, -0.06, 0.37, 0.37, -47, 107))]
    yield Part(crescent, (10, 10, 40, 80), solid=False, lit=True)
    if ring:
        front = [*oval(0, 0, 0.62, 0.17, 0, 180), *reversed(oval(0, 0, 0.46, 0.11, 0, 180))]
        yield Part(turned(front, tilt), pale, lit=True)


def lighthouse(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a banded tower on its rock."""
    band = choose(rng, (214, 66, 60), (50, 84, 140), (60, 60, 72))
    yield Part(smooth(path("-.4,.05 -.3,-.08 -.12,-.12 .1,-.1 .3,-.06 .42,.05")), (112, 108, 112), solid=False)
    yield Part(smooth(path("-.3,.05 -.16,-.06 .05,-.04 .2,.06")), (140, 136, 138), solid=False)
    yield Part(path("-.13,-.08 .13,-.08 .085,-.76 -.085,-.76"), (250, 248, 244))
    for top, bottom in ((0.24, 0.08), (0.56, 0.4)):
        a, b = (0.13 - 0.066 * (h - 0.08) for h in (bottom, top))
        yield Part([(-a, -bottom), (a, -bottom), (b, -top), (-b, -top)], band, solid=False)
    yield Part(path(".05,-.08 .13,-.08 .085,-.76 .045,-.76"), (20, 20, 50, 40), solid=False)
    yield from glow(0, -0.83, 0.3, (255, 236, 150), 14)
    yield Part(box(-0.12, -0.79, 0.12, -0.76), (70, 70, 80))
    yield Part(box(-0.065, -0.88, 0.065, -0.79), (255, 236, 150), lit=True)
    yield Part(box(-0.005, -0.88, 0.005, -0.79), (90, 90, 96), solid=False)
    yield Part(path("-.085,-.88 .085,-.88 0,-.97"), band)
    yield Part(box(-0.03, -0.2, 0.03, -0.08), (110, 76, 54), solid=False)
    yield Part(oval(0, -0.64, 0.02, 0.028), (90, 120, 140), solid=False)


def rocket(rng: Rng, world: str) -> Iterator[Part]:
    """Draw body, nose, fins, window and flame."""
    colour = choose(rng, (222, 70, 70), (70, 120, 210), (240, 160, 60), (120, 190, 130))
    yield from glow(0, 0.58, 0.35, (255, 170, 60), 14)
    yield Part(smooth(path("-.1,.34 -.13,.5 0,.74 .13,.5 .1,.34")), (255, 150, 50), solid=False, lit=True)
    yield Part(smooth(path("-.06,.34 -.07,.44 0,.58 .07,.44 .06,.34")), (255, 230, 120), solid=False, lit=True)
    for side in (-1, 1):
        yield Part(
            smooth([(side * 0.12, 0.05), (side * 0.3, 0.26), (side * 0.3, 0.46), (side * 0.1, 0.3)]),
            shade(colour, 0.85),
            lit=True,
        )
    yield Part(
        smooth(path("0,-.55 .13,-.32 .18,-.02 .12,.34 -.12,.34 -.18,-.02 -.13,-.32")),
        (240, 242, 248),
        lit=True,
    )
    yield Part(
        smooth(path(".06,-.44 .13,-.32 .18,-.02 .12,.34 .05,.34 .1,0")),
        (196, 202, 220),
        solid=False,
        lit=True,
    )
    yield Part(path("0,-.555 .055,-.475 .105,-.385 .13,-.31 -.13,-.31 -.105,-.385 -.055,-.475"), colour, lit=True)
    yield Part(box(-0.135, 0.24, 0.135, 0.31), colour, solid=False, lit=True)
    yield Part(oval(0, -0.1, 0.095, 0.095), (90, 100, 130), solid=False, lit=True)
    yield Part(oval(0, -0.1, 0.07, 0.07), (140, 214, 240), solid=False, lit=True)
    yield Part(oval(-0.02, -0.12, 0.025, 0.025), (255, 255, 255), solid=False, lit=True)


def whale(rng: Rng, world: str) -> Iterator[Part]:
    """Draw it coming up to blow."""
    colour = choose(rng, (70, 104, 150), (84, 96, 120), (60, 120, 150))
    for dx, dy in ((-0.16, -0.14), (-0.07, -0.24), (0.07, -0.24), (0.16, -0.14)):
        yield Part(oval(0.4 + dx, -0.56 + dy, 0.05, 0.07), (230, 246, 255, 210), solid=False, lit=True)
    yield Part(
        smooth(path(".37,-.45 .36,-.65 .4,-.78 .44,-.65 .43,-.45")),
        (230, 246, 255, 190),
        solid=False,
        lit=True,
    )
    yield Part(
        smooth(path("-.86,-.28 -1.14,-.62 -.92,-.58 -.8,-.46 -.66,-.6 -.46,-.58 -.72,-.28")),
        shade(colour, 0.9),
    )
    yield Part(smooth(path("-.84,-.36 -.5,-.2 -.1,-.4 .4,-.46 .8,-.28 .84,0 .3,.08 -.4,.06 -.74,-.1")), colour)
    yield Part(smooth(path(".82,-.1 .5,-.1 .1,0 .2,.07 .6,.06 .82,.01")), (222, 232, 240), solid=False)
    yield Part(oval(0.58, -0.2, 0.035, 0.04), (20, 24, 34), solid=False)
    yield Part(oval(0.59, -0.215, 0.012, 0.012), (255, 255, 255), solid=False)
    yield Part(smooth(path(".2,-.08 0,.08 .16,.08 .32,-.04")), shade(colour, 0.8), solid=False)
    yield Part(
        smooth(path("-.6,.05 -.2,.01 .3,.04 .9,0 .95,.09 .3,.13 -.5,.12")),
        (220, 240, 250, 120),
        solid=False,
        lit=True,
    )


def ufo(rng: Rng, world: str) -> Iterator[Part]:
    """Draw a saucer with lights and a beam."""
    colour = choose(rng, (150, 160, 180), (130, 170, 160), (170, 150, 190))
    for width in (0.5, 0.34):
        yield Part([(-0.2, 0.1), (0.2, 0.1), (width, 1.0), (-width, 1.0)], (190, 255, 190, 45), solid=False, lit=True)
    yield Part(oval(0, -0.12, 0.34, 0.32, 180, 360), (170, 230, 240), lit=True)
    yield Part(oval(-0.1, -0.26, 0.06, 0.08), (255, 255, 255, 150), solid=False, lit=True)
    yield Part(oval(0.04, -0.2, 0.1, 0.11), (110, 190, 90), solid=False, lit=True)
    for x in (0.0, 0.08):
        yield Part(oval(x, -0.22, 0.025, 0.035), (20, 30, 20), solid=False, lit=True)
    yield Part(oval(0, 0, 0.85, 0.22), shade(colour, 0.8), lit=True)
    yield Part(oval(0, -0.04, 0.8, 0.16), shade(colour, 1.15), solid=False, lit=True)
    for x in (-0.56, -0.28, 0.0, 0.28, 0.56):
        yield Part(oval(x, 0.08 - 0.1 * abs(x) ** 2, 0.055, 0.05), (255, 226, 110), solid=False, lit=True)

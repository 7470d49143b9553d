"""A small data set of drawn pictures: little worlds with houses, cats, boats and rockets.

It has what makes real multi-label data hard to split: labels that appear together, many instances of a label
in one picture, a long tail of rare labels, pictures with no label at all, frames of one clip that resemble
each other, and a few near-duplicates. The same seed draws the same pictures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evosplit import EvoSplitError
from evosplit.errors import needing
from evosplit_plugins.demo import things
from evosplit_plugins.demo.things import Part, Point, Rng
from evosplit_plugins.demo.worlds import HABITS, HEIGHT, SKY, WIDTH, WORLDS, Canvas, Guest
from evosplit_plugins.files import PathLike
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import Plan
from evosplit_plugins.ultralytics import box_line, label_path

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["FORMATS", "LABELS", "DemoSet", "draw_demo"]

MARGIN = 3  # pixels between a thing and the border
LABELS = tuple(HABITS)
FORMATS = ("coco", "yolo")


@dataclass(frozen=True)
class Thing:
    """One instance in a scene."""

    label: str
    parts: tuple[Part, ...]
    x: float
    y: float
    size: float
    drift: Point

    def placed(self, frame: float) -> list[Part]:
        """Give the parts in pixels of the picture, moved as that frame asks and kept inside it."""
        x, y = self.x + frame * self.drift[0], self.y + frame * self.drift[1]
        parts = [
            part._replace(points=[(x + self.size * px, y + self.size * py) for px, py in part.points])
            for part in self.parts
        ]
        x0, y0, x1, y1 = _bounds(parts)
        dx = max(MARGIN - x0, 0) + min(WIDTH - MARGIN - x1, 0)
        dy = max(MARGIN - y0, 0) + min(HEIGHT - MARGIN - y1, 0)
        return [part._replace(points=[(px + dx, py + dy) for px, py in part.points]) for part in parts]


@dataclass(frozen=True)
class Scene:
    """Everything about a picture but the frame."""

    world: str
    backdrop_seed: int
    things: tuple[Thing, ...]


def _bounds(parts: list[Part]) -> tuple[float, float, float, float]:
    points = np.array([point for part in parts if part.solid for point in part.points])
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Give the shared area as a share of the smaller box."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1]))
    return max(w, 0) * max(h, 0) / smaller


def _make_thing(rng: Rng, guest: Guest, world: str) -> Thing:
    habit = HABITS[guest.label]
    height = float(rng.uniform(guest.top, guest.bottom))
    # What stands or floats lower in the landscape is nearer, hence larger; the sky has no such order.
    depth = 0.5 if guest.bottom <= SKY else (height - guest.top) / max(guest.bottom - guest.top, 0.08)
    size = habit.size * (0.7 + 0.45 * depth) * float(rng.uniform(0.88, 1.12))
    flip = -1 if rng.random() < 0.5 else 1
    tilt = float(rng.uniform(-1, 1)) * habit.tilt
    parts = tuple(
        part._replace(points=things.turned([(flip * x, y) for x, y in part.points], tilt))
        for part in habit.draw(rng, world)
    )
    return Thing(
        guest.label,
        parts,
        float(rng.uniform(0, WIDTH)),
        height * HEIGHT,
        size,
        (flip * habit.drift[0], habit.drift[1]),
    )


def _make_scene(rng: Rng, *, empty: bool) -> Scene:
    names = list(WORLDS)
    world = names[rng.choice(len(names), p=[WORLDS[name].weight for name in names])]
    found: list[Thing] = []
    taken: list[tuple[float, ...]] = []
    present: set[str] = set()
    for guest in () if empty else WORLDS[world].guests:
        if rng.random() >= guest.chance * (3 if guest.after in present else 1):
            continue
        # Squaring favours few instances: a long tail of crowded pictures.
        wanted = guest.least + int((guest.most - guest.least + 1) * rng.random() ** 2)
        for _ in range(12 * wanted):
            thing = _make_thing(rng, guest, world)
            where = _bounds(thing.placed(0))
            if all(_overlap(where, other) < 0.2 for other in taken):
                found.append(thing)
                taken.append(where)
                present.add(guest.label)
                wanted -= 1
            if not wanted:
                break
    # Guests of the sky come in the order of their distance; on the ground, what stands lower is nearer.
    ground = {guest.label for guest in WORLDS[world].guests if guest.bottom > SKY}
    found.sort(key=lambda thing: thing.y if thing.label in ground else 0)
    return Scene(world, int(rng.integers(1 << 62)), tuple(found))


def _render(scene: Scene, frame: float, exposure: float) -> tuple[Image.Image, list[dict[str, Any]]]:
    """Paint one frame and describe its instances, without their ids."""
    canvas = Canvas()
    world = WORLDS[scene.world]
    world.backdrop(canvas, np.random.default_rng(scene.backdrop_seed))
    annotations = []
    for thing in scene.things:
        parts = thing.placed(frame)
        for part in parts:
            canvas.fill(part.points, part.colour if part.lit else world.lights(part.colour))
        annotations.append(_annotation(thing.label, [part.points for part in parts if part.solid]))
    return canvas.finish(exposure), annotations


def _annotation(label: str, outline: list[list[Point]]) -> dict[str, Any]:
    from PIL import Image, ImageDraw

    polygons = [[round(value, 2) for point in points for value in point] for points in outline]
    xs, ys = [v for p in polygons for v in p[::2]], [v for p in polygons for v in p[1::2]]
    x0, y0, x1, y1 = min(xs), min(ys), max(xs), max(ys)
    zoom = 4
    mask = Image.new("L", (int((x1 - x0 + 1) * zoom), int((y1 - y0 + 1) * zoom)))
    pen = ImageDraw.Draw(mask)
    for points in outline:
        pen.polygon([((x - x0) * zoom, (y - y0) * zoom) for x, y in points], fill=1)
    area = mask.histogram()[1] / zoom**2
    return {
        "category_id": LABELS.index(label) + 1,
        "bbox": [round(v, 2) for v in (x0, y0, x1 - x0, y1 - y0)],
        "area": round(area, 2),
        "iscrowd": 0,
        "segmentation": polygons,
    }


class Shot(NamedTuple):
    """One picture to take of a scene."""

    scene: Scene
    clip: str
    frame: int
    copy_of: int | None = None  # index of the shot that this one nearly repeats


@dataclass(frozen=True)
class DemoSet:
    """Where the pictures are, and how many.

    Attributes
    ----------
    root
        The directory that was given.
    images
        The folder of pictures.
    annotations
        The COCO instances file, or the data.yaml of YOLO.
    n_images, n_annotations
        How many records of each it holds.
    """

    root: Path
    images: Path
    annotations: Path
    n_images: int
    n_annotations: int


def _plan(n_images: int, seed: int) -> list[Shot]:
    """Decide every picture before any is drawn."""
    rng = np.random.default_rng(seed)
    copies = round(0.03 * n_images)
    shots: list[Shot] = []
    scenes = 0
    while len(shots) < n_images - copies:
        scene = _make_scene(rng, empty=bool(rng.random() < 0.05))
        clip = f"{scene.world}-{scenes:04d}"
        frames = int(rng.integers(4, 7)) if rng.random() < 0.08 else 1
        shots += [Shot(scene, clip, frame) for frame in range(frames)]
        scenes += 1
    del shots[n_images - copies :]
    for index in rng.choice(len(shots), copies, replace=False).tolist() if shots else ():
        scene = shots[index].scene
        shots.append(Shot(scene, f"{scene.world}-{scenes:04d}", shots[index].frame, index))
        scenes += 1
    return shots


def draw_demo(
    output_dir: PathLike,
    *,
    n_images: int = 300,
    seed: int = 0,
    format: str = "coco",
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> DemoSet:
    """Draw the demo data set in a directory: `images/*.jpg`, and `instances.json` or the label files of YOLO.

    Each image record of the COCO file also says to which `clip` and `frame` it belongs (a still is a clip of one
    frame), which `world` it shows and, for a near-duplicate, the id of the picture it repeats (`near_duplicate_of`).
    YOLO has only names, which begin with the clip: `harbour-0004-2.jpg`.

    Parameters
    ----------
    output_dir
        Made if it does not exist.
    n_images
        How many pictures.
    seed
        The same seed draws the same pictures.
    format
        "coco" for `instances.json`, "yolo" for `labels/*.txt` and a `data.yaml` with all pictures in `train`.
    overwrite
        Replace what an earlier run drew there; other files stay.
    on_progress
        Called with the share done and a message.

    Returns
    -------
    DemoSet
        Where everything is.

    Raises
    ------
    EvoSplitError
        If files are in the way, `output_dir` is a file, `n_images` is not positive, `seed` is negative, `format` is
        unknown, or Pillow is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     demo = draw_demo(folder, n_images=4)
    ...     sorted(path.name for path in demo.root.iterdir()), len(list(demo.images.iterdir()))
    (['.evosplit.json', 'images', 'instances.json'], 4)
    """
    with needing("PIL", "the demo pictures need Pillow", "demo"):
        import PIL  # noqa: F401
    if n_images < 1:
        raise EvoSplitError(f"n_images={n_images} pictures cannot be drawn; ask for at least 1")
    if seed < 0:
        raise EvoSplitError(f"seed={seed} is negative; give 0 or more")
    if format not in FORMATS:
        raise EvoSplitError(f"format={format!r} is unknown; choose one of {', '.join(FORMATS)}")
    root = Path(output_dir)
    if root.exists() and not root.is_dir():
        raise EvoSplitError(f"{root} is a file; name a directory to draw into")
    described = "instances.json" if format == "coco" else "data.yaml"
    demo = DemoSet(root, root / "images", root / described, n_images, 0)
    shots = _plan(n_images, seed)
    names = [f"{shot.clip}-{shot.frame}.jpg" for shot in shots]
    pictures = [PurePosixPath("images", name) for name in names]
    annotations = PurePosixPath(described)
    plan = Plan(root, writer="demo", files=[annotations, *pictures], overwrite=overwrite)
    with plan.stage() as stage:
        folder = stage.path(pictures[0]).parent
        content = _draw(shots, names, folder, on_progress or (lambda done, message: None))
        content["info"]["seed"] = seed
        if format == "coco":
            stage.path(annotations).write_text(json.dumps(content), encoding="utf-8")
        else:
            for place, text in _yolo_files(content).items():
                stage.path(place).write_text(text, encoding="utf-8")
        stage.commit()
    return replace(demo, n_annotations=len(content["annotations"]))


def _draw(shots: list[Shot], names: list[str], folder: Path, on_progress: OnProgress) -> dict[str, Any]:
    """Draw the pictures into a folder and describe them as COCO does."""
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for image_id, (shot, name) in enumerate(zip(shots, names, strict=True), start=1):
        # A near-duplicate is the same moment a blink later, a little brighter and compressed harder.
        copied = shot.copy_of is not None
        picture, found = _render(shot.scene, shot.frame + 0.2 * copied, 1.05 if copied else 1)
        picture.save(folder / name, quality=80 if copied else 92)
        record = {"id": image_id, "file_name": name, "width": WIDTH, "height": HEIGHT}
        record |= {"clip": shot.clip, "frame": shot.frame, "world": shot.scene.world}
        if shot.copy_of is not None:
            record["near_duplicate_of"] = shot.copy_of + 1
        images.append(record)
        for annotation in found:
            annotations.append({"id": len(annotations) + 1, "image_id": image_id, **annotation})
        on_progress(image_id / len(shots), "drawing")
    return {
        "info": {"description": "Little worlds, drawn by evosplit demo"},
        "licenses": [],
        "images": images,
        "annotations": annotations,
        "categories": [{"id": i, "name": name} for i, name in enumerate(LABELS, start=1)],
    }


def _yolo_files(content: Mapping[str, Any]) -> dict[PurePosixPath, str]:
    """Describe the pictures as YOLO does: a label file for each that shows something, and a yaml file."""
    names = {image["id"]: image["file_name"] for image in content["images"]}
    lines: dict[PurePosixPath, list[str]] = {}
    for each in content["annotations"]:
        place = PurePosixPath(label_path(f"/images/{names[each['image_id']]}")[1:])
        line = box_line(each["category_id"] - 1, each["bbox"], (WIDTH, HEIGHT))
        lines.setdefault(place, []).append(f"{line}\n")
    classes = "".join(f"  {j}: {name}\n" for j, name in enumerate(LABELS))
    described = f"# {content['info']['description']}, not divided yet\ntrain: images\nnames:\n{classes}"
    return {**{place: "".join(own) for place, own in lines.items()}, PurePosixPath("data.yaml"): described}

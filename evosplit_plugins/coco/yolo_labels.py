"""COCO annotations as YOLO labels: a line for each box or polygon, relative to the size of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evosplit import EvoSplitError
from evosplit.wording import counted, listed
from evosplit_plugins.coco.dataset import CocoData
from evosplit_plugins.coco.reading import CocoFile
from evosplit_plugins.ultralytics import box_line, label_line

__all__ = ["YoloLabels", "polygon_line", "yolo_labels"]

Points = list[tuple[float, float]]

_SHOWN = 3


@dataclass(frozen=True)
class YoloLabels:
    """The lines of each image's label file, and sentences about what is not in them."""

    lines: Sequence[Sequence[str]]
    notes: tuple[str, ...]


def yolo_labels(data: CocoData, *, polygons: bool) -> YoloLabels:
    """Turn the annotations of each image into lines; equal ones are one.

    Crowds, and boxes without an area inside of the image, are left out: YOLO knows neither.

    Parameters
    ----------
    data
        What was read: instances or keypoints.
    polygons
        Write polygons. An annotation without one, such as a mask, becomes the polygon of its box, since Ultralytics
        rejects files that mix polygons and boxes.
    """
    if data.kind not in ("instances", "person_keypoints"):
        raise EvoSplitError(f"layout='yolo' needs boxes, but {data.files[0].path.name} holds {data.kind}")
    lines: list[dict[str, None]] = [{} for _ in range(data.counts.n_samples)]
    n_crowd = n_empty = n_boxes = 0
    for file, rows in zip(data.files, data.rows, strict=True):
        sizes = _sizes(file)
        size_of_row = {row: size for row, size in zip(rows.images.tolist(), sizes, strict=True) if row >= 0}
        shapes = file.shapes(polygons=polygons)
        for row, label, at in zip(rows.instances.tolist(), rows.labels.tolist(), rows.positions.tolist(), strict=True):
            if row < 0:
                continue
            box, parts, is_crowd = shapes[at]
            if is_crowd:
                n_crowd += 1
                continue
            line = polygon_line(label, parts, size_of_row[row]) if polygons and parts else None
            if line is None:
                n_boxes += polygons
                line = box_line(label, box, size_of_row[row], corners=polygons)
            if line is None:
                n_empty += 1
            else:
                lines[row][line] = None
    notes = []
    if n_crowd:
        notes.append(f"{counted(n_crowd, 'crowd annotation is', 'crowd annotations are')} not in the label files.")
    if n_empty:
        notes.append(f"{counted(n_empty, 'box', 'boxes')} without an area inside of the image are not in the labels.")
    if n_boxes:
        notes.append(f"{counted(n_boxes, 'annotation has', 'annotations have')} no polygon: their boxes are written.")
    return YoloLabels([list(each) for each in lines], tuple(notes))


def _sizes(file: CocoFile) -> list[tuple[float, float]]:
    """Return width and height of each image."""
    found = file.image_values(("width", "height"))
    sizes = list(zip(found["width"], found["height"], strict=True))
    wrong = [at for at, size in enumerate(sizes) if not all(type(n) in (int, float) and n > 0 for n in size)]
    if wrong:
        where = listed([f"images[{at}]" for at in wrong[:_SHOWN]], _SHOWN, total=len(wrong))
        raise EvoSplitError(
            f"{file.path}: {counted(len(wrong), 'image has', 'images have')} no width and height, which YOLO's labels "
            f"are relative to: {where}; add them"
        )
    return sizes


def polygon_line(label: int, parts: Sequence[Any], size: tuple[float, float]) -> str | None:
    """Write a polygon; several parts are joined by lines from each to the next and back. None without an area.

    Examples
    --------
    >>> polygon_line(0, [[0, 0, 10, 0, 10, 10]], (10, 20))
    '0 0 0 1 0 1 0.5'
    """
    rings = [_points(part, size) for part in parts]
    whole = _joined([ring for ring in rings if ring])
    if len({x for x, _ in whole}) < 2 or len({y for _, y in whole}) < 2:
        return None
    return label_line(label, [value for point in whole for value in point])


def _points(part: Any, size: tuple[float, float]) -> Points:
    """Return the corners of one part, moved to the edge of the image where they lie outside of it."""
    if not isinstance(part, list) or len(part) < 6 or len(part) % 2:
        return []
    if not all(type(value) in (int, float) for value in part):
        return []
    width, height = size
    inside = [min(max(value / (height if at % 2 else width), 0.0), 1.0) for at, value in enumerate(part)]
    return list(zip(inside[::2], inside[1::2], strict=True))


def _joined(rings: Sequence[Points]) -> Points:
    """Join rings to one: it leaves each for the next where they are closest, and comes back the same way."""
    if len(rings) < 2:
        return list(rings[0]) if rings else []
    first, *others = rings
    rest = _joined(others)
    _, leave, enter = min(
        ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2, i, j) for i, a in enumerate(first) for j, b in enumerate(rest)
    )
    return [*first[: leave + 1], *rest[enter:], *rest[: enter + 1], *first[leave:]]

"""Further columns to balance beside the labels: plain fields, other label fields, and class × box size.

A size is COCO's: small below 32² pixels, large from 96² on. Where the width and height of the pictures are not
known, the share of the picture that a box covers decides instead, at the same limits in a picture of 640 × 480.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from fiftyone import ViewField as F

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.fiftyone_plugin import fields, labels

__all__ = ["AREA", "Strata", "read_strata", "strata_fields"]

KINDS = ("text", "truth", "integer", "number", "date")
AREA = "area"  # the name of the stratum class × box size; a field of this name comes first
SIZES = ("small", "medium", "large")
LIMITS_IN_PIXELS = (32.0**2, 96.0**2)
LIMITS_OF_SHARE = (32.0**2 / (640 * 480), 96.0**2 / (640 * 480))
_PIXELS = (("metadata.width", "metadata.height"), ("metadata.frame_width", "metadata.frame_height"))
_BOX_OF_LABEL = {"label": "bounding_box", "detections.label": "detections.bounding_box"}

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Strata:
    """What `evosplit.split` takes as `strata`, and sentences about what the reader should know."""

    values: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def strata_fields(samples: Any, label_fields: Sequence[str]) -> list[str]:
    """List the fields that can be offered to be balanced beside the labels of `label_fields`."""
    plain = [f.name for f in fields.plain_fields(samples).values() if f.kind in KINDS and not f.hidden]
    others = [name for name in labels.label_paths(samples) if name not in label_fields and name not in plain]
    area = [AREA] if _boxes(samples, label_fields) and AREA not in plain else []
    return [*area, *(name for name in [*plain, *others] if name not in ("filepath", *label_fields))]


def read_strata(
    samples: Any, units: Sequence[str], names: Sequence[str], label_paths: Mapping[str, str]
) -> Strata | None:
    """Read the strata of some units; None when nothing is asked for.

    Parameters
    ----------
    samples
        The dataset or view.
    units
        The ids of the samples (of the groups, in a grouped dataset).
    names
        Fields with one value per sample, label fields, or "area" for class × box size.
    label_paths
        The fields whose labels are split, with the paths of their label names.
    """
    check_strata(samples, names, label_paths)
    values: dict[str, Any] = {}
    notes: list[str] = []
    plain = fields.plain_fields(samples)
    for name in names:
        if name in plain:
            values[name] = _column(samples, units, plain[name])
        elif name == AREA:
            values[name], told = _box_sizes(samples, units, label_paths)
            notes += told
        else:
            values[name] = _of_units(labels.count_labels(samples, labels.choose_fields(samples, name)), units)
    return Strata(values, tuple(notes)) if names else None


def check_strata(samples: Any, names: Sequence[str], label_paths: Mapping[str, str]) -> None:
    """Raise what is wrong with the names, without reading any sample."""
    if len(set(names)) < len(names):
        raise EvoSplitError(f"strata_fields={list(names)} repeats a field; name each once")
    plain = fields.plain_fields(samples)
    counted = [name for name in labels.label_paths(samples) if name not in plain]
    for name in names:
        if name in label_paths:
            raise EvoSplitError(f"the labels of {name!r} are spread already; take it out of strata_fields")
        if name == AREA and name not in plain:
            if not _boxes(samples, list(label_paths)):
                raise EvoSplitError(
                    f"{AREA!r} balances the sizes of boxes, but there are none in {', '.join(map(repr, label_paths))}; "
                    "split a field with Detections, or take 'area' out of strata_fields"
                )
        elif name not in counted:
            fields.choose_plain(samples, [name], KINDS, "be balanced", [*counted, AREA])


def _column(samples: Any, units: Sequence[str], field: fields.PlainField) -> Any:
    """Read one value per unit; where the slices of a group differ, numbers are averaged and categories counted."""
    (found,) = fields.read_units(samples, units, [field.path])
    if field.kind == "date":
        found = [[_seconds(value) for value in values] for values in found]
    if all(len(set(values)) <= 1 for values in found):
        return [values[0] if values else None for values in found]
    if field.kind in ("integer", "number", "date"):
        return [float(np.mean(values)) if values else None for values in found]
    return labels.tally(units, [[list(map(str, values)) for values in found]])


def _seconds(value: datetime.date) -> float:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return value.replace(tzinfo=value.tzinfo or datetime.timezone.utc).timestamp()


def _of_units(counts: LabelCounts, units: Sequence[str]) -> LabelCounts:
    """Bring the rows of some counts into the order of the units."""
    row_of_unit = {unit: row for row, unit in enumerate(counts.ids.tolist())}
    rows = [row_of_unit[unit] for unit in units]
    return LabelCounts(counts.matrix[rows], ids=list(units), labels=counts.labels)


def _boxes(samples: Any, label_fields: Sequence[str]) -> dict[str, str]:
    """Map each of the label fields that holds boxes to the path of its boxes."""
    schemas = {"": samples.get_field_schema(flat=True)}
    schemas[labels.FRAMES] = samples.get_frame_field_schema(flat=True) or {}
    found = {}
    for name, path in labels.label_paths(samples).items():
        if name not in label_fields:
            continue
        place = labels.FRAMES if name.startswith(labels.FRAMES) else ""
        box = name + "." + _BOX_OF_LABEL.get(path.removeprefix(f"{name}."), "")
        if box.removeprefix(place) in schemas[place]:
            found[name] = box
    return found


def _box_sizes(samples: Any, units: Sequence[str], label_paths: Mapping[str, str]) -> tuple[LabelCounts, list[str]]:
    """Count the instances of each class × size, and say how sizes were told when pixels are not known."""
    boxes = _boxes(samples, list(label_paths))
    schema = samples.get_field_schema(flat=True)
    pixels = [path for pair in _PIXELS if set(pair) <= schema.keys() for path in pair]
    paths = [path for name, box in boxes.items() for path in (label_paths[name], _share_of(box))]
    keys, *columns = labels.Units.of(samples).values([*paths, *pixels])
    instances = {
        name: [
            _instances(*row, frames=name.startswith(labels.FRAMES)) for row in zip(*columns[at : at + 2], strict=True)
        ]
        for name, at in zip(boxes, range(0, len(paths), 2), strict=True)
    }
    limits, scale = LIMITS_IN_PIXELS, _picture_areas(len(keys), columns[len(paths) :])
    with_boxes = np.array([any(rows) for rows in zip(*instances.values(), strict=True)])
    unknown = int((with_boxes & np.isnan(scale)).sum())
    notes = []
    if unknown:
        limits, scale = LIMITS_OF_SHARE, np.ones(len(keys))
        notes.append(
            f"Box sizes are told by the share of the picture that a box covers (small below {100 * limits[0]:.2f} %, "
            f"large from {100 * limits[1]:.0f} % on), because {unknown} of {len(keys)} samples have no width and "
            "height; call dataset.compute_metadata() for sizes in pixels."
        )
    prefix = "{}/" if len(label_paths) > 1 else ""
    names = [
        [_sized(row, whole, limits, prefix.format(name)) for row, whole in zip(rows, scale.tolist(), strict=True)]
        for name, rows in instances.items()
    ]
    return _of_units(labels.tally(keys, names), units), notes


def _picture_areas(n_rows: int, columns: Sequence[Sequence[Any]]) -> Floats:
    """Multiply widths and heights, given in turn; pictures and videos keep them in different fields."""
    areas = np.full(n_rows, np.nan)
    for widths, heights in zip(columns[::2], columns[1::2], strict=True):
        found = np.array(widths, dtype=np.float64) * np.array(heights, dtype=np.float64)
        areas = np.where(np.isnan(areas), found, areas)
    return areas


def _share_of(box: str) -> Any:
    """Return what to read for the shares of the picture that boxes cover; of frames, that is the boxes themselves.

    The database multiplies, because a number for each box comes back four times as fast as the box.
    """
    if box.startswith(labels.FRAMES):
        return box
    field, _, part = box.rpartition(".detections.")
    if field:
        return F(f"{field}.detections").map(F(part)[2] * F(part)[3])
    return F(box)[2] * F(box)[3]


def _instances(names: Any, shares: Any, *, frames: bool) -> list[tuple[str, float]]:
    """List the class and the covered share of the picture of each box in a row; what lacks either is left out.

    Examples
    --------
    >>> _instances(["cat", None], [0.25, 1.0], frames=False)
    [('cat', 0.25)]
    >>> _instances([None, "dog"], [None, [0, 0, 1, 0.5]], frames=True)
    [('dog', 0.5)]
    """
    if frames:
        both = zip(names or (), shares or (), strict=True)
        return [found for name, share in both for found in _instances(name, share, frames=False)]
    if not isinstance(names, list):
        names, shares = [names], [shares]
    both = zip(names, shares or (), strict=True)
    return [
        (name, share[2] * share[3] if isinstance(share, list) else share)
        for name, share in both
        if name is not None and share not in (None, [])
    ]


def _sized(instances: Sequence[tuple[str, float]], whole: float, limits: Sequence[float], prefix: str) -> list[str]:
    """Name each instance by its class and size.

    Examples
    --------
    >>> _sized([("cat", 0.001), ("dog", 0.5)], 640 * 480.0, LIMITS_IN_PIXELS, "")
    ['cat small', 'dog large']
    """
    return [f"{prefix}{name} {SIZES[sum(share * whole >= limit for limit in limits)]}" for name, share in instances]

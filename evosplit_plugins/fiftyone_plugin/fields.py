"""The fields of the samples: which can be used for groups and strata, and their values for each unit.

A plain field has one value per sample; one that holds a Classification (or Regression) stands for its label (or value).
Fields inside lists, such as those of detections, belong to the labels and are no plain fields. Groups are named by
plain fields; strata are plain fields, label fields, or "area": class × box size, small, medium or large as in COCO.
Where the width and height of the pictures are not known, the share of the picture that a box covers decides instead,
as in a picture of 640 × 480.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import fiftyone as fo
import numpy as np
import numpy.typing as npt
from fiftyone import ViewField as F

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.box_sizes import LIMITS, size_of
from evosplit_plugins.fiftyone_plugin.names import FRAMES, count_chunks, count_names, without_collecting
from evosplit_plugins.fiftyone_plugin.reading import (
    Units,
    choose_fields,
    is_generated,
    label_paths,
    name_of,
    root_dataset,
)
from evosplit_plugins.source import Fields

__all__ = [
    "AREA",
    "FOLDER",
    "GROUP_KINDS",
    "PlainField",
    "check_strata",
    "choose_plain",
    "group_fields",
    "group_values",
    "plain_fields",
    "read_fields",
    "strata_fields",
    "values_of_units",
]

GROUP_KINDS = ("text", "integer", "date")
STRATUM_KINDS = ("text", "truth", "integer", "number", "date")
FOLDER = "filepath"  # as a field to group by, this means the folder that the file lies in
AREA = "area"  # the name of the stratum class × box size; a field of this name comes first
USUAL_PICTURE = 640 * 480.0  # pixels, where width and height are not known
_KIND_OF = {
    fo.StringField: "text",
    fo.ObjectIdField: "text",
    fo.BooleanField: "truth",
    fo.IntField: "integer",
    fo.FrameNumberField: "integer",
    fo.FloatField: "number",
    fo.DateField: "date",
    fo.DateTimeField: "date",
}
_VALUE_OF = {fo.Classification: "label", fo.Regression: "value"}
_PIXELS = (("metadata.width", "metadata.height"), ("metadata.frame_width", "metadata.frame_height"))
_BOX_OF_LABEL = {"label": "bounding_box", "detections.label": "detections.bounding_box"}

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PlainField:
    """A field with one value per sample.

    Attributes
    ----------
    name
        The field as the user writes it.
    path
        The path that `values` takes: `weather.label` for a Classification in `weather`.
    kind
        "text", "truth", "integer", "number" or "date".
    hidden
        Whether the field can be named but is not offered: parts of labels, ids, what FiftyOne keeps itself.
    """

    name: str
    path: str
    kind: str
    hidden: bool = False


def _holder(samples: Any) -> Any:
    """Return the collection with the plain fields: for a view of patches, clips or frames, its dataset."""
    return root_dataset(samples) if is_generated(samples) else samples


def plain_fields(samples: Any) -> dict[str, PlainField]:
    """Return the plain fields of a dataset or view by name; those of the metadata come last."""
    schema = _holder(samples).get_field_schema(flat=True)
    lists = [name for name, field in schema.items() if isinstance(field, (fo.ListField, fo.DictField))]
    found: dict[str, PlainField] = {}
    documents: list[str] = []
    for name, field in schema.items():
        if any(name.startswith(f"{parent}.") for parent in lists):
            continue
        document = getattr(field, "document_type", None)
        if document is not None and issubclass(document, fo.Label):
            documents.append(name)
        value = _VALUE_OF.get(document)
        if value is not None:
            found[name] = PlainField(name, f"{name}.{value}", _KIND_OF[type(schema[f"{name}.{value}"])])
            continue
        kind = _KIND_OF.get(type(field))
        if kind is not None:
            inside = any(name.startswith(f"{parent}.") for parent in documents)
            hidden = inside or name == "id" or name.endswith(".id") or bool(field.read_only)
            found[name] = PlainField(name, name, kind, hidden)
    return dict(sorted(found.items(), key=lambda item: item[0].startswith("metadata.")))


def group_fields(samples: Any) -> list[str]:
    """List the fields to offer for grouping, without those of the metadata."""
    known = [field for field in plain_fields(samples).values() if field.kind in GROUP_KINDS and not field.hidden]
    return [field.name for field in known if not field.name.startswith("metadata.")]


def strata_fields(samples: Any, label_fields: Sequence[str]) -> list[str]:
    """List the fields to offer as strata, beside the labels of `label_fields`."""
    plain = [field.name for field in plain_fields(samples).values() if field.kind in STRATUM_KINDS and not field.hidden]
    others = [name for name in label_paths(samples) if name not in label_fields and name not in plain]
    area = [AREA] if _boxes(samples, label_fields) and AREA not in plain else []
    return [*area, *(name for name in [*plain, *others] if name not in ("filepath", *label_fields))]


def choose_plain(
    samples: Any,
    names: Sequence[str],
    kinds: Collection[str],
    purpose: str,
    *,
    parameter: str,
    others: Sequence[str] = (),
) -> list[PlainField]:
    """Return the fields of these names; one that does not exist or does not serve the purpose is an error.

    `others` are further names to list among the choices.
    """
    known = plain_fields(samples)
    offered = [field.name for field in known.values() if field.kind in kinds and not field.hidden]
    choices = ", ".join(map(repr, [*offered, *others])) or "none"
    for name in names:
        if name in known and known[name].kind in kinds:
            continue
        schema = _holder(samples).get_field_schema(flat=True)
        said = f"{parameter}={name!r} is no field of {name_of(samples)}"
        if name not in schema:
            raise EvoSplitError(f"{said}; fields that can {purpose}: {choices}")
        inside = name not in known and any(name.startswith(f"{field}.") for field in schema)
        kind = f"{type(schema[name]).__name__}{', inside ' + repr(name.split('.')[0]) if inside else ''}"
        raise EvoSplitError(f"{said} that can {purpose} ({kind}); fields that can: {choices}")
    return [known[name] for name in names]


def check_strata(samples: Any, names: Sequence[str], labels: Mapping[str, str]) -> None:
    """Check the names of strata without reading samples; `labels` are the fields that are split."""
    plain = plain_fields(samples)
    counted = [name for name in label_paths(samples) if name not in plain]
    for name in names:
        if name in labels:
            raise EvoSplitError(f"stratify_by={name!r}: the labels of that field are spread already; leave it out")
        if name == AREA and name not in plain:
            if not _boxes(samples, list(labels)):
                raise EvoSplitError(
                    f"stratify_by={AREA!r} balances the sizes of boxes, but there are none in "
                    f"{', '.join(map(repr, labels))}; split a field with Detections, or leave it out"
                )
        elif name not in counted:
            choose_plain(
                samples, [name], STRATUM_KINDS, "be balanced", parameter="stratify_by", others=[*counted, AREA]
            )


def read_fields(
    samples: Any, units: Sequence[str], labels: Mapping[str, str], *, groups: Sequence[str], strata: Sequence[str]
) -> Fields:
    """Read groups and strata of some units, all of them in one pass over the samples.

    Parameters
    ----------
    samples
        The dataset or view. Of patches, clips or frames, plain fields are read from their samples, in a pass of their
        own.
    units
        The id of each unit; one that occurs twice has two rows.
    labels
        The fields whose labels are split, with the paths of their label names.
    groups
        Plain fields; `filepath` means the folder.
    strata
        Plain fields, label fields, or "area" for class × box size.
    """
    grouping = choose_plain(samples, groups, GROUP_KINDS, "keep samples together", parameter="group_by")
    check_strata(samples, strata, labels)
    known = plain_fields(samples)
    plain = {field.path: field for field in (*grouping, *(known[name] for name in strata if name in known))}
    counted = {name: choose_fields(samples, name)[name] for name in strata if name not in known and name != AREA}
    boxes = _Boxes(samples, labels) if AREA in strata and AREA not in known else None
    parts = [*counted.values(), *(boxes.paths if boxes is not None else ())]
    if not plain and not parts:
        return Fields()
    with without_collecting():
        values, keys, columns = _read(samples, units, list(plain), parts)
        found: dict[str, Any] = {}
        notes: list[str] = []
        for name in strata:
            if name in known:
                found[name] = _stratum(units, known[name], values[known[name].path])
            elif name in counted:
                column = columns[list(counted).index(name)]
                counts = count_chunks([(keys, column)], {name: counted[name]}, where=name_of(samples))
                found[name] = _of_units(counts, units)
            elif boxes is not None:
                counts, said = boxes.count(keys, columns[len(counted) :])
                found[name] = _of_units(counts, units)
                notes += said
        together = {field.name: group_values(field, values[field.path]) for field in grouping}
    return Fields(groups=together, strata=found, notes=tuple(notes))


def _read(
    samples: Any, units: Sequence[str], plain: Sequence[str], parts: Sequence[Any]
) -> tuple[dict[str, list[Any]], list[str], list[list[Any]]]:
    """Read plain fields by unit, and the paths of labels and boxes by row, with the unit of each row."""
    if is_generated(samples):
        keys_of_plain, *of_plain = Units.of(root_dataset(samples)).values(plain) if plain else [[]]
        keys, *columns = Units.of(samples).values(parts) if parts else [[]]
    else:
        keys, *both = Units.of(samples).values([*plain, *parts])
        keys_of_plain, of_plain, columns = keys, both[: len(plain)], both[len(plain) :]
    values = {path: _of_each(units, keys_of_plain, column) for path, column in zip(plain, of_plain, strict=True)}
    return values, keys, columns


def values_of_units(samples: Any, units: Sequence[str], field: PlainField) -> list[Any]:
    """Return the value of a plain field for each unit; a list where the slices of a group differ."""
    return _read(samples, units, [field.path], [])[0][field.path]


def _of_each(units: Sequence[str], keys: Sequence[str], column: list[Any]) -> list[Any]:
    """Return the value of each unit, None if it has none; a list where the slices of a group differ."""
    if keys == units:
        return column
    values: dict[str, list[Any]] = {unit: [] for unit in units}
    for key, value in zip(keys, column, strict=True):
        if value is not None and key in values:
            values[key].append(value)
    one = {unit: (several[0] if several else None) for unit, several in values.items() if len(set(several)) < 2}
    return [one[unit] if unit in one else values[unit] for unit in units]


def group_values(field: PlainField, values: Sequence[Any]) -> list[Any]:
    """Turn the values of each unit into the names of its groups; an empty text names none.

    Examples
    --------
    >>> group_values(PlainField("scene", "scene", "text"), ["a", ["a", "b", "b"], "", None])
    ['a', ['a', 'b'], None, None]
    """
    name = _folder if field.name == FOLDER else _group_name
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found.append(list(dict.fromkeys(named for each in value if (named := name(each)) is not None)))
        else:
            found.append(None if value is None else name(value))
    return found


def _group_name(value: Any) -> int | str | None:
    return value if isinstance(value, int) else str(value) or None


def _folder(path: str) -> str:
    return str(PurePath(path.replace("\\", "/")).parent)


def _stratum(units: Sequence[str], field: PlainField, values: list[Any]) -> Any:
    """Return one value per unit; where the slices of a group differ, numbers are averaged and categories counted."""
    if field.kind == "date":
        values = [
            [_seconds(each) for each in value] if isinstance(value, list) else _seconds(value) for value in values
        ]
    if not any(isinstance(value, list) for value in values):
        return values
    if field.kind in ("integer", "number", "date"):
        return [float(np.mean(value)) if isinstance(value, list) else value for value in values]
    several = [value if isinstance(value, list) else [] if value is None else [value] for value in values]
    return count_names(units, [[list(map(str, names)) for names in several]])


def _seconds(value: datetime.date | None) -> float | None:
    if value is None:
        return None
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
    schemas[FRAMES] = samples.get_frame_field_schema(flat=True) or {}
    found = {}
    for name, path in label_paths(samples).items():
        if name not in label_fields:
            continue
        prefix = FRAMES if name.startswith(FRAMES) else ""
        box = name + "." + _BOX_OF_LABEL.get(path.removeprefix(f"{name}."), "")
        if box.removeprefix(prefix) in schemas[prefix]:
            found[name] = box
    return found


class _Boxes:
    """The stratum class × box size: the paths to read, and the counting."""

    def __init__(self, samples: Any, labels: Mapping[str, str]) -> None:
        schema = samples.get_field_schema(flat=True)
        self.names = list(_boxes(samples, list(labels)))
        self.prefix = "{}/" if len(labels) > 1 else ""
        boxes = _boxes(samples, self.names)
        self.paths: list[Any] = [path for name, box in boxes.items() for path in (labels[name], _share_of(box))]
        self.paths += [path for pair in _PIXELS if set(pair) <= schema.keys() for path in pair]

    def count(self, keys: Sequence[str], columns: Sequence[list[Any]]) -> tuple[LabelCounts, list[str]]:
        """Count the instances of each class × size; a note says how sizes were defined where pixels are unknown."""
        n = 2 * len(self.names)
        instances = {
            name: [_instances(*row, frames=name.startswith(FRAMES)) for row in zip(*columns[at : at + 2], strict=True)]
            for name, at in zip(self.names, range(0, n, 2), strict=True)
        }
        scale = _picture_areas(len(keys), columns[n:])
        with_boxes = np.array([any(rows) for rows in zip(*instances.values(), strict=True)])
        unknown = int((with_boxes & np.isnan(scale)).sum())
        notes = []
        if unknown:
            scale = np.full(len(keys), USUAL_PICTURE)
            small, large = (100 * limit / USUAL_PICTURE for limit in LIMITS)
            notes.append(
                f"Box sizes are told by the share of the picture that a box covers (small below {small:.2f} %, large "
                f"from {large:.0f} % on), because {unknown} of {len(keys)} samples have no width and height; call "
                "dataset.compute_metadata() for sizes in pixels."
            )
        names = [
            [_sized(row, whole, self.prefix.format(name)) for row, whole in zip(rows, scale.tolist(), strict=True)]
            for name, rows in instances.items()
        ]
        return count_names(keys, names), notes


def _picture_areas(n_rows: int, columns: Sequence[Sequence[Any]]) -> Floats:
    """Multiply widths and heights, given in turn; pictures and videos keep them in different fields."""
    areas = np.full(n_rows, np.nan)
    for widths, heights in zip(columns[::2], columns[1::2], strict=True):
        found = np.array(widths, dtype=np.float64) * np.array(heights, dtype=np.float64)
        areas = np.where(np.isnan(areas), found, areas)
    return areas


def _share_of(box: str) -> Any:
    """Return what to read to get the share of the picture that each box covers; for frames, the boxes themselves.

    The database multiplies, because a number for each box comes back four times as fast as the box.
    """
    if box.startswith(FRAMES):
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


def _sized(instances: Sequence[tuple[str, float]], whole: float, prefix: str) -> list[str]:
    """Name each instance by its class and size, given its share of the picture and the pixels of the whole.

    Examples
    --------
    >>> _sized([("cat", 0.001), ("dog", 0.5)], 640 * 480.0, "")
    ['cat small', 'dog large']
    """
    return [f"{prefix}{name} {size_of(share * whole)}" for name, share in instances]

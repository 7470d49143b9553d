"""Plain fields of the samples: which there are, what they can be used for, and their values for each unit.

A field that holds one Classification (or Regression) stands for its label (or value). Fields inside lists, such as
those of detections, belong to the labels and are no plain fields.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import labels

__all__ = ["PlainField", "choose_plain", "plain_fields", "read_units", "source_of"]

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


def source_of(samples: Any) -> Any:
    """Return where the plain fields are read: of a view of patches, clips or frames that is its dataset."""
    return labels.root_dataset(samples) if labels.is_generated(samples) else samples


def plain_fields(samples: Any) -> dict[str, PlainField]:
    """Map each plain field of a dataset or view to what is known of it; fields of the metadata come last."""
    schema = source_of(samples).get_field_schema(flat=True)
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


def choose_plain(
    samples: Any, names: Sequence[str], kinds: Collection[str], purpose: str, others: Collection[str] = ()
) -> list[PlainField]:
    """Return the fields of these names; one that does not exist or does not serve the purpose is an error.

    `others` are further names to list among the choices.
    """
    known = plain_fields(samples)
    offered = [field.name for field in known.values() if field.kind in kinds and not field.hidden]
    choices = ", ".join(map(repr, [*offered, *others])) or "none"
    where = labels.name_of(samples)
    for name in names:
        if name in known and known[name].kind in kinds:
            continue
        schema = source_of(samples).get_field_schema(flat=True)
        if name not in schema:
            raise EvoSplitError(f"{name!r} is no field of {where}; fields that can {purpose}: {choices}")
        inside = name not in known and any(name.startswith(f"{field}.") for field in schema)
        kind = f"{type(schema[name]).__name__}{', inside ' + repr(name.split('.')[0]) if inside else ''}"
        raise EvoSplitError(f"{name!r} of {where} ({kind}) cannot {purpose}; fields that can: {choices}")
    return [known[name] for name in names]


def read_units(samples: Any, units: Sequence[str], paths: Sequence[str]) -> list[list[list[Any]]]:
    """Read the values of each path for each unit: one for a sample, one per slice for a group, without None."""
    keys, *columns = labels.Units.of(source_of(samples)).values(paths)
    row_of_unit = {unit: row for row, unit in enumerate(units)}
    rows = [row_of_unit.get(key) for key in keys]
    found: list[list[list[Any]]] = []
    for column in columns:
        values: list[list[Any]] = [[] for _ in units]
        for row, value in zip(rows, column, strict=True):
            if row is not None and value is not None:
                values[row].append(value)
        found.append(values)
    return found

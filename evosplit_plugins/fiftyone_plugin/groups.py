"""Samples that belong together: those with the same value in a field, and near duplicates.

A field with the id of each sample's original, as the `duplicates_view(id_field=...)` of FiftyOne Brain writes it, is a
field like any other: equal values belong together. What is linked, directly or through others, is one group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import duplicates, fields, labels

__all__ = ["Groups", "duplicate_sources", "find_groups", "group_fields"]

KINDS = ("text", "integer", "date")
FOLDER = "filepath"  # as a field to group by, this means the folder that the file lies in
_NAMES_SHOWN = 2
_ID = re.compile(r"[0-9a-f]{24}")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """What belongs together.

    Attributes
    ----------
    of_unit
        The name of each unit's group; None for a unit on its own.
    asked
        What was asked for, as the record keeps it.
    notes
        Sentences about what the reader should know.
    """

    of_unit: tuple[str | None, ...]
    asked: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in a few words."""
        sizes: dict[str, int] = {}
        for name in self.of_unit:
            if name is not None:
                sizes[name] = sizes.get(name, 0) + 1
        if not sizes:
            return "no groups were found"
        return f"{labels.plural(len(sizes), 'group')}, the largest of {labels.plural(max(sizes.values()), 'sample')}"


def group_fields(samples: Any) -> list[str]:
    """List the fields that can be offered to keep samples together; what only the file tells is not."""
    known = [field for field in fields.plain_fields(samples).values() if field.kind in KINDS and not field.hidden]
    return [field.name for field in known if not field.name.startswith("metadata.")]


def duplicate_sources(samples: Any) -> list[str]:
    """List what offers near duplicates: similarity runs of whole samples, and fields that hold sample ids."""
    dataset = labels.root_dataset(samples)
    text = [field for field in fields.plain_fields(dataset).values() if field.kind == "text" and not field.hidden]
    return [*duplicates.similarity_runs(dataset), *(field.name for field in text if _holds_ids(dataset, field.path))]


def _holds_ids(dataset: Any, path: str) -> bool:
    first = labels.flattened(dataset).exists(path).limit(1).values(path)
    return bool(first) and _ID.fullmatch(str(first[0])) is not None


def find_groups(
    samples: Any,
    units: Sequence[str],
    *,
    by: Sequence[str] = (),
    near_duplicates: Any = None,
    threshold: float | None = None,
    on_compare: duplicates.OnCompare | None = None,
) -> Groups | None:
    """Find the groups of some units; None when nothing is asked for.

    Parameters
    ----------
    samples
        The dataset or view.
    units
        The ids of the samples (of the groups, in a grouped dataset) to be kept together or not.
    by
        Fields: units with equal values belong together. `filepath` means the folder.
    near_duplicates
        A brain key, a similarity index, a mapping from an id to the ids of its duplicates, or a field.
    threshold
        The distance up to which two embeddings count as near duplicates; by default that of the index's last
        `find_duplicates`, else FiftyOne's own.
    on_compare
        Called with the fraction of embeddings that are compared; returning False stops with an error.
    """
    if threshold is not None and not threshold >= 0:
        raise EvoSplitError(f"duplicate_threshold={threshold!r} is no distance; give one, for example 0.2")
    if threshold is not None and near_duplicates is None:
        raise EvoSplitError(f"duplicate_threshold={threshold!r} needs near_duplicates=; name a brain key")
    chosen = fields.choose_plain(samples, list(by), KINDS, "keep samples together")
    if not chosen and near_duplicates is None:
        return None
    links = _Links(len(units))
    asked: dict[str, Any] = {"group_field": list(by)} if by else {}
    for field in chosen:
        links.join_equal(_values(samples, units, field), f"{field.name}=" if len(chosen) > 1 else "")
    if near_duplicates is None:
        return Groups(links.names(samples, units), asked)
    asked["near_duplicates"] = _name_for_record(near_duplicates)
    if isinstance(near_duplicates, str) and not duplicates.is_run(samples, near_duplicates):
        field = _field_of_duplicates(samples, near_duplicates, threshold)
        links.join_equal(_values(samples, units, field), f"{field.name}=")
        return Groups(links.names(samples, units), asked)
    dataset = labels.root_dataset(samples)
    clusters = duplicates.find_clusters(dataset, near_duplicates, threshold, on_compare)
    if clusters.threshold is not None:
        asked["duplicate_threshold"] = clusters.threshold
    notes = _join_clusters(links, clusters, _rows(dataset, units))
    return Groups(links.names(samples, units), asked, notes)


class _Links:
    """Which units are linked, and by what values."""

    def __init__(self, n_units: int) -> None:
        self.n_units = n_units
        self.pairs: list[tuple[Ints, Ints]] = []
        self.values: list[str] = []  # a value is a node of its own, after the units

    def join(self, first: Ints, second: Ints) -> None:
        """Link units by their rows."""
        self.pairs.append((first, second))

    def join_equal(self, values_of_unit: Iterable[Iterable[str]], prefix: str = "") -> None:
        """Link units that share a value; the prefix tells the values of several fields apart."""
        node_of_value: dict[str, int] = {}
        rows, nodes = [], []
        for row, values in enumerate(values_of_unit):
            for value in values:
                node = node_of_value.setdefault(value, self.n_units + len(self.values) + len(node_of_value))
                rows.append(row)
                nodes.append(node)
        self.values.extend(prefix + value for value in node_of_value)
        self.join(np.array(rows, dtype=np.int64), np.array(nodes, dtype=np.int64))

    def names(self, samples: Any, units: Sequence[str]) -> tuple[str | None, ...]:
        """Name each unit's group after its values, or after the first of its near duplicates."""
        n_nodes = self.n_units + len(self.values)
        component = duplicates.components(self.pairs, n_nodes)
        called: dict[int, list[str]] = {}
        for node, value in enumerate(self.values, start=self.n_units):
            called.setdefault(int(component[node]), []).append(value)
        name_of = {number: _joined(values) for number, values in called.items()}
        of_unit = component[: self.n_units].tolist()
        sizes = np.bincount(component[: self.n_units], minlength=n_nodes)
        first_of: dict[int, str] = {}
        for unit, number in zip(units, of_unit, strict=True):
            if number not in name_of and sizes[number] > 1:
                first_of.setdefault(number, unit)
        if first_of:
            file_of = labels.files(labels.root_dataset(samples))
            for number, unit in first_of.items():
                name_of[number] = f"near duplicates of {PurePath(file_of[unit]).name} ({unit})"
        return tuple(name_of.get(number) for number in of_unit)


def _joined(values: Sequence[str]) -> str:
    """Name a group after the values that link it; values belong to one group only, so names differ too.

    Examples
    --------
    >>> _joined(["a"]), _joined(["a", "b", "c", "d", "e"])
    ('a', 'a, linked with b, c and 2 more')
    """
    first, *others = values
    if not others:
        return first
    more = len(others) - _NAMES_SHOWN
    shown = ", ".join(others[:_NAMES_SHOWN])
    return f"{first}, linked with {shown}{f' and {more} more' if more > 0 else ''}"


def _values(samples: Any, units: Sequence[str], field: fields.PlainField) -> list[list[str]]:
    (found,) = fields.read_units(samples, units, [field.path])
    if field.name == FOLDER:
        return [[str(PurePath(str(path).replace("\\", "/")).parent) for path in paths] for paths in found]
    return [[str(value) for value in values if value != ""] for values in found]  # an empty text says nothing


def _name_for_record(near_duplicates: Any) -> str:
    if isinstance(near_duplicates, str):
        return near_duplicates
    return "pairs" if isinstance(near_duplicates, Mapping) else "index"


def _field_of_duplicates(samples: Any, name: str, threshold: float | None) -> fields.PlainField:
    if name not in fields.plain_fields(samples):
        offered = ", ".join(map(repr, duplicate_sources(samples))) or "none"
        raise EvoSplitError(
            f"near_duplicates={name!r} is neither a similarity run nor a field of "
            f"{labels.name_of(samples)}; it has: {offered}. "
            "Make one with fiftyone.brain.compute_similarity(dataset, brain_key='similar')"
        )
    if threshold is not None:
        raise EvoSplitError(
            f"duplicate_threshold={threshold!r} is given, but near_duplicates={name!r} is a field, "
            "which says already which samples are duplicates; leave the threshold out"
        )
    (field,) = fields.choose_plain(samples, [name], KINDS, "name duplicates")
    return field


def _rows(dataset: Any, units: Sequence[str]) -> dict[str, int]:
    """Map the id of each sample to the row of its unit."""
    row_of_unit = {unit: row for row, unit in enumerate(units)}
    if not labels.is_grouped(dataset):
        return row_of_unit
    members = labels.groups_of(dataset)
    return {sample: row_of_unit[unit] for sample, unit in members.items() if unit in row_of_unit}


def _join_clusters(links: _Links, clusters: duplicates.Clusters, row_of_sample: Mapping[str, int]) -> tuple[str, ...]:
    """Link the units of each cluster; returns what the reader should know."""
    rows = np.array([row_of_sample.get(sample, -1) for sample in clusters.ids], dtype=np.int64)
    here = rows[rows >= 0]
    if len(clusters.ids) and not len(here):
        raise EvoSplitError(
            f"{clusters.called} knows none of the samples to be split (first id: {clusters.ids[0]!r}); "
            "look for near duplicates among them"
        )
    links.join(here, here[duplicates.first_members(clusters.numbers[rows >= 0])])
    missing = links.n_units - len(np.unique(here))
    if clusters.threshold is None or not missing:
        return ()
    who = f"{labels.plural(missing, 'sample')} {'is' if missing == 1 else 'are'} not in {clusters.called}"
    return (f"{who}, so near duplicates of them were not found.",)

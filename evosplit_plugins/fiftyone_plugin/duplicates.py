"""Near duplicates, as FiftyOne Brain finds them.

A similarity run of the dataset, or the index that `compute_similarity` and `compute_near_duplicates` return, has
embeddings, which are compared here; `compute_exact_duplicates` returns the duplicates themselves. Samples that a chain
of near duplicates connects form one cluster, because the ends of a chain leak as a pair does. A field with the id of
each sample's original, as `duplicates_view(id_field=...)` of FiftyOne Brain writes it, is a field like any other: equal
values belong together.
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
from evosplit.wording import counted
from evosplit_plugins.fiftyone_plugin.fields import (
    GROUP_KINDS,
    choose_plain,
    group_values,
    plain_fields,
    values_of_units,
)
from evosplit_plugins.fiftyone_plugin.reading import flattened, groups_of, is_grouped, name_of, root_dataset
from evosplit_plugins.grouping import Links, components
from evosplit_plugins.progress import OnProgress

__all__ = ["DEFAULT_THRESHOLD", "Clusters", "duplicate_sources", "find_clusters", "find_links", "is_run"]

DEFAULT_THRESHOLD = 0.2  # that of FiftyOne Brain
_DISTANCES_AT_ONCE = 4_000_000
LOOKING = "looking for near duplicates"
_ID = re.compile(r"[0-9a-f]{24}")
_ROUNDING = 1e-6  # the distance of equal vectors is not exactly 0

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Clusters:
    """Near duplicates among samples.

    Attributes
    ----------
    ids, numbers
        Sample ids and the numbers of their clusters; a sample without near duplicates has a number of its own.
    called
        Where they come from, for messages.
    threshold
        The distance up to which embeddings were near; None where nothing was compared.
    """

    ids: Sequence[str]
    numbers: Ints
    called: str
    threshold: float | None = None


def duplicate_sources(samples: Any) -> list[str]:
    """List the similarity runs of whole samples, and the fields with sample ids, that may name near duplicates."""
    dataset = root_dataset(samples)
    runs = dataset.list_brain_runs(type="similarity")
    whole = [key for key in runs if getattr(dataset.get_brain_info(key).config, "patches_field", None) is None]
    text = [field for field in plain_fields(dataset).values() if field.kind == "text" and not field.hidden]
    return [*whole, *(field.name for field in text if _holds_ids(dataset, field.path))]


def _holds_ids(dataset: Any, path: str) -> bool:
    first = flattened(dataset).exists(path).limit(1).values(path)
    return bool(first) and _ID.fullmatch(str(first[0])) is not None


def is_run(samples: Any, source: Any) -> bool:
    """Whether near duplicates come from a similarity run of the dataset."""
    return isinstance(source, str) and source in root_dataset(samples).list_brain_runs(type="similarity")


def find_links(
    samples: Any,
    units: Sequence[str],
    files: Sequence[str | None],
    source: Any,
    threshold: float | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[list[Links], float | None]:
    """Find the links between near duplicates.

    Parameters
    ----------
    samples
        The dataset or view.
    units, files
        The id of the sample (of the group, in a grouped dataset) of each row, and its file.
    source
        A brain key, a similarity index, a mapping from an id to the ids of its duplicates, or a field; None for none.
    threshold
        The distance up to which two embeddings count as near duplicates; by default that of the index's last
        `find_duplicates`, else FiftyOne's own.
    on_progress
        Called with the fraction of embeddings that are compared; returning False stops with an error.

    Returns
    -------
    tuple
        The links, and the distance up to which embeddings were near; None where nothing was compared.
    """
    if threshold is not None and not threshold >= 0:
        raise EvoSplitError(f"duplicate_threshold={threshold!r} is no distance; give one, for example 0.2")
    if source is None:
        if threshold is not None:
            raise EvoSplitError(f"duplicate_threshold={threshold!r} needs near_duplicates=; name a brain key")
        return [], None
    if isinstance(source, str) and not is_run(samples, source):
        field = _field_of_duplicates(samples, source, threshold)
        return [Links(group_values(field, values_of_units(samples, units, field)), f"{field.name}=")], None
    dataset = root_dataset(samples)
    clusters = find_clusters(dataset, source, threshold, on_progress)
    return [_links(clusters, _rows(dataset, units), units, files)], clusters.threshold


def _field_of_duplicates(samples: Any, name: str, threshold: float | None) -> Any:
    if name not in plain_fields(samples):
        offered = ", ".join(map(repr, duplicate_sources(samples))) or "none"
        raise EvoSplitError(
            f"near_duplicates={name!r} is neither a similarity run nor a field of {name_of(samples)}; "
            f"it has: {offered}. Make one with fiftyone.brain.compute_similarity(dataset, brain_key='similar')",
            parameter="near_duplicates",
        )
    if threshold is not None:
        raise EvoSplitError(
            f"duplicate_threshold={threshold!r} is given, but near_duplicates={name!r} is a field, "
            "which says already which samples are duplicates; leave the threshold out"
        )
    (field,) = choose_plain(samples, [name], GROUP_KINDS, "name duplicates", parameter="near_duplicates")
    return field


def _rows(dataset: Any, units: Sequence[str]) -> dict[str, list[int]]:
    """Map the id of each sample to the rows of its unit."""
    rows: dict[str, list[int]] = {}
    for row, unit in enumerate(units):
        rows.setdefault(unit, []).append(row)
    if not is_grouped(dataset):
        return rows
    return {sample: rows[unit] for sample, unit in groups_of(dataset).items() if unit in rows}


def _links(
    clusters: Clusters, rows_of_sample: Mapping[str, list[int]], units: Sequence[str], files: Sequence[str | None]
) -> Links:
    """Link the rows of each cluster, and note how many rows the clusters do not know."""
    members: dict[int, set[int]] = {}
    known: set[int] = set()
    for sample, number in zip(clusters.ids, clusters.numbers.tolist(), strict=True):
        rows = rows_of_sample.get(sample, ())
        known.update(rows)
        members.setdefault(number, set()).update(rows)
    if len(clusters.ids) and not known:
        raise EvoSplitError(
            f"{clusters.called} knows none of the samples to be split (first id: {clusters.ids[0]!r}); "
            "look for near duplicates among them"
        )
    values: list[list[str]] = [[] for _ in units]
    for found in members.values():
        if len(found) > 1:
            first = min(found)
            name = f"near duplicates of {PurePath(files[first] or '').name} ({units[first]})"
            for row in found:
                values[row].append(name)
    missing = len(units) - len(known)
    notes: tuple[str, ...] = ()
    if clusters.threshold is not None and missing:
        who = f"{counted(missing, 'sample is', 'samples are')} not in {clusters.called}"
        notes = (f"{who}, so near duplicates of them were not found.",)
    return Links([each or None for each in values], names_groups=False, notes=notes)


def find_clusters(
    dataset: Any, source: Any, threshold: float | None = None, on_progress: OnProgress | None = None
) -> Clusters:
    """Find the near duplicates of a brain key, an index or a mapping of ids."""
    if isinstance(source, Mapping):
        if threshold is not None:
            raise EvoSplitError(
                f"duplicate_threshold={threshold!r} is given, but near_duplicates= says already which samples are "
                "duplicates; leave the threshold out"
            )
        return _of_pairs(source)
    index, called = source, "the similarity index"
    if isinstance(source, str):
        index, called = dataset.load_brain_results(source), f"the similarity run {source!r}"
    if not hasattr(index, "config") or not hasattr(index, "get_embeddings"):
        raise EvoSplitError(
            f"near_duplicates={index!r} holds none; give a brain key, the index that compute_similarity or "
            "compute_near_duplicates returns, or a mapping from sample ids to the ids of their duplicates"
        )
    if getattr(index.config, "patches_field", None) is not None:
        raise EvoSplitError(
            f"{called} compares the patches in {index.config.patches_field!r}, not samples; "
            "compute the similarity of whole samples"
        )
    if threshold is None:
        threshold = getattr(index, "thresh", None)
    if threshold is None:
        threshold = DEFAULT_THRESHOLD
    vectors, ids, _ = index.get_embeddings()
    metric = str(getattr(index.config, "metric", "cosine"))
    near = near_components(np.asarray(vectors), metric, threshold, on_progress)
    return Clusters([str(sample) for sample in ids], near, called, threshold)


def _of_pairs(duplicates: Mapping[Any, Iterable[Any]]) -> Clusters:
    """Cluster what `compute_exact_duplicates` returns, or an index's `neighbors_map` with the distance beside each id.

    Examples
    --------
    >>> found = _of_pairs({"a": ["b", "c"], "d": [("b", 0.1)], "e": ["f"]})
    >>> found.ids, found.numbers.tolist()
    (['a', 'b', 'c', 'd', 'e', 'f'], [0, 0, 0, 0, 1, 1])
    """
    number: dict[str, int] = {}
    first: list[int] = []
    second: list[int] = []
    for sample, others in duplicates.items():
        for other in others:
            duplicate = other[0] if isinstance(other, tuple) else other
            first.append(number.setdefault(str(sample), len(number)))
            second.append(number.setdefault(str(duplicate), len(number)))
    found = components(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), len(number))
    return Clusters(list(number), found, "near_duplicates")


def first_members(cluster: Ints) -> Ints:
    """Return for each entry the position of the first one in its cluster.

    Examples
    --------
    >>> first_members(np.array([7, 3, 7, 3])).tolist()
    [0, 1, 0, 1]
    """
    _, first, number = np.unique(cluster, return_index=True, return_inverse=True)
    return np.asarray(first[number], dtype=np.int64)


def near_components(
    vectors: npt.NDArray[Any], metric: str, threshold: float, on_progress: OnProgress | None = None
) -> Ints:
    """Find the clusters of vectors that chains of distances up to the threshold connect: a number for each vector.

    Vectors are centred first, as FiftyOne Brain does, so that its thresholds mean the same here. Distances are
    computed in blocks: a matrix of all of them would not fit in memory for large data sets.

    Examples
    --------
    >>> near_components(np.array([[0.0, 1.0], [0.0, 1.01], [5.0, 5.0]]), "euclidean", 0.1).tolist()
    [0, 0, 1]
    """
    centred = np.asarray(vectors, dtype=np.result_type(vectors, np.float32))
    centred = centred - centred.mean(axis=0, keepdims=True)
    if metric == "cosine":
        lengths = np.linalg.norm(centred, axis=1, keepdims=True)
        centred = centred / np.where(lengths > 0, lengths, 1)
    n = len(centred)
    cluster = np.arange(n, dtype=np.int64)
    step = max(1, _DISTANCES_AT_ONCE // max(n, 1))
    for start in range(0, n, step):
        if on_progress is not None and on_progress(start / n, LOOKING) is False:
            raise EvoSplitError("stopped while near duplicates were looked for; nothing was written")
        distances = _distances(centred[start : start + step], centred[start:], metric)
        first, second = np.nonzero(distances <= threshold + _ROUNDING)
        apart = first != second
        if apart.any():
            first = np.concatenate([np.arange(n), first[apart] + start])
            second = np.concatenate([first_members(cluster), second[apart] + start])
            cluster = components(first, second, n)
    return cluster


def _distances(some: npt.NDArray[Any], others: npt.NDArray[Any], metric: str) -> npt.NDArray[Any]:
    if metric == "cosine":
        return np.asarray(1.0 - some @ others.T)
    from sklearn.metrics import pairwise_distances  # FiftyOne depends on it

    try:
        return np.asarray(pairwise_distances(some, others, metric=metric))
    except ValueError as error:
        raise EvoSplitError(
            f"the similarity index compares by {metric!r}, which is no distance that scikit-learn knows; "
            "compute it with metric='cosine' or 'euclidean'"
        ) from error

"""Near duplicates as FiftyOne Brain tells them.

A similarity run of the dataset, or the index that `compute_similarity` and `compute_near_duplicates` return, holds
embeddings, which are compared here; `compute_exact_duplicates` returns the duplicates themselves. Whatever a chain of
near duplicates links is one cluster, because the ends of a chain leak as a pair does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin import labels

__all__ = ["DEFAULT_THRESHOLD", "Clusters", "components", "find_clusters", "is_run", "similarity_runs"]

DEFAULT_THRESHOLD = 0.2  # that of FiftyOne Brain
_DISTANCES_AT_ONCE = 4_000_000
_ROUNDING = 1e-6  # the distance of equal vectors is not exactly 0

Ints = npt.NDArray[np.int64]
OnCompare = Callable[[float], bool | None]


@dataclass(frozen=True)
class Clusters:
    """Near duplicates among samples.

    Attributes
    ----------
    ids, numbers
        Sample ids and the numbers of their clusters; a sample without near duplicates has a number of its own.
    called
        What they come from, for a reader.
    threshold
        The distance up to which embeddings were near; None where nothing was compared.
    """

    ids: Sequence[str]
    numbers: Ints
    called: str
    threshold: float | None = None


def similarity_runs(dataset: Any) -> list[str]:
    """List the similarity runs of a dataset that compare whole samples."""
    runs = dataset.list_brain_runs(type="similarity")
    return [key for key in runs if getattr(dataset.get_brain_info(key).config, "patches_field", None) is None]


def is_run(samples: Any, source: Any) -> bool:
    """Whether near duplicates come from a similarity run of the dataset."""
    return isinstance(source, str) and source in labels.root_dataset(samples).list_brain_runs(type="similarity")


def find_clusters(
    dataset: Any, source: Any, threshold: float | None = None, on_compare: OnCompare | None = None
) -> Clusters:
    """Find the near duplicates that a brain key, an index or a mapping of ids tells."""
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
    near = near_components(np.asarray(vectors), metric, threshold, on_compare)
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
    pair = (np.array(first, dtype=np.int64), np.array(second, dtype=np.int64))
    return Clusters(list(number), components([pair], len(number)), "near_duplicates")


def components(pairs: Iterable[tuple[Ints, Ints]], n_nodes: int) -> Ints:
    """Find the connected components of a graph: a number for each node.

    Examples
    --------
    >>> components([(np.array([0, 3]), np.array([1, 1]))], 4).tolist()
    [0, 0, 1, 0]
    """
    both = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), *pairs]
    first, second = (np.concatenate(ends) for ends in zip(*both, strict=True))
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n_nodes, n_nodes))
    _, component = connected_components(graph.tocsr(), directed=False)
    return np.asarray(component, dtype=np.int64)


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
    vectors: npt.NDArray[Any], metric: str, threshold: float, on_compare: OnCompare | None = None
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
        if on_compare is not None and on_compare(start / n) is False:
            raise EvoSplitError("stopped while near duplicates were looked for; nothing was written")
        distances = _distances(centred[start : start + step], centred[start:], metric)
        first, second = np.nonzero(distances <= threshold + _ROUNDING)
        apart = first != second
        if apart.any():
            near = (first[apart] + start, second[apart] + start)
            cluster = components([(np.arange(n), first_members(cluster)), near], n)
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

"""Describe a multi-label data set: the paper's Tables 1 (labels) and 2 (label pairs)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evosplit.counts import as_label_counts

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """The size, density, diversity and imbalance of a data set.

    Attributes
    ----------
    samples, labels
        m and q.
    max_labels
        The most occurrences of labels in one sample.
    max_frequency
        Occurrences of the most frequent label per sample (above 1 when it repeats).
    cardinality, density
        Card: occurrences per sample; Dens: Card / q.
    diversity, proportion_diversity
        Div: distinct label sets, counts included; PDiv: Div / m.
    complexity
        TCS, m q Div; as in the paper's table, without the logarithm of its formula.
    average_imbalance
        avgIR: mean over the labels that occur of (count of the most frequent label / count of the label).
    scumble
        Mean over the samples of 1 - geometric / arithmetic mean of the imbalance ratios of the labels in the
        sample (Charte et al.); a sample without labels adds 0.
    pair_cardinality, pair_density, pair_max_frequency, pair_diversity, pair_proportion_diversity
        The same for label pairs: Card2 = pair occurrences / m, Dens2 = Card2 / q, Div2 = distinct pairs.
    """

    samples: int
    labels: int
    max_labels: int
    max_frequency: float
    cardinality: float
    density: float
    diversity: int
    proportion_diversity: float
    complexity: float
    average_imbalance: float
    scumble: float
    pair_cardinality: float
    pair_density: float
    pair_max_frequency: float
    pair_diversity: int
    pair_proportion_diversity: float

    def to_dict(self) -> dict[str, float]:
        """Return the description as a plain dictionary."""
        return asdict(self)


def describe(counts: Any) -> Description:
    """Describe a data set as the paper's Tables 1 and 2 do.

    Examples
    --------
    >>> d = describe([[1, 1], [1, 0], [0, 0], [1, 1]])
    >>> d.cardinality, d.diversity, d.average_imbalance, d.pair_diversity
    (1.25, 3, 1.25, 1)
    """
    counts = as_label_counts(counts)
    m, q = counts.n_samples, max(counts.n_labels, 1)
    sets = counts.label_sets
    rows, copies = sets.counts, sets.multiplicity
    per_set = np.asarray(rows.sum(axis=1)).ravel() if rows.nnz else np.zeros(len(copies), dtype=np.int64)
    totals = counts.totals
    occurs = totals > 0
    imbalance = np.zeros(counts.n_labels)
    imbalance[occurs] = totals.max(initial=0) / totals[occurs]
    pairs = counts.pairs
    cardinality = float(totals.sum()) / m
    pair_cardinality = float(pairs.totals.sum()) / m
    return Description(
        samples=m,
        labels=counts.n_labels,
        max_labels=int(per_set.max(initial=0)),
        max_frequency=float(totals.max(initial=0)) / m,
        cardinality=cardinality,
        density=cardinality / q,
        diversity=len(copies),
        proportion_diversity=len(copies) / m,
        complexity=float(m) * counts.n_labels * len(copies),
        average_imbalance=float(imbalance[occurs].mean()) if occurs.any() else 0.0,
        scumble=float(_scumble_per_set(rows, imbalance) @ copies) / m,
        pair_cardinality=pair_cardinality,
        pair_density=pair_cardinality / q,
        pair_max_frequency=float(pairs.totals.max(initial=0)) / m,
        pair_diversity=len(pairs),
        pair_proportion_diversity=len(pairs) / m,
    )


def _scumble_per_set(rows: Any, imbalance: Any) -> Any:
    lengths = np.diff(rows.indptr)
    row_of_entry = np.repeat(np.arange(len(lengths)), lengths)
    values = imbalance[rows.indices]
    present = np.maximum(lengths, 1)
    arithmetic = np.bincount(row_of_entry, weights=values, minlength=len(lengths)) / present
    geometric = np.exp(np.bincount(row_of_entry, weights=np.log(values), minlength=len(lengths)) / present)
    return np.where(lengths > 0, 1 - geometric / np.where(lengths > 0, arithmetic, 1), 0.0)

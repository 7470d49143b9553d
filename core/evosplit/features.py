"""What is balanced, as columns: samples with a label, instances, pairs, triplets, strata, samples without a label.

Whatever is to be spread evenly over the subsets is a column of counts, one row for each distinct sample. The columns of
one objective form a `Block`, whose odds are taken against one total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.counts import find_pairs
from evosplit.errors import EvoSplitError

__all__ = [
    "OBJECTIVES",
    "PARTS",
    "Block",
    "Features",
    "checked_objectives",
    "lay_out",
    "triplet_features",
]

OBJECTIVES = ("samples", "instances", "pairs", "triplets", "strata")
MAX_PAIR_ENTRIES = 400_000_000
MAX_TRIPLET_ENTRIES = 400_000_000
PARTS = 1024  # the share of the pairs that have a column is a multiple of 1 / PARTS

Ints = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """A range of feature columns whose odds are taken against one total.

    Attributes
    ----------
    name
        The objective. Each stratum is a block of its own in the objective "strata".
    start, stop
        The columns.
    by_total
        Whether odds are taken against all occurrences in the block (Eq. 2), or against the samples (Eq. 1).
    """

    name: str
    start: int
    stop: int
    by_total: bool

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of all objectives.

    Attributes
    ----------
    matrix
        Counts (CSR), a row for each distinct sample. The first columns count samples with each label, whether that is
        an objective or not; the last one counts samples without any label.
    blocks
        The columns of the objectives.
    weights
        How much each column counts within its block.
    pairs_kept
        How many of 1,024 label pairs have a column.
    """

    matrix: sp.csr_array
    blocks: tuple[Block, ...]
    weights: Floats
    pairs_kept: int


def checked_objectives(objectives: Sequence[str] | None, has_strata: bool) -> tuple[str, ...]:
    """Return the objectives asked for, or samples, instances and pairs; strata are always one where there are any."""
    further = ("strata",) if has_strata else ()
    if objectives is None:
        return ("samples", "instances", "pairs", *further)
    if isinstance(objectives, str):
        objectives = (objectives,)
    for name in objectives:
        if name not in OBJECTIVES:
            known = ", ".join(map(repr, OBJECTIVES))
            raise EvoSplitError(f"objectives={name!r} is unknown; choose from {known}")
    if not objectives or len(set(objectives)) != len(objectives):
        raise EvoSplitError(f"objectives={tuple(objectives)} repeats one, or is empty; name each once")
    if "strata" in objectives and not has_strata:
        raise EvoSplitError(
            "objectives= names 'strata', but there are none; pass strata={'weather': one value per sample}"
        )
    return tuple(objectives) if "strata" in objectives else (*objectives, *further)


def lay_out(
    rows: sp.csr_array,
    multiplicity: Ints,
    objectives: Sequence[str],
    *,
    label_weights: Floats,
    has_repeats: bool,
    strata: Sequence[sp.csr_array] = (),
    pair_entries: int | None = None,
) -> Features:
    """Lay out the columns of the objectives.

    Parameters
    ----------
    rows, multiplicity
        The label counts of each distinct sample, and how many samples have them.
    objectives
        What is balanced.
    label_weights
        How much each label matters; a pair matters as much as the one of its labels that matters more.
    has_repeats
        Whether some label occurs more than once in some sample.
    strata
        The categories of each stratum, row by row.
    pair_entries
        The most label pairs, counted in each row, that get columns; of more, only a part does.

    Examples
    --------
    >>> rows = sp.csr_array([[1, 1], [0, 1], [0, 0]])
    >>> made = lay_out(rows, np.ones(3, int), ("samples", "pairs"), label_weights=np.ones(2), has_repeats=False)
    >>> [(block.name, block.start, block.stop) for block in made.blocks]
    [('samples', 0, 2), ('pairs', 2, 3)]
    >>> made.matrix.toarray().tolist()
    [[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    """
    n_labels = rows.shape[1]
    presence = sp.csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    parts, weights, blocks = [presence], [label_weights], []
    pairs_kept = PARTS

    def lay(name: str, part: sp.csr_array, of_columns: Floats, by_total: bool = True) -> None:
        start = sum(other.shape[1] for other in parts)
        parts.append(part)
        weights.append(of_columns)
        blocks.append(Block(name, start, start + part.shape[1], by_total))

    for name in (name for name in OBJECTIVES if name in objectives):
        if name == "samples":
            blocks.append(Block(name, 0, n_labels, by_total=False))
        elif name == "instances" and not has_repeats and "samples" not in objectives:
            blocks.append(Block(name, 0, n_labels, by_total=True))
        elif name == "instances":
            lay(name, rows, label_weights)
        elif name == "pairs":
            pairs, first, second, pairs_kept = _pair_features(rows, multiplicity, pair_entries)
            # LPD is about samples (Eq. 3); but beside LD' alone it takes the form of the paper's tables.
            by_total = "instances" in objectives and "samples" not in objectives
            lay(name, pairs, np.maximum(label_weights[first], label_weights[second]), by_total)
        elif name == "triplets":
            triplets = triplet_features(rows)
            lay(name, triplets, np.ones(triplets.shape[1]))
        else:
            for part in strata:
                lay(name, part, np.ones(part.shape[1]))
    unlabelled = (np.diff(rows.indptr) == 0).astype(np.int32)
    parts.append(sp.csr_array(unlabelled[:, None]))
    weights.append(np.ones(1))
    return Features(sp.csr_array(sp.hstack(parts, format="csr")), tuple(blocks), np.concatenate(weights), pairs_kept)


def triplet_features(rows: sp.csr_array) -> sp.csr_array:
    """Return which label triplets each row of counts carries: presence (CSR, rows x the distinct triplets that occur).

    The paper names triplets as future work for a many-objective algorithm. The columns are ordered by their labels;
    memory grows with the triplets that occur, never with q cubed.

    Examples
    --------
    >>> triplet_features(sp.csr_array([[1, 2, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]])).toarray().tolist()
    [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]
    """
    from evosplit._kernels.counting import unique_codes
    from evosplit._kernels.triplets import triplet_codes

    lengths = np.diff(rows.indptr).astype(np.int64)
    entries = int((lengths * (lengths - 1) * (lengths - 2) // 6).sum())
    if entries > MAX_TRIPLET_ENTRIES:
        raise EvoSplitError(
            f"the distinct label sets hold {entries:,} label triplets, more than {MAX_TRIPLET_ENTRIES:,} fit in "
            "memory; split with objectives=('instances', 'pairs'), or drop the most frequent labels"
        )
    indptr, codes = triplet_codes(rows.indptr, rows.indices, rows.shape[1])
    distinct, columns = unique_codes(codes)
    presence = np.ones(len(columns), dtype=np.int32)
    return sp.csr_array((presence, columns, indptr), shape=(rows.shape[0], len(distinct)))


def _pair_features(
    rows: sp.csr_array, multiplicity: Ints, most_entries: int | None
) -> tuple[sp.csr_array, Ints, Ints, int]:
    """Lay out the label pairs of each row: (features, the labels of each column, how many of 1,024 pairs are kept)."""
    lengths = np.diff(rows.indptr).astype(np.int64)
    entries = int((lengths * (lengths - 1) // 2).sum())
    kept = PARTS if most_entries is None else max(1, min(PARTS, PARTS * most_entries // max(entries, 1)))
    if entries * kept // PARTS > MAX_PAIR_ENTRIES:
        raise EvoSplitError(
            f"the distinct label sets hold {entries:,} label pairs, more than {MAX_PAIR_ENTRIES:,} fit in memory; "
            "split with objectives=('samples', 'instances'), or drop the most frequent labels"
        )
    pairs = find_pairs(rows, multiplicity, kept)
    # Frequent pairs side by side, so that what a search looks at most often stays in the cache.
    order = np.argsort(-pairs.totals, kind="stable")
    column = np.empty(len(pairs), dtype=np.int32)
    column[order] = np.arange(len(pairs), dtype=np.int32)
    ones = np.ones(len(pairs.indices), dtype=np.int32)
    features = sp.csr_array((ones, column[pairs.indices], pairs.indptr), shape=(rows.shape[0], len(pairs)))
    features.sort_indices()
    return features, pairs.first[order], pairs.second[order], kept

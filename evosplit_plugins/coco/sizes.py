"""Count instances by class and size: small, medium and large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.box_sizes import LIMITS, SIZES

__all__ = ["count_cells", "count_sizes"]

IntArray = npt.NDArray[np.int64]


def size_bins(areas: npt.NDArray[np.float64]) -> IntArray:
    """Return 0 for small, 1 for medium, 2 for large, -1 for an area that is not known.

    Examples
    --------
    >>> size_bins(np.array([5.0, 32**2, 96**2, np.nan])).tolist()
    [0, 1, 2, -1]
    """
    bins: IntArray = np.searchsorted(LIMITS, areas, side="right").astype(np.int64)
    bins[np.isnan(areas)] = -1
    return bins


def count_sizes(
    instances: Iterable[tuple[IntArray, IntArray, npt.NDArray[np.float64]]], n_rows: int, names: Sequence[str]
) -> tuple[LabelCounts, int]:
    """Count instances by class and size: one column for each pair that occurs, called for example "dog small".

    Parameters
    ----------
    instances
        Rows, labels and areas of the instances, file by file; those without an area count for no size.
    n_rows
        The number of images.
    names
        The names of the classes.

    Returns
    -------
    tuple
        The counts, and how many instances have no area.
    """
    cells: list[tuple[IntArray, IntArray]] = []
    n_unknown = 0
    for rows, labels, areas in instances:
        bins = size_bins(areas)
        known = bins >= 0
        cells.append((rows[known], (len(SIZES) * labels + bins)[known]))
        n_unknown += int((~known).sum())
    if not any(len(rows) for rows, _ in cells):
        raise EvoSplitError(
            f"none of the {n_unknown} annotations has an 'area', so they cannot be stratified by it; "
            "add the areas, or leave out stratify_by='area'"
        )
    used = np.unique(np.concatenate([codes for _, codes in cells]))
    cells = [(rows, np.searchsorted(used, codes)) for rows, codes in cells]
    called = [f"{names[code // len(SIZES)]} {SIZES[code % len(SIZES)]}" for code in used.tolist()]
    return LabelCounts(count_cells(cells, n_rows, len(used)), labels=called), n_unknown


def count_cells(cells: Sequence[tuple[IntArray, IntArray]], n_rows: int, n_columns: int) -> sparse.csr_array:
    """Count how often each (row, column) occurs."""
    codes = [rows * n_columns + columns for rows, columns in cells]
    found, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *codes]), return_counts=True)
    rows, columns = np.divmod(found, max(n_columns, 1))
    starts = np.searchsorted(rows, np.arange(n_rows + 1))
    return sparse.csr_array((counts.astype(np.int32), columns, starts), shape=(n_rows, n_columns))

"""From ratios, sizes or a number of folds to subset names and exact integer sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.errors import EvoSplitError
from evosplit.wording import counted

__all__ = ["DEFAULT_NAMES", "Subsets", "fold_subsets", "largest_remainder", "resolve_subsets"]

DEFAULT_NAMES = {2: ("train", "test"), 3: ("train", "val", "test")}
_SUM_TOLERANCE = 1e-6
_LARGEST = 10**15
_WHOLES = (10, 100)  # sums of proportions, even where sizes might be meant
_CLOSE = 2  # whole numbers that miss the number of samples by this factor are proportions, not sizes


@dataclass(frozen=True)
class Subsets:
    """The subsets to fill: their names, their exact sizes, and whether they are the folds of a cross-validation."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    is_kfold: bool = False

    def __len__(self) -> int:
        return len(self.names)


def resolve_subsets(
    ratios: Mapping[str, float] | Sequence[float],
    n_samples: int,
    *,
    default_names: Mapping[int, tuple[str, ...]] = DEFAULT_NAMES,
) -> Subsets:
    """Turn ratios into names and sizes that sum to `n_samples`.

    A mapping gives the names; a sequence of two means train and test, of three train, val and test, of more
    subset0, subset1, ... Whole numbers that sum to `n_samples` are exact sizes; all other values are proportions
    (fractions that sum to 1, 80, 10, 10 or 8, 1, 1), rounded by largest remainder. Ambiguous values are refused: sizes
    that miss `n_samples` by less than a factor of two (unless they sum to 10 or 100), and fractions that do not sum to
    1.

    Examples
    --------
    >>> resolve_subsets({"train": 0.8, "val": 0.1, "test": 0.1}, 13).sizes
    (11, 1, 1)
    >>> resolve_subsets((10, 3), 13)
    Subsets(names=('train', 'test'), sizes=(10, 3), is_kfold=False)
    >>> resolve_subsets((8, 1, 1), 300).sizes, resolve_subsets((80, 10, 10), 300).sizes
    ((240, 30, 30), (240, 30, 30))
    """
    if isinstance(ratios, Mapping):
        names = tuple(ratios.keys())
        values: list[Any] = list(ratios.values())
    elif isinstance(ratios, (str, bytes)) or not hasattr(ratios, "__len__"):
        raise EvoSplitError(
            f"ratios={ratios!r} is neither a dict such as {{'train': 0.8, 'val': 0.1, 'test': 0.1}} "
            "nor a sequence of numbers; pass one of these"
        )
    else:
        values = list(ratios)
        names = default_names.get(len(values), tuple(f"subset{j}" for j in range(len(values))))
    for name in names:
        if not isinstance(name, str) or not name:
            raise EvoSplitError(f"subset name {name!r} is not a non-empty string")
    if len(values) < 2:
        raise EvoSplitError(f"{counted(len(values), 'subset makes', 'subsets make')} no split; give at least two")
    for name, value in zip(names, values, strict=True):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise EvoSplitError(f"the ratio of {name!r} is {value!r}; expected a number")
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise EvoSplitError(f"the ratio of {name!r} has {len(str(abs(value)))} digits; give smaller numbers")
        if not np.isfinite(value) or value <= 0:
            raise EvoSplitError(f"the ratio of {name!r} is {value}; ratios and sizes must be positive")
    if len(values) > n_samples:
        samples = counted(n_samples, "sample", "samples")
        raise EvoSplitError(f"{len(values)} subsets for {samples}; each needs at least one")
    total = math.fsum(values)  # exact; how the built-in sum rounds depends on the version of Python
    if all(value == int(value) for value in values):
        sizes = tuple(int(value) for value in values)
        if sum(sizes) == n_samples:
            return Subsets(names, sizes)
        if sum(sizes) not in _WHOLES and n_samples / _CLOSE < sum(sizes) < n_samples * _CLOSE:
            raise EvoSplitError(
                f"the sizes {sizes} sum to {sum(sizes)}, but there are {n_samples} samples; "
                "make them sum to that, or give fractions that sum to 1"
            )
    elif abs(total - 1) > _SUM_TOLERANCE and abs(total - 100) > 100 * _SUM_TOLERANCE and min(values) < 1:
        raise EvoSplitError(
            f"the ratios {tuple(float(value) for value in values)} sum to {total:.6g}, not to 1; "
            "correct them, or give whole numbers as proportions (8, 1, 1) or exact sizes"
        )
    sizes = tuple(int(size) for size in largest_remainder(np.asarray(values, dtype=np.float64) / total, n_samples))
    for name, value, size in zip(names, values, sizes, strict=True):
        if size == 0:
            raise EvoSplitError(
                f"the ratio {value} gives subset {name!r} no sample out of {n_samples}; raise it or drop the subset"
            )
    return Subsets(names, sizes)


def fold_subsets(n_splits: int, n_samples: int, *, parameter: str = "n_splits") -> Subsets:
    """Name `n_splits` folds of nearly equal size; `parameter` is what errors call their number.

    Examples
    --------
    >>> fold_subsets(3, 10)
    Subsets(names=('fold0', 'fold1', 'fold2'), sizes=(4, 3, 3), is_kfold=True)
    """
    if isinstance(n_splits, bool) or not isinstance(n_splits, (int, np.integer)) or n_splits < 2:
        raise EvoSplitError(f"{parameter}={n_splits!r} makes no split; give an integer of at least 2")
    if n_splits > n_samples:
        samples = counted(n_samples, "sample", "samples")
        raise EvoSplitError(f"{parameter}={n_splits} is too many for {samples}; each fold needs at least one")
    sizes = largest_remainder(np.full(n_splits, 1 / n_splits), n_samples)
    return Subsets(tuple(f"fold{j}" for j in range(n_splits)), tuple(int(size) for size in sizes), is_kfold=True)


def largest_remainder(shares: npt.NDArray[np.float64], total: int) -> npt.NDArray[np.int64]:
    """Round `shares * total` to integers that sum to `total`; equal remainders favour the earlier subset.

    Examples
    --------
    >>> largest_remainder(np.array([0.5, 0.25, 0.25]), 7).tolist()
    [3, 2, 2]
    """
    # Rounding to 9 digits first: 0.1 * 30 is 3.0000000000000004, and must count as 3 with no remainder.
    exact = np.rint(shares * total * 1e9) / 1e9
    sizes = np.floor(exact).astype(np.int64)
    by_remainder = np.argsort(-(exact - sizes), kind="stable")
    sizes[by_remainder[: total - int(sizes.sum())]] += 1
    return sizes

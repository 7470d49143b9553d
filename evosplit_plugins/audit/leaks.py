"""Leaks: ids, file names, groups or file contents that subsets have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.wording import counted, listed
from evosplit_plugins.matching import picture_of, plain_path

__all__ = [
    "CONTENT",
    "FILE_NAME",
    "GROUP",
    "SOURCE_PICTURE",
    "Leak",
    "Shared",
    "find_leaks",
    "find_repeats",
    "repeated",
    "source_pictures",
]

GROUP = "group"
CONTENT = "content"
SOURCE_PICTURE = "source picture"
FILE_NAME = "file name"
_NOUNS = {CONTENT: ("identical file", "identical files")}
_SHOWN = 3

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Leak:
    """Something that two subsets have in common.

    Attributes
    ----------
    kind
        What is shared: "id", "file name", "group", "content".
    subsets
        The two subsets.
    n_shared
        How many different values they share.
    n_samples
        How many samples of the two subsets carry these values.
    examples
        The first few of them.
    """

    kind: str
    subsets: tuple[str, str]
    n_shared: int
    n_samples: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in one sentence."""
        shared = counted(self.n_shared, *_NOUNS.get(self.kind, (self.kind, f"{self.kind}s")))
        shown = listed(self.examples, total=self.n_shared)
        size = f" ({self.n_samples:,} samples)" if self.kind == GROUP else ""
        return f"{self.subsets[0]} and {self.subsets[1]} share {shared}{size}: {shown}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return asdict(self)


@dataclass(frozen=True)
class Shared:
    """What subsets have in common.

    Attributes
    ----------
    leaks
        What two subsets have in common.
    repeats
        Sentences about what one subset contains more than once.
    notes
        Further sentences for the report.
    """

    leaks: tuple[Leak, ...] = ()
    repeats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_leaks(
    kind: str,
    values: Sequence[Any],
    assignment: npt.ArrayLike,
    names: Sequence[str],
    copies: npt.ArrayLike | None = None,
) -> list[Leak]:
    """Find the values that subsets have in common.

    Parameters
    ----------
    kind
        What the values are, for the sentences.
    values
        One value per sample; None is never shared.
    assignment
        The number of each sample's subset.
    names
        The subsets.
    copies
        How many samples each value stands for, if not for one.

    Examples
    --------
    >>> print(*find_leaks("id", [1, 2, 1, None], [0, 0, 1, 1], ["train", "val"]))
    train and val share 1 id: 1.
    """
    found, table = _table(values, assignment, len(names), copies)
    leaks = []
    for a, b in combinations(range(len(names)), 2):
        shared = np.flatnonzero((table[:, a] > 0) & (table[:, b] > 0))
        if len(shared):
            leaks.append(
                Leak(
                    kind=kind,
                    subsets=(names[a], names[b]),
                    n_shared=len(shared),
                    n_samples=int(table[shared][:, [a, b]].sum()),
                    examples=tuple(str(found[code]) for code in shared[:_SHOWN].tolist()),
                )
            )
    return leaks


def find_repeats(kind: str, values: Sequence[Any], assignment: npt.ArrayLike, names: Sequence[str]) -> list[str]:
    """Say which subsets hold something more than once.

    Examples
    --------
    >>> find_repeats("id", [1, 1, 2], [0, 0, 1], ["train", "val"])
    ['train holds 1 id more than once: 1.']
    """
    found, table = _table(values, assignment, len(names))
    sentences = []
    for subset, name in enumerate(names):
        again = np.flatnonzero(table[:, subset] > 1)
        if len(again):
            examples = [str(found[code]) for code in again[:_SHOWN].tolist()]
            sentences.append(repeated(kind, name, len(again), examples))
    return sentences


def repeated(kind: str, name: str, n: int, examples: Sequence[str]) -> str:
    """Say that a subset holds something more than once, with the first few examples."""
    held = counted(n, *_NOUNS.get(kind, (kind, f"{kind}s")))
    return f"{name} holds {held} more than once: {listed(examples, total=n)}."


def source_pictures(files: Sequence[Any]) -> list[str | None]:
    """Name the picture that Roboflow made each file from; None where a file is no such copy.

    Examples
    --------
    >>> source_pictures(["cat_jpg.rf.0123456789abcdef0123456789abcdef.jpg", "dog.jpg", None])
    ['cat.jpg', None, None]
    """
    names = [plain_path(name) if isinstance(name, str) else None for name in files]
    pictures = [None if name is None else picture_of(name) for name in names]
    return [None if made == name else made for name, made in zip(names, pictures, strict=True)]


def _codes(values: Sequence[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in order of occurrence, and the number of each sample's value; -1 for None."""
    known: dict[Any, int] = {}
    codes = [-1 if value is None else known.setdefault(value, len(known)) for value in values]
    return list(known), np.array(codes, dtype=np.int64)


def _table(
    values: Sequence[Any], assignment: npt.ArrayLike, k: int, copies: npt.ArrayLike | None = None
) -> tuple[list[Any], Ints]:
    """Count the samples with each value in each subset."""
    found, codes = _codes(values)
    subset = np.asarray(assignment)
    known = codes >= 0
    weights = None if copies is None else np.asarray(copies)[known]
    cells = np.bincount(codes[known] * k + subset[known], weights, minlength=len(found) * k)
    return found, cells.reshape(len(found), k).astype(np.int64)

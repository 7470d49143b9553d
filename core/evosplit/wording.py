"""Helpers for the sentences of the engine and of its adapters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

__all__ = ["Nouns", "counted", "listed"]


@dataclass(frozen=True)
class Nouns:
    """What a report calls the samples and labels of a data set.

    Examples
    --------
    >>> pictures = Nouns(sample="image", samples="images", label="class", labels="classes")
    >>> pictures.labels
    'classes'
    """

    sample: str = "sample"
    samples: str = "samples"
    label: str = "label"
    labels: str = "labels"


def listed(values: Iterable[object], limit: int = 5, *, total: int | None = None) -> str:
    """Name the first few values, and say how many more there are.

    `total` is their number, where it is known: then no more values are taken than are shown.

    Examples
    --------
    >>> listed(["cat", "dog", "eel"], 2), listed(["cat"], total=4), listed([])
    ('cat, dog and 1 more', 'cat and 3 more', '')
    """
    every = list(values if total is None else islice(values, limit))
    more = (len(every) if total is None else total) - len(every[:limit])
    return ", ".join(map(str, every[:limit])) + (f" and {more:,} more" if more > 0 else "")


def counted(n: int, one: str, many: str) -> str:
    """Put a number before a noun.

    Examples
    --------
    >>> counted(1, "label has", "labels have"), counted(1200, "sample", "samples")
    ('1 label has', '1,200 samples')
    """
    return f"{n:,} {one if n == 1 else many}"

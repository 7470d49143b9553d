"""How much work a search may do: columns evaluated, a measure that is the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

__all__ = ["Budget", "Round", "log2", "pair_entries", "rounds_of"]

BASE = 220_000_000  # columns that any problem gets, about a second
PER_UNIT = 840  # more for each movable unit, times the root of the number of labels: stratifying takes more with more
MANY_LABELS = 1_500  # beyond, more labels get no more work
CACHE = 65_536  # bytes up to which a column costs the least; beyond, memory is slower the more there is of it
LATER = 3.5  # work of each later generation of a thorough search, in parts of a whole normal one
PATIENT = 700.0  # trials for each unit, of all searches, from which on they place every unit well from any start
PAIR_ENTRIES = 300_000  # label pairs of distinct samples that are always searched
PAIR_ENTRIES_PER_SAMPLE = 100  # more for each sample; of the pairs beyond, a sample is searched


@dataclass(frozen=True)
class Round:
    """Searches that do not depend on one another: the weight vectors they serve, the work of each."""

    vectors: tuple[int, ...]
    work: int


@dataclass(frozen=True)
class Budget:
    """The work of a normal search, and how patient it is: 1 if every unit gets enough trials, towards 0 if few."""

    work: int
    patience: float

    @classmethod
    def of(cls, n_units: int, n_labels: int, columns_per_unit: float, table_bytes: int) -> Budget:
        """Divide the work by what a column costs where tables of so many bytes are read."""
        slower = max(0.0, log2(table_bytes / CACHE)) / 4.0
        work = (BASE + PER_UNIT * sqrt(min(n_labels, MANY_LABELS)) * n_units) / (1.0 + slower * slower)
        trials = work / (16.0 + 2.0 * columns_per_unit) / max(n_units, 1)
        return cls(int(work), min(1.0, trials / PATIENT))


def rounds_of(effort: str, n_vectors: int, work: int) -> list[Round]:
    """List the rounds for an effort, that of two ancestors first; a greater effort begins with those of a smaller one.

    The searches of a normal effort share the work alike.

    Examples
    --------
    >>> [round.vectors for round in rounds_of("normal", 5, 1000)]
    [(2, 2), (0, 2), (1, 3, 4)]
    >>> [round.vectors for round in rounds_of("fast", 5, 1000)]
    [(2, 2), (0, 2)]
    """
    each, middle = work // (2 + n_vectors), n_vectors // 2
    first = tuple(sorted({0, middle}))
    others = tuple(at for at in range(n_vectors) if at not in first)
    rounds = [Round((middle, middle), each), Round(first, each)]
    if effort != "fast" and others:
        rounds.append(Round(others, each))
    if effort == "thorough":
        rounds += [Round(tuple(range(n_vectors)), int(LATER * work / n_vectors))] * 2
    return rounds


def pair_entries(n_samples: int) -> int:
    """Return how many label pairs, counted once for each distinct sample that has them, are searched at most."""
    return PAIR_ENTRIES + PAIR_ENTRIES_PER_SAMPLE * n_samples


def log2(x: float) -> float:
    """Return about the logarithm, by operations that every machine rounds alike: exact at powers of two, else linear.

    Examples
    --------
    >>> log2(8.0), log2(12.0)
    (3.0, 3.5)
    """
    whole = max(int(x), 1).bit_length() - 1
    return whole + x / (1 << whole) - 1.0

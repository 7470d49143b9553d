"""`ParetoFront`: the trade-offs that a method found, and the rules that pick one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.errors import EvoSplitError
from evosplit.measures import ordered_sum

__all__ = ["NEGLIGIBLE", "PICK_RULES", "ParetoFront", "non_dominated", "pick_from"]

PICK_RULES = ("balanced", "origin", "ld", "lpd")
NEGLIGIBLE = 1e-3  # parts of a random split's objective below which less is hardly better
_LABEL_OBJECTIVES = ("samples", "instances")
_KINDS = {"samples": "labels", "instances": "labels", "pairs": "pairs", "triplets": "pairs", "strata": "strata"}


@dataclass(frozen=True, eq=False)
class ParetoFront:
    """The trade-offs that a method found: the splits that no other found split dominates.

    Attributes
    ----------
    objectives
        One row per point, one column per objective; smaller is better.
    objective_names
        What the columns measure: "samples" (LD), "instances" (LD'), "pairs" (LPD), "triplets", "strata".
    placements
        One entry per point: the subset number of each sample, or how many of each row go to each subset (rows x k)
        where rows stand for several samples.
    reference
        What a random split of the same sizes scores on each objective, on average.
    """

    objectives: npt.NDArray[np.float64]
    objective_names: tuple[str, ...]
    placements: npt.NDArray[np.integer[Any]]
    reference: npt.NDArray[np.float64]

    @property
    def assignments(self) -> npt.NDArray[np.integer[Any]]:
        """One row per point: the subset number of each sample."""
        if self.placements.ndim == 3:
            raise EvoSplitError("rows stand for several samples, which may be in different subsets; use placements")
        return self.placements

    def __len__(self) -> int:
        return len(self.objectives)


def non_dominated(scores: npt.NDArray[np.float64]) -> list[int]:
    """Return the rows that no other row equals or beats in every column, ordered by the first column.

    Examples
    --------
    >>> non_dominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [1.0, 3.0]]))
    [0, 1]
    """
    keep: list[int] = []
    left = np.lexsort(scores.T[::-1])
    while len(left):
        keep.append(int(left[0]))
        left = left[(scores[left] < scores[left[0]]).any(axis=1)]
    return keep


def pick_from(front: ParetoFront, rule: str | int) -> int:
    """Choose a point of the front and return its index.

    Objectives are divided by their values in a random split. "balanced" takes the point with the least sum of their
    square roots, in which labels, pairs and strata count alike: so what is nearly even already still counts, and is not
    given away for a little of what is far from even. "origin" takes the point nearest to the origin, with objectives as
    they are (the paper's rule); "ld" the best in labels (the least product of samples and instances); "lpd" the best in
    label pairs; an integer is an index.
    """
    if isinstance(rule, (int, np.integer)) and not isinstance(rule, bool):
        if not -len(front) <= rule < len(front):
            raise EvoSplitError(
                f"pick={rule} is too far: the front has {len(front)} points; give 0 ... {len(front) - 1}"
            )
        return int(rule) % len(front)
    scaled = front.objectives / np.where(front.reference > 0, front.reference, 1.0)
    if rule == "balanced":
        kinds = [_KINDS[name] for name in front.objective_names]
        shares = [1.0 / kinds.count(kind) for kind in kinds]
        return int(np.argmin(ordered_sum(np.sqrt(scaled) * shares)))
    if rule == "origin":
        return int(np.argmin(ordered_sum(front.objectives * front.objectives)))
    if rule in ("ld", "lpd"):
        wanted = _LABEL_OBJECTIVES if rule == "ld" else ("pairs",)
        columns = [i for i, name in enumerate(front.objective_names) if name in wanted]
        if not columns:
            raise EvoSplitError(
                f"pick={rule!r} needs the objective {' or '.join(map(repr, wanted))}, "
                f"but the objectives are {', '.join(map(repr, front.objective_names))}"
            )
        # Equal in what was asked for: the better one in the rest.
        first = np.cumprod(scaled[:, columns] + NEGLIGIBLE, axis=1)[:, -1]
        return int(np.lexsort((ordered_sum(scaled), first))[0])
    raise EvoSplitError(
        f"pick={rule!r} is no rule; choose one of {', '.join(map(repr, PICK_RULES))} or an index into the front"
    )

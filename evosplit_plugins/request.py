"""`Request`: the options of a split, the same for every adapter, in Python and at the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit.methods.base import Method
from evosplit.ratios import DEFAULT_NAMES, Subsets, fold_subsets, resolve_subsets
from evosplit.rng import Seed
from evosplit_plugins.files import names_file
from evosplit_plugins.grouping import compiled
from evosplit_plugins.options import option

__all__ = ["ENGINE_OPTIONS", "Request", "names_of"]

ENGINE_OPTIONS = (
    "method",
    "objectives",
    "cover",
    "min_per_label",
    "label_weights",
    "pick",
    "effort",
    "time_limit",
    "n_jobs",
    "seed",
)
_MANY = 10**9  # samples, so that ratios of any kind have names


@dataclass(frozen=True, kw_only=True)
class Request:
    """How to split. Options without a description here are those of `evosplit.split`.

    Attributes
    ----------
    ratios
        A mapping from subset names to ratios, or a sequence, whose names the adapter gives.
    folds
        The number of folds, instead of `ratios`.
    group_by
        Fields of the samples: those with an equal value in one of them stay together.
    group_regex
        Samples stay together whose file names match with the same text.
    group_copies
        Whether samples that show the same picture stay together.
    stratify_by
        Fields of the samples to balance beside the labels.
    locked
        Samples that are already placed. A mapping from subset names to the samples that stay there, named in any way
        that the adapter knows, or None for those that the data has in that subset already; or just the names of such
        subsets.
    """

    ratios: Mapping[str, float] | Sequence[float] | None = option(
        None, "proportions of unnamed subsets", kind="ratios", metavar="8:1:1"
    )
    folds: int | None = option(None, "K folds of equal size instead of subsets", kind="integer", metavar="K")
    group_by: str | Sequence[str] | None = option(
        None,
        "{samples} with an equal value in this {field} stay together, in one subset; repeat it, or separate by "
        "commas, for several",
        kind="names",
        metavar="{FIELD}[,...]",
    )
    group_regex: str | None = option(
        None,
        "{samples} whose file names match with the same text (of the first parentheses, if there are any) stay "
        "together",
        kind="text",
        metavar="REGEX",
    )
    group_copies: bool = option(
        True,
        "let {samples} of the same picture (equal file names, Roboflow's copies of one source) part",
        kind="switch",
    )
    stratify_by: str | Sequence[str] | None = option(
        None,
        "also balance this {field}; repeat it, or separate by commas, for several",
        kind="names",
        metavar="{FIELD}[,...]",
    )
    locked: Mapping[str, Any] | Sequence[str] | None = option(
        None,
        "the {samples} that FILE names stay in the subset NAME (test=old_test.txt); without FILE, those that are in a "
        "subset of that name already; repeat for several",
        kind="locks",
        flag="--lock",
        metavar="NAME[=FILE]",
    )
    method: str | Method = option(
        "evosplit", "evosplit (default), nsga2, ea-ld, ea-lpd, sois, is or random", kind="text", metavar="NAME"
    )
    objectives: Sequence[str] | None = option(
        None,
        "what to balance, of samples, instances, pairs, triplets and strata (default: what the data asks for)",
        kind="names",
        metavar="NAME[,...]",
    )
    cover: bool | str = option(
        True,
        "do not insist on each {label} in each subset; --cover all insists on it also where that makes {labels} more "
        "than twice as uneven",
        kind="switch",
        choices=("all",),
    )
    min_per_label: int = option(
        1,
        "give each subset at least N {samples} of each {label} that has enough (default 1)",
        kind="integer",
        metavar="N",
    )
    label_weights: Mapping[str, float] | None = option(
        None,
        "a {label} that matters more (or less) than the others, such as rare=5; repeat for several",
        kind="weights",
        flag="--label-weight",
        metavar="NAME=W",
    )
    pick: str | int = option(
        "balanced",
        "which trade-off to take: balanced (default), origin, ld, lpd or an index",
        kind="pick",
        metavar="RULE",
    )
    effort: str = option(
        "normal", "how much to search: fast, normal (default) or thorough", kind="text", metavar="LEVEL"
    )
    time_limit: float | None = option(None, "stop the search after this time", kind="number", metavar="SECONDS")
    n_jobs: int = option(
        1,
        "threads for the search, -1 for all cores (default 1); the result is the same",
        kind="integer",
        flag="--jobs",
        metavar="N",
    )
    seed: Seed = option(0, "same seed, same split (default 0)", kind="integer", metavar="N")

    def __post_init__(self) -> None:
        if (self.ratios is None) == (self.folds is None):
            given = "neither ratios= nor folds= is" if self.ratios is None else "ratios= and folds= are both"
            raise EvoSplitError(
                f"{given} given; pass one of them, such as ratios={{'train': 0.8, 'test': 0.2}} or folds=5"
            )
        for name in ("group_by", "stratify_by"):
            object.__setattr__(self, name, names_of(getattr(self, name), name))
        if self.group_regex is not None:
            compiled(self.group_regex)
        if self.locked is not None and not isinstance(self.locked, (str, Mapping, list, tuple)):
            raise EvoSplitError(
                f"locked={self.locked!r} names no subset; pass for example locked={{'test': ids}}, "
                "or locked=['test'] for a subset that the data has already"
            )
        if not self.cover and self.min_per_label != 1:
            raise EvoSplitError(
                f"min_per_label={self.min_per_label!r} and cover=False exclude each other; leave out one of them"
            )

    @property
    def groups(self) -> tuple[str, ...]:
        """The fields of `group_by`."""
        return tuple(self.group_by or ())

    @property
    def strata(self) -> tuple[str, ...]:
        """The fields of `stratify_by`."""
        return tuple(self.stratify_by or ())

    @property
    def locks(self) -> dict[str, Any]:
        """For each locked subset what the user passed to name its samples; None for the samples that it has already."""
        if isinstance(self.locked, Mapping):
            return dict(self.locked)
        return dict.fromkeys((self.locked,) if isinstance(self.locked, str) else self.locked or ())

    @property
    def lock_files(self) -> list[Path]:
        """The files that name locked samples, alone or in a list."""
        found: list[Path] = []
        for given in self.locks.values():
            several = given if isinstance(given, (list, tuple)) else ()
            alone = isinstance(given, (str, os.PathLike))
            found += [Path(given)] if alone else [Path(each) for each in several if names_file(each)]
        return found

    def subsets(self, n_samples: int, default_names: Mapping[int, tuple[str, ...]] = DEFAULT_NAMES) -> Subsets:
        """Return the names and exact sizes that are asked for, and whether they are folds."""
        if self.folds is not None:
            return fold_subsets(self.folds, n_samples, parameter="folds")
        return resolve_subsets(self.ratios or {}, n_samples, default_names=default_names)

    def names(self, default_names: Mapping[int, tuple[str, ...]] = DEFAULT_NAMES) -> tuple[str, ...]:
        """Return the names of the subsets, which are known before the samples are."""
        return self.subsets(_MANY, default_names).names

    def engine_options(self) -> dict[str, Any]:
        """Return the keyword arguments that `evosplit.split` and `evosplit.kfold` take as they are."""
        return {name: getattr(self, name) for name in ENGINE_OPTIONS}

    def recorded(self) -> dict[str, Any]:
        """Return what was asked for beyond the engine's own options, as the manifest keeps it."""
        asked: dict[str, Any] = {}
        if self.folds is not None:
            asked["folds"] = int(self.folds)
        elif self.ratios is not None:
            asked["ratios"] = dict(self.ratios) if isinstance(self.ratios, Mapping) else list(self.ratios)
        if self.groups:
            asked["group_by"] = list(self.groups)
        if self.group_regex is not None:
            asked["group_regex"] = self.group_regex
        if not self.group_copies:
            asked["group_copies"] = False
        if self.strata:
            asked["stratify_by"] = list(self.strata)
        if self.locks:
            asked["locked_subsets"] = list(self.locks)
        return asked


def names_of(given: str | Sequence[str] | None, parameter: str) -> tuple[str, ...] | None:
    """Turn one name or several into a tuple; an empty name, and the same one twice, are errors.

    Examples
    --------
    >>> names_of("clip", "group_by"), names_of(["clip", "site"], "group_by"), names_of((), "group_by")
    (('clip',), ('clip', 'site'), None)
    """
    names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise EvoSplitError(f"{parameter}={given!r} repeats a name, or has an empty one; name each once")
    return names or None

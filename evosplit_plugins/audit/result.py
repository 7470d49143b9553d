"""`Found`, the subsets that exist as a source describes them, and `Audit`, what there is to say about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import evosplit
from evosplit import EvoSplitError, EvoSplitWarning, LabelCounts, Split, SplitReport
from evosplit_plugins.audit.leaks import GROUP, Leak, OnProgress, find_leaks, find_repeats, kept_together

__all__ = ["JUDGED", "Audit", "Found", "audit"]

JUDGED = {"ld": "LD", "ld_occurrences": "LD'", "lpd": "LPD"}
_KINDS = {"ld": "labels", "ld_occurrences": "instances", "lpd": "label pairs"}
_GOOD = 0.5  # times what random splits give on average
_LIKE = 0.1  # so near to 1, or within twice the spread of single random splits, it is no better or worse
_AS_GOOD = 1.05  # how much better EvoSplit has to be before it is worth a sentence


@dataclass(frozen=True, eq=False)
class Found:
    """Subsets that exist.

    Attributes
    ----------
    names
        The subsets, at least two.
    assignment
        The number of each sample's subset; a sample that is in two subsets is two rows.
    counts
        The labels of each sample.
    keys
        What tells the samples apart, such as `{"file name": [...]}`, one value per sample; None where unknown.
    groups
        One value per sample: samples with the same value should not be in different subsets. None: no groups.
    settings, notes
        How the source was read, and what the reader should know.
    """

    names: tuple[str, ...]
    assignment: npt.ArrayLike
    counts: LabelCounts
    keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    groups: Sequence[Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def split(self) -> Split:
        """Return the subsets as a Split, to be measured like any other."""
        n, k = self.counts.n_samples, len(self.names)
        assignment = np.asarray(self.assignment, dtype=np.int64)
        if k < 2:
            only = f"only {self.names[0]!r}" if k else "none"
            raise EvoSplitError(
                f"an audit compares subsets, but there is {only}; give two or more, such as train and val"
            )
        lengths = {"assignment": len(assignment), **{key: len(values) for key, values in self.keys.items()}}
        if self.groups is not None:
            lengths["groups"] = len(self.groups)
        for what, length in lengths.items():
            if length != n:
                raise EvoSplitError(f"{what} has {length} entries for {n} samples; give one per sample")
        sizes = np.bincount(assignment, minlength=k)
        if not sizes.all():
            empty = self.names[int(np.argmin(sizes))]
            raise EvoSplitError(f"the subset {empty!r} is empty; leave it out")
        return Split(
            names=self.names,
            assignment=assignment,
            sample_ids=self.counts.ids,
            target_sizes=tuple(int(size) for size in sizes),
            settings={"method": "as found", **self.settings},
            notes=self.notes,
            counts=self.counts,
        )


@dataclass(frozen=True, eq=False)
class Audit:
    """What there is to say about a split that exists.

    Attributes
    ----------
    split
        The split as it was found.
    leaks
        What its subsets share.
    instead
        The split that EvoSplit makes at the same sizes; None if it was not asked for.
    """

    split: Split
    leaks: tuple[Leak, ...] = ()
    instead: Split | None = None

    @cached_property
    def report(self) -> SplitReport:
        """The report of the split, with leaks and comparison among its notes."""
        leaks = (f"Leak: {leak}" for leak in self.leaks)
        return replace(self.split, notes=(*leaks, *self.comparison(), *self.split.notes)).report()

    @cached_property
    def instead_report(self) -> SplitReport | None:
        """The report of the split that EvoSplit makes."""
        return None if self.instead is None else self.instead.report()

    @cached_property
    def times_random(self) -> dict[str, float]:
        """LD, LD' and LPD divided by what random splits of the same sizes give on average."""
        values, random = self.report.measures.to_dict(), self.report.random
        return {name: _times(values[name], random[name]) for name in JUDGED}

    @cached_property
    def spread(self) -> dict[str, float]:
        """How far one random split is from the average, in the unit of `times_random`, as a standard deviation."""
        return {name: _times(self.report.random_spread[name], self.report.random[name]) for name in JUDGED}

    @property
    def verdict(self) -> str:
        """Say how good the split is, by labels first; what is otherwise in instances and label pairs follows."""
        judged = [name for name in JUDGED if self.times_random[name] or self.report.random[name]]
        if not judged:
            return "There is nothing to judge: no split of these labels differs from another."
        grades = {name: _grade(self.times_random[name], self.spread[name]) for name in judged}
        first, *others = judged
        if len(set(grades.values())) > 1:
            asides = [f"{_KINDS[name].capitalize()}: {grades[name]} ({self._in_numbers(name)})." for name in others]
            return " ".join([f"{grades[first].capitalize()} in labels: {self._in_words(first)}.", *asides])
        if grades[first] == "good":
            return "Good: labels, instances and label pairs are at least twice as close as in random splits."
        more = "".join(f", {self._in_numbers(name)}" for name in others)
        return f"{grades[first].capitalize()}: {self._in_words(first)}{more}."

    def _in_words(self, name: str) -> str:
        times, spread = self.times_random[name], self.spread[name]
        return f"{JUDGED[name]} is {times:.2f} times that of random splits, which scatter by ± {spread:.2f}"

    def _in_numbers(self, name: str) -> str:
        return f"{JUDGED[name]} {self.times_random[name]:.2f}, scatter ± {self.spread[name]:.2f}"

    def comparison(self) -> list[str]:
        """Say what EvoSplit gives instead; nothing where it was not asked."""
        if self.instead is None:
            return []
        here, there = self.split.measures.to_dict(), self.instead.measures.to_dict()
        gains = {label: (here[name], there[name]) for name, label in JUDGED.items()}
        better = [
            f"{label} {a / b:.1f} times smaller" if b else f"{label} 0"
            for label, (a, b) in gains.items()
            if a > b * _AS_GOOD and a > 0
        ]
        if not better:
            return ["EvoSplit finds nothing better at the same sizes."]
        lines = [f"EvoSplit at the same sizes: {', '.join(better)}."]
        if self.instead.sizes != self.split.sizes:
            sizes = ", ".join(map(str, self.instead.sizes))
            lines[0] = f"EvoSplit at sizes of {sizes}, since groups stay whole: {', '.join(better)}."
        missing = int(here["flz"] - there["flz"])
        if missing > 0:
            times = "1 time" if missing == 1 else f"{missing} times"
            lines.append(f"It puts a label {times} into a subset that lacks it here.")
        return lines

    def failures(self, fail_over: float | None = None, *, allow_leaks: bool = False) -> list[str]:
        """List the reasons to refuse the split.

        Parameters
        ----------
        fail_over
            How many times what random splits give on average LD, LD' and LPD may be; None for no limit.
        allow_leaks
            Do not count leaks.
        """
        reasons = [] if allow_leaks else [str(leak) for leak in self.leaks]
        if fail_over is not None:
            if not fail_over > 0:
                raise EvoSplitError(f"fail_over={fail_over} is no limit; give a positive number, such as 2")
            reasons += [
                f"{JUDGED[name]} is {times:.2f} times that of random splits (which scatter by "
                f"± {self.spread[name]:.2f}), more than {fail_over:g}."
                for name, times in self.times_random.items()
                if times > fail_over
            ]
        return reasons

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-able data: the report, and beside it leaks, verdict and comparison."""
        instead = None
        if self.instead is not None:
            instead = {
                "sizes": dict(zip(self.instead.names, self.instead.sizes, strict=True)),
                "measures": self.instead.measures.to_dict(),
                "settings": dict(self.instead.settings),
                "notes": list(self.instead.notes),
            }
        finite = {name: value if np.isfinite(value) else None for name, value in self.times_random.items()}
        return {
            **self.report.to_dict(),
            "verdict": self.verdict,
            "leaks": [leak.to_dict() for leak in self.leaks],
            "times_random": finite,
            "evosplit": instead,
        }


def audit(found: Found, *, compare: bool = True, on_progress: OnProgress | None = None, **options: Any) -> Audit:
    """Judge subsets that exist.

    Parameters
    ----------
    found
        The subsets, for example from `from_coco`, `from_hf`, `from_fiftyone` or `from_csv`.
    compare
        Whether to make a split at the same sizes with EvoSplit, to set beside it. It keeps together what the groups
        say, and samples that share an id or file name.
    on_progress
        Called with the fraction of the search done and a message.
    **options
        Passed to `evosplit.split`: `seed`, `effort`, `time_limit`, `n_jobs`, ...

    Returns
    -------
    Audit
        The leaks, the report, a verdict, and the split that EvoSplit makes.
    """
    split = found.split()
    assignment, names = split.assignment, split.names
    leaks = [leak for kind, values in found.keys.items() for leak in find_leaks(kind, values, assignment, names)]
    repeats = [note for kind, values in found.keys.items() for note in find_repeats(kind, values, assignment, names)]
    if found.groups is not None:
        leaks += find_leaks(GROUP, found.groups, assignment, names)
    split = replace(split, notes=(*repeats, *split.notes))
    instead = None
    if compare and split.counts is not None and split.counts.totals.any():
        together = kept_together([*found.keys.values(), found.groups], found.counts.n_samples)
        sizes = dict(zip(names, split.sizes, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvoSplitWarning)  # what it says is about the comparison, not the data
            instead = evosplit.split(found.counts, sizes, groups=together, on_progress=on_progress, **options)
    return Audit(split, tuple(leaks), instead)


def _grade(times: float, spread: float) -> str:
    """Judge one measure beside random splits."""
    if times <= _GOOD:
        return "good"
    if abs(times - 1) <= max(_LIKE, 2 * spread):
        return "no better than random"
    return "better than random" if times < 1 else "worse than random"


def _times(value: float, random: float) -> float:
    if random > 0:
        return value / random
    return float("inf") if value > 0 else 0.0

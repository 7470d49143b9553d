"""`audit` judges an existing split; `Audit` is the result."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

import evosplit
from evosplit import EvoSplitError, EvoSplitWarning, Split, SplitReport
from evosplit.report import MeasureRow
from evosplit.rng import Seed
from evosplit.wording import Nouns, counted
from evosplit_plugins.audit.leaks import (
    CONTENT,
    GROUP,
    SOURCE_PICTURE,
    Leak,
    Shared,
    find_leaks,
    find_repeats,
    source_pictures,
)
from evosplit_plugins.grouping import Links, joined, linked
from evosplit_plugins.progress import OnProgress, Phases
from evosplit_plugins.request import Request, names_of
from evosplit_plugins.source import Asked, Source

__all__ = ["JUDGED", "Audit", "audit"]

JUDGED = {"ld": "labels", "ld_occurrences": "instances", "lpd": "label pairs"}
_GOOD = 0.5  # times what random splits give on average
_LIKE = 0.1  # so near to 1, or within twice the spread of single random splits, it is no better or worse
_AS_GOOD = 1.05  # how much better EvoSplit has to be before it is worth a sentence


@dataclass(frozen=True, eq=False)
class Audit:
    """The audit of an existing split: its leaks, its report, a verdict, and what EvoSplit would give instead.

    Attributes
    ----------
    split
        The split as it was found.
    leaks
        What its subsets share.
    instead
        The split that EvoSplit makes at the same sizes; None if it was not asked for.
    nouns
        What the report calls samples and labels.
    """

    split: Split
    leaks: tuple[Leak, ...] = ()
    instead: Split | None = None
    nouns: Nouns | None = None

    @cached_property
    def report(self) -> SplitReport:
        """The report of the split, with leaks and comparison among its notes."""
        leaks = (f"Leak: {leak}" for leak in self.leaks)
        return replace(self.split, notes=(*leaks, *self.comparison(), *self.split.notes)).report(self.nouns)

    @cached_property
    def instead_report(self) -> SplitReport | None:
        """The report of the split that EvoSplit makes."""
        return None if self.instead is None else self.instead.report(self.nouns)

    @cached_property
    def _judged(self) -> dict[str, MeasureRow]:
        return {row.key: row for row in self.report.measure_rows if row.key in JUDGED}

    @property
    def times_random(self) -> dict[str, float]:
        """LD, LD' and LPD divided by what random splits of the same sizes give on average."""
        return {key: row.times_random for key, row in self._judged.items()}

    @property
    def spread(self) -> dict[str, float]:
        """The standard deviation of single random splits, in the unit of `times_random`."""
        return {key: row.relative_spread for key, row in self._judged.items()}

    @property
    def chance(self) -> dict[str, float]:
        """How far from 1 `times_random` may be and still count as chance."""
        return {key: _chance(row) for key, row in self._judged.items()}

    @property
    def verdict(self) -> str:
        """Say how good the split is in labels, and in instances and label pairs where that differs."""
        judged = {key: row for key, row in self._judged.items() if row.value or row.random}
        if not judged:
            return "There is nothing to judge: no split of these labels differs from another."
        grades = {key: _grade(row) for key, row in judged.items()}
        first, *others = judged
        if len(set(grades.values())) > 1:
            asides = [f"{JUDGED[key].capitalize()}: {grades[key]} ({_in_brief(judged[key])})." for key in others]
            return " ".join([f"{grades[first].capitalize()} in {JUDGED[first]}: {_in_words(judged[first])}.", *asides])
        if grades[first] == "good":
            *most, last = (JUDGED[key] for key in judged)
            what = f"{', '.join(most)} and {last}" if most else last
            return f"Good: {what} are at least twice as close to their shares as in the average random split."
        more = "".join(f"; {_in_brief(judged[key])}" for key in others)
        return f"{grades[first].capitalize()}: {_in_words(judged[first])}{more}."

    @cached_property
    def gains(self) -> dict[str, float]:
        """How many times closer to the shares EvoSplit's split comes: those measures in which it is clearly closer."""
        if self.instead is None:
            return {}
        here, there = self.split.measures.to_dict(), self.instead.measures.to_dict()
        return {
            key: here[key] / there[key] if there[key] else inf for key in JUDGED if here[key] > there[key] * _AS_GOOD
        }

    def comparison(self) -> list[str]:
        """Say what EvoSplit gives instead; empty without a comparison."""
        if self.instead is None:
            return []
        if 0 in self.instead.sizes:
            empty = self.instead.names[self.instead.sizes.index(0)]
            return [f"EvoSplit has nothing to give instead: with whole groups nothing is left for {empty}."]
        better = [
            f"{JUDGED[key]} {times:.1f} times" if times < inf else f"{JUDGED[key]} exactly"
            for key, times in self.gains.items()
        ]
        sizes = "the same sizes"
        if self.instead.sizes != self.split.sizes:
            sizes = f"sizes of {', '.join(map(str, self.instead.sizes))}, since groups stay whole"
        if not better:
            kept = "; it keeps together what leaks here" if self.leaks else ""
            return [f"EvoSplit finds nothing that is clearly more even at {sizes}{kept}."]
        free = "" if "groups" in self.instead.settings else ", where nothing has to stay together,"
        lines = [f"EvoSplit at {sizes}{free} comes closer to the shares: {', '.join(better)}."]
        missing = self.split.measures.flz - self.instead.measures.flz
        if missing > 0:
            lines.append(f"In it, a subset lacks a label {counted(missing, 'time', 'times')} less often.")
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
                f"{_in_words(row)}, more than {fail_over:g}."
                for row in self._judged.values()
                if row.times_random > fail_over
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


def audit(
    source: Source,
    *,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    same_bytes: bool = False,
    compare: bool = True,
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Judge an existing split: how even it is, what leaks, and what EvoSplit would give at the same sizes.

    Parameters
    ----------
    source
        The samples and their subsets, as returned by an adapter's `read_subsets`; a sample in two subsets is two rows.
    group_by, group_regex
        What belongs together and leaks where it does not: see `evosplit_plugins.request.Request`.
    same_bytes
        Also look for files of the same content in different subsets.
    compare
        Whether to make a split of the same sizes with EvoSplit for comparison. That split keeps
        together what leaks here.
    effort, time_limit, n_jobs, seed
        Of that split, as in `evosplit.split`.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    Audit
        The leaks, the report, a verdict, and the split that EvoSplit makes.
    """
    phases = Phases(on_progress, comparing=3, searching=7)
    split = _as_found(source)
    fields = names_of(group_by, "group_by") or ()
    links: list[Links] = []
    shared = source.shared(fields, group_regex)
    if shared is None:
        shared, links = _among_rows(source, split, fields, group_regex, phases("comparing"), same_bytes=same_bytes)
    elif same_bytes:
        source.contents(phases("comparing"))
    split = replace(split, notes=(*shared.repeats, *split.notes, *shared.notes))
    instead = None
    if compare and source.counts.totals.any():
        sizes = dict(zip(split.names, split.sizes, strict=True))
        asked = source.asked(Request(ratios=sizes, group_by=fields, group_regex=group_regex), split.names)
        if asked is None:
            together = joined(links)
            is_linked = together is not None and len(set(together)) < len(together)
            asked = Asked(source.counts, together if is_linked else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvoSplitWarning)  # they are about the comparison, not the data
            instead = asked.finish(
                evosplit.split(
                    asked.counts,
                    sizes,
                    groups=asked.groups,
                    effort=effort,
                    time_limit=time_limit,
                    n_jobs=n_jobs,
                    seed=seed,
                    on_progress=phases("searching"),
                )
            )
    phases.finish()
    return Audit(split, shared.leaks, instead)


def _as_found(source: Source) -> Split:
    """Return the subsets as a Split, to be measured like any other."""
    if source.subsets is None or len(source.subsets.names) < 2:
        found = f"only {source.subsets.names[0]!r}" if source.subsets is not None and source.subsets.names else "none"
        raise EvoSplitError(
            f"an audit compares subsets, but there is {found} in {source.called}; give two or more, such as train and "
            "val"
        )
    if source.subsets.assignment.ndim == 1:
        _check_length("assignment", source.subsets.assignment.tolist(), source)
    names, sizes = source.subsets.names, source.subsets.sizes
    if not all(sizes):
        raise EvoSplitError(f"the subset {names[sizes.index(0)]!r} is empty; leave it out")
    return Split(
        names=names,
        placement=source.subsets.assignment,
        sample_ids=source.counts.ids,
        target_sizes=sizes,
        settings={"method": "as found"},
        notes=source.notes,
        counts=source.counts,
        source=source.provenance,
    )


def _among_rows(
    source: Source,
    split: Split,
    fields: Sequence[str],
    regex: str | None,
    on_progress: OnProgress,
    *,
    same_bytes: bool,
) -> tuple[Shared, list[Links]]:
    """Find what subsets share, given a row for each sample; also return the links between the rows."""
    names, assignment = split.names, split.assignment
    keys = {kind: values for kind, values in source.shared_keys().items() if any(each is not None for each in values)}
    if source.files is not None:
        sources = source_pictures(source.files)
        keys |= {SOURCE_PICTURE: sources} if any(sources) else {}
    if same_bytes:
        keys[CONTENT] = source.contents(on_progress)
    for kind, values in keys.items():
        _check_length(kind, values, source)
    groups, notes = _groups(source, fields, regex, on_progress)
    leaks = [leak for kind, values in keys.items() for leak in find_leaks(kind, values, assignment, names)]
    repeats = [note for kind, values in keys.items() for note in find_repeats(kind, values, assignment, names)]
    if groups is not None:
        leaks += find_leaks(GROUP, groups, assignment, names)
    links = [Links(values) for values in (*keys.values(), groups) if values is not None]
    return Shared(tuple(leaks), tuple(repeats), notes), links


def _groups(
    source: Source, fields: Sequence[str], regex: str | None, on_progress: OnProgress
) -> tuple[list[Any] | None, tuple[str, ...]]:
    """Return the group of each sample, None if nothing names groups, and sentences for the report."""
    known = source.fields(groups=fields, strata=())
    links = linked({name: known.groups[name] for name in fields}, regex, source.files, source.links(on_progress))
    for each in links:
        _check_length("groups", each.values, source)
    return joined(links), (*known.notes, *(note for each in links for note in each.notes))


def _check_length(what: str, values: Sequence[Any], source: Source) -> None:
    if len(values) != len(source):
        raise EvoSplitError(f"{what} has {len(values)} entries for {len(source)} samples; give one for each")


def _grade(row: MeasureRow) -> str:
    """Judge one measure beside random splits."""
    if row.times_random <= _GOOD:
        return "good"
    if abs(row.times_random - 1) <= _chance(row):
        return "no better than random"
    return "better than random" if row.times_random < 1 else "worse than random"


def _chance(row: MeasureRow) -> float:
    return max(_LIKE, 2 * row.relative_spread)


def _in_words(row: MeasureRow) -> str:
    spread = f"single ones vary by ± {row.relative_spread:.2f}"
    return f"{row.name} is {row.times_random:.2f} times that of the average random split ({spread})"


def _in_brief(row: MeasureRow) -> str:
    return f"{row.name} {row.times_random:.2f}, ± {row.relative_spread:.2f}"

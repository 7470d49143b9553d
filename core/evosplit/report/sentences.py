"""What a report says in words: a summary in plain sentences, and the highlights of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from evosplit.report.tables import number, percent
from evosplit.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evosplit.report.effects import ConstraintEffects
    from evosplit.report.numbers import MeasureRow, SplitReport
    from evosplit.wording import Nouns

__all__ = ["Highlight", "highlights_of", "summary_of"]

Mood = Literal["good", "bad", ""]
_COMMON = 10  # samples per subset, on average, from which a label or category is judged in percent
_ALIKE = 1.05  # times closer or further up to which two splits are called as close


@dataclass(frozen=True)
class Highlight:
    """A number to show first: its name, its meaning, and its grade: "good", "bad" or neither ("")."""

    title: str
    value: str
    meaning: str
    mood: Mood


def summary_of(report: SplitReport) -> Iterator[str]:
    """Say what matters, in plain sentences, without the notes."""
    yield _sizes(report)
    yield from _totals(report)
    if report.occurring:
        yield from _labels(report)
    yield from _comparison(report)
    if report.effects is not None:
        yield from _constraints(report.effects, report.nouns, len(report.subsets))


def highlights_of(report: SplitReport) -> Iterator[Highlight]:
    """Pick what to see first: sizes, labels and pairs beside random splits, and labels that are missing."""
    nouns, ed = report.nouns, report.measures.ed
    if report.sizes == report.target_sizes:
        yield Highlight("Sizes", "exact", "as asked for", "good")
    else:
        least = f"; lower bound {number(report.best_ed)}" if report.best_ed else ""
        yield Highlight("Sizes", f"± {number(ed)}", f"on average{least}", "" if ed <= report.best_ed else "bad")
    for title, row in ((nouns.labels, report.measure_rows[0]), ("label pairs", report.measure_rows[2])):
        if row.random > 0 and not row.value:
            yield Highlight(title.capitalize(), "perfect", "exactly their shares in every subset", "good")
        elif row.random > 0:
            value, how, mood = _beside_random(row)
            yield Highlight(title.capitalize(), value, f"{how} in the average random split", mood)
    proved = report.n_missing <= report.missing_bound
    meaning = f"times in a subset; {_fewest(report)}" if report.n_missing else f"every {nouns.label} is in every subset"
    yield Highlight(f"A {nouns.label} is missing", f"{report.n_missing:,}", meaning, "good" if proved else "")


def _sizes(report: SplitReport) -> str:
    samples = counted(sum(report.sizes), report.nouns.sample, report.nouns.samples)
    subsets = f"{samples} in {len(report.subsets)} subsets"
    if report.sizes == report.target_sizes:
        return f"{subsets} of exactly the sizes asked for."
    least = ", the least that groups and locks allow" if report.measures.ed <= report.best_ed else ""
    return f"{subsets}, whose sizes are off by {number(report.measures.ed)} on average{least}."


def _totals(report: SplitReport) -> Iterator[str]:
    nouns = report.nouns
    if not report.occurring:
        return
    held = {
        "all instances": [row.instances for row in report.subsets],
        f"the {nouns.samples} without a {nouns.label}": [row.unlabelled for row in report.subsets],
    }
    for what, parts in held.items():
        if sum(part.count for part in parts) >= _COMMON * len(parts):
            off = max(abs(part.excess) for part in parts)
            near = f"within {percent(off)} of" if off else "exactly"
            yield f"Each subset's share of {what} is {near} its share of all {nouns.samples}."


def _labels(report: SplitReport) -> Iterator[str]:
    nouns, k = report.nouns, len(report.subsets)
    common = [row for row in report.occurring if row.total >= _COMMON * k]
    if common:
        which = "" if len(common) == len(report.occurring) else f" with at least {_COMMON * k} {nouns.samples}"
        worst = max(common, key=lambda row: row.deviation)
        yield f"Every {nouns.label}{which} is within {percent(worst.deviation)} of its share (furthest: {worst.label})."
    exact, total = sum(1 for row in report.occurring if not row.misplaced), len(report.occurring)
    which = "all" if exact == total else f"{exact:,} of {total:,}"
    are = f"{which} {nouns.labels} {'is' if exact == 1 < total else 'are'}"
    yield (
        f"Taken one by one, {are} as close to their shares as whole {nouns.samples}, and at least {report.least} in "
        "every subset, allow."
    )
    rare = [row.label for row in report.occurring if row.total < k]
    if rare:
        has = counted(len(rare), f"{nouns.label} has", f"{nouns.labels} have")
        yield f"{has} fewer than {k} {nouns.samples}, too few for every subset: {listed(rare)}."
    if not report.n_missing:
        yield f"Every {nouns.label} is in every subset."
    else:
        yield f"In {counted(report.n_missing, 'case', 'cases')} a subset lacks a {nouns.label}; {_fewest(report)}."
    if report.cover is not None and report.cover.labels and number(report.cover.ld_without) != number(report.cover.ld):
        n = report.cover.labels
        are = counted(n, f"{nouns.label} is further from its share", f"{nouns.labels} are further from their shares")
        yield (
            f"Because every subset is to have at least {report.least} of each {nouns.label}, {are} in some subset than "
            f"whole {nouns.samples} require; without that, LD would be about {number(report.cover.ld_without)} instead "
            f"of {number(report.cover.ld)}."
        )
    absent = [row.label for row in report.labels if not row.total]
    if absent:
        occur = counted(len(absent), f"{nouns.label} occurs", f"{nouns.labels} occur")
        yield f"{occur} in no {nouns.sample}: {listed(absent)}."


def _fewest(report: SplitReport) -> str:
    """Say how many combinations of labels with subsets stay empty at least."""
    considered = ", groups and locks considered" if report.effects is not None and report.effects.binding else ""
    if report.n_missing <= report.missing_bound:
        return f"no split of these sizes has fewer{considered}"
    return f"the lower bound is {report.missing_bound:,}{considered}"


def _comparison(report: SplitReport) -> Iterator[str]:
    for what, row in ((report.nouns.labels, report.measure_rows[0]), ("label pairs", report.measure_rows[2])):
        if row.random <= 0:
            continue
        if not row.value:
            yield f"{what.capitalize()} have exactly their shares in every subset."
            continue
        much, how, _ = _beside_random(row)
        around = f"{row.name}; single random splits vary by ± {100 * row.relative_spread:.0f} %"
        how = f"{much.replace('×', 'times')} {how} in the average random split ({around})"
        yield f"{what.capitalize()} are {how}."


def _constraints(effects: ConstraintEffects, nouns: Nouns, k: int) -> Iterator[str]:
    groups, n_locked, enough = effects.groups, sum(effects.locked), _COMMON * k
    if groups is not None:
        kept = "all of them whole" if not groups.torn else f"{groups.torn:,} of them torn apart"
        size = counted(groups.largest_size, nouns.sample, nouns.samples)
        yield f"Groups: {groups.total:,}, {kept}; the largest, {groups.largest}, has {size}."
    if n_locked:
        kept = "all of them in their subsets" if not effects.moved else f"{effects.moved:,} of them elsewhere"
        yield f"Locked {nouns.samples}: {n_locked:,}, {kept}."
    for name, table in effects.strata:
        common = np.flatnonzero(table.totals >= enough)
        if len(common):
            worst = int(common[np.argmax(table.deviation[common])])
            which = "" if len(common) == len(table) else f" that occurs at least {enough:,} times"
            off = percent(float(table.deviation[worst]))
            yield f"Every category of {name}{which} is within {off} of its share (furthest: {table.names[worst]})."
    least, below = effects.min_per_label, effects.below_minimum
    if below:
        has = counted(len(below), f"{nouns.label} has", f"{nouns.labels} have")
        yield f"{has} fewer than {least} {nouns.samples} in some subset: {listed(below)}."
    elif least > 1:
        yield f"Every subset has at least {least} {nouns.samples} of every {nouns.label}."


def _beside_random(row: MeasureRow) -> tuple[str, str, Mood]:
    """Say how close to their shares things are beside the average random split: (how much, in which way, the mood)."""
    times = row.times_random
    if times * _ALIKE < 1:
        return f"{_factor(1 / times)} ×", "closer to their shares than", "good"
    if times > _ALIKE:
        return f"{_factor(times)} ×", "further from their shares than", "bad"
    return "as close", "to their shares as", ""


def _factor(times: float) -> str:
    return f"{times:.1f}" if times < 10 else f"{times:,.0f}"

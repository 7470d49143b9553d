"""Compute the numbers of a report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from evosplit.counts import LabelCounts
from evosplit.coverage import cover_cost, fewest_empty, label_needs
from evosplit.errors import EvoSplitError
from evosplit.measures import SubsetTables
from evosplit.report.baselines import baselines_of
from evosplit.report.effects import effects_of
from evosplit.report.numbers import LabelRow, PairRow, SplitReport, SubsetRow
from evosplit.report.shares import Part, ShareTable, deviations, misplaced
from evosplit.result import Split
from evosplit.wording import Nouns

__all__ = ["build_report"]

_PAIRS_KEPT = 200  # of up to millions, the worst


def build_report(split: Split, nouns: Nouns | None = None) -> SplitReport:
    """Compute the report of a split that still carries its label counts."""
    if split.counts is None:
        raise EvoSplitError(
            "this split was read from a manifest and carries no label counts; make the report where the data is"
        )
    counts, constraints, tables = split.counts, split.constraints, split.tables
    baselines = baselines_of(split, counts)
    least = _least(split, counts)
    pairs_misplaced = misplaced(tables.pairs, tables.sizes)
    return SplitReport(
        subsets=_subset_rows(split, tables),
        labels=_label_rows(split.names, counts.labels, tables, least, baselines.random_deviation),
        pairs=_pair_rows(counts.labels, tables, pairs_misplaced),
        n_pairs=len(tables.pairs),
        n_pairs_exact=int((pairs_misplaced == 0).sum()),
        measures=replace(split.measures, flz_bound=_flz_bound(split, counts)),
        baselines=baselines,
        best_ed=split.best_ed,
        front=split.front,
        chosen=split.chosen,
        cover=cover_cost(tables.samples, tables.sizes, least=least) if split.settings.get("cover") else None,
        least=least,
        effects=None if constraints is None else effects_of(split, counts, constraints, tables.samples),
        settings=split.settings,
        notes=split.notes,
        nouns=nouns or Nouns(),
    )


def _least(split: Split, counts: LabelCounts) -> int:
    """Return how many samples of each label every subset was to get, lowered to what the smallest can hold."""
    asked = 1 if split.constraints is None else split.constraints.min_per_label
    if asked == 1:
        return 1
    needs, _ = label_needs(counts, split.target_sizes, order=np.arange(counts.n_labels), least=asked)
    return int(needs.max(initial=1))


def _flz_bound(split: Split, counts: LabelCounts) -> int:
    """Bound FLZ from below; whether labels stand in each other's way is asked only where that is in question."""
    measures = split.measures
    if measures.flz == measures.flz_bound:
        return measures.flz_bound
    return min(fewest_empty(counts, split.sizes, split.constraints), measures.flz)


def _subset_rows(split: Split, tables: SubsetTables) -> tuple[SubsetRow, ...]:
    held = np.array(
        [
            split.sizes,
            tables.instances.sum(axis=0),
            tables.unlabelled,
        ],
        dtype=np.int64,
    )
    parts = ShareTable(("", "", ""), split.names, np.array(split.sizes, dtype=np.int64), held).parts
    asked = [target / max(sum(split.target_sizes), 1) for target in split.target_sizes]
    sizes = [Part(part.count, part.share, target) for part, target in zip(parts[0], asked, strict=True)]
    return tuple(map(SubsetRow, split.names, split.target_sizes, sizes, *parts[1:]))


def _label_rows(
    names: tuple[str, ...],
    labels: tuple[str, ...],
    tables: SubsetTables,
    least: int,
    random: npt.NDArray[np.float64],
) -> tuple[LabelRow, ...]:
    samples, instances = tables.samples.tolist(), tables.instances.tolist()
    deviation, instance_deviation, to_move = (
        found.tolist()
        for found in (
            deviations(tables.samples, tables.sizes),
            deviations(tables.instances, tables.sizes),
            misplaced(tables.samples, tables.sizes, least=least),
        )
    )
    return tuple(
        LabelRow(
            label=labels[i],
            samples=tuple(samples[i]),
            instances=tuple(instances[i]),
            deviation=deviation[i],
            instance_deviation=instance_deviation[i],
            random_deviation=float(random[i]),
            misplaced=to_move[i],
            missing=tuple(name for name, count in zip(names, samples[i], strict=True) if not count),
        )
        for i in np.argsort(tables.samples.sum(axis=1), kind="stable").tolist()
    )


def _pair_rows(
    labels: tuple[str, ...], tables: SubsetTables, pairs_misplaced: npt.NDArray[np.int64]
) -> tuple[PairRow, ...]:
    """Take the worst pairs, in the order of `SplitReport.worst_labels`; of equals the most frequent."""
    deviation = deviations(tables.pairs, tables.sizes)
    order = np.lexsort((-tables.pairs.sum(axis=1), -deviation, pairs_misplaced == 0))[:_PAIRS_KEPT]
    return tuple(
        PairRow(
            labels=(labels[tables.pair_labels[i, 0]], labels[tables.pair_labels[i, 1]]),
            samples=tuple(tables.pairs[i].tolist()),
            deviation=float(deviation[i]),
            misplaced=int(pairs_misplaced[i]),
        )
        for i in order
    )

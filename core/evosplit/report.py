"""`SplitReport`: how good a split is, as numbers first; text, JSON, plots and HTML come from the same numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit import plots
from evosplit.baselines import baselines_of
from evosplit.charts import (
    FrontPoints,
    deviations,
    front_points,
    label_shares,
    listed,
    misplaced,
    number,
    pair_shares,
    total_shares,
)
from evosplit.counts import LabelCounts
from evosplit.coverage import fewest_empty
from evosplit.effects import COMMON, ConstraintEffects, effects_of
from evosplit.errors import EvoSplitError, MissingExtraError
from evosplit.files import write_atomically
from evosplit.measures import Measures, SubsetTables
from evosplit.result import Split
from evosplit.terminal import clean, clip, pad, wrap

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["LabelRow", "MeasureRow", "PairRow", "SplitReport", "SubsetRow", "build_report"]

_LINE = 80  # columns of the plain text
_WORST_SHOWN = 8
_PAIRS_SHOWN = 5
_MISSING_SHOWN = 8
_NAMED = 5  # labels that a sentence names
_PAIRS_KEPT = 200  # of up to millions, the worst


@dataclass(frozen=True)
class LabelRow:
    """One label in the report.

    Attributes
    ----------
    label
        Its name.
    samples, instances
        Samples with the label, occurrences of it, in each subset.
    deviation
        The largest difference between a subset's share of the label's samples and its share of all samples,
        relative to the latter: 0.02 means within 2 % everywhere.
    missing
        The subsets without any sample of it.
    instance_deviation
        The same as `deviation` for the label's occurrences.
    misplaced
        How many samples would have to move until the label, on its own, is as close to its shares as whole samples
        allow; or as close as that and one sample in every subset (or `min_per_label`) allow.
    random_deviation
        The `deviation` of random splits, on average.
    """

    label: str
    samples: tuple[int, ...]
    instances: tuple[int, ...]
    deviation: float
    missing: tuple[str, ...]
    instance_deviation: float = 0.0
    misplaced: int = 0
    random_deviation: float = 0.0

    @property
    def total(self) -> int:
        """Samples with the label."""
        return sum(self.samples)


@dataclass(frozen=True)
class PairRow:
    """Two labels that occur together: samples with both in each subset; `deviation` and `misplaced` as of a label."""

    labels: tuple[str, str]
    samples: tuple[int, ...]
    deviation: float
    misplaced: int

    @property
    def total(self) -> int:
        """Samples with both labels."""
        return sum(self.samples)


@dataclass(frozen=True)
class SubsetRow:
    """One subset in the report.

    Attributes
    ----------
    name, size, target
        Its name, its samples and how many were asked for.
    instances, unlabelled
        How often labels occur in it, and how many of its samples carry none.
    share, instance_share, unlabelled_share
        The parts of all samples, of all instances and of all samples without a label that it holds.
    """

    name: str
    size: int
    target: int
    instances: int
    unlabelled: int
    share: float
    instance_share: float
    unlabelled_share: float


@dataclass(frozen=True)
class MeasureRow:
    """One measure of the split beside that of others; smaller is better.

    Attributes
    ----------
    name, meaning
        The symbol of the literature, and what it measures.
    value
        Of this split.
    by_pairs, by_labels
        Of iterative stratification over label pairs and over labels; None where it would take too long.
    random, random_spread
        Of random splits, on average; and how far one alone is from that, as a standard deviation.
    bound
        No split is below it, and none need reach it; None where no bound is known.
    """

    name: str
    meaning: str
    value: float
    by_pairs: float | None
    by_labels: float | None
    random: float
    random_spread: float
    bound: float | None


@dataclass(frozen=True, repr=False)
class SplitReport:
    """A split in numbers, beside what other methods give and what is possible.

    Attributes
    ----------
    names, sizes, target_sizes
        The subsets, their sizes and the sizes asked for.
    measures, random
        The split's measures, and what random splits of the same sizes give on average (see `evosplit.baselines`).
    labels
        One row per label, rarest first.
    settings, notes
        How the split was made, and what went otherwise than asked.
    front
        The trade-offs that were found and which was chosen; None for a split that was made elsewhere.
    stratified
        The measures of iterative stratification over labels ("is") and label pairs ("sois"), where they do not take
        too long: up to 2 million labels of samples; for pairs, up to 10,000 labels and 1 million label pairs in the
        distinct label sets.
    pairs
        The label pairs that are furthest from their shares, at most 200.
    n_pairs, n_pairs_exact
        How many label pairs occur, and how many are as close to their shares as whole samples allow.
    unlabelled
        How many samples of each subset carry no label.
    effects
        What groups, locks, strata and minima did; None without any.
    best_ed
        The smallest size error that groups and locks allow.
    random_spread, random_draws
        How far one random split is from the average, as a standard deviation, and how many were drawn to tell.
    flz_bound
        A lower bound of FLZ at these sizes: `measures.flz_bound`, or more where that could be proved.

    Examples
    --------
    >>> import evosplit
    >>> counts = evosplit.LabelCounts.from_lists([["cat"], ["cat", "dog"], ["cat", "dog"], ["cat"]])
    >>> report = evosplit.split(counts, {"train": 2, "test": 2}).report()
    >>> print(report.summary[0])
    4 samples in 2 subsets of exactly the sizes asked for.
    >>> report.labels[0].label, report.labels[0].samples
    ('dog', (1, 1))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    target_sizes: tuple[int, ...]
    measures: Measures
    random: Mapping[str, float]
    labels: tuple[LabelRow, ...]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    front: FrontPoints | None
    stratified: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pairs: tuple[PairRow, ...] = ()
    n_pairs: int = 0
    n_pairs_exact: int = 0
    unlabelled: tuple[int, ...] = ()
    effects: ConstraintEffects | None = None
    best_ed: float = 0.0
    random_spread: Mapping[str, float] = field(default_factory=dict)
    random_draws: int = 0
    flz_bound: int = 0

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {size}" for name, size in zip(self.names, self.sizes, strict=True))
        return f"SplitReport({sizes}; {len(self.labels)} labels)"

    @property
    def summary(self) -> tuple[str, ...]:
        """What matters, in plain sentences."""
        lines = [self._sizes_in_words(), *self._totals_in_words(), *self._labels_in_words()]
        lines += self._comparison_in_words()
        if self.effects is not None:
            lines += self.effects.in_words()
        return (*lines, *self.notes)

    def _sizes_in_words(self) -> str:
        subsets = f"{sum(self.sizes):,} samples in {len(self.names)} subsets"
        if self.sizes == self.target_sizes:
            return f"{subsets} of exactly the sizes asked for."
        least = ", the least that groups and locks allow" if self.measures.ed <= self.best_ed else ""
        return f"{subsets}, whose sizes are off by {number(self.measures.ed)} on average{least}."

    def _totals_in_words(self) -> list[str]:
        table = total_shares(self)
        words = {"all instances": "instances of all labels together", "no label": "samples without a label"}
        parts = [
            f"{words[name]} are within {100 * off:.1f} % of their share"
            for name, total, off in zip(table.names, table.totals, table.deviation, strict=True)
            if total >= COMMON * len(self.names)
        ]
        return [f"{part[0].upper()}{part[1:]}." for part in parts]

    def _labels_in_words(self) -> list[str]:
        occurring = [row for row in self.labels if row.total]
        if not occurring:
            return []
        k = len(self.names)
        lines = []
        common = [row for row in occurring if row.total >= COMMON * k]
        if common:
            which = "Every label"
            if len(common) < len(occurring):
                which += f" with at least {COMMON * k} samples"
            worst = max(common, key=lambda row: row.deviation)
            lines.append(f"{which} is within {100 * worst.deviation:.1f} % of its share (furthest: {worst.label}).")
        exact = sum(1 for row in occurring if not row.misplaced)
        which = f"all {exact:,}" if exact == len(occurring) else f"{exact:,} of {len(occurring):,}"
        lines.append(f"Labels as close to their shares as whole samples allow, each on its own: {which}.")
        rare = [row.label for row in occurring if row.total < k]
        if rare:
            lines.append(
                f"{_count(len(rare), 'label has', 'labels have')} fewer than {k} samples, "
                f"too few for every subset: {listed(rare, _NAMED)}."
            )
        empty = sum(len(row.missing) for row in occurring)
        nowhere = self.measures.flz - empty  # combinations of labels that no sample carries
        if not empty:
            lines.append("Every label is in every subset.")
        elif self.measures.flz <= self.flz_bound:
            lines.append(
                f"{_count(empty, 'time a label is', 'times a label is')} missing in a subset; no split of these sizes "
                f"has fewer{self._considered}."
            )
        else:
            lines.append(
                f"{_count(empty, 'time a label is', 'times a label is')} missing in a subset; no split of these sizes "
                f"has fewer than {self.flz_bound - nowhere:,}{self._considered}."
            )
        absent = [row.label for row in self.labels if not row.total]
        if absent:
            lines.append(f"{_count(len(absent), 'label occurs', 'labels occur')} nowhere: {listed(absent, _NAMED)}.")
        return lines

    @property
    def _considered(self) -> str:
        return ", groups and locks considered" if self.effects is not None and self.effects.binding else ""

    def _comparison_in_words(self) -> list[str]:
        parts = []
        spreads = []
        for what, measure in (("labels", "ld"), ("label pairs", "lpd")):
            value, random = getattr(self.measures, measure), self.random[measure]
            spread = self.random_spread.get(measure, 0.0)
            if random > 0 and spread > 0:
                spreads.append(f"{100 * spread / random:.0f} % in {what}")
            if random > 0 and value > 0:
                times = random / value
                how = f"{_factor(times)} times closer to" if times >= 1 else f"{_factor(1 / times)} times further from"
                parts.append(f"{what} are {how} their shares")
            elif random > 0:
                parts.append(f"{what} have exactly their shares")
        if not parts:
            return []
        around = f" (single ones scatter by {' and '.join(spreads)})" if spreads else ""
        return [f"Compared with the average random split{around}, {' and '.join(parts)}."]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as JSON-able data."""
        m = self.measures

        def by_subset(values: Iterable[Any]) -> dict[str, Any]:
            return dict(zip(self.names, values, strict=True))

        return {
            "names": list(self.names),
            "sizes": by_subset(self.sizes),
            "target_sizes": by_subset(self.target_sizes),
            "summary": list(self.summary),
            "measures": m.to_dict(),
            "random": dict(self.random),
            "random_spread": dict(self.random_spread),
            "random_draws": self.random_draws,
            "stratified": {method: dict(found) for method, found in self.stratified.items()},
            "bound": {"ld": m.ld_bound, "lpd": m.lpd_bound, "flz": self.flz_bound, "ed": self.best_ed},
            "labels": [
                {
                    "label": row.label,
                    "samples": by_subset(row.samples),
                    "instances": by_subset(row.instances),
                    "total_samples": row.total,
                    "total_instances": sum(row.instances),
                    "share": by_subset(count / max(row.total, 1) for count in row.samples),
                    "deviation": row.deviation,
                    "instance_deviation": row.instance_deviation,
                    "random_deviation": row.random_deviation,
                    "misplaced": row.misplaced,
                    "missing": list(row.missing),
                }
                for row in self.labels
            ],
            "pairs": {
                "total": self.n_pairs,
                "exact": self.n_pairs_exact,
                "worst": [
                    {
                        "labels": list(row.labels),
                        "samples": by_subset(row.samples),
                        "total_samples": row.total,
                        "deviation": row.deviation,
                        "misplaced": row.misplaced,
                    }
                    for row in self.pairs
                ],
            },
            "instances": by_subset(self.instances),
            "unlabelled": by_subset(self.unlabelled),
            "front": None if self.front is None else self.front.to_dict(),
            "constraints": None if self.effects is None else self.effects.to_dict(),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    def comparison(self) -> list[MeasureRow]:
        """List the measures that a reader compares."""
        rows: list[tuple[str, str, str, float | None]] = [
            ("ld", "LD", "samples with a label", self.measures.ld_bound),
            ("ld_occurrences", "LD'", "instances of a label", None),
            ("lpd", "LPD", "samples with a pair", self.measures.lpd_bound),
            ("lpd_occurrences", "LPD'", "share of all pairs", None),
            ("ed", "ED", "size error", self.best_ed),
            ("flz", "FLZ", "missing labels", self.flz_bound),
        ]
        values = asdict(self.measures)
        by_pairs, by_labels = self.stratified.get("sois", {}), self.stratified.get("is", {})
        return [
            MeasureRow(
                name=name,
                meaning=meaning,
                value=values[key],
                by_pairs=by_pairs.get(key),
                by_labels=by_labels.get(key),
                random=self.random[key],
                random_spread=self.random_spread.get(key, 0.0),
                bound=bound,
            )
            for key, name, meaning, bound in rows
        ]

    def measure_rows(self) -> list[tuple[str, str, float, float, float | None]]:
        """List the measures in brief: (name, meaning, this split, random, bound or None)."""
        return [(row.name, row.meaning, row.value, row.random, row.bound) for row in self.comparison()]

    @property
    def instances(self) -> tuple[int, ...]:
        """How often labels occur in each subset."""
        return tuple(sum(row.instances[j] for row in self.labels) for j in range(len(self.names)))

    @property
    def n_unlabelled(self) -> int:
        """How many samples carry no label."""
        return sum(self.unlabelled)

    def subset_rows(self) -> list[SubsetRow]:
        """List the subsets with what they hold."""
        sizes, instances = max(sum(self.sizes), 1), max(sum(self.instances), 1)
        return [
            SubsetRow(name, size, target, held, bare, size / sizes, held / instances, bare / max(self.n_unlabelled, 1))
            for name, size, target, held, bare in zip(
                self.names, self.sizes, self.target_sizes, self.instances, self.unlabelled, strict=True
            )
        ]

    def worst_labels(self, limit: int = _WORST_SHOWN) -> list[LabelRow]:
        """List the labels that are furthest from their shares; those as close as whole samples allow come last."""
        occurring = (row for row in self.labels if row.total)
        return sorted(occurring, key=lambda row: (row.misplaced == 0, -row.deviation))[:limit]

    def missing_labels(self) -> list[LabelRow]:
        """List the labels that some subset lacks, most frequent first."""
        return sorted((row for row in self.labels if row.missing and row.total), key=lambda row: -row.total)

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one self-contained HTML page; the file appears whole or not at all."""
        from evosplit.html import report_page

        try:
            write_atomically(Path(path), report_page(self))
        except OSError as error:
            raise EvoSplitError(f"cannot write the report {os.fspath(path)!r}: {error.strerror}") from error

    def plot_labels(self, *, by: str = "samples", limit: int | None = 40) -> Figure:
        """Draw the shares of the labels in the subsets as a plotly figure, the rarest on top, the totals below.

        Parameters
        ----------
        by
            "samples" (samples with a label) or "instances" (how often it occurs in them).
        limit
            How many labels at most; None for all.
        """
        return _figure(plots.label_figure(label_shares(self, by=by, limit=limit), total_shares(self)))

    def plot_pairs(self, *, limit: int | None = 20) -> Figure:
        """Draw how far the worst label pairs are from their shares in each subset, as a plotly figure."""
        return _figure(plots.pair_figure(pair_shares(self, limit=limit)))

    def plot_front(self) -> Figure:
        """Draw the trade-offs that were found as a plotly figure, the chosen one as a star.

        The first two objectives are the axes, the third is the colour, the fourth the size of a point.
        """
        if self.front is None:
            raise EvoSplitError("this split has no trade-offs to plot: it was replayed, or made elsewhere")
        return _figure(plots.front_figure(self.front))

    def __str__(self) -> str:
        lines = [line for sentence in self.summary for line in wrap(clean(sentence), _LINE)]
        for table in (self._size_lines(), self._measure_lines(), self._worst_lines(), self._missing_lines()):
            lines += ["", *table] if table else []
        return "\n".join(lines)

    def _size_lines(self) -> list[str]:
        bare = self.n_unlabelled > 0
        width = min(max(12, *(len(name) for name in self.names)), _LINE - (66 if bare else 47))
        head = f"{pad('subset', width)} {'size':>9} {'asked for':>9} {'share':>7} {'instances':>10} {'share':>7}"
        lines = [head + (f" {'no label':>9} {'share':>7}" if bare else "")]
        for row in self.subset_rows():
            cells = f"{row.size:>9} {row.target:>9} {100 * row.share:>6.2f}%"
            cells += f" {row.instances:>10} {100 * row.instance_share:>6.2f}%"
            cells += f" {row.unlabelled:>9} {100 * row.unlabelled_share:>6.2f}%" if bare else ""
            lines.append(f"{pad(clip(row.name, width), width)} {cells}")
        return lines

    def _measure_lines(self) -> list[str]:
        rows = self.comparison()
        head = ["this split", "pairs", "labels", "random", "bound"]
        columns = [[row.value, row.by_pairs, row.by_labels, row.random, row.bound] for row in rows]
        shown = [j for j in range(len(head)) if any(values[j] is not None for values in columns)]
        lines = [f"{'':<39}{'stratified by':>20}"] if self.stratified else []
        lines.append(f"{'measure':<29}" + "".join(f"{head[j]:>10}" for j in shown))
        for row, values in zip(rows, columns, strict=True):
            cells = "".join(f"{_number(values[j]):>10}" for j in shown)
            lines.append(f"{row.name + ', ' + row.meaning:<29}{cells}".rstrip())
        return lines

    def _worst_lines(self) -> list[str]:
        rows = [(row.label, row) for row in self.worst_labels()]
        pairs = [(" + ".join(row.labels), row) for row in self.pairs[:_PAIRS_SHOWN]]
        lines: list[str] = []
        both: tuple[tuple[str, list[Any]], ...] = (("labels", rows), ("label pairs", pairs))
        for what, entries in both:
            if entries:
                lines += [""] if lines else []
                lines.append(f"{what + ' furthest from their share':<42} {'samples':>9} {'off by':>9} {'to move':>9}")
                lines += [
                    f"{pad(clip(name, 42), 42)} {row.total:>9} {100 * row.deviation:>8.1f}% {row.misplaced:>9}"
                    for name, row in entries
                ]
        return lines

    def _missing_lines(self) -> list[str]:
        missing = self.missing_labels()
        if not missing:
            return []
        lines = [f"{'missing somewhere':<32} {'samples':>11} missing in"]
        for row in missing[:_MISSING_SHOWN]:
            lines.append(f"{pad(clip(row.label, 32), 32)} {row.total:>11} {clip(', '.join(row.missing), 34)}")
        if len(missing) > _MISSING_SHOWN:
            lines.append(f"... and {len(missing) - _MISSING_SHOWN} more")
        return lines


def build_report(split: Split) -> SplitReport:
    """Compute the report of a split that still carries its label counts."""
    if split.counts is None:
        raise EvoSplitError(
            "this split was read from a manifest and carries no label counts; make the report where the data is"
        )
    counts, constraints, tables = split.counts, split.constraints, split.tables
    baselines = baselines_of(split, counts)
    least = 1 if constraints is None else constraints.min_per_label
    labels_misplaced = misplaced(tables.samples, tables.sizes, least=least)
    pairs_misplaced = misplaced(tables.pairs, tables.sizes)
    return SplitReport(
        names=split.names,
        sizes=split.sizes,
        target_sizes=split.target_sizes,
        measures=split.measures,
        random=baselines.random,
        random_spread=baselines.random_spread,
        random_draws=baselines.draws,
        labels=_label_rows(split.names, counts.labels, tables, labels_misplaced, baselines.random_deviation),
        settings=split.settings,
        notes=split.notes,
        front=None if split.front is None else front_points(split.front, split.chosen),
        stratified=baselines.stratified,
        pairs=_pair_rows(counts.labels, tables, pairs_misplaced),
        n_pairs=len(tables.pairs),
        n_pairs_exact=int((pairs_misplaced == 0).sum()),
        unlabelled=_unlabelled(split, counts),
        effects=None if constraints is None else effects_of(split, counts, constraints, tables.samples),
        best_ed=split.best_ed,
        flz_bound=_flz_bound(split, counts),
    )


def _unlabelled(split: Split, counts: LabelCounts) -> tuple[int, ...]:
    bare = np.diff(counts.matrix.indptr) == 0
    return tuple(np.bincount(split.assignment[bare], minlength=len(split.names)).tolist())


def _flz_bound(split: Split, counts: LabelCounts) -> int:
    """Bound FLZ from below; whether labels stand in each other's way is asked only where that is in question."""
    measures = split.measures
    if measures.flz == measures.flz_bound:
        return measures.flz_bound
    return min(fewest_empty(counts, split.sizes, split.constraints), measures.flz)


def _label_rows(
    names: tuple[str, ...],
    labels: tuple[str, ...],
    tables: SubsetTables,
    labels_misplaced: npt.NDArray[np.int64],
    random: npt.NDArray[np.float64],
) -> tuple[LabelRow, ...]:
    samples, instances = tables.samples.tolist(), tables.instances.tolist()
    deviation = deviations(tables.samples, tables.sizes).tolist()
    instance_deviation = deviations(tables.instances, tables.sizes).tolist()
    return tuple(
        LabelRow(
            label=labels[i],
            samples=tuple(samples[i]),
            instances=tuple(instances[i]),
            deviation=deviation[i],
            missing=tuple(name for name, count in zip(names, samples[i], strict=True) if not count),
            instance_deviation=instance_deviation[i],
            misplaced=int(labels_misplaced[i]),
            random_deviation=float(random[i]),
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


def _figure(drawing: dict[str, Any]) -> Figure:
    try:
        from plotly.graph_objects import Figure
    except ImportError as error:
        raise MissingExtraError("plots need plotly", "report") from error
    return Figure(drawing)


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _factor(times: float) -> str:
    return f"{times:.1f}" if times < 10 else f"{times:,.0f}"


def _number(value: float | None) -> str:
    return "" if value is None else number(value)

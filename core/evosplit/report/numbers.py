"""`SplitReport`: how good a split is, as numbers; tables, sentences, text, plots and pages are made from these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evosplit.coverage import CoverCost
from evosplit.errors import EvoSplitError
from evosplit.files import write_atomically
from evosplit.front import ParetoFront
from evosplit.measures import Measures
from evosplit.report.baselines import Baselines
from evosplit.report.effects import ConstraintEffects, strata_deviation
from evosplit.report.plotly import as_figure, front_figure, label_figure, pair_figure
from evosplit.report.sentences import summary_of
from evosplit.report.shares import Part, ShareTable
from evosplit.report.text import as_text
from evosplit.wording import Nouns

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["LabelRow", "MeasureRow", "PairRow", "SplitReport", "SubsetRow"]


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
        relative to its share of all samples: 0.02 means within 2 % in every subset.
    instance_deviation
        The same for the label's occurrences.
    random_deviation
        The `deviation` of random splits, on average.
    misplaced
        How many samples would have to move until the label, on its own, is as close to its shares as whole samples
        allow, with or without one sample (or `min_per_label`) in every subset, whichever is nearer.
    missing
        The subsets without any sample of it.
    """

    label: str
    samples: tuple[int, ...]
    instances: tuple[int, ...]
    deviation: float
    instance_deviation: float
    random_deviation: float
    misplaced: int
    missing: tuple[str, ...]

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
    """One subset in the report: its name, how many samples were asked for, and what it holds.

    Attributes
    ----------
    name, target
        Its name and the number of samples asked for.
    samples, instances, unlabelled
        What it holds of all samples, of all occurrences of labels, and of the samples without a label.
    """

    name: str
    target: int
    samples: Part
    instances: Part
    unlabelled: Part


@dataclass(frozen=True)
class MeasureRow:
    """One measure of the split beside that of others; smaller is better.

    Attributes
    ----------
    key, name, meaning
        What `Measures` calls it (or "strata"), the symbol of the literature, and what it measures.
    value
        Of this split.
    by_pairs, by_labels
        Of iterative stratification over label pairs and over labels; None where it would take too long.
    random, random_spread
        Of random splits, on average; and how far one alone is from that, as a standard deviation.
    bound
        No split is below it, and none need reach it; None where no bound is known.
    """

    key: str
    name: str
    meaning: str
    value: float
    by_pairs: float | None
    by_labels: float | None
    random: float
    random_spread: float
    bound: float | None

    @property
    def times_random(self) -> float:
        """The value divided by that of random splits; 0 where both are 0."""
        if self.random > 0:
            return self.value / self.random
        return float("inf") if self.value > 0 else 0.0

    @property
    def relative_spread(self) -> float:
        """The spread divided by the average of random splits; 0 where all are the same."""
        return self.random_spread / self.random if self.random_spread > 1e-12 else 0.0


@dataclass(frozen=True, repr=False)
class SplitReport:
    """The report of a split: its measures beside those of other methods and lower bounds, labels, pairs and subsets.

    Attributes
    ----------
    subsets
        One row per subset.
    labels
        One row per label, rarest first.
    pairs
        The label pairs that are furthest from their shares, at most 200.
    n_pairs, n_pairs_exact
        How many label pairs occur, and how many are as close to their shares as whole samples allow.
    measures, baselines
        The split's measures (the bound of FLZ raised to what can be proved), and those of random splits and of
        iterative stratification at the same sizes.
    best_ed
        A lower bound of ED, with the groups and locks that there are.
    front, chosen
        The trade-offs that were found and which of them this is; None for a split that was made elsewhere.
    cover
        What it costs that every label is in every subset; None where that was not asked for.
    least
        How many samples of each label every subset was to get, lowered to what the smallest one can hold.
    effects
        What groups, locks, strata and minima did; None without any.
    settings, notes
        How the split was made, and how it differs from what was asked for.
    nouns
        What samples and labels are called.

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

    subsets: tuple[SubsetRow, ...]
    labels: tuple[LabelRow, ...]
    pairs: tuple[PairRow, ...]
    n_pairs: int
    n_pairs_exact: int
    measures: Measures
    baselines: Baselines
    best_ed: float
    front: ParetoFront | None
    chosen: int
    cover: CoverCost | None
    least: int
    effects: ConstraintEffects | None
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    nouns: Nouns = field(default_factory=Nouns)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{row.name}: {row.samples.count}" for row in self.subsets)
        return f"SplitReport({sizes}; {len(self.labels)} labels)"

    @property
    def names(self) -> tuple[str, ...]:
        """The subsets."""
        return tuple(row.name for row in self.subsets)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many samples each subset holds."""
        return tuple(row.samples.count for row in self.subsets)

    @property
    def target_sizes(self) -> tuple[int, ...]:
        """How many samples were asked for in each subset."""
        return tuple(row.target for row in self.subsets)

    @property
    def n_unlabelled(self) -> int:
        """How many samples carry no label."""
        return sum(row.unlabelled.count for row in self.subsets)

    @cached_property
    def occurring(self) -> tuple[LabelRow, ...]:
        """The labels that some sample carries, rarest first."""
        return tuple(row for row in self.labels if row.total)

    @property
    def n_missing(self) -> int:
        """How often a label that occurs is missing in a subset."""
        return sum(len(row.missing) for row in self.occurring)

    @property
    def missing_bound(self) -> int:
        """A lower bound of `n_missing` at these sizes; unlike `measures.flz_bound` without labels that never occur."""
        return self.measures.flz_bound - (self.measures.flz - self.n_missing)

    @property
    def has_repeats(self) -> bool:
        """Whether a label occurs more than once in a sample."""
        return any(row.instances != row.samples for row in self.labels)

    @cached_property
    def values(self) -> dict[str, float]:
        """All measures of the split by name; where there are strata, how uneven they are as well ("strata")."""
        strata = [] if self.effects is None else [table for _, table in self.effects.strata]
        return self.measures.to_dict() | ({"strata": strata_deviation(strata)} if strata else {})

    @cached_property
    def measure_rows(self) -> tuple[MeasureRow, ...]:
        """The measures that a reader compares."""
        nouns, values = self.nouns, self.values
        described: list[tuple[str, str, str, float | None]] = [
            ("ld", "LD", f"{nouns.samples} per {nouns.label}", self.measures.ld_bound),
            ("ld_occurrences", "LD'", f"instances per {nouns.label}", None),
            ("lpd", "LPD", f"{nouns.samples} per pair", self.measures.lpd_bound),
            ("lpd_occurrences", "LPD'", "share of all pairs", None),
            ("ed", "ED", "size error", self.best_ed),
            ("flz", "FLZ", f"missing {nouns.labels}", self.measures.flz_bound),
            ("strata", "strata", "all categories", None),
        ]
        by_pairs, by_labels = (self.baselines.stratified.get(method, {}) for method in ("sois", "is"))
        random, spread = self.baselines.random, self.baselines.random_spread
        return tuple(
            MeasureRow(
                key, name, meaning, values[key], by_pairs.get(key), by_labels.get(key), random[key], spread[key], bound
            )
            for key, name, meaning, bound in described
            if key in values
        )

    def worst_labels(self, limit: int) -> list[LabelRow]:
        """List the labels that are furthest from their shares; those as close as whole samples allow come last."""
        return sorted(self.occurring, key=lambda row: (row.misplaced == 0, -row.deviation))[:limit]

    def missing_labels(self) -> list[LabelRow]:
        """List the labels that some subset lacks, most frequent first."""
        return sorted((row for row in self.occurring if row.missing), key=lambda row: -row.total)

    def shares(self, rows: Iterable[LabelRow | PairRow], *, by: str = "samples") -> ShareTable:
        """Count labels or pairs in the subsets, by "samples" or, labels only, by "instances"."""
        if by not in ("samples", "instances"):
            raise EvoSplitError(f"by={by!r} is not known; choose 'samples' or 'instances'")
        rows = tuple(rows)
        counts = np.array([getattr(row, by) for row in rows], dtype=np.int64).reshape(len(rows), len(self.subsets))
        names = tuple(row.label if isinstance(row, LabelRow) else " + ".join(row.labels) for row in rows)
        return ShareTable(names, self.names, np.array(self.sizes, dtype=np.int64), counts)

    @cached_property
    def summary(self) -> tuple[str, ...]:
        """What matters, in plain sentences; the notes come last."""
        return (*summary_of(self), *self.notes)

    def __str__(self) -> str:
        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as JSON-able data."""
        front = self.front

        def by_subset(values: Iterable[Any]) -> dict[str, Any]:
            return dict(zip(self.names, values, strict=True))

        return {
            "names": list(self.names),
            "sizes": by_subset(self.sizes),
            "target_sizes": by_subset(self.target_sizes),
            "instances": by_subset(row.instances.count for row in self.subsets),
            "unlabelled": by_subset(row.unlabelled.count for row in self.subsets),
            "summary": list(self.summary),
            "measures": self.values,
            "random": dict(self.baselines.random),
            "random_spread": dict(self.baselines.random_spread),
            "random_draws": self.baselines.draws,
            "stratified": {method: dict(found) for method, found in self.baselines.stratified.items()},
            "bound": {
                "ld": self.measures.ld_bound,
                "lpd": self.measures.lpd_bound,
                "flz": self.measures.flz_bound,
                "ed": self.best_ed,
            },
            "labels": [
                {
                    **asdict(row),
                    "samples": by_subset(row.samples),
                    "instances": by_subset(row.instances),
                    "total_samples": row.total,
                    "missing": list(row.missing),
                }
                for row in self.labels
            ],
            "pairs": {
                "total": self.n_pairs,
                "exact": self.n_pairs_exact,
                "worst": [
                    {
                        **asdict(row),
                        "labels": list(row.labels),
                        "samples": by_subset(row.samples),
                        "total_samples": row.total,
                    }
                    for row in self.pairs
                ],
            },
            "front": None
            if front is None
            else {
                "objective_names": list(front.objective_names),
                "objectives": front.objectives.tolist(),
                "chosen": self.chosen,
            },
            "cover": self.cover and asdict(self.cover),
            "constraints": self.effects and self.effects.to_dict(self.names),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one self-contained HTML page; the file appears whole or not at all."""
        from evosplit.report.html import report_page

        try:
            write_atomically(Path(path), report_page(self))
        except OSError as error:
            raise EvoSplitError(f"cannot write the report {os.fspath(path)!r}: {error.strerror}") from error

    def plot_labels(self, *, by: str = "samples", limit: int | None = 40) -> Figure:
        """Draw how far each label is from its share in each subset as a plotly figure, the rarest on top.

        Grey bars show how far off random splits are, on average; they count samples.

        Parameters
        ----------
        by
            "samples" (samples with a label) or "instances" (how often it occurs in them).
        limit
            How many labels at most; None for all.
        """
        return as_figure(label_figure(self, by=by, limit=limit))

    def plot_pairs(self, *, limit: int | None = 20) -> Figure:
        """Draw how far the worst label pairs are from their shares in each subset, as a plotly figure."""
        return as_figure(pair_figure(self, limit=limit))

    def plot_front(self) -> Figure:
        """Draw the trade-offs that were found as a plotly figure, the chosen one as a star.

        The first two objectives are the axes, the third is the colour, the fourth the size of a point.
        """
        if self.front is None:
            raise EvoSplitError("this split has no trade-offs to plot: it was replayed, or made elsewhere")
        return as_figure(front_figure(self.front, self.chosen))

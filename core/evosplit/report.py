"""`SplitReport`: how good a split is, as numbers first; text, JSON and HTML come from the same numbers."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evosplit.counts import LabelCounts
from evosplit.errors import EvoSplitError
from evosplit.measures import Measures, SubsetTables, measures_of, subset_tables
from evosplit.result import Split, write_atomically

__all__ = ["LabelRow", "SplitReport", "build_report"]

_LINE = 80  # columns of the plain text
_RANDOM_SPLITS = 3
_WORST_SHOWN = 8
_MISSING_SHOWN = 8


@dataclass(frozen=True)
class LabelRow:
    """One label in the report.

    Attributes
    ----------
    label
        Its name.
    images, instances
        Samples with the label, occurrences of it, in each subset.
    deviation
        The largest difference between a subset's share of the label's samples and its share of all samples,
        relative to the latter: 0.02 means within 2 % everywhere.
    missing
        The subsets without any sample of it.
    """

    label: str
    images: tuple[int, ...]
    instances: tuple[int, ...]
    deviation: float
    missing: tuple[str, ...]


@dataclass(frozen=True)
class SplitReport:
    """A split in numbers, beside what random splits give and what is possible.

    Attributes
    ----------
    names, sizes, target_sizes
        The subsets, their sizes and the sizes asked for.
    measures, random
        The split's measures, and the mean of those of a few random splits of the same sizes.
    labels
        One row per label, rarest first.
    settings, notes
        How the split was made, and what went otherwise than asked.
    front
        Objective names and values of the trade-offs, and the index of the chosen one; None without a front.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    target_sizes: tuple[int, ...]
    measures: Measures
    random: Mapping[str, float]
    labels: tuple[LabelRow, ...]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    front: Mapping[str, Any] | None

    @property
    def summary(self) -> tuple[str, ...]:
        """What matters, in plain sentences."""
        lines = []
        exact = self.sizes == self.target_sizes
        sizes = "exactly the sizes asked for" if exact else f"sizes off by {self.measures.ed:g} on average"
        lines.append(f"{len(self.names)} subsets, {sizes}.")
        occurring = [row for row in self.labels if sum(row.images)]
        k = len(self.names)
        common = [row for row in occurring if sum(row.images) >= 10 * k]
        if common:
            worst = max(common, key=lambda row: row.deviation)
            lines.append(
                f"Every class with at least {10 * k} images is within {100 * worst.deviation:.1f} % "
                f"of its share (worst: {worst.label})."
            )
        rare = [row for row in occurring if sum(row.images) < k]
        if rare:
            lines.append(
                f"{_count(len(rare), 'class has', 'classes have')} fewer images than there are subsets, "
                "so some subset must lack them."
            )
        avoidable = self.measures.flz - self.measures.flz_floor
        if avoidable == 0:
            lines.append("Every subset has every class that it can have.")
        else:
            lines.append(
                f"{_count(avoidable, 'class-subset combination is', 'class-subset combinations are')} "
                "empty that could be filled."
            )
        return (*lines, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as JSON-able data."""
        m = self.measures
        return {
            "names": list(self.names),
            "sizes": dict(zip(self.names, self.sizes, strict=True)),
            "target_sizes": dict(zip(self.names, self.target_sizes, strict=True)),
            "summary": list(self.summary),
            "measures": m.to_dict(),
            "random": dict(self.random),
            "floor": {"ld": m.ld_floor, "lpd": m.lpd_floor, "flz": m.flz_floor},
            "labels": [
                {
                    "label": row.label,
                    "images": dict(zip(self.names, row.images, strict=True)),
                    "instances": dict(zip(self.names, row.instances, strict=True)),
                    "total_images": sum(row.images),
                    "total_instances": sum(row.instances),
                    "share": {
                        name: count / max(sum(row.images), 1)
                        for name, count in zip(self.names, row.images, strict=True)
                    },
                    "deviation": row.deviation,
                    "missing": list(row.missing),
                }
                for row in self.labels
            ],
            "front": None if self.front is None else dict(self.front),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    def measure_rows(self) -> list[tuple[str, str, float, float, float | None]]:
        """List what a reader compares: (name, meaning, this split, random, floor or None)."""
        m = self.measures
        return [
            ("LD", "images with a label", m.ld, self.random["ld"], m.ld_floor),
            ("LD'", "instances of a label", m.ld_occurrences, self.random["ld_occurrences"], None),
            ("LPD", "images with a label pair", m.lpd, self.random["lpd"], m.lpd_floor),
            ("ED", "size error", m.ed, self.random["ed"], 0.0),
            ("FLZ", "empty class-subset cells", m.flz, self.random["flz"], m.flz_floor),
        ]

    def worst_labels(self, limit: int = _WORST_SHOWN) -> list[LabelRow]:
        """List the labels whose shares are furthest from the subsets' shares, worst first."""
        return sorted((row for row in self.labels if sum(row.images)), key=lambda row: -row.deviation)[:limit]

    def missing_labels(self) -> list[LabelRow]:
        """List the labels that some subset lacks, most frequent first."""
        return sorted((row for row in self.labels if row.missing and sum(row.images)), key=lambda row: -sum(row.images))

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one self-contained HTML page; the file appears whole or not at all."""
        from evosplit.html import report_page

        write_atomically(Path(path), report_page(self))

    def __str__(self) -> str:
        lines = [line for sentence in self.summary for line in textwrap.wrap(sentence, _LINE)]
        lines.append("")
        width = min(max(12, *(len(name) for name in self.names)), _LINE - 31)
        lines.append(f"{'subset':<{width}} {'size':>10} {'asked for':>10} {'share':>8}")
        total = sum(self.sizes)
        for name, size, target in zip(self.names, self.sizes, self.target_sizes, strict=True):
            lines.append(f"{_clip(name, width):<{width}} {size:>10} {target:>10} {100 * size / total:>7.2f}%")
        lines += ["", f"{'measure':<32} {'this split':>11} {'random':>11} {'floor':>11} {'gain':>7}"]
        for name, meaning, value, random, floor in self.measure_rows():
            bound = "" if floor is None else _number(floor)
            gain = f"{random / value:.1f} x" if value and random else ""
            lines.append(
                f"{name + ', ' + meaning:<32} {_number(value):>11} {_number(random):>11} {bound:>11} {gain:>7}"
            )
        worst = self.worst_labels()
        if worst:
            lines += ["", f"{'furthest from their share':<32} {'images':>11} {'off by':>11}"]
            lines += [
                f"{_clip(row.label, 32):<32} {sum(row.images):>11} {100 * row.deviation:>10.1f}%" for row in worst
            ]
        missing = self.missing_labels()
        if missing:
            lines += ["", f"{'missing somewhere':<32} {'images':>11} missing in"]
            for row in missing[:_MISSING_SHOWN]:
                lines.append(f"{_clip(row.label, 32):<32} {sum(row.images):>11} {_clip(', '.join(row.missing), 34)}")
            if len(missing) > _MISSING_SHOWN:
                lines.append(f"... and {len(missing) - _MISSING_SHOWN} more")
        return "\n".join(lines)


def build_report(split: Split) -> SplitReport:
    """Compute the report of a split that still carries its label counts."""
    if split.counts is None:
        raise EvoSplitError(
            "this split was read from a manifest and carries no label counts; make the report where the data is"
        )
    counts, k = split.counts, len(split.names)
    tables = subset_tables(counts, split.assignment, k)
    totals = tables.images.sum(axis=1)
    share = tables.sizes / tables.sizes.sum()
    deviation = np.abs(tables.images / np.maximum(totals, 1)[:, None] - share) / np.maximum(share, 1e-12)
    rows = [
        LabelRow(
            label=counts.labels[i],
            images=tuple(int(n) for n in tables.images[i]),
            instances=tuple(int(n) for n in tables.instances[i]),
            deviation=float(deviation[i].max()) if totals[i] else 0.0,
            missing=tuple(split.names[j] for j in np.flatnonzero(tables.images[i] == 0)),
        )
        for i in np.argsort(totals, kind="stable")
    ]
    front = split.front
    return SplitReport(
        names=split.names,
        sizes=split.sizes,
        target_sizes=split.target_sizes,
        measures=split.measures,
        random=random_measures(counts, tables),
        labels=tuple(rows),
        settings=split.settings,
        notes=split.notes,
        front=None
        if front is None
        else {
            "objective_names": list(front.objective_names),
            "objectives": front.objectives.tolist(),
            "reference": front.reference.tolist(),
            "chosen": split.chosen,
        },
    )


def random_measures(counts: LabelCounts, tables: SubsetTables) -> dict[str, float]:
    """Average the measures of a few random splits of the same sizes; the seed is fixed, so reports repeat."""
    rng = np.random.default_rng(0)
    filled = np.repeat(np.arange(len(tables.sizes)), tables.sizes)
    found = []
    for _ in range(_RANDOM_SPLITS):
        shuffled = rng.permutation(filled)
        found.append(measures_of(subset_tables(counts, shuffled, len(tables.sizes)), tables.sizes).to_dict())
    return {name: float(np.mean([values[name] for values in found])) for name in found[0]}


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _number(value: float) -> str:
    return f"{value:g}" if float(value).is_integer() else f"{value:.2e}"


def _clip(text: str, width: int) -> str:
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return printable if len(printable) <= width else printable[: width - 3] + "..."

"""Recorded splits as the panel looks at them: loaded once, with the report of each trade-off made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import fiftyone as fo
import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts, Split, SplitReport
from evosplit_plugins.fiftyone_plugin import runs

__all__ = ["is_latest", "load", "part_of", "report_at", "sizes_of", "split_at", "what_is_left"]


def is_latest(dataset: Any, run: runs.SplitRun) -> bool:
    """Whether no split was recorded after this one."""
    return run.key == runs.run_keys(dataset)[-1]


def sizes_of(split: Split) -> str:
    """Write the subsets with their sizes."""
    return ", ".join(f"{name} {size:,}" for name, size in zip(split.names, split.sizes, strict=True))


def what_is_left(split: Split, members: Mapping[str, Any]) -> tuple[Split, int]:
    """Return the part of a split whose samples still exist, and how many do not; the others stay where they were."""
    rows = np.array([row for row, unit in enumerate(split.sample_ids.tolist()) if unit in members], dtype=np.int64)
    n_gone = len(split.sample_ids) - len(rows)
    if not n_gone:
        return split, 0
    if not len(rows):
        raise EvoSplitError("none of the split's samples is left in the dataset; split anew")
    return part_of(split, rows, split.sample_ids[rows]), n_gone


def part_of(split: Split, rows: npt.NDArray[np.int64], ids: npt.NDArray[Any]) -> Split:
    """Return some rows of a split, with ids of their own; trade-offs and constraints were those of all rows."""
    counts = split.counts
    return replace(
        split,
        placement=split.assignment[rows],
        sample_ids=ids,
        target_sizes=tuple(np.bincount(split.assignment[rows], minlength=len(split.names)).tolist()),
        counts=None if counts is None else LabelCounts(counts.matrix[rows], ids=ids, labels=counts.labels),
        file_names=None,
        front=None,
        constraints=None,
        recorded_measures=None,
        best_ed=0.0,
        chosen=0,
    )


def load(dataset: Any, key: str) -> runs.SplitRun:
    """Load a recorded split."""
    made = dataset.get_run_info(key).timestamp
    return _cached_run(str(dataset.name), key, str(made))


@lru_cache(maxsize=8)
def _cached_run(dataset: str, key: str, made: str) -> runs.SplitRun:
    return runs.load_run(fo.load_dataset(dataset), key)


def split_at(run: runs.SplitRun, point: int) -> Split:
    """Return one of the trade-offs of a recorded split."""
    return run.split if run.split.front is None or point == run.split.chosen else run.split.pick(point)


def report_at(dataset: Any, run: runs.SplitRun, point: int) -> SplitReport:
    """Return the report of one of the trade-offs."""
    made = dataset.get_run_info(run.key).timestamp
    return _cached_report(str(dataset.name), run.key, str(made), point)


@lru_cache(maxsize=64)
def _cached_report(dataset: str, key: str, made: str, point: int) -> SplitReport:
    run = _cached_run(dataset, key, made)
    return split_at(run, point).report()

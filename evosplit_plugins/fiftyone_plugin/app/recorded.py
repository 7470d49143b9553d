"""Recorded splits as the panel looks at them: loaded once, each trade-off with its report and its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import fiftyone as fo
import numpy as np
import numpy.typing as npt
from fiftyone import ViewField as F

from evosplit import EvoSplitError, LabelCounts, Split, SplitReport
from evosplit.constraints import Constraints, GroupIndex
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.reading import is_grouped, label_fields, label_paths
from evosplit_plugins.fiftyone_plugin.writing import subset_view

__all__ = ["is_latest", "load", "part_of", "report_at", "samples_with", "split_at", "what_is_left"]


def is_latest(dataset: Any, run: runs.SplitRun) -> bool:
    """Whether no split was recorded after this one."""
    return run.key == runs.run_keys(dataset)[-1]


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
    """Return some rows of a split, with ids of their own; the trade-offs were those of all rows."""
    counts, constraints = split.counts, split.constraints
    return replace(
        split,
        placement=split.assignment[rows],
        sample_ids=ids,
        target_sizes=tuple(np.bincount(split.assignment[rows], minlength=len(split.names)).tolist()),
        counts=None if counts is None else _counts_of(counts, rows, ids),
        file_names=None,
        front=None,
        constraints=None if constraints is None else _constraints_of(constraints, rows, ids),
        recorded_measures=None,
        best_ed=0.0,
        chosen=0,
    )


def _constraints_of(constraints: Constraints, rows: npt.NDArray[np.int64], ids: npt.NDArray[Any]) -> Constraints:
    groups = constraints.groups
    if groups is not None:
        codes = groups.code_of_sample[rows].tolist()
        number = {code: at for at, code in enumerate(dict.fromkeys(codes))}  # groups are numbered as they first occur
        groups = GroupIndex(
            tuple(groups.names[code] for code in number), np.array([number[code] for code in codes], dtype=np.int64)
        )
    strata = tuple(replace(each, counts=_counts_of(each.counts, rows, ids)) for each in constraints.strata)
    return replace(constraints, groups=groups, locked=constraints.locked[rows], strata=strata)


def _counts_of(counts: LabelCounts, rows: npt.NDArray[np.int64], ids: npt.NDArray[Any]) -> LabelCounts:
    return LabelCounts(counts.matrix[rows], ids=ids, labels=counts.labels)


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


def samples_with(dataset: Any, run: runs.SplitRun, split: Split, labels: Sequence[str], subset: str | None) -> Any:
    """Return the view of the samples of a subset (None for all of them) that carry all of the labels.

    The split that is in use is found by its tags; groups, masks, texts and splits that are not in use by their ids.
    """
    grouped = is_grouped(dataset)
    in_use = is_latest(dataset, run) and split.chosen == run.split.chosen
    known = label_fields(label_paths(dataset))
    if split.counts is None or (in_use and not grouped and all(field in known for field in run.label_fields)):
        view = dataset if subset is None else subset_view(dataset, subset, run.field)
        for label in labels:
            fields, name = list(run.label_fields), label
            if len(fields) > 1:
                fields = [field for field in fields if label.startswith(f"{field}/")]
                name = label.removeprefix(f"{fields[0]}/")
            view = view.match_labels(filter=F("label") == name, fields=fields)
        return view.view()
    rows = np.arange(len(split.sample_ids)) if subset is None else split.indices(subset)
    for label in labels:
        column = split.counts.matrix[:, [split.counts.labels.index(label)]]
        rows = rows[np.isin(rows, column.nonzero()[0])]
    ids = split.sample_ids[rows].tolist()
    # The App looks at some slices of what is selected; of groups that are selected as such it can show none then.
    return dataset.select_by(f"{dataset.group_field}.id", ids) if grouped else dataset.select(ids)

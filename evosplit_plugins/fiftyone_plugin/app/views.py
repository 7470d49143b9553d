"""The views that a click in the panel opens: the samples of a subset, of a label in it, of two labels together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from fiftyone import ViewField as F

from evosplit import Split
from evosplit_plugins.fiftyone_plugin.app.recorded import is_latest
from evosplit_plugins.fiftyone_plugin.reading import is_grouped, label_fields, label_paths
from evosplit_plugins.fiftyone_plugin.runs import SplitRun
from evosplit_plugins.fiftyone_plugin.writing import subset_view

__all__ = ["samples_with"]


def samples_with(dataset: Any, run: SplitRun, split: Split, labels: Sequence[str], subset: str | None) -> Any:
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
    return dataset.select_groups(ids) if grouped else dataset.select(ids)

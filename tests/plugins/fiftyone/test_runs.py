"""The records of splits: whole in another process, and passed over where one was never ended."""

from __future__ import annotations

import pytest
from fiftyone_samples import pictures

from evosplit import EvoSplitError

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
FAST = {"effort": "fast"}


def test_record_survives_another_process(fiftyone, api, new_dataset):
    """The record holds the whole split: front, counts and measures are as they were."""
    from evosplit_plugins.fiftyone_plugin import runs

    dataset = new_dataset(pictures(fiftyone, 30))
    split = api.evosplit_fiftyone(dataset, RATIOS, **FAST)
    run = runs.load_run(dataset)
    assert run.key in dataset.list_runs()
    assert dataset.get_run_info(run.key).config.method == "evosplit"
    assert run.label_fields == ("gt",)
    again = run.split
    assert (again.front.assignments == split.front.assignments).all()
    assert (again.front.objectives == split.front.objectives).all()
    assert again.chosen == split.chosen
    assert again.report().to_dict() == split.report().to_dict()
    assert (again.counts.matrix != split.counts.matrix).nnz == 0
    with pytest.raises(EvoSplitError, match="'evosplit_9' is no recorded split"):
        runs.load_run(dataset, "evosplit_9")


def test_a_record_that_was_never_ended(fiftyone, api, new_dataset, monkeypatch):
    """Of a process that was killed while it recorded a split: later splits go on, and the record can be forgotten."""
    from evosplit_plugins.fiftyone_plugin import runs

    dataset = new_dataset(pictures(fiftyone, 40))
    monkeypatch.setattr(runs, "_PAUSE", 0.0)
    sizes = {"train": 20, "test": 20}
    dataset.register_run("evosplit_1_abcdef", dataset.init_run(method=runs.METHOD, sizes=sizes, field=None))
    with pytest.raises(EvoSplitError, match=r"'evosplit_1_abcdef' .* is not complete.*dataset\.delete_run"):
        runs.load_run(dataset)
    api.evosplit_fiftyone(dataset, folds=2, **FAST)
    assert len(runs.run_keys(dataset)) == 2
    api.undo_split(dataset)
    dataset.delete_run("evosplit_1_abcdef")
    assert runs.run_keys(dataset) == []

"""What groups, locks, strata and minima did."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from reports import constrained

import evosplit


def test_groups_and_locks_are_reported():
    """The report counts groups and locked samples in each subset, checked on the split itself."""
    groups = [None if i < 10 else f"clip {i // 8}" for i in range(90)]
    report = constrained(groups=groups, locked={"test": [0, 1, 2]}).report()
    effects = report.effects
    assert effects.groups.total == len({group for group in groups if group})
    assert sum(effects.groups.per_subset) == effects.groups.total
    assert (effects.groups.torn, effects.moved, effects.locked) == (0, 0, (0, 3))
    assert effects.groups.largest_size == 8
    assert report.baselines.stratified == {}
    data = json.loads(json.dumps(report.to_dict()))["constraints"]
    assert data["groups"]["per_subset"].keys() == {"train", "test"}
    assert data["locked"] == {"train": 0, "test": 3}


def test_torn_groups_are_counted():
    """A split made elsewhere may tear groups or have locked samples in other subsets."""
    split = constrained(groups=np.arange(90) // 3, locked={"test": [0, 1, 2]})
    assert replace(split, placement=1 - split.assignment).report().effects.moved == 3
    assert replace(split, placement=np.arange(90) % 2).report().effects.groups.torn == 30


def test_strata_and_minima_are_reported():
    """Strata are counted by category, and labels below the minimum are named."""
    split = constrained(strata={"light": ["day", "night", "dusk"] * 30}, min_per_label=4)
    report = split.report()
    ((name, table),) = report.effects.strata
    assert (name, table.names) == ("light", ("day", "dusk", "night"))
    assert table.counts.sum(axis=0).tolist() == [60, 30]
    below = {row.label: min(row.samples) for row in report.occurring if min(row.samples) < 4}
    assert below
    assert report.effects.below_minimum == below


def test_size_errors_that_groups_force():
    """Sizes that groups do not allow are off by the least that is possible."""
    split = evosplit.split(np.ones((12, 1), dtype=int), {"a": 6, "b": 6}, effort="fast", groups=np.arange(12) // 4)
    assert split.report().to_dict()["bound"]["ed"] == 2

"""The numbers of a report as data, and beside those of other splits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from reports import long_tailed, report_on


def test_json_is_complete():
    """The dictionary survives JSON and holds sizes, measures, bounds, labels, front and settings."""
    report = report_on(long_tailed(), seed=np.int64(4))
    data = json.loads(json.dumps(report.to_dict()))
    assert data == report.to_dict()
    assert data["sizes"] == {"train": 320, "val": 40, "test": 40}
    assert data["bound"].keys() == {"ld", "lpd", "flz", "ed"}
    assert data["settings"]["method"] == "sois"
    assert data["front"]["objective_names"] == ["samples", "instances", "pairs"]
    assert data["front"]["objectives"] == report.front.objectives.tolist()
    first = data["labels"][0]
    assert sum(first["samples"].values()) == first["total_samples"]
    assert list(first["instances"].values()) == list(report.labels[0].instances)
    assert first["missing"] == list(report.labels[0].missing)


def test_measures_are_those_of_their_names():
    """Each row of the measures is the split's, with what random splits and their spread are; strata come last."""
    strata = {"light": ["day", "night"] * 200}
    report = report_on(long_tailed(), strata=strata, method="evosplit", effort="fast")
    values, random = report.measures.to_dict(), report.baselines.random
    *rows, further = report.measure_rows
    for row in rows:
        assert (row.value, row.random) == (values[row.key], random[row.key])
        assert row.times_random == (row.value / row.random if row.random else 0)
    assert further.key == "strata"
    of_front = report.front.objectives[report.chosen, report.front.objective_names.index("strata")]
    assert further.value == report.to_dict()["measures"]["strata"] == pytest.approx(of_front)
    assert further.random == pytest.approx(random["strata"])
    assert further.random_spread > 0


def test_short_representation():
    """In a session, a report of a thousand labels shows as one line."""
    assert repr(report_on(long_tailed(), (0.5, 0.5))) == "SplitReport(train: 200, test: 200; 8 labels)"

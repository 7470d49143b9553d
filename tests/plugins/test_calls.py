"""The public functions of adapters hand over what they were given, all of it and nothing else."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from word_lists import Words, WordsReading, WordsWriting, divided

from evosplit_plugins.audit import audit
from evosplit_plugins.calls import apply_as_called, audit_as_called, count_as_called, split_as_called
from evosplit_plugins.options import options_of
from evosplit_plugins.registry import get_adapter
from evosplit_plugins.request import Request

LISTS = [["Cat"], ["dog"], ["Cat", "dog"], []] * 5
REQUEST = {option.name: option.default for option in options_of(Request)}


@pytest.fixture
def words():
    """Give an adapter that writes nowhere."""
    made = Words(LISTS)
    made.needs_output = False
    return made


@pytest.fixture
def bar():
    """Give a progress callback that keeps what it hears."""

    def hear(done, message):
        hear.seen.append(done)

    hear.seen = []
    return hear


def test_count(words, bar):
    """Reading options reach the adapter; the bar ends at 1."""
    counts = count_as_called(words, ["words"], {"lower": True, "leave_out": ("dog",), "on_progress": bar, "x": 1})
    assert counts.labels == ("cat",)
    assert words.read_with == [(["words"], WordsReading(lower=True, leave_out=("dog",)), True)]
    assert bar.seen == [0.5, 1.0]


def test_split(words, bar):
    """So do the options of the request and of writing."""
    given = {
        **REQUEST,
        "ratios": (4, 1),
        "method": "random",
        "seed": 3,
        "lower": True,
        "leave_out": (),
        "capitals": True,
    }
    made = split_as_called(words, ["words"], {**given, "report": None, "overwrite": True, "on_progress": bar})
    assert made.split.settings["seed"] == 3
    assert made.split.counts.labels == ("cat", "dog")
    assert words.destinations[0].options == WordsWriting(capitals=True, overwrite=True)
    assert (bar.seen == sorted(bar.seen), bar.seen[-1]) == (True, 1.0)


def test_apply(words, bar):
    """Options of reading that are None are those that the split was made with; labels need not be there."""
    made = split_as_called(words, ["words"], {**REQUEST, "folds": 4, "lower": True, "on_progress": None}).split
    made = type(made).from_manifest({**made.to_manifest(), "source": {"adapter": "words", "reading": {"lower": True}}})
    for lower, expected in ((None, True), (False, False)):
        again = apply_as_called(words, ["words"], {"split": made, "lower": lower, "on_progress": bar})
        assert again.split.assignment.tolist() == made.assignment.tolist()
        assert words.read_with[-1] == (["words"], WordsReading(lower=expected), False)
    assert bar.seen[-1] == 1.0


def test_audit(words, bar):
    """The options of the search for comparison and of leaks reach the audit."""
    there = divided(words, ("train", "test"), np.repeat([0, 1], [15, 5]))
    given = {"lower": True, "compare": True, "seed": 7, "effort": "fast", "on_progress": bar}
    judged = audit_as_called(there, ["words"], given)
    assert judged.instead.settings["seed"] == 7
    assert judged.split.counts.labels == ("cat", "dog")
    assert (bar.seen == sorted(bar.seen), bar.seen[-1]) == (True, 1.0)
    assert audit_as_called(there, ["words"], {**given, "compare": False}).instead is None


@pytest.mark.parametrize("host", ["coco", "yolo", "table"])
def test_no_parameter_is_lost(host):
    """What a public function of a host spells out is an option that the call hands on, and every option is there."""
    pytest.importorskip({"coco": "msgspec", "yolo": "yaml", "table": "duckdb"}[host])
    home = __import__(f"evosplit_plugins.{host}.api", fromlist=["api"])
    adapter = get_adapter(host)
    reading, writing = ({each.name for each in options_of(holder)} for holder in (adapter.reading, adapter.writing))
    judging = set(inspect.signature(audit).parameters) - {"source", "on_progress"}
    own = {"inputs", "data", "table", "output", "split", "on_progress"}
    asked = {
        home.read_counts: reading,
        getattr(home, f"evosplit_{host}"): {*REQUEST, *reading, *writing},
        home.apply_split: {*reading, *writing},
        home.audit: {*reading, *judging},
    }
    for function, options in asked.items():
        taken = set(inspect.signature(function).parameters)
        assert taken - own <= options, function
        missing = options - taken
        assert missing <= {"same_bytes"} | ({"image_root"} if function is home.read_counts else set()), function

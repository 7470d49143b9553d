"""Several processes on one database: nobody's record is lost, and undo outlives the process that split."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from fiftyone_samples import pictures

from evosplit import EvoSplitError, LabelCounts, split

SPLIT = """
import sys, fiftyone as fo
from evosplit_plugins import evosplit_fiftyone
dataset = fo.load_dataset(sys.argv[1])
dataset.list_runs()  # what it knows now is out of date when it writes
print("ready", flush=True)
input()
evosplit_fiftyone(dataset, folds=int(sys.argv[2]), effort="fast", label_field="gt")
"""
UNDO = """
import sys, fiftyone as fo
from evosplit_plugins.fiftyone_plugin import runs, undo_split
dataset = fo.load_dataset(sys.argv[1])
while runs.run_keys(dataset):
    undo_split(dataset)
    print(len(runs.run_keys(dataset)))
"""


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give 40 pictures that other processes can load."""
    made = new_dataset(pictures(fiftyone, 40))
    made.persistent = True
    return made


def start(code, *arguments):
    """Start a process of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_two_people_then_a_restart(dataset):
    """Two splits at the same time are both recorded; a later process takes them back one by one."""
    from evosplit_plugins.fiftyone_plugin import runs

    both = [start(SPLIT, dataset.name, folds) for folds in ("2", "4")]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.wait(timeout=180) for process in both] == [0, 0]
    dataset.reload()
    keys = runs.run_keys(dataset)
    assert sorted(len(runs.load_run(dataset, key).split.names) for key in keys) == [2, 4]
    assert start(UNDO, dataset.name).communicate(timeout=180)[0].split() == ["1", "0"]
    dataset.reload()
    assert runs.run_keys(dataset) == []
    assert set(dataset.count_sample_tags()) - {"mine"} <= {f"fold{i}" for i in range(4)}


def test_two_people_on_one_server(dataset, monkeypatch):
    """Of two splits that are written at the same time one comes after the other: no sample ends in two subsets."""
    from evosplit_plugins.fiftyone_plugin import writing

    begun, seen, write, snapshot = threading.Event(), threading.Event(), writing._write, writing._snapshot

    def write_late(*given):
        if not begun.is_set():  # the first of them waits for the other, which must not go on meanwhile
            begun.set()
            seen.wait(timeout=1)
        write(*given)

    def look(*given, **options):
        found = snapshot(*given, **options)
        if begun.is_set():
            seen.set()
        return found

    monkeypatch.setattr(writing, "_write", write_late)
    monkeypatch.setattr(writing, "_snapshot", look)
    ids = dataset.values("id")
    counts = LabelCounts([[1]] * len(ids), ids=ids)
    first, second = (split(counts, names, method="random") for names in ({"a": 20, "b": 20}, {"c": 20, "d": 20}))
    one = threading.Thread(target=writing.write_split, args=(dataset, first))
    one.start()
    assert begun.wait(timeout=60)
    writing.write_split(dataset, second)
    one.join(timeout=60)
    dataset.reload()
    assert {tag: n for tag, n in dataset.count_sample_tags().items() if tag != "mine"} == {"c": 20, "d": 20}


def test_a_record_that_was_never_ended(dataset, monkeypatch):
    """Of a process that was killed while it recorded a split: later splits go on, and the record can be forgotten."""
    from evosplit_plugins import evosplit_fiftyone
    from evosplit_plugins.fiftyone_plugin import runs, undo_split

    monkeypatch.setattr(runs, "_PAUSE", 0.0)
    sizes = {"train": 20, "test": 20}
    dataset.register_run("evosplit_1_abcdef", dataset.init_run(method=runs.METHOD, sizes=sizes, field=None))
    with pytest.raises(EvoSplitError, match=r"'evosplit_1_abcdef' .* is not complete.*dataset\.delete_run"):
        runs.load_run(dataset)
    evosplit_fiftyone(dataset, folds=2, effort="fast", label_field="gt")
    assert len(runs.run_keys(dataset)) == 2
    undo_split(dataset)
    dataset.delete_run("evosplit_1_abcdef")
    assert runs.run_keys(dataset) == []

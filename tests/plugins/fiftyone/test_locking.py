"""Several processes on one database: they write one after the other, and nobody's record is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from fiftyone_samples import pictures

from evosplit import LabelCounts, split

# Runs what it is told, so that a process is worth its start in more than one test.
WORKER = """
import json, sys
import fiftyone as fo
import evosplit_plugins.fiftyone_plugin.api

def say(word):
    print(word, flush=True)

for line in sys.stdin:
    told = json.loads(line)
    if told:
        exec(told["code"], {"say": say, "fo": fo, **told})
    say("done")
"""
SPLIT = """
from evosplit_plugins import evosplit_fiftyone
dataset = fo.load_dataset(name)
dataset.list_runs()  # what it knows now is out of date when it writes
say("ready")
input()
evosplit_fiftyone(dataset, folds=folds, effort="fast", label_field="gt")
"""
WRITE = """
from unittest.mock import patch
from evosplit import LabelCounts, split
from evosplit_plugins.fiftyone_plugin import locking, writing

taken, tag, said = locking._taken, fo.DatasetView.tag_samples, []

def once(word):
    if word not in said:
        said.append(word)
        say(word)

def look(mine):
    found = taken(mine)
    if not found:
        once("waits")
    return found

def stop(*given):
    tag(*given)
    if not said:
        once("writing")
        input()

dataset = fo.load_dataset(name)
ids = dataset.values("id")
made = split(LabelCounts([[1]] * len(ids), ids=ids), dict.fromkeys(subsets, 20), method="random")
with patch.multiple(locking, LASTS=lasts, _taken=look):
    with patch.object(fo.DatasetView, "tag_samples", stop if stops else tag):
        writing.write_split(dataset, made)
"""


class Worker:
    """A process with a FiftyOne of its own, which runs code that it is told."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", WORKER], text=True, bufsize=1, **pipes)

    def run(self, code="", **given):
        """Have it run code, which has the names that are given."""
        self.process.stdin.write(json.dumps({"code": code, **given} if code else {}) + "\n")

    def go_on(self):
        """Answer an input()."""
        self.process.stdin.write("\n")

    def says(self):
        """Wait for a line."""
        line = self.process.stdout.readline()
        assert line, "the process has ended"
        return line.rstrip("\n")

    def until_done(self):
        """Wait until it has run the code; gives what it said."""
        return list(iter(self.says, "done"))

    def stop(self):
        """Kill it, and wait until it is gone."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def workers(fiftyone):
    """Give a function that gives workers; those that are alive serve again."""
    made = []

    def get(n):
        alive = [worker for worker in made if worker.process.poll() is None]
        new = [Worker() for _ in range(n - len(alive))]
        for worker in new:
            worker.run()
        made.extend(new)
        for worker in new:
            worker.until_done()
        return (alive + new)[:n]

    yield get
    for worker in made:
        worker.stop()


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give 40 pictures that other processes can load."""
    made = new_dataset(pictures(fiftyone, 40))
    made.persistent = True
    return made


def test_two_people(dataset, workers):
    """Two splits at the same time are both recorded; another process takes them back one by one."""
    from evosplit_plugins.fiftyone_plugin import runs, undo_split

    both = workers(2)
    for worker, folds in zip(both, (2, 4), strict=True):
        worker.run(SPLIT, name=dataset.name, folds=folds)
        assert worker.says() == "ready"
    for worker in both:
        worker.go_on()
    assert [worker.until_done() for worker in both] == [[], []]
    dataset.reload()
    keys = runs.run_keys(dataset)
    assert sorted(len(runs.load_run(dataset, key).split.names) for key in keys) == [2, 4]
    for left in (1, 0):
        undo_split(dataset)
        assert len(runs.run_keys(dataset)) == left
    assert set(dataset.count_sample_tags()) - {"mine"} == set()


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


@pytest.mark.parametrize("killed", [False, True], ids=["written", "killed"])
def test_two_servers_on_one_database(dataset, workers, killed):
    """A process waits while another one writes; of one that was killed the lock runs out, and its half is replaced."""
    first, second = workers(2)
    first.run(WRITE, name=dataset.name, subsets="ab", lasts=0.1 if killed else 60, stops=True)
    assert first.says() == "writing"
    if killed:
        first.stop()
    second.run(WRITE, name=dataset.name, subsets="cd", lasts=60, stops=False)
    if not killed:
        assert second.says() == "waits"
        first.go_on()
        assert first.until_done() == []
    second.until_done()
    dataset.reload()
    assert {tag: n for tag, n in dataset.count_sample_tags().items() if tag != "mine"} == {"c": 20, "d": 20}


def test_a_lock_is_renewed(dataset, monkeypatch):
    """While a split is written its lock does not run out, however long it takes; then it is gone."""
    from fiftyone.core.odm import get_db_conn

    from evosplit_plugins.fiftyone_plugin import locking

    monkeypatch.setattr(locking, "_RENEWED", 0.01)
    locks, until = get_db_conn()[locking.COLLECTION], set()
    with locking.alone_with(dataset), locking.alone_with(dataset):
        while len(until) < 3:
            until.add(locks.find_one({"_id": dataset.name})["until"])
    assert locks.find_one({"_id": dataset.name}) is None

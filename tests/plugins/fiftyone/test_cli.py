"""`evosplit fiftyone`: the same from the shell."""

from __future__ import annotations

import json
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from fiftyone_samples import pictures, scenes

from evosplit_plugins.cli import main

FAST = ("--effort", "fast", "--json")


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give a dataset of 40 pictures."""
    return new_dataset(pictures(fiftyone, 40))


@pytest.fixture
def run(capsys):
    """Give a function that runs a command and gives its JSON."""

    def call(*words):
        assert main(["fiftyone", *map(str, words)]) == 0
        return json.loads(capsys.readouterr().out)

    return call


@pytest.fixture
def refused(capsys):
    """Give a function that runs a command which must fail, and gives the line on stderr."""

    def call(*words):
        assert main(["fiftyone", *map(str, words)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        return lines[0]

    return call


def tags(dataset):
    """Give the tags of the subsets."""
    dataset.reload()
    return {tag: n for tag, n in dataset.count_sample_tags().items() if tag != "mine"}


def test_split_and_undo(dataset, run):
    """Split tags the samples and reports, undo takes it back."""
    report = run("split", dataset.name, "--ratios", "8:1:1", *FAST)
    assert report["sizes"] == {"train": 32, "val": 4, "test": 4} == tags(dataset)
    assert report["settings"]["effort"] == "fast"
    assert run("undo", dataset.name, "--json")["samples"] == 40
    assert tags(dataset) == {}


def test_split_options(dataset, run):
    """Subsets, folds, fields, label fields and keeping work as in Python."""
    run("split", dataset.name, "-s", "a:30", "-s", "b:10", "-l", "gt", *FAST)
    assert tags(dataset) == {"a": 30, "b": 10}
    run("split", dataset.name, "--folds", "4", "--field", "fold", *FAST)
    assert dataset.count_values("fold") == {f"fold{i}": 10 for i in range(4)}


def test_locked(dataset, run):
    """--lock leaves what is in a subset."""
    kept = dataset.limit(5).values("id")
    dataset.select(kept).tag_samples("test")
    run("split", dataset.name, "--ratios", "3:1", "--lock", "test", *FAST)
    assert tags(dataset) == {"train": 30, "test": 10}
    assert set(kept) <= set(dataset.match_tags("test").values("id"))


def test_constraints(fiftyone, new_dataset, run):
    """Groups, near duplicates, strata, minima and weights are flags."""
    import fiftyone.brain as fob

    dataset = new_dataset(scenes(fiftyone))
    vectors = np.repeat(np.eye(24), 2, axis=0)
    fob.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
    flags = ["--ratios", "1:1", "--group-by", "scene", "--near-duplicates", "similar", "--duplicate-threshold", "0.1"]
    flags += ["--stratify-by", "weather, area", "--min-per-label", "2", "--label-weight", "dog=3"]
    report = run("split", dataset.name, *flags, *FAST)
    assert report["sizes"] == {"train": 24, "test": 24} == tags(dataset)
    assert report["constraints"]["groups"]["total"] == 12
    assert report["constraints"]["groups"]["torn"] == 0
    assert list(report["constraints"]["strata"]) == ["weather", "area"]
    assert report["settings"]["label_weights"] == {"dog": 3.0}


def test_saved_view(dataset, run):
    """A saved view is split by its name."""
    dataset.save_view("first", dataset.limit(20))
    run("split", dataset.name, "--view", "first", "-s", "a:0.5", "-s", "b:0.5", *FAST)
    assert tags(dataset) == {"a": 10, "b": 10}


def test_manifest_and_apply(dataset, run, tmp_path):
    """A manifest written by split is replayed by apply."""
    path = tmp_path / "split.json"
    run("split", dataset.name, "--ratios", "1:1", "--manifest", path, *FAST)
    before = dataset.values("tags")
    run("undo", dataset.name, "--json")
    assert run("apply", path, dataset.name, "--json")["sizes"] == {"train": 20, "test": 20}
    dataset.reload()
    assert dataset.values("tags") == before


def test_strangers_are_not_replaced(dataset, run, refused, tmp_path):
    """Neither a file that is no manifest or report, nor values of a field, unless the user says so."""
    mine = tmp_path / "keepme.json"
    mine.write_text("{}")
    split = ("split", dataset.name, "--ratios", "1:1")
    for flag in ("--manifest", "--report"):
        assert "keepme.json exists, but was not written by EvoSplit" in refused(*split, flag, mine)
    dataset.set_values("camera", ["left"] * len(dataset))
    assert "40 values that EvoSplit did not write" in refused(*split, "--field", "camera")
    assert (mine.read_text(), tags(dataset), dataset.count_values("camera")) == ("{}", {}, {"left": 40})
    for _ in range(2):
        run(*split, "--field", "camera", "--overwrite", "--manifest", tmp_path / "split.json", *FAST)
    dataset.reload()
    assert dataset.count_values("camera") == {"train": 20, "test": 20}


def test_audit(dataset, run):
    """Audit measures tags that somebody else wrote."""
    dataset.limit(20).tag_samples("old")
    dataset.skip(20).tag_samples("new")
    assert run("audit", dataset.name, "-t", "old", "-t", "new", "--json")["sizes"] == {"old": 20, "new": 20}


def test_readable_output(dataset, capsys):
    """Without --json a person reads sizes and where they were written."""
    assert main(["fiftyone", "split", dataset.name, "--ratios", "8:1:1", "--effort", "fast"]) == 0
    out = capsys.readouterr().out
    assert "train" in out
    assert "written as: tags" in out
    assert main(["fiftyone", "undo", dataset.name]) == 0
    assert "40 samples are as they were" in capsys.readouterr().out


def test_install(fiftyone, run, tmp_path):
    """Install links the plugin."""
    home = run("install", "--plugins-dir", tmp_path, "--json")["plugin"]
    assert (tmp_path / "@evosplit" / "evosplit" / "fiftyone.yml").is_file()
    assert home == str(tmp_path / "@evosplit" / "evosplit")


def test_demo(fiftyone, capsys, tmp_path, monkeypatch):
    """The demo says what it starts, draws, loads, splits and links, in one bar; only the App is left to open."""
    seen = []
    bar = nullcontext(lambda done, message: seen.append(done))
    monkeypatch.setattr("evosplit_plugins.cli.fiftyone.progress", lambda args: bar)
    monkeypatch.setenv("FIFTYONE_PLUGINS_DIR", "")
    assert main(["fiftyone", "demo", "-o", str(tmp_path / "demo"), "--images", "30", "--no-app", "--json"]) == 0
    assert (seen == sorted(seen), seen[-1]) == (True, 1.0)
    said = capsys.readouterr()
    steps = ["Loading FiftyOne", "Starting its database", "Drawing 30 pictures", "Loading them", "Splitting"]
    assert [line.startswith(step) for line, step in zip(said.err.splitlines(), steps, strict=True)] == [True] * 5
    report = json.loads(said.out)
    dataset = fiftyone.load_dataset("evosplit-demo")
    assert tags(dataset) == report["sizes"] == {"train": 24, "val": 3, "test": 3}
    clips = dataset.count_values("clip")
    assert max(clips.values()) > 1
    assert all(
        Path(path).name.startswith(clip) for path, clip in zip(*dataset.values(["filepath", "clip"]), strict=True)
    )
    assert (tmp_path / "demo" / "plugins" / "@evosplit" / "evosplit" / "fiftyone.yml").is_file()
    dataset.delete()


def test_demo_is_told_to_end(fiftyone, tmp_path, monkeypatch):
    """SIGTERM leaves the demo as an error would, so that FiftyOne ends what it started; later ones are as before."""
    before = signal.getsignal(signal.SIGTERM)

    def told(*args, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("it went on")

    monkeypatch.setenv("FIFTYONE_PLUGINS_DIR", "")
    monkeypatch.setattr("evosplit_plugins.demo.draw_demo", told)
    assert main(["fiftyone", "demo", "-o", str(tmp_path / "demo"), "--no-app", "--quiet"]) == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_demo_without_a_database(fiftyone, capsys, tmp_path, monkeypatch):
    """Where FiftyOne's database does not start in time, one line says so, and what to do."""
    from fiftyone.core.service import ServiceListenTimeout

    def late():
        raise ServiceListenTimeout("DatabaseService")

    monkeypatch.setenv("FIFTYONE_PLUGINS_DIR", "")
    monkeypatch.setattr(fiftyone, "list_datasets", late)
    assert main(["fiftyone", "demo", "-o", str(tmp_path / "demo"), "--images", "30", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("evosplit: error: FiftyOne's database did not start in time (DatabaseService failed to bind")
    assert "try again when the machine is less busy; its log is " in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("split", "no such dataset", "--ratios", "8:1:1"), "there is no dataset 'no such dataset'"),
        (("undo", "no such dataset"), "there is no dataset"),
        (("split", "{}", "--view", "nope", "--ratios", "8:1:1"), "has no saved view 'nope'"),
        (("split", "{}", "-s", "a:0.5", "-s", "b:0.6"), "sum to 1.1"),
        (("split", "{}"), "nothing says how to split"),
        (("split", "{}", "--ratios", "8:1:1", "--field", "gt"), "cannot hold subset names"),
        (("split", "{}", "--ratios", "8:1:1", "--manifest", "/no/such/dir/x.json"), "does not exist"),
        (("split", "{}", "--ratios", "8:1:1", "-l", "nope"), "'nope' is no label field"),
        (("split", "{}", "--ratios", "8:1:1", "--group-by", "nope"), "--group-by nope is no field of dataset"),
        (("split", "{}", "--ratios", "8:1:1", "--stratify-by", "tags"), "that can be balanced (ListField)"),
        (("split", "{}", "--ratios", "8:1:1", "--near-duplicates", "nope"), "neither a similarity run nor a field"),
        (("undo", "{}"), "no split by EvoSplit is recorded"),
        (("apply", "/no/split.json", "{}"), "cannot read the manifest"),
    ],
)
def test_mistakes(dataset, refused, words, match):
    """A mistake is one line and exit code 2, and nothing is written."""
    assert match in refused(*(word.format(dataset.name) if word == "{}" else word for word in words))
    assert tags(dataset) == {}

"""The adapter: what it takes, and that tags and files are written as one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fiftyone_samples import pictures

from evosplit import EvoSplitError, Split
from evosplit_plugins.fiftyone_plugin.adapter import FiftyOneAdapter, FiftyOneReading, FiftyOneWriting
from evosplit_plugins.request import Request
from evosplit_plugins.walk import apply_with, split_with

HALVES = Request(ratios=(0.5, 0.5), method="random")


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give a dataset of 20 pictures."""
    return new_dataset(pictures(fiftyone, 20))


def test_loads_without_fiftyone():
    """The adapter and its options are known without FiftyOne, and it recognises no path: a name starts no database."""
    code = (
        "import sys; sys.modules['fiftyone'] = None\n"
        "from evosplit_plugins.registry import get_adapter\n"
        "adapter = get_adapter('fiftyone'); assert not adapter.detect(['my-dataset'])\n"
        "from evosplit_plugins.options import options_of; options_of(adapter.reading)\n"
        "adapter.read(['my-dataset'], adapter.reading())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stderr.strip().endswith(
        'MissingExtraError: FiftyOne is not installed; run: pip install "evosplit-plugins[fiftyone]"'
    )


def test_dataset_by_name_or_itself(dataset):
    """The name of a dataset, with a saved view, reads what the collection itself does."""
    dataset.save_view("first", dataset.limit(8))
    adapter = FiftyOneAdapter()
    by_name = adapter.read([dataset.name], FiftyOneReading(view="first"))
    itself = adapter.read([dataset.limit(8)], FiftyOneReading())
    assert by_name.counts.ids.tolist() == itself.counts.ids.tolist() == dataset.limit(8).values("id")
    assert by_name.files == dataset.limit(8).values("filepath")
    assert by_name.provenance["reading"] == {"label_field": ["gt"], "view": "first"}
    with pytest.raises(EvoSplitError, match="has no saved view 'second'; its views: first"):
        adapter.read([dataset.name], FiftyOneReading(view="second"))


def test_files_beside_the_tags(dataset, tmp_path):
    """Manifest and page are written with the tags; the manifest replays the split."""
    writing = FiftyOneWriting(manifest=tmp_path / "split.json", report=tmp_path / "page.html")
    outcome = split_with(FiftyOneAdapter(), [dataset], HALVES, writing=writing)
    assert set(outcome.files) == {tmp_path / "split.json", tmp_path / "page.html"}
    assert outcome.facts == {"dataset": dataset.name, "written as": "tags", "run": dataset.list_runs()[0]}
    saved = Split.load(tmp_path / "split.json")
    assert list(saved.file_names) == dataset.values("filepath")
    before = dataset.values("tags")
    again = apply_with(FiftyOneAdapter(), [dataset], tmp_path / "split.json", reading={"field": "again"})
    assert dataset.values("tags") == before
    assert dataset.values("again") == [tags[-1] for tags in before]
    assert again.split.counts is not None


def test_dry_run(dataset, tmp_path):
    """A dry run writes the page alone, and names the manifest, too."""
    page, manifest = tmp_path / "page.html", tmp_path / "split.json"
    writing = FiftyOneWriting(manifest=manifest, report=page, dry_run=True)
    assert split_with(FiftyOneAdapter(), [dataset], HALVES, writing=writing).files == (page, manifest)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert dataset.count_sample_tags() == {"mine": 20}
    assert dataset.list_runs() == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_file_in_the_way(dataset, tmp_path, dry_run):
    """A file of others is refused before the search, and nothing is tagged; a dry run foretells it."""
    (tmp_path / "split.json").write_text("mine")
    writing = FiftyOneWriting(manifest=tmp_path / "split.json", dry_run=dry_run)
    with pytest.raises(EvoSplitError, match="was not written by EvoSplit"):
        split_with(FiftyOneAdapter(), [dataset], HALVES, writing=writing)
    assert dataset.count_sample_tags() == {"mine": 20}


def test_files_that_cannot_be_placed(dataset, tmp_path, monkeypatch):
    """Where the files fail at the last step, the tags are taken back."""
    from evosplit_plugins.staging import Staging

    def broken(self):
        raise EvoSplitError("the disk went away")

    monkeypatch.setattr(Staging, "commit", broken)
    writing = FiftyOneWriting(manifest=tmp_path / "split.json")
    with pytest.raises(EvoSplitError, match="the disk went away"):
        split_with(FiftyOneAdapter(), [dataset], HALVES, writing=writing)
    assert dataset.count_sample_tags() == {"mine": 20}
    assert dataset.list_runs() == []
    assert list(tmp_path.iterdir()) == []


def test_a_hand_made_split_is_not_lost(dataset):
    """Values of a field that name subsets are kept where they are locked, and otherwise refused."""
    dataset.set_values("part", ["train"] * 10 + ["test"] * 4 + [None] * 6)
    before = dataset.values("part")
    reading = FiftyOneReading(field="part")
    with pytest.raises(EvoSplitError, match="values that EvoSplit did not write"):
        split_with(FiftyOneAdapter(), [dataset], HALVES, reading=reading)
    assert dataset.values("part") == before
    locked = Request(ratios=(0.5, 0.5), locked=["train", "test"], method="random")
    split_with(FiftyOneAdapter(), [dataset], locked, reading=reading)
    assert dataset.values("part")[:14] == before[:14]
    assert dataset.count_values("part") == {"train": 10, "test": 10}


def test_labels_that_are_gone(dataset, tmp_path):
    """A split is replayed where its label field is missing, and a note says so."""
    split_with(FiftyOneAdapter(), [dataset], HALVES, writing=FiftyOneWriting(manifest=tmp_path / "split.json"))
    dataset.rename_sample_field("gt", "other")
    outcome = apply_with(FiftyOneAdapter(), [dataset], tmp_path / "split.json")
    assert outcome.split.counts is None
    assert outcome.notes == ("The labels of 'gt' were not read: there is no such field.",)

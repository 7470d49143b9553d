"""What the samples of FiftyOne know: in how many passes they are read, and which of them `locked` names."""

from __future__ import annotations

import pytest
from fiftyone_samples import boxes, grouped, pictures, scenes

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin.adapter import FiftyOneAdapter, FiftyOneReading
from evosplit_plugins.request import Request
from evosplit_plugins.walk import run


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give a dataset of 20 pictures."""
    return new_dataset(pictures(fiftyone, 20))


def read(samples, **options):
    """Read samples through the adapter."""
    return FiftyOneAdapter().read([samples], FiftyOneReading(**options))


def split(samples, locked, **options):
    """Split samples into halves."""
    request = Request(ratios=(0.5, 0.5), locked=locked, method="random")
    return run(read(samples, **options), request, adapter=FiftyOneAdapter())


def count_passes(monkeypatch):
    """Count the questions to the database."""
    from fiftyone.core.collections import SampleCollection

    asked = []
    real = SampleCollection.aggregate
    monkeypatch.setattr(
        SampleCollection, "aggregate", lambda self, *args, **kw: asked.append(args) or real(self, *args, **kw)
    )
    return asked


class TestPasses:
    """The database is gone through as seldom as can be."""

    def test_labels_and_files(self, dataset, monkeypatch):
        """Labels and files are read together."""
        asked = count_passes(monkeypatch)
        read(dataset)
        assert len(asked) == 1

    def test_fields(self, fiftyone, new_dataset, monkeypatch):
        """All groups and strata, box sizes and other labels among them, are read together."""
        samples = scenes(fiftyone)
        for sample in samples:
            sample["pred"] = boxes(fiftyone, "sign")
        source = read(new_dataset(samples), label_field="gt")
        asked = count_passes(monkeypatch)
        found = source.fields(groups=["scene", "patient", "filepath"], strata=["weather", "night", "pred", "area"])
        assert len(asked) == 1
        assert set(found.groups) == {"scene", "patient", "filepath"}
        assert list(found.strata) == ["weather", "night", "pred", "area"]
        assert found.groups["patient"][:5] == [0, 0, 0, 0, 1]

    def test_nothing_asked(self, dataset, monkeypatch):
        """Without groups and strata nothing more is read."""
        source = read(dataset)
        asked = count_passes(monkeypatch)
        source.fields(groups=(), strata=())
        assert asked == []


class TestLocked:
    """What may name the samples that stay."""

    def test_view(self, dataset):
        """A view names its samples; those that take no part are counted."""
        made = split(dataset.limit(16), {"test": dataset[14:18]})
        assert {made.names[j] for j in made.assignment[14:].tolist()} == {"test"}
        assert any("2 samples are locked but take no part" in note for note in made.notes)

    def test_patches(self, dataset):
        """Patches name the samples that they were cut from."""
        patches = dataset.limit(4).to_patches("gt")
        made = split(dataset, {"test": patches})
        assert set(patches.values("sample_id")) <= set(made.ids("test"))

    def test_tag(self, dataset):
        """A tag of any name does."""
        dataset.limit(5).tag_samples("old test")
        made = split(dataset, {"test": "old test"})
        assert set(dataset.limit(5).values("id")) <= set(made.ids("test"))

    def test_value_of_the_field(self, dataset):
        """With a field, its values do."""
        dataset.set_values("part", ["holdout"] * 5 + [None] * 15)
        made = split(dataset, {"test": "holdout"}, field="part")
        assert set(dataset.limit(5).values("id")) <= set(made.ids("test"))

    def test_groups(self, fiftyone, new_dataset):
        """In a grouped dataset one tagged slice keeps its whole group."""
        data = grouped(fiftyone, new_dataset, 6)
        right = data.select_group_slices("right").limit(2)
        right.tag_samples("test")
        made = split(data, ["test"], label_field="gt")
        assert set(right.values("group.id")) <= set(made.ids("test"))

    def test_another_dataset(self, fiftyone, dataset, new_dataset):
        """A view of another dataset is refused."""
        other = new_dataset(pictures(fiftyone, 3))
        with pytest.raises(
            EvoSplitError, match=r"locked\['test'\] is of dataset .*, not of dataset .*; give a view of"
        ):
            split(dataset, {"test": other})

    def test_a_subset_that_is_not_there(self, dataset):
        """The name of a subset that no sample is in is refused: it may be in a field, or be called otherwise."""
        with pytest.raises(EvoSplitError, match=r"locked= keeps the subset 'test', but no sample .* carries that tag"):
            split(dataset, ["test"])
        dataset.set_values("part", ["train"] * 20)
        with pytest.raises(EvoSplitError, match=r"no sample of dataset .* has that value in 'part'"):
            split(dataset, ["test"], field="part")

"""The public functions: tags or a field out, and back; manifests and audits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fiftyone_samples import NAMES, boxes, grouped, pictures

from evosplit import EvoSplitError, LabelCounts, Split

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
FAST = {"effort": "fast"}


def split_tags(dataset, names):
    """Give the subset tags of each sample."""
    return [sorted(set(tags) & set(names)) for tags in dataset.values("tags")]


class TestSplit:
    """Tags or a field out."""

    def test_tags(self, fiftyone, api, new_dataset):
        """Each sample gets one tag, sizes are exact, labels are spread, others' tags stay."""
        dataset = new_dataset(pictures(fiftyone, 60))
        split = api.evosplit_fiftyone(dataset, RATIOS, **FAST)
        assert isinstance(split, Split)
        assert split.sizes == (36, 12, 12)
        assert dataset.count_sample_tags() == {"mine": 60, "train": 36, "val": 12, "test": 12}
        assert all(len(tags) == 1 for tags in split_tags(dataset, split.names))
        for name in split.names:
            assert set(dataset.match_tags(name).values("id")) == set(split.ids(name))
        assert split.measures.flz == 0
        assert split.measures.ld < split.report().baselines.random["ld"]

    def test_only_the_view(self, fiftyone, api, new_dataset):
        """Samples outside the view keep what they have, also tags of the subsets' names."""
        dataset = new_dataset(pictures(fiftyone, 40))
        rest = dataset.skip(30)
        rest.tag_samples("train")
        api.evosplit_fiftyone(dataset.limit(30), (20, 10), **FAST)
        assert dataset.limit(30).count_sample_tags() == {"mine": 30, "train": 20, "test": 10}
        assert rest.count_sample_tags() == {"mine": 10, "train": 10}

    def test_field(self, fiftyone, api, new_dataset):
        """The subsets can go into a field, which is created; tags are not touched."""
        dataset = new_dataset(pictures(fiftyone, 40))
        api.evosplit_fiftyone(dataset, RATIOS, field="subset", **FAST)
        assert dataset.count_values("subset") == {"train": 24, "val": 8, "test": 8}
        assert dataset.count_sample_tags() == {"mine": 40}
        api.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", **FAST)
        assert dataset.count_values("subset") == {"train": 20, "test": 20}

    @pytest.mark.parametrize(
        ("field", "match"),
        [
            ("gt", "'gt' .* cannot hold subset names"),
            ("filepath", "'filepath' .* cannot hold .*where the files are"),
            ("a b", "'a b' is no name for a field"),
            ("_x", "'_x' is no name"),
            ("created_at", "read-only"),
        ],
    )
    def test_bad_field(self, fiftyone, api, new_dataset, field, match):
        """A field that cannot hold names is refused before the search."""
        dataset = new_dataset(pictures(fiftyone, 10))
        with pytest.raises(EvoSplitError, match=match):
            api.evosplit_fiftyone(dataset, (0.5, 0.5), field=field)
        assert dataset.list_runs() == []

    def test_locked(self, fiftyone, api, new_dataset):
        """What is in a subset stays, and the whole still has the sizes asked for."""
        dataset = new_dataset(pictures(fiftyone, 50))
        kept = {"train": dataset.limit(7).values("id"), "test": dataset.skip(47).values("id")}
        for name, ids in kept.items():
            dataset.select(ids).tag_samples(name)
        split = api.evosplit_fiftyone(dataset, RATIOS, locked=["train", "test"], **FAST)
        assert split.sizes == (30, 10, 10)
        assert dataset.count_sample_tags() == {"mine": 50, "train": 30, "val": 10, "test": 10}
        for name, ids in kept.items():
            assert set(ids) <= set(dataset.match_tags(name).values("id"))
        assert len(split.front.assignments[0]) == 50
        assert split.report().sizes == (30, 10, 10)

    def test_locked_in_field(self, fiftyone, api, new_dataset):
        """Values of a field can be locked as well."""
        dataset = new_dataset(pictures(fiftyone, 20))
        first = dataset.first()
        first["subset"] = "test"
        first.save()
        api.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", locked=["test"], **FAST)
        assert dataset.first()["subset"] == "test"
        assert dataset.count_values("subset") == {"train": 10, "test": 10}

    def test_values_of_others_are_not_replaced(self, fiftyone, api, new_dataset, tmp_path):
        """A field that EvoSplit did not write is refused before the search, unless asked for or nothing is lost."""
        dataset = new_dataset(pictures(fiftyone, 20, camera="left"))
        dataset.add_sample_field("empty", fiftyone.StringField)
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), dry_run=True, **FAST)
        split.save(tmp_path / "split.json")
        message = r"'camera' .* has 20 values that EvoSplit did not write \(first: 'left'\)"
        for write in (
            lambda: api.evosplit_fiftyone(dataset, (0.5, 0.5), field="camera", dry_run=True),
            lambda: api.evosplit_fiftyone(dataset, (0.5, 0.5), field="camera", locked=["test"]),
            lambda: api.apply_split(dataset, split, field="camera"),
            lambda: api.apply_split(dataset, tmp_path / "split.json", field="camera"),
        ):
            with pytest.raises(EvoSplitError, match=message):
                write()
        assert dataset.count_values("camera") == {"left": 20}
        assert dataset.list_runs() == []
        api.evosplit_fiftyone(dataset, (0.5, 0.5), field="empty", **FAST)
        api.evosplit_fiftyone(dataset.limit(10), (0.5, 0.5), field="camera", overwrite=True, **FAST)
        assert dataset.count_values("camera") == {"left": 10, "train": 5, "test": 5}
        api.evosplit_fiftyone(dataset.limit(10), (0.5, 0.5), field="camera", seed=1, **FAST)  # its own by now
        for _ in range(2):
            api.undo_split(dataset)
        assert dataset.count_values("camera") == {"left": 20}

    def test_locks_leave_one_subset_open(self, fiftyone, api, new_dataset):
        """Where only one subset can take more, all others go there."""
        dataset = new_dataset(pictures(fiftyone, 20))
        dataset.limit(4).tag_samples("test")
        split = api.evosplit_fiftyone(dataset, {"train": 16, "test": 4}, locked="test", **FAST)
        assert split.sizes == (16, 4)
        assert len(dataset.match_tags("train")) == 16

    @pytest.mark.parametrize(
        ("tags", "match"),
        [
            ([("train", 0, 1), ("test", 0, 1)], "is already in train and test, so it cannot be locked"),
            ([("train", 0, 16), ("test", 16, 20)], "locked= places every sample already"),
        ],
    )
    def test_locks_refused(self, fiftyone, api, new_dataset, tags, match):
        """Tags that cannot be locked are named with a way out, and nothing is written."""
        dataset = new_dataset(pictures(fiftyone, 20))
        for tag, start, end in tags:
            dataset[start:end].tag_samples(tag)
        before = dataset.values("tags")
        with pytest.raises(EvoSplitError, match=match):
            api.evosplit_fiftyone(dataset, {"train": 16, "test": 4}, locked=["train", "test"], **FAST)
        assert dataset.values("tags") == before

    def test_groups_stay_whole(self, fiftyone, api, new_dataset):
        """All slices of a group get the group's tag, also when only one slice was viewed."""
        dataset = grouped(fiftyone, new_dataset, 10)
        for samples in (dataset, dataset.select_group_slices("right")):
            split = api.evosplit_fiftyone(samples, (0.5, 0.5), label_field="gt", **FAST)
            assert split.sizes == (5, 5)
            everything = dataset.select_group_slices(_allow_mixed=True)
            assert everything.count_sample_tags() == {"train": 15, "test": 15}
            subset = dict(zip(split.sample_ids, np.array(split.names)[split.assignment], strict=True))
            for group, tags in zip(*everything.values(["group.id", "tags"]), strict=True):
                assert tags == [subset[group]]
        api.undo_split(dataset)
        api.undo_split(dataset)
        assert everything.count_sample_tags() == {}

    def test_group_into_field(self, fiftyone, api, new_dataset):
        """A field is written and taken back on all slices too."""
        dataset = grouped(fiftyone, new_dataset, 6)
        api.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", **FAST)
        everything = dataset.select_group_slices(_allow_mixed=True)
        assert everything.count_values("subset") == {"train": 9, "test": 9}
        api.undo_split(dataset)
        assert dataset.get_field("subset") is None

    def test_patches_tag_their_samples(self, fiftyone, api, new_dataset):
        """Splitting a patches view tags the samples behind the patches."""
        dataset = new_dataset(pictures(fiftyone, 30))
        patches = dataset.to_patches("gt")
        split = api.evosplit_fiftyone(patches, (0.5, 0.5), **FAST)
        assert sum(split.sizes) == len(set(patches.values("sample_id")))
        for name in split.names:
            assert set(dataset.match_tags(name).values("id")) == set(split.ids(name))

    def test_videos(self, fiftyone, api, new_dataset):
        """Videos are tagged as wholes by the labels of their frames."""
        fo = fiftyone
        videos = [fo.Sample(filepath=f"/{i}.mp4") for i in range(12)]
        for i, video in enumerate(videos):
            video.frames[1] = fo.Frame(objects=boxes(fo, NAMES[i % 3]))
        dataset = new_dataset(videos)
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), label_field="frames.objects", **FAST)
        assert dataset.count_sample_tags() == {"train": 6, "test": 6}
        assert split.measures.ld == pytest.approx(0)

    def test_same_seed_same_split(self, fiftyone, api, new_dataset):
        """The seed fixes the split."""
        dataset = new_dataset(pictures(fiftyone, 30))
        first = api.evosplit_fiftyone(dataset, RATIOS, seed=5, **FAST)
        assert (api.evosplit_fiftyone(dataset, RATIOS, seed=5, **FAST).assignment == first.assignment).all()

    def test_progress_is_told(self, fiftyone, api, new_dataset):
        """Progress rises from 0 to 1."""
        told = []
        dataset = new_dataset(pictures(fiftyone, 20))
        api.evosplit_fiftyone(dataset, RATIOS, on_progress=lambda done, message: told.append(done), **FAST)
        assert told == sorted(told)
        assert (told[0], told[-1]) == (0.0, 1.0)

    @pytest.mark.parametrize(
        ("ratios", "options", "match"),
        [
            ({"train": 0.7, "val": 0.2}, {}, "sum to 0.9, not to 1"),
            (None, {}, "neither ratios= nor folds= is given"),
            (RATIOS, {"folds": 3}, "ratios= and folds= are both given"),
            ((0.5, 0.5), {"effort": "extreme"}, "effort='extreme' is unknown"),
        ],
    )
    def test_bad_request(self, fiftyone, api, new_dataset, ratios, options, match):
        """A request that makes no sense changes nothing."""
        dataset = new_dataset(pictures(fiftyone, 10))
        with pytest.raises(EvoSplitError, match=match):
            api.evosplit_fiftyone(dataset, ratios, **options)
        assert dataset.count_sample_tags() == {"mine": 10}
        assert dataset.list_runs() == []

    def test_lazy_name(self, fiftyone):
        """The convenience is exported where its users look for it."""
        import evosplit_plugins
        from evosplit_plugins.fiftyone_plugin import evosplit_fiftyone

        assert evosplit_plugins.evosplit_fiftyone is evosplit_fiftyone


class TestManifest:
    """Save and replay."""

    def test_round_trip(self, fiftyone, api, new_dataset, tmp_path):
        """A saved split gives the same tags again, and says where it came from."""
        dataset = new_dataset(pictures(fiftyone, 20))
        split = api.evosplit_fiftyone(dataset, RATIOS, **FAST)
        before = dataset.values("tags")
        path = tmp_path / "split.json"
        api.save_manifest(dataset, path)
        api.undo_split(dataset)
        replayed = api.apply_split(dataset, path)
        assert dataset.values("tags") == before
        assert replayed.measures == split.measures
        source = json.loads(path.read_text())["source"]
        assert (source["inputs"], source["reading"]["label_field"]) == ([dataset.name], ["gt"])

    def test_other_database(self, fiftyone, api, new_dataset, tmp_path):
        """Where the ids are others, samples are found by path, or by name in another folder."""
        dataset = new_dataset(pictures(fiftyone, 20))
        api.evosplit_fiftyone(dataset, RATIOS, **FAST)
        path = tmp_path / "split.json"
        api.save_manifest(dataset, path)
        subset = {s.filename: s.tags[-1] for s in dataset}
        for folder in ("/pictures", "C:\\elsewhere"):
            copies = [fiftyone.Sample(filepath=f"{folder}/{s.filename}", gt=s.gt.copy()) for s in dataset]
            other = new_dataset(reversed(copies))
            split = api.apply_split(other, path, field="subset")
            assert {s.filename: s["subset"] for s in other} == subset
            assert split.counts is not None

    def test_other_data(self, fiftyone, api, new_dataset, tmp_path):
        """A manifest of other data is refused, and nothing is written."""
        dataset = new_dataset(pictures(fiftyone, 20))
        api.evosplit_fiftyone(dataset, RATIOS, **FAST)
        path = tmp_path / "split.json"
        api.save_manifest(dataset, path)
        other = new_dataset(pictures(fiftyone, 20, seed=7))
        with pytest.raises(EvoSplitError, match="by file name, 20 names are not in the split"):
            api.apply_split(other, path)
        fewer = dataset.limit(15)
        with pytest.raises(EvoSplitError, match="5 ids of the split are missing"):
            api.apply_split(fewer, path)
        assert other.count_sample_tags() == {"mine": 20}
        with pytest.raises(EvoSplitError, match="there is nothing to split"):
            api.apply_split(dataset.skip(20), path)

    def test_foreign_manifest(self, fiftyone, api, new_dataset, tmp_path):
        """A manifest of another adapter with FiftyOne's ids is replayed; with foreign ids it is refused."""
        import evosplit

        dataset = new_dataset(pictures(fiftyone, 4))
        counts = LabelCounts(np.ones((4, 1), dtype=int), ids=dataset.values("id"))
        evosplit.split(counts, (2, 2), method="random").save(tmp_path / "ids.json")
        api.apply_split(dataset, tmp_path / "ids.json")
        assert dataset.count_sample_tags() == {"mine": 4, "train": 2, "test": 2}
        evosplit.split(np.ones((4, 1), dtype=int), (2, 2), method="random").save(tmp_path / "numbers.json")
        with pytest.raises(EvoSplitError, match="the split names no files"):
            api.apply_split(dataset, tmp_path / "numbers.json")

    def test_manifest_of_another_dataset(self, fiftyone, api, new_dataset, tmp_path):
        """It stays, since its split may be kept nowhere else; that of the same dataset is replaced."""
        path = tmp_path / "split.json"
        one, other = (new_dataset(pictures(fiftyone, 4)) for _ in range(2))
        for dataset in (one, other):
            api.evosplit_fiftyone(dataset, (2, 2), **FAST)
        for _ in range(2):
            api.save_manifest(one, path)
        before = path.read_bytes()
        with pytest.raises(EvoSplitError, match=rf"holds a split of {one.name} \(fiftyone\), which would be lost"):
            api.save_manifest(other, path)
        assert path.read_bytes() == before

    def test_cannot_write(self, fiftyone, api, new_dataset, tmp_path):
        """A place that cannot be written is named."""
        dataset = new_dataset(pictures(fiftyone, 4))
        api.evosplit_fiftyone(dataset, (2, 2), **FAST)
        with pytest.raises(EvoSplitError, match=r"cannot write .*nowhere.*: the directory does not exist"):
            api.save_manifest(dataset, tmp_path / "nowhere" / "split.json")


class TestAudit:
    """Splits made by others."""

    def test_tags_and_field(self, fiftyone, api, new_dataset):
        """An existing split is measured like a new one; samples in no subset are left out."""
        import fiftyone.utils.random as four

        dataset = new_dataset(pictures(fiftyone, 40))
        four.random_split(dataset.limit(30), {"a": 0.5, "b": 0.5}, seed=0)
        audited = api.audit(dataset, names=["a", "b"], compare=False)
        assert audited.split.sizes == audited.report.sizes == (15, 15)
        assert "10 samples in none of the subsets were left out." in audited.split.notes
        split = api.evosplit_fiftyone(dataset, RATIOS, field="subset", **FAST)
        by_field = api.audit(dataset, field="subset", compare=False)
        assert by_field.split.names == split.names
        assert by_field.split.measures == split.measures
        assert by_field.leaks == ()

    def test_latest_split(self, fiftyone, api, new_dataset):
        """By default the latest recorded split is judged, else the usual tags that there are."""
        dataset = new_dataset(pictures(fiftyone, 20))
        dataset.limit(10).tag_samples("val")
        dataset.skip(10).tag_samples("train")
        assert api.audit(dataset, compare=False).split.names == ("train", "val")
        api.evosplit_fiftyone(dataset, folds=2, **FAST)
        assert api.audit(dataset, compare=False).split.names == ("fold0", "fold1")

    def test_leaks(self, fiftyone, api, new_dataset):
        """A sample in two subsets, a file of two samples and a group in two subsets leak."""
        samples = pictures(fiftyone, 12)
        for i, sample in enumerate(samples):
            sample.tags = ["train" if i < 6 else "test"]
            sample["clip"] = f"clip {i // 4}"
        samples[0].tags = ["train", "test"]
        samples[11].filepath = samples[1].filepath
        dataset = new_dataset(samples)
        told = api.audit(dataset, group_by="clip", effort="fast")
        shared = {leak.kind: leak.examples for leak in told.leaks}
        assert shared["sample id"] == (dataset.first().id,)
        assert shared["file"] == (dataset[dataset.values("id")[1]].filepath,)
        assert set(shared["group"]) == {"clip 0", "clip 1"}
        assert told.split.sizes == (6, 7)
        assert told.instead is not None

    @pytest.mark.parametrize(
        ("names", "field", "match"),
        [
            (["x"], None, "no sample of dataset .* carries one of the tags 'x'"),
            (None, None, "nothing says which tags of dataset .*; its tags: 'mine'"),
            (None, "nope", "has no field 'nope'"),
            (["mine"], None, "an audit compares subsets, but there is only 'mine'"),
        ],
    )
    def test_nothing_to_audit(self, fiftyone, api, new_dataset, names, field, match):
        """What is not there is named."""
        with pytest.raises(EvoSplitError, match=match):
            api.audit(new_dataset(pictures(fiftyone, 4)), names=names, field=field)

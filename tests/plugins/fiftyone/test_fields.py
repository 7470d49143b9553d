"""Groups, near duplicates, kept samples, strata, minima and weights at the FiftyOne api."""

from __future__ import annotations

import numpy as np
import pytest
from fiftyone_samples import box, boxes, check_whole, grouped, pictures, scenes

from evosplit import EvoSplitError, EvoSplitWarning

RATIOS = {"train": 0.5, "val": 0.25, "test": 0.25}
FAST = {"effort": "fast"}


@pytest.fixture(scope="module")
def many(fiftyone):
    """Give a dataset of scenes for tests that write nothing."""
    dataset = fiftyone.Dataset()
    samples = scenes(fiftyone)
    rng = np.random.default_rng(3)
    for i, sample in enumerate(samples):
        sample["pred"] = boxes(fiftyone, *rng.choice(["sign", "lamp"], size=2).tolist())
        sample["unique"] = f"id {i}"
    dataset.add_samples(samples)
    dataset.add_sample_field("session", fiftyone.ObjectIdField)
    dataset.set_values("session", [f"{patient:024d}" for patient in dataset.values("patient")])
    yield dataset
    assert dataset.count_sample_tags() == {}
    assert dataset.list_runs() == []
    dataset.delete()


class TestGroups:
    """Samples with the same value of a field."""

    @pytest.mark.parametrize("field", ["scene", "patient", "session", "day", "shot", "shot.label", "filepath"])
    def test_field(self, api, many, field):
        """Samples that share a string, integer, id, date, classification or folder never cross subsets."""
        split = api.evosplit_fiftyone(many, RATIOS, group_by=field, dry_run=True, **FAST)
        check_whole(split, many.values("scene"))
        assert split.sizes == (24, 12, 12)
        assert len(split.constraints.groups) == 12
        assert split.settings["group_by"] == [field]

    def test_uneven(self, fiftyone, api, new_dataset):
        """Where groups do not fit exactly, the sizes come as near as they can, and the best possible is told."""
        dataset = new_dataset([*scenes(fiftyone, 3, 5), *scenes(fiftyone, 1, 3, seed=1)])
        folders = [path.rsplit("/", 1)[0] for path in dataset.values("filepath")]
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), group_by="filepath", **FAST)
        check_whole(split, folders)
        assert sorted(split.sizes) == [8, 10]
        assert split.measures.ed == split.best_ed == 1
        assert dataset.count_sample_tags() == dict(zip(split.names, split.sizes, strict=True))

    def test_several_fields_are_linked(self, fiftyone, api, new_dataset):
        """With two fields, samples that either of them links stay together."""
        samples = pictures(fiftyone, 12)
        for i, sample in enumerate(samples):
            sample["video"] = str(i // 2)
            sample["patient"] = str(i // 4) if i % 4 in (1, 2) else None  # links two videos
        split = api.evosplit_fiftyone(new_dataset(samples), (8, 4), group_by=["video", "patient"], dry_run=True, **FAST)
        assert split.constraints.groups.sizes.tolist() == [4, 4, 4]
        assert split.constraints.groups.names[1] == "video=2, linked with video=3, patient=1"

    def test_value_of_two_fields(self, fiftyone, api, new_dataset):
        """The same value in two fields links nothing."""
        samples = pictures(fiftyone, 8)
        for i, sample in enumerate(samples):
            sample["video" if i < 4 else "patient"] = "1"
        split = api.evosplit_fiftyone(new_dataset(samples), (4, 4), group_by=["video", "patient"], dry_run=True, **FAST)
        assert split.constraints.groups.sizes.tolist() == [4, 4]

    def test_missing_values(self, fiftyone, api, new_dataset):
        """Samples without a value, or with an empty one, are on their own."""
        without = [*pictures(fiftyone, 6), *pictures(fiftyone, 4, seed=2, scene="")]
        dataset = new_dataset([*without, *pictures(fiftyone, 6, seed=1, scene="a")])
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), group_by="scene", dry_run=True, **FAST)
        check_whole(split, [scene or None for scene in dataset.values("scene")])
        assert sorted(split.constraints.groups.sizes.tolist()) == [1] * 10 + [6]
        assert split.report().effects.groups.total == 1

    def test_groups_of_slices(self, fiftyone, api, new_dataset):
        """In a grouped dataset a field keeps whole groups together, all their slices included."""
        dataset = grouped(fiftyone, new_dataset, 8)
        everything = dataset.select_group_slices(_allow_mixed=True)
        number = {group: i // 2 for i, group in enumerate(dict.fromkeys(everything.values("group.id")))}
        everything.set_values("place", [f"place {number[group]}" for group in everything.values("group.id")])
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), label_field="gt", group_by="place", **FAST)
        check_whole(split, [number[group] for group in split.sample_ids])
        assert everything.count_sample_tags() == {"train": 12, "test": 12}
        tags = {}
        for place, found in zip(*everything.values(["place", "tags"]), strict=True):
            tags.setdefault(place, set()).update(found)
        assert all(len(found) == 1 for found in tags.values())

    def test_patches(self, api, many):
        """A view of patches is grouped by the fields of its samples."""
        scene = dict(zip(*many.values(["id", "scene"]), strict=True))
        split = api.evosplit_fiftyone(many.to_patches("gt"), (0.5, 0.5), group_by="scene", dry_run=True, **FAST)
        check_whole(split, [scene[sample] for sample in split.sample_ids])

    @pytest.mark.parametrize(
        ("field", "match"),
        [
            ("nope", "group_by='nope' is no field of dataset .*; fields that can keep samples together: .*'scene'"),
            ("words", r"'words' .* that can keep samples together \(ListField\); fields that can: .*'scene'"),
            ("temperature", r"'temperature' .* that can keep samples together \(FloatField\)"),
            ("night", r"'night' .* that can keep .*\(BooleanField\)"),
            ("gt.detections.label", r"that can keep .*\(StringField, inside 'gt'\)"),
            ("frames.scene", "group_by='frames.scene' is no field"),
        ],
    )
    def test_refused(self, api, many, field, match):
        """A field that does not exist or cannot group is named, with those that can; nothing is written."""
        with pytest.raises(EvoSplitError, match=match):
            api.evosplit_fiftyone(many, RATIOS, group_by=field, **FAST)


class TestLocked:
    """Samples that stay where they are."""

    def test_whole_is_balanced(self, fiftyone, api, new_dataset):
        """Not one tagged sample moves, and the others make up for a lopsided old split."""
        dataset = new_dataset(pictures(fiftyone, 120))
        old = dataset.match(fiftyone.ViewField("gt.detections.label").contains("dog")).limit(20)
        old.tag_samples("test")
        kept = set(old.values("id"))
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), locked=["test"], **FAST)
        assert split.sizes == (60, 60)
        assert kept <= set(dataset.match_tags("test").values("id"))
        assert split.report().effects.moved == 0
        assert split.report().effects.locked == (0, 20)
        dogs = next(row for row in split.report().labels if row.label == "dog")
        assert abs(dogs.samples[0] - dogs.samples[1]) <= 2

    def test_overfilled(self, fiftyone, api, new_dataset):
        """A subset that holds too much already says by how much; the rest is shared out."""
        dataset = new_dataset(pictures(fiftyone, 40))
        dataset.limit(10).tag_samples("test")
        with pytest.warns(EvoSplitWarning, match="10 samples are locked into 'test', 6 more than the 4 asked for"):
            split = api.evosplit_fiftyone(dataset, {"train": 32, "val": 4, "test": 4}, locked=["test"], **FAST)
        assert "6 more than the 4 asked for" in " ".join(split.notes)
        assert split.sizes[2] == 10
        assert sum(split.sizes) == 40
        assert set(dataset.match_tags("test").values("id")) == set(dataset.limit(10).values("id"))

    def test_with_groups(self, fiftyone, api, new_dataset):
        """A group with a kept sample follows it."""
        dataset = new_dataset(scenes(fiftyone))
        dataset.limit(1).tag_samples("val")
        split = api.evosplit_fiftyone(dataset, RATIOS, locked=["val"], group_by="scene", **FAST)
        check_whole(split, dataset.values("scene"))
        assert set(dataset.limit(4).values("id")) <= set(dataset.match_tags("val").values("id"))

    def test_torn_group(self, fiftyone, api, new_dataset):
        """A group whose samples are kept in two subsets is named, and nothing is written."""
        dataset = new_dataset(scenes(fiftyone))
        dataset[:1].tag_samples("val")
        dataset[1:2].tag_samples("test")
        before = dataset.values("tags")
        with pytest.raises(EvoSplitError, match=r"locked into more than one subset \('scene 0'; .*'val' and 'test'"):
            api.evosplit_fiftyone(dataset, RATIOS, locked=["val", "test"], group_by="scene", **FAST)
        assert dataset.values("tags") == before

    def test_two_tags(self, fiftyone, api, new_dataset):
        """Samples in two subsets are named with their file."""
        dataset = new_dataset(scenes(fiftyone))
        dataset.limit(2).tag_samples(["val", "test"])
        with pytest.raises(EvoSplitError, match=r"\(/scenes/0/0-0.jpg\) is already in val and test, and 1 more"):
            api.evosplit_fiftyone(dataset, RATIOS, locked=["val", "test"], **FAST)


class TestStrata:
    """Fields to balance beside the labels."""

    @pytest.mark.parametrize(
        "fields", [["weather", "night", "patient"], ["weather.label", "temperature"], ["day", "pred"]]
    )
    def test_fields(self, api, many, fields):
        """Every kind of field becomes a stratum, which the split balances."""
        split = api.evosplit_fiftyone(many, (0.5, 0.5), stratify_by=fields, label_field="gt", dry_run=True, **FAST)
        assert [stratum.name for stratum in split.constraints.strata] == fields
        assert split.settings["stratify_by"] == fields
        at = split.front.objective_names.index("strata")
        assert split.front.objectives[split.chosen, at] < split.front.reference[at] / 2

    def test_missing_values(self, fiftyone, api, new_dataset):
        """Samples without a value are a category of their own."""
        dataset = new_dataset([*pictures(fiftyone, 10), *pictures(fiftyone, 10, seed=1, weather="rain")])
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), stratify_by="weather", **FAST)
        (stratum,) = split.constraints.strata
        assert stratum.counts.labels == ("missing", "rain")
        assert stratum.counts.matrix.sum(axis=0).tolist() == [10, 10]

    def test_slices(self, fiftyone, api, new_dataset):
        """Where the slices of a group differ, categories are counted and numbers averaged."""
        dataset = grouped(fiftyone, new_dataset, 6)
        everything = dataset.select_group_slices(_allow_mixed=True)
        everything.set_values("camera", everything.values("group.name"))
        everything.set_values("height", [float(i) for i in range(18)])
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), label_field="gt", stratify_by=["camera", "height"], **FAST)
        camera, height = split.constraints.strata
        assert camera.counts.labels == ("left", "right", "video")
        assert camera.counts.matrix.toarray().tolist() == [[1, 1, 1]] * 6
        assert height.counts.labels == tuple(sorted(str(float(3 * i + 1)) for i in range(6)))

    def sized(self, fiftyone, name, metadata=None):
        """Make a picture of this name with a small, a medium and a large cat, and a dog without a name or box."""
        cats = [fiftyone.Detection(label="cat", bounding_box=[0, 0, side, side]) for side in (0.04, 0.1, 0.5)]
        rest = [fiftyone.Detection(label=None, bounding_box=[0, 0, 1, 1])]
        gt = fiftyone.Detections(detections=cats + rest)
        return fiftyone.Sample(filepath=f"/{name}.jpg", gt=gt, metadata=metadata)

    def area(self, api, dataset, **options):
        """Give class × size and its counts for each sample, and the notes."""
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), stratify_by="area", **options, dry_run=True, **FAST)
        (stratum,) = split.constraints.strata
        dense = stratum.counts.matrix.toarray().tolist()
        rows = [{label: n for label, n in zip(stratum.counts.labels, row, strict=True) if n} for row in dense]
        return rows, " ".join(split.notes)

    def test_area_in_pixels(self, fiftyone, api, new_dataset):
        """With metadata, sizes are COCO's in pixels."""
        large = fiftyone.ImageMetadata(width=1000, height=1000)
        tiny = fiftyone.ImageMetadata(width=100, height=100)
        empty = [fiftyone.Sample(filepath=f"/{name}.jpg", gt=boxes(fiftyone)) for name in "cd"]  # of no known size
        dataset = new_dataset([self.sized(fiftyone, "a", large), self.sized(fiftyone, "b", tiny), *empty])
        rows, notes = self.area(api, dataset)
        assert rows == [{"cat large": 2, "cat medium": 1}, {"cat medium": 1, "cat small": 2}, {}, {}]
        assert "Box sizes" not in notes

    def test_area_by_share(self, fiftyone, api, new_dataset):
        """Where one picture's size is not known, the share of the picture decides for all, and that is said."""
        large = fiftyone.ImageMetadata(width=1000, height=1000)
        dataset = new_dataset([self.sized(fiftyone, "a", large), self.sized(fiftyone, "b")])
        rows, notes = self.area(api, dataset)
        assert rows == [{"cat large": 1, "cat medium": 1, "cat small": 1}] * 2
        assert "because 1 of 2 samples have no width and height; call dataset.compute_metadata()" in notes

    def test_area_of_frames_and_fields(self, fiftyone, api, new_dataset):
        """Boxes of frames, single detections and several fields are sized too."""
        fo = fiftyone
        videos = []
        for i in range(4):
            size = fo.VideoMetadata(frame_width=1000, frame_height=1000)
            video = fo.Sample(filepath=f"/{i}.mp4", metadata=size, main=box(fo, "dog") if i else None)
            video.frames[1] = fo.Frame(objects=boxes(fo, "cat", "cat"), one=box(fo, "car"))
            video.frames[2] = fo.Frame(objects=None, one=box(fo, None))
            videos.append(video)
        fields = ["main", "frames.objects", "frames.one"]
        rows, notes = self.area(api, new_dataset(videos), label_field=fields)
        frames = {"frames.objects/cat large": 2, "frames.one/car large": 1}
        assert rows == [frames, *[{**frames, "main/dog large": 1}] * 3]
        assert "Box sizes" not in notes

    def test_area_of_patches(self, fiftyone, api, new_dataset):
        """Patches are sized and counted for their samples."""
        dataset = new_dataset([self.sized(fiftyone, "a"), self.sized(fiftyone, "b")])
        rows, _ = self.area(api, dataset.to_patches("gt"))
        assert rows == [{"cat large": 1, "cat medium": 1, "cat small": 1}] * 2

    @pytest.mark.parametrize(
        ("fields", "label_field", "match"),
        [
            ("nope", "gt", "stratify_by='nope' is no field of dataset .*; fields that can be balanced: .*'weather'"),
            ("nope", "gt", "fields that can be balanced: .*'area'"),
            ("tags", "gt", r"stratify_by='tags' .* that can be balanced \(ListField\)"),
            ("gt", "gt", "stratify_by='gt': the labels of that field are spread already"),
            (["night", "night"], "gt", "repeats a name"),
            ("area", "weather", "'area' balances the sizes of boxes, but there are none in 'weather'"),
            ("unique", "gt", "'unique' has 48 different values in 48 samples"),
        ],
    )
    def test_refused(self, api, many, fields, label_field, match):
        """A field that cannot be balanced is named, and nothing is written."""
        with pytest.raises(EvoSplitError, match=match):
            api.evosplit_fiftyone(many, (0.5, 0.5), stratify_by=fields, label_field=label_field, **FAST)


class TestMinimaAndWeights:
    """What matters more."""

    def test_min_per_label(self, fiftyone, api, new_dataset):
        """Every subset gets so many samples of each label that has enough."""
        dataset = new_dataset(pictures(fiftyone, 60))
        split = api.evosplit_fiftyone(dataset, {"train": 0.8, "test": 0.2}, min_per_label=5, **FAST)
        assert all(min(row.samples) >= 5 for row in split.report().labels if sum(row.samples) >= 10)
        assert split.settings["min_per_label"] == 5

    def test_weights(self, fiftyone, api, new_dataset):
        """Weights reach the engine; an unknown label is named."""
        dataset = new_dataset(pictures(fiftyone, 30))
        split = api.evosplit_fiftyone(dataset, (0.5, 0.5), label_weights={"cat": 5}, **FAST)
        assert split.constraints.label_weights == {"cat": 5.0}
        with pytest.raises(EvoSplitError, match=r"label_weights= names the label 'cap'.*'cat'"):
            api.evosplit_fiftyone(dataset, (0.5, 0.5), label_weights={"cap": 5}, dry_run=True, **FAST)


class TestEverythingTogether:
    """Constraints combine, and the record keeps them."""

    @pytest.fixture
    def made(self, fiftyone, api, new_dataset):
        """Give a dataset and its split under all constraints at once."""
        dataset = new_dataset(scenes(fiftyone, 16))
        dataset.limit(4).tag_samples("test")
        split = api.evosplit_fiftyone(
            dataset,
            RATIOS,
            locked=["test"],
            group_by="scene",
            stratify_by=["weather", "temperature", "area"],
            min_per_label=2,
            label_weights={"dog": 3},
            **FAST,
        )
        return dataset, split

    def test_all_hold(self, made):
        """Groups are whole, nothing moved, sizes are exact, strata and minima are there."""
        dataset, split = made
        check_whole(split, dataset.values("scene"))
        assert set(dataset.limit(4).values("id")) <= set(split.ids("test"))
        assert split.sizes == (32, 16, 16)
        assert [stratum.name for stratum in split.constraints.strata] == ["weather", "temperature", "area"]
        assert split.report().effects.below_minimum == {}

    def test_every_trade_off_holds(self, made):
        """Groups and kept samples hold at every point of the front."""
        _, split = made
        for point in range(len(split.front)):
            other = split.pick(point)
            effects = other.report().effects
            assert (effects.groups.torn, effects.moved) == (0, 0)

    def test_record(self, made):
        """The record gives the same report, constraints included."""
        from evosplit_plugins.fiftyone_plugin import runs

        dataset, split = made
        again = runs.load_run(dataset).split
        assert again.report().to_dict() == split.report().to_dict()
        assert again.constraints.groups.names == split.constraints.groups.names
        assert again.best_ed == split.best_ed
        config = dataset.get_run_info(runs.run_keys(dataset)[0]).config
        assert config.settings["group_by"] == ["scene"]

    def test_undo_and_manifest(self, api, made, tmp_path):
        """Undo restores the kept tags alone; the manifest replays the split."""
        dataset, _ = made
        before = dataset.values("tags")
        api.save_manifest(dataset, tmp_path / "split.json")
        api.undo_split(dataset)
        assert dataset.count_sample_tags() == {"test": 4}
        api.apply_split(dataset, tmp_path / "split.json")
        assert dataset.values("tags") == before

"""Groups, near duplicates, kept samples, strata, minima and weights at the FiftyOne door."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fiftyone_samples import NAMES, box, boxes, grouped, pictures, scenes

from evosplit import EvoSplitError, EvoSplitWarning

RATIOS = {"train": 0.5, "val": 0.25, "test": 0.25}
FAST = {"effort": "fast"}


@pytest.fixture(scope="module")
def door(fiftyone):
    """Give the verbs of the door."""
    from evosplit_plugins.fiftyone_plugin import door

    return door


@pytest.fixture(scope="module")
def brain(fiftyone):
    """Give FiftyOne Brain."""
    import fiftyone.brain as fob

    return fob


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


def check_whole(split, groups):
    """Check that samples of one group are in one subset; `groups` gives one value per sample, None for no group."""
    places = {}
    for subset, group in zip(split.assignment.tolist(), groups, strict=True):
        if group is not None:
            places.setdefault(group, set()).add(subset)
    assert places
    assert all(len(place) == 1 for place in places.values())


def chains(vectors, threshold):
    """Cluster vectors the slow way: centred cosine distances, then one link after the other."""
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    cluster = list(range(len(vectors)))
    for i in range(len(vectors)):
        for j in range(i):
            if 1 - unit[i] @ unit[j] <= threshold:
                old, new = cluster[i], cluster[j]
                cluster = [new if c == old else c for c in cluster]
    return cluster


def near_copies(n=40, copies=3, noise=0.02, seed=0):
    """Give embeddings, where each of the first ones has a few near copies."""
    rng = np.random.default_rng(seed)
    originals = rng.normal(size=(n // (copies + 1), 16))
    vectors = np.repeat(originals, copies + 1, axis=0)
    return vectors + noise * rng.normal(size=vectors.shape)


class TestGroups:
    """Samples with the same value of a field."""

    @pytest.mark.parametrize("field", ["scene", "patient", "session", "day", "shot", "shot.label", "filepath"])
    def test_field(self, door, many, field):
        """Samples that share a string, integer, id, date, classification or folder never cross subsets."""
        split = door.make_split(many, RATIOS, group_field=field, **FAST)
        check_whole(split, many.values("scene"))
        assert split.sizes == (24, 12, 12)
        assert len(split.constraints.groups) == 12
        assert split.settings["group_field"] == [field]

    def test_uneven(self, fiftyone, door, new_dataset):
        """Where groups do not fit exactly, the sizes come as near as they can, and the best possible is told."""
        dataset = new_dataset([*scenes(fiftyone, 3, 5), *scenes(fiftyone, 1, 3, seed=1)])
        folders = [path.rsplit("/", 1)[0] for path in dataset.values("filepath")]
        split = door.evosplit_fiftyone(dataset, (0.5, 0.5), group_field="filepath", **FAST)
        check_whole(split, folders)
        assert sorted(split.sizes) == [8, 10]
        assert split.measures.ed == split.best_ed == 1
        assert dataset.count_sample_tags() == dict(zip(split.names, split.sizes, strict=True))

    def test_several_fields_are_linked(self, fiftyone, door, new_dataset):
        """With two fields, samples that either of them links stay together."""
        samples = pictures(fiftyone, 12)
        for i, sample in enumerate(samples):
            sample["video"] = str(i // 2)
            sample["patient"] = str(i // 4) if i % 4 in (1, 2) else None  # links two videos
        split = door.make_split(new_dataset(samples), (8, 4), group_field=["video", "patient"], **FAST)
        assert split.constraints.groups.sizes.tolist() == [4, 4, 4]
        assert split.constraints.groups.names[1] == "video=2, linked with video=3, patient=1"

    def test_value_of_two_fields(self, fiftyone, door, new_dataset):
        """The same value in two fields links nothing."""
        samples = pictures(fiftyone, 8)
        for i, sample in enumerate(samples):
            sample["video" if i < 4 else "patient"] = "1"
        split = door.make_split(new_dataset(samples), (4, 4), group_field=["video", "patient"], **FAST)
        assert split.constraints.groups.sizes.tolist() == [4, 4]

    def test_missing_values(self, fiftyone, door, new_dataset):
        """Samples without a value, or with an empty one, are on their own."""
        without = [*pictures(fiftyone, 6), *pictures(fiftyone, 4, seed=2, scene="")]
        dataset = new_dataset([*without, *pictures(fiftyone, 6, seed=1, scene="a")])
        split = door.make_split(dataset, (0.5, 0.5), group_field="scene", **FAST)
        check_whole(split, [scene or None for scene in dataset.values("scene")])
        assert sorted(split.constraints.groups.sizes.tolist()) == [1] * 10 + [6]
        assert split.report().effects.groups.n_groups == 1

    def test_groups_of_slices(self, fiftyone, door, new_dataset):
        """In a grouped dataset a field keeps whole groups together, all their slices included."""
        dataset = grouped(fiftyone, new_dataset, 8)
        everything = dataset.select_group_slices(_allow_mixed=True)
        number = {group: i // 2 for i, group in enumerate(dict.fromkeys(everything.values("group.id")))}
        everything.set_values("place", [f"place {number[group]}" for group in everything.values("group.id")])
        split = door.evosplit_fiftyone(dataset, (0.5, 0.5), label_field="gt", group_field="place", **FAST)
        check_whole(split, [number[group] for group in split.sample_ids])
        assert everything.count_sample_tags() == {"train": 12, "test": 12}
        tags = {}
        for place, found in zip(*everything.values(["place", "tags"]), strict=True):
            tags.setdefault(place, set()).update(found)
        assert all(len(found) == 1 for found in tags.values())

    def test_patches(self, door, many):
        """A view of patches is grouped by the fields of its samples."""
        scene = dict(zip(*many.values(["id", "scene"]), strict=True))
        split = door.make_split(many.to_patches("gt"), (0.5, 0.5), group_field="scene", **FAST)
        check_whole(split, [scene[sample] for sample in split.sample_ids])

    @pytest.mark.parametrize(
        ("field", "match"),
        [
            ("nope", "'nope' is no field of dataset .*; fields that can keep samples together: .*'scene'"),
            ("words", r"'words' .*\(ListField\) cannot keep samples together; fields that can: .*'scene'"),
            ("temperature", r"'temperature' .*\(FloatField\) cannot keep samples together"),
            ("night", r"'night' .*\(BooleanField\) cannot keep"),
            ("gt.detections.label", r"\(StringField, inside 'gt'\) cannot keep"),
            ("frames.scene", "'frames.scene' is no field"),
        ],
    )
    def test_refused(self, door, many, field, match):
        """A field that does not exist or cannot group is named, with those that can; nothing is written."""
        with pytest.raises(EvoSplitError, match=match):
            door.evosplit_fiftyone(many, RATIOS, group_field=field, **FAST)


class TestNearDuplicates:
    """What FiftyOne Brain finds."""

    THRESHOLD = 0.05

    @pytest.fixture
    def vectors(self):
        """Give the embeddings of 40 pictures, four of each motif."""
        return near_copies()

    @pytest.fixture
    def dataset(self, fiftyone, new_dataset):
        """Give 40 pictures."""
        return new_dataset(pictures(fiftyone, 40))

    def test_similarity_run(self, door, brain, dataset, vectors):
        """All samples that a chain of distances up to the threshold links are in one subset."""
        brain.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
        split = door.evosplit_fiftyone(
            dataset, (20, 20), near_duplicates="similar", duplicate_threshold=self.THRESHOLD, **FAST
        )
        clusters = chains(vectors, self.THRESHOLD)
        assert sorted(Counter(clusters).values()) == [4] * 10
        check_whole(split, clusters)
        assert split.sizes == (20, 20)
        assert len(split.constraints.groups) == 10
        assert split.settings["near_duplicates"] == "similar"
        assert split.settings["duplicate_threshold"] == self.THRESHOLD

    @pytest.mark.parametrize("metric", ["cosine", "euclidean"])
    def test_index(self, door, brain, dataset, vectors, metric):
        """The index of compute_near_duplicates brings its own threshold, and our clusters hold all it found."""
        index = brain.compute_similarity(dataset, embeddings=vectors, backend="sklearn", metric=metric)
        index.find_duplicates(thresh=self.THRESHOLD if metric == "cosine" else 0.4)
        split = door.evosplit_fiftyone(dataset, (20, 20), near_duplicates=index, **FAST)
        original = {str(other): str(first) for first, found in index.neighbors_map.items() for other, _ in found}
        assert original
        check_whole(split, [original.get(sample, sample) for sample in dataset.values("id")])

    def test_default_threshold(self, door, brain, dataset, vectors):
        """Without a threshold, that of FiftyOne Brain holds."""
        index = brain.compute_similarity(dataset, embeddings=vectors, backend="sklearn")
        split = door.make_split(dataset, (20, 20), near_duplicates=index, **FAST)
        clusters = chains(vectors, 0.2)
        assert len(split.constraints.groups) == len(set(clusters))
        check_whole(split, clusters)

    def test_chain(self, fiftyone, door, brain, new_dataset):
        """The ends of a chain stay together though they are far from each other."""
        angles = np.deg2rad([0, 10, 20, 30, 40, 180, 200, 220, 240, 260])
        dataset = new_dataset(pictures(fiftyone, 10))
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        brain.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
        split = door.evosplit_fiftyone(dataset, (5, 5), near_duplicates="similar", duplicate_threshold=0.02, **FAST)
        clusters = chains(vectors, 0.02)
        assert len(set(clusters[:5])) == 1
        check_whole(split, clusters)

    def test_exact_duplicates(self, fiftyone, door, brain, new_dataset, tmp_path):
        """Files with the same content stay together, as compute_exact_duplicates returns them."""
        samples = []
        for i in range(12):
            path = tmp_path / f"{i}.jpg"
            path.write_bytes(bytes([i % 4]) * 100)
            samples.append(fiftyone.Sample(filepath=str(path), gt=boxes(fiftyone, NAMES[i % 3])))
        dataset = new_dataset(samples)
        found = brain.compute_exact_duplicates(dataset, num_workers=1)
        split = door.evosplit_fiftyone(dataset, (6, 6), near_duplicates=found, **FAST)
        check_whole(split, [i % 4 for i in range(12)])
        assert split.sizes == (6, 6)
        without_originals = door.make_split(dataset.skip(4), (4, 4), near_duplicates=found, **FAST)
        assert without_originals.constraints.groups.sizes.tolist() == [2, 2, 2, 2]

    def test_field(self, door, brain, dataset, vectors):
        """A field with the id of each sample's original keeps them together, and more than one source adds up."""
        index = brain.compute_near_duplicates(dataset, threshold=self.THRESHOLD, embeddings=vectors)
        index.duplicates_view(id_field="original")
        dataset.set_values("video", [str(i // 8) for i in range(40)])
        split = door.evosplit_fiftyone(dataset, (24, 16), near_duplicates="original", group_field="video", **FAST)
        check_whole(split, dataset.values("original"))
        check_whole(split, dataset.values("video"))

    def test_part_of_the_samples(self, door, brain, dataset, vectors):
        """A run that knows only some samples says how many it does not know."""
        brain.compute_similarity(dataset.limit(36), embeddings=vectors[:36], brain_key="similar", backend="sklearn")
        split = door.evosplit_fiftyone(
            dataset, (20, 20), near_duplicates="similar", duplicate_threshold=self.THRESHOLD, **FAST
        )
        assert "4 samples are not in the similarity run 'similar'" in " ".join(split.notes)
        with pytest.raises(EvoSplitError, match="'similar' knows none of the samples"):
            door.make_split(dataset.skip(36), (2, 2), near_duplicates="similar", duplicate_threshold=0.1)

    def test_slices(self, fiftyone, door, brain, new_dataset):
        """Near duplicates in one slice of a grouped dataset keep their groups together."""
        dataset = grouped(fiftyone, new_dataset, 8)
        left = dataset.select_group_slices("left")
        vectors = near_copies(8, copies=1)
        brain.compute_similarity(left, embeddings=vectors, brain_key="similar", backend="sklearn")
        split = door.evosplit_fiftyone(
            dataset, (4, 4), label_field="gt", near_duplicates="similar", duplicate_threshold=0.05, **FAST
        )
        cluster = dict(zip(left.values("group.id"), chains(vectors, 0.05), strict=True))
        check_whole(split, [cluster[group] for group in split.sample_ids])
        assert not any("not in the similarity run" in note for note in split.notes)

    def test_blocks(self, fiftyone, monkeypatch):
        """Clusters do not depend on how many distances are computed at once."""
        from evosplit_plugins.fiftyone_plugin import duplicates

        vectors = near_copies(60, copies=2, noise=0.1)
        whole = duplicates.near_components(vectors, "cosine", 0.02)
        assert 1 < len(set(whole.tolist())) < 60
        monkeypatch.setattr(duplicates, "_DISTANCES_AT_ONCE", 200)
        assert duplicates.near_components(vectors, "cosine", 0.02).tolist() == whole.tolist()
        slow = chains(vectors, 0.02)
        assert len(set(zip(whole.tolist(), slow, strict=True))) == len(set(slow)) == len(set(whole.tolist()))

    def test_stopped(self, door, brain, dataset, vectors):
        """The comparison tells its progress and can be stopped; then nothing is written."""
        index = brain.compute_similarity(dataset, embeddings=vectors, backend="sklearn")
        told = []

        def stop(done, message):
            told.append(message)
            return message != "Looking for near duplicates"

        with pytest.raises(EvoSplitError, match="stopped while near duplicates were looked for"):
            door.evosplit_fiftyone(dataset, (20, 20), near_duplicates=index, on_progress=stop, **FAST)
        assert told[-1] == "Looking for near duplicates"
        assert dataset.count_sample_tags() == {"mine": 40}

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"near_duplicates": "nope"}, "near_duplicates='nope' is neither a similarity run nor a field .*'similar'"),
            ({"near_duplicates": "patches", "duplicate_threshold": 0.1}, "compares the patches in 'gt', not samples"),
            ({"near_duplicates": "similar", "duplicate_threshold": -1}, "duplicate_threshold=-1 is no distance"),
            ({"duplicate_threshold": 0.1}, "needs near_duplicates="),
            ({"near_duplicates": "filepath", "duplicate_threshold": 0.1}, "is a field.*leave the thresh"),
            ({"near_duplicates": {}, "duplicate_threshold": 0.1}, "says already which samples are duplicates"),
            ({"near_duplicates": 7}, "near_duplicates=7 holds none; give a brain key"),
            ({"near_duplicates": {"x": ["y"]}}, "knows none of the samples .*'x'"),
            ({"near_duplicates": "products", "duplicate_threshold": 0.1}, "compares by 'dotproduct'.*no distance"),
        ],
    )
    def test_refused(self, door, brain, dataset, vectors, options, match):
        """What cannot tell near duplicates is named with a remedy, and nothing is written."""
        brain.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
        brain.compute_similarity(
            dataset, embeddings=vectors, brain_key="products", backend="sklearn", metric="dotproduct"
        )
        patches = {p: np.ones(3) for p in dataset.to_patches("gt").values("id")}
        brain.compute_similarity(
            dataset, patches_field="gt", embeddings=patches, brain_key="patches", backend="sklearn"
        )
        with pytest.raises(EvoSplitError, match=match):
            door.evosplit_fiftyone(dataset, (20, 20), **options, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40}
        assert dataset.list_runs() == []


class TestKeep:
    """Samples that stay where they are."""

    def test_whole_is_balanced(self, fiftyone, door, new_dataset):
        """Not one tagged sample moves, and the others make up for a lopsided old split."""
        dataset = new_dataset(pictures(fiftyone, 120))
        old = dataset.match(fiftyone.ViewField("gt.detections.label").contains("dog")).limit(20)
        old.tag_samples("test")
        kept = set(old.values("id"))
        split = door.evosplit_fiftyone(dataset, (0.5, 0.5), keep=True, **FAST)
        assert split.sizes == (60, 60)
        assert kept <= set(dataset.match_tags("test").values("id"))
        assert split.report().effects.moved == 0
        assert split.report().effects.locked == (0, 20)
        dogs = next(row for row in split.report().labels if row.label == "dog")
        assert abs(dogs.images[0] - dogs.images[1]) <= 2

    def test_overfilled(self, fiftyone, door, new_dataset):
        """A subset that holds too much already says by how much; the rest is shared out."""
        dataset = new_dataset(pictures(fiftyone, 40))
        dataset.limit(10).tag_samples("test")
        with pytest.warns(EvoSplitWarning, match="10 samples are locked into 'test', 6 more than the 4 asked for"):
            split = door.evosplit_fiftyone(dataset, {"train": 32, "val": 4, "test": 4}, keep=True, **FAST)
        assert "6 more than the 4 asked for" in " ".join(split.notes)
        assert split.sizes[2] == 10
        assert sum(split.sizes) == 40
        assert set(dataset.match_tags("test").values("id")) == set(dataset.limit(10).values("id"))

    def test_with_groups(self, fiftyone, door, new_dataset):
        """A group with a kept sample follows it."""
        dataset = new_dataset(scenes(fiftyone))
        dataset.limit(1).tag_samples("val")
        split = door.evosplit_fiftyone(dataset, RATIOS, keep=True, group_field="scene", **FAST)
        check_whole(split, dataset.values("scene"))
        assert set(dataset.limit(4).values("id")) <= set(dataset.match_tags("val").values("id"))

    def test_torn_group(self, fiftyone, door, new_dataset):
        """A group whose samples are kept in two subsets is named, and nothing is written."""
        dataset = new_dataset(scenes(fiftyone))
        dataset[:1].tag_samples("val")
        dataset[1:2].tag_samples("test")
        before = dataset.values("tags")
        with pytest.raises(EvoSplitError, match=r"locked into more than one subset \('scene 0'; .*'val' and 'test'"):
            door.evosplit_fiftyone(dataset, RATIOS, keep=True, group_field="scene", **FAST)
        assert dataset.values("tags") == before

    def test_two_tags(self, fiftyone, door, new_dataset):
        """Samples in two subsets are named with their file."""
        dataset = new_dataset(scenes(fiftyone))
        dataset.limit(2).tag_samples(["val", "test"])
        with pytest.raises(EvoSplitError, match=r"\(/scenes/0/0-0.jpg\) is already in test and val, and 1 more"):
            door.evosplit_fiftyone(dataset, RATIOS, keep=True, **FAST)


class TestStrata:
    """Fields to balance beside the labels."""

    @pytest.mark.parametrize(
        "fields", [["weather", "night", "patient"], ["weather.label", "temperature"], ["day", "pred"]]
    )
    def test_fields(self, door, many, fields):
        """Every kind of field becomes a stratum, which the split balances."""
        split = door.make_split(many, (0.5, 0.5), strata_fields=fields, label_field="gt", **FAST)
        assert [stratum.name for stratum in split.constraints.strata] == fields
        assert split.settings["strata_fields"] == fields
        at = split.front.objective_names.index("strata")
        assert split.front.objectives[split.chosen, at] < split.front.reference[at] / 2

    def test_missing_values(self, fiftyone, door, new_dataset):
        """Samples without a value are a category of their own."""
        dataset = new_dataset([*pictures(fiftyone, 10), *pictures(fiftyone, 10, seed=1, weather="rain")])
        split = door.evosplit_fiftyone(dataset, (0.5, 0.5), strata_fields="weather", **FAST)
        (stratum,) = split.constraints.strata
        assert stratum.counts.labels == ("missing", "rain")
        assert stratum.counts.matrix.sum(axis=0).tolist() == [10, 10]

    def test_slices(self, fiftyone, door, new_dataset):
        """Where the slices of a group differ, categories are counted and numbers averaged."""
        dataset = grouped(fiftyone, new_dataset, 6)
        everything = dataset.select_group_slices(_allow_mixed=True)
        everything.set_values("camera", everything.values("group.name"))
        everything.set_values("height", [float(i) for i in range(18)])
        split = door.evosplit_fiftyone(
            dataset, (0.5, 0.5), label_field="gt", strata_fields=["camera", "height"], **FAST
        )
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

    def area(self, door, dataset, **options):
        """Give class × size and its counts for each sample, and the notes."""
        split = door.make_split(dataset, (0.5, 0.5), strata_fields="area", **options, **FAST)
        (stratum,) = split.constraints.strata
        dense = stratum.counts.matrix.toarray().tolist()
        rows = [{label: n for label, n in zip(stratum.counts.labels, row, strict=True) if n} for row in dense]
        return rows, " ".join(split.notes)

    def test_area_in_pixels(self, fiftyone, door, new_dataset):
        """With metadata, sizes are COCO's in pixels."""
        large = fiftyone.ImageMetadata(width=1000, height=1000)
        tiny = fiftyone.ImageMetadata(width=100, height=100)
        empty = [fiftyone.Sample(filepath=f"/{name}.jpg", gt=boxes(fiftyone)) for name in "cd"]  # of no known size
        dataset = new_dataset([self.sized(fiftyone, "a", large), self.sized(fiftyone, "b", tiny), *empty])
        rows, notes = self.area(door, dataset)
        assert rows == [{"cat large": 2, "cat medium": 1}, {"cat medium": 1, "cat small": 2}, {}, {}]
        assert "Box sizes" not in notes

    def test_area_by_share(self, fiftyone, door, new_dataset):
        """Where one picture's size is not known, the share of the picture decides for all, and that is said."""
        large = fiftyone.ImageMetadata(width=1000, height=1000)
        dataset = new_dataset([self.sized(fiftyone, "a", large), self.sized(fiftyone, "b")])
        rows, notes = self.area(door, dataset)
        assert rows == [{"cat large": 1, "cat medium": 1, "cat small": 1}] * 2
        assert "because 1 of 2 samples have no width and height; call dataset.compute_metadata()" in notes

    def test_area_of_frames_and_fields(self, fiftyone, door, new_dataset):
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
        rows, notes = self.area(door, new_dataset(videos), label_field=fields)
        frames = {"frames.objects/cat large": 2, "frames.one/car large": 1}
        assert rows == [frames, *[{**frames, "main/dog large": 1}] * 3]
        assert "Box sizes" not in notes

    def test_area_of_patches(self, fiftyone, door, new_dataset):
        """Patches are sized and counted for their samples."""
        dataset = new_dataset([self.sized(fiftyone, "a"), self.sized(fiftyone, "b")])
        rows, _ = self.area(door, dataset.to_patches("gt"))
        assert rows == [{"cat large": 1, "cat medium": 1, "cat small": 1}] * 2

    @pytest.mark.parametrize(
        ("fields", "label_field", "match"),
        [
            ("nope", "gt", "'nope' is no field of dataset .*; fields that can be balanced: .*'weather'.*'area'"),
            ("words", "gt", r"'words' .*\(ListField\) cannot be balanced"),
            ("gt", "gt", "the labels of 'gt' are spread already"),
            (["night", "night"], "gt", "repeats a field"),
            ("area", "weather", "'area' balances the sizes of boxes, but there are none in 'weather'"),
            ("unique", "gt", "'unique' has 48 different values in 48 samples"),
        ],
    )
    def test_refused(self, door, many, fields, label_field, match):
        """A field that cannot be balanced is named, and nothing is written."""
        with pytest.raises(EvoSplitError, match=match):
            door.evosplit_fiftyone(many, (0.5, 0.5), strata_fields=fields, label_field=label_field, **FAST)


class TestMinimaAndWeights:
    """What matters more."""

    def test_min_per_label(self, fiftyone, door, new_dataset):
        """Every subset gets so many samples of each label that has enough."""
        dataset = new_dataset(pictures(fiftyone, 60))
        split = door.evosplit_fiftyone(dataset, {"train": 0.8, "test": 0.2}, min_per_label=5, **FAST)
        assert all(min(row.samples) >= 5 for row in split.report().labels if sum(row.samples) >= 10)
        assert split.settings["min_per_label"] == 5

    def test_weights(self, fiftyone, door, new_dataset):
        """Weights reach the engine; an unknown label is named."""
        dataset = new_dataset(pictures(fiftyone, 30))
        split = door.evosplit_fiftyone(dataset, (0.5, 0.5), label_weights={"cat": 5}, **FAST)
        assert split.constraints.label_weights == {"cat": 5.0}
        with pytest.raises(EvoSplitError, match=r"label_weights= names the label 'cap'.*'cat'"):
            door.make_split(dataset, (0.5, 0.5), label_weights={"cap": 5}, **FAST)


class TestEverythingTogether:
    """Constraints combine, and the record keeps them."""

    @pytest.fixture
    def made(self, fiftyone, door, new_dataset):
        """Give a dataset and its split under all constraints at once."""
        dataset = new_dataset(scenes(fiftyone, 16))
        dataset.limit(4).tag_samples("test")
        split = door.evosplit_fiftyone(
            dataset,
            RATIOS,
            keep=True,
            group_field="scene",
            strata_fields=["weather", "temperature", "area"],
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
        config = dataset.get_run_info("evosplit_1").config
        assert config.settings["group_field"] == ["scene"]

    def test_undo_and_manifest(self, door, made, tmp_path):
        """Undo restores the kept tags alone; the manifest replays the split."""
        dataset, _ = made
        before = dataset.values("tags")
        door.save_manifest(dataset, tmp_path / "split.json")
        door.undo_split(dataset)
        assert dataset.count_sample_tags() == {"test": 4}
        door.apply_manifest(dataset, tmp_path / "split.json")
        assert dataset.values("tags") == before

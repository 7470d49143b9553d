"""The FiftyOne door from Python: every kind of label, view and media in, tags or a field out, and back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fiftyone_samples import NAMES, box, boxes, grouped, pictures

from evosplit import EvoSplitError, LabelCounts, Split

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
FAST = {"effort": "fast"}


@pytest.fixture(scope="module")
def door(fiftyone):
    """Give the verbs of the door."""
    from evosplit_plugins.fiftyone_plugin import door

    return door


def row(counts, i):
    """Give the labels of a row with their counts."""
    dense = counts.matrix[[i], :].toarray()[0]
    return {counts.labels[j]: int(n) for j, n in enumerate(dense) if n}


def split_tags(dataset, names):
    """Give the subset tags of each sample."""
    return [sorted(set(tags) & set(names)) for tags in dataset.values("tags")]


def label_kinds(fo):
    """List each label type with a value of two cats and a dog (or one cat), and what must be counted."""
    several = {"cat": 2, "dog": 1}
    return {
        "Classification": (fo.Classification(label="cat"), {"cat": 1}),
        "Classifications": (
            fo.Classifications(classifications=[fo.Classification(label=n) for n in ("cat", "dog", "cat")]),
            several,
        ),
        "Detection": (box(fo, "cat"), {"cat": 1}),
        "Detections": (boxes(fo, "cat", "dog", "cat"), several),
        "Polyline": (fo.Polyline(label="cat", points=[[[0, 0], [1, 1]]]), {"cat": 1}),
        "Polylines": (
            fo.Polylines(polylines=[fo.Polyline(label=n, points=[]) for n in ("cat", "dog", "cat")]),
            several,
        ),
        "Keypoint": (fo.Keypoint(label="cat", points=[[0.5, 0.5]]), {"cat": 1}),
        "Keypoints": (
            fo.Keypoints(keypoints=[fo.Keypoint(label=n, points=[]) for n in ("cat", "dog", "cat")]),
            several,
        ),
        "TemporalDetections": (
            fo.TemporalDetections(
                detections=[fo.TemporalDetection(label=n, support=[1, 2]) for n in ("cat", "dog", "cat")]
            ),
            several,
        ),
    }


KINDS = (
    "Classification",
    "Classifications",
    "Detection",
    "Detections",
    "Polyline",
    "Polylines",
    "Keypoint",
    "Keypoints",
    "TemporalDetections",
)


class TestReadCounts:
    """Labels in."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_label_type(self, fiftyone, door, new_dataset, kind):
        """Every label type is counted, a None label and a missing field count as nothing."""
        value, expected = label_kinds(fiftyone)[kind]
        nameless = value.copy()
        if kind.endswith("s"):
            for part in nameless[nameless._LABEL_LIST_FIELD]:
                part.label = None
        else:
            nameless.label = None
        suffix = "mp4" if kind == "TemporalDetections" else "jpg"
        dataset = new_dataset(
            [
                fiftyone.Sample(filepath=f"/a.{suffix}", gt=value),
                fiftyone.Sample(filepath=f"/b.{suffix}", gt=None),
                fiftyone.Sample(filepath=f"/c.{suffix}"),
                fiftyone.Sample(filepath=f"/d.{suffix}", gt=nameless),
            ]
        )
        counts = door.read_counts(dataset)
        assert counts.ids.tolist() == dataset.values("id")
        assert [row(counts, i) for i in range(4)] == [expected, {}, {}, {}]

    def test_frames_of_videos(self, fiftyone, door, new_dataset):
        """A video is one unit with the labels of all its frames."""
        fo = fiftyone
        videos = [fo.Sample(filepath=f"/{i}.mp4") for i in range(3)]
        videos[0].frames[1] = fo.Frame(objects=boxes(fo, "cat", "dog"), scene=fo.Classification(label="day"))
        videos[0].frames[2] = fo.Frame(objects=boxes(fo, "cat"))
        videos[1].frames[1] = fo.Frame(objects=None)
        dataset = new_dataset(videos)
        counts = door.read_counts(dataset, label_field="frames.objects")
        assert [row(counts, i) for i in range(3)] == [{"cat": 2, "dog": 1}, {}, {}]
        both = door.read_counts(dataset, label_field=["frames.objects", "frames.scene"])
        assert row(both, 0) == {"frames.objects/cat": 2, "frames.objects/dog": 1, "frames.scene/day": 1}

    def test_several_fields(self, fiftyone, door, new_dataset):
        """With several fields the same name in two of them is two labels."""
        sample = fiftyone.Sample(
            filepath="/a.jpg", gt=boxes(fiftyone, "cat"), kind=fiftyone.Classification(label="cat")
        )
        counts = door.read_counts(new_dataset([sample]), label_field=["gt", "kind"])
        assert row(counts, 0) == {"gt/cat": 1, "kind/cat": 1}

    def test_patches(self, fiftyone, door, new_dataset):
        """A patch counts for the sample that it was cut from."""
        dataset = new_dataset(pictures(fiftyone, 12))
        counts = door.read_counts(dataset.to_patches("gt"))
        whole = door.read_counts(dataset)
        wanted = {s: row(whole, i) for i, s in enumerate(whole.ids.tolist()) if row(whole, i)}
        assert {s: row(counts, i) for i, s in enumerate(counts.ids.tolist())} == wanted

    def test_groups(self, fiftyone, door, new_dataset):
        """A group is one unit with the labels of all its slices, whatever their media type."""
        dataset = grouped(fiftyone, new_dataset, 4)
        counts = door.read_counts(dataset, label_field=["gt", "frames.objects"])
        assert counts.n_samples == 4
        assert row(counts, 0) == {"gt/left": 1, "gt/right": 2, "frames.objects/car": 1}
        left = dataset.select_group_slices("left")
        assert door.read_counts(left).ids.tolist() == counts.ids.tolist()
        assert row(door.read_counts(left), 0) == {"left": 1}
        assert set(door.read_counts(left.to_patches("gt")).ids) == set(counts.ids)

    def test_filtered_view(self, fiftyone, door, new_dataset):
        """A view counts what it shows."""
        from fiftyone import ViewField as F

        dataset = new_dataset(pictures(fiftyone, 20))
        view = dataset.filter_labels("gt", F("label") == "dog", only_matches=True)
        counts = door.read_counts(view)
        assert counts.labels == ("dog",)
        assert counts.ids.tolist() == view.values("id")

    def test_likely_field(self, fiftyone, door, new_dataset):
        """Ground truth is taken before predictions, whatever comes first."""
        sample = fiftyone.Sample(
            filepath="/a.jpg", predictions=boxes(fiftyone, "x"), ground_truth=boxes(fiftyone, "cat")
        )
        assert door.read_counts(new_dataset([sample])).labels == ("cat",)

    @pytest.mark.parametrize(
        ("field", "match"),
        [
            ("nope", "'nope' is no label field of dataset .*: 'gt'"),
            ("mask", "'mask' is no label"),
            ([], "empty"),
        ],
    )
    def test_unknown_field(self, fiftyone, door, new_dataset, field, match):
        """A field that carries no labels is named, with those that do."""
        sample = fiftyone.Sample(
            filepath="/a.jpg", gt=boxes(fiftyone, "cat"), mask=fiftyone.Segmentation(mask_path="/m.png")
        )
        with pytest.raises(EvoSplitError, match=match):
            door.read_counts(new_dataset([sample]), label_field=field)

    def test_no_label_field(self, fiftyone, door, new_dataset):
        """A dataset without label fields is refused with the types that would do."""
        with pytest.raises(EvoSplitError, match="no field with labels; add one of Classification"):
            door.read_counts(new_dataset([fiftyone.Sample(filepath="/a.jpg")]))

    def test_nothing_in_view(self, fiftyone, door, new_dataset):
        """An empty view is refused."""
        with pytest.raises(EvoSplitError, match="nothing to split"):
            door.read_counts(new_dataset(pictures(fiftyone, 3)).skip(3))

    def test_dynamic_groups(self, fiftyone, door, new_dataset):
        """A view that groups samples on the fly is refused with a way out."""
        dataset = new_dataset([*pictures(fiftyone, 4, scene="a"), *pictures(fiftyone, 4, seed=1, scene="b")])
        with pytest.raises(EvoSplitError, match=r"group_by\(\).*use view.flatten"):
            door.read_counts(dataset.group_by("scene"))


class TestSplit:
    """Tags or a field out."""

    def test_tags(self, fiftyone, door, new_dataset):
        """Each sample gets one tag, sizes are exact, labels are spread, others' tags stay."""
        dataset = new_dataset(pictures(fiftyone, 60))
        split = door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        assert isinstance(split, Split)
        assert split.sizes == (36, 12, 12)
        assert dataset.count_sample_tags() == {"mine": 60, "train": 36, "val": 12, "test": 12}
        assert all(len(tags) == 1 for tags in split_tags(dataset, split.names))
        for name in split.names:
            assert set(dataset.match_tags(name).values("id")) == set(split.ids(name))
        assert split.measures.flz == 0
        assert split.measures.ld < split.report().random["ld"]

    def test_rerun_does_not_pile_up(self, fiftyone, door, new_dataset):
        """A second split replaces the tags of the first, also under other names; the user's tags stay."""
        dataset = new_dataset(pictures(fiftyone, 40))
        door.evosplit_fiftyone(dataset, folds=4, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40, "fold0": 10, "fold1": 10, "fold2": 10, "fold3": 10}
        door.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        door.evosplit_fiftyone(dataset, (0.5, 0.5), seed=1, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40, "train": 20, "test": 20}

    def test_foreign_split_tags_are_replaced(self, fiftyone, door, new_dataset):
        """Tags of the same names count as an earlier split, whoever wrote them."""
        import fiftyone.utils.random as four

        dataset = new_dataset(pictures(fiftyone, 40))
        four.random_split(dataset, RATIOS, seed=1)
        door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40, "train": 24, "val": 8, "test": 8}

    def test_only_the_view(self, fiftyone, door, new_dataset):
        """Samples outside the view keep what they have, also tags of the subsets' names."""
        dataset = new_dataset(pictures(fiftyone, 40))
        rest = dataset.skip(30)
        rest.tag_samples("train")
        door.evosplit_fiftyone(dataset.limit(30), (20, 10), **FAST)
        assert dataset.limit(30).count_sample_tags() == {"mine": 30, "train": 20, "test": 10}
        assert rest.count_sample_tags() == {"mine": 10, "train": 10}

    def test_field(self, fiftyone, door, new_dataset):
        """The subsets can go into a field, which is created; tags are not touched."""
        dataset = new_dataset(pictures(fiftyone, 40))
        door.evosplit_fiftyone(dataset, RATIOS, field="subset", **FAST)
        assert dataset.count_values("subset") == {"train": 24, "val": 8, "test": 8}
        assert dataset.count_sample_tags() == {"mine": 40}
        door.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", **FAST)
        assert dataset.count_values("subset") == {"train": 20, "test": 20}

    @pytest.mark.parametrize(
        ("field", "match"),
        [
            ("gt", "'gt' .* cannot hold subset names"),
            ("filepath", "'filepath' .* cannot hold"),
            ("a b", "'a b' is no name for a field"),
            ("_x", "'_x' is no name"),
            ("created_at", "read-only"),
        ],
    )
    def test_bad_field(self, fiftyone, door, new_dataset, field, match):
        """A field that cannot hold names is refused before the search."""
        dataset = new_dataset(pictures(fiftyone, 10))
        with pytest.raises(EvoSplitError, match=match):
            door.evosplit_fiftyone(dataset, (0.5, 0.5), field=field)
        assert dataset.list_runs() == []

    def test_keep(self, fiftyone, door, new_dataset):
        """What is in a subset stays, and the whole still has the sizes asked for."""
        dataset = new_dataset(pictures(fiftyone, 50))
        kept = {"train": dataset.limit(7).values("id"), "test": dataset.skip(47).values("id")}
        for name, ids in kept.items():
            dataset.select(ids).tag_samples(name)
        split = door.evosplit_fiftyone(dataset, RATIOS, keep=True, **FAST)
        assert split.sizes == (30, 10, 10)
        assert dataset.count_sample_tags() == {"mine": 50, "train": 30, "val": 10, "test": 10}
        for name, ids in kept.items():
            assert set(ids) <= set(dataset.match_tags(name).values("id"))
        assert len(split.front.assignments[0]) == 50
        assert split.report().sizes == (30, 10, 10)

    def test_keep_in_field(self, fiftyone, door, new_dataset):
        """Keeping works for a field as well."""
        dataset = new_dataset(pictures(fiftyone, 20))
        first = dataset.first()
        first["subset"] = "test"
        first.save()
        door.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", keep=True, **FAST)
        assert dataset.first()["subset"] == "test"
        assert dataset.count_values("subset") == {"train": 10, "test": 10}

    def test_values_of_others_are_not_replaced(self, fiftyone, door, new_dataset, tmp_path):
        """A field that EvoSplit did not write is refused before the search, unless asked for or nothing is lost."""
        dataset = new_dataset(pictures(fiftyone, 20, camera="left"))
        dataset.add_sample_field("empty", fiftyone.StringField)
        split = door.make_split(dataset, (0.5, 0.5), **FAST)
        split.save(tmp_path / "split.json")
        message = r"'camera' .* has 20 values that EvoSplit did not write \(first: 'left'\)"
        for write in (
            lambda: door.make_split(dataset, (0.5, 0.5), field="camera"),
            lambda: door.evosplit_fiftyone(dataset, (0.5, 0.5), field="camera", keep=True),
            lambda: door.apply_split(dataset, split, field="camera"),
            lambda: door.apply_manifest(dataset, tmp_path / "split.json", field="camera"),
        ):
            with pytest.raises(EvoSplitError, match=message):
                write()
        assert dataset.count_values("camera") == {"left": 20}
        assert dataset.list_runs() == []
        door.evosplit_fiftyone(dataset, (0.5, 0.5), field="empty", **FAST)
        door.evosplit_fiftyone(dataset.limit(10), (0.5, 0.5), field="camera", overwrite=True, **FAST)
        assert dataset.count_values("camera") == {"left": 10, "train": 5, "test": 5}
        door.evosplit_fiftyone(dataset.limit(10), (0.5, 0.5), field="camera", seed=1, **FAST)  # its own by now
        for _ in range(2):
            door.undo_split(dataset)
        assert dataset.count_values("camera") == {"left": 20}

    def test_keep_leaves_the_tags_of_earlier_splits(self, fiftyone, door, new_dataset):
        """Folds of the training samples leave them tagged so; undo takes the folds alone away."""
        dataset = new_dataset(pictures(fiftyone, 30))
        door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        before = dataset.values("tags")
        door.evosplit_fiftyone(dataset.match_tags("train"), folds=3, keep=True, **FAST)
        assert dataset.count_sample_tags() == {
            **{"mine": 30, "train": 18, "val": 6, "test": 6},
            **{f"fold{number}": 6 for number in range(3)},
        }
        door.undo_split(dataset)
        assert dataset.values("tags") == before

    def test_only_tags_that_evosplit_wrote_are_taken_away(self, fiftyone, door, new_dataset):
        """A user's tag stays, also one that EvoSplit wrote on other samples, or has taken away there before."""
        dataset = new_dataset(pictures(fiftyone, 40))
        inside, outside = dataset.limit(20), dataset.skip(20)
        outside.tag_samples("train")
        inside.limit(3).tag_samples("fold0")
        split = door.evosplit_fiftyone(inside, (0.5, 0.5), **FAST)
        before = dataset.values("tags")
        folds = door.evosplit_fiftyone(dataset, folds=4, **FAST)
        mine = {"fold0": len(set(folds.ids("fold0")) & set(inside.limit(3).values("id")))}  # there before, and stay
        assert set(dataset.match_tags("train").values("id")) == set(outside.values("id"))
        again = dataset.select(split.ids("train").tolist())
        again.tag_samples("train")
        door.evosplit_fiftyone(dataset, {"a": 20, "b": 20}, **FAST)
        expected = {"mine": 40, "train": 30, "a": 20, "b": 20, **{tag: n for tag, n in mine.items() if n}}
        assert dataset.count_sample_tags() == expected
        door.undo_split(dataset)
        again.untag_samples("train")
        door.undo_split(dataset)
        assert dataset.values("tags") == before

    def test_keep_leaves_one_subset_open(self, fiftyone, door, new_dataset):
        """Where only one subset has room, all others go there."""
        dataset = new_dataset(pictures(fiftyone, 20))
        dataset.limit(4).tag_samples("test")
        split = door.evosplit_fiftyone(dataset, {"train": 16, "test": 4}, keep=True, **FAST)
        assert split.sizes == (16, 4)
        assert len(dataset.match_tags("train")) == 16

    @pytest.mark.parametrize(
        ("tags", "match"),
        [
            ([("train", 0, 1), ("test", 0, 1)], "is already in test and train"),
            ([("train", 0, 16), ("test", 16, 20)], "every sample is already in one of the subsets"),
        ],
    )
    def test_keep_refused(self, fiftyone, door, new_dataset, tags, match):
        """Tags that cannot be kept are named with a way out, and nothing is written."""
        dataset = new_dataset(pictures(fiftyone, 20))
        for tag, start, end in tags:
            dataset[start:end].tag_samples(tag)
        before = dataset.values("tags")
        with pytest.raises(EvoSplitError, match=match):
            door.evosplit_fiftyone(dataset, {"train": 16, "test": 4}, keep=True, **FAST)
        assert dataset.values("tags") == before

    def test_groups_stay_whole(self, fiftyone, door, new_dataset):
        """All slices of a group get the group's tag, also when only one slice was viewed."""
        dataset = grouped(fiftyone, new_dataset, 10)
        for samples in (dataset, dataset.select_group_slices("right")):
            split = door.evosplit_fiftyone(samples, (0.5, 0.5), label_field="gt", **FAST)
            assert split.sizes == (5, 5)
            everything = dataset.select_group_slices(_allow_mixed=True)
            assert everything.count_sample_tags() == {"train": 15, "test": 15}
            subset = dict(zip(split.sample_ids, np.array(split.names)[split.assignment], strict=True))
            for group, tags in zip(*everything.values(["group.id", "tags"]), strict=True):
                assert tags == [subset[group]]
        door.undo_split(dataset)
        door.undo_split(dataset)
        assert everything.count_sample_tags() == {}

    def test_group_into_field(self, fiftyone, door, new_dataset):
        """A field is written and taken back on all slices too."""
        dataset = grouped(fiftyone, new_dataset, 6)
        door.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", **FAST)
        everything = dataset.select_group_slices(_allow_mixed=True)
        assert everything.count_values("subset") == {"train": 9, "test": 9}
        door.undo_split(dataset)
        assert dataset.get_field("subset") is None

    def test_patches_tag_their_samples(self, fiftyone, door, new_dataset):
        """Splitting a patches view tags the samples behind the patches."""
        dataset = new_dataset(pictures(fiftyone, 30))
        patches = dataset.to_patches("gt")
        split = door.evosplit_fiftyone(patches, (0.5, 0.5), **FAST)
        assert sum(split.sizes) == len(set(patches.values("sample_id")))
        for name in split.names:
            assert set(dataset.match_tags(name).values("id")) == set(split.ids(name))

    def test_videos(self, fiftyone, door, new_dataset):
        """Videos are tagged as wholes by the labels of their frames."""
        fo = fiftyone
        videos = [fo.Sample(filepath=f"/{i}.mp4") for i in range(12)]
        for i, video in enumerate(videos):
            video.frames[1] = fo.Frame(objects=boxes(fo, NAMES[i % 3]))
        dataset = new_dataset(videos)
        split = door.evosplit_fiftyone(dataset, (0.5, 0.5), label_field="frames.objects", **FAST)
        assert dataset.count_sample_tags() == {"train": 6, "test": 6}
        assert split.measures.ld == pytest.approx(0)

    def test_same_seed_same_split(self, fiftyone, door, new_dataset):
        """The seed fixes the split."""
        dataset = new_dataset(pictures(fiftyone, 30))
        first = door.evosplit_fiftyone(dataset, RATIOS, seed=5, **FAST)
        assert (door.evosplit_fiftyone(dataset, RATIOS, seed=5, **FAST).assignment == first.assignment).all()

    def test_progress_is_told(self, fiftyone, door, new_dataset):
        """Progress rises from 0 to 1."""
        told = []
        dataset = new_dataset(pictures(fiftyone, 20))
        door.evosplit_fiftyone(dataset, RATIOS, on_progress=lambda done, message: told.append(done), **FAST)
        assert told == sorted(told)
        assert (told[0], told[-1]) == (0.0, 1.0)

    def test_null_tags(self, fiftyone, door, new_dataset):
        """Samples whose tags are null in the database are tagged all the same."""
        dataset = new_dataset(pictures(fiftyone, 10))
        dataset.set_values("tags", [None] * 10)
        door.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        assert dataset.count_sample_tags() == {"train": 5, "test": 5}

    @pytest.mark.parametrize(
        ("ratios", "options", "match"),
        [
            ({"train": 0.7, "val": 0.2}, {}, "sum to 0.9, not to 1"),
            (None, {}, "give either ratios"),
            (RATIOS, {"folds": 3}, "give either ratios"),
            ((0.5, 0.5), {"effort": "extreme"}, "effort='extreme' is unknown"),
        ],
    )
    def test_bad_request(self, fiftyone, door, new_dataset, ratios, options, match):
        """A request that makes no sense changes nothing."""
        dataset = new_dataset(pictures(fiftyone, 10))
        with pytest.raises(EvoSplitError, match=match):
            door.evosplit_fiftyone(dataset, ratios, **options)
        assert dataset.count_sample_tags() == {"mine": 10}
        assert dataset.list_runs() == []

    def test_lazy_name(self, fiftyone):
        """The convenience is exported where its users look for it."""
        import evosplit_plugins
        from evosplit_plugins.fiftyone_plugin import evosplit_fiftyone

        assert evosplit_plugins.evosplit_fiftyone is evosplit_fiftyone

    def test_failure_while_writing(self, fiftyone, door, new_dataset, monkeypatch):
        """When writing breaks off half-way, the tags are put back and no record stays."""
        from evosplit_plugins.fiftyone_plugin import tags

        dataset = new_dataset(pictures(fiftyone, 20))
        dataset.limit(5).tag_samples("train")
        before = dataset.values("tags")
        real = tags._set
        calls = []

        def half(target, path, changes):
            calls.append(path)
            if len(calls) == 1:
                real(target, path, dict(list(changes.items())[: len(changes) // 2]))
                raise ConnectionError("the database went away")
            real(target, path, changes)

        monkeypatch.setattr(tags, "_set", half)
        with pytest.raises(ConnectionError):
            door.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        assert dataset.values("tags") == before
        assert dataset.list_runs() == []


class TestUndo:
    """The way back."""

    def test_restores_tags(self, fiftyone, door, new_dataset):
        """Tags are back exactly, order included, one split at a time."""
        dataset = new_dataset(pictures(fiftyone, 30))
        dataset.limit(10).set_values("tags", [["train", "mine", "x"]] * 10)
        states = [dataset.values("tags")]
        for seed in (1, 2):
            door.evosplit_fiftyone(dataset, (0.5, 0.5), seed=seed, **FAST)
            states.append(dataset.values("tags"))
        assert states[1] != states[2]
        for state in (states[1], states[0]):
            door.undo_split(dataset)
            assert dataset.values("tags") == state
        with pytest.raises(EvoSplitError, match="no split by EvoSplit is recorded"):
            door.undo_split(dataset)

    def test_keeps_later_edits(self, fiftyone, door, new_dataset):
        """Tags that the user added or removed after the split stay so."""
        dataset = new_dataset(pictures(fiftyone, 10))
        dataset.tag_samples("old")
        door.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        dataset.tag_samples("new")
        dataset.untag_samples("old")
        dataset.delete_samples([dataset.first().id])
        door.undo_split(dataset)
        assert dataset.count_sample_tags() == {"mine": 9, "new": 9}

    def test_restores_field(self, fiftyone, door, new_dataset):
        """Earlier values of a field come back; a created field goes, unless somebody else used it."""
        dataset = new_dataset(pictures(fiftyone, 10, subset="by hand"))
        door.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", overwrite=True, **FAST)
        door.undo_split(dataset)
        assert dataset.count_values("subset") == {"by hand": 10}
        door.evosplit_fiftyone(dataset.limit(6), (0.5, 0.5), field="other", **FAST)
        last = dataset.last()
        last["other"] = "note"
        last.save()
        door.undo_split(dataset)
        assert dataset.count_values("other") == {None: 9, "note": 1}

    def test_record_survives_another_process(self, fiftyone, door, new_dataset):
        """The record holds the whole split: front, counts and measures are as they were."""
        from evosplit_plugins.fiftyone_plugin import runs

        dataset = new_dataset(pictures(fiftyone, 30))
        split = door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        run = runs.load_run(dataset)
        assert run.key in dataset.list_runs()
        assert dataset.get_run_info(run.key).config.method == "evosplit"
        assert run.label_fields == ("gt",)
        again = run.split
        assert (again.front.assignments == split.front.assignments).all()
        assert (again.front.objectives == split.front.objectives).all()
        assert again.chosen == split.chosen
        assert again.report().to_dict() == split.report().to_dict()
        assert (again.counts.matrix != split.counts.matrix).nnz == 0
        with pytest.raises(EvoSplitError, match="'evosplit_9' is no recorded split"):
            runs.load_run(dataset, "evosplit_9")


class TestManifest:
    """Save and replay."""

    def test_round_trip(self, fiftyone, door, new_dataset, tmp_path):
        """A saved split gives the same tags again, and says where it came from."""
        dataset = new_dataset(pictures(fiftyone, 20))
        split = door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        before = dataset.values("tags")
        path = tmp_path / "split.json"
        door.save_manifest(dataset, path)
        door.undo_split(dataset)
        replayed = door.apply_manifest(dataset, path)
        assert dataset.values("tags") == before
        assert replayed.measures == split.measures
        source = json.loads(path.read_text())["source"]
        assert (source["inputs"], source["reading"]["label_field"]) == ([dataset.name], ["gt"])

    def test_other_database(self, fiftyone, door, new_dataset, tmp_path):
        """Where the ids are others, samples are found by path, or by name in another folder."""
        dataset = new_dataset(pictures(fiftyone, 20))
        door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        path = tmp_path / "split.json"
        door.save_manifest(dataset, path)
        subset = {s.filename: s.tags[-1] for s in dataset}
        for folder in ("/pictures", "C:\\elsewhere"):
            copies = [fiftyone.Sample(filepath=f"{folder}/{s.filename}", gt=s.gt.copy()) for s in dataset]
            other = new_dataset(reversed(copies))
            split = door.apply_manifest(other, path, field="subset")
            assert {s.filename: s["subset"] for s in other} == subset
            assert split.counts is not None

    def test_other_data(self, fiftyone, door, new_dataset, tmp_path):
        """A manifest of other data is refused, and nothing is written."""
        dataset = new_dataset(pictures(fiftyone, 20))
        door.evosplit_fiftyone(dataset, RATIOS, **FAST)
        path = tmp_path / "split.json"
        door.save_manifest(dataset, path)
        other = new_dataset(pictures(fiftyone, 20, seed=7))
        with pytest.raises(EvoSplitError, match="by file name, 20 names are not in the split"):
            door.apply_manifest(other, path)
        fewer = dataset.limit(15)
        with pytest.raises(EvoSplitError, match="5 ids of the split are missing"):
            door.apply_manifest(fewer, path)
        assert other.count_sample_tags() == {"mine": 20}
        with pytest.raises(EvoSplitError, match="nothing to replay on"):
            door.apply_manifest(dataset.skip(20), path)

    def test_foreign_manifest(self, fiftyone, door, new_dataset, tmp_path):
        """A manifest of another door with FiftyOne's ids is replayed; with foreign ids it is refused."""
        import evosplit

        dataset = new_dataset(pictures(fiftyone, 4))
        counts = LabelCounts(np.ones((4, 1), dtype=int), ids=dataset.values("id"))
        evosplit.split(counts, (2, 2), method="random").save(tmp_path / "ids.json")
        door.apply_manifest(dataset, tmp_path / "ids.json")
        assert dataset.count_sample_tags() == {"mine": 4, "train": 2, "test": 2}
        evosplit.split(np.ones((4, 1), dtype=int), (2, 2), method="random").save(tmp_path / "numbers.json")
        with pytest.raises(EvoSplitError, match="the split names no files"):
            door.apply_manifest(dataset, tmp_path / "numbers.json")

    def test_cannot_write(self, fiftyone, door, new_dataset, tmp_path):
        """A place that cannot be written is named."""
        dataset = new_dataset(pictures(fiftyone, 4))
        door.evosplit_fiftyone(dataset, (2, 2), **FAST)
        with pytest.raises(EvoSplitError, match=r"cannot write .*nowhere.*: the directory does not exist"):
            door.save_manifest(dataset, tmp_path / "nowhere" / "split.json")


class TestAudit:
    """Splits made by others."""

    def test_tags_and_field(self, fiftyone, door, new_dataset):
        """An existing split is measured like a new one; samples in no subset are left out."""
        import fiftyone.utils.random as four

        dataset = new_dataset(pictures(fiftyone, 40))
        four.random_split(dataset.limit(30), {"a": 0.5, "b": 0.5}, seed=0)
        audited = door.audit_split(dataset, ["a", "b"])
        assert audited.sizes == (15, 15)
        assert audited.report().sizes == (15, 15)
        split = door.evosplit_fiftyone(dataset, RATIOS, field="subset", **FAST)
        by_field = door.audit_split(dataset, field="subset")
        assert dict(zip(by_field.names, by_field.sizes, strict=True)) == {"train": 24, "val": 8, "test": 8}
        ordered = door.audit_split(dataset, list(split.names), field="subset")
        assert ordered.measures == split.measures

    @pytest.mark.parametrize(
        ("names", "field", "match"),
        [
            (["x"], None, "no sample of dataset .* carries one of the tags 'x'"),
            (None, None, "no split by EvoSplit is recorded"),
            (None, "nope", "has no field 'nope'"),
        ],
    )
    def test_nothing_to_audit(self, fiftyone, door, new_dataset, names, field, match):
        """What is not there is named."""
        with pytest.raises(EvoSplitError, match=match):
            door.audit_split(new_dataset(pictures(fiftyone, 4)), names, field=field)

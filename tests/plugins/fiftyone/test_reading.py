"""Labels of every kind, view and media, counted for each sample."""

from __future__ import annotations

import pytest
from fiftyone_samples import box, boxes, grouped, pictures, row

from evosplit import EvoSplitError


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
    def test_label_type(self, fiftyone, api, new_dataset, kind):
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
        counts = api.read_counts(dataset)
        assert counts.ids.tolist() == dataset.values("id")
        assert [row(counts, i) for i in range(4)] == [expected, {}, {}, {}]

    def test_frames_of_videos(self, fiftyone, api, new_dataset):
        """A video is one unit with the labels of all its frames."""
        fo = fiftyone
        videos = [fo.Sample(filepath=f"/{i}.mp4") for i in range(3)]
        videos[0].frames[1] = fo.Frame(objects=boxes(fo, "cat", "dog"), scene=fo.Classification(label="day"))
        videos[0].frames[2] = fo.Frame(objects=boxes(fo, "cat"))
        videos[1].frames[1] = fo.Frame(objects=None)
        dataset = new_dataset(videos)
        counts = api.read_counts(dataset, label_field="frames.objects")
        assert [row(counts, i) for i in range(3)] == [{"cat": 2, "dog": 1}, {}, {}]
        both = api.read_counts(dataset, label_field=["frames.objects", "frames.scene"])
        assert row(both, 0) == {"frames.objects/cat": 2, "frames.objects/dog": 1, "frames.scene/day": 1}

    def test_several_fields(self, fiftyone, api, new_dataset):
        """With several fields the same name in two of them is two labels."""
        sample = fiftyone.Sample(
            filepath="/a.jpg", gt=boxes(fiftyone, "cat"), kind=fiftyone.Classification(label="cat")
        )
        counts = api.read_counts(new_dataset([sample]), label_field=["gt", "kind"])
        assert row(counts, 0) == {"gt/cat": 1, "kind/cat": 1}

    def test_patches(self, fiftyone, api, new_dataset):
        """A patch counts for the sample that it was cut from."""
        dataset = new_dataset(pictures(fiftyone, 12))
        counts = api.read_counts(dataset.to_patches("gt"))
        whole = api.read_counts(dataset)
        wanted = {s: row(whole, i) for i, s in enumerate(whole.ids.tolist()) if row(whole, i)}
        assert {s: row(counts, i) for i, s in enumerate(counts.ids.tolist())} == wanted

    def test_groups(self, fiftyone, api, new_dataset):
        """A group is one unit with the labels of all its slices, whatever their media type."""
        dataset = grouped(fiftyone, new_dataset, 4)
        counts = api.read_counts(dataset, label_field=["gt", "frames.objects"])
        assert counts.n_samples == 4
        assert row(counts, 0) == {"gt/left": 1, "gt/right": 2, "frames.objects/car": 1}
        left = dataset.select_group_slices("left")
        assert api.read_counts(left).ids.tolist() == counts.ids.tolist()
        assert row(api.read_counts(left), 0) == {"left": 1}
        assert set(api.read_counts(left.to_patches("gt")).ids) == set(counts.ids)

    def test_some_rows_at_a_time(self, fiftyone, api, new_dataset, monkeypatch):
        """However many rows are in memory at once, the counts are the same; a unit may have rows in several chunks."""
        import numpy as np

        from evosplit_plugins.fiftyone_plugin import reading

        dataset = new_dataset(pictures(fiftyone, 20))
        cases = [(dataset, ["gt"]), (dataset.to_patches("gt"), ["gt"])]
        cases.append((grouped(fiftyone, new_dataset, 4), ["gt", "frames.objects"]))
        masked = new_dataset(pictures(fiftyone, 7))
        masks = [np.array([[i % 3, 2]], dtype=np.uint8) for i in range(7)]
        masked.set_values("seg", [fiftyone.Segmentation(mask=mask) for mask in masks])
        cases.append((masked, ["gt", "seg"]))
        at_once = [api.read_counts(samples, label_field=fields) for samples, fields in cases]
        monkeypatch.setattr(reading, "_AT_ONCE", 3)
        monkeypatch.setattr(reading, "_MASKS_AT_ONCE", 3)
        for (samples, fields), wanted in zip(cases, at_once, strict=True):
            counts = api.read_counts(samples, label_field=fields)
            assert counts.ids.tolist() == wanted.ids.tolist()
            assert counts.labels == wanted.labels
            assert counts.matrix.toarray().tolist() == wanted.matrix.toarray().tolist()

    @pytest.mark.parametrize("kind", ["whole", "view", "patches", "grouped", "masks"])
    def test_progress(self, fiftyone, api, new_dataset, monkeypatch, kind):
        """The progress grows with the rows that were read, from 0 to 1; it changes nothing."""
        import numpy as np

        from evosplit_plugins.fiftyone_plugin import reading

        monkeypatch.setattr(reading, "_AT_ONCE", 3)
        monkeypatch.setattr(reading, "_MASKS_AT_ONCE", 3)
        made = grouped(fiftyone, new_dataset, 6) if kind == "grouped" else new_dataset(pictures(fiftyone, 12))
        mask = fiftyone.Segmentation(mask=np.array([[1, 2]], dtype=np.uint8))
        if kind == "masks":
            made.set_values("seg", [mask] * 12)
        samples = made.skip(3) if kind == "view" else made.to_patches("gt") if kind == "patches" else made
        fields, seen = "seg" if kind == "masks" else "gt", []
        told = api.read_counts(samples, label_field=fields, on_progress=lambda *each: seen.append(each))
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert (seen[0][0], seen[-1][0]) == (0.0, 1.0)
        assert len({done for done, _ in seen}) > 3
        assert all(message for _, message in seen)
        counts = api.read_counts(samples, label_field=fields)
        assert told.ids.tolist() == counts.ids.tolist()
        assert (told.matrix != counts.matrix).nnz == 0

    def test_filtered_view(self, fiftyone, api, new_dataset):
        """A view counts what it shows."""
        from fiftyone import ViewField as F

        dataset = new_dataset(pictures(fiftyone, 20))
        view = dataset.filter_labels("gt", F("label") == "dog", only_matches=True)
        counts = api.read_counts(view)
        assert counts.labels == ("dog",)
        assert counts.ids.tolist() == view.values("id")

    def test_likely_field(self, fiftyone, api, new_dataset):
        """Ground truth is taken before predictions, whatever comes first."""
        sample = fiftyone.Sample(
            filepath="/a.jpg", predictions=boxes(fiftyone, "x"), ground_truth=boxes(fiftyone, "cat")
        )
        assert api.read_counts(new_dataset([sample])).labels == ("cat",)

    @pytest.mark.parametrize(
        ("field", "match"),
        [
            ("nope", "'nope' is no label field of dataset .*: 'gt'"),
            ("place", "'place' is no label"),
        ],
    )
    def test_unknown_field(self, fiftyone, api, new_dataset, field, match):
        """A field that carries no labels is named, with those that do."""
        sample = fiftyone.Sample(filepath="/a.jpg", gt=boxes(fiftyone, "cat"), place=fiftyone.GeoLocation(point=[1, 2]))
        with pytest.raises(EvoSplitError, match=match):
            api.read_counts(new_dataset([sample]), label_field=field)

    def test_no_label_field(self, fiftyone, api, new_dataset):
        """A dataset without label fields is refused with the types that would do."""
        with pytest.raises(EvoSplitError, match=r"no field with labels \(Classification, .*; add one"):
            api.read_counts(new_dataset([fiftyone.Sample(filepath="/a.jpg")]))
        with pytest.raises(EvoSplitError, match="name one of 'place', or split without labels"):
            api.read_counts(new_dataset([fiftyone.Sample(filepath="/a.jpg", place="here")]))

    def test_texts(self, fiftyone, api, new_dataset):
        """Strings and lists of strings are labels when they are asked for."""
        samples = [
            fiftyone.Sample(filepath=f"/{i}.jpg", kind=kind, words=words)
            for i, (kind, words) in enumerate([("cat", ["a", "b", "a"]), ("dog", []), (None, None)])
        ]
        counts = api.read_counts(new_dataset(samples), label_field=["kind", "words"])
        assert counts.labels == ("kind/cat", "kind/dog", "words/a", "words/b")
        assert counts.matrix.toarray().tolist() == [[1, 0, 2, 1], [0, 1, 0, 0], [0, 0, 0, 0]]

    def test_without_labels(self, fiftyone, api, new_dataset):
        """An empty list of label fields balances the strata alone; without any of these it is refused."""
        samples = [fiftyone.Sample(filepath=f"/{i}.jpg", night=i % 4 == 0) for i in range(40)]
        dataset = new_dataset(samples)
        api.evosplit_fiftyone(dataset, (0.5, 0.5), label_field=[], stratify_by="night", effort="fast")
        assert dataset.match_tags("train").count_values("night") == {True: 5, False: 15}
        with pytest.raises(EvoSplitError, match="neither labels nor anything else"):
            api.evosplit_fiftyone(dataset, (0.5, 0.5), label_field=[])

    def test_nothing_in_view(self, fiftyone, api, new_dataset):
        """An empty view is refused."""
        with pytest.raises(EvoSplitError, match="nothing to split"):
            api.read_counts(new_dataset(pictures(fiftyone, 3)).skip(3))

    def test_dynamic_groups(self, fiftyone, api, new_dataset):
        """A view that groups samples on the fly is refused with a way out."""
        dataset = new_dataset([*pictures(fiftyone, 4, scene="a"), *pictures(fiftyone, 4, seed=1, scene="b")])
        with pytest.raises(EvoSplitError, match=r"group_by\(\).*use view.flatten"):
            api.read_counts(dataset.group_by("scene"))

"""Near duplicates as FiftyOne Brain tells them: they never cross subsets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fiftyone_samples import NAMES, boxes, check_whole, grouped, pictures

from evosplit import EvoSplitError

FAST = {"effort": "fast"}


@pytest.fixture(scope="module")
def brain(fiftyone):
    """Give FiftyOne Brain."""
    import fiftyone.brain as fob

    return fob


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

    def test_similarity_run(self, api, brain, dataset, vectors):
        """All samples that a chain of distances up to the threshold links are in one subset."""
        brain.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
        split = api.evosplit_fiftyone(
            dataset, (20, 20), near_duplicates="similar", duplicate_threshold=self.THRESHOLD, **FAST
        )
        clusters = chains(vectors, self.THRESHOLD)
        assert sorted(Counter(clusters).values()) == [4] * 10
        check_whole(split, clusters)
        assert split.sizes == (20, 20)
        assert len(split.constraints.groups) == 10
        assert split.source["reading"]["near_duplicates"] == "similar"
        assert split.source["reading"]["duplicate_threshold"] == self.THRESHOLD

    @pytest.mark.parametrize("metric", ["cosine", "euclidean"])
    def test_index(self, api, brain, dataset, vectors, metric):
        """The index of compute_near_duplicates brings its own threshold, and our clusters hold all it found."""
        index = brain.compute_similarity(dataset, embeddings=vectors, backend="sklearn", metric=metric)
        index.find_duplicates(thresh=self.THRESHOLD if metric == "cosine" else 0.4)
        split = api.evosplit_fiftyone(dataset, (20, 20), near_duplicates=index, **FAST)
        original = {str(other): str(first) for first, found in index.neighbors_map.items() for other, _ in found}
        assert original
        check_whole(split, [original.get(sample, sample) for sample in dataset.values("id")])

    def test_default_threshold(self, api, brain, dataset, vectors):
        """Without a threshold, that of FiftyOne Brain holds."""
        index = brain.compute_similarity(dataset, embeddings=vectors, backend="sklearn")
        split = api.evosplit_fiftyone(dataset, (20, 20), near_duplicates=index, dry_run=True, **FAST)
        clusters = chains(vectors, 0.2)
        assert len(split.constraints.groups) == len(set(clusters))
        check_whole(split, clusters)

    def test_chain(self, fiftyone, api, brain, new_dataset):
        """The ends of a chain stay together though they are far from each other."""
        angles = np.deg2rad([0, 10, 20, 30, 40, 180, 200, 220, 240, 260])
        dataset = new_dataset(pictures(fiftyone, 10))
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        brain.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
        split = api.evosplit_fiftyone(dataset, (5, 5), near_duplicates="similar", duplicate_threshold=0.02, **FAST)
        clusters = chains(vectors, 0.02)
        assert len(set(clusters[:5])) == 1
        check_whole(split, clusters)

    def test_exact_duplicates(self, fiftyone, api, brain, new_dataset, tmp_path):
        """Files with the same content stay together, as compute_exact_duplicates returns them."""
        samples = []
        for i in range(12):
            path = tmp_path / f"{i}.jpg"
            path.write_bytes(bytes([i % 4]) * 100)
            samples.append(fiftyone.Sample(filepath=str(path), gt=boxes(fiftyone, NAMES[i % 3])))
        dataset = new_dataset(samples)
        found = brain.compute_exact_duplicates(dataset, num_workers=1)
        split = api.evosplit_fiftyone(dataset, (6, 6), near_duplicates=found, **FAST)
        check_whole(split, [i % 4 for i in range(12)])
        assert split.sizes == (6, 6)
        without_originals = api.evosplit_fiftyone(dataset.skip(4), (4, 4), near_duplicates=found, dry_run=True, **FAST)
        assert without_originals.constraints.groups.sizes.tolist() == [2, 2, 2, 2]

    def test_field(self, api, brain, dataset, vectors):
        """A field with the id of each sample's original keeps them together, and more than one source adds up."""
        index = brain.compute_near_duplicates(dataset, threshold=self.THRESHOLD, embeddings=vectors)
        index.duplicates_view(id_field="original")
        dataset.set_values("video", [str(i // 8) for i in range(40)])
        split = api.evosplit_fiftyone(dataset, (24, 16), near_duplicates="original", group_by="video", **FAST)
        check_whole(split, dataset.values("original"))
        check_whole(split, dataset.values("video"))

    def test_part_of_the_samples(self, api, brain, dataset, vectors):
        """A run that knows only some samples says how many it does not know."""
        brain.compute_similarity(dataset.limit(36), embeddings=vectors[:36], brain_key="similar", backend="sklearn")
        split = api.evosplit_fiftyone(
            dataset, (20, 20), near_duplicates="similar", duplicate_threshold=self.THRESHOLD, **FAST
        )
        assert "4 samples are not in the similarity run 'similar'" in " ".join(split.notes)
        with pytest.raises(EvoSplitError, match="'similar' knows none of the samples"):
            api.evosplit_fiftyone(dataset.skip(36), (2, 2), near_duplicates="similar", duplicate_threshold=0.1)

    def test_slices(self, fiftyone, api, brain, new_dataset):
        """Near duplicates in one slice of a grouped dataset keep their groups together."""
        dataset = grouped(fiftyone, new_dataset, 8)
        left = dataset.select_group_slices("left")
        vectors = near_copies(8, copies=1)
        brain.compute_similarity(left, embeddings=vectors, brain_key="similar", backend="sklearn")
        split = api.evosplit_fiftyone(
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

    def test_stopped(self, api, brain, dataset, vectors):
        """The comparison tells its progress and can be stopped; then nothing is written."""
        index = brain.compute_similarity(dataset, embeddings=vectors, backend="sklearn")
        told = []

        def stop(done, message):
            told.append(message)
            return message != "looking for near duplicates"

        with pytest.raises(EvoSplitError, match="stopped while near duplicates were looked for"):
            api.evosplit_fiftyone(dataset, (20, 20), near_duplicates=index, on_progress=stop, **FAST)
        assert told[-1] == "looking for near duplicates"
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
    def test_refused(self, api, brain, dataset, vectors, options, match):
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
            api.evosplit_fiftyone(dataset, (20, 20), **options, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40}
        assert dataset.list_runs() == []

"""Samples for the FiftyOne tests: pictures with boxes, groups, and their labels."""

from __future__ import annotations

import numpy as np

NAMES = ("cat", "dog", "<script>alert(1)</script>")


def box(fo, label):
    """Make a detection."""
    return fo.Detection(label=label, bounding_box=[0.1, 0.1, 0.2, 0.2])


def boxes(fo, *names):
    """Make detections."""
    return fo.Detections(detections=[box(fo, name) for name in names])


def pictures(fo, n=40, seed=0, folder="/pictures", **fields):
    """Make samples with random detections in gt, some without any."""
    rng = np.random.default_rng(seed)
    lists = [rng.choice(NAMES, size=rng.integers(0, 4), p=[0.5, 0.3, 0.2]).tolist() for _ in range(n)]
    return [
        fo.Sample(filepath=f"{folder}/{seed}-{i}.jpg", tags=["mine"], gt=boxes(fo, *names), **fields)
        for i, names in enumerate(lists)
    ]


def scenes(fo, n_scenes=12, length=4, seed=0):
    """Make pictures of scenes, each in a folder, with fields of many kinds that tell the scene or the circumstances."""
    import datetime

    rng = np.random.default_rng(seed)
    samples = []
    for scene in range(n_scenes):
        for i in range(length):
            names = rng.choice(NAMES, size=rng.integers(0, 4)).tolist()
            samples.append(
                fo.Sample(
                    filepath=f"/scenes/{scene}/{seed}-{i}.jpg",
                    gt=boxes(fo, *names),
                    scene=f"scene {scene}",
                    patient=scene,
                    day=datetime.date(2024, 1, 1 + scene),
                    shot=fo.Classification(label=f"shot {scene}"),
                    weather=fo.Classification(label=["sun", "rain"][int(rng.integers(2))]),
                    night=bool(rng.integers(2)),
                    temperature=float(rng.normal()),
                    words=[f"scene {scene}"],
                )
            )
    return samples


def grouped(fo, new_dataset, n):
    """Make groups of two pictures and a video."""
    dataset = new_dataset()
    dataset.add_group_field("group", default="left")
    samples = []
    for i in range(n):
        group = fo.Group()
        for name, labels in (("left", ["left"]), ("right", ["right", "right"])):
            path = f"/pictures/{i}-{name}.jpg"
            samples.append(fo.Sample(filepath=path, group=group.element(name), gt=boxes(fo, *labels)))
        video = fo.Sample(filepath=f"/videos/{i}.mp4", group=group.element("video"))
        video.frames[1] = fo.Frame(objects=boxes(fo, "car"))
        samples.append(video)
    dataset.add_samples(samples)
    return dataset


def check_whole(split, groups):
    """Check that samples of one group are in one subset; `groups` gives one value per sample, None for no group."""
    places = {}
    for subset, group in zip(split.assignment.tolist(), groups, strict=True):
        if group is not None:
            places.setdefault(group, set()).add(subset)
    assert places
    assert all(len(place) == 1 for place in places.values())


def split_with_front(dataset, n_points=4, ratios=(0.5, 0.5), label_field=None, **constraints):
    """Write a split whose front has several points, whatever the search would find; gives the split."""
    from dataclasses import replace

    import evosplit
    from evosplit_plugins.fiftyone_plugin import apply_split, read_counts

    counts = read_counts(dataset, label_field=label_field)
    found = [evosplit.split(counts, ratios, method="random", seed=seed, **constraints) for seed in range(n_points)]
    objectives = np.array([[0.01 + 0.02 * i, 0.1 - 0.02 * i] for i in range(n_points)])
    front = evosplit.ParetoFront(
        objectives, ("samples", "pairs"), np.stack([split.assignment for split in found]), np.ones(2)
    )
    split = replace(found[0], front=front, chosen=0)
    fields = label_field if label_field is not None else "gt"
    apply_split(dataset, split, label_field=fields)
    return split


def row(counts, i):
    """Give the labels of a row with their counts."""
    dense = counts.matrix[[i], :].toarray()[0]
    return {counts.labels[j]: int(n) for j, n in enumerate(dense) if n}

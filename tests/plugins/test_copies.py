"""Copies of one picture never cross subsets unless asked to, at any adapter; the audit of our own output is clean."""

from __future__ import annotations

RATIOS = {"train": 0.5, "test": 0.5}
N = 20
ROBOFLOW = "{}_jpg.rf.{:032x}.jpg"


def names_twice():
    """Name pictures twice each, in three ways of writing one name."""
    first = [f"{i}.jpg" for i in range(N)]
    return first, [f"./{i}.jpg" if i % 2 else ROBOFLOW.format(i, i) for i in range(N)]


def subsets_of_pictures(places):
    """Give the subsets of each picture, from pairs of a name and its subset."""
    found = {}
    for name, subset in places:
        number = name.removeprefix("./").rpartition("/")[2].partition(".")[0].removesuffix("_jpg")
        found.setdefault(number, set()).add(subset)
    return found


def test_fiftyone(fiftyone, new_dataset):
    """Samples of one file are one picture."""
    from evosplit_plugins import evosplit_fiftyone

    first, second = names_twice()
    samples = [
        fiftyone.Sample(filepath=f"/data/{name}", gt=fiftyone.Classification(label=str(i % 3)))
        for i, name in enumerate([*first, *second])
    ]
    dataset = new_dataset(samples)
    split = evosplit_fiftyone(dataset, RATIOS, field="subset", effort="fast")
    places = zip(*dataset.values(["filepath", "subset"]), strict=True)
    assert all(len(subsets) == 1 for subsets in subsets_of_pictures(places).values())
    assert "40 samples are copies of 20 pictures, by file name; they stay together." in split.notes
    split = evosplit_fiftyone(dataset, RATIOS, field="subset", effort="fast", group_copies=False)
    assert split.constraints is None
    assert split.settings["group_copies"] is False

"""Small Hugging Face data sets, made on the spot; their images cannot be decoded."""

from __future__ import annotations

from datasets import (
    ClassLabel,
    Dataset,
    Features,
    Image,
    Sequence,
)

from evosplit_plugins.hf.adapter import HfReading, HfWriting, HuggingFaceAdapter
from evosplit_plugins.request import Request
from evosplit_plugins.walk import apply_with, split_with

ADAPTER = HuggingFaceAdapter()
LABELS = [[i % 3, i % 2] for i in range(40)]
NAMES = ["ant", "bee", "cow"]
KINDS = ClassLabel(names=NAMES)
NO_IMAGE = {"bytes": b"no image: decoding this raises", "path": None}


WORDS = [["b", "a", "a"], None, [], ["c", None], ["b"], ["a"]]
LABELLED = Dataset.from_dict({"labels": [["x"], ["y"], []], "score": [0.1, 0.2, 0.3], "id": [1, 1, None]})


def dataset(column, values, feature=None):
    """Make a data set whose images cannot be decoded, beside one column of labels."""
    columns = {"image": [NO_IMAGE] * len(values), column: values}
    if feature is None:
        return Dataset.from_dict(columns).cast_column("image", Image())
    return Dataset.from_dict(columns, features=Features({"image": Image(), column: feature}))


def as_lists(counts):
    """Turn counts back into one sorted list of label names per row."""
    return [
        sorted(label for label, n in zip(counts.labels, row, strict=True) for _ in range(n))
        for row in counts.matrix.toarray().tolist()
    ]


def stream(n=30, **keywords):
    """Make a stream of several shards, with images that cannot be decoded unless asked not to."""
    ds = Dataset.from_dict(
        {"id": range(100, 100 + n), "labels": [[i % 3] * (i % 4) for i in range(n)], "image": [NO_IMAGE] * n}
    )
    return (
        ds.cast_column("image", Image(decode=False))
        .cast_column("labels", Sequence(KINDS))
        .to_iterable_dataset(**keywords)
    )


def split(source, output, ratios=(1, 1), *, folds=None, reading=None, on_progress=None, **writing):
    """Split with a search that takes no time."""
    request = Request(ratios=None if folds else ratios, folds=folds, method="random")
    return split_with(
        ADAPTER,
        [str(source)],
        request,
        output=output,
        reading=HfReading(**(reading or {})),
        writing=HfWriting(**writing),
        on_progress=on_progress,
    )


def apply(source, manifest, output, reading=None, **writing):
    """Replay a saved split."""
    return apply_with(ADAPTER, [str(source)], manifest, output=output, reading=reading, writing=HfWriting(**writing))

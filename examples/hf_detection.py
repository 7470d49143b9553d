"""Split a detection data set in Hugging Face form, look at the result, keep it and replay it.

Run it anywhere: `python examples/hf_detection.py`. It draws its own pictures into a temporary directory.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path

from datasets import ClassLabel, Dataset, Features, Image, Sequence, Value

from evosplit_plugins import evosplit_hf
from evosplit_plugins.demo import draw_demo
from evosplit_plugins.hf import apply_split, read_counts


def detection_data(directory: Path) -> Dataset:
    """Make a data set as the hub has them: one row per picture, its boxes in a column `objects`."""
    draw_demo(directory, n_images=120)
    coco = json.loads((directory / "instances.json").read_text())
    names = [category["name"] for category in coco["categories"]]
    number = {category["id"]: row for row, category in enumerate(coco["categories"])}
    objects: dict[int, list[dict[str, object]]] = defaultdict(list)
    for annotation in coco["annotations"]:
        box = {"bbox": annotation["bbox"], "category": number[annotation["category_id"]]}
        objects[annotation["image_id"]].append(box)
    rows = [
        {
            "image_id": image["id"],
            "image": str(directory / "images" / image["file_name"]),
            "objects": objects[image["id"]],
        }
        for image in coco["images"]
    ]
    box_feature = {"bbox": Sequence(Value("float32"), length=4), "category": ClassLabel(names=names)}
    features = Features({"image_id": Value("int64"), "image": Image(), "objects": [box_feature]})
    return Dataset.from_list(rows, features=features)


with tempfile.TemporaryDirectory() as name:
    directory = Path(name)
    ds = detection_data(directory / "data")

    # The label column is found: objects.category. Boxes of the same class in one picture count as several.
    ratios = {"train": 0.7, "validation": 0.15, "test": 0.15}
    splits, split = evosplit_hf(ds, ratios, key="image_id", seed=0, return_split=True)
    print(splits)
    print(split.report())

    # Five folds for a cross-validation: a list of DatasetDict, each with train and test.
    for fold in evosplit_hf(ds, folds=5, key="image_id", effort="fast"):
        print(len(fold["train"]), len(fold["test"]), read_counts(fold["test"]))

    # Keep the split, and divide the same pictures again, whatever order they come in.
    split.save(directory / "split.json")
    again = apply_split(ds.shuffle(seed=1), directory / "split.json")
    print("replayed:", sorted(again["test"]["image_id"]) == sorted(splits["test"]["image_id"]))

"""Re-split a COCO file, look at the result, and give the captions of the same images the same subsets."""

from __future__ import annotations

import json
from pathlib import Path

from evosplit_plugins import evosplit_coco
from evosplit_plugins.coco import apply_split, audit

# A small file to work with; any COCO annotation file will do.
classes = ["person", "dog", "kite"]
images = [{"id": i, "file_name": f"{i:04d}.jpg", "width": 640, "height": 480} for i in range(1, 101)]
annotations = [
    {
        "id": 10 * i + j,
        "image_id": i,
        "category_id": 1 + (i * j + i // 9) % 3,
        "bbox": [5, 5, 20, 20],
        "area": 400,
    }
    for i in range(1, 101)
    for j in range(i % 4)
]
categories = [{"id": i + 1, "name": name} for i, name in enumerate(classes)]
Path("instances.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
captions = [{"id": i, "image_id": i, "caption": f"Picture number {i}."} for i in range(1, 101)]
Path("captions.json").write_text(json.dumps({"images": images, "annotations": captions}))

# Every image and annotation goes into exactly one file, byte for byte; split.json remembers which.
split = evosplit_coco("instances.json", "out", {"train": 0.7, "val": 0.2, "test": 0.1}, seed=0, overwrite=True)
print(split.report())

# The captions follow.
apply_split("captions.json", "out/split.json", "out", overwrite=True)
print(*sorted(path.name for path in Path("out/annotations").iterdir()))

# Any files that exist can be judged, whoever made them.
judged = audit("out/annotations")
print(judged.verdict)
print(f"LD {judged.split.measures.ld:.4f}, leaks: {len(judged.leaks)}")

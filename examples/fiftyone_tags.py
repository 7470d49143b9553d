"""Split a FiftyOne dataset, look at the result, keep it in a file, and take it back.

Needs `pip install "evosplit-plugins[fiftyone]"`. In the App the same is behind the EvoSplit button.
"""

from __future__ import annotations

from pathlib import Path

import fiftyone as fo
import numpy as np

from evosplit_plugins import evosplit_fiftyone
from evosplit_plugins.fiftyone_plugin import apply_split, save_manifest, undo_split

# A small dataset: who drives past a traffic camera. Buses are rare, and ambulances rarer.
rng = np.random.default_rng(0)
kinds, chances = ["car", "truck", "bus", "ambulance"], [0.7, 0.2, 0.08, 0.02]
samples = []
for number in range(300):
    seen = rng.choice(kinds, p=chances, size=rng.integers(0, 7))
    boxes = [fo.Detection(label=str(kind), bounding_box=[0.2, 0.2, 0.3, 0.3]) for kind in seen]
    path = f"/camera/{number:04}.jpg"
    samples.append(fo.Sample(filepath=path, tags=["camera"], ground_truth=fo.Detections(detections=boxes)))
dataset = fo.Dataset()
dataset.add_samples(samples)

split = evosplit_fiftyone(dataset, {"train": 0.8, "val": 0.1, "test": 0.1}, label_field="ground_truth")
print(dataset.count_sample_tags())
print(split.report())

# The file replays the split later, also in another database that holds the same files.
save_manifest(dataset, Path("split.json"))
undo_split(dataset)
print(dataset.count_sample_tags())
apply_split(dataset, Path("split.json"))
print(dataset.match_tags("test").count("ground_truth.detections"), "instances to test on")

"""No video leaks: frames of one video stay together, in subsets that are balanced all the same.

Prints how many videos have frames on both sides, with a plain random split and with groups.
"""

from __future__ import annotations

import numpy as np

import evosplit

RATIOS = {"train": 0.7, "val": 0.15, "test": 0.15}

# Sixty videos of 5 to 40 frames; what one frame shows, the next one shows as well.
rng = np.random.default_rng(0)
kinds = np.array(["person", "car", "dog", "kite", "boat", "horse"])
frames, videos = [], []
for number in range(60):
    cast = rng.choice(kinds, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04], size=3)
    for _ in range(rng.integers(5, 41)):
        frames.append(cast[rng.random(3) < 0.7].tolist())
        videos.append(f"video {number:02}")
counts = evosplit.LabelCounts.from_lists(frames)


def leaking(split: evosplit.Split) -> int:
    """Count the videos with frames in more than one subset."""
    subsets: dict[str, set[int]] = {}
    for video, subset in zip(videos, split.assignment.tolist(), strict=True):
        subsets.setdefault(video, set()).add(subset)
    return sum(len(found) > 1 for found in subsets.values())


print(f"{len(frames)} frames of {len(set(videos))} videos")
print(f"{'':24}{'leaking':>8}  {'sizes':18}{'LD':>8}")
for name, options in {
    "random frames": {"method": "random"},
    "random videos": {"method": "random", "groups": videos},
    "EvoSplit, whole videos": {"groups": videos},
}.items():
    split = evosplit.split(counts, RATIOS, **options)
    print(f"{name:24}{leaking(split):>8}  {split.sizes!s:18}{split.measures.ld:>8.4f}")

print(f"\nasked for {split.target_sizes}; the videos allow a size error of {split.best_ed:g} at best")
print(split.report())

"""Audit a split that somebody else made, and write the page for a better one.

The first 80 % for training, the rest for testing: what could go wrong? Writes `better.html`.
"""

from __future__ import annotations

import numpy as np

import evosplit

# A season of bird watching: which species a picture shows depends on the week.
rng = np.random.default_rng(0)
species = ["sparrow", "blackbird", "swallow", "robin", "waxwing", "crane"]
week = np.sort(rng.integers(0, 52, size=1000))
presence = {"swallow": (week > 16) & (week < 38), "waxwing": week > 44, "crane": (week > 8) & (week < 14)}
chance = {"sparrow": 0.5, "blackbird": 0.4, "swallow": 0.4, "robin": 0.2, "waxwing": 0.3, "crane": 0.3}
pictures = [
    [name for name in species if rng.random() < chance[name] and presence.get(name, week >= 0)[i]] for i in range(1000)
]
counts = evosplit.LabelCounts.from_lists(pictures, labels=species)

by_time = (np.arange(1000) >= 800).astype(int)
found = evosplit.measure(counts, by_time)
better = evosplit.split(counts, {"train": 0.8, "test": 0.2}, strata={"week": week})

print(f"{'':28}{'the last fifth':>16}{'EvoSplit':>12}")
for name, meaning in {"ld": "labels, LD", "lpd": "label pairs, LPD", "flz": "labels missing somewhere"}.items():
    print(f"{meaning:28}{getattr(found, name):>16.4g}{getattr(better.measures, name):>12.4g}")

print(f"\n{'images in test':28}{'the last fifth':>16}{'EvoSplit':>12}{'fair':>8}")
matrix = counts.matrix.toarray() > 0
for column, name in enumerate(species):
    in_test = (matrix[by_time == 1, column].sum(), matrix[better.indices("test"), column].sum())
    print(f"{name:28}{in_test[0]:>16}{in_test[1]:>12}{matrix[:, column].sum() / 5:>8.1f}")

better.report().save_html("better.html")
print("\nwrote better.html")

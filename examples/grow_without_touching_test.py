"""Grow your data set without touching test: new pictures join an old split, and no old sample moves.

Writes `grown.html`, a page with the whole set after the second year.
"""

from __future__ import annotations

import numpy as np

import evosplit

RATIOS = {"train": 0.8, "val": 0.1, "test": 0.1}
KINDS = ["car", "truck", "bus", "bicycle", "ambulance"]


def year(number: int, m: int, chances: list[float]) -> tuple[list[list[str]], list[str]]:
    """Make up a year of pictures: what is on them, and their names."""
    rng = np.random.default_rng(number)
    labels = [rng.choice(KINDS, p=chances, size=rng.integers(1, 6)).tolist() for _ in range(m)]
    return labels, [f"year{number}/{i:04}.jpg" for i in range(m)]


# The first year is split and published.
labels, names = year(1, 800, [0.60, 0.25, 0.10, 0.04, 0.01])
first = evosplit.split(evosplit.LabelCounts.from_lists(labels, ids=names), RATIOS)

# The second year brings more bicycles. The published subsets stay; the ratios refer to the whole.
more_labels, more_names = year(2, 400, [0.40, 0.15, 0.10, 0.33, 0.02])
counts = evosplit.LabelCounts.from_lists(labels + more_labels, ids=names + more_names)
locked = {name: first.ids(name) for name in first.names}
grown = evosplit.split(counts, RATIOS, locked=locked)

moved = sum(not set(first.ids(name)) <= set(grown.ids(name)) for name in first.names)
print(f"{len(names)} old pictures, {moved} subsets in which one of them moved")
print(f"{'':8}{'year 1':>8}{'grown':>8}")
for name, before, after in zip(grown.names, first.sizes, grown.sizes, strict=True):
    print(f"{name:8}{before:>8}{after:>8}")

print()
print(grown.report())
grown.report().save_html("grown.html")
print("wrote grown.html")

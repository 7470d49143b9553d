"""Hypothesis strategies for the data of the domain: label counts, sizes, ratios, assignments."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def count_matrices(draw, min_samples=1, max_samples=12, min_labels=0, max_labels=5, max_count=3):
    """Draw counts with empty rows, equal rows, repeated instances, and labels that fill all rows or none."""
    m = draw(st.integers(min_samples, max_samples))
    q = draw(st.integers(min_labels, max_labels))
    entry = st.sampled_from([0, 0, 0, 1, 1, *range(2, max_count + 1)])
    row = st.lists(entry, min_size=q, max_size=q)
    kinds = draw(st.lists(row, min_size=1, max_size=max(1, min(m, 6))))
    rows = draw(st.lists(st.sampled_from(kinds), min_size=m, max_size=m))
    counts = np.array(rows, dtype=np.int64).reshape(m, q)
    for label in range(q):
        special = draw(st.sampled_from(["as it is"] * 6 + ["in every sample", "in none"]))
        if special == "in every sample":
            counts[:, label] = np.maximum(counts[:, label], 1)
        elif special == "in none":
            counts[:, label] = 0
    return counts


@st.composite
def sizes_for(draw, m, max_subsets=5):
    """Draw two or more positive sizes that sum to m (m >= 2)."""
    k = draw(st.integers(2, min(max_subsets, m)))
    cuts = draw(st.lists(st.integers(1, m - 1), min_size=k - 1, max_size=k - 1, unique=True))
    return np.diff([0, *sorted(cuts), m]).tolist()


@st.composite
def ratios(draw, max_subsets=6):
    """Draw fractions that sum to 1."""
    weights = draw(st.lists(st.integers(1, 100), min_size=2, max_size=max_subsets))
    return [weight / sum(weights) for weight in weights]


@st.composite
def problems(draw, max_subsets=4, **options):
    """Draw counts of at least two samples with sizes for them."""
    counts = draw(count_matrices(min_samples=2, **options))
    return counts, draw(sizes_for(len(counts), max_subsets))


@st.composite
def splits(draw, max_subsets=4, **options):
    """Draw counts, an assignment (subsets may be empty) and the number of subsets."""
    counts = draw(count_matrices(**options))
    k = draw(st.integers(1, max_subsets))
    assignment = draw(st.lists(st.integers(0, k - 1), min_size=len(counts), max_size=len(counts)))
    return counts, assignment, k


@st.composite
def conditions_for(draw, m, k, max_units=7):
    """Draw groups (None: a sample on its own) and locks (subset numbers, -1: free) that do not contradict each other.

    Either may be None. At most `max_units` units can move, so that all splits can be listed.
    """
    groups = None
    if m > max_units or draw(st.booleans()):
        names = st.sampled_from([*"abcd", None] if m <= max_units else [*"abcdefg"[:max_units]])
        groups = draw(st.lists(names, min_size=m, max_size=m))
    if not draw(st.booleans()):
        return groups, None
    home = {}
    locked = []
    for sample in range(m):
        subset = draw(st.sampled_from([-1, -1, -1, *range(k)]))
        key = sample if groups is None or groups[sample] is None else groups[sample]
        locked.append(home.setdefault(key, subset) if subset >= 0 else -1)
    return groups, locked

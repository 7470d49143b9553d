"""What is balanced, as columns: against loops over the samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import count_matrices

from evosplit import EvoSplitError
from evosplit import features as module
from evosplit.features import OBJECTIVES, checked_objectives, lay_out, triplet_features


def laid(counts, objectives, weights=None, **options):
    """Lay out the columns of all samples, each of which is there once."""
    counts = np.asarray(counts)
    return lay_out(
        sp.csr_array(counts),
        np.ones(len(counts), dtype=np.int64),
        objectives,
        label_weights=np.ones(counts.shape[1]) if weights is None else np.array(weights, dtype=float),
        has_repeats=bool((counts > 1).any()),
        **options,
    )


def columns_of(made, name):
    """Give the columns of an objective, as a list of columns."""
    (block,) = [block for block in made.blocks if block.name == name]
    return made.matrix.toarray()[:, block.start : block.stop].T.tolist()


@settings(max_examples=60)
@given(count_matrices(max_labels=5), st.sets(st.sampled_from(OBJECTIVES[:4]), min_size=1))
def test_columns_count_what_they_say(counts, objectives):
    """Each objective's columns are the labels, pairs and triplets of the samples; the last counts those without any."""
    objectives = tuple(sorted(objectives))
    made = laid(counts, objectives)
    q = counts.shape[1]
    present = counts > 0
    assert made.matrix.toarray()[:, :q].tolist() == present.astype(int).tolist()
    assert made.matrix.toarray()[:, -1].tolist() == (~present.any(axis=1)).astype(int).tolist()
    assert len(made.weights) == made.matrix.shape[1]
    if "samples" in objectives:
        assert columns_of(made, "samples") == present.T.astype(int).tolist()
    if "instances" in objectives:
        assert columns_of(made, "instances") == counts.T.tolist()
    for name, order in (("pairs", 2), ("triplets", 3)):
        if name in objectives:
            together = [present[:, list(some)].all(axis=1) for some in itertools.combinations(range(q), order)]
            expected = [column.astype(int).tolist() for column in together if column.any()]
            assert sorted(columns_of(made, name)) == sorted(expected)


def test_pairs_weigh_as_much_as_their_heavier_label():
    """The weight of a pair is the larger one of its labels'; frequent pairs come first."""
    made = laid([[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]], ("pairs",), weights=[1, 3, 2])
    assert columns_of(made, "pairs") == [[1, 1, 0, 0], [0, 0, 1, 0]]
    assert made.weights[3:5].tolist() == [3.0, 2.0]


def test_strata_are_blocks_of_their_own():
    """Every stratum has its block, in the order given."""
    made = laid([[1], [0]], ("samples", "strata"), strata=[sp.csr_array([[1, 0], [0, 1]]), sp.csr_array([[2], [1]])])
    blocks = [(block.name, block.width, block.by_total) for block in made.blocks]
    assert blocks == [("samples", 1, False), ("strata", 2, True), ("strata", 1, True)]


def test_a_part_of_the_pairs(monkeypatch):
    """Of more pairs than asked for a part has columns; more than fit in memory are refused."""
    counts = np.ones((2, 40), dtype=int)
    made = laid(counts, ("pairs",), pair_entries=200)
    assert made.pairs_kept == 1024 * 200 // (2 * 780)
    assert 0 < len(columns_of(made, "pairs")) < 780
    monkeypatch.setattr(module, "MAX_PAIR_ENTRIES", 1_559)
    with pytest.raises(EvoSplitError, match="hold 1,560 label pairs, more than 1,559 fit in memory"):
        laid(counts, ("pairs",))


def test_objectives():
    """By default samples, instances and pairs are spread, and strata where there are any."""
    assert checked_objectives(None, has_strata=False) == ("samples", "instances", "pairs")
    assert checked_objectives(None, has_strata=True) == ("samples", "instances", "pairs", "strata")
    assert checked_objectives("pairs", has_strata=True) == ("pairs", "strata")


@settings(max_examples=40)
@given(counts=count_matrices(max_labels=6))
def test_triplets_are_those_that_occur(counts):
    """A row carries exactly the triplets of its labels."""
    features = triplet_features(sp.csr_array(counts)).toarray()
    rows = [list(itertools.combinations(np.flatnonzero(row).tolist(), 3)) for row in counts]
    distinct = sorted(set(itertools.chain(*rows)))
    assert features.tolist() == [[int(triplet in row) for triplet in distinct] for row in rows]


def test_too_many_triplets(monkeypatch):
    """Triplets that would not fit in memory are refused before they are enumerated."""
    monkeypatch.setattr(module, "MAX_TRIPLET_ENTRIES", 3)
    with pytest.raises(EvoSplitError, match="4 label triplets, more than 3 fit"):
        triplet_features(sp.csr_array(np.ones((1, 4), dtype=int)))

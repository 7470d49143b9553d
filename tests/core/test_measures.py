"""The measures: against slow twins, against values worked out by hand, and where denominators are zero."""

from __future__ import annotations

import itertools
import math

import naive
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import count_matrices, problems, sizes_for, splits

from evosplit import EvoSplitError, LabelCounts, Measures, measure
from evosplit.measures import (
    expected_deviation,
    flz_bound,
    odds_bound,
    odds_deviation,
    subset_tables,
    triplet_distribution,
)

# Four samples, two subsets. Label 0 lies once in each subset; label 1 twice in the first, once in the second.
HAND = np.array([[1, 2], [0, 1], [1, 0], [0, 1]])
HAND_SPLIT = [0, 0, 1, 1]


def test_ld_by_hand():
    """LD of the small example: label 0 has odds 1/1 everywhere; label 1 has 2/0 -> 2, 1/1 and 3/1 overall."""
    assert measure(HAND, HAND_SPLIT).ld == pytest.approx((0 + 0 + abs(2 - 3) + abs(1 - 3)) / 4)


def test_ld_occurrences_by_hand():
    """LD' of the small example: 1 and 3 occurrences in the first subset, 1 and 1 in the second."""
    expected = (abs(1 / 3 - 2 / 4) + abs(1 - 2 / 4) + abs(3 - 4 / 2) + abs(1 - 4 / 2)) / 4
    assert measure(HAND, HAND_SPLIT).ld_occurrences == pytest.approx(expected)


def test_lpd_by_hand():
    """LPD of the small example: the only pair lies in the first subset (odds 1/1 and 0, 1/3 overall)."""
    made = measure(HAND, HAND_SPLIT)
    assert made.lpd == pytest.approx((abs(1 - 1 / 3) + 1 / 3) / 2)
    assert made.lpd_occurrences == 0  # it is all the pairs there are


def test_counts_by_hand():
    """ED, FZ, FLZ, rLD and DCP of small examples."""
    made = measure(HAND, HAND_SPLIT, {"a": 3, "b": 1})
    assert (made.ed, made.fz, made.flz, made.flz_bound) == (1.0, 0, 0, 0)
    # Label 0: 1/2 in D and in both; label 1: 3/4 in D, 2/2 and 1/2 in the subsets.
    assert made.rld == pytest.approx((0 + 0 + 1 / 3 + 1 / 3) / 4)
    assert made.dcp == pytest.approx((0 + (2 / 3 - 1 / 2)) / 2)
    apart = measure([[1, 0], [1, 0], [0, 1], [0, 0]], [0, 0, 1, 1])
    assert (apart.fz, apart.flz, apart.flz_bound) == (2, 2, 1)


@given(splits())
def test_measures_match_naive(split):
    """Every measure equals its slow twin, whatever the data; none is NaN or infinite."""
    counts, assignment, k = split
    made = measure(counts, [*assignment]).to_dict()
    used = max(assignment) + 1
    sizes = np.bincount(assignment, minlength=used).tolist()
    expected = naive.measures(counts, assignment, used, sizes)
    for name, value in expected.items():
        assert made[name] == pytest.approx(value, abs=1e-12), name
    assert all(math.isfinite(value) for value in made.values())
    assert used <= k


@given(splits(), st.data())
def test_ed_compares_with_what_was_asked(split, data):
    """`ratios` sets the sizes that ED compares with, and the number of subsets."""
    counts, assignment, _ = split
    assume(len(counts) >= 2)
    wanted = data.draw(sizes_for(len(counts)))
    assignment = [j % len(wanted) for j in assignment]
    made = measure(counts, assignment, wanted).to_dict()
    expected = naive.measures(counts, assignment, len(wanted), wanted)
    assert made["ed"] == pytest.approx(expected["ed"])
    assert made["flz"] == expected["flz"]


@given(splits())
def test_tables_match_naive(split):
    """The counts behind the measures: samples, labels, instances and pairs per subset."""
    counts, assignment, k = split
    tables = subset_tables(LabelCounts(counts), np.array(assignment), k)
    sizes, samples, instances, pairs = naive.subset_tables(counts, assignment, k)
    assert tables.sizes.tolist() == sizes
    assert tables.samples.tolist() == samples
    assert tables.instances.tolist() == instances
    assert tables.pairs.tolist() == pairs
    assert [tuple(pair) for pair in tables.pair_labels.tolist()] == list(naive.label_pairs(counts))


@given(splits())
def test_terms_average_to_the_measures(split):
    """Each measure is the mean of its terms per label (or pair) and subset."""
    counts, assignment, _ = split
    tables = subset_tables(LabelCounts(counts), np.array(assignment), max(assignment) + 1)
    made = measure(counts, assignment)
    for name in ("ld", "lpd"):
        for form in ("", "_occurrence"):
            terms = getattr(tables, f"{name}{form}_terms")
            value = getattr(made, f"{name}{form}s" if form else name)
            assert value == pytest.approx(terms.mean() if terms.size else 0.0)


@given(problems(max_labels=3), st.randoms(use_true_random=False))
def test_no_split_beats_the_bounds(problem, random):
    """LD, LPD and FLZ of any split are at least their lower bounds."""
    counts, sizes = problem
    assignment = np.repeat(np.arange(len(sizes)), sizes).tolist()
    random.shuffle(assignment)
    made = measure(counts, assignment)
    assert made.ld_bound <= made.ld + 1e-12
    assert made.lpd_bound <= made.lpd + 1e-12
    assert made.flz_bound <= made.flz


@given(st.integers(2, 40).flatmap(sizes_for), st.data())
def test_odds_bound_matches_naive(sizes, data):
    """The bound of one label never exceeds the best of all ways to spread it, and is at least a third of it."""
    total = data.draw(st.integers(0, sum(sizes)))
    best = naive.best_odds(total, sizes) / len(sizes)
    bound = odds_bound(np.array([total]), np.array(sizes))
    assert bound <= best + 1e-12
    assert bound >= best / 3


def test_odds_bound_by_hand():
    """Three samples with a label in two subsets of four: 2 and 1, or 1 and 2; the odds are 1, 1/3 and 3/5."""
    expected = (abs(1 - 3 / 5) + abs(1 / 3 - 3 / 5)) / 2
    assert odds_bound(np.array([3]), np.array([4, 4])) == pytest.approx(expected)
    assert odds_bound(np.array([4, 0, 8]), np.array([4, 4])) == 0
    assert odds_bound(np.zeros(0, dtype=int), np.array([4, 4])) == 0


@pytest.mark.parametrize("sizes", [(10, 10), (2, 2), (1, 5), (3, 3, 3), (1, 1, 1, 7)])
def test_odds_bound_of_labels_in_almost_every_sample(sizes):
    """The bound is found, and right, where a subset may be full of a label (its denominator is zero)."""
    for total in range(sum(sizes) + 1):
        bound = odds_bound(np.array([total]), np.array(sizes)) * len(sizes)
        best = naive.best_odds(total, sizes)
        assert 0.5 * best <= bound <= best + 1e-9


@given(problems(max_samples=6, max_labels=3, max_subsets=3))
def test_flz_bound_is_a_bound(problem):
    """No split of a tiny data set leaves fewer empty cells than the bound; one label alone reaches it."""
    counts, sizes = problem
    bound = flz_bound((counts > 0).sum(axis=0), len(sizes))
    assert bound <= naive.fewest_empty_cells(counts, sizes)
    if counts.shape[1] == 1:
        assert bound == naive.fewest_empty_cells(counts, sizes)


@pytest.mark.parametrize(
    ("counts", "assignment"),
    [
        ([[1], [1]], [0, 1]),
        ([[1, 1], [1, 1], [1, 1]], [0, 1, 2]),
        ([[0], [0]], [0, 1]),
        (np.zeros((3, 0)), [0, 1, 2]),
        ([[5]], [0]),
        ([[1, 0], [0, 1]], [0, 1]),
        ([[1, 1], [0, 0]], [0, 1]),
        ([[1], [0]], [2, 0]),
    ],
)
def test_zero_denominators(counts, assignment):
    """A label in every sample, a subset with one label, an empty subset: every measure is a finite number."""
    with np.errstate(all="raise"):
        made = measure(counts, assignment).to_dict()
    assert all(math.isfinite(value) and value >= 0 for value in made.values())


def test_full_label_deviates_by_nothing():
    """A label in every sample adds 0; a label that fills one subset only has its denominator counted as 1."""
    assert measure([[1], [1], [1]], [0, 0, 1]).ld == 0
    assert odds_deviation(np.array([[2, 0]]), np.array([2, 2])).tolist() == [[1.0, 1.0]]  # |2/1 - 1|, |0 - 1|


@given(splits(), st.randoms(use_true_random=False))
def test_order_is_irrelevant(split, random):
    """The order of samples, labels and subsets changes no measure."""
    counts, assignment, _ = split
    before = measure(counts, assignment).to_dict()
    samples, labels = list(range(counts.shape[0])), list(range(counts.shape[1]))
    random.shuffle(samples)
    random.shuffle(labels)
    last = max(assignment)
    after = measure(counts[samples][:, labels], [last - assignment[i] for i in samples]).to_dict()
    if min(assignment) == 0:
        assert after == pytest.approx(before)


def test_to_dict_round_trip():
    """A Measures can be rebuilt from its dictionary."""
    made = measure(HAND, HAND_SPLIT)
    assert Measures(**made.to_dict()) == made


def test_boolean_assignment():
    """A mask divides into two subsets."""
    assert measure(HAND, np.array([False, False, True, True])) == measure(HAND, HAND_SPLIT)


@pytest.mark.parametrize(
    ("assignment", "ratios", "message"),
    [
        ([0, 1], None, r"assignment has shape \(2,\) for 4 samples; pass one subset number per sample"),
        ([[0, 1, 0, 1]], None, r"assignment has shape \(1, 4\)"),
        ([0, 1, 0, -1], None, r"assignment\[3\] is -1; subset numbers are at least 0"),
        ([0, 1, 2, 1], (0.5, 0.5), r"assignment\[2\] is 2; .* less than the 2 subsets of ratios"),
        (["train", "train", "test", "test"], None, "pass subset numbers"),
        ([0.0, 1.0, 0.0, 1.0], None, "assignment has dtype float64"),
        ([0, 1, 0, 1], (0.5, 0.6), "sum to 1.1, not to 1"),
        ([0, 1, 0, 1], 0.5, "ratios=0.5 is neither a dict"),
    ],
)
def test_bad_assignments(assignment, ratios, message):
    """An assignment that fits neither the samples nor the subsets is refused, with the first wrong value."""
    with pytest.raises(EvoSplitError, match=message):
        measure(HAND, assignment, ratios)


@pytest.mark.parametrize("sizes", [(960, 120, 120), (240,) * 5, (1_199, 1)])
def test_expectation_is_the_sum_over_the_distribution(sizes):
    """For rare and for frequent labels nothing that matters is lost where the tails are cut off."""
    totals = [0, 1, 2, 17, 400, 600, 1_150, sum(sizes)]
    expected = [naive.expected_odds(total, sizes) for total in totals]
    assert expected_deviation(totals, sizes).tolist() == pytest.approx(expected, rel=1e-13)


def test_expectation_when_nothing_is_free():
    """Locked samples are not dealt out: with all of them locked, the expectation is what they give."""
    counts, places = np.array([[1, 0], [1, 1], [0, 1], [1, 0]]), [0, 1, 0, 1]
    table = np.array(naive.subset_tables(counts, places, 2)[1])
    expected = expected_deviation(table.sum(axis=1), [2, 2], held=table, held_sizes=[2, 2])
    assert expected.tolist() == odds_deviation(table, np.array([2, 2])).mean(axis=1).tolist()


def naive_triplets(counts, assignment, k):
    """Measure the distribution of label triplets by looping over them."""
    found = {}
    for row, j in zip(counts, assignment, strict=True):
        for triplet in itertools.combinations(np.flatnonzero(row).tolist(), 3):
            found.setdefault(triplet, [0] * k)[j] += 1
    table = np.array(list(found.values())).reshape(-1, k)
    return odds_deviation(table, table.sum(axis=0)).mean() if table.size else 0.0


@given(counts=count_matrices(max_labels=6))
def test_triplets_match_the_loop(counts):
    """The measure over triplets is that of looping over them."""
    assignment = np.arange(len(counts)) % 2
    expected = naive_triplets(counts, assignment, max(assignment) + 1)
    assert triplet_distribution(counts, assignment) == pytest.approx(expected)


def test_triplets_of_another_assignment():
    """An assignment that does not fit the counts is refused."""
    with pytest.raises(EvoSplitError, match="pass one subset number"):
        triplet_distribution([[1, 1, 1]], [0, 1])

"""What a split is compared with: random splits, exactly where that is known, and iterative stratification."""

from __future__ import annotations

import gc
from unittest import mock

import naive
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reports import long_tailed, report_on
from strategies import problems

import evosplit
from evosplit import LabelCounts
from evosplit.report import baselines
from evosplit.report.baselines import enough_draws


@pytest.fixture(autouse=True, scope="module")
def search_length():
    """Let reports draw as many random splits as users' do."""


# --- random splits


@settings(max_examples=40)
@given(problems(max_samples=7, max_subsets=3), st.data())
def test_expectation_is_the_mean_of_all_splits(problem, data):
    """LD, LPD and FLZ of a random split are the means over every split of these sizes, with locks and without."""
    counts, sizes = problem
    assume(counts.any())
    locked = data.draw(st.sampled_from([None, "some"]))
    if locked is not None:
        places = np.repeat(np.arange(len(sizes)), sizes)
        held = data.draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts)))
        locked = np.where(held, places, -1)
    every = [
        assignment
        for assignment in naive.assignments_of(sizes)
        if locked is None or all(j in (-1, at) for j, at in zip(locked, assignment, strict=True))
    ]
    found = [naive.measures(counts, assignment, len(sizes), sizes) for assignment in every]
    names = [f"s{j}" for j in range(len(sizes))]
    asked = None if locked is None else [None if j < 0 else names[j] for j in locked]
    made = evosplit.split(counts, dict(zip(names, sizes, strict=True)), method="random", locked=asked)
    with mock.patch.object(baselines, "enough_draws", return_value=2):  # which the expectation does not rest on
        random = made.report().baselines.random
    for name in ("ld", "lpd", "flz"):
        rounded = 1e-6 if name == "flz" else 1e-15
        assert random[name] == pytest.approx(np.mean([one[name] for one in found]), rel=1e-12, abs=rounded)


def test_spread_of_random_splits():
    """The spread is that of single random splits, and small sets are drawn often enough to tell it and the means."""
    counts = LabelCounts(long_tailed())
    report = report_on(counts)
    assert report.baselines.draws == enough_draws(counts.matrix.nnz) == 100
    seeds = range(1_000, 1_100)
    others = [evosplit.split(counts, (0.8, 0.1, 0.1), method="random", seed=seed).measures.to_dict() for seed in seeds]
    for name in ("ld", "ld_occurrences", "lpd"):
        values = np.array([found[name] for found in others])
        assert report.baselines.random_spread[name] == pytest.approx(values.std(), rel=0.5)
        assert report.baselines.random[name] == pytest.approx(values.mean(), abs=0.5 * values.std())


def test_random_splits_with_groups_keep_them():
    """With groups the means are those of random splits that keep them whole, which are further off."""
    counts = (np.arange(240)[:, None] // 12 == np.arange(20)).astype(int)  # a label for each group
    grouped = report_on(counts, (0.5, 0.5), method="random", groups=np.arange(240) // 12).baselines.random
    assert grouped["flz"] == 20
    assert grouped["ld"] > 3 * report_on(counts, (0.5, 0.5), method="random").baselines.random["ld"]


# --- iterative stratification


def test_baselines_are_the_methods():
    """Iterative stratification is what its methods give, and all baselines are the same each time."""
    counts = LabelCounts(long_tailed())
    split = evosplit.split(counts, (0.8, 0.1, 0.1), effort="fast")
    report = split.report()
    assert (
        report.baselines.stratified["sois"] == evosplit.split(counts, (0.8, 0.1, 0.1), method="sois").measures.to_dict()
    )
    by_labels = evosplit.split(counts, (0.8, 0.1, 0.1), method="is", objectives=("samples", "instances"))
    assert report.baselines.stratified["is"] == by_labels.measures.to_dict()
    again = evosplit.split(LabelCounts(long_tailed()), (0.8, 0.1, 0.1), effort="fast").report()
    assert again.to_dict() == report.to_dict()


def test_baselines_are_found_once():
    """The reports of all trade-offs of a split share their baselines, and let them go with the data."""
    split = evosplit.split(LabelCounts(long_tailed()), (0.8, 0.1, 0.1), effort="fast")
    gc.collect()  # what other tests left behind
    known = len(baselines._cache)
    first, other = split.report(), split.pick(0).report()
    assert first.baselines is other.baselines
    assert len(baselines._cache) == known + 1
    del split, first, other
    gc.collect()
    assert len(baselines._cache) == known


def test_large_data_skips_stratification(monkeypatch):
    """Beyond the limits the dear baselines are left out, in the report and in its text."""
    assert report_on(long_tailed()).baselines.stratified.keys() == {"is", "sois"}
    monkeypatch.setattr(baselines, "MOST_PAIR_ENTRIES", 3)
    assert report_on(long_tailed()).baselines.stratified.keys() == {"is"}
    monkeypatch.setattr(baselines, "MOST_ENTRIES", 3)
    report = report_on(long_tailed())
    assert report.baselines.stratified == {}
    assert "SOIS" not in str(report)
    assert report.measure_rows[0].by_pairs is None

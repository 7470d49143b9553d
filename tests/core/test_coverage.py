"""Labels in every subset: how few combinations can be left empty, and what is asked of a split."""

from __future__ import annotations

import itertools
import math

import naive
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import conditions_for, count_matrices, problems

from evosplit import LabelCounts, coverage, measure
from evosplit.constraints import Constraints, resolve_constraints
from evosplit.coverage import choice_taken, cover_cost, fewest_empty, label_needs
from evosplit.measures import subset_tables
from evosplit.problem import build_problem
from evosplit.ratios import Subsets, resolve_subsets


@settings(max_examples=40)
@given(problems(max_samples=7, max_subsets=3))
def test_it_is_what_the_best_split_leaves(problem):
    """Of tiny data the bound is reached: no split of these sizes has fewer, and one has as many."""
    counts, sizes = problem
    assert fewest_empty(LabelCounts(counts), tuple(sizes)) == naive.fewest_empty_cells(counts, sizes)


@st.composite
def constrained_splits(draw):
    """Draw counts, groups, locks and an assignment that respects them."""
    counts = draw(count_matrices(min_samples=3, max_samples=7, min_labels=1, max_labels=4))
    k = draw(st.integers(2, 3))
    groups, locked = draw(conditions_for(len(counts), k))
    return counts, k, groups, locked, draw(st.sampled_from(naive.legal_assignments(len(counts), k, groups, locked)))


@settings(max_examples=40)
@given(constrained_splits())
def test_groups_and_locks_count(drawn):
    """With groups and locks it is the best of the splits that respect them and have the same sizes."""
    counts, k, groups, locked, assignment = drawn
    sizes = tuple(np.bincount(assignment, minlength=k).tolist())
    assume(all(sizes))
    names = tuple("abc"[:k])
    by_name = None if locked is None else [None if j < 0 else names[j] for j in locked]
    made = resolve_constraints(LabelCounts(counts), Subsets(names, sizes), groups=groups, locked=by_name)
    every = naive.legal_assignments(len(counts), k, groups, locked)
    alike = [other for other in every if tuple(np.bincount(other, minlength=k)) == sizes]
    best = min(naive.measures(counts, other, k, sizes)["flz"] for other in alike)
    made = made or Constraints(None, np.full(len(counts), -1))
    assert fewest_empty(LabelCounts(counts), sizes, made) == best


def test_what_is_left_out_only_lowers_the_bound(monkeypatch):
    """Of data with too many labels the rarest are looked at, of which the bound still holds."""
    rng = np.random.default_rng(0)
    counts = LabelCounts((rng.random((40, 30)) < 0.08).astype(int))
    sizes = (32, 4, 4)
    whole = fewest_empty(counts, sizes)
    bounds = []
    for entries in (0, 60, 120):
        monkeypatch.setattr(coverage, "MOST_ENTRIES", entries)
        bounds.append(fewest_empty(counts, sizes))
    assert bounds[0] == int(np.maximum(0, 3 - counts.sample_totals).sum())
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] <= whole


@given(problems(min_labels=1, max_samples=9), st.data())
def test_cover_costs_what_the_best_others_lack(problem, data):
    """Without cover LD is at most what it is, at least its bound, and no more where nothing is beyond its share."""
    counts, sizes = problem
    assignment = np.array(data.draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist())))
    tables = subset_tables(LabelCounts(counts), assignment, len(sizes))
    cost = cover_cost(tables.samples, tables.sizes)
    found = measure(counts, assignment)
    assert cost.ld == pytest.approx(found.ld)
    assert found.ld_bound - 1e-12 <= cost.ld_without <= cost.ld
    beyond = 0
    for row in tables.samples.tolist():
        odds = sum(row) / max(len(counts) - sum(row), 1)
        # One sample is further from the share than none, in a subset that has one.
        beyond += any(
            n == 1 and abs(0 - odds) <= abs(1 / max(size - 1, 1) - odds) and sum(row) * size < len(counts)
            for n, size in zip(row, sizes, strict=True)
        )
    assert cost.labels == beyond
    if not beyond:
        assert cost.ld_without == cost.ld


def test_cost_of_cover_by_hand():
    """A label with 5 of 100 samples has one in a subset of 5, whose share is a quarter: it would better have none."""
    cost = cover_cost(np.array([[4, 1], [76, 4]]), np.array([95, 5]))
    assert cost.labels == 1
    odds = [5 / 95, 80 / 20]
    terms = [abs(5 / 90 - odds[0]), abs(0 - odds[0]), abs(76 / 19 - odds[1]), abs(4 / 1 - odds[1])]
    assert cost.ld_without == pytest.approx(sum(terms) / 4)


def test_minimum_is_part_of_the_cost():
    """Who asks for more samples of each label than a subset's share gets told so; samples beyond that are no cost."""
    samples, sizes = np.array([[7, 3], [5, 5]]), np.array([90, 10])
    assert [cover_cost(samples, sizes, least=least).labels for least in (1, 3, 5)] == [0, 1, 2]


def test_what_each_label_needs():
    """Every subset is to get as many samples of a label as asked for, or as there are for all; none without `cover`."""
    counts = LabelCounts(np.tri(12, 12, dtype=int)[:, [0, 2, 4, 8, 11]])  # 12, 10, 8, 4 and 1 samples
    subsets = resolve_subsets((6, 3, 3), 12)
    constraints = resolve_constraints(counts, subsets, min_per_label=3)
    assert sorted(build_problem(counts, subsets, constraints=constraints).needs.tolist()) == [1, 1, 2, 3, 3]
    assert build_problem(counts, subsets).needs.tolist() == [1] * 5
    for least in range(1, 9):
        constraints = resolve_constraints(counts, subsets, min_per_label=least)
        needs = build_problem(counts, subsets, constraints=constraints).needs.tolist()
        assert sorted(needs) == sorted(naive.needs_of(counts.matrix.toarray(), subsets.sizes, least))
    without = build_problem(counts, subsets, constraints=constraints, cover=False)
    assert without.needs.tolist() == [0] * 5
    assert not without.cover


@pytest.mark.parametrize("sizes", [(80, 20), (85, 15), (70, 15, 15)])
def test_cover_leaves_most_of_the_choice(sizes):
    """Rare labels are covered, the most frequent first, as long as that takes 15 % of the choice in a subset."""
    rng, samples = np.random.default_rng(0), np.repeat([8, 6, 5, 4], 100)
    counts = LabelCounts(np.stack([rng.permutation(100) < n for n in samples], axis=1).astype(int))
    order = rng.permutation(counts.n_labels)
    every, none = label_needs(counts, sizes, order=order, cover="all")
    assert (every.min(), none) == (1, 0)
    needs, left = label_needs(counts, sizes, order=order)
    covered = sorted(samples[order][needs > 0].tolist(), reverse=True)
    assert 0 < left == len(samples) - len(covered)
    assert covered == samples[: len(covered)].tolist()
    assert _part_taken(covered, sizes) <= 0.15 < _part_taken(samples[: len(covered) + 1], sizes)


def test_labels_too_rare_for_all_subsets_take_a_part():
    """Labels of two samples take two thirds of the choice of three subsets; of one sample there is nothing to ask."""
    rng = np.random.default_rng(0)
    counts = LabelCounts(np.stack([rng.permutation(100) < n for n in [2] * 60 + [1] * 60], axis=1).astype(int))
    needs, left = label_needs(counts, (80, 10, 10), order=np.arange(120))
    covered = 60 - left
    assert needs.tolist() == [1] * covered + [0] * left + [1] * 60
    assert _part_taken([2] * covered, (80, 10, 10)) <= 0.15 < _part_taken([2] * (covered + 1), (80, 10, 10))


def _part_taken(samples, sizes):
    """Add up what labels that are rare in a subset take of the choice in filling it; return the most."""
    reach = [min(1.0, n / len(sizes)) for n in samples]
    parts = [size / sum(sizes) for size in sizes]
    entropies = [-p * math.log(p) - (1 - p) * math.log(1 - p) for p in parts]
    return max(
        sum(-part * math.log(1 - (1 - p) ** n) for n, part in zip(samples, reach, strict=True) if n * p < 1)
        / (sum(sizes) * entropy)
        for p, entropy in zip(parts, entropies, strict=True)
    )


@pytest.mark.parametrize(("size", "samples"), [(3, 4), (5, 2), (6, 3), (7, 9), (9, 1)])
def test_what_a_label_takes_of_the_choice(size, samples):
    """Of all ways to fill a subset, those with some sample of the label are left: counted one by one."""
    ways = list(itertools.combinations(range(12), size))
    left = [way for way in ways if min(way) < samples]
    exact = math.log(len(ways) / len(left)) / math.log(len(ways))
    taken = choice_taken(np.array([samples, 0]), np.array([12 - size, size]))
    assert taken[0, 1] == pytest.approx(exact, abs=0.03)
    assert taken[1].tolist() == [0.0, 0.0]

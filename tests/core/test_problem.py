"""What a split scores, and what a random one does."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import few, problem_of
from strategies import problems

from evosplit import LabelCounts
from evosplit.constraints import resolve_constraints
from evosplit.problem import build_problem
from evosplit.ratios import Subsets
from evosplit.rng import Stream


def built(counts, sizes, **options):
    """Lay out the problem; further options are constraints, but for the objectives."""
    subsets = Subsets(tuple(f"s{j}" for j in range(len(sizes))), tuple(sizes))
    labelled = LabelCounts(np.array(counts))
    objectives = options.pop("objectives", ("samples", "instances", "pairs"))
    constraints = resolve_constraints(labelled, subsets, **options) if options else None
    return build_problem(labelled, subsets, objectives=objectives, constraints=constraints)


@settings(max_examples=40)
@given(problems(min_labels=1, max_samples=7), st.data())
def test_reference_is_what_random_splits_score(problem, data):
    """Where odds are taken against samples it is the mean over all splits, with weights and locks."""
    counts, sizes = problem
    names = [f"s{j}" for j in range(len(sizes))]
    start = np.repeat(np.arange(len(sizes)), sizes)
    lock = data.draw(st.lists(st.booleans(), min_size=len(start), max_size=len(start)))
    locked = [names[j] if held else None for j, held in zip(start, lock, strict=True)]
    weights = {"0": 3.0} if data.draw(st.booleans()) else None
    made = built(counts, sizes, objectives=("samples", "pairs"), locked=locked, label_weights=weights)
    blocks = [at for at, block in enumerate(made.blocks) if not block.by_total]
    scores = []
    for assignment in naive.assignments_of(sizes):
        if all(a == b for a, b, held in zip(assignment, start, lock, strict=True) if held):
            table = made.column_table(made.type_table(np.array(assignment)))
            scores.append(made.evaluate_blocks(table)[blocks])
    assert made.block_reference[blocks] == pytest.approx(np.mean(scores, axis=0), rel=1e-9, abs=1e-12)


def test_reference_of_groups_and_instances_is_drawn():
    """Where only draws tell, the reference is the mean of three random splits, the same each time."""
    counts = np.random.default_rng(0).poisson(0.5, size=(60, 5))
    for options in ({}, {"groups": [i // 2 for i in range(60)]}):
        made = built(counts, (30, 20, 10), objectives=("instances",), **options)
        stream, scores = Stream(0), []
        for _ in range(3):
            table = made.column_table(made.type_table(made.draw(stream)))
            scores.append(made.evaluate(table))
        assert made.random_reference == pytest.approx(np.mean(scores, axis=0))
        assert (
            made.random_reference.tolist()
            == built(counts, (30, 20, 10), objectives=("instances",), **options).random_reference.tolist()
        )


@pytest.mark.parametrize("grouped", [False, True])
def test_stacked_splits_score_as_one_by_one(grouped):
    """Axes in front are further splits: the same numbers to the last bit."""
    counts = np.random.default_rng(1).poisson(0.5, size=(40, 6))
    options = {"groups": [i // 2 for i in range(40)]} if grouped else {}
    made = built(counts, (20, 12, 8), strata={"half": [i % 2 for i in range(40)], "third": [i % 3 for i in range(40)]},
                 **options)  # fmt: skip
    stream = Stream(0)
    tables = [made.column_table(made.type_table(made.draw(stream))) for _ in range(6)]
    stacked = made.evaluate(np.array(tables).reshape(2, 3, *tables[0].shape))
    assert stacked.shape == (2, 3, 4)
    assert stacked.reshape(6, 4).tolist() == [made.evaluate(table).tolist() for table in tables]


@given(problems(min_labels=1, max_subsets=4), st.integers(1, 4))
def test_shortage_is_what_subsets_lack(problem, least):
    """Of one split and of stacked ones: nothing where needs are met, else the squares of parts of the need."""
    of = built(*problem, min_per_label=least)
    tables = np.stack([of.column_table(of.type_table(of.draw(Stream(seed)))) for seed in range(3)])
    n_labels = len(of.needs)
    expected = [naive.shortage(of.needs.tolist(), table[:n_labels].tolist()) for table in tables]
    assert of.shortage(tables).tolist() == expected
    assert [int(of.shortage(table)) for table in tables] == expected


def test_draws_reach_every_split():
    """Every split of exact size is drawn, the locked sample stays."""
    made = built([[1], [0], [1], [1]], (2, 2), locked={"s1": [0]})
    stream = Stream(3)
    found = {tuple(made.draw(stream).tolist()) for _ in range(60)}
    assert found == {split for split in itertools.product((0, 1), repeat=4) if sum(split) == 2 and split[0] == 1}


@few
@given(seed=st.integers(0, 9999), q=st.integers(2, 60), k=st.integers(2, 6))
def test_cover_leaves_out_the_rarest(seed, q, k):
    """Of labels with several samples the rarest are not asked for; cover="all" asks for all, cover=False for none."""
    counts = np.random.default_rng(seed).random((90, q)) < 1.5 / np.arange(1, q + 1) ** 1.5
    sizes = (90 - 3 * (k - 1), *(3,) * (k - 1))
    of = problem_of(counts, sizes)
    totals = of.column_totals[:q]
    left_out, several = of.needs == 0, totals > 1
    assert of.uncovered == left_out.sum()
    assert totals[several & left_out].max(initial=0) <= totals[several & ~left_out].min(initial=10**9)
    every = problem_of(counts, sizes, cover="all")
    assert (every.uncovered, every.needs.tolist()) == (0, [1] * q)
    none = problem_of(counts, sizes, cover=False)
    assert (none.uncovered, none.cover) == (0, False)


@few
@given(seed=st.integers(0, 9999), q=st.integers(1, 8), sizes=st.sampled_from([(70, 20, 10), (50, 50), (10,) * 10]))
def test_cover_leaves_out_nothing_that_comes_by_itself(seed, q, sizes):
    """Where every subset's share of each label is a sample or more, all labels are asked for."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((100, q), dtype=int)
    for label in range(q):
        counts[rng.permutation(100)[: rng.integers(10, 100)], label] = 1
    assert problem_of(counts, sizes).uncovered == 0

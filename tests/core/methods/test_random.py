"""A random split: every one is as likely as any other; sizes are the best that groups allow."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from searches import few, problem_of
from strategies import conditions_for, problems

from evosplit.group_packing import excess
from evosplit.methods.base import Run
from evosplit.methods.random import Random
from evosplit.ratios import resolve_subsets
from evosplit.rng import Stream


def solved(problem, seed):
    """Draw a split."""
    (assignment,) = Random().solve(problem, Run(Stream.from_seed(seed))).assignments
    return assignment


def test_every_split_is_as_likely():
    """Each of the ten ways to put two of five samples aside comes up as often, within five standard deviations."""
    problem = problem_of(np.eye(5, dtype=int), (3, 2))
    drawn = Counter(tuple(solved(problem, seed).tolist()) for seed in range(2000))
    assert len(drawn) == 10
    assert all(abs(times - 200) < 5 * np.sqrt(2000 * 0.1 * 0.9) for times in drawn.values())


@few
@given(problems(max_samples=9, max_subsets=3), st.data(), st.integers(0, 99))
def test_groups_and_locks(drawn, data, seed):
    """Locked groups stay, and the sizes are as near to those asked for as whole groups can come."""
    counts, sizes = drawn
    names = resolve_subsets(list(sizes), len(counts)).names
    groups, locked = data.draw(conditions_for(len(counts), len(sizes), max_units=6))
    assume(groups is not None)
    named = None if locked is None else [None if j < 0 else names[j] for j in locked]
    problem = problem_of(counts, sizes, groups=groups, locked=named)
    assume(problem.uneven)
    made = solved(problem, seed)
    stays = problem.locked >= 0
    assert made[stays].tolist() == problem.locked[stays].tolist()
    every = (
        np.where(stays, problem.locked, placed) for placed in itertools.product(range(problem.k), repeat=len(made))
    )
    best = min(excess(problem.unit_sizes, np.array(placed), problem.sizes) for placed in every)
    assert excess(problem.unit_sizes, made, problem.sizes) == best

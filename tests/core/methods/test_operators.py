"""The paper's operators: repair to exact sizes and to cover, crossover, mutation."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from genetics import genetics_for, long_tailed
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from evosplit.ratios import fold_subsets


def sizes_of(population, k):
    """Count the units in each subset of each individual."""
    return [np.bincount(genes, minlength=k).tolist() for genes in population]


@settings(max_examples=50)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_repair_makes_sizes_exact_with_the_fewest_moves(problem, seed):
    """A repaired individual has the exact sizes, and only what was too much has moved."""
    counts, sizes = problem
    genetics, rng = genetics_for(counts, sizes), np.random.default_rng(seed)
    broken = rng.integers(0, len(sizes), size=(5, len(counts))).astype(np.int8)
    repaired = genetics.repair(broken, rng)
    assert sizes_of(repaired, len(sizes)) == [sizes] * 5
    for before, after in zip(broken, repaired, strict=True):
        surplus = np.bincount(before, minlength=len(sizes)) - sizes
        assert (before != after).sum() == surplus[surplus > 0].sum()
        assert (surplus[before[before != after]] > 0).all()
    assert (genetics.repair(repaired, rng) == repaired).all()


def test_repair_moves_any_unit_to_any_place():
    """The repair is random: every unit of the full subset may move, to every subset that lacks one."""
    genetics, rng = genetics_for(np.ones((6, 1)), (2, 2, 2)), np.random.default_rng(0)
    broken = np.tile(np.array([0, 0, 0, 0, 1, 2], dtype=np.int8), (200, 1))
    moved = {(unit, int(after[unit])) for after in genetics.repair(broken, rng) for unit in range(4)}
    assert moved == {(unit, j) for unit in range(4) for j in range(3)}


@pytest.mark.parametrize("seed", range(5))
def test_cover_repair_spreads_every_label(seed):
    """After the repair a label with k samples is in all k subsets, a rarer one in as many as it has samples."""
    counts = long_tailed(seed=seed)
    sizes = fold_subsets(10, len(counts)).sizes
    genetics = genetics_for(counts, sizes, cover=True)
    drawn = genetics.draw(20, np.random.default_rng(seed))
    assert sizes_of(drawn, 10) == [list(sizes)] * 20
    for genes in drawn:
        for label in range(counts.shape[1]):
            reached = set(genes[counts[:, label] > 0].tolist())
            assert len(reached) == min(10, (counts[:, label] > 0).sum())


@settings(max_examples=40)
@given(problem=problems(max_samples=7, max_subsets=3), seed=st.integers(0, 2**32))
def test_cover_repair_finds_the_least_flz(problem, seed):
    """On data small enough to enumerate, the repair leaves as few empty label-subset combinations as possible."""
    counts, sizes = problem
    genes = genetics_for(counts, sizes, cover="all").draw(1, np.random.default_rng(seed))[0]
    _, samples, _, _ = naive.subset_tables(counts, genes.tolist(), len(sizes))
    assert sum(count == 0 for row in samples for count in row) == naive.fewest_empty_cells(counts, sizes)


def test_crossover_joins_head_and_tail():
    """A child is the first parent up to one cut and the second from there on; any cut inside is possible."""
    genetics, rng = genetics_for(np.ones((5, 1)), (3, 2)), np.random.default_rng(0)
    first, second = np.zeros((100, 5), np.int8), np.ones((100, 5), np.int8)
    children = genetics.cross_over(first, second, rng)
    assert (np.diff(children, axis=1) >= 0).all()
    assert set(children.sum(axis=1).tolist()) == {1, 2, 3, 4}
    assert not first.any()
    assert second.all()


@pytest.mark.parametrize(("rate", "expected"), [(0.01, 2), (0.0, 1), (0.1, 20), (1.0, 200)])
def test_mutation_reassigns_a_share_of_the_genes(rate, expected):
    """A mutation changes exactly the share of the genes, at least one, each to another subset; parents stay."""
    genetics, rng = genetics_for(long_tailed(m=200), (100, 60, 40), rate=rate), np.random.default_rng(0)
    parents = genetics.draw(4000, rng)
    before = parents.copy()
    mutants = genetics.mutate(parents, rng)
    assert (parents == before).all()
    assert ((mutants != parents).sum(axis=1) == expected).all()
    assert (mutants != parents).any(axis=0).all(), "some gene is never mutated"
    assert set(mutants.ravel().tolist()) == {0, 1, 2}


@settings(max_examples=40)
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_population_is_scored_as_the_measures_say(problem, seed):
    """The fitness of each individual is the measure of its split, for every objective."""
    counts, sizes = problem
    genetics = genetics_for(counts, sizes)
    population = genetics.draw(4, np.random.default_rng(seed))
    for scores, genes in zip(genetics.score(population), population, strict=True):
        expected = naive.measures(counts, genes.tolist(), len(sizes), sizes)
        assert scores == pytest.approx([expected[name] for name in ("ld", "ld_occurrences", "lpd")])

"""Populations of splits: scores, children, mutation, crossover and repair, against slow twins."""

from __future__ import annotations

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from compiled import csr
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from evosplit._kernels import population as kernels


def typed(dense):
    """Merge equal rows: the CSR arrays of the distinct ones, and the type of each row."""
    first, number = naive.distinct_rows(dense)
    return (*csr(dense[first]), np.array(number, dtype=np.int32))


def drawn_population(n, sizes, seed):
    """Draw splits of exact size."""
    filled = np.repeat(np.arange(len(sizes), dtype=np.int8), sizes)
    return np.random.default_rng(seed).permuted(np.tile(filled, (n, 1)), axis=1)


def overall_odds(dense, whole):
    """Odds of each column overall; -1 where a column is the whole."""
    return np.array([-1.0 if part == whole else naive.odds(part, whole) for part in dense.sum(axis=0).tolist()])


@given(problem=problems(), seed=st.integers(0, 2**32))
def test_score_population(problem, seed):
    """Each individual has the LD, LD' and LPD of its split."""
    dense, sizes = problem
    pairs = naive.label_pairs(dense)
    with_pair = np.zeros((len(dense), len(pairs)), dtype=np.int64)
    for column, rows in enumerate(pairs.values()):
        with_pair[rows, column] = 1
    parts = [(dense > 0).astype(np.int64), dense, with_pair]
    wholes = [len(dense), dense.sum(), with_pair.sum()]
    odds = np.concatenate([overall_odds(part, whole) for part, whole in zip(parts, wholes, strict=True)])
    ends = np.cumsum([part.shape[1] for part in parts])
    blocks = np.array([(0, ends[0], 0), (ends[0], ends[1], 1), (ends[1], ends[2], 1)])
    population = drawn_population(3, sizes, seed)
    scores = kernels.score_population(*typed(np.hstack(parts)), odds, blocks, np.array(sizes), population)
    for genes, found in zip(population.tolist(), scores, strict=True):
        expected = naive.measures(dense, genes, len(sizes), sizes)
        assert found == pytest.approx([expected[name] for name in ("ld", "ld_occurrences", "lpd_occurrences")])


@pytest.mark.parametrize("by_total", [False, True])
@given(problem=problems(min_labels=1), near=st.booleans(), seed=st.integers(0, 2**32))
def test_children_follow_their_parents(by_total, problem, near, seed):
    """What changed from the nearer parent gives the same fitness, deviations and sums as counting everything."""
    dense, sizes = problem
    k, n_labels = len(sizes), dense.shape[1]
    features = typed(dense if by_total else (dense > 0).astype(np.int64))
    # The labels are two objectives: a first and a second half.
    blocks = np.array([(0, n_labels // 2, by_total), (n_labels // 2, n_labels, by_total)], dtype=np.int64)
    measure = (overall_odds(dense, dense.sum()), blocks, np.array(sizes))
    genes = drawn_population(5, sizes, seed)
    genes[3] = genes[1]  # a child may equal its parent
    if near:
        genes[2] = genes[0]
        genes[2, [0, -1]] = genes[0, [-1, 0]]
    tables, deviations = np.zeros((5, k, n_labels), dtype=np.int32), np.zeros((5, 2, k))
    touched, nearest = np.zeros((5, k), dtype=np.bool_), np.zeros(5, dtype=np.int64)
    kernels.tally_population(*features, *measure, genes[:2], tables, deviations)
    parents, children = np.array([(0, 1), (0, 1), (1, 1)]), np.array([2, 3, 4])
    scores = kernels.score_children(*features, *measure, genes, tables, deviations, touched, nearest, parents, children)
    kernels.adopt_children(tables, touched, nearest, children)
    counted, afresh = np.zeros_like(tables), np.zeros_like(deviations)
    expected = kernels.tally_population(*features, *measure, genes, counted, afresh)
    assert scores.tolist() == expected[2:].tolist() == kernels.score_population(*features, *measure, genes)[2:].tolist()
    assert deviations.tolist() == afresh.tolist()
    assert tables.tolist() == counted.tolist()
    for child, candidates in zip(children, parents, strict=True):
        differing = (genes[candidates] != genes[child]).sum(axis=1)
        assert (genes[nearest[child]] != genes[child]).sum() == differing.min()
    for individual, table in zip(genes.tolist(), counted, strict=True):
        _, samples, instances, _ = naive.subset_tables(dense, individual, k)
        assert table.T.tolist() == (instances if by_total else samples)


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=9), width=st.integers(0, 3), seed=st.integers(0, 2**32))
def test_deviations_are_summed_in_order(counts, width, seed):
    """Subsets summed side by side have, to the last bit, the sum that a plain loop over their columns gives."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, np.array(counts)[:, None] + 1, size=(len(counts), 2 + width)).astype(np.int32)
    odds = rng.random(table.shape[1])
    odds[0] = -1.0
    blocks, sizes = np.array([(0, 1, 0), (1, 2 + width, 1)]), rng.integers(1, 50, size=len(counts))
    chosen = np.flatnonzero(rng.random(len(counts)) < 0.7)
    deviations = np.full((2, len(counts)), -7.0)
    kernels._deviate(table, odds, blocks, sizes, chosen, deviations)
    for j in range(len(counts)):
        total, expected = int(table[j, 1:].sum()), 0.0
        for column in range(1, 2 + width):
            count = int(table[j, column])
            expected += abs(count / max(total - count, 1) - odds[column])
        assert deviations[:, j].tolist() == ([0.0, expected] if j in chosen else [-7.0, -7.0])


@given(problem=problems(), share=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_mutate(problem, share, seed):
    """Exactly as many genes as asked for have another subset."""
    dense, sizes = problem
    parents = drawn_population(3, sizes, seed)
    mutants, n_genes = parents.copy(), 1 + int(share * (len(dense) - 1))
    kernels.mutate(mutants, n_genes, len(sizes), np.random.default_rng(seed))
    assert (mutants != parents).sum(axis=1).tolist() == [n_genes] * 3
    assert ((mutants >= 0) & (mutants < len(sizes))).all()


@given(problem=problems(), seed=st.integers(0, 2**32))
def test_cross_over(problem, seed):
    """A child has the head of its first parent and the tail of its second."""
    dense, sizes = problem
    first, second = drawn_population(3, sizes, seed), drawn_population(3, sizes, seed + 1)
    children = kernels.cross_over(first, second, np.random.default_rng(seed))
    for a, b, child in zip(first.tolist(), second.tolist(), children.tolist(), strict=True):
        assert child in [[*a[:cut], *b[cut:]] for cut in range(1, len(dense))]


@given(problem=problems(), seed=st.integers(0, 2**32))
def test_repair_population_sizes(problem, seed):
    """Sizes become exact with as few moves as possible."""
    dense, sizes = problem
    broken = np.random.default_rng(seed).integers(0, len(sizes), size=(3, len(dense)))
    repaired = broken.copy()
    kernels.repair_sizes(repaired, np.array(sizes), np.random.default_rng(seed))
    for before, after in zip(broken, repaired, strict=True):
        assert np.bincount(after, minlength=len(sizes)).tolist() == sizes
        surplus = np.bincount(before, minlength=len(sizes)) - sizes
        assert (before != after).sum() == surplus[surplus > 0].sum()


def empty_cells(dense, genes, k):
    """Count the label-subset combinations without a sample."""
    _, samples, _, _ = naive.subset_tables(dense, genes, k)
    return sum(count == 0 for row in samples for count in row)


@given(problem=problems(min_labels=1, max_samples=7, max_subsets=3), seed=st.integers(0, 2**32))
def test_repair_cover(problem, seed):
    """As few label-subset combinations as possible stay empty, sizes stay, and what is covered is left alone."""
    dense, sizes = problem
    k = len(sizes)
    indptr, indices, _, number = typed(dense)
    by_label = sp.csc_array(dense)
    holders = by_label.indptr.astype(np.int64), by_label.indices.astype(np.int64)
    population = drawn_population(2, sizes, seed)
    before = population.copy()
    bound = sum(max(0, k - n) for n in (dense > 0).sum(axis=0))
    covered = [kernels._is_covered(*holders, genes, k) for genes in population]
    assert covered == [empty_cells(dense, genes, k) == bound for genes in population.tolist()]
    rng = np.random.default_rng(seed)
    kernels.repair_cover(indptr, indices, number, *holders, population, np.array(sizes), 10, rng)
    least = naive.fewest_empty_cells(dense, sizes)
    for was, is_covered, genes in zip(before, covered, population, strict=True):
        assert np.bincount(genes, minlength=k).tolist() == sizes
        assert empty_cells(dense, genes.tolist(), k) == least
        assert not is_covered or (genes == was).all()

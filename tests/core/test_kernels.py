"""The kernels, each against a slow twin; they also run uncompiled, with NUMBA_DISABLE_JIT=1, for coverage."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from compiled import from_python
from hypothesis import given
from hypothesis import strategies as st
from strategies import count_matrices, problems, sizes_for, splits

from evosplit import _kernels
from evosplit._kernels import counting, deviation, rng, stratification
from evosplit._kernels import population as kernels
from evosplit._kernels._jit import jit
from evosplit._kernels.triplets import triplet_codes


@pytest.fixture(autouse=True, scope="module")
def _wrap_around():
    """Let unsigned integers wrap around in silence where the kernels run as plain Python."""
    with np.errstate(over="ignore"):
        yield


def csr(dense):
    """Return the arrays of a CSR matrix, indices sorted."""
    matrix = sp.csr_array(np.asarray(dense))
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.int32)


def seeded(seed=1):
    """Return the state of a kernel's random numbers."""
    return np.array([seed], dtype=np.uint64)


def test_kernels_do_without_a_cache():
    """Where compiled code cannot be kept, as of a function without a file, it is compiled all the same."""
    space = {}
    exec("def plus_one(number): return number + 1", space)
    assert jit(space["plus_one"])(1) == 2


# --- counting


@given(count_matrices())
def test_distinct_rows(dense):
    """Rows are numbered by first occurrence."""
    first, number = _kernels.distinct_rows(*csr(dense))
    assert (first.tolist(), number.tolist()) == naive.distinct_rows(dense)


def test_distinct_rows_compares_content():
    """Rows with the same labels but other counts, or with a label more, are different."""
    first, number = _kernels.distinct_rows(*csr([[1, 0], [2, 0], [1, 1], [0, 0], [1, 0], [0, 0]]))
    assert first.tolist() == [0, 1, 2, 3]
    assert number.tolist() == [0, 1, 2, 3, 0, 3]


@given(count_matrices(), st.integers(1, 1024))
def test_pair_codes(dense, kept):
    """Each row lists the codes of its pairs, in order; of a part, a pair is listed by all rows that have it or none."""
    indptr, indices, _ = csr(dense)
    q = dense.shape[1]
    whole, part = (_kernels.pair_codes(indptr, indices, q, parts) for parts in (1024, kept))
    chosen = set(part[1].tolist())
    for row, counts in enumerate(dense.tolist()):
        present = [label for label, count in enumerate(counts) if count]
        expected = [i * q + j for i, j in itertools.combinations(present, 2)]
        listed, some = (codes[pointers[row] : pointers[row + 1]].tolist() for pointers, codes in (whole, part))
        assert listed == expected
        assert some == [code for code in expected if code in chosen]


def test_a_part_of_the_pairs_is_about_as_large_as_asked_for():
    """Of 4,950 pairs a quarter is listed, or a half, and the half has all of the quarter."""
    indptr, indices, _ = csr(np.ones((1, 100), dtype=int))
    quarter, half = (set(_kernels.pair_codes(indptr, indices, 100, kept)[1].tolist()) for kept in (256, 512))
    assert quarter < half
    assert len(quarter) == pytest.approx(4950 / 4, rel=0.1)
    assert len(half) == pytest.approx(4950 / 2, rel=0.1)


@given(st.lists(st.integers(0, 10**12), max_size=60))
def test_unique_codes(codes):
    """The result is that of np.unique with the inverse."""
    array = np.array(codes, dtype=np.int64)
    unique, inverse = _kernels.unique_codes(array)
    expected = np.unique(array, return_inverse=True)
    assert unique.tolist() == expected[0].tolist()
    assert inverse.tolist() == expected[1].tolist()


@pytest.mark.parametrize("highest", [4000, 10**12], ids=["dense", "sparse"])
def test_unique_codes_of_any_density(highest):
    """Codes are found whether they nearly fill their range or are far apart."""
    codes = np.random.default_rng(0).integers(0, highest, size=5000)
    unique, inverse = _kernels.unique_codes(codes)
    assert (unique == np.unique(codes)).all()
    assert (unique[inverse] == codes).all()


def pair_table(dense, weights):
    """Sum the weights of the rows that carry each pair, by code."""
    q = dense.shape[1]
    pairs = naive.label_pairs(dense)
    return {i * q + j: weights[rows].sum(axis=0).tolist() for (i, j), rows in pairs.items()}


@given(count_matrices(min_labels=1), st.integers(1, 3), st.integers(0, 2**32))
def test_pair_totals(dense, k, seed):
    """Each pair's sums are those of the rows that carry it."""
    weights = np.random.default_rng(seed).integers(0, 9, size=(len(dense), k))
    indptr, indices, _ = csr(dense)
    codes, sums = _kernels.pair_totals(indptr, indices, dense.shape[1], weights)
    assert dict(zip(codes.tolist(), sums.tolist(), strict=True)) == pair_table(dense, weights)


@pytest.mark.parametrize("chunk", [1, 1000, 10**6])
def test_pair_totals_a_few_rows_at_a_time(chunk, monkeypatch):
    """However many pairs are counted at a time, the sums are the same."""
    monkeypatch.setattr(counting, "CHUNK", chunk)
    dense = np.ones((2, 50), dtype=int)
    dense[1, :10] = 0
    weights = np.array([[1, 0], [0, 2]])
    indptr, indices, _ = csr(dense)
    codes, sums = _kernels.pair_totals(indptr, indices, 50, weights)
    assert dict(zip(codes.tolist(), sums.tolist(), strict=True)) == pair_table(dense, weights)


@given(splits())
def test_count_rows_and_sum_features(drawn):
    """Cross tables and sums per subset are those of plain loops."""
    dense, assignment, k = drawn
    first, number = naive.distinct_rows(dense)
    table = _kernels.count_rows(np.array(number, dtype=np.int32), np.array(assignment), len(first), k)
    for row in range(len(first)):
        for j in range(k):
            pairs = zip(number, assignment, strict=True)
            assert table[row, j] == sum(pair == (row, j) for pair in pairs)
    sums = _kernels.sum_features(sp.csr_array(dense[first]), table)
    _, _, instances, _ = naive.subset_tables(dense, assignment, k)
    assert sums.tolist() == instances


@given(count_matrices(min_labels=2), st.randoms(use_true_random=False))
def test_column_hashes(dense, random):
    """Equal columns have equal hashes, others do not, and the order of the columns changes nothing."""
    order = list(range(dense.shape[1]))
    random.shuffle(order)
    hashes = _kernels.column_hashes(*csr(dense), dense.shape[1])
    assert _kernels.column_hashes(*csr(dense[:, order]), dense.shape[1]).tolist() == hashes[order].tolist()
    for a, b in itertools.combinations(range(dense.shape[1]), 2):
        assert (hashes[a] == hashes[b]) == (dense[:, a] == dense[:, b]).all()


@given(st.integers(2, 30).flatmap(sizes_for), st.data())
def test_odds_bound(sizes, data):
    """The bound never exceeds the best of all ways to spread a total, and is not far below."""
    totals = data.draw(st.lists(st.integers(0, sum(sizes)), min_size=1, max_size=5))
    bounds = _kernels.odds_bound(np.array(totals), np.array(sizes))
    for total, bound in zip(totals, bounds, strict=True):
        best = naive.best_odds(total, sizes)
        assert 0.5 * best <= bound <= best + 1e-9


@given(splits(min_labels=1, max_subsets=3), st.data())
def test_block_deviations(drawn, data):
    """Each block of each split has the weighted mean of its columns, by samples or by its own totals."""
    dense, assignment, k = drawn
    q = dense.shape[1]
    cut = data.draw(st.integers(0, q))
    spans = np.array([(0, cut, 0), (cut, q, 1), (0, q, 0), (q, q, 1)])
    weights = np.array(data.draw(st.lists(st.floats(0.1, 9), min_size=q, max_size=q)))
    drawn_splits = [assignment, assignment[::-1]]
    tables = np.array([naive.subset_tables(dense, list(a), k)[2] for a in drawn_splits]).reshape(2, q, k)
    sizes = np.array([np.bincount(a, minlength=k) for a in drawn_splits]) + int(dense.sum())
    values = np.full((2, len(spans)), np.nan)
    deviation.block_deviations(tables, spans, weights, sizes, np.empty(k, dtype=np.int64), values)
    for table, held, found in zip(tables, sizes, values, strict=True):
        for (start, stop, by_total), value in zip(spans, found, strict=True):
            inside = table[start:stop]
            totals = inside.sum(axis=0) if by_total else held
            expected = naive.weighted_distribution(inside.tolist(), totals.tolist(), weights[start:stop])
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)


# --- iterative stratification


@given(st.lists(st.integers(0, 8), min_size=1, max_size=12), st.data())
def test_queue_stays_sorted(left, data):
    """After any number of units are taken away the queue is sorted and knows its places and starts."""
    left = np.array(left)
    _, queue, place, start = stratification.build_queue(left)
    for _ in range(data.draw(st.integers(0, 15))):
        waiting = np.flatnonzero(left)
        if len(waiting):
            column = data.draw(st.sampled_from(waiting.tolist()))
            from_python(stratification.take_one)(column, left, queue, place, start)
    assert left[queue].tolist() == sorted(left.tolist())
    assert queue[place].tolist() == list(range(len(left)))
    assert start.tolist() == [(left < n).sum() for n in range(len(start))]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_rarest_is_the_rarest(left):
    """The chosen column has the fewest units left but not none; ties fall on each of the equals."""
    left = np.array(left)
    _, queue, _, start = stratification.build_queue(left)
    state = seeded()
    chosen = {from_python(stratification.choose_rarest)(left, queue, start, state) for _ in range(80)}
    waiting = left[left > 0]
    rarest = np.flatnonzero(left == waiting.min()).tolist() if len(waiting) else [-1]
    assert chosen == set(rarest)


@pytest.mark.parametrize(
    ("desire", "tie_break", "capacity", "expected"),
    [
        ([0.1, 0.9, 0.5], [9, 0, 9], [9, 0, 9], {1}),
        ([0.9, 0.9, 0.5], [1, 2, 9], [9, 0, 9], {1}),
        ([0.9, 0.9, 0.9], [2, 2, 1], [3, 4, 9], {1}),
        ([0.9, 0.9, 0.9], [2, 2, 2], [4, 3, 4], {0, 2}),
        ([0.3, 0.1 + 0.2, 0.1], [0, 0, 0], [1, 1, 1], {0, 1}),
        ([-1.0, -2.0], [0, 0], [0, 0], {0}),
    ],
)
def test_choose_subset(desire, tie_break, capacity, expected):
    """The greatest desire wins, then the tie-break, then the capacity, then chance."""
    arguments = (np.array(desire, dtype=float), np.array(tie_break, dtype=float), np.array(capacity))
    state = seeded()
    assert {from_python(stratification.choose_subset)(*arguments, state) for _ in range(60)} == expected


def stratify(dense, sizes, by_the_rest, in_turn, limit):
    """Run `place_rarest` on the presence of labels."""
    presence = np.asarray(dense) > 0
    indptr, indices, _ = csr(presence)
    by_column = sp.csc_array(sp.csr_array(presence))
    totals = presence.sum(axis=0).astype(np.int64)
    sizes = np.array(sizes)
    dealt = stratification.Dealt(
        table=np.zeros((len(presence), len(sizes)), dtype=np.int64),
        copies_left=np.ones(len(presence), dtype=np.int64),
        counts=np.zeros((len(totals), len(sizes)), dtype=np.int64),
        capacity=sizes.copy(),
    )
    placed = stratification.place_rarest(
        stratification.Columns(indptr, indices, by_column.indptr, by_column.indices, totals),
        stratification.build_queue(totals.copy()), dealt, sizes / sizes.sum(), by_the_rest, in_turn, limit,
        np.empty(totals.max(initial=0), dtype=np.int64), np.empty((2, len(sizes))), seeded(),
    )  # fmt: skip
    return placed, *dealt


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("by_the_rest", [False, True])
@given(problem=problems(min_labels=1))
def test_place_rarest_keeps_its_books(by_the_rest, in_turn, problem):
    """All samples with a label are placed once; counts and capacity are those of the table."""
    dense, sizes = problem
    placed, table, copies_left, counts, capacity = stratify(dense, sizes, by_the_rest, in_turn, limit=10**6)
    labelled = (dense > 0).any(axis=1)
    assert placed == labelled.sum()
    assert table.sum(axis=1).tolist() == labelled.astype(int).tolist()
    assert copies_left.tolist() == (~labelled).astype(int).tolist()
    assert (counts == (dense > 0).T.astype(int) @ table).all()
    assert (capacity == sizes - table.sum(axis=0)).all()


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("by_the_rest", [False, True])
@given(problem=problems(min_labels=1))
def test_rarest_label_is_dealt_like_the_naive(by_the_rest, in_turn, problem):
    """The first label to be dealt is a rarest one, and is spread as by hand: one by one to who wants most."""
    dense, sizes = problem
    totals = (dense > 0).sum(axis=0)
    if not totals.any():
        return
    placed, table, _, counts, _ = stratify(dense, sizes, by_the_rest, in_turn, limit=1)
    assert placed == totals[totals > 0].min()
    shares = [size / sum(sizes) for size in sizes]
    dealt = [label for label in np.flatnonzero(totals == placed) if counts[label].sum() == placed]
    given_out = naive.deal_one_label(int(placed), shares)
    desires = sorted(share * placed - n for share, n in zip(shares, given_out, strict=True))
    found = [sorted(np.array(shares) * placed - counts[label]) for label in dealt]
    assert any(np.allclose(one, desires) for one in found)
    assert table.sum() == placed


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_fill_sizes(copies, data):
    """What is left fills the capacity exactly when the capacity is there."""
    n = sum(copies)
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2)))
    capacity = np.diff([0, *cuts, n])
    dealt = stratification.Dealt(
        np.zeros((len(copies), 3), dtype=np.int64), np.array(copies), np.zeros((0, 3), dtype=np.int64), capacity.copy()
    )
    stratification.fill_sizes(dealt, seeded())
    assert dealt.table.sum(axis=0).tolist() == capacity.tolist()
    assert dealt.table.sum(axis=1).tolist() == copies
    assert not dealt.copies_left.any()
    assert not dealt.capacity.any()


@given(st.lists(st.integers(-5, 9), min_size=1, max_size=5), st.integers(0, 30))
def test_fill_sizes_deals_to_the_most_capacity(capacity, n):
    """Wherever sizes are overdrawn or not all is there, the capacities are those of dealing one by one."""
    dealt = stratification.Dealt(
        np.zeros((1, len(capacity)), dtype=np.int64),
        np.array([n]),
        np.zeros((0, 1), dtype=np.int64),
        np.array(capacity),
    )
    stratification.fill_sizes(dealt, seeded())
    left = list(capacity)
    for _ in range(n):
        left[left.index(max(left))] -= 1
    assert sorted(dealt.capacity.tolist()) == sorted(left)
    assert (dealt.table[0] + dealt.capacity).tolist() == capacity


def repair_cost(counts, totals, prices, n_labels, sizes):
    """Tell what a split is worth as `unit_change` sees it, from scratch: labels missing, cost."""
    shares = np.array(sizes) / sum(sizes)
    away = np.abs(counts - totals[:, None] * shares) / shares
    return (counts[:n_labels] == 0).sum(), (prices[:, None] * away).sum()


@given(splits(min_labels=1, max_subsets=3), st.data())
def test_unit_change(drawn, data):
    """The changes are the differences of missing labels and of costs, before and after."""
    dense, assignment, k = drawn
    sizes = np.full(k, len(dense))
    indptr, indices, gains = csr(dense)
    unit, totals = data.draw(st.integers(0, len(dense) - 1)), dense.sum(axis=0)
    prices = np.arange(1.0, dense.shape[1] + 1)
    n_labels = data.draw(st.integers(0, dense.shape[1]))
    counts = np.zeros((dense.shape[1], k), dtype=np.int64)
    for sample, j in enumerate(assignment):
        counts[:, j] += dense[sample]
    after, j = counts.copy(), assignment[unit]
    after[:, j] -= dense[unit]
    row = slice(indptr[unit], indptr[unit + 1])
    found = from_python(stratification.unit_change)(
        indices[row], gains[row], -1.0, counts, totals, prices, n_labels, 1 / k, j
    )
    worth = [repair_cost(table, totals, prices, n_labels, sizes) for table in (counts, after)]
    assert found[0] == worth[1][0] - worth[0][0]
    assert found[1] == pytest.approx(worth[1][1] - worth[0][1])


def repair(dense, totals, prices, n_labels, sizes, movable, assignment, counts, candidates):
    """Run `repair_sizes` on units that are all of different types."""
    excess = np.bincount(assignment, minlength=len(sizes)) - sizes
    work = stratification.Repair(
        *csr(dense), np.arange(len(dense)), totals, prices, n_labels, movable, assignment, counts, excess
    )
    members = np.empty(len(dense), dtype=np.int64)
    return stratification.repair_sizes(work, np.array(sizes) / len(dense), candidates, members, len(dense), seeded())


@pytest.mark.parametrize("candidates", [1, 3, 100])
@given(problem=problems(min_labels=1), seed=st.integers(0, 2**32))
def test_repair_sizes(candidates, problem, seed):
    """Sizes become exact with as few moves as possible, the counts follow, and what is not movable stays."""
    dense, sizes = problem
    k = len(sizes)
    rng = np.random.default_rng(seed)
    assignment = rng.integers(0, k, size=len(dense)).astype(np.int32)
    before = assignment.copy()
    excess = np.bincount(assignment, minlength=k) - sizes
    movable = rng.random(len(dense)) < 0.3
    for j in np.flatnonzero(excess > 0):  # as many as have to move can move
        movable[np.flatnonzero(assignment == j)[: excess[j]]] = True
    counts = np.zeros((dense.shape[1], k), dtype=np.int64)
    for sample, j in enumerate(assignment):
        counts[:, j] += dense[sample]
    ones = np.ones(dense.shape[1])
    moves = repair(dense, dense.sum(axis=0), ones, len(ones), sizes, movable, assignment, counts, candidates)
    assert np.bincount(assignment, minlength=k).tolist() == sizes
    assert moves == (assignment != before).sum() == np.maximum(excess, 0).sum()
    assert (assignment[~movable] == before[~movable]).all()
    assert counts.tolist() == naive.subset_tables(dense, assignment.tolist(), k)[2]


@pytest.mark.parametrize(("locked", "moved"), [([], 3), ([3], 0), ([0, 3], 1)])
def test_repair_moves_the_cheapest(locked, moved):
    """With all candidates on the table the sample whose move costs least is moved, of those that may."""
    dense = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 1], [1, 1]])
    assignment = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)  # the labels lie right, the sizes do not
    counts = np.array([[2, 2], [2, 2]])
    movable = ~np.isin(np.arange(6), locked)
    moves = repair(dense, np.array([4, 4]), np.ones(2), 2, [3, 3], movable, assignment, counts, 10)
    assert moves == 1
    assert np.flatnonzero(assignment != [0, 0, 0, 0, 1, 1]).tolist() == [moved]


@pytest.mark.parametrize(("n_labels", "moved"), [(2, [1]), (0, [0])])
def test_repair_keeps_labels_whatever_it_costs(n_labels, moved):
    """The last sample of a label stays while another may go, however dear that is; columns that are no labels go."""
    dense = np.array([[1, 0], [0, 1], [0, 1], [1, 2]])
    assignment = np.array([0, 0, 0, 1], dtype=np.int32)
    prices, movable = np.array([1e-9, 1e9]), np.ones(4, dtype=bool)
    repair(dense, np.array([2, 4]), prices, n_labels, [2, 2], movable, assignment, np.array([[1, 1], [2, 2]]), 10)
    assert np.flatnonzero(assignment != [0, 0, 0, 1]).tolist() == moved


@given(problem=problems(min_labels=1), data=st.data())
def test_deal_uneven(problem, data):
    """Each unit goes where it fits and most is lacking of what it carries, or where the most capacity is left."""
    dense, sizes = problem
    k, totals = len(sizes), dense.sum(axis=0)
    unit_sizes = np.array([data.draw(st.integers(1, 3)) for _ in dense])
    shares = np.array(sizes) / sum(sizes)
    counts, capacity = np.zeros((dense.shape[1], k), dtype=np.int64), np.array(sizes)
    order = np.arange(len(dense))
    chosen = np.empty(len(dense), dtype=np.int64)
    stratification.deal_uneven(*csr(dense), order, unit_sizes, totals, shares, counts, capacity, chosen)
    held, left = np.zeros((dense.shape[1], k)), np.array(sizes)
    for row, size, j in zip(dense, unit_sizes, chosen, strict=True):
        fits = np.flatnonzero(left >= size)
        if len(fits):
            assert j in fits
            carried = np.flatnonzero(row)
            lacking = 1 - (held[carried] + row[carried, None] / 2) / np.outer(totals[carried], shares)
            desire = (row[carried] / totals[carried]) @ lacking
            assert desire[j] == pytest.approx(desire[fits].max())
        else:
            assert left[j] == left.max()
        held[:, j] += row
        left[j] -= size
    assert (counts == held).all()
    assert (capacity == left).all()


# --- chance


def test_random_bits_are_xorshift():
    """The generator is xorshift64*, computed here with Python's integers."""
    state, expected = seeded(88172645463325252), 88172645463325252
    for _ in range(100):
        expected ^= expected >> 12
        expected ^= (expected << 25) & (2**64 - 1)
        expected ^= expected >> 27
        assert int(from_python(rng.random_bits)(state)) == expected * 2685821657736338717 % 2**64
        assert int(state[0]) == expected


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_random_below(bound):
    """Draws lie below the bound and spread evenly."""
    state = seeded(12345)
    draws = np.array([from_python(rng.random_below)(state, bound) for _ in range(4000)])
    assert draws.min() >= 0
    assert draws.max() < bound
    assert abs(draws.mean() - (bound - 1) / 2) <= 0.05 * bound


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 2**64 - 1))
def test_shuffle(values, seed):
    """The same values are there, in the order that drawing one after the other from the end gives."""
    shuffled, expected, state = np.array(values, dtype=np.int64), list(values), seeded(seed)
    rng.shuffle(shuffled, seeded(seed))
    for i in range(len(values) - 1, 0, -1):
        other = from_python(rng.random_below)(state, i + 1)
        expected[i], expected[other] = expected[other], expected[i]
    assert shuffled.tolist() == expected
    assert sorted(expected) == sorted(values)


def test_shuffle_favours_no_order():
    """Each of the six orders of three values comes up about as often."""
    state, orders = seeded(3), {}
    for _ in range(6000):
        values = np.arange(3)
        rng.shuffle(values, state)
        orders[tuple(values.tolist())] = orders.get(tuple(values.tolist()), 0) + 1
    assert len(orders) == 6
    assert all(850 <= often <= 1150 for often in orders.values())


# --- populations


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


@given(count_matrices(max_labels=6))
def test_triplet_codes(dense):
    """Each row lists the codes of its triplets, in order."""
    indptr, indices, _ = csr(dense)
    q = dense.shape[1]
    pointers, codes = triplet_codes(indptr, indices, q)
    for row, counts in enumerate(dense):
        expected = [(h * q + i) * q + j for h, i, j in itertools.combinations(np.flatnonzero(counts).tolist(), 3)]
        assert codes[pointers[row] : pointers[row + 1]].tolist() == expected

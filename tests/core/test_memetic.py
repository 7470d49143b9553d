"""The default engine: its kernels against slow twins, its search against enumeration, its promises on seeded sets.

The tests named `kernel` are small enough to run uncompiled, with NUMBA_DISABLE_JIT=1.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import naive
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import conditions_for, count_matrices, problems

from evosplit import LabelCounts, kfold, measure, split
from evosplit._kernels import exchange
from evosplit.constraints import resolve_constraints, sizes_around_locks
from evosplit.methods import memetic
from evosplit.methods.base import Run
from evosplit.methods.iterative import IterativeStratification
from evosplit.methods.memetic import Candidate, Landscape, Memetic, emphasise_images, weightings
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets

THREE = ("images", "instances", "pairs")
SEARCHES = pytest.mark.parametrize("exact", [True, False], ids=["exact", "modelled"])
COVER = pytest.mark.parametrize("cover", [True, False], ids=["cover", "no-cover"])
few = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True, scope="module")
def _wrap_around():
    """Let unsigned integers wrap around in silence where the kernels run as plain Python."""
    with np.errstate(over="ignore"):
        yield


def problem_of(counts, sizes, *, objectives=None, cover=True, **conditions):
    """Build the problem of splitting these counts into subsets of these sizes."""
    counts = LabelCounts(counts)
    subsets = resolve_subsets(list(sizes), counts.n_samples)
    constraints = resolve_constraints(counts, subsets, **conditions)
    return build_problem(counts, subsets, objectives=objectives, cover=cover, constraints=constraints)


def long_tailed(m=150, q=8, seed=0):
    """Draw frequent and rare labels, some of which go together and some of which repeat."""
    rng = np.random.default_rng(seed)
    present = rng.random((m, q)) < 0.6 / np.arange(1, q + 1)
    present[:, 1] |= present[:, 2] & (rng.random(m) < 0.7)
    return present * rng.integers(1, 3, size=(m, q))


class Board:
    """A random split in the arrays of the kernels, with equal weights, and its recount."""

    def __init__(self, counts, sizes, seed=0, *, objectives=THREE, cover=True, exact=False, strict=False, **conditions):
        self.problem = problem_of(counts, sizes, objectives=objectives, cover=cover, **conditions)
        rng = np.random.default_rng(seed)
        self.land = land = Landscape(self.problem, [self.problem.draw(rng)], rng)
        self.unit_at = land.starts[0].unit_at.copy()
        self.slot_of = np.argsort(self.unit_at).astype(np.int32)
        _, self.counts, self.totals = land.tables(land.starts[0])
        land.exact = exact
        self.weights = np.ones(len(self.problem.objectives)) / len(self.problem.objectives)
        self.columns, self.linear, self.penalty, self.price = land.columns(self.weights, strict=strict)
        self.state = np.array([seed + 1], dtype=np.uint64)
        # An empty place is a unit without features.
        self.features = np.vstack(
            (self.problem.features.toarray(), np.zeros(self.problem.features.shape[1], dtype=int))
        )
        self.sizes = np.append(self.problem.type_sizes, 0)
        self.kinds = (land.indptr, land.indices, land.data, land.block_sums)
        self.split = (self.unit_at, self.slot_of, land.first_slot, self.counts, self.totals)

    def subset_of(self):
        """Give the subset of each unit."""
        return np.searchsorted(self.land.first_slot, self.slot_of, side="right") - 1

    def recount(self):
        """Count features and block totals in each subset, unit by unit."""
        counts, totals = np.zeros_like(self.counts), np.zeros_like(self.totals)
        for kind, j in zip(*np.nonzero(self.land.fixed), strict=True):
            counts[:, j] += self.land.fixed[kind, j] * self.features[kind]
            totals[:, j] += self.land.fixed[kind, j] * self.land.block_sums[kind]
        if self.problem.uneven:
            totals[-1] = 2 * self.problem.sizes
        for unit, j in enumerate(self.subset_of()):
            counts[:, j] += self.features[self.land.type_of[unit]]
            totals[:, j] += self.land.block_sums[self.land.type_of[unit]]
        return counts, totals

    def check_books(self):
        """Check that the places are a permutation and its inverse, and the sums those of a recount."""
        n = len(self.unit_at)
        assert sorted(self.unit_at.tolist()) == list(range(n))
        assert self.slot_of[self.unit_at].tolist() == list(range(n))
        counts, totals = self.recount()
        assert (self.counts == counts).all()
        assert (self.totals == totals).all()

    def model(self):
        """Fit the model of the totals here."""
        model = np.zeros((*self.totals.shape, 3))
        exchange.model_totals(self.linear, self.land.scale, self.counts, self.totals, self.land.spread, model)
        return model

    def change(self, model, first, second, a, b):
        """Ask the kernel what an exchange of two types between subsets a and b changes."""
        moved = np.zeros(len(self.totals))
        return exchange.exchange_change(
            *self.kinds, self.linear, self.land.scale, self.penalty, self.counts, self.totals, model, moved,
            first, second, a, b,
        )  # fmt: skip

    def search(self, trials, hot, cold):
        """Run the search that the board is made for."""
        run = exchange.search_exact if self.land.exact else exchange.search
        return run(
            *self.kinds, self.land.type_of, self.columns, self.land.scale, self.penalty, self.land.spread,
            *self.split, *self.land.orders[0], 3, trials, hot * self.price, cold * self.price,
            self.state, *([0.0] if self.land.exact else []),
        )  # fmt: skip

    def settle(self, threshold=1e-12, budget=2000):
        """Mend the labels one by one."""
        return exchange.settle(
            *self.kinds, self.land.type_of, self.linear, self.land.scale, self.penalty, self.land.spread,
            *self.split, *self.land.orders[0], *self.land.carriers, self.land.label_columns,
            3, threshold, budget, self.state,
        )  # fmt: skip

    def linear_cost(self):
        """Sum the linear cost over the subsets."""
        return sum(naive.linear_costs(self.linear, self.land.scale, self.penalty, self.counts, self.totals))

    def random_exchange(self, data):
        """Draw two units of different subsets: (unit, unit, subset, subset)."""
        a, b = data.draw(st.permutations(range(self.problem.k)))[:2]
        subset = self.subset_of()
        first, second = (data.draw(st.sampled_from(np.flatnonzero(subset == j).tolist())) for j in (a, b))
        return first, second, a, b

    def exchange(self, first, second, a, b):
        """Let two units change places."""
        places = self.slot_of[first], self.slot_of[second]
        self.slot_of[second], self.slot_of[first] = places
        self.unit_at[places[0]], self.unit_at[places[1]] = second, first
        exchange.move_features(*self.kinds, self.counts, self.totals, self.land.type_of[first], a, b)
        exchange.move_features(*self.kinds, self.counts, self.totals, self.land.type_of[second], b, a)


@st.composite
def conditioned(draw):
    """Draw counts, sizes and conditions, groups or locks at least, that leave two units to exchange."""
    counts, sizes = draw(problems(min_labels=1, max_subsets=3))
    groups, locked = draw(conditions_for(len(counts), len(sizes)))
    units, fixed = naive.units_of(len(counts), groups, locked)
    assume(groups is not None or locked is not None)
    assume(fixed.count(-1) > 1)
    names = resolve_subsets(sizes, len(counts)).names
    conditions = {"groups": groups, "locked": None if locked is None else [None if j < 0 else names[j] for j in locked]}
    held = [sum(len(unit) for unit, j in zip(units, fixed, strict=True) if j == subset) for subset in range(len(sizes))]
    sizes = list(sizes_around_locks(sizes, held))
    assume(min(sizes) > 0)
    if draw(st.booleans()):
        conditions["strata"] = {
            "site": draw(st.lists(st.sampled_from("ab"), min_size=len(counts), max_size=len(counts)))
        }
    if draw(st.booleans()):
        conditions["label_weights"] = {"0": draw(st.sampled_from([0.2, 7.0]))}
    if draw(st.booleans()):
        conditions["min_per_label"] = 2
    return counts, sizes, conditions


# --- kernels


@COVER
@few
@given(problem=problems(min_labels=1), data=st.data())
def test_kernel_exchange_change_is_exact_where_totals_stay(cover, problem, data):
    """With images alone no total changes: the change is the difference of the full costs, before and after."""
    board = Board(*problem, data.draw(st.integers(0, 99)), objectives=("images",), cover=cover)
    first, second, a, b = board.random_exchange(data)
    before = board.linear_cost()
    found = board.change(board.model(), board.land.type_of[first], board.land.type_of[second], a, b)
    board.exchange(first, second, a, b)
    board.check_books()
    assert found == pytest.approx(board.linear_cost() - before, abs=1e-9 * max(1.0, before))


@COVER
@few
@given(problem=problems(min_labels=1), data=st.data())
def test_kernel_exchange_change_follows_the_model_where_totals_change(cover, problem, data):
    """With instances and pairs the change is what the parabolas predict, also away from where they were fitted."""
    board = Board(*problem, data.draw(st.integers(0, 99)), cover=cover)
    model, scale, fitted_at = board.model(), board.land.scale, board.totals.copy()
    parabolas = {
        (block, j): naive.totals_parabola(board.linear, scale, board.counts, fitted_at, board.land.spread, block, j)
        for block, j in itertools.product(range(3), range(board.problem.k))
    }
    for _ in range(data.draw(st.integers(0, 3))):
        board.exchange(*board.random_exchange(data))
    first, second, a, b = board.random_exchange(data)
    kinds = board.land.type_of[first], board.land.type_of[second]
    gains = board.features[kinds[1]] - board.features[kinds[0]]
    moves = board.land.block_sums[kinds[1]] - board.land.block_sums[kinds[0]]
    predicted = naive.modelled_change(
        board.linear, scale, board.penalty, board.counts, board.totals, parabolas, fitted_at, gains, moves, a, b
    )
    cost = board.linear_cost()
    assert board.change(model, *kinds, a, b) == pytest.approx(predicted, abs=1e-8 * max(1.0, cost))


@few
@given(problem=problems(min_labels=1))
def test_kernel_model_totals_agrees_with_the_cost(problem):
    """The parabolas give the cost change at `spread` above and below; odds fall as the total below them grows."""
    board = Board(*problem, cover=False)
    model, scale = board.model(), board.land.scale
    assert (model[:, :, 0] == board.totals).all()
    for block, sign in itertools.product(range(3), (-1, 1)):
        inside, step = board.linear[:, exchange.BLOCK] == block, sign * board.land.spread[block]
        costs = [
            np.array(naive.linear_costs(board.linear[inside], scale, 0.0, board.counts[inside], totals))
            for totals in (board.totals, board.totals + step)
        ]
        large = board.totals[block] > 2 * board.land.spread[block]
        costs[1][large] *= board.totals[block, large] / (board.totals[block, large] + step)
        found = model[block, :, 1] * step + model[block, :, 2] * step**2
        assert found == pytest.approx(costs[1] - costs[0], abs=1e-9 * max(1.0, *costs[0], *costs[1]))


def test_kicked_units_stay_in_the_books():
    """A kick exchanges a few units with something elsewhere: the places stay a permutation, the split changes."""
    counts, groups = long_tailed(m=60), np.arange(60) // 4
    problem = problem_of(counts, (40, 10, 10), groups=groups)
    rng = np.random.default_rng(0)
    land = Landscape(problem, [problem.draw(rng)], rng)
    before = land.starts[0].unit_at.copy()
    kicked = land.kicked(land.starts[0], rng)
    assert (land.starts[0].unit_at == before).all()
    assert sorted(kicked.unit_at.tolist()) == sorted(before.tolist())
    assert 2 <= (kicked.unit_at != before).sum() <= 2 * memetic.KICKED


@SEARCHES
@COVER
@few
@given(problem=problems(min_labels=1), seed=st.integers(0, 99))
def test_kernel_search_keeps_its_books(exact, cover, problem, seed):
    """After many exchanges, good and bad ones, places and sums are those of a recount."""
    board = Board(*problem, seed, cover=cover, exact=exact)
    assert 0 <= board.search(200, hot=100.0, cold=1.0) <= 200
    board.check_books()
    board.search(100, hot=0.0, cold=0.0)
    board.check_books()


@COVER
@few
@given(problem=problems(min_labels=1), seed=st.integers(0, 99))
def test_kernel_exact_search_never_loses_without_heat(cover, problem, seed):
    """At temperature 0 the exact cost never grows, and it is the weighted sum of the objectives and the lacks."""
    board = Board(*problem, seed, cover=cover, exact=True)
    costs = []
    for _ in range(5):
        costs.append(sum(naive.odds_costs(board.columns, board.penalty, board.counts, board.totals)))
        lack = (board.counts[: board.problem.counts.n_labels] == 0).sum() if cover else 0
        scaled = board.problem.evaluate(board.counts) / board.land.reference
        assert costs[-1] == pytest.approx(scaled.mean() + board.penalty * lack)
        board.search(40, hot=0.0, cold=0.0)
    assert all(after <= before + 1e-9 * max(1.0, before) for before, after in itertools.pairwise(costs))


def test_kernel_exact_search_remembers_its_costs():
    """Without heat, many trials in one go do the same as one by one, each from costs taken afresh."""
    at_once, one_by_one = (Board(long_tailed(m=24, q=4), (12, 7, 5), exact=True) for _ in range(2))
    made = at_once.search(300, hot=0.0, cold=0.0)
    assert made == sum(one_by_one.search(1, hot=0.0, cold=0.0) for _ in range(300)) > 0
    assert at_once.unit_at.tolist() == one_by_one.unit_at.tolist()


@SEARCHES
def test_kernel_prices_are_moderate_where_an_objective_is_constant(exact):
    """Where random splits are perfect in one objective it does not drown the others, nor does it take their heat."""
    for counts in ([[1, 0], [0, 0], [0, 0], [1, 0], [0, 0], [0, 0]], [[1, 1], [2, 1], [1, 1], [1, 3], [1, 1], [1, 1]]):
        board = Board(np.array(counts), (3, 3), exact=exact)
        assert (board.problem.random_reference == 0).any()
        assert 1e-4 < board.price < 10
        assert 0 < board.penalty < 1000


@SEARCHES
def test_rare_columns_weigh_more_by_a_power_of_their_totals(exact):
    """Within an objective, weights change by the power asked for, and no objective gains over the others."""
    board = Board(long_tailed(m=60, q=6), (40, 20), exact=exact)
    plain, rare = (board.land.columns(board.weights, rare=power)[0][:, 0] for power in (0.0, 0.5))
    for block in board.problem.blocks:
        inside = slice(block.start, block.stop)
        totals, priced = np.maximum(board.problem.column_totals[inside], 1), plain[inside] > 0
        expected = totals**-0.5 / np.mean(totals**-0.5)
        assert (rare[inside][priced] / plain[inside][priced]) == pytest.approx(expected[priced])


@pytest.mark.parametrize("effort", ["normal", "thorough"])
@pytest.mark.parametrize("m", [20, 300])
def test_schedule_spends_the_trials_of_the_plan(effort, m):
    """Ancestor and children together make as many trials as the plan has, but for what does not divide."""
    land, plan = Board(long_tailed(m=m, q=6), (m - 10, 10)).land, memetic.PLANS[effort]
    schedule = Memetic()._schedule(land, plan)
    asked = int(plan.trials(land.n_movable) / land.effort_per_trial)
    assert asked - schedule.generations * len(schedule.fan) < schedule.trials <= asked


@pytest.mark.parametrize("objectives", [THREE, ("images", "pairs"), ("images",)], ids="-".join)
@pytest.mark.parametrize("groups", [False, True], ids=["samples", "groups"])
@pytest.mark.parametrize("m", [300, 30_000])
def test_schedule_of_a_beginning(objectives, groups, m):
    """A fast search does the first tasks of a normal one and stops at children for the ends and the middle."""
    conditions = {"groups": np.arange(m) // np.arange(3, m + 3)} if groups else {}
    land = Board(long_tailed(m=m, q=6), (m - 10, 10), objectives=objectives, **conditions).land
    fast, normal = (Memetic()._schedule(land, memetic.PLANS[effort]) for effort in ("fast", "normal"))
    assert (fast.for_ancestor, fast.for_child) == (normal.for_ancestor, normal.for_child)
    assert (fast.fan == normal.fan).all()
    assert fast.breeders[:-1] == normal.breeders[: len(fast.breeders) - 1]
    assert len(fast.breeders) <= 1 + normal.generations / 6
    for_pairs = fast.fan[:, -1]
    last = fast.breeders[-1]
    assert for_pairs[last[0]] == for_pairs.min()
    assert for_pairs[last[-1]] == for_pairs.max()
    assert len(last) == min(3, len(fast.fan))


@pytest.mark.parametrize("smooth", [0.0, 0.3])
@few
@given(problem=problems(min_labels=1))
def test_kernel_exact_cost(smooth, problem):
    """The cost of a subset is that of the plain formula."""
    board = Board(*problem, exact=True)
    runs = exchange.column_runs(board.columns)
    tables = (board.columns, board.counts, board.totals)
    parameters, counts, totals = (np.ascontiguousarray(table.T, dtype=float) for table in tables)
    expected = naive.odds_costs(board.columns, board.penalty, board.counts, board.totals, smooth)
    found = [
        exchange.exact_cost(parameters, runs, board.penalty, smooth, counts, totals, j) for j in range(board.problem.k)
    ]
    assert found == pytest.approx(expected)


@COVER
@few
@given(problem=problems(min_labels=1), seed=st.integers(0, 99))
def test_kernel_settle_never_loses(cover, problem, seed):
    """With images alone every round of mending leaves the linear cost as it is or lowers it, and keeps its books."""
    board = Board(*problem, seed, objectives=("images",), cover=cover)
    for _ in range(3):
        before = board.linear_cost()
        made = board.settle()
        board.check_books()
        after = board.linear_cost()
        assert after <= before + 1e-9 * max(1.0, before)
        assert made > 0 or after == before


@pytest.mark.parametrize("seed", range(3))
def test_kernel_settle_comes_to_rest(seed):
    """Round by round the cost of a larger set falls, until no round finds an exchange that helps."""
    board = Board(long_tailed(m=40, q=6, seed=seed), (20, 12, 8), seed, objectives=("images",))
    costs, made = [board.linear_cost()], 1
    while made:
        made = board.settle(budget=800)
        costs.append(board.linear_cost())
        assert costs[-1] < costs[-2] if made else costs[-1] == costs[-2]
    assert costs[-1] < 0.8 * costs[0]


@few
@given(problem=problems(min_labels=1), seed=st.integers(0, 99))
def test_kernel_settle_keeps_its_books_where_totals_change(problem, seed):
    """With instances and pairs, too, places and sums are those of a recount."""
    board = Board(*problem, seed)
    board.settle()
    board.check_books()


@pytest.mark.parametrize("objectives", [("images",), ("instances",), ("pairs",), THREE], ids="-".join)
@few
@given(problem=problems(min_labels=1, max_labels=1), seed=st.integers(0, 99))
def test_kernel_settle_mends_a_missing_label(objectives, problem, seed):
    """A label with as many samples as there are subsets reaches each, whatever the objectives."""
    counts, sizes = problem
    board = Board(counts, sizes, seed, objectives=objectives)
    board.settle(threshold=0.5 * board.penalty)
    assert (board.counts[0] > 0).sum() == min(len(sizes), (counts > 0).sum())


def test_kernel_settle_mends_all_at_once():
    """Three labels that all sit in one subset are spread over three."""
    counts = np.zeros((30, 3), dtype=int)
    for label in range(3):
        counts[3 * label : 3 * label + 4, label] = 1
    board = Board(counts, (20, 5, 5))
    for unit in range(30):  # labels into the first subset
        j = board.subset_of()[unit]
        if board.features[board.land.type_of[unit]].any() and j:
            plain = [u for u in range(30) if not board.features[board.land.type_of[u]].any()]
            partner = next(u for u in plain if board.subset_of()[u] == 0)
            board.exchange(unit, partner, j, 0)
    assert (board.counts[:3, 1:] == 0).all()
    board.settle(threshold=0.5 * board.penalty)
    board.check_books()
    assert (board.counts[:3] > 0).all()


@few
@given(problem=problems(min_labels=1), reach=st.integers(0, 3), seed=st.integers(0, 99))
def test_kernel_proposals_are_legal(problem, reach, seed):
    """A proposal names slots of two different subsets, as it says, or none."""
    board = Board(*problem, seed)
    starts = board.land.first_slot
    for _ in range(30):
        slot_a, slot_b, a, b = exchange.draw_exchange(
            board.unit_at, board.slot_of, starts, *board.land.orders[0], reach, board.state
        )
        if slot_a >= 0:
            assert a != b
            assert starts[a] <= slot_a < starts[a + 1]
            assert starts[b] <= slot_b < starts[b + 1]


@pytest.mark.parametrize("q", [3, 40, 200])
def test_kernel_similar_units_lie_side_by_side(q):
    """In every order of similarity, units with equal labels follow each other."""
    rng = np.random.default_rng(q)
    kinds = rng.random((6, q)) < 4 / q
    counts = kinds[rng.integers(6, size=40)] * rng.integers(1, 3, size=(40, 1))
    counts[0, 0] = 1
    board = Board(counts, (20, 20))
    for neighbours, rank in board.land.orders:
        assert rank[neighbours].tolist() == list(range(40))
        labels = [tuple(np.flatnonzero(board.features[board.land.type_of[u]][:q]).tolist()) for u in neighbours]
        assert len(list(itertools.groupby(labels))) == len(set(labels))


@few
@given(dense=count_matrices(min_samples=2, min_labels=1))
def test_kernel_carriers(dense):
    """Each label lists the units that carry it, in order."""
    board = Board(dense, (1, len(dense) - 1))
    starts, units = board.land.carriers
    for label in range(dense.shape[1]):
        carries = [u for u, kind in enumerate(board.land.type_of) if board.features[kind, label]]
        assert units[starts[label] : starts[label + 1]].tolist() == carries
    assert starts[-1] == len(units)


# --- kernels under conditions


@few
@given(drawn=conditioned(), strict=st.booleans(), seed=st.integers(0, 99))
def test_kernel_exchanges_of_equal_sizes_are_exact(drawn, strict, seed):
    """With images alone and units of equal size the change is the difference of the full costs, for every pair."""
    counts, sizes, conditions = drawn
    conditions.pop("strata", None)
    board = Board(counts, sizes, seed, objectives=("images",), strict=strict, **conditions)
    model, before = board.model(), board.linear_cost()
    for first, second in itertools.combinations(range(len(board.unit_at)), 2):
        kinds = board.land.type_of[[first, second]]
        a, b = board.subset_of()[[first, second]]
        if a == b or board.sizes[kinds[0]] != board.sizes[kinds[1]] or board.sizes[kinds[0]] == 0:
            continue
        found = board.change(model, *kinds, a, b)
        board.exchange(first, second, a, b)
        assert found == pytest.approx(board.linear_cost() - before, abs=1e-9 * max(1.0, before))
        board.exchange(second, first, a, b)
    board.check_books()


@few
@given(drawn=conditioned(), strict=st.booleans(), data=st.data())
def test_kernel_exchange_change_of_uneven_units(drawn, strict, data):
    """Between units of any size, and with empty places, the change is what the parabolas of the totals predict."""
    counts, sizes, conditions = drawn
    board = Board(counts, sizes, data.draw(st.integers(0, 99)), strict=strict, **conditions)
    assume((board.land.slots > 0).sum() > 1)
    model, scale, fitted_at = board.model(), board.land.scale, board.totals.copy()
    parabolas = {
        (block, j): naive.totals_parabola(board.linear, scale, board.counts, fitted_at, board.land.spread, block, j)
        for block, j in itertools.product(range(len(fitted_at)), range(board.problem.k))
    }
    movable = np.flatnonzero(board.land.slots > 0).tolist()
    for last in (False, True):
        a, b = data.draw(st.permutations(movable))[:2]
        subset = board.subset_of()
        first, second = (data.draw(st.sampled_from(np.flatnonzero(subset == j).tolist())) for j in (a, b))
        kinds = board.land.type_of[first], board.land.type_of[second]
        gains = board.features[kinds[1]] - board.features[kinds[0]]
        moves = board.land.block_sums[kinds[1]] - board.land.block_sums[kinds[0]]
        predicted = naive.modelled_change(
            board.linear, scale, board.penalty, board.counts, board.totals, parabolas, fitted_at, gains, moves, a, b
        )
        tolerance = 1e-8 * max(1.0, board.linear_cost())
        assert board.change(model, *kinds, a, b) == pytest.approx(predicted, abs=tolerance)
        if not last:
            board.exchange(first, second, a, b)
    board.check_books()


@few
@given(drawn=conditioned(), strict=st.booleans(), seed=st.integers(0, 99))
def test_kernel_exact_search_under_conditions(drawn, strict, seed):
    """Without heat the exact cost never grows: the objectives, what is lacking, and what the sizes miss."""
    counts, sizes, conditions = drawn
    board = Board(counts, sizes, seed, exact=True, strict=strict, **conditions)
    problem, costs = board.problem, []
    for _ in range(4):
        costs.append(sum(naive.odds_costs(board.columns, board.penalty, board.counts, board.totals)))
        lack = np.maximum(problem.needs[:, None] - board.counts[: problem.counts.n_labels], 0).sum()
        held = board.counts[-1] if problem.uneven else problem.sizes
        expected = board.land.of_blocks(board.weights) @ (
            problem.evaluate_blocks(board.counts, held) / board.land.reference
        )
        if problem.uneven:
            off = np.abs(held / np.maximum(2 * problem.sizes - held, 1) - 1).sum()
            assert (off == 0) == (held == problem.sizes).all()
            expected += board.columns[-1, exchange.WEIGHT] * off
        assert costs[-1] == pytest.approx(expected + board.penalty * lack)
        board.search(40, hot=0.0, cold=0.0)
        board.check_books()
    assert all(after <= before * (1 + 1e-9) + 1e-9 for before, after in itertools.pairwise(costs))


@SEARCHES
@few
@given(drawn=conditioned(), seed=st.integers(0, 99))
def test_kernel_books_under_conditions(exact, drawn, seed):
    """After hot and cold searches and mending, places and sums are those of a recount, locked units included."""
    counts, sizes, conditions = drawn
    board = Board(counts, sizes, seed, exact=exact, **conditions)
    board.search(150, hot=100.0, cold=1.0)
    board.check_books()
    board.settle()
    board.check_books()
    assert (board.land.tables(Candidate(board.unit_at))[0] >= board.problem.locked_table).all()


@few
@given(drawn=conditioned(), seed=st.integers(0, 99))
def test_kernel_cost_is_that_of_the_split(drawn, seed):
    """The cost of a candidate is that of its split, evaluated sample by sample; sizes and lacks come first."""
    counts, sizes, conditions = drawn
    board = Board(counts, sizes, seed, **conditions)
    board.search(60, hot=10.0, cold=1.0)
    candidate, problem, k = Candidate(board.unit_at), board.problem, len(sizes)
    assignment = problem.of_samples(board.land.assignments([candidate])[0]).tolist()
    held, images, instances, pairs = naive.subset_tables(counts, assignment, k)
    weights = [conditions.get("label_weights", {}).get(str(label), 1.0) for label in range(counts.shape[1])]
    pair_weights = [max(weights[i], weights[j]) for i, j in naive.label_pairs(counts)]
    values = [
        naive.weighted_distribution(images, held, weights),
        naive.weighted_distribution(instances, np.sum(instances, axis=0).tolist(), weights),
        naive.weighted_distribution(pairs, held, pair_weights),
    ]
    if "strata" in conditions:
        values.append(naive.strata_distribution(conditions["strata"].values(), assignment, k))
    least = conditions.get("min_per_label", 1)
    needs = naive.needs_of(counts, sizes, least)
    penalties = 1e3 * naive.lack_of(counts, assignment, needs, k) + 1e9 * naive.size_excess(assignment, sizes)
    found = board.land.cost(candidate, board.weights)
    assert found == pytest.approx(board.weights @ (values / board.land.reference) + penalties, rel=1e-12, abs=1e-9)
    assert board.land.excess(candidate) == naive.size_excess(assignment, sizes)
    units, fixed = naive.units_of(len(counts), conditions["groups"], conditions["locked"])
    names = problem.subsets.names
    for unit, stays in zip(units, fixed, strict=True):
        assert len({assignment[sample] for sample in unit}) == 1
        assert stays in (-1, names[assignment[unit[0]]])


@few
@given(drawn=conditioned(), seed=st.integers(0, 99))
def test_kernel_mending_sizes_of_a_candidate(drawn, seed):
    """Mending brings the sizes nearer or leaves them, and moves units and empty places only."""
    counts, sizes, conditions = drawn
    board = Board(counts, sizes, seed, **conditions)
    rng = np.random.default_rng(seed)
    shuffled = Candidate(rng.permutation(board.unit_at).astype(np.int32))
    mended = board.land.mend_sizes(shuffled, rng)
    assert sorted(mended.unit_at.tolist()) == sorted(shuffled.unit_at.tolist())
    assert board.land.excess(mended) <= board.land.excess(shuffled)


@given(st.lists(st.integers(0, 2), max_size=12))
def test_kernel_column_runs(blocks):
    """Neighbouring columns of one block form a run."""
    columns = np.zeros((len(blocks), 4))
    columns[:, exchange.BLOCK] = blocks
    expected, at = [], 0
    for block, members in itertools.groupby(blocks):
        stop = at + len(list(members))
        expected.append([at, stop, block])
        at = stop
    assert exchange.column_runs(columns).tolist() == expected


# --- the engine


def tiny(seed, m=8, q=3):
    """Draw a set small enough to enumerate, every label in some sample."""
    counts = np.random.default_rng(seed).integers(0, 3, size=(m, q))
    counts[np.arange(q), np.arange(q)] = 1
    return counts


def check_exact_sizes(made, sizes):
    """Check that every point of the front has the sizes asked for."""
    assert made.sizes == tuple(sizes)
    for assignment in made.front.assignments:
        assert np.bincount(assignment, minlength=len(sizes)).tolist() == list(sizes)


def fan_of(objectives, points):
    """Give the weightings of a fan with so many points."""
    method = Memetic()
    return weightings(objectives, points, method.centre, method.label_end, method.pair_end)


def front_cost(made, weights):
    """Return the least weighted cost over the front, in units of a random split's."""
    return (made.front.objectives / made.front.reference @ weights).min()


@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (4, 2, 2)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_optimum_of_tiny_sets(sizes, seed):
    """The end of the front for the labels is the best of all splits, by enumeration."""
    counts = np.minimum(tiny(seed), 1)
    made = split(counts, sizes, cover=False, pick="ld", effort="fast", seed=seed)
    best = min(
        naive.distribution(naive.subset_tables(counts, assignment, len(sizes))[1], sizes)
        for assignment in naive.assignments_of(sizes)
    )
    assert made.measures.ld == pytest.approx(best)


@pytest.mark.parametrize("sizes", [(4, 4), (6, 2), (4, 2, 2)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_balanced_optimum_of_tiny_sets(sizes, seed):
    """One of the front is the best of all splits in the balanced weighting, by enumeration."""
    problem = problem_of(tiny(seed), sizes, cover=False)
    made = split(tiny(seed), sizes, cover=False, seed=seed)
    weights = fan_of(THREE, 3)[1]
    scores = [
        problem.evaluate(problem.column_table(problem.type_table(np.array(assignment))))
        for assignment in naive.assignments_of(sizes)
    ]
    assert front_cost(made, weights) == pytest.approx((np.array(scores) / made.front.reference @ weights).min())


@SEARCHES
@pytest.mark.parametrize("objectives", [None, ("images",), ("pairs",)], ids=["default", "images", "pairs"])
@pytest.mark.parametrize("seed", range(4))
def test_cover_of_tiny_sets(monkeypatch, exact, objectives, seed):
    """No split of the front leaves more empty cells than the best of all splits must."""
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    for q, sizes in ((3, (4, 4)), (2, (5, 2, 1)), (3, (3, 2, 2))):
        counts = tiny(seed, m=sum(sizes), q=q) * (np.random.default_rng(seed).random((sum(sizes), q)) < 0.7)
        counts[np.arange(q), np.arange(q)] = 1
        made = split(counts, sizes, objectives=objectives, effort="fast", seed=seed)
        fewest = naive.fewest_empty_cells(counts, sizes)
        assert [measure(counts, point).flz for point in made.front.assignments] == [fewest] * len(made.front)


@SEARCHES
@pytest.mark.parametrize("seed", range(3))
def test_cover_of_rare_labels(monkeypatch, exact, seed):
    """Rare labels reach every subset, and those with fewer samples as many as they can, at every point of the front."""
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    rng = np.random.default_rng(seed)
    counts = np.hstack([long_tailed(200, 5, seed), np.zeros((200, 6), dtype=int)])
    for label in range(5, 11):
        counts[rng.choice(200, size=label - 3, replace=False), label] = 1
    made = split(counts, (100, 60, 20, 20), effort="fast", seed=seed)
    bound = made.measures.flz_bound
    assert bound == 3
    assert [measure(counts, point).flz for point in made.front.assignments] == [bound] * len(made.front)


@SEARCHES
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_its_start(monkeypatch, exact, seed):
    """The front has a split that costs less than the stratified start, in the balanced weighting."""
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    counts, sizes = long_tailed(m=120 + 60 * seed, seed=seed), (70 + 60 * seed, 30, 20)
    problem = problem_of(counts, sizes)
    start = IterativeStratification(2).solve(problem, Run(np.random.default_rng(seed))).assignments[0]
    made = split(counts, sizes, effort="fast", seed=seed)
    weights = fan_of(THREE, 3)[1]
    scores = problem.evaluate(problem.column_table(problem.type_table(start)))
    assert front_cost(made, weights) < scores / made.front.reference @ weights


@pytest.mark.parametrize(
    ("sizes", "starts"),
    [((50, 50, 50), [False]), ((5,) * 30, [False]), ((120, 20, 10), [False, True]), ((147, 3), [True])],
    ids=str,
)
def test_sizes_decide_where_to_start(sizes, starts):
    """Even sizes start from a stratified split, uneven ones from a systematic sample too, small ones from it alone."""
    problem = problem_of(long_tailed(m=150, q=40), sizes)
    assert problem.features.shape[1] > memetic.EXACT_COLUMNS
    found = memetic._starts(problem, Run(np.random.default_rng(0)))
    assert [start.melts for start in found] == starts
    for start in found:
        assert np.bincount(start.assignment).tolist() == list(sizes)


def test_systematic_sample_is_spread_over_equal_units():
    """Of units with equal labels every subset gets its share, rounded, around those that are locked."""
    counts = np.repeat(np.eye(4, dtype=int), 50, axis=0)
    locked = {"test": [0, 1, 60]}
    problem = problem_of(counts, (160, 40), locked=locked)
    sample = memetic._systematic_sample(problem, np.random.default_rng(0))
    assert np.bincount(sample).tolist() == [160, 40]
    assert sample[[0, 1, 60]].tolist() == [1, 1, 1]
    free = np.setdiff1d(np.arange(200), [0, 1, 60])
    held = np.array([(sample[free[free // 50 == label]] == 1).sum() for label in range(4)])
    assert (np.abs(held - 37 / 197 * np.array([48, 49, 50, 50])) < 2).all()


@pytest.mark.parametrize("seed", range(3))
def test_small_subsets_are_like_the_whole(seed):
    """A subset of a few percent is far closer to the whole than a random one, in labels and in pairs."""
    counts = (long_tailed(m=3000, q=40, seed=seed) > 0).astype(int)
    made = split(counts, (2910, 90), effort="fast", seed=seed)
    assert made.front.objectives[made.chosen] == pytest.approx([made.measures.ld, made.measures.lpd])
    assert (made.front.objectives[made.chosen] < [0.3, 0.75] * made.front.reference).all()


def test_front_has_trade_offs():
    """The front has several points of exact size, none dominated; its ends are best in labels and in pairs."""
    made = split(long_tailed(m=300), (200, 60, 40), effort="fast")
    check_exact_sizes(made, (200, 60, 40))
    scores = made.front.objectives
    assert len(scores) > 1
    for one, other in itertools.permutations(scores, 2):
        assert (one < other).any()
    in_labels = scores[:, :2].prod(axis=1)
    assert in_labels[made.pick("ld").chosen] == in_labels.min()
    assert made.pick("lpd").measures.lpd == pytest.approx(scores[:, 2].min())


@SEARCHES
def test_threads_do_not_change_the_front(monkeypatch, exact):
    """One thread and two give the same front, point by point."""
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    counts = long_tailed(m=90)
    one, two = (split(counts, (60, 20, 10), effort="normal", seed=3, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert (one.front.assignments == two.front.assignments).all()
    assert one.chosen == two.chosen


def test_orders_do_not_depend_on_who_asks_first():
    """Two threads that ask for the orders of similarity at once, and both make them, get the same."""
    land = Board(long_tailed(m=60), (40, 20)).land
    first = land.orders
    del land.__dict__["orders"]
    for one, two in zip(first, land.orders, strict=True):
        assert all(map(np.array_equal, one, two))


def front_quality(made):
    """Return the mean, over weightings from labels to pairs, of the best weighted sum on the front; less is better."""
    scaled = made.front.objectives / made.front.reference
    share = np.linspace(0.05, 0.95, 19)[:, None]
    return (share * scaled[:, :2].mean(axis=1) + (1 - share) * scaled[:, 2]).min(axis=1).mean()


@pytest.mark.parametrize("seed", range(4))
def test_effort_pays(seed):
    """More effort gives a better front."""
    counts, sizes = long_tailed(m=200, q=12, seed=seed), (140, 40, 20)
    fast, normal, thorough = (
        front_quality(split(counts, sizes, effort=effort, seed=seed)) for effort in ("fast", "normal", "thorough")
    )
    assert thorough < normal < fast


@pytest.mark.parametrize("seed", range(2))
def test_effort_where_labels_are_few(seed):
    """With thousands of samples and few labels a normal search is not worse than a fast one: both reach the bounds."""
    counts = long_tailed(m=6000, q=8, seed=seed)
    fast, normal = (kfold(counts, 5, effort=effort, seed=seed) for effort in ("fast", "normal"))
    assert front_quality(normal) <= front_quality(fast)
    for made in (fast, normal):
        assert made.measures.ld == pytest.approx(made.measures.ld_bound)
        assert made.measures.lpd == pytest.approx(made.measures.lpd_bound)


@SEARCHES
@COVER
@few
@given(
    seed=st.integers(0, 9999),
    m=st.integers(30, 60),
    q=st.integers(3, 6),
    grouped=st.booleans(),
    locks=st.integers(0, 2),
)
def test_more_effort_is_never_worse(monkeypatch, exact, cover, seed, m, q, grouped, locks):
    """Whatever a smaller effort finds, a greater one finds too, or better; with groups and locked samples as well."""
    normal = memetic.Plan(root=300, enough=3_000, per_unit=5, points=5, generations=2)
    longer = replace(normal, root=900, enough=9_000, before=normal)
    plans = {"fast": replace(normal, whole=False), "normal": normal, "thorough": longer}
    monkeypatch.setattr(memetic, "PLANS", plans)
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    monkeypatch.setattr(memetic, "every_split", lambda *_: None)
    groups = np.random.default_rng(seed).integers(m // 2, size=m) if grouped else None
    locked = ["train" if unit < locks else None for unit in (range(m) if groups is None else groups)]
    options = {"cover": cover, "groups": groups, "locked": locked, "seed": seed}
    counts = long_tailed(m, q, seed)
    less, more, most = (split(counts, {"train": 0.7, "test": 0.3}, effort=effort, **options) for effort in plans)
    for worse, better in ((less, more), (more, most)):
        # Sizes come first, then labels that are missing somewhere; the front is compared where both are equal.
        before, after = ((made.measures.ed, made.measures.flz if cover else 0) for made in (worse, better))
        assert after <= before
        if after == before:
            reached = better.front.objectives[:, None] <= worse.front.objectives
            assert reached.all(axis=2).any(axis=0).all()


def test_the_shapes_of_efforts():
    """The efforts are such plans: a fast one is a beginning of the normal one, a thorough one comes after it."""
    fast, normal, thorough = (memetic.PLANS[effort] for effort in ("fast", "normal", "thorough"))
    assert fast == replace(normal, whole=False)
    assert thorough.rounds == [normal, thorough]


@SEARCHES
@pytest.mark.parametrize("effort", ["fast", "normal"])
def test_every_search_cools_down(monkeypatch, exact, effort):
    """However short a search is, its temperature falls in steps and is 0 in the last fifth; so do squares fade."""
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    name, heard = "search_exact" if exact else "search", []
    compiled = getattr(exchange, name)

    def listen(*arguments):
        heard.append((*arguments[18:20], arguments[21] if exact else 0.0))
        return compiled(*arguments)

    monkeypatch.setattr(exchange, name, listen)
    split(long_tailed(m=40), (20, 20), effort=effort)
    *searches, smooth = np.moveaxis(np.array(heard).reshape(-1, memetic.MIN_CHUNKS, 3), 2, 0)
    searches = np.stack(searches, axis=2)
    plan = memetic.PLANS[effort]
    children = len(fan_of(THREE, plan.points)) * plan.generations if effort == "normal" else 3
    assert len(searches) == 2 + children  # two compete to be the ancestor
    assert (searches[:, :8, 0] > searches[:, :8, 1]).all()
    assert (searches[:, 1:8, 0] == searches[:, :7, 1]).all()
    assert (searches[:, :8] > 0).all()
    assert (searches[:, 8:] == 0).all()
    assert (smooth[:, 8:] == 0).all()
    if exact:
        assert (np.diff(smooth[:, :9]) < 0).all()
        assert (smooth[:, 0] == Memetic().smooth).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limit_stops(n_jobs):
    """A limit that is over at once gives a valid split, better than a random one, and a note."""
    counts = long_tailed(m=300)
    made = split(counts, (200, 60, 40), effort="thorough", time_limit=1e-3, n_jobs=n_jobs)
    check_exact_sizes(made, (200, 60, 40))
    assert (made.front.objectives[made.chosen] < made.front.reference).all()
    assert made.notes == ("stopped after the time limit of 0.001 s: this is the best split found so far.",)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [1, 4])
def test_caller_stops(n_jobs, after):
    """Returning False stops soon, with a valid split and a note."""
    calls = []

    def stop(done, message):
        calls.append(done)
        return len(calls) < after

    made = split(long_tailed(m=300), (200, 60, 40), effort="thorough", n_jobs=n_jobs, on_progress=stop)
    check_exact_sizes(made, (200, 60, 40))
    assert made.notes == ("stopped early on request: this is the best split found so far.",)
    assert max(calls[:-1], default=0) < 0.5


def test_errors_of_the_caller_pass_through():
    """An exception in `on_progress` ends the work and reaches the caller, with threads as without."""

    def fail(done, message):
        if done > 0.3:
            raise RuntimeError("the window is closed")

    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="the window is closed"):
            split(long_tailed(m=300), (200, 60, 40), effort="normal", n_jobs=n_jobs, on_progress=fail)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_grows_to_one(n_jobs):
    """The caller hears growing fractions from 0 to 1, the last one once."""
    heard = []
    split(
        long_tailed(), (100, 30, 20), effort="normal", n_jobs=n_jobs, on_progress=lambda *report: heard.append(report)
    )
    fractions = [done for done, _ in heard]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == 1
    assert fractions.count(1) == 1
    assert any("trade-offs" in message for _, message in heard)


DEGENERATE = {
    "one label": (np.arange(12)[:, None] % 2, (6, 6)),
    "a label in every image": (np.hstack([np.ones((12, 1)), np.eye(12)[:, :3]]).astype(int), (8, 4)),
    "all images equal": (np.full((9, 2), 2), (3, 3, 3)),
    "as many subsets as images": (np.eye(5, dtype=int), (1, 1, 1, 1, 1)),
    "two images": (np.array([[1, 0], [0, 1]]), (1, 1)),
    "one image with a label": (np.eye(10, dtype=int)[:, :1], (5, 5)),
    "labels that never occur": (np.hstack([np.zeros((8, 2)), np.ones((8, 1))]).astype(int), (4, 4)),
    "very uneven sizes": (long_tailed(m=40), (38, 1, 1)),
    "many instances in one image": (np.array([[1000, 1], [1, 1], [1, 0], [0, 1]]), (2, 2)),
}


@SEARCHES
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_sets(monkeypatch, exact, name):
    """Either search takes odd data, for every single objective and for all, without a warning or a NaN."""
    monkeypatch.setattr(memetic, "EXACT_COLUMNS", 256 if exact else 0)
    counts, sizes = DEGENERATE[name]
    with np.errstate(all="raise", under="ignore"):
        for objectives in (None, ("images",), ("instances",), ("pairs",)):
            made = split(counts, sizes, objectives=objectives, effort="fast")
            check_exact_sizes(made, sizes)
            assert np.isfinite(made.front.objectives).all()


def test_equal_units_may_be_fixed(monkeypatch):
    """Where most of the equal samples are fixed, sizes are exact and the split is about as good as with all movable."""
    rng = np.random.default_rng(5)
    kinds = long_tailed(m=12, q=5, seed=5)
    counts, sizes = kinds[rng.choice(12, p=np.arange(1, 13) / 78, size=600)], (400, 133, 67)
    free = split(counts, sizes, effort="fast")
    monkeypatch.setattr(memetic, "MOVABLE_LIMIT", 100)
    land = Landscape(problem_of(counts, sizes), [np.repeat(np.arange(3), sizes)], rng)
    assert land.n_movable <= 12 * 3 * memetic.MOVABLE_COPIES
    assert (land.tables(land.starts[0])[0].sum(axis=0) == sizes).all()
    made = split(counts, sizes, effort="fast")
    check_exact_sizes(made, sizes)
    assert front_cost(made, np.ones(3)) <= 1.1 * front_cost(free, np.ones(3))


@pytest.mark.parametrize("objectives", [("images",), ("pairs",), ("images", "instances"), ("pairs", "triplets")])
def test_fan_of_one(objectives):
    """Without labels against pairs there is one weighting: all objectives alike."""
    assert fan_of(objectives, 7).tolist() == [[1 / len(objectives)] * len(objectives)]


@pytest.mark.parametrize("objectives", [THREE, ("images", "pairs"), ("instances", "pairs", "strata")], ids="-".join)
@pytest.mark.parametrize("points", [3, 7, 11])
def test_fan(points, objectives):
    """The weights sum to 1 and lead from the labels first, whatever the pairs, over the centre to the pairs."""
    fan = fan_of(objectives, points)
    assert fan.sum(axis=1) == pytest.approx(1)
    assert (fan > 0).all()
    pairs = objectives.index("pairs")
    ratio = (fan[:, pairs] / fan[:, 0])[-points:]
    assert (np.diff(ratio) > 0).all()
    assert ratio[0] < 1e-4
    assert ratio[-1] == pytest.approx(10 * ratio[points // 2])


def test_large_fan_leans_to_the_instances():
    """Where samples and instances both count, a large fan has one more row that is most for instances."""
    small, large = fan_of(THREE, memetic.LARGE_FAN - 1), fan_of(THREE, memetic.LARGE_FAN)
    assert (len(small), len(large)) == (memetic.LARGE_FAN - 1, memetic.LARGE_FAN + 1)
    leaning = large[:, 1] / large[:, 0]
    assert leaning[0] > 1.5 * leaning[1:].max()
    assert len(fan_of(("images", "pairs"), memetic.LARGE_FAN)) == memetic.LARGE_FAN


def test_emphasis_of_images():
    """Mending puts samples with a label first, unless the weighting leans towards the instances."""
    balanced, leaning = np.array([1.0, 1.0, 2.0]), np.array([1.0, 4.0, 0.1])
    raised = emphasise_images(balanced, THREE)
    assert raised[0] > balanced[0]
    assert raised[1:].tolist() == balanced[1:].tolist()
    assert emphasise_images(leaning, THREE).tolist() == leaning.tolist()

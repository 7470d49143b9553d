"""The exchanges of the default method, each kernel against a slow twin or a recount.

The tests named `kernel` are small enough to run uncompiled, with NUMBA_DISABLE_JIT=1.
"""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from compiled import from_python
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import conditions_for, count_matrices, problems

from evosplit import LabelCounts
from evosplit._kernels import exchange
from evosplit.constraints import resolve_constraints, sizes_around_locks
from evosplit.methods.evosplit.anneal import exponential_quantiles
from evosplit.methods.evosplit.landscape import Candidate, Landscape
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets
from evosplit.rng import Stream

COUNTED = pytest.mark.parametrize("counted", [True, False], ids=["counted", "given"])
few = settings(max_examples=25)


@pytest.fixture(autouse=True, scope="module")
def _wrap_around():
    """Let unsigned integers wrap around in silence where the kernels run as plain Python."""
    with np.errstate(over="ignore"):
        yield


class Scene:
    """A random split in the arrays of the kernels, with weights that differ, and its recount."""

    def __init__(self, counts, sizes, seed=0, *, objectives=None, cover=True, counted=True, rare=0.0, **conditions):
        self.dense, self.cover, self.conditions = np.asarray(counts), cover, conditions
        counts = LabelCounts(self.dense)
        subsets = resolve_subsets(list(sizes), counts.n_samples)
        constraints = resolve_constraints(counts, subsets, **conditions)
        self.problem = build_problem(counts, subsets, objectives=objectives, cover=cover, constraints=constraints)
        stream = Stream(seed)
        self.land = Landscape(self.problem, [self.problem.draw(stream)], stream)
        if not counted:
            self.land.counted = []
        weights = 1.0 + np.arange(len(self.problem.objectives))
        self.weights = tuple((weights / weights.sum()).tolist())
        self.state = self.land.state(self.land.starts[0])
        self.units, self.cells = self.land.units, self.land.cells(self.weights, self.land.attained(self.state), rare)
        if self.problem.uneven:
            self.land.price_sizes(self.cells, 0.3)
        self.rng = stream.state()
        # The last type is the empty unit.
        self.features = np.vstack((self.land.features.toarray(), np.zeros(self.land.features.shape[1], dtype=int)))

    @property
    def order(self):
        """Give one of the orders of similarity."""
        return self.land.orders[0]

    def subset_of(self):
        """Give the subset of each movable unit."""
        return np.searchsorted(self.state.starts, self.state.slot_of, side="right") - 1

    def recount(self):
        """Count features, and samples beyond the sizes, in each subset, unit by unit."""
        counts, excess = np.zeros_like(self.state.counts), -self.problem.sizes
        placed = self.problem.placed_table
        for kind, j in zip(*np.nonzero(placed), strict=True):
            counts[:, j] += placed[kind, j] * self.features[kind]
            excess[j] += placed[kind, j] * self.problem.type_sizes[kind]
        for unit, j in enumerate(self.subset_of()):
            counts[:, j] += self.features[self.units.type_of[unit]]
            excess[j] += self.units.sizes[self.units.type_of[unit]]
        return counts, excess

    def worth(self):
        """Tell what the split is worth, from scratch: samples that are too many or too few, labels missing, cost."""
        counts, excess = self.recount()
        given = self.land._bases
        costs = naive.cell_costs(self.cells.columns.tolist(), counts.tolist(), given.tolist(), self.cells.spans)
        lack = naive.shortage(self.cells.columns[:, 2].astype(int).tolist(), counts.tolist())
        return int(np.abs(excess).sum()), lack, float(np.sum(costs))

    def check_books(self):
        """Check that the places are a permutation and its inverse, and the sums those of a recount."""
        n = len(self.state.unit_at)
        assert sorted(self.state.unit_at.tolist()) == list(range(n))
        assert self.state.slot_of[self.state.unit_at].tolist() == list(range(n))
        counts, excess = self.recount()
        assert self.state.counts.tolist() == counts.tolist()
        assert self.state.excess.tolist() == excess.tolist()
        assert not self.state.gains.any()
        wholes = self.land._bases.copy()
        for start, stop, block in self.cells.spans:
            wholes[block] = counts[start:stop].sum(axis=0)
        assert self.state.totals.tolist() == wholes.tolist()

    def search(self, work, temperature, strict=False, missing=0.0, losses=None):
        """Try exchanges."""
        return exchange.search(
            self.units, self.cells, self.state, self.order, 3, work, temperature, exponential_quantiles(), strict,
            missing, np.empty(0) if losses is None else losses, self.rng,
        )  # fmt: skip

    def mend(self, only_missing=False, work=5000):
        """Mend the labels one by one."""
        return exchange.mend(
            self.units, self.cells, self.state, self.order, 3, *self.land.carriers, only_missing, work, self.rng
        )


def at_most(after, before):
    """Whether (sizes, missing labels, cost) are no worse than before, but for rounding."""
    return after[:2] < before[:2] or (after[:2] == before[:2] and after[2] <= before[2] + 1e-9 * max(1.0, before[2]))


@st.composite
def scenes(draw, counted=True, max_subsets=3):
    """Draw a set, maybe with groups, locks, strata, weights and needs, that leaves two units to exchange."""
    counts, sizes = draw(problems(min_labels=1, max_subsets=max_subsets))
    groups, locked = draw(conditions_for(len(counts), len(sizes))) if draw(st.booleans()) else (None, None)
    units, fixed = naive.units_of(len(counts), groups, locked)
    names = resolve_subsets(sizes, len(counts)).names
    conditions = {"groups": groups, "locked": None if locked is None else [None if j < 0 else names[j] for j in locked]}
    held = [sum(len(unit) for unit, j in zip(units, fixed, strict=True) if j == subset) for subset in range(len(sizes))]
    sizes = list(sizes_around_locks(sizes, held))
    assume(min(sizes) > 0)
    if draw(st.booleans()):
        sites = st.lists(st.sampled_from("ab"), min_size=len(counts), max_size=len(counts))
        conditions["strata"] = {"site": draw(sites)}
    if draw(st.booleans()):
        conditions["label_weights"] = {"0": draw(st.sampled_from([0.2, 7.0]))}
    if draw(st.booleans()):
        conditions["min_per_label"] = 2
    conditions["cover"] = draw(st.sampled_from([True, False, "all"]))
    scene = Scene(counts, sizes, draw(st.integers(0, 99)), counted=counted, rare=draw(st.floats(0, 1)), **conditions)
    assume(scene.land.has_choice)
    return scene


def random_exchange(scene, data):
    """Draw two slots of different subsets: (slot, slot, subset, subset)."""
    a, b = data.draw(st.permutations(np.flatnonzero(scene.land.slots > 0).tolist()))[:2]
    starts = scene.state.starts
    slot_a, slot_b = (data.draw(st.integers(starts[j], starts[j + 1] - 1)) for j in (a, b))
    return slot_a, slot_b, a, b


@COUNTED
@few
@given(data=st.data())
def test_kernel_change_is_the_difference_of_full_evaluations(counted, data):
    """What an exchange changes in sizes, missing labels and cost is what counting everything anew says."""
    scene = data.draw(scenes(counted))
    for _ in range(3):
        slot_a, slot_b, a, b = random_exchange(scene, data)
        first, second = scene.units.type_of[scene.state.unit_at[[slot_a, slot_b]]]
        before = scene.worth()
        excess, lack, change, evaluated = from_python(exchange.exchange_change)(
            scene.units, scene.cells, scene.state, first, second, a, b
        )
        scene.check_books()  # asking changes nothing
        from_python(exchange.exchange)(scene.units, scene.cells, scene.state, slot_a, slot_b, a, b)
        scene.check_books()
        after = scene.worth()
        assert (excess, lack) == (after[0] - before[0], after[1] - before[1])
        assert change == pytest.approx(after[2] - before[2], abs=1e-9 * max(1.0, before[2]))
        differing = int((scene.features[first] != scene.features[second]).sum())
        assert evaluated == differing + sum(stop - start for start, stop, _ in scene.cells.spans)


@COUNTED
@few
@given(problem=problems(min_labels=1), seed=st.integers(0, 99))
def test_kernel_cost_is_that_of_the_split(counted, problem, seed):
    """Where totals are counted, or are the samples, the cells of the objectives cost what the measures say."""
    objectives = None if counted else ("samples", "pairs")
    scene = Scene(*problem, seed, objectives=objectives, counted=counted)
    counts, sizes = problem
    costs = naive.cell_costs(
        scene.cells.columns.tolist(), scene.state.counts.tolist(), scene.land._bases.tolist(), scene.cells.spans
    )
    table = scene.land.type_table(Candidate(scene.state.unit_at))
    assignment = scene.problem.placements([table], Stream(0))[0].tolist()
    measured = naive.measures(counts, assignment, len(sizes), sizes)
    names = {"samples": "ld", "instances": "ld_occurrences", "pairs": "lpd"}
    for at, (block, weight) in enumerate(zip(scene.problem.blocks, scene.land.of_blocks(scene.weights), strict=True)):
        if block.by_total and not counted:
            continue
        expected = measured[names[block.name]]
        found = np.sum(costs[block.start : block.stop])
        assert found == pytest.approx(weight * expected / scene.land.reference[at], abs=1e-9)


@COUNTED
@few
@given(data=st.data())
def test_kernel_search_keeps_its_books(counted, data):
    """After many exchanges, good and bad ones, and after mending, places and sums are those of a recount."""
    scene = data.draw(scenes(counted))
    assert scene.search(3000, temperature=10.0)[1] >= 0
    scene.check_books()
    scene.search(2000, temperature=0.0, strict=True)
    scene.check_books()
    scene.mend()
    scene.check_books()
    assert (scene.land.type_table(Candidate(scene.state.unit_at)) >= scene.problem.locked_table).all()


@COUNTED
@few
@given(data=st.data())
def test_kernel_search_without_heat_never_loses(counted, data):
    """At temperature 0 nothing gets worse: the cost, missing labels included; if strict, sizes, labels, cost."""
    scene = data.draw(scenes(counted))
    for _ in range(3):
        before = scene.worth()
        scene.search(1000, temperature=0.0, missing=0.7)
        after = scene.worth()
        assert at_most((0, 0, after[2] + 0.7 * after[1]), (0, 0, before[2] + 0.7 * before[1]))
    for _ in range(3):
        before = scene.worth()
        scene.search(1000, temperature=0.0, strict=True)
        assert at_most(scene.worth(), before)


@few
@given(data=st.data())
def test_kernel_heat_takes_no_label_away(data):
    """However hot, a strict search makes no exchange after which sizes are worse, or more labels are missing."""
    scene = data.draw(scenes())
    for _ in range(3):
        before = scene.worth()
        scene.search(1000, temperature=100.0, strict=True)
        assert scene.worth()[:2] <= before[:2]


@COUNTED
@few
@given(data=st.data(), work=st.integers(0, 3000))
def test_kernel_search_stays_within_its_work(counted, data, work):
    """A search ends with the trial that reaches the columns asked for."""
    scene = data.draw(scenes(counted))
    longest = 2 * int((scene.features != 0).sum(axis=1).max()) + sum(b - a for a, b, _ in scene.cells.spans)
    done, made = scene.search(work, temperature=1.0)
    assert work <= done < work + exchange.TRIAL + longest
    assert 0 <= made <= done / exchange.TRIAL


@COUNTED
@few
@given(data=st.data())
def test_kernel_mend_never_loses(counted, data):
    """Every round of mending with exchanges leaves something better, and no size, label or cost worse than before."""
    scene = data.draw(scenes(counted))
    for only_missing in (True, False):
        before = scene.worth()
        done, made = scene.mend(only_missing)
        after = scene.worth()
        assert after[0] <= before[0]
        assert at_most((0, *after[1:]), (0, *before[1:]))
        assert made == 0 or after[1:] < before[1:]
        assert made > 0 or after == before
        assert done >= 0


@pytest.mark.parametrize("seed", range(3))
def test_kernel_mending_comes_to_rest(seed):
    """Round by round the cost falls, until no round finds an exchange that helps."""
    rng = np.random.default_rng(seed)
    scene = Scene(rng.random((40, 6)) < 0.4, (20, 12, 8), seed, objectives=("samples",))
    for _ in range(200):
        before = scene.worth()
        if not scene.mend()[1]:
            break
        assert at_most(scene.worth(), before)
    else:
        raise AssertionError("still mending after 200 rounds")
    assert scene.worth() == before


@pytest.mark.parametrize("objectives", [("samples",), ("instances",), ("pairs",), None], ids=str)
@few
@given(problem=problems(min_labels=1, max_labels=1), seed=st.integers(0, 99))
def test_kernel_mend_brings_a_missing_label(objectives, problem, seed):
    """A label with as many samples as there are subsets reaches each, whatever the objectives."""
    counts, sizes = problem
    assume(counts.any())
    scene = Scene(counts, sizes, seed, objectives=objectives, cover="all")
    while scene.land.has_choice and scene.mend(only_missing=True)[1]:
        pass
    assert (scene.state.counts[0] > 0).sum() == min(len(sizes), (counts > 0).sum())


def test_kernel_mend_brings_all_at_once():
    """Three labels that all sit in one subset are spread over three."""
    counts = np.zeros((30, 3), dtype=int)
    for label in range(3):
        counts[3 * label : 3 * label + 4, label] = 1
    scene = Scene(counts, (20, 5, 5))
    labelled = np.flatnonzero(scene.features[scene.units.type_of, :3].any(axis=1))
    rest = np.setdiff1d(np.arange(30), labelled)
    scene.state = scene.land.state(Candidate(np.concatenate((labelled, rest)).astype(np.int32)))
    assert (scene.state.counts[:3, 1:] == 0).all()
    while scene.mend(only_missing=True)[1]:
        scene.check_books()
    assert (scene.state.counts[:3] > 0).all()


@few
@given(data=st.data(), reach=st.integers(1, 3))
def test_kernel_proposals_are_legal(data, reach):
    """A proposal names slots of two different subsets, as it says, or none; with time, every subset has its turn."""
    scene = data.draw(scenes())
    starts, turns = scene.state.starts, set()
    for _ in range(60):
        slot_a, slot_b, a, b = from_python(exchange.propose)(scene.units, scene.state, scene.order, reach, scene.rng)
        if slot_a >= 0:
            assert a != b
            assert starts[a] <= slot_a < starts[a + 1]
            assert starts[b] <= slot_b < starts[b + 1]
            turns |= {a, b}
    assert turns <= set(np.flatnonzero(scene.land.slots > 0).tolist())


@few
@given(data=st.data())
def test_kernel_losses_are_losses(data):
    """The sampled losses are positive, as many as said, and sampling changes nothing."""
    scene = data.draw(scenes())
    losses = np.full(10, np.nan)
    done, found = scene.search(5000, temperature=1.0, losses=losses)
    assert found == len(losses) or done >= 5000
    assert (losses[:found] > 0).all()
    assert np.isnan(losses[found:]).all()
    scene.check_books()


@few
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_kernel_subset_of_slot(slots):
    """A slot belongs to the subset whose slots it is among; subsets without any are passed over."""
    slots[len(slots) // 2] = 0
    starts = np.concatenate(([0], np.cumsum(slots)))
    expected = [j for j, n in enumerate(slots) for _ in range(n)]
    assert [from_python(exchange.subset_of_slot)(starts, slot) for slot in range(starts[-1])] == expected


@given(count_matrices(min_labels=1), st.integers(0, 2), st.randoms(use_true_random=False))
def test_kernel_similarity_keys(dense, further, random):
    """Rows sort by their labels in the order of rank, like tuples that end with the largest number."""
    q = dense.shape[1]
    rank = list(range(q))
    random.shuffle(rank)
    rows = sp.csr_array(np.hstack((dense, np.ones((len(dense), further), dtype=int))))  # no labels behind them
    keys = exchange.similarity_keys(rows, np.array(rank))
    tuples = [[*sorted(rank[label] for label in np.flatnonzero(row)), q, q, q, q, q, q][:6] for row in dense]
    for a, b in itertools.product(range(len(dense)), repeat=2):
        assert (keys[a] < keys[b]) == (tuples[a] < tuples[b])


@pytest.mark.parametrize(("q", "places"), [(1, 63), (3, 31), (200, 7), (2000, 5), (100_000, 3)])
def test_kernel_similarity_keys_hold_the_first_labels(q, places):
    """As many labels as 63 bits hold decide, the others do not."""
    n = min(q, 8)
    labels = np.sort(np.random.default_rng(q).permutation(q)[:n])
    rank = np.random.default_rng(1).permutation(q)
    order = labels[np.argsort(rank[labels])]  # the labels of the row, the first one foremost
    rows = [np.sort(order), *(np.sort(np.delete(order, i)) for i in range(n))]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    indices = np.concatenate(rows).astype(np.int32)
    keys = exchange.similarity_keys(sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(n + 1, q)), rank)
    assert (keys >= 0).all()
    assert [key == keys[0] for key in keys[1:]] == [i >= places for i in range(n)]


@given(count_matrices(min_labels=1), st.integers(0, 2**32))
def test_carriers_of_labels(dense, seed):
    """Each label lists the units whose type has it."""
    type_of = np.sort(np.random.default_rng(seed).integers(0, len(dense), size=9))
    starts, units = exchange.carriers_of_labels(sp.csr_array(dense), type_of, dense.shape[1])
    for label in range(dense.shape[1]):
        expected = np.flatnonzero(dense[type_of, label])
        assert sorted(units[starts[label] : starts[label + 1]].tolist()) == expected.tolist()


@pytest.mark.parametrize("q", [3, 40, 200])
def test_kernel_similar_units_lie_side_by_side(q):
    """In every order of similarity, types with equal labels follow each other."""
    rng = np.random.default_rng(q)
    kinds = rng.random((6, q)) < 4 / q
    counts = kinds[rng.integers(6, size=40)] * rng.integers(1, 3, size=(40, 1))
    counts[0, 0] = 1
    scene = Scene(counts, (20, 20))
    for neighbours, rank in scene.land.orders:
        assert sorted(neighbours.tolist()) == sorted(set(scene.units.type_of.tolist()))
        assert rank[neighbours].tolist() == list(range(len(neighbours)))
        labels = [tuple(np.flatnonzero(scene.features[kind, :q]).tolist()) for kind in neighbours]
        assert len(list(itertools.groupby(labels))) == len(set(labels))


@few
@given(dense=count_matrices(min_samples=2, min_labels=1))
def test_kernel_carriers(dense):
    """Each label lists the units that carry it, in order."""
    scene = Scene(dense, (1, len(dense) - 1))
    starts, units, _ = scene.land.carriers
    for label in range(dense.shape[1]):
        carries = [u for u, kind in enumerate(scene.units.type_of) if scene.features[kind, label]]
        assert units[starts[label] : starts[label + 1]].tolist() == carries
    assert starts[-1] == len(units)


@few
@given(data=st.data())
def test_kernel_mending_sizes_of_a_candidate(data):
    """Mending brings the sizes nearer or leaves them, and moves units and empty ones only."""
    scene = data.draw(scenes())
    stream = Stream(data.draw(st.integers(0, 99)))
    shuffled = Candidate(stream.permutation(scene.state.unit_at))
    mended = scene.land.mend_sizes(shuffled, stream)
    assert sorted(mended.unit_at.tolist()) == sorted(shuffled.unit_at.tolist())
    assert scene.land.score(mended).excess <= scene.land.score(shuffled).excess


@few
@given(data=st.data())
def test_kernel_score_is_that_of_the_split(data):
    """Sizes, missing labels and objectives of a candidate are those of its split, counted sample by sample."""
    scene = data.draw(scenes())
    scene.search(1000, temperature=1.0)
    candidate, problem, k, conditions = Candidate(scene.state.unit_at), scene.problem, scene.problem.k, scene.conditions
    assignment = problem.placements([scene.land.type_table(candidate)], Stream(0))[0].tolist()
    held, samples, instances, pairs = naive.subset_tables(scene.dense, assignment, k)
    weights = [conditions.get("label_weights", {}).get(str(label), 1.0) for label in range(len(samples))]
    pair_weights = [max(weights[i], weights[j]) for i, j in naive.label_pairs(scene.dense)]
    expected = {
        "samples": naive.weighted_distribution(samples, held, weights),
        "instances": naive.weighted_distribution(instances, np.sum(instances, axis=0).tolist(), weights),
        "pairs": naive.weighted_distribution(pairs, held, pair_weights),
    }
    if "strata" in conditions:
        expected["strata"] = naive.strata_distribution(conditions["strata"].values(), assignment, k)
    for score in (scene.land.score(candidate, scene.state), scene.land.score(Candidate(candidate.unit_at))):
        assert score.excess == naive.size_excess(assignment, problem.sizes.tolist())
        assert score.objectives == pytest.approx([expected[name] for name in problem.objectives], abs=1e-12)
        if scene.cover == "all":
            needs = naive.needs_of(scene.dense, problem.sizes.tolist(), conditions.get("min_per_label", 1))
            assert score.lack == naive.lack_of(scene.dense, assignment, needs, k)
        assert scene.cover or score.lack == 0

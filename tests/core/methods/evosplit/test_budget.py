"""How much work a search takes: bounded, growing with the data, without jumps."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from searches import EFFORTS, RATIOS, check_exact_sizes, long_tailed

from evosplit import LabelCounts, crowd, split
from evosplit._kernels import exchange
from evosplit.methods.evosplit import budget, landscape, solve
from evosplit.methods.evosplit.budget import Budget, rounds_of
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets

SLACK = 1.1  # a search ends with the trial, and mending with the label, that reaches the work planned
QUALITY_JUMP = 1.25  # between two sides of a threshold; at most 1.08 over 25 seeds


@given(st.integers(1, 11), st.integers(0, 10**9))
def test_a_greater_effort_begins_with_a_smaller_one(n_vectors, work):
    """The rounds of a smaller effort are the first of a greater; together a normal search has the work planned."""
    fast, normal, thorough = (rounds_of(effort, n_vectors, work) for effort in EFFORTS)
    assert fast == normal[: len(fast)]
    assert normal == thorough[: len(normal)]
    assert len(fast) <= len(normal) < len(thorough)
    ancestors, *children = normal
    assert set(ancestors.vectors) == {n_vectors // 2}
    assert sorted(at for each in children for at in each.vectors) == list(range(n_vectors))
    assert {0, n_vectors // 2} == set(fast[1].vectors)
    spent = [sum(each.work * len(each.vectors) for each in rounds) for rounds in (fast, normal, thorough)]
    assert spent[0] <= spent[1] <= work
    assert spent[2] <= 10 * max(work, 1)


@given(st.integers(1, 10**7), st.integers(1, 20_000), st.floats(0, 3000), st.integers(1, 10**10))
def test_budget_grows_with_the_units_and_never_jumps(units, labels, columns, table):
    """More units or labels get more work, slower memory less; a percent more changes it by a few percent."""
    here = Budget.of(units, labels, columns, table)
    more, richer, larger, denser = (
        Budget.of(units + 1 + units // 100, labels, columns, table),
        Budget.of(units, labels + labels // 100, columns, table),
        Budget.of(units, labels, columns, table + 1 + table // 100),
        Budget.of(units, labels, columns * 1.01, table),
    )
    for_one = budget.PER_UNIT * np.sqrt(labels)
    assert here.work <= more.work <= 1.02 * here.work + 2 * for_one
    assert here.work <= richer.work <= 1.02 * here.work
    assert 0.97 * here.work - 1 <= larger.work <= here.work
    assert denser.work == here.work
    assert here.work <= budget.BASE + for_one * units
    for other in (more, richer, larger, denser):
        assert other.patience == pytest.approx(here.patience, rel=0.03 if units > 100 else 1.0)
        assert 0 <= other.patience <= 1


@given(st.floats(1, 2**40))
def test_log2_is_near_and_grows(x):
    """The cheap logarithm is exact at powers of two, never above the true one by more than nothing, and grows."""
    assert np.log2(x) - 0.0861 <= budget.log2(x) <= np.log2(x) + 1e-12
    assert budget.log2(x) <= budget.log2(x * 1.001)


@pytest.fixture
def meter(monkeypatch):
    """Count the columns that searches evaluate, beside what they planned: a list of (done, planned)."""
    readings = []

    class Metered(solve._Clock):
        def __init__(self, run, work):
            readings.append([0, work])
            super().__init__(run, work)

    def counting(kernel):
        def count(*arguments):
            done, made = kernel(*arguments)
            readings[-1][0] += int(done)
            return done, made

        return count

    monkeypatch.setattr(solve, "_Clock", Metered)
    for name in ("search", "mend"):
        monkeypatch.setattr(exchange, name, counting(getattr(exchange, name)))
    return readings


def dense(m, q, per_sample, seed=0):
    """Draw samples with so many labels each, on average, frequent and rare ones."""
    chances = 1 / np.arange(1, q + 1) ** 0.7
    return np.random.default_rng(seed).random((m, q)) < np.minimum(chances * per_sample / chances.sum(), 0.9)


COSTLY = {
    "26 labels each": (dense(300, 100, 26), (200, 60, 40), {}),
    "2 labels, 20 subsets": (dense(400, 2, 1), (20,) * 20, {}),
    "rare labels in 20 subsets": (dense(400, 100, 3), (20,) * 20, {}),
    "rare labels in small subsets": (dense(400, 100, 3), (380, 10, 10), {"cover": "all"}),
    "groups": (dense(400, 20, 3), RATIOS, {"groups": np.random.default_rng(0).integers(0, 200, 400)}),
}


@pytest.mark.parametrize("name", COSTLY)
def test_work_is_bounded(monkeypatch, meter, name):
    """Columns evaluated, counted one by one, are no more than planned, whatever the samples are like."""
    monkeypatch.setattr(budget, "BASE", 20_000_000)
    counts, sizes, options = COSTLY[name]
    for effort in ("fast", "normal"):
        split(counts, sizes, effort=effort, **options)
    (fast, for_fast), (normal, for_normal) = meter
    assert for_fast <= for_normal <= budget.BASE + budget.PER_UNIT * 10 * 800  # empty units are units too
    assert fast <= SLACK * for_fast
    assert normal <= SLACK * for_normal


def test_pricing_is_a_small_part(monkeypatch, meter):
    """Where there are many cells for few trials, they are priced anew as often as trials pay for, not at each step."""
    monkeypatch.setattr(budget, "BASE", budget.BASE // 30)
    priced = []
    attained = landscape.Landscape.attained
    monkeypatch.setattr(landscape.Landscape, "attained", lambda *of: priced.append(of[1].counts.size) or attained(*of))
    split(dense(100, 150, 40), (40, *(20,) * 3))
    ((done, _),) = meter
    searches = 7
    assert len(priced) <= 9 * searches + 2 * done / priced[0]
    assert len(priced) < 20 * searches


def doubled(counts):
    """Give most samples twins."""
    return np.vstack((counts, counts, counts))


THRESHOLDS = {
    "totals are counted in narrow blocks": (landscape, "COUNTED_COLUMNS", 0, 256),
    "equal samples are placed": (crowd, "MOST_UNITS", 0, 10**9),
    "pairs are sampled": (budget, "PAIR_ENTRIES", None, 10**9),
}


def quality(made):
    """Return the mean, over weights from labels to pairs, of the best weighted sum on the front; less is better."""
    scaled = made.front.objectives / made.front.reference
    share = np.linspace(0.05, 0.95, 19)[:, None]
    return (share * scaled[:, :-1].mean(axis=1) + (1 - share) * scaled[:, -1]).min(axis=1).mean()


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("seed", range(2))
def test_no_jump_where_a_threshold_is_crossed(monkeypatch, meter, name, seed):
    """On either side of each threshold a set is split about as well, for about the same work."""
    monkeypatch.setattr(budget, "PER_UNIT", 30)  # searches are short here: units that are placed would be most of it
    counts = doubled((long_tailed(m=80, q=10, seed=seed) > 0).astype(int))
    where, constant, below, above = THRESHOLDS[name]
    if below is None:  # one pair fewer than there are
        below = int(sum(len(naive.label_pairs([row])) for row in np.unique(counts, axis=0))) - 1
        monkeypatch.setattr(budget, "PAIR_ENTRIES_PER_SAMPLE", 0)
    found = []
    for value in (below, above):
        monkeypatch.setattr(where, constant, value)
        found.append(quality(split(counts, RATIOS, effort="fast", seed=seed)))
    assert max(found) <= QUALITY_JUMP * min(found)
    (_, one), (_, other) = meter
    assert max(one, other) <= 1.1 * min(one, other)


def test_too_many_pairs_are_sampled(monkeypatch):
    """Of more pairs than there is time for a part is searched, a note says so, and the order of labels is no matter."""
    monkeypatch.setattr(budget, "PAIR_ENTRIES", 2_000)
    monkeypatch.setattr(budget, "PAIR_ENTRIES_PER_SAMPLE", 0)
    counts = dense(150, 40, 12).astype(int)
    made = split(counts, RATIOS, effort="fast")
    check_exact_sizes(made, (105, 30, 15))
    assert any("a random part was searched" in note for note in made.notes)
    order = np.random.default_rng(0).permutation(40)
    assert (split(counts[:, order], RATIOS, effort="fast").assignment == made.assignment).all()
    assert made.measures.lpd <= split(counts, RATIOS, method="random").measures.lpd
    of = build_problem(LabelCounts(counts), resolve_subsets(RATIOS, 150), pair_entries=2_000)
    assert of.pairs_kept < 1024
    assert of.features[:, of.blocks[-1].start : of.blocks[-1].stop].nnz <= 1.2 * 2_000

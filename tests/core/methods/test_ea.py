"""The paper's single-objective algorithm: its operators, its fitness, its runs."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from genetics import OBJECTIVES, TINY, long_tailed, run_of

from evosplit import EvoSplitError, kfold, split
from evosplit.methods.ea import EvolutionaryAlgorithm


@pytest.mark.parametrize("method", ["ea-ld", "ea-lpd"])
def test_finds_the_optimum_of_a_tiny_set(method):
    """The best of all splits, known by enumeration, is found."""
    sizes, best = (3, 3, 3), np.inf
    measure = "ld_occurrences" if method == "ea-ld" else "lpd_occurrences"
    for ones in itertools.combinations(range(1, 9), 2):  # sample 0 is in subset 0: subsets are interchangeable
        rest = [sample for sample in range(1, 9) if sample not in ones]
        for twos in itertools.combinations(rest[1:], 2):
            assignment = np.full(9, 2)
            assignment[[0, *ones]] = 0
            assignment[[rest[0], *twos]] = 1
            best = min(best, naive.measures(TINY, assignment.tolist(), 3, sizes)[measure])
    made = split(TINY, sizes, method=method, objectives=("instances", "pairs"), cover=False)
    assert getattr(made.measures, measure) == pytest.approx(best)


def test_each_method_minimises_its_own_measure():
    """In labels "ea-ld" is better, in label pairs "ea-lpd"."""
    counts = long_tailed(m=300, q=6)
    ld, lpd = (kfold(counts, 5, method=method, objectives=OBJECTIVES).measures for method in ("ea-ld", "ea-lpd"))
    assert ld.ld_occurrences < lpd.ld_occurrences
    assert lpd.lpd_occurrences < ld.lpd_occurrences


def test_defaults_are_the_papers():
    """Every default is the value that the paper states."""
    method = EvolutionaryAlgorithm()
    assert (method.population, method.crossovers, method.mutations) == (50, 10, 10)
    assert (method.mutation_rate, method.patience, method.restarts) == (0.01, 25, 5)


def test_run_ends_when_patience_does():
    """Where nothing can improve, a run takes one generation more than its patience."""
    heard = []
    method = EvolutionaryAlgorithm(patience=7, restarts=3)
    split(np.ones((8, 1)), (4, 4), method=method, objectives=("instances",), on_progress=lambda *r: heard.append(r))
    assert [message.split(":")[0] for _, message in heard[:-1]] == [
        f"run {i} of 3" for i in (1, 2, 3) for _ in range(8)
    ]
    assert heard[-1] == (1.0, "done")


def test_more_patience_is_no_worse():
    """A run that waits longer continues the shorter one."""
    counts = long_tailed()
    short, long = (run_of(counts, EvolutionaryAlgorithm(patience=patience, restarts=1))[0] for patience in (5, 50))
    assert long < short


@pytest.mark.parametrize("generations", [1, 20])
def test_stopping_returns_the_best_so_far(generations):
    """The split that is returned is the one whose fitness was reported last."""
    heard = []

    def stop(done, message):
        heard.append(message)
        return len(heard) < generations

    made = split(long_tailed(), (0.8, 0.2), method="ea-ld", objectives=("instances",), on_progress=stop)
    assert len(heard) == generations
    assert heard[-1] == f"run 1 of 5: best {made.measures.ld_occurrences:.3g}"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"population": 1}, "population is 1; give an integer of at least 2"),
        ({"patience": 0}, "patience is 0; give an integer of at least 1"),
        ({"restarts": 2.5}, "restarts is 2.5; give an integer of at least 1"),
        ({"crossovers": -1}, "crossovers is -1; give an integer of at least 0"),
        ({"crossovers": 0, "mutations": 0}, "a generation needs at least one child"),
        ({"mutation_rate": 1.5}, "mutation_rate is 1.5; give a share of the genes between 0 and 1"),
        ({"mutation_rate": float("nan")}, "mutation_rate is nan"),
    ],
)
def test_bad_parameters(parameters, message):
    """A parameter with which no run is possible is refused by name."""
    with pytest.raises(EvoSplitError, match=message):
        EvolutionaryAlgorithm(**parameters)


def test_objective_has_to_be_asked_for():
    """Minimising what the split does not ask for is an error that says so."""
    with pytest.raises(
        EvoSplitError, match="the method minimises 'pairs', but objectives is \\('samples',\\); add 'pairs'"
    ):
        split(long_tailed(), (0.5, 0.5), method="ea-lpd", objectives=("samples",))

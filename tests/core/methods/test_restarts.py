"""Several runs: the best is taken, whoever runs them, until somebody stops them."""

from __future__ import annotations

import joblib
from genetics import long_tailed, run_of

from evosplit import split
from evosplit.methods.ea import EvolutionaryAlgorithm


def test_best_of_several_runs():
    """Five runs are at least as good as their first one, and "thorough" as "normal"."""
    counts = long_tailed()
    fitness = [run_of(counts, EvolutionaryAlgorithm(), effort=effort)[0] for effort in ("fast", "normal", "thorough")]
    assert sorted(fitness, reverse=True) == fitness
    assert fitness[2] < fitness[0]


def test_same_result_in_threads_and_processes():
    """Neither n_jobs nor the joblib backend of the caller changes the result."""
    counts, method = long_tailed(), EvolutionaryAlgorithm(restarts=3)
    alone = split(counts, (0.5, 0.5), method=method, objectives=("instances",), n_jobs=1)
    threads = split(counts, (0.5, 0.5), method=method, objectives=("instances",), n_jobs=2)
    heard = []
    with joblib.parallel_config(backend="loky", n_jobs=2):
        processes = split(
            counts, (0.5, 0.5), method=method, objectives=("instances",), on_progress=lambda *r: heard.append(r)
        )
        _, run = run_of(counts, EvolutionaryAlgorithm(patience=10**6, restarts=2), time_limit=1.0)
    assert (alone.assignment == threads.assignment).all()
    assert (alone.assignment == processes.assignment).all()
    assert heard == [(1.0, "done")]
    assert "time limit of 1 s" in run.stopped


def test_stopping_leaves_out_what_has_not_begun():
    """Once told to stop, no further run begins, and the best so far is returned."""
    heard = []

    def stop_in_second_run(done, message):
        heard.append(message)
        return not message.startswith("run 2")

    made = split(long_tailed(), (0.8, 0.2), method="ea-ld", objectives=("instances",), on_progress=stop_in_second_run)
    assert made.sizes == (120, 30)
    assert sum(message.startswith("run 2") for message in heard) == 1
    assert not any(message.startswith("run 3") for message in heard)
    assert any("stopped early on request" in note for note in made.notes)

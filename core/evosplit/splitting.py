"""`split()` and `kfold()`: validate, build the problem, run the method, pick from the front."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.counts import LabelCounts, as_label_counts
from evosplit.errors import EvoSplitError, EvoSplitWarning
from evosplit.methods import resolve_method
from evosplit.methods.base import EFFORTS, Method, OnProgress, Run
from evosplit.problem import SplitProblem, build_problem
from evosplit.ratios import Subsets, fold_subsets, resolve_subsets
from evosplit.result import PICK_RULES, ParetoFront, Split, non_dominated, pick_from

__all__ = ["kfold", "split"]

Seed = int | np.random.Generator | None


def split(
    counts: Any,
    ratios: Mapping[str, float] | Sequence[float],
    *,
    method: str | Method = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool = True,
    pick: str | int = "balanced",
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Split:
    """Split a multi-label data set into disjoint subsets of exact size that are as alike as possible.

    Parameters
    ----------
    counts
        A LabelCounts, or anything that its constructor takes: how often each label occurs in each sample.
    ratios
        A mapping from subset names to ratios, or a sequence (two: train, test; three: train, val, test). Fractions sum
        to 1; integers are exact sizes that sum to the number of samples.
    method
        "evosplit" (default); "nsga2", "ea-ld" and "ea-lpd" (the paper's); "sois", "is" (iterative stratification over
        label pairs and over labels), "random"; or a method object with parameters of its own.
    objectives
        What to spread: any of "images" (samples with a label, LD), "instances" (occurrences of a label, LD'), "pairs"
        (samples with two labels together, LPD) and "triplets". By default images and pairs, and instances if labels
        repeat; the paper's methods take instances and pairs.
    cover
        Give every subset at least one sample of every label that has enough samples.
    pick
        Which trade-off of the front: "balanced", "origin" (the paper's rule), "ld", "lpd", or an index.
    effort
        "fast", "normal" or "thorough".
    time_limit
        Seconds after which the best split so far is returned, with a note in the report.
    n_jobs
        Threads to use; -1 for all cores. The result does not depend on it.
    seed
        An integer, a numpy Generator, or None for a different split each time.
    on_progress
        Called with the fraction done (0 ... 1) and a message; returning False stops with the best so far.

    Examples
    --------
    >>> labels = [["cat"], ["cat", "dog"], ["dog"], ["cat", "cat"], ["dog", "cat"], []]
    >>> made = split(LabelCounts.from_lists(labels), {"train": 0.5, "test": 0.5})
    >>> made.sizes
    (3, 3)
    """
    counts = as_label_counts(counts)
    return _solve(
        counts,
        resolve_subsets(ratios, counts.n_samples),
        method=method,
        objectives=objectives,
        cover=cover,
        pick=pick,
        effort=effort,
        time_limit=time_limit,
        n_jobs=n_jobs,
        seed=seed,
        on_progress=on_progress,
    )


def kfold(counts: Any, n_splits: int = 5, **options: Any) -> Split:
    """Split a data set into `n_splits` folds of equal size (within one); takes the keywords of `split`.

    The subsets are called fold0, fold1, ...; `Split.folds()` yields (train, test) positions for cross-validation.

    Examples
    --------
    >>> made = kfold([[1, 0], [1, 0], [0, 1], [0, 1]], 2)
    >>> [len(test) for train, test in made.folds()]
    [2, 2]
    """
    counts = as_label_counts(counts)
    return _solve(counts, fold_subsets(n_splits, counts.n_samples), **{**_defaults(), **options})


def _defaults() -> dict[str, Any]:
    return dict(split.__kwdefaults__ or {})


def _solve(
    counts: LabelCounts,
    subsets: Subsets,
    *,
    method: str | Method,
    objectives: Sequence[str] | None,
    cover: bool,
    pick: str | int,
    effort: str,
    time_limit: float | None,
    n_jobs: int,
    seed: Seed,
    on_progress: OnProgress | None,
) -> Split:
    solver = resolve_method(method)
    _check_options(pick, effort, time_limit, n_jobs, seed)
    run = Run(np.random.default_rng(seed), effort, n_jobs, time_limit, on_progress)
    if objectives is None:
        objectives = getattr(solver, "default_objectives", None)
    problem = build_problem(counts, subsets, objectives=objectives, cover=cover)
    notes: tuple[str, ...] = ()
    if not counts.totals.any():
        notes = ("no sample carries any label, so there is nothing to balance: the split is random.",)
        warnings.warn(notes[0], EvoSplitWarning, stacklevel=3)
        solver = resolve_method("random")
    solution = solver.solve(problem, run)
    if run.stopped is not None:
        notes = (*notes, run.stopped)
    front = _front(problem, solution.assignments)
    chosen = pick_from(front, pick)
    settings = {
        "method": method if isinstance(method, str) else repr(method),
        "objectives": list(problem.objectives),
        "cover": cover,
        "pick": int(pick) if isinstance(pick, (int, np.integer)) else pick,
        "effort": effort,
        "seed": int(seed) if isinstance(seed, (int, np.integer)) else None,
    }
    return Split(
        names=subsets.names,
        assignment=front.assignments[chosen],
        sample_ids=counts.ids,
        target_sizes=subsets.sizes,
        settings=settings,
        notes=(*notes, *solution.notes),
        front=front,
        chosen=chosen,
        counts=counts,
    )


def _check_options(pick: str | int, effort: str, time_limit: float | None, n_jobs: int, seed: Seed) -> None:
    if not isinstance(pick, (int, np.integer)) and pick not in PICK_RULES:
        rules = ", ".join(map(repr, PICK_RULES))
        raise EvoSplitError(f"pick is {pick!r}; choose one of {rules} or an index into the front")
    if effort not in EFFORTS:
        raise EvoSplitError(f"effort is {effort!r}; choose from {', '.join(map(repr, EFFORTS))}")
    if time_limit is not None and not time_limit > 0:
        raise EvoSplitError(f"time_limit is {time_limit!r}; give positive seconds, or None for no limit")
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0 or n_jobs < -1:
        raise EvoSplitError(f"n_jobs is {n_jobs!r}; give a positive number of threads, or -1 for all cores")
    if seed is not None and not isinstance(seed, (int, np.integer, np.random.Generator)):
        raise EvoSplitError(f"seed is {seed!r}; give an integer, a numpy Generator or None")
    if isinstance(seed, (int, np.integer)) and seed < 0:
        raise EvoSplitError(f"seed is {seed}; seeds are not negative")


def _front(problem: SplitProblem, assignments: Sequence[npt.NDArray[Any]]) -> ParetoFront:
    """Keep the candidates that no other one dominates, ordered by the first objective."""
    small = np.int8 if problem.k <= 127 else np.int32
    scores = np.array([problem.evaluate(problem.column_table(problem.type_table(a))) for a in assignments])
    keep = non_dominated(scores)
    kept = np.stack([assignments[i].astype(small) for i in keep])
    kept.setflags(write=False)
    return ParetoFront(scores[keep], problem.objectives, kept, problem.random_reference)

"""`split()` and `kfold()`: validate, build the problem, run the method, pick from the front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit._version import ENGINE_VERSION
from evosplit.constraints import FREE, Constraints, GroupIndex, Locked, resolve_constraints, sizes_around_locks
from evosplit.counts import LabelCounts, as_label_counts
from evosplit.errors import EvoSplitError, checked_keywords, warn
from evosplit.features import PARTS
from evosplit.front import PICK_RULES, ParetoFront, non_dominated, pick_from
from evosplit.group_packing import excess, fit_sizes, least_excess, pack
from evosplit.methods import resolve_method
from evosplit.methods.base import EFFORTS, Method, OnProgress, Run
from evosplit.problem import SplitProblem, build_problem
from evosplit.ratios import Subsets, fold_subsets, resolve_subsets
from evosplit.result import Split
from evosplit.rng import Seed, Stream
from evosplit.wording import counted

__all__ = ["kfold", "split"]

LONGEST = 1e9  # seconds that a limit of time is taken to be at most
LARGE_GROUPS = 5  # groups that fit into one subset only and are named, at most


@checked_keywords()
def split(
    counts: Any,
    ratios: Mapping[str, float] | Sequence[float],
    *,
    method: str | Method = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    groups: Iterable[Any] | None = None,
    locked: Locked = None,
    strata: Mapping[str, Any] | None = None,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
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
        A LabelCounts, or anything that its constructor takes: how often each label occurs in each sample. Where rows
        stand for several equal samples (`copies`), the split is a table: how many of each row go to each subset.
    ratios
        A mapping from subset names to ratios, or a sequence (two: train, test; three: train, val, test). Fractions sum
        to 1; whole numbers are exact sizes if they sum to the number of samples, else proportions (8, 1, 1).
    method
        "evosplit" (default); "nsga2", "ea-ld" and "ea-lpd" (the paper's); "sois", "is" (iterative stratification over
        label pairs and over labels), "random"; or a method object with parameters of its own.
    objectives
        What to balance: any of "samples" (samples with a label, LD), "instances" (occurrences of a label, LD'), "pairs"
        (samples with two labels together, LPD), "triplets" and "strata". By default samples, instances and pairs, and
        strata if there are any; the paper's methods take instances and pairs. With "instances" but without "samples",
        pairs are measured over occurrences, as in the paper's tables.
    cover
        Give every subset at least one sample of every label that has enough samples. With many rare labels and a small
        subset, that may make labels more than twice as uneven as necessary, or take more than 15 % of the choice
        that there is in filling the subset; then only the most frequent labels are covered, and a note says how many
        are not. "all" covers them in any case.
    groups
        One value per sample; samples with equal values stay together (None: a sample on its own). The sizes then come
        as close to those asked for as the groups allow.
    locked
        Samples that are already placed: their ids by subset name, or for each sample a subset name or None. They stay;
        the others are placed so that the whole comes out balanced. Ratios refer to the whole. Where rows stand for
        several samples, a row is locked with all of them, or an array (rows x subsets) says how many are.
    strata
        Further columns to balance, by name: one value per sample (texts, booleans, or numbers, which are sorted into
        five bins of equal frequency when there are more than ten different ones), or a LabelCounts.
    min_per_label
        With `cover`: how many samples of each label every subset is to get, where there are enough. If they do not fit
        into a subset, each label gets a part.
    label_weights
        How much more (or less) than 1 some labels matter, by name.
    pick
        Which trade-off of the front: "balanced", "origin" (the paper's rule), "ld", "lpd", or an index.
    effort
        "fast", "normal" or "thorough". With the same seed, a greater effort finds the splits of a smaller one, or
        better ones.
    time_limit
        Seconds after which the best split so far is returned, with a note in the report.
    n_jobs
        Threads to use; -1 for all cores. The result does not depend on it.
    seed
        An integer, a numpy Generator (drawn from), or None for a different split each time. An integer fixes the split
        on every machine; with the paper's methods, for the same versions of numpy and pymoo.
    on_progress
        Called with the fraction done (0 ... 1) and a message; returning False stops with the best so far.

    Examples
    --------
    >>> labels = [["cat"], ["cat", "dog"], ["dog"], ["cat", "cat"], ["dog", "cat"], []]
    >>> made = split(LabelCounts.from_lists(labels), {"train": 0.5, "test": 0.5})
    >>> made.sizes
    (3, 3)
    """
    options = _options_among(locals())
    counts = as_label_counts(counts)
    return _solve(counts, resolve_subsets(ratios, counts.n_samples), **options)


@checked_keywords()
def kfold(
    counts: Any,
    n_splits: int = 5,
    *,
    method: str | Method = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    groups: Iterable[Any] | None = None,
    locked: Locked = None,
    strata: Mapping[str, Any] | None = None,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
    pick: str | int = "balanced",
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Split:
    """Split a data set into `n_splits` folds of equal size (within one).

    The subsets are called fold0, fold1, ...; `Split.folds()` yields (train, test) positions for cross-validation.

    Parameters
    ----------
    counts
        As in `split`.
    n_splits
        The number of folds, at least 2.
    method, objectives, cover, groups, locked, strata, min_per_label, label_weights, pick, effort, time_limit, n_jobs
        As in `split`.
    seed, on_progress
        As in `split`.

    Examples
    --------
    >>> made = kfold([[1, 0], [1, 0], [0, 1], [0, 1]], 2)
    >>> [len(test) for train, test in made.folds()]
    [2, 2]
    """
    options = _options_among(locals())
    counts = as_label_counts(counts)
    return _solve(counts, fold_subsets(n_splits, counts.n_samples), **options)


def _options_among(given: Mapping[str, Any]) -> dict[str, Any]:
    """Pick what `split` and `kfold` hand on as it is from their arguments."""
    _, _, *names = signature(_solve).parameters
    return {name: given[name] for name in names}


def _solve(
    counts: LabelCounts,
    subsets: Subsets,
    *,
    method: str | Method,
    objectives: Sequence[str] | None,
    cover: bool | str,
    groups: Iterable[Any] | None,
    locked: Locked,
    strata: Mapping[str, Any] | None,
    min_per_label: int,
    label_weights: Mapping[str, float] | None,
    pick: str | int,
    effort: str,
    time_limit: float | None,
    n_jobs: int,
    seed: Seed,
    on_progress: OnProgress | None,
) -> Split:
    solver = resolve_method(method)
    _check_options(cover, pick, effort, time_limit, n_jobs, seed)
    if not cover and min_per_label != 1:
        raise EvoSplitError(
            f"min_per_label={min_per_label!r} and cover=False exclude each other; leave out one of them"
        )
    limit = None if time_limit is None else float(min(time_limit, LONGEST))
    run = Run(Stream.from_seed(seed), effort, n_jobs, limit, on_progress)
    if objectives is None:
        objectives = getattr(solver, "default_objectives", None)
    constraints = resolve_constraints(
        counts,
        subsets,
        groups=groups,
        locked=locked,
        strata=strata,
        min_per_label=min_per_label,
        label_weights=label_weights,
    )
    _check_respect(method, solver, counts, constraints)
    aims, notes = (subsets, ()) if constraints is None else _reachable(subsets, constraints)
    if not counts.totals.any() and not (constraints is not None and constraints.strata):
        notes = (*notes, "no sample carries any label, so there is nothing to balance: the split is random.")
        solver = resolve_method("random")
    for note in notes:
        warn(note)
    from evosplit import _kernels

    with _kernels.when_compiling(lambda: run.report(0.0, "compiling, once after installation")):
        limit = getattr(solver, "pair_entries", None)
        problem = build_problem(
            counts,
            aims,
            objectives=objectives,
            cover=cover,
            constraints=constraints,
            pair_entries=None if limit is None else limit(counts.n_rows),
            as_table="copies" in getattr(solver, "respects", ()),
        )
        solution = solver.solve(problem, run)
    notes = (*notes, *_limits(problem, min_per_label))
    if run.stopped is not None:
        notes = (*notes, run.stopped)
    front = _front(problem, solution.assignments, run.stream)
    chosen = pick_from(front, pick)
    made = Split(
        names=subsets.names,
        is_kfold=subsets.is_kfold,
        placement=front.placements[chosen],
        sample_ids=counts.ids,
        target_sizes=subsets.sizes,
        settings={
            "method": method if isinstance(method, str) else repr(method),
            "objectives": list(problem.objectives),
            "cover": cover,
            **_asked(constraints),
            "pick": int(pick) if isinstance(pick, (int, np.integer)) else pick,
            "effort": effort,
            "seed": int(seed) if isinstance(seed, (int, np.integer)) else None,
            "engine": ENGINE_VERSION,
        },
        notes=(*notes, *solution.notes),
        front=front,
        chosen=chosen,
        counts=counts,
        constraints=constraints,
    )
    return replace(made, best_ed=_best_ed(problem, subsets, made.sizes, search=not run.out_of_time))


def _limits(problem: SplitProblem, min_per_label: int) -> tuple[str, ...]:
    """Say what is asked of fewer labels or less than it seems, and whether only some of the pairs were searched."""
    notes = []
    least, most = int(problem.needs.max(initial=0)), int(problem.counts.sample_totals.max(initial=0)) // problem.k
    if least < min(min_per_label, most) and min_per_label > 1:
        notes.append(
            f"min_per_label={min_per_label} is lowered to {least}: a subset of {min(problem.subsets.sizes):,} samples "
            "cannot hold more of every label that has so many."
        )
    if problem.uncovered:
        some = "1 rare label is" if problem.uncovered == 1 else f"{problem.uncovered:,} rare labels are"
        notes.append(
            f"{some} not forced into every subset: with all of them, labels would be more than twice as uneven, or "
            "too few ways to fill a subset would be left to balance the others (cover='all' insists)."
        )
    if problem.pairs_kept < PARTS:
        width = next(block.width for block in problem.blocks if block.name == "pairs")
        notes.append(
            f"the samples have too many label pairs to search all of them in reasonable time; "
            f"a random part was searched, {width:,} pairs."
        )
    return tuple(notes)


def _check_respect(method: str | Method, solver: Method, counts: LabelCounts, constraints: Constraints | None) -> None:
    """Refuse constraints that the method does not support."""
    able: frozenset[str] = getattr(solver, "respects", frozenset())
    if counts.has_copies and "copies" not in able:
        raise EvoSplitError(
            f"method={method!r} takes one sample a row, and rows of counts stand for several; use method='evosplit'"
        )
    for name in _asked(constraints):
        if name not in able:
            raise EvoSplitError(
                f"method={method!r} knows no {name.replace('_', ' ')}; use method='evosplit', or leave out {name}="
            )


def _asked(constraints: Constraints | None) -> dict[str, Any]:
    """Return which constraints there are, as the manifest records them."""
    if constraints is None:
        return {}
    asked: dict[str, Any] = {}
    if constraints.groups is not None:
        asked["groups"] = len(constraints.groups)
    if constraints.n_locked:
        asked["locked"] = constraints.n_locked
    if constraints.strata:
        asked["strata"] = [stratum.name for stratum in constraints.strata]
    if constraints.min_per_label > 1:
        asked["min_per_label"] = constraints.min_per_label
    if constraints.label_weights:
        asked["label_weights"] = dict(constraints.label_weights)
    return asked


def _reachable(subsets: Subsets, constraints: Constraints) -> tuple[Subsets, tuple[str, ...]]:
    """Aim at sizes that locks leave possible, and say what locks and groups do not allow."""
    aims, notes = _around_locks(subsets, constraints)
    return aims, (*notes, *_large_groups(aims, constraints))


def _around_locks(subsets: Subsets, constraints: Constraints) -> tuple[Subsets, tuple[str, ...]]:
    """Aim at other sizes where more samples are locked into a subset than it should have."""
    held = constraints.held(len(subsets))
    aims = sizes_around_locks(subsets.sizes, held.tolist())
    if aims != subsets.sizes and constraints.groups is not None:
        aims = _as_groups_allow(subsets.sizes, aims, constraints.groups, constraints.locked)
    notes = tuple(
        f"{counted(n, 'sample is', 'samples are')} locked into {name!r}, {n - size} more than the {size} asked for; "
        "the others share the rest."
        for name, n, size in zip(subsets.names, held.tolist(), subsets.sizes, strict=True)
        if n > size
    )
    return replace(subsets, sizes=aims), notes


def _as_groups_allow(
    asked: Sequence[int], aims: Sequence[int], groups: GroupIndex, locked_samples: npt.NDArray[np.int64]
) -> tuple[int, ...]:
    """Return the sizes nearest to those asked for that groups can have, and of those the ones nearest to the aims."""
    locked = np.full(len(groups), FREE, dtype=np.int64)
    locked[groups.code_of_sample] = locked_samples
    free = locked == FREE
    sizes = groups.sizes[free]
    held = np.bincount(locked[~free], weights=groups.sizes[~free], minlength=len(asked)).astype(np.int64)
    capacities, wanted = np.array(asked) - held, np.array(aims) - held
    everywhere = np.full(len(sizes), int(np.argmax(wanted)))
    placed = fit_sizes(sizes, everywhere, np.ones(len(sizes), dtype=bool), wanted, Stream(0))
    better, _ = pack(sizes, capacities, excess(sizes, placed, capacities) + 1, wanted)
    loads = np.bincount(placed if better is None else better, weights=sizes, minlength=len(asked))
    return tuple((held + loads.astype(np.int64)).tolist())


def _large_groups(subsets: Subsets, constraints: Constraints) -> tuple[str, ...]:
    """Name the free groups that leave no choice, because they fit into one subset at most."""
    groups = constraints.groups
    if groups is None:
        return ()
    locked = np.full(len(groups), FREE)
    locked[groups.code_of_sample] = constraints.locked
    fits = (groups.sizes[:, None] <= np.array(subsets.sizes)).sum(axis=1)
    notes = []
    for group in np.flatnonzero((fits <= 1) & (locked == FREE) & (groups.sizes > 1)):
        who = f"group {groups.names[group]!r} has {groups.sizes[group]} samples, more than every subset"
        largest = subsets.names[int(np.argmax(subsets.sizes))]
        notes.append(f"{who} but {largest!r}." if fits[group] else f"{who}; the sizes asked for cannot be met.")
    shown = notes[:LARGE_GROUPS]
    if len(notes) > LARGE_GROUPS:
        shown.append(f"{len(notes) - LARGE_GROUPS} further groups are as large.")
    return tuple(shown)


def _best_ed(problem: SplitProblem, subsets: Subsets, sizes: Sequence[int], *, search: bool) -> float:
    """Return a lower bound of the ED that groups and locks allow; with `search` the least one, if it is found."""
    asked = np.array(subsets.sizes)
    found = int(np.abs(np.array(sizes) - asked).sum())
    if found == 0:
        return 0.0
    capacities = asked - problem.type_sizes @ problem.locked_table
    if problem.crowd is not None:  # single samples fill every gap
        return min(2 * int(np.maximum(-capacities, 0).sum()), found) / len(subsets)
    free = problem.locked == FREE
    least = least_excess(problem.unit_sizes[free], capacities)
    if search and least < found:
        packed, proven = pack(problem.unit_sizes[free], capacities, found)
        if packed is not None:
            least = excess(problem.unit_sizes[free], packed, capacities)
        elif proven:
            least = found
    return min(least, found) / len(subsets)


def _check_options(
    cover: bool | str, pick: str | int, effort: str, time_limit: float | None, n_jobs: int, seed: Seed
) -> None:
    if not isinstance(pick, (int, np.integer)) and pick not in PICK_RULES:
        rules = ", ".join(map(repr, PICK_RULES))
        raise EvoSplitError(f"pick={pick!r} is no rule; choose one of {rules} or an index into the front")
    if effort not in EFFORTS:
        raise EvoSplitError(f"effort={effort!r} is unknown; choose from {', '.join(EFFORTS)}")
    if not isinstance(cover, bool) and cover != "all":
        raise EvoSplitError(f"cover={cover!r} is no choice; pass True, False or 'all'")
    if time_limit is not None and not (isinstance(time_limit, (int, float, np.number)) and time_limit > 0):
        raise EvoSplitError(f"time_limit={time_limit!r} is no time; give positive seconds, or leave it out")
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0 or n_jobs < -1:
        raise EvoSplitError(f"n_jobs={n_jobs!r} is no number of threads; give a positive one, or -1 for all cores")
    if seed is not None and not isinstance(seed, (int, np.integer, np.random.Generator)):
        raise EvoSplitError(f"seed={seed!r} is no seed; give an integer, a numpy Generator or None")
    if isinstance(seed, (int, np.integer)) and seed < 0:
        raise EvoSplitError(f"seed={seed} is negative; give 0 or more")


def _front(problem: SplitProblem, assignments: Sequence[npt.NDArray[Any]], stream: Stream) -> ParetoFront:
    """Keep the non-dominated candidates, ordered by the first objective."""
    scores = np.array([problem.evaluate(problem.column_table(problem.type_table(a))) for a in assignments])
    keep = non_dominated(scores)
    kept = problem.placements([assignments[i] for i in keep], stream)
    kept.setflags(write=False)
    return ParetoFront(scores[keep], problem.objectives, kept, problem.random_reference)

"""Where the search starts from: a stratified split, a systematic sample, groups dealt by size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evosplit.constraints import FREE
from evosplit.crowd import Shares
from evosplit.group_packing import fit_sizes
from evosplit.methods.base import Run
from evosplit.methods.iterative import IterativeStratification
from evosplit.problem import SplitProblem
from evosplit.rng import Stream

__all__ = ["find_starts"]

Ints = npt.NDArray[Any]

GRACE = 0.2  # seconds that a stratification may take when time is up: enough for small sets


def find_starts(problem: SplitProblem, run: Run) -> list[Ints]:
    """Stratify by labels and by pairs, and where sizes differ take a systematic sample; or deal out groups.

    Stratification deals out rare pairs first, and with them the samples that have many labels: subsets of equal size
    get their parts of these, a small one gets none.
    """
    if problem.uneven:
        return [_deal_uneven(problem, run.stream)]
    if problem.crowd is not None and problem.crowd.shares is not None:
        return [_deal_shares(problem, problem.crowd.shares)]
    starts = [_stratified(problem, run, 1)]
    if any(block.name == "pairs" and block.width for block in problem.blocks) and not run.out_of_time:
        starts.append(_stratified(problem, run, 2))
    if problem.sizes.max() > problem.sizes.min() + 1 and not run.out_of_time:
        starts.append(_systematic_sample(problem, run.stream))
    return starts


def _stratified(problem: SplitProblem, run: Run, order: int) -> Ints:
    """Stratify iteratively, by labels or by label pairs."""
    method = IterativeStratification(order)

    def pass_on(_: float, message: str) -> None:
        if run.stopped is None:  # whoever stops now still gets a stratified split
            run.report(0.0, message)

    limit = None if run.time_limit is None else max(run.remaining, GRACE)
    return np.asarray(method.solve(problem, Run(run.stream, on_progress=pass_on, time_limit=limit)).assignments[0])


def _systematic_sample(problem: SplitProblem, stream: Stream) -> Ints:
    """Line up the free units, similar ones side by side, and let every subset have its share all along the line."""
    from evosplit._kernels import rng

    place_of_type = np.empty(problem.n_types, dtype=np.int32)
    place_of_type[_line_up(problem)] = np.arange(problem.n_types)
    free = np.flatnonzero(problem.locked == FREE)
    rng.shuffle(free, stream.state())
    queue = free[np.argsort(place_of_type[problem.type_of_unit[free]], kind="stable")]
    turns = np.concatenate(
        [(np.arange(size) + stream.below(1 << 30) / (1 << 30)) / max(size, 1) for size in problem.capacities]
    )
    subsets = np.repeat(np.arange(problem.k, dtype=np.int32), problem.capacities)
    assignment = problem.locked.astype(np.int32)
    assignment[queue] = subsets[np.argsort(turns, kind="stable")]
    return assignment


def _line_up(problem: SplitProblem, rare_first: bool = False) -> Ints:
    """Order the types so that similar ones are side by side: those that share a frequent label, or else a rare one."""
    from evosplit._kernels import exchange

    n_labels = problem.counts.n_labels
    rank = np.empty(n_labels, dtype=np.int64)
    totals = problem.column_totals[:n_labels]
    rank[np.argsort(totals if rare_first else -totals, kind="stable")] = np.arange(n_labels)
    return np.argsort(exchange.similarity_keys(problem.features, rank), kind="stable")


def _deal_shares(problem: SplitProblem, shares: Shares) -> Ints:
    """Give every subset its share of each type; what rounding leaves goes along the line to where it lacks most."""
    from evosplit._kernels.tables import deal_by_needs

    table = shares.dealt.copy()
    free, capacities = problem.copies - table.sum(axis=1), problem.sizes - table.sum(axis=0)
    deal_by_needs(_line_up(problem, rare_first=True), shares.needs, free, capacities, table)
    return table


def _deal_uneven(problem: SplitProblem, stream: Stream) -> Ints:
    """Deal out uneven units from the largest to the smallest, then exchange some until the sizes are right."""
    from evosplit._kernels import rng
    from evosplit._kernels import stratification as kernels

    queue = np.flatnonzero(problem.locked == FREE)
    rng.shuffle(queue, stream.state())
    queue = queue[np.argsort(-problem.unit_sizes[queue], kind="stable")]
    assignment = problem.locked.copy()
    chosen = np.empty(len(queue), dtype=np.int64)
    kernels.deal_uneven(
        problem.features.indptr, problem.features.indices, problem.features.data, problem.type_of_unit[queue],
        problem.unit_sizes[queue], problem.column_totals, problem.sizes / problem.sizes.sum(),
        problem.column_table(problem.locked_table), problem.capacities.copy(), chosen,
    )  # fmt: skip
    assignment[queue] = chosen
    return fit_sizes(problem.unit_sizes, assignment, problem.locked == FREE, problem.sizes, stream)

"""Iterative stratification over labels (IS) and over label pairs (SOIS): the baselines of the literature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.constraints import FREE
from evosplit.counts import compact_csr, find_pairs, freeze_csr
from evosplit.errors import EvoSplitError
from evosplit.methods.base import Run, Solution
from evosplit.problem import SplitProblem

__all__ = ["IterativeStratification"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REPAIR_CANDIDATES = 512  # units compared before one is moved to correct a size, at most
LEAST_CANDIDATES = 4
REPAIR_COLUMNS = 50_000_000  # columns that a repair may look at: where many units move, fewer are compared
MOVES_AT_ONCE = 2_000  # moves after which a repair that has a time limit looks at the clock
REPORTS = 20  # progress reports of a run, about


@dataclass(frozen=True)
class IterativeStratification:
    """Deal out the examples of the rarest label, then of the rarest of those left, and so on.

    Each example goes to the subset that lacks most of the label. With `order=1` this is Iterative
    Stratification (Sechidis, Tsoumakas and Vlahavas, 2011). With `order=2` label pairs count as labels of
    their own beside the single ones: Second Order Iterative Stratification (Szymański and Kajdanowicz, 2017).
    The rarest label or pair is always the next, ties are broken by chance. Labels count once per example,
    however often they occur in it. Examples without any label are dealt out like those of a label, strata count as
    labels, locked examples as dealt already. `cover` is not enforced, groups cannot be kept whole.

    Parameters
    ----------
    order
        1 for labels, 2 for labels and label pairs.
    as_published
        Follow the papers to the letter: ties between subsets go to the one with the most capacity, examples come
        in random order, those without any label fill up the sizes at the end, and the sizes are only about what was
        asked for. By default ties go to the subset that lacks most of the example's labels (and pairs), equal
        examples follow each other where subsets are of equal size, and in the end the examples whose move costs
        least are moved until the sizes are exact.

    Examples
    --------
    >>> import evosplit
    >>> counts = evosplit.LabelCounts([[1, 1], [1, 0], [1, 1], [1, 0]])
    >>> made = evosplit.split(counts, (0.5, 0.5), method=IterativeStratification(order=2))
    >>> made.sizes, made.measures.lpd
    ((2, 2), 0.0)
    """

    order: int = 2
    as_published: bool = False

    respects: ClassVar[frozenset[str]] = frozenset({"locked", "strata"})

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise EvoSplitError(f"order is {self.order!r}; choose 1 (labels) or 2 (labels and label pairs)")

    def solve(self, problem: SplitProblem, run: Run) -> Solution:
        """Stratify, then make the sizes exact."""
        state = run.stream.state()
        assignment = self._stratify(problem, run, state)
        if not self.as_published:
            _repair(problem, run, assignment, state)
        return Solution([assignment])

    def _stratify(self, problem: SplitProblem, run: Run, state: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        from evosplit._kernels import distinct_rows
        from evosplit._kernels import stratification as kernels

        presence = _presence(problem, unlabelled=not self.as_published)
        # Units that differ in repeated labels only are equal here.
        first, merged = distinct_rows(presence.indptr, presence.indices, presence.data)
        columns = _columns(sp.csr_array(presence[first]), problem, self.order)
        type_of_unit = merged[problem.type_of_unit]
        copies = np.bincount(merged, weights=problem.copies, minlength=len(first)).astype(np.int64)
        held = np.zeros((len(copies), problem.k), dtype=np.int64)  # units that are in each subset already
        np.add.at(held, merged, problem.placed_table)

        by_column = sp.csc_array(columns)
        totals = (by_column.T @ copies).astype(np.int64)
        counts = np.ascontiguousarray(by_column.T @ held).astype(np.int64)
        queue = kernels.build_queue(totals - counts.sum(axis=1))
        to_deal = kernels.Columns(columns.indptr, columns.indices, by_column.indptr, by_column.indices, totals)
        dealt = kernels.Dealt(np.zeros_like(held), copies - held.sum(axis=1), counts, problem.capacities.copy())
        shares = _even_shares(problem.sizes)
        # A large subset wants all of a label's first examples: were those equal, it would get one kind of them.
        in_turn = not self.as_published and bool((shares == shares[0]).all())
        waiting, desires = np.empty(queue.left.max(initial=0), dtype=np.int64), np.empty((2, problem.k))
        placed, limit = 0, max(1, problem.n_units // REPORTS)
        message = "stratifying by label pairs" if self.order == 2 else "stratifying by labels"
        while run.report(placed / max(problem.n_units, 1), message):
            more = kernels.place_rarest(
                to_deal, queue, dealt, shares, not self.as_published, in_turn, limit, waiting, desires, state
            )
            if more == 0:
                break
            placed += more
        kernels.fill_sizes(dealt, state)

        shuffled = run.stream.permutation(np.flatnonzero(problem.locked == FREE))
        by_type = shuffled[np.argsort(type_of_unit[shuffled], kind="stable")]
        assignment = problem.locked.astype(np.int32)
        subsets = np.tile(np.arange(problem.k, dtype=np.int32), len(held))
        assignment[by_type] = np.repeat(subsets, dealt.table.ravel())
        return assignment


def _presence(problem: SplitProblem, unlabelled: bool) -> sp.csr_array:
    """Return which labels and strata each type has, and if `unlabelled`, in a last column, whether it has no label."""
    spans = [(0, problem.counts.n_labels), *((b.start, b.stop) for b in problem.blocks if b.name == "strata")]
    if unlabelled:
        spans.append((problem.empty_column, problem.empty_column + 1))
    parts = [problem.features[:, start:stop] for start, stop in spans]
    labels = parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")
    presence = sp.csr_array((np.ones(labels.nnz), labels.indices, labels.indptr), shape=labels.shape)
    return freeze_csr(compact_csr(presence))  # read-only like LabelCounts: kernels are compiled for one kind of array


def _columns(presence: sp.csr_array, problem: SplitProblem, order: int) -> sp.csr_array:
    """Lay out what is stratified: labels and strata, and with order 2 the label pairs beside them."""
    if order == 1:
        return presence
    labels = sp.csr_array(presence[:, : problem.counts.n_labels])
    pairs = find_pairs(labels, np.ones(presence.shape[0], dtype=np.int64), problem.pairs_kept)
    ones = np.ones(len(pairs.indices), dtype=np.int32)
    features = sp.csr_array((ones, pairs.indices, pairs.indptr), shape=(presence.shape[0], len(pairs)))
    return compact_csr(sp.hstack([presence, features], format="csr"))


def _even_shares(sizes: Ints) -> Floats:
    """Return the subsets' shares; sizes that differ by one are equal shares, rounded.

    Without that, of ten folds the one that is a sample larger would want the first example of every label.
    """
    order = np.argsort(sizes, kind="stable")
    even = sizes.astype(np.float64)
    start = 0
    for stop in range(1, len(sizes) + 1):
        if stop == len(sizes) or sizes[order[stop]] > sizes[order[start]] + 1:
            even[order[start:stop]] = sizes[order[start:stop]].sum() / (stop - start)
            start = stop
    return np.asarray(even / sizes.sum())


def _repair(problem: SplitProblem, run: Run, assignment: npt.NDArray[np.int32], state: Any) -> None:
    """Make the sizes exact in place, at the least cost to the objectives of the problem, or at any if time is up."""
    from evosplit._kernels import stratification as kernels

    table, n_samples = problem.type_table(assignment), int(problem.sizes.sum())
    excess = table.sum(axis=0) - problem.sizes
    if not excess.any():
        return
    features, totals = problem.features, problem.column_totals
    # What one misplaced unit costs: the slope of the odds at the column's share, relative to a random split.
    prices = np.zeros(len(totals))
    for block, reference in zip(problem.blocks, problem.block_reference, strict=True):
        if reference > 0:
            inside = slice(block.start, block.stop)
            whole = float(totals[inside].sum() if block.by_total else n_samples)
            rest = np.maximum(whole - totals[inside], 1.0)
            slope = np.where(totals[inside] < whole, whole / (rest * rest), 0.0)
            prices[inside] += slope / (reference * block.width * problem.k)
    prices[problem.empty_column] = prices[: problem.counts.n_labels].max(initial=0.0)  # spread like a label
    counts = problem.column_table(table)
    work = kernels.Repair(
        features.indptr, features.indices, features.data, problem.type_of_unit, totals, prices,
        problem.counts.n_labels, problem.locked == FREE, assignment, counts, excess,
    )  # fmt: skip
    members = np.empty(problem.n_units, dtype=np.int64)
    shares, n_candidates = problem.sizes / n_samples, _n_candidates(problem, excess)
    limit = problem.n_units + 1 if run.time_limit is None else MOVES_AT_ONCE
    moves = limit
    while moves == limit:
        moves = kernels.repair_sizes(work, shares, 1 if run.out_of_time else n_candidates, members, limit, state)


def _n_candidates(problem: SplitProblem, excess: Ints) -> int:
    """Return how many units are compared before a move: fewer where many have to move, so that the work is bounded."""
    per_unit = int(problem.copies @ np.diff(problem.features.indptr)) // int(problem.copies.sum())
    moves, targets = int(excess[excess > 0].sum()), int((excess < 0).sum())
    each = REPAIR_COLUMNS // (moves * (1 + targets) * max(per_unit, 1))
    return min(max(each, LEAST_CANDIDATES), REPAIR_CANDIDATES)

"""Problems drawn from broad laws: the default call's CPU time against its bound, its measures against the best peer.

    python -m benchmarks.families [--seeds 9500:9600] [--effort normal] [--cache FILE] [--out FILE]

Seeds from 9500 on are for reporting; those below were seen while tuning. Every call runs on one core, in a process of
its own that is forked off once all is imported and compiled. With `--cache FILE` the peers' figures are kept there and
taken from it by the next run. The reporting seeds write `benchmarks/results/families.md`, others where `--out` says.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks._split_once import iterative_stratification, scikit_multilearn
from benchmarks.common import RESULTS, load_line, machine_line, markdown_table
from evosplit import LabelCounts, Split, kfold, measure, split
from evosplit._kernels.counting import Envelope, deviation

REPORTED = range(9500, 9600)
MAX_ENTRIES = 1_500_000  # labels of all samples together
MAX_CELLS = 50_000_000  # samples × labels, which iterative-stratification holds as a dense array
MAX_PAIRS = 20_000_000  # label pairs of all samples together
MIN_SUBSET = 2  # samples
PEER_SECONDS = 20
OUR_SECONDS = 200
MEMORY = 8 * 2**30  # bytes that a call may take
BOUND = {"fast": (1.0, 1.0), "normal": (2.0, 3.0), "thorough": (20.0, 30.0)}  # seconds + times the peer's
COMPARED = {"ld": "LD", "ld_occurrences": "LD′", "lpd": "LPD"}
TINY = 1e-10  # added to both sides of a ratio: two splits that are perfect but for rounding are equal
LEVEL = 1 + 1e-9
REPAIRS = 10  # of a peer's sizes; one for large sets, where it hardly matters
LARGE = 5_000  # samples
TOLERATED = 1.05  # worst ratio asked for
CHANCE = 2.0  # standard deviations of a random split by which samples without a label may be off to be called even
PROOF_CELLS = 60_000  # columns × subsets up to which a linear programme is tried
PROOF_SECONDS = 20
IS = "iterative-stratification"
PEERS: dict[str, Callable[[argparse.Namespace], Any]] = {
    IS: iterative_stratification,
    "scikit-multilearn": scikit_multilearn,
}
Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """One draw: label counts, exact sizes, perhaps groups, and what it is in one line."""

    seed: int
    matrix: sp.csr_array
    sizes: tuple[int, ...]
    groups: np.ndarray | None
    description: str

    @property
    def folds(self) -> bool:
        """Whether the subsets are as equal as they can be."""
        return max(self.sizes) - min(self.sizes) <= 1

    @property
    def ratios(self) -> list[float]:
        """What peers are asked for: equal folds have equal ratios."""
        k = len(self.sizes)
        return [1 / k] * k if self.folds else [size / sum(self.sizes) for size in self.sizes]

    @cached_property
    def counts(self) -> LabelCounts:
        """The counts, for the measures; a timed call starts from the matrix."""
        return LabelCounts(self.matrix)

    @cached_property
    def forced(self) -> int:
        """How many labels `cover` gives to a subset that would be nearer to the whole without them.

        One by one, because half a sample would be more than its share; or all together, because they are more than the
        labels of as many samples.
        """
        totals, sizes = self._samples_of_label, np.array(self.sizes)
        one = 1 / np.maximum(sizes.min() - 1, 1)
        overall = totals / np.maximum(sizes.sum() - totals, 1)
        covered = totals >= len(sizes)
        beyond = int(covered.sum()) - int(totals.sum() * sizes.min() / sizes.sum())
        return max(int((covered & (one > 2 * overall)).sum()), beyond, 0)

    @cached_property
    def flz_bound(self) -> int:
        """A lower bound of FLZ: few samples of a label, and few places in small subsets, leave combinations empty.

        Subsets show no more labels than as many of the longest rows hold. For any t, the t largest subsets and the
        others bound how many combinations can be filled (a cut of the flow from labels to subsets).
        """
        k, n_labels = len(self.sizes), self.matrix.shape[1]
        most = np.concatenate(([0], np.cumsum(np.sort(np.diff(self.matrix.indptr))[::-1])))
        smallest = np.cumsum([0, *sorted(self.sizes)])
        filled = min(int(most[smallest[k - t]] + np.minimum(self._samples_of_label, t).sum()) for t in range(k + 1))
        return k * n_labels - filled

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what peers see, so that figures kept of another law are not taken for these."""
        parts = (self.matrix.indptr, self.matrix.indices, self.matrix.data, np.array(self.sizes))
        return hashlib.sha256(b"".join(part.astype(np.int64).tobytes() for part in parts)).hexdigest()[:16]

    @cached_property
    def _samples_of_label(self) -> np.ndarray:
        return np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])

    def solve(self, **options: Any) -> Split:
        """Make the default call, or one with other options."""
        given: dict[str, Any] = {**options} if self.groups is None else {"groups": self.groups, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.folds:
                return kfold(self.matrix, len(self.sizes), **given)
            return split(self.matrix, self.sizes, **given)

    def figures(self, assignment: np.ndarray) -> Figures:
        """Measure a split."""
        made = measure(self.counts, assignment, self.sizes).to_dict()
        return {**made, "unlabelled": self._unlabelled(assignment)}

    def peer_figures(self, assignment: np.ndarray) -> Figures:
        """Measure a peer's split as it is, and as `exact` with its sizes mended: the best of each measure.

        As `even`, of those tries only whose samples without a label are even.
        """
        found = self.figures(assignment)
        tries = [found]
        if found["ed"] > 0:
            n = 1 if self.matrix.shape[0] > LARGE else REPAIRS
            tries = [self.figures(self._mended(assignment, np.random.default_rng(seed))) for seed in range(n)]
        even = [made for made in tries if made["unlabelled"] <= CHANCE]
        exact, even = (
            {name: min((made[name] for made in some), default=None) for name in COMPARED} for some in (tries, even)
        )
        return {**found, "exact": exact, "even": even}

    def _unlabelled(self, assignment: np.ndarray) -> float:
        """Return by how many standard deviations samples without a label are off, root mean square of the subsets."""
        empty, k, n = np.diff(self.matrix.indptr) == 0, len(self.sizes), self.matrix.shape[0]
        found, share = np.bincount(assignment[empty], minlength=k), empty.mean()
        sizes = np.bincount(assignment, minlength=k)
        variance = sizes * share * (1 - share) * (1 - sizes / n) * n / max(n - 1, 1)
        off = (found - sizes * share)[variance > 0] ** 2 / variance[variance > 0]
        return float(np.sqrt(off.mean())) if len(off) else 0.0

    def _mended(self, assignment: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Move samples, drawn at random, from subsets that are too large to those that are too small."""
        sizes, k = np.array(self.sizes), len(self.sizes)
        order = rng.permutation(len(assignment))
        order = order[np.argsort(assignment[order], kind="stable")]
        found = np.bincount(assignment, minlength=k)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(found) - found, found)
        surplus = order[rank >= sizes[assignment[order]]]
        mended = assignment.copy()
        mended[rng.permutation(surplus)] = np.repeat(np.arange(k), np.maximum(sizes - found, 0))
        return mended


def draw(seed: int) -> Problem:
    """Draw a problem: the same seed gives the same one.

    Log-uniform: 50 ... 100,000 samples, 2 ... 2,000 labels, 0.5 ... 60 labels a sample, 2 ... 20 subsets. Uniform:
    popularity falls with the rank to the power 0 ... 1.6 (a fifth of the draws: 0), up to 95 % of a sample's labels
    come from its topic (a quarter: none). Half of the draws have repeated instances, half have empty samples (up to
    50 %), two fifths have equal folds, a quarter has groups. Samples are taken away where a draw would be too large.
    """
    rng = np.random.default_rng(seed)
    n_samples, n_labels = round(_log_uniform(rng, 50, 100_000)), round(_log_uniform(rng, 2, 2_000))
    mean = _log_uniform(rng, 0.5, 60)
    empty = max(rng.uniform(0, 0.5) * (rng.random() < 0.5), 1 - mean)
    length = min(mean / (1 - empty), (1 + n_labels) / 2)  # of a sample that has labels
    largest = min(MAX_ENTRIES / (length * (1 - empty)), MAX_CELLS / n_labels, MAX_PAIRS / length**2)
    n_samples = int(min(n_samples, largest))
    power = rng.uniform(0, 1.6) * (rng.random() < 0.8)
    from_topic = rng.uniform(0, 0.95) * (rng.random() < 0.75)
    topic = rng.integers(round(_log_uniform(rng, 2, 50)), size=n_samples)
    spread = _log_uniform(rng, 0.1, 1)  # of the lengths: from even to geometric
    lengths = 1 + rng.poisson((length - 1) * rng.gamma(1 / spread, spread, n_samples))
    lengths[rng.random(n_samples) < empty] = 0
    popularity = np.arange(1, n_labels + 1) ** -power
    tables = rng.lognormal(0, rng.uniform(0.5, 3), (topic.max() + 1, n_labels)) * popularity
    matrix = _label_sets(rng, np.minimum(lengths, n_labels), np.vstack((tables, popularity)), topic, from_topic)
    repeats = rng.uniform(0.1, 3) * (rng.random() < 0.5)  # mean number of further instances
    if repeats:
        matrix.data += (rng.geometric(1 / (1 + repeats), matrix.nnz) - 1).astype(np.int32)
    sizes = _sizes(rng, n_samples)
    groups = _groups(rng, n_samples, len(sizes), topic) if rng.random() < 0.25 else None
    description = (
        f"{n_samples:,} × {matrix.shape[1]:,}, {matrix.nnz / n_samples:.1f} a sample, tail {power:.1f}, "
        f"topics {from_topic:.0%}, {f'repeats {repeats:.1f}' if repeats else 'no repeats'}, "
        f"{(np.diff(matrix.indptr) == 0).mean():.0%} empty, {_shape(sizes)}"
    )
    if groups is not None:
        description += f", {groups.max() + 1:,} groups"
    return Problem(seed, matrix, sizes, groups, description)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _label_sets(
    rng: np.random.Generator, lengths: np.ndarray, tables: np.ndarray, topic: np.ndarray, from_topic: float
) -> sp.csr_array:
    """Draw that many different labels for each sample, from its topic's table or from the last one; drop unused labels.

    What is drawn twice is drawn again a few times, so where few labels dominate, long rows end shorter.
    """
    n_samples, n_labels = len(lengths), tables.shape[1]
    ends = np.cumsum(tables, axis=1)
    ends /= ends[:, -1:]
    ends = (ends + np.arange(len(tables))[:, None]).ravel()  # table t lies in [t, t + 1): one search serves all
    codes = np.zeros(0, dtype=np.int64)
    for _ in range(8):
        left = lengths - np.bincount(codes // n_labels, minlength=n_samples)
        row = np.repeat(np.arange(n_samples), left)
        table = np.where(rng.random(len(row)) < from_topic, topic[row], len(tables) - 1)
        column = np.searchsorted(ends, table + rng.random(len(row)), "right") - table * n_labels
        codes = np.unique(np.concatenate((codes, row * n_labels + np.clip(column, 0, n_labels - 1))))
    row, column = np.divmod(codes, n_labels)
    used, column = np.unique(column, return_inverse=True)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n_samples))))
    ones = np.ones(len(codes), dtype=np.int32)
    return sp.csr_array((ones, column.astype(np.int32), indptr.astype(np.int32)), shape=(n_samples, len(used)))


def _sizes(rng: np.random.Generator, n_samples: int) -> tuple[int, ...]:
    """Draw equal folds, or subsets of which the smallest holds 0.5 % or more."""
    k = round(_log_uniform(rng, 2, 20))
    if rng.random() < 0.4:
        return tuple(n_samples // k + (j < n_samples % k) for j in range(k))
    shares = np.exp(rng.uniform(np.log(_log_uniform(rng, 0.005, 1)), 0, k))
    sizes = np.maximum(shares / shares.sum() * n_samples, max(0.005 * n_samples, MIN_SUBSET)).astype(int)
    for _ in range(sizes.sum() - n_samples):
        sizes[np.argmax(sizes)] -= 1
    sizes[np.argmax(sizes)] += n_samples - sizes.sum()
    return tuple(sorted(sizes.tolist(), reverse=True))


def _groups(rng: np.random.Generator, n_samples: int, k: int, topic: np.ndarray) -> np.ndarray:
    """Draw groups of uneven size, at random or from samples of like topics."""
    n_groups = max(5 * k, round(n_samples / _log_uniform(rng, 1.5, 50)))
    n_groups = min(n_groups, n_samples)
    weights = rng.lognormal(0, 1, n_groups)
    more = rng.choice(n_groups, size=n_samples - n_groups, p=weights / weights.sum())
    groups = np.concatenate((np.arange(n_groups), more))
    if rng.random() < 0.5:
        return rng.permutation(groups)
    of_sample = np.empty(n_samples, dtype=np.int64)
    of_sample[np.lexsort((rng.random(n_samples), topic))] = np.sort(groups)
    return of_sample


def _shape(sizes: tuple[int, ...]) -> str:
    if max(sizes) - min(sizes) <= 1:
        return f"{len(sizes)} folds"
    return f"{len(sizes)} subsets of {min(sizes) / sum(sizes):.1%} – {max(sizes) / sum(sizes):.0%}"


@dataclass(frozen=True)
class Verdict:
    """How a split of a problem stands: ratios to the best peer of each measure, and what was asked of it."""

    ratios: dict[str, float]
    exact: dict[str, float]  # the same against the peers' splits with mended sizes
    even: dict[str, float]  # the same against those of them whose samples without a label are even, where there are any
    best: dict[str, str]
    at_bound: frozenset[str]
    ed: float
    best_ed: float
    flz: int
    flz_bound: int

    @property
    def worst(self) -> float:
        """The largest ratio, but for measures that cannot be lower at these sizes."""
        return max((ratio for name, ratio in self.ratios.items() if name not in self.at_bound), default=0.0)

    @property
    def worst_exact(self) -> float:
        """The same against the peers' splits at exact sizes."""
        return max((ratio for name, ratio in self.exact.items() if name not in self.at_bound), default=0.0)

    @property
    def worst_even(self) -> float:
        """The same against those of them that spread samples without a label."""
        return max((ratio for name, ratio in self.even.items() if name not in self.at_bound), default=0.0)

    @property
    def level(self) -> bool:
        """Whether no measure is above the best peer's."""
        return self.worst <= LEVEL


def judge(problem: Problem, made: Split | Figures, peers: dict[str, Figures | str]) -> Verdict:
    """Compare a split, or what `Problem.figures` says of it, with the figures of peers (see `peers_of`)."""
    ours = _figures_of(problem, made) if isinstance(made, Split) else made
    ran = {peer: figures for peer, figures in peers.items() if not isinstance(figures, str)}
    ratios, exact, even, best = {}, {}, {}, {}
    for name in COMPARED if ran else ():
        lowest, best[name] = min((figures[name], peer) for peer, figures in ran.items())
        ratios[name] = (ours[name] + TINY) / (lowest + TINY)
        for found, kind in ((exact, "exact"), (even, "even")):
            there = [figures[kind][name] for figures in ran.values() if figures[kind][name] is not None]
            if there:
                found[name] = (ours[name] + TINY) / (min(there) + TINY)
    at_bound = {name for name in ("ld", "lpd") if ours[name] <= ours[f"{name}_bound"] * LEVEL}
    if "ld" in at_bound and (problem.matrix.sum(axis=1) == 1).all():
        at_bound.add("ld_occurrences")  # with one instance in every sample the two are the same
    least_ed = ours.get("best_ed", 0.0)
    return Verdict(ratios, exact, even, best, frozenset(at_bound), ours["ed"], least_ed, ours["flz"], problem.flz_bound)


def _figures_of(problem: Problem, made: Split) -> Figures:
    return {**problem.figures(made.assignment), "best_ed": made.best_ed}


def limited(seconds: float, function: Callable[[], np.ndarray | Split], problem: Problem) -> Figures | str:
    """Call a function in a forked process; return its figures and CPU seconds, or why there are none."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(send, seconds, function, problem))
    child.start()
    send.close()
    try:
        told: Figures | str = receive.recv()
    except EOFError:
        told = f"did not end within {seconds:g} s"
    child.join()
    return told


def _child(send: Any, seconds: float, function: Callable[[], np.ndarray | Split], problem: Problem) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    begin = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(begin + seconds) + 1, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        made = function()
        cpu = time.process_time() - begin
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        figures = _figures_of(problem, made) if isinstance(made, Split) else problem.peer_figures(made)
        send.send({"cpu": cpu, **figures} if cpu <= seconds else f"did not end within {seconds:g} s")
    except Exception as error:
        send.send(f"{type(error).__name__}: {error}"[:200])


def peers_of(problem: Problem, cache: Path | None = None) -> dict[str, Figures | str]:
    """Run the peers on a problem, or read what they gave from a file; with groups only the one that bounds the cost."""
    kept: dict[str, Any] = json.loads(cache.read_text(encoding="utf-8")) if cache is not None and cache.exists() else {}
    key = f"{problem.seed} {problem.fingerprint}"
    if key not in kept:
        names = [IS] if problem.groups is not None else list(PEERS)
        kept[key] = {name: limited(PEER_SECONDS, lambda name=name: _peer(name, problem), problem) for name in names}
        if cache is not None:
            partial = cache.with_suffix(".partial")
            partial.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            partial.replace(cache)
    found: dict[str, Figures | str] = kept[key]
    return found


def _peer(name: str, problem: Problem) -> np.ndarray:
    tool = PEERS[name](argparse.Namespace(order=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: np.ndarray = tool(problem.matrix, problem.ratios)[0]
    return made


def warm_up(**options: Any) -> None:
    """Compile or load all that a call needs: few columns and many, with repeats and without, with groups."""
    rng = np.random.default_rng(0)
    for n_labels in (5, 60):
        matrix = (rng.random((300, n_labels)) < 0.2).astype(int)
        for counts in (matrix, matrix * rng.integers(1, 3, size=matrix.shape)):
            for more in ({}, {"groups": np.arange(300) // 3}):
                made = kfold(counts, 5, **options, **more)
                split(counts, (200, 80, 20), **options, **more)
    measure(matrix, made.assignment)
    small = Problem(0, sp.csr_array(matrix.astype(np.int32)), (150, 150), None, "")
    for name in PEERS:
        _peer(name, small)


@dataclass(frozen=True)
class Row:
    """One draw, judged: the default call, and where `cover` forces labels the one without it."""

    problem: Problem
    cpu: float | None  # None: it failed, or took longer than it may
    peer_cpu: float | None
    bound: float
    default: Verdict | None
    verdict: Verdict | None
    trouble: str
    peers: dict[str, Figures | str]
    impossible: frozenset[str] = frozenset()  # "as they are", "at exact sizes": no split is at or below LD and LPD

    @property
    def in_time(self) -> bool:
        """Whether the default call kept its bound."""
        return self.cpu is not None and self.cpu <= self.bound


def run(seed: int, *, cache: Path | None = None, effort: str = "normal") -> Row:
    """Draw a problem, split it with the default call and with the peers, and judge."""
    problem = draw(seed)
    peers = peers_of(problem, cache)
    stratified = peers[IS]
    peer_cpu = None if isinstance(stratified, str) else float(stratified["cpu"])
    seconds, times = BOUND[effort]
    bound = seconds + times * (PEER_SECONDS if peer_cpu is None else peer_cpu)
    ours = limited(OUR_SECONDS, lambda: problem.solve(effort=effort), problem)
    if isinstance(ours, str):
        return Row(problem, None, peer_cpu, bound, None, None, ours, peers)
    default = verdict = judge(problem, ours, peers)
    trouble = ""
    if problem.forced and problem.groups is None:
        uncovered = limited(OUR_SECONDS, lambda: problem.solve(effort=effort, cover=False), problem)
        verdict = None if isinstance(uncovered, str) else judge(problem, uncovered, peers)
        trouble = uncovered if isinstance(uncovered, str) else ""
    impossible = beyond_all(problem, peers) if verdict is not None and not verdict.level else frozenset()
    return Row(problem, float(ours["cpu"]), peer_cpu, bound, default, verdict, trouble, peers, impossible)


def beyond_all(problem: Problem, peers: dict[str, Figures | str]) -> frozenset[str]:
    """Return against which of the peers' figures no split of these sizes is at or below both the best LD and LPD."""
    ran = [figures for figures in peers.values() if not isinstance(figures, str)]
    proven = set()
    for title, figures in (("as they are", ran), ("at exact sizes", [one["exact"] for one in ran])):
        ld, lpd = (min(one[name] for one in figures) for name in ("ld", "lpd"))
        least = least_lpd(problem, ld)
        if least is not None and least > lpd * LEVEL:
            proven.add(title)
    return frozenset(proven)


def least_lpd(problem: Problem, ld: float) -> float | None:
    """Bound from below the LPD of all splits of these sizes whose LD is at most `ld`; None if that would take long.

    A linear programme: parts of samples may be dealt out, and a cell costs at least the two lines of its convex
    envelope (see `odds_bound`) that meet next to its share. Infinite where no split has so low an LD.
    """
    sizes, k = np.array(problem.sizes), len(problem.sizes)
    presence = LabelCounts((problem.matrix > 0).astype(np.int32))
    kinds, copies = presence.label_sets.counts, presence.label_sets.multiplicity
    pairs = presence.pairs
    carried = sp.csr_array((np.ones(len(pairs.indices)), pairs.indices, pairs.indptr), (len(copies), len(pairs)))
    columns = sp.csc_array(sp.hstack([kinds, carried]))
    totals = np.asarray(columns.T @ copies).astype(np.int64)
    varied = np.flatnonzero(totals < sum(problem.sizes))  # what all samples have deviates nowhere
    columns, of_label = columns[:, varied], varied < kinds.shape[1]
    n_columns, n_moves = len(varied), len(copies) * k
    if not len(pairs) or n_columns * k > PROOF_CELLS:
        return None
    envelope = Envelope.of(totals[varied, None], sum(problem.sizes), sizes)
    reach = envelope.reach
    slope = np.where(reach < sizes, envelope.rise(np.arange(n_columns), np.minimum(reach, sizes - 1)), envelope.first)
    touch = deviation(reach, sizes, envelope.target)
    each = sp.identity(k, format="csr")
    dealt = sp.kron(columns.T, each, format="csr")
    lines = [
        (envelope.first, touch - envelope.first * reach),
        (slope, touch - slope * reach),
    ]
    above = [
        sp.hstack([sp.diags_array(steep.ravel()) @ dealt, -sp.identity(n_columns * k)], format="csr")
        for steep, _ in lines
    ]
    of_labels, of_pairs = (
        np.concatenate([np.zeros(n_moves), np.repeat(inside / (number * k), k)])
        for inside, number in ((of_label, kinds.shape[1]), (~of_label, len(pairs)))
    )
    nothing = sp.csr_array((len(copies) + k, n_columns * k))
    whole = sp.vstack([sp.kron(sp.identity(len(copies)), np.ones((1, k))), sp.kron(np.ones((1, len(copies))), each)])
    found = linprog(
        of_pairs,
        A_ub=sp.vstack([*above, sp.csr_array(of_labels[None, :])], format="csr"),
        b_ub=np.concatenate([*(-start.ravel() for _, start in lines), [ld]]),
        A_eq=sp.hstack([whole, nothing], format="csr"),
        b_eq=np.concatenate([copies, sizes]),
        options={"time_limit": PROOF_SECONDS},
    )
    return float(found.fun) if found.status == 0 else float("inf") if found.status == 2 else None


def table(rows: Iterable[Row]) -> str:
    """Lay out the draws."""
    header = ["seed", "problem", "CPU s", "bound", *(f"{title} ratio" for title in COMPARED.values())]
    header += ["at or below", "with cover", "ED", "FLZ (bound)"]
    return markdown_table(header, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    cpu = f"more than {OUR_SECONDS}" if row.cpu is None else f"{row.cpu:.2f}" if row.in_time else f"**{row.cpu:.2f}**"
    cells = [str(row.problem.seed), row.problem.description, cpu]
    cells.append(f"{row.bound:.1f}" if row.peer_cpu is not None else f"over {row.bound:.0f}")
    verdict = row.verdict
    if row.problem.groups is not None:
        cells += ["", "", "", "groups", ""]
    elif verdict is None:
        cells += ["", "", "", f"**{row.trouble}**", ""]
    elif not verdict.ratios:
        cells += ["", "", "", "no peer ended", ""]
    else:
        for name in COMPARED:
            ratio = f"{verdict.ratios[name]:.3f}" + ("=" if name in verdict.at_bound else "")
            above = verdict.ratios[name] > LEVEL and name not in verdict.at_bound
            cells.append(f"**{ratio}**" if above else ratio)
        cells.append("yes" if verdict.level else "**no**")
        forced = row.problem.forced and row.default is not None
        cells.append(f"{row.default.worst:.2f}, {row.problem.forced} forced" if forced and row.default else "")
    if row.default is None:
        return [*cells, "", ""]
    ed, flz = row.default.ed, row.default.flz
    cells.append(f"{ed:g}" if ed == 0 else f"{ed:g} ({row.default.best_ed:g})")
    return [*cells, f"{flz} ({row.default.flz_bound})"]


def summary(rows: list[Row], effort: str) -> str:
    """Say what was asked, what came of it, and where it failed."""
    free = [row for row in rows if row.problem.groups is None]
    plain = [row for row in free if not row.problem.forced]
    apart = [row for row in free if row.problem.forced]
    seconds, times = BOUND[effort]
    in_time = [row for row in rows if row.in_time]
    load = max((OUR_SECONDS if row.cpu is None else row.cpu) / row.bound for row in rows)
    lines = [["CPU", f"≤ {seconds:g} s + {times:g} ×", f"{len(in_time)} of {len(rows)}", f"{load:.2f} of the bound"]]
    for title, part in (("all", free), ("cover forces no label", plain), ("cover forces labels: without it", apart)):
        judged = [row.verdict for row in part if row.verdict is not None and row.verdict.ratios]
        failed = sum(row.verdict is None for row in part)
        level = sum(verdict.level for verdict in judged)
        worst = max((verdict.worst for verdict in judged), default=0.0)
        means = ", ".join(
            f"{name} {np.exp(np.mean(np.log([verdict.ratios[key] for verdict in judged]))):.3f}" if judged else ""
            for key, name in COMPARED.items()
        )
        total = len(judged) + failed
        share = f" ({level / total:.0%})" if total else ""
        lines.append([f"at or below the best peer, {title}", "≥ 95 %", f"{level} of {total}{share}", means])
        bounded = sum(verdict.level and max(verdict.ratios.values()) > LEVEL for verdict in judged)
        remarks = [f"{bounded} level because at the lower bound"] if bounded else []
        remarks += [f"{failed} not judged"] if failed else []
        proven = sum("as they are" in row.impossible for row in part)
        remarks += [f"{proven} above where no split can be at or below"] if proven else []
        lines.append([f"worst ratio, {title}", f"≤ {TOLERATED}", f"{worst:.3f}", ", ".join(remarks)])
        exact = sum(verdict.worst_exact <= LEVEL for verdict in judged)
        worst = max((verdict.worst_exact for verdict in judged), default=0.0)
        lines.append([f"against peers at exact sizes, {title}", "", f"{exact} of {total}", f"worst {worst:.3f}"])
        even = sum(verdict.worst_even <= LEVEL for verdict in judged)
        worst = max((verdict.worst_even for verdict in judged), default=0.0)
        share = f" ({even / total:.0%})" if total else ""
        lines.append([f"and with even empty samples, {title}", "", f"{even} of {total}{share}", f"worst {worst:.3f}"])
    grouped = [row for row in rows if row.problem.groups is not None]
    for title, part, bound in (("without groups", free, "0"), ("with groups", grouped, "least possible")):
        done = [row.default for row in part if row.default is not None]
        exact = sum(verdict.ed <= verdict.best_ed for verdict in done)
        low = sum(verdict.flz <= verdict.flz_bound for verdict in done)
        lines.append([f"ED, {title}", bound, f"{exact} of {len(done)}", ""])
        lines.append([f"FLZ, {title}", "bound", f"{low} of {len(done)}", ""])
    text = markdown_table(["", "asked", "found", "worst, or geometric mean of the ratios"], lines)
    fails = [f"- {reason}" for row in rows if (reason := _why(row))]
    return text + ("\nWhat falls short:\n\n" + "\n".join(fails) + "\n" if fails else "")


def _why(row: Row) -> str:
    """Say in a line what a draw misses."""
    parts = []
    if not row.in_time:
        spent = f"over {OUR_SECONDS}" if row.cpu is None else f"{row.cpu:.1f}"
        parts.append(f"CPU {spent} s of {row.bound:.1f} s")
    if row.problem.groups is None and row.verdict is not None and not row.verdict.level:
        verdict = row.verdict
        for name, title in COMPARED.items():
            if verdict.ratios[name] > LEVEL and name not in verdict.at_bound:
                peer = row.peers[verdict.best[name]]
                of_peer = []
                if not isinstance(peer, str) and peer["ed"]:
                    of_peer += [f"its ED {peer['ed']:.3g}", f"{verdict.exact[name]:.3f} × at exact sizes"]
                if not isinstance(peer, str) and peer["unlabelled"] > CHANCE:
                    of_peer.append(f"its empty samples {peer['unlabelled']:.1f} standard deviations off")
                off = f" ({', '.join(of_peer)})" if of_peer else ""
                parts.append(f"{title} {verdict.ratios[name]:.3f} × {verdict.best[name]}{off}")
        if row.impossible:
            parts.append(f"no split of these sizes has LD and LPD so low ({' and '.join(sorted(row.impossible))})")
    if row.default is not None and row.default.ed > row.default.best_ed:
        parts.append(f"ED {row.default.ed:g}, lower bound {row.default.best_ed:g}")
    if row.default is not None and row.default.flz > row.default.flz_bound:
        parts.append(f"FLZ {row.default.flz}, bound {row.default.flz_bound}")
    if row.trouble:
        parts.append(row.trouble)
    return f"{row.problem.seed} ({row.problem.description}): {'; '.join(parts)}" if parts else ""


def introduction(seeds: range) -> str:
    """Say what the tables show."""
    law = (draw.__doc__ or "").partition("\n\n")[2]
    text = f"""
        Seeds {seeds.start} to {seeds.stop - 1}; the engine was tuned on others. {law} At most {MAX_ENTRIES:,} labels
        and {MAX_PAIRS:,} label pairs of all samples together, {MAX_CELLS:,} samples × labels; subsets hold 0.5 % and
        {MIN_SUBSET} samples or more. CPU: process seconds of a warm call on one core; the bound rests on
        iterative-stratification's. A ratio compares with the lower of iterative-stratification and scikit-multilearn,
        order 2, each where it ends within {PEER_SECONDS} CPU seconds. Neither keeps the sizes asked for, which makes
        small sets easier: "at exact sizes" means that samples of subsets that are too large were moved, at random and
        best of {REPAIRS}. "Even empty samples": of these splits only those whose samples without a label are, in the
        mean, at most {CHANCE:g} standard deviations of a random split from their share. = marks a measure that no split
        of these sizes can have lower. Where `cover` gives labels to a subset that would be nearer to the whole without
        them (rare ones, or more than as many samples have), the ratios are those with `cover=False`, and beside them
        the worst one of the default call. Peers know no groups: such draws are judged on their cost, ED (least
        possible) and FLZ.
    """
    return " ".join(text.split()) + "\n"


def main() -> None:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default=f"{REPORTED.start}:{REPORTED.stop}", help="FIRST:BEHIND_LAST")
    parser.add_argument("--effort", default="normal", choices=BOUND)
    parser.add_argument("--cache", type=Path, help="JSON file for the figures of peers")
    parser.add_argument("--peers-only", action="store_true", help="fill the cache, make no split of our own")
    parser.add_argument("--out", type=Path, help="Markdown file for the result")
    arguments = parser.parse_args()
    first, _, behind = arguments.seeds.partition(":")
    seeds = range(int(first), int(behind))
    warm_up(effort=arguments.effort)
    if arguments.peers_only:
        for seed in seeds:
            found = peers_of(draw(seed), arguments.cache)
            told = {peer: made if isinstance(made, str) else round(made["cpu"], 2) for peer, made in found.items()}
            print(seed, told, flush=True)
        return
    rows = []
    for seed in seeds:
        rows.append(run(seed, cache=arguments.cache, effort=arguments.effort))
        print(" | ".join(_cells(rows[-1])), flush=True)
    text = "\n".join(
        [
            "# Families\n",
            f"{machine_line('evosplit-plugins', 'numpy', *PEERS)} {load_line()}",
            introduction(seeds),
            summary(rows, arguments.effort),
            "## Draws\n",
            table(rows),
        ]
    )
    print(text)
    out = arguments.out or (RESULTS / "families.md" if seeds == REPORTED and arguments.effort == "normal" else None)
    if out is not None:
        out.write_text(text, encoding="utf-8")
        print(out)


if __name__ == "__main__":
    main()

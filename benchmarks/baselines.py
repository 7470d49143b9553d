"""Random splits and iterative stratification beside scikit-multilearn, and the data sets beside the paper.

Run it with `python -m benchmarks.baselines --data DIRECTORY`; it writes `benchmarks/results/baselines.md`.
The directory holds label matrices (see `common.find_sets`) and, for the comparison, the paper's tables as
numbers in `paper_tables.json`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from skmultilearn.model_selection import IterativeStratification as ScikitMultilearn

from benchmarks.common import (
    Usage,
    find_sets,
    in_fresh_process,
    load_counts,
    machine_line,
    markdown_table,
    write_result,
)
from evosplit import LabelCounts, describe, kfold, measure
from evosplit.methods.iterative import IterativeStratification

FOLDS = 10
LARGE = 50_000  # data sets with more samples are split once by each method
METHODS: dict[str, Any] = {
    "random": "random",
    "is": "is",
    "sois": "sois",
    "is, as published": IterativeStratification(order=1, as_published=True),
    "sois, as published": IterativeStratification(order=2, as_published=True),
    "scikit-multilearn 1": 1,
    "scikit-multilearn 2": 2,
}
PEERS = {"is": "scikit-multilearn 1", "sois": "scikit-multilearn 2"}
MEASURES = {
    "ld_occurrences": "LD (Eq. 2)",
    "lpd_occurrences": "LPD (Eq. 2 on pairs)",
    "flz": "FLZ",
    "ed": "ED",
    "ld": "LD (Eq. 1)",
    "lpd": "LPD (Eq. 3)",
}
Runs = list[dict[str, float]]
Results = dict[str, dict[str, tuple[Runs, Usage]]]  # data set, method: measures of each seed, cost
Columns = dict[str, tuple[str, str, str]]  # key in the paper's table: title, field of Description, format


def scikit_multilearn(counts: LabelCounts, order: int, seed: int) -> np.ndarray:
    """Split with scikit-multilearn; its own seed does not work, it draws from the global state."""
    np.random.seed(seed)  # noqa: NPY002
    folds = ScikitMultilearn(n_splits=FOLDS, order=order)
    assignment = np.full(counts.n_samples, -1)
    for j, (_, test) in enumerate(folds.split(np.zeros((counts.n_samples, 1)), counts.presence.tolil())):
        assignment[test] = j
    return assignment


def assignments(path: Path, method: str, seeds: int) -> list[np.ndarray]:
    """Split one data set with one method, once per seed."""
    counts, solver = load_counts(path), METHODS[method]
    if isinstance(solver, int):
        return [scikit_multilearn(counts, solver, seed) for seed in range(seeds)]
    return [kfold(counts, FOLDS, method=solver, seed=seed).assignment for seed in range(seeds)]


def run(path: Path, method: str, seeds: int) -> tuple[Runs, Usage]:
    """Measure the splits that a process of their own made."""
    usage = in_fresh_process(assignments, path, method, seeds)
    counts = load_counts(path)
    return [measure(counts, made, [1 / FOLDS] * FOLDS).to_dict() for made in usage.result], usage


def cell(runs: Runs, name: str) -> str:
    """Show mean and standard deviation over the seeds."""
    values = np.array([found[name] for found in runs])
    form, spread_form = (".1f", ".1f") if name in ("flz", "ed") else (".2e", ".0e")
    spread = f" ± {values.std(ddof=1):{spread_form}}" if len(values) > 1 and values.std() > 0 else ""
    return f"{values.mean():{form}}{spread}"


def distance(ours: Runs, theirs: Runs, name: str) -> float:
    """Say by how many standard deviations of one run our mean lies above theirs."""
    a, b = (np.array([found[name] for found in runs]) for runs in (ours, theirs))
    spread = np.sqrt(a.var(ddof=1) + b.var(ddof=1))
    return float((a.mean() - b.mean()) / spread) if spread > 0 else float(np.sign(a.mean() - b.mean()))


def quality_tables(results: Results) -> str:
    """Lay out one table a measure, one row a data set."""
    parts = []
    for name, title in MEASURES.items():
        rows = [[data, *(cell(runs, name) for runs, _ in found.values())] for data, found in results.items()]
        parts.append(f"### {title}\n\n" + markdown_table(["set", *METHODS], rows))
    rows = [
        [data, *(f"{usage.cpu / len(runs):.2f}" for runs, usage in found.values())] for data, found in results.items()
    ]
    parts.append("### CPU seconds of one split\n\n" + markdown_table(["set", *METHODS], rows))
    return "\n".join(parts)


def noise_table(results: Results) -> str:
    """Compare with scikit-multilearn: the mean ratio, and where ours comes off worst in seed noise."""
    rows = []
    for method, peer in PEERS.items():
        for name in ("ld_occurrences", "lpd_occurrences", "flz"):
            ratios, worst = [], (-np.inf, "")
            for data, found in results.items():
                ours, theirs = found[method][0], found[peer][0]
                means = [float(np.mean([one[name] for one in runs])) for runs in (ours, theirs)]
                if means[1] > 0:
                    ratios.append(means[0] / means[1])
                worst = max(worst, (distance(ours, theirs, name), data))
            ratio = f"{np.mean(ratios):.2f}" if ratios else "both 0"
            rows.append([f"{method}: {MEASURES[name]}", ratio, f"{worst[0]:+.1f} ({worst[1]})"])
    header = ["", "ours / theirs, mean over the sets", "worst set: distance in standard deviations"]
    return markdown_table(header, rows)


def large_table(found: dict[str, tuple[Runs, Usage]]) -> str:
    """Show a large data set in full, one row a method."""
    rows = []
    for method in METHODS:
        runs, usage = found[method]
        peer = found[PEERS.get(method.split(",")[0], method)][1]
        ratio = f"{peer.cpu / usage.cpu:.0f}" if peer is not usage else ""
        values = [cell(runs, name) for name in (*MEASURES, "ld_bound", "lpd_bound")]
        rows.append([method, *values, f"{usage.cpu:.2f}", ratio, f"{usage.peak:.0f}"])
    header = [*MEASURES.values(), "bound of Eq. 1", "bound of Eq. 3", "CPU s", "peer's CPU / CPU", "peak MiB"]
    return markdown_table(["method", *header], rows)


TABLE_1: Columns = {
    "m": ("m", "samples", "d"),
    "q": ("q", "labels", "d"),
    "max_labels": ("Max labels", "max_labels", "d"),
    "max_frequency": ("Max frequency", "max_frequency", ".2f"),
    "card": ("Card", "cardinality", ".2f"),
    "dens": ("Dens", "density", ".3f"),
    "div": ("Div", "diversity", "d"),
    "pdiv": ("PDiv", "proportion_diversity", ".2f"),
    "tcs": ("TCS", "complexity", ".1e"),
    "avg_ir": ("avgIR", "average_imbalance", ".2f"),
    "scumble": ("SCUMBLE", "scumble", ".2f"),
}
TABLE_2: Columns = {
    "card2": ("Card²", "pair_cardinality", ".2f"),
    "dens2": ("Dens²", "pair_density", ".3f"),
    "max_frequency2": ("Max frequency²", "pair_max_frequency", ".2f"),
    "div2": ("Div²", "pair_diversity", "d"),
    "pdiv2": ("PDiv²", "pair_proportion_diversity", ".2f"),
}


def paper_table(sets: dict[str, Path], paper: dict[str, Any], columns: Columns) -> str:
    """Put `describe` beside a table of the paper: one value where both agree, else "ours (paper: theirs)"."""
    rows, differ = [], 0
    for data, path in sets.items():
        if data not in paper:
            continue
        found, row = describe(load_counts(path)).to_dict(), [data]
        for key, (_, name, form) in columns.items():
            ours, theirs = f"{found[name]:{form}}", f"{paper[data][key]:{form}}"
            row.append(ours if ours == theirs else f"{ours} (paper: {theirs})")
            differ += ours != theirs
        rows.append(row)
    table = markdown_table(["set", *(title for title, _, _ in columns.values())], rows)
    values = len(rows) * len(columns)
    return f"{table}\n{values - differ} of {values} values are the paper's.\n"


def report(sets: dict[str, Path], paper: dict[str, Any] | None, seeds: int) -> str:
    """Run everything and write it down."""
    small: Results = {}
    large: Results = {}
    for data, path in sets.items():
        is_large = load_counts(path).n_samples > LARGE
        for method in METHODS:
            print(f"{data}: {method}", flush=True)
            made = run(path, method, 1 if is_large else seeds)
            (large if is_large else small).setdefault(data, {})[method] = made
    parts = [
        "# Baselines\n\n"
        + machine_line("evosplit-plugins", "numpy", "numba", "scikit-multilearn", "scikit-learn")
        + f"\n{FOLDS} folds. Mean ± standard deviation over {seeds} seeds; sets of more than {LARGE:,} "
        "samples once. `is` and `sois` have exact sizes; *as published* is the algorithm of the papers to "
        "the letter, without the repair of the sizes. CPU seconds are those of the call in a process of its "
        "own, reading the matrix and loading the compiled code included. Labels count once per sample for "
        "every method here; the measures of Eq. 2 count repeated labels.\n"
    ]
    if small:
        parts += ["## Against scikit-multilearn, in seed noise\n\n" + noise_table(small)]
        parts += ["## Every set\n\n" + quality_tables(small)]
    for data, found in large.items():
        parts.append(f"## {data}: {load_counts(sets[data])!r}\n\n" + large_table(found))
    if paper is not None:
        parts.append("## The paper's Table 1\n\n" + paper_table(sets, paper["measures"], TABLE_1))
        parts.append("## The paper's Table 2\n\n" + paper_table(sets, paper["measures_order2"], TABLE_2))
    return "\n".join(parts)


def main() -> None:
    """Read the arguments, run, write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="directory of label matrices")
    parser.add_argument("--sets", nargs="*", help="only these (default: all)")
    parser.add_argument("--seeds", type=int, default=5, help="splits of each set and method (default 5)")
    args = parser.parse_args()
    sets = find_sets(args.data)
    if args.sets:
        sets = {name: sets[name] for name in args.sets}
    tables = next((p for p in (args.data, args.data.parent) if (p / "paper_tables.json").exists()), None)
    paper = None if tables is None else json.loads((tables / "paper_tables.json").read_text(encoding="utf-8"))
    kfold(load_counts(next(iter(sets.values()))), FOLDS, method="sois")  # compiles, before anything is timed
    print(write_result("baselines", report(sets, paper, args.seeds)))


if __name__ == "__main__":
    main()

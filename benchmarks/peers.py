"""What users pick today beside our own methods: the same data, the same measures, one process a run.

    python -m benchmarks.peers --data DIRECTORY [--optisplit DIRECTORY] [--datumaro PYTHON] [--keep FILE]

The directory holds the label matrices a, b and c (see `common.find_sets`): (a) like Corel5k, 5,000 x 374; (b) like
COCO, 20,000 x 80 with instance counts; (c) the same law, 120,000 x 80. OptiSplit is not on the package index: name a
checkout of its repository (the directory of `cv_balance.py`). Datumaro runs in an environment of its own: name its
Python, which needs scipy too. It writes `benchmarks/results/peers.md`. With `--keep FILE` the rows of slow peers are
kept there and taken from it by the next run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import find_sets, load_counts, load_line, machine_line, markdown_table, write_result
from evosplit import LabelCounts, Measures, measure, split

SHAPES = {"k = 10": [0.1] * 10, "0.8 / 0.1 / 0.1": [0.8, 0.1, 0.1]}
PEERS: dict[str, list[str]] = {
    "random": ["random"],
    "scikit-multilearn, order 1": ["scikit_multilearn", "--order", "1"],
    "scikit-multilearn, order 2": ["scikit_multilearn", "--order", "2"],
    "iterative-stratification": ["iterative_stratification"],
    "OptiSplit": ["optisplit"],
    "Datumaro": ["datumaro"],
}
OURS: dict[str, list[str]] = {
    "is": ["evosplit", "--method", "is"],
    "sois": ["evosplit", "--method", "sois"],
    "ea-ld": ["evosplit", "--method", "ea-ld"],
    "ea-lpd": ["evosplit", "--method", "ea-lpd"],
    "nsga2": ["evosplit", "--method", "nsga2"],
    "evosplit, fast": ["evosplit", "--effort", "fast"],
    "evosplit": ["evosplit"],
    "evosplit, no cover": ["evosplit", "--no-cover"],
    "evosplit, thorough": ["evosplit", "--effort", "thorough"],
}
PAPERS = ("ea-ld", "ea-lpd", "nsga2")
SLOW = 10.0  # CPU seconds of a call above which a peer's row is worth keeping
LARGE = 10_000  # more samples than that: no thorough search
# CPU seconds, LD, LD', LPD, ED and FLZ of tools that did not run here, as measured elsewhere on the same data.
QUOTED: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("b", "k = 10", "Datumaro"): (5.5, 4.37e-3, 3.77e-5, 4.65e-4, 55.6, 0),
    ("c", "k = 10", "Datumaro"): (33.3, 2.83e-3, 5.35e-6, 1.86e-4, 219, 0),
    ("c", "0.8 / 0.1 / 0.1", "Datumaro"): (26.9, 9.73e-3, 6.28e-5, 2.57e-4, 3216, 0),
    ("a", "k = 10", "OptiSplit"): (5.7, 1.657e-3, 4.237e-4, 7.407e-4, 63.8, 1233),
    ("a", "0.8 / 0.1 / 0.1", "OptiSplit"): (5.66, 1.345e-3, 3.520e-4, 5.389e-4, 119.3, 383),
    ("b", "k = 10", "OptiSplit"): (4.5, 1.097e-3, 8.340e-4, 4.442e-4, 27.6, 0),
    ("b", "0.8 / 0.1 / 0.1", "OptiSplit"): (4.67, 1.020e-3, 6.566e-4, 3.290e-4, 50, 0),
    ("c", "k = 10", "OptiSplit"): (62.22, 4.589e-4, 3.218e-4, 1.731e-4, 67, 0),
    ("c", "0.8 / 0.1 / 0.1", "OptiSplit"): (65.47, 3.975e-4, 2.037e-4, 1.262e-4, 49.3, 0),
}
COMPARED = {"ld": "LD", "ld_occurrences": "LD′", "lpd": "LPD"}
LEVEL = 1 + 1e-9  # equal but for rounding


@dataclass(frozen=True)
class Row:
    """One method on one data set: what it cost and what it gave, the default answer first."""

    loading: float
    first: float
    warm: float
    peak: float
    points: list[Measures]
    notes: list[str]

    @property
    def cpu(self) -> float:
        """CPU seconds of a first split in a new process, imports included."""
        return self.loading + self.first


def run(path: Path, counts: LabelCounts, ratios: list[float], command: list[str], python: str) -> Row | str:
    """Split in a process of its own; return what it said if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "splits.npy"
        asked = [*command, str(path.resolve()), str(kept), "--ratios", *map(str, ratios)]
        done = subprocess.run(
            [python, "-m", "benchmarks._split_once", *asked],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[1],
        )
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        cost = json.loads(done.stdout.strip().splitlines()[-1])
        points = [measure(counts, made, ratios) for made in np.load(kept)]
    return Row(cost["import"], cost["call"], cost["warm"], cost["peak"], points, cost["notes"])


def method_table(rows: dict[str, Row | str], quoted: dict[str, tuple[float, ...]]) -> str:
    """Lay out what each method gave and cost."""
    lines = []
    for name, row in rows.items():
        if isinstance(row, str) and name in quoted:
            cpu, ld, ld_occurrences, lpd, ed, flz = quoted[name]
            values = [f"{ld:.3e}", f"{ld_occurrences:.3e}", f"{lpd:.3e}", "", f"{ed:.1f}", f"{flz}"]
            lines.append([f"{name} (quoted, did not run here)", "", f"{cpu:.1f}", "", "", *values])
        elif isinstance(row, str):
            lines.append([f"{name}: did not run ({row})", *[""] * 10])
        else:
            found = row.points[0]
            lines.append(
                [
                    name + (" †" if row.notes else ""),
                    f"{row.loading:.2f}",
                    f"{row.first:.2f}",
                    f"{row.warm:.2f}",
                    f"{row.peak:.0f}",
                    *(f"{value:.3e}" for value in (found.ld, found.ld_occurrences, found.lpd, found.lpd_occurrences)),
                    f"{found.ed:.1f}",
                    f"{found.flz}",
                ]
            )
    header = ["method", "import s", "first call s", "warm s", "peak MiB", "LD", "LD′", "LPD", "LPD′", "ED", "FLZ"]
    return markdown_table(header, lines)


def verdict(rows: dict[str, Row | str], quoted: dict[str, tuple[float, ...]]) -> tuple[str, list[str]]:
    """Put our default split beside the best peer of each measure; say whether it, or a point, is level everywhere.

    A point of the front, or of that without `cover`: no peer gives every subset a sample of every label.
    """
    ours, uncovered = rows["evosplit"], rows["evosplit, no cover"]
    if isinstance(ours, str) or isinstance(uncovered, str):
        return f"evosplit did not run: {ours}, {uncovered}\n", ["**no**"] * 3
    ran = {peer: row for peer, row in rows.items() if peer in PEERS and isinstance(row, Row)}
    best: dict[str, tuple[float, str]] = {}
    for at, name in enumerate(COMPARED):
        values = [(getattr(row.points[0], name), peer) for peer, row in ran.items()]
        values += [(found[1 + at], f"{peer}, quoted") for peer, found in quoted.items()]
        best[name] = min(values)
    lines = []
    for name, title in COMPARED.items():
        value, (bound, peer) = getattr(ours.points[0], name), best[name]
        level = "yes" if value <= bound * LEVEL else "**no**"
        lines.append([title, f"{bound:.3e} ({peer})", f"{value:.3e}", f"{value / bound:.3f}", level])
    table = markdown_table(["measure", "best peer", "evosplit", "ratio", "at or below"], lines)
    table += f"\nED {ours.points[0].ed:g}, FLZ {ours.points[0].flz} (bound {ours.points[0].flz_bound}). "
    table += "The point of the front that is nearest on all three, in parts of the best peer's: "
    found = []
    for points, where in ((ours.points, ""), (uncovered.points, "; without cover ")):
        worst = [max(getattr(point, name) / best[name][0] for name in COMPARED) for point in points]
        nearest = points[int(np.argmin(worst))]
        table += where + ", ".join(
            f"{title} {getattr(nearest, name) / best[name][0]:.3f}" for name, title in COMPARED.items()
        )
        found += [worst[0], min(worst)]
    return table + ".\n", ["yes" if found[i] <= LEVEL else "**no**" for i in (0, 1, 3)]


def cost_line(rows: dict[str, Row | str]) -> str:
    """Compare the CPU time of the default with that of two peers."""
    ours = rows["evosplit"]
    if isinstance(ours, str):
        return ""
    parts = []
    for peer in ("iterative-stratification", "scikit-multilearn, order 2"):
        theirs = rows[peer]
        if not isinstance(theirs, str):
            parts.append(
                f"{ours.cpu / theirs.cpu:.2f} × that of {peer} in a new process, {ours.warm / theirs.warm:.2f} × warm"
            )
    return f"CPU time of evosplit: {'; '.join(parts)}.\n" if parts else ""


def all_rows(
    path: Path, counts: LabelCounts, ratios: list[float], arguments: argparse.Namespace
) -> dict[str, Row | str]:
    """Run every method on one data set."""
    rows: dict[str, Row | str] = {}
    kept = _read(arguments.keep)
    for name, command in {**PEERS, **OURS}.items():
        key = f"{path.stem} | {len(ratios)} | {name}"
        if key in kept:
            rows[name] = Row(**{**kept[key], "points": [Measures(**point) for point in kept[key]["points"]]})
            continue
        if name == "evosplit, thorough" and counts.n_samples > LARGE:
            continue
        python, extra = sys.executable, []
        if name == "OptiSplit":
            extra = ["--optisplit", arguments.optisplit]
        elif name == "Datumaro":
            python = arguments.datumaro
        elif name in PAPERS:
            extra = ["--time-limit", str(arguments.paper_seconds)]
        given = python is not None and None not in extra
        made = rows[name] = run(path, counts, ratios, command + extra, python) if given else "not given"
        if arguments.keep is not None and name in PEERS and isinstance(made, Row) and made.first > SLOW:
            kept[key] = asdict(made)
            arguments.keep.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(f"{path.stem}, {len(ratios)} subsets: {name}", flush=True)
    return rows


def _read(keep: Path | None) -> dict[str, Any]:
    return {} if keep is None or not keep.exists() else dict(json.loads(keep.read_text(encoding="utf-8")))


def introduction(paper_seconds: float) -> str:
    """Say what the tables show."""
    return (
        "One seed, one core. (a) 5,000 × 374 like Corel5k; (b) 20,000 × 80 like COCO, with instance counts; (c) the "
        "same law, 120,000 × 80. LD: Eq. 1 (images with a label); LD′: Eq. 2 (instances); LPD: Eq. 3, LPD′: Eq. 2 on "
        "pairs; ED: from exact sizes. Each method runs in a process of its own: CPU seconds of its import (beside "
        "numpy's and scipy's), of its first call there (compiled kernels come from the cache on disk) and of a second "
        "one (where the first took less than ten seconds). evosplit is the default call: effort normal, pick "
        "balanced, the whole front included. No peer knows cover (FLZ at its bound), so a row is without it. "
        f"† the paper's methods were stopped after {paper_seconds:g} s. "
        "iterative-stratification is MultilabelStratifiedKFold, or MultilabelStratifiedShuffleSplit twice; OptiSplit "
        "makes equal folds only, so eight of ten are joined to 0.8.\n"
    )


def main() -> None:
    """Read the arguments, run, write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of the label matrices a, b, c")
    parser.add_argument("--sets", nargs="*", default=["a", "b", "c"])
    parser.add_argument("--optisplit", help="directory of OptiSplit's cv_balance.py")
    parser.add_argument("--datumaro", metavar="PYTHON", help="an interpreter that has datumaro and scipy")
    parser.add_argument("--paper-seconds", type=float, default=20.0, help="time limit of the paper's methods")
    parser.add_argument("--keep", type=Path, help="JSON file for the rows of slow peers")
    arguments = parser.parse_args()
    sets = find_sets(arguments.data)
    parts, summary = [], []
    for data in arguments.sets:
        counts = load_counts(sets[data])
        for shape, ratios in SHAPES.items():
            rows = all_rows(sets[data], counts, ratios, arguments)
            quoted = {
                tool: QUOTED[key]
                for tool in rows
                if isinstance(rows[tool], str) and (key := (data, shape, tool)) in QUOTED
            }
            table, level = verdict(rows, quoted)
            summary.append([f"({data}) {shape}", *level, cost_line(rows).strip()])
            bound = measure(counts, split(counts, ratios, method="random").assignment, ratios)
            parts.append(
                f"## ({data}) {shape}\n\nLower bounds at exact sizes: LD {bound.ld_bound:.3e}, "
                f"LPD {bound.lpd_bound:.3e}, FLZ {bound.flz_bound}.\n\n"
                f"{method_table(rows, quoted)}\n{table}\n{cost_line(rows)}"
            )
    text = [
        "# Peers\n",
        machine_line("evosplit-plugins", "numpy", "scikit-multilearn", "iterative-stratification") + f" {load_line()}",
        introduction(arguments.paper_seconds),
        "## One split at or below the best peer on LD, LD′ and LPD at once\n",
        markdown_table(["set", "evosplit, balanced", "a point of its front", "one without cover", "cost"], summary),
        *parts,
    ]
    print(write_result("peers", "\n".join(text)))


if __name__ == "__main__":
    main()

"""The default engine: the paper's cells, dense sets, COCO, latency, threads.

    python -m benchmarks.engine --data DIRECTORY [paper] [dense] [coco] [latency] [threads]

The directory holds the label matrices of the paper's 14 data sets and `paper_tables.json` (see `common.find_sets`),
COCO's labels in `coco/coco2017_80_presence.npz`, and perhaps sets whose samples carry many labels in `dense/*.npz`.
Each section runs in a process of its own on one core. It writes `benchmarks/results/engine.md`. With `--keep FILE` the
figures of every section are kept there, and sections that were not asked for are taken from it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks._split_once import iterative_stratification, scikit_multilearn
from benchmarks.common import (
    coco_like,
    find_sets,
    in_fresh_process,
    load_counts,
    load_line,
    machine_line,
    markdown_table,
    panoptic_like,
    tables_of,
    write_result,
)
from benchmarks.families import BOUND, COMPARED, IS, TINY
from evosplit import LabelCounts, Split, kfold, measure, split

FOLDS = 10
OBJECTIVES = ("instances", "pairs")  # the forms that the paper's tables show
SHAPES: dict[str, Any] = {"0.8 / 0.1 / 0.1": (0.8, 0.1, 0.1), "k = 10": FOLDS}
Cell = dict[str, Any]


def solved(counts: LabelCounts, shape: Any, **options: Any) -> tuple[Split, float]:
    """Split, and say how many CPU seconds it took."""
    before = time.process_time()
    made = kfold(counts, shape, **options) if isinstance(shape, int) else split(counts, shape, **options)
    return made, time.process_time() - before


def warm_up() -> None:
    """Load the kernels, those for few columns and those for many."""
    rng = np.random.default_rng(0)
    for n_labels in (5, 60):
        matrix = (rng.random((300, n_labels)) < 0.2).astype(int)
        kfold(matrix, 5, effort="fast")
        kfold(matrix + (matrix > 0) * rng.integers(2, size=matrix.shape), 5, effort="fast")


def paper_cells(sets: dict[str, Path], paper: Cell) -> dict[str, Cell]:
    """Split the paper's sets into ten folds with scikit-multilearn and with two efforts of the engine."""
    warm_up()
    found: dict[str, Cell] = {}
    stratify = scikit_multilearn(argparse.Namespace(order=2))
    for data in paper["ld"]:
        counts = load_counts(sets[data])
        before = time.process_time()
        theirs = stratify(counts.matrix, [1 / FOLDS] * FOLDS)[0]
        peer_cpu = time.process_time() - before
        cell: Cell = {"peer": _tables_form(measure(counts, theirs, [1 / FOLDS] * FOLDS)), "peer cpu": peer_cpu}
        for effort in ("fast", "normal"):
            made, cpu = solved(counts, FOLDS, effort=effort, objectives=OBJECTIVES)
            picks = {rule: _tables_form(made.pick(rule).measures) for rule in ("balanced", "ld", "lpd")}
            cell[effort] = {**picks, "cpu": cpu, "points": len(made.front or ())}
        cell["default"] = _tables_form(solved(counts, FOLDS)[0].measures)
        found[data] = cell
        print(
            f"{data}: {cell['peer cpu']:.2f} s, {cell['fast']['cpu']:.2f} s, {cell['normal']['cpu']:.2f} s", flush=True
        )
    return found


def _tables_form(found: Any) -> Cell:
    return {
        "ld": found.ld_occurrences,
        "lpd": found.lpd_occurrences,
        "flz": found.flz,
        "bound": found.flz_bound,
        "ed": found.ed,
    }


def best_cells(data: str, paper: Cell) -> dict[str, dict[str, float]]:
    """Return the paper's best LD and LPD: of NSGA-II (Tables 8, 9), and of any method."""
    multi = [paper["moea"][data], *([paper["moea_constrained"][data]] if data in paper["moea_constrained"] else [])]
    found: dict[str, dict[str, float]] = {"moea": {}, "any": {}}
    for name in ("ld", "lpd"):
        found["moea"][name] = min(cell[name] for cell in multi)
        found["any"][name] = min(found["moea"][name], *paper[name][data].values())
    return found


def paper_section(cells: dict[str, Cell], paper: Cell) -> str:
    """Compare with the paper's cells and with scikit-multilearn."""
    rows: dict[str, list[list[Any]]] = {"normal": [], "fast": []}
    ratios: dict[str, list[float]] = {}
    missed: list[str] = []
    for data, cell in cells.items():
        best = best_cells(data, paper)
        for effort in ("normal", "fast"):
            mine = cell[effort]
            against = {
                "balanced ld / moea": mine["balanced"]["ld"] / best["moea"]["ld"],
                "balanced lpd / moea": mine["balanced"]["lpd"] / best["moea"]["lpd"],
                "ld / any": mine["ld"]["ld"] / best["any"]["ld"],
                "lpd / any": mine["lpd"]["lpd"] / best["any"]["lpd"],
                "ld / peer": mine["balanced"]["ld"] / cell["peer"]["ld"],
                "lpd / peer": mine["balanced"]["lpd"] / cell["peer"]["lpd"],
            }
            for name, ratio in against.items():
                ratios.setdefault(f"{effort} {name}", []).append(ratio)
                asked = effort == "normal" or name.endswith("peer")
                if asked and ratio > 1:
                    missed.append(f"{data}, {effort}: {name} {ratio:.3f}")
            for rule in ("balanced", "ld", "lpd"):
                if effort == "normal" and (mine[rule]["flz"] > mine[rule]["bound"] or mine[rule]["ed"] > 0):
                    missed.append(f"{data}, {rule}: FLZ {mine[rule]['flz']} of {mine[rule]['bound']}")
            flz = f"{mine['balanced']['flz']} ({mine['balanced']['bound']})"
            rows[effort].append(
                [
                    data,
                    f"{mine['balanced']['ld']:.2e}",
                    f"{mine['balanced']['lpd']:.2e}",
                    *(f"{ratio:.3f}" for ratio in against.values()),
                    flz,
                    f"{mine['balanced']['ed']:g}",
                    mine["points"],
                    f"{mine['cpu']:.2f}",
                    f"{cell['peer cpu']:.2f}",
                ]
            )
        for name in ("ld", "lpd"):
            ratios.setdefault(f"default {name}", []).append(cell["default"][name] / best["moea"][name])
    mean = {name: float(np.exp(np.mean(np.log(values)))) for name, values in ratios.items()}
    cpu = {effort: sum(cell[effort]["cpu"] for cell in cells.values()) for effort in rows}
    peer = sum(cell["peer cpu"] for cell in cells.values())
    header = [
        "set", "LD", "LPD", "LD / MOEA", "LPD / MOEA", "pick ld: LD / best", "pick lpd: LPD / best",
        "LD / peer", "LPD / peer", "FLZ (bound)", "ED", "points", "CPU s", "peer's CPU s",
    ]  # fmt: skip
    parts = [
        "## The paper's 14 sets, 10 folds\n\n"
        "LD and LPD in the form of the paper's tables (Eq. 2, on labels and on pairs), objectives instances and pairs, "
        "one seed. MOEA: the better cell of the paper's Tables 8 and 9; best: the best cell of any method in the "
        "paper; peer: scikit-multilearn's order-2 stratification in the same process. LD, LPD, FLZ and ED are those of "
        '`pick="balanced"`.\n',
        markdown_table(
            ["", "asked", "measured"],
            [
                ["normal, balanced: LD / MOEA, geometric mean", "≤ 0.75", f"{mean['normal balanced ld / moea']:.3f}"],
                ["normal, balanced: LPD / MOEA, geometric mean", "≤ 0.95", f"{mean['normal balanced lpd / moea']:.3f}"],
                ["normal, default objectives: the same", "", f"{mean['default ld']:.3f}, {mean['default lpd']:.3f}"],
                ["normal: CPU / peer's", "≤ 4", f"{cpu['normal']:.1f} s / {peer:.1f} s = {cpu['normal'] / peer:.2f}"],
                ["fast: CPU / peer's", "≤ 1", f"{cpu['fast']:.1f} s / {peer:.1f} s = {cpu['fast'] / peer:.2f}"],
                ["fast, balanced: LD / peer's, worst set", "< 1", f"{max(ratios['fast ld / peer']):.3f}"],
                ["fast, balanced: LPD / peer's, worst set", "< 1", f"{max(ratios['fast lpd / peer']):.3f}"],
                ["cells above what was asked", "none", "; ".join(missed) or "none"],
            ],
        ),
        *(f"### Effort {effort}\n\n{markdown_table(header, table)}" for effort, table in rows.items()),
    ]
    return "\n".join(parts)


def coco_cells(data: Path) -> list[Cell]:
    """Split COCO's labels and a set like COCO panoptic, warm, one core."""
    warm_up()
    presence = data / "coco" / "coco2017_80_presence.npz"
    found = []
    for name, counts in (("COCO 2017", load_counts(presence)), ("like panoptic", LabelCounts(panoptic_like()))):
        for title, shape in SHAPES.items():
            made, cpu = solved(counts, shape)
            at_random = [solved(counts, shape, method="random", seed=seed)[0].measures for seed in range(5)]
            points = [made.pick(i).measures for i in range(len(made.front or ()))]
            cell: Cell = {"set": name, "shape": title, "cpu": cpu, "points": len(points)}
            cell |= {"samples": counts.n_samples, "labels": counts.n_labels, "pairs": len(counts.pairs)}
            cell["pairs per image"] = float(counts.pairs.totals.sum() / counts.n_samples)
            cell |= {"flz": made.measures.flz, "bound": made.measures.flz_bound, "ed": made.measures.ed}
            for measured in ("ld", "lpd"):
                random = float(np.mean([getattr(one, measured) for one in at_random]))
                cell[measured] = random / getattr(made.measures, measured)
                cell[f"{measured} limit"] = random / getattr(made.measures, f"{measured}_bound")
                cell[f"{measured} front"] = [random / getattr(point, measured) for point in points]
            found.append(cell)
            print(name, title, f"{cpu:.1f} s, 1/{cell['ld']:.1f}, 1/{cell['lpd']:.2f}", flush=True)
    return found


def coco_section(cells: list[Cell]) -> str:
    """Compare with random splits."""
    rows = []
    for cell in cells:
        ends = [f"1/{cell['ld front'][at]:.0f}, 1/{cell['lpd front'][at]:.2f}" for at in (0, -1)]
        rows.append(
            [
                f"{cell['set']}, {cell['shape']}",
                f"1/{cell['ld']:.1f} (1/{cell['ld limit']:.1f})",
                f"1/{cell['lpd']:.2f} (1/{cell['lpd limit']:.2f})",
                *ends,
                f"{cell['flz']} ({cell['bound']})",
                f"{cell['ed']:g}",
                f"{cell['cpu']:.1f}",
            ]
        )
    shapes = {cell["set"]: cell for cell in cells}
    described = "; ".join(
        f"{name}: {cell['samples']:,} × {cell['labels']}, {cell['pairs']:,} pairs, {cell['pairs per image']:.1f} an "
        "image"
        for name, cell in shapes.items()
    )
    header = ["set", "LD / random (bound)", "LPD / random (bound)", "first point", "last point", "FLZ (bound)", "ED"]
    return (
        "## COCO\n\n"
        f"{described}. Effort normal, warm, one core. Asked: LD ≤ 1/40 and LPD ≤ 1/2.5 of random (the mean of five), "
        "10 s. In brackets what no split can beat; first and last point: the ends of the front, LD and LPD.\n\n"
        + markdown_table([*header, "CPU s"], rows)
    )


def small_split(repeat: bool) -> Cell:
    """Split 500 samples in this process: the first call, and a second one."""
    rng = np.random.default_rng(0)
    matrix = (rng.random((500, 20)) < 0.12).astype(int)
    messages: list[str] = []
    found: Cell = {}
    for name in ("first", "second") if repeat else ("first",):
        wall, cpu = time.perf_counter(), time.process_time()
        split(matrix, (0.8, 0.1, 0.1), on_progress=lambda _, message: messages.append(message))
        found[name] = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    found["announced"] = next((message for message in messages if "compil" in message.lower()), None)
    return found


def import_time() -> Cell:
    """Import the core and say what it cost and whether the compiler came with it."""
    import subprocess
    import sys

    code = (
        "import time; t = time.process_time(); import evosplit, sys; "
        "print(time.process_time() - t, 'numba' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return {"cpu": float(out[0]), "numba": out[1] == "True"}


def latency_cells() -> Cell:
    """Measure the first call ever, with an empty cache of kernels, the first one with a full cache, and a warm one."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"NUMBA_CACHE_DIR": folder}):
        ever = in_fresh_process(small_split, False).result
        cached = in_fresh_process(small_split, True).result
    return {"import": import_time(), "ever": ever, "cached": cached}


def latency_section(cells: Cell) -> str:
    """Lay out the latencies."""
    rows = [
        ["import evosplit", "no compiler", f"{cells['import']['cpu']:.2f}", ""],
        ["first call ever, kernels compiled", "≤ 6 s", *_seconds(cells["ever"]["first"])],
        ["first call of a process, kernels on disk", "", *_seconds(cells["cached"]["first"])],
        ["second call of a process", "≤ 1 s", *_seconds(cells["cached"]["second"])],
    ]
    loaded = "loads" if cells["import"]["numba"] else "does not load"
    said = cells["ever"]["announced"]
    return (
        "## Latency\n\n500 samples × 20 labels, 0.8 / 0.1 / 0.1, effort normal. "
        f"Importing evosplit {loaded} the compiler. While compiling, the caller is told: "
        f"{'nothing' if said is None else repr(said)}.\n\n" + markdown_table(["", "asked", "CPU s", "wall s"], rows)
    )


def _seconds(cell: Cell) -> list[str]:
    return [f"{cell['cpu']:.2f}", f"{cell['wall']:.2f}"]


def wall_of(kind: str, path: Path | None, jobs: int, repeats: int = 2) -> tuple[float, Any]:
    """Return the shortest wall time of a split, and its assignment."""
    counts = LabelCounts(coco_like()) if path is None else load_counts(path)
    warm_up()
    walls = []
    for _ in range(repeats):
        before = time.perf_counter()
        made = kfold(counts, FOLDS, n_jobs=jobs)
        walls.append(time.perf_counter() - before)
    return min(walls), made.assignment


def threads_cells(sets: dict[str, Path]) -> list[Cell]:
    """Measure one thread and two."""
    found = []
    for name, path in (("Corel5k", sets["Corel5k"]), ("tmc2007_500", sets["tmc2007_500"]), ("like COCO", None)):
        one, alone = in_fresh_process(wall_of, name, path, 1).result
        two, both = in_fresh_process(wall_of, name, path, 2).result
        found.append({"set": name, "one": one, "two": two, "same": bool((alone == both).all())})
        print(f"{name}: {one:.2f} s, {two:.2f} s", flush=True)
    return found


def threads_section(cells: list[Cell]) -> str:
    """Compare the wall times."""
    rows = [
        [c["set"], f"{c['one']:.2f}", f"{c['two']:.2f}", f"{c['one'] / c['two']:.2f}", "yes" if c["same"] else "**no**"]
        for c in cells
    ]
    return (
        "## Two threads\n\nTen folds, effort normal, wall seconds of the whole call, the shorter of two.\n\n"
        + markdown_table(["set", "one thread", "two threads", "speed-up", "same split"], rows)
    )


def dense_cells(folder: Path) -> list[Cell]:
    """Split sets whose samples carry many labels, and stratify them with iterative-stratification."""
    warm_up()
    stratify = iterative_stratification(argparse.Namespace())
    found = []
    for path in sorted(folder.glob("*.npz")):
        counts = load_counts(path)
        for title, shape in SHAPES.items():
            ratios = [1 / shape] * shape if isinstance(shape, int) else list(shape)
            before = time.process_time()
            theirs = stratify(counts.matrix, ratios)[0]
            peer_cpu = time.process_time() - before
            cell: Cell = {"set": path.stem, "shape": title, "samples": counts.n_samples, "labels": counts.n_labels}
            cell["per sample"] = float(counts.sample_totals.sum() / counts.n_samples)
            cell["peer"] = {"cpu": peer_cpu, **_compared(measure(counts, theirs, ratios))}
            for effort in ("normal", "fast"):
                made, cpu = solved(counts, shape, effort=effort)
                seconds, times = BOUND[effort]
                cell[effort] = {"cpu": cpu, "bound": seconds + times * peer_cpu, **_compared(made.measures)}
                cell[effort] |= {"flz": made.measures.flz, "flz bound": made.measures.flz_bound, "ed": made.measures.ed}
                print(path.stem, title, effort, f"{cpu:.2f} s of {cell[effort]['bound']:.2f} s", flush=True)
            found.append(cell)
    return found


def _compared(found: Any) -> dict[str, float]:
    return {name: getattr(found, name) for name in COMPARED}


def dense_section(cells: list[Cell]) -> str:
    """Compare with iterative-stratification."""
    rows = []
    for cell in cells:
        for effort in ("normal", "fast"):
            mine = cell[effort]
            cpu = f"{mine['cpu']:.2f}" if mine["cpu"] <= mine["bound"] else f"**{mine['cpu']:.2f}**"
            ratios = [(mine[name] + TINY) / (cell["peer"][name] + TINY) for name in COMPARED]
            rows.append(
                [
                    f"{cell['set']}, {cell['shape']}",
                    effort,
                    *(f"{ratio:.3f}" if ratio <= 1 else f"**{ratio:.3f}**" for ratio in ratios),
                    f"{mine['flz']} ({mine['flz bound']})",
                    f"{mine['ed']:g}",
                    cpu,
                    f"{mine['bound']:.2f}",
                    f"{cell['peer']['cpu']:.2f}",
                ]
            )
    shapes = {cell["set"]: cell for cell in cells}
    described = "; ".join(
        f"{name}: {cell['samples']:,} × {cell['labels']}, {cell['per sample']:.1f} labels a sample"
        for name, cell in shapes.items()
    )
    header = ["set", "effort", *(f"{title} / peer" for title in COMPARED.values()), "FLZ (bound)", "ED"]
    asked = ", ".join(f"{effort} {BOUND[effort][0]:g} s + {BOUND[effort][1]:g} ×" for effort in ("normal", "fast"))
    return (
        f"## Many labels a sample\n\n{described}. Warm, one core; peer: {IS} in the same process. Asked: at or below "
        f"it on all three (effort normal), CPU at most {asked} the peer's.\n\n"
        + markdown_table([*header, "CPU s", "bound", "peer's CPU s"], rows)
    )


def main() -> None:
    """Run the sections asked for, keep their figures, write them all down."""
    sections = ("paper", "dense", "coco", "latency", "threads")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(sections)} (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="directory of label matrices")
    parser.add_argument("--keep", type=Path, help="JSON file of figures")
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(sections):
        parser.error(f"unknown sections: {', '.join(sorted(unknown))}")
    sets, paper = find_sets(arguments.data), tables_of(arguments.data)
    warm_up()  # compiles, before anything is timed
    keep: Path | None = arguments.keep
    kept: Cell = json.loads(keep.read_text(encoding="utf-8")) if keep is not None and keep.exists() else {}
    for name in arguments.sections or sections:
        if name == "paper":
            kept[name] = in_fresh_process(paper_cells, sets, paper).result
        elif name == "dense":
            if not (arguments.data / name).is_dir():
                print(f"no folder {arguments.data / name}: left out")
                continue
            kept[name] = in_fresh_process(dense_cells, arguments.data / name).result
        elif name == "coco":
            kept[name] = in_fresh_process(coco_cells, arguments.data).result
        elif name == "latency":
            kept[name] = latency_cells()
        else:
            kept[name] = threads_cells(sets)
        if keep is not None:
            keep.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    text = [
        "# The engine\n",
        machine_line("evosplit-plugins", "numpy", "numba", "scikit-multilearn") + f" {load_line()}\n",
    ]
    writers: dict[str, Any] = {"coco": coco_section, "latency": latency_section, "threads": threads_section}
    writers |= {"dense": dense_section, "paper": lambda cells: paper_section(cells, paper)}
    text += [writers[name](kept[name]) for name in sections if name in kept]
    print(write_result("engine", "\n".join(text)))


if __name__ == "__main__":
    main()

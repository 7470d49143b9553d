"""What each constant of the engine is worth, and what some of its parts are, on draws of the families.

    python -m benchmarks.ablation [--seeds 2000:2014]

It writes `benchmarks/results/ablation.md`. Half of the draws have repeated instances, a quarter has groups.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.common import load_line, machine_line, markdown_table, write_result
from benchmarks.families import COMPARED, PEERS, TINY, Problem, draw, warm_up

SEEDS = range(2000, 2040)  # of families: neither tuned on nor reported
MOST_LABELS = 20_000  # of all samples together, in the draws taken: each search takes about a second
# Where half and twice are not what tells most: the constant -> other values.
OTHERWISE: dict[str, tuple[Any, ...]] = {
    "COUNTED_COLUMNS": (0, 1024),
    "EMPHASIS": (0.0, 240.0),
    "HOT": (0.025, 2.5),
    "ORDERS": (1,),
    "PER_UNIT": (0, 1_680),
    "TOTALS": (0.0, 1.0),
}
AT_EASE = ("LATER", "GRACE", "NEVER", "CACHE", "LOSSES", "FAR")  # of thorough searches, time limits, the machine
Cell = dict[str, Any]


def engine_modules() -> list[ModuleType]:
    """Return the modules that hold the engine's constants."""
    from evosplit.methods.evosplit import anneal, budget, landscape, solve, start

    return [budget, start, landscape, anneal, solve]


def variants() -> Iterator[tuple[str, str, Any]]:
    """Give each constant of the engine other values: (row, constant, value)."""
    for module in engine_modules():
        for statement in ast.parse(inspect.getsource(module)).body:  # what a module only imports is left alone
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name = statement.targets[0].id
            value = getattr(module, name)
            if name.isupper() and name not in AT_EASE and isinstance(value, (int, float, tuple)):
                for other in OTHERWISE.get(name, other_values(value)):
                    yield f"{name}: {_short(value)} → {_short(other)}", name, other


def other_values(value: Any) -> tuple[Any, ...]:
    """Give half and twice; of a part of a half and more, its square and root; of many, every second and the middle.

    Examples
    --------
    >>> other_values(8), other_values(0.25), other_values(0.64), other_values((0, 1, 2, 3, 4))
    ((4, 16), (0.125, 0.5), (0.41, 0.8), ((0, 2, 4), (2,)))
    """
    if isinstance(value, tuple):
        return value[::2], value[len(value) // 2 : len(value) // 2 + 1]
    if 0.5 <= value < 1:
        return round(value**2, 2), round(value**0.5, 2)
    return (value // 2 if isinstance(value, int) else value / 2), 2 * value


def _short(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


@contextmanager
def with_constant(name: str, value: Any) -> Iterator[None]:
    """Change a constant of the engine, wherever it was imported to."""
    with ExitStack() as stack:
        for module in engine_modules():
            if hasattr(module, name):
                stack.enter_context(patch.object(module, name, value))
        yield


@contextmanager
def without(part: str) -> Iterator[None]:
    """Take away a part of the engine that hangs on no constant."""
    from evosplit.front import NEGLIGIBLE
    from evosplit.methods.evosplit import solve
    from evosplit.methods.evosplit.landscape import Landscape
    from evosplit.methods.random import Random

    cells = Landscape.cells

    def as_frequent(self: Any, weights: Any, attained: Any, rare: float = 0.0) -> Any:
        return cells(self, weights, attained)

    def at_random(problem: Any, run: Any) -> Any:
        return [np.asarray(Random().solve(problem, run).assignments[0])]

    def alike(self: Any, weights: Any, attained: Any, rare: float = 0.0) -> Any:
        return cells(self, weights, attained._replace(blocks=[goal - NEGLIGIBLE for goal in self._goals]), rare)

    changes: dict[str, Any] = {
        "rare first": (Landscape, "cells", as_frequent),
        "more weight for what is behind": (Landscape, "cells", alike),
        "stratified starts": (solve, "find_starts", at_random),
    }
    with patch.object(*changes[part]):
        yield


def balanced_cost(found: Cell, random: Cell) -> float:
    """Return what `pick="balanced"` makes smallest: the roots of labels and pairs."""
    roots = {name: (found[name] / random[name] if random[name] > 0 else found[name]) ** 0.5 for name in COMPARED}
    return float(0.5 * (roots["ld"] + roots["ld_occurrences"]) + roots["lpd"])


def cells_of(seeds: range) -> Cell:
    """Run the engine as it is and changed in each of its constants on draws of the families."""
    PEERS.clear()  # none is asked here
    warm_up()
    problems = [problem for problem in map(draw, seeds) if problem.matrix.nnz <= MOST_LABELS]
    cells: Cell = {"draws": [f"{problem.seed} ({problem.description})" for problem in problems], "rows": {}}

    def run(row: str, **options: Any) -> None:
        cells["rows"][row] = [_part_cell(problem, **options) for problem in problems]
        print(row, flush=True)

    run("the engine")
    run("another seed", seed=1)
    for part in ("stratified starts", "rare first", "more weight for what is behind"):
        with without(part):
            run(f"without {part}")
    for row, name, value in variants():
        with with_constant(name, value):
            run(row)
    return cells


def _part_cell(problem: Problem, **options: Any) -> Cell:
    before = time.process_time()
    made = problem.solve(**options)
    cpu = time.process_time() - before
    # Measured on all pairs, since constants decide how many of them the search sees.
    filled = np.repeat(np.arange(len(problem.sizes)), problem.sizes)
    at_random = [np.random.default_rng(seed).permutation(filled) for seed in range(5)]
    found = problem.figures(made.assignment)
    cost = balanced_cost(found, problem.figures(at_random[0]))
    unit = np.mean([misplaced(problem, assignment) for assignment in at_random], axis=0)
    off = misplaced(problem, made.assignment)
    return {"cost": cost, "cpu": cpu, "off": [found["ed"], found["flz"]], "misplaced": [off.tolist(), unit.tolist()]}


def misplaced(problem: Problem, assignment: np.ndarray) -> np.ndarray:
    """Return how many samples without a label, and how many labels in all, are not in the subset they belong in."""
    lengths, k = np.diff(problem.matrix.indptr), len(problem.sizes)
    found = np.array([np.bincount(assignment, weights=of, minlength=k) for of in (lengths == 0, lengths)])
    share = np.array(problem.sizes) / sum(problem.sizes)
    return np.asarray(np.abs(found - found.sum(axis=1, keepdims=True) * share).sum(axis=1) / 2)


def section(cells: Cell) -> str:
    """Compare with the engine as it is."""
    whole = cells["rows"]["the engine"]
    rows, same = [], []
    for row, changed in cells["rows"].items():
        ratios = np.array(
            [(new["cost"] + TINY) / (old["cost"] + TINY) for new, old in zip(changed, whole, strict=True)]
        )
        if row != "the engine" and all(
            (new["cost"], new["misplaced"]) == (old["cost"], old["misplaced"])
            for new, old in zip(changed, whole, strict=True)
        ):
            same.append(row)
            continue
        off = sum(new["off"] > old["off"] for new, old in zip(changed, whole, strict=True))
        cpu = sum(new["cpu"] for new in changed) / sum(old["cpu"] for old in whole)
        mean = float(np.exp(np.log(ratios).mean()))
        lost, unit = np.array([new["misplaced"] for new in changed]).sum(axis=0)
        rows.append(
            [
                row,
                f"{mean:.3f}",
                f"{ratios.max():.2f}",
                f"{int((ratios > 1.001).sum())}",
                str(off),
                *(f"{part / by_chance:.2f}" if by_chance else "" for part, by_chance in zip(lost, unit, strict=True)),
                f"{cpu:.2f}",
            ]
        )
    n = len(whole)
    header = ["", "cost", "worst draw", f"worse in (of {n})", "ED or FLZ higher in", "no label", "all labels", "CPU"]
    text = (
        f"{n} draws of `benchmarks/families.py` that nobody tuned on, those with at most {MOST_LABELS:,} labels of "
        "all samples together; effort normal, one seed. Cost: what the default pick makes smallest, √labels + "
        "√pairs, each over a random split's, relative to the engine as it is (geometric mean; above 1: worse). Worse: "
        "by more than 0.1 %. No label, all labels: how many samples without a label, and labels of all kinds together, "
        "are in a wrong subset, over random's. A row changes one constant and nothing else; another seed shows "
        "what is chance. Constants of the compiled kernels have no row.\n\n" + markdown_table(header, rows)
    )
    if same:
        text += "\nWithout effect on these draws: " + "; ".join(same) + ".\n"
    return text + "\nDraws: " + "; ".join(cells["draws"]) + ".\n"


def main() -> None:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default=f"{SEEDS.start}:{SEEDS.stop}", help="FIRST:BEHIND_LAST")
    first, _, behind = parser.parse_args().seeds.partition(":")
    cells = cells_of(range(int(first), int(behind)))
    machine = machine_line("evosplit-plugins", "numpy", "numba") + f" {load_line()}\n"
    print(write_result("ablation", "\n".join(["# Ablation\n", machine, section(cells)])))


if __name__ == "__main__":
    main()

"""What the benchmarks share: data sets from a directory, the cost of a call, Markdown tables, the machine."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from evosplit import LabelCounts

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Usage:
    """What a call gave and cost: CPU and wall seconds, peak resident memory of its process in MiB."""

    result: Any
    cpu: float
    wall: float
    peak: float


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Usage:
    """Call a function of a module in a process of its own; the imports of that module are not timed."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_timed, function, arguments).result()


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Usage:
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Usage(result, cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def find_sets(directory: Path) -> dict[str, Path]:
    """Find label matrices (scipy sparse `.npz`) in a directory or its folders `labels` and `synthetic`."""
    folders = [directory, directory / "labels", directory / "synthetic"]
    found = {path.stem: path for folder in folders for path in sorted(folder.glob("*.npz"))}
    if not found:
        raise SystemExit(f"no .npz file in {directory}, nor in its folders 'labels' and 'synthetic'")
    return found


def load_counts(path: Path) -> LabelCounts:
    """Read one label matrix."""
    return LabelCounts(sp.load_npz(path))


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out a Markdown table: the first column left, the others right."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def machine_line(*packages: str) -> str:
    """Say when and where: date, processor, cores, Python, and the versions of some packages."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    machine = f"{platform.system()}, {_processor()}, {os.cpu_count()} cores"
    return f"{date.today().isoformat()}; {machine}; Python {platform.python_version()}, {versions}."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def write_result(name: str, text: str) -> Path:
    """Keep a result as `results/<name>.md`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path

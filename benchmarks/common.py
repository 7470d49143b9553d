"""What the benchmarks share: data sets from a directory, the cost of a call, Markdown tables, the machine."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._cost import peak_mib
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
    return Usage(result, cpu, wall, peak_mib())


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


def tables_of(directory: Path) -> dict[str, Any]:
    """Read the paper's tables as numbers: `paper_tables.json` in the directory or in the one above."""
    for folder in (directory, directory.parent):
        if (folder / "paper_tables.json").exists():
            found: dict[str, Any] = json.loads((folder / "paper_tables.json").read_text(encoding="utf-8"))
            return found
    raise SystemExit(f"no paper_tables.json in {directory}, nor in the directory above")


def topic_sets(
    rng: np.random.Generator,
    popularity: np.ndarray,
    lengths: np.ndarray,
    *,
    topics: int,
    from_topic: float,
    sharpness: float = 1.0,
    width: int | None = None,
) -> sp.csr_array:
    """Draw label sets (one row each) that take a part of their labels from one topic and the rest from all labels.

    A topic is a reweighting of the popularity: `sharpness` is the spread of its log-normal factors, and only `width`
    labels belong to it (then "all labels" are as many of the most popular ones). Labels drawn twice count once, so rows
    come out somewhat shorter than `lengths`.
    """
    n_sets, n_labels = len(lengths), len(popularity)
    factors = rng.lognormal(0.0, sharpness, (topics, n_labels)) * popularity
    common = popularity.copy()
    if width is not None:
        key = rng.random(factors.shape)
        key[np.arange(n_labels) % topics, np.arange(n_labels)] = -1.0  # every label belongs to some topic
        factors[key.argsort(axis=1).argsort(axis=1) >= width] = 0.0
        common[popularity < np.sort(popularity)[-width]] = 0.0
    tables = np.cumsum(np.vstack((factors, common)), axis=1)
    tables /= tables[:, -1:]
    row = np.repeat(np.arange(n_sets), lengths)
    topic = np.repeat(rng.integers(topics, size=n_sets), lengths)
    topic[rng.random(len(row)) >= from_topic] = topics
    # Table t lies in [t, t + 1), so that one search serves all of them.
    drawn = np.searchsorted((tables + np.arange(topics + 1)[:, None]).ravel(), topic + rng.random(len(row)), "right")
    column = np.minimum(drawn - topic * n_labels, n_labels - 1)
    codes = np.unique(row * np.int64(n_labels) + column)
    row, column = np.divmod(codes, n_labels)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n_sets))))
    ones = np.ones(len(codes), dtype=np.int32)
    return sp.csr_array((ones, column.astype(np.int32), indptr), shape=(n_sets, n_labels))


def coco_like(n_samples: int = 120_000, n_labels: int = 80, seed: int = 0) -> sp.csr_array:
    """Draw images as in COCO: three labels each, two and a half instances of a label, one label in half of them."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_labels + 1)
    popularity[0] = 0.3 * popularity[1:].sum()
    lengths = 1 + rng.poisson(2.4, n_samples)
    sets = topic_sets(rng, popularity, lengths, topics=12, from_topic=0.7, sharpness=1.5)
    return with_counts(rng, sets, repeated=0.5)


def panoptic_like(n_samples: int = 120_000, n_labels: int = 133, seed: int = 0) -> sp.csr_array:
    """Draw images as in COCO panoptic: things and stuff, about 26 label pairs an image; presence only."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_labels + 1) ** 0.9
    lengths = 2 + rng.negative_binomial(6.0, 0.475, n_samples)
    return topic_sets(rng, popularity, lengths, topics=15, from_topic=0.7, sharpness=1.2)


def with_counts(rng: np.random.Generator, sets: sp.csr_array, repeated: float) -> sp.csr_array:
    """Let each label occur once or, in that part of the cases, more often (geometrically, with a mean of its own)."""
    means = rng.uniform(1.5, 5.0, sets.shape[1])[sets.indices]
    more = rng.geometric(1 / means) * (rng.random(sets.nnz) < repeated)
    return sp.csr_array(((1 + more).astype(np.int32), sets.indices, sets.indptr), shape=sets.shape)


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


def load_line() -> str:
    """Say how busy the machine was in the last quarter of an hour; with other work on it, wall times run high."""
    return f"Load average of the machine: {os.getloadavg()[2]:.1f}."


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

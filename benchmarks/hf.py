"""What the Hugging Face adapter costs: counting labels and writing subsets of a million rows with pictures.

Run it with `python benchmarks/hf.py`; it prints its table and keeps it in `benchmarks/results/hf.md`. Each
line is measured in processes of its own, so that its CPU time and its memory are its own; the data set is
made in a temporary directory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
from datasets import ClassLabel, Dataset, Features, Image, Sequence, Value, disable_progress_bars

import evosplit
from evosplit import LabelCounts
from evosplit_plugins.hf import apply_split, read_counts

RESULTS = Path(__file__).parent / "results" / "hf.md"
LABEL = ClassLabel(num_classes=80)
OBJECT = {
    "id": Value("int64"),
    "area": Value("int64"),
    "bbox": Sequence(Value("float32"), length=4),
    "category": LABEL,
}
FEATURES = Features({"image": Image(), "objects": Sequence(OBJECT), "labels": Sequence(LABEL)})
BATCH = 1000


def make_data(path: Path, n_rows: int, image_bytes: int) -> None:
    """Write an Arrow file of rows with random bytes for pictures and about seven objects, long-tailed."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, 81)
    schema = FEATURES.arrow_schema
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for start in range(0, n_rows, BATCH):
            n = min(BATCH, n_rows - start)
            sizes = rng.poisson(7, n)
            total = int(sizes.sum())
            offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))).astype(np.int32))
            category = pa.array(rng.choice(80, total, p=frequency / frequency.sum()))
            box = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(4 * total, dtype=np.float32)), 4)
            fields = {"id": pa.array(np.arange(total)), "area": category, "bbox": box, "category": category}
            lists = {name: pa.ListArray.from_arrays(offsets, values) for name, values in fields.items()}
            pictures = [{"bytes": rng.bytes(image_bytes), "path": None} for _ in range(n)]
            columns = [
                pa.array(pictures, schema.field("image").type),
                pa.StructArray.from_arrays(list(lists.values()), list(lists)),
                lists["category"],
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def loop(ds: Dataset, column: str) -> LabelCounts:
    """Count as one would in Python: row by row over the column, the pictures left alone."""
    if column == "objects":
        return LabelCounts.from_lists((objects["category"] for objects in ds["objects"]), labels=range(80))
    return LabelCounts.from_lists(ds["labels"], labels=range(80))


def count(ds: Dataset, column: str) -> LabelCounts:
    """Count with the adapter."""
    return read_counts(ds, label_column="objects.category" if column == "objects" else "labels")


def random_split(ds: Dataset, k: int) -> evosplit.Split:
    """Divide the rows at random: the cost of the search is measured elsewhere."""
    return evosplit.split(
        np.ones((len(ds), 1), dtype=np.int32), {f"subset{j}": 1 / k for j in range(k)}, method="random"
    )


def measure(what: str, path: Path) -> dict[str, float]:
    """Measure one line of the table in this process."""
    disable_progress_bars()
    verb, column, *rest = what.split()
    ds = Dataset.from_file(str(path))
    if "shuffled" in rest:
        ds = ds.shuffle(seed=1, keep_in_memory=True)
    split = random_split(ds, 5 if column == "folds" else 3) if verb == "write" else None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, cpu = time.perf_counter(), time.process_time()
    if split is not None:
        apply_split(ds, split, folds=column == "folds")
    else:
        counts = loop(ds, column) if verb == "loop" else count(ds, column)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    found = 0 if split is not None else int((counts.totals * np.arange(1, 81)).sum())
    return {"wall": wall, "cpu": cpu, "memory": memory, "found": found}


def median_of(runs: list[dict[str, float]]) -> dict[str, float]:
    """Take the median of each figure."""
    return {name: float(np.median([run[name] for run in runs])) for name in runs[0]}


LINES = {
    "loop objects": "Python loop over `objects` (id, area, bbox, category)",
    "loop objects shuffled": "the same, shuffled",
    "count objects": '`read_counts(ds, label_column="objects.category")`',
    "count objects shuffled": "the same, shuffled",
    "loop labels": "Python loop over `labels` (a bare list of classes)",
    "loop labels shuffled": "the same, shuffled",
    "count labels": '`read_counts(ds, label_column="labels")`',
    "count labels shuffled": "the same, shuffled",
    "write subsets": "`apply_split`, three subsets",
    "write subsets shuffled": "the same, shuffled",
    "write folds": "`apply_split`, five folds",
}


def main() -> None:
    """Measure every line and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--image-bytes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=5, help="processes per line of the adapter (default 5)")
    parser.add_argument("--line", nargs=2, metavar=("WHAT", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.line:
        print(json.dumps(measure(args.line[0], Path(args.line[1]))))
        return
    with tempfile.TemporaryDirectory(prefix="evosplit-bench-") as directory:
        path = Path(directory) / "data.arrow"
        make_data(path, args.rows, args.image_bytes)
        size = path.stat().st_size
        figures = {}
        for what in LINES:
            command = [sys.executable, __file__, "--line", what, str(path)]
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(1 if what.startswith("loop") else args.repeat)
            ]
            figures[what] = median_of(runs)
    if len({figures[what]["found"] for what in LINES if not what.startswith("write")}) != 1:
        raise SystemExit(f"the loop and the adapter count differently: {figures}")
    text = table(args.rows, size, args.repeat, figures)
    print(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text, encoding="utf-8")


def table(n_rows: int, size: int, repeat: int, figures: dict[str, dict[str, float]]) -> str:
    """Write the table with its date and machine."""
    import datasets

    machine = f"{platform.machine()}, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}"
    lines = [
        "# The Hugging Face adapter",
        "",
        f"{date.today()}; {machine}, Python {platform.python_version()}, datasets {datasets.__version__}, "
        f"pyarrow {pa.__version__}. "
        f"{n_rows:,} rows with pictures and about 7 labels each ({size / 2**30:.2f} GiB).",
        "",
        "| | wall s | CPU s | memory MiB | CPU of the loop / CPU |",
        "|---|---|---|---|---|",
    ]
    for what, title in LINES.items():
        row = figures[what]
        loop_of = figures[what.replace("count", "loop")]
        ratio = f"{loop_of['cpu'] / row['cpu']:.1f}" if what.startswith("count") else ""
        lines.append(f"| {title} | {row['wall']:.2f} | {row['cpu']:.2f} | {row['memory']:.0f} | {ratio} |")
    lines += [
        "",
        f"Medians of {repeat} processes, the loops once. Memory is the growth of the peak resident size "
        "after all imports, pages of the memory-mapped file included. Both sides end with the same "
        "`LabelCounts`; the last column compares with the loop over the same rows in the same order.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""Tables: 12 million rows on DuckDB and Spark, beside random splits, rows held one by one, and a plain copy.

Run it with `python -m benchmarks.tables`; it prints its tables and keeps them in `benchmarks/results/tables.md`. The
table is made in a temporary directory: 40 % of the rows have no label, the others two to eight of 300 labels, some of
them twice. Every line is measured in a process of its own. Spark is measured where it is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

import evosplit
from benchmarks.common import RESULTS, in_fresh_process, load_line, machine_line, markdown_table, write_result
from evosplit import LabelCounts

ROWS = 12_000_000
LABELS = 300
RATIOS = {"train": 0.8, "val": 0.1, "test": 0.1}
SEEDS = (0, 1, 2)
GROWTH = (100_001, 1_000_000, 10_000_000)  # rows; of 100,000 and fewer each is held
IN_A_GROUP = 12


@dataclass(frozen=True)
class Command:
    """What a command cost: CPU and wall seconds, peak resident memory in MiB."""

    cpu: float
    wall: float
    peak: float


def make_table(path: Path, n_rows: int, chunk: int = 1_000_000) -> None:
    """Write a table with ids, labels, a group of twelve rows and a number."""
    rng = np.random.default_rng(0)
    names = pa.array([f"label {number:03}" for number in range(LABELS)])
    popularity = 1 / np.arange(1, LABELS + 1) ** 1.7
    upto = np.cumsum(popularity / popularity.sum())
    with pq.ParquetWriter(path, pa.schema([("id", pa.string()), ("labels", pa.list_(pa.string())),
                                           ("clip", pa.int64()), ("width", pa.int32())])) as writer:  # fmt: skip
        for start in range(0, n_rows, chunk):
            n = min(chunk, n_rows - start)
            lengths = np.minimum(np.where(rng.random(n) < 0.4, 0, 1 + rng.geometric(0.55, n)), 8)
            drawn = np.searchsorted(upto, rng.random(int(lengths.sum()))).clip(0, LABELS - 1)
            ends = pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
            columns = {
                "id": pa.array([f"s{number:010}" for number in range(start, start + n)]),
                "labels": pa.ListArray.from_arrays(ends, names.take(pa.array(drawn))),
                "clip": pa.array(np.arange(start, start + n) // IN_A_GROUP),
                "width": pa.array(rng.integers(200, 2000, n).astype(np.int32)),
            }
            writer.write_table(pa.table(columns, schema=writer.schema))


def part_of(path: Path, n_rows: int) -> Path:
    """Keep the first rows of a table as one of their own."""
    part = path.with_name(f"first {n_rows}.parquet")
    if not part.exists():
        pq.write_table(pq.read_table(path).slice(0, n_rows), part)
    return part


def command(*arguments: str) -> Command:
    """Run a Python program and measure it, with all that it starts."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    found, peak = 0, 0.0
    while not found:
        peak = max(peak, _peak_of(process.pid))  # what wait4 gives counts what this process held when it forked
        time.sleep(0.1)
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments} failed")
    return Command(usage.ru_utime + usage.ru_stime, time.perf_counter() - start, peak)


def _peak_of(pid: int) -> float:
    """Return the peak memory of a process so far, in MiB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), default=0.0)


def split_command(path: Path, output: Path, *more: str) -> Command:
    """Run `evosplit table split`."""
    main = "import sys; from evosplit_plugins.cli import main; sys.exit(main())"
    return command("-c", main, "table", "split", str(path), "-o", str(output), "--ratios", "8:1:1", "--quiet", *more)


def plain_copy(path: Path, output: Path) -> Command:
    """Group the rows by their labels and copy the table, as nobody can do without."""
    script = (
        "import duckdb; c = duckdb.connect(); c.execute('SET enable_progress_bar = false'); "
        f"c.sql(\"SELECT list_sort(labels) AS l, count(*) AS n FROM '{path}' GROUP BY l\").to_arrow_table(); "
        f"c.execute(\"COPY (SELECT *, 'train' AS split FROM '{path}') TO '{output}' (FORMAT parquet)\")"
    )
    return command("-c", script)


def counts_of(path: Path, form: str = "histogram") -> LabelCounts:
    """Count the kinds of rows, or the labels of each row."""
    from evosplit_plugins.table import read_counts

    return read_counts(path, histogram=form == "histogram", unique_ids=True)


@dataclass(frozen=True)
class Solved:
    """What it took to read and to split a table in CPU seconds, and how good the split is."""

    reading: float
    solving: float
    measures: evosplit.Measures


def solve(path: Path, form: str, seed: int, times: int = 1) -> Solved:
    """Split the histogram of a table, or its rows; that kernels are loaded, once in a process, is not counted."""
    evosplit.split(np.eye(60, dtype=int), RATIOS)
    start = time.process_time()
    counts = counts_of(path, form)
    read = time.process_time()
    if times > 1:
        counts = LabelCounts(counts.matrix, ids=counts.ids, labels=counts.labels, copies=counts.copies * times)
    split = evosplit.split(counts, RATIOS, seed=seed, effort="normal")
    return Solved(read - start, time.process_time() - read, split.measures)


def randomly(path: Path, seed: int) -> evosplit.Measures:
    """Let each row go where chance wants, as `randomSplit` does: the measures of the histogram's multinomial draw."""
    counts = counts_of(path)
    drawn = np.random.default_rng(seed).multinomial(counts.copies, list(RATIOS.values()))
    return evosplit.measure(counts, drawn, RATIOS)


def in_groups(path: Path, limit: float) -> tuple[int, float, float]:
    """Split a table in groups, with a time limit; returns the groups, LD and the wall seconds of the search."""
    import duckdb

    from evosplit_plugins import evosplit_table

    began: list[float] = []

    def told(done: float, message: str) -> None:
        if message not in ("reading", "placing"):
            began.append(time.perf_counter())

    rows = duckdb.read_parquet(str(path))
    limits = {"effort": "fast", "time_limit": limit, "on_progress": told}
    split = evosplit_table(rows, RATIOS, group_by="clip", histogram=True, **limits).split
    return split.settings["groups"], split.measures.ld, began[-1] - began[0]


def sharded(n_rows: int) -> list[tuple[str, float, float, float]]:
    """Split rows of which most are different in one go, and in parts of which each is solved by itself."""
    rng = np.random.default_rng(0)
    upto = np.cumsum(1 / np.arange(1, LABELS + 1) ** 1.1)
    lengths = np.minimum(1 + rng.geometric(0.2, n_rows), 12)
    drawn = np.searchsorted(upto / upto[-1], rng.random(int(lengths.sum()))).clip(0, LABELS - 1)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    counts = LabelCounts(sp.csr_array((np.ones(len(drawn), np.int32), drawn, ends), shape=(n_rows, LABELS)))
    names = list(RATIOS)

    def sizes(n: int) -> np.ndarray:
        few = round(0.1 * n)
        return np.array([n - 2 * few, few, few])

    def timed(part: LabelCounts, wanted: np.ndarray, **options: object) -> tuple[np.ndarray, float]:
        start = time.process_time()
        made = evosplit.split(part, dict(zip(names, wanted.tolist(), strict=True)), **options)
        return made.assignment, time.process_time() - start

    found = []
    placed, cpu = timed(counts, sizes(n_rows))
    found.append((f"one solve, {len(counts.label_sets.multiplicity):,} different rows", cpu, placed))
    for n_parts in (4, 16):
        placed, cpu, seen, done = np.empty(n_rows, dtype=np.int64), 0.0, 0, np.zeros(3, dtype=np.int64)
        for part in np.array_split(rng.permutation(n_rows), n_parts):
            seen += len(part)
            placed[part], more = timed(LabelCounts(counts.matrix[part]), sizes(seen) - done)
            done, cpu = sizes(seen), cpu + more
        found.append((f"{n_parts} shards", cpu, placed.copy()))
        locked = np.eye(3, dtype=np.int64)[placed] * (rng.random(n_rows) < 0.75)[:, None]
        placed, more = timed(counts, sizes(n_rows), locked=locked)
        found.append((f"{n_parts} shards, then a quarter of the rows placed again", cpu + more, placed))
    measured = [(name, cpu, evosplit.measure(counts, placed, RATIOS)) for name, cpu, placed in found]
    return [(name, cpu, each.ld, each.lpd) for name, cpu, each in measured]


def limited(path: Path, limit: float) -> float:
    """Split a histogram within a time limit; returns the wall seconds of the search."""
    counts = counts_of(path)
    start = time.perf_counter()
    evosplit.split(counts, RATIOS, time_limit=limit)
    return time.perf_counter() - start


def on_spark(path: Path, output: Path) -> tuple[float, float]:
    """Split with a session of two threads and write; returns the CPU seconds and the peak of the Java process."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from evosplit_plugins import evosplit_table

    session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    made, _ = evosplit_table(session.read.parquet(str(path)), RATIOS)
    made.write.parquet(str(output))
    java = session.sparkContext._gateway.proc.pid
    used = Path(f"/proc/{java}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    found = (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK"), _peak_of(java)
    session.stop()
    return found


def checksum(where: str) -> str:
    """Hash who is where, in any order: the exclusive or of a hash of each row."""
    import duckdb

    hashed = "('0x' || substr(md5(id || ':' || split), 1, 15))::BIGINT"
    found = duckdb.sql(f"SELECT bit_xor({hashed}), count(*) FROM '{where}'").fetchall()
    return hashlib.sha256(repr(found).encode()).hexdigest()[:12]


def main() -> None:
    """Measure everything and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    spark = find_spec("pyspark") is not None and which("java") is not None
    with tempfile.TemporaryDirectory() as folder:
        write_result("tables", report(Path(folder), arguments.rows, spark=spark))
    print((RESULTS / "tables.md").read_text(encoding="utf-8"))


def say(text: str) -> None:
    """Tell what is being done."""
    print(text, file=sys.stderr, flush=True)


def report(folder: Path, n_rows: int, *, spark: bool) -> str:
    """Measure, and write it down."""
    path = folder / "table.parquet"
    say("making the table")
    make_table(path, n_rows)
    counts = counts_of(path)
    packages = ("numpy", "duckdb", "pyarrow", *(["pyspark"] if spark else []))
    parts = [
        "# Tables\n",
        f"{machine_line(*packages)} {n_rows:,} rows, {len(counts):,} distinct label lists, of which the largest has "
        f"{counts.copies.max():,} rows. {load_line()}\n",
    ]
    say("duckdb")
    split_command(part_of(path, GROWTH[0]), folder / "first")  # kernels are compiled once after installation
    whole = split_command(path, folder / "out")
    copy = plain_copy(path, folder / "copy.parquet")
    rows = [("`evosplit table split`, DuckDB", whole), ("group by labels, and a copy with one more column", copy)]
    lines = [(name, f"{each.cpu:.0f}", f"{each.wall:.0f}", f"{each.peak:,.0f}") for name, each in rows]
    here = checksum(str(folder / "out" / "table.parquet"))
    said = ""
    if spark:
        say("spark")
        cost = in_fresh_process(on_spark, path, folder / "spark.parquet")
        cpu, peak = cost.result
        title = "`evosplit_table` and a write, Spark local[2]: its Java process"
        lines.append((title, f"{cpu:.0f}", f"{cost.wall:.0f}", f"{peak:,.0f}"))
        lines.append(("and the Python process, which solves", f"{cost.cpu:.0f}", "", f"{cost.peak:,.0f}"))
        same = "is the same as" if here == checksum(f"{folder}/spark.parquet/*.parquet") else "DIFFERS from"
        said = f"- Spark's split {same} DuckDB's (checksum over id and split).\n"
    parts.append(markdown_table(["", "CPU s", "wall s", "peak MiB"], lines))
    times = whole.cpu / copy.cpu
    parts.append(f"- The command takes {times:.1f} times the CPU time of the plain copy (the bar is 3).\n{said}")
    say("quality")
    found = in_fresh_process(solve, path, "histogram", 0)
    parts.append(quality(found.result.measures, [randomly(path, seed) for seed in SEEDS]))
    say("histogram against rows")
    parts.append(against_rows(path))
    say("multiplicities")
    tenfold = in_fresh_process(solve, path, "histogram", 0, 10)
    parts.append(
        f"## Ten times the rows\n\nThe same histogram with ten times as many rows of each kind: peak memory "
        f"{tenfold.peak:,.0f} instead of {found.peak:,.0f} MiB ({tenfold.peak / found.peak:.2f} times; the bar is 1.1; "
        f"most of it is DuckDB's), CPU {tenfold.result.solving:.0f} instead of "
        f"{found.result.solving:.0f} s.\n"
    )
    say("time limit and groups")
    parts.append(limits(path, n_rows))
    say("shards")
    parts.append(shards(n_rows // 8))
    say("growth")
    parts.append(growth(path, folder, whole, n_rows))
    return "\n".join(parts)


def quality(found: evosplit.Measures, drawn: list[evosplit.Measures]) -> str:
    """Compare with what chance gives."""
    chance = mean_of(drawn)
    lines = [
        (name, *(f"{value:.3g}" for value in each))
        for name, each in (("EvoSplit", mean_of([found])), (f"as `randomSplit`, mean of {len(drawn)}", chance))
    ]
    ld, lpd = found.ld / chance[1], found.lpd / chance[3]
    return (
        f"## Beside a random split\n\n{markdown_table(['', 'ED', 'LD', 'LD′', 'LPD'], lines)}\n"
        f"LD is {ld:.3f} times (the bar is 0.2) and LPD {lpd:.2f} times (the bar is 0.67) that of the random split.\n"
    )


def mean_of(measures: list[evosplit.Measures]) -> np.ndarray:
    """Return ED, LD, LD′ and LPD on average."""
    return np.mean([(each.ed, each.ld, each.ld_occurrences, each.lpd) for each in measures], axis=0)


def against_rows(path: Path) -> str:
    """Split the histogram, and the rows one by one."""
    runs = {form: [in_fresh_process(solve, path, form, seed) for seed in SEEDS] for form in ("histogram", "rows")}
    lines, told = [], []
    for form, each in runs.items():
        reading = float(np.mean([run.result.reading for run in each]))
        solving = float(np.mean([run.result.solving for run in each]))
        found = mean_of([run.result.measures for run in each])
        peak = max(run.peak for run in each)
        seconds = [f"{value:.1f}" for value in (reading, solving, reading + solving)]
        lines.append((form, *seconds, f"{peak:,.0f}", *(f"{value:.3g}" for value in found[1:])))
        told.append((reading + solving, solving, found[1], found[3]))
    whole, alone, ld, lpd = (a / b for a, b in zip(*told, strict=True))
    header = ["read and solved as", "reading, CPU s", "solving", "both", "peak MiB", "LD", "LD′", "LPD"]
    return (
        f"## The histogram against its rows\n\nThe whole table, means of {len(SEEDS)} seeds.\n\n"
        f"{markdown_table(header, lines)}\n"
        f"From the file to the split CPU {whole:.2f} times (the bar is 0.7), LD {ld:.2f} and LPD {lpd:.2f} times (the "
        f"bar is 1.1). Solving alone takes {alone:.2f} times: rows are merged first, and both are searched alike.\n"
    )


def limits(path: Path, n_rows: int) -> str:
    """See how long a search takes that has a limit, and what groups cost."""
    waited = in_fresh_process(limited, path, 10.0).result
    lines = []
    for n in (n_rows // 100, n_rows // 10, n_rows // 3, n_rows):
        cost = in_fresh_process(in_groups, part_of(path, n) if n < n_rows else path, 30.0)
        groups, ld, searched = cost.result
        figures = (f"{cost.cpu:.0f}", f"{cost.wall:.0f}", f"{searched:.0f}", f"{cost.peak:,.0f}", f"{ld:.2g}")
        lines.append((f"{n:,}", f"{groups:,}", *figures))
    header = ["rows", "groups", "CPU s", "wall s", "of it searching", "peak MiB", "LD"]
    return (
        f"## Limits\n\n`time_limit=10` on the whole histogram returned after {waited:.0f} s.\n\nIn groups of "
        f"{IN_A_GROUP} rows, effort fast, `time_limit=30`:\n\n{markdown_table(header, lines)}"
    )


def shards(n_rows: int) -> str:
    """See what is lost where the different rows are solved in parts."""
    found = in_fresh_process(sharded, n_rows).result
    (_, _, ld, lpd), *_ = found
    lines = [
        (name, f"{cpu:.0f}", f"{a:.3g}", f"{b:.3g}", f"{a / ld:.2f}", f"{b / lpd:.2f}") for name, cpu, a, b in found
    ]
    header = ["", "CPU s", "LD", "LPD", "LD, times", "LPD, times"]
    return (
        f"## Shards\n\n{n_rows:,} rows, of which most are different, solved in one go and in parts with exact sizes "
        f"(the bars are 2 and 1.3 times):\n\n{markdown_table(header, lines)}\n"
        "The rows that are placed again are placed beside all others, so that needs the memory of one solve. Tables "
        "with more different rows than one machine holds are therefore refused.\n"
    )


def growth(path: Path, folder: Path, whole: Command, n_rows: int) -> str:
    """Split ever larger parts."""
    costs = {n: split_command(part_of(path, n), folder / f"out {n}") for n in GROWTH if n < n_rows}
    costs[n_rows] = whole
    draw(costs)
    lines = [(f"{n:,}", f"{each.cpu:.0f}", f"{each.wall:.0f}", f"{each.peak:,.0f}") for n, each in costs.items()]
    return (
        f"## Growth\n\n{markdown_table(['rows', 'CPU s', 'wall s', 'peak MiB'], lines)}\n"
        "![CPU time of the command and its peak memory, by rows](tables.png)\n"
    )


def draw(costs: dict[int, Command]) -> None:
    """Plot time and memory by rows."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, values, label in (
        (left, [each.cpu for each in costs.values()], "CPU s"),
        (right, [each.peak for each in costs.values()], "peak MiB"),
    ):
        axis.semilogx(list(costs), values, "o-")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("rows")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    figure.savefig(RESULTS / "tables.png", dpi=110)


if __name__ == "__main__":
    main()

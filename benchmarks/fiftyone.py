"""How fast labels are read from FiftyOne and splits written into it, beside FiftyOne's own calls.

    python -m benchmarks.fiftyone [--samples 100000] [--rounds 3]

Samples carry about six detections of 80 labels, the name of a clip and a tag of the user's. The calls run in turn,
three times; the best of each counts. Beside the seconds stand the time that the CPUs worked for it, here and in the
database, which other work on the machine hardly changes, and the memory that it took here. Writing is timed twice: onto
samples without split tags, and over an earlier split, whose tags must go. The form of the App is built as the App asks
for it, before anything is counted and after.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # FiftyOne brings it

from benchmarks.common import machine_line, markdown_table, write_result
from evosplit import Split, split
from evosplit.wording import counted

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import fiftyone_session

SESSION = fiftyone_session.prepare()
BLOCK = 10_000
NAMES = ("train", "val", "test")
FRACTIONS = {"train": 0.8, "val": 0.1, "test": 0.1}
TAG = "`select(ids).tag_samples` for each subset"
SET = "`set_values` into a field"
LABELS = [f"label {i}" for i in range(80)]


def make_dataset(fo: Any, n: int) -> Any:
    """Make samples with a long tail of labels; blocks after the first are copied inside the database."""
    rng = np.random.default_rng(0)
    chance = 1 / (1 + np.arange(len(LABELS)))
    dataset = fo.Dataset("benchmark")
    block = min(n, BLOCK)
    samples = []
    for i in range(block):
        names = rng.choice(LABELS, size=rng.poisson(6), p=chance / chance.sum())
        boxes = [fo.Detection(label=str(name), bounding_box=[0.1, 0.1, 0.2, 0.2]) for name in names]
        samples.append(
            fo.Sample(filepath=f"/{i}.jpg", tags=["mine"], clip=f"clip {i // 8}", gt=fo.Detections(detections=boxes))
        )
    dataset.add_samples(samples)
    first = dataset.clone()
    for _ in range(n // block - 1):
        dataset.add_collection(first, new_ids=True)
    first.delete()
    return dataset


@dataclass(frozen=True)
class Cost:
    """What a call takes: seconds, those that CPUs worked here and in the database, and the MB that it needs here."""

    seconds: float
    here: float
    database: float
    memory: float

    @classmethod
    def of(cls, call: Callable[[], Any]) -> Cost:
        """Measure a call."""
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew (Linux)
        before, start, here, held = _database_seconds(), time.perf_counter(), time.process_time(), _memory("VmRSS")
        call()
        seconds, worked = time.perf_counter() - start, time.process_time() - here
        return cls(seconds, worked, _database_seconds() - before, _memory("VmHWM") - held)

    @property
    def work(self) -> float:
        """What the CPUs worked."""
        return self.here + self.database


def _database_seconds() -> float:
    assert SESSION.mongod is not None
    used = psutil.Process(SESSION.mongod.pid).cpu_times()
    return float(used.user + used.system)


def _memory(what: str) -> float:
    """Return the memory that this process has (VmRSS), or had at most (VmHWM), in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))


def best_of(
    rounds: int, calls: dict[str, Callable[[int], Any]], prepare: Callable[[], Any] = lambda: None
) -> dict[str, Cost]:
    """Measure the calls in turn, each after a preparation that does not count; keep the best and the most memory."""
    found: dict[str, list[Cost]] = {name: [] for name in calls}
    for round_ in range(rounds):
        for name, call in calls.items():
            prepare()
            found[name].append(Cost.of(partial(call, round_)))
    return {
        name: replace(min(costs, key=lambda cost: cost.seconds), memory=max(cost.memory for cost in costs))
        for name, costs in found.items()
    }


def forms(dataset: Any) -> dict[str, float]:
    """Time building the form of the App, as a user opens it and once everything is counted."""
    import fiftyone.operators as foo
    from fiftyone.operators.executor import ExecutionContext, Executor

    from evosplit_plugins.fiftyone_plugin.app import counting

    operator = foo.get_operator("@evosplit/evosplit/evosplit")

    def build() -> float:
        asked = {"dataset_name": dataset.name, "params": {}, "prompt_id": "p"}
        start = time.perf_counter()
        operator.resolve_type(ExecutionContext(asked, executor=Executor()), "inputs").to_json()
        return time.perf_counter() - start

    first = build()
    start = time.perf_counter()
    counting.wait()
    return {
        "opening it": first,
        "until all is counted": time.perf_counter() - start + first,
        "opening it again": build(),
    }


def reading(dataset: Any, rounds: int) -> dict[str, Cost]:
    """Time reading the labels."""
    from evosplit_plugins.fiftyone_plugin import read_counts

    return best_of(
        rounds,
        {
            "`values([id, labels])`": lambda _: dataset.values(["id", "gt.detections.label"]),
            "ours: `read_counts`": lambda _: read_counts(dataset),
        },
    )


def writing(dataset: Any, rounds: int) -> tuple[dict[str, Cost], dict[str, Cost]]:
    """Time writing splits: onto samples without split tags, and over an earlier split."""
    import fiftyone.utils.random as four

    from evosplit_plugins.fiftyone_plugin import apply_split, read_counts, undo_split

    counts = read_counts(dataset)
    splits = [split(counts, FRACTIONS, method="random", seed=seed) for seed in range(rounds + 1)]

    def tag(made: Split) -> None:
        for name in NAMES:
            dataset.select(made.ids(name).tolist()).tag_samples(name)

    def retag(made: Split) -> None:
        dataset.untag_samples(list(NAMES))
        tag(made)

    def into_field(made: Split) -> None:
        names = np.array(made.names)[made.assignment].tolist()
        dataset.set_values("subset", dict(zip(made.sample_ids.tolist(), names, strict=True)), key_field="id")

    def ours(made: Split) -> None:
        apply_split(dataset, made, label_field="gt")

    def clean() -> None:
        dataset.untag_samples(list(NAMES))
        dataset.delete_runs()

    def earlier() -> None:
        clean()
        tag(splits[-1])

    into_field(splits[0])  # creates the field
    first = best_of(
        rounds,
        {
            "`random_split`": lambda round_: four.random_split(dataset, FRACTIONS, seed=round_),
            TAG: lambda round_: tag(splits[round_]),
            SET: lambda round_: into_field(splits[round_]),
            "ours: `apply_split`": lambda round_: ours(splits[round_]),
        },
        clean,
    )
    again = best_of(
        rounds,
        {
            f"`untag_samples`, {TAG}": lambda round_: retag(splits[round_]),
            SET: lambda round_: into_field(splits[round_]),
            "ours: `apply_split`": lambda round_: ours(splits[round_]),
        },
        earlier,
    )
    earlier()
    ours(splits[0])
    again["ours: `undo_split`"] = Cost.of(lambda: undo_split(dataset))
    return first, again


def table(title: str, figures: dict[str, Cost]) -> str:
    """Lay the figures out beside the fastest public call."""
    public = [cost for name, cost in figures.items() if not name.startswith("ours")]
    fastest, least = min(cost.seconds for cost in public), min(cost.work for cost in public)
    rows = [
        (
            name,
            f"{cost.seconds:.2f}",
            f"{cost.seconds / fastest:.2f}",
            f"{cost.here:.2f}",
            f"{cost.database:.2f}",
            f"{cost.work / least:.2f}",
            f"{cost.memory:,.0f}",
        )
        for name, cost in figures.items()
    ]
    columns = ("call", "seconds", "times the fastest", "CPU here", "CPU of the database", "times the least", "MB more")
    return f"## {title}\n\n" + markdown_table(columns, rows)


def main() -> None:
    """Measure, print and keep the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    SESSION.start_database()
    import fiftyone as fo

    dataset = make_dataset(fo, args.samples)
    size = f"{dataset.count():,} samples, {dataset.count('gt.detections'):,} detections"
    form = forms(dataset)
    before = _memory("VmHWM")
    read = reading(dataset, args.rounds)
    first, again = writing(dataset, args.rounds)
    page = "\n".join(
        [
            f"# FiftyOne, {args.samples:,} samples: the form, reading labels, writing splits\n",
            f"{size}; best of {counted(args.rounds, 'round', 'rounds')}. {machine_line('fiftyone', 'numpy')}\n",
            "## The form of the App\n\n"
            + markdown_table(("what", "seconds"), [(name, f"{seconds:.2f}") for name, seconds in form.items()]),
            table("Reading labels", read),
            table("Writing a first split", first),
            table("Replacing an earlier split", again),
            "`apply_split` also reads what was there and records the run, which undo and the panel need; "
            "`random_split` and `tag_samples` alone only add tags. "
            "The fastest and the least are those of FiftyOne's own calls. MB more: the peak of this process during the "
            f"call, beyond what it had, in the worst round; {before:,.0f} MB after the form.\n",
        ]
    )
    print(page)
    write_result("fiftyone" if args.samples < 1_000_000 else "fiftyone-million", page)


if __name__ == "__main__":
    main()

"""How the engine scales: ImageNet-like and OpenImages-like data, and growth with samples and with distinct label sets.

    python -m benchmarks.scale [imagenet] [openimages] [growth]

Each set is generated in memory (seeded) and split in a process of its own, so that peak memory is its own.
Results go to benchmarks/results/scale.md and scale.png.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.common import RESULTS, in_fresh_process, machine_line, write_result


def imagenet_like(n_samples: int = 10_756_941, n_labels: int = 10_592, seed: int = 0) -> sp.csr_array:
    """Draw samples of a label tree: a sample carries a node and all its ancestors, so distinct sets are nodes."""
    rng = np.random.default_rng(seed)
    parent = np.full(n_labels, -1)
    depth = np.zeros(n_labels, dtype=np.int64)
    for node in range(1, n_labels):
        # Attaching near recent nodes gives the long chains of a noun hierarchy.
        parent[node] = rng.integers(max(0, node - 1 - node // 3), node) if node > 20 else rng.integers(0, node)
        depth[node] = depth[parent[node]] + 1
        if depth[node] > 15:
            parent[node] = rng.integers(0, max(1, node // 50))
            depth[node] = depth[parent[node]] + 1
    paths = []
    for node in range(n_labels):
        path = [node]
        while parent[path[-1]] >= 0:
            path.append(int(parent[path[-1]]))
        paths.append(sorted(path))
    weights = rng.lognormal(0.0, 1.7, n_labels)
    node_of_sample = rng.choice(n_labels, size=n_samples, p=weights / weights.sum())
    return _rows(paths, node_of_sample, n_labels)


def openimages_like(
    n_samples: int = 6_941_550, n_labels: int = 1_345, n_sets: int = 885_489, seed: int = 0
) -> sp.csr_array:
    """Draw samples of topics: label sets take most labels from one topic, the rest from all, and recur."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_labels + 1) ** 0.9
    topics = [rng.choice(n_labels, size=int(rng.integers(25, 160)), replace=False) for _ in range(140)]
    chances = [popularity[topic] / popularity[topic].sum() for topic in topics]
    lengths = np.minimum(1 + rng.negative_binomial(1.7, 0.165, size=n_sets), 91)
    common = rng.choice(n_labels, size=int(lengths.sum()), p=popularity / popularity.sum())
    paths, used = [], 0
    for length in lengths:
        topic = int(rng.integers(len(topics)))
        from_topic = rng.choice(topics[topic], size=int(0.75 * length), p=chances[topic])
        paths.append(np.unique(np.concatenate((from_topic, common[used : used + length - len(from_topic)]))))
        used += length
    recurrence = rng.pareto(0.75, n_sets) + 0.05
    chosen = rng.choice(n_sets, size=n_samples - n_sets, p=recurrence / recurrence.sum())
    return _rows(paths, rng.permutation(np.concatenate((np.arange(n_sets), chosen))), n_labels)


def _rows(paths: list, set_of_sample: np.ndarray, n_labels: int) -> sp.csr_array:
    lengths = np.array([len(path) for path in paths])
    sets = sp.csr_array(
        (
            np.ones(lengths.sum(), dtype=np.int32),
            np.concatenate(paths).astype(np.int32),
            np.concatenate(([0], np.cumsum(lengths))),
        ),
        shape=(len(paths), n_labels),
    )
    return sets[set_of_sample]


def run_one(kind: str, n_samples: int | None, n_sets: int | None, jobs: int) -> dict:
    """Generate one set, split off one subset, write the split; report seconds, memory and measures."""
    import evosplit

    options = {key: value for key, value in (("n_samples", n_samples), ("n_sets", n_sets)) if value}
    matrix = imagenet_like(**options) if kind == "imagenet" else openimages_like(**options)
    m = matrix.shape[0]
    held_out = 50_000 if kind == "imagenet" else 38_739
    held_out = (
        held_out
        if n_samples is None
        else max(2, round(held_out * m / (10_756_941 if kind == "imagenet" else 6_941_550)))
    )
    evosplit.kfold(np.eye(40, dtype=int), 2, effort="fast")  # kernels come from the cache on disk
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        counts = evosplit.LabelCounts(matrix)
        made = evosplit.split(counts, {"train": m - held_out, "val": held_out}, n_jobs=jobs)
        np.save(Path(folder) / "assignment.npy", made.assignment)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    measures = made.measures.to_dict()
    shuffled = np.random.default_rng(1).permutation(made.assignment)
    random = evosplit.measure(counts, shuffled).to_dict()
    return {
        "kind": kind, "samples": m, "labels": matrix.shape[1], "sets": len(counts.label_sets.multiplicity),
        "pairs": len(counts.pairs), "pairs_per_image": float(counts.pairs.totals.sum() / m), "held_out": held_out,
        "seconds": seconds, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_gib": after.ru_maxrss / 2**20, "measures": measures, "random": random, "front": len(made.front),
    }  # fmt: skip


def measured(kind: str, n_samples: int | None = None, n_sets: int | None = None, jobs: int = 2) -> dict:
    """Run one set in a process of its own."""
    return in_fresh_process(run_one, kind, n_samples, n_sets, jobs).result


def full_size_table(rows: list[dict]) -> list[str]:
    """Lay out the results at full size."""
    lines = [
        "| set | samples | labels | distinct sets | pairs | pairs/sample | held out | wall s | CPU s | peak GiB "
        "| LD / random | LPD / random | FLZ (floor, random) |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        measures, random = row["measures"], row["random"]
        lines.append(
            f"| {row['kind']}-like | {row['samples']:,} | {row['labels']:,} | {row['sets']:,} | {row['pairs']:,} "
            f"| {row['pairs_per_image']:.1f} | {row['held_out']:,} | {row['seconds']:.0f} | {row['cpu']:.0f} "
            f"| {row['peak_gib']:.1f} | 1/{random['ld'] / measures['ld']:.1f} "
            f"| 1/{random['lpd'] / measures['lpd']:.1f} | {measures['flz']} "
            f"({measures['flz_floor']}, {random['flz']}) |"
        )
    return lines


def growth() -> tuple[list[dict], list[dict]]:
    """Measure with more and more samples of the same sets, and with more and more sets of the same samples."""
    by_samples = [measured("imagenet", n_samples=n) for n in (500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000)]
    by_sets = [
        measured("openimages", n_samples=1_000_000, n_sets=n) for n in (25_000, 50_000, 100_000, 200_000, 400_000)
    ]
    return by_samples, by_sets


def draw(by_samples: list[dict], by_sets: list[dict], path: Path) -> None:
    """Plot seconds against samples and against distinct label sets."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axes, rows, key, title in (
        (left, by_samples, "samples", f"{by_samples[-1]['sets']:,} distinct label sets"),
        (right, by_sets, "sets", f"{by_sets[-1]['samples']:,} samples"),
    ):
        axes.plot([row[key] for row in rows], [row["cpu"] for row in rows], marker="o")
        axes.set(xlabel="samples" if key == "samples" else "distinct label sets", ylabel="CPU seconds", title=title)
        axes.set(xscale="log", yscale="log")
        axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run what was asked for and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["imagenet", "openimages", "growth"])
    arguments = parser.parse_args()
    lines = ["# Scale", "", machine_line(), ""]
    full = [measured(kind) for kind in arguments.what if kind != "growth"]
    if full:
        lines += ["One subset is held out, two threads, effort normal, from a CSR in memory to a written split.", ""]
        lines += [*full_size_table(full), ""]
    if "growth" in arguments.what:
        draw(*growth(), RESULTS / "scale.png")
        lines += ["Time grows with the distinct label sets, hardly with the samples:", "", "![growth](scale.png)", ""]
    write_result("scale", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""How the engine scales: ImageNet-like and OpenImages-like data, and growth with samples and with distinct label sets.

    python -m benchmarks.scale [imagenet] [openimages] [growth] [--cache DIRECTORY]

Each set is drawn from a seed and kept as a file; a process of its own loads it, splits off one subset with two threads
and writes the split, so that time and peak memory are its own. It writes `benchmarks/results/scale.md` and
`scale.png`. With `--cache` the sets and the figures are kept there, and sections that were not asked for are taken from
it.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import (
    RESULTS,
    in_fresh_process,
    load_line,
    machine_line,
    markdown_table,
    topic_sets,
    write_result,
)

GIB = 2**10  # MiB
JOBS = 2
Figures = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """A set to draw, the size of the subset that is held out, and what is asked of the split."""

    kind: str
    samples: int
    held_out: int
    sets: int
    seconds: float = 0.0
    gib: float = 0.0

    @property
    def name(self) -> str:
        """A name for the file of the set."""
        return f"{self.kind}-{self.samples}-{self.sets}"

    def draw(self) -> sp.csr_array:
        """Draw the label matrix."""
        draw = imagenet_like if self.kind == "imagenet" else openimages_like
        return draw(self.samples, self.sets)


FULL = {
    "imagenet": Scene("imagenet", 10_756_941, 50_000, 10_592, seconds=120, gib=8),
    "openimages": Scene("openimages", 6_941_550, 38_739, 885_489, seconds=600, gib=14),
}
BY_SAMPLES = [Scene("imagenet", n, n // 200, 10_592) for n in (500_000, 2_000_000, 8_000_000)]
BY_SETS = [Scene("openimages", 1_000_000, 5_000, n) for n in (12_500, 50_000, 200_000)]


def imagenet_like(n_samples: int, n_labels: int, seed: int = 0) -> sp.csr_array:
    """Draw samples of a label tree: a sample carries a node and all its ancestors, so distinct sets are nodes."""
    rng = np.random.default_rng(seed)
    parent = np.full(n_labels, -1)
    depth = np.zeros(n_labels, dtype=np.int64)
    for node in range(1, n_labels):
        # Attaching near recent nodes gives the long chains of a noun hierarchy.
        parent[node] = rng.integers(max(0, node - 1 - node // 3), node) if node > 20 else rng.integers(0, node)
        depth[node] = depth[parent[node]] + 1
        if depth[node] > 11:
            parent[node] = rng.integers(0, max(1, node // 50))
            depth[node] = depth[parent[node]] + 1
    paths = []
    for node in range(n_labels):
        path = [node]
        while parent[path[-1]] >= 0:
            path.append(int(parent[path[-1]]))
        paths.append(sorted(path))
    indptr = np.concatenate(([0], np.cumsum(depth + 1)))
    columns = np.concatenate(paths).astype(np.int32)
    sets = sp.csr_array((np.ones(len(columns), dtype=np.int32), columns, indptr), shape=(n_labels, n_labels))
    weights = rng.lognormal(0.0, 1.7, n_labels)
    return sp.csr_array(sets[rng.choice(n_labels, size=n_samples, p=weights / weights.sum())])


def openimages_like(n_samples: int, n_sets: int, n_labels: int = 1_345, seed: int = 0) -> sp.csr_array:
    """Draw samples of topics: label sets take most labels from one topic, the rest from the common ones, and recur."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_labels + 1) ** 0.6
    lengths = np.minimum(1 + rng.negative_binomial(1.7, 0.145, size=n_sets + n_sets // 8), 91)
    sets = topic_sets(rng, popularity, lengths, topics=127, from_topic=0.85, sharpness=0.7, width=60)
    weight = rng.integers(1, 2**62, n_labels)
    content = np.add.reduceat(weight[sets.indices], sets.indptr[:-1])
    distinct = np.sort(np.unique(content, return_index=True)[1])[:n_sets]
    recurrence = rng.pareto(1.3, len(distinct)) + 0.05
    again = rng.choice(len(distinct), size=n_samples - len(distinct), p=recurrence / recurrence.sum())
    return sp.csr_array(sets[distinct[rng.permutation(np.concatenate((np.arange(len(distinct)), again)))]])


def split_file(path: Path, held_out: int, jobs: int) -> Figures:
    """Split off one subset and write the split; report seconds, memory and measures."""
    import evosplit
    from benchmarks._cost import peak_mib

    matrix = sp.csr_array(sp.load_npz(path))
    m = matrix.shape[0]
    rng = np.random.default_rng(0)
    evosplit.kfold((rng.random((300, 60)) < 0.1).astype(int), 2, effort="fast")  # kernels come from the cache on disk
    loaded = peak_mib()
    marks = [(time.perf_counter(), _cpu())]
    counts = evosplit.LabelCounts(matrix)
    sets = len(counts.label_sets.multiplicity)
    marks.append((time.perf_counter(), _cpu()))
    made = evosplit.split(counts, {"train": m - held_out, "val": held_out}, n_jobs=jobs)
    marks.append((time.perf_counter(), _cpu()))
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "split.json")
    marks.append((time.perf_counter(), _cpu()))
    peak = peak_mib()
    wall, cpu = (np.diff([mark[i] for mark in marks]).tolist() for i in (0, 1))
    shuffled = np.random.default_rng(1).permutation(made.assignment)
    return {
        "samples": m,
        "labels": matrix.shape[1],
        "sets": sets,
        "pairs": len(counts.pairs),
        "pairs per sample": float(counts.pairs.totals.sum() / m),
        "held out": held_out,
        "wall": dict(zip(("read", "split", "write"), wall, strict=True)),
        "cpu": dict(zip(("read", "split", "write"), cpu, strict=True)),
        "peak": peak / GIB,
        "loaded": loaded / GIB,
        "measures": made.measures.to_dict(),
        "random": evosplit.measure(counts, shuffled).to_dict(),
        "front": [made.pick(i).measures.to_dict() for i in range(len(made.front or ()))],
    }


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def keep_drawn(scene: Scene, path: Path) -> None:
    """Draw a set and keep it."""
    sp.save_npz(path, scene.draw(), compressed=False)


def measured(scene: Scene, cache: Path) -> Figures:
    """Split one set in a process of its own; it is drawn in another one."""
    path = cache / f"{scene.name}.npz"
    if not path.exists():
        in_fresh_process(keep_drawn, scene, path)
    found: Figures = in_fresh_process(split_file, path, scene.held_out, JOBS).result
    print(f"{scene.name}: wall {sum(found['wall'].values()):.1f} s, CPU {sum(found['cpu'].values()):.1f} s", flush=True)
    return found


def full_section(found: dict[str, Figures]) -> str:
    """Lay out the results at full size."""
    data, rows = [], []
    for kind, row in found.items():
        scene, measures, random = FULL[kind], row["measures"], row["random"]
        data.append(
            [
                f"{kind}-like",
                *(f"{row[key]:,}" for key in ("samples", "labels", "sets", "pairs")),
                f"{row['pairs per sample']:.1f}",
                f"{row['held out']:,}",
            ]
        )
        wall = row["wall"]
        rows += [
            [f"{kind}-like: wall s", f"≤ {scene.seconds:g}", f"{sum(wall.values()):.0f} "
             f"(distinct sets {wall['read']:.0f}, split {wall['split']:.0f}, manifest {wall['write']:.0f})"],
            [f"{kind}-like: CPU s", "", f"{sum(row['cpu'].values()):.0f}"],
            [f"{kind}-like: peak GiB", f"≤ {scene.gib:g}", f"{row['peak']:.1f} (the CSR alone {row['loaded']:.1f})"],
            [f"{kind}-like: LD / random", "≤ 1/5", _part(random, measures, "ld")],
            [f"{kind}-like: LPD / random", "≤ 1/2", _part(random, measures, "lpd")],
            [f"{kind}-like: FLZ", f"{measures['flz_bound']} (bound)", f"{measures['flz']} (random {random['flz']})"],
            [f"{kind}-like: ED", "0", f"{measures['ed']:g}"],
        ]  # fmt: skip
    header = ["set", "samples", "labels", "distinct sets", "pairs", "pairs per sample", "held out"]
    return (
        "## At full size\n\nFrom a CSR in memory to a written manifest: effort normal, two threads, one subset held "
        "out. In brackets behind LD and LPD: what no split can beat.\n\n"
        + markdown_table(header, data)
        + "\n"
        + markdown_table(["", "asked", "measured"], rows)
    )


def _part(random: Figures, measures: Figures, name: str) -> str:
    bound = measures[f"{name}_bound"]
    limit = f" (1/{random[name] / bound:.1f})" if bound > 0 else ""
    return f"1/{random[name] / measures[name]:.1f}{limit}"


def growth_section(by_samples: list[Figures], by_sets: list[Figures]) -> str:
    """Lay out how time grows."""
    parts = []
    for rows in (by_samples, by_sets):
        lines = [
            [f"{row['samples']:,}", f"{row['sets']:,}", f"{row['pairs']:,}"]
            + [f"{row['cpu'][step]:.1f}" for step in ("read", "split", "write")]
            + [f"{row['peak']:.1f}", _part(row["random"], row["measures"], "ld")]
            + [_part(row["random"], row["measures"], "lpd")]
            for row in rows
        ]
        header = ["samples", "distinct sets", "pairs", "find sets s", "split s", "manifest s", "peak GiB"]
        parts.append(markdown_table([*header, "LD / random (bound)", "LPD / random (bound)"], lines))
    return (
        "## Growth\n\nCPU seconds. The search works on distinct label sets, so its time grows far less than the number "
        "of samples; only reading the rows and writing the manifest goes through all of them.\n\n"
        "![CPU seconds against samples and against distinct label sets](scale.png)\n\n" + "\n".join(parts)
    )


def plot(by_samples: list[Figures], by_sets: list[Figures], path: Path) -> None:
    """Plot seconds against samples and against distinct label sets."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    titles = (
        f"{by_samples[-1]['sets']:,} distinct label sets, more and more samples",
        f"{by_sets[-1]['samples']:,} samples, more and more distinct label sets",
    )
    lines = {"split": "split", "read": "find the distinct sets", "write": "write the manifest"}
    for axes, rows, key, title in zip(panels, (by_samples, by_sets), ("samples", "sets"), titles, strict=True):
        for step, label in lines.items():
            axes.plot([row[key] for row in rows], [row["cpu"][step] for row in rows], marker="o", label=label)
        axes.set_title(title, fontsize=10)
        axes.set(xlabel="samples" if key == "samples" else "distinct label sets", xscale="log", yscale="log")
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(alpha=0.3, which="both")
    panels[0].set_ylabel("CPU seconds")
    panels[0].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run what was asked for and write the results."""
    sections = (*FULL, "growth")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(sections)} (default: all)")
    parser.add_argument("--cache", type=Path, help="directory for the sets and figures")
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(sections):
        parser.error(f"unknown sections: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        cache = arguments.cache or Path(folder)
        cache.mkdir(parents=True, exist_ok=True)
        figures = cache / "figures.json"
        kept: Figures = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
        for name in arguments.sections or sections:
            if name in FULL:
                kept[name] = measured(FULL[name], cache)
            else:
                kept[name] = [[measured(scene, cache) for scene in scenes] for scenes in (BY_SAMPLES, BY_SETS)]
            figures.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    text = ["# Scale\n", machine_line("evosplit-plugins", "numpy", "numba") + f" {load_line()}\n"]
    if full := {kind: kept[kind] for kind in FULL if kind in kept}:
        text.append(full_section(full))
    if "growth" in kept:
        by_samples, by_sets = kept["growth"]
        text.append(growth_section(by_samples, by_sets))
        plot(by_samples, by_sets, RESULTS / "scale.png")
    print(write_result("scale", "\n".join(text)))


if __name__ == "__main__":
    main()

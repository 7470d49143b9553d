"""Draw the figures of the documentation by running the engine.

`python docs/figures.py FOLDER` draws all of them, each once for light and once for dark pages. Those of the README
are kept in docs/images; the site draws the others while it is built.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import matplotlib as mpl

mpl.use("agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import evosplit
from evosplit import LabelCounts, Split
from evosplit.measures import subset_tables
from evosplit.methods.evosplit.anneal import Search
from evosplit.methods.evosplit.solve import weight_vectors
from evosplit.problem import build_problem
from evosplit.ratios import resolve_subsets

RATIOS = {"train": 0.8, "val": 0.1, "test": 0.1}
MEASURES = {"ld": "labels\n(LD)", "ld_occurrences": "instances\n(LD′)", "lpd": "pairs\n(LPD)"}


@dataclass(frozen=True)
class Theme:
    """The colours of a page."""

    ink: str
    soft: str
    line: str
    page: str
    subsets: tuple[str, str, str]
    accent: str


THEMES = {
    "light": Theme("#1f2933", "#66727f", "#d5dbe1", "#ffffff", ("#9fb3c8", "#e8871e", "#2b8a78"), "#c2255c"),
    "dark": Theme("#e6ebf0", "#9aa7b4", "#3a444e", "#14181e", ("#52677d", "#f5a44b", "#4fc3ab"), "#f06595"),
}


# --- data


@cache
def street_scenes(m: int = 3000, q: int = 60, seed: int = 0) -> LabelCounts:
    """Make up pictures as detection data sets have them: labels that come together, repeat, and are mostly rare."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, q + 1) ** 1.1
    topics = rng.random((12, q)) ** 6 * popularity
    chance = topics / topics.max(axis=1, keepdims=True) * rng.uniform(0.5, 0.9, (12, 1))
    topic = rng.choice(12, m, p=rng.dirichlet(np.full(12, 2.0)))
    present = rng.random((m, q)) < chance[topic]
    return LabelCounts(present * rng.geometric(0.5, (m, q)))


@cache
def split_of(method: str, effort: str = "normal", seed: int = 0) -> Split:
    """Split the pictures with a method; some are needed by several figures."""
    return evosplit.split(street_scenes(), RATIOS, method=method, effort=effort, seed=seed)


# --- the figures, each a function of the theme


def shares(theme: Theme) -> Figure:
    """Show how the samples of each label are shared out, at random and by EvoSplit."""
    counts = street_scenes()
    order = np.argsort(counts.sample_totals, kind="stable")[::-1]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for axis, method, title in zip(axes, ("random", "evosplit"), ("random split", "EvoSplit"), strict=True):
        split = split_of(method)
        samples = subset_tables(counts, split.assignment, 3).samples[order]
        share = 100 * samples / np.maximum(samples.sum(axis=1, keepdims=True), 1)
        axis.axhline(10, color=theme.soft, lw=1, zorder=1)
        for column, name in ((1, "val"), (2, "test")):
            lacking = samples[:, column] == 0
            at = np.arange(len(order)) + 0.25 * (2 * column - 3)
            axis.scatter(at[~lacking], share[~lacking, column], s=15, color=theme.subsets[column], label=name, zorder=3)
            axis.scatter(at[lacking], share[lacking, column], s=34, marker="x", color=theme.accent, zorder=4)
        axis.scatter([], [], s=34, marker="x", color=theme.accent, label="no sample at all")
        ld, empty = split.measures.ld, split.measures.flz - split.measures.flz_bound
        axis.set_title(f"{title}\nLD {ld:.4f} · {empty} avoidable gaps", fontsize=11)
        axis.set_xlabel("labels, from frequent to rare")
        axis.set_xticks([])
    axes[0].set_ylabel("share of the label's samples, %")
    axes[0].set_ylim(-2, 32)
    axes[1].legend(frameon=False, loc="upper left", ncols=3)
    return figure


def measures_by_hand(theme: Theme) -> Figure:
    """Draw two splits of twelve pictures, one of them bad, with what LD says about them."""
    lists = [["cat"]] * 4 + [["cat", "dog"]] * 2 + [["dog"]] * 4 + [[]] * 2
    counts = LabelCounts.from_lists(lists)
    splits = {
        "by the first label": np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
        "each label halved, the pair not": np.array([0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0]),
        "EvoSplit": evosplit.split(counts, (0.5, 0.5)).assignment,
    }
    labels = {"cat": theme.subsets[1], "dog": theme.subsets[2]}
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.6))
    for axis, (title, assignment) in zip(axes, splits.items(), strict=True):
        found = evosplit.measure(counts, assignment)
        for subset in (0, 1):
            for place, sample in enumerate(np.flatnonzero(assignment == subset)):
                x, y = place % 3 + 4 * subset, -(place // 3)
                axis.add_patch(plt.Rectangle((x, y), 0.86, 0.86, fill=False, ec=theme.line, lw=1.2))
                for label in lists[sample]:
                    left = 0.25 if label == "cat" else 0.61
                    axis.add_patch(plt.Circle((x + left, y + 0.43), 0.15, color=labels[label]))
            axis.text(1.43 + 4 * subset, 1.1, ("train", "test")[subset], ha="center", color=theme.soft)
        axis.set_title(title, fontsize=10.5)
        text = f"LD {found.ld:.3f}   LPD {found.lpd:.3f}\nempty cells {found.flz}"
        axis.text(3.4, -1.75, text, ha="center", va="top", fontsize=10.5)
        axis.set(xlim=(-0.3, 7.2), ylim=(-2.9, 1.7), aspect="equal")
        axis.axis("off")
    handles = [plt.Line2D([], [], marker="o", ls="", ms=9, color=colour, label=name) for name, colour in labels.items()]
    figure.legend(handles=handles, loc="lower center", ncols=2, frameon=False)
    return figure


def measures_terms(theme: Theme) -> Figure:
    """Show the terms of which LD is the mean: one for each label and subset."""
    counts = street_scenes()
    order = np.argsort(counts.sample_totals, kind="stable")[::-1]
    figure, axes = plt.subplots(2, 1, figsize=(9, 3.0), sharex=True)
    colours = mpl.colors.LinearSegmentedColormap.from_list("heat", [theme.page, theme.subsets[1], theme.accent])
    for axis, method in zip(axes, ("random", "evosplit"), strict=True):
        split = split_of(method)
        terms = subset_tables(counts, split.assignment, 3).ld_terms[order].T
        relative = terms / np.maximum(terms_unit(counts)[order], 1e-9)
        image = axis.imshow(relative, aspect="auto", cmap=colours, vmin=0, vmax=1)
        axis.set_yticks(range(3), RATIOS)
        axis.set_title(f"{method}: LD is the mean of these cells, {split.measures.ld:.4f}", fontsize=10.5, loc="left")
    axes[1].set_xlabel("labels, from frequent to rare")
    axes[1].set_xticks([])
    figure.colorbar(image, ax=axes, label="term ÷ odds of the label", pad=0.02)
    return figure


def terms_unit(counts: LabelCounts) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the odds of each label in the whole set."""
    return counts.sample_totals / (counts.n_samples - counts.sample_totals)


@cache
def search_stages() -> tuple[dict[str, np.ndarray[Any, Any]], Split]:
    """Run the default method; return what the splits of each stage score, over a random split's, and the result."""
    counts = street_scenes(1500, 60, 1)
    searched: list[tuple[Search, tuple[float, ...]]] = []
    run = Search.run

    def watch(search: Search, go_on: Callable[[int], bool]) -> Any:
        found = run(search, go_on)
        searched.append((search, search.landscape.score(found).objectives))
        return found

    with patch.object(Search, "run", watch):
        split = evosplit.split(counts, RATIOS, objectives=("samples", "pairs"))
    assert split.front is not None
    landscape = searched[0][0].landscape
    stages: dict[str, list[tuple[float, ...]]] = {
        "starts": [landscape.score(start).objectives for start in landscape.starts],
        "ancestors": [found for _, found in searched[:2]],
        "round 1": [found for _, found in searched[2:5]],
        "round 2": [found for _, found in searched[5:]],
    }
    return {name: np.array(found) / split.front.reference for name, found in stages.items()}, split


def engine_stages(theme: Theme) -> Figure:
    """Follow the search from its start to the front."""
    stages, split = search_stages()
    front = split.front.objectives / split.front.reference
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    colours = [theme.ink, theme.subsets[1], theme.subsets[0], theme.subsets[2]]
    for axis in axes:
        for order, ((name, values), colour) in enumerate(zip(stages.items(), colours, strict=True)):
            axis.scatter(*values.T, s=40, color=colour, label=name, zorder=9 - order, edgecolor=theme.page, lw=0.6)
        axis.plot(*front.T, color=theme.accent, lw=1.2, zorder=2, label="front")
        axis.set_xlabel("labels: ÷ random's")
    axes[0].scatter([1], [1], s=44, marker="D", color=theme.ink, label="random")
    axes[0].set_ylabel("pairs: ÷ random's")
    axes[0].set(xlim=(0, 1.08), ylim=(0, 1.08), title="from random to the front")
    axes[0].legend(frameon=False, fontsize=9, loc="lower right")
    low, high = front.min(axis=0), front.max(axis=0)
    margin = 0.25 * (high - low) + 1e-3
    axes[1].set(xlim=(low[0] - margin[0], high[0] + margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
    axes[1].set_title("the front from near")
    at = front[split.chosen]
    axes[1].scatter(*at, s=130, facecolor="none", edgecolor=theme.accent, lw=1.6, zorder=4)
    axes[1].annotate("picked: balanced", at, xytext=(10, 8), textcoords="offset points", color=theme.accent)
    return figure


def engine_weights(theme: Theme) -> Figure:
    """Show the weights of the labels and of the pairs in each weight vector."""
    counts = street_scenes()
    problem = build_problem(counts, resolve_subsets(RATIOS, counts.n_samples), objectives=("samples", "pairs"))
    weights = np.array(weight_vectors(problem, patience=1.0))
    figure, axis = plt.subplots(figsize=(9, 2.3))
    at = np.arange(len(weights))
    axis.bar(at, weights[:, 0], color=theme.subsets[1], width=0.72, label="weight of the labels")
    axis.bar(at, weights[:, 1], bottom=weights[:, 0], color=theme.subsets[2], width=0.72, label="weight of the pairs")
    between = [""] * (len(weights) // 2 - 1)
    axis.set_xticks(at, ["labels first", *between, "the ancestors'", *between, "pairs"])
    axis.set_yticks([0, 1])
    axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.26), ncols=2)
    return figure


def engine_exchange(theme: Theme) -> Figure:
    """Draw one exchange: two pictures change places, and only what tells them apart is counted again."""
    labels = ("car", "bus", "person", "dog", "bicycle")
    here, there = np.array([3, 0, 2, 0, 1]), np.array([3, 1, 2, 2, 0])
    figure, axis = plt.subplots(figsize=(9, 2.5))
    for y, (name, row) in enumerate((("picture a, in train", here), ("picture b, in val", there))):
        axis.text(-0.35, -y + 0.4, name, ha="right", va="center")
        for x, count in enumerate(row):
            differs = here[x] != there[x]
            colour = theme.subsets[1] if differs else theme.line
            axis.add_patch(plt.Rectangle((x, -y), 0.9, 0.8, color=colour, alpha=0.85 if differs else 0.5))
            axis.text(x + 0.45, -y + 0.4, str(count), ha="center", va="center")
    for x, label in enumerate(labels):
        axis.text(x + 0.45, 1.0, label, ha="center", color=theme.ink if here[x] != there[x] else theme.soft)
    axis.annotate("", (5.35, -0.6), (5.35, 0.4), arrowprops={"arrowstyle": "<->", "color": theme.accent, "lw": 1.6})
    axis.text(5.55, -0.1, "change places?", va="center", color=theme.accent)
    axis.text(2.45, -1.45, "only the orange columns, and pairs of labels with one of them, change in train and val",
              ha="center", color=theme.soft)  # fmt: skip
    axis.set(xlim=(-2.4, 7.2), ylim=(-1.8, 1.5))
    axis.axis("off")
    return figure


def engine_quality(theme: Theme) -> Figure:
    """Compare the methods and efforts on three measures, in parts of a random split's."""
    runs = {
        "is": split_of("is"),
        "sois": split_of("sois"),
        "fast": split_of("evosplit", "fast"),
        "normal": split_of("evosplit"),
        "thorough": split_of("evosplit", "thorough"),
    }
    random = split_of("random").report().baselines.random
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.0), sharey=True)
    for axis, (name, title) in zip(axes, MEASURES.items(), strict=True):
        values = [getattr(split.measures, name) / random[name] for split in runs.values()]
        colours = [theme.subsets[0]] * 2 + [theme.subsets[2]] * 3
        axis.barh(range(len(runs)), values, color=colours, height=0.66)
        for y, value in enumerate(values):
            axis.text(value + 0.015, y, f"{value:.3f}", va="center", fontsize=9.5)
        bound = getattr(runs["normal"].measures, f"{name}_bound", None)
        if bound is not None:
            axis.axvline(bound / random[name], color=theme.accent, lw=1.4, label="lower bound")
        axis.set_title(title, fontsize=10.5)
        axis.set(xlim=(0, 1.25), xlabel="÷ random's")
    names = ["stratification (is)", "of pairs (sois)", "EvoSplit fast", "EvoSplit normal", "EvoSplit thorough"]
    axes[0].legend(frameon=False, fontsize=9, loc="upper right")
    axes[0].set_yticks(range(len(runs)), names)
    axes[0].invert_yaxis()
    return figure


def tradeoffs(theme: Theme) -> Figure:
    """Show the front with what each rule picks."""
    split = search_stages()[1]
    front = split.front.objectives / split.front.reference
    figure, axis = plt.subplots(figsize=(9, 3.6))
    axis.plot(*front.T, color=theme.line, lw=1.4, zorder=1)
    axis.scatter(*front.T, color=theme.subsets[2], s=42, zorder=3)
    rules: dict[int, list[str]] = {}
    for rule in ("balanced", "origin", "ld", "lpd"):
        rules.setdefault(split.pick(rule).chosen, []).append(f'"{rule}"')
    for at, names in rules.items():
        axis.scatter(*front[at], s=140, facecolor="none", edgecolor=theme.accent, lw=1.6, zorder=4)
        axis.annotate(", ".join(names), front[at], xytext=(10, 8), textcoords="offset points", color=theme.accent)
    axis.set(xlabel="labels: ÷ random's", ylabel="pairs: ÷ random's")
    axis.margins(0.14, 0.2)
    return figure


def groups(theme: Theme) -> Figure:
    """Show the frames of videos, each in the colour of its subset: at random, and with whole videos."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(4, 19, size=24)
    video = np.repeat(np.arange(24), lengths)
    cast = rng.random((24, 6)) < 0.35
    counts = LabelCounts(cast[video] & (rng.random((len(video), 6)) < 0.8))
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, title, options in (
        (axes[0], "frames at random", {"method": "random"}),
        (axes[1], "groups=video", {"groups": video}),
    ):
        split = evosplit.split(counts, {"train": 0.6, "val": 0.2, "test": 0.2}, **options)
        for number in range(len(lengths)):
            for frame, subset in enumerate(split.assignment[video == number]):
                axis.add_patch(plt.Rectangle((frame, -number), 0.86, 0.74, color=theme.subsets[subset]))
        crossing = sum(len(set(split.assignment[video == number])) > 1 for number in range(24))
        axis.set_title(f"{title}: {crossing} of 24 videos in several subsets", fontsize=10.5)
        axis.set(xlim=(-0.3, 19), ylim=(-23.6, 1.2))
        axis.axis("off")
    names = ("train", "val", "test")
    handles = [
        plt.Rectangle((0, 0), 1, 1, color=colour, label=name) for name, colour in zip(names, theme.subsets, strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def architecture(theme: Theme) -> Figure:
    """Draw the way of a sample through the library, and which part of it does each step."""
    shared, adapter, engine = theme.subsets
    figure, axis = plt.subplots(figsize=(9, 4.4))

    def box(x: float, y: float, width: float, height: float, title: str, text: str, colour: str) -> None:
        shape = mpl.patches.FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.15")
        shape.set(facecolor=mpl.colors.to_rgba(colour, 0.16), edgecolor=colour, linewidth=1.4)
        axis.add_patch(shape)
        middle = x + width / 2
        axis.text(middle, y + height - 0.42, title, ha="center", va="center", weight="bold", fontsize=9.5)
        axis.text(middle, y + (height - 0.6) / 2, text, ha="center", va="center", fontsize=8, color=theme.soft)

    def arrow(start: tuple[float, float], end: tuple[float, float], colour: str, style: str = "-|>") -> None:
        how = {"arrowstyle": style, "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
        axis.annotate("", end, start, arrowprops=how)

    def verb(x: float, y: float, name: str, colour: str) -> None:
        ink = theme.ink if colour == shared else colour
        axis.text(x, y, name, ha="center", va="bottom", fontsize=9.5, family="monospace", color=ink)

    box(0, 4.2, 3.2, 2.0, "your data", "COCO, YOLO, tables,\nHugging Face, FiftyOne,\nyour own format", theme.soft)
    box(5.0, 4.2, 3.2, 2.0, "Source", "label counts, ids, files,\nfields, subsets so far", shared)
    box(10.8, 4.2, 3.2, 2.0, "Split", "assignment, front,\nmeasures, report", engine)
    box(15.8, 4.2, 3.2, 2.0, "your subsets", "in the same format,\nand split.json", theme.soft)
    box(7.9, 7.1, 3.2, 1.7, "Request", "ratios, group_by,\nlocked, seed, …", shared)
    box(0, 0.2, 3.2, 1.9, "Audit", "verdict, leaks,\na better split", shared)
    box(15.8, 0.2, 3.2, 1.9, "split.json", "saved by\nany adapter", shared)

    arrow((3.3, 5.2), (4.9, 5.2), adapter)
    verb(4.1, 5.35, "read", adapter)
    arrow((8.3, 5.2), (10.7, 5.2), shared)
    verb(8.9, 5.35, "run", shared)
    arrow((9.5, 7.0), (9.5, 5.3), shared)
    arrow((14.1, 5.2), (15.7, 5.2), adapter)
    verb(14.9, 5.35, "write", adapter)
    arrow((5.4, 4.1), (3.3, 1.6), shared)
    verb(3.6, 2.75, "audit", shared)
    arrow((15.7, 1.6), (13.6, 4.1), shared)
    verb(15.3, 2.75, "replay", shared)

    steps = ("counts", "problem", "method", "front", "pick")
    box(5.0, 0.2, 9.0, 1.9, "the engine", "", engine)
    for number, name in enumerate(steps):
        x = 5.9 + 1.8 * number
        axis.text(x, 0.8, name, ha="center", va="center", fontsize=8.5)
        if number:
            arrow((x - 1.15, 0.8), (x - 0.62, 0.8), engine)
    arrow((9.5, 5.1), (9.5, 2.2), engine, "<|-|>")
    axis.text(9.75, 3.2, "evosplit.split\nevosplit.kfold", va="center", fontsize=8.5, family="monospace", color=engine)

    names = {"each adapter": adapter, "the same for all adapters": shared, "evosplit, which knows no format": engine}
    handles = [plt.Line2D([], [], color=colour, lw=4, label=name) for name, colour in names.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    axis.set(xlim=(-0.2, 19.2), ylim=(0, 9))
    axis.axis("off")
    return figure


FIGURES: dict[str, Callable[[Theme], Figure]] = {
    "shares": shares,
    "measures-by-hand": measures_by_hand,
    "measures-terms": measures_terms,
    "engine-stages": engine_stages,
    "engine-weights": engine_weights,
    "engine-exchange": engine_exchange,
    "engine-quality": engine_quality,
    "tradeoffs": tradeoffs,
    "groups": groups,
    "architecture": architecture,
}


def draw(folder: Path, names: tuple[str, ...] = tuple(FIGURES)) -> None:
    """Draw figures into a folder as SVG, for light and for dark pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme_name, theme in THEMES.items():
        style = {
            "text.color": theme.ink,
            "axes.labelcolor": theme.ink,
            "axes.titlecolor": theme.ink,
            "xtick.color": theme.soft,
            "ytick.color": theme.soft,
            "ytick.labelcolor": theme.ink,
            "axes.edgecolor": theme.line,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 10,
            "font.family": "sans-serif",
            "svg.fonttype": "path",
            "svg.hashsalt": "evosplit",
            "figure.constrained_layout.use": True,
        }
        for name in names:
            with mpl.rc_context(style):
                figure = FIGURES[name](theme)
                figure.savefig(folder / f"{name}-{theme_name}.svg", transparent=True, metadata={"Date": None})
                plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), *([tuple(sys.argv[2:])] if sys.argv[2:] else []))

"""Does a better split give better and steadier classification results? The experiment of the paper's section 5.

Run it with `python -m benchmarks.classification --data DIRECTORY`. The directory holds label matrices in
`labels/<set>.npz` and row-aligned features in `features/<set>.npz` (scipy sparse). Each data set is split into ten
folds by every method, classifiers are trained on nine folds and tested on the tenth. It writes
`benchmarks/results/classification.md` and `classification.png`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.stats import friedmanchisquare, rankdata
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import jaccard_score, precision_recall_fscore_support
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.common import RESULTS, load_counts, machine_line, markdown_table, write_result
from evosplit import LabelCounts, kfold
from evosplit.methods.ea import EvolutionaryAlgorithm
from evosplit.methods.iterative import IterativeStratification
from evosplit.methods.nsga2 import NSGA2

FOLDS = 10
FEATURES = 1_000  # of more features the most frequent are taken
CLASSIFIERS = {"BR": "Binary Relevance", "LP": "Label Powerset"}
SCORES = ("precision", "recall", "F1", "Jaccard")
METRICS = [f"{score}, {average}" for average in ("micro", "macro") for score in SCORES]
ONE_GENE: dict[str, Any] = {"mutation_rate": 0.0, "patience": 100, "restarts": 1}
METHODS: dict[str, tuple[Any, bool]] = {
    "random": ("random", False),
    "stratification": (IterativeStratification(order=2, as_published=True), False),
    "EA, LD": (EvolutionaryAlgorithm("instances", **ONE_GENE), False),
    "EA, LD+": (EvolutionaryAlgorithm("instances", **ONE_GENE), True),
    "EA, LPD": (EvolutionaryAlgorithm("pairs", **ONE_GENE), False),
    "EA, LPD+": (EvolutionaryAlgorithm("pairs", **ONE_GENE), True),
    "MOEA": (NSGA2(mutation_rate=0.0, restarts=1), False),
    "MOEA+": (NSGA2(mutation_rate=0.0, restarts=1), True),
    "evosplit": ("evosplit", True),
}
EVOLUTIONARY = [name for name in METHODS if name.startswith(("EA", "MOEA"))]
Floats = np.ndarray


def binary_relevance(train: Floats, labels: Floats, test: Floats) -> Floats:
    """Predict each label by a linear classifier of its own (ridge regression solves them all at once)."""
    varied = labels.min(axis=0) != labels.max(axis=0)
    predicted = np.tile(labels[0], (len(test), 1))
    if varied.any():
        model = RidgeClassifier().fit(train, labels[:, varied])
        predicted[:, varied] = np.reshape(model.predict(test), (len(test), -1))
    return predicted


def label_powerset(train: Floats, labels: Floats, test: Floats) -> Floats:
    """Predict a whole label set: every set that occurs is a class of its own."""
    sets, classes = np.unique(labels, axis=0, return_inverse=True)
    if len(sets) == 1:
        return np.tile(sets[0], (len(test), 1))
    return sets[RidgeClassifier().fit(train, classes.ravel()).predict(test)]


def scores(truth: Floats, predicted: Floats) -> list[float]:
    """Compute the metrics of one fold, in the order of METRICS."""
    found: list[float] = []
    for average in ("micro", "macro"):
        found += precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)[:3]
        found.append(jaccard_score(truth, predicted, average=average, zero_division=0))
    return found


def cross_validate(features: Floats, labels: Floats, assignment: Floats) -> Floats:
    """Return classifiers x folds x metrics."""
    results = np.zeros((len(CLASSIFIERS), FOLDS, len(METRICS)))
    for fold in range(FOLDS):
        inside = assignment == fold
        scaler = MaxAbsScaler().fit(features[~inside])
        train, test = scaler.transform(features[~inside]), scaler.transform(features[inside])
        for at, classify in enumerate((binary_relevance, label_powerset)):
            results[at, fold] = scores(labels[inside], classify(train, labels[~inside], test))
    return results


def read_features(path: Path) -> Floats:
    """Read the features of a data set, dense; of very many those that occur most often."""
    features = sp.csc_array(sp.load_npz(path))
    if features.shape[1] > FEATURES:
        features = features[:, np.sort(np.argsort(-np.diff(features.indptr), kind="stable")[:FEATURES])]
    return features.toarray().astype(np.float64)


def run_set(counts: LabelCounts, features: Floats, seeds: int) -> Floats:
    """Split and classify one data set: methods x classifiers x (mean, standard deviation over folds) x metrics."""
    labels = (counts.matrix.toarray() > 0).astype(np.int8)
    found = np.zeros((len(METHODS), len(CLASSIFIERS), 2, len(METRICS)))
    for at, (method, cover) in enumerate(METHODS.values()):
        for seed in range(seeds):
            options = {} if method == "evosplit" else {"objectives": ("instances", "pairs")}
            split = kfold(counts, FOLDS, method=method, cover=cover, pick="origin", seed=seed, **options)
            results = cross_validate(features, labels, split.assignment)
            found[at, :, 0] += results.mean(axis=1) / seeds
            found[at, :, 1] += results.std(axis=1, ddof=1) / seeds
    return found


def mean_ranks(results: Floats) -> Floats:
    """Rank the methods on every set (1 is best: high scores, small deviations); return the mean over the sets."""
    signed = results.copy()
    signed[:, :, :, 0] *= -1
    return rankdata(signed.round(12), axis=1).mean(axis=0)


def rank_table(ranks: Floats) -> str:
    """One row a method, one column a metric, and the mean."""
    rows = [
        [name, *(f"{rank:.2f}" for rank in ranks[at]), f"{ranks[at].mean():.2f}"] for at, name in enumerate(METHODS)
    ]
    return markdown_table(["mean rank", *METRICS, "all"], rows)


def value_table(results: Floats, sets: list[str], classifier: int, aspect: int, metric: str) -> str:
    """One row a set, one column a method, for one metric."""
    values = results[:, :, classifier, aspect, METRICS.index(metric)]
    rows = [[data, *(f"{value:.4f}" for value in values[at])] for at, data in enumerate(sets)]
    return markdown_table([metric, *METHODS], rows)


def claims(results: Floats, ranks: Floats) -> str:
    """Check what the paper says about its figures, sentence by sentence."""
    names, lines = list(METHODS), []
    base = names.index("stratification")
    rows = [names.index(name) for name in EVOLUTIONARY]
    for at, classifier in enumerate(CLASSIFIERS):
        for aspect, what in enumerate(("scores", "deviation over folds")):
            own = ranks[:, at, aspect]
            better = [names[row] for row in rows if own[row].mean() < own[base].mean()]
            everywhere = [names[row] for row in rows if (own[row] < own[base]).all()]
            order = sorted(rows, key=lambda row: own[row].mean())
            best = ", ".join(f"{names[row]} {own[row].mean():.2f}" for row in order[:3])
            tests = [friedmanchisquare(*values.T).pvalue for values in np.moveaxis(results[:, :, at, aspect], 2, 0)]
            lines.append(
                f"- {classifier}, {what}: better than stratification ({own[base].mean():.2f}) in mean rank: "
                f"{', '.join(better) or 'none'} ({len(better)} of {len(rows)}); in every single metric: "
                f"{', '.join(everywhere) or 'none'}. Best evolutionary methods: {best}. Friedman test over the sets, "
                f"all methods: p < 0.05 in {sum(p < 0.05 for p in tests)} of {len(tests)} metrics."
            )
    return "\n".join(lines) + "\n"


def draw(ranks: Floats, path: Path) -> None:
    """Plot the mean ranks: one panel a classifier and aspect, one line a method."""
    paired = plt.get_cmap("Paired").colors
    colours = dict(zip(METHODS, ["0.7", "black", *paired[:6], paired[9]], strict=True))
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), sharex=True, sharey=True, layout="constrained")
    for at, classifier in enumerate(CLASSIFIERS.values()):
        for aspect, what in enumerate(("scores", "deviation over folds")):
            axis = axes[at, aspect]
            for row, name in enumerate(METHODS):
                style = {"linestyle": "--"} if name in ("random", "stratification") else {}
                axis.plot(
                    ranks[row, at, aspect], range(len(METRICS)), marker="o", color=colours[name], label=name, **style
                )
            axis.set_title(f"{classifier}: {what}", fontsize=11)
            axis.set_yticks(range(len(METRICS)), METRICS)
            axis.grid(axis="both", color="0.92")
            axis.spines[["top", "right"]].set_visible(False)
    axes[0, 0].invert_yaxis()
    for axis in axes[1]:
        axis.set_xlabel("mean rank over the data sets (1 is best)")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def report(results: Floats, sets: list[str], seeds: int, cpu: float) -> str:
    """Write everything down."""
    ranks = mean_ranks(results)
    text = f"""# Classification

{machine_line("evosplit-plugins", "scikit-learn", "numpy")}
{FOLDS} folds, {seeds} splits a method and set, {len(sets)} sets: {", ".join(sets)}; {cpu / 60:.0f} minutes of CPU.
The classifier is linear (ridge), on features scaled by their maximum (of more than {FEATURES:,} the most frequent); the
paper does not name its own. The evolutionary methods run once a split and mutate one gene (see paper.md); a plus marks
the constraint. `evosplit` is this library's default method. Methods are ranked on every set by the mean over the
splits, 1 is best; ranks are averaged over the sets. A label without a prediction or without an example in the
fold scores 0, which the macro averages feel.

![mean ranks](classification.png)

## What the paper says, and what is found

The paper: the evolutionary methods classify better than stratification in all metrics, with the constraint too. With BR
the EA with LPD without the constraint is best, then MOEA with it, also in variance. With LP MOEA with the constraint
is best, then the EA with LPD; in variance all evolutionary methods are alike, and better than stratification. Here:

{claims(results, ranks)}"""
    for at, classifier in enumerate(CLASSIFIERS.values()):
        text += f"""
## {classifier}

### Scores

{rank_table(ranks[:, at, 0])}
### Deviation over folds

{rank_table(ranks[:, at, 1])}
### Values

{value_table(results, sets, at, 0, "F1, micro")}
{value_table(results, sets, at, 0, "F1, macro")}
Standard deviation over the folds:

{value_table(results, sets, at, 1, "F1, macro")}"""
    return text


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory with the folders labels and features")
    parser.add_argument("--sets", nargs="*", help="only these data sets")
    parser.add_argument("--seeds", type=int, default=3, help="splits of each data set by each method")
    arguments = parser.parse_args()
    files = sorted((arguments.data / "features").glob("*.npz"))
    names = [path.stem for path in files if not arguments.sets or path.stem in arguments.sets]
    if len(names) < 3:
        raise SystemExit(f"{len(names)} data sets with features in {arguments.data}; ranks need at least three")
    warnings.filterwarnings("ignore", category=UserWarning)  # rare label sets: "fewer samples than classes"
    started, results = time.process_time(), []
    for name in names:
        print(name, flush=True)
        counts = load_counts(arguments.data / "labels" / f"{name}.npz")
        results.append(run_set(counts, read_features(arguments.data / "features" / f"{name}.npz"), arguments.seeds))
    stacked = np.stack(results)
    draw(mean_ranks(stacked), RESULTS / "classification.png")
    print(write_result("classification", report(stacked, names, arguments.seeds, time.process_time() - started)))


if __name__ == "__main__":
    main()

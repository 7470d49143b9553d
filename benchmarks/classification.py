"""Does a better split give better and steadier classification results? The experiment of the paper's section 5.

Run it with `python -m benchmarks.classification --data DIRECTORY`. The directory holds label matrices in
`labels/<set>.npz` and row-aligned features in `features/<set>.npz` (scipy sparse). Each data set is split into ten
folds by every method; classifiers are trained on nine folds and tested on the tenth. Splits that `benchmarks.paper`
has kept in the directory `--keep` are taken from there; the results of each set are kept there too, and a second call
computes what is missing.
`benchmarks/results/classification.md` and `classification.png` are written from all sets that have results.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from scipy.stats import friedmanchisquare, rankdata
from sklearn.linear_model import Ridge
from sklearn.metrics import jaccard_score, precision_recall_fscore_support
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.common import RESULTS, load_counts, machine_line, markdown_table, write_result
from benchmarks.paper import FOLDS, KEEP, compute, keep_cell, kept_cell, key_of, method_of
from evosplit import LabelCounts, kfold
from evosplit.methods.iterative import IterativeStratification

READING = "one gene"  # the reading of the paper's text that reproduces its tables
FEATURES = 1_000  # of more features the most frequent are taken
CLASSIFIERS = {"BR": "Binary Relevance", "LP": "Label Powerset"}
ASPECTS = ("scores", "deviation over folds")
SCORES = ("precision", "recall", "F1", "Jaccard")
METRICS = [f"{score}, {average}" for average in ("micro", "macro") for score in SCORES]
EVOLUTIONARY = {
    "EA, LD": ("ea_ld", False),
    "EA, LD+": ("ea_ld", True),
    "EA, LPD": ("ea_lpd", False),
    "EA, LPD+": ("ea_lpd", True),
    "MOEA": ("moea", False),
    "MOEA+": ("moea", True),
}
METHODS = ["random", "stratification", *EVOLUTIONARY, "evosplit"]
Array = np.ndarray


def predict(train: Array, labels: Array, test: Array) -> tuple[Array, Array]:
    """Train both classifiers; return what Binary Relevance and what Label Powerset predict.

    Binary Relevance has a linear classifier for each label, Label Powerset one for each label set that occurs in
    training, of which the most confident wins. All are ridge regressions on targets of -1 and 1, as in scikit-learn's
    RidgeClassifier, and share their features, so they are solved at once.
    """
    sets, classes = np.unique(labels, axis=0, return_inverse=True)
    belongs = classes.ravel()[:, np.newaxis] == np.arange(len(sets))
    targets = np.where(np.hstack((labels > 0, belongs)), 1.0, -1.0)
    confidence = np.reshape(Ridge(copy_X=False).fit(train, targets).predict(test), (len(test), -1))
    n_labels = labels.shape[1]
    return (confidence[:, :n_labels] > 0).astype(labels.dtype), sets[confidence[:, n_labels:].argmax(axis=1)]


def scores(truth: Array, predicted: Array) -> list[float]:
    """Compute the metrics of one fold, in the order of METRICS."""
    found: list[float] = []
    for average in ("micro", "macro"):
        found += precision_recall_fscore_support(truth, predicted, average=average, zero_division=0)[:3]
        found.append(jaccard_score(truth, predicted, average=average, zero_division=0))
    return found


def cross_validate(features: Array, labels: Array, assignment: Array) -> Array:
    """Return classifiers x folds x metrics."""
    results = np.zeros((len(CLASSIFIERS), FOLDS, len(METRICS)))
    for fold in range(FOLDS):
        inside = assignment == fold
        scaler = MaxAbsScaler().fit(features[~inside])
        train, test = scaler.transform(features[~inside]), scaler.transform(features[inside])
        for at, predicted in enumerate(predict(train, labels[~inside], test)):
            results[at, fold] = scores(labels[inside], predicted)
    return results


def read_features(path: Path) -> Array:
    """Read the features of a data set, dense; of very many those that occur most often."""
    features = sp.csc_array(sp.load_npz(path))
    if features.shape[1] > FEATURES:
        features = features[:, np.sort(np.argsort(-np.diff(features.indptr), kind="stable")[:FEATURES])]
    return features.toarray().astype(np.float64)


def make_split(data: str, counts: LabelCounts, method: str, seed: int, keep: Path) -> Array:
    """Split a data set by a method; those of the paper run once, unless a split with more runs is kept."""
    if method in EVOLUTIONARY:
        name, cover = EVOLUTIONARY[method]
        key = key_of(data, READING, name, cover) + (f" seed {seed}" if seed else "")
        cell = kept_cell(keep, key, runs=1)
        if cell is None:
            cell = compute(counts, method_of(name, READING, restarts=1), cover=cover, jobs=1, seed=seed)
            keep_cell(keep, key, cell)
        return np.array(cell["assignment"])
    if method == "stratification":
        published = IterativeStratification(order=2, as_published=True)
        return kfold(counts, FOLDS, method=published, seed=seed).assignment
    return kfold(counts, FOLDS, method=method, seed=seed).assignment


def run_set(data: str, directory: Path, methods: Iterable[str], seeds: int, keep: Path) -> dict[str, Any]:
    """Split and classify one data set; keep classifiers x (mean, standard deviation over folds) x metrics a method."""
    started = time.process_time()
    counts = load_counts(directory / "labels" / f"{data}.npz")
    features = read_features(directory / "features" / f"{data}.npz")
    labels = (counts.matrix.toarray() > 0).astype(np.int8)
    found = {}
    for method in methods:
        every = [
            cross_validate(features, labels, make_split(data, counts, method, seed, keep)) for seed in range(seeds)
        ]
        means = np.mean([results.mean(axis=1) for results in every], axis=0)
        deviations = np.mean([results.std(axis=1, ddof=1) for results in every], axis=0)
        found[method] = np.stack((means, deviations), axis=1).tolist()
    return {
        "samples": counts.n_samples,
        "labels": counts.n_labels,
        "seeds": seeds,
        "cpu": round(time.process_time() - started),
        "found": found,
    }


@dataclass(frozen=True)
class Study:
    """Results of the same methods on some data sets: sets x methods x classifiers x aspects x metrics."""

    sets: list[str]
    methods: list[str]
    results: Array

    @property
    def ranks(self) -> Array:
        """Rank the methods on every set (1 is best: high scores, small deviations); the mean over the sets."""
        signed = self.results.copy()
        signed[:, :, :, 0] *= -1
        return np.asarray(np.mean(rankdata(signed.round(12), axis=1), axis=0))

    @property
    def evolutionary(self) -> list[str]:
        """The paper's methods among the methods."""
        return [name for name in self.methods if name in EVOLUTIONARY]

    def mean_rank(self, name: str, classifier: int, aspect: int) -> float:
        """Average the ranks of a method over the metrics too."""
        return float(self.ranks[self.methods.index(name), classifier, aspect].mean())


def studies(kept: dict[str, dict[str, Any]]) -> tuple[Study, Study]:
    """Return a study of all methods, on the sets that have them, and one of all sets, with the methods they share."""
    complete = [data for data, entry in kept.items() if all(name in entry["found"] for name in METHODS)]
    shared = [name for name in METHODS if all(name in entry["found"] for entry in kept.values())]
    made = []
    for sets, methods in ((complete, METHODS), (list(kept), shared)):
        results = np.array([[kept[data]["found"][name] for name in methods] for data in sets])
        made.append(Study(sets, methods, results))
    return made[0], made[1]


def rank_table(study: Study, classifier: int, aspect: int) -> str:
    """One row a method, one column a metric, and the mean."""
    ranks = study.ranks[:, classifier, aspect]
    rows = [
        [name, *(f"{rank:.2f}" for rank in own), f"{own.mean():.2f}"]
        for name, own in zip(study.methods, ranks, strict=True)
    ]
    return markdown_table(["mean rank", *METRICS, "mean"], rows)


def value_table(kept: dict[str, dict[str, Any]], classifier: int, aspect: int, metric: str) -> str:
    """One row a set, one column a method, for one metric; "–" where a method was left out."""
    rows = []
    for data, entry in kept.items():
        found = [entry["found"].get(name) for name in METHODS]
        values = ["–" if own is None else f"{own[classifier][aspect][METRICS.index(metric)]:.4f}" for own in found]
        rows.append([data, *values])
    return markdown_table([metric, *METHODS], rows)


def better_than_stratification(study: Study, classifier: int, aspect: int) -> tuple[str, str]:
    """Count where the paper's methods rank before stratification; return the verdict and the evidence."""
    ranks, names = study.ranks[:, classifier, aspect], study.evolutionary
    base = study.mean_rank("stratification", classifier, aspect)
    ahead = [name for name in names if study.mean_rank(name, classifier, aspect) < base]
    rows = [study.methods.index(name) for name in names]
    single = int((ranks[rows] < ranks[study.methods.index("stratification")]).sum())
    verdict = "yes" if len(ahead) == len(names) else "partly" if ahead else "no"
    listed = f" ({', '.join(ahead)})" if ahead else ""
    return verdict, (
        f"in mean rank {len(ahead)} of {len(names)} methods{listed}, stratification has {base:.2f}; "
        f"method by method and metric by metric {single} of {len(names) * len(METRICS)}"
    )


def best_two(study: Study, classifier: int, aspect: int, expected: tuple[str, str]) -> tuple[str, str]:
    """See whether the two methods that the paper finds best are so here."""
    order = sorted(study.evolutionary, key=lambda name: study.mean_rank(name, classifier, aspect))
    verdict = "yes" if tuple(order[:2]) == expected else "partly" if set(order[:2]) & set(expected) else "no"
    return verdict, "; ".join(f"{name}: {study.mean_rank(name, classifier, aspect):.2f}" for name in order)


def claim_table(study: Study) -> str:
    """Hold what the paper says about its figures against the ranks."""
    rows = []
    for at, (classifier, best) in enumerate({"BR": ("EA, LPD", "MOEA+"), "LP": ("MOEA+", "EA, LPD")}.items()):
        for aspect, what in enumerate(ASPECTS):
            claim = f"{classifier}, {what}: the evolutionary methods are better than stratification"
            rows.append([claim, *better_than_stratification(study, at, aspect)])
            # Of the deviations with LP the paper says that all evolutionary methods behave alike.
            if set(best) <= set(study.methods) and (classifier, aspect) != ("LP", 1):
                claim = f"{classifier}, {what}: {best[0]} is best, then {best[1]}"
                rows.append([claim, *best_two(study, at, aspect, best)])
    return markdown_table(["the paper says", "holds here", "evidence"], rows).replace("--:", "---")


def significance_table(study: Study) -> str:
    """Count the metrics in which methods differ by Friedman's test over the sets."""
    groups = {
        "all methods": study.methods,
        "without random": study.methods[1:],
        "the paper's evolutionary methods": study.evolutionary,
    }
    rows = []
    for group, names in groups.items():
        chosen = study.results[:, [study.methods.index(name) for name in names]]
        row = [group]
        for at in range(len(CLASSIFIERS)):
            for aspect in range(len(ASPECTS)):
                tests = [friedmanchisquare(*chosen[:, :, at, aspect, m].T).pvalue for m in range(len(METRICS))]
                row.append(f"{sum(p < 0.05 for p in tests)} of {len(tests)}")
        rows.append(row)
    return markdown_table(["p < 0.05", *(f"{c}, {a}" for c in CLASSIFIERS for a in ASPECTS)], rows)


def effect_table(study: Study) -> str:
    """Show by how much methods differ from stratification, beside the deviation over the folds of one split."""
    base = study.methods.index("stratification")
    columns = [(at, metric) for at in range(len(CLASSIFIERS)) for metric in ("F1, micro", "F1, macro")]
    rows = []
    for row, name in enumerate(study.methods):
        if row != base:
            gains = study.results[:, row] - study.results[:, base]
            rows.append([name, *(f"{gains[:, at, 0, METRICS.index(m)].mean():+.4f}" for at, m in columns)])
    spreads = study.results[:, base, :, 1]
    spread = [f"{spreads[:, at, METRICS.index(m)].mean():.4f}" for at, m in columns]
    header = ["difference to stratification", *(f"{list(CLASSIFIERS)[at]}: {m}" for at, m in columns)]
    return markdown_table(header, [*rows, ["(its deviation over the folds)", *spread]])


def draw(study: Study, path: Path) -> None:
    """Plot the mean ranks: one panel a classifier and aspect, one row a method, one column a metric."""
    figure, axes = plt.subplots(2, 2, figsize=(13, 9), sharex=True, sharey=True, layout="constrained")
    for at, classifier in enumerate(CLASSIFIERS.values()):
        for aspect, what in enumerate(ASPECTS):
            image = draw_panel(axes[at, aspect], study, study.ranks[:, at, aspect])
            axes[at, aspect].set_title(f"{classifier}: {what}", fontsize=13)
    bar = figure.colorbar(image, ax=axes, shrink=0.5, pad=0.01)
    bar.set_label(f"mean rank over {len(study.sets)} data sets (1 is best)", fontsize=11)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_panel(axis: Axes, study: Study, ranks: Array) -> Any:
    """Draw a table of ranks: blue is better than the middle rank, red worse; the best of a column is bold."""
    shown = np.column_stack((ranks, ranks.mean(axis=1)))
    middle = (len(shown) + 1) / 2
    image = axis.imshow(shown, cmap="RdBu_r", vmin=middle - 3, vmax=middle + 3, aspect="auto")
    for row, column in np.ndindex(shown.shape):
        value = shown[row, column]
        weight = "bold" if value == shown[:, column].min() else "normal"
        colour = "white" if abs(value - middle) > 2 else "black"
        axis.text(column, row, f"{value:.1f}", ha="center", va="center", fontsize=10, fontweight=weight, color=colour)
    headings = [*(metric.replace(", ", "\n") for metric in METRICS), "mean"]
    axis.set_xticks(range(len(headings)), headings, fontsize=9.5)
    axis.set_yticks(range(len(shown)), study.methods, fontsize=11)
    for line in (1.5, len(shown) - 1.5):
        axis.axhline(line, color="white", linewidth=3)
    axis.axvline(len(METRICS) - 0.5, color="white", linewidth=3)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    return image


def report(kept: dict[str, dict[str, Any]], left: list[str]) -> str:
    """Write everything down, and draw; `left` are the data sets that have no results."""
    complete, widest = studies(kept)
    draw(complete, RESULTS / "classification.png")
    text = f"""# Classification

{machine_line("evosplit-plugins", "scikit-learn", "numpy")}
{FOLDS} folds. The classifier is linear (ridge), on features scaled by their maximum (of more than {FEATURES:,} the most
frequent); the paper does not name its own. The evolutionary methods run in the reading that reproduces the paper's
tables (*{READING}*, see [paper.md](paper.md), also for runs of NSGA-II that were cut short); a plus marks the
constraint. `evosplit` is this library's default method. Methods are ranked on every set by the mean over the splits,
1 is best; ranks are averaged over the sets. A label without a prediction or without an example in the fold scores 0,
which the macro averages feel.

![mean ranks](classification.png)

## What the paper says, and what is found

All methods, on {len(complete.sets)} data sets: {", ".join(complete.sets)}.

{findings(complete)}"""
    if widest.sets != complete.sets:
        left_out = [name for name in METHODS if name not in widest.methods]
        text += f"""
## More data sets, without {" and ".join(left_out)}

NSGA-II takes minutes a split on the larger sets. The other methods, on {len(widest.sets)} data sets, those above and
{", ".join(data for data in widest.sets if data not in complete.sets)}:

{findings(widest)}"""
    for at, classifier in enumerate(CLASSIFIERS.values()):
        for aspect, what in enumerate(ASPECTS):
            text += f"\n## {classifier}: {what}\n"
            for study in (complete, widest) if widest.sets != complete.sets else (complete,):
                text += f"\nMean ranks over {len(study.sets)} sets:\n\n{rank_table(study, at, aspect)}"
            for metric in ("F1, micro", "F1, macro"):
                text += "\n" + value_table(kept, at, aspect, metric)
    about = markdown_table(
        ["set", "samples", "labels", "methods", "splits a method", "CPU seconds"],
        [[d, e["samples"], e["labels"], len(e["found"]), e["seeds"], e["cpu"]] for d, e in kept.items()],
    )
    absent = f"\nNot run: {', '.join(left)}.\n" if left else ""
    return f"{text}\n## What was run\n\nThe times are without splits that were kept.\n\n{about}{absent}"


def in_short(study: Study) -> str:
    """Put what a study shows into two sentences."""
    base, macro = study.methods.index("stratification"), METRICS.index("F1, macro")
    values = study.results[:, :, :, 0, macro]
    gains = (values - values[:, [base]]).mean(axis=0)
    paper = gains[[study.methods.index(name) for name in study.evolutionary]]
    spread = study.results[:, base, :, 1, macro].mean()
    random = gains[study.methods.index("random")].mean()
    verdicts = [
        better_than_stratification(study, at, aspect)[0]
        for at in range(len(CLASSIFIERS))
        for aspect in range(len(ASPECTS))
    ]
    holds, partly = verdicts.count("yes"), verdicts.count("partly")
    return f"""In short: against stratification, a random split changes macro F1 by {random:+.3f}, the paper's
methods by {paper.min():+.3f} to {paper.max():+.3f}, while it varies by {spread:.3f} from fold to fold. That the
evolutionary methods do better than stratification holds in {holds} of {len(verdicts)} comparisons, partly in {partly}.
"""


def findings(study: Study) -> str:
    """Say what a study shows."""
    return f"""{in_short(study)}
{claim_table(study)}
Friedman's test over the data sets: in how many of the {len(METRICS)} metrics the methods differ.

{significance_table(study)}
How much it matters: the mean over the sets of the difference in F1, and how much F1 varies from fold to fold anyway.

{effect_table(study)}"""


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory with the folders labels and features")
    parser.add_argument("--sets", nargs="*", help="classify only these data sets (the report shows all results)")
    parser.add_argument("--seeds", type=int, default=3, help="splits of each data set by each method")
    parser.add_argument("--without", nargs="*", choices=METHODS, default=[], help="methods to leave out on these sets")
    parser.add_argument("--keep", type=Path, default=KEEP, help="directory that keeps splits and results (%(default)s)")
    arguments = parser.parse_args()
    names = sorted(path.stem for path in (arguments.data / "features").glob("*.npz"))
    wanted = [name for name in METHODS if name not in arguments.without]
    kept: dict[str, dict[str, Any]] = {}
    for data in names:
        path = arguments.keep / f"classification-{data}.json"
        entry: dict[str, Any] = {"found": {}, "seeds": arguments.seeds, "cpu": 0}
        if path.exists():
            entry = json.loads(path.read_text(encoding="utf-8"))
        if not arguments.sets or data in arguments.sets:
            if entry["seeds"] < arguments.seeds:
                entry = {"found": {}, "seeds": arguments.seeds, "cpu": 0}
            missing = [name for name in wanted if name not in entry["found"]]
            if missing:
                print(data, ", ".join(missing), flush=True)
                more = run_set(data, arguments.data, missing, entry["seeds"], arguments.keep)
                more["found"].update(entry["found"])
                more["cpu"] += entry["cpu"]
                entry = more
                arguments.keep.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(entry), encoding="utf-8")
        if entry["found"]:
            kept[data] = entry
    kept = dict(sorted(kept.items(), key=lambda item: item[1]["samples"]))
    if sum(len(entry["found"]) == len(METHODS) for entry in kept.values()) < 3:
        raise SystemExit(
            f"fewer than three data sets of {arguments.data} have results of all methods; ranks need three"
        )
    print(write_result("classification", report(kept, [data for data in names if data not in kept])))


if __name__ == "__main__":
    main()

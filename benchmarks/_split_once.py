"""Split one label matrix with one tool in this process and say what it cost: `peers.py` starts it once a method.

Only the tool asked for is imported, by whatever Python runs this file, so that its import, its first call and its
memory are its own. It prints one line of JSON and keeps the splits in a file.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._cost import peak_mib

Splits = list[np.ndarray]  # the default answer first, then the rest of its front
Splitter = Callable[[sp.csr_array, list[float]], Splits]
REPEATED_BELOW = 10.0  # seconds of the first call up to which there is a second one, for the time when warm


def random(_: argparse.Namespace) -> Splitter:
    """Deal out a permutation."""

    def split(matrix: sp.csr_array, ratios: list[float]) -> Splits:
        ends = np.round(np.cumsum(ratios) * matrix.shape[0]).astype(int)
        filled = np.searchsorted(ends, np.arange(matrix.shape[0]), side="right")
        return [np.random.default_rng(0).permutation(filled)]

    return split


def scikit_multilearn(options: argparse.Namespace) -> Splitter:
    """Stratify with scikit-multilearn; its own seed does not work, it draws from the global state."""
    from skmultilearn.model_selection import IterativeStratification

    def split(matrix: sp.csr_array, ratios: list[float]) -> Splits:
        np.random.seed(0)  # noqa: NPY002
        folds = IterativeStratification(len(ratios), order=options.order, sample_distribution_per_fold=list(ratios))
        assignment = np.full(matrix.shape[0], -1)
        for j, (_, test) in enumerate(folds.split(np.zeros((matrix.shape[0], 1)), _presence(matrix).tolil())):
            assignment[test] = j
        return [assignment]

    return split


def iterative_stratification(_: argparse.Namespace) -> Splitter:
    """MultilabelStratifiedKFold for equal folds, else MultilabelStratifiedShuffleSplit, one in the other."""
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold, MultilabelStratifiedShuffleSplit

    def split(matrix: sp.csr_array, ratios: list[float]) -> Splits:
        labels = _presence(matrix).toarray()
        assignment = np.zeros(len(labels), dtype=np.int64)
        if len(set(ratios)) == 1:
            folds = MultilabelStratifiedKFold(len(ratios), shuffle=True, random_state=0)
            for j, (_, test) in enumerate(folds.split(labels, labels)):
                assignment[test] = j
            return [assignment]
        left = np.arange(len(labels))
        for j in range(len(ratios) - 1):
            rest = sum(ratios[j + 1 :]) / sum(ratios[j:])
            once = MultilabelStratifiedShuffleSplit(1, test_size=rest, random_state=0)
            _, others = next(once.split(labels[left], labels[left]))
            left = left[others]
            assignment[left] = j + 1
        return [assignment]

    return split


def optisplit(options: argparse.Namespace) -> Splitter:
    """OptiSplit from a checkout of its repository; unequal subsets are folds put together."""
    sys.path.insert(0, options.optisplit)
    setattr(np, "int", int)  # noqa: B010 - it was written for numpy < 1.24
    from cv_balance import optisplit as solve

    def split(matrix: sp.csr_array, ratios: list[float]) -> Splits:
        parts = np.repeat(np.arange(len(ratios)), np.round(np.array(ratios) / min(ratios)).astype(int))
        assignment = np.full(matrix.shape[0], -1)
        for part, (_, test) in zip(parts, solve(len(parts), sp.csr_matrix(_presence(matrix)), seed=0), strict=True):
            assignment[test] = part
        return [assignment]

    return split


def datumaro(_: argparse.Namespace) -> Splitter:
    """Datumaro's split for detection: an item for each image, a box for each instance."""
    from datumaro.components.annotation import Bbox
    from datumaro.components.dataset import Dataset
    from datumaro.components.dataset_base import DatasetItem

    def split(matrix: sp.csr_array, ratios: list[float]) -> Splits:
        items = []
        for i in range(matrix.shape[0]):
            row = slice(matrix.indptr[i], matrix.indptr[i + 1])
            labels = np.repeat(matrix.indices[row], matrix.data[row])
            boxes = [Bbox(1, 1, 5, 5, label=int(label), id=at) for at, label in enumerate(labels)]
            items.append(DatasetItem(id=str(i), annotations=boxes))
        dataset = Dataset.from_iterable(items, categories=[f"label{i}" for i in range(matrix.shape[1])])
        names = [f"subset{j}" for j in range(len(ratios))]
        dataset.transform("split", task="detection", splits=list(zip(names, ratios, strict=True)), seed=0)
        assignment = np.full(matrix.shape[0], -1)
        for item in dataset:
            assignment[int(item.id)] = names.index(item.subset)
        return [assignment]

    return split


def evosplit(options: argparse.Namespace) -> Splitter:
    """Our own methods, through the public interface."""
    import evosplit as engine

    def split(matrix: sp.csr_array, ratios: list[float]) -> Splits:
        asked = {
            "method": options.method,
            "effort": options.effort,
            "cover": not options.no_cover,
            "time_limit": options.time_limit,
        }
        if len(set(ratios)) == 1:
            made = engine.kfold(matrix, len(ratios), **asked)
        else:
            made = engine.split(matrix, {f"subset{j}": ratio for j, ratio in enumerate(ratios)}, **asked)
        front = () if made.front is None else made.front.assignments
        options.notes = list(made.notes)
        return [made.assignment, *front]

    return split


TOOLS = {tool.__name__: tool for tool in (random, scikit_multilearn, iterative_stratification, optisplit, datumaro)}
TOOLS["evosplit"] = evosplit


def _presence(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def main() -> None:
    """Read what to do, do it, report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("matrix", help="scipy sparse .npz")
    parser.add_argument("output", help=".npy for the splits")
    parser.add_argument("--ratios", type=float, nargs="+", required=True)
    parser.add_argument("--order", type=int, default=2, help="scikit_multilearn")
    parser.add_argument("--optisplit", help="optisplit: directory of cv_balance.py")
    parser.add_argument("--method", default="evosplit", help="evosplit")
    parser.add_argument("--effort", default="normal", help="evosplit")
    parser.add_argument("--no-cover", action="store_true", help="evosplit")
    parser.add_argument("--time-limit", type=float, help="evosplit")
    options = parser.parse_args()
    before = time.process_time()
    split = TOOLS[options.tool](options)
    cost: dict[str, Any] = {"import": time.process_time() - before}
    matrix = sp.csr_array(sp.load_npz(options.matrix))
    matrix.sum_duplicates()
    before = time.process_time()
    made = split(matrix, options.ratios)
    cost["call"] = cost["warm"] = time.process_time() - before
    cost["peak"] = peak_mib()
    if cost["call"] < REPEATED_BELOW:
        before = time.process_time()
        split(matrix, options.ratios)
        cost["warm"] = time.process_time() - before
    np.save(options.output, np.stack(made).astype(np.int16))
    print(json.dumps({**cost, "notes": getattr(options, "notes", [])}))


if __name__ == "__main__":
    main()

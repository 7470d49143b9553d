"""Small problems whose splits are the same on every machine, and the hashes of these splits.

    python tests/same_splits.py            # print the hashes as this machine makes them
    python tests/same_splits.py --check    # compare with those that are kept, say what differs
    python tests/same_splits.py --write    # keep them: only together with a new engine version

It needs nothing but the engine, so that any environment can run it: other CPUs, other numpy, numba, scipy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from evosplit import LabelCounts, Split, kfold, split
from evosplit.methods import resolve_method
from evosplit.methods.evosplit import budget

KEPT = Path(__file__).parent / "core" / "split_hashes.json"
PICKS = ("balanced", "origin", "ld", "lpd")
RATIOS = {"train": 0.7, "val": 0.2, "test": 0.1}


class Numbers:
    """A linear congruential generator: nothing but integers, so the data is the same everywhere too."""

    def __init__(self, seed: int) -> None:
        self.state = 2 * seed + 1

    def below(self, n: int) -> int:
        """Draw an integer in [0, n)."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) * n >> 31

    def counts(self, samples: int, labels: int, per_sample: int, repeats: int = 1) -> np.ndarray:
        """Draw label counts with a long tail; some samples stay empty, labels come in neighbours."""
        made = np.zeros((samples, labels), dtype=np.int64)
        for row in made:
            topic = self.below(labels)
            for _ in range(self.below(2 * per_sample + 1)):
                label = min(self.below(labels), self.below(labels))
                row[(topic + label) % labels if self.below(2) else label] = 1 + self.below(repeats)
        return made

    def list(self, length: int, below: int) -> list[int]:
        """Draw a list of integers."""
        return [self.below(below) for _ in range(length)]


FEW = Numbers(1).counts(60, 5, 2)
REPEATED = Numbers(2).counts(80, 7, 2, repeats=4)
MANY = Numbers(3).counts(150, 40, 5)
MANY_REPEATED = Numbers(4).counts(120, 45, 5, repeats=3)


def _locked(samples: int, names: tuple[str, ...]) -> list[str | None]:
    drawn = Numbers(5).list(samples, 4 * len(names))
    return [names[j] if j < len(names) else None for j in drawn]


def _strata(samples: int) -> dict[str, list[float] | list[str]]:
    numbers = Numbers(6)
    return {
        "camera": ["abc"[j] for j in numbers.list(samples, 3)],
        "width": [j / 8 for j in numbers.list(samples, 1000)],  # more than ten different ones: sorted into bins
    }


def _groups(samples: int, groups: int) -> list[int]:
    return [j * j // groups for j in Numbers(7).list(samples, groups)]  # small numbers often: uneven groups


def _copies(rows: int) -> np.ndarray:
    return np.array([1 + j * j * j for j in Numbers(8).list(rows, 60)])  # up to 200,000: most are placed in bulk


def _histogram(rows: np.ndarray) -> LabelCounts:
    return LabelCounts(rows, copies=_copies(len(rows)))


# By name: what makes the split, given the number of threads.
CASES: dict[str, Callable[[int], Split]] = {
    "folds, few columns": lambda n_jobs: kfold(FEW, 4, n_jobs=n_jobs),
    "folds, many columns": lambda n_jobs: kfold(MANY, 3, n_jobs=n_jobs, seed=1),
    "ratios, few columns": lambda n_jobs: split(FEW, RATIOS, n_jobs=n_jobs, seed=2),
    "ratios, many columns": lambda n_jobs: split(MANY, RATIOS, n_jobs=n_jobs, seed=3),
    "small subset": lambda n_jobs: split(MANY, (142, 8), n_jobs=n_jobs, seed=4),
    "repeats, few columns": lambda n_jobs: kfold(REPEATED, 3, n_jobs=n_jobs, seed=5),
    "repeats, many columns": lambda n_jobs: split(MANY_REPEATED, RATIOS, n_jobs=n_jobs, seed=6),
    "not covered": lambda n_jobs: split(MANY_REPEATED, (100, 20), cover=False, n_jobs=n_jobs, seed=7),
    "the paper's objectives": lambda n_jobs: kfold(FEW, 3, objectives=("instances", "pairs"), n_jobs=n_jobs),
    "triplets": lambda n_jobs: kfold(FEW, 3, objectives=("samples", "pairs", "triplets"), n_jobs=n_jobs),
    "groups, few columns": lambda n_jobs: split(FEW, RATIOS, groups=_groups(60, 30), n_jobs=n_jobs),
    "groups, many columns": lambda n_jobs: kfold(MANY, 3, groups=_groups(150, 70), n_jobs=n_jobs),
    "few groups": lambda n_jobs: split(FEW, (40, 20), groups=_groups(60, 9), n_jobs=n_jobs),
    "locks": lambda n_jobs: split(MANY, RATIOS, locked=_locked(150, tuple(RATIOS)), n_jobs=n_jobs),
    "groups and locks": lambda n_jobs: split(
        REPEATED, RATIOS, groups=[i // 2 for i in range(80)], locked={"test": [4, 5]}, n_jobs=n_jobs
    ),
    "strata": lambda n_jobs: split(REPEATED, RATIOS, strata=_strata(80), n_jobs=n_jobs),
    "label weights": lambda n_jobs: kfold(
        LabelCounts(FEW, labels="abcde"), 3, label_weights={"a": 3.0, "c": 0.1}, n_jobs=n_jobs
    ),
    "several of each label": lambda n_jobs: split(REPEATED, RATIOS, min_per_label=3, n_jobs=n_jobs),
    "fast": lambda n_jobs: kfold(MANY_REPEATED, 4, effort="fast", n_jobs=n_jobs),
    "thorough": lambda n_jobs: kfold(FEW[:25], 2, effort="thorough", n_jobs=n_jobs),
    "a generator as the seed": lambda n_jobs: kfold(FEW, 3, seed=np.random.default_rng(8), n_jobs=n_jobs),
    "is": lambda n_jobs: kfold(REPEATED, 4, method="is", n_jobs=n_jobs),
    "is, ratios": lambda n_jobs: split(MANY, RATIOS, method="is", seed=9, n_jobs=n_jobs),
    "sois": lambda n_jobs: kfold(MANY, 4, method="sois", n_jobs=n_jobs),
    "sois, locks and strata": lambda n_jobs: split(
        MANY, RATIOS, method="sois", locked=_locked(150, tuple(RATIOS)), strata=_strata(150), n_jobs=n_jobs
    ),
    "random": lambda n_jobs: split(FEW, RATIOS, method="random", seed=10, n_jobs=n_jobs),
    "copies": lambda n_jobs: split(_histogram(MANY_REPEATED), RATIOS, n_jobs=n_jobs),
    "copies, locks": lambda n_jobs: kfold(
        _histogram(FEW), 4, locked=np.minimum(_copies(60)[:, None] // 9, 400) * np.eye(4, dtype=int)[1], n_jobs=n_jobs
    ),
    "random, copies": lambda n_jobs: split(_histogram(FEW), RATIOS, method="random", n_jobs=n_jobs),
    "random, groups": lambda n_jobs: split(FEW, RATIOS, method="random", groups=_groups(60, 30), n_jobs=n_jobs),
}
# Searches of these have all their work, as users' have; those of the others have a tenth of it.
WHOLE = {"folds, few columns", "ratios, many columns", "repeats, few columns", "groups, many columns", "fast", "copies"}
# These draw through numpy and pymoo, so their splits are the same only where the versions are.
PAPER_CASES: dict[str, Callable[[int], Split]] = {
    "ea-ld": lambda n_jobs: _as_published("ea-ld", n_jobs),
    "ea-lpd": lambda n_jobs: _as_published("ea-lpd", n_jobs),
    "nsga2": lambda n_jobs: _as_published("nsga2", n_jobs),
    "nsga2, three objectives": lambda n_jobs: _as_published(
        "nsga2", n_jobs, objectives=("samples", "instances", "pairs")
    ),
}


def _as_published(name: str, n_jobs: int, **options: Any) -> Split:
    method: Any = replace(resolve_method(name), patience=2)  # type: ignore[type-var]
    return kfold(REPEATED, 3, method=method, effort="fast", n_jobs=n_jobs, **options)


def hash_of(made: Split) -> str:
    """Hash the split, all the others of its front, and what each rule picks from it."""
    front = made.front
    assert front is not None
    parts = [made.placement, front.placements, np.array([made.pick(rule).chosen for rule in PICKS])]
    digest = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part, dtype="<i8")
        digest.update(f"{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]


def hashes(n_jobs: int = 1, cases: dict[str, Callable[[int], Split]] = CASES) -> dict[str, str]:
    """Make the splits and hash them."""
    made = {}
    for name, make in cases.items():
        with warnings.catch_warnings(), mock.patch.object(budget, "BASE", budget.BASE // (1 if name in WHOLE else 10)):
            warnings.simplefilter("ignore")
            made[name] = hash_of(make(n_jobs))
    return made


def kept() -> dict[str, str]:
    """Read the hashes that are kept."""
    found: dict[str, str] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def main() -> int:
    """Print, compare or keep the hashes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with those that are kept")
    what.add_argument("--write", action="store_true", help="keep them")
    parser.add_argument("--paper", action="store_true", help="the paper's methods, whose hashes are not kept")
    parser.add_argument("--n-jobs", type=int, default=1)
    arguments = parser.parse_args()
    made = hashes(arguments.n_jobs, PAPER_CASES if arguments.paper else CASES)
    text = json.dumps(made, indent=1) + "\n"
    if arguments.write:
        KEPT.write_text(text, encoding="utf-8")
    elif arguments.check:
        expected = kept()
        wrong = [name for name in {**made, **expected} if made.get(name) != expected.get(name)]
        sys.stdout.write("".join(f"{name}: differs\n" for name in wrong) or f"{len(made)} splits as kept\n")
        return 1 if wrong else 0
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

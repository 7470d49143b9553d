"""Splitters for scikit-learn: `EvoSplitKFold` and `EvoSplitShuffleSplit`, for anything that takes `cv=`.

>>> from sklearn.linear_model import RidgeClassifier
>>> from sklearn.datasets import make_multilabel_classification
>>> from sklearn.model_selection import cross_val_score
>>> from evosplit_plugins.sklearn_cv import EvoSplitKFold
>>> X, y = make_multilabel_classification(n_samples=60, random_state=0)
>>> len(cross_val_score(RidgeClassifier(), X, y, cv=EvoSplitKFold(3, effort="fast")))
3
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.constraints import is_missing
from evosplit.errors import needing
from evosplit.methods.base import Method
from evosplit.rng import Stream
from evosplit_plugins.request import ENGINE_OPTIONS

with needing("sklearn", "these splitters need scikit-learn", "sklearn"):
    from sklearn.model_selection import BaseCrossValidator
    from sklearn.utils import check_consistent_length

__all__ = ["EvoSplitKFold", "EvoSplitShuffleSplit"]

Indices = npt.NDArray[np.int64]
_OPTIONS = tuple(name for name in ENGINE_OPTIONS if name != "seed")


class _EvoSplitter(BaseCrossValidator):  # type: ignore[misc]  # scikit-learn publishes no types
    """What both splitters share: labels and groups from what scikit-learn passes on, options, seeds."""

    # scikit-learn's metadata routing: `groups` are asked for unless set_split_request says otherwise.
    __metadata_request__split = {"groups": True}  # noqa: RUF012  # scikit-learn reads it from the class

    n_splits: int
    random_state: Any

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: N803
        """Return the number of (train, test) pairs.

        Parameters
        ----------
        X, y, groups
            Not used; there for scikit-learn.
        """
        return self.n_splits

    def _keep_options(self, given: Mapping[str, Any]) -> None:
        """Keep those arguments of `__init__` that the engine takes, under their names."""
        for name in _OPTIONS:
            setattr(self, name, given[name])

    def _options(self) -> dict[str, Any]:
        """Collect the keyword arguments of the engine."""
        return {name: getattr(self, name) for name in _OPTIONS}

    def _read(self, X: Any, y: Any, groups: Any) -> tuple[LabelCounts, dict[str, Any]]:  # noqa: N803
        """Check what was passed to `split`; give the counts and the constraints."""
        if y is None:
            raise EvoSplitError(f"{type(self).__name__}.split needs the labels: pass y, as split(X, y)")
        check_consistent_length(X, y, groups)
        return _counts(y), {} if groups is None else {"groups": _groups(groups)}

    def _seeds(self) -> Iterator[int | None]:
        """Give one seed after the other; those of an integer are the same each time."""
        state = self.random_state
        if state is None:
            while True:
                yield None
        if isinstance(state, (int, np.integer)):
            yield int(state)
            stream = Stream.from_seed(int(state))
            while True:
                yield stream.draw()
        while True:
            if isinstance(state, np.random.Generator):
                yield Stream.from_seed(state).draw()
            else:
                yield int(state.randint(2**31 - 1))


class EvoSplitKFold(_EvoSplitter):
    """Cross-validation in folds that have the same labels, label counts and label pairs, at equal sizes.

    Each sample is in the test set of exactly one fold; without groups the folds are of equal size, within one.

    Parameters
    ----------
    n_splits
        Number of folds, at least 2.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs
        As in `evosplit.kfold`. The names for `label_weights` are the classes of a one-dimensional y, the columns of a
        DataFrame, or the column numbers, as strings.
    random_state
        An integer (the same folds at every call), None (others at every call), or a numpy `RandomState` or
        `Generator` (drawn from at every call).

    Notes
    -----
    `y` may be one class per sample (strings, integers, booleans), or a matrix with one column per label: multi-hot
    or counts, as an array, a scipy sparse matrix, a pandas DataFrame, or an `evosplit.LabelCounts`. What the classes
    are called makes no difference.

    Samples with equal `groups` are in the same fold; fold sizes then are as close as the groups allow. With
    metadata routing, groups are requested by default; `set_split_request(groups=False)` switches that off.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((9, 1)), ["cat", "cat", "cat", "dog", "dog", "dog", "fox", "fox", "fox"]
    >>> for train, test in EvoSplitKFold(3).split(X, y):
    ...     print(sorted(y[i] for i in test))
    ['cat', 'dog', 'fox']
    ['cat', 'dog', 'fox']
    ['cat', 'dog', 'fox']
    >>> EvoSplitKFold(3, effort="fast").get_n_splits()
    3
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        method: str | Method = "evosplit",
        objectives: Sequence[str] | None = None,
        cover: bool | str = True,
        min_per_label: int = 1,
        label_weights: Mapping[str, float] | None = None,
        pick: str | int = "balanced",
        effort: str = "normal",
        time_limit: float | None = None,
        n_jobs: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_splits = _checked_number("n_splits", n_splits, at_least=2)
        self.random_state = _checked_state(random_state)
        self._keep_options(locals())

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: N803
        """Yield (train, test) positions, one pair for each fold.

        Parameters
        ----------
        X
            The samples; only their number matters.
        y
            The labels, see above.
        groups
            One value per sample; samples with the same value stay together, None stands alone.
        """
        yield from self.make_split(X, y, groups).folds()

    def make_split(self, X: Any, y: Any, groups: Any = None) -> Split:  # noqa: N803
        """Return the folds as an `evosplit.Split`, with its measures, its report and `save`.

        Examples
        --------
        >>> made = EvoSplitKFold(2, effort="fast").make_split([[0], [1], [2], [3]], ["a", "a", "b", "b"])
        >>> made.sizes, made.measures.ld
        ((2, 2), 0.0)
        """
        counts, constraints = self._read(X, y, groups)
        return evosplit.kfold(counts, self.n_splits, seed=next(self._seeds()), **constraints, **self._options())


class EvoSplitShuffleSplit(_EvoSplitter):
    """Repeated train and test sets that have the same labels, label counts and label pairs, at exact sizes.

    Each repetition is a search with its own seed; test sets of different repetitions may overlap.

    Parameters
    ----------
    n_splits
        Number of repetitions.
    test_size, train_size
        A fraction, or a number of samples. If one is given, the other set gets the rest; if none is, a tenth is for
        testing. Samples that neither of two sizes claims are in no set.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs, random_state
        As in `EvoSplitKFold`.

    Notes
    -----
    `y` and `groups` are as in `EvoSplitKFold`. With groups the sizes are as close as the groups allow.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((8, 1)), [0, 0, 0, 0, 1, 1, 1, 1]
    >>> splitter = EvoSplitShuffleSplit(2, test_size=0.25, effort="fast")
    >>> [(len(train), sorted(y[i] for i in test)) for train, test in splitter.split(X, y)]
    [(6, [0, 1]), (6, [0, 1])]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | int | None = None,
        train_size: float | int | None = None,
        method: str | Method = "evosplit",
        objectives: Sequence[str] | None = None,
        cover: bool | str = True,
        min_per_label: int = 1,
        label_weights: Mapping[str, float] | None = None,
        pick: str | int = "balanced",
        effort: str = "normal",
        time_limit: float | None = None,
        n_jobs: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_splits = _checked_number("n_splits", n_splits, at_least=1)
        self.test_size = _checked_size("test_size", test_size)
        self.train_size = _checked_size("train_size", train_size)
        self.random_state = _checked_state(random_state)
        self._keep_options(locals())

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:  # noqa: N803
        """Yield (train, test) positions, one pair for each repetition.

        Parameters
        ----------
        X
            The samples; only their number matters.
        y
            The labels, see `EvoSplitKFold`.
        groups
            One value per sample; samples with the same value stay together, None stands alone.
        """
        counts, constraints = self._read(X, y, groups)
        sizes = self._sizes(counts.n_samples)
        for _, seed in zip(range(self.n_splits), self._seeds(), strict=False):
            made = evosplit.split(counts, sizes, seed=seed, **constraints, **self._options())
            yield made.indices("train"), made.indices("test")

    def _sizes(self, n: int) -> dict[str, int]:
        """Turn what was asked for into numbers of samples, rounded as scikit-learn rounds."""
        test, train = self.test_size, self.train_size
        if test is None and train is None:
            test = 0.1
        n_test = None if test is None else math.ceil(test * n) if isinstance(test, float) else test
        n_train = None if train is None else math.floor(train * n) if isinstance(train, float) else train
        n_test = n - (n_train or 0) if n_test is None else n_test
        n_train = n - n_test if n_train is None else n_train
        if n_train < 1 or n_test < 1 or n_train + n_test > n:
            raise EvoSplitError(
                f"test_size={self.test_size} and train_size={self.train_size} ask for {n_test} and {n_train} of "
                f"{n} samples; both sets need at least one, and together they cannot have more than there are"
            )
        sizes = {"train": n_train, "test": n_test, "unused": n - n_train - n_test}
        return {name: size for name, size in sizes.items() if size}


def _counts(y: Any) -> LabelCounts:
    """Count labels in what scikit-learn takes for `y`."""
    if isinstance(y, LabelCounts):
        return y
    if sp.issparse(y):
        return LabelCounts(y)
    labels = list(y.columns) if hasattr(y, "columns") else None
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise EvoSplitError(f"y is ragged ({error}); for lists of labels pass LabelCounts.from_lists(y)") from error
    if array.ndim == 2 and array.shape[1] != 1:
        return LabelCounts(array, labels=labels)
    if array.ndim > 2:
        raise EvoSplitError(f"y has {array.ndim} dimensions; expected one class per sample, or samples x labels")
    return _one_hot(array.reshape(-1).tolist())


def _one_hot(classes: list[Any]) -> LabelCounts:
    """Make a label of each class, in order of occurrence, so that renaming the classes changes no split."""
    for position, value in enumerate(classes):
        if is_missing(value):
            raise EvoSplitError(f"y[{position}] is {value}; every sample needs a class, give it one or leave it out")
        if isinstance(value, float) and not value.is_integer():
            raise EvoSplitError(
                f"y[{position}] is {value}; classes are integers or strings: cut continuous values into bins first, "
                "for example with numpy.digitize"
            )
    found: dict[Any, int] = {}
    columns = np.array([found.setdefault(value, len(found)) for value in classes], dtype=np.int32)
    ones = np.ones(len(columns), dtype=np.int32)
    matrix = sp.csr_array((ones, columns, np.arange(len(columns) + 1)), shape=(len(columns), len(found)))
    return LabelCounts(matrix, labels=found)


def _groups(groups: Any) -> list[int | None]:
    """Replace the groups by numbers, whatever their values are; a missing value stands alone."""
    found: dict[Any, int] = {}
    values = np.asarray(groups, dtype=object).reshape(-1).tolist()
    return [None if is_missing(value) else found.setdefault(value, len(found)) for value in values]


def _checked_number(name: str, value: Any, *, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise EvoSplitError(f"{name}={value!r} is not possible; give an integer of at least {at_least}")
    return int(value)


def _checked_size(name: str, value: Any) -> float | int | None:
    if value is None:
        return None
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value > 0:
        return int(value)
    if isinstance(value, (float, np.floating)) and 0 < value < 1:
        return float(value)
    raise EvoSplitError(
        f"{name}={value!r} is no size; give a fraction between 0 and 1, or a positive number of samples"
    )


def _checked_state(state: Any) -> Any:
    whole = isinstance(state, (int, np.integer)) and not isinstance(state, bool) and state >= 0
    if state is None or whole or isinstance(state, (np.random.RandomState, np.random.Generator)):
        return state
    raise EvoSplitError(
        f"random_state={state!r} is no seed; give a non-negative integer, None, or a numpy RandomState or Generator"
    )

"""The splitters for scikit-learn, inside scikit-learn: its laws for splitters, its searches, its routing."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins import sklearn_cv
from evosplit_plugins.options import options_of
from evosplit_plugins.request import ENGINE_OPTIONS, Request
from evosplit_plugins.sklearn_cv import EvoSplitKFold, EvoSplitShuffleSplit

RNG = np.random.default_rng(0)
MULTI_HOT = (RNG.random((40, 4)) < (0.6, 0.3, 0.2, 0.1)).astype(int)
COUNTS = MULTI_HOT * RNG.integers(1, 5, MULTI_HOT.shape)
NAMES = np.array(["cat", "dog", "fox"])[RNG.integers(0, 3, 40)]
KINDS = {
    "multi-hot": MULTI_HOT,
    "multi-hot of booleans": MULTI_HOT.astype(bool),
    "multi-hot of floats": MULTI_HOT.astype(float),
    "nested lists": MULTI_HOT.tolist(),
    "counts": COUNTS,
    "sparse array": sp.csr_array(COUNTS),
    "sparse matrix": sp.coo_matrix(COUNTS),
    "DataFrame": pd.DataFrame(COUNTS, columns=list("wxyz"), index=[7] * 40),
    "LabelCounts": LabelCounts(COUNTS),
    "strings": NAMES,
    "list of strings": NAMES.tolist(),
    "Series": pd.Series(NAMES, index=[7] * 40),
    "categories": pd.Series(pd.Categorical(NAMES)),
    "column of strings": NAMES.reshape(-1, 1),
    "integers": RNG.integers(0, 3, 40),
    "whole floats": RNG.integers(0, 3, 40).astype(float),
    "booleans": RNG.random(40) < 0.3,
}


def check_folds(pairs, n, n_splits):
    """Check the laws of k-fold splitters: disjoint, complete, each sample tested once, sizes within one."""
    assert len(pairs) == n_splits
    for train, test in pairs:
        assert train.dtype.kind == test.dtype.kind == "i"
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in pairs])), np.arange(n))
    sizes = [len(test) for _, test in pairs]
    assert max(sizes) - min(sizes) <= 1


def same(one, two):
    """Tell whether two lists of (train, test) are the same."""
    return all(
        np.array_equal(a, b) for left, right in zip(one, two, strict=True) for a, b in zip(left, right, strict=True)
    )


# Laws


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_labels(kind):
    """Folds and shuffled sets obey the laws of splitters for every kind of y, and repeat."""
    y, samples = KINDS[kind], np.zeros((40, 2))
    folds = EvoSplitKFold(3, effort="fast")
    pairs = list(folds.split(samples, y))
    check_folds(pairs, 40, folds.get_n_splits(samples, y))
    assert same(pairs, folds.split(samples, y))
    shuffled = EvoSplitShuffleSplit(2, test_size=0.25, effort="fast")
    pairs = list(shuffled.split(samples, y))
    assert len(pairs) == shuffled.get_n_splits() == 2
    for train, test in pairs:
        assert len(test) == 10
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(40))
    assert same(pairs, shuffled.split(samples, y))


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 6), st.integers(6, 30), st.integers(0, 5), st.integers(0, 2**20))
def test_folds_obey_the_laws_for_any_labels(n_splits, n, n_labels, seed):
    """Whatever the labels, every sample is tested once, in folds of equal size."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.ones((n, 1), int), rng.poisson(0.5, (n, n_labels + 1))], axis=1)
    check_folds(list(EvoSplitKFold(n_splits, effort="fast", random_state=seed).split(np.zeros(n), y)), n, n_splits)


def test_the_folds_are_those_of_the_engine():
    """The same seed gives what `evosplit.kfold` gives, and the Split can be had."""
    made = EvoSplitKFold(4, random_state=3, effort="fast").make_split(None, COUNTS)
    assert np.array_equal(made.assignment, evosplit.kfold(COUNTS, 4, seed=3, effort="fast").assignment)
    tests = [test for _, test in EvoSplitKFold(4, random_state=3, effort="fast").split(COUNTS, COUNTS)]
    assert all(np.array_equal(test, made.indices(name)) for test, name in zip(tests, made.names, strict=True))
    assert LabelCounts(COUNTS).has_repeats
    assert made.settings["objectives"] == ["samples", "instances", "pairs"]


def test_names_of_classes_make_no_difference():
    """Renaming the classes changes no index, as scikit-learn asks of stratified splitters."""
    samples = np.zeros((40, 1))
    renamed = np.select([NAMES == "cat", NAMES == "dog"], ["zebra", "ant"], "bee")
    numbered = np.select([NAMES == "cat", NAMES == "dog"], [7, -1], 3)
    splitter = EvoSplitKFold(4, effort="fast")
    pairs = list(splitter.split(samples, NAMES))
    assert same(pairs, splitter.split(samples, renamed))
    assert same(pairs, splitter.split(samples, numbered))


@pytest.mark.parametrize("splitter", [EvoSplitKFold, EvoSplitShuffleSplit])
def test_options_are_those_of_every_adapter(splitter):
    """They have the names and defaults that a request has, but for the seed, which scikit-learn calls random_state."""
    taken = inspect.signature(splitter).parameters
    asked = {each.name: each.default for each in options_of(Request) if each.name in ENGINE_OPTIONS}
    assert {name: taken["random_state" if name == "seed" else name].default for name in asked} == asked


def test_options_reach_the_engine():
    """Method, objectives, weights and the rest are those of `evosplit.kfold`."""
    splitter = EvoSplitKFold(2, method="random", objectives=["pairs"], cover=False, pick="origin", effort="fast")
    settings = splitter.make_split(None, MULTI_HOT).settings
    assert settings["method"] == "random"
    assert settings["objectives"] == ["pairs"]
    assert (settings["cover"], settings["pick"], settings["effort"]) == (False, "origin", "fast")
    with pytest.raises(EvoSplitError, match="method='magic' is unknown"):
        EvoSplitKFold(2, method="magic").make_split(None, MULTI_HOT)


def test_weights_and_minimum_per_label():
    """`label_weights` names classes or columns, `min_per_label` asks for more than one sample of each label."""
    frame = pd.DataFrame(MULTI_HOT, columns=["a", "b", "c", "rare"])
    made = EvoSplitKFold(2, effort="fast", label_weights={"rare": 5.0}, min_per_label=2).make_split(None, frame)
    assert made.constraints.min_per_label == 2
    assert (made.counts.matrix.toarray()[:, 3][made.assignment == 0]).sum() >= 2
    with pytest.raises(EvoSplitError, match="wolf"):
        EvoSplitKFold(2, effort="fast", label_weights={"wolf": 5.0}).make_split(None, NAMES)


# Quality


@pytest.mark.parametrize("n_splits", [2, 3, 5, 10])
@pytest.mark.parametrize("n", [37, 150, 501])
def test_never_worse_than_stratified_k_fold(n, n_splits):
    """On one class per sample no fold is further from its share of a class than with StratifiedKFold."""
    y = np.random.default_rng(n).choice(5, n, p=[0.5, 0.25, 0.13, 0.07, 0.05])
    y[: 2 * n_splits] = np.arange(2 * n_splits) % 2  # StratifiedKFold warns about classes smaller than n_splits
    y = np.where(np.isin(y, np.flatnonzero(np.bincount(y) < n_splits)), 0, y)

    def off(splitter):
        shares = [np.bincount(y[test], minlength=5) - np.bincount(y, minlength=5) / n_splits for _, test in splitter]
        return np.abs(shares)

    ours = off(EvoSplitKFold(n_splits, effort="fast").split(np.zeros(n), y))
    theirs = off(StratifiedKFold(n_splits, shuffle=True, random_state=0).split(np.zeros(n), y))
    assert ours.max() < 1  # each class is shared out to within one sample
    assert ours.sum() <= theirs.sum() + 1e-9


def test_better_than_stratified_group_k_fold():
    """With groups, sizes and classes are closer to their shares than with StratifiedGroupKFold, over several draws."""

    def judged(splitter, seed):
        rng = np.random.default_rng(seed)
        groups = np.sort(rng.choice(60, 600, p=rng.dirichlet(np.full(60, 5.0))))
        favourite = rng.integers(0, 4, 60)
        y = np.where(rng.random(600) < 0.6, favourite[groups], rng.integers(0, 4, 600))
        assignment = np.empty(600, dtype=int)
        for fold, (train, test) in enumerate(splitter.split(np.zeros(600), y, groups)):
            assert not set(groups[train]) & set(groups[test])
            assignment[test] = fold
        measures = evosplit.measure(np.eye(4, dtype=int)[y], assignment, [120] * 5)
        return measures.ed, measures.ld

    ours = np.sum([judged(EvoSplitKFold(5), seed) for seed in range(3)], axis=0)
    theirs = np.sum([judged(StratifiedGroupKFold(5), seed) for seed in range(3)], axis=0)
    assert ours[0] <= theirs[0]
    assert ours[1] < theirs[1]


# Inside scikit-learn


def data(n=80):
    """Make a small multi-label problem."""
    return make_multilabel_classification(n_samples=n, n_features=5, n_classes=4, random_state=0)


@pytest.mark.parametrize("splitter", [EvoSplitKFold(3, effort="fast"), EvoSplitShuffleSplit(3, effort="fast")])
def test_in_cross_validation_and_grid_search(splitter):
    """Both splitters work as `cv=` of cross_val_score, cross_validate and GridSearchCV."""
    samples, y = data()
    model = KNeighborsClassifier()
    scores = cross_val_score(model, samples, y, cv=splitter)
    assert scores.shape == (3,)
    told = cross_validate(model, samples, y, cv=splitter, return_indices=True)
    assert same(zip(told["indices"]["train"], told["indices"]["test"], strict=True), splitter.split(samples, y))
    search = GridSearchCV(model, {"n_neighbors": [1, 5]}, cv=splitter).fit(samples, y)
    assert search.n_splits_ == 3
    assert search.cv_results_["split2_test_score"].shape == (2,)


def test_groups_without_routing():
    """`groups=` of scikit-learn's functions reaches the splitter, and groups stay whole."""
    samples, y = data()
    groups = np.arange(80) // 4
    splitter = EvoSplitKFold(4, effort="fast")
    with config_context(enable_metadata_routing=False):
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}, cv=splitter).fit(samples, y, groups=groups)
    assert search.n_splits_ == 4
    for train, test in splitter.split(samples, y, groups):
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == 20


def test_groups_are_routed():
    """With metadata routing, groups go to the splitter by default, and not when it does not ask for them."""
    samples, y = data()
    groups = np.array([f"patient {i // 4}" for i in range(80)])
    with config_context(enable_metadata_routing=True):
        splitter = EvoSplitKFold(4, effort="fast")
        assert splitter.get_metadata_routing().split.requests == {"groups": True}
        told = cross_validate(
            KNeighborsClassifier(), samples, y, cv=splitter, params={"groups": groups}, return_indices=True
        )
        for train, test in zip(told["indices"]["train"], told["indices"]["test"], strict=True):
            assert not set(groups[train]) & set(groups[test])
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}, cv=splitter).fit(samples, y, groups=groups)
        assert search.n_splits_ == 4
        renamed = EvoSplitShuffleSplit(2, effort="fast").set_split_request(groups="patients")
        told = cross_validate(
            KNeighborsClassifier(), samples, y, cv=renamed, params={"patients": groups}, return_indices=True
        )
        assert not set(groups[told["indices"]["train"][0]]) & set(groups[told["indices"]["test"][0]])
        deaf = EvoSplitKFold(4, effort="fast").set_split_request(groups=False)
        with pytest.raises(TypeError, match="groups"):
            cross_validate(KNeighborsClassifier(), samples, y, cv=deaf, params={"groups": groups})


@pytest.mark.parametrize(
    "groups",
    [
        [i // 2 for i in range(40)],
        [f"g{i // 2}" for i in range(40)],
        np.repeat(np.arange(20) / 7, 2),
        pd.Series(np.repeat(np.arange(20), 2), index=[3] * 40),
        pd.Series(np.repeat(np.arange(20), 2), dtype="Int64"),
    ],
    ids=["integers", "strings", "floats", "Series", "nullable Series"],
)
def test_groups_of_any_type(groups):
    """Groups are told apart by their values, of whatever type."""
    for train, test in EvoSplitKFold(4, effort="fast").split(np.zeros(40), NAMES, groups):
        assert len(test) == 10
        assert set(np.asarray(test) // 2).isdisjoint(np.asarray(train) // 2)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_group_stands_alone(missing):
    """Samples without a group are samples on their own, not one big group."""
    groups = pd.Series([missing] * 38 + ["a", "a"], dtype=object)
    pairs = list(EvoSplitKFold(4, effort="fast").split(np.zeros(40), NAMES, groups))
    check_folds(pairs, 40, 4)
    assert sum({38, 39} <= set(test.tolist()) for _, test in pairs) == 1


def test_like_other_splitters():
    """They print, copy, pickle and clone as scikit-learn's own do."""
    splitter = EvoSplitShuffleSplit(3, test_size=0.3, random_state=4)
    assert repr(splitter).startswith("EvoSplitShuffleSplit(")
    for word in ("n_splits=3", "test_size=0.3", "train_size=None", "random_state=4", "effort='normal'"):
        assert word in repr(splitter)
    assert "n_splits=5" in repr(EvoSplitKFold())
    for other in (copy.deepcopy(splitter), pickle.loads(pickle.dumps(splitter)), clone(splitter, safe=False)):
        assert repr(other) == repr(splitter)


# Seeds and sizes


def test_random_states():
    """An integer repeats, None does not, a RandomState or Generator is drawn from."""
    samples = np.zeros((40, 1))

    def made(state):
        return list(EvoSplitKFold(4, effort="fast", random_state=state).split(samples, NAMES))

    assert same(made(1), made(1))
    assert not same(made(1), made(2))
    assert not same(made(None), made(None))
    for kind in (np.random.RandomState, np.random.default_rng):
        assert same(made(kind(5)), made(kind(5)))
        state = kind(5)
        assert not same(made(state), made(state))


def test_repetitions_differ():
    """Each repetition is another split, the first of which is that of the seed itself."""
    splitter = EvoSplitShuffleSplit(4, test_size=0.5, random_state=9, effort="fast")
    tests = [tuple(test) for _, test in splitter.split(np.zeros(40), NAMES)]
    assert len(set(tests)) == 4
    first = evosplit.split(pd.get_dummies(NAMES).to_numpy(), {"train": 20, "test": 20}, seed=9, effort="fast")
    assert len(tests[0]) == first.sizes[1]


@pytest.mark.parametrize("n", [13, 33, 40])
@pytest.mark.parametrize(
    ("test_size", "train_size"),
    [(None, None), (0.25, None), (None, 0.7), (0.3, 0.5), (7, None), (None, 7), (4, 5), (0.33, 5)],
)
def test_sizes_are_rounded_as_in_scikit_learn(n, test_size, train_size):
    """Fractions and numbers mean what they mean in StratifiedShuffleSplit; what nobody claims is in no set."""
    y = np.arange(n) % 2
    options = {"test_size": test_size, "train_size": train_size, "random_state": 0}
    (ours,) = EvoSplitShuffleSplit(1, **options, effort="fast").split(np.zeros(n), y)
    (theirs,) = StratifiedShuffleSplit(1, **options).split(np.zeros(n), y)
    assert list(map(len, ours)) == list(map(len, theirs))
    assert len(np.unique(np.concatenate(ours))) == sum(map(len, ours))


# Errors


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: EvoSplitKFold(1), "n_splits=1 is not possible; give an integer of at least 2"),
        (lambda: EvoSplitKFold(2.0), "n_splits=2.0"),
        (lambda: EvoSplitKFold(True), "n_splits=True"),
        (lambda: EvoSplitShuffleSplit(0), "n_splits=0 is not possible; give an integer of at least 1"),
        (lambda: EvoSplitShuffleSplit(test_size=1.0), "test_size=1.0 is no size; give a fraction between 0 and 1"),
        (lambda: EvoSplitShuffleSplit(train_size=0), "train_size=0"),
        (lambda: EvoSplitShuffleSplit(test_size="a"), "test_size='a'"),
        (lambda: EvoSplitKFold(random_state=-1), "random_state=-1 is no seed; give a non-negative integer"),
        (lambda: EvoSplitKFold(random_state="x"), "random_state='x'"),
    ],
)
def test_parameters_that_make_no_sense(make, match):
    """A wrong parameter is refused where it is given, with what is right."""
    with pytest.raises(EvoSplitError, match=match):
        make()


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (None, "EvoSplitKFold.split needs the labels: pass y"),
        ([0.5, 1.5, 0.2], r"y\[0\] is 0.5; .* cut continuous values into bins"),
        (["a", None, "b"], r"y\[1\] is None; every sample needs a class"),
        ([1.0, float("nan"), 1.0], r"y\[1\] is nan; every sample needs a class"),
        ([["a"], ["a", "b"], []], r"y is ragged .* LabelCounts.from_lists\(y\)"),
        ([[1, 0], [0, -1], [0, 0]], r"counts\[1, 1\] is -1"),
        (np.zeros((3, 2, 2)), "y has 3 dimensions"),
    ],
)
def test_labels_that_make_no_sense(y, match):
    """Labels that cannot be counted are refused with their place."""
    with pytest.raises(EvoSplitError, match=match):
        list(EvoSplitKFold(2).split(np.zeros(3), y))


def test_lengths_that_do_not_fit():
    """Samples, y and groups of different length are refused, and so are sizes beyond the samples."""
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(EvoSplitKFold(2).split(np.zeros(4), [0, 1, 0]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(EvoSplitKFold(2).split(np.zeros(3), [0, 1, 0], [1, 2]))
    with pytest.raises(EvoSplitError, match="n_splits=5 is too many for 3 samples"):
        list(EvoSplitKFold(5).split(np.zeros(3), [0, 1, 0]))
    with pytest.raises(EvoSplitError, match="ask for 3 and 2 of 4 samples"):
        list(EvoSplitShuffleSplit(test_size=3, train_size=2).split(np.zeros(4), [0, 1, 0, 1]))


# Manners


def test_no_private_imports():
    """Nothing is imported from scikit-learn but public names."""
    source = Path(sklearn_cv.__file__).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sklearn"):
            parts = [*node.module.split("."), *(alias.name for alias in node.names)]
            assert not [part for part in parts if part.startswith("_")]


def test_a_missing_scikit_learn_names_its_install_line():
    """Without scikit-learn the import says what to install."""
    program = "import sys; sys.modules['sklearn'] = None; import evosplit_plugins.sklearn_cv"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert 'pip install "evosplit-plugins[sklearn]"' in ran.stderr


def test_named_at_the_top():
    """The splitters can be had from `evosplit_plugins` itself."""
    import evosplit_plugins

    assert evosplit_plugins.EvoSplitKFold is EvoSplitKFold
    assert evosplit_plugins.EvoSplitShuffleSplit is EvoSplitShuffleSplit

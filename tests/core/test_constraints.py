"""What the user asks a split to respect: how it is read, what is refused, and what it leaves possible."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import conditions_for, count_matrices, sizes_for

from evosplit import EvoSplitError, LabelCounts
from evosplit.constraints import Constraints, resolve_constraints, sizes_around_locks
from evosplit.ratios import Subsets

COUNTS = LabelCounts([[1, 0], [0, 2], [1, 1], [0, 0]], ids=["a", "b", "c", "d"], labels=["cat", "dog"])
SUBSETS = Subsets(("train", "test"), (3, 1))


def resolve(**asked):
    """Read constraints on the small set."""
    return resolve_constraints(COUNTS, SUBSETS, **asked)


def stratum_of(values):
    """Read one stratum: its categories, and for each sample the one it has."""
    counts = LabelCounts(np.ones((len(values), 1)))
    made = resolve_constraints(counts, Subsets(("a", "b"), (1, len(values) - 1)), strata={"column": values})
    dense = made.strata[0].counts.matrix.toarray()
    assert (dense.sum(axis=1) == 1).all()
    names = list(made.strata[0].counts.labels)
    return names, [names[i] for i in dense.argmax(axis=1)]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"locked": {}},
        {"locked": {"test": []}},
        {"locked": [None] * 4},
        {"strata": {}},
        {"label_weights": {"cat": 1}},
        {"min_per_label": 1},
    ],
    ids=str,
)
def test_nothing_asked(asked):
    """Where nothing is asked for there are no constraints."""
    assert resolve(**asked) is None


# --- groups


def test_groups():
    """Groups are numbered as they occur; None and NaN are samples on their own; 1, "1" and True are three names."""
    made = resolve(groups=["x", None, "x", np.nan]).groups
    assert made.names == ("x", None, None)
    assert made.code_of_sample.tolist() == [0, 1, 0, 2]
    assert made.sizes.tolist() == [2, 1, 1]
    assert len(made) == 3
    assert resolve(groups=pd.Series([1, None, 1, None], dtype="Int64")).groups.names == (1, None, None)
    assert resolve(groups=[1, "1", True, 1]).groups.code_of_sample.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "groups",
    [
        np.array([5, 5, 7, 5]),
        (5, 5, 7, 5),
        pd.Series([5, 5, 7, 5]),
        iter(["y", "y", "x", "y"]),
        np.array(["y", "y", "x", "y"]),
        [("v", 1), ("v", 1), ("v", 2), ("v", 1)],
        [np.int64(5), 5, np.int32(7), np.int32(5)],
        ["y", np.str_("y"), "x", "y"],
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_forms_of_groups(groups):
    """Arrays, sequences, columns and iterators of any hashable values are groups; numpy's scalars equal Python's."""
    assert resolve(groups=groups).groups.code_of_sample.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], r"groups has 3 values for 4 samples; pass one per sample \(None: on its own\)"),
        ("abcd", "groups='abcd' is a string; pass one value per sample"),
        ([1, 1, ["x"], 2], r"groups\[2\] is \['x'\], which cannot name a group; use strings or integers"),
    ],
)
def test_bad_groups(groups, message):
    """Groups that do not fit the samples are refused."""
    with pytest.raises(EvoSplitError, match=message):
        resolve(groups=groups)


# --- locks


@pytest.mark.parametrize(
    "locked",
    [
        {"test": ["c"], "train": ["a", "a"]},
        {"train": ("a",), "test": iter(["c"])},
        {"train": {"a"}, "test": np.array(["c"])},
        ["train", None, "test", None],
        ("train", np.nan, "test", None),
        pd.Series(["train", None, "test", None], dtype="string"),
        np.array(["train", None, "test", None], dtype=object),
        pd.Series(["train", None, "test", None]),
    ],
    ids=["lists", "iterators", "sets", "texts", "a-tuple", "a-text-column", "an-array", "a-column"],
)
def test_forms_of_locks(locked):
    """Locks are ids by subset, or one subset name or None for each sample."""
    made = resolve(locked=locked)
    assert made.locked.tolist() == [0, -1, 1, -1]
    assert made.n_locked == 2


def test_companions_are_locked():
    """A locked sample takes its group along; samples on their own stay free."""
    made = resolve(groups=["x", "x", None, None], locked={"test": ["b"]})
    assert made.locked.tolist() == [1, 1, -1, -1]
    assert made.n_locked == 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"locked": {"test": ["z", "a", "y"]}},
            r"locked\['test'\] names 2 ids that the data set .*\('z', 'y'\); leave",
        ),
        ({"locked": {"test": list("pqrst")}}, r"names 5 ids that .* does not have \('p', 'q', 'r' and 2 more\)"),
        ({"locked": {"train": ["a"], "test": ["b", "a"]}}, "1 sample is locked into 'test' and into another.*: 'a'"),
        ({"locked": {"val": ["a"]}}, "locked names the subset 'val'; the subsets are 'train', 'test'"),
        ({"locked": {"test": "abc"}}, r"locked\['test'\] is 'abc'; pass the ids of the samples that stay there"),
        ({"locked": {"test": 3}}, r"locked\['test'\] is 3; pass the ids"),
        ({"locked": {"test": [["a"]]}}, r"locked\['test'\] names 1 id that the data set does not have \(\['a'\]\)"),
        ({"locked": ["train", None]}, "locked has 2 entries for 4 samples; pass a subset name or None for each"),
        ({"locked": "test"}, "locked is 'test' for 4 samples; pass a subset name or None"),
        ({"locked": 7}, "locked is 7 for 4 samples; pass a subset name or None for each, or {subset name: ids}"),
        ({"locked": [None, "val", None, None]}, r"locked\[1\] is 'val'; the subsets are 'train', 'test'"),
        ({"locked": [None, ["test"], None, None]}, r"locked\[1\] is \['test'\]; the subsets are 'train', 'test'"),
        (
            {"groups": ["x", "x", "y", "y"], "locked": {"train": ["a", "c"], "test": ["b", "d"]}},
            r"2 groups are locked into more than one subset \('x', 'y'; the first into 'train' and 'test'\); unlock",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_locks(asked, message):
    """Locks that name what is not there, or the same sample or group twice, are refused with the offenders."""
    with pytest.raises(EvoSplitError, match=message):
        resolve(**asked)


@given(st.integers(2, 40).flatmap(sizes_for), st.data())
def test_sizes_around_locks(sizes, data):
    """The aims sum to the whole, hold what is locked, and are those asked for where nothing is overfull."""
    held, left = [], sum(sizes)
    for _ in sizes:
        held.append(data.draw(st.integers(0, left)))
        left -= held[-1]
    aims = sizes_around_locks(sizes, held)
    assert sum(aims) == sum(sizes)
    assert all(aim >= n for aim, n in zip(aims, held, strict=True))
    overfull = [n > size for n, size in zip(held, sizes, strict=True)]
    if not any(overfull):
        assert list(aims) == sizes
    for aim, size, n, full in zip(aims, sizes, held, overfull, strict=True):
        assert aim == n if full else aim <= size


def test_sizes_around_locks_share_the_rest():
    """Others give in proportion to what they should have; one that is then overfull gives no more."""
    assert sizes_around_locks((60, 30, 10), (0, 0, 40)) == (40, 20, 40)
    assert sizes_around_locks((60, 30, 10), (0, 28, 40)) == (32, 28, 40)
    assert sizes_around_locks((1, 1, 2), (0, 0, 4)) == (0, 0, 4)


# --- strata


def test_categories():
    """Texts, booleans and few numbers are categories; None and NaN are one of their own."""
    assert stratum_of(["wet", "dry", None, "wet"]) == (["dry", "missing", "wet"], ["wet", "dry", "missing", "wet"])
    assert stratum_of([True, False, True, True])[0] == ["False", "True"]
    assert stratum_of([3, 1.5, np.nan, 3]) == (["1.5", "3", "missing"], ["3", "1.5", "missing", "3"])
    assert stratum_of(np.arange(10))[0] == [str(i) for i in range(10)]
    assert stratum_of(np.array(["a", "b", "a"]))[1] == ["a", "b", "a"]


def test_quantile_bins():
    """More than ten different numbers fall into five bins of about equal frequency, named by their limits."""
    names, of_sample = stratum_of([float(i) for i in range(100)])
    assert names == ["up to 19", "19 to 39", "39 to 59", "59 to 79", "over 79"]
    assert [of_sample.count(name) for name in names] == [20] * 5
    assert of_sample[19:21] == ["up to 19", "19 to 39"]


def test_bins_do_not_tell_zeros_apart():
    """0 and -0 are one number, whichever comes first: a limit there prints alike."""
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        names, of_sample = stratum_of([*zeros * 3, *(float(i) for i in range(1, 25))])
        assert names[0] == "up to 0"
        assert of_sample[:6] == ["up to 0"] * 6


def test_bins_of_lopsided_numbers():
    """Where most numbers are equal there are fewer bins; what is missing has its own; no bin is empty."""
    names, of_sample = stratum_of([0] * 80 + list(range(1, 19)) + [None, np.nan])
    assert names == ["up to 0", "over 0", "missing"]
    assert [of_sample.count(name) for name in names] == [80, 18, 2]


@given(st.lists(st.floats(-1e6, 1e6) | st.none(), min_size=11, max_size=60).filter(lambda v: len(set(v) - {None}) > 10))
def test_bins_follow_the_order(values):
    """Bins are intervals: sorted numbers run through them in order, equal numbers share one."""
    names, of_sample = stratum_of(values)
    assert len(set(names)) == len(names) <= 6
    assert set(of_sample) == set(names)
    known = sorted((value, name) for value, name in zip(values, of_sample, strict=True) if value is not None)
    places = [names.index(name) for _, name in known]
    assert places == sorted(places)
    assert all((name == "missing") == (value is None) for value, name in zip(values, of_sample, strict=True))
    assert all(a[1] == b[1] for a, b in itertools.pairwise(known) if a[0] == b[0])


def test_bins_whose_limits_print_alike():
    """Numbers that differ in late digits only still get bins of different names."""
    names, _ = stratum_of([1 + i * 1e-9 for i in range(50)])
    assert len(set(names)) == 5


def test_bins_of_infinite_numbers():
    """Infinite numbers fall into the outermost bins."""
    names, of_sample = stratum_of([*range(20), np.inf, np.inf, -np.inf])
    assert of_sample[-3:] == [names[-1], names[-1], names[0]]
    assert not any("inf" in name or "nan" in name for name in names)


def test_counted_stratum():
    """A LabelCounts is taken as it is."""
    sizes = LabelCounts([[2, 0], [0, 1], [1, 1], [0, 0]], labels=["small", "large"])
    made = resolve(strata={"area": sizes, 7: ["a", "a", "b", "b"]})
    assert [stratum.name for stratum in made.strata] == ["area", "7"]
    assert made.strata[0].counts is sizes


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        (["wet"] * 4, "strata is a list; pass a dict"),
        ({"weather": ["wet"]}, "the stratum 'weather' has 1 values for 4 samples; pass one value per sample"),
        ({"weather": "wet!"}, "the stratum 'weather' is 'wet!' for 4 samples; pass one value per sample"),
        ({"weather": 5}, "the stratum 'weather' is 5 for 4 samples"),
        ({"weather": [["wet"], "dry", "dry", "wet"]}, r"'weather' of sample 0 is \['wet'\]; pass strings, numbers"),
        ({"weather": LabelCounts([[1]])}, "the stratum 'weather' counts 1 samples, the labels 4"),
    ],
)
def test_bad_strata(strata, message):
    """Strata that do not fit the samples are refused by name."""
    with pytest.raises(EvoSplitError, match=message):
        resolve(strata=strata)


def test_stratum_like_an_id():
    """A column in which hardly any value repeats is refused: it says nothing that can be balanced."""
    with pytest.raises(EvoSplitError, match=r"'file' has 30 different values in 30 samples, .*'0\.jpg': nothing"):
        resolve_constraints(
            LabelCounts(np.ones((30, 1))),
            Subsets(("a", "b"), (15, 15)),
            strata={"file": [f"{i}.jpg" for i in range(30)]},
        )
    assert len(stratum_of([str(i % 15) for i in range(30)])[0]) == 15


# --- labels


@pytest.mark.parametrize("n", [0, -1, True, 1.0, "1", None])
def test_bad_min_per_label(n):
    """At least one sample of each label can be asked for, in integers."""
    with pytest.raises(EvoSplitError, match=rf"min_per_label={n!r} is no minimum; .*, or cover=False"):
        resolve(min_per_label=n)


def test_label_weights():
    """Weights other than 1 are kept as numbers."""
    made = resolve(label_weights={"cat": np.float32(2.5), "dog": 1})
    assert made.label_weights == {"cat": 2.5}
    assert resolve(min_per_label=np.int64(3)).min_per_label == 3


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"cta": 2}, "label_weights= names the label 'cta', which does not occur; did you mean 'cat'?"),
        ({"zebra": 2}, "names the label 'zebra', which does not occur; there are 2 other labels"),
        ([1, 2], r"label_weights=\[1, 2\] is no dict; pass for example {'rare': 5}"),
        ({"cat": 0}, r"the weight of the label 'cat' is 0; give a positive number \(1 is usual\)"),
        ({"cat": -1.5}, "the weight of the label 'cat' is -1.5"),
        ({"cat": np.inf}, "the weight of the label 'cat' is inf"),
        ({"cat": 1e308}, r"is 1e\+308; give a positive number \(1 is usual\), from 1e-09 to 1e\+09"),
        ({"cat": 1e-308}, "the weight of the label 'cat' is 1e-308"),
        ({"cat": np.nan}, "the weight of the label 'cat' is nan"),
        ({"cat": True}, "the weight of the label 'cat' is True"),
        ({"cat": "5"}, "the weight of the label 'cat' is '5'"),
        ({"cat": 10**400}, "the weight of the label 'cat' is 1000"),
    ],
)
def test_bad_label_weights(weights, message):
    """Weights of labels that are not there, or that are no positive numbers, are refused."""
    with pytest.raises(EvoSplitError, match=message):
        resolve(label_weights=weights)


# --- what is possible


@st.composite
def constrained(draw, max_labels=3):
    """Draw counts, the number of subsets, groups and locks."""
    counts = draw(count_matrices(min_samples=2, max_samples=7, min_labels=1, max_labels=max_labels))
    k = draw(st.integers(2, 3))
    return counts, k, *draw(conditions_for(len(counts), k))


def fewest_empty(counts, k, groups, locked):
    """Find the least FLZ of all splits that respect groups and locks, whatever their sizes."""
    every = naive.legal_assignments(len(counts), k, groups, locked)
    return min(naive.measures(counts, assignment, k, [0] * k)["flz"] for assignment in every)


def constraints_of(counts, k, groups, locked):
    """Read groups and lock numbers."""
    names = tuple("abc"[:k])
    subsets = Subsets(names, (len(counts) - k + 1, *[1] * (k - 1)))
    by_name = None if locked is None else [None if j < 0 else names[j] for j in locked]
    made = resolve_constraints(LabelCounts(counts), subsets, groups=groups, locked=by_name)
    return made or Constraints(None, np.full(len(counts), -1))


@settings(max_examples=40)
@given(constrained())
def test_bound_of_empty_cells_is_a_bound(drawn):
    """No split that respects groups and locks leaves fewer label-subset combinations empty than the bound says."""
    counts, k, groups, locked = drawn
    assert constraints_of(*drawn).flz_bound(LabelCounts(counts), k) <= fewest_empty(counts, k, groups, locked)


@settings(max_examples=40)
@given(constrained(max_labels=1))
def test_bound_of_one_label_is_reached(drawn):
    """For a label on its own the bound is the best of all splits."""
    counts, k, groups, locked = drawn
    assert constraints_of(*drawn).flz_bound(LabelCounts(counts), k) == fewest_empty(counts, k, groups, locked)

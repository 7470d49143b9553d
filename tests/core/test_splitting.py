"""split() and kfold(): what every method is called through."""

from __future__ import annotations

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, EvoSplitWarning, kfold, split
from evosplit._version import ENGINE_VERSION
from evosplit.methods import METHODS, Method, Solution
from evosplit.methods.iterative import IterativeStratification

COUNTS = np.array([[1, 0, 0], [0, 2, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]])


def test_default_is_evosplit():
    """Without further words the default method splits into the default names."""
    made = split(COUNTS, (0.5, 0.25, 0.25), effort="fast")
    assert made.settings["method"] == "evosplit"
    assert made.names == ("train", "val", "test")
    assert made.sizes == (4, 2, 2)


def test_kfold_takes_the_options_of_split():
    """`kfold` is `split` with equal folds: the same keywords, five folds by default."""
    made = kfold(COUNTS, 4, method="sois", seed=2)
    assert made.names == ("fold0", "fold1", "fold2", "fold3")
    assert made.sizes == (2, 2, 2, 2)
    assert made.settings["seed"] == 2
    assert len(kfold(COUNTS, method="is").names) == 5
    same = split(COUNTS, dict.fromkeys(made.names, 0.25), method="sois", seed=2)
    assert (made.assignment == same.assignment).all()
    with pytest.raises(TypeError, match="methods"):
        kfold(COUNTS, 4, methods="sois")


def test_settings_tell_how_it_was_made():
    """The settings record method, objectives, pick, effort, seed and engine; a generator has no seed to record."""
    made = split(COUNTS, (0.5, 0.5), method="sois", objectives=["pairs"], pick="lpd", effort="fast", seed=9)
    assert made.settings["objectives"] == ["pairs"]
    assert made.settings["pick"] == "lpd"
    assert made.settings["effort"] == "fast"
    assert made.settings["seed"] == 9
    assert made.settings["engine"] == ENGINE_VERSION
    assert split(COUNTS, (0.5, 0.5), method="is", seed=np.random.default_rng(1)).settings["seed"] is None


def test_objectives():
    """Samples, instances and pairs are spread; `objectives` overrides that."""
    names = ("samples", "instances", "pairs")
    assert split(COUNTS, (0.5, 0.5), method="is").front.objective_names == names
    made = split(COUNTS > 0, (0.5, 0.5), method="is", objectives=("instances", "samples"))
    assert made.front.objective_names == ("instances", "samples")
    assert split(COUNTS, (0.5, 0.5), method="is", objectives="pairs").front.objective_names == ("pairs",)


class TwoSplits:
    """A method of a caller: two candidates, one of which may dominate the other."""

    def __init__(self, *assignments):
        self.assignments = assignments

    def solve(self, problem, run):
        """Return the candidates."""
        return Solution([np.array(assignment) for assignment in self.assignments], notes=("by hand.",))


def test_method_objects_are_welcome():
    """Anything that solves is a method; its notes reach the split."""
    method = TwoSplits([0, 0, 1, 0, 1, 1, 0, 1])
    assert isinstance(method, Method)
    made = split(COUNTS, (4, 4), method=method)
    assert made.assignment.tolist() == [0, 0, 1, 0, 1, 1, 0, 1]
    assert made.notes == ("by hand.",)
    by_object = split(COUNTS, (4, 4), method=IterativeStratification(order=1))
    assert (by_object.assignment == split(COUNTS, (4, 4), method="is").assignment).all()
    assert by_object.settings["method"] == "IterativeStratification(order=1, as_published=False)"


def test_dominated_candidates_are_dropped():
    """Of two candidates one of which is worse in everything only the other is kept; twins count once."""
    good, bad = [0, 1, 0, 1], [0, 0, 1, 1]
    counts = [[1], [1], [0], [0]]
    made = split(counts, (2, 2), method=TwoSplits(bad, good, good))
    assert len(made.front) == 1
    assert made.assignment.tolist() == good


def test_no_label_at_all():
    """Without any label the split is random, exact in size, and says so."""
    with pytest.warns(EvoSplitWarning, match="no sample carries any label"):
        made = split(np.zeros((6, 2)), (0.5, 0.5))
    assert made.sizes == (3, 3)
    assert "no sample carries any label" in made.notes[0]
    with pytest.warns(EvoSplitWarning, match="nothing to balance"):
        assert kfold(np.zeros((6, 0)), 3).sizes == (2, 2, 2)
    assert np.isfinite(list(made.measures.to_dict().values())).all()
    assert "nan" not in str(made.report())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, f"method='magic' is unknown; choose from {', '.join(map(repr, METHODS))}"),
        ({"method": 3}, "method=3 is unknown"),
        ({"effort": "huge"}, "effort='huge' is unknown; choose from fast, normal, thorough"),
        ({"time_limit": 0}, "time_limit=0 is no time; give positive seconds"),
        ({"time_limit": -1.0}, "time_limit=-1.0 is no time"),
        ({"time_limit": "5"}, "time_limit='5' is no time"),
        ({"time_limit": np.nan}, "time_limit=nan is no time"),
        ({"seed": -1}, "seed=-1 is negative; give 0 or more"),
        ({"seed": "x"}, "seed='x' is no seed; give an integer, a numpy Generator or None"),
        ({"objectives": ["beauty"]}, "objectives='beauty' is unknown; choose from 'samples', 'instances'"),
        ({"min_per_label": 2, "cover": False}, "min_per_label=2 and cover=False exclude each other"),
        ({"objectives": []}, r"objectives=\(\) repeats one, or is empty"),
        ({"objectives": ["pairs", "pairs"]}, r"objectives=\('pairs', 'pairs'\) repeats one"),
        ({"pick": "best", "method": "is"}, "pick='best' is no rule; choose one of"),
        ({"ratios": (0.5, 0.4)}, "sum to 0.9, not to 1"),
        ({"ratios": (0.9, 0.05, 0.05)}, "the ratio 0.05 gives subset 'test' no sample out of 8"),
        ({"counts": [[0.5]]}, r"counts\[0, 0\] is 0.5"),
        ({"counts": np.zeros((0, 2))}, "counts is empty"),
        ({"counts": [[1]]}, "2 subsets for 1 sample; each needs at least one"),
    ],
)
def test_bad_arguments(options, message):
    """Every wrong argument is refused with its value and the choices."""
    arguments = {"counts": COUNTS, "ratios": (0.5, 0.5), **options}
    with pytest.raises(EvoSplitError, match=message):
        split(arguments.pop("counts"), arguments.pop("ratios"), **arguments)


def test_bad_folds():
    """More folds than samples are refused."""
    with pytest.raises(EvoSplitError, match="n_splits=9 is too many for 8 samples"):
        kfold(COUNTS, 9)


def test_errors_are_value_errors():
    """Callers may catch ValueError."""
    assert issubclass(EvoSplitError, ValueError)
    assert evosplit.EvoSplitWarning.__mro__[1] is UserWarning


@pytest.mark.parametrize("limit", [10**400, np.inf, 1e300])
def test_a_limit_beyond_all_time(limit):
    """A limit that no clock reaches is none."""
    counts = np.eye(20, dtype=int)
    assert (split(counts, (15, 5), time_limit=limit).assignment == split(counts, (15, 5)).assignment).all()

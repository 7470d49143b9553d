"""What is asked of a split, in the same words everywhere."""

from __future__ import annotations

import inspect

import pytest

import evosplit
import evosplit_plugins
from evosplit import EvoSplitError
from evosplit_plugins.options import options_of
from evosplit_plugins.request import ENGINE_OPTIONS, Request, names_of


def test_every_option_is_described():
    """All fields have help, and defaults equal those of the engine."""
    described = {option.name: option for option in options_of(Request)}
    assert described.keys() == set(inspect.signature(Request).parameters)
    assert all(option.help for option in described.values())
    engine = inspect.signature(evosplit.split).parameters
    assert {name: engine[name].default for name in ENGINE_OPTIONS} == {
        name: described[name].default for name in ENGINE_OPTIONS
    }


def test_all_that_the_engine_takes_can_be_asked():
    """Groups, locks and strata are named by fields; every other keyword of the engine is an option."""
    engine = set(inspect.signature(evosplit.split).parameters) - {"counts", "ratios", "on_progress"}
    assert engine - {"groups", "strata"} <= set(inspect.signature(Request).parameters)


@pytest.mark.parametrize("host", ["coco", "hf", "fiftyone", "table", "yolo"])
def test_every_host_takes_all_that_can_be_asked(host):
    """The public functions spell out every option of a request, with its default."""
    pytest.importorskip({"hf": "datasets", "coco": "msgspec", "table": "duckdb", "yolo": "yaml"}.get(host, host))
    taken = inspect.signature(getattr(evosplit_plugins, f"evosplit_{host}")).parameters
    asked = {option.name: option.default for option in options_of(Request)}
    assert {name: taken[name].default for name in asked} == asked


def test_subsets():
    """Ratios with the host's names, or folds; the names are known before the samples."""
    default = {2: ("train", "validation")}
    asked = Request(ratios=(0.8, 0.2))
    assert asked.subsets(10, default).sizes == (8, 2)
    assert asked.names(default) == ("train", "validation")
    assert Request(ratios={"a": 240, "b": 60}).names() == ("a", "b")
    folds = Request(folds=3)
    assert folds.names() == ("fold0", "fold1", "fold2")
    assert folds.subsets(9).is_kfold


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, r"^neither ratios= nor folds= is given; pass one of them"),
        ({"ratios": (1, 1), "folds": 2}, r"^ratios= and folds= are both given"),
        ({"folds": 2, "group_by": ["a", "a"]}, r"group_by=\['a', 'a'\] repeats a name"),
        ({"folds": 2, "stratify_by": ""}, "stratify_by='' repeats a name, or has an empty one"),
        ({"folds": 2, "group_regex": "["}, r"group_regex='\[' is no regular expression"),
        ({"folds": 2, "locked": 3}, "locked=3 names no subset; pass for example locked="),
        ({"folds": 2, "cover": False, "min_per_label": 2}, "min_per_label=2 and cover=False exclude each other"),
    ],
    ids=str,
)
def test_contradictions(asked, message):
    """Refused when they are written down."""
    with pytest.raises(EvoSplitError, match=message):
        Request(**asked)


def test_one_name_or_several():
    """One field may stand by itself; locks are a mapping, names, or one name."""
    assert Request(folds=2, group_by="clip").groups == ("clip",)
    assert Request(folds=2, group_by=["clip", "site"]).groups == ("clip", "site")
    assert Request(folds=2).strata == ()
    assert Request(folds=2, locked="fold0").locks == {"fold0": None}
    assert Request(folds=2, locked=["fold0", "fold1"]).locks == {"fold0": None, "fold1": None}
    assert Request(folds=2, locked={"fold0": [1]}).locks == {"fold0": [1]}
    assert names_of(None, "x") is None


def test_recorded():
    """The manifest keeps what was asked, not which samples are locked."""
    asked = Request(ratios=(8, 2), group_by="clip", locked={"test": [1, 2]}, group_copies=False)
    assert asked.recorded() == {
        "ratios": [8, 2],
        "group_by": ["clip"],
        "group_copies": False,
        "locked_subsets": ["test"],
    }
    assert Request(folds=3).recorded() == {"folds": 3}

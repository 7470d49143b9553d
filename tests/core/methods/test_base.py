"""A run of a method: its progress, and how it is told to end."""

from __future__ import annotations

import math

import pytest

from evosplit.methods import METHODS, resolve_method
from evosplit.methods.base import Method, Run
from evosplit.rng import Stream


def test_progress_stays_within_its_bounds():
    """The caller hears fractions between 0 and 1, whatever a method reckons."""
    heard = []
    run = Run(Stream(0), on_progress=lambda done, message: heard.append((done, message)))
    assert all(run.report(done, "searching") for done in (-0.5, 0.25, 1.5))
    assert heard == [(0.0, "searching"), (0.25, "searching"), (1.0, "searching")]


def test_only_false_stops():
    """A callback that returns nothing, or something else that is not True, lets the run go on; once stopped it is."""
    answers = iter([None, 0, True, False, True])
    run = Run(Stream(0), on_progress=lambda done, message: next(answers))
    assert [run.report(0.5, "") for _ in range(5)] == [True, True, True, False, False]
    assert run.stopped == "stopped early on request: this is the best split found so far."


def test_time_limit():
    """A run whose time is over says so with its limit; without a limit there is no end."""
    endless, over = Run(Stream(0)), Run(Stream(0), time_limit=1.5, _started=-math.inf)
    assert (endless.out_of_time, endless.remaining) == (False, math.inf)
    assert endless.report(0.5, "")
    assert over.out_of_time
    assert over.remaining < 0
    assert not over.report(0.5, "")
    assert over.stopped == "stopped after the time limit of 1.5 s: this is the best split found so far."
    assert 0 < Run(Stream(0), time_limit=100).remaining <= 100


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_have_the_interface(name):
    """Each method is found by its name, and one that is passed is taken as it is."""
    method = resolve_method(name)
    assert isinstance(method, Method)
    assert resolve_method(method) is method

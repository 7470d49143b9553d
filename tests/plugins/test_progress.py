"""One bar for a whole command."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evosplit_plugins.progress import Phases, part_of


@given(st.lists(st.tuples(st.sampled_from(["reading", "writing"]), st.floats(-1, 2)), max_size=20))
def test_never_falls_back(reports):
    """Whatever the phases report, the bar rises from 0 to 1."""
    seen = []
    phases = Phases(lambda done, message: seen.append(done), reading=2, writing=3)
    for name, done in reports:
        phases(name)(done, "working")
    phases.finish()
    assert seen == sorted(seen)
    assert seen[0] >= 0
    assert seen[-1] == 1.0


def test_phases_share_the_bar():
    """Each has its part, and what the listener answers comes back."""
    phases = Phases(lambda done, message: done < 0.5, reading=1, writing=1)
    assert phases("reading")(0.8, "reading") is True
    assert phases("writing")(0.2, "writing") is False
    assert Phases(None, reading=1)("reading")(0.5, "reading") is None


def test_parts():
    """The files of one phase share it equally; nobody listens, nothing is made."""
    seen = []
    for number in range(4):
        part_of(lambda done, message: seen.append(done), number, 4)(1.0, "file")
    assert seen == [0.25, 0.5, 0.75, 1.0]
    assert part_of(None, 0, 1) is None

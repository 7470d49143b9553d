"""Names are counted for each unit, however they come from the database."""

from __future__ import annotations

import gc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin.names import count_chunks, lists_of, without_collecting

NAMES = st.one_of(st.none(), st.sampled_from("abc"))
VALUES = st.one_of(NAMES, st.lists(NAMES, max_size=3))
ROWS = st.lists(st.tuples(st.sampled_from("uvw"), VALUES, st.one_of(st.none(), st.lists(VALUES, max_size=3))))


def flat(value):
    """List the names in a name, a list, or lists of these; no name is none."""
    return [name for part in value for name in flat(part)] if isinstance(value, list) else [value] * (value is not None)


@given(st.lists(ROWS, min_size=1, max_size=4).filter(any), st.booleans())
def test_names_are_counted_one_by_one(chunks, several):
    """Units in the order in which they come, labels in their own; with several fields a label names its field."""
    paths = {"gt": "gt.label", "frames.objects": "frames.objects.label"} if several else {"gt": "gt.label"}
    read = [[list(column) for column in zip(*rows, strict=True)][: 1 + len(paths)] for rows in chunks if rows]
    wanted = {}
    for rows in chunks:
        for unit, value, frames in rows:
            found = wanted.setdefault(unit, Counter())
            found.update(f"gt/{name}" if several else name for name in flat(value))
            found.update(f"frames.objects/{name}" for name in flat(frames) if several)
    counts = count_chunks(read, paths, where="it")
    assert counts.ids.tolist() == list(wanted)
    assert counts.labels == tuple(sorted(set().union(*wanted.values())))
    for row, found in zip(counts.matrix.toarray(), wanted.values(), strict=True):
        assert dict(zip(counts.labels, row.tolist(), strict=True)) == {label: found[label] for label in counts.labels}


def test_nothing_to_count():
    """Where there is no unit the error says where."""
    with pytest.raises(EvoSplitError, match="it has no sample in this view"):
        count_chunks([], {"gt": "gt.label"}, where="it")


def test_lists():
    """A name, a list of names or none is a list; of frames one."""
    assert list(map(list, lists_of(["a", ["a", "b"], None], frames=False))) == [["a"], ["a", "b"], []]
    assert lists_of([["a", ["b", "c"], None], None], frames=True) == [["a", "b", "c"], []]


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_as_before(on):
    """While objects are built nothing is collected; afterwards, an error included, it is as it was."""
    before = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(ZeroDivisionError), without_collecting():
            1 / gc.isenabled()  # it is off, so that is 0
        assert gc.isenabled() == on
    finally:
        (gc.enable if before else gc.disable)()

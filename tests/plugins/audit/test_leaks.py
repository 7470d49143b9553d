"""What two subsets share is a leak, and is said in one sentence."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from evosplit_plugins.audit.leaks import find_leaks, find_repeats

THREE = ("train", "val", "test")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 2)), min_size=1, max_size=40))
def test_leaks_are_what_two_subsets_share(samples):
    """Every value that two subsets share is found, with its samples, and nothing else."""
    values, subset = zip(*samples, strict=True)
    leaks = {leak.subsets: leak for leak in find_leaks("id", values, subset, THREE)}
    for a in range(3):
        for b in range(a + 1, 3):
            inside = [{v for v, s in samples if s == j and v is not None} for j in (a, b)]
            shared = inside[0] & inside[1]
            leak = leaks.get((THREE[a], THREE[b]))
            assert (leak.n_shared if leak else 0) == len(shared)
            if leak:
                assert leak.n_samples == sum(v in shared and s in (a, b) for v, s in samples)
                assert set(leak.examples) <= {str(v) for v in shared}
                assert len(leak.examples) == min(3, len(shared))


def test_leaks_in_words():
    """A leak is one sentence that names the subsets, the number and a few examples."""
    values = ["a", "b", "c", "d", "a", "b", "c", "d"]
    (leak,) = find_leaks("file name", values, [0] * 4 + [1] * 4, THREE)
    assert str(leak) == "train and val share 4 file names: a, b, c and 1 more."
    assert leak.to_dict()["subsets"] == ("train", "val")
    (leak,) = find_leaks("group", ["a", "a", "a"], [0, 0, 2], THREE)
    assert str(leak) == "train and test share 1 group (3 samples): a."
    assert str(replace(leak, n_samples=51480)) == "train and test share 1 group (51,480 samples): a."
    assert find_repeats("id", [1, 1, 2, 2, 1], [0, 0, 1, 1, 1], THREE) == [
        "train holds 1 id more than once: 1.",
        "val holds 1 id more than once: 2.",
    ]

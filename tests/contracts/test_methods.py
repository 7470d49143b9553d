"""One contract for every method: what a split promises, whoever made it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strategies import problems

from evosplit import LabelCounts, kfold, measure, split
from evosplit.methods import METHODS, resolve_method

pytestmark = pytest.mark.parametrize("method", METHODS)
RATIOS = {"train": 0.7, "val": 0.2, "test": 0.1}


def long_tailed(m=120, q=6, seed=1):
    """Draw a data set with frequent and rare labels, labels that go together, repeats and empty samples."""
    rng = np.random.default_rng(seed)
    present = rng.random((m, q)) < 0.6 / np.arange(1, q + 1)
    present[:, 1] |= present[:, 2] & (rng.random(m) < 0.7)
    present[rng.random(m) < 0.05] = False
    return present * rng.integers(1, 4, size=(m, q))


def impatient(method):
    """Take the method as the registry makes it, with less patience where it has any."""
    made = resolve_method(method)
    return dataclasses.replace(made, patience=2) if hasattr(made, "patience") else made


def make(counts, ratios, method, **options):
    """Split with little effort: these tests are about promises, not about quality."""
    return split(counts, ratios, method=impatient(method), **{"effort": "fast", **options})


def check_split(made, sizes):
    """Check the law: every sample is in one subset, and the sizes are those asked for."""
    m = sum(sizes)
    assert made.assignment.shape == (m,)
    assert made.sizes == made.target_sizes == tuple(sizes)
    together = np.concatenate([made.indices(name) for name in made.names])
    assert sorted(together.tolist()) == list(range(m)), "subsets overlap or leave samples out"
    for point in made.front.assignments:
        assert np.bincount(point, minlength=len(sizes)).tolist() == list(sizes)


def relabelled(counts, seed=0):
    """Permute the label columns."""
    return counts[:, np.random.default_rng(seed).permutation(counts.shape[1])]


def test_law(method):
    """Subsets are disjoint, complete and of exact size."""
    check_split(make(long_tailed(), RATIOS, method), (84, 24, 12))
    check_split(make(long_tailed(m=50), (25, 13, 12), method), (25, 13, 12))
    check_split(kfold(long_tailed(m=53), 5, method=impatient(method), effort="fast"), (11, 11, 11, 10, 10))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=problems(), seed=st.integers(0, 2**32))
def test_law_on_any_data(method, problem, seed):
    """The law holds for any counts, sizes and seed, and no measure is NaN or infinite."""
    counts, sizes = problem
    assume(counts.any())
    made = make(counts, sizes, method, seed=seed)
    check_split(made, sizes)
    assert np.isfinite(list(made.measures.to_dict().values())).all()
    assert np.isfinite(made.front.objectives).all()


def test_same_seed_same_split(method):
    """A seed fixes the split: an integer of whatever type and size, or a generator in the same state, drawn from."""
    counts = long_tailed()
    for seeds in ((7, np.int8(7)), (2**70, 2**70), (np.random.default_rng(7), np.random.default_rng(7))):
        first, second = (make(counts, RATIOS, method, seed=seed).assignment for seed in seeds)
        assert (first == second).all()
    assert (make(counts, RATIOS, method, seed=seeds[0]).assignment != first).any()


def test_other_seed_other_split(method):
    """Another seed gives another split; None gives a different one each time."""
    counts = long_tailed()
    made = [make(counts, RATIOS, method, seed=seed).assignment.tolist() for seed in (0, 1, None, None)]
    assert len({tuple(assignment) for assignment in made}) == 4


def test_global_random_state_is_left_alone(method):
    """Neither does a split depend on numpy's global state, nor does it change it."""
    np.random.seed(3)  # noqa: NPY002 - this is what a caller may have done
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = make(long_tailed(), RATIOS, method).assignment
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(4)  # noqa: NPY002
    assert (make(long_tailed(), RATIOS, method).assignment == first).all()


def test_label_order_is_irrelevant(method):
    """Permuting the label columns gives the identical assignment, also where two labels are equal."""
    counts = long_tailed()
    counts = np.hstack([counts, counts[:, :1]])
    first = make(counts, RATIOS, method).assignment
    for seed in range(2):
        assert (make(relabelled(counts, seed), RATIOS, method).assignment == first).all()


def test_names_and_ids_are_irrelevant(method):
    """Sample ids, label names and subset names change nothing but the names."""
    counts = long_tailed()
    first = make(counts, RATIOS, method).assignment
    ids = [f"{(17 * i) % 120}.jpg" for i in range(120)]
    named = LabelCounts(counts, ids=ids, labels=["zebra", "yak", "ant", "b", "c", "d"])
    other = make(named, {"a": 0.7, "b": 0.2, "c": 0.1}, method)
    assert (other.assignment == first).all()
    assert other.ids("c").tolist() == [ids[i] for i in np.flatnonzero(first == 2)]


def test_form_of_the_input_is_irrelevant(method):
    """Arrays, sparse matrices, DataFrames and LabelCounts of the same counts are split alike."""
    counts = long_tailed()
    first = make(counts, RATIOS, method).assignment
    for form in (sp.csr_array(counts), sp.coo_matrix(counts), pd.DataFrame(counts), LabelCounts(counts)):
        assert (make(form, RATIOS, method).assignment == first).all()


def test_sample_order_matters_little(method):
    """Permuting the samples keeps the sizes and about the quality, in what the method minimises; as other seeds do."""
    counts = long_tailed(m=200)
    only = getattr(resolve_method(method), "objective", None)

    def score(order, seed):
        made = make(counts[order], RATIOS, method, seed=seed)
        check_split(made, (140, 40, 20))
        wanted = [only in (None, name) for name in made.front.objective_names]
        return np.linalg.norm((made.front.objectives[made.chosen] / made.front.reference)[wanted])

    # Single runs of a method without patience differ by more than the order could: medians are compared.
    ordered = np.median([score(np.arange(200), seed) for seed in range(3)])
    permuted = np.median([score(np.random.default_rng(seed).permutation(200), seed) for seed in range(3)])
    assert permuted <= 3 * ordered
    assert ordered <= 3 * permuted


def test_input_is_untouched(method):
    """The caller's arrays, sparse matrices and DataFrames are as before."""
    dense = long_tailed()
    sparse, frame = sp.csr_array(dense), pd.DataFrame(dense)
    parts = [part.copy() for part in (sparse.data, sparse.indices, sparse.indptr)]
    for form in (dense, sparse, frame):
        make(form, RATIOS, method)
    assert (dense == long_tailed()).all()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(long_tailed()))
    for part, before in zip((sparse.data, sparse.indices, sparse.indptr), parts, strict=True):
        assert (part == before).all()


def test_beats_random(method):
    """By name, every method is well below random splits in something; a random split is near them."""
    front = split(long_tailed(), RATIOS, method=method, effort="fast", pick=0).front
    scores = front.objectives[0] / front.reference
    assert 0.4 < scores.mean() < 2.5 if method == "random" else scores.min() < 0.4


DEGENERATE = {
    "one label": (np.arange(12)[:, None] % 2, (6, 6)),
    "a label in every image": (np.hstack([np.ones((12, 1)), np.eye(12)[:, :3]]).astype(int), (8, 4)),
    "all samples equal": (np.full((9, 2), 2), (3, 3, 3)),
    "as many subsets as samples": (np.eye(5, dtype=int), (1, 1, 1, 1, 1)),
    "two samples": (np.array([[1, 0], [0, 1]]), (1, 1)),
    "samples without labels": (np.vstack([np.eye(3, dtype=int), np.zeros((9, 3), dtype=int)]), (8, 4)),
    "one image with a label": (np.eye(10, dtype=int)[:, :1], (5, 5)),
    "labels with fewer samples than subsets": (np.tile(np.eye(10, 2, dtype=int), (2, 1)), (4,) * 5),
    "labels that never occur": (np.hstack([np.zeros((8, 2)), np.ones((8, 1))]).astype(int), (4, 4)),
    "very uneven sizes": (long_tailed(m=40), (38, 1, 1)),
    "many instances in one image": (np.array([[1000, 1], [1, 1], [1, 0], [0, 1]]), (2, 2)),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data(method, name):
    """Odd data is split by the law, without warnings and without NaN."""
    counts, sizes = DEGENERATE[name]
    with np.errstate(all="raise", under="ignore"):
        made = make(counts, sizes, method)
        check_split(made, sizes)
        assert np.isfinite(list(made.measures.to_dict().values())).all()
        str(made.report())


def test_many_subsets(method):
    """More than 127 subsets are numbered rightly."""
    made = kfold(long_tailed(m=300), 150, method=impatient(method), effort="fast")
    check_split(made, (2,) * 150)


def test_stops_on_request(method):
    """`on_progress` hears fractions that grow from 0 to 1; returning False gives a valid split at once."""
    counts, heard, calls = long_tailed(m=500, q=10), [], []
    made = make(counts, RATIOS, method, on_progress=lambda *report: heard.append(report))
    check_split(made, (350, 100, 50))
    fractions = [done for done, _ in heard]
    assert fractions == sorted(fractions)
    assert all(0 <= done <= 1 and message for done, message in heard)
    assert made.notes == ()

    stopped = make(counts, RATIOS, method, on_progress=lambda *report: calls.append(report) or False)
    check_split(stopped, (350, 100, 50))
    assert len(calls) <= 4
    assert not calls or any("stopped early on request" in note for note in stopped.notes)


def test_time_limit(method):
    """A time limit gives a valid split, with a note if it cut the work short."""
    made = make(long_tailed(m=2000, q=20), RATIOS, method, effort="thorough", time_limit=1e-9)
    check_split(made, (1400, 400, 200))
    assert all("time limit of 1e-09 s" in note for note in made.notes)
    assert made.notes or method != "evosplit"  # the others may be done in time


def test_front_is_a_front(method):
    """No point of the front is as good as another in everything; its scores are those of its assignments."""
    made = make(long_tailed(), RATIOS, method)
    front = made.front
    for i, a in enumerate(front.objectives):
        assert not any((b <= a).all() for j, b in enumerate(front.objectives) if i != j)
    pairs = "lpd" if "samples" in front.objective_names else "lpd_occurrences"
    column = {"samples": "ld", "instances": "ld_occurrences", "pairs": pairs}
    for scores, assignment in zip(front.objectives, front.assignments, strict=True):
        found = measure(long_tailed(), assignment).to_dict()
        expected = [found[column[name]] for name in front.objective_names]
        assert scores == pytest.approx(expected)
    assert (made.assignment == front.assignments[made.chosen]).all()


def test_jobs_do_not_change_the_split(method):
    """The number of threads changes nothing but the time."""
    counts = long_tailed()
    first = make(counts, RATIOS, method, n_jobs=1)
    second = make(counts, RATIOS, method, n_jobs=2)
    assert (first.front.assignments == second.front.assignments).all()

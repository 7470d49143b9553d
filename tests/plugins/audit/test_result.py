"""Verdicts on splits that exist, and what EvoSplit would give instead."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.audit import audit
from evosplit_plugins.source import Fields, Placement, Source

THREE = ("train", "val", "test")


class Known(Source):
    """Samples with ids of their own making, and groups that are known beforehand."""

    ids = None
    groups = None

    def shared_keys(self):
        return {} if self.ids is None else {"id": self.ids}

    def fields(self, *, groups, strata):
        return Fields(groups=dict.fromkeys(groups, self.groups))


def labelled(n=60, seed=0):
    """Count random labels."""
    return LabelCounts(np.random.default_rng(seed).poisson((1.0, 0.5, 0.2), (n, 3)), labels=["cat", "dog", "fox"])


def found(names, assignment, counts, ids=None, groups=None):
    """Make a source of subsets that exist."""
    source = Known(counts=counts, adapter="mine", subsets=Placement(tuple(names), np.asarray(assignment)))
    object.__setattr__(source, "ids", ids)
    object.__setattr__(source, "groups", groups)
    return source


def by_chance(n=60, **options):
    """Make subsets by chance."""
    return found(THREE, np.arange(n) % 3, labelled(n), **options)


def test_a_good_and_a_bad_split_get_what_they_deserve():
    """What EvoSplit makes is called good, a random split no better than random, a sorted one worse."""
    counts = labelled(300)
    made = evosplit.split(counts, {"train": 100, "val": 100, "test": 100}, effort="fast")
    good = audit(found(THREE, made.assignment, counts), compare=False)
    assert good.verdict.startswith("Good: ")
    assert max(good.times_random.values()) < 0.5
    assert good.instead is None
    assert good.comparison() == []
    chance = np.random.default_rng(5).permutation(np.arange(300) % 3)
    middling = audit(found(THREE, chance, counts), compare=False)
    assert re.match(
        r"No better than random: LD is [\d.]+ times that of the average random split \(single ones vary by ± 0\.\d\d\)"
        r"; LD' [\d.]+, ± 0\.\d\d; LPD [\d.]+, ± 0\.\d\d\.$",
        middling.verdict,
    )
    assert all(abs(middling.times_random[key] - 1) <= chance for key, chance in middling.chance.items())
    worst = np.empty(300, dtype=int)
    worst[np.argsort(counts.matrix.toarray()[:, 0], kind="stable")] = np.repeat(np.arange(3), 100)
    bad = audit(found(THREE, worst, counts), effort="fast")
    assert bad.verdict.startswith("Worse than random: ")
    assert bad.instead.sizes == (100, 100, 100)
    free = r"EvoSplit at the same sizes, where nothing has to stay together, comes closer to the shares: labels [\d.]+ "
    assert re.match(free, bad.comparison()[0])
    assert bad.failures() == []
    assert all("more than 2." in reason for reason in bad.failures(2))
    assert len(bad.failures(2)) == sum(times > 2 for times in bad.times_random.values()) > 0
    assert bad.failures(1e9) == []


def test_labels_are_judged_first():
    """A split whose labels are spread well is not called no better than random because its instances are not."""
    present = np.tile(np.eye(6, dtype=int), (50, 1))
    counts = present * np.random.default_rng(4).integers(1, 40, (300, 1))  # as many samples, but 1 to 39 instances
    told = audit(found(THREE, np.repeat(np.arange(50) % 3, 6), LabelCounts(counts)), compare=False)
    assert told.times_random["ld"] < 0.2 < 0.5 < told.times_random["ld_occurrences"]
    assert re.match(
        r"Good in labels: LD is 0\.\d\d times that of the average random split \(single ones vary by ± 0\.\d\d\)\. "
        r"Instances: (no better|better) than random \(LD' [\d.]+, ± 0\.\d\d\)\.$",
        told.verdict,
    )
    assert told.failures(0.4) == [
        f"LD' is {told.times_random['ld_occurrences']:.2f} times that of the average random split (single ones "
        f"vary by ± {told.spread['ld_occurrences']:.2f}), more than 0.4."
    ]


def test_random_splits_are_no_better_than_random():
    """Of a hundred random splits hardly any is called better or worse than random, in small sets too."""
    counts = labelled(60)
    rng = np.random.default_rng(0)
    verdicts = [
        audit(found(THREE, rng.permutation(np.arange(60) % 3), counts), compare=False).verdict for _ in range(100)
    ]
    assert sum(verdict.startswith("No better than random") for verdict in verdicts) >= 85


def test_data_without_labels_is_not_judged():
    """Where no label occurs there is nothing to be even or uneven."""
    told = audit(found(("a", "b"), [0, 0, 1, 1], LabelCounts(np.zeros((4, 1), dtype=int))), compare=False)
    assert told.verdict.startswith("There is nothing to judge")


def test_nothing_better_is_admitted():
    """Where EvoSplit gains nothing, it says so."""
    counts = LabelCounts([[1], [0], [1], [0]])
    told = audit(found(("a", "b"), [0, 0, 1, 1], counts), effort="fast")
    assert told.comparison() == ["EvoSplit finds nothing that is clearly more even at the same sizes."]
    assert told.gains == {}
    assert told.times_random["ld"] == 0
    leaking = audit(found(("a", "b"), [0, 0, 1, 1], counts, ids=["x", 1, "x", 3]), effort="fast")
    assert leaking.comparison()[0].endswith("; it keeps together what leaks here.")
    one = audit(found(("a", "b"), [0, 0, 1, 1], counts, ids=["x"] * 4), effort="fast")
    assert one.comparison() == ["EvoSplit has nothing to give instead: with whole groups nothing is left for b."]


def test_the_comparison_keeps_together_what_belongs_together():
    """Groups, and samples with the same id, stay whole in the split that EvoSplit sets beside it."""
    groups = [f"g{i // 4}" for i in range(60)]
    ids = [i % 58 for i in range(60)]
    told = audit(by_chance(groups=groups, ids=ids), group_by="clip", effort="fast")
    assert {leak.kind for leak in told.leaks} == {"id", "group"}
    instead = told.instead.assignment
    assert all(len(set(instead[[j for j in range(60) if groups[j] == g]])) == 1 for g in set(groups))
    assert instead[0] == instead[58]
    assert instead[1] == instead[59]
    assert told.failures() == [str(leak) for leak in told.leaks]
    assert told.failures(allow_leaks=True) == []
    assert "nothing has to stay together" not in told.comparison()[0]
    if told.instead.sizes != (20, 20, 20):
        assert "since groups stay whole" in told.comparison()[0]


def test_the_report_carries_leaks_and_comparison():
    """Leaks and what EvoSplit gives are among the notes of the report, so the page shows them too."""
    told = audit(by_chance(ids=[0, 0, *range(58)]), effort="fast")
    assert f"Leak: {told.leaks[0]}" in told.report.notes
    assert told.comparison()[0] in told.report.summary
    data = json.loads(json.dumps(told.to_dict()))
    assert data["leaks"][0]["n_shared"] == 1
    assert data["evosplit"]["sizes"] == dict(zip(THREE, told.instead.sizes, strict=True))
    assert data["measures"]["ld"] == told.split.measures.ld
    assert data["times_random"].keys() == {"ld", "ld_occurrences", "lpd"}


def test_no_labels_at_all():
    """Samples without any label are audited for leaks, and nothing is searched."""
    told = audit(found(("a", "b"), [0, 1], LabelCounts([[0], [0]]), ids=["x", "x"]))
    assert told.instead is None
    assert [str(leak) for leak in told.leaks] == ["a and b share 1 id: x."]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: found(("a",), [0, 0], LabelCounts([[1], [1]])), "there is only 'a' in the mine data; give two"),
        (lambda: found((), [], LabelCounts([[1]])), "there is none in the mine data; give two or more"),
        (lambda: found(("a", "b"), [0], LabelCounts([[1], [1]])), "assignment has 1 entries for 2 samples"),
        (lambda: found(("a", "b"), [0, 0], LabelCounts([[1], [1]])), "the subset 'b' is empty"),
        (lambda: found(("a", "b"), [0, 1], LabelCounts([[1], [1]]), ids=[1]), "id has 1 entries for 2 samples"),
        (lambda: found(("a", "b"), [0, 1], LabelCounts([[1], [1]]), groups=[1]), "groups has 1 entries for 2 samples"),
    ],
)
def test_subsets_that_are_none(wrong, match):
    """What cannot be compared is refused."""
    with pytest.raises(EvoSplitError, match=match):
        audit(wrong(), group_by="clip" if "groups" in match else None)


def test_a_limit_that_makes_no_sense():
    """`fail_over` is a positive number."""
    with pytest.raises(EvoSplitError, match="fail_over=0 is no limit; give a positive number"):
        audit(by_chance(), compare=False).failures(0)

"""What an adapter is, with what it says itself and what comes with the class."""

from __future__ import annotations

import numpy as np
import pytest
from word_lists import Words, divided

from evosplit.wording import Nouns
from evosplit_plugins.adapter import Adapter, WriteOptions
from evosplit_plugins.audit import audit
from evosplit_plugins.options import options_of
from evosplit_plugins.request import Request
from evosplit_plugins.walk import split_with

LISTS = [["cat"], ["dog"], ["cat", "dog"], []] * 5


@pytest.mark.parametrize("missing", ["detect", "read", "plan"])
def test_three_methods_make_an_adapter(missing):
    """Without one of them there is none, and Python says which."""
    methods = {name: getattr(Words, name) for name in ("detect", "read", "plan") if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Half", (Adapter,), methods)()


def test_subsets_are_read_like_samples():
    """An adapter whose data says where samples are needs no reader of its own for audits."""
    words = divided(Words(LISTS), ("train", "test"), np.repeat([0, 1], [15, 5]))
    judged = audit(words.read_subsets(["words"], words.reading(lower=True)), compare=False)
    assert judged.split.sizes == (15, 5)
    assert words.read_with == [(["words"], words.reading(lower=True), True)]


def test_the_output_is_known_before_the_search():
    """`plan` gets what was read, the names and exact sizes, the options and the words for people."""

    class Pictures(Words):
        nouns = Nouns("picture", "pictures")
        default_names = {2: ("learn", "judge")}  # noqa: RUF012
        needs_output = False

    words = Pictures(LISTS)
    made = split_with(words, ["words"], Request(ratios=(3, 1)), writing=words.writing(capitals=True))
    (to,) = words.destinations
    assert (to.subsets.names, to.subsets.sizes, to.subsets.is_kfold) == (("learn", "judge"), (15, 5), False)
    assert made.split.sizes == to.subsets.sizes
    assert (to.nouns.samples, len(to.source), to.options.capitals) == ("pictures", 20, True)
    assert made.facts == {"capitals": True}


def test_every_adapter_can_be_asked_to_hold_back():
    """The options of writing that all share come first in the help, and keep their defaults in a derived class."""
    shared = [(each.name, each.default) for each in options_of(WriteOptions)]
    assert [(each.name, each.default) for each in options_of(Words.writing)] == [*shared, ("capitals", False)]
    assert shared == [("report", None), ("overwrite", False), ("dry_run", False)]

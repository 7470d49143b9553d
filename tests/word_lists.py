"""An adapter for samples in memory, for the tests of what all adapters share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evosplit import LabelCounts
from evosplit_plugins.adapter import Adapter, Location, Outcome, WriteOptions
from evosplit_plugins.options import option
from evosplit_plugins.source import Fields, Placement, Source


@dataclass(frozen=True)
class WordsReading:
    """How to read words."""

    lower: bool = option(False, "read words in lower case", kind="switch")
    leave_out: tuple[str, ...] = option((), "leave these words out", kind="names")


@dataclass(frozen=True, kw_only=True)
class WordsWriting(WriteOptions):
    """How to write words."""

    capitals: bool = option(False, "write words in capitals", kind="switch")


@dataclass(frozen=True, eq=False, kw_only=True)
class WordsSource(Source):
    """Samples with fields that a test gives."""

    columns: dict[str, Sequence[Any]] = field(default_factory=dict)

    def fields(self, *, groups, strata):
        if not {*groups, *strata} <= set(self.columns):
            return super().fields(groups=groups, strata=strata)
        return Fields({name: self.columns[name] for name in groups}, {name: self.columns[name] for name in strata})


class Words(Adapter):
    """Lists of words; it notes what it is asked to read and to write."""

    name = "words"
    summary = "lists of words"
    location = Location("WORDS", "a list of words")
    reading = WordsReading
    writing = WordsWriting

    def __init__(self, lists, **source):
        self.lists, self.source = lists, source
        self.read_with, self.destinations, self.written = [], [], []

    def detect(self, paths):
        return list(paths) == ["words"]

    def read(self, paths, options, *, need_labels=True, on_progress=None):
        self.read_with.append((list(paths), options, need_labels))
        if on_progress is not None:
            on_progress(0.5, "reading words")
        lists = [[word.lower() if options.lower else word for word in each] for each in self.lists]
        lists = [[word for word in each if word not in options.leave_out] for each in lists]
        return WordsSource(counts=LabelCounts.from_lists(lists), adapter=self.name, **self.source)

    def plan(self, to):
        self.destinations.append(to)

        def write(split, on_progress):
            self.written.append(split)
            return Outcome(split, facts={"capitals": to.options.capitals})

        return write


def divided(words, names, assignment):
    """Give the same adapter, whose samples are in subsets already."""
    return Words(words.lists, **words.source, subsets=Placement(names, assignment))

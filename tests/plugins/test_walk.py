"""Read, split and write: what is checked before anything is read, and what becomes of groups, locks and old splits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from word_lists import Words, WordsReading

from evosplit import EvoSplitError, Split
from evosplit.wording import Nouns
from evosplit_plugins.request import Request
from evosplit_plugins.walk import apply_with, check_locked_names, recorded_reading, replay, run, split_with

LISTS = [["cat"], ["dog"], ["cat", "dog"], []] * 5
CLIPS = [f"clip {row // 2}" for row in range(20)]
HALVES = {"train": 0.5, "test": 0.5}


class Pictures(Words):
    """The same with words of its own for people."""

    nouns = Nouns("picture", "pictures")


def source_of(**more):
    """Read the lists, with fields or files."""
    return Words(LISTS, **more).read(["words"], WordsReading())


def asked(source, **request):
    """Split quickly."""
    return run(source, Request(**{"ratios": HALVES, "method": "random", **request}), adapter=Pictures)


class TestBeforeReading:
    """What is wrong with the request is said before anything is read."""

    def test_locks_into_no_subset(self):
        """The names are known before the samples are."""
        words = Words(LISTS)
        with pytest.raises(EvoSplitError, match=r"locked= names the subset 'val'; the subsets .* are train, test"):
            split_with(words, ["words"], Request(ratios=HALVES, locked={"val": [1]}), output="out")
        assert words.read_with == []
        check_locked_names(Request(folds=2, locked=["fold1"]), ("fold0", "fold1"))

    @pytest.mark.parametrize("output", [None, ""])
    def test_no_output(self, output):
        """A host that writes files needs to be told where; nothing is searched for."""
        words = Words(LISTS)
        with pytest.raises(EvoSplitError, match=rf"output={output!r} names no directory to write into"):
            split_with(words, ["words"], Request(ratios=HALVES), output=output)
        assert words.destinations == []

    def test_the_manifest_that_locks_is_no_output(self, tmp_path):
        """The split.json that says what stays would be replaced by the new one."""
        asked(source_of()).save(tmp_path / "split.json")
        request = Request(ratios=HALVES, locked={"test": tmp_path / "split.json"})
        words = Words(LISTS)
        with pytest.raises(EvoSplitError, match=r"split\.json is an input, because it says what is locked; choose"):
            split_with(words, ["words"], request, output=tmp_path)
        made = split_with(words, ["words"], request, output=tmp_path / "out")
        assert words.destinations[0].inputs == [tmp_path / "split.json"]
        kept = Split.load(tmp_path / "split.json").indices("test")
        assert made.split.indices("test").tolist() == kept.tolist()


class TestGroups:
    """What belongs together, and what is said of the rest."""

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ([None, *CLIPS[1:]], "1 picture has no 'clip', so it is a group of its own."),
            ([None, float("nan"), [], *CLIPS[3:]], "3 pictures have no 'clip', so each is a group of its own."),
        ],
    )
    def test_samples_without_a_group(self, values, said):
        """They are counted in the words of the host."""
        assert said in asked(source_of(columns={"clip": values}), group_by="clip").notes

    def test_whole_numbers(self):
        """A fraction that is whole names the same group as the integer, from an array as well."""
        values = [float(row // 4) if row % 2 else row // 4 for row in range(20)]
        for given in (values, np.array(values, dtype=object), np.array(values)):
            made = asked(source_of(columns={"clip": given}), group_by="clip")
            assert len(made.constraints.groups) == 5

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([0.5] * 20, r"group_by='clip' gives '0.5' for a sample; a group is named by an integer or a text"),
            ([["a", {}]] * 20, r"group_by='clip' gives '\{\}' for a sample"),
            ([None] * 20, r"group_by='clip': no sample has a value there; name another field"),
        ],
    )
    def test_refused(self, values, message):
        """What names no group is shown."""
        with pytest.raises(EvoSplitError, match=message):
            asked(source_of(columns={"clip": values}), group_by="clip")

    @pytest.mark.parametrize(("method", "stay"), [("random", True), ("sois", False)])
    def test_copies(self, method, stay):
        """Copies of one picture stay together, unless the method knows no groups; either is said."""
        files = [f"{'ab'[row % 2]}/{row // 2 if row < 6 else row}.jpg" for row in range(20)]
        files[:6] = ["x.jpg", "./x.jpg", "x.jpg", "y.jpg", "y.jpg", "z.jpg"]
        made = asked(source_of(files=files), method=method)
        (note,) = (note for note in made.notes if "copies" in note)
        assert note.startswith("5 pictures are copies of 2 pictures, by file name")
        assert note.endswith("they stay together." if stay else "so that they may be in different subsets.")
        if stay:
            assert len(set(made.assignment[:3])) == len(set(made.assignment[3:5])) == 1
        assert not any("copies" in note for note in asked(source_of(files=files), group_copies=False).notes)


class TestLocks:
    """Samples that stay."""

    def test_torn(self):
        """A sample in two subsets is named with both."""
        with pytest.raises(EvoSplitError, match=r"puts 2 pictures into two subsets: 3 \(train and test\), 4 \(train"):
            asked(source_of(), locked={"train": [3, 4, 5], "test": [3, 4, 6]})

    def test_nothing_left(self):
        """All locked is nothing to split."""
        with pytest.raises(EvoSplitError, match="places every sample already"):
            asked(source_of(), locked={"train": range(10), "test": range(10, 20)})

    def test_samples_that_take_no_part(self):
        """What the data has, but leaves out, is counted."""

        class Partly(type(source_of())):
            def rows_of(self, ids, files, *, where):
                return np.array([row if row < 20 else -1 for row in ids])

        whole = source_of()
        source = Partly(counts=whole.counts, adapter="words")
        assert "1 picture is locked but takes no part in the split." in asked(source, locked={"test": [3, 50]}).notes
        assert "2 pictures are locked but take no part in the split." in asked(source, locked={"test": [50, 60]}).notes


class TestReplay:
    """A saved split on the data as it is now."""

    def test_the_split_itself(self):
        """A split of just these counts is returned as it is, with its front."""
        source = source_of()
        made = asked(source)
        assert replay(made, source) is made

    def test_reading_as_it_was(self):
        """What the split was made with holds, if this adapter made it and still knows it; what is given comes first."""
        words = Words(LISTS)
        made = replace(asked(source_of()), source={"adapter": "words", "reading": {"leave_out": ["dog"], "gone": 1}})
        assert recorded_reading(words, made) == WordsReading(leave_out=("dog",))
        assert recorded_reading(words, made, leave_out=()) == WordsReading()
        other = replace(made, source={**made.source, "adapter": "coco"})
        assert recorded_reading(words, other) == WordsReading()
        assert recorded_reading(words, replace(made, source={})) == WordsReading()

    def test_applied(self):
        """The sizes and whether it is folds are known to the plan; the data may have no labels at all."""
        words = Words(LISTS)
        made = asked(source_of(), ratios=None, folds=4)
        done = apply_with(words, ["words"], made, output="out")
        assert (words.destinations[0].subsets.is_kfold, words.destinations[0].subsets.sizes) == (True, (5,) * 4)
        assert done.split.assignment.tolist() == made.assignment.tolist()
        assert words.read_with[-1][2] is False

    @pytest.mark.parametrize("what", ["the same", "torn", "more", "other values", "gone"])
    def test_groups_are_looked_up_again(self, what):
        """The report of a replay compares with random splits that keep the groups, where these are still the same."""
        made = asked(source_of(columns={"clip": CLIPS}), group_by="clip")
        elsewhere = next(CLIPS[row] for row in range(20) if made.assignment[row] != made.assignment[19])
        now = {
            "the same": {"clip": CLIPS},
            "torn": {"clip": [*CLIPS[:-1], elsewhere]},  # as many groups
            "more": {"clip": [*CLIPS[:-2], "a", "b"]},
            "other values": {"clip": [0.5] * 20},
            "gone": {},
        }
        again = replay(Split.from_manifest(made.to_manifest()), source_of(columns=now[what]))
        assert (again.constraints is not None) == (what == "the same")
        assert again.assignment.tolist() == made.assignment.tolist()

    def test_locks_are_not_saved(self):
        """Where samples were locked, random splits around them are not known any more."""
        made = asked(source_of(columns={"clip": CLIPS}), group_by="clip", locked={"test": [0, 1]})
        again = replay(Split.from_manifest(made.to_manifest()), source_of(columns={"clip": CLIPS}))
        assert again.constraints is None

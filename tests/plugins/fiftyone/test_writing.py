"""Tags and fields: written over those of earlier splits, never over those of others, and put back."""

from __future__ import annotations

import pytest
from fiftyone_samples import pictures

from evosplit import EvoSplitError

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
FAST = {"effort": "fast"}


class TestWriting:
    """What stays, and what is replaced."""

    def test_rerun_does_not_pile_up(self, fiftyone, api, new_dataset):
        """A second split replaces the tags of the first, also under other names; the user's tags stay."""
        dataset = new_dataset(pictures(fiftyone, 40))
        api.evosplit_fiftyone(dataset, folds=4, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40, "fold0": 10, "fold1": 10, "fold2": 10, "fold3": 10}
        api.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        api.evosplit_fiftyone(dataset, (0.5, 0.5), seed=1, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40, "train": 20, "test": 20}

    def test_foreign_split_tags_are_replaced(self, fiftyone, api, new_dataset):
        """Tags of the same names count as an earlier split, whoever wrote them."""
        import fiftyone.utils.random as four

        dataset = new_dataset(pictures(fiftyone, 40))
        four.random_split(dataset, RATIOS, seed=1)
        api.evosplit_fiftyone(dataset, RATIOS, **FAST)
        assert dataset.count_sample_tags() == {"mine": 40, "train": 24, "val": 8, "test": 8}

    def test_keep_tags(self, fiftyone, api, new_dataset):
        """Folds of the training samples leave them tagged so; undo takes the folds alone away."""
        dataset = new_dataset(pictures(fiftyone, 30))
        api.evosplit_fiftyone(dataset, RATIOS, **FAST)
        before = dataset.values("tags")
        api.evosplit_fiftyone(dataset.match_tags("train"), folds=3, keep_tags=True, **FAST)
        assert dataset.count_sample_tags() == {
            **{"mine": 30, "train": 18, "val": 6, "test": 6},
            **{f"fold{number}": 6 for number in range(3)},
        }
        api.undo_split(dataset)
        assert dataset.values("tags") == before

    def test_only_tags_that_evosplit_wrote_are_taken_away(self, fiftyone, api, new_dataset):
        """A user's tag stays, also one that EvoSplit wrote on other samples, or has taken away there before."""
        dataset = new_dataset(pictures(fiftyone, 40))
        inside, outside = dataset.limit(20), dataset.skip(20)
        outside.tag_samples("train")
        inside.limit(3).tag_samples("fold0")
        split = api.evosplit_fiftyone(inside, (0.5, 0.5), **FAST)
        before = dataset.values("tags")
        folds = api.evosplit_fiftyone(dataset, folds=4, **FAST)
        mine = {"fold0": len(set(folds.ids("fold0")) & set(inside.limit(3).values("id")))}  # there before, and stay
        assert set(dataset.match_tags("train").values("id")) == set(outside.values("id"))
        again = dataset.select(split.ids("train").tolist())
        again.tag_samples("train")
        api.evosplit_fiftyone(dataset, {"a": 20, "b": 20}, **FAST)
        expected = {"mine": 40, "train": 30, "a": 20, "b": 20, **{tag: n for tag, n in mine.items() if n}}
        assert dataset.count_sample_tags() == expected
        api.undo_split(dataset)
        again.untag_samples("train")
        api.undo_split(dataset)
        assert dataset.values("tags") == before

    def test_null_tags(self, fiftyone, api, new_dataset):
        """Samples whose tags are null in the database are tagged all the same."""
        dataset = new_dataset(pictures(fiftyone, 10))
        dataset.set_values("tags", [None] * 10)
        api.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        assert dataset.count_sample_tags() == {"train": 5, "test": 5}

    def test_failure_while_writing(self, fiftyone, api, new_dataset, monkeypatch):
        """When writing breaks off half-way, the tags are put back and no record stays."""
        from evosplit_plugins.fiftyone_plugin import writing

        dataset = new_dataset(pictures(fiftyone, 20))
        dataset.limit(5).tag_samples("train")
        before = dataset.values("tags")
        real = writing._set
        calls = []

        def half(target, path, changes):
            calls.append(path)
            if len(calls) == 1:
                real(target, path, dict(list(changes.items())[: len(changes) // 2]))
                raise ConnectionError("the database went away")
            real(target, path, changes)

        monkeypatch.setattr(writing, "_set", half)
        with pytest.raises(ConnectionError):
            api.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        assert dataset.values("tags") == before
        assert dataset.list_runs() == []


class TestUndo:
    """The way back."""

    def test_restores_tags(self, fiftyone, api, new_dataset):
        """Tags are back exactly, order included, one split at a time."""
        dataset = new_dataset(pictures(fiftyone, 30))
        dataset.limit(10).set_values("tags", [["train", "mine", "x"]] * 10)
        states = [dataset.values("tags")]
        for seed in (1, 2):
            api.evosplit_fiftyone(dataset, (0.5, 0.5), seed=seed, **FAST)
            states.append(dataset.values("tags"))
        assert states[1] != states[2]
        for state in (states[1], states[0]):
            api.undo_split(dataset)
            assert dataset.values("tags") == state
        with pytest.raises(EvoSplitError, match="no split by EvoSplit is recorded"):
            api.undo_split(dataset)

    def test_keeps_later_edits(self, fiftyone, api, new_dataset):
        """Tags that the user added or removed after the split stay so."""
        dataset = new_dataset(pictures(fiftyone, 10))
        dataset.tag_samples("old")
        api.evosplit_fiftyone(dataset, (0.5, 0.5), **FAST)
        dataset.tag_samples("new")
        dataset.untag_samples("old")
        dataset.delete_samples([dataset.first().id])
        api.undo_split(dataset)
        assert dataset.count_sample_tags() == {"mine": 9, "new": 9}

    def test_restores_field(self, fiftyone, api, new_dataset):
        """Earlier values of a field come back; a created field goes, unless somebody else used it."""
        dataset = new_dataset(pictures(fiftyone, 10, subset="by hand"))
        api.evosplit_fiftyone(dataset, (0.5, 0.5), field="subset", overwrite=True, **FAST)
        api.undo_split(dataset)
        assert dataset.count_values("subset") == {"by hand": 10}
        api.evosplit_fiftyone(dataset.limit(6), (0.5, 0.5), field="other", **FAST)
        last = dataset.last()
        last["other"] = "note"
        last.save()
        api.undo_split(dataset)
        assert dataset.count_values("other") == {None: 9, "note": 1}

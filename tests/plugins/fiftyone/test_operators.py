"""The operators and the panel without a browser: forms, execution, delegation, figures."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fiftyone_samples import NAMES, boxes, grouped, pictures, scenes, split_with_front
from fiftyone_session import stop_process

import evosplit
from evosplit import LabelCounts

PLUGIN = "@evosplit/evosplit"
PARAMS = {"effort": "fast"}
PANEL = f"{PLUGIN}/evosplit_panel"
EVERYTHING = {  # all constraints at once
    "ratios": {"train": 0.5, "test": 0.5},
    "existing": "keep",
    "group_by": ["scene"],
    "near_duplicates": "similar",
    "duplicate_threshold": 0.05,
    "stratify_by": ["weather", "area"],
    "min_per_label": 2,
    "label_weights": "dog: 3",
    **PARAMS,
}


@pytest.fixture(scope="module")
def foo(fiftyone):
    """Give FiftyOne's operators."""
    import fiftyone.operators as foo

    return foo


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give a dataset of 40 pictures."""
    return new_dataset(pictures(fiftyone, 40))


@pytest.fixture
def scene_dataset(fiftyone, new_dataset):
    """Give 12 scenes with 4 pictures each and a similarity run, in which the pictures of a scene are near."""
    import fiftyone.brain as fob

    dataset = new_dataset(scenes(fiftyone))
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.normal(size=(12, 8)), 4, axis=0) + 0.01 * rng.normal(size=(48, 8))
    fob.compute_similarity(dataset, embeddings=vectors, brain_key="similar", backend="sklearn")
    return dataset


def choices(properties, name):
    """Give the values that a dropdown offers."""
    return [choice["value"] for choice in properties[name]["view"]["choices"]]


def operator(foo, name):
    """Give an operator of the plugin."""
    return foo.get_operator(f"{PLUGIN}/{name}")


def context(dataset, params=None, **request):
    """Make the context that the App would send."""
    from fiftyone.operators.executor import ExecutionContext, Executor

    asked = {"dataset_name": dataset.name, "params": params or {}, "prompt_id": None, **request}
    return ExecutionContext(asked, executor=Executor())


def form(foo, dataset, params=None, name="evosplit", **request):
    """Resolve a form, unfolded unless `params` says otherwise, and give its properties as JSON."""
    resolved = operator(foo, name).resolve_type(context(dataset, {"more": True, **(params or {})}, **request), "inputs")
    return resolved.to_json()["type"]["properties"]


def shown(properties, name):
    """Give the text that a notice or an error shows."""
    return properties[name]["view"]["label"]


def folded(properties):
    """Give the properties of what is folded under All numbers."""
    assert properties["numbers"]["view"]["collapsible"]
    assert properties["numbers"]["view"]["items"]["componentsProps"]["accordion"]["defaultExpanded"] is False
    return properties["numbers"]["type"]["element_type"]["properties"]


class TestRegistration:
    """What FiftyOne finds."""

    def test_loads_without_errors(self, fiftyone):
        """Everything that fiftyone.yml lists is registered, and nothing failed silently."""
        from fiftyone.plugins.context import build_plugin_contexts

        found = next(context for context in build_plugin_contexts() if context.name == PLUGIN)
        assert found.errors == []
        definition = found.plugin_definition
        wanted = {*definition.operators, *definition._metadata["panels"]}
        assert {instance.name for instance in found.instances} == wanted

    def test_definition_is_that_of_the_code(self, fiftyone):
        """fiftyone.yml at the root says what the code says, with the entry of a downloaded plugin."""
        import yaml

        from evosplit_plugins.fiftyone_plugin.app.install import plugin_definition

        root = Path(__file__).resolve().parents[3]
        written = yaml.safe_load((root / "fiftyone.yml").read_text())
        entry = written.pop("py_entry")
        assert written == plugin_definition()
        assert (root / entry).is_file()

    def test_requirements_cover_the_engine(self):
        """requirements.txt names what the package depends on, all but what only the terminal needs."""
        root = Path(__file__).resolve().parents[3]
        lines = (root / "requirements.txt").read_text().split()
        project = (root / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0]
        wanted = [line.split('"')[1] for line in project.splitlines() if '"' in line and "rich" not in line]
        assert lines == wanted

    def test_button_above_the_grid(self, foo, dataset):
        """The toolbar shows the button, which opens the form."""
        placement = operator(foo, "evosplit").resolve_placement(context(dataset)).to_json()
        assert placement["place"] == "samples-grid-secondary-actions"
        assert placement["view"]["prompt"] is True


class TestForm:
    """What the user fills in."""

    def test_defaults(self, foo, fiftyone, new_dataset):
        """The likely field is chosen, what will be split is said before running, nothing is invalid."""
        samples = pictures(fiftyone, 40, predictions=boxes(fiftyone, "x"))
        properties = form(foo, new_dataset(samples))
        assert properties["label_field"]["default"] == ["gt"]
        choices = [choice["value"] for choice in properties["label_field"]["view"]["choices"]]
        assert choices == ["predictions", "gt"] or choices == ["gt", "predictions"]
        n = sum(len(sample.gt.detections) for sample in samples)
        assert shown(properties, "preview") == (
            f"40 samples with 3 labels and {n} instances will be split: train 32, val 4, test 4"
        )
        assert not any(prop["invalid"] for prop in properties.values())

    @pytest.mark.parametrize(
        ("params", "match"),
        [
            ({"train_val_test": {"train": 0.8, "val": 0.1, "test": 0.2}}, "sum to 1.1, not to 1"),
            ({"train_val_test": {"train": 1.1, "val": -0.1, "test": 0}}, "'val' is -0.1"),
            ({"train_val_test": {"train": None, "val": 0.1, "test": 0.1}}, "'train' is empty"),
            ({"train_val_test": {"train": 0.9, "val": 0.1}}, "'test' is empty"),
            ({"train_val_test": {"train": 0.998, "val": 0.001, "test": 0.001}}, "no sample out of 40"),
            ({"subsets": "custom", "custom": "train"}, "'train' needs a name and a ratio"),
            ({"subsets": "custom", "custom": "a: x, b: 0.5"}, "'a' is 'x'; give a number"),
            ({"subsets": "custom", "custom": "a: 0.5, a: 0.5"}, "'a' is named twice"),
            ({"subsets": "custom", "custom": "a: 30, b: 20"}, "sum to 50, but there are 40 samples"),
            ({"subsets": "custom", "custom": ""}, "No subset is named"),
            ({"subsets": "folds", "folds": 1}, '"Number of folds" 1 makes no split; give an integer of at least 2'),
            ({"subsets": "folds", "folds": 41}, "41 is too many for 40 samples"),
            ({"write": "field", "field": "gt"}, "'gt' .* cannot hold"),
        ],
    )
    def test_mistakes_are_shown(self, foo, dataset, params, match):
        """What is wrong is said in a sentence while typing, and keeps the form from being executed."""
        properties = form(foo, dataset, params)
        error = properties["request_error"]
        assert error["invalid"]
        assert "preview" not in properties
        assert re.search(match, shown(properties, "request_error"))
        assert list(properties)[-1] == "request_error_again"  # where the last fields are, too
        assert shown(properties, "request_error_again") == shown(properties, "request_error")
        assert "request_error_again" not in form(foo, dataset, {**params, "more": False})

    @pytest.mark.parametrize(
        ("params", "sizes"),
        [
            ({"subsets": "train_test"}, "train 32, test 8"),
            ({"subsets": "custom", "custom": "a: 0.5, held out: 0.5"}, "a 20, held out 20"),
            ({"subsets": "custom", "custom": "a 39, b 1"}, "a 39, b 1"),
            ({"subsets": "folds"}, "fold0 8, fold1 8, fold2 8, fold3 8, fold4 8"),
        ],
    )
    def test_sizes_are_shown(self, foo, dataset, params, sizes):
        """The exact sizes are said before running."""
        assert shown(form(foo, dataset, params), "preview").endswith(f"will be split: {sizes}")

    def test_view_and_selection(self, foo, dataset):
        """The current view and the selection are offered, and counted."""
        view = dataset.limit(30)
        selected = dataset.values("id")[:10]
        request = {"view": view._serialize(), "selected": selected}
        offered = form(foo, dataset, **request)["view_target"]
        values = [choice["value"] for choice in offered["view"]["choices"]]
        assert {"DATASET", "CURRENT_VIEW", "SELECTED_SAMPLES"} <= set(values)
        for target, n in (("DATASET", 40), ("CURRENT_VIEW", 30), ("SELECTED_SAMPLES", 10)):
            params = {"view_target": target, "subsets": "train_test"}
            assert shown(form(foo, dataset, params, **request), "preview").startswith(f"{n} samples")

    def test_groups_are_counted_as_units(self, foo, fiftyone, new_dataset):
        """A grouped dataset says how many groups there are."""
        properties = form(foo, grouped(fiftyone, new_dataset, 10), {"label_field": ["gt"]})
        assert shown(properties, "preview").startswith("10 groups with 2 labels and 30 instances")

    def test_patches_are_counted_as_samples(self, foo, dataset):
        """A patches view says how many samples it covers."""
        patches = dataset.to_patches("gt")
        n = len(set(patches.values("sample_id")))
        properties = form(foo, dataset, {"subsets": "train_test"}, view=patches._serialize())
        assert shown(properties, "preview").startswith(f"{n} samples with 3 labels and {len(patches)} instances")

    def test_no_labels(self, foo, fiftyone, new_dataset):
        """Without labels the form asks for them, or for what else to balance, which is enough."""
        samples = [fiftyone.Sample(filepath=f"/{i}.jpg", night=i % 2 == 0, sky="ab"[i % 2]) for i in range(20)]
        dataset = new_dataset(samples)
        assert {"night", "sky"} <= set(choices(form(foo, dataset), "stratify_by"))
        assert form(foo, dataset)["request_error"]["error_message"] == (
            "Neither labels nor anything else is to be spread evenly; name label fields with "
            '"Labels to spread evenly", or what to balance with "Balance also".'
        )
        params = {"label_field": [], "stratify_by": ["night"], **PARAMS}
        assert shown(form(foo, dataset, params), "preview") == "20 samples will be split: train 16, val 2, test 2"
        *_, last = operator(foo, "evosplit").execute(context(dataset, params, spaces={}))
        result = last.body.params["results"]
        assert result["label_fields"] == []
        assert (result["glance"], "figure" in result) == ("Sizes: **exact** · as asked for", False)
        assert "strata" in result["tables"]["table1"]["title"]  # seen at once, instead of the picture of the labels
        assert [row["c0"] for row in result["table1"]] == ["night", "night"]
        assert list(result["tables"]["table0"]["columns"].values()) == ["subset", "samples"]
        assert [row["c0"] for row in result["numbers"][0]["table2"]] == ["ED, size error", "strata, all categories"]
        assert dataset.match_tags("train").count_values("night") == {True: 8, False: 8}

    def test_an_empty_dataset(self, foo, new_dataset):
        """Where there is no sample, that is what the form says, not that labels are missing."""
        found = form(foo, new_dataset())["request_error"]
        assert (found["view"]["label"], found["invalid"]) == ("There is no sample to split in this view.", True)

    def test_audit_of_what_is_left(self, foo, dataset):
        """By default an audit takes those tags of the latest split that samples still have, or else the usual ones."""
        operator(foo, "evosplit")(dataset, {"train": 0.5, "val": 0.25, "test": 0.25}, effort="fast")
        dataset.untag_samples("val")
        for names in (["train", "test"], ["train", "valid"]):
            result = operator(foo, "audit_split").execute(context(dataset))
            assert [row["c0"] for row in result["table0"]] == names
            dataset.match_tags("test").tag_samples("valid")
            dataset.untag_samples("test")

    def test_audit_of_texts(self, foo, fiftyone, new_dataset):
        """The labels to judge are chosen, and may be texts; without any, an audit still finds leaks."""
        samples = [
            fiftyone.Sample(filepath=f"/{i // 2}.jpg", kind="ab"[i % 2], tags=["test" if i < 10 else "train"])
            for i in range(40)
        ]
        dataset = new_dataset(samples)
        dataset.limit(1).tag_samples("train")
        asked = form(foo, dataset, name="audit_split")
        assert [choice["value"] for choice in asked["label_field"]["view"]["choices"]] == ["kind"]
        result = operator(foo, "audit_split").execute(context(dataset, {"label_field": ["kind"]}))
        assert result["glance"].startswith("**")
        result = operator(foo, "audit_split").execute(context(dataset, {"label_field": []}))
        assert result["glance"].startswith("There is nothing to judge")
        assert "missing" not in result["glance"]
        assert result["leaks"]
        assert "table1" not in result  # the measures are folded

    def test_earlier_tags_are_named(self, foo, dataset):
        """The tags that a new split would replace are named."""
        evosplit_plugin().evosplit_fiftyone(dataset, folds=2, **PARAMS)
        choices = form(foo, dataset)["existing"]["view"]["choices"]
        assert "(fold0, fold1)" in choices[0]["description"]

    @pytest.mark.parametrize(
        ("field", "says"),
        [
            (None, "Removes the tags"),
            ("new", "The field is created; no tag"),
            ("part", "Overwrites what it wrote"),
            ("filepath", "No tag"),
            ("a b", "No tag"),
        ],
    )
    def test_what_is_replaced(self, foo, dataset, field, says):
        """What a split replaces is said for tags, a new field, one that EvoSplit wrote, and one that it cannot."""
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), field="part", **PARAMS)
        params = {} if field is None else {"write": "field", "field": field}
        shown_form = form(foo, dataset, params)
        assert shown_form["existing"]["view"]["choices"][0]["description"].startswith(says)
        assert "overwrite" not in shown_form

    def test_what_is_kept(self, foo, fiftyone, dataset):
        """Samples that stay are counted apart; when all do, or one is in two subsets, the form says so at once."""
        kept = {"existing": "keep", "subsets": "train_test"}
        dataset.limit(10).tag_samples("train")
        assert shown(form(foo, dataset, kept), "preview").endswith(
            "10 stay in their subsets; 30 samples will be placed, so that the whole comes to: train 32, test 8"
        )
        dataset.tag_samples("train")
        assert "nothing is left to place" in shown(form(foo, dataset, kept), "request_error")
        dataset.limit(1).tag_samples("test")
        assert "in 'train' and in 'test' already" in shown(form(foo, dataset, kept), "request_error")
        into_field = {**kept, "write": "field"}
        assert shown(form(foo, dataset, into_field), "preview").endswith("will be split: train 32, test 8")  # a new one
        dataset.add_sample_field("split", fiftyone.StringField)
        dataset.limit(10).set_values("split", ["train"] * 10)
        assert "10 stay in their subsets" in shown(form(foo, dataset, into_field), "preview")
        *_, last = operator(foo, "evosplit").execute(context(dataset, {**into_field, "field": "fresh"}, spaces={}))
        assert last.body.params["results"]["field"] == "fresh"

    def test_what_nobody_thought_of(self, foo, dataset, monkeypatch):
        """Where the database fails, the form says so and keeps what was filled in."""
        from evosplit_plugins.fiftyone_plugin import reading

        monkeypatch.setattr(reading, "count_units", lambda _: 1 // 0)
        found = form(foo, dataset, {"seed": 3})["request_error"]
        assert found["invalid"]
        assert "ZeroDivisionError" in found["error_message"]

    def test_counted_once_per_prompt(self, foo, dataset, monkeypatch):
        """While the user types, the database is not asked again and again."""
        from evosplit_plugins.fiftyone_plugin import reading

        asked = []
        real = reading.overview
        monkeypatch.setattr(reading, "overview", lambda *args: asked.append(1) or real(*args))
        for text in ("a", "a:", "a: 0.5, b: 0.5"):
            form(foo, dataset, {"subsets": "custom", "custom": text}, prompt_id="p1")
        assert len(asked) == 1


class TestConstraintsInTheForm:
    """What is kept together and what else is balanced."""

    def test_fields_are_offered(self, foo, scene_dataset):
        """Fields are offered for what they can do; box sizes where there are boxes, the folder by its name."""
        properties = form(foo, scene_dataset)
        assert choices(properties, "group_by") == ["filepath", "scene", "patient", "day", "shot", "weather"]
        strata = choices(properties, "stratify_by")
        assert strata[:4] == ["area", "scene", "patient", "day"]
        assert {"night", "temperature", "metadata.width"} <= set(strata)
        assert not {"gt", "filepath", "tags"} & set(strata)
        assert "area" not in choices(form(foo, scene_dataset, {"label_field": ["weather"]}), "stratify_by")

    def test_near_duplicates_are_offered(self, foo, scene_dataset, dataset):
        """Near duplicates are offered where a similarity run or a field tells them, a threshold for a run only."""
        assert "duplicates" not in form(foo, dataset)
        scene_dataset.set_values("original", [scene_dataset.first().id] * 2 + [None] * 46)
        row = form(foo, scene_dataset)["duplicates"]["type"]["properties"]
        assert choices(row, "near_duplicates") == ["_none", "similar", "original"]
        assert "threshold_similar" not in row
        for chosen, shows in (("similar", True), ("original", False)):
            params = {"duplicates": {"near_duplicates": chosen, "threshold_similar": 0.1}}
            properties = form(foo, scene_dataset, params)
            assert ("threshold_similar" in properties["duplicates"]["type"]["properties"]) is shows
            assert "request_error" not in properties

    @pytest.mark.parametrize(
        ("params", "groups"),
        [
            ({"group_by": ["scene"]}, "12 groups, the largest of 4 samples"),
            ({"group_by": ["scene", "weather"]}, "1 group, the largest of 48 samples"),
            ({"duplicates": {"near_duplicates": "similar", "threshold_similar": 0.05}}, "12 groups, the largest of 4"),
            ({"duplicates": {"near_duplicates": "similar", "threshold_similar": 0}}, "no groups were found"),
        ],
    )
    def test_groups_are_counted(self, foo, scene_dataset, params, groups):
        """How many groups there will be is said before running."""
        said = shown(form(foo, scene_dataset, params), "preview")
        assert "train 38, val 5, test 5, as near as whole groups allow" in said
        assert groups in said

    def test_large_runs_wait(self, foo, scene_dataset, monkeypatch):
        """A large similarity run is not compared while the user types."""
        from evosplit_plugins.fiftyone_plugin.app import preview as module

        monkeypatch.setattr(module, "_COMPARED_AT_MOST", 47)
        params = {"duplicates": {"near_duplicates": "similar"}}
        assert "when it runs" in shown(form(foo, scene_dataset, params), "preview")

    @pytest.mark.parametrize(
        ("params", "match"),
        [
            ({"group_by": ["nope"]}, "^\"Keep together samples with the same\" 'nope' is no field of .*'scene'"),
            ({"group_by": ["temperature"]}, r"that can keep samples together \(FloatField\)"),
            ({"stratify_by": ["tags"]}, r"that can be balanced \(ListField\)"),
            ({"stratify_by": ["gt"]}, "'gt': the labels of that field are spread already"),
            ({"duplicates": {"near_duplicates": "gone"}}, "neither a similarity run nor a field"),
            ({"write": "field", "field": "scene"}, 'replace them with "Replace the values of this field"'),
            ({"more": True, "min_per_label": 0}, "0 samples of each label make no minimum"),
            ({"more": True, "label_weights": "cat"}, "'cat' needs a name and a weight, such as rare: 5"),
            ({"more": True, "label_weights": "cta: 2"}, "^\"Label weights\" names the label 'cta', which does.*'cat'"),
            ({"more": True, "label_weights": "cat: -2"}, "the weight of the label 'cat' is -2; give a positive"),
            ({"more": True, "label_weights": "cat: x"}, "the weight of 'cat' is 'x'; give a number such as 5"),
        ],
    )
    def test_mistakes_are_shown(self, foo, scene_dataset, params, match):
        """What is wrong is said while typing, and keeps the form from being executed."""
        properties = form(foo, scene_dataset, params)
        assert properties["request_error"]["invalid"]
        assert re.search(match, properties["request_error"]["error_message"], re.IGNORECASE)

    def test_folded(self, foo, dataset):
        """At first there are labels and subsets; all else is folded, holds all the same, and is said in one line."""
        fields = [name for name in form(foo, dataset, {"more": False}) if name != "view_target"]
        assert fields == ["label_field", "subsets", "train_val_test", "preview", "more"]
        folded = form(foo, dataset, {"more": False, "label_weights": "cat: 2", "search": {"effort": "fast", "seed": 7}})
        said = folded["more"]["view"]["description"]
        assert said == "into sample tags, replacing an earlier split · weights cat: 2 · fast, seed 7"
        assert "min_per_label" in form(foo, dataset)
        assert "min_per_label" not in form(foo, dataset, {"cover": False})
        assert "request_error" in form(foo, dataset, {"more": False, "label_weights": "cat"})


def line(properties, name):
    """Give the sentence of a proposal and what its button would fill in."""
    row = properties[name]["type"]["properties"]
    button = row.get(f"{name}_take")
    return row[f"{name}_said"]["view"]["label"], None if button is None else button["view"]["params"]


class TestProposals:
    """What the form proposes, with a button that fills it in."""

    def test_groups(self, foo, scene_dataset):
        """A field with many values of several samples each is proposed; once taken, it is not proposed again."""
        said, params = line(form(foo, scene_dataset, {"subsets": "train_test"}), "propose_groups")
        assert said == "12 values of scene, with up to 4 samples each: do they belong together?"
        assert params == {"more": True, "subsets": "train_test", "group_by": ["scene"]}
        assert "propose_groups" not in form(foo, scene_dataset, params)

    def test_groups_of_patches(self, foo, scene_dataset):
        """The fields of patches are those of the samples that they were cut from, with which they stay together."""
        patches = scene_dataset.to_patches("gt")
        carriers = scene_dataset.select(list(set(patches.values("sample_id")))).count_values("scene")
        asked = form(foo, scene_dataset, {"subsets": "train_test"}, view=patches._serialize())
        assert "request_error" not in asked
        said, params = line(asked, "propose_groups")
        up_to = max(carriers.values())
        assert said == f"{len(carriers)} values of scene, with up to {up_to} samples each: do they belong together?"
        ctx = context(scene_dataset, {**params, **PARAMS}, spaces={}, view=patches._serialize())
        *_, last = operator(foo, "evosplit").execute(ctx)
        assert f"Groups: {len(carriers)}, all of them whole" in " ".join(last.body.params["results"]["summary"])

    def test_groups_of_the_first_samples(self, foo, scene_dataset, monkeypatch):
        """Where only the first samples are looked at, the count of their groups says so."""
        from evosplit_plugins.fiftyone_plugin.app import proposals

        for looked_at, among in ((48, ""), (40, " in the first 40 samples")):
            monkeypatch.setattr(proposals, "_LOOKED_AT", looked_at)
            proposal = proposals.propose_groups(scene_dataset, ())
            said = f"{looked_at // 4} values of scene{among}, with up to 4 samples each: do they belong together?"
            assert proposal.sentence == said

    def test_no_groups(self, foo, dataset):
        """Fields of few values, and of as many as there are samples, name no groups."""
        dataset.set_values("weather", ["sun", "rain"] * 20)
        dataset.set_values("serial", [str(i) for i in range(40)])
        assert not [name for name in form(foo, dataset) if name.startswith("propose")]

    def test_equal_names(self, foo, dataset):
        """Files of the same name in two folders are proposed to stay together, and then do."""
        paths = [f"/a/{i}.jpg" for i in range(35)] + [f"/b/{i}.jpg" for i in range(5)]
        dataset.set_values("filepath", paths)
        said, params = line(form(foo, dataset), "propose_names")
        assert said.startswith("10 files share their names with files in other folders: 0.jpg, 1.jpg")
        assert "the largest of 2 samples" in shown(form(foo, dataset, params), "preview")
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": {**params, **PARAMS}})
        subsets = dict(zip(*dataset.values(["filepath", "tags"]), strict=True))
        assert all(subsets[f"/a/{i}.jpg"] == subsets[f"/b/{i}.jpg"] for i in range(5))

    @pytest.mark.parametrize(
        ("subsets", "takes"),
        [
            ({"subsets": "folds", "folds": 4}, {"folds": 2}),
            ({"subsets": "train_val_test"}, {"subsets": "train_test"}),
            ({"subsets": "custom", "custom": "a 20, b 10, c 10"}, None),
            ({"subsets": "train_test"}, None),
        ],
    )
    def test_rare_labels(self, foo, fiftyone, dataset, subsets, takes):
        """Labels in fewer samples than there are subsets are named, and fewer subsets proposed, if that helps."""
        for i, sample in enumerate(dataset.limit(2)):
            sample["gt"] = boxes(fiftyone, *["emu"] * (3 + i))
            sample.save()
        properties = form(foo, dataset, subsets)
        if subsets["subsets"] == "train_test":
            assert "propose_subsets" not in properties
            return
        said, params = line(properties, "propose_subsets")
        assert "1 label has too few samples" in said
        assert "emu (2)" in said
        assert params == (None if takes is None else {"more": True, **subsets, **takes})


class TestCounting:
    """What the database is asked for in the background."""

    def test_slow_answers_are_not_waited_for(self, foo, dataset, monkeypatch):
        """A form is built before everything is counted, and says so; what the App asks then waits for the counts."""
        from evosplit_plugins.fiftyone_plugin import reading
        from evosplit_plugins.fiftyone_plugin.app import counting

        may_go, real = threading.Event(), reading.overview
        monkeypatch.setattr(reading, "overview", lambda *args: may_go.wait(60) and real(*args))
        monkeypatch.setattr(counting, "PATIENCE", 0.3)
        waiting = form(foo, dataset)
        assert "preview" not in waiting
        assert "Counting…" in shown(waiting, "counting")
        assert waiting["counting"]["view"]["description"] == "40 samples will be split: train 32, val 4, test 4"
        resolver = waiting["counting"]["type"]["resolver"].removeprefix(f"{PLUGIN}/")
        may_go.set()
        answer = operator(foo, resolver).execute(context(dataset, {"more": True}))
        assert shown(answer["type"]["properties"], "preview").startswith("40 samples with 3 labels")
        assert shown(form(foo, dataset), "preview").startswith("40 samples with 3 labels")

    def test_changes_are_seen(self, foo, dataset):
        """When samples change, are added or deleted, the form counts again."""
        assert "40 samples with 3 labels" in shown(form(foo, dataset, prompt_id="p"), "preview")
        dataset.set_values("gt.detections.label", [["eel"] * len(row) for row in dataset.values("gt.detections")])
        assert "40 samples with 1 label " in shown(form(foo, dataset, prompt_id="p"), "preview")
        dataset.delete_samples(dataset.values("id")[:10])
        assert "30 samples with 1 label " in shown(form(foo, dataset, prompt_id="p"), "preview")


def first_run(dataset, at=0):
    """Give the key of the first recorded split, or of another one."""
    from evosplit_plugins.fiftyone_plugin import runs

    return runs.run_keys(dataset)[at]


def evosplit_plugin():
    """Give the public functions."""
    from evosplit_plugins import fiftyone_plugin

    return fiftyone_plugin


class TestExecute:
    """What the operators do."""

    def test_from_python(self, foo, dataset):
        """Executed from Python, the operator returns sizes, measures and what a random split would give."""
        result = foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": PARAMS}).result
        assert result["sizes"] == {"train": 32, "val": 4, "test": 4}
        assert dataset.count_sample_tags() == {"mine": 40, "train": 32, "val": 4, "test": 4}
        assert result["measures"]["ld"] <= result["random"]["ld"]
        assert result["run_key"] in dataset.list_runs()
        json.dumps(result)

    def test_options(self, foo, dataset):
        """Ratios, fields, folds and view reach the split."""
        view = dataset.limit(20)
        params = {"ratios": {"a": 0.5, "b": 0.5}, "write": "field", "field": "part", "seed": 3, **PARAMS}
        foo.execute_operator(f"{PLUGIN}/evosplit", {"view": view, "params": params})
        assert dataset.count_values("part") == {None: 20, "a": 10, "b": 10}
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": {"folds": 4, **PARAMS}})
        assert dataset.count_sample_tags() == {"mine": 40, **{f"fold{i}": 10 for i in range(4)}}

    def test_error_from_python(self, foo, dataset):
        """A mistake raises in Python, with its sentence."""
        with pytest.raises(Exception, match=r"sum to 0\.9"):
            foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": {"ratios": {"a": 0.5, "b": 0.4}}})
        assert dataset.count_sample_tags() == {"mine": 40}

    @pytest.mark.parametrize("params", [{"write": "stone"}, {"existing": "burn"}, {"subsets": "many"}])
    def test_unknown_choice(self, foo, dataset, params):
        """A choice that does not exist is refused."""
        with pytest.raises(Exception, match=r"(?i)choose|enum"):
            foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": params})

    def test_call(self, foo, dataset):
        """The operator can be called like the function, and returns the same split."""
        split = operator(foo, "evosplit")(dataset, (0.5, 0.5), label_field="gt", **PARAMS)
        assert split.sizes == (20, 20)
        assert dataset.count_sample_tags() == {"mine": 40, "train": 20, "test": 20}

    def test_stream(self, foo, dataset):
        """For the App, progress and a way to cancel come first, tags and result at the end."""
        ctx = context(dataset, PARAMS, spaces={})
        messages = list(operator(foo, "evosplit").execute(ctx))
        names = [message.body.operator_uri for message in messages]
        assert names[-2:] == [f"{PLUGIN}/load_samples", "show_output"]
        results = messages[-1].body.params["results"]
        assert results["sizes"] == {"train": 32, "val": 4, "test": 4}
        first = messages[0].body.params
        assert first["outputs"]["type"]["properties"]["cancel"]["view"]["label"] == "Cancel"
        assert dataset.count_sample_tags()["train"] == 32

    def test_stream_error(self, foo, dataset):
        """An error during the run is shown as a sentence and as a notification, and changes nothing."""
        params = {"label_field": ["gone"], **PARAMS}
        messages = list(operator(foo, "evosplit").execute(context(dataset, params, spaces={})))
        *_, output, notice = messages
        assert notice.body.operator_uri == "notify"
        assert notice.body.params["message"].startswith("'gone' is no label field")
        assert output.body.params["outputs"]["type"]["properties"]["message"]["view"]["name"] == "Error"
        assert dataset.count_sample_tags() == {"mine": 40}

    def test_stream_unexpected_error(self, foo, dataset, monkeypatch):
        """Even a bug is shown, with the state of the dataset."""
        from evosplit_plugins.fiftyone_plugin.app.request import SplitRequest

        def broken(*args, **options):
            raise RuntimeError("no such luck")

        monkeypatch.setattr(SplitRequest, "search", broken)
        messages = list(operator(foo, "evosplit").execute(context(dataset, PARAMS, spaces={})))
        assert "no such luck. The dataset is as it was" in messages[-1].body.params["message"]

    def test_leaving_stops_the_search(self, foo, dataset):
        """Closing the page during the search writes nothing and ends the search."""
        stream = operator(foo, "evosplit").execute(context(dataset, {"search": {"effort": "thorough"}}, spaces={}))
        next(stream)
        running = [thread for thread in threading.enumerate() if thread.name.startswith("evosplit-")]
        stream.close()
        for thread in running:
            thread.join(timeout=60)
            assert not thread.is_alive()
        assert dataset.count_sample_tags() == {"mine": 40}
        assert dataset.list_runs() == []

    def test_cancel(self, foo, dataset):
        """The cancel operator ends the search, and the dataset is as it was."""
        stream = operator(foo, "evosplit").execute(context(dataset, {"search": {"effort": "thorough"}}, spaces={}))
        button = next(stream).body.params["outputs"]["type"]["properties"]["cancel"]["view"]
        result = foo.execute_operator(f"{PLUGIN}/cancel_split", {"params": button["params"]}).result
        assert result == {"cancelled": True}
        last = list(stream)[-1].body.params["outputs"]["type"]["properties"]["message"]["view"]["label"]
        assert last == "Cancelled. The dataset is as it was."
        assert dataset.count_sample_tags() == {"mine": 40}
        again = foo.execute_operator(f"{PLUGIN}/cancel_split", {"params": button["params"]}).result
        assert again == {"cancelled": False}

    def test_delegated(self, foo, dataset):
        """A delegated run tags the samples, tells its progress and keeps its result."""
        from fiftyone.operators.delegated import DelegatedOperationService

        queued = operator(foo, "evosplit")(dataset, (0.5, 0.5), delegate=True, label_field="gt", **PARAMS)
        assert dataset.count_sample_tags() == {"mine": 40}
        service = DelegatedOperationService()
        service.execute_queued_operations(operator=f"{PLUGIN}/evosplit", dataset_name=dataset.name)
        done = service.get(queued.result["id"])
        assert done.run_state == "completed", done.result.error
        assert done.status.progress > 0
        assert done.result.result["sizes"] == {"train": 20, "test": 20}
        assert dataset.count_sample_tags() == {"mine": 40, "train": 20, "test": 20}
        schema = done.metadata["outputs_schema"]["type"]["properties"]
        first, *others = done.result.result["tables"]
        assert {"open_panel", first} <= set(schema)
        assert list(folded(schema)) == ["summary", *others, "meanings"]
        said = f"Ended at {done.result.result['ended']}, written as sample tags; see the EvoSplit panel of "
        assert shown(schema, "done").startswith(said)

    def test_delegated_audit_and_export(self, foo, dataset, tmp_path):
        """Audits and exports can be queued as well; one that fails is a failed run."""
        from fiftyone.operators.delegated import DelegatedOperationService
        from PIL import Image

        service, picture = DelegatedOperationService(), tmp_path / "grey.png"
        Image.new("RGB", (40, 30)).save(picture)
        dataset.set_values("filepath", [str(shutil.copy(picture, tmp_path / f"{i}.png")) for i in range(40)])
        operator(foo, "evosplit")(dataset, (0.5, 0.5), label_field="gt", effort="fast")

        def run(name, params):
            asked = {"dataset": dataset, "view": dataset.view(), "params": params, "request_delegation": True}
            queued = foo.execute_operator(f"{PLUGIN}/{name}", asked)
            service.execute_queued_operations(operator=f"{PLUGIN}/{name}", dataset_name=dataset.name)
            return service.get(queued.result["id"])

        audited = run("audit_split", {})
        assert audited.run_state == "completed", audited.result.error
        assert shown(audited.metadata["outputs_schema"]["type"]["properties"], "verdict")
        exported = run("export_subsets", {"output": str(tmp_path / "out")})
        assert exported.run_state == "completed", exported.result.error
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".evosplit.json", "test", "train"]
        assert run("export_subsets", {"output": str(tmp_path / "nowhere" / "out")}).run_state == "failed"

    def check_all(self, dataset, result):
        """Check what a run with all constraints did to the dataset, and what it says."""
        dataset.reload()
        assert dataset.count_sample_tags() == {"train": 24, "test": 24}
        subset = {}
        for scene, tags in zip(*dataset.values(["scene", "tags"]), strict=True):
            subset.setdefault(scene, set()).update(tags)
        assert all(len(tags) == 1 for tags in subset.values())
        assert subset["scene 0"] == {"test"}
        assert result["constraints"]["groups"]["total"] == 12
        assert result["constraints"]["locked"] == {"train": 0, "test": 4}
        rows = {**result, **result["numbers"][0]}
        tables = {
            table["title"]: [{table["columns"][key]: text for key, text in row.items()} for row in rows[name]]
            for name, table in result["tables"].items()
        }
        sizes = tables["What each subset holds"]
        assert list(sizes[0]) == ["subset", "samples", "instances", "no label", "groups", "locked"]
        assert [(row["groups"], row["locked"]) for row in sizes] == [("6", "0"), ("6", "4")]
        strata = tables["Categories of the strata furthest from their share"]
        assert {row["stratum"] for row in strata} == {"weather", "area"}
        assert any("Box sizes are told by the share" in note for note in result["notes"])
        json.dumps(result)

    def test_constraints(self, foo, scene_dataset):
        """Groups, near duplicates, kept samples, strata, minima and weights reach the split and its result."""
        scene_dataset.limit(1).tag_samples("test")
        asked = {"dataset": scene_dataset, "params": EVERYTHING}
        self.check_all(scene_dataset, foo.execute_operator(f"{PLUGIN}/evosplit", asked).result)
        foo.execute_operator(f"{PLUGIN}/undo_split", {"dataset": scene_dataset})
        assert scene_dataset.count_sample_tags() == {"test": 1}

    @pytest.mark.parametrize("together", [True, False])
    def test_copies_of_a_picture(self, foo, dataset, together):
        """They stay together unless the switch is off."""
        first, _, *others = dataset.values("filepath")
        dataset.set_values("filepath", [first, first, *others])
        params = {**PARAMS, "group_copies": together}
        result = foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": params}).result
        assert any("picture" in note for note in result["notes"]) is together

    def test_constraints_shown(self, foo, scene_dataset):
        """The App shows notes, groups and strata with the result."""
        scene_dataset.limit(1).tag_samples("test")
        messages = list(operator(foo, "evosplit").execute(context(scene_dataset, EVERYTHING, spaces={})))
        output = messages[-1].body.params
        properties = output["outputs"]["type"]["properties"]
        assert properties["notes"]["view"]["name"] == "Warning"
        assert "Groups: 12, all of them whole" in folded(properties)["summary"]["view"]["description"]
        assert [c["label"] for c in properties["table0"]["view"]["columns"]][-2:] == ["groups", "locked"]
        self.check_all(scene_dataset, output["results"])

    def test_delegated_constraints(self, foo, scene_dataset):
        """A delegated run takes all of them too, except what cannot be written down."""
        from fiftyone.operators.delegated import DelegatedOperationService

        scene_dataset.limit(1).tag_samples("test")
        options = {**EVERYTHING, "locked": ["test"], "label_weights": {"dog": 3}, "stratify_by": ("weather", "area")}
        ratios, _ = options.pop("ratios"), options.pop("existing")
        with pytest.raises(evosplit.EvoSplitError, match="takes near_duplicates= as a brain key or a field"):
            operator(foo, "evosplit")(scene_dataset, ratios, delegate=True, near_duplicates={})
        queued = operator(foo, "evosplit")(scene_dataset, ratios, delegate=True, **options)
        service = DelegatedOperationService()
        service.execute_queued_operations(operator=f"{PLUGIN}/evosplit", dataset_name=scene_dataset.name)
        done = service.get(queued.result["id"])
        assert done.run_state == "completed", done.result.error
        self.check_all(scene_dataset, done.result.result)

    def test_torn_group_is_shown(self, foo, scene_dataset):
        """A group that is kept in two subsets appears in the App as a sentence, and nothing changes."""
        scene_dataset[:1].tag_samples("train")
        scene_dataset[1:2].tag_samples("test")
        messages = list(operator(foo, "evosplit").execute(context(scene_dataset, EVERYTHING, spaces={})))
        said = messages[-1].body.params["message"]
        assert re.search(r"groups? .*locked into more than one subset \('scene 0.*'train' and 'test'", said)
        assert scene_dataset.count_sample_tags() == {"train": 1, "test": 1}

    def test_delegated_launch(self, foo, dataset):
        """The worker that `fiftyone delegated launch` starts picks the run up and completes it."""
        from fiftyone.operators.delegated import DelegatedOperationService

        queued = operator(foo, "evosplit")(dataset, (0.5, 0.5), delegate=True, **PARAMS)
        command = "from fiftyone.core.cli import main; main()"
        worker = subprocess.Popen(
            [sys.executable, "-c", command, "delegated", "launch"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            service = DelegatedOperationService()
            deadline = time.monotonic() + 180
            while service.get(queued.result["id"]).run_state not in ("completed", "failed"):
                assert time.monotonic() < deadline
                assert worker.poll() is None
                time.sleep(0.5)
        finally:
            stop_process(worker)
        done = service.get(queued.result["id"])
        assert done.run_state == "completed", done.result.error
        dataset.reload()
        assert dataset.count_sample_tags() == {"mine": 40, "train": 20, "test": 20}

    def test_delegated_failure(self, foo, dataset):
        """A delegated run that fails says why."""
        from fiftyone.operators.delegated import DelegatedOperationService

        queued = operator(foo, "evosplit")(dataset, (0.5, 0.5), delegate=True, effort="extreme")
        service = DelegatedOperationService()
        service.execute_queued_operations(operator=f"{PLUGIN}/evosplit", dataset_name=dataset.name)
        done = service.get(queued.result["id"])
        assert done.run_state == "failed"
        assert "effort='extreme' is unknown" in done.result.error

    def test_saved_views(self, foo, dataset):
        """A view of each subset is saved where no view has its name; undo takes away those that were made."""
        dataset.save_view("val", dataset.limit(1))
        params = {**PARAMS, "saved_views": True}
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": params})
        assert sorted(dataset.list_saved_views()) == ["test", "train", "val"]
        assert [len(dataset.load_saved_view(name)) for name in ("train", "val", "test")] == [32, 1, 4]
        operator(foo, "undo_split")(dataset)
        assert dataset.list_saved_views() == ["val"]

    def test_fields_are_loaded(self, foo, dataset, tmp_path):
        """Where a field comes or goes the App is told to load the fields; elsewhere, to show the samples anew."""

        def told(name, **params):
            ctx = context(dataset, {**PARAMS, **params}, spaces={})
            messages = operator(foo, name).execute(ctx)
            requests = ctx.executor._requests if isinstance(messages, dict) else [each.body for each in messages]
            return [request.operator_uri for request in requests if request.operator_uri != "show_output"]

        load, show = [f"{PLUGIN}/load_fields"], [f"{PLUGIN}/load_samples"]
        assert told("evosplit", write="field", field="part") == load
        assert told("evosplit", write="field", field="part") == show
        operator(foo, "save_manifest")(dataset, tmp_path / "split.json")
        assert told("undo_split") == show
        assert told("undo_split") == load
        assert told("apply_manifest", path=str(tmp_path / "split.json"), field="part") == load
        assert told("apply_manifest", path=str(tmp_path / "split.json")) == show

    @pytest.mark.parametrize("can_be_set", [True, False])
    def test_filters(self, fiftyone, foo, dataset, monkeypatch, can_be_set):
        """Filters are set when the App has cleared them, until the user sets others; an old App has view stages."""
        from evosplit_plugins.fiftyone_plugin.app import refreshing

        monkeypatch.setattr(refreshing, "_BETWEEN_LOOKS", 0)
        monkeypatch.setattr(refreshing, "_CAN_BE_SET", can_be_set)
        wanted = {"tags": {"values": ["mine"], "exclude": False, "isMatching": True}}

        def told(params, shown, view=(), name="load_fields"):
            ctx = context(dataset, params, spaces={}, filters=shown, view=list(view))
            operator(foo, name).execute(ctx)
            return {request.operator_uri: request.params for request in ctx.executor._requests}

        def plain(filters):
            return {path: {k: v for k, v in value.items() if k != "evosplit"} for path, value in filters.items()}

        marks = [told({}, wanted, name="load_samples") for _ in range(2)]
        assert told({}, {}, name="load_samples") == {"reload_dataset": {}}

        load = f"{PLUGIN}/load_fields"
        loaded = told({"field": "gt"}, wanted)
        if not can_be_set:
            assert list(loaded) == ["set_view"]
            assert "mine" in json.dumps(loaded["set_view"])
            assert marks == [{"reload_samples": {}}] * 2
            return
        marked = [mark["set_filters"] for mark in marks]
        assert marked[0] != marked[1]
        assert [plain(filters) for filters in marked] == [wanted] * 2
        assert loaded == {"reload_dataset": {}, load: {"filters": wanted, "looks": 19}}
        assert told({"field": "gt"}, {}) == {"reload_dataset": {}}
        assert told(loaded[load], wanted) == {load: {"filters": wanted, "looks": 18}}
        again = told(loaded[load], {})
        assert again[load] == {"filters": wanted, "looks": 2}
        assert plain(again["set_filters"]) == wanted
        assert told(again[load], again["set_filters"]) == {load: {"filters": wanted, "looks": 1}}
        assert told({"filters": wanted, "looks": 1}, wanted) == {}
        assert told(loaded[load], {"gt.label": {"values": ["a"]}}) == {}
        gone, label = fiftyone.ViewField("gone"), fiftyone.ViewField("label")
        view = dataset.limit(30).match(gone == "val").filter_labels("gt", label == "a")
        without = told({"field": "gone"}, {**wanted, "gone": {"values": ["val"]}}, view._serialize())
        assert without[load]["filters"] == wanted
        left = [stage["kwargs"][0] for stage in without["set_view"]["view"]]
        assert left == [["limit", 30], ["field", "gt"]]

    def test_export(self, foo, dataset, tmp_path):
        """Before there is a split, and for a directory that exists, the form refuses; an error is said in the App."""
        assert form(foo, dataset, name="export_subsets")["refused"]["invalid"]
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        assert form(foo, dataset, {"output": str(tmp_path)}, name="export_subsets")["refused"]["invalid"]
        new = {"output": str(tmp_path / "new")}
        assert "refused" not in form(foo, dataset, new, name="export_subsets")
        result = operator(foo, "export_subsets").execute(context(dataset, new, spaces={}))
        assert "error" in result  # the pictures of this dataset do not exist
        assert not (tmp_path / "new").exists()

    def test_undo(self, foo, dataset):
        """Undo says what it will do, does it, and has nothing to do afterwards."""
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": PARAMS})
        asked = form(foo, dataset, name="undo_split")["run_key"]
        assert asked["default"] == first_run(dataset)
        (named,) = asked["view"]["choices"]
        assert named["label"].startswith("1: train 32, val 4, test 4 · seed 0")
        result = foo.execute_operator(f"{PLUGIN}/undo_split", {"dataset": dataset}).result
        assert "40 samples are as they were" in result["message"]
        assert dataset.count_sample_tags() == {"mine": 40}
        assert form(foo, dataset, name="undo_split")["refused"]["invalid"]
        assert form(foo, dataset, name="save_manifest")["refused"]["invalid"]

    def test_undone_while_the_form_is_open(self, foo, dataset):
        """What is undone is what the form named; where that is not the latest any more, the run says so.

        The App says nothing of a form that is refused when it is sent off, so that the form is not.
        """
        for seed in range(2):
            evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), seed=seed, **PARAMS)
        named = {"run_key": form(foo, dataset, name="undo_split")["run_key"]["default"]}
        operator(foo, "undo_split")(dataset)
        for _ in range(2):  # with an earlier split, and with none
            before = dataset.values("tags")
            for name, says in (("undo_split", "Somebody undid this split"), ("save_manifest", "recorded")):
                asked = form(foo, dataset, named, name=name)
                assert "refused" not in asked
                assert asked["run_key"]["type"]["values"][-1] == named["run_key"]
                assert says in operator(foo, name).execute(context(dataset, named, spaces={}))["error"]
            assert dataset.values("tags") == before
            if dataset.list_runs():
                operator(foo, "undo_split")(dataset)

    @pytest.mark.parametrize("name", ["evosplit", "audit_split", "export_subsets"])
    def test_refused_only_when_it_is_sent_off(self, foo, dataset, name):
        """A form that was taken when it was shown is sent off, whatever others have done: the run says what is wrong.

        The App says nothing of a form that is refused then; one that was never taken is refused.
        """
        dataset[:20].tag_samples("train")
        dataset[20:].tag_samples("test")
        if name == "export_subsets":
            evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        params = {"existing": "keep", "subsets": "train_test"} if name == "evosplit" else {}
        dataset[:1].untag_samples(["train", "test"])

        def refused(prompt):
            found = form(foo, dataset, params, name=name, spaces={}, prompt_id=prompt, target="inputs")
            return any(prop["invalid"] for prop in found.values())

        assert not refused("shown")
        if name == "export_subsets":
            evosplit_plugin().undo_split(dataset)
        dataset.untag_samples(["train", "test"])
        if name == "evosplit":
            dataset[:1].tag_samples(["train", "test"])
        assert [refused(prompt) for prompt in ("shown", "another")] == [False, True]
        assert operator(foo, name).resolve_input(context(dataset, params, spaces={})) is None
        with pytest.raises(evosplit.EvoSplitError, match=r"two subsets|its subsets|No split"):
            operator(foo, name).execute(context(dataset, {**params, "output": "/no"}))

    def test_manifest(self, foo, dataset, tmp_path, monkeypatch):
        """A manifest is saved and replayed through the operators."""
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": PARAMS})
        before = dataset.values("tags")
        path = str(tmp_path / "split.json")
        assert form(foo, dataset, name="save_manifest")["run_key"]["default"] == first_run(dataset)
        monkeypatch.chdir(tmp_path)
        saved = foo.execute_operator(f"{PLUGIN}/save_manifest", {"dataset": dataset, "params": {"path": "split.json"}})
        assert saved.result["message"] == f"40 entries were written to {path}."  # wherever the server was started
        operator(foo, "undo_split")(dataset)
        asked = {"dataset": dataset, "params": {"path": path}}
        result = foo.execute_operator(f"{PLUGIN}/apply_manifest", asked).result
        assert result["message"] == "Replayed: train 32, val 4, test 4."
        assert dataset.values("tags") == before
        assert operator(foo, "save_manifest")(dataset, path).sizes == (32, 4, 4)
        assert operator(foo, "apply_manifest")(dataset, path, field="part").sizes == (32, 4, 4)
        with pytest.raises(Exception, match="no file is given"):
            foo.execute_operator(f"{PLUGIN}/save_manifest", {"dataset": dataset, "params": {"path": " "}})
        (tmp_path / "mine.txt").write_text("mine")
        with pytest.raises(Exception, match="exists, but was not written by EvoSplit"):
            operator(foo, "save_manifest")(dataset, str(tmp_path / "mine.txt"))
        assert (tmp_path / "mine.txt").read_text() == "mine"

    def test_an_upload_is_called_by_its_name(self, foo, dataset):
        """What is wrong with an uploaded file is said of the file that was chosen, not of where it lies for now."""
        content = base64.b64encode(b"{").decode()
        params = {"way": "upload", "manifest": {"name": "mine.json", "content": content}}
        error = operator(foo, "apply_manifest").execute(context(dataset, params, spaces={}))["error"]
        assert error.startswith("'mine.json' is not JSON")

    def test_replayed_on_the_whole(self, foo, dataset):
        """A manifest is for all that was split, whichever samples the grid shows."""
        offered = form(foo, dataset, name="apply_manifest", view=dataset.limit(3)._serialize())["view_target"]
        assert offered["default"] == "DATASET"

    @pytest.mark.parametrize(
        ("name", "params", "match"),
        [
            ("undo_split", {}, "No split by EvoSplit is recorded"),
            ("save_manifest", {}, "No split by EvoSplit is recorded"),
            ("apply_manifest", {"path": "/no/split.json"}, "Cannot read the manifest"),
            ("apply_manifest", {}, "No file is given"),
        ],
    )
    def test_failures_are_shown(self, foo, dataset, name, params, match):
        """What cannot be done is a sentence in the App; a run without results has an output, too."""
        ctx = context(dataset, params, spaces={})
        ctx.request_params["results"] = operator(foo, name).execute(ctx)
        message = operator(foo, name).resolve_output(ctx).to_json()["type"]["properties"]["message"]["view"]
        assert message["name"] == "Error"
        assert message["label"].startswith(match)
        ctx.request_params["results"] = None
        assert operator(foo, name).resolve_output(ctx) is not None

    def test_manifest_through_the_browser(self, foo, dataset):
        """A manifest is handed to the browser for download; the uploaded file brings the tags back."""
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": PARAMS})
        before = dataset.values("tags")
        ctx = context(dataset, {"way": "download"}, spaces={})
        assert "40 entries were downloaded" in operator(foo, "save_manifest").execute(ctx)["message"]
        sent = ctx.executor._requests[0]
        assert sent.operator_uri == "browser_download"
        assert sent.params["filename"] == f"{dataset.slug}-split.json"
        content = sent.params["url"].removeprefix("data:application/json;base64,")
        assert len(json.loads(base64.b64decode(content))["ids"]) == 40
        operator(foo, "undo_split")(dataset)
        asked = {"way": "upload", "manifest": {"name": "../split.json", "content": content}}
        result = operator(foo, "apply_manifest").execute(context(dataset, asked, spaces={}))
        assert result == {"message": "Replayed: train 32, val 4, test 4."}
        assert dataset.values("tags") == before

    def test_audit(self, foo, dataset):
        """A split by tags is judged, its leaks are named, EvoSplit's split stands beside it."""
        dataset[:20].tag_samples("train")
        dataset[20:].tag_samples("test")
        dataset[:1].tag_samples("test")
        dataset.set_values("pair", [str(i // 2) for i in range(40)])
        assert {"where", "tags", "group_by"} <= set(form(foo, dataset, name="audit_split"))
        ctx = context(dataset, {"tags": ["train", "test"], "group_by": ["pair"]}, spaces={})
        *_, last = operator(foo, "audit_split").execute(ctx)
        result, properties = last.body.params["results"], last.body.params["outputs"]["type"]["properties"]
        assert shown(properties, "leaks").startswith("Leak: ")
        first, labels, *_, instead = shown(properties, "verdict").splitlines()
        vary = r"\*\*No better than random.*\*\* · single random splits of these sizes vary by ±\xa0(\d+)\xa0%"
        told = re.fullmatch(vary + r", and up to ±\xa0(\d+)\xa0% counts as chance  ", first)
        assert abs(int(told[2]) - 2 * int(told[1])) <= 1
        assert re.search(r"^Labels: \*\*.* their shares .* in the average random split", labels)
        assert instead.startswith("EvoSplit at ")
        assert not re.search("L[PD]", shown(properties, "verdict"))
        assert "EvoSplit" in result["tables"]["table1"]["columns"].values()
        assert list(folded(properties))[-1] == "meanings"
        json.dumps(result)
        assert properties["labels"]["view"]["data"]
        params = properties["take"]["view"]["params"]
        taken = operator(foo, "take_audited").execute(context(dataset, params, spaces={}))
        assert taken["message"].startswith("Written: train ")
        (recorded,) = form(foo, dataset, name="save_manifest")["run_key"]["view"]["choices"]
        assert "effort fast · groups by pair" in recorded["label"]
        tags = dataset.values("tags")
        assert all(len({"train", "test"} & set(found)) == 1 for found in tags)
        operator(foo, "undo_split")(dataset)
        assert dataset.count_sample_tags() == {"mine": 40, "train": 20, "test": 21}
        # A server that was started since knows of no audit.
        again = operator(foo, "take_audited").execute(context(dataset, {**params, "audit": "gone"}, spaces={}))
        assert again == taken
        assert dataset.values("tags") == tags

    def test_audit_offers_what_it_praises(self, foo, dataset, monkeypatch):
        """Where the audit says that nothing is clearly more even, no button offers EvoSplit's split."""
        from evosplit_plugins.audit import result

        dataset[:20].tag_samples("train")
        dataset[20:].tag_samples("test")
        params = {"label_field": ["gt"]}
        audited = operator(foo, "audit_split").execute(context(dataset, params))
        assert "EvoSplit at the same sizes" in audited["glance"]
        assert "instead" in audited
        monkeypatch.setattr(result, "_AS_GOOD", float("inf"))
        audited = operator(foo, "audit_split").execute(context(dataset, params))
        assert "EvoSplit finds nothing that is clearly more even" in audited["glance"]
        assert "instead" not in audited

    def test_audit_says_what_it_judges(self, foo, dataset):
        """The form names the subsets, and refuses what names fewer than two."""

        def said(**params):
            found = form(foo, dataset, params, name="audit_split")["subsets"]
            return found["view"]["label"], found.get("invalid", False)

        assert said() == ("No tags have the usual names of subsets; choose those that are meant.", True)
        assert said(tags=["mine"]) == ("One subset has nothing to be compared with; choose the tags of all.", True)
        dataset[:30].tag_samples("fold_a")
        dataset[30:].tag_samples("fold_b")
        chosen = ("2 subsets will be judged: fold\\_a, fold\\_b", False)
        assert said(tags=["fold_a", "fold_b"]) == chosen
        dataset.set_values("part", ["a"] * 40)
        assert said(where="part") == ("The field part names fewer than two subsets.", True)
        dataset.set_values("part", ["a", "b", "c", "d"] * 10)
        assert said(where="part") == ("4 subsets will be judged: a, b, c, d", False)
        parts = [str(i % 20) for i in range(40)]
        for values, n in (([*parts[:-1], "20"], 21), (parts, 20)):
            dataset.set_values("part", values)
            text, refused = said(where="part")
            assert refused == (n == 21)
            assert text.startswith("The field part has 21 values in 40 samples: " if refused else "20 subsets")
        dataset.set_values("part", [*parts[:-1], "20"])
        with pytest.raises(evosplit.EvoSplitError, match=r"has 21 values in 40 samples.* Choose the field"):
            operator(foo, "audit_split").execute(context(dataset, {"where": "part"}))
        dataset.untag_samples(["mine", "fold_a", "fold_b"])
        assert said() == ("No sample has a tag, so there is no split to judge; a field may hold one.", True)

    def test_audit_fails(self, foo, dataset):
        """What cannot be judged is a sentence in the dialog of the audit, and Python's exception."""
        *_, error, told = operator(foo, "audit_split").execute(context(dataset, {}, spaces={}))
        said = error.body.params["outputs"]["type"]["properties"]["message"]["view"]
        assert said["name"] == "Error"
        assert said["label"].startswith("Nothing says which tags")
        assert told.body.operator_uri == "notify"
        with pytest.raises(evosplit.EvoSplitError, match="nothing says which tags"):
            operator(foo, "audit_split").execute(context(dataset, {}))

    def test_audit_of_groups_and_duplicates(self, foo, scene_dataset):
        """What seems to belong together is filled in; scenes and near duplicates that two subsets share are leaks."""
        scene_dataset.set_values("part", ["a", "b"] * 24)
        asked = form(foo, scene_dataset, {"where": "part"}, name="audit_split")
        assert asked["group_by"]["default"] == ["scene"]
        assert asked["near"]["default"] == "similar"
        params = {"where": "part", "group_by": ["scene"], "near": "similar"}
        result = operator(foo, "audit_split").execute(context(scene_dataset, params))
        assert "a and b share 12 groups (48 samples)" in result["leaks"][0]
        ctx = context(scene_dataset, result["instead"], spaces={})
        operator(foo, "take_audited").execute(ctx)
        parts = {}
        for scene, part in zip(*scene_dataset.values(["scene", "part"]), strict=True):
            parts.setdefault(scene, set()).add(part)
        assert all(len(found) == 1 for found in parts.values())
        operator(foo, "undo_split")(scene_dataset)
        assert scene_dataset.values("part") == ["a", "b"] * 24
        scene_dataset.set_values("filepath", ["/one.png"] * 48)  # what would leave a subset empty is not offered
        assert "instead" not in operator(foo, "audit_split").execute(context(scene_dataset, {"where": "part"}))

    def test_a_field_of_others(self, foo, dataset, tmp_path):
        """The forms refuse a field that EvoSplit did not write until its switch is on."""
        dataset.set_values("camera", ["left"] * 40)
        params = {**PARAMS, "write": "field", "field": "camera"}
        refused = form(foo, dataset, params)
        assert refused["request_error"]["invalid"]
        assert "40 values that EvoSplit did not write" in refused["request_error"]["error_message"]
        assert refused["overwrite"]["default"] is False
        assert "overwrite" not in form(foo, dataset, {**params, "field": "another"})
        with pytest.raises(Exception, match="40 values that EvoSplit did not write"):
            foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": params})
        assert dataset.count_values("camera") == {"left": 40}
        params["overwrite"] = True
        assert "request_error" not in form(foo, dataset, params)
        foo.execute_operator(f"{PLUGIN}/evosplit", {"dataset": dataset, "params": params})
        assert dataset.count_values("camera") == {"train": 32, "val": 4, "test": 4}
        path = str(tmp_path / "split.json")
        operator(foo, "save_manifest")(dataset, path)
        operator(foo, "undo_split")(dataset)
        asked = {"path": path, "field": "camera"}
        assert "overwrite" in form(foo, dataset, asked, name="apply_manifest")
        with pytest.raises(Exception, match="40 values that EvoSplit did not write"):
            foo.execute_operator(f"{PLUGIN}/apply_manifest", {"dataset": dataset, "params": asked})
        asked["overwrite"] = True
        foo.execute_operator(f"{PLUGIN}/apply_manifest", {"dataset": dataset, "params": asked})
        assert dataset.count_values("camera") == {"train": 32, "val": 4, "test": 4}


def panel_call(foo, dataset, method=None, state=None, **params):
    """Call a method of the panel as the App does; gives the operations that it asks for, by name."""
    ctx = context(dataset, {"panel_id": "p", "panel_state": {}, "__method__": method, **params})
    ctx.store("evosplit_panel").set("p", state or {})
    foo.get_operator(PANEL).execute(ctx)
    found = {}
    for request in ctx.executor._requests:
        found.setdefault(request.operator_uri, []).append(request.params)
    assert not [name for name in found if "panel_state" in name]  # with which the App would load the dataset anew
    return found


def remembered(dataset):
    """Give what the panel keeps in the database."""
    return context(dataset).store("evosplit_panel").get("p")


def panel_schema(operations):
    """Give what the panel was last drawn with."""
    return operations["show_panel_output"][-1]["output"]["type"]["properties"]


def panel_tables(operations):
    """Give the rows of the panel's tables by their titles, each row by headings."""
    data = {}
    for params in operations.get("patch_panel_data", []):
        data.update(params["data"])
    found = {}
    for name, prop in panel_schema(operations).items():
        if name in data:
            headings = {column["key"]: column["label"] for column in prop["view"]["columns"]}
            rows = [{headings[key]: text for key, text in row.items()} for row in data[name]]
            found[prop["view"]["label"]] = rows
    return found


def folds_or_ratios(beside):
    """Give the subsets of the split to compare with: also those of another split may be others."""
    return (0.5, 0.5) if beside == "point:3" else (0.8, 0.1, 0.1)


SIZES, LABELS = "What each subset holds", "Labels, rarest first"
STRATA, MEASURES = "Categories of the strata furthest from their share", "Measures, smaller is better"


class TestPanel:
    """What the panel shows and does."""

    def test_nothing_yet(self, foo, dataset):
        """Without a split the panel offers to make one."""
        schema = panel_schema(panel_call(foo, dataset, "on_load"))
        assert "no recorded split" in shown(schema, "empty")
        asked = panel_call(foo, dataset, "on_start")["prompt_user_for_operation"][0]
        assert asked["operator_uri"] == f"{PLUGIN}/evosplit"

    def test_shows_the_latest(self, foo, dataset):
        """Sizes, measures, labels, their picture and the front of the latest split are shown."""
        split = evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        first = panel_schema(panel_call(foo, dataset, "on_load"))
        assert list(first)[-1] == "details"
        assert list(first).index("labels") < list(first).index("sizes")
        assert "Labels: **" in shown(first, "summary")
        assert first["sizes"]["view"]["description"] == "Click a row to see its samples."
        operations = panel_call(foo, dataset, "render", state={"details": True})
        schema, tables = panel_schema(operations), panel_tables(operations)
        assert list(schema)[-2:] == ["measures", "meanings"]
        said = schema["meanings"]["view"]["description"]
        assert [text.split("**")[1] for text in said.splitlines()] == ["LD", "LD'", "LPD", "LPD'", "ED", "FLZ"]
        assert [row["samples"] for row in tables[SIZES]] == ["20 (50.0\xa0%)"] * 2
        instances = [int(row["instances"].split()[0]) for row in tables[SIZES]]
        assert instances == [row.instances.count for row in split.report().subsets]
        assert tables[MEASURES][0]["measure"] == "LD, samples per label"
        assert {row["label"] for row in tables[LABELS]} == set(NAMES)
        assert ("front" in schema) == (len(split.front) > 1)  # a plot of one point says nothing
        traces = schema["labels"]["view"]["data"]
        assert [trace["name"] for trace in traces][:2] == ["train", "test"]

    def test_constraints(self, foo, scene_dataset):
        """Locked samples, strata and notes of a recorded split are shown."""
        scene_dataset.limit(30).tag_samples("test")
        with pytest.warns(evosplit.EvoSplitWarning, match="6 more than the 24 asked for"):
            evosplit_plugin().evosplit_fiftyone(
                scene_dataset, (0.5, 0.5), locked=["test"], stratify_by=["weather"], **PARAMS
            )
        operations = panel_call(foo, scene_dataset, "render", state={"details": True})
        tables = panel_tables(operations)
        assert "6 more than the 24 asked for" in shown(panel_schema(operations), "notes")
        assert [row["locked"] for row in tables[SIZES]] == ["0", "30"]
        assert "groups" not in tables[SIZES][0]
        assert {row["category"] for row in tables[STRATA]} == {"sun", "rain"}
        assert tables[MEASURES][-1]["measure"].startswith("strata")

    def test_strata_alone(self, foo, fiftyone, new_dataset):
        """Without labels the strata are seen at once, and nothing speaks of labels."""
        dataset = new_dataset([fiftyone.Sample(filepath=f"/{i}.jpg", night=i % 2 == 0) for i in range(20)])
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), label_field=[], stratify_by="night", **PARAMS)
        operations = panel_call(foo, dataset, "on_load")
        schema = panel_schema(operations)
        assert shown(schema, "summary") == "Sizes: **exact** · as asked for"
        assert not {"labels", "labels_header", "front"} & set(schema)
        assert {row["category"] for row in panel_tables(operations)[STRATA]} == {"False", "True"}

    def test_point_and_apply(self, foo, dataset):
        """A clicked point is shown beside the one in use; applying it re-tags and can be undone."""
        split, other = split_with_front(dataset), 2
        tags = dataset.values("tags")
        panel_call(foo, dataset, "on_point", idx=other)
        assert remembered(dataset) == {"point": other}
        operations = panel_call(foo, dataset, "on_apply", state={"point": other})
        assert f"{PLUGIN}/load_samples" in operations
        wanted = split.pick(other)
        for name in wanted.names:
            assert set(dataset.match_tags(name).values("id")) == set(wanted.ids(name))
        evosplit_plugin().undo_split(dataset)
        assert dataset.values("tags") == tags

    def test_point_is_compared(self, foo, dataset):
        """The measures of a selected point stand beside those of the split in use."""
        split_with_front(dataset)
        operations = panel_call(foo, dataset, "render", state={"point": 2, "details": True})
        assert {"this split", "in use"} <= set(panel_tables(operations)[MEASURES][0])
        assert panel_schema(operations)["apply"]["view"]["disabled"] is False
        assert panel_schema(panel_call(foo, dataset, "render"))["apply"]["view"]["disabled"] is True

    @pytest.mark.parametrize("field", [None, "part"])
    def test_bar_filters_the_view(self, foo, fiftyone, dataset, field):
        """A click on a bar shows the samples of that label in that subset."""
        from fiftyone import ViewField as F

        split = evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), field=field, **PARAMS)
        label = split.report().labels[0].label
        operations = panel_call(foo, dataset, "on_bar", trace_idx=1, idx=0)
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        carriers = dataset.match(F("gt.detections.label").contains(label)).values("id")
        assert set(view.values("id")) == set(split.ids("test")) & set(carriers)

    def test_bar_of_random_splits(self, foo, dataset):
        """A click on the bar of random splits changes nothing."""
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        assert "set_view" in panel_call(foo, dataset, "on_bar", trace_idx=1, idx=0)
        assert "set_view" not in panel_call(foo, dataset, "on_bar", trace_idx=2, idx=0)

    def test_bar_of_another_point(self, foo, fiftyone, dataset):
        """For a trade-off that is not in use, the bar shows the samples that it would hold."""
        from fiftyone import ViewField as F

        split, other = split_with_front(dataset), 3
        picked = split.pick(other)
        label = picked.report().labels[0].label
        operations = panel_call(foo, dataset, "on_bar", state={"point": other}, trace_idx=0, idx=0)
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        carriers = dataset.match(F("gt.detections.label").contains(label)).values("id")
        assert set(view.values("id")) == set(picked.ids("train")) & set(carriers)

    def test_bar_of_groups(self, foo, fiftyone, new_dataset):
        """In a grouped dataset the bar shows the groups, whichever slice carries the label."""
        dataset = grouped(fiftyone, new_dataset, 8)
        split = evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), label_field="gt", **PARAMS)
        operations = panel_call(foo, dataset, "on_bar", trace_idx=1, idx=1)
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        assert set(view.values("group.id")) == set(split.ids("test"))

    def test_bar_of_several_fields(self, foo, fiftyone, new_dataset):
        """With several fields the bar filters on the field of its label."""
        samples = pictures(fiftyone, 20, kind=fiftyone.Classification(label="cat"))
        dataset = new_dataset(samples)
        split = evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), label_field=["gt", "kind"], **PARAMS)
        labels = [line.label for line in split.report().labels]
        operations = panel_call(foo, dataset, "on_bar", trace_idx=0, idx=labels.index("kind/cat"))
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        assert len(view) == 10

    def test_subset_filters_the_view(self, foo, fiftyone, dataset):
        """A click on the row of a subset shows its samples, on the heading nothing."""
        split = evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        operations = panel_call(foo, dataset, "on_subset", row=1)
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        assert set(view.values("id")) == set(split.ids("test"))
        assert "set_view" not in panel_call(foo, dataset, "on_subset", row=-1)

    @pytest.mark.parametrize("state", [{}, {"point": 2}])
    def test_pair_filters_the_view(self, foo, fiftyone, dataset, state):
        """A click on a pair shows the samples that have both labels, whether its split is in use or not."""
        split = split_with_front(dataset)
        labels = (split.pick(2) if state else split).report().pairs[0].labels
        operations = panel_call(foo, dataset, "on_pair", state=state, row=0)
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        lists = dict(zip(*dataset.values(["id", "gt.detections.label"]), strict=True))
        assert set(view.values("id")) == {sample for sample, names in lists.items() if set(labels) <= set(names)}

    @pytest.mark.parametrize("beside", ["point:3", "run"])
    def test_compare(self, foo, dataset, beside):
        """Two trade-offs, or two recorded splits, are compared label by label."""
        split, other = (
            split_with_front(dataset),
            evosplit.split(evosplit_plugin().read_counts(dataset), folds_or_ratios(beside), method="random", seed=9),
        )
        evosplit_plugin().apply_split(dataset, other, label_field="gt")
        key = first_run(dataset)
        state = {"run": key, "point": 2, "beside": beside}
        there = split.pick(3)
        if beside == "run":
            from evosplit_plugins.fiftyone_plugin import runs

            latest = runs.run_keys(dataset)[-1]
            state, there = {"run": key, "point": 2, "beside": f"run:{latest}"}, other
        schema = panel_schema(panel_call(foo, dataset, "render", state=state))
        here, beside_it = schema["comparison"]["view"]["data"][1:]
        assert beside_it["marker"]["symbol"] == "circle-open"  # does not cover the other
        assert beside_it["marker"]["size"] > here["marker"]["size"]
        assert here["name"] == "this split"
        assert beside_it["name"] == ("trade-off 3" if beside == "point:3" else "split 2")
        wanted = {row.label: row.deviation for row in there.report().labels}
        drawn = [tick.rpartition(" (")[0] for tick in schema["comparison"]["view"]["layout"]["yaxis"]["ticktext"]]
        found = dict(zip(drawn, beside_it["x"], strict=True))
        assert found["cat"] == pytest.approx(100 * wanted["cat"])
        assert schema["beside_header"]["view"]["description"].startswith("Of 3 labels, ")
        assert schema["beside"]["view"]["label"].startswith(f"Compare with {beside_it['name']}: ")
        unfolded = panel_schema(panel_call(foo, dataset, "on_offered", state=state))
        buttons = unfolded["beside_choices"]["type"]["properties"].values()
        assert {"nothing", state["beside"]} <= {each["view"]["params"]["value"] for each in buttons}
        panel_call(foo, dataset, "on_beside", state={**state, "unfolded": "beside"}, value="point:1")
        assert remembered(dataset) == {**state, "beside": "point:1", "unfolded": None}
        panel_call(foo, dataset, "render", state={"beside": "point:1"})  # the latest split has no such point

    def test_a_new_split_is_shown(self, foo, dataset):
        """After a run an open panel turns from the split that it shows to the latest."""
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        state = {"run": first_run(dataset), "beside": "nothing"}
        spaces = {"children": [{"type": "evosplit_panel", "component_id": "p", "state": {}}]}
        messages = operator(foo, "evosplit").execute(context(dataset, PARAMS, spaces=spaces))
        [asked] = [each.body.params for each in messages if each.body.operator_uri == PANEL]
        assert asked == {"panel_id": "p", "panel_state": {}, "__method__": "on_refresh"}
        operations = panel_call(foo, dataset, "on_refresh", state=state)
        assert panel_tables(operations)[SIZES][0]["samples"].split()[0] == "32"

    def test_clicks_while_applying(self, foo, dataset, monkeypatch):
        """What is clicked while a split is written is shown when it is written."""
        from evosplit_plugins.fiftyone_plugin.app import panel

        split_with_front(dataset)
        write = panel.write_split

        def and_click(*args, **options):
            ctx = context(dataset, {"panel_id": "p", "panel_state": {}, "__method__": "on_details"})
            foo.get_operator(PANEL).execute(ctx)
            return write(*args, **options)

        monkeypatch.setattr(panel, "write_split", and_click)
        operations = panel_call(foo, dataset, "on_apply", state={"point": 2})
        assert {"measures", "meanings"} <= set(panel_schema(operations))

    def test_apply_fails(self, foo, dataset, monkeypatch):
        """What keeps a split from being written is said, whatever it is, and nothing is changed."""
        from evosplit_plugins.fiftyone_plugin.app import panel

        def fail(*args, **options):
            raise OSError("the disk is full")

        split_with_front(dataset)
        monkeypatch.setattr(panel, "write_split", fail)
        operations = panel_call(foo, dataset, "on_apply", state={"point": 2})
        assert "the disk is full. The dataset is as it was" in operations["notify"][0]["message"]

    def test_other_runs(self, foo, dataset):
        """An earlier split can be looked at: a button unfolds all of them, and folds them when one is chosen."""
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        assert panel_schema(panel_call(foo, dataset, "on_load"))["run"]["view"]["name"] == "HeaderView"  # one only
        evosplit_plugin().evosplit_fiftyone(dataset, folds=4, **PARAMS)
        latest = panel_tables(panel_call(foo, dataset, "on_load"))
        assert [row["subset"] for row in latest[SIZES]] == ["fold0", "fold1", "fold2", "fold3"]
        schema = panel_schema(panel_call(foo, dataset, "on_runs"))
        offered = [each["view"] for each in schema["run_choices"]["type"]["properties"].values()]
        assert [view["label"][:8] for view in offered] == ["Split 2:", "Split 1:"]
        operations = panel_call(foo, dataset, "on_run", state=remembered(dataset), **offered[1]["params"])
        assert "run_choices" not in panel_schema(operations)
        assert panel_schema(operations)["run"]["view"]["label"] == offered[1]["label"]
        assert [row["subset"] for row in panel_tables(operations)[SIZES]] == ["train", "test"]
        folded = panel_call(foo, dataset, "on_runs", state={"unfolded": "run"})
        assert "run_choices" not in panel_schema(folded)

    def test_bar_of_an_earlier_split(self, foo, fiftyone, dataset):
        """The bars of an earlier split show the samples that it held, not those of today's tags."""
        first = split_with_front(dataset)
        label = first.report().labels[0].label
        evosplit_plugin().apply_split(dataset, first.pick(3), label_field="gt")
        operations = panel_call(foo, dataset, "on_bar", state={"run": first_run(dataset)}, trace_idx=0, idx=0)
        view = fiftyone.DatasetView._build(dataset, operations["set_view"][0]["view"])
        column = first.counts.matrix[:, [first.counts.labels.index(label)]].toarray().ravel()
        carriers = first.sample_ids[column > 0]
        assert set(view.values("id")) == set(first.ids("train")) & set(carriers)

    def test_older_split_again(self, foo, dataset):
        """An older split, whose star is not in use, can be applied again: samples that are left go where they were."""
        first = split_with_front(dataset)
        evosplit_plugin().evosplit_fiftyone(dataset, folds=4, **PARAMS)
        state = {"run": first_run(dataset)}
        schema = panel_schema(panel_call(foo, dataset, "render", state=state))
        assert schema["apply"]["view"]["disabled"] is False
        assert "applied then" in schema["front_header"]["view"]["description"]
        gone = first.sample_ids[0]
        dataset.delete_samples([gone])
        operations = panel_call(foo, dataset, "on_apply", state=state)
        assert operations["notify"][0]["message"].endswith("; 1 sample deleted since")
        for name in first.names:
            assert set(dataset.match_tags(name).values("id")) == set(first.ids(name)) - {gone}
        assert not dataset.match_tags("fold0")
        assert "labels" in panel_schema(panel_call(foo, dataset, "on_load"))
        dataset.delete_samples(dataset.values("id"))
        operations = panel_call(foo, dataset, "on_apply", state=state)
        assert "None of the split's samples is left" in operations["notify"][0]["message"]

    def test_groups_of_what_is_left(self, foo, scene_dataset):
        """Where samples were deleted, the groups of those that are left still count."""
        from evosplit_plugins.fiftyone_plugin import runs

        made = evosplit_plugin().evosplit_fiftyone(scene_dataset, (0.5, 0.5), group_by="scene", **PARAMS)
        scenes = dict(zip(*scene_dataset.values(["id", "scene"]), strict=True))
        gone = made.sample_ids[:5].tolist()
        scene_dataset.delete_samples(gone)
        panel_call(foo, scene_dataset, "on_apply")
        split = runs.load_run(scene_dataset).split
        groups = split.constraints.groups
        assert [groups.names[code] for code in groups.code_of_sample] == [scenes[unit] for unit in split.sample_ids]
        rows = panel_tables(panel_call(foo, scene_dataset, "on_load"))[SIZES]
        assert sum(int(row["groups"]) for row in rows) == len({s for unit, s in scenes.items() if unit not in gone})

    def test_runs_are_told_apart(self, foo, scene_dataset):
        """The list of runs says sizes, seed, effort, groups and when."""
        evosplit_plugin().evosplit_fiftyone(scene_dataset, (0.5, 0.5), group_by="scene", seed=7, **PARAMS)
        choice = panel_schema(panel_call(foo, scene_dataset, "on_load"))["run"]["view"]["description"]
        made = r"Split 1: train 24, test 24 · seed 7 · effort fast · groups by scene \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)"
        assert re.fullmatch(made, choice)
        params = {"group_regex": "^.+$", "duplicates": {"near_duplicates": "similar"}, **PARAMS}
        list(operator(foo, "evosplit").execute(context(scene_dataset, params, spaces={})))
        choices = form(foo, scene_dataset, name="save_manifest")["run_key"]["view"]["choices"]
        assert "groups by near duplicates by similar, ^.+$ (" in choices[0]["label"]

    @pytest.mark.parametrize(
        ("method", "opens"),
        [
            ("on_start", "evosplit"),
            ("on_undo", "undo_split"),
            ("on_audit", "audit_split"),
            ("on_save", "save_manifest"),
        ],
    )
    def test_actions(self, foo, dataset, method, opens):
        """What the buttons of the panel open."""
        asked = panel_call(foo, dataset, method)["prompt_user_for_operation"][0]
        assert asked["operator_uri"] == f"{PLUGIN}/{opens}"

    def test_replayed_without_labels(self, foo, fiftyone, new_dataset, tmp_path):
        """A split that was replayed on samples without labels shows its sizes."""
        dataset = new_dataset([fiftyone.Sample(filepath=f"/{i}.jpg") for i in range(40)])
        counts = LabelCounts([[1]] * 40, ids=dataset.values("id"))
        evosplit.split(counts, (0.5, 0.5), method="random").save(tmp_path / "split.json")
        evosplit_plugin().apply_split(dataset, tmp_path / "split.json")
        schema = panel_schema(panel_call(foo, dataset, "on_load"))
        assert shown(schema, "summary").endswith("train 20, test 20")


class TestScheduled:
    """What the panel tells of runs in the background."""

    @pytest.fixture
    def service(self, fiftyone):
        """Give FiftyOne's service of runs in the background."""
        from fiftyone.operators.delegated import DelegatedOperationService

        return DelegatedOperationService()

    def queue(self, foo, dataset, name="evosplit", **params):
        """Schedule a run; gives its key."""
        asked = {"dataset": dataset, "view": dataset.view(), "params": params, "request_delegation": True}
        return foo.execute_operator(f"{PLUGIN}/{name}", asked).result["id"]

    def told(self, schema, name="evosplit"):
        """Give what is told of a run, without its time."""
        said = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "then", shown(schema, f"queued_{name}"))
        return schema[f"queued_{name}"]["view"]["name"], said.replace("\\", "")

    def test_a_split(self, foo, dataset, service):
        """It waits, it runs, it ends: then it is shown with its tags, whatever was chosen before."""
        evosplit_plugin().evosplit_fiftyone(dataset, folds=4, **PARAMS)
        evosplit_plugin().evosplit_fiftyone(dataset, folds=5, **PARAMS)
        key = self.queue(foo, dataset, **PARAMS)
        schema = panel_schema(panel_call(foo, dataset, "on_load"))
        assert self.told(schema) == ("Notice", "The scheduled split waits since then for `fiftyone delegated launch`.")
        assert schema["looking"]["view"]["on_interval"] == f"{PANEL}#on_look"
        state = {**remembered(dataset), "run": first_run(dataset)}
        service.set_running(key)
        looked = panel_call(foo, dataset, "on_look", state=state)
        assert self.told(panel_schema(looked)) == ("Notice", "The scheduled split has been running since then.")
        assert f"{PLUGIN}/load_samples" not in looked
        assert remembered(dataset) == state
        service.set_progress(key, foo.executor.ExecutionProgress(0.4, "searching"))
        schema = panel_schema(panel_call(foo, dataset, "render"))
        assert self.told(schema)[1].endswith(" since then, 40% (searching).")
        assert "looking" in schema
        service.set_queued(key)
        service.execute_queued_operations(dataset_name=dataset.name)
        looked = panel_call(foo, dataset, "on_look", state=state)
        assert f"{PLUGIN}/load_samples" in looked
        sizes = "train 32, val 4, test 4"
        ended = ("Success", f"The scheduled split ended at then: split 3, {sizes}, written as sample tags.")
        assert self.told(panel_schema(looked)) == ended
        assert panel_schema(looked)["run"]["view"]["label"].startswith(f"Split 3: {sizes}")
        assert "looking" not in panel_schema(looked)
        evosplit_plugin().undo_split(dataset)
        assert "queued_evosplit" not in panel_schema(panel_call(foo, dataset, "render"))

    def test_before_the_first_split(self, foo, dataset, service):
        """A panel without a split tells of the first one too; of another dataset's runs it tells nothing."""
        self.queue(foo, dataset, field="part", write="field", **PARAMS)
        assert {"queued_evosplit", "start", "looking"} <= set(panel_schema(panel_call(foo, dataset, "on_load")))
        service.execute_queued_operations(dataset_name=dataset.name)
        looked = panel_call(foo, dataset, "on_look", state=remembered(dataset))
        assert self.told(panel_schema(looked))[1].endswith("written as the field part.")
        assert looked[f"{PLUGIN}/load_fields"] == [{"field": "part"}]
        other = dataset.clone()
        assert "queued_evosplit" not in panel_schema(panel_call(foo, other, "render"))
        other.delete()

    def test_failures(self, foo, dataset, service, monkeypatch):
        """The reason is told: a sentence where the user can mend it, else the exception. After a day it is not."""
        from datetime import timedelta

        from evosplit_plugins.fiftyone_plugin.app import queued, request

        def fail(*args, **options):
            raise OSError("the disk is full")

        unknown = ({"effort": "extreme"}, "\"Effort\" 'extreme' is unknown")
        for params, reason in (unknown, (PARAMS, "OSError: the disk is full")):
            self.queue(foo, dataset, **params)
            service.execute_queued_operations(dataset_name=dataset.name)
            kind, said = self.told(panel_schema(panel_call(foo, dataset, "render")))
            assert kind == "Error"
            assert said.startswith(f"The scheduled split failed at then: {reason}")
            monkeypatch.setattr(request, "write_split", fail)
        monkeypatch.setattr(queued, "_TOLD", timedelta(0))
        assert "queued_evosplit" not in panel_schema(panel_call(foo, dataset, "render"))

    def test_audit_and_export(self, foo, dataset, service):
        """A button shows the whole of an audit; of an export its message, or its error, is told."""
        evosplit_plugin().evosplit_fiftyone(dataset, (0.5, 0.5), **PARAMS)
        self.queue(foo, dataset, "audit_split")
        self.queue(foo, dataset, "export_subsets", output="")
        service.execute_queued_operations(dataset_name=dataset.name)
        schema = panel_schema(panel_call(foo, dataset, "on_look"))
        assert re.search(r"ended at then: .*\. No leaks were found\.", self.told(schema, "audit_split")[1])
        assert "failed at then: no directory is given" in self.told(schema, "export_subsets")[1]
        asked = panel_call(foo, dataset, "on_show", **schema["show_audit"]["view"]["params"])
        prompt = asked["prompt_user_for_operation"][0]
        done = foo.execute_operator(prompt["operator_uri"], {"dataset": dataset, "params": prompt["params"]})
        (message,) = operator(foo, "show_audit").execute(context(dataset, prompt["params"], spaces={}))
        assert message.body.params["results"] == done.result
        assert "verdict" in message.body.params["outputs"]["type"]["properties"]
        gone, notice = operator(foo, "show_audit").execute(context(dataset, {"run": "gone"}, spaces={}))
        assert (gone.body.operator_uri, notice.body.operator_uri) == ("show_output", "notify")
        assert operator(foo, "show_audit").resolve_input(context(dataset)) is None  # the App shows the output at once
        assert not operator(foo, "show_audit").config.dynamic
        with pytest.raises(evosplit.EvoSplitError, match="not there any more; run it again"):
            operator(foo, "show_audit").do(context(dataset, {"run": "gone"}))


class TestFigures:
    """Data for Plotly."""

    @pytest.fixture
    def report(self):
        """Give the report of a split with a dangerous, a rare and an absent label."""
        lists = [["cat"], ["cat", "cat"], ["<b>bold & co</b>"], ["cat"], ["<b>bold & co</b>"], []]
        counts = LabelCounts.from_lists(lists, labels=["absent", "cat", "<b>bold & co</b>"])
        return evosplit.split(counts, (0.5, 0.5), **PARAMS).report()

    def test_rarest_first(self, fiftyone, report):
        """Each label that occurs has a row, the rarest on top, with a point for each subset."""
        from evosplit_plugins.fiftyone_plugin.app.figures import label_figure

        figure = label_figure(report)
        assert figure["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;bold &amp; co&lt;/b&gt; (2) ", "cat (3) "]
        assert [trace["name"] for trace in figure["data"]][:2] == ["train", "test"]
        for off in zip(*(trace["x"] for trace in figure["data"][:2]), strict=True):
            assert sum(off) == pytest.approx(0)  # of two equal shares, what one has too much the other lacks

    def test_marks(self, fiftyone):
        """Of labels that are noticeably off, those with most samples in the wrong subset are bold, and words say so."""
        from evosplit_plugins.fiftyone_plugin.app.figures import label_figure, labels_in_words

        rows = [["off"]] * 12 + [["even"]] * 5 + [[]] * 3 + [["off"]] * 2 + [["even"]] * 5 + [[]] * 13
        counts = LabelCounts.from_lists(rows)
        uneven = evosplit.split(counts, (0.5, 0.5), locked=["train"] * 20 + ["test"] * 20, method="random")
        assert label_figure(uneven.report())["layout"]["yaxis"]["ticktext"] == ["even (10) ", "<b>off (14) </b>"]
        assert "Bold: " in labels_in_words(uneven.report())
        even = evosplit.split(counts, (0.5, 0.5), **PARAMS).report()
        assert "<b>" not in json.dumps(label_figure(even))
        assert "Bold: " not in labels_in_words(even)

    def test_names_are_text(self, fiftyone, report):
        """No label name reaches Plotly unescaped."""
        from evosplit_plugins.fiftyone_plugin.app.figures import label_figure

        assert "<b>" not in json.dumps(label_figure(report))

    def test_many_labels(self, fiftyone):
        """Many labels are cut at first and shown on demand; long names are shortened, not merged."""
        from evosplit_plugins.fiftyone_plugin.app.figures import LABELS_AT_FIRST, label_figure

        lists = [[f"{'x' * 60}{i}"] * 2 for i in range(100)]
        report = evosplit.split(LabelCounts.from_lists(lists), (0.5, 0.5), method="random").report()
        few, everything = label_figure(report), label_figure(report, everything=True)
        assert len(few["data"][0]["x"]) == LABELS_AT_FIRST
        assert len(everything["data"][0]["x"]) == 100
        assert max(map(len, everything["layout"]["yaxis"]["ticktext"])) < 40
        assert everything["layout"]["height"] > few["layout"]["height"]

    def test_front(self, fiftyone):
        """The point in use is a star, the selected one is ringed."""
        from evosplit import ParetoFront
        from evosplit_plugins.fiftyone_plugin.app.figures import front_figure

        objectives = np.array([[0.1, 0.4], [0.2, 0.2], [0.4, 0.1]])
        front = ParetoFront(objectives, ("samples", "pairs"), np.zeros((3, 4), dtype=int), np.ones(2))
        marker = front_figure(front, applied=0, selected=2)["data"][0]["marker"]
        assert marker["symbol"] == ["star", "circle", "circle"]
        assert marker["line"]["width"] == [0, 0, 3]
        single = ParetoFront(objectives[:, :1], ("samples",), np.zeros((3, 4), dtype=int), np.ones(1))
        assert front_figure(single, applied=0, selected=0)["data"][0]["y"] == [0.1, 0.2, 0.4]

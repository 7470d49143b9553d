"""The manifests that the doors write: all of one schema, and each replayed by the core."""

from __future__ import annotations

import json

import coco_files
import jsonschema
import pytest
from fiftyone_samples import pictures

import evosplit
from evosplit import Split
from evosplit.manifest import manifest_schema

RATIOS = {"train": 0.6, "test": 0.4}


def checked(path):
    """Validate a manifest, load it, and give the split."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(manifest_schema()).validate(manifest)
    assert manifest.keys() <= manifest_schema()["properties"].keys()
    assert manifest["measures"] is not None
    return Split.load(path)


def test_coco(tmp_path):
    """The COCO door writes a valid manifest, which assigns the images as its files do."""
    pytest.importorskip("msgspec")
    from evosplit_plugins import evosplit_coco

    source = coco_files.write(tmp_path / "instances.json", coco_files.instances())
    made = evosplit_coco(source, tmp_path / "out", RATIOS, effort="fast")
    split = checked(tmp_path / "out" / "split.json")
    assert split.assign(made.sample_ids).tolist() == made.assignment.tolist()
    for name in RATIOS:
        (path,) = (tmp_path / "out").rglob(f"*_{name}.json")
        images = json.loads(path.read_text(encoding="utf-8"))["images"]
        assert sorted(image["id"] for image in images) == sorted(split.ids(name).tolist())


def test_fiftyone(fiftyone, new_dataset, tmp_path):
    """The FiftyOne door writes a valid manifest."""
    from evosplit_plugins import evosplit_fiftyone
    from evosplit_plugins.fiftyone_plugin import save_manifest

    dataset = new_dataset(pictures(fiftyone, 20))
    made = evosplit_fiftyone(dataset, RATIOS, label_field="gt", effort="fast")
    save_manifest(dataset, tmp_path / "split.json")
    split = checked(tmp_path / "split.json")
    assert split.assign(dataset.values("id")).tolist() == made.assignment.tolist()


class TestEveryAdapterReplaysEveryManifest:
    """Of one and the same pictures, under the ids of each host: found by file, whoever saved the split."""

    N = 12

    @pytest.fixture
    def hosts(self, fiftyone, new_dataset, tmp_path):
        """Give the pictures as a COCO file, a Hugging Face data set and a FiftyOne dataset, each in another order."""
        pytest.importorskip("msgspec")
        datasets = pytest.importorskip("datasets")
        content = coco_files.instances(self.N, first_id=500)
        names = [image["file_name"] for image in content["images"]]
        labels = [[i % 3] * (i % 2 + 1) for i in range(self.N)]
        table = datasets.Dataset.from_dict({"file_name": names[::-1], "labels": labels})
        samples = [
            fiftyone.Sample(filepath=f"/data/{name}", gt=fiftyone.Classification(label=str(i % 3)))
            for i, name in enumerate(sorted(names, key=hash))
        ]
        return coco_files.write(tmp_path / "instances.json", content), table, new_dataset(samples)

    def save(self, hosts, maker, tmp_path, **how):
        """Split with one adapter; give the manifest, and the subset of each file name."""
        from evosplit_plugins import evosplit_coco, evosplit_fiftyone, evosplit_hf
        from evosplit_plugins.fiftyone_plugin import save_manifest

        path, table, dataset = hosts
        if maker == "coco":
            made = evosplit_coco(path, tmp_path / "made", effort="fast", **how)
            manifest = tmp_path / "made" / "split.json"
        elif maker == "hf":
            _, made = evosplit_hf(table, effort="fast", label_column="labels", return_split=True, **how)
            manifest = tmp_path / "made.json"
            made.save(manifest)
        else:
            evosplit_fiftyone(dataset, effort="fast", field="made", **how)
            manifest = tmp_path / "made.json"
            made = save_manifest(dataset, manifest)
        split = checked(manifest)
        assert split.source["adapter"] == maker
        files = [name.rpartition("/")[2] for name in split.file_names]
        return manifest, {name: made.names[j] for name, j in zip(files, split.assignment.tolist(), strict=True)}

    @pytest.mark.parametrize("maker", ["coco", "hf", "fiftyone"])
    def test_subsets(self, hosts, tmp_path, maker):
        """All three put each picture where the split has it."""
        from evosplit_plugins.coco import apply_split as apply_coco
        from evosplit_plugins.fiftyone_plugin import apply_split
        from evosplit_plugins.hf import apply_split as apply_hf

        path, table, dataset = hosts
        manifest, subset = self.save(hosts, maker, tmp_path, ratios=RATIOS)
        apply_coco(path, manifest, tmp_path / "again")
        for name in RATIOS:
            images = json.loads((tmp_path / "again" / "annotations" / f"instances_{name}.json").read_text())["images"]
            assert {image["file_name"] for image in images} == {file for file in subset if subset[file] == name}
        parts = apply_hf(table, manifest)
        assert {file: name for name, part in parts.items() for file in part["file_name"]} == subset
        apply_split(dataset, manifest, field="again")
        assert {sample.filename: sample["again"] for sample in dataset} == subset

    def test_folds_stay_folds(self, hosts, tmp_path):
        """Folds of FiftyOne become fold files of COCO and pairs of train and test of Hugging Face."""
        from evosplit_plugins.coco import apply_split as apply_coco
        from evosplit_plugins.hf import apply_split as apply_hf

        path, table, _ = hosts
        manifest, subset = self.save(hosts, "fiftyone", tmp_path, folds=3)
        written = apply_coco(path, manifest, tmp_path / "again", train_files=True)
        assert {file.name for file in written} >= {"fold0.json", "fold0_train.json", "fold2.json"}
        pairs = apply_hf(table, manifest)
        assert [set(pair) for pair in pairs] == [{"train", "test"}] * 3
        assert set(pairs[1]["test"]["file_name"]) == {file for file in subset if subset[file] == "fold1"}

    def test_what_differs_is_said(self, hosts, tmp_path):
        """A manifest of other pictures is refused by all three, with ids and names."""
        from evosplit_plugins.coco import apply_split as apply_coco
        from evosplit_plugins.fiftyone_plugin import apply_split
        from evosplit_plugins.hf import apply_split as apply_hf

        path, table, dataset = hosts
        other = coco_files.write(tmp_path / "other.json", coco_files.instances(self.N, first_id=900))
        manifest, _ = self.save((other, table, dataset), "coco", tmp_path, ratios=RATIOS)
        message = r"is not what was split: by .*; by file name, 12 names are not in the split"
        for replay in (
            lambda: apply_coco(path, manifest, tmp_path / "again"),
            lambda: apply_hf(table, manifest),
            lambda: apply_split(dataset, manifest),
        ):
            with pytest.raises(evosplit.EvoSplitError, match=message):
                replay()

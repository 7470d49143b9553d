"""The manifests that the doors write: all of one schema, and each replayed by the core."""

from __future__ import annotations

import json

import coco_files
import jsonschema
import pytest
from fiftyone_samples import pictures

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


def test_hugging_face(tmp_path):
    """The Hugging Face door writes a valid manifest."""
    pytest.importorskip("datasets")
    from datasets import Dataset

    from evosplit_plugins import evosplit_hf
    from evosplit_plugins.hf import storage

    source = Dataset.from_dict({"labels": [["cat"], ["dog", "cat"], ["dog"], [], ["cat", "cat"]] * 4})
    splits, made = evosplit_hf(source, RATIOS, return_split=True, effort="fast")
    storage.save({"": splits}, tmp_path / "out", made, source="memory")
    split = checked(tmp_path / "out" / "split.json")
    assert split.assign(range(20)).tolist() == made.assignment.tolist()


def test_fiftyone(fiftyone, new_dataset, tmp_path):
    """The FiftyOne door writes a valid manifest."""
    from evosplit_plugins import evosplit_fiftyone
    from evosplit_plugins.fiftyone_plugin import save_manifest

    dataset = new_dataset(pictures(fiftyone, 20))
    made = evosplit_fiftyone(dataset, RATIOS, label_field="gt", effort="fast")
    save_manifest(dataset, tmp_path / "split.json")
    split = checked(tmp_path / "split.json")
    assert split.assign(dataset.values("id")).tolist() == made.assignment.tolist()

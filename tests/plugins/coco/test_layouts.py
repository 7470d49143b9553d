"""Each layout has the files and folders that its consumers look for."""

from __future__ import annotations

from coco_files import QUICK, RATIOS, elements, instances, tree, write

from evosplit_plugins import evosplit_coco
from evosplit_plugins.staging import RECORD


def test_folds_and_their_complements(tmp_path):
    """Folds are disjoint and complete, and each train file is everything but its fold."""
    path = write(tmp_path / "a.json", instances(33))
    split = evosplit_coco(path, tmp_path / "out", folds=3, train_files=True, **QUICK)
    assert split.names == ("fold0", "fold1", "fold2")
    everything = elements(path.read_bytes(), "annotations")
    for fold in range(3):
        own = elements((tmp_path / "out" / "annotations" / f"fold{fold}.json").read_bytes(), "annotations")
        rest = elements((tmp_path / "out" / "annotations" / f"fold{fold}_train.json").read_bytes(), "annotations")
        assert sorted(own + rest) == sorted(everything)
        assert len(elements((tmp_path / "out" / "annotations" / f"fold{fold}.json").read_bytes(), "images")) == 11


def test_the_layouts(tmp_path):
    """Each layout has the names that its consumers look for, and the manifest beside them."""
    path = write(tmp_path / "a.json", instances())
    expected = {
        "coco": {f"annotations/instances_{name}.json" for name in RATIOS},
        "roboflow": {f"{name}/_annotations.coco.json" for name in ("train", "valid", "test")},
    }
    for layout, names in expected.items():
        evosplit_coco(path, tmp_path / layout, RATIOS, layout=layout, **QUICK)
        found = {name for name, content in tree(tmp_path / layout).items() if content != "folder"}
        assert found == {*names, "split.json", RECORD}


def test_roboflow_folds_are_folders_to_train_from(tmp_path, pictures):
    """With train files each fold is a Roboflow folder of its own, with all images."""
    path = write(tmp_path / "a.json", instances())
    evosplit_coco(
        path,
        tmp_path / "out",
        folds=3,
        train_files=True,
        layout="roboflow",
        images="symlink",
        image_root=pictures,
        **QUICK,
    )
    for fold in range(3):
        for part, n in (("train", 20), ("valid", 10)):
            folder = tmp_path / "out" / f"fold{fold}" / part
            assert len(elements((folder / "_annotations.coco.json").read_bytes(), "images")) == n
            assert len(list(folder.glob("*.jpg"))) == n

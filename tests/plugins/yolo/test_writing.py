"""What is written: lists, trees, folds and yaml files, never over anything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
import yolo_files as yf
from yolo_files import RATIOS, names_in

from evosplit import EvoSplitError
from evosplit_plugins.demo import draw_demo
from evosplit_plugins.yolo import audit, evosplit_yolo, read_counts


def described(path):
    """Read a yaml file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


class TestLists:
    """Lists beside a yaml file."""

    def test_lines(self, data, tmp_path):
        """Elsewhere lines are whole paths; above the images they begin with ./ ."""
        split = evosplit_yolo(data, tmp_path / "out", RATIOS)
        above = evosplit_yolo(data, tmp_path, RATIOS)
        for name in RATIOS:
            lines = (tmp_path / "out" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            assert lines == [f"{tmp_path}/data/{each}" for each in split.ids(name)]
            lines = (tmp_path / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            assert lines == [f"./data/{each}" for each in above.ids(name)]
        assert described(tmp_path / "data.yaml") == described(tmp_path / "out" / "data.yaml")

    def test_yaml(self, data, tmp_path):
        """Keys and comments stay; `path` and `download` go."""
        text = data.read_text()
        data.write_text(f"# mine\npath: {tmp_path}/data\n{text}download: exit()\nchannels: 1  # gray\n")
        evosplit_yolo(data, tmp_path / "out", RATIOS)
        assert (tmp_path / "out" / "data.yaml").read_text() == (
            "# mine\ntrain: train.txt\nval: val.txt\ntest: test.txt\nnames: [cat, dog, eel]\nchannels: 1  # gray\n"
        )

    def test_yaml_beside_another(self, data, tmp_path):
        """Where a yaml file lies already, the new one is called split.yaml, also the second time."""
        before = data.read_bytes()
        for overwrite in (False, True):
            evosplit_yolo(data, data.parent, RATIOS, overwrite=overwrite)
            assert described(data.parent / "split.yaml")["train"] == "train.txt"
            assert data.read_bytes() == before
        for overwrite in (False, True):
            evosplit_yolo(data, tmp_path / "out", RATIOS, overwrite=overwrite)
            assert sorted(path.name for path in (tmp_path / "out").glob("*.yaml")) == ["data.yaml"]

    def test_yaml_that_the_demo_wrote(self, tmp_path):
        """A yaml file that EvoSplit wrote is an input like any other."""
        data = draw_demo(tmp_path / "demo", n_images=20, format="yolo").root / "data.yaml"
        before = data.read_bytes()
        evosplit_yolo(data.parent, data.parent, RATIOS)
        assert (data.read_bytes(), (data.parent / "split.yaml").exists()) == (before, True)

    def test_folds(self, data, tmp_path):
        """A yaml file for each fold; no image is listed twice."""
        split = evosplit_yolo(data, tmp_path / "out", folds=4)
        made = described(tmp_path / "out" / "fold1.yaml")
        assert made["train"] == ["fold0.txt", "fold2.txt", "fold3.txt"]
        assert made["val"] == "fold1.txt"
        listed = [name for fold in split.names for name in names_in(tmp_path / "out" / f"{fold}.txt")]
        assert sorted(listed) == sorted(yf.expected(yf.pictures()))
        judged = audit(tmp_path / "out", compare=False)
        assert judged.split.names == split.names
        assert judged.leaks == ()

    def test_names_are_written(self, tmp_path):
        """Data that no yaml file describes gets one with the names of its classes."""
        (tmp_path / "data").mkdir()
        evosplit_yolo(yf.darknet(tmp_path / "data", yf.pictures()), tmp_path / "out", RATIOS)
        assert described(tmp_path / "out" / "data.yaml")["names"] == list(yf.NAMES)

    def test_other_names(self, data, tmp_path):
        """Names that were given stand in the yaml file, without the number of others."""
        data.write_text(data.read_text().replace("[cat, dog, eel]", "[a, b]") + "nc: 2\n")
        (tmp_path / "names.txt").write_text("cat\ndog\neel\n")
        evosplit_yolo(data, tmp_path / "out", RATIOS, names=tmp_path / "names.txt")
        made = described(tmp_path / "out" / "data.yaml")
        assert made["names"] == list(yf.NAMES)
        assert "nc" not in made

    def test_test_for_val(self, data, tmp_path):
        """Ultralytics asks for val: without one, it is test, and validation is val."""
        evosplit_yolo(data, tmp_path / "a", {"train": 0.8, "test": 0.2})
        assert described(tmp_path / "a" / "data.yaml")["val"] == "test.txt"
        evosplit_yolo(data, tmp_path / "b", {"train": 0.8, "validation": 0.2})
        assert described(tmp_path / "b" / "data.yaml")["val"] == "validation.txt"

    @pytest.mark.parametrize(
        ("ratios", "message"),
        [
            ({"a": 0.5, "b": 0.5}, r"trains on 'train' and validates on 'val', but the subsets are a, b"),
            ({"train": 0.5, "extra": 0.5}, "trains on 'train'"),
            ({"train": 0.5, "val": 0.25, "valid": 0.25}, "val and valid are one subset for Ultralytics"),
            ({"train": 0.5, "val": 0.25, "v.1": 0.25}, r"'v\.1' cannot be part of a file name"),
            ({"train": 0.5, "val": 0.25, "names": 0.25}, "'names' means something else in a yaml file"),
            ({"train": 0.5, "val": 0.25, "colour": 0.25}, "'colour' means something else"),
            ({"train": 0.5, "val": 0.25, "Train": 0.25}, "would be one file"),
        ],
        ids=str,
    )
    def test_wrong_names(self, data, tmp_path, ratios, message):
        """Subsets that Ultralytics could not tell apart are refused before the search."""
        data.write_text(f"{data.read_text()}colour: red\n")
        with pytest.raises(EvoSplitError, match=message):
            evosplit_yolo(data, tmp_path / "out", ratios)
        assert not (tmp_path / "out").exists()

    def test_names_that_no_list_can_hold(self, tmp_path):
        """An image whose name would be two lines is refused; a tree takes it."""
        path = yf.ultralytics(tmp_path / "data", [*yf.pictures(), yf.Picture("a\u2028b.png", ())])
        with pytest.raises(EvoSplitError, match=r"cannot stand in a line of a list"):
            evosplit_yolo(path, tmp_path / "out", RATIOS)
        assert sum(evosplit_yolo(path, tmp_path / "tree", RATIOS, layout="tree").sizes) == 41


class TestTrees:
    """New folders of links or copies."""

    @pytest.mark.parametrize("images", ["symlink", "hardlink", "copy"])
    @pytest.mark.parametrize("layout", ["tree", "roboflow"])
    def test_places(self, data, tmp_path, layout, images):
        """Images and labels lie where they are looked for, and are what was asked for."""
        split = evosplit_yolo(data, tmp_path / "out", RATIOS, layout=layout, images=images)
        folders = {name: f"images/{name}" for name in RATIOS}
        if layout == "roboflow":
            folders = {"train": "train/images", "val": "valid/images", "test": "test/images"}
        assert {name: described(tmp_path / "out" / "data.yaml")[name] for name in RATIOS} == folders
        for name, folder in folders.items():
            assert names_in(tmp_path / "out" / folder) == sorted(Path(each).name for each in split.ids(name))
        for path in (tmp_path / "out").rglob("*.png"):
            assert path.is_symlink() == (images == "symlink")
            assert (path.stat().st_nlink > 1) == (images == "hardlink")
        assert yf.by_name(read_counts(tmp_path / "out")) == yf.expected(yf.pictures())

    def test_equal_names(self, tmp_path):
        """Images of one name in two folders keep their folders."""
        data = [yf.Picture(f"{n}.png", (yf.box(n % 3),)) for n in range(10)]
        for name in ("train", "val"):
            yf.write_pictures(tmp_path / "data", data, f"images/{name}", f"labels/{name}")
        (tmp_path / "data" / "data.yaml").write_text(yf.yaml_text(train="images/train", val="images/val"))
        evosplit_yolo(tmp_path / "data", tmp_path / "out", RATIOS, layout="tree")
        counts = read_counts(tmp_path / "out")
        assert counts.totals.tolist() == read_counts(tmp_path / "data").totals.tolist()
        assert counts.n_samples == 20

    def test_folds(self, data, tmp_path):
        """Each fold is a folder, and a yaml file names it with the others."""
        evosplit_yolo(data, tmp_path / "out", folds=4, layout="tree")
        made = described(tmp_path / "out" / "fold3.yaml")
        assert made["val"] == "images/fold3"
        assert made["train"] == ["images/fold0", "images/fold1", "images/fold2"]
        assert yf.by_name(read_counts(tmp_path / "out")) == yf.expected(yf.pictures())

    @pytest.mark.parametrize("divided", [False, True])
    def test_classes(self, tmp_path, divided):
        """Folders of classes become train/<class>/..., with folds one tree for each."""
        for number in range(30):
            folder = tmp_path / "data" / ("train", "val")[number % 2] if divided else tmp_path / "data"
            (folder / "abc"[number % 3]).mkdir(parents=True, exist_ok=True)
            (folder / "abc"[number % 3] / f"{number}.jpg").write_bytes(b"x")
        split = evosplit_yolo(tmp_path / "data", tmp_path / "out", RATIOS)
        for name in RATIOS:
            found = names_in(tmp_path / "out" / name)
            assert found == sorted(Path(each).name for each in split.ids(name))
            assert sorted(path.name for path in (tmp_path / "out" / name).iterdir()) == ["a", "b", "c"]
        evosplit_yolo(tmp_path / "data", tmp_path / "folds", folds=3)
        assert [len(names_in(tmp_path / "folds" / "fold1" / part)) for part in ("train", "val")] == [20, 10]
        with pytest.raises(EvoSplitError, match="layout='lists': Ultralytics reads classes from folders alone"):
            evosplit_yolo(tmp_path / "data", tmp_path / "no", RATIOS, layout="lists")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"layout": "coco"}, "layout='coco' is unknown; choose one of lists, tree, roboflow"),
            ({"layout": "tree", "images": "move"}, "images='move' is unknown; choose one of symlink, hardlink, copy"),
            ({"images": "copy"}, "images='copy': lists leave the images where they are; choose layout='tree'"),
        ],
        ids=str,
    )
    def test_wrong_options(self, data, tmp_path, options, message):
        """Options that cannot be are refused."""
        with pytest.raises(EvoSplitError, match=message):
            evosplit_yolo(data, tmp_path / "out", RATIOS, **options)
        assert not (tmp_path / "out").exists()

    def test_overwrite(self, data, tmp_path):
        """An earlier tree is replaced whole, also by lists; the images it came from stay."""
        before = {path: path.read_bytes() for path in data.parent.rglob("*") if path.is_file()}
        evosplit_yolo(data, tmp_path / "out", RATIOS, layout="tree", images="hardlink")
        evosplit_yolo(data, tmp_path / "out", RATIOS, overwrite=True, seed=1)
        assert not (tmp_path / "out" / "images").exists()
        assert {path: path.read_bytes() for path in data.parent.rglob("*") if path.is_file()} == before

    def test_not_into_the_data(self, data):
        """A tree is never written over the images that are split, nor among them."""
        with pytest.raises(EvoSplitError, match=r"is the input|exist, but were not written by EvoSplit"):
            evosplit_yolo(data, data.parent, RATIOS, layout="tree", images="copy")
        with pytest.raises(EvoSplitError, match="lies inside of the images in"):
            evosplit_yolo(data, data.parent / "images" / "train" / "new", RATIOS, layout="tree")


def test_caches_of_an_earlier_tree(data, tmp_path):
    """What Ultralytics remembers of it is deleted; a file that only has such a name is the user's."""
    evosplit_yolo(data, tmp_path / "out", RATIOS, layout="tree")
    labels = tmp_path / "out" / "labels"
    (labels / "train.cache").write_text("mine")
    np.save(labels / "val.npy", {"hash": 1})
    (labels / "val.npy").rename(labels / "val.cache")
    evosplit_yolo(data, tmp_path / "out", RATIOS, layout="tree", overwrite=True)
    assert sorted(path.name for path in labels.glob("*.cache")) == ["train.cache"]

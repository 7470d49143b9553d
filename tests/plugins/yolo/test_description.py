"""All the layouts of YOLO data sets are found, by their files and by their folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yolo_files as yf
from yolo_files import read

from evosplit_plugins.registry import detect
from evosplit_plugins.yolo import YoloAdapter, evosplit_yolo, read_counts


def subsets(source):
    """Give the subset of each image, by the name of its file."""
    placed = source.subsets
    return {Path(name).name: placed.names[j] for name, j in zip(source.files, placed.assignment.tolist(), strict=True)}


class TestLayouts:
    """All the layouts there are."""

    @pytest.mark.parametrize(
        ("prefix", "where"),
        [("./", ""), ("", ""), ("data/", ""), ("absolute", ""), ("", "lists"), ("backslash", "")],
        ids=str,
    )
    def test_lists(self, tmp_path, prefix, where):
        """Lines are found beside the list, below the root, without data/, as whole paths, and with backslashes."""
        data = yf.pictures()
        said = "data\\" if prefix == "backslash" else f"{tmp_path}/" if prefix == "absolute" else prefix
        yf.listed(tmp_path, data, said)
        if prefix == "backslash":
            for path in (tmp_path / "train.txt", tmp_path / "val.txt"):
                path.write_text(path.read_text().replace("/", "\\"))
        if where:
            (tmp_path / where).mkdir()
            for name in ("train", "val"):
                (tmp_path / f"{name}.txt").rename(tmp_path / where / f"{name}.txt")
            keys = {name: f"{where}/{name}.txt" for name in ("train", "val")}
            (tmp_path / "data.yaml").write_text(yf.yaml_text(**keys))
        source = read(tmp_path / "data.yaml")
        assert yf.by_name(source.counts) == yf.expected(data)
        assert source.subsets.names == ("train", "val")
        assert subsets(source)[data[1].name] == "val"

    def test_folders_and_lists_mixed(self, tmp_path):
        """A subset may consist of folders and lists."""
        data = yf.pictures()
        yf.write_pictures(tmp_path, data[:10], "images/a", "labels/a")
        yf.write_pictures(tmp_path, data[10:20], "images/b/c", "labels/b/c")
        yf.write_pictures(tmp_path, data[20:], "images/d", "labels/d")
        lines = "".join(f"./images/d/{each.name}\n" for each in data[20:30])
        (tmp_path / "more.txt").write_text(lines)
        (tmp_path / "my.yaml").write_text(yf.yaml_text(train="[images/a, images/b, more.txt]", val="images/d/"))
        source = read(tmp_path)
        assert yf.by_name(source.counts) == yf.expected(data)
        assert source.subsets.sizes == (30, 10)
        assert "10 images are in train and val: " in source.notes[0]
        assert source.notes[0].endswith("; each is taken once.")

    @pytest.mark.parametrize("maker", [yf.ultralytics, yf.roboflow, yf.darknet], ids=lambda maker: maker.__name__)
    def test_makers(self, tmp_path, maker):
        """A data set is found by its file and by its folder, and recognised as one of YOLO."""
        data = yf.pictures()
        path = maker(tmp_path, data)
        for given in (path, tmp_path):
            assert detect([str(given)]) == "yolo"
            assert yf.by_name(read(given).counts) == yf.expected(data)
        assert read(path).counts.labels == yf.NAMES

    def test_roboflow_subsets(self, tmp_path):
        """The folder valid is val; a test that was not exported is left out, with a note."""
        data = yf.pictures()
        path = yf.roboflow(tmp_path, data)
        assert read(path).subsets.names == ("train", "val", "test")
        (tmp_path / "test").rename(tmp_path / "gone")
        source = read(path)
        assert source.subsets.names == ("train", "val")
        assert source.notes == ("data.yaml names `test: ../test/images`, which is not there; it is left out.",)

    def test_autosplit(self, tmp_path):
        """The lists of Ultralytics' autosplit, by their folder or one by one; the classes stand beside them."""
        data = yf.pictures()
        yf.write_pictures(tmp_path, data)
        paths = [tmp_path / f"autosplit_{name}.txt" for name in ("train", "val")]
        for at, path in enumerate(paths):
            path.write_text("".join(f"./images/{each.name}\n" for each in data[at::2]))
        (tmp_path / "classes.txt").write_text("cat\ndog\neel\n")
        for given in ([tmp_path], paths):
            assert detect([str(path) for path in given]) == "yolo"
            source = read(*given)
            assert yf.by_name(source.counts) == yf.expected(data)
            assert source.subsets.names == ("train", "val")

    @pytest.mark.parametrize("how", [{"folds": 3}, {"ratios": {"train": 0.8, "val": 0.2}}], ids=["folds", "subsets"])
    def test_lists_that_were_written(self, tmp_path, how):
        """The lists of a split are known without its yaml files being named: what they have in common is read there."""
        data = yf.pictures()
        evosplit_yolo(yf.ultralytics(tmp_path / "data", data, flat=True), tmp_path / "out", method="random", **how)
        lists = sorted(map(str, (tmp_path / "out").glob("*.txt")))
        assert len(lists) == len(how.get("ratios", range(3)))
        assert detect(lists) == detect(lists[:1]) == "yolo"
        source = read(*lists)
        assert yf.by_name(source.counts) == yf.expected(data)
        assert source.subsets.names == tuple(Path(path).stem for path in lists)

    def test_bare_folders(self, tmp_path):
        """Folders that nothing describes, with the names of the classes given."""
        data = yf.pictures()
        (tmp_path / "names.txt").write_text("cat\ndog\neel\n")
        names = {"names": tmp_path / "names.txt"}
        yf.write_pictures(tmp_path / "flat", data)
        assert detect([str(tmp_path / "flat")]) == "yolo"
        flat = read(tmp_path / "flat", **names)
        assert yf.by_name(flat.counts) == yf.expected(data)
        assert flat.subsets is None
        yf.write_pictures(tmp_path / "divided", data[:30], "images/train", "labels/train")
        yf.write_pictures(tmp_path / "divided", data[30:], "images/val", "labels/val")
        assert read(tmp_path / "divided", **names).subsets.sizes == (30, 10)
        yf.write_pictures(tmp_path / "beside", data[:30], "train", "train")
        yf.write_pictures(tmp_path / "beside", data[30:], "valid", "valid")
        beside = read(tmp_path / "beside", **names)
        assert beside.subsets.names == ("train", "val")
        assert yf.by_name(beside.counts) == yf.expected(data)

    @pytest.mark.parametrize("divided", [False, True])
    def test_classes(self, tmp_path, divided):
        """Folders of classes, with or without train/ above them."""
        for number in range(30):
            above = ("train/", "val/")[number % 2] if divided else ""
            folder = tmp_path / f"{above}{'abc'[number % 3]}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.jpg").write_bytes(b"")
        source = read(tmp_path)
        assert source.counts.labels == ("a", "b", "c")
        assert source.counts.totals.tolist() == [10, 10, 10]
        assert (source.subsets is not None) == divided

    def test_ndjson(self, tmp_path):
        """The first number of each annotation is its class; equal ones count once."""
        lines = [{"type": "dataset", "task": "detect", "class_names": {"0": "cat", "1": "dog"}}]
        boxes = [[[0, 0.1, 0.1, 0.1, 0.1]] * 2, [], [[1, 0.1, 0.1, 0.1, 0.1], [1, 0.2, 0.1, 0.1, 0.1]]]
        lines += [
            {"type": "image", "file": f"{at}.jpg", "split": ("train", "val")[at % 2], "annotations": {"boxes": each}}
            for at, each in enumerate(boxes)
        ]
        path = tmp_path / "set.ndjson"
        path.write_text("\n".join(map(json.dumps, lines)))
        assert detect([str(path)]) == "yolo"
        source = read(path)
        assert source.counts.matrix.toarray().tolist() == [[1, 0], [0, 0], [0, 2]]
        assert source.subsets.sizes == (2, 1)

    @pytest.mark.parametrize("line", [yf.polygon, yf.obb, yf.pose], ids=lambda line: line.__name__)
    def test_tasks(self, tmp_path, line):
        """Polygons, turned boxes and poses are counted as boxes are."""
        data = yf.pictures(line=line)
        keys = {"kpt_shape": "[2, 3]"} if line is yf.pose else {}
        assert yf.by_name(read_counts(yf.ultralytics(tmp_path, data, **keys))) == yf.expected(data)

    def test_path(self, tmp_path, monkeypatch):
        """`path` is meant from the working directory, else from the yaml file; `root` comes first."""
        data = yf.pictures()
        yf.ultralytics(tmp_path / "set", data)
        text = (tmp_path / "set" / "data.yaml").read_text()
        (tmp_path / "other.yaml").write_text(f"path: set\n{text}")
        assert yf.by_name(read_counts(tmp_path / "other.yaml")) == yf.expected(data)
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "other.yaml").write_text(f"path: set\n{text}")
        monkeypatch.chdir(tmp_path)
        assert yf.by_name(read_counts("deep/other.yaml")) == yf.expected(data)
        (tmp_path / "deep" / "other.yaml").write_text(f"path: nowhere\n{text}")
        assert yf.by_name(read_counts("deep/other.yaml", root="set")) == yf.expected(data)
        (tmp_path / "set" / "data.yaml").write_text(f"path: .\n{text}")  # as exporters mean it, from the file
        assert yf.by_name(read_counts("set/data.yaml")) == yf.expected(data)

    def test_hidden_and_other_files(self, tmp_path):
        """Hidden files, and what is no image by its suffix, are no images; suffixes are in any case."""
        path = yf.ultralytics(tmp_path, yf.pictures(), flat=True)
        for name in (".hidden.png", "notes.txt", "a.gif", "more/.x.png"):
            (tmp_path / "images" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "images" / name).write_bytes(b"")
        (tmp_path / "images" / "more" / "Z.JPEG").write_bytes(b"")
        names = yf.by_name(read_counts(path))
        assert set(names) - set(yf.expected(yf.pictures())) == {"Z.JPEG"}

    def test_the_last_images_folder(self, tmp_path):
        """Labels are looked for below labels/ instead of the last images/."""
        root = tmp_path / "images" / "set"
        data = yf.pictures()
        assert yf.by_name(read_counts(yf.ultralytics(root, data))) == yf.expected(data)

    def test_linked_folders(self, tmp_path):
        """A linked folder is read through the link, and one that leads to itself once."""
        data = yf.pictures()
        path = yf.ultralytics(tmp_path / "real", data, flat=True)
        (tmp_path / "real" / "images" / "loop").symlink_to(tmp_path / "real" / "images")
        assert len(read(path)) == 2 * len(data)  # as Ultralytics follows it once
        (tmp_path / "real" / "images" / "loop").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert yf.by_name(read_counts(tmp_path / "link")) == yf.expected(data)

    def test_only_a_number_of_classes(self, tmp_path):
        """`nc` alone names the classes as Ultralytics does."""
        yf.ultralytics(tmp_path, yf.pictures())
        (tmp_path / "data.yaml").write_text("train: images/train\nval: images/val\nnc: 3\n")
        assert read(tmp_path).counts.labels == ("class_0", "class_1", "class_2")

    def test_names_as_a_mapping(self, tmp_path):
        """Names may be a mapping; two classes of one name are told apart; an unquoted no is False."""
        yf.ultralytics(tmp_path, yf.pictures())
        (tmp_path / "data.yaml").write_text("train: images/train\nval: images/val\nnames: {0: no, 2: x, 1: x}\n")
        assert read(tmp_path).counts.labels == ("False", "x (1)", "x (2)")

    def test_not_detected(self, tmp_path):
        """What may be of another kind is left to others."""
        adapter = YoloAdapter()
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "x.jpg").write_bytes(b"")
        for name, content in (("requirements.txt", "a.jpg"), ("services.yaml", "web: {}"), ("empty.yaml", "")):
            (tmp_path / name).write_text(content)
        strange = [[str(tmp_path)], [str(tmp_path / "requirements.txt")], [str(tmp_path / "nowhere.yaml")]]
        for given in (*strange, ["train.json"], ["my-dataset"]):
            assert not adapter.detect(given)

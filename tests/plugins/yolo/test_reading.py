"""YOLO data sets in every layout are read to the same counts; what Ultralytics would leave out is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import yolo_files as yf

from evosplit import EvoSplitError
from evosplit_plugins.registry import detect
from evosplit_plugins.yolo import YoloAdapter, YoloReading, audit, evosplit_yolo, read_counts

RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}


def read(*paths, **options):
    """Read a data set."""
    return YoloAdapter().read([str(path) for path in paths], YoloReading(**options))


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
        for given in ([str(tmp_path)], ["train.json"], [str(tmp_path / "nowhere.yaml")], ["my-dataset"]):
            assert not adapter.detect(given)


class TestBadInput:
    """Each gets its message, and nothing is written."""

    def refused(self, tmp_path, path, message, **options):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(EvoSplitError, match=message) as caught:
            evosplit_yolo(path, tmp_path / "out", RATIOS, **options)
        assert sorted(tmp_path.rglob("*")) == before
        return str(caught.value)

    def described(self, tmp_path, text):
        yf.ultralytics(tmp_path, yf.pictures())
        (tmp_path / "data.yaml").write_text(text)
        return tmp_path / "data.yaml"

    def labelled(self, tmp_path, *lines, n=12):
        """Write a data set with one label file of the given lines, in `n` copies."""
        data = yf.pictures()
        path = yf.ultralytics(tmp_path, data, flat=True)
        for at in range(n):
            (tmp_path / "images" / f"bad{at:02}.png").write_bytes(b"")
            (tmp_path / "labels" / f"bad{at:02}.txt").write_text("".join(f"{line}\n" for line in lines))
        return path

    def test_path_is_nowhere(self, tmp_path):
        """1: `path` leads nowhere."""
        path = self.described(tmp_path, yf.yaml_text(path="./x", train="images/train", val="images/val"))
        self.refused(tmp_path, path, r"data\.yaml: `path: \./x` is found neither here nor beside the yaml; pass root=")

    def test_no_names(self, tmp_path):
        """2: no names."""
        path = self.described(tmp_path, "train: images/train\nval: images/val\n")
        self.refused(tmp_path, path, r"data\.yaml has no `names`; add them, or pass names='classes\.txt'")

    def test_number_of_names(self, tmp_path):
        """3: `nc` is another number."""
        path = self.described(tmp_path, yf.yaml_text(train="images/train", val="images/val", nc=4))
        self.refused(tmp_path, path, r"`names` has 3 entries, `nc` says 4")

    @pytest.mark.parametrize(
        ("names", "said"), [("{1: a, 2: b, 3: c}", "keys 1\u20133"), ("{0: a, 2: b, 5: c}", "keys 0, 2, 5")]
    )
    def test_numbers_of_names(self, tmp_path, names, said):
        """4: names that do not count from 0."""
        path = self.described(tmp_path, f"train: images/train\nval: images/val\nnames: {names}\n")
        self.refused(tmp_path, path, rf"`names` has {said}; YOLO counts from 0")

    def test_class_too_large(self, tmp_path):
        """5: a class that is not there, unless such images are left out."""
        path = self.labelled(tmp_path, "0 0.5 0.5 0.1 0.1", "1 0.5 0.5 0.1 0.1", "3 0.5 0.5 0.1 0.1")
        self.refused(
            tmp_path, path,
            r"12 label files use class 3, there are 3 \(0–2\): labels/bad00\.txt:3; .*drop_bad=True",
        )  # fmt: skip
        split = evosplit_yolo(path, tmp_path / "out", RATIOS, drop_bad=True)
        assert sum(split.sizes) == 40
        assert any(note.startswith("12 images are left out: 12 label files use class 3") for note in split.notes)
        assert split.source["reading"] == {"drop_bad": True}

    def test_six_columns(self, tmp_path):
        """6: a sixth column."""
        path = self.labelled(tmp_path, "0 0.5 0.5 0.1 0.1 0.9", n=5)
        self.refused(
            tmp_path, path,
            r"5 label files have 6 columns \(confidence or track id\?\): labels/bad00\.txt:1; cut the sixth",
        )  # fmt: skip

    def test_mixed(self, tmp_path):
        """7: boxes and polygons in one file."""
        path = self.labelled(tmp_path, yf.box(0), yf.polygon(0), n=1)
        self.refused(tmp_path, path, r"labels/bad00\.txt mixes boxes and polygons; Ultralytics leaves such images out")

    def test_pixels(self, tmp_path):
        """8: pixels."""
        path = self.labelled(tmp_path, "0 50 50 20 20", n=1)
        self.refused(tmp_path, path, r"labels/bad00\.txt:1 holds pixels \(50 50 20 20\); divide by the image size")

    def test_lines_without_image(self, tmp_path):
        """9: lines that name no image."""
        path = yf.listed(tmp_path, yf.pictures())
        (tmp_path / "train.txt").write_text("".join(f"nowhere/{n}.jpg\n" for n in range(40)))
        self.refused(
            tmp_path, path,
            r"40 lines of train\.txt name no image: nowhere/0\.jpg, .* 37 more; paths begin with \./ below the list",
        )  # fmt: skip

    def test_shared_label_file(self, tmp_path):
        """10: two images with one label file."""
        path = yf.ultralytics(tmp_path, yf.pictures(), flat=True)
        (tmp_path / "images" / "pic_000.jpg").write_bytes(b"")
        said = self.refused(tmp_path, path, r"rename one")
        assert "pic_000.jpg and pic_000.png share labels/pic_000.txt" in said

    @pytest.mark.parametrize("folder", ["Images", "pictures"])
    def test_labels_elsewhere(self, tmp_path, folder):
        """11: the folder of the images is called otherwise."""
        yf.write_pictures(tmp_path, yf.pictures(), folder, "labels")
        (tmp_path / "data.yaml").write_text(yf.yaml_text(train=folder, val=folder))
        self.refused(
            tmp_path, tmp_path / "data.yaml", r"40 of 40 images have no label .*: is the folder called `images`"
        )

    def test_image_in_two_subsets(self, tmp_path):
        """12: an image in two subsets is taken once, and a note says so; an audit takes it for a leak."""
        data = yf.pictures()
        path = yf.listed(tmp_path / "set", data)
        with (tmp_path / "set" / "val.txt").open("a") as stream:
            stream.writelines(f"./images/{data[at].name}\n" for at in (0, 2, 4, 4))
        split = evosplit_yolo(path, tmp_path / "out", RATIOS)
        assert sum(split.sizes) == 40
        assert f"3 images are in train and val: {data[0].name}; each is taken once." in split.notes
        assert "1 line names an image a second time; each is taken once." in split.notes
        assert [leak.n_shared for leak in audit(path, compare=False).leaks] == [3]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("- a\n- b\n", "is no description of a data set"),
            ("train: [\n", "is no YAML"),
            (yf.yaml_text(train="images/nope"), r"`train: images/nope` is not below"),
            (yf.yaml_text(), "no `train`"),
            (yf.yaml_text(train="{a: b}"), "names no folder or list"),
            ("train: images/train\nnames: cat\n", "`names` is 'cat'; write a list"),
            ("train: images/train\nnames: {a: b}\n", "keys that are no numbers"),
            (yf.yaml_text(train="images/train", kpt_shape="17"), "`kpt_shape: 17` is not"),
        ],
        ids=lambda given: given[:30],
    )
    def test_descriptions(self, tmp_path, text, message):
        """A yaml file that says something else is refused with what it says."""
        self.refused(tmp_path, self.described(tmp_path, text), message)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["nowhere.yaml"], "does not exist"),
            (["a.csv"], "nothing that YOLO reads"),
            (["a.txt", "a.csv"], "give one data set, or several lists"),
            (["."], "has no images"),
        ],
        ids=str,
    )
    def test_other_paths(self, tmp_path, monkeypatch, given, message):
        """What is no data set."""
        monkeypatch.chdir(tmp_path)
        for name in ("a.csv", "a.txt"):
            (tmp_path / name).write_text("")
        with pytest.raises(EvoSplitError, match=message):
            read(*given)

    def test_wrong_options(self, tmp_path):
        """Options that name nothing."""
        path = yf.ultralytics(tmp_path, yf.pictures())
        with pytest.raises(EvoSplitError, match="root='nowhere' is no folder"):
            read(path, root="nowhere")
        with pytest.raises(EvoSplitError, match=r"names='nowhere\.txt' is no file"):
            read(path, names="nowhere.txt")

    def test_two_yaml_files(self, tmp_path):
        """A folder with several yaml files of any name does not say which one is meant."""
        yf.ultralytics(tmp_path, yf.pictures())
        (tmp_path / "data.yaml").rename(tmp_path / "a.yaml")
        (tmp_path / "b.yaml").write_text("x: 1\n")
        with pytest.raises(EvoSplitError, match=r"has 2 yaml files \(a\.yaml, b\.yaml\); name one"):
            read(tmp_path)

    @pytest.mark.skipif(sys.platform == "darwin", reason="its file system has no such names")
    def test_names_in_another_encoding(self, tmp_path):
        """A name that is no text is refused: neither a list nor a manifest can hold it."""
        path = yf.ultralytics(tmp_path, yf.pictures(), flat=True)
        Path(os.fsdecode(os.fsencode(tmp_path / "images") + b"/\xe4.png")).write_bytes(b"")
        with pytest.raises(EvoSplitError, match=r"udce4\.png' is not UTF-8; rename the image"):
            read(path)

    def test_unreadable(self, tmp_path):
        """A label file that nobody can read, root included, is named."""
        path = yf.ultralytics(tmp_path, yf.pictures(), flat=True)
        label = tmp_path / "labels" / "pic_000.txt"
        label.unlink()
        label.symlink_to(label)
        with pytest.raises(EvoSplitError, match=r"cannot read .*pic_000\.txt"):
            read(path)


class TestOptions:
    """What is known of an image beside its labels."""

    def test_folder(self, tmp_path):
        """Images of one folder stay together, or folders are balanced."""
        for at in range(8):
            data = [yf.Picture(f"{at}_{n}.png", (yf.box(n % 3),)) for n in range(5)]
            yf.write_pictures(tmp_path / "set", data, f"images/clip{at}", f"labels/clip{at}")
        (tmp_path / "set" / "data.yaml").write_text(yf.yaml_text(train="images", val="images"))
        whole = evosplit_yolo(tmp_path / "set", tmp_path / "a", {"train": 0.75, "val": 0.25}, group_by="folder")
        folders = {name: {str(Path(file).parent) for file in whole.ids(name)} for name in whole.names}
        assert folders["train"] & folders["val"] == set()
        even = evosplit_yolo(tmp_path / "set", tmp_path / "b", {"train": 0.8, "val": 0.2}, stratify_by="folder")
        assert sorted(Path(file).parent.name for file in even.ids("val")) == [f"clip{at}" for at in range(8)]

    def test_area(self, tmp_path):
        """Small, medium and large boxes of each class are balanced."""
        lines = ("0 0.5 0.5 0.04 0.04", "0 0.5 0.5 0.1 0.1", "0 0.5 0.5 0.5 0.5")
        data = [yf.Picture(f"{n}.png", (lines[n % 3],)) for n in range(60)]
        path = yf.ultralytics(tmp_path / "set", data, flat=True)
        strata = read(path).fields(groups=[], strata=["area"]).strata["area"]
        assert strata.labels == ("cat large", "cat medium", "cat small")
        split = evosplit_yolo(path, tmp_path / "out", {"train": 0.8, "val": 0.2}, stratify_by="area")
        sizes = [int(Path(name).stem) % 3 for name in split.ids("val")]
        assert [sizes.count(size) for size in range(3)] == [4, 4, 4]

    def test_unknown_fields(self, tmp_path):
        """A field that is not known is named, with those that are."""
        source = read(yf.ultralytics(tmp_path, yf.pictures()))
        with pytest.raises(EvoSplitError, match="group_by='area' is nothing that YOLO data knows"):
            source.fields(groups=["area"], strata=[])
        with pytest.raises(EvoSplitError, match=r"stratify_by='clip' .* it knows 'folder' and 'area'"):
            source.fields(groups=[], strata=["clip"])

    def test_area_needs_boxes(self, tmp_path):
        """Folders of classes have no boxes."""
        for name in "ab":
            (tmp_path / name).mkdir()
            (tmp_path / name / "x.jpg").write_bytes(b"")
        with pytest.raises(EvoSplitError, match=r"stratify_by='area' needs boxes"):
            read(tmp_path).fields(groups=[], strata=["area"])

    def test_roboflow_copies(self, tmp_path):
        """Roboflow's copies of one source stay together, in whatever folders they are; other equal names do not."""
        ends = ("0" * 32, "1" * 32, "2" * 32)
        names = [f"pic{at:02}_jpg.rf.{end}.jpg" for at in range(20) for end in ends]
        data = [yf.Picture(name, (yf.box(at % 3),)) for at, name in enumerate(names)]
        path = yf.roboflow(tmp_path / "set", data)
        split = evosplit_yolo(path, tmp_path / "out", {"train": 0.6, "val": 0.4})
        subset = {}
        for name, j in zip(split.file_names, split.assignment.tolist(), strict=True):
            subset.setdefault(Path(name).name[:5], set()).add(j)
        assert all(len(found) == 1 for found in subset.values())
        assert any("60 images are copies of 20 pictures" in note for note in split.notes)
        same = [yf.Picture(f"{at // 3}.jpg", (yf.box(at % 3),)) for at in range(60)]
        assert not any("copies" in note for note in evosplit_yolo(
            yf.roboflow(tmp_path / "same", same), tmp_path / "out2", {"train": 0.6, "val": 0.4}).notes)  # fmt: skip

    def test_locked_subset(self, tmp_path):
        """A subset that is there already is kept by its name, or by a list of its images."""
        data = yf.pictures()
        path = yf.roboflow(tmp_path / "set", data)
        kept = {each.name for each in data[2::3]}
        (tmp_path / "test.txt").write_text("".join(f"{name}\n" for name in kept))
        for at, locked in enumerate((["test"], {"test": tmp_path / "test.txt"})):
            split = evosplit_yolo(path, tmp_path / f"out{at}", {"train": 20, "val": 7, "test": 13}, locked=locked)
            assert {Path(name).name for name in split.ids("test")} == kept

    def test_without_backgrounds(self, tmp_path):
        """Images without labels are left out if that is asked for, and kept else."""
        data = yf.pictures()
        path = yf.ultralytics(tmp_path, data)
        assert len(read(path)) == len(data)
        some = read(path, having_annotations=True)
        assert len(some) == sum(bool(each.lines) for each in data)
        assert some.notes == (f"{len(data) - len(some)} images without a label were left out.",)

"""YOLO data sets in every layout are read to the same counts; what Ultralytics would leave out is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yolo_files as yf
from yolo_files import RATIOS, read

from evosplit import EvoSplitError
from evosplit_plugins.yolo import audit, evosplit_yolo


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

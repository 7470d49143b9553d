"""What is known of an image beside its labels: folders, sizes of boxes, copies, subsets that are there."""

from __future__ import annotations

from pathlib import Path

import pytest
import yolo_files as yf
from yolo_files import read

from evosplit import EvoSplitError
from evosplit_plugins.yolo import evosplit_yolo


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

"""The functions for Python: a saved split is replayed, subsets are judged, typos are answered."""

from __future__ import annotations

from pathlib import Path

import pytest
import yolo_files as yf
from yolo_files import RATIOS, names_in

from evosplit_plugins.yolo import apply_split, audit, evosplit_yolo


class TestReplay:
    """A saved split, applied again."""

    def test_same_files(self, data, tmp_path):
        """The same lists come out, with the options of then."""
        (data.parent / "labels" / "train" / "pic_000.txt").write_text("9 0.5 0.5 0.1 0.1\n")
        evosplit_yolo(data, tmp_path / "a", RATIOS, drop_bad=True)
        apply_split(data, tmp_path / "a" / "split.json", tmp_path / "b")
        for name in ("train.txt", "val.txt", "test.txt", "data.yaml"):
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()

    def test_another_layout(self, data, tmp_path):
        """A split of a Roboflow export is found again in another layout of the same images."""
        split = evosplit_yolo(data, tmp_path / "a", RATIOS)
        other = yf.ultralytics(tmp_path / "other", yf.pictures(), flat=True)
        apply_split(other, split, tmp_path / "b", layout="tree")
        for name in RATIOS:
            assert names_in(tmp_path / "b" / "images" / name) == names_in(tmp_path / "a" / f"{name}.txt")

    def test_without_labels(self, data, tmp_path):
        """Images whose labels are not there yet are divided all the same."""
        split = evosplit_yolo(data, tmp_path / "a", RATIOS)
        for path in (data.parent / "labels").rglob("*.txt"):
            path.unlink()
        apply_split(data, tmp_path / "a" / "split.json", tmp_path / "b")
        assert names_in(tmp_path / "b" / "val.txt") == sorted(Path(each).name for each in split.ids("val"))


def test_audit(data):
    """Subsets that exist are judged; the same picture in two of them is a leak if its bytes are compared."""
    judged = audit(data, same_bytes=True, compare=False)
    assert judged.split.sizes == (30, 10)
    assert len(judged.leaks) == 1  # both folders number their pictures from 0


def test_unknown_keyword(data, tmp_path):
    """A typo is answered with what was probably meant."""
    with pytest.raises(TypeError, match="did you mean 'layout'"):
        evosplit_yolo(data, tmp_path / "out", RATIOS, layuot="tree")

"""NDJSON files: only `split` changes."""

from __future__ import annotations

import json

import pytest
from yolo_files import RATIOS

from evosplit import EvoSplitError
from evosplit_plugins.yolo import audit, evosplit_yolo, read_counts
from evosplit_plugins.yolo.ndjson import with_subset


class TestNdjson:
    """Only `split` changes."""

    LINES = (
        '{"type": "dataset", "task": "detect", "class_names": {"0": "cat", "1": "dog"}, "x": 1.50}',
        *(
            f'{{"type":"image", "file":"{n}.jpg","split" : "train","annotations":{{"obb":[[{n % 2},0.5,0.5,0.10]]}}}}'
            for n in range(20)
        ),
    )

    def test_split(self, tmp_path):
        """Every line is as it was, but for the subset."""
        path = tmp_path / "set.ndjson"
        path.write_text("\n".join(self.LINES))
        split = evosplit_yolo(path, tmp_path / "out", RATIOS)
        made = (tmp_path / "out" / "data.ndjson").read_text().splitlines()
        placed = dict(zip(split.file_names, split.assignment.tolist(), strict=True))
        expected = [
            line.replace('"train"', f'"{split.names[placed[json.loads(line)["file"]]]}"') for line in self.LINES[1:]
        ]
        assert made == [self.LINES[0], *expected]
        assert audit(tmp_path / "out" / "data.ndjson", compare=False).split.sizes == split.sizes

    def test_folds(self, tmp_path):
        """A file for each fold, which is val in it."""
        path = tmp_path / "set.ndjson"
        path.write_text("\n".join(self.LINES))
        evosplit_yolo(path, tmp_path / "out", folds=4)
        for name in ("fold0", "fold3"):
            made = [json.loads(line) for line in (tmp_path / "out" / f"{name}.ndjson").read_text().splitlines()[1:]]
            assert [entry["split"] for entry in made].count("val") == 5

    def test_no_layout(self, tmp_path):
        """There are no images to place."""
        path = tmp_path / "set.ndjson"
        path.write_text("\n".join(self.LINES))
        with pytest.raises(EvoSplitError, match=r"layout='tree': an \.ndjson file has no images to place"):
            evosplit_yolo(path, tmp_path / "out", RATIOS, layout="tree")

    def test_images_in_folders_of_their_subsets(self, tmp_path):
        """With `path` Ultralytics would look for an image in the folder of its new subset."""
        path = tmp_path / "set.ndjson"
        path.write_text("\n".join((self.LINES[0].replace('"x"', '"path": "pictures", "x"'), *self.LINES[1:])))
        with pytest.raises(EvoSplitError, match=r"set\.ndjson has `path`: 'pictures', .*split that folder instead"):
            evosplit_yolo(path, tmp_path / "out", RATIOS)
        assert not (tmp_path / "out").exists()

    def test_other_names(self, tmp_path):
        """Ultralytics takes no other names of subsets there."""
        path = tmp_path / "set.ndjson"
        path.write_text("\n".join(self.LINES))
        with pytest.raises(EvoSplitError, match=r"an \.ndjson file has train, val and test, not train, valid; name"):
            evosplit_yolo(path, tmp_path / "out", {"train": 0.5, "valid": 0.5})

    @pytest.mark.parametrize(
        ("line", "changed"),
        [
            ('{"file": "a"}', '{"file": "a", "split": "val"}'),
            ('{"file": "\\"split\\": \\"x\\"", "split":null}', '{"file": "\\"split\\": \\"x\\"", "split":"val"}'),
            ('{"m": {"split": "a"}, "split": "b"}', '{"m": {"split": "a"}, "split": "val"}'),
        ],
    )
    def test_lines(self, line, changed):
        """The right `split` is found, and added where there is none."""
        assert with_subset(line, "val") == changed

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("{", r"set\.ndjson:2 is no JSON"),
            ("[" * 50_000, r"set\.ndjson:2 is no JSON: maximum recursion"),
            ("[]", r"set\.ndjson:2 is no object"),
            ('{"type": "image"}', r"set\.ndjson:2 has no `file`"),
            ('{"file": "a", "annotations": {"boxes": [[7]]}}', r"set\.ndjson:2 uses class 7, there are 2 \(0–1\)"),
            ('{"file": "a", "annotations": {"boxes": [["x"]]}}', "does not start with the number of a class"),
            ('{"file": "a", "annotations": {"boxes": 3}}', "holds no lists"),
        ],
    )
    def test_wrong_lines(self, tmp_path, line, message):
        """A wrong line is named."""
        (tmp_path / "set.ndjson").write_text(f"{self.LINES[0]}\n{line}\n")
        with pytest.raises(EvoSplitError, match=message):
            read_counts(tmp_path / "set.ndjson")

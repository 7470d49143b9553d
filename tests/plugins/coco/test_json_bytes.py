"""Files that are nearly JSON: what Python writes beyond it, and a byte order mark."""

from __future__ import annotations

import json

import pytest
from coco_files import QUICK, RATIOS, annotation_files, elements, instances, load, write

from evosplit import EvoSplitWarning
from evosplit_plugins import evosplit_coco


@pytest.mark.filterwarnings("ignore::evosplit.errors.EvoSplitWarning")
def test_what_python_writes_beyond_json_passes_through(tmp_path):
    """NaN, Infinity and lone surrogates are read on a slower path, kept byte for byte, and mentioned."""
    made = instances()
    made["annotations"][0].update(area=float("nan"), score=float("-inf"), note='"NaN" \\', word="\ud800 \ud83d\ude00")
    made["images"][0]["NaN"] = "Infinity"
    made["categories"][0]["name"] = "half \udc00"
    path = write(tmp_path / "a.json", made)
    with pytest.warns(EvoSplitWarning, match="NaN, Infinity, lone surrogates") as told:
        split = evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    assert len(told) == 1
    assert split.counts.labels[0] == "half \\udc00"
    written = [part for data in annotation_files(tmp_path / "out").values() for part in elements(data, "annotations")]
    assert sorted(written) == sorted(elements(path.read_bytes(), "annotations"))


def test_a_byte_order_mark_is_dropped_with_a_note(tmp_path):
    """A UTF-8 byte order mark, on which pycocotools chokes, is read over and not written."""
    path = write(tmp_path / "a.json", b"\xef\xbb\xbf" + json.dumps(instances()).encode())
    with pytest.warns(EvoSplitWarning, match="byte order mark"):
        evosplit_coco(path, tmp_path / "out", RATIOS, **QUICK)
    assert load(tmp_path / "out" / "annotations" / "instances_val.json").getImgIds()

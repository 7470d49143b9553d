"""Files of the same content, whatever their names."""

from __future__ import annotations

import pytest
from coco_files import write
from file_systems import no_privileges

from evosplit import EvoSplitError
from evosplit_plugins.contents import same_contents


def test_files_of_the_same_content(tmp_path):
    """Files are the same if their bytes are, whatever their names; the same path twice is one file."""
    for name, content in {"a": b"one", "b": b"one", "c": b"two", "d": b"three"}.items():
        write(tmp_path / name, content)
    paths = [tmp_path / name for name in "abcda"]
    first = str(tmp_path / "a")
    assert same_contents(paths) == [first, first, str(tmp_path / "c"), None, None]
    with pytest.raises(EvoSplitError, match=r"1 of 2 files are not there, the first is .*nope; .* image_root="):
        same_contents([tmp_path / "a", tmp_path / "nope"])
    (tmp_path / "deep").mkdir(mode=0)
    with no_privileges(), pytest.raises(EvoSplitError, match=r"cannot look at .*deep/e: Permission denied; make"):
        same_contents([tmp_path / "a", tmp_path / "deep" / "e"])

"""Paths as users give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evosplit import EvoSplitError
from evosplit_plugins.files import as_paths, as_texts, one_for_each


@pytest.mark.parametrize("given", ["a/b.json", Path("a/b.json"), ["./a/b.json"], (Path("a/b.json"),)])
def test_one_path_or_several(given):
    """A text, a path, or several of them."""
    assert as_paths(given) == [Path("a/b.json")]
    assert as_texts(given) == [str(Path("a/b.json"))]


def test_one_folder_for_each_file():
    """The same for all, or one for each; by default the working directory."""
    assert one_for_each(None, 2, "image_root") == [Path(), Path()]
    assert one_for_each("a", 2, "image_root") == [Path("a"), Path("a")]
    assert one_for_each(["a", "b"], 2, "image_root") == [Path("a"), Path("b")]
    message = "image_root= gives 2 folders for 3 files; give one for all files, or one for each"
    with pytest.raises(EvoSplitError, match=message):
        one_for_each(["a", "b"], 3, "image_root")

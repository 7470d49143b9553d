"""Paths as users give them."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_systems import no_privileges

from evosplit import EvoSplitError
from evosplit_plugins.files import as_paths, as_texts, check_readable, one_for_each


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


def test_what_may_be_read(tmp_path):
    """A folder is refused where one of its own may not be read, but for that which file systems make."""
    for name in ("a", "b", "lost+found"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "lost+found").chmod(0)
    with no_privileges():
        for path in (tmp_path, tmp_path / "file", tmp_path / "nope"):
            check_readable(path)
        (tmp_path / "b").chmod(0)
        with pytest.raises(EvoSplitError, match=rf"cannot read {tmp_path}/b: Permission denied; make it readable"):
            check_readable(tmp_path)
    for name in ("b", "lost+found"):
        (tmp_path / name).chmod(0o700)

"""Files appear whole or not at all."""

from __future__ import annotations

import pytest

from evosplit.files import write_atomically


def test_replaces_the_whole_file(tmp_path):
    """The new text takes the place of the old; nothing else stays behind."""
    path = tmp_path / "a.txt"
    path.write_text("a long old text")
    write_atomically(path, "new ä")
    assert path.read_text(encoding="utf-8") == "new ä"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_keeps_the_old_file(tmp_path):
    """A text that cannot be encoded leaves the old file as it was, and no temporary one."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "half a pair: \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]

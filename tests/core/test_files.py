"""Files appear whole or not at all."""

from __future__ import annotations

import os
import signal

import pytest
from killing import run_killed, start_killed

from evosplit.files import _temporary, write_atomically


def test_replaces_the_whole_file(tmp_path):
    """The new text takes the place of the old; nothing else stays behind."""
    path = tmp_path / "a.txt"
    path.write_text("a long old text")
    write_atomically(path, "new ä")
    assert path.read_text(encoding="utf-8") == "new ä"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a" * 255, "ü" * 127, "a" * 200, "a" * 201])
def test_names_as_long_as_they_may_be(tmp_path, name):
    """What the temporary file is called does not forbid a name that the file system takes."""
    for text in ("old", "new"):
        write_atomically(tmp_path / name, text)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "new"}


def test_a_failure_keeps_the_old_file(tmp_path):
    """A text that cannot be encoded leaves the old file as it was, and no temporary one."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "half a pair: \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="a process cannot tell there whether another one is alive")
def test_killed_at_any_point_the_next_one_puts_all_in_order(tmp_path):
    """The file is the old or the new one; what the killed process left is removed with the next write, nothing else."""
    path = tmp_path / "a.txt"
    others = [
        tmp_path / name for name in (".a.txt.mine.tmp", ".a.txt.evosplit-mine.tmp", ".b.txt.evosplit-0123abcd.tmp")
    ]
    for other in others:
        other.write_text("mine")
    left_behind = set()
    for at in range(10):
        path.write_text("old")
        ended = run_killed(lambda: write_atomically(path, "new"), at)
        assert path.read_text() in (("new",) if ended else ("old", "new"))
        left_behind.add(len(list(tmp_path.iterdir())) - len(others) - 1)
        write_atomically(path, "newer")
        assert path.read_text() == "newer"
        assert set(tmp_path.iterdir()) == {path, *others}
        if ended:
            break
    assert (ended, left_behind) == (True, {0, 1})


@pytest.mark.skipif(os.name == "nt", reason="a process cannot tell there whether another one is alive")
def test_a_living_process_keeps_its_file(tmp_path):
    """A temporary file that another process is writing is left alone."""
    path, ready = tmp_path / "a.txt", tmp_path / "ready"

    def work():
        held = _temporary(path)
        ready.touch()
        assert held
        signal.pause()

    child = start_killed(work, 1000)
    try:
        while not ready.exists():
            assert os.waitpid(child, os.WNOHANG) == (0, 0)
        write_atomically(path, "new")
        assert len(list(tmp_path.glob(".a.txt.evosplit-*.tmp"))) == 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    write_atomically(path, "newer")
    assert not list(tmp_path.glob(".a.txt.evosplit-*.tmp"))

"""What a terminal shows: colours, progress, names of any kind; and what a pipe gets."""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess

import pytest
from coco_files import THREE, command, command_line, instances, refused, write

from evosplit_plugins.cli.terminal import progress, show


def test_names_from_files_cannot_steer_the_terminal(tmp_path):
    """Control characters in category names and ids are shown as question marks, markup as it is."""
    made = instances(40)
    made["categories"][0]["name"] = "\x1b[31mred\x07 [bold]x[/bold]"
    path = write(tmp_path / "a.json", made)
    ran = command("coco", "split", path, "-o", tmp_path / "out", *THREE, "--method", "random")
    assert "\x1b" not in ran.stdout
    assert "?[31mred? [bold]x" in ran.stdout
    made["annotations"][0]["category_id"] = "\x1b[2J\u009b"
    write(path, made, ensure_ascii=False)
    line = refused(command("coco", "split", path, "-o", tmp_path / "b", *THREE))
    assert not set("\x1b\u009b") & set(line)


def test_a_terminal_that_knows_only_ascii(tmp_path):
    """Names that the terminal cannot show do not end the command."""
    made = instances(40)
    made["categories"][0]["name"] = "自行车 🚲"
    path = write(tmp_path / "a.json", made)
    flags = ("coco", "split", path, "-o", tmp_path / "out", *THREE, "--method", "random")
    ran = command(*flags, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["tables", "json"])
@pytest.mark.parametrize(("doing", "code"), [("split", 0), ("audit", 0), ("leak", 1)])
def test_a_reader_that_goes_away_is_no_error(source, tmp_path, doing, code, flags):
    """`evosplit ... | head -1` ends quietly, with the exit code that it would have had."""
    table = tmp_path / "s.csv"
    table.write_text("id,subset,labels\na,train,x\nb,val,x\n" + ("a,val,x\n" if doing == "leak" else ""))
    words = {
        "split": ("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "random"),
        "audit": ("audit", table, "--no-compare"),
        "leak": ("audit", table, "--no-compare"),
    }[doing]
    with subprocess.Popen(
        command_line(*words, *flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        ran.stdout.close()
        assert ran.stderr.read() == ""
        assert ran.wait(300) == code


def on_terminal(*words: object, stream: str = "stdout", code: int = 0, **environment: str) -> str:
    """Run a command with a terminal for one of its streams, and give what it drew there."""
    parent, child = pty.openpty()
    known = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")
    settings = {name: value for name, value in os.environ.items() if name not in known}
    settings |= {"TERM": "xterm-256color", "COLUMNS": "80", **environment}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: child}
    with subprocess.Popen(command_line(*words), env=settings, **streams) as ran:
        os.close(child)
        drawn = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            drawn += piece
        assert ran.wait(300) == code
    os.close(parent)
    return drawn.decode()


def test_colours_are_for_terminals_that_want_them(tmp_path):
    """A leak is red on a terminal; not with NO_COLOR, and a pipe gets no escape at all."""
    path = write(tmp_path / "splits.csv", "id,subset,labels\na,train,cat\na,val,cat\nb,val,dog\n")
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    flags = ("audit", path, "--no-compare")
    assert colour.search(on_terminal(*flags, code=1))
    assert not colour.search(on_terminal(*flags, code=1, NO_COLOR="1"))
    assert "\x1b" not in command(*flags).stdout


def test_progress_is_drawn_on_a_terminal_only(source, tmp_path):
    """On a terminal there is one bar for reading, search and writing; elsewhere, and if quiet, none."""
    flags = ("coco", "split", source, "-o", tmp_path / "out", *THREE, "--overwrite", "--effort", "fast")
    drawn = on_terminal(*flags, stream="stderr")
    assert "reading a.json" in drawn
    shown = [int(percent) for percent in re.findall(r"(\d+)%", drawn)]
    assert shown == sorted(shown)
    assert shown[-1] == 100
    assert on_terminal(*flags, "--quiet", stream="stderr") == ""


def test_progress_off_a_terminal_is_silent(capsys):
    """Without a terminal the callable does nothing and never asks to stop."""
    with progress(argparse.Namespace(quiet=False)) as on_progress:
        assert on_progress(0.5, "half") is None
    assert capsys.readouterr().err == ""


def test_what_is_shown_fits_and_is_styled_once(capsys, monkeypatch):
    """Lines break at the width of the terminal; only what stands at the start is coloured, or all without a text."""
    monkeypatch.setenv("COLUMNS", "20")
    show("train and val share two files", "LEAK ", "bold red")
    assert capsys.readouterr().out == "LEAK train and val\nshare two files\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    show("train and val share two files", "LEAK ", "bold red")
    show("", "Measures of all the subsets", "bold")
    lines = ["\x1b[1;31mLEAK \x1b[0mtrain and val", "share two files"]
    lines += ["\x1b[1mMeasures of all the\x1b[0m", "\x1b[1msubsets\x1b[0m"]
    assert capsys.readouterr().out.splitlines() == lines
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as plain:
            plain.setenv(name, value)
            show("", "Measures", "bold")
    assert capsys.readouterr().out == "Measures\nMeasures\n"

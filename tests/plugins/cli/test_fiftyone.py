"""The further commands of FiftyOne at the shell: what they take, without FiftyOne itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evosplit_plugins.cli import main
from evosplit_plugins.cli.parser import build_parser


def parsed(*words):
    """Parse a command."""
    return build_parser().parse_args(["fiftyone", *words])


def test_what_they_take():
    """Each has its words, its defaults and the flags of every command."""
    undo, install, demo = parsed("undo", "zoo"), parsed("install"), parsed("demo")
    assert undo.dataset == "zoo"
    assert (install.plugins_dir, install.overwrite) == (None, False)
    assert (demo.output, demo.images, demo.port, demo.app) == (Path("demo/data"), 300, None, True)
    assert parsed("demo", "-o", "x", "--no-app", "--port", "5151").app is False
    assert parsed("install", "--plugins-dir", "p", "--overwrite").plugins_dir == Path("p")
    for words in (("undo", "zoo"), ("install",), ("demo",)):
        found = parsed(*words, "--quiet", "--json")
        assert (found.quiet, found.json, found.debug) == (True, True, False)
    assert len({undo.run, install.run, demo.run}) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["undo"], "DATASET"),
        (["demo", "-o", ""], "it is empty; name a directory"),
        (["demo", "--images", "many"], "--images"),
        (["install", "somewhere"], "somewhere"),
    ],
)
def test_mistakes(capsys, words, message):
    """One line says what is wrong."""
    assert main(["fiftyone", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["undo", "zoo"], ["install"], ["demo", "--quiet"]])
def test_without_fiftyone(capsys, monkeypatch, tmp_path, words):
    """One line names what to install, and nothing is drawn or linked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "fiftyone", None)
    for name in [name for name in sys.modules if name.startswith("evosplit_plugins.fiftyone_plugin.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delenv("FIFTYONE_PLUGINS_DIR", raising=False)
    assert main(["fiftyone", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert 'FiftyOne is not installed; run: pip install "evosplit-plugins[fiftyone]"' in error
    assert list(tmp_path.iterdir()) == []

"""`evosplit demo` at the shell."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from evosplit import EvoSplitError
from evosplit_plugins.demo import draw_demo


def run(*arguments):
    """Run `evosplit demo` in its own process."""
    command = [sys.executable, "-c", "import sys; from evosplit_plugins.cli import main; sys.exit(main())"]
    return subprocess.run([*command, "demo", *map(str, arguments)], capture_output=True, text=True, timeout=300)


def test_command(tmp_path):
    """`evosplit demo` draws, says where the files are, and refuses to draw twice."""
    done = run("-o", tmp_path / "out", "--images", 4)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "out" / "instances.json") in done.stdout
    assert done.stderr == ""
    again = run("-o", tmp_path / "out", "--images", 4)
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1
    assert "--overwrite" in again.stderr


def test_command_as_json(tmp_path):
    """`--json` prints paths and numbers for machines; `--overwrite` replaces."""
    run("-o", tmp_path, "--images", 2)
    done = run("-o", tmp_path, "--images", 3, "--overwrite", "--json")
    found = json.loads(done.stdout)
    assert found["n_images"] == 3
    assert found["annotations"] == str(tmp_path / "instances.json")


def test_command_as_yolo(tmp_path):
    """`--format yolo` writes what `evosplit yolo split` reads."""
    done = run("-o", tmp_path / "out", "--images", 4, "--format", "yolo")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "out" / "data.yaml") in done.stdout
    with pytest.raises(EvoSplitError, match="format='voc' is unknown; choose one of coco, yolo"):
        draw_demo(tmp_path / "voc", format="voc")

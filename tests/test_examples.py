"""The examples: each runs as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import run_script

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    """The script ends well and shows something."""
    assert run_script(path, directory=tmp_path).strip()

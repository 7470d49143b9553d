"""The examples: each runs as it stands, and shows something."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import run_script
from spark_session import check_spark

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    """The script ends well, prints something, and the pages that it says it wrote are there."""
    if "pyspark" in path.read_text(encoding="utf-8"):
        check_spark()
    printed = run_script(path, directory=tmp_path)
    assert printed.strip()
    promised = [line.removeprefix("wrote ") for line in printed.splitlines() if line.startswith("wrote ")]
    assert all((tmp_path / name).stat().st_size for name in promised)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path):
    """The notebook is kept without outputs; every cell runs, and those that draw give a figure."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [set(output.get("data", {})) for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("application/vnd.plotly.v1+json" in found for found in kinds) == 2

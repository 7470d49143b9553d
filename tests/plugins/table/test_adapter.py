"""What is taken for a table."""

from __future__ import annotations

import pytest

from evosplit_plugins import registry
from evosplit_plugins.table import adapter


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.parquet", "table"),
        ("a.jsonl", "table"),
        ("train-00000-of-00001.parquet", "hf"),
        ("a.arrow", "hf"),
        ("saved/state.json", "hf"),
        ("folder/a.parquet", "hf"),
        ("parts/split=train/a.parquet", "table"),
    ],
)
def test_single_files_and_folders(tmp_path, name, expected):
    """A single file is a table; data sets that Hugging Face wrote, and their files, are not."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    given = tmp_path / name.partition("/")[0]
    assert registry.detect([str(given)]) == expected


def test_without_duckdb(tmp_path, monkeypatch):
    """Where tables cannot be read, a single file is left to the adapter that can read it."""
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    (tmp_path / "a.parquet").touch()
    assert registry.detect([str(tmp_path / "a.parquet")]) == "hf"

"""`evosplit split PATH` finds out what PATH is, whatever flags stand beside it."""

from __future__ import annotations

import json

import pytest

from evosplit_plugins.cli.parser import _resolved


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Work in a folder with an annotation file, a folder of images, and a file called like a field."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps({"images": [], "annotations": [], "categories": []}))
    (tmp_path / "images").mkdir()
    (tmp_path / "clip").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "split a.json -o out --ratios 8:1:1",
        "split -o out --ratios 8:1:1 a.json",
        "split --image-root images --images symlink a.json -o images --ratios 8:1:1",
        "split a.json --image-root images -o out --layout lists --group-by clip --folds 5",
        "apply a.json a.json -o out --image-root images",
        "audit a.json --image-root images --group-by clip --fail-over 2",
        "audit --report clip a.json",
    ],
)
def test_values_of_flags_are_no_paths(there, words):
    """The value of a flag is not taken for data, also where a file of that name is there."""
    given = words.split()
    assert _resolved(given) == ["coco", *given]

"""The adapter without what it needs."""

from __future__ import annotations

import pytest

from evosplit_plugins.yolo import read_counts


def test_missing_extra(data, monkeypatch):
    """Without PyYAML the message names the extra."""
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(ImportError, match=r"YOLO data sets need PyYAML; run: pip install .*\[yolo\]"):
        read_counts(data)

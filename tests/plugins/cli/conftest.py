"""What the tests of the command line share."""

from __future__ import annotations

import pytest
from coco_files import instances, write


@pytest.fixture
def source(tmp_path):
    """Write a small annotation file."""
    return write(tmp_path / "a.json", instances(40))

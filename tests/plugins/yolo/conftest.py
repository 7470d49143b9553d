"""What the tests of YOLO data sets share."""

from __future__ import annotations

import pytest
import yolo_files as yf


@pytest.fixture
def data(tmp_path):
    """Give a data set that is divided into train and val."""
    return yf.ultralytics(tmp_path / "data", yf.pictures())

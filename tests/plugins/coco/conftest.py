"""What the tests of COCO files share."""

from __future__ import annotations

import pytest
from coco_files import instances, write


@pytest.fixture
def pictures(tmp_path):
    """Draw, so to speak, the images of `instances`."""
    for image in instances()["images"]:
        write(tmp_path / "pictures" / image["file_name"], f"picture {image['id']}")
    return tmp_path / "pictures"

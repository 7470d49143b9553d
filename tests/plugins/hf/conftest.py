"""What the tests of Hugging Face data sets share."""

from __future__ import annotations

import io

import PIL.Image
import pytest
from datasets import (
    Dataset,
    Features,
    Image,
    Sequence,
    Value,
)
from hf_data import KINDS, LABELS


@pytest.fixture
def data():
    """Make forty rows with real pictures and two labels each."""
    picture = io.BytesIO()
    PIL.Image.new("RGB", (4, 4), "red").save(picture, "png")
    rows = {
        "image_id": range(100, 140),
        "image": [{"bytes": picture.getvalue(), "path": None}] * 40,
        "objects": [{"category": labels} for labels in LABELS],
    }
    features = Features({"image_id": Value("int64"), "image": Image(), "objects": Sequence({"category": KINDS})})
    return Dataset.from_dict(rows, features=features)


@pytest.fixture
def saved(data, tmp_path):
    """Save the rows with save_to_disk."""
    data.save_to_disk(str(tmp_path / "source"))
    return tmp_path / "source"

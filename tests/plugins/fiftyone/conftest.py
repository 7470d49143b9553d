"""What the tests of this adapter share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def api(fiftyone):
    """Give the public functions."""
    from evosplit_plugins.fiftyone_plugin import api

    return api

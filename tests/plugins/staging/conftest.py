"""The disks that the writer is tried on."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from file_systems import MOUNTABLE, mounted


@pytest.fixture(autouse=True, scope="module")
def unsynced():
    """Leave out what only a failing machine could tell: a killed process loses nothing that it has written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="module", params=["here", *MOUNTABLE])
def disk(request, tmp_path_factory):
    """Give a folder on the file system of the tests, and on such others as there are."""
    folder = tmp_path_factory.mktemp("disk")
    if request.param == "here":
        yield folder
    else:
        with mounted(request.param, folder) as place:
            yield place


@pytest.fixture
def tmp_path(disk):
    """Give an empty folder on the file system of the test."""
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        yield Path(folder).resolve()


@pytest.fixture
def step(request):
    """Give the distance between points at which a run is killed: all of them here, some on slower file systems."""
    return 1 if "here" in request.node.callspec.params.values() else 4

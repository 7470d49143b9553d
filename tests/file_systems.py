"""File systems other than the one that the tests run on, where this machine lets them be mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TOOLS = ("mkntfs", "lowntfs-3g", "umount")

MOUNTABLE = (
    ["ntfs"]
    if os.access("/dev/fuse", os.R_OK | os.W_OK) and os.geteuid() == 0 and all(map(shutil.which, _TOOLS))
    else []
)
"""What `mounted` can mount: NTFS ignores case, lists names in lower case, and keeps a deleted file that is open."""


@contextmanager
def mounted(name: str, folder: Path) -> Iterator[Path]:
    """Give an empty file system of its own, in an image file in a folder."""
    assert name in MOUNTABLE
    image, place = folder / "image", folder / "mounted"
    place.mkdir()
    with image.open("xb") as stream:
        stream.truncate(64_000_000)
    subprocess.run(["mkntfs", "-F", "-Q", image], check=True, capture_output=True)
    subprocess.run(["lowntfs-3g", "-o", "ignore_case", image, place], check=True, capture_output=True)
    try:
        yield place
    finally:
        end = time.monotonic() + 10
        while subprocess.run(["umount", place], check=time.monotonic() > end).returncode:
            time.sleep(0.1)  # busy for a moment after the last file is closed

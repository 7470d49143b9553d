"""File systems other than the one that the tests run on, and permissions that hold."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CAPABILITY_VERSION, _DAC_OVERRIDE, _DAC_READ_SEARCH = 0x20080522, 1, 2  # of linux/capability.h
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


@contextmanager
def no_privileges() -> Iterator[None]:
    """Let the permissions of files hold for root, too, as they do for everybody else; in this thread, on Linux."""
    if os.geteuid() or sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice
    less = (ctypes.c_uint32 * 6)()

    def set_to(capabilities: ctypes.Array[ctypes.c_uint32]) -> None:
        if libc.capset(header, capabilities):
            raise OSError(ctypes.get_errno(), "capset")

    if libc.capget(header, held):
        raise OSError(ctypes.get_errno(), "capget")
    less[:] = held
    less[0] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    set_to(less)
    try:
        yield
    finally:
        set_to(held)

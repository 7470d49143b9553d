"""The one way in which the core writes a file."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TextIO

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where a temporary file of a process that was killed stays
    fcntl = None

__all__ = ["write_atomically"]

_LONG = 200  # bytes of a name, to which others are added; most file systems take 255


def write_atomically(path: Path, text: str) -> None:
    """Write a text file through a temporary one beside it: a failure leaves the old file as it was.

    The temporary files of processes that were killed while they wrote the same file are removed.
    """
    _remove_left_behind(path)
    stream = _temporary(path)
    temporary = Path(stream.name)
    try:
        with stream:
            stream.write(text)
            stream.flush()
            if fcntl is not None:  # held until it has its name
                temporary.replace(path)
        if fcntl is None:
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> TextIO:
    """Open a new file beside another one and lock it, so that other processes see that its owner is alive."""
    while True:
        temporary = path.with_name(f"{_beginning(path)}{secrets.token_hex(4)}.tmp")
        stream = temporary.open("x", encoding="utf-8", newline="\n")
        if fcntl is None:
            return stream
        with suppress(OSError):  # a file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        if temporary.exists():  # before it was held, it may have been taken for one that was left behind
            return stream
        stream.close()


def _beginning(path: Path) -> str:
    """Begin the name of a temporary file with that of the file, or where it is long, with its hash."""
    name = path.name
    if len(os.fsencode(name)) > _LONG:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return f".{name}.evosplit-"


def _remove_left_behind(path: Path) -> None:
    if fcntl is None:
        return
    ours = re.compile(rf"{re.escape(_beginning(path))}[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):  # a folder that cannot be listed
        for other in path.parent.iterdir():
            if ours.fullmatch(other.name) and other.is_file() and not other.is_symlink():
                with suppress(OSError), other.open("rb") as held:  # its process is alive, or has just moved it
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    other.unlink()

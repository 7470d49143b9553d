"""Kills a process at its n-th change of the file system."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.truncate", "os.chmod"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def run_killed(work: Callable[[], Any], at: int) -> bool:
    """Do the work in a fork that is killed before its change number `at`; returns whether it ended before that.

    What the work raises is swallowed: the caller looks at the files.
    """
    _, status = os.waitpid(start_killed(work, at), 0)
    return os.WIFEXITED(status)


def start_killed(work: Callable[[], Any], at: int) -> int:
    """Begin what `run_killed` does, without waiting for the end; returns the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the test runner's threads touch nothing of this
        child = os.fork()
    if not child:
        try:
            sys.addaudithook(_Killer(at))
            work()
        finally:
            os._exit(0)
    return child


class _Killer:
    """Counts what changes the file system; Python announces each such call before it is made."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (event == "open" and arguments[2] & _WRITING):
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

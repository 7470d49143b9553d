"""Recovery from runs that were killed: the next run finishes or rolls back what they left."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from evosplit import EvoSplitError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where a run cannot tell whether another one is alive
    fcntl = None

__all__ = ["check_alone", "hold", "kept_path", "put_in_order", "remove", "settle"]

_FOLDER = re.compile(r"\.evosplit-(?:output|file|gone)-[0-9a-f]{8}")
_PARTS = {"lock", "others", "main", "new", "old", "journal", "journal.tmp", "done"}


def settle(folder: Path) -> None:
    """Recover from runs that were killed while writing into a folder."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _FOLDER.fullmatch(path.name):
                _settle(path)


def check_alone(root: Path, own: str | None = None) -> None:
    """Refuse to write beside another run into the same directory."""
    for path in root.iterdir() if root.is_dir() else ():
        if path.name != own and _FOLDER.fullmatch(path.name) and "-output-" in path.name:
            raise EvoSplitError(f"another run is writing to {root}, in {path.name}; wait for it to end")


def _settle(bench: Path) -> None:
    """Finish or roll back a killed run; running ones, and folders that EvoSplit did not make, are left alone."""
    if not bench.is_dir() or bench.is_symlink():
        return
    parts: set[str] = set()
    with suppress(FileNotFoundError):  # another run has just removed it
        parts = {path.name for path in bench.iterdir()}
    if not parts <= _PARTS:
        return
    if "-gone-" in bench.name:
        remove(bench)
        return
    if "main" in parts:
        main = Path((bench / "main").read_text(encoding="utf-8", errors="surrogateescape") or bench / "none")
        if main.is_dir():
            _settle(main)
            if main.is_dir():
                return
        # Its own files are put back where the directory it belonged to has been deleted since.
        for path in (bench / "old").iterdir() if "old" in parts else ():
            if not os.path.lexists(bench.parent / path.name):
                path.rename(bench.parent / path.name)
        shutil.rmtree(bench, ignore_errors=True)
        return
    lock = hold(bench)
    if lock is not None:
        gone = bench.with_name(f".evosplit-gone-{bench.name[-8:]}")
        try:
            put_in_order(bench)
            with suppress(FileNotFoundError):  # the run itself has given up, and removed it
                bench.rename(gone)  # so that a run that has made it, but does not hold it yet, cannot go on in it
        finally:
            os.close(lock)
        remove(gone)


def put_in_order(bench: Path) -> None:
    """Roll back a commit that is not done, or clean up after one that is; `remove` may then delete the folder."""
    others: list[str] = []
    with suppress(OSError, ValueError):  # killed before they were written down, and so before they were made
        others = json.loads((bench / "others").read_text(encoding="utf-8"))
    # Nothing is touched in a folder that the run did not reach.
    benches = [bench, *(other if (other / "main").is_file() else None for other in map(Path, others))]
    journal, done = bench / "journal", bench / "done"
    if journal.exists():
        _roll_back(json.loads(journal.read_text(encoding="utf-8")), benches)
        journal.unlink()
    for other in map(Path, others):
        if other in benches:
            for name in ("new", "old"):
                shutil.rmtree(other / name, ignore_errors=True)
            (other / "main").unlink()  # last, because it says which run the folder belongs to
        with suppress(OSError):  # it is not empty, or gone
            other.rmdir()
    if done.exists():
        for name in ("old", "new"):
            shutil.rmtree(bench / name, ignore_errors=True)
        for folder in json.loads(done.read_text(encoding="utf-8"))["emptied"]:
            with suppress(OSError):  # it is not empty, or gone
                (bench.parent / folder).rmdir()
        done.unlink()


def remove(bench: Path) -> None:
    """Remove the folder of a run, whose lock is no longer open: NFS and FUSE keep a file that is, and its folder."""
    shutil.rmtree(bench, ignore_errors=True)


def _roll_back(journal: Mapping[str, Any], benches: Sequence[Path | None]) -> None:
    # Everything was in new/ when the journal was written: what is not there has been moved to its place.
    for at, place in reversed(journal["new"]):
        bench = benches[at]
        if bench is not None and not os.path.lexists(bench / "new" / place) and os.path.lexists(bench.parent / place):
            (bench.parent / place).rename(bench / "new" / place)
    for number, (at, place) in enumerate(journal["old"]):
        bench = benches[at]
        if bench is not None and os.path.lexists(kept := kept_path(bench, number, place)):
            if os.path.lexists(bench.parent / place):
                raise EvoSplitError(
                    f"a run that was interrupted left {kept}, and {bench.parent / place} is in its place; "
                    "move one of them away"
                )
            kept.rename(bench.parent / place)


def kept_path(bench: Path, number: int, place: str) -> Path:
    """Return where a replaced file waits: by its number; beside single files by its name."""
    return bench / "old" / (place if (bench / "main").exists() else str(number))


def hold(bench: Path) -> int | None:
    """Lock the folder of a run for the lifetime of the process; None if another process holds it or has removed it."""
    path = bench / "lock"
    try:
        handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except FileNotFoundError:
        return None
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            pass  # a file system without locks, where a run cannot tell either
    if not path.exists():  # it was removed before it was held
        os.close(handle)
        return None
    return handle

"""Find files of equal content; only files of equal size are read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evosplit import EvoSplitError
from evosplit_plugins.progress import OnProgress, Steps

__all__ = ["COMPARING", "same_contents"]

COMPARING = "comparing files"
_CHUNK = 1 << 20


def same_contents(paths: Sequence[Path], on_progress: OnProgress | None = None) -> list[str | None]:
    """For each file, return the first one with the same content (possibly itself); None if no other file has it.

    Only files of equal size are read, so that the usual case costs no more than looking up the sizes. A path that is
    given twice counts once.
    """
    sizes: dict[Path, int] = {}
    missing = []
    for path in dict.fromkeys(paths):
        try:
            sizes[path] = path.stat().st_size
        except PermissionError as error:
            raise EvoSplitError(f"cannot look at {path}: {error.strerror}; make its folder readable") from error
        except OSError:
            missing.append(path)
    if missing:
        raise EvoSplitError(
            f"{len(missing)} of {len(missing) + len(sizes)} files are not there, the first is {missing[0]}; "
            "name the folder of the images with image_root="
        )
    how_often = Counter(sizes.values())
    first: dict[str, Path] = {}
    found: dict[Path, str | None] = {}
    steps = Steps(on_progress, len(sizes))
    for path, size in sizes.items():
        steps.add(COMPARING)
        found[path] = str(first.setdefault(_digest(path), path)) if how_often[size] > 1 else None
    given: set[Path] = set()
    return [None if path in given or given.add(path) else found[path] for path in paths]  # type: ignore[func-returns-value]


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            made.update(piece)
    return made.hexdigest()

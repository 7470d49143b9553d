"""Paths as users give them, and the usual order of subsets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from evosplit import EvoSplitError

__all__ = ["PathLike", "Paths", "as_paths", "as_texts", "check_readable", "names_file", "one_for_each", "usual_order"]

PathLike: TypeAlias = "str | os.PathLike[str]"
Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"

_USUAL_ORDER = ("train", "val", "test")
_NOT_OURS = ("lost+found",)  # which file systems have, readable for root alone
_LISTS = (".txt", ".json", ".json.gz")


def as_paths(given: Paths) -> list[Path]:
    """Turn one path or several into a list."""
    return [Path(given)] if isinstance(given, (str, os.PathLike)) else [Path(path) for path in given]


def as_texts(given: Paths) -> list[str]:
    """Turn one path or several into a list of texts, as a command takes them."""
    return list(map(str, as_paths(given)))


def check_readable(path: Path) -> None:
    """Refuse a file or a folder that may not be read, and a folder in which one lies that no pattern would look into.

    What is not there at all is left to others.
    """
    try:
        if not path.is_dir():
            with path.open("rb"):
                return
        with os.scandir(path) as entries:
            inside = [entry.path for entry in entries if entry.is_dir() and entry.name not in _NOT_OURS]
        for folder in inside:
            with os.scandir(folder):
                pass
    except FileNotFoundError:
        pass
    except OSError as error:
        raise EvoSplitError(f"cannot read {error.filename}: {error.strerror}; make it readable") from error


def names_file(value: object) -> bool:
    """Whether a value that might be an id is a file that lists samples.

    Examples
    --------
    >>> names_file("old_test.json"), names_file(Path("old_test")), names_file("0001.jpg"), names_file(7)
    (True, True, False, False)
    """
    return isinstance(value, os.PathLike) or (isinstance(value, str) and value.lower().endswith(_LISTS))


def one_for_each(given: Paths | None, n_files: int, parameter: str) -> list[Path]:
    """Return a folder for each file: the only one given, one each, or by default the working directory."""
    folders = as_paths(Path() if given is None else given)
    if len(folders) not in (1, n_files):
        raise EvoSplitError(
            f"{parameter}= gives {len(folders)} folders for {n_files} files; give one for all files, or one for each"
        )
    return folders * n_files if len(folders) == 1 else folders


def usual_order(name: str) -> int:
    """Order subsets as people list them: train before val before test, others after them.

    Examples
    --------
    >>> sorted(["test", "train2017", "extra", "val"], key=usual_order)
    ['train2017', 'val', 'test', 'extra']
    """
    return next((place for place, word in enumerate(_USUAL_ORDER) if name.startswith(word)), len(_USUAL_ORDER))

"""Tell from its name what a source is: COCO files, a Hugging Face data set, a FiftyOne dataset or a table."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from evosplit import EvoSplitError

__all__ = ["KINDS", "PathLike", "as_paths", "coco_files", "detect", "image_roots", "list_files", "usual_place"]

PathLike = str | os.PathLike[str]

KINDS = ("coco", "hf", "fiftyone", "csv")
_COCO = (".json", ".json.gz")
_LIST = ".txt"
_TABLES = (".csv", ".tsv")
_ROBOFLOW = "_annotations.coco.json"
_USUAL_ORDER = ("train", "val", "test")


def detect(sources: Sequence[str]) -> str:
    """Tell what the sources are: "coco" (also lists of images), "csv" or "hf".

    Examples
    --------
    >>> detect(["instances_train.json", "instances_val.json.gz"]), detect(["splits.tsv"])
    ('coco', 'csv')
    """
    names = [source.lower() for source in sources]
    if all(
        name.endswith((*_COCO, _LIST)) or list_files(Path(source)) for name, source in zip(names, sources, strict=True)
    ):
        return "coco"
    if all(name.endswith(_TABLES) for name in names):
        return "csv"
    if len(sources) > 1:
        raise EvoSplitError(
            f"{', '.join(sources[:3])} are neither all COCO files (.json) nor all tables (.csv); "
            "give one kind, or say which: kind='coco'"
        )
    (source,) = sources
    path = Path(source)
    if path.is_dir():
        return "coco" if coco_files(path) else "hf"
    if path.exists():
        return "hf"
    # Whether a FiftyOne dataset has that name, only its database knows, and a typing error should not start one.
    raise EvoSplitError(
        f"there is no file or directory {source!r}; for a FiftyOne dataset say kind='fiftyone', "
        "for a data set of the Hugging Face hub kind='hf'"
    )


def coco_files(folder: Path) -> list[Path]:
    """List the COCO files of a folder, one for each subset; empty if it does not look like a COCO data set.

    It knows `annotations/instances_train.json` (also without `annotations`), `train/_annotations.coco.json`, and folds
    (`annotations/fold0.json`, `fold0/_annotations.coco.json`, `fold0/valid/_annotations.coco.json`), whose complements
    are left out.
    """
    for where in (folder / "annotations", folder):
        for pattern in ("instances_*", "fold[0-9]*"):
            found = [path for end in _COCO for path in where.glob(f"{pattern}{end}") if not _is_complement(path)]
            if found:
                return sorted(sorted(found, key=_natural), key=lambda path: usual_place(path.name.partition("_")[2]))
    for pattern in (f"fold[0-9]*/valid/{_ROBOFLOW}*", f"*/{_ROBOFLOW}*"):
        found = [path for path in folder.glob(pattern) if path.name.removeprefix(_ROBOFLOW) in ("", ".gz")]
        if found:
            return sorted(sorted(found, key=_natural), key=lambda path: usual_place(path.parent.name))
    return []


def list_files(folder: Path) -> list[Path]:
    """Find the lists of images of a folder that EvoSplit wrote, `train.txt` and so on, one for each subset."""
    if not (folder / "split.json").is_file():
        return []
    found = [path for path in folder.glob(f"*{_LIST}") if not _is_complement(path)]
    return sorted(sorted(found, key=_natural), key=lambda path: usual_place(path.name))


def _is_complement(path: Path) -> bool:
    """Tell whether a file holds all folds but one."""
    return re.match(r"fold[0-9]+_train\.", path.name) is not None


def _natural(path: Path) -> list[int | str]:
    """Order fold10 after fold9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]


def as_paths(given: PathLike | Sequence[PathLike]) -> list[Path]:
    """Turn one path or several into a list."""
    return [Path(given)] if isinstance(given, (str, os.PathLike)) else [Path(path) for path in given]


def image_roots(given: PathLike | Sequence[PathLike] | None, n_files: int) -> list[Path]:
    """Return the folder of the images of each annotation file: one for all, or one for each."""
    roots = as_paths(Path() if given is None else given)
    if len(roots) not in (1, n_files):
        raise EvoSplitError(f"{len(roots)} image roots for {n_files} files; give one for all files, or one for each")
    return roots * n_files if len(roots) == 1 else roots


def usual_place(name: str) -> int:
    """Order subsets as people list them: train before val before test, others after them.

    Examples
    --------
    >>> sorted(["test", "train2017", "extra", "val"], key=usual_place)
    ['train2017', 'val', 'test', 'extra']
    """
    return next((place for place, word in enumerate(_USUAL_ORDER) if name.startswith(word)), len(_USUAL_ORDER))

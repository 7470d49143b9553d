"""The folder layouts that trainers expect: which files there are for which subsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from evosplit import EvoSplitError

__all__ = ["IMAGE_MODES", "LAYOUTS", "Target", "plan_targets"]

LAYOUTS = ("coco", "roboflow", "lists")
IMAGE_MODES = ("none", "symlink", "hardlink", "copy")
_FORBIDDEN = set('/\\:*?"<>|')
_ROBOFLOW_NAMES = {"val": "valid", "validation": "valid"}


@dataclass(frozen=True)
class Target:
    """One file to write, relative to the output directory.

    Attributes
    ----------
    path
        An annotation file, or a list of images in the layout "lists".
    subsets
        Positions of the subsets whose images it holds: one, or all but one for the complement of a fold.
    images
        The folder of its images.
    """

    path: PurePosixPath
    subsets: tuple[int, ...]
    images: PurePosixPath


def plan_targets(
    layout: str,
    names: Sequence[str],
    kind: str,
    *,
    folds: bool = False,
    train_files: bool = False,
    gzip: bool = False,
) -> list[Target]:
    """List the files that a layout has for the given subsets.

    Examples
    --------
    >>> [str(target.path) for target in plan_targets("coco", ["train", "val"], "instances")]
    ['annotations/instances_train.json', 'annotations/instances_val.json']
    >>> [str(target.path) for target in plan_targets("roboflow", ["train", "val"], "instances")]
    ['train/_annotations.coco.json', 'valid/_annotations.coco.json']
    """
    if layout not in LAYOUTS:
        raise EvoSplitError(f"layout={layout!r} is unknown; choose one of {', '.join(LAYOUTS)}")
    if train_files and not folds:
        raise EvoSplitError(
            "train_files=True asks for the complements of folds; ask for folds too, for example folds=5"
        )
    suffix = ".json.gz" if gzip else ".json"
    targets = []
    for position, name in enumerate(names):
        _check_subset_name(name)
        others = tuple(other for other in range(len(names)) if other != position)
        images = PurePosixPath("images")
        if layout == "roboflow":
            folder = PurePosixPath(name if folds else _ROBOFLOW_NAMES.get(name, name))
            own, rest = (folder / "valid", folder / "train") if train_files else (folder, folder)
            file = f"_annotations.coco{suffix}"
            targets.append(Target(own / file, (position,), own))
            targets += [Target(rest / file, others, rest)] if train_files else []
            continue
        if layout == "lists":
            own, rest = PurePosixPath(f"{name}.txt"), PurePosixPath(f"{name}_train.txt")
        elif folds:
            own = PurePosixPath("annotations", f"{name}{suffix}")
            rest = PurePosixPath("annotations", f"{name}_train{suffix}")
        else:
            own = rest = PurePosixPath("annotations", f"{kind}_{name}{suffix}")
            images = PurePosixPath(name)
        targets.append(Target(own, (position,), images))
        targets += [Target(rest, others, images)] if train_files else []
    taken: set[str] = set()
    for target in targets:
        folded = str(target.path).casefold()  # some file systems do not tell Train from train
        if folded in taken:
            raise EvoSplitError(f"two subsets would be written to {target.path}; give them other names")
        taken.add(folded)
    return targets


def _check_subset_name(name: str) -> None:
    usual = isinstance(name, str) and 0 < len(name.encode("utf-8", "replace")) <= 100
    if not usual or name.startswith(".") or name != name.strip() or set(name) & _FORBIDDEN or not name.isprintable():
        raise EvoSplitError(f"the subset name {name!r} cannot be part of a file name; use letters, digits, - and _")

"""The folder layouts that trainers expect: which files there are for which subsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from evosplit import EvoSplitError
from evosplit_plugins.output import check_subset_names

__all__ = ["IMAGE_MODES", "LAYOUTS", "Target", "plan_targets"]

LAYOUTS = ("coco", "roboflow", "yolo")
IMAGE_MODES = ("none", "symlink", "hardlink", "copy")
_ROBOFLOW_NAMES = {"val": "valid", "validation": "valid"}


@dataclass(frozen=True)
class Target:
    """One file to write, relative to the output directory.

    Attributes
    ----------
    path
        An annotation file.
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
    check_subset_names(names)
    suffix = ".json.gz" if gzip else ".json"
    targets = []
    for position, name in enumerate(names):
        others = tuple(other for other in range(len(names)) if other != position)
        images = PurePosixPath("images")
        if layout == "roboflow":
            folder = PurePosixPath(name if folds else _ROBOFLOW_NAMES.get(name, name))
            own, rest = (folder / "valid", folder / "train") if train_files else (folder, folder)
            file = f"_annotations.coco{suffix}"
            targets.append(Target(own / file, (position,), own))
            targets += [Target(rest / file, others, rest)] if train_files else []
            continue
        if folds:
            own = PurePosixPath("annotations", f"{name}{suffix}")
            rest = PurePosixPath("annotations", f"{name}_train{suffix}")
        else:
            own = rest = PurePosixPath("annotations", f"{kind}_{name}{suffix}")
            images = PurePosixPath(name)
        targets.append(Target(own, (position,), images))
        targets += [Target(rest, others, images)] if train_files else []
    return targets

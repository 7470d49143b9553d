"""Where everything goes: the folder layouts that trainers expect, and image names that stay inside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from evosplit import EvoSplitError
from evosplit_plugins.coco.dataset import CocoData
from evosplit_plugins.coco.ids import as_written, first_few
from evosplit_plugins.coco.reading import ImageName

__all__ = [
    "IMAGE_MODES",
    "LAYOUTS",
    "ImageFile",
    "Target",
    "check_names",
    "find_images",
    "image_names",
    "image_place",
    "plan_targets",
]

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


@dataclass(frozen=True)
class ImageFile:
    """An image on disk, and its place relative to the output directory."""

    source: Path
    place: PurePosixPath


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
        raise EvoSplitError("train files are the complements of folds; ask for folds too, for example folds=5")
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


def image_names(data: CocoData) -> list[PurePosixPath]:
    """Return the file name of each row; one that leaves the image folder is refused.

    LVIS has no `file_name`; there it is the end of `coco_url`, as in train2017/000000391895.jpg.
    """
    names: list[PurePosixPath | None] = [None] * data.counts.n_samples
    wrong: list[str] = []
    for file, rows in zip(data.files, data.image_rows, strict=True):
        for position, (image, row) in enumerate(zip(file.image_fields(ImageName), rows.tolist(), strict=True)):
            if row < 0:
                continue
            name = image.file_name
            if not name and isinstance(image.coco_url, str):
                name = "/".join(image.coco_url.split("/")[-2:])
            if _stays_inside(name):
                names[row] = PurePosixPath(name)
            else:
                wrong.append(f"{file.path.name} images[{position}] has file_name {as_written(name)}")
    if wrong:
        raise EvoSplitError(
            f"{len(wrong)} images have no file name below the image folder: {first_few(wrong, len(wrong))}; "
            "correct it, or leave the images where they are: images='none'"
        )
    return [name for name in names if name is not None]


def _stays_inside(name: Any) -> bool:
    if not isinstance(name, str) or not name or not name.isprintable():
        return False
    # Both kinds of path: an export from Windows must not escape on Linux, nor the other way round.
    windows = PureWindowsPath(name)
    parts = PurePosixPath(name).parts
    inside = not windows.anchor and not windows.drive and ".." not in windows.parts
    return inside and not name.startswith("/") and ".." not in parts and bool(parts) and not name.endswith(("/", "\\"))


def image_place(target: Target, name: PurePosixPath) -> PurePosixPath:
    """Return where an image belongs; a folder "images" in its name is not doubled."""
    if target.images.name == "images" and name.parts[0] == "images" and len(name.parts) > 1:
        name = name.relative_to("images")
    return target.images / name


def check_names(targets: Sequence[Target], names: Iterable[PurePosixPath]) -> None:
    """Refuse an image that has the name of a file to be written beside it."""
    known = {str(name).casefold() for name in names}  # some file systems do not tell Name from name
    for target in targets:
        if target.images in target.path.parents and str(target.path.relative_to(target.images)).casefold() in known:
            raise EvoSplitError(f"an image would be in the place of the file {target.path}; rename it")


def find_images(
    data: CocoData,
    names: Sequence[PurePosixPath],
    wanted: Iterable[tuple[Target, Sequence[int]]],
    roots: Sequence[Path],
) -> list[ImageFile]:
    """Find the images on disk and give each its place.

    Parameters
    ----------
    data, names
        What was read, and the file name of each row.
    wanted
        Each target with its rows.
    roots
        The folder of the images: one for all annotation files, or one for each.
    """
    if len(roots) not in (1, len(data.files)):
        raise EvoSplitError(
            f"{len(roots)} image folders for {len(data.files)} annotation files; "
            "pass image_root= once, or once for each file"
        )
    for root in roots:
        if not root.is_dir():
            raise EvoSplitError(f"the image folder {root} is not a directory")
    sources: list[Path | None] = [None] * len(names)
    missing: list[str] = []
    for which, rows in enumerate(data.image_rows):
        root = roots[which if len(roots) > 1 else 0].absolute()
        for row in rows[rows >= 0].tolist():
            source = root / names[row]
            if source.is_file():
                sources[row] = source
            else:
                missing.append(str(names[row]))
    if missing:
        raise EvoSplitError(
            f"{len(missing)} images are not in {', '.join(map(str, roots))}: "
            f"{first_few(missing, len(missing))}; correct image_root="
        )
    placed: dict[PurePosixPath, Path] = {}
    for target, members in wanted:
        for row in members:
            place, source_of_row = image_place(target, names[row]), sources[row]
            if source_of_row is None:
                continue
            if placed.setdefault(place, source_of_row) != source_of_row:
                raise EvoSplitError(
                    f"{placed[place]} and {source_of_row} would both become {place}; rename one of them"
                )
            placed[place] = source_of_row
    return [ImageFile(source, place) for place, source in placed.items()]

"""The image files of a data set: found once below their folders, and given a path in the output."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from evosplit import EvoSplitError
from evosplit.wording import counted, listed
from evosplit_plugins.coco.dataset import CocoData
from evosplit_plugins.coco.layouts import Target

__all__ = ["ImageFile", "check_names", "find_images", "image_names", "placed"]


@dataclass(frozen=True)
class ImageFile:
    """An image on disk, as absolute path, and its size in bytes."""

    path: Path
    size: int


def image_names(data: CocoData) -> list[PurePosixPath]:
    """Return the file name of each row; one that leaves the image folder is refused."""
    wrong = [
        f"{file.path.name} images[{position}] has file_name {file.written(file.images, position, 'file_name')}"
        for file, rows in zip(data.files, data.rows, strict=True)
        for position, (name, row) in enumerate(zip(file.file_names, rows.images.tolist(), strict=True))
        if row >= 0 and not _stays_inside(name)
    ]
    if wrong:
        raise EvoSplitError(
            f"{counted(len(wrong), 'image has', 'images have')} no file name below the image folder: "
            f"{listed(wrong, 3)}; correct it, or leave the images where they are: images='none'"
        )
    return [PurePosixPath(name) for name in data.by_row(file.file_names for file in data.files)]


def _stays_inside(name: str | None) -> bool:
    if not name or not name.isprintable():
        return False
    # Both kinds of path: an export from Windows must not escape on Linux, nor the other way round.
    windows = PureWindowsPath(name)
    parts = PurePosixPath(name).parts
    inside = not windows.anchor and not windows.drive and ".." not in windows.parts
    return inside and not name.startswith("/") and ".." not in parts and bool(parts) and not name.endswith(("/", "\\"))


def check_names(targets: Sequence[Target], names: Iterable[PurePosixPath]) -> None:
    """Refuse an image that has the name of a file to be written beside it."""
    known = {str(name).casefold() for name in names}  # some file systems do not tell Name from name
    for target in targets:
        if target.images in target.path.parents and str(target.path.relative_to(target.images)).casefold() in known:
            raise EvoSplitError(f"an image would have the path of the file {target.path}; rename it")


def find_images(data: CocoData, names: Sequence[PurePosixPath], roots: Sequence[Path]) -> list[ImageFile]:
    """Find the images on disk.

    Parameters
    ----------
    data, names
        What was read, and the file name of each row.
    roots
        The folder of the images of each annotation file.
    """
    for root in roots:
        if not root.is_dir():
            raise EvoSplitError(f"the image folder {root} is not a directory; correct image_root=")
    found: dict[int, ImageFile] = {}
    missing: list[str] = []
    for rows, root in zip(data.rows, roots, strict=True):
        folder = root.absolute()
        for row in rows.images[rows.images >= 0].tolist():
            path = folder / names[row]
            try:
                status = path.stat()
            except PermissionError as error:
                raise EvoSplitError(f"cannot look at {path}: {error.strerror}; make its folder readable") from error
            except OSError:
                status = None
            if status is not None and stat.S_ISREG(status.st_mode):
                found[row] = ImageFile(path, status.st_size)
            else:
                missing.append(str(names[row]))
    if missing:
        raise EvoSplitError(
            f"{counted(len(missing), 'image is', 'images are')} not in {', '.join(map(str, dict.fromkeys(roots)))}: "
            f"{listed(missing, 3)}; correct image_root="
        )
    return [found[row] for row in range(len(names))]


def placed(
    images: Sequence[ImageFile], names: Sequence[PurePosixPath], wanted: Iterable[tuple[Target, Sequence[int]]]
) -> dict[PurePosixPath, ImageFile]:
    """Give each image its path in the output; two that would have the same are refused.

    Parameters
    ----------
    images, names
        The image and the file name of each row.
    wanted
        Each target with its rows.
    """
    at: dict[PurePosixPath, ImageFile] = {}
    for target, rows in wanted:
        for row in rows:
            path, image = target.images / names[row], images[row]
            other = at.setdefault(path, image)
            if other.path != image.path:
                raise EvoSplitError(f"{other.path} and {image.path} would both become {path}; rename one of them")
    return at

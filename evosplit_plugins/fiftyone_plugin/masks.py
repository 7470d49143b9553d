"""Labels from segmentation masks: which classes a mask shows, read in batches because masks are large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np

from evosplit import EvoSplitError

__all__ = ["MaskPath", "classes_of", "mask_classes"]

BACKGROUND = 0
_AT_ONCE = 200


class MaskPath(str):
    """The path of the masks of a field; the classes that they show are its labels."""

    __slots__ = ()

    @property
    def field(self) -> str:
        """The field with the Segmentations."""
        return self.removesuffix(".mask")


def mask_classes(samples: Any, ids: Sequence[str], path: MaskPath) -> list[list[Any]]:
    """List the classes that the mask of each sample shows, none where there is no mask; of a video, a list per frame.

    Parameters
    ----------
    samples
        The dataset or view of the samples.
    ids
        Their ids in it.
    path
        The path of the masks; a mask may also lie on disk, in the `mask_path` of its Segmentation.
    """
    targets = samples.mask_targets.get(path.field) or samples.default_mask_targets or {}
    frames = path.startswith("frames.")
    at_once = 1 if frames else _AT_ONCE
    found: dict[str, list[Any]] = {}
    for start in range(0, len(ids), at_once):
        some = samples.select(list(ids[start : start + at_once]))
        for row, mask, file in zip(*some.values(["id", path, f"{path.field}.mask_path"]), strict=True):
            if frames:
                found[row] = [_shown(*each, targets) for each in zip(mask or (), file or (), strict=True)]
            else:
                found[row] = _shown(mask, file, targets)
    return [found[row] for row in ids]


def _shown(mask: Any, file: str | None, targets: Mapping[Any, str]) -> list[str]:
    mask = _read(file) if mask is None and file else mask
    return [] if mask is None else classes_of(np.asarray(mask), targets)


def classes_of(mask: np.ndarray[Any, Any], targets: Mapping[Any, str]) -> list[str]:
    """Name the values of a mask by its targets, else by the values themselves; 0 (or black) is the background.

    Examples
    --------
    >>> classes_of(np.array([[0, 2], [7, 2]]), {2: "road"})
    ['road', '7']
    >>> classes_of(np.array([[[0, 0, 0], [255, 0, 0]]]), {"#ff0000": "car"})
    ['car']
    """
    if mask.ndim == 3:
        colours = np.unique(mask.reshape(-1, mask.shape[2])[:, :3], axis=0)
        by_colour = {str(key).lower(): name for key, name in targets.items()}
        shown = ["#" + "".join(f"{int(part):02x}" for part in colour) for colour in colours if colour.any()]
        return [by_colour.get(colour, colour) for colour in shown]
    values = [int(value) for value in np.unique(mask) if value != BACKGROUND]
    return [str(targets.get(value, value)) for value in values]


def _read(file: str) -> np.ndarray[Any, Any]:
    if not Path(file).is_file():
        raise EvoSplitError(f"the mask {file!r} does not exist; correct the mask_path, or split another field")
    return np.asarray(fo.Segmentation(mask_path=file).get_mask())

"""`CocoSource`: the images of annotation files, with file names, fields for groups and strata, locks and subsets."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins.coco.dataset import CocoData
from evosplit_plugins.coco.discovery import SUFFIXES, is_manifest
from evosplit_plugins.coco.ids import as_written, coerced
from evosplit_plugins.coco.reading import UNSET, read_file
from evosplit_plugins.coco.sizes import count_sizes
from evosplit_plugins.contents import same_contents
from evosplit_plugins.files import one_for_each
from evosplit_plugins.matching import find_members, plain_path
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Fields, Source

if TYPE_CHECKING:
    from evosplit_plugins.coco.adapter import CocoReading

__all__ = ["AREA", "CocoSource"]

AREA = "area"

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class CocoSource(Source):
    """The images of annotation files.

    Attributes
    ----------
    data
        The files as they were read.
    how
        How they were read.
    rows
        For each sample its row in `data.counts`, where lists of images chose them; None for all rows in their order.
    """

    data: CocoData
    how: CocoReading
    rows: Ints | None = None

    def identities(self, split: Split) -> Mapping[str, Sequence[Any]]:
        """Return the image ids."""
        return {"image id": self.counts.ids.tolist()}

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Decode the named fields of the images, dotted ones inside of objects, and the areas if they are asked for."""
        keys = list(dict.fromkeys([*groups, *(name for name in strata if name != AREA)]))
        per_file = [file.image_values(keys) for file in self.data.files] if keys else []
        values = {key: self._chosen(self.data.by_row([found[key] for found in per_file])) for key in keys}
        for parameter, names in (("group_by", groups), ("stratify_by", strata)):
            for name in names:
                if name in values:
                    self._check(parameter, name, values[name])
        known = {key: [None if value is UNSET else value for value in found] for key, found in values.items()}
        balanced: dict[str, Any] = {name: known[name] for name in strata if name != AREA}
        notes: tuple[str, ...] = ()
        if AREA in strata:
            balanced[AREA], notes = self._sizes()
        return Fields({name: known[name] for name in groups}, {name: balanced[name] for name in strata}, notes)

    def members(self, subset: str, reference: Any) -> Ints:
        """Find the samples that `locked` names; an annotation file stands for its images."""
        if isinstance(reference, (str, os.PathLike)):
            path = Path(reference)
            if path.name.lower().endswith(SUFFIXES) and not is_manifest(path):
                return self._images_of(path)
        return super().members(subset, reference)

    def rows_of(self, ids: Sequence[Any], files: Sequence[str | None] | None, *, where: str) -> Ints:
        """Find samples among all images; those that take no part in the split are -1."""
        known = [value for file in self.data.files for value in self._ids(file.image_ids)]
        names = [name for file in self.data.files for name in file.file_names]
        found = find_members(ids, files, known, names, where=where)
        return np.concatenate([rows.images for rows in self.data.rows])[found]

    def shared_keys(self) -> Mapping[str, Sequence[Any]]:
        """Return the file names, and the ids of images without one; ids alone may repeat from file to file."""
        names = [None if name is None else plain_path(name) for name in self.files or ()]
        ids = self._chosen(self.data.by_row([file.image_ids for file in self.data.files]))
        nameless = [own if name is None else None for own, name in zip(ids, names, strict=True)]
        return {"file name": names, "id": nameless}

    def contents(self, on_progress: OnProgress | None = None) -> Sequence[str | None]:
        """Compare the image files below `image_root`."""
        roots = one_for_each(self.how.image_root, len(self.data.files), "image_root")
        paths = [
            [root / (name or str(own)) for name, own in zip(file.file_names, file.image_ids, strict=True)]
            for root, file in zip(roots, self.data.files, strict=True)
        ]
        return same_contents(self._chosen(self.data.by_row(paths)), on_progress)

    def _images_of(self, path: Path) -> Ints:
        """Find the rows of the images of an annotation file, which may be one of the inputs."""
        for file, rows in zip(self.data.files, self.data.rows, strict=True):
            if path.exists() and path.samefile(file.path):
                return rows.images
        file, _ = read_file(path)
        return self.rows_of(self._ids(file.image_ids), file.file_names, where=str(path))

    def _ids(self, written: list[Any]) -> list[Any]:
        return [coerced(value) for value in written] if self.how.coerce_ids else written

    def _chosen(self, values: list[Any]) -> list[Any]:
        return values if self.rows is None else [values[row] for row in self.rows.tolist()]

    def _sizes(self) -> tuple[LabelCounts, tuple[str, ...]]:
        """Count the small, medium and large instances of each class."""
        instances = (
            (rows.instances, rows.labels, file.areas(count_crowd=self.how.count_crowd)[rows.positions])
            for file, rows in zip(self.data.files, self.data.rows, strict=True)
        )
        sizes, n_unknown = count_sizes(instances, self.data.counts.n_samples, self.data.counts.labels)
        notes = (f"{n_unknown} annotations have no area and count for no size.",) if n_unknown else ()
        return sizes if self.rows is None else LabelCounts(sizes.matrix[self.rows], labels=sizes.labels), notes

    def _check(self, parameter: str, key: str, values: Sequence[Any]) -> None:
        """Refuse a field that no image has, and values that are objects."""
        if all(value is UNSET or value is None for value in values):
            known = self.data.files[0].image_keys(0)
            close = difflib.get_close_matches(key, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            what = "a field of that name" if UNSET in values else "a value there"
            raise EvoSplitError(
                f"{parameter}={key!r}: no image has {what}{hint}; the first image has: {', '.join(known)}"
            )
        refused = (dict, list) if parameter == "stratify_by" else dict
        wrong = next((value for value in values if isinstance(value, refused)), None)
        if wrong is not None:
            takes = (
                "a group is named by an integer or a text" if parameter == "group_by" else "balance texts or numbers"
            )
            inside = ", ".join(f"{key}.{name}" for name in list(wrong)[:5]) if isinstance(wrong, dict) else ""
            raise EvoSplitError(
                f"{parameter}={key!r} gives {as_written(wrong)} for an image; {takes}"
                + (f"; name a field inside: {inside}" if inside else "")
            )

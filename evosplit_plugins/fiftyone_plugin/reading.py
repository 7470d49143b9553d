"""Find the fields with labels, and read the labels of each unit.

A unit is a sample, except in a grouped dataset, where it is a group. Views of patches, clips or frames are counted
through the samples that they were cut from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from evosplit import EvoSplitError, LabelCounts
from evosplit.errors import needing
from evosplit.wording import counted

with needing("fiftyone", "FiftyOne is not installed", "fiftyone"):
    import fiftyone as fo
    import fiftyone.core.clips as focl
    import fiftyone.core.patches as fop
    import fiftyone.core.video as fovi

from evosplit_plugins.fiftyone_plugin.masks import MaskPath, mask_classes
from evosplit_plugins.fiftyone_plugin.names import EMPTY, FRAMES, count_chunks
from evosplit_plugins.progress import OnProgress

__all__ = [
    "Overview",
    "Units",
    "choose_fields",
    "count_labels",
    "count_units",
    "files_of_units",
    "flattened",
    "groups_of",
    "is_generated",
    "is_grouped",
    "label_fields",
    "label_paths",
    "likely_field",
    "load_samples",
    "name_of",
    "overview",
    "root_dataset",
    "told",
]

T = TypeVar("T", bound=Sequence[Any])
_LABEL_OF = {
    fo.Classification: "label",
    fo.Classifications: "classifications.label",
    fo.Detection: "label",
    fo.Detections: "detections.label",
    fo.Polyline: "label",
    fo.Polylines: "polylines.label",
    fo.Keypoint: "label",
    fo.Keypoints: "keypoints.label",
    fo.TemporalDetection: "label",
    fo.TemporalDetections: "detections.label",
}
_GENERATED = (fop.PatchesView, fop.EvaluationPatchesView, focl.ClipsView, fovi.FramesView)
_AT_ONCE = 20_000  # rows that are in memory while labels are counted
_MASKS_AT_ONCE = 1_000  # the same where masks are read
_OTHERS = ("filepath", "tags", "metadata")  # fields of every sample that are no labels
_LIKELY_NAMES = ("ground_truth", "gt", "annotations", "labels", "detections", "objects", "segmentations")


def load_samples(name: str, view: str | None = None) -> Any:
    """Load a dataset, or a saved view of it; the error for an unknown name lists those that exist."""
    if not fo.dataset_exists(name):
        known = ", ".join(fo.list_datasets()) or "none"
        raise EvoSplitError(f"there is no dataset {name!r}; the datasets here: {known}")
    dataset = fo.load_dataset(name)
    if view is None:
        return dataset
    if not dataset.has_saved_view(view):
        known = ", ".join(dataset.list_saved_views()) or "none"
        raise EvoSplitError(f"dataset {name!r} has no saved view {view!r}; its views: {known}")
    return dataset.load_saved_view(view)


def root_dataset(samples: Any) -> Any:
    """Return the dataset that a collection belongs to, also for views of patches, clips or frames."""
    return samples if isinstance(samples, fo.Dataset) else fo.load_dataset(samples.dataset_name)


def label_paths(samples: Any) -> dict[str, str]:
    """Map each field that labels can be read from to their path: gt to gt.detections.label.

    Fields with labels come first, then masks, then fields with a text or a list of texts.
    """
    schema = samples.get_field_schema(flat=True)
    paths = _paths_in(schema)
    frames = samples.get_frame_field_schema(flat=True) or {}
    paths |= {FRAMES + name: FRAMES + path for name, path in _paths_in(frames).items()}
    masks = [
        prefix + name
        for prefix, fields in (("", schema), (FRAMES, frames))
        for name, field in fields.items()
        if getattr(field, "document_type", None) is fo.Segmentation
    ]
    return {**paths, **{name: MaskPath(f"{name}.mask") for name in masks}, **{name: name for name in _texts_in(schema)}}


def _paths_in(schema: dict[str, Any]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for name, field in schema.items():
        inside_label = any(name.startswith(f"{parent}.") for parent in paths)
        label = _LABEL_OF.get(getattr(field, "document_type", None))
        if label is not None and not inside_label and not isinstance(field, fo.ListField):
            paths[name] = f"{name}.{label}"
    return paths


def _texts_in(schema: dict[str, Any]) -> list[str]:
    """List the fields with a text, or a list of texts, that are no part of another field."""
    texts = [
        name
        for name, field in schema.items()
        if isinstance(field.field if isinstance(field, fo.ListField) else field, fo.StringField)
    ]
    return [name for name in texts if "." not in name and name not in _OTHERS and not schema[name].read_only]


def label_fields(paths: Mapping[str, str]) -> list[str]:
    """List those of the paths that FiftyOne knows as labels: no masks, no texts."""
    return [name for name, path in paths.items() if path != name and not isinstance(path, MaskPath)]


def likely_field(paths: Iterable[str]) -> str | None:
    """Guess which label field holds the truth: a usual name, else the first that is no prediction.

    Examples
    --------
    >>> likely_field(["predictions", "weather", "ground_truth"])
    'ground_truth'
    >>> likely_field(["model_preds", "animals"])
    'animals'
    """
    fields = list(paths)
    for name in _LIKELY_NAMES:
        for field in fields:
            if field.removeprefix(FRAMES) == name:
                return field
    annotated = [field for field in fields if "pred" not in field.lower()]
    return next(iter([*annotated, *fields]), None)


def choose_fields(samples: Any, label_field: str | Sequence[str] | None) -> dict[str, str]:
    """Return the label paths of the given fields, by default of the likely one; an empty list asks for no labels."""
    known = label_paths(samples)
    if label_field is None:
        guess = likely_field(label_fields(known))
        if guess is None:
            _check_some(samples)
            others = [name for name in known if name not in label_fields(known)]
            which = f"name one of {', '.join(map(repr, others))}" if others else "add one"
            raise EvoSplitError(
                f"{name_of(samples)} has no field with labels ({', '.join(kind.__name__ for kind in _LABEL_OF)}); "
                f"{which}, or split without labels: label_field=[] and stratify_by=",
                parameter="label_field",
            )
        return {guess: known[guess]}
    fields = [label_field] if isinstance(label_field, str) else list(label_field)
    for field in fields:
        if field not in known:
            _check_some(samples)
            choices = ", ".join(map(repr, known)) or "none"
            raise EvoSplitError(f"{field!r} is no label field of {name_of(samples)}; its label fields: {choices}")
    return {field: known[field] for field in fields}


def _check_some(samples: Any) -> None:
    """Refuse a collection without samples; a dataset without any has no label fields either."""
    if not samples.count():
        raise EvoSplitError(f"{name_of(samples)} {EMPTY}")


def name_of(samples: Any) -> str:
    """Name the dataset of a collection for a reader."""
    return f"dataset {root_dataset(samples).name!r}"


@dataclass(frozen=True)
class Units:
    """How the samples of a collection are read: one key per row says which unit the row belongs to."""

    samples: Any
    key: str
    group_of_sample: dict[str, str] | None = None

    @classmethod
    def of(cls, samples: Any) -> Units:
        """Find the rows and the keys of a dataset or view."""
        dataset = root_dataset(samples)
        # No public attribute tells these views from those of a grouped dataset.
        if getattr(samples, "_is_dynamic_groups", False):
            raise EvoSplitError(
                "the view groups its samples with group_by(), which EvoSplit cannot split; "
                "use view.flatten() or the dataset"
            )
        if is_generated(samples):
            return cls(samples, "sample_id", groups_of(dataset) if is_grouped(dataset) else None)
        if is_grouped(dataset):
            return cls(flattened(samples), f"{dataset.group_field}.id")
        return cls(samples, "id")

    def values(self, paths: Iterable[Any]) -> list[list[Any]]:
        """Read the unit of each row and the values of some paths or expressions, in one pass to keep them aligned."""
        asked = list(paths)
        if any(isinstance(path, MaskPath) for path in asked):
            return [list(chain.from_iterable(parts)) for parts in zip(*self._with_masks(asked), strict=True)]
        keys, *columns = self.samples.values([self.key, *asked])
        return [self._units_of(keys), *columns]

    def chunks(self, paths: Iterable[str]) -> Iterator[list[Any]]:
        """Read what `values` reads, but some rows at a time, to bound the memory.

        For labels and other texts, which need no conversion after they have come from the database.
        """
        asked = list(paths)
        if not asked:
            yield self.values(asked)
            return
        if any(isinstance(path, MaskPath) for path in asked):
            yield from self._with_masks(asked)
            return
        # FiftyOne streams rows to its own code only: `values` builds all of them before the first is seen.
        rows = self.samples.aggregate([fo.Values(path, _lazy=True, _raw=True) for path in (self.key, *asked)])
        while some := list(islice(rows, _AT_ONCE)):
            keys, *columns = zip(*some, strict=True)
            yield [self._units_of(keys), *columns]

    def _with_masks(self, asked: Sequence[Any]) -> Iterator[list[Any]]:
        """Read the values some rows at a time, with the classes that masks show: masks are large."""
        masks = [path for path in asked if isinstance(path, MaskPath)]
        plain = [path for path in asked if not isinstance(path, MaskPath)]
        keys, rows, *columns = self.samples.values([self.key, "id", *plain])
        keys = self._units_of(keys)
        source = self.samples if is_generated(self.samples) else flattened(root_dataset(self.samples))
        for start in range(0, max(len(rows), 1), _MASKS_AT_ONCE):
            some = slice(start, start + _MASKS_AT_ONCE)
            shown = {path: mask_classes(source, rows[some], path) for path in masks}
            rest = iter(columns)
            yield [keys[some], *(shown[path] if isinstance(path, MaskPath) else next(rest)[some] for path in asked)]

    def _units_of(self, keys: Sequence[str]) -> Sequence[str]:
        return keys if self.group_of_sample is None else [self.group_of_sample[key] for key in keys]


def is_generated(samples: Any) -> bool:
    """Whether a view shows parts of samples: patches, clips or frames."""
    return isinstance(samples, _GENERATED)


def is_grouped(dataset: Any) -> bool:
    """Whether the dataset consists of groups of samples."""
    return bool(dataset.media_type == fo.core.media.GROUP)


def flattened(samples: Any) -> Any:
    """Return all slices of a grouped collection; anything else as it is."""
    if samples.media_type != fo.core.media.GROUP:
        return samples
    # Without this, slices of several media types, such as pictures and videos, cannot be read together.
    return samples.select_group_slices(_allow_mixed=True)


def groups_of(dataset: Any) -> dict[str, str]:
    """Map the id of each sample of a grouped dataset to the id of its group."""
    ids, groups = flattened(dataset).values(["id", f"{dataset.group_field}.id"])
    return dict(zip(ids, groups, strict=True))


def files_of_units(dataset: Any) -> dict[str, str]:
    """Map each unit of a dataset to the file of its first sample."""
    keys, paths = Units.of(dataset).values(["filepath"])
    return dict(zip(reversed(keys), reversed(paths), strict=True))


def count_labels(samples: Any, paths: Mapping[str, str], on_progress: OnProgress | None = None) -> LabelCounts:
    """Count the labels of each unit; with several fields a label is called field/label."""
    chunks = told(samples, Units.of(samples).chunks(paths.values()), on_progress)
    return count_chunks(chunks, paths, where=name_of(samples))


def told(samples: Any, chunks: Iterable[T], on_progress: OnProgress | None) -> Iterator[T]:
    """Tell while chunks of rows are read how much of the dataset they are: rows of a view would take long to count."""
    if on_progress is None:
        yield from chunks
        return
    total, done = max(flattened(root_dataset(samples)).count(), 1), 0
    on_progress(0.0, "reading labels")
    for chunk in chunks:
        done += len(chunk[0])
        yield chunk
        on_progress(min(done / total, 1.0), "reading labels")


@dataclass(frozen=True)
class Overview:
    """The size of what would be split, counted by the database without reading the labels.

    Attributes
    ----------
    units
        How many samples (in a grouped dataset groups) there are.
    labels
        How often each label occurs.
    grouped
        Whether units are groups.
    unread
        Fields whose labels the database cannot count: masks.
    """

    units: int
    labels: Mapping[str, int]
    grouped: bool
    unread: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it in one sentence."""
        noun = "group" if self.grouped else "sample"
        unit = counted(self.units, noun, f"{noun}s")
        if not self.labels:
            return f"{unit}, with the classes that the masks in {', '.join(self.unread)} show," if self.unread else unit
        labels = counted(len(self.labels), "label", "labels")
        return f"{unit} with {labels} and {counted(sum(self.labels.values()), 'instance', 'instances')}"


def count_units(samples: Any) -> int:
    """Count the units of a collection."""
    units = Units.of(samples)
    if units.key == "id":
        return int(units.samples.count())
    if units.group_of_sample is not None or is_grouped(root_dataset(samples)):
        return len(set(units.values([])[0]))
    return len(units.samples.distinct(units.key))


def overview(samples: Any, paths: Mapping[str, str]) -> Overview:
    """Count units, labels and instances of a collection."""
    counted_by_database = {field: path for field, path in paths.items() if not isinstance(path, MaskPath)}
    values = Units.of(samples).samples.aggregate([fo.CountValues(path) for path in counted_by_database.values()])
    labels = {
        f"{field}/{name}" if len(paths) > 1 else str(name): n
        for field, found in zip(counted_by_database, values, strict=True)
        for name, n in found.items()
        if name is not None
    }
    unread = tuple(field for field in paths if field not in counted_by_database)
    return Overview(count_units(samples), labels, is_grouped(root_dataset(samples)), unread)

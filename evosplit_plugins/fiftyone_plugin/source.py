"""`FiftyOneSource`: the samples of a dataset or view, as splitting, replaying and auditing need them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.wording import counted
from evosplit_plugins.contents import same_contents
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.duplicates import find_links
from evosplit_plugins.fiftyone_plugin.fields import read_fields
from evosplit_plugins.fiftyone_plugin.names import count_chunks
from evosplit_plugins.fiftyone_plugin.reading import (
    Units,
    choose_fields,
    files_of_units,
    is_generated,
    is_grouped,
    label_fields,
    label_paths,
    name_of,
    root_dataset,
    told,
)
from evosplit_plugins.fiftyone_plugin.writing import subsets_of_units
from evosplit_plugins.files import usual_order
from evosplit_plugins.grouping import Links
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Fields, Placement, Source

__all__ = ["FiftyOneSource", "divided", "read_source", "subset_names"]

_USUAL_TAGS = ("train", "training", "val", "valid", "validation", "test", "testing")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class FiftyOneSource(Source):
    """The samples (in a grouped dataset the groups) of a dataset or view.

    Attributes
    ----------
    samples
        The dataset or view.
    units
        The id of the sample or group of each row.
    labels
        The fields whose labels are counted, with the paths of their label names.
    field
        The field that holds the subsets; None for tags.
    near_duplicates, duplicate_threshold
        What else belongs together, see `evosplit_fiftyone`.
    """

    samples: Any
    units: Sequence[str]
    labels: Mapping[str, str]
    field: str | None = None
    near_duplicates: Any = None
    duplicate_threshold: float | None = None
    _compared: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def dataset(self) -> Any:
        """The dataset of the samples."""
        return root_dataset(self.samples)

    @property
    def called(self) -> str:
        """What errors and reports call the data."""
        return name_of(self.samples)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the samples come from, with the threshold that was used for near duplicates."""
        known = super().provenance
        return {**known, "reading": {**known["reading"], **self._compared}}

    def identities(self, split: Split) -> Mapping[str, Sequence[Any]]:
        """Return the ids that FiftyOne gave."""
        return {"group id" if is_grouped(self.dataset) else "sample id": self.units}

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Read all named fields in one pass."""
        return read_fields(self.samples, self.units, self.labels, groups=groups, strata=strata)

    def placement(self, names: Sequence[str]) -> Placement:
        """Return which samples are in these subsets, by tags or by the field; a sample in two of them is an error."""
        found = subsets_of_units(self.dataset, self.units, names, self.field)
        torn = [row for row, there in enumerate(found) if len(there) > 1]
        if torn:
            first = torn[0]
            file = "" if self.files is None else f" ({self.files[first]})"
            others = f", and {len(torn) - 1} more are in two subsets" if len(torn) > 1 else ""
            raise EvoSplitError(
                f"{self.units[first]!r}{file} is already in {' and '.join(found[first])}{others}, so it cannot be "
                "locked; remove all but one of them"
            )
        position = {name: j for j, name in enumerate(names)}
        assignment = np.array([position[there[0]] if there else -1 for there in found], dtype=np.int64)
        missing = [name for j, name in enumerate(names) if not (assignment == j).any()]
        if missing:
            where = "carries that tag" if self.field is None else f"has that value in {self.field!r}"
            raise EvoSplitError(
                f"locked= keeps the subset {missing[0]!r}, but no sample of {self.called} {where}; leave it out, "
                f"or name the samples, such as locked={{{missing[0]!r}: view}}"
            )
        return Placement(tuple(names), assignment)

    def members(self, subset: str, reference: Any) -> Ints:
        """Find the samples that a view shows, that carry a tag (or a value of the field), or whose ids are given."""
        if isinstance(reference, fo.core.collections.SampleCollection):
            if root_dataset(reference).name != self.dataset.name:
                raise EvoSplitError(
                    f"locked[{subset!r}] is of {name_of(reference)}, not of {self.called}; give a view of the latter"
                )
            row_of_unit = {unit: row for row, unit in enumerate(self.units)}
            shown = dict.fromkeys(Units.of(reference).values([])[0])
            return np.array([row_of_unit.get(unit, -1) for unit in shown], dtype=np.int64)
        if isinstance(reference, str) and reference in self._known_names():
            found = subsets_of_units(self.dataset, self.units, [reference], self.field)
            return np.array([row for row, there in enumerate(found) if there], dtype=np.int64)
        return super().members(subset, reference)

    def _known_names(self) -> Sequence[str]:
        names: Sequence[str] = self.dataset.distinct("tags" if self.field is None else self.field)
        return names

    def links(self, on_progress: OnProgress | None = None) -> Sequence[Links]:
        """Return the links between near duplicates."""
        found, threshold = find_links(
            self.samples, self.units, self.files or (), self.near_duplicates, self.duplicate_threshold, on_progress
        )
        if threshold is not None:
            self._compared["duplicate_threshold"] = threshold
        return found

    def shared_keys(self) -> Mapping[str, Sequence[Any]]:
        """Return ids and files; the file of a sample in two subsets counts once, since its id is a leak already."""
        told: set[str] = set()
        files = [
            None if unit in told or told.add(unit) else file  # type: ignore[func-returns-value]
            for unit, file in zip(self.units, self.files or (), strict=True)
        ]
        return {"sample id": self.units, "file": files}

    def contents(self, on_progress: OnProgress | None = None) -> Sequence[str | None]:
        """Compare the media files."""
        return same_contents([Path(file or "") for file in self.files or ()], on_progress)


def read_source(
    samples: Any, options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
) -> FiftyOneSource:
    """Read ids, labels and files of a dataset or view, in one pass unless samples have several files.

    Parameters
    ----------
    samples
        The dataset or view.
    options
        A `FiftyOneReading`.
    need_labels
        Whether a label field that does not exist is an error; if not, there are no labels, or fewer.
    on_progress
        Called with the fraction done and a message.
    """
    dataset = root_dataset(samples)
    paths, notes = _label_paths(samples, options.label_field, need_labels=need_labels)
    # Patches and frames have other files than their samples, and groups several, of which the first counts.
    apart = is_generated(samples) or is_grouped(dataset)
    files: list[str] = []

    def chunks() -> Iterator[list[Any]]:
        for chunk in Units.of(samples).chunks([*paths.values(), *(() if apart else ("filepath",))]):
            if not apart:
                files.extend(chunk.pop())
            yield chunk

    counts = count_chunks(told(samples, chunks(), on_progress), paths, where=name_of(samples))
    if apart:
        file_of_unit = files_of_units(dataset)
        files += [file_of_unit[unit] for unit in counts.ids.tolist()]
    near = options.near_duplicates
    recorded = {
        "label_field": list(paths),
        "view": options.view,
        "near_duplicates": near if isinstance(near, str | None) else "pairs" if isinstance(near, Mapping) else "index",
        "duplicate_threshold": options.duplicate_threshold,
    }
    return FiftyOneSource(
        counts=counts,
        adapter="fiftyone",
        inputs=(dataset.name,),
        reading={name: value for name, value in recorded.items() if value not in (None, [])},
        files=files,
        has_labels=bool(paths),
        notes=notes,
        samples=samples,
        units=counts.ids.tolist(),
        labels=paths,
        field=options.field,
        near_duplicates=near,
        duplicate_threshold=options.duplicate_threshold,
    )


def _label_paths(
    samples: Any, asked: str | Sequence[str] | None, *, need_labels: bool
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the fields whose labels are read, with the paths of their label names, and sentences for the report."""
    if need_labels:
        return choose_fields(samples, asked), ()
    known = label_paths(samples)
    if asked is None:
        return choose_fields(samples, None) if label_fields(known) else {}, ()
    names = [asked] if isinstance(asked, str) else list(asked)
    missing = [name for name in names if name not in known]
    notes = (
        (f"The labels of {', '.join(map(repr, missing))} were not read: there is no such field.",) if missing else ()
    )
    return {name: known[name] for name in names if name in known}, notes


def divided(source: FiftyOneSource, names: Sequence[str] | None) -> FiftyOneSource:
    """Return the rows of a source that are in a subset; a row in two subsets is there twice.

    Parameters
    ----------
    source
        The samples.
    names
        The tags, or values of the field; by default those of the latest split that EvoSplit recorded, or all values of
        the field, or the usual tags (train, val, test, ...) that there are.
    """
    dataset = source.dataset
    if source.field is not None and dataset.get_field(source.field) is None:
        raise EvoSplitError(f"{source.called} has no field {source.field!r}; name the field that holds the subsets")
    chosen = tuple(names) if names else subset_names(dataset, source.field)
    found = subsets_of_units(dataset, source.units, chosen, source.field)
    rows = [row for row, there in enumerate(found) for _ in there]
    if not rows:
        where = "carries one of the tags" if source.field is None else f"has in {source.field!r} one of"
        raise EvoSplitError(f"no sample of {source.called} {where} {', '.join(map(repr, chosen))}")
    position = {name: j for j, name in enumerate(chosen)}
    left_out = sum(not there for there in found)
    left = counted(left_out, "sample in none of the subsets was", "samples in none of the subsets were")
    notes = (f"{left} left out.",) if left_out else ()
    files = source.files or ()
    return replace(
        source,
        counts=LabelCounts(source.counts.matrix[rows], labels=source.counts.labels),
        units=[source.units[row] for row in rows],
        files=[files[row] for row in rows],
        subsets=Placement(chosen, np.array([position[name] for there in found for name in there], dtype=np.int64)),
        notes=(*source.notes, *notes),
    )


def subset_names(dataset: Any, field: str | None) -> tuple[str, ...]:
    """Return the subsets that there are: the values of a field, the tags of the latest split, or the usual tags."""
    if field is not None:
        return tuple(sorted(filter(None, dataset.distinct(field)), key=usual_order))
    there = dataset.count_sample_tags()
    latest = runs.load_run(dataset).split.names if runs.run_keys(dataset) else ()
    left = tuple(name for name in latest if name in there)  # somebody may have tagged the samples anew since
    if len(left) > 1:
        return left
    usual = tuple(tag for tag in _USUAL_TAGS if tag in there)
    if len(usual) < 2:
        known = ", ".join(map(repr, sorted(there))) or "none"
        raise EvoSplitError(
            f"nothing says which tags of dataset {dataset.name!r} are its subsets; name them, such as "
            f"tags=['train', 'val']; its tags: {known}"
        )
    return usual

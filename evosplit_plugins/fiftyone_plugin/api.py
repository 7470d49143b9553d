"""The verbs of the FiftyOne door: read the counts, make a split, write it, take it back, replay it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit.ratios import fold_subsets, resolve_subsets
from evosplit_plugins.fiftyone_plugin import groups, labels, runs, strata, tags
from evosplit_plugins.matching import copies_together, find_samples, picture_of, replayed
from evosplit_plugins.staging import Plan

__all__ = [
    "apply_manifest",
    "apply_split",
    "audit_split",
    "evosplit_fiftyone",
    "make_split",
    "read_counts",
    "save_manifest",
    "undo_split",
]

OnProgress = Callable[[float, str], bool | None]
Ratios = Mapping[str, float] | Sequence[float]
_SEARCH = (0.05, 0.9)  # the share of the progress bar that the search gets; reading comes before, writing after


def read_counts(samples: Any, *, label_field: str | Sequence[str] | None = None) -> LabelCounts:
    """Count the labels of each sample of a dataset or view (of each group, in a grouped dataset).

    Parameters
    ----------
    samples
        A FiftyOne dataset or view; a view of patches, clips or frames counts for the samples it was cut from.
    label_field
        One or several fields with Classification(s), Detection(s), Polyline(s), Keypoint(s) or
        TemporalDetection(s); `frames.` before the name for frame labels. By default the most likely one.
    """
    return labels.count_labels(samples, labels.choose_fields(samples, label_field))


def make_split(
    samples: Any,
    ratios: Ratios | None,
    *,
    folds: int | None = None,
    label_field: str | Sequence[str] | None = None,
    field: str | None = None,
    keep: bool = False,
    overwrite: bool = False,
    group_field: str | Sequence[str] | None = None,
    near_duplicates: Any = None,
    duplicate_threshold: float | None = None,
    strata_fields: str | Sequence[str] | None = None,
    group_copies: bool = True,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Split:
    """Search for a split without changing the dataset; see `evosplit_fiftyone` for the parameters."""
    if (ratios is None) == (folds is None):
        raise EvoSplitError("give either ratios, such as {'train': 0.8, 'val': 0.2}, or folds=5")
    dataset = labels.root_dataset(samples)
    tags.check_field(dataset, field)
    _tell(on_progress, 0.0, "Reading labels")
    paths = labels.choose_fields(samples, label_field)
    counts = labels.count_labels(samples, paths)
    units = counts.ids.tolist()
    subsets = (
        fold_subsets(folds, counts.n_samples)
        if folds is not None
        else resolve_subsets(ratios if ratios is not None else {}, counts.n_samples)
    )

    if not overwrite:
        check_values(dataset, units, field, subsets.names if keep else ())

    def on_compare(done: float) -> bool | None:
        return on_progress(_SEARCH[0] * done, "Looking for near duplicates") if on_progress is not None else None

    asked: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    with labels.without_collecting():
        by, balanced = _listed(group_field), _listed(strata_fields)
        found = groups.find_groups(
            samples, units, by=by, near_duplicates=near_duplicates, threshold=duplicate_threshold, on_compare=on_compare
        )
        if found is not None:
            options["groups"] = found.of_unit
            notes += found.notes
            asked.update(found.asked)
        read = strata.read_strata(samples, units, balanced, paths)
        if read is not None:
            options["strata"] = read.values
            notes += read.notes
            asked["strata_fields"] = list(balanced)
        if keep:
            options["locked"] = _already_there(dataset, units, subsets.names, field)
            asked["keep"] = True
        if group_copies:
            file_of_unit = labels.files(dataset)
            held = {unit: name for name, ids in options["locked"].items() for unit in ids} if keep else {}
            options["groups"], said = copies_together(
                options.get("groups"),
                [picture_of(file_of_unit[unit]) for unit in units],
                [held.get(unit) for unit in units],
                options.get("method", "evosplit"),
            )
            notes += tuple(said)
        else:
            asked["group_copies"] = False
    start, end = _SEARCH
    _tell(on_progress, start, "Searching")

    def on_search(done: float, message: str) -> bool | None:
        return on_progress(start + (end - start) * done, message) if on_progress is not None else None

    if folds is not None:
        split = evosplit.kfold(counts, folds, on_progress=on_search, **options)
    else:
        sizes = dict(zip(subsets.names, subsets.sizes, strict=True))
        split = evosplit.split(counts, sizes, on_progress=on_search, **options)
    return replace(split, settings={**split.settings, **asked}, notes=(*split.notes, *notes))


def _already_there(dataset: Any, units: Sequence[str], names: Sequence[str], field: str | None) -> dict[str, list[str]]:
    """Find the units that are in one of the subsets and have to stay there."""
    place = tags.Place(field, frozenset(names))
    subset = tags.subset_of_units(dataset, tags.snapshot(dataset, units, place), names)
    if len(subset) == len(units):
        raise EvoSplitError(
            "every sample is already in one of the subsets; replace the earlier split to make a new one"
        )
    locked: dict[str, list[str]] = {}
    for unit, name in subset.items():
        locked.setdefault(name, []).append(unit)
    return locked


def check_values(dataset: Any, units: Sequence[str], field: str | None, kept: Collection[str]) -> None:
    """Refuse a field with values that EvoSplit did not write, but for those that are kept."""
    if field is not None and dataset.get_field(field) is not None and field not in runs.written_fields(dataset):
        snap = tags.snapshot(dataset, units, tags.Place(field, frozenset()))
        tags.check_values(dataset, snap, field, dict.fromkeys(units, kept))


def apply_split(
    samples: Any,
    split: Split,
    *,
    field: str | None = None,
    label_field: str | Sequence[str] | None = None,
    keep: bool = False,
    overwrite: bool = False,
) -> str:
    """Write a split onto the samples and record it; returns the key of the record.

    Tags of the subsets' names are replaced, and those that earlier splits wrote; all other tags stay. All slices of a
    group get the group's subset. The record is made first, so that `undo_split` can restore the tags whatever happens
    while they are written.

    Parameters
    ----------
    samples
        The dataset, or any view of it.
    split
        A split whose ids are sample ids (group ids in a grouped dataset).
    field
        A string field to write into instead of tags; created if missing.
    label_field
        The label fields that were split, for the record.
    keep
        Leave the tags of earlier splits with other names.
    overwrite
        Replace values of the field that EvoSplit did not write.
    """
    dataset = labels.root_dataset(samples)
    tags.check_field(dataset, field)
    with labels.without_collecting():
        return _apply(dataset, split, field, tuple(_listed(label_field)), keep=keep, overwrite=overwrite)


def _apply(
    dataset: Any, split: Split, field: str | None, label_fields: tuple[str, ...], *, keep: bool, overwrite: bool
) -> str:
    managed = frozenset(split.names)
    further = runs.written_tags(dataset) - managed if field is None and not keep else set()
    names = np.array(split.names, dtype=object)[split.assignment]
    subset = dict(zip(split.sample_ids.tolist(), names.tolist(), strict=True))
    snap = tags.snapshot(dataset, subset, tags.Place(field, managed), further=further)
    if field is not None and not overwrite and field not in runs.written_fields(dataset):
        tags.check_values(dataset, snap, field, {unit: (name,) for unit, name in subset.items()})
    written = runs.tags_on(dataset, snap.samples, further)
    taken = {
        sample: sorted(gone)
        for sample, found in written.items()
        if (gone := found.intersection(snap.before.get(sample, ())))
    }
    place = tags.Place(field, managed, taken)
    run = runs.SplitRun(
        key=runs.next_key(dataset),
        split=split,
        label_fields=label_fields,
        field=field,
        created_field=field is not None and dataset.get_field(field) is None,
        managed=managed,
        samples=tuple(sample for samples in snap.samples.values() for sample in samples),
        before=snap.before,
        taken=taken,
    )
    runs.save_run(dataset, run)
    try:
        tags.write(dataset, snap, subset, place)
    except BaseException:
        undo_split(dataset)
        raise
    return run.key


@checked_keywords(evosplit.split)
def evosplit_fiftyone(
    samples: Any,
    ratios: Ratios | None = None,
    *,
    folds: int | None = None,
    label_field: str | Sequence[str] | None = None,
    field: str | None = None,
    keep: bool = False,
    overwrite: bool = False,
    group_field: str | Sequence[str] | None = None,
    near_duplicates: Any = None,
    duplicate_threshold: float | None = None,
    strata_fields: str | Sequence[str] | None = None,
    group_copies: bool = True,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Split:
    """Split a FiftyOne dataset or view and tag its samples with the subset they are in.

    Parameters
    ----------
    samples
        A dataset or view. A video is one unit, and so is a group: all its slices get the same subset.
        Patches, clips and frames are split through their samples.
    ratios
        `{"train": 0.8, "val": 0.1, "test": 0.1}`, or a sequence (two: train, test; three: train, val,
        test); fractions that sum to 1, proportions (8, 1, 1), or exact sizes.
    folds
        The number of folds, instead of ratios; the subsets are called fold0, fold1, ...
    label_field
        The field or fields whose labels are spread, `frames.` before the name for frame labels; by default
        the most likely one.
    field
        Write the subsets into this string field instead of tags.
    keep
        Leave samples that already carry one of the subset names where they are, and split the rest so that
        the whole comes out balanced. The ratios refer to the whole, and the tags of earlier splits with other names
        stay.
    overwrite
        Replace values that `field` has although EvoSplit did not write them.
    group_field
        A field or fields with strings, integers, ids or dates (a Classification counts by its label): samples
        with the same value never cross subsets. `filepath` means the folder of the file.
    near_duplicates
        Samples that are near duplicates never cross subsets either: the brain key of a similarity run, the
        index that `fiftyone.brain.compute_near_duplicates` returns, a mapping from sample ids to the ids of
        their duplicates (as `compute_exact_duplicates` returns it), or a field with the id of each sample's
        original. Duplicates of duplicates stay together too.
    duplicate_threshold
        The distance between embeddings up to which samples are near duplicates; by default that of the
        index's last `find_duplicates`, else 0.2 as in FiftyOne Brain.
    strata_fields
        Fields to balance beside the labels: strings, booleans, numbers (binned by quantiles), dates,
        Classifications, other label fields; "area" for class × box size (small, medium, large as in COCO, by
        pixels where the metadata tells width and height, else by the share of the picture).
    group_copies
        Keep samples of the same file path together, because they would leak from one subset into another;
        Roboflow's copies of one source are one picture.
    on_progress
        Called with the fraction done and a message; returning False stops the search with the best split so
        far.
    **options
        The other keywords of `evosplit.split`: min_per_label, label_weights, method, objectives, cover, pick,
        effort, time_limit, n_jobs, seed.

    Returns
    -------
    evosplit.Split
        The split that was written; its ids are sample ids (group ids in a grouped dataset). `undo_split`
        takes it back.
    """
    fields = tuple(labels.choose_fields(samples, label_field))
    split = make_split(
        samples,
        ratios,
        folds=folds,
        label_field=fields,
        field=field,
        keep=keep,
        overwrite=overwrite,
        group_field=group_field,
        near_duplicates=near_duplicates,
        duplicate_threshold=duplicate_threshold,
        strata_fields=strata_fields,
        group_copies=group_copies,
        on_progress=on_progress,
        **options,
    )
    _tell(on_progress, _SEARCH[1], "Writing")
    apply_split(samples, split, field=field, label_field=fields, keep=keep, overwrite=overwrite)
    _tell(on_progress, 1.0, "Done")
    return split


def audit_split(
    samples: Any,
    names: Sequence[str] | None = None,
    *,
    field: str | None = None,
    label_field: str | Sequence[str] | None = None,
) -> Split:
    """Measure a split that exists, whoever made it: `audit_split(dataset, ["train", "test"]).report()`.

    Parameters
    ----------
    samples
        A dataset or view; samples in no subset are left out.
    names
        The tags (or values of `field`) of the subsets; by default those of the latest recorded split, or all
        values of `field`.
    field
        The field that holds the subsets, instead of tags.
    label_field
        As for `read_counts`.
    """
    dataset = labels.root_dataset(samples)
    if field is not None and dataset.get_field(field) is None:
        raise EvoSplitError(f"dataset {dataset.name!r} has no field {field!r}")
    if names is None:
        found = dataset.distinct(field) if field is not None else list(runs.load_run(dataset).split.names)
        names = [name for name in found if name]
    counts = read_counts(samples, label_field=label_field)
    place = tags.Place(field, frozenset(names))
    snap = tags.snapshot(dataset, counts.ids.tolist(), place)
    subset = tags.subset_of_units(dataset, snap, names)
    position = {name: j for j, name in enumerate(names)}
    rows = [row for row, unit in enumerate(counts.ids.tolist()) if unit in subset]
    if not rows:
        where = "carries one of the tags" if field is None else f"has in {field!r} one of"
        raise EvoSplitError(f"no sample of dataset {dataset.name!r} {where} {', '.join(map(repr, names))}")
    ids = counts.ids[rows]
    assignment = np.array([position[subset[unit]] for unit in ids.tolist()])
    return Split(
        names=tuple(names),
        assignment=assignment,
        sample_ids=ids,
        target_sizes=tuple(int(n) for n in np.bincount(assignment, minlength=len(names))),
        settings={"audited": field or "tags"},
        counts=LabelCounts(counts.matrix[rows], ids=ids, labels=counts.labels),
    )


def undo_split(dataset: Any) -> runs.SplitRun:
    """Restore tags or field as they were before the latest recorded split, and forget that split.

    Tags that were added or removed by others in the meantime stay as they are. Call it again to go further
    back.
    """
    dataset = labels.root_dataset(dataset)
    with labels.without_collecting():
        run = runs.load_run(dataset)
        place = tags.Place(run.field, run.managed, run.taken)
        tags.restore(dataset, run.samples, run.before, place, created_field=run.created_field)
        runs.delete_run(dataset, run.key)
    return run


def save_manifest(dataset: Any, path: str | os.PathLike[str], *, run_key: str | None = None) -> Split:
    """Write the manifest of a recorded split (by default the latest) to a file and return the split.

    Beside the ids it holds the file path of each sample, because another database gives other ids to the
    same files. A file that exists is replaced only if it is a manifest.
    """
    dataset = labels.root_dataset(dataset)
    run = runs.load_run(dataset, run_key)
    file_of_unit = labels.files(dataset)
    split = replace(
        run.split,
        file_names=tuple(file_of_unit.get(unit) for unit in run.split.sample_ids.tolist()),
        source={
            "adapter": "fiftyone",
            "inputs": [dataset.name],
            "reading": {"label_field": list(run.label_fields), "field": run.field},
        },
    )
    path = Path(path)
    with Plan(None, manifests=[path]).stage() as stage:
        split.save(stage.path(path))
        stage.commit()
    return split


def apply_manifest(
    samples: Any, path: str | os.PathLike[str], *, field: str | None = None, overwrite: bool = False
) -> Split:
    """Replay a saved split on a dataset or view: by sample id, else by file name or path.

    Whichever adapter made the split, the samples must be those that were split; otherwise the error says how they
    differ and nothing is written. With `overwrite`, values of the field are replaced although EvoSplit did not write
    them.
    """
    split = Split.load(path)
    dataset = labels.root_dataset(samples)
    units = list(dict.fromkeys(labels.Units.of(samples).values([])[0]))
    if not units:
        raise EvoSplitError(f"dataset {dataset.name!r} has no sample in this view; there is nothing to replay on")
    file_of_unit = labels.files(dataset)
    files = [file_of_unit.get(unit) for unit in units]
    found = find_samples(split, {"sample id": units}, files, where=f"dataset {dataset.name!r}")
    replay = replayed(split, found, np.array(units, dtype=object), file_names=tuple(files))
    known = labels.label_paths(samples)
    reading = split.source.get("reading", {}) if split.source.get("adapter") == "fiftyone" else {}
    fields = [name for name in reading.get("label_field") or () if name in known]
    if fields:
        counts = read_counts(samples, label_field=fields)
        position = {unit: row for row, unit in enumerate(units)}
        order = np.array([position[unit] for unit in counts.ids.tolist()], dtype=np.int64)
        replay = replayed(replay, order, counts.ids, counts=counts)
    apply_split(samples, replay, field=field, label_field=fields, overwrite=overwrite)
    return replay


def _listed(fields: str | Sequence[str] | None) -> Sequence[str]:
    return [fields] if isinstance(fields, str) else fields or []


def _tell(on_progress: OnProgress | None, done: float, message: str) -> None:
    if on_progress is not None:
        on_progress(done, message)

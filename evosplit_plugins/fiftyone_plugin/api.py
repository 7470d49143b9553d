"""The public functions: split, replay, audit and undo a split of a FiftyOne dataset or view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit.manifest import as_text
from evosplit.methods.base import Method
from evosplit.rng import Seed
from evosplit_plugins.audit import Audit
from evosplit_plugins.audit import audit as judge
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.adapter import FiftyOneAdapter, FiftyOneReading, FiftyOneWriting
from evosplit_plugins.fiftyone_plugin.exporting import export_subsets
from evosplit_plugins.fiftyone_plugin.reading import Units, choose_fields, count_labels, files_of_units, root_dataset
from evosplit_plugins.fiftyone_plugin.source import FiftyOneSource
from evosplit_plugins.fiftyone_plugin.writing import check_field, check_values, undo_split, units_of, write_split
from evosplit_plugins.files import PathLike
from evosplit_plugins.options import call_with
from evosplit_plugins.progress import OnProgress, Phases
from evosplit_plugins.request import Request
from evosplit_plugins.staging import Plan
from evosplit_plugins.walk import apply_with, split_with

__all__ = [
    "apply_split",
    "audit",
    "check_asked",
    "evosplit_fiftyone",
    "export_subsets",
    "judge_subsets",
    "read_counts",
    "refuse_values",
    "save_manifest",
    "undo_split",
]


@checked_keywords()
def evosplit_fiftyone(
    samples: Any,
    ratios: Mapping[str, float] | Sequence[float] | None = None,
    *,
    folds: int | None = None,
    label_field: str | Sequence[str] | None = None,
    field: str | None = None,
    overwrite: bool = False,
    keep_tags: bool = False,
    near_duplicates: Any = None,
    duplicate_threshold: float | None = None,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    group_copies: bool = True,
    stratify_by: str | Sequence[str] | None = None,
    locked: Mapping[str, Any] | Sequence[str] | None = None,
    method: str | Method = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
    pick: str | int = "balanced",
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Split:
    """Split a FiftyOne dataset or view and tag its samples with the subset they are in.

    Tags of the subsets' names are replaced, and so are those that earlier splits wrote; all other tags stay. The split
    is recorded on the dataset: the panel of the App shows it, `undo_split` takes it back.

    Parameters
    ----------
    samples
        A dataset or view. A video is one unit, and so is a group: all its slices get the same subset. Patches, clips
        and frames are split through their samples.
    ratios
        `{"train": 0.8, "val": 0.1, "test": 0.1}`, or a sequence (two: train, test; three: train, val, test); fractions
        that sum to 1, proportions (8, 1, 1), or exact sizes.
    folds
        The number of folds, instead of ratios; the subsets are called fold0, fold1, ...
    label_field
        The field or fields whose labels are spread, `frames.` before the name for frame labels; by default the most
        likely one. Of Segmentations the classes that a mask shows are the labels; a field with a string, or a list of
        strings, has labels too. An empty list asks for none: only what `stratify_by` names is balanced.
    field
        Write the subsets into this string field instead of tags; it is created if missing.
    overwrite
        Replace values that `field` has although EvoSplit did not write them.
    keep_tags
        Leave the tags of earlier splits with other names, as for folds of the training samples.
    near_duplicates
        Samples that are near duplicates never cross subsets either: the brain key of a similarity run, the index that
        `fiftyone.brain.compute_near_duplicates` returns, a mapping from sample ids to the ids of their duplicates (as
        `compute_exact_duplicates` returns it), or a field with the id of each sample's original. Duplicates of
        duplicates stay together too.
    duplicate_threshold
        The distance between embeddings up to which samples are near duplicates; by default that of the index's last
        `find_duplicates`, else 0.2 as in FiftyOne Brain.
    group_by
        A field or fields with strings, integers, ids or dates (a Classification counts by its label): samples with the
        same value never cross subsets. `filepath` means the folder of the file.
    group_regex
        Samples whose file paths match with the same text (of the first parentheses, if there are any) stay together.
    group_copies
        Keep samples of the same file path together, because they would leak from one subset into another; Roboflow's
        copies of one source are one picture.
    stratify_by
        Fields to balance beside the labels: strings, booleans, numbers (binned by quantiles), dates, Classifications,
        other label fields; "area" for class × box size (small, medium, large as in COCO, by pixels where the metadata
        tells width and height, else by the share of the picture).
    locked
        Samples that stay where they are, while the rest is split so that the whole comes out balanced; the ratios refer
        to the whole. The names of subsets whose tags (or values of `field`) samples carry already, or a mapping from
        subsets to a view, a tag, ids, or the path of a list or of a saved split.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs, seed
        As for `evosplit.split`.
    dry_run
        Only search: neither tags nor a record are written.
    on_progress
        Called with the fraction done and a message; returning False stops the search with the best split so far.

    Returns
    -------
    evosplit.Split
        The split that was written; its ids are sample ids (group ids in a grouped dataset).
    """
    given = locals()
    request = call_with(Request, given)
    check_asked(label_field, request)
    if field is not None and not overwrite:
        refuse_values(samples, field, request)
    outcome = split_with(
        FiftyOneAdapter(),
        [samples],
        request,
        reading=call_with(FiftyOneReading, given),
        writing=call_with(FiftyOneWriting, given),
        on_progress=on_progress,
    )
    return outcome.split


def check_asked(label_field: str | Sequence[str] | None, request: Request) -> None:
    """Refuse a split without labels that has nothing else to balance."""
    if label_field is not None and not label_field and not request.strata:
        raise EvoSplitError(
            "neither labels nor anything else is to be spread evenly; name label fields with label_field=, or what to "
            "balance with stratify_by="
        )


def refuse_values(samples: Any, field: str, request: Request) -> None:
    """Refuse, before the search, a field with values that EvoSplit did not write and that are not locked."""
    dataset = root_dataset(samples)
    check_field(dataset, field)
    if dataset.get_field(field) is not None and field not in runs.written_fields(dataset):
        units = list(dict.fromkeys(Units.of(samples).values([])[0]))
        check_values(dataset, units, field, list(request.locks))


@checked_keywords()
def read_counts(
    samples: Any, *, label_field: str | Sequence[str] | None = None, on_progress: OnProgress | None = None
) -> LabelCounts:
    """Count the labels of each sample of a dataset or view (of each group, in a grouped dataset).

    Parameters
    ----------
    samples
        A FiftyOne dataset or view; a view of patches, clips or frames counts for the samples it was cut from.
    label_field
        One or several fields with Classification(s), Detection(s), Polyline(s), Keypoint(s), TemporalDetection(s),
        Segmentation (the classes that a mask shows), a string or a list of strings; `frames.` before the name for frame
        labels. By default the most likely one; never one of the last three.
    on_progress
        Called with the fraction done and a message.
    """
    phases = Phases(on_progress, reading=1)
    paths = choose_fields(samples, label_field)
    counts = count_labels(samples, paths, None if on_progress is None else phases("reading"))
    phases.finish()
    return counts


@checked_keywords()
def apply_split(
    samples: Any,
    split: Split | PathLike,
    *,
    field: str | None = None,
    label_field: str | Sequence[str] | None = None,
    overwrite: bool = False,
    keep_tags: bool = False,
    on_progress: OnProgress | None = None,
) -> Split:
    """Write an existing split onto the samples, and record it.

    Parameters
    ----------
    samples
        The dataset or a view.
    split
        The path of a saved split, whichever adapter made it: samples are found by id, else by file name or path, and
        must be those that were split; otherwise the error says how they differ. Or a `Split`: one of this dataset is
        written to the samples that it knows, whatever the view shows.
    field, overwrite, keep_tags
        As for `evosplit_fiftyone`.
    label_field
        The fields whose labels were split, for the record and the report; by default those that the split names.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    evosplit.Split
        The split that was written.
    """
    dataset = root_dataset(samples)
    asked = None if label_field is None else tuple(choose_fields(samples, label_field))
    if isinstance(split, Split):
        members = units_of(dataset)
        if any(unit in members for unit in split.sample_ids.tolist()):
            phases = Phases(on_progress, writing=1)
            phases("writing")(0.0, "writing")
            known = split.source.get("reading", {}).get("label_field", ())
            write_split(
                dataset,
                split,
                field=field,
                label_fields=known if asked is None else asked,
                keep_tags=keep_tags,
                overwrite=overwrite,
                members=members,
            )
            phases.finish()
            return split
    reading: dict[str, Any] = {"field": field, "view": None}
    if asked is not None:
        reading["label_field"] = asked
    writing = FiftyOneWriting(overwrite=overwrite, keep_tags=keep_tags)
    return apply_with(
        FiftyOneAdapter(), [samples], split, reading=reading, writing=writing, on_progress=on_progress
    ).split


@checked_keywords()
def audit(
    samples: Any,
    *,
    names: Sequence[str] | None = None,
    field: str | None = None,
    label_field: str | Sequence[str] | None = None,
    near_duplicates: Any = None,
    duplicate_threshold: float | None = None,
    group_by: str | Sequence[str] | None = None,
    group_regex: str | None = None,
    same_bytes: bool = False,
    compare: bool = True,
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    seed: Seed = 0,
    on_progress: OnProgress | None = None,
) -> Audit:
    """Judge an existing split: how even it is, what leaks, and what EvoSplit would give instead.

    Parameters
    ----------
    samples
        A dataset or view; samples in no subset are left out.
    names
        The tags (or values of `field`) of the subsets; by default those of the latest recorded split, or all values of
        `field`, or the usual tags (train, val, test, ...) that there are.
    field
        The field that holds the subsets, instead of tags.
    label_field
        As for `read_counts`.
    near_duplicates, duplicate_threshold, group_by, group_regex
        What belongs together, as for `evosplit_fiftyone`; it leaks where subsets share it.
    same_bytes, compare, effort, time_limit, n_jobs, seed
        As for `evosplit_plugins.audit.audit`.
    on_progress
        Called with the fraction done and a message.
    """
    given = locals()
    _, judged = judge_subsets(samples, call_with(FiftyOneReading, given, tags=names), given)
    return judged


def judge_subsets(samples: Any, reading: FiftyOneReading, options: Mapping[str, Any]) -> tuple[FiftyOneSource, Audit]:
    """Judge existing subsets as `audit` does with these options, and also return the samples as read."""
    phases = Phases(options.get("on_progress"), reading=2, judging=8)
    source = FiftyOneAdapter().read_subsets([samples], reading, on_progress=phases("reading"))
    return cast("FiftyOneSource", source), call_with(judge, options, source=source, on_progress=phases("judging"))


@checked_keywords()
def save_manifest(samples: Any, path: PathLike, *, run_key: str | None = None) -> Split:
    """Write the manifest of a recorded split (by default the latest) to a file and return the split.

    Beside the ids it holds the file path of each sample, because another database gives other ids to the same files. A
    file that exists is replaced only if it is a manifest of the same dataset.
    """
    dataset = root_dataset(samples)
    split = runs.load_run(dataset, run_key).split
    file_of_unit = files_of_units(dataset)
    split = replace(split, file_names=tuple(file_of_unit.get(unit) for unit in split.sample_ids.tolist()))
    target = Path(path)
    with Plan(None, manifests=[target], source=split.source).stage() as stage:
        stage.write(target, as_text(split.to_manifest()))
        stage.commit()
    return split

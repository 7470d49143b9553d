"""The verbs of the COCO door: count, split and write, replay, audit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit_plugins.coco.conditions import Conditions, file_names
from evosplit_plugins.coco.dataset import CocoData, Source, as_paths, read_coco
from evosplit_plugins.coco.ids import first_few
from evosplit_plugins.coco.output import Outcome, Output, WriteOptions
from evosplit_plugins.coco.reading import ImageName, OnProgress
from evosplit_plugins.matching import copies_together, find_samples, picture_of, plain_path, replayed

__all__ = [
    "DEFAULT_NAMES",
    "apply_split",
    "audit",
    "evosplit_coco",
    "read_counts",
    "replay",
    "resplit",
]

DEFAULT_NAMES = {2: ("train", "val"), 3: ("train", "val", "test")}
_READING = ("having_annotations", "count_crowd", "drop_orphans", "coerce_ids", "reassign_ids")


def read_counts(source: Source, **options: Any) -> LabelCounts:
    """Count the annotations of each category in each image.

    Parameters
    ----------
    source
        One annotation file or several, plain or gzip.
    **options
        `having_annotations`, `count_crowd`, `drop_orphans`, `coerce_ids` and `reassign_ids`, as for
        `evosplit_coco`.

    Returns
    -------
    LabelCounts
        One row per image with the image ids, one column per category with its name.
    """
    return read_coco(source, **options).counts


@checked_keywords(evosplit.split)
def evosplit_coco(
    inputs: Source,
    output_dir: str | os.PathLike[str],
    ratios: Mapping[str, float] | Sequence[float] | None = None,
    *,
    folds: int | None = None,
    having_annotations: bool = False,
    count_crowd: bool = True,
    drop_orphans: bool = False,
    coerce_ids: bool = False,
    reassign_ids: bool = False,
    group_by: str | None = None,
    group_regex: str | None = None,
    lock: Mapping[str, Source] | None = None,
    match: str = "id",
    stratify_by: str | Sequence[str] = (),
    group_copies: bool = True,
    layout: str = "coco",
    images: str = "none",
    image_root: Source | None = None,
    train_files: bool = False,
    gzip: bool = False,
    report: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Split:
    """Split COCO annotation files into new ones, each image and annotation byte-identical to the input.

    Parameters
    ----------
    inputs
        One annotation file or several (instances, keypoints, panoptic, LVIS, stuff; plain or gzip). Several
        are merged; they must have the same categories and no image id in common.
    output_dir
        Where the subsets go, with `split.json` beside them, from which `apply_split` replays the split.
    ratios
        A mapping from subset names to ratios, or a sequence (two: train, val; three: train, val, test).
        Fractions sum to 1; whole numbers are exact sizes if they sum to the number of images, else proportions.
    folds
        Make that many folds of equal size instead.
    having_annotations
        Leave out images without annotations.
    count_crowd
        Whether crowd annotations count as instances; they are written in any case.
    drop_orphans
        Leave out annotations of unknown images or categories instead of refusing them.
    coerce_ids
        Read and write ids such as "7" and 7.0 as 7.
    reassign_ids
        Give annotations whose id is taken a new one.
    group_by
        Keep images together that have the same value in this field, such as "video_id", with dots into
        objects ("meta.patient"). An image without it is on its own.
    group_regex
        Keep images together whose file names match with the same text: that of the first parentheses, if
        there are any (`r"^(.+)_frame"`). An image that does not match is on its own.
    lock
        Images that are already placed, as annotation files by subset: `{"test": "old_test.json"}`. They stay
        there, and the others are placed so that the whole comes out balanced.
    match
        Whether the images of these files are found by "id" or by "file_name".
    stratify_by
        What to balance beside the categories: image fields (texts, booleans, numbers; dotted as above), and
        "area" for the small, medium and large instances of each category.
    group_copies
        Keep images of the same file name together (`./x.jpg` is `x.jpg`, and Roboflow's copies of one source are one
        picture), because they would leak from one subset into another.
    layout
        "coco" (annotations/instances_train.json), "roboflow" (train/_annotations.coco.json, with val called
        valid) or "lists" (train.txt with a line ./images/name for each image, as Ultralytics reads them).
    images
        "none", or put the images into the layout too: "symlink", "hardlink" or "copy".
    image_root
        The folder of the images: one for all inputs, or one for each.
    train_files
        With folds, also write the complement of each.
    gzip
        Compress the annotation files.
    report
        Also write the report as an HTML page there.
    overwrite
        Replace what an earlier run wrote into `output_dir`, all of it; never an input, nor a file that EvoSplit did
        not write or that was changed since.
    dry_run
        Do everything but write; only the page of `report` is written.
    on_progress
        Called with the fraction done (from 0 to 1 for reading, for searching and for writing) and a message.
    **options
        Passed to `evosplit.split` or `evosplit.kfold`: `seed`, `effort`, `method`, `pick`, `cover`,
        `min_per_label`, `label_weights`, ...

    Returns
    -------
    Split
        The split; `print(split.report())` shows how good it is.
    """
    return resplit(
        inputs,
        output_dir,
        ratios,
        folds=folds,
        reading={
            "having_annotations": having_annotations,
            "count_crowd": count_crowd,
            "drop_orphans": drop_orphans,
            "coerce_ids": coerce_ids,
            "reassign_ids": reassign_ids,
        },
        conditions=Conditions(group_by, group_regex, lock or {}, match, stratify_by, group_copies),
        writing=WriteOptions(layout, images, image_root, train_files, gzip, report, overwrite, dry_run),
        on_progress=on_progress,
        **options,
    ).split


def resplit(
    inputs: Source,
    output_dir: str | os.PathLike[str],
    ratios: Mapping[str, float] | Sequence[float] | None,
    *,
    folds: int | None,
    reading: Mapping[str, bool],
    conditions: Conditions,
    writing: WriteOptions,
    on_progress: OnProgress | None,
    **options: Any,
) -> Outcome:
    """Do what `evosplit_coco` does, and tell which files were written."""
    if (ratios is None) == (folds is None):
        raise EvoSplitError("give ratios, for example {'train': 0.8, 'val': 0.2}, or folds, for example 5")
    if folds is not None and (not isinstance(folds, int) or folds < 2):
        raise EvoSplitError(f"{folds!r} folds make no split; give an integer of at least 2")
    asked: dict[str, Any] = {"folds": folds} if folds is not None else {"ratios": _named(ratios)}
    names = [f"fold{fold}" for fold in range(folds)] if folds is not None else list(asked["ratios"])
    conditions.check_subsets(names)
    data = read_coco(inputs, **reading, areas=conditions.needs_areas, on_progress=on_progress)
    resolved, notes = conditions.resolve(data, on_progress)
    for name in resolved:
        if options.get(name) is not None:
            raise EvoSplitError(f"{name}= is given and also read from the files; pass one of them")
    options |= resolved
    files = file_names(data)
    if conditions.group_copies:
        pictures = [None if name is None else picture_of(name) for name in files]
        options["groups"], said = copies_together(
            options.get("groups"), pictures, options.get("locked"), options.get("method", "evosplit")
        )
        notes += said
    locks = [path for _, path in conditions.lock_files]
    output = Output(data, Path(output_dir), names, writing, folds=folds is not None, others=locks)
    output.check()
    if folds is not None:
        split = evosplit.kfold(data.counts, folds, on_progress=on_progress, **options)
    else:
        split = evosplit.split(data.counts, asked["ratios"], on_progress=on_progress, **options)
    split = replace(
        split,
        notes=(*split.notes, *notes),
        settings={**split.settings, **asked, **conditions.recorded()},
        file_names=tuple(files) if any(files) else None,
        source=_source_of(data),
    )
    return output.write(split, {}, on_progress)


def _named(ratios: Any) -> Mapping[str, float]:
    """Name the ratios of a sequence."""
    if isinstance(ratios, Mapping):
        return ratios
    if isinstance(ratios, (str, bytes)) or not hasattr(ratios, "__len__"):
        raise EvoSplitError(
            f"ratios={ratios!r} name no subsets; pass for example {{'train': 0.8, 'val': 0.2}} or (0.8, 0.2)"
        )
    names = DEFAULT_NAMES.get(len(ratios), tuple(f"subset{j}" for j in range(len(ratios))))
    return dict(zip(names, ratios, strict=True))


def _source_of(data: CocoData) -> dict[str, Any]:
    """Tell where the images came from, as the manifest keeps it."""
    return {"adapter": "coco", "inputs": [file.path.name for file in data.files], "reading": dict(data.settings)}


def apply_split(
    source: Source | CocoData,
    split: Split | str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    *,
    layout: str = "coco",
    images: str = "none",
    image_root: Source | None = None,
    train_files: bool = False,
    gzip: bool = False,
    report: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
    **reading: bool,
) -> list[Path]:
    """Write the subsets of a split made before: of the same file, or of another one with the same images.

    So captions, keypoints or panoptic files get the same subsets as the instances.

    Parameters
    ----------
    source
        One annotation file or several, with exactly the images of the split, known by their ids or file names; or what
        `read_coco` returned.
    split
        The split, or the path of its manifest `split.json`, which also knows how the files were read.
    output_dir, layout, images, image_root, train_files, gzip, report, overwrite, dry_run, on_progress
        As for `evosplit_coco`.
    **reading
        `having_annotations`, `count_crowd`, `drop_orphans`, `coerce_ids` and `reassign_ids`, as for
        `evosplit_coco`.

    Returns
    -------
    list of Path
        The files written.
    """
    writing = WriteOptions(layout, images, image_root, train_files, gzip, report, overwrite, dry_run)
    done = replay(source, split, output_dir, reading=reading, writing=writing, on_progress=on_progress)
    return list(done.files)


def replay(
    source: Source | CocoData,
    split: Split | str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    *,
    reading: Mapping[str, bool],
    writing: WriteOptions,
    on_progress: OnProgress | None,
) -> Outcome:
    """Do what `apply_split` does, and return the split as it applies to the files."""
    manifest: Path | None = None
    if not isinstance(split, Split):
        manifest = Path(split)
        split = Split.load(manifest)
    known = split.source.get("reading") if split.source.get("adapter") == "coco" else None
    recorded = {key: known[key] for key in _READING if isinstance(known.get(key), bool)} if known else {}
    if isinstance(source, CocoData):
        data = source
    else:
        data = read_coco(source, **{**recorded, **reading}, need_labels=False, on_progress=on_progress)
    if split.counts is not data.counts:
        where = ", ".join(file.path.name for file in data.files)
        files = file_names(data)
        found = find_samples(split, {"image id": data.counts.ids.tolist()}, files, where=where)
        split = replayed(
            split,
            found,
            data.counts.ids,
            counts=data.counts if data.has_labels else None,
            file_names=tuple(files) if any(files) else None,
            source=_source_of(data),
        )
    output = Output(data, Path(output_dir), split.names, writing, folds=split.is_kfold, manifest=manifest)
    output.check()
    return output.write(split, {}, on_progress)


def audit(
    inputs: Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]],
    *,
    on_progress: OnProgress | None = None,
    **reading: bool,
) -> Split:
    """Measure subsets that already exist: `print(audit(...).report())` sets them beside random ones.

    Parameters
    ----------
    inputs
        The annotation files of the subsets, or a mapping from subset names to them.
    on_progress
        Called with the fraction done, from 0 to 1 for each file, and a message.
    **reading
        `count_crowd`, `drop_orphans`, ..., as for `evosplit_coco`.

    Returns
    -------
    Split
        The split that the files make; its sample ids are row numbers, since each file may number anew.
    """
    paths = as_paths(list(inputs.values()) if isinstance(inputs, Mapping) else inputs)
    if len(paths) < 2:
        raise EvoSplitError("an audit compares subsets; pass two annotation files or more, such as train and val")
    names = tuple(inputs) if isinstance(inputs, Mapping) else subset_names(paths)
    data = read_coco(paths, **reading, numbered=True, on_progress=on_progress)
    assignment = np.empty(data.counts.n_samples, dtype=np.int64)
    for subset, rows in enumerate(data.image_rows):
        assignment[rows[rows >= 0]] = subset
    sizes = tuple(int(size) for size in np.bincount(assignment, minlength=len(names)))
    return Split(
        names=names,
        assignment=assignment,
        sample_ids=data.counts.ids,
        target_sizes=sizes,
        settings={"method": "as found"},
        notes=tuple(_leaks(data, names)),
        counts=data.counts,
    )


def subset_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name subsets after their files, or after the folders where all files have the same name.

    Examples
    --------
    >>> subset_names([Path("annotations/instances_train.json"), Path("annotations/instances_val.json.gz")])
    ('train', 'val')
    >>> subset_names([Path("train/_annotations.coco.json"), Path("valid/_annotations.coco.json")])
    ('train', 'valid')
    >>> subset_names([Path("fold0/valid/_annotations.coco.json"), Path("fold1/valid/_annotations.coco.json")])
    ('fold0', 'fold1')
    """
    stems = [path.name.removesuffix(".gz").removesuffix(".json") for path in paths]
    folders = [path.absolute().parent for path in paths]
    while len(set(stems)) == 1 and len(paths) > 1 and all(folder.name for folder in folders):
        stems, folders = [folder.name for folder in folders], [folder.parent for folder in folders]
    words = [stem.split("_") for stem in stems]
    while len({parts[0] for parts in words}) == 1 and all(len(parts) > 1 for parts in words):
        words = [parts[1:] for parts in words]
    names = ["_".join(parts) for parts in words]
    return tuple(names if len(set(names)) == len(names) else map(str, paths))


def _leaks(data: CocoData, names: Sequence[str]) -> Iterator[str]:
    """Say which subsets share images: the same file name, or the same id where there are no names."""
    seen: dict[Any, int] = {}
    shared: dict[tuple[int, int], list[str]] = {}
    for subset, file in enumerate(data.files):
        for image, own in zip(file.image_fields(ImageName), file.image_ids, strict=True):
            key = plain_path(image.file_name) if isinstance(image.file_name, str) else own
            earlier = seen.setdefault(key, subset)
            if earlier != subset:
                shared.setdefault((earlier, subset), []).append(str(key))
    for (earlier, later), keys in shared.items():
        yield f"{names[earlier]} and {names[later]} share {len(keys)} images: {first_few(keys, len(keys))}."

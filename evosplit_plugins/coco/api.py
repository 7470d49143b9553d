"""COCO files from Python: count, split and write, replay, audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evosplit import LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit.methods.base import Method
from evosplit.rng import Seed
from evosplit_plugins.audit import Audit
from evosplit_plugins.audit import audit as judge
from evosplit_plugins.calls import apply_as_called, audit_as_called, count_as_called, split_as_called
from evosplit_plugins.coco.adapter import CocoAdapter, CocoReading, read_divided
from evosplit_plugins.files import PathLike, Paths, as_paths, as_texts
from evosplit_plugins.options import call_with
from evosplit_plugins.progress import OnProgress, Phases

__all__ = ["apply_split", "audit", "evosplit_coco", "read_counts"]


@checked_keywords()
def read_counts(
    inputs: Paths,
    *,
    having_annotations: bool = False,
    count_crowd: bool = True,
    drop_orphans: bool = False,
    coerce_ids: bool = False,
    reassign_ids: bool = False,
    on_progress: OnProgress | None = None,
) -> LabelCounts:
    """Count the annotations of each category in each image.

    Parameters
    ----------
    inputs
        One annotation file or several, plain or gzip; or a folder that holds one for each subset.
    having_annotations, count_crowd, drop_orphans, coerce_ids, reassign_ids
        As for `evosplit_coco`.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    LabelCounts
        One row per image with the image ids, one column per category with its name.
    """
    return count_as_called(CocoAdapter(), as_texts(inputs), locals())


@checked_keywords()
def evosplit_coco(
    inputs: Paths,
    output: PathLike,
    ratios: Mapping[str, float] | Sequence[float] | None = None,
    *,
    folds: int | None = None,
    having_annotations: bool = False,
    count_crowd: bool = True,
    drop_orphans: bool = False,
    coerce_ids: bool = False,
    reassign_ids: bool = False,
    image_root: Paths | None = None,
    layout: str = "coco",
    images: str = "none",
    polygons: bool = False,
    train_files: bool = False,
    gzip: bool = False,
    report: PathLike | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
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
    on_progress: OnProgress | None = None,
) -> Split:
    """Split COCO annotation files into new ones, each image and annotation byte-identical to the input.

    Parameters
    ----------
    inputs
        One annotation file or several (instances, keypoints, panoptic, LVIS, stuff; plain or gzip), or a folder that
        holds one for each subset. Several are merged; they must have the same categories and no image id in common.
    output
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
        Leave out annotations of unknown images or categories instead of refusing them. Panoptic segments of an unknown
        category are then not counted; their annotation stays.
    coerce_ids
        Read and write ids such as "7" and 7.0 as 7.
    reassign_ids
        Give annotations whose id is taken, or is not valid, a new one above the largest.
    image_root
        The folder of the images, from which they are linked or copied: one for all inputs, or one for each.
    layout
        "coco" (annotations/instances_train.json), "roboflow" (train/_annotations.coco.json, with val called
        valid) or "yolo" (images/train, labels/train and data.yaml, as Ultralytics trains on them).
    images
        "none", or put the images into the layout too: "symlink", "hardlink" or "copy".
    polygons
        With layout "yolo", write polygons instead of boxes.
    train_files
        With folds, also write the complement of each.
    gzip
        Compress the annotation files.
    report
        Also write the report as an HTML page there.
    overwrite
        Replace what an earlier run wrote into `output`, all of it; never an input, nor a file that EvoSplit did
        not write or that was changed since.
    dry_run
        Do everything but write; only the page of `report` is written.
    group_by
        Keep images together that have the same value in this field, or in one of these, such as "video_id", with dots
        into objects ("meta.patient"). An image without it is on its own.
    group_regex
        Keep images together whose file names match with the same text: that of the first parentheses, if
        there are any (`r"^(.+)_frame"`). An image that does not match is on its own.
    group_copies
        Keep images of the same file name together (`./x.jpg` is `x.jpg`, and Roboflow's copies of one source are one
        picture), because they would leak from one subset into another.
    stratify_by
        What to balance beside the categories: image fields (texts, booleans, numbers; dotted as above), and
        "area" for the small, medium and large instances of each category.
    locked
        Images that are already placed; the others are placed so that the whole comes out balanced. A mapping from
        subset names to an annotation file (`{"test": "old_test.json"}`), several, a list of file names in a text file,
        a saved split, or ids; images are found by file name where both sides have them, else by id. Or the names of
        inputs: with `["val.json", "new.json"]` as inputs, `["val"]` keeps the images of the first in that subset.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs, seed
        As for `evosplit.split`.
    on_progress
        Called with the fraction done and a message; returning False stops with the best split so far.

    Returns
    -------
    Split
        The split; `print(split.report())` shows how good it is.
    """
    return split_as_called(CocoAdapter(), as_texts(inputs), locals()).split


@checked_keywords()
def apply_split(
    inputs: Paths,
    split: Split | PathLike,
    output: PathLike,
    *,
    having_annotations: bool | None = None,
    count_crowd: bool | None = None,
    drop_orphans: bool | None = None,
    coerce_ids: bool | None = None,
    reassign_ids: bool | None = None,
    image_root: Paths | None = None,
    layout: str = "coco",
    images: str = "none",
    polygons: bool = False,
    train_files: bool = False,
    gzip: bool = False,
    report: PathLike | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Split:
    """Write the subsets of an existing split: of the same file, or of another one with the same images.

    So captions, keypoints or panoptic files get the same subsets as the instances.

    Parameters
    ----------
    inputs
        One annotation file or several, with exactly the images of the split, known by their ids or file names.
    split
        The split, or the path of its manifest `split.json`, whichever adapter wrote it.
    output, image_root, layout, images, polygons, train_files, gzip, report, overwrite, dry_run, on_progress
        As for `evosplit_coco`.
    having_annotations, count_crowd, drop_orphans, coerce_ids, reassign_ids
        As for `evosplit_coco`; None means as when the split was made.

    Returns
    -------
    Split
        The split of these images, in their order.
    """
    return apply_as_called(CocoAdapter(), as_texts(inputs), locals()).split


@checked_keywords()
def audit(
    inputs: Paths | Mapping[str, PathLike],
    *,
    having_annotations: bool = False,
    count_crowd: bool = True,
    drop_orphans: bool = False,
    coerce_ids: bool = False,
    reassign_ids: bool = False,
    image_root: Paths | None = None,
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
    """Judge existing subsets: how even they are, what leaks, and what EvoSplit would give at the same sizes.

    Parameters
    ----------
    inputs
        The annotation files of the subsets, or a mapping from subset names to them; a folder that holds them; or lists
        of images (.txt) with the annotation files that have their labels.
    having_annotations, count_crowd, drop_orphans, coerce_ids, reassign_ids
        As for `evosplit_coco`.
    image_root, same_bytes
        Also compare the content of the image files below this folder, or one folder for each annotation file.
    group_by, group_regex
        What belongs together and leaks where it does not, as for `evosplit_coco`.
    compare
        Whether to make a split of the same sizes with EvoSplit for comparison.
    effort, time_limit, n_jobs, seed
        Of that split, as for `evosplit.split`.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    Audit
        The leaks, the report, a verdict, and the split that EvoSplit makes.
    """
    given = locals()
    if not isinstance(inputs, Mapping):
        return audit_as_called(CocoAdapter(), as_texts(inputs), given)
    phases = Phases(on_progress, reading=2, judging=8)
    files = as_paths(list(inputs.values()))
    source = read_divided(tuple(inputs), files, call_with(CocoReading, given), phases("reading"))
    return call_with(judge, given, source=source, on_progress=phases("judging"))

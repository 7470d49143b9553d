"""YOLO data sets from Python: count, split and write, replay, audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evosplit import LabelCounts, Split
from evosplit.errors import checked_keywords
from evosplit.methods.base import Method
from evosplit.rng import Seed
from evosplit_plugins.audit import Audit
from evosplit_plugins.calls import apply_as_called, audit_as_called, count_as_called, split_as_called
from evosplit_plugins.files import PathLike, Paths, as_texts
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.yolo.adapter import YoloAdapter

__all__ = ["apply_split", "audit", "evosplit_yolo", "read_counts"]


@checked_keywords()
def read_counts(
    data: Paths,
    *,
    root: PathLike | None = None,
    names: PathLike | None = None,
    drop_bad: bool = False,
    having_annotations: bool = False,
    on_progress: OnProgress | None = None,
) -> LabelCounts:
    r"""Count the labels of each class in each image; equal lines count once, as Ultralytics takes them.

    Parameters
    ----------
    data, root, names, drop_bad, having_annotations
        As for `evosplit_yolo`.
    on_progress
        Called with the fraction done and a message.

    Returns
    -------
    LabelCounts
        One row per image with its path below the folder of the data set, one column per class with its name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("images", "labels"):
    ...         Path(folder, name).mkdir()
    ...     _ = Path(folder, "images", "a.jpg").write_bytes(b"")
    ...     _ = Path(folder, "labels", "a.txt").write_text("1 0.5 0.5 0.1 0.1\n1 0.2 0.2 0.1 0.1\n")
    ...     _ = Path(folder, "data.yaml").write_text("train: images\nval: images\nnames: [cat, dog]\n")
    ...     counts = read_counts(folder)
    >>> counts.ids.tolist(), counts.labels, counts.matrix.toarray().tolist()
    (['images/a.jpg'], ('cat', 'dog'), [[0, 2]])
    """
    return count_as_called(YoloAdapter(), as_texts(data), locals())


@checked_keywords()
def evosplit_yolo(
    data: Paths,
    output: PathLike,
    ratios: Mapping[str, float] | Sequence[float] | None = None,
    *,
    folds: int | None = None,
    root: PathLike | None = None,
    names: PathLike | None = None,
    drop_bad: bool = False,
    having_annotations: bool = False,
    layout: str | None = None,
    images: str | None = None,
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
    """Split a YOLO data set and write what Ultralytics trains on; no image is opened, and none is moved.

    Parameters
    ----------
    data
        A data.yaml, the folder of a data set (Ultralytics, Roboflow, CVAT, Datumaro, Darknet, folders of classes), an
        obj.data, an .ndjson file, or lists of images. Existing subsets are joined and split again.
    output
        Where the subsets go, with `split.json` beside them, from which `apply_split` replays the split. If the images
        lie below it, the lists name them from there; otherwise with their whole paths.
    ratios
        A mapping from subset names to ratios, or a sequence (two: train, val; three: train, val, test).
        Fractions sum to 1; whole numbers are exact sizes if they sum to the number of images, else proportions.
    folds
        Make that many folds of equal size instead, with a yaml file for each.
    root
        The folder of the data set, if the one in the yaml file does not exist.
    names
        A file with the names of the classes, one in each line; or a yaml file that has them.
    drop_bad
        Leave out images whose label files Ultralytics would reject, instead of refusing them.
    having_annotations
        Leave out images without labels. They are kept and balanced otherwise.
    layout
        "lists" (train.txt, ... and data.yaml; the images stay where they are), "tree" (images/train and labels/train)
        or "roboflow" (train/images and train/labels, with val called valid). None is "lists", and "tree" for folders
        of classes, which Ultralytics reads in no other way. The yaml file keeps all keys and comments except for
        `path`, `download` and the old subsets.
    images
        How images and labels are put into a tree: "symlink" (the default), "hardlink" or "copy".
    report
        Also write the report as an HTML page there.
    overwrite
        Replace what an earlier run wrote into `output`, all of it; never an input, nor a file that EvoSplit did
        not write or that was changed since.
    dry_run
        Do everything but write; only the page of `report` is written.
    group_by
        "folder" keeps the images of each folder together.
    group_regex
        Keep images together whose paths match with the same text: that of the first parentheses, if there are any
        (`"(clip[0-9]+)_"`). An image that does not match is on its own.
    group_copies
        Keep Roboflow's copies of one source (`x_jpg.rf.<hash>.jpg`) together, because they would leak from one subset
        into another.
    stratify_by
        What to balance beside the classes: "folder", and "area" for the small, medium and large boxes of each class, as
        COCO tells them apart, in an image of 640 × 640 pixels.
    locked
        Images that are already placed; the others are placed so that the whole comes out balanced. A mapping from
        subset names to a list of images in a text file, a saved split, or ids; or the names of subsets that the data
        has: `["test"]` keeps the images that are in `test` there.
    method, objectives, cover, min_per_label, label_weights, pick, effort, time_limit, n_jobs, seed
        As for `evosplit.split`.
    on_progress
        Called with the fraction done and a message; returning False stops with the best split so far.

    Returns
    -------
    Split
        The split; `print(split.report())` shows how good it is.
    """
    return split_as_called(YoloAdapter(), as_texts(data), locals()).split


@checked_keywords()
def apply_split(
    data: Paths,
    split: Split | PathLike,
    output: PathLike,
    *,
    root: PathLike | None = None,
    names: PathLike | None = None,
    drop_bad: bool | None = None,
    having_annotations: bool | None = None,
    layout: str | None = None,
    images: str | None = None,
    report: PathLike | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
) -> Split:
    """Write the subsets of an existing split, whichever adapter made it.

    Parameters
    ----------
    data
        The data set, with exactly the images of the split, known by their paths or names.
    split
        The split, or the path of its manifest `split.json`.
    output, root, names, layout, images, report, overwrite, dry_run, on_progress
        As for `evosplit_yolo`.
    drop_bad, having_annotations
        As for `evosplit_yolo`; None means as when the split was made.

    Returns
    -------
    Split
        The split of these images, in their order.
    """
    return apply_as_called(YoloAdapter(), as_texts(data), locals()).split


@checked_keywords()
def audit(
    data: Paths,
    *,
    root: PathLike | None = None,
    names: PathLike | None = None,
    drop_bad: bool = False,
    having_annotations: bool = False,
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
    data
        A data set that is divided into subsets.
    root, names, drop_bad, having_annotations
        As for `evosplit_yolo`.
    group_by, group_regex
        What belongs together and leaks where it does not, as for `evosplit_yolo`.
    same_bytes
        Also compare the content of the image files.
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
    return audit_as_called(YoloAdapter(), as_texts(data), locals())

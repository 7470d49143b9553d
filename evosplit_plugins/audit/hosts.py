"""Subsets that the hosts hold: COCO files, a DatasetDict, tags or a field of a FiftyOne dataset."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.audit.leaks import (
    COMPARING,
    CONTENT,
    SOURCE_PICTURE,
    OnProgress,
    same_contents,
    source_pictures,
)
from evosplit_plugins.audit.result import Found
from evosplit_plugins.audit.sources import PathLike, image_roots
from evosplit_plugins.matching import plain_path

__all__ = ["from_coco", "from_fiftyone", "from_hf", "from_lists"]

_USUAL_TAGS = ("train", "training", "val", "valid", "validation", "test", "testing")
_ROWS_AT_ONCE = 100


def from_coco(
    inputs: Sequence[PathLike] | Mapping[str, PathLike],
    *,
    group_by: str | None = None,
    group_regex: str | None = None,
    image_root: PathLike | Sequence[PathLike] | None = None,
    same_bytes: bool = False,
    on_progress: OnProgress | None = None,
    **reading: bool,
) -> Found:
    """Read subsets from COCO files, one for each.

    Parameters
    ----------
    inputs
        The annotation files, or a mapping from subset names to them.
    group_by, group_regex
        The field of the images that names their group, or what to find in their file names.
    image_root, same_bytes
        Also compare the content of the image files below this folder, or one folder for each annotation file.
    on_progress
        Called with the fraction done, from 0 to 1 for each file, and a message.
    **reading
        `count_crowd`, `drop_orphans`, `coerce_ids`, as for `evosplit_coco`.
    """
    from evosplit_plugins.coco.conditions import Conditions, group_values
    from evosplit_plugins.coco.dataset import as_paths, read_coco
    from evosplit_plugins.coco.door import subset_names

    Conditions(group_by, group_regex)  # refuses what cannot be before anything is read
    paths = as_paths(list(inputs.values()) if isinstance(inputs, Mapping) else inputs)
    if len(paths) < 2:
        raise EvoSplitError(
            f"an audit compares subsets, but {paths[0]} is one file; give two annotation files or more, "
            "such as train and val"
        )
    names = tuple(inputs) if isinstance(inputs, Mapping) else subset_names(paths)
    data = read_coco(paths, **reading, numbered=True, on_progress=on_progress)
    assignment = np.empty(data.counts.n_samples, dtype=np.int64)
    files: list[Any] = [None] * data.counts.n_samples
    ids: list[Any] = [None] * data.counts.n_samples
    for subset, (file, rows) in enumerate(zip(data.files, data.image_rows, strict=True)):
        assignment[rows[rows >= 0]] = subset
        images = zip(rows.tolist(), file.image_values("file_name"), file.image_ids, strict=True)
        for row, name, own in images:
            if row >= 0:
                files[row] = plain_path(name) if isinstance(name, str) else None
                ids[row] = None if isinstance(name, str) else own  # files may number their images each anew
    named = (("file name", files), (SOURCE_PICTURE, source_pictures(files)), ("id", ids))
    keys = {kind: values for kind, values in named if any(value is not None for value in values)}
    if same_bytes:
        roots = image_roots(image_root, len(paths))
        places = zip(assignment.tolist(), files, ids, strict=True)
        keys[CONTENT] = same_contents([roots[subset] / (name or str(own)) for subset, name, own in places], on_progress)
    grouped = group_by is not None or group_regex is not None
    return Found(
        names=names,
        assignment=assignment,
        counts=data.counts,
        keys=keys,
        groups=group_values(data, group_by, group_regex) if grouped else None,
        settings={"source": ", ".join(file.path.name for file in data.files)},
    )


def from_lists(
    lists: Sequence[PathLike],
    annotations: Sequence[PathLike],
    *,
    group_by: str | None = None,
    group_regex: str | None = None,
    on_progress: OnProgress | None = None,
    **reading: bool,
) -> Found:
    """Read subsets from lists of images, one for each, as `evosplit coco split` with the layout "lists" writes them.

    Parameters
    ----------
    lists
        Text files with the path of an image in each line.
    annotations
        The annotation files of these images, which have their labels.
    group_by, group_regex, on_progress, **reading
        As for `from_coco`.
    """
    from evosplit_plugins.coco.conditions import Conditions, file_names, group_values
    from evosplit_plugins.coco.dataset import read_coco

    Conditions(group_by, group_regex)
    if not annotations:
        raise EvoSplitError(
            f"{lists[0]} lists images without their labels; add the annotation file that was split, "
            "such as instances.json"
        )
    data = read_coco(annotations, **reading, on_progress=on_progress)
    row_of = {plain_path(name): row for row, name in enumerate(file_names(data)) if name is not None}
    rows: list[int] = []
    assignment: list[int] = []
    unknown: list[str] = []
    for subset, path in enumerate(lists):
        for line in filter(None, map(str.strip, _text(Path(path)).splitlines())):
            parts = plain_path(line).split("/")
            row = next((row_of[end] for n in range(len(parts)) if (end := "/".join(parts[n:])) in row_of), None)
            if row is None:
                unknown.append(line)
            else:
                rows.append(row)
                assignment.append(subset)
    if unknown:
        raise EvoSplitError(
            f"{len(unknown)} listed images are not in the annotation files, the first is {unknown[0]}; "
            "give the annotation files that were split"
        )
    files = [plain_path(name) if name is not None else None for name in file_names(data)]
    listed = [files[row] for row in rows]
    keys = {"file name": listed, SOURCE_PICTURE: source_pictures(listed)}
    groups = group_values(data, group_by, group_regex) if group_by is not None or group_regex is not None else None
    left_out = data.counts.n_samples - len(set(rows))
    return Found(
        names=tuple(Path(path).stem for path in lists),
        assignment=np.array(assignment, dtype=np.int64),
        counts=LabelCounts(data.counts.matrix[rows], labels=data.counts.labels),
        keys={kind: values for kind, values in keys.items() if any(values)},
        groups=None if groups is None else [groups[row] for row in rows],
        settings={"source": ", ".join(Path(path).name for path in lists)},
        notes=(f"{left_out} images in none of the lists were left out.",) if left_out else (),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EvoSplitError(f"cannot read the list {path}: {error}") from error


def from_hf(
    ds: Any,
    label_column: str | Sequence[str] | None = None,
    *,
    key: str | None = None,
    group_by: str | None = None,
    same_bytes: bool = False,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
    on_progress: OnProgress | None = None,
) -> Found:
    """Read the splits of a DatasetDict.

    Parameters
    ----------
    ds
        The `DatasetDict`.
    label_column, multi_hot, threshold, delimiter
        As for `evosplit_hf`.
    key
        The column that tells the rows apart; by default one with a usual name, such as `file_name` or `image_id`,
        unless it numbers the rows of each split anew.
    group_by
        The column that names the group of each row, with dots into structs.
    same_bytes
        Also compare the content of the pictures.
    on_progress
        Called with the fraction of the pictures compared and a message.
    """
    from evosplit_plugins.hf.conditions import column_groups
    from evosplit_plugins.hf.door import audit as hf_audit
    from evosplit_plugins.hf.source import merged

    split = hf_audit(ds, label_column, multi_hot=multi_hot, threshold=threshold, delimiter=delimiter)
    if split.counts is None:
        raise EvoSplitError("the splits carry no label counts")
    rows = merged(ds)
    keys: dict[str, Sequence[Any]] = {}
    notes = list(split.notes)
    chosen = key if key is not None else _telling_column(rows, split.assignment, len(split.names))
    if chosen is not None:
        keys[chosen] = _values(rows, chosen)
        sources = source_pictures(keys[chosen])
        if any(sources):
            keys[SOURCE_PICTURE] = sources
        if key is None:
            notes.append(f"Rows are told apart by column {chosen!r}.")
    if same_bytes:
        keys[CONTENT] = _contents(rows, [split.names[subset] for subset in split.assignment.tolist()], on_progress)
    return Found(
        names=split.names,
        assignment=split.assignment,
        counts=split.counts,
        keys=keys,
        groups=None if group_by is None else list(column_groups(rows, group_by)),
        settings=split.settings,
        notes=tuple(notes),
    )


def _values(rows: Any, column: str) -> list[Any]:
    """Read the values of a column, which are integers or strings."""
    if column not in rows.column_names:
        raise EvoSplitError(f"there is no column {column!r}; the columns are {', '.join(map(repr, rows.column_names))}")
    values: list[Any] = rows.select_columns([column]).with_format("arrow")[:].column(column).to_pylist()
    wrong = next((value for value in values if value is not None and not isinstance(value, (int, str))), None)
    if wrong is not None:
        raise EvoSplitError(f"the column {column!r} holds {str(wrong)[:40]}; name one with integers or strings")
    return values


def _telling_column(rows: Any, assignment: Any, k: int) -> str | None:
    """Find a column that tells rows apart across splits."""
    import pyarrow as pa

    from evosplit_plugins.hf.source import FILE_COLUMNS, ID_COLUMNS

    plain = {
        field.name
        for field in rows.features.arrow_schema
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type) or pa.types.is_integer(field.type)
    }
    for name in (*FILE_COLUMNS, *ID_COLUMNS):
        if name in plain:
            values = np.array(_values(rows, name), dtype=object)
            if name in FILE_COLUMNS or not all(_is_numbering(values[assignment == j].tolist()) for j in range(k)):
                return name
    return None


def _is_numbering(values: list[Any]) -> bool:
    """Tell whether values are 0, 1, 2, ... or 1, 2, 3, ..., which say nothing about the rows of another split."""
    try:
        found = sorted(int(value) for value in values)
    except (TypeError, ValueError):
        return False
    return found == list(range(found[0], found[0] + len(found))) and found[0] in (0, 1)


def _contents(rows: Any, splits: Sequence[str], on_progress: OnProgress | None) -> list[str]:
    """Name each row after the first one whose picture columns hold the same, without decoding them."""
    from datasets import Audio, Image

    kinds = {name: feature for name, feature in rows.features.items() if isinstance(feature, (Image, Audio))}
    if not kinds:
        raise EvoSplitError("same_bytes=True compares pictures, but no column holds any; leave it out, or use key=")
    media = rows.with_format(None).select_columns(list(kinds))
    for name, feature in kinds.items():
        media = media.cast_column(name, type(feature)(decode=False))
    first: dict[bytes, str] = {}
    begins = {name: splits.index(name) for name in dict.fromkeys(splits)}
    contents: list[str] = []
    for batch in media.iter(_ROWS_AT_ONCE):
        if on_progress is not None:
            on_progress(len(contents) / len(splits), COMPARING)
        for cells in zip(*(batch[name] for name in kinds), strict=True):
            number = len(contents)
            place = f"{splits[number]}[{number - begins[splits[number]]}]"
            contents.append(first.setdefault(_digest(cells), place))
    return contents


def _digest(cells: Sequence[Mapping[str, Any] | None]) -> bytes:
    made = hashlib.sha256()
    for cell in cells:
        if cell is not None:
            made.update(Path(cell["path"]).read_bytes() if cell["bytes"] is None else cell["bytes"])
    return made.digest()


def from_fiftyone(
    samples: Any,
    names: Sequence[str] | None = None,
    *,
    field: str | None = None,
    label_field: str | Sequence[str] | None = None,
    group_by: str | Sequence[str] | None = None,
    near_duplicates: Any = None,
    duplicate_threshold: float | None = None,
    same_bytes: bool = False,
    on_progress: OnProgress | None = None,
) -> Found:
    """Read the subsets that tags or a field of a FiftyOne dataset name; samples in none are left out.

    Parameters
    ----------
    samples
        A dataset or view.
    names
        The tags, or values of `field`; by default those of the latest split that EvoSplit recorded, or all values of
        `field`, or the usual tags (train, val, test, ...) that there are.
    field
        The field that holds the subsets, instead of tags.
    label_field
        The field with the labels; by default the most likely one.
    group_by, near_duplicates, duplicate_threshold
        What belongs together: samples with equal values in a field or several, and near duplicates, as for
        `evosplit_fiftyone`.
    same_bytes
        Also compare the content of the media files.
    on_progress
        Called with the fraction of the files compared and a message.
    """
    from evosplit_plugins.fiftyone_plugin import door, groups, labels, tags

    dataset = labels.root_dataset(samples)
    if field is not None and dataset.get_field(field) is None:
        raise EvoSplitError(f"dataset {dataset.name!r} has no field {field!r}; name the field that holds the subsets")
    names = list(names) if names else _subset_names(dataset, field)
    counts = door.read_counts(samples, label_field=label_field)
    units = counts.ids.tolist()
    snap = tags.snapshot(dataset, units, tags.Place(field, frozenset(names)))
    placed = list(_places(snap, units, names))
    if not placed:
        where = "carries one of the tags" if field is None else f"has in {field!r} one of"
        raise EvoSplitError(f"no sample of dataset {dataset.name!r} {where} {', '.join(map(repr, names))}")
    rows = [row for row, _ in placed]
    by = [group_by] if isinstance(group_by, str) else list(group_by or ())
    kept = groups.find_groups(samples, units, by=by, near_duplicates=near_duplicates, threshold=duplicate_threshold)
    files = labels.files(dataset)
    keys: dict[str, Sequence[Any]] = {
        "sample id": [units[row] for row in rows],
        # A sample in two subsets is told by its id; its file leads to other samples of the same file.
        "file": [
            None if row == before else files[units[row]] for row, before in zip(rows, [None, *rows], strict=False)
        ],
    }
    if same_bytes:
        keys[CONTENT] = same_contents([Path(files[units[row]]) for row in rows], on_progress)
    notes = [] if kept is None else list(kept.notes)
    left_out = len(units) - len(set(rows))
    if left_out:
        notes.append(f"{left_out} samples in none of the subsets were left out.")
    return Found(
        names=tuple(names),
        assignment=np.array([subset for _, subset in placed], dtype=np.int64),
        counts=LabelCounts(counts.matrix[rows], labels=counts.labels),
        keys=keys,
        groups=None if kept is None else [kept.of_unit[row] for row in rows],
        settings={"dataset": dataset.name, "subsets": field or "tags"},
        notes=tuple(notes),
    )


def _subset_names(dataset: Any, field: str | None) -> list[str]:
    from evosplit_plugins.fiftyone_plugin import runs

    if field is not None:
        return [name for name in dataset.distinct(field) if name]
    if runs.run_keys(dataset):
        return list(runs.load_run(dataset).split.names)
    there = dataset.count_sample_tags()
    usual = [tag for tag in _USUAL_TAGS if tag in there]
    if len(usual) < 2:
        known = ", ".join(map(repr, sorted(there))) or "none"
        raise EvoSplitError(
            f"say which tags of dataset {dataset.name!r} are its subsets: names=['train', 'val']; its tags: {known}"
        )
    return usual


def _places(snap: Any, units: Sequence[str], names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Give (row, subset) for each subset that a unit is in, also where it is in several."""
    number = {name: subset for subset, name in enumerate(names)}
    for row, unit in enumerate(units):
        carried: set[str] = set()
        for sample in snap.samples[unit]:
            value = snap.before.get(sample) or ()
            carried.update((value,) if isinstance(value, str) else value)
        yield from sorted((row, number[name]) for name in carried if name in number)

"""Read groups, strata, ids, file names and media of the rows from columns."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Audio, Dataset, Image

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.contents import COMPARING
from evosplit_plugins.hf.columns import UNLABELLED, HowToCount, count_columns
from evosplit_plugins.hf.rows import Rows
from evosplit_plugins.hf.schema import Leaf
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Placement

__all__ = [
    "ID_COLUMNS",
    "find_files",
    "group_values",
    "picture_sizes",
    "same_media",
    "stratum_values",
    "telling_column",
    "unique_values",
]

FILE_COLUMNS = ("file_name", "filename", "file_path", "filepath", "image_path", "path")
ID_COLUMNS = ("image_id", "id")
_IMAGE = r"(?i)\S\.(jpe?g|png|webp|bmp|tiff?|gif)$"
_LOOKED_AT = 10  # ids, before all of them are
_ROWS_AT_ONCE = 100

Values = npt.NDArray[Any] | list[Any]


def group_values(rows: Rows, leaf: Leaf) -> Values:
    """Return the group of each row; None for a row on its own."""
    if leaf.depth or not (leaf.holds_labels or pa.types.is_boolean(leaf.type)):
        raise EvoSplitError(f"group_by={leaf.path!r} is {leaf}; a group is named by one integer or string per row")
    return _values(rows, leaf)


def stratum_values(rows: Rows, leaf: Leaf) -> Values | LabelCounts:
    """Return the values of a stratum: one per row, or counts for a column of lists."""
    if leaf.depth == 0 and (leaf.holds_labels or leaf.is_number):
        return _values(rows, leaf)
    if leaf.depth > 0 and leaf.holds_labels:
        matrix, labels = count_columns(rows.table, [leaf], rows.shown, HowToCount(multi_hot=False))
        return LabelCounts(matrix, labels=labels)
    raise EvoSplitError(
        f"stratify_by={leaf.path!r} is {leaf}; only strings, numbers, booleans and ClassLabel, "
        "and lists of strings, integers and ClassLabel, can be balanced"
    )


def _values(rows: Rows, leaf: Leaf) -> Values:
    """Read one value per row: an array, or a list where strings or nulls are among them."""
    column = rows.column(leaf.column, leaf.fields)
    if leaf.class_names is not None:
        names = [*leaf.class_names]
        return [_class_name(value, names) for value in column.to_pylist()]
    if column.null_count or not leaf.is_number or pa.types.is_boolean(leaf.type):
        return list(column.to_pylist())
    return np.asarray(column.to_numpy())


def _class_name(value: int | None, names: Sequence[str]) -> Any:
    if value is None or value == UNLABELLED:
        return None
    return names[value] if 0 <= value < len(names) else value


def unique_values(rows: Rows, leaf: Leaf) -> list[Any]:
    """Read a column that may hold ids; nothing if it does not name each row alone."""
    if leaf.fields or leaf.depth or not leaf.holds_labels:
        return []
    values = list(rows.column(leaf.column).to_pylist())
    return values if None not in values and len(set(values)) == len(values) else []


def find_files(rows: Rows, leaves: Sequence[Leaf]) -> tuple[Leaf, list[str | None]] | None:
    """Find the file name or path of each row: in a column with a usual name, in the pictures, or in ids that are such.

    None where they are in none of them.

    Examples
    --------
    >>> from evosplit_plugins.hf.rows import leaves_of, read_rows
    >>> ds = Dataset.from_dict({"file_name": ["a.jpg", "b.jpg"]})
    >>> find_files(read_rows(ds, []), leaves_of(ds))[1]
    ['a.jpg', 'b.jpg']
    >>> ds = Dataset.from_dict({"image_id": ["a.jpg", "b.jpg"], "id": ["a", "b"]})
    >>> find_files(read_rows(ds, []), leaves_of(ds))[1]
    ['a.jpg', 'b.jpg']
    """
    plain = [leaf for leaf in leaves if not leaf.fields and not leaf.depth]
    named = [leaf for leaf in plain if leaf.column in FILE_COLUMNS and leaf.is_string]
    for leaf in (*named, *filter(_holds_pictures, plain)):
        names = rows.column(leaf.column, ("path",) if _holds_pictures(leaf) else ()).to_pylist()
        if any(names):
            return leaf, names
    for leaf in plain:
        if leaf.column in ID_COLUMNS and leaf.is_string and _name_images(rows.column(leaf.column)[:_LOOKED_AT]):
            column = rows.column(leaf.column)
            if _name_images(column):
                return leaf, column.to_pylist()
    return None


def _name_images(column: Any) -> bool:
    """Whether all texts of a column end as the names of images do."""
    return bool(len(column)) and bool(pc.all(pc.match_substring_regex(column, _IMAGE), skip_nulls=False).as_py())


def _holds_pictures(leaf: Leaf) -> bool:
    return isinstance(leaf.feature, Image) and bool(pa.types.is_struct(leaf.type))


def picture_sizes(rows: Rows, leaf: Leaf) -> list[int | None]:
    """Return how many bytes each picture has that is inside of the data set; None for others."""
    if not _holds_pictures(leaf):
        return [None] * len(rows)
    # The lengths first: to take the pictures themselves would copy them.
    lengths = pc.binary_length(pc.struct_field(rows.table.column(leaf.column), ["bytes"]))
    sizes: list[int | None] = (lengths if rows.shown is None else lengths.take(pa.array(rows.shown))).to_pylist()
    return sizes


def telling_column(rows: Rows, leaves: Sequence[Leaf], subsets: Placement) -> str | None:
    """Find by its name a column that identifies rows across subsets, unless it only numbers the rows of each subset."""
    plain = {leaf.column: leaf for leaf in leaves if not leaf.fields and not leaf.depth and leaf.holds_labels}
    for name in (*FILE_COLUMNS, *ID_COLUMNS):
        if name in plain and plain[name].class_names is None:
            values = np.array(rows.column(name).to_pylist(), dtype=object)
            of_subsets = (values[subsets.assignment == j].tolist() for j in range(len(subsets.names)))
            if name in FILE_COLUMNS or not all(_is_numbering(each) for each in of_subsets):
                return name
    return None


def _is_numbering(values: list[Any]) -> bool:
    """Whether values are 0, 1, 2, ... or 1, 2, 3, ..., and so do not identify rows across subsets."""
    try:
        found = sorted(int(value) for value in values)
    except (TypeError, ValueError):
        return False
    return found == list(range(found[0], found[0] + len(found))) and found[0] in (0, 1)


def same_media(ds: Dataset, subsets: Placement, on_progress: OnProgress | None) -> list[str | None]:
    """Name each row after the first one with byte-identical pictures and sounds; None if no other row has them."""
    kinds = {name: feature for name, feature in ds.features.items() if isinstance(feature, (Image, Audio))}
    if not kinds:
        raise EvoSplitError("same_bytes=True compares pictures, but no column holds any; leave it out, or use key=")
    media = ds.with_format(None).select_columns(list(kinds))
    for name, feature in kinds.items():
        media = media.cast_column(name, type(feature)(decode=False))
    first: dict[bytes, str] = {}
    numbers = [0] * len(subsets.names)
    found: list[str] = []
    of_row = subsets.assignment.tolist()
    for batch in media.iter(_ROWS_AT_ONCE):
        if on_progress is not None:
            on_progress(len(found) / len(of_row), COMPARING)
        for cells in zip(*(batch[name] for name in kinds), strict=True):
            subset = of_row[len(found)]
            found.append(first.setdefault(_digest(cells), f"{subsets.names[subset]}[{numbers[subset]}]"))
            numbers[subset] += 1
    times = Counter(found)
    return [name if times[name] > 1 else None for name in found]


def _digest(cells: Sequence[Mapping[str, Any] | None]) -> bytes:
    made = hashlib.sha256()
    for cell in cells:
        if cell is not None:
            made.update(Path(cell["path"]).read_bytes() if cell["bytes"] is None else cell["bytes"])
    return made.digest()

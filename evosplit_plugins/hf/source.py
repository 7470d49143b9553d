"""The kinds of data sets that `datasets` knows, made one: rows to count, ids, and subsets to give back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, DatasetDict, Image, IterableDataset, IterableDatasetDict, concatenate_datasets

from evosplit import EvoSplitError
from evosplit_plugins.hf.schema import Leaf, leaves
from evosplit_plugins.matching import picture_of

__all__ = [
    "FILE_COLUMNS",
    "Rows",
    "Subset",
    "check_key",
    "file_names",
    "is_stream",
    "merged",
    "pictures",
    "places_of",
    "read_ids",
    "read_rows",
]

FILE_COLUMNS = ("file_name", "filename", "file_path", "filepath", "image_path", "path")
ID_COLUMNS = ("image_id", "id")
_STREAM_BATCH = 1000

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Columns on Arrow, and which of their rows the data set shows.

    Attributes
    ----------
    table
        The columns; for a `Dataset` all of its base table, memory-mapped and untouched.
    rows
        Positions in the table, in the order of the data set; None where that is the table as it is.
    """

    table: Any
    rows: IntArray | None


def is_stream(ds: Any) -> bool:
    """Whether a data set can only be read from its beginning."""
    return isinstance(ds, IterableDataset)


def merged(ds: Any) -> Dataset | IterableDataset:
    """Make one data set of what the user passed; the splits of a dict are joined in their order."""
    if isinstance(ds, (DatasetDict, IterableDatasetDict)):
        if not ds:
            raise EvoSplitError("the DatasetDict has no split; there is nothing to split")
        parts = dict(ds)
        _check_alike(parts)
        for name, part in parts.items():
            _check_no_index(part, f"split {name!r} of the data set")
        try:
            ds = concatenate_datasets(list(parts.values())) if len(parts) > 1 else next(iter(parts.values()))
        except (ValueError, pa.ArrowInvalid) as error:
            raise EvoSplitError(f"the splits {', '.join(map(repr, parts))} cannot be joined: {error}") from error
    if isinstance(ds, Dataset):
        _check_no_index(ds, "the data set")
        if len(ds) == 0:
            raise EvoSplitError("the data set has no rows; there is nothing to split")
    elif not isinstance(ds, IterableDataset):
        raise EvoSplitError(
            f"ds is a {type(ds).__name__}; pass a Dataset, DatasetDict or IterableDataset, "
            "for example datasets.load_dataset(...) or datasets.load_from_disk(...)"
        )
    return ds


def _check_no_index(ds: Any, what: str) -> None:
    if isinstance(ds, Dataset) and ds.list_indexes():
        name = ds.list_indexes()[0]
        raise EvoSplitError(
            f"{what} has the search index {name!r}, so no rows can be selected; call ds.drop_index({name!r}) first"
        )


def _check_alike(parts: Mapping[str, Any]) -> None:
    """Refuse to join splits of different columns: `datasets` would fill the gaps with None."""
    (first, reference), *others = parts.items()
    for name, part in others:
        if reference.features is None or part.features is None:
            continue  # streams may not know their columns
        differing = sorted(set(reference.features) ^ set(part.features))
        if differing:
            raise EvoSplitError(
                f"the splits {first!r} and {name!r} differ in the columns {', '.join(map(repr, differing))}; "
                "remove_columns or add them so that every split has the same"
            )
        ours, theirs = ({leaf.path: leaf for leaf in places_of(ds)} for ds in (reference, part))
        # A column of nulls alone takes the type of the others.
        untyped = {leaf.column for leaf in (*ours.values(), *theirs.values()) if pa.types.is_null(leaf.type)}
        typed = (leaf.path for leaf in (*ours.values(), *theirs.values()) if leaf.column not in untyped)
        for path in dict.fromkeys(typed):
            here, there = ours.get(path), theirs.get(path)
            if here is None or there is None or (here.depth, here.type) != (there.depth, there.type):
                raise EvoSplitError(
                    f"the splits differ: {first!r} has {here or f'no {path}'}, {name!r} has "
                    f"{there or f'no {path}'}; cast one of them"
                )
            if here.class_names != there.class_names:
                raise EvoSplitError(
                    f"the ClassLabel names of {path!r} differ: {first!r} has {_some(here.class_names)}, "
                    f"{name!r} has {_some(there.class_names)}; cast both to the same ClassLabel"
                )


def _some(names: Sequence[str] | None) -> str:
    if names is None:
        return "none"
    return str(list(names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def places_of(ds: Dataset | IterableDataset) -> list[Leaf]:
    """List the places that hold values; of a stream without features the first rows are read for that."""
    if isinstance(ds, Dataset):
        return leaves(ds.data.schema, ds.features)
    if ds.features is not None:
        return leaves(ds.features.arrow_schema, ds.features)
    first = next(_python_batches(ds), None)
    if first is None:
        raise EvoSplitError("the stream has no rows; there is nothing to split")
    return leaves(pa.schema([(name, _type_of(values)) for name, values in first.items()]), None)


def _type_of(values: list[Any]) -> Any:
    try:
        return pa.array(values).type
    except pa.ArrowException:
        return pa.null()  # no Arrow type: pictures, say; a label column of this kind fails when it is read


def read_rows(ds: Dataset | IterableDataset, columns: Iterable[str]) -> Rows:
    """Read columns; a stream is read once, from its beginning to its end, and only these columns are kept."""
    if isinstance(ds, Dataset):
        # The indices mapping has no public name, and the public way to the rows copies every list through it.
        mapping = ds._indices
        return Rows(ds.data, None if mapping is None else mapping.column(0).to_numpy().astype(np.int64))
    wanted = sorted(set(columns))
    try:
        # Without features each batch has the types of what it holds: lists of nothing, then of integers.
        tables = list(_stream_tables(ds.select_columns(wanted)))
        table = pa.concat_tables(tables, promote_options="permissive") if tables else None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise EvoSplitError(
            f"the rows of the stream have different types ({error}); give it features with .cast()"
        ) from error
    if table is None:
        raise EvoSplitError("the stream has no rows; there is nothing to split")
    return Rows(table, None)


def _stream_tables(ds: IterableDataset) -> Iterable[Any]:
    schema = None if ds.features is None else ds.features.arrow_schema
    if schema is not None:
        try:
            return list(ds.with_format("arrow").iter(_STREAM_BATCH))
        except pa.ArrowInvalid:
            pass  # before datasets 5, streams that were shuffled or joined type each row by itself, and fail
    return [pa.table(batch, schema=schema) for batch in _python_batches(ds)]


def _python_batches(ds: IterableDataset) -> Iterator[dict[str, list[Any]]]:
    rows = iter(ds.with_format(None))  # not .iter(): it may take the Arrow way too
    while batch := list(islice(rows, _STREAM_BATCH)):
        yield {name: [row.get(name) for row in batch] for name in dict.fromkeys(chain.from_iterable(batch))}


def check_key(key: str, places: Sequence[Leaf]) -> None:
    """Refuse a key that is no column of integers or strings, before anything is read."""
    leaf = next((leaf for leaf in places if leaf.column == key), None)
    if leaf is None:
        names = dict.fromkeys(leaf.column for leaf in places)
        raise EvoSplitError(f"the data set has no column {key!r} for key=; it has: {', '.join(names)}")
    if leaf.fields or leaf.depth or not leaf.holds_labels:
        raise EvoSplitError(f"key={key!r} is {leaf}; a key is a column of unique integers or strings")


def read_ids(rows: Rows, key: str) -> npt.NDArray[Any]:
    """Read the ids of the rows from a column of unique integers or strings."""
    column = rows.table.column(key)
    if rows.rows is not None:
        column = column.take(pa.array(rows.rows))
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise EvoSplitError(f"key={key!r} is null in row {row} ({column.null_count} such rows); a key names every row")
    repetitions = len(column) - len(column.unique())
    if repetitions:
        counted = pc.value_counts(column)
        value = counted.field("values")[pc.index(pc.greater(counted.field("counts"), 1), True).as_py()]
        raise EvoSplitError(
            f"key={key!r} holds {value.as_py()!r} more than once ({repetitions} repetitions); "
            "a key names each row alone, take a unique column"
        )
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    return np.array(column.to_pylist(), dtype=np.str_)


def file_names(ds: Dataset) -> list[str | None] | None:
    """Return the file name or path of each row: of a column with a usual name, else of the pictures; None if unknown.

    Examples
    --------
    >>> file_names(Dataset.from_dict({"file_name": ["a.jpg", "b.jpg"]}))
    ['a.jpg', 'b.jpg']
    """
    return _files(ds)[0]


def pictures(ds: Dataset) -> list[str | None] | None:
    """Name the picture of each row as `picture_of` does; None if nothing names it.

    A picture inside of the data set keeps the last part of its path alone, so its size in bytes belongs to its name.
    """
    names, sizes = _files(ds)
    if names is None:
        return None
    known = [None if not name else picture_of(name) for name in names]
    if sizes is None:
        return known
    return [
        name if name is None or size is None else f"{name} of {size} bytes"
        for name, size in zip(known, sizes, strict=True)
    ]


def _files(ds: Dataset) -> tuple[list[str | None] | None, list[int | None] | None]:
    """Return the file of each row and, for pictures inside of the data set, their sizes."""
    for leaf in leaves(ds.data.schema, ds.features):
        if leaf.column in FILE_COLUMNS and not leaf.fields and not leaf.depth and pa.types.is_string(leaf.type):
            return _taken(ds, ds.data.column(leaf.column)), None
    for name, feature in ds.features.items():
        column = ds.data.column(name)
        if isinstance(feature, Image) and pa.types.is_struct(column.type):
            paths = _taken(ds, pc.struct_field(column, "path"))
            if any(paths):
                return paths, _taken(ds, pc.binary_length(pc.struct_field(column, "bytes")))
    return None, None


def _taken(ds: Dataset, column: Any) -> list[Any]:
    mapping = ds._indices
    return list((column if mapping is None else column.take(mapping.column(0))).to_pylist())


class Subset:
    """Whether an example of a stream belongs to some subsets of a split; picklable, for workers.

    Parameters
    ----------
    key
        The column with the ids.
    ids, subset_of
        The ids of all samples, ascending, and the subset number of each.
    wanted
        The subset numbers to keep.
    """

    def __init__(self, key: str, ids: npt.NDArray[Any], subset_of: npt.NDArray[Any], wanted: frozenset[int]) -> None:
        self.key = key
        self.ids = ids
        self.subset_of = subset_of
        self.wanted = wanted

    def __call__(self, example: Mapping[str, Any]) -> bool:
        """Look the example up; an id that was not split is an error, since it belongs nowhere."""
        # A scalar, a tensor or an Arrow column of one row, as the format of the stream says.
        value = np.asarray(example[self.key]).reshape(-1)[0]
        position = len(self.ids)
        if isinstance(value, str) == (self.ids.dtype.kind == "U") and value is not None:
            position = int(np.searchsorted(self.ids, value))
        if position == len(self.ids) or self.ids[position] != value:
            raise EvoSplitError(
                f"{self.key} {value!s} is not in the split, which has {len(self.ids)} ids such as "
                f"{self.ids[0]!s}; replay it on the same data, or split anew"
            )
        return int(self.subset_of[position]) in self.wanted

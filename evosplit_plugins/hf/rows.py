"""Rows on Arrow from every kind of data set of `datasets`: in memory, selected, split or streamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict, concatenate_datasets

from evosplit import EvoSplitError
from evosplit.wording import listed
from evosplit_plugins.hf.schema import Leaf, leaves_of_schema

__all__ = [
    "AnyDataset",
    "Rows",
    "check_key",
    "is_stream",
    "leaves_of",
    "merged",
    "read_ids",
    "read_rows",
    "read_streams",
    "splits_of",
]

_STREAM_BATCH = 1000

AnyDataset: TypeAlias = "Dataset | DatasetDict | IterableDataset | IterableDatasetDict"
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Columns on Arrow, and which of their rows the data set shows.

    Attributes
    ----------
    table
        The columns; for a `Dataset` all of its base table, memory-mapped and untouched.
    shown
        Positions in the table, in the order of the data set; None where that is the table as it is.
    """

    table: Any
    shown: Ints | None

    def __len__(self) -> int:
        return len(self.table) if self.shown is None else len(self.shown)

    def column(self, name: str, fields: Sequence[str] = ()) -> Any:
        """Return a column, or a field of its structs, in the order of the data set.

        Not for columns of long lists: they would be copied.
        """
        column = self.table.column(name)
        for field in fields:
            column = pc.struct_field(column, [field])
        return column if self.shown is None else column.take(pa.array(self.shown))


def is_stream(ds: Any) -> bool:
    """Whether a data set can only be read from its beginning."""
    return isinstance(ds, IterableDataset)


def splits_of(ds: Any) -> dict[str, Any]:
    """Return the splits of a dict of data sets by name, or a single data set under the name ""; refuse other types."""
    if isinstance(ds, (DatasetDict, IterableDatasetDict)):
        if not ds:
            raise EvoSplitError("the DatasetDict has no split; there is nothing to split")
        return dict(ds)
    if not isinstance(ds, (Dataset, IterableDataset)):
        raise EvoSplitError(
            f"ds is a {type(ds).__name__}; pass a Dataset, DatasetDict or IterableDataset, "
            "for example datasets.load_dataset(...) or datasets.load_from_disk(...)"
        )
    return {"": ds}


def merged(splits: Mapping[str, Any]) -> Dataset | IterableDataset:
    """Join the splits of `splits_of` into one data set, in their order."""
    _check_alike(splits)
    for name, part in splits.items():
        if isinstance(part, Dataset) and part.list_indexes():
            what = f"split {name!r} of the data set" if name else "the data set"
            index = part.list_indexes()[0]
            raise EvoSplitError(
                f"{what} has the search index {index!r}, so no rows can be selected; "
                f"call ds.drop_index({index!r}) first"
            )
    try:
        ds = concatenate_datasets(list(splits.values())) if len(splits) > 1 else next(iter(splits.values()))
    except (ValueError, pa.ArrowInvalid) as error:
        raise EvoSplitError(f"the splits {', '.join(map(repr, splits))} cannot be joined: {error}") from error
    if isinstance(ds, Dataset) and len(ds) == 0:
        raise EvoSplitError("the data set has no rows; there is nothing to split")
    return ds


def _check_alike(splits: Mapping[str, Any]) -> None:
    """Refuse to join splits of different columns: `datasets` would fill the gaps with None."""
    (first, reference), *others = splits.items()
    for name, part in others:
        if reference.features is None or part.features is None:
            continue  # streams may not know their columns
        differing = sorted(set(reference.features) ^ set(part.features))
        if differing:
            raise EvoSplitError(
                f"the splits {first!r} and {name!r} differ in the columns {', '.join(map(repr, differing))}; "
                "remove_columns or add them so that every split has the same"
            )
        ours, theirs = ({leaf.path: leaf for leaf in leaves_of(ds)} for ds in (reference, part))
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
                known, new = (listed(map(repr, leaf.class_names or ()), 8) or "none" for leaf in (here, there))
                raise EvoSplitError(
                    f"the ClassLabel names of {path!r} differ: {first!r} has {known}, {name!r} has {new}; "
                    "cast both to the same ClassLabel"
                )


def leaves_of(ds: Dataset | IterableDataset) -> list[Leaf]:
    """List the leaves of a data set; for a stream without features, the first rows are read."""
    if isinstance(ds, Dataset):
        return leaves_of_schema(ds.data.schema, ds.features)
    if ds.features is not None:
        return leaves_of_schema(ds.features.arrow_schema, ds.features)
    first = next(_python_batches(ds), None)
    if first is None:
        raise EvoSplitError("the stream has no rows; there is nothing to split")
    return leaves_of_schema(pa.schema([(name, _type_of(values)) for name, values in first.items()]), None)


def _type_of(values: list[Any]) -> Any:
    try:
        return pa.array(values).type
    except pa.ArrowException:
        return pa.null()  # no Arrow type: pictures, say; a label column of this kind fails when it is read


def read_rows(ds: Dataset | IterableDataset, columns: Iterable[str]) -> Rows:
    """Read columns; a stream is read once, from its beginning to its end, and only these columns are kept."""
    if isinstance(ds, Dataset):
        return Rows(ds.data, _rows_shown(ds))
    return read_streams([ds], columns)[0]


def read_streams(streams: Sequence[IterableDataset], columns: Iterable[str]) -> tuple[Rows, list[int]]:
    """Read columns of streams, each stream once; returns the rows, and the number of rows in each stream."""
    wanted = sorted(set(columns))
    try:
        # Without features each batch has the types of what it holds: lists of nothing, then of integers.
        tables = [list(_stream_tables(ds.select_columns(wanted))) for ds in streams]
        joined = [table for part in tables for table in part]
        table = pa.concat_tables(joined, promote_options="permissive") if joined else None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise EvoSplitError(
            f"the rows of the stream have different types ({error}); give it features with .cast()"
        ) from error
    if table is None:
        raise EvoSplitError("the stream has no rows; there is nothing to split")
    return Rows(table, None), [sum(len(table) for table in part) for part in tables]


def _rows_shown(ds: Dataset) -> Ints | None:
    """Return which rows of its table a data set shows.

    What `select`, `shuffle` and `filter` leave behind has no public name. The public ways to the rows copy each list
    through it, one by one, which takes many times as long as counting all of the labels.
    """
    mapping = ds._indices
    return None if mapping is None else np.asarray(mapping.column(0).to_numpy(), dtype=np.int64)


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


def check_key(key: str, leaves: Sequence[Leaf]) -> Leaf:
    """Find the column of a key, and refuse one that is no column of integers or strings."""
    leaf = next((leaf for leaf in leaves if leaf.column == key), None)
    if leaf is None:
        names = dict.fromkeys(leaf.column for leaf in leaves)
        raise EvoSplitError(f"the data set has no column {key!r} for key=; it has: {', '.join(names)}")
    if leaf.fields or leaf.depth or not leaf.holds_labels:
        raise EvoSplitError(f"key={key!r} is {leaf}; a key is a column of unique integers or strings")
    return leaf


def read_ids(rows: Rows, key: str) -> npt.NDArray[Any]:
    """Read the ids of the rows from a column of unique integers or strings."""
    column = rows.column(key)
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

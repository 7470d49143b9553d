"""What a split respects beside its sizes, read from columns on Arrow: groups, locks and strata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.hf.columns import UNLABELLED, HowToCount, count_columns
from evosplit_plugins.hf.schema import Leaf, find_leaf
from evosplit_plugins.hf.source import Rows, check_key, is_stream, places_of, read_ids, read_rows

__all__ = ["Values", "as_names", "column_groups", "group_values", "locked_ids", "stratum_values"]

Values = npt.NDArray[Any] | list[Any]


def as_names(given: str | Sequence[str] | None, option: str, what: str = "column") -> list[str]:
    """Turn one name or several into a list; nothing, and the same one twice, are errors."""
    names = [] if given is None else [given] if isinstance(given, str) else list(given)
    if (given is not None and not names) or len(set(names)) != len(names):
        raise EvoSplitError(f"{option}={given!r} repeats one, or is empty; name each {what} once")
    return names


def column_groups(ds: Dataset, column: str) -> Values:
    """Return what names the group of each row of a data set; None for a row on its own.

    Examples
    --------
    >>> column_groups(Dataset.from_dict({"video": ["a", "a", None]}), "video")
    ['a', 'a', None]
    """
    leaf = find_leaf(column, places_of(ds))
    return group_values(read_rows(ds, [leaf.column]), leaf)


def group_values(rows: Rows, leaf: Leaf) -> Values:
    """Return what names the group of each row; None for a row on its own."""
    one_value = leaf.depth == 0 and (leaf.holds_labels or pa.types.is_boolean(leaf.type))
    if not one_value:
        raise EvoSplitError(f"group_column={leaf.path!r} is {leaf}; a group is named by one integer or string per row")
    values = _values(rows, leaf)
    if isinstance(values, list) and all(value is None for value in values):
        raise EvoSplitError(f"group_column={leaf.path!r} holds nothing but nulls; name another column")
    return values


def stratum_values(rows: Rows, leaf: Leaf) -> Values | LabelCounts:
    """Return what is balanced: one value per row, or how often each value is in the lists of the rows."""
    if leaf.depth == 0 and (leaf.holds_labels or leaf.is_number):
        return _values(rows, leaf)
    if leaf.depth > 0 and leaf.holds_labels:
        matrix, labels = count_columns(rows.table, [leaf], rows.rows, HowToCount(multi_hot=False))
        return LabelCounts(matrix, labels=labels)
    raise EvoSplitError(
        f"stratify_columns={leaf.path!r} is {leaf}; only strings, numbers, booleans and ClassLabel, "
        "and lists of strings, integers and ClassLabel, can be balanced"
    )


def _values(rows: Rows, leaf: Leaf) -> Values:
    """Read one value per row: an array, or a list where strings or nulls are among them."""
    column = rows.table.column(leaf.column)
    for name in leaf.fields:
        column = pc.struct_field(column, [name])
    if rows.rows is not None:
        column = column.take(pa.array(rows.rows))
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


def locked_ids(
    ds: Any,
    ids: npt.NDArray[Any],
    names: Sequence[str],
    key: str | None,
    lock: str | Sequence[str] | None,
    locked: Mapping[str, Any] | None,
) -> dict[str, list[Any]]:
    """Collect the ids of the rows that stay where they are.

    Parameters
    ----------
    ds
        The data set as the user passed it, before its splits were joined.
    ids
        The ids of its rows.
    names
        The subsets.
    key, lock, locked
        As `evosplit_hf` explains.
    """
    held: dict[str, list[Any]] = {}
    if locked is not None and not isinstance(locked, Mapping):
        raise EvoSplitError(f"locked= is a {type(locked).__name__}; pass for example {{'test': [3, 17, 20]}}")
    for name, given in (locked or {}).items():
        _check_subset("locked", name, names)
        held[name] = _given_ids(name, given, key)
    kept = as_names(lock, "lock", "split")
    if kept and not isinstance(ds, (DatasetDict, IterableDatasetDict)):
        raise EvoSplitError(
            f"lock={kept!r} keeps splits of a DatasetDict, and this is a {type(ds).__name__}; "
            "pass locked={'test': row numbers} instead"
        )
    for name in kept:
        _check_subset("lock", name, names)
        if name not in ds:
            raise EvoSplitError(f"lock= names the split {name!r}; the data set has {', '.join(map(repr, ds))}")
        held[name] = [*held.get(name, []), *_ids_of_split(ds, name, ids, key)]
    return held


def _check_subset(option: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise EvoSplitError(
            f"{option}= names the subset {name!r}, which nobody asked for; the subsets are "
            f"{', '.join(map(repr, names))}"
        )


def _given_ids(name: str, given: Any, key: str | None) -> list[Any]:
    if isinstance(given, (Dataset, IterableDataset)):
        if key is None:
            raise EvoSplitError(
                f"locked[{name!r}] is a data set; name the column that both have in common: key='image_id'"
            )
        check_key(key, places_of(given))
        return list(read_ids(read_rows(given, [key]), key).tolist())
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise EvoSplitError(
            f"locked[{name!r}] is {given!r}; pass row numbers, ids of the column key=, or a Dataset with that column"
        )
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if any(isinstance(value, (bool, np.bool_)) for value in values):
        raise EvoSplitError(f"locked[{name!r}] is a mask; pass row numbers: np.flatnonzero(mask)")
    return values


def _ids_of_split(ds: Any, name: str, ids: npt.NDArray[Any], key: str | None) -> list[Any]:
    if is_stream(ds[name]):
        return list(read_ids(read_rows(ds[name], [key or ""]), key or "").tolist())
    # Splits are joined in their order, so each is a range of the rows.
    parts = list(ds)
    begin = sum(len(ds[part]) for part in parts[: parts.index(name)])
    return list(ids[begin : begin + len(ds[name])].tolist())

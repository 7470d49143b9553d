"""The verbs of the Hugging Face door: `read_counts`, `apply_split`, and `evosplit_hf`, which does both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins.hf.columns import HowToCount, count_columns
from evosplit_plugins.hf.conditions import Values, as_names, group_values, locked_ids, stratum_values
from evosplit_plugins.hf.schema import Leaf, find_leaf, guess_leaf, leaves
from evosplit_plugins.hf.source import (
    ID_COLUMNS,
    Rows,
    Subset,
    check_key,
    file_names,
    is_stream,
    merged,
    pictures,
    places_of,
    read_ids,
    read_rows,
)
from evosplit_plugins.matching import copies_together, find_samples, replayed

__all__ = ["DEFAULT_NAMES", "apply_split", "audit", "evosplit_hf", "read_counts"]

DEFAULT_NAMES = {2: ("train", "test"), 3: ("train", "validation", "test")}
_SPLIT_NAME = re.compile(r"\w+(\.\w+)*")

AnyDataset: TypeAlias = "Dataset | DatasetDict | IterableDataset | IterableDatasetDict"


def read_counts(
    ds: AnyDataset,
    label_column: str | Sequence[str] | None = None,
    *,
    key: str | None = None,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
) -> LabelCounts:
    """Count the labels of each row, on Arrow, without decoding anything.

    See `evosplit_hf` for the parameters. The ids are those of the column `key`, else the row numbers.

    Examples
    --------
    >>> from datasets import Dataset
    >>> ds = Dataset.from_dict({"labels": [["cat", "cat", "dog"], [], None]})
    >>> counts = read_counts(ds)
    >>> counts.labels, counts.matrix.toarray().tolist()
    (('cat', 'dog'), [[2, 1], [0, 0], [0, 0]])
    """
    return _read(merged(ds), label_column, key, HowToCount(multi_hot, threshold, delimiter)).counts


def evosplit_hf(
    ds: AnyDataset,
    ratios: Mapping[str, float] | Sequence[float] | None = None,
    *,
    folds: int | None = None,
    label_column: str | Sequence[str] | None = None,
    key: str | None = None,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
    group_column: str | None = None,
    lock: str | Sequence[str] | None = None,
    locked: Mapping[str, Any] | None = None,
    stratify_columns: str | Sequence[str] | None = None,
    group_copies: bool = True,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
    seed: int = 0,
    keep_in_memory: bool = False,
    return_split: bool = False,
    method: str = "evosplit",
    objectives: Sequence[str] | None = None,
    cover: bool | str = True,
    pick: str | int = "balanced",
    effort: str = "normal",
    time_limit: float | None = None,
    n_jobs: int = 1,
    on_progress: Callable[[float, str], bool | None] | None = None,
) -> Any:
    """Split a data set so that every subset has the same labels, instances and label pairs, at exact sizes.

    Parameters
    ----------
    ds
        A `Dataset`, whatever was selected, shuffled, filtered or formatted before; a `DatasetDict`, whose
        splits are joined and split anew; or an `IterableDataset`, which needs `key`.
    ratios
        `{"train": 0.8, "validation": 0.1, "test": 0.1}`, or a sequence: two are train and test, three train,
        validation and test. Fractions sum to 1; whole numbers are exact sizes if they sum to the number of rows, else
        proportions.
    folds
        Instead of `ratios`: the number of folds of a cross-validation.
    label_column
        The column with the labels, with dots into structs and lists of structs (`"objects.category"`). Labels
        are ClassLabel, integers or strings, alone or in lists; a label that a row has twice counts twice;
        null, and -1 in a ClassLabel, is no label. A boolean column is one label. Several columns together: a
        list, where each label gets its column as prefix and columns of 0 and 1 are one label each. By default
        the column is found, and named in the report.
    key
        A column of unique integers or strings that names the rows, in the manifest too. An `IterableDataset`
        needs it: it has no row numbers that stay the same when it is shuffled or divided among workers.
    multi_hot
        True: each list has one entry per label, 0 or 1. False: lists of 0 and 1 are class numbers. By
        default, integers that could be either are refused.
    threshold
        For columns (or, with `multi_hot=True`, lists) of scores: from which value on a score counts as its
        label.
    delimiter
        For strings that hold several labels: what stands between them. Spaces around labels are dropped.
    group_column
        Rows with the same integer or string in this column (dotted as above) stay together, such as the
        frames of a video. A row without it is on its own.
    lock
        For a `DatasetDict`: the names of splits whose rows stay where they are, such as `["test"]`. The others
        are placed so that the whole comes out balanced.
    locked
        The same by rows: `{"test": row numbers}`; with `key` its ids, or a `Dataset` with that column.
    stratify_columns
        What to balance beside the labels: one column or several (dotted as above) of strings, booleans,
        numbers or ClassLabel, or of lists of them.
    group_copies
        Keep rows of the same picture together, because they would leak from one subset into another: rows with the
        same path in a column called `file_name`, `path` or the like, else in the pictures themselves. Roboflow's copies
        of one source are one picture. Of a stream nothing is known.
    min_per_label, label_weights
        As in `evosplit.split`.
    seed
        Same seed, same rows, same fingerprints, in every process: a later `.map` finds its cache.
    keep_in_memory
        Passed on to `Dataset.select`.
    return_split
        Also return the `evosplit.Split`, with its report, its trade-offs and `save`.
    method, objectives, cover, pick, effort, time_limit, n_jobs, on_progress
        As in `evosplit.split`.

    Returns
    -------
    DatasetDict
        The subsets in the order asked for, rows in the order of `ds`; with `folds` a list of `DatasetDict`,
        each with train and test; for a stream `IterableDatasetDict`. With `return_split=True` a tuple of that
        and the `Split`.

    Examples
    --------
    >>> from datasets import Dataset
    >>> ds = Dataset.from_dict({"labels": [["cat"], ["dog"], ["cat", "dog"], []] * 5})
    >>> splits = evosplit_hf(ds, {"train": 0.8, "test": 0.2}, effort="fast")
    >>> {name: len(part) for name, part in splits.items()}
    {'train': 16, 'test': 4}
    """
    how = HowToCount(multi_hot, threshold, delimiter)
    wanted = _wanted(ratios, folds)
    strata = as_names(stratify_columns, "stratify_columns")
    given, ds = ds, merged(ds)
    read = _read(ds, label_column, key, how, [*strata, *([] if group_column is None else [group_column])])
    counts, places = read.counts, read.places
    groups = None if group_column is None else read.in_order(group_values(read.rows, read.leaf(group_column)))
    names = list(wanted) if isinstance(wanted, Mapping) else _fold_names(folds)
    held = locked_ids(given, counts.ids, names, key, lock, locked)
    notes: list[str] = []
    known = None if is_stream(ds) or not group_copies else pictures(ds)
    alone = 0 if not isinstance(groups, list) else groups.count(None)
    if known is not None:
        of_row = {sample: name for name, ids in held.items() for sample in ids}
        groups, notes = copies_together(groups, known, [of_row.get(sample) for sample in counts.ids.tolist()], method)
    options: dict[str, Any] = {
        "groups": groups,
        "locked": held or None,
        "strata": {path: read.in_order(stratum_values(read.rows, read.leaf(path))) for path in strata} or None,
        "min_per_label": min_per_label,
        "label_weights": label_weights,
        "method": method,
        "objectives": objectives,
        "cover": cover,
        "pick": pick,
        "effort": effort,
        "time_limit": time_limit,
        "n_jobs": n_jobs,
        "seed": seed,
        "on_progress": on_progress,
    }
    split = evosplit.split(counts, wanted, **options) if folds is None else evosplit.kfold(counts, folds, **options)
    asked = {"group_column": group_column, "lock": as_names(lock, "lock", "split"), "stratify_columns": strata}
    settings = {
        **split.settings,
        **_provenance(places, key, how),
        **{name: value for name, value in asked.items() if value},
        **({} if group_copies else {"group_copies": False}),
    }
    notes = [*split.notes, *notes]
    if alone:
        notes.append(
            f"{alone} {'row has' if alone == 1 else 'rows have'} no {group_column!r}, so each is a group of its own."
        )
    if label_column is None:
        notes.append(_found_note(places[0]))
    files = None if is_stream(ds) else file_names(ds)
    split = replace(
        split,
        settings=settings,
        notes=tuple(notes),
        file_names=None if files is None else tuple(files),
        source={"adapter": "hf", "reading": _provenance(places, key, how)},
    )
    result = _divided(ds, split, key, folds is not None, keep_in_memory)
    return (result, split) if return_split else result


def apply_split(
    ds: AnyDataset, split: Split, *, key: str | None = None, folds: bool | None = None, keep_in_memory: bool = False
) -> Any:
    """Divide a data set as a split says, also one that another door made and saved.

    Parameters
    ----------
    ds
        The rows that were split: all of them, in any order if something names them.
    split
        The split, for example `Split.load("split.json")`.
    key
        The column that holds the split's ids, or the file names that it knows. Without it the rows are found by what
        the split was made with, by `image_id` or `id`, or by their files; else they are row numbers.
    folds
        Give a list with one `DatasetDict` of train and test per subset, each subset being the test set once; by
        default if the split was made by folds.
    keep_in_memory
        Passed on to `Dataset.select`.

    Returns
    -------
    DatasetDict
        See `evosplit_hf`. The rows of a stream are checked while they are read.

    Examples
    --------
    >>> import evosplit
    >>> from datasets import Dataset
    >>> ds = Dataset.from_dict({"image_id": [7, 8, 9], "label": [0, 1, 0]})
    >>> split = evosplit.split(read_counts(ds, key="image_id"), (2, 1), method="random")
    >>> {name: len(part) for name, part in apply_split(ds.shuffle(seed=3), split, key="image_id").items()}
    {'train': 2, 'test': 1}
    """
    folds = split.is_kfold if folds is None else folds
    if not folds:
        _check_names(split.names)
    ds = merged(ds)
    if not is_stream(ds):
        return _divided(ds, _aligned(ds, split, key), key, folds, keep_in_memory)
    check_key(_needed_key(key), places_of(ds))
    if split.sample_ids.dtype.kind not in "iuU":
        raise EvoSplitError("the ids of the split are integers and strings mixed; no column of a stream holds both")
    return _divided(ds, split, key, folds, keep_in_memory)


def audit(
    ds: AnyDataset,
    label_column: str | Sequence[str] | None = None,
    *,
    multi_hot: bool | None = None,
    threshold: float | None = None,
    delimiter: str | None = None,
) -> Split:
    """Measure the splits that a `DatasetDict` already has; see `evosplit_hf` for the parameters.

    Examples
    --------
    >>> from datasets import Dataset, DatasetDict
    >>> ds = Dataset.from_dict({"labels": [["cat"], ["dog"], ["cat"], ["dog"]]})
    >>> audit(DatasetDict({"train": ds.select([0, 1]), "test": ds.select([2, 3])})).measures.ld
    0.0
    """
    if not isinstance(ds, DatasetDict) or len(ds) < 2:
        raise EvoSplitError("an audit compares splits; pass a DatasetDict with two or more, such as train and test")
    how = HowToCount(multi_hot, threshold, delimiter)
    read = _read(merged(ds), label_column, None, how)
    sizes = tuple(len(part) for part in ds.values())
    return Split(
        names=tuple(ds),
        assignment=np.repeat(np.arange(len(ds)), sizes),
        sample_ids=read.counts.ids,
        target_sizes=sizes,
        settings={"method": "as found", **_provenance(read.places, None, how)},
        notes=() if label_column is not None else (_found_note(read.places[0]),),
        counts=read.counts,
    )


def _provenance(places: Sequence[Leaf], key: str | None, how: HowToCount) -> dict[str, Any]:
    """Tell where the labels and the ids come from, as the manifest keeps it."""
    columns = [leaf.path for leaf in places]
    options = {
        "key": key,
        "multi_hot": how.multi_hot,
        "threshold": None if how.threshold is None else float(how.threshold),
        "delimiter": how.delimiter,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return {"label_column": columns[0] if len(columns) == 1 else columns, **given}


def _found_note(leaf: Leaf) -> str:
    return f"The labels are those of column {leaf}."


def _wanted(ratios: Any, folds: int | None) -> Any:
    """Give unnamed ratios the names that Hugging Face uses, and check the names before any work is done."""
    if (ratios is None) == (folds is None):
        said = "neither ratios nor folds is given" if ratios is None else "ratios and folds exclude each other"
        raise EvoSplitError(f"{said}; pass evosplit_hf(ds, {{'train': 0.8, 'test': 0.2}}) or evosplit_hf(ds, folds=5)")
    if isinstance(ratios, (list, tuple, np.ndarray)):
        names = DEFAULT_NAMES.get(len(ratios), tuple(f"subset{j}" for j in range(len(ratios))))
        return dict(zip(names, ratios, strict=True))
    if isinstance(ratios, Mapping):
        _check_names(ratios)
    return ratios


def _fold_names(folds: Any) -> list[str]:
    """Name the folds as `evosplit.kfold` does; what is no number is left for it to refuse."""
    return [f"fold{fold}" for fold in range(folds)] if isinstance(folds, int) else []


def _check_names(names: Iterable[Any]) -> None:
    for name in names:
        if not isinstance(name, str) or not _SPLIT_NAME.fullmatch(name):
            raise EvoSplitError(
                f"Hugging Face refuses the split name {name!r}; use letters, digits and underscores, "
                "for example 'train'"
            )


@dataclass(frozen=True)
class _Read:
    """What was read of a data set.

    Attributes
    ----------
    counts
        The labels of its rows; those of a stream are in the order of their ids.
    places
        The leaves that hold the labels.
    everywhere
        All leaves.
    rows
        The columns.
    order
        For a stream the position of each row of `counts` in `rows`, else None.
    """

    counts: LabelCounts
    places: list[Leaf]
    everywhere: list[Leaf]
    rows: Rows
    order: npt.NDArray[np.int64] | None

    def leaf(self, path: str) -> Leaf:
        """Find the leaf that a user named."""
        return find_leaf(path, self.everywhere)

    def in_order(self, values: Values | LabelCounts) -> Any:
        """Bring what was read of `rows` into the order of `counts`."""
        if self.order is None:
            return values
        if isinstance(values, LabelCounts):
            return LabelCounts(values.matrix[self.order], labels=values.labels)
        return [values[row] for row in self.order.tolist()]


def _read(
    ds: Any,
    label_column: str | Sequence[str] | None,
    key: str | None,
    how: HowToCount,
    further: Sequence[str] = (),
) -> _Read:
    """Count the labels, and read `further` columns with them."""
    if is_stream(ds):
        key = _needed_key(key)
    everywhere = places_of(ds)
    if label_column is None:
        places = [guess_leaf(everywhere, how.fits)]
    else:
        paths = as_names(label_column, "label_column")
        places = [find_leaf(path, everywhere) for path in paths]
    if key is not None:
        check_key(key, everywhere)
    columns = {leaf.column for leaf in (*places, *(find_leaf(path, everywhere) for path in further))}
    rows = read_rows(ds, columns if key is None else {*columns, key})
    if is_stream(ds) and ds.features is None:
        # The first rows may have shown less of the types than all rows do.
        everywhere = leaves(rows.table.schema, None)
        places = [find_leaf(leaf.path, everywhere) for leaf in places]
    matrix, labels = count_columns(rows.table, places, rows.rows, how)
    ids = None if key is None else read_ids(rows, key)
    order = None
    if is_stream(ds) and ids is not None:
        order = np.argsort(ids)  # so that a shuffled stream gives the same split
        matrix, ids = matrix[order], ids[order]
    return _Read(LabelCounts(matrix, ids=ids, labels=labels), places, everywhere, rows, order)


def _needed_key(key: str | None) -> str:
    if key is None:
        raise EvoSplitError(
            "an IterableDataset needs key=, a column of unique integers or strings: its rows have no numbers "
            "that stay the same when it is shuffled or divided among workers, so a split by number would "
            "mix up the rows"
        )
    return key


def _aligned(ds: Any, split: Split, key: str | None) -> Split:
    """Bring the split into the row order of the data set."""
    if key is not None:
        check_key(key, places_of(ds))
        ids = read_ids(read_rows(ds, [key]), key)
        found = find_samples(split, {f"column {key!r}": ids.tolist()}, file_names(ds), where="the data set")
        return replayed(split, found, ids)
    known = split.sample_ids
    numbered = known.dtype.kind in "iu" and np.array_equal(np.sort(known), np.arange(len(known)))
    if split.source.get("adapter", "hf") == "hf" and "key" not in split.source.get("reading", {}) and numbered:
        if len(known) != len(ds):
            raise EvoSplitError(
                f"the split is one of {len(known)} rows, the data set has {len(ds)}; replay it on the same data"
            )
        return replayed(split, np.argsort(known), np.sort(known))
    columns = [split.source.get("reading", {}).get("key"), *ID_COLUMNS]
    candidates = {f"column {name!r}": _unique_values(ds, name) for name in columns if name in ds.column_names}
    candidates = {name: values for name, values in candidates.items() if values}
    files = file_names(ds)
    if not candidates and files is None:
        raise EvoSplitError(
            f"the split names its samples by ids such as {known[:1].tolist()[0]!r}, not by row numbers; "
            "name the column that holds these ids: key='image_id'"
        )
    rows = {"row number": range(len(ds))} if not candidates else {}
    return replayed(split, find_samples(split, candidates or rows, files, where="the data set"), np.arange(len(ds)))


def _unique_values(ds: Any, column: str) -> list[Any]:
    """Read a column that may hold ids; nothing if it does not name each row alone."""
    values = ds.select_columns([column]).with_format("arrow")[:].column(column).to_pylist()
    plain = all(isinstance(value, (int, str)) for value in values)
    return values if plain and len(set(values)) == len(values) else []


def _divided(ds: Any, split: Split, key: str | None, folds: bool, keep_in_memory: bool) -> Any:
    """Make the subsets, or one train and test pair per fold, of a split in the row order of the data set."""
    numbers = range(len(split.names))
    if folds:
        wanted = [{"train": frozenset(numbers) - {j}, "test": frozenset({j})} for j in numbers]
    else:
        wanted = [{name: frozenset({j}) for j, name in enumerate(split.names)}]
    if is_stream(ds):
        order = np.argsort(split.sample_ids)
        ids, subset_of = split.sample_ids[order], split.assignment[order]
        divided = [
            IterableDatasetDict(
                {name: ds.filter(Subset(_needed_key(key), ids, subset_of, kept)) for name, kept in parts.items()}
            )
            for parts in wanted
        ]
    else:
        # Ascending rows read fastest. Always an int64 array: fingerprints depend on the container type.
        divided = [
            DatasetDict(
                {
                    name: ds.select(
                        np.flatnonzero(np.isin(split.assignment, list(kept))), keep_in_memory=keep_in_memory
                    )
                    for name, kept in parts.items()
                }
            )
            for parts in wanted
        ]
    return divided if folds else divided[0]

"""Read data sets into a `Source`: in memory, streamed, or from what users have on disk and on the hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from datasets import Dataset, DatasetDict, IterableDataset, load_dataset, load_from_disk
from datasets.exceptions import DatasetsError

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins.files import PathLike
from evosplit_plugins.hf.adapter import HfReading
from evosplit_plugins.hf.columns import HowToCount, count_columns
from evosplit_plugins.hf.fields import (
    ID_COLUMNS,
    find_files,
    group_values,
    picture_sizes,
    same_media,
    stratum_values,
    telling_column,
    unique_values,
)
from evosplit_plugins.hf.rows import (
    AnyDataset,
    Rows,
    check_key,
    is_stream,
    leaves_of,
    merged,
    read_ids,
    read_rows,
    read_streams,
    splits_of,
)
from evosplit_plugins.hf.schema import Leaf, find_leaf, guess_leaf, leaves_of_schema
from evosplit_plugins.matching import find_members, order_of_rows, picture_of
from evosplit_plugins.options import recorded
from evosplit_plugins.output import MANIFEST
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.request import names_of
from evosplit_plugins.source import Fields, Placement, Source

__all__ = ["HfSource", "load", "load_divided", "needed_key", "no_bars", "read_dataset", "read_divided"]

_BUILDERS = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
}
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True, eq=False, kw_only=True)
class HfSource(Source):
    """Rows of a data set.

    Attributes
    ----------
    ds
        The data set; splits that it had are joined.
    rows
        Its columns; of a stream only those that were asked for.
    leaves
        Everything that holds values.
    order
        For a stream the position in `rows` of each sample: samples are in the order of their ids. Else None.
    file_leaf
        What `files` were read from.
    told_by
        For an audit: the column that identifies rows across subsets.
    """

    ds: Any
    rows: Rows
    leaves: Sequence[Leaf]
    order: npt.NDArray[np.int64] | None = None
    file_leaf: Leaf | None = None
    told_by: str | None = None

    @property
    def called(self) -> str:
        """What errors and reports call the data."""
        return ", ".join(self.inputs) or "the data set"

    @property
    def key(self) -> str | None:
        """The column that holds the ids; None where they are row numbers."""
        key: str | None = self.reading.get("key")
        return key

    @cached_property
    def pictures(self) -> Sequence[str | None] | None:
        """The name of each row's picture.

        Pictures stored in the data set keep only the last part of their paths, so their sizes are part of the names.
        """
        if self.files is None or self.file_leaf is None:
            return None
        sizes = picture_sizes(self.rows, self.file_leaf)
        return [
            None if not name else picture_of(name) if size is None else f"{picture_of(name)} of {size} bytes"
            for name, size in zip(self.files, sizes, strict=True)
        ]

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Read columns, dotted for a field inside of structs; those of a stream were read with the labels."""
        group_leaves = [find_leaf(path, self.leaves, "group_by") for path in groups]
        strata_leaves = [find_leaf(path, self.leaves, "stratify_by") for path in strata]
        return Fields(
            {leaf.path: self._in_order(group_values(self.rows, leaf)) for leaf in group_leaves},
            {leaf.path: self._in_order(stratum_values(self.rows, leaf)) for leaf in strata_leaves},
        )

    def _in_order(self, values: Any) -> Any:
        """Bring what was read of the rows into the order of the samples."""
        if self.order is None:
            return values
        if isinstance(values, LabelCounts):
            return LabelCounts(values.matrix[self.order], labels=values.labels)
        return values[self.order] if isinstance(values, np.ndarray) else [values[row] for row in self.order.tolist()]

    def members(self, subset: str, reference: Any) -> npt.NDArray[np.int64]:
        """Find the rows that `locked` names: by ids or files as `Source` does, or as a data set with the same key."""
        if not isinstance(reference, (Dataset, IterableDataset)):
            return super().members(subset, reference)
        if self.key is None:
            raise EvoSplitError(
                f"locked[{subset!r}] is a data set; name the column that both have in common: key='image_id'"
            )
        check_key(self.key, leaves_of(reference))
        ids = read_ids(read_rows(reference, [self.key]), self.key).tolist()
        return find_members(ids, None, self.counts.ids.tolist(), None, where=f"locked[{subset!r}]")

    def identities(self, split: Split) -> Mapping[str, Sequence[Any]]:
        """Return the ids of the key, or what a split may have used: row numbers, its own key, `image_id` or `id`."""
        if self.key is not None:
            return {f"column {self.key!r}": self.counts.ids.tolist()}
        key = (split.source.get("reading") or {}).get("key")
        rows = {"row number": range(len(self))}
        known = split.sample_ids
        numbered = known.dtype.kind in "iu" and order_of_rows(known, range(len(known))) is not None
        if numbered and key is None and split.source.get("adapter", self.adapter) == self.adapter:
            return rows
        columns = [leaf for name in (key, *ID_COLUMNS) for leaf in self.leaves if leaf.path == name]
        found = {f"column {leaf.path!r}": unique_values(self.rows, leaf) for leaf in columns}
        found = {name: values for name, values in found.items() if values}
        if not found and not numbered and self.files is None:
            raise EvoSplitError(
                f"the split names its samples by ids such as {known[:1].tolist()[0]!r}, not by row numbers; "
                "name the column that holds these ids: key='image_id'"
            )
        return found or rows

    def shared_keys(self) -> Mapping[str, Sequence[Any]]:
        """Return the values of the column that identifies rows."""
        return {} if self.told_by is None else {self.told_by: self.rows.column(self.told_by).to_pylist()}

    def contents(self, on_progress: OnProgress | None = None) -> Sequence[str | None]:
        """Compare the pictures and sounds of the rows, without decoding them."""
        if self.subsets is None:
            return super().contents(on_progress)
        return same_media(self.ds, self.subsets, on_progress)


def read_dataset(
    ds: AnyDataset,
    options: HfReading,
    *,
    need_labels: bool = True,
    read_labels: bool = True,
    read_files: bool = True,
    groups: Sequence[str] = (),
    strata: Sequence[str] = (),
    inputs: Sequence[str] = (),
) -> HfSource:
    """Read the rows of a data set; its splits are joined.

    Parameters
    ----------
    ds
        What the user has.
    options
        How to read it.
    need_labels
        Whether a data set without labels is refused.
    read_labels, read_files
        Whether labels and file names are wanted at all.
    groups, strata
        What `HfSource.fields` will be asked for, so that a stream is read once.
    inputs
        What to call it in the manifest.
    """
    splits = splits_of(ds)
    whole = merged(splits)
    how = HowToCount(options.multi_hot, options.threshold, options.delimiter)
    key = needed_key(options.key) if is_stream(whole) else options.key
    leaves = leaves_of(whole)
    labels = _label_leaves(options, leaves, how, need_labels) if read_labels else []
    fields = [find_leaf(path, leaves, "group_by") for path in groups]
    fields += [find_leaf(path, leaves, "stratify_by") for path in strata]
    if key is not None:
        check_key(key, leaves)
    if isinstance(whole, Dataset):
        rows, sizes = read_rows(whole, ()), [len(part) for part in splits.values()]
    else:
        columns = [leaf.column for leaf in (*labels, *fields)]
        rows, sizes = read_streams(list(splits.values()), columns if key is None else [*columns, key])
        if whole.features is None:
            # The first rows may have shown less of the types than all rows do.
            known = leaves_of_schema(rows.table.schema, None)
            labels = [find_leaf(leaf.path, known, "label_column") for leaf in labels]
            leaves = [*known, *(leaf for leaf in leaves if leaf.column not in rows.table.column_names)]
    matrix: Any = sp.csr_array((len(rows), 0), dtype=np.int32)
    names: list[str] = []
    if labels:
        matrix, names = count_columns(rows.table, labels, rows.shown, how)
    ids = None if key is None else read_ids(rows, key)
    placed = np.repeat(np.arange(len(splits)), sizes)
    order = None
    if is_stream(whole) and ids is not None:
        order = np.argsort(ids)  # so that a shuffled stream gives the same split
        matrix, ids, placed = matrix[order], ids[order], placed[order]
    files = find_files(rows, leaves) if read_files and not is_stream(whole) else None
    reading = recorded(options)
    if labels:
        paths = [leaf.path for leaf in labels]
        reading = {"label_column": paths[0] if len(paths) == 1 else paths, **reading}
    return HfSource(
        counts=LabelCounts(matrix, ids=ids, labels=names),
        adapter="hf",
        inputs=tuple(inputs),
        reading=reading,
        files=None if files is None else files[1],
        subsets=None if "" in splits else Placement(tuple(splits), placed),
        has_labels=bool(labels),
        notes=(f"The labels are those of column {labels[0]}.",) if labels and options.label_column is None else (),
        ds=whole,
        rows=rows,
        leaves=leaves,
        order=order,
        file_leaf=None if files is None else files[0],
    )


def read_divided(ds: AnyDataset, options: HfReading, *, inputs: Sequence[str] = ()) -> HfSource:
    """Read the splits of a `DatasetDict`, for an audit; `key` need not be unique there."""
    if not isinstance(ds, DatasetDict) or len(ds) < 2:
        raise EvoSplitError("an audit compares splits; pass a DatasetDict with two or more, such as train and test")
    source = read_dataset(ds, replace(options, key=None), inputs=inputs)
    if source.subsets is None:
        return source
    if options.key is not None:
        return replace(source, told_by=check_key(options.key, source.leaves).column)
    found = telling_column(source.rows, source.leaves, source.subsets)
    told = () if found is None else (f"Rows are told apart by column {found!r}.",)
    return replace(source, told_by=found, notes=(*source.notes, *told))


def _label_leaves(options: HfReading, leaves: Sequence[Leaf], how: HowToCount, needed: bool) -> list[Leaf]:
    paths = names_of(options.label_column, "label_column")
    if paths is not None:
        return [find_leaf(path, leaves, "label_column") for path in paths]
    try:
        return [guess_leaf(leaves, how.fits)]
    except EvoSplitError:
        if needed:
            raise
        return []


def needed_key(key: str | None) -> str:
    """Refuse a stream without a key."""
    if key is None:
        raise EvoSplitError(
            "an IterableDataset needs key=, a column of unique integers or strings: its rows have no numbers "
            "that stay the same when it is shuffled or divided among workers, so a split by number would "
            "mix up the rows"
        )
    return key


def load(path: PathLike, options: HfReading) -> Any:
    """Load a directory of `save_to_disk`, a folder or file of data, or a data set of the hub.

    Parameters
    ----------
    path
        The path, or a hub name such as `"cppe-5"`.
    options
        Of these, `config` and `source_split` count.

    Returns
    -------
    Dataset or DatasetDict
        The data set, as `datasets` loads it.
    """
    name, path = str(path), Path(path)
    try:
        if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
            ds = _load_saved(name)
        elif path.is_file():
            ds = _load_file(path)
        elif path.is_dir() or _HUB_NAME.fullmatch(name):
            ds = load_dataset(name, options.config)
        else:
            raise EvoSplitError(f"there is no directory or file {name!r}")
    except (OSError, ValueError, DatasetsError) as error:
        if isinstance(error, EvoSplitError):
            raise
        missing = "" if path.exists() else "; there is no such directory or file here either"
        raise EvoSplitError(f"cannot load {name!r}: {_reason(error)}{missing}") from error
    wanted = names_of(options.source_split, "source_split")
    if wanted is None:
        return ds
    there = list(ds) if isinstance(ds, DatasetDict) else []
    for each in wanted:
        if each not in there:
            known = ", ".join(map(repr, there)) or "no splits"
            raise EvoSplitError(f"source_split={each!r} is no split of {name!r}; it has {known}")
    return DatasetDict({each: ds[each] for each in wanted})


def load_divided(path: str, options: HfReading) -> tuple[Any, HfReading]:
    """Load subsets for an audit; those that EvoSplit wrote, with the label columns that were split.

    Folds are represented by their test sets, which together are the whole data set.
    """
    manifest = Path(path) / MANIFEST
    made = Split.load(manifest) if manifest.is_file() else None
    if made is None:
        return load(path, options), options
    if made.is_kfold:
        folds = {name: load(Path(path) / name, HfReading()) for name in made.names}
        ds = DatasetDict({name: fold["test"] for name, fold in folds.items()})
    else:
        ds = load(path, options)
    names = ("label_column", "multi_hot", "threshold", "delimiter")
    before = made.source.get("reading") or {} if made.source.get("adapter") == "hf" else {}
    if all(getattr(options, name) is None for name in (*names, "key")):
        options = replace(options, **{name: before[name] for name in names if name in before})
    return ds, options


def _load_saved(name: str) -> Any:
    try:
        return load_from_disk(name)
    except IndexError as error:  # of `datasets`, where `save_to_disk` had no rows to write
        raise EvoSplitError(f"{name!r} has no rows, or a split without any; there is nothing to split") from error


def _load_file(path: Path) -> Any:
    builder = _BUILDERS.get(path.suffix.lower())
    if builder is None:
        raise EvoSplitError(f"{str(path)!r} is no {', '.join(_BUILDERS)} file; pass one, or a directory")
    if not path.stat().st_size:
        raise EvoSplitError(f"{str(path)!r} is empty; there is nothing to split")
    options = {"sep": "\t"} if path.suffix.lower() == ".tsv" else {}
    return load_dataset(builder, data_files=str(path), split="train", **options)


def _reason(error: BaseException) -> str:
    """Return the message of the original error, which `datasets` wraps in a general one."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


@contextmanager
def no_bars() -> Iterator[None]:
    """Keep the progress bars of `datasets` off beside ours."""
    shown = not datasets.are_progress_bars_disabled()
    if shown:
        datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()

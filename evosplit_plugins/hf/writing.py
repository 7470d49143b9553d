"""Write subsets of a data set: in memory as `DatasetDict`, or to disk, all or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from datasets import Dataset, DatasetDict, IterableDatasetDict
from datasets.table import embed_table_storage

from evosplit import EvoSplitError, Split
from evosplit_plugins.adapter import Destination, Outcome, Write
from evosplit_plugins.hf.adapter import HfWriting
from evosplit_plugins.hf.reading import HfSource, needed_key, no_bars
from evosplit_plugins.hf.rows import is_stream, leaves_of
from evosplit_plugins.output import Output
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import Staging, read_record, settle

__all__ = ["Belongs", "check_split_names", "divided", "plan_output"]

_SPLIT_NAME = re.compile(r"\w+(\.\w+)*")
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_ROWS_AT_ONCE = 1000
_ROWS_AT_ONCE_WITH_MEDIA = 100


def check_split_names(names: Iterable[Any]) -> None:
    """Refuse names of subsets that `datasets` would refuse."""
    for name in names:
        if not isinstance(name, str) or not _SPLIT_NAME.fullmatch(name):
            raise EvoSplitError(
                f"Hugging Face refuses the split name {name!r}; use letters, digits and underscores, "
                "for example 'train'"
            )


class Belongs:
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


def divided(ds: Any, split: Split, key: str | None, folds: bool, keep_in_memory: bool = False) -> list[Any]:
    """Make the subsets, or one train and test pair per fold, of a split in the row order of the data set.

    Parameters
    ----------
    ds
        The data set; a stream may be in any order.
    split
        The split.
    key
        The column with its ids, which a stream needs.
    folds
        Whether each subset is the test set once.
    keep_in_memory
        Passed on to `Dataset.select`.

    Returns
    -------
    list
        One `DatasetDict` (of a stream `IterableDatasetDict`) per fold, or one with all subsets.
    """
    numbers = range(len(split.names))
    if folds:
        wanted = [{"train": frozenset(numbers) - {j}, "test": frozenset({j})} for j in numbers]
    else:
        wanted = [{name: frozenset({j}) for j, name in enumerate(split.names)}]
    if is_stream(ds):
        order = np.argsort(split.sample_ids)
        ids, subset_of = split.sample_ids[order], split.assignment[order]
        return [
            IterableDatasetDict(
                {name: ds.filter(Belongs(needed_key(key), ids, subset_of, kept)) for name, kept in parts.items()}
            )
            for parts in wanted
        ]
    return [
        DatasetDict(
            {
                # Ascending rows read fastest. Always an int64 array: fingerprints depend on the container type.
                name: ds.select(np.flatnonzero(np.isin(split.assignment, list(kept))), keep_in_memory=keep_in_memory)
                for name, kept in parts.items()
            }
        )
        for parts in wanted
    ]


def plan_output(to: Destination[HfSource, HfWriting]) -> Write:
    """Refuse to overwrite the source, or files that no earlier split wrote; return the function that writes."""
    source, subsets, output, options = to.source, to.subsets, to.root, to.options
    if not subsets.is_kfold:
        check_split_names(subsets.names)
    shard_bytes(options.max_shard_size)
    for each in map(Path, source.inputs):
        here, there = output.resolve(), each.resolve()
        if there.exists() and (here == there or here in there.parents or (there in here.parents and there.is_dir())):
            raise EvoSplitError(f"the output {str(output)!r} and the source {str(each)!r} overlap; write elsewhere")
    if output.exists() and not output.is_dir():
        raise EvoSplitError(f"the output {str(output)!r} is a file; choose a directory")
    files = [path for path in map(Path, source.inputs) if path.is_file()]
    cached = dict.fromkeys(Path(file["filename"]) for file in source.ds.cache_files)
    made = Output(to, [*files, *cached])
    settle(output)
    if made.keeps_manifest:
        raise EvoSplitError(f"the output {str(output)!r} holds the split.json that is replayed; write elsewhere")
    if output.is_dir() and any(output.iterdir()):
        if not any(run.writer == source.adapter for run in read_record(output)):
            raise EvoSplitError(
                f"the output {str(output)!r} holds no earlier split; nothing is deleted, choose an empty directory"
            )
        if not options.overwrite:
            raise EvoSplitError(
                f"the output {str(output)!r} is not empty; pass overwrite=True to replace an earlier split"
            )
    made.plan(()).check()
    return lambda split, on_progress: _write_subsets(made, split, on_progress)


def _write_subsets(output: Output, split: Split, on_progress: OnProgress | None) -> Outcome:
    """Write subsets, the manifest and the report, all of it or nothing."""
    source, options = output.to.source, output.to.options
    limit = shard_bytes(options.max_shard_size)
    parts = divided(source.ds, split, source.key, split.is_kfold)
    folders = [PurePosixPath(name) for name in split.names] if split.is_kfold else [PurePosixPath()]

    def make(staging: Staging) -> None:
        for number, (folder, part) in enumerate(zip(folders, parts, strict=True)):
            if on_progress is not None:
                on_progress(number / len(parts), f"writing {output.root / folder}")
            if options.format == "parquet":
                _write_parquet(part, staging.path(folder / "data"), limit)
            else:
                part.save_to_disk(str(staging.path(folder)), max_shard_size=limit)

    with no_bars():
        written = output.write(output.plan(()), split, make)
    subsets = [
        output.root / folder / ("data" if options.format == "parquet" else name)
        for folder, part in zip(folders, parts, strict=True)
        for name in part
    ]
    return Outcome(split, (*dict.fromkeys(subsets), *written))


def shard_bytes(text: str) -> int:
    """Read a size such as 500MB.

    Examples
    --------
    >>> shard_bytes("500MB"), shard_bytes("1 GiB")
    (500000000, 1073741824)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]*)\s*", text)
    unit = _UNITS.get(found[2].upper()) if found else None
    if not found or unit is None or int(found[1]) == 0:
        raise EvoSplitError(f"max_shard_size={text!r} is no size; write for example 500MB or 1GiB")
    return int(found[1]) * unit


def _write_parquet(subsets: DatasetDict, directory: Path, limit: int) -> None:
    directory.mkdir(parents=True)
    for name, subset in subsets.items():
        shards = list(_write_shards(subset, directory / f".{name}", limit))
        for number, shard in enumerate(shards):
            shard.rename(directory / f"{name}-{number:05d}-of-{len(shards):05d}.parquet")


def _write_shards(ds: Dataset, prefix: Path, limit: int) -> Iterator[Path]:
    """Write files of about `limit` bytes with the pictures inside, as the hub has them; give their paths."""
    schema = ds.features.arrow_schema  # carries the features too, so that class names survive
    media = any(hasattr(leaf.feature, "decode") for leaf in leaves_of(ds))
    batches = ds.with_format("arrow").iter(_ROWS_AT_ONCE_WITH_MEDIA if media else _ROWS_AT_ONCE)
    batch = next(batches, None)
    number = 0
    while batch is not None:
        path = prefix.with_name(f"{prefix.name}-{number}")
        with pq.ParquetWriter(path, schema) as writer:
            while batch is not None:
                writer.write_table(embed_table_storage(batch.cast(schema)))
                batch = next(batches, None)
                if path.stat().st_size >= limit:
                    break
        yield path
        number += 1

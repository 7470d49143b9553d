"""Data sets on disk, for the command line: load what users have, write subsets whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow.parquet as pq
from datasets import Dataset, DatasetDict, load_dataset, load_from_disk
from datasets.exceptions import DatasetsError
from datasets.table import embed_table_storage

from evosplit import EvoSplitError, Split
from evosplit_plugins.hf.source import places_of
from evosplit_plugins.staging import Plan, read_record, settle

__all__ = ["FORMATS", "MANIFEST", "check_output", "load", "load_folds", "save", "shard_bytes"]

FORMATS = ("arrow", "parquet")
MANIFEST = "split.json"
_BUILDERS = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
}
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_ROWS_AT_ONCE = 1000
_ROWS_AT_ONCE_WITH_MEDIA = 100


def load(source: str, *, config: str | None = None, splits: Sequence[str] | None = None) -> Any:
    """Load a directory of `save_to_disk`, a folder or file of data, or a data set of the hub.

    Parameters
    ----------
    source
        The path, or a hub name such as `"cppe-5"`.
    config
        The configuration of a data set that has several.
    splits
        Which of its splits to take; by default all.

    Returns
    -------
    Dataset or DatasetDict
        What `datasets` makes of it.
    """
    path = Path(source)
    try:
        if (path / "dataset_dict.json").is_file() or (path / "state.json").is_file():
            ds = load_from_disk(source)
        elif path.is_dir():
            ds = load_dataset(source, config)
        elif path.is_file():
            ds = _load_file(path)
        elif _HUB_NAME.fullmatch(source):
            ds = load_dataset(source, config)
        else:
            raise EvoSplitError(f"there is no directory or file {source!r}")
    except (OSError, ValueError, DatasetsError) as error:
        if isinstance(error, EvoSplitError):
            raise
        missing = "" if path.exists() else "; there is no such directory or file here either"
        raise EvoSplitError(f"cannot load {source!r}: {_reason(error)}{missing}") from error
    if splits is None:
        return ds
    available = list(ds) if isinstance(ds, DatasetDict) else []
    unknown = [name for name in splits if name not in available]
    if unknown:
        raise EvoSplitError(
            f"{source!r} has no split {unknown[0]!r}; it has {', '.join(map(repr, available)) or 'no splits'}"
        )
    return DatasetDict({name: ds[name] for name in splits})


def load_folds(folder: Path, names: Sequence[str]) -> DatasetDict:
    """Load the folds that `save` wrote, each by its test set: together they are the whole data set."""
    return DatasetDict({name: load(str(folder / name))["test"] for name in names})


def _load_file(path: Path) -> Any:
    builder = _BUILDERS.get(path.suffix.lower())
    if builder is None:
        raise EvoSplitError(f"{str(path)!r} is no {', '.join(_BUILDERS)} file; pass one, or a directory")
    options = {"sep": "\t"} if path.suffix.lower() == ".tsv" else {}
    return load_dataset(builder, data_files=str(path), split="train", **options)


def _reason(error: BaseException) -> str:
    """Say what went wrong at the bottom: `datasets` wraps the real error in a general one."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


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
        raise EvoSplitError(f"{text!r} is no size; write for example 500MB or 1GiB")
    return int(found[1]) * unit


def save(
    parts: Mapping[str, DatasetDict],
    output: str | os.PathLike[str],
    split: Split,
    *,
    source: str,
    form: str = "arrow",
    max_shard_size: str = "500MB",
    report: str | os.PathLike[str] | None = None,
    inputs: Sequence[Path] = (),
    overwrite: bool = False,
) -> list[Path]:
    """Write subsets and the manifest into a directory, all of it or nothing.

    Parameters
    ----------
    parts
        What to write under which name below the directory; an empty name is the directory itself.
    output
        The directory. It must be empty or absent; with `overwrite` it may be an earlier output.
    split
        The split, for its manifest.
    source
        Where the rows came from: never written to, and named in the manifest.
    form
        "arrow" (`save_to_disk`) or "parquet" (`data/train-00000-of-00001.parquet`).
    max_shard_size
        From which size on a subset is divided into several files.
    report
        Also write the report as an HTML page there.
    inputs
        Further files that were read, and are never written over.
    overwrite
        Replace an earlier output; what else is in the directory stays.

    Returns
    -------
    list of Path
        The directories of the subsets, the manifest and the report.
    """
    target = Path(output)
    limit = shard_bytes(max_shard_size)
    cached = {Path(file["filename"]) for part in parts.values() for ds in part.values() for file in ds.cache_files}
    page = None if report is None else Path(report)
    plan = check_output(target, source, overwrite, report=page, inputs=[*inputs, *cached])
    with plan.stage() as stage:
        for name, subsets in parts.items():
            folder = stage.path(PurePosixPath(name))
            if form == "parquet":
                _write_parquet(subsets, folder / "data", limit)
            else:
                subsets.save_to_disk(str(folder), max_shard_size=limit)
        if split.source.get("adapter", "hf") == "hf":  # not one of another adapter that is replayed
            split = replace(split, source={"adapter": "hf", **split.source, "inputs": [source]})
        split.save(stage.path(PurePosixPath(MANIFEST)))
        if page is not None:
            split.report().save_html(stage.path(page))
        stage.commit()
    written = [
        target / name / ("data" if form == "parquet" else subset) for name, part in parts.items() for subset in part
    ]
    return [*dict.fromkeys(written), target / MANIFEST, *([] if page is None else [page])]


def check_output(
    target: Path, source: str, overwrite: bool, *, report: Path | None = None, inputs: Sequence[Path] = ()
) -> Plan:
    """Refuse to write over the source, or over what no earlier split left there; returns the plan of the output."""
    here, there = target.resolve(), Path(source).resolve()
    if there.exists() and (here == there or here in there.parents or (there in here.parents and there.is_dir())):
        raise EvoSplitError(f"the output {str(target)!r} and the source {source!r} overlap; write somewhere else")
    if target.exists() and not target.is_dir():
        raise EvoSplitError(f"the output {str(target)!r} is a file; choose a directory")
    plan = Plan(
        target,
        writer="hf",
        files=[PurePosixPath(MANIFEST)],
        reports=[] if report is None else [report],
        inputs=[*([there] if there.is_file() else []), *inputs],
        overwrite=overwrite,
    )
    settle(target)
    if target.is_dir() and any(target.iterdir()):
        if not any(run.writer == plan.writer for run in read_record(target)):
            raise EvoSplitError(
                f"the output {str(target)!r} holds no earlier split; nothing is deleted, choose an empty directory"
            )
        if not overwrite:
            raise EvoSplitError(
                f"the output {str(target)!r} is not empty; pass overwrite=True to replace an earlier split"
            )
    plan.check()
    return plan


def _write_parquet(subsets: DatasetDict, directory: Path, limit: int) -> None:
    directory.mkdir(parents=True)
    for name, subset in subsets.items():
        shards = list(_write_shards(subset, directory / f".{name}", limit))
        for number, shard in enumerate(shards):
            shard.rename(directory / f"{name}-{number:05d}-of-{len(shards):05d}.parquet")


def _write_shards(ds: Dataset, prefix: Path, limit: int) -> Iterator[Path]:
    """Write files of about `limit` bytes with the pictures inside, as the hub has them; give their paths."""
    schema = ds.features.arrow_schema  # carries the features too, so that class names survive
    media = any(hasattr(leaf.feature, "decode") for leaf in places_of(ds))
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

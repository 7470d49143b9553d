"""The Hugging Face adapter and its options; `datasets` is imported when data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from evosplit import EvoSplitError
from evosplit.errors import needing
from evosplit.wording import Nouns
from evosplit_plugins.adapter import Adapter, Destination, Location, Write, WriteOptions
from evosplit_plugins.options import option
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.request import names_of
from evosplit_plugins.source import Source

__all__ = ["HfReading", "HfWriting", "HuggingFaceAdapter", "host_module"]

_SUFFIXES = (".parquet", ".arrow", ".jsonl")
_SAVED = ("dataset_dict.json", "state.json")


@dataclass(frozen=True, kw_only=True)
class HfReading:
    """How to read a data set; `evosplit_hf` describes all options but `config` and `source_split`, which select data.

    A list of one column is that column.
    """

    label_column: str | Sequence[str] | None = option(
        None,
        "the column with the labels, such as objects.category; repeat for several (default: found)",
        kind="list",
        metavar="COLUMN",
    )
    key: str | None = option(
        None, "a column of unique values that names the rows (default: row numbers)", kind="text", metavar="COLUMN"
    )
    multi_hot: bool | None = option(None, "whether lists of 0 and 1 have one entry per label", kind="switch")
    threshold: float | None = option(
        None, "from which value on a score counts as its label", kind="number", metavar="X"
    )
    delimiter: str | None = option(None, "what stands between the labels of one string", kind="text", metavar="TEXT")
    config: str | None = option(None, "the configuration of a data set that has several", kind="text", metavar="NAME")
    source_split: str | Sequence[str] | None = option(
        None, "take this split of the source; repeat for several (default: all)", kind="list", metavar="NAME"
    )

    def __post_init__(self) -> None:
        for name in ("label_column", "source_split"):
            given = getattr(self, name)
            names = names_of(given, name)
            if names is None and given is not None:
                raise EvoSplitError(f"{name}={given!r} names nothing; name something, or leave it out")
            object.__setattr__(self, name, names[0] if names is not None and len(names) == 1 else names)


@dataclass(frozen=True, kw_only=True)
class HfWriting(WriteOptions):
    """How to write subsets.

    Attributes
    ----------
    format
        "arrow" (`save_to_disk`) or "parquet" (`data/train-00000-of-00001.parquet`).
    max_shard_size
        From which size on a subset is divided into several files.
    """

    format: str = option(
        "arrow",
        "arrow: for load_from_disk (default); parquet: files for load_dataset and the hub",
        kind="text",
        choices=("arrow", "parquet"),
        metavar="FORMAT",
    )
    max_shard_size: str = option("500MB", "how large one file may become (default 500MB)", kind="text", metavar="SIZE")


class HuggingFaceAdapter(Adapter):
    """Data sets of the Hugging Face library `datasets`."""

    name = "hf"
    summary = "Hugging Face data sets"
    location = Location(
        "SOURCE",
        "a directory of save_to_disk, a folder or file of parquet, json or csv, a folder of images, or a hub name",
    )
    reading = HfReading
    writing = HfWriting
    nouns = Nouns(sample="row", samples="rows")
    field = "column"
    default_names: ClassVar[Mapping[int, tuple[str, ...]]] = {
        2: ("train", "test"),
        3: ("train", "validation", "test"),
    }

    def detect(self, paths: Sequence[str]) -> bool:
        """Recognise what `save_to_disk` writes, and files of parquet, Arrow and JSON lines."""
        if len(paths) != 1:
            return False
        path = Path(paths[0])
        if path.is_file():
            return path.suffix.lower() in _SUFFIXES
        saved = (each / name for each in (path, path / "fold0") for name in _SAVED)
        files = (f"{folder}*{suffix}" for folder in ("", "data/", "*/", "fold0/data/") for suffix in _SUFFIXES)
        return path.is_dir() and (any(each.is_file() for each in saved) or any(any(path.glob(each)) for each in files))

    def read(
        self, paths: Sequence[str], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> Source:
        """Load a data set and read its rows; splits that it has are joined."""
        reading = host_module("reading")
        path = _only(paths, on_progress)
        with reading.no_bars():
            ds = reading.load(path, options)
        source: Source = reading.read_dataset(ds, options, need_labels=need_labels, inputs=[path])
        return source

    def read_subsets(self, paths: Sequence[str], options: Any, *, on_progress: OnProgress | None = None) -> Source:
        """Load a data set with its splits; of folds that EvoSplit wrote the test sets."""
        reading = host_module("reading")
        path = _only(paths, on_progress)
        with reading.no_bars():
            ds, options = reading.load_divided(path, options)
        source: Source = reading.read_divided(ds, options, inputs=[path])
        return source

    def plan(self, to: Destination[Any, Any]) -> Write:
        """Plan a `DatasetDict`, one for each fold; refuse names that `datasets` does not take."""
        write: Write = host_module("writing").plan_output(to)
        return write


def _only(paths: Sequence[str], on_progress: OnProgress | None) -> str:
    """Return the only source, and report that it is being read."""
    if len(paths) != 1:
        raise EvoSplitError(f"{len(paths)} sources are given; name one data set")
    if on_progress is not None:
        on_progress(0.0, f"reading {paths[0]}")
    return str(paths[0])


def host_module(name: str) -> Any:
    """Import a module of this package that needs `datasets`; the error without it names the extra."""
    with needing("datasets", "Hugging Face datasets is not installed", "hf"):
        import datasets  # noqa: F401
    return import_module(f"evosplit_plugins.hf.{name}")

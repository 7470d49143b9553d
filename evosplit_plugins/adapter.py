"""`Adapter`, the interface of a host format: `detect`, `read` and `plan`, with its options as dataclasses.

Everything else is shared: the Python functions and the commands call `evosplit_plugins.walk`, which reads, splits and
writes through any adapter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from evosplit import Split
from evosplit.ratios import DEFAULT_NAMES, Subsets
from evosplit.wording import Nouns
from evosplit_plugins.files import PathLike
from evosplit_plugins.options import option
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.source import Source

__all__ = [
    "Adapter",
    "Destination",
    "Location",
    "NoOptions",
    "Outcome",
    "Write",
    "WriteOptions",
]


@dataclass(frozen=True)
class NoOptions:
    """For an adapter that needs no options to read."""


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """The writing options that all adapters share; an adapter adds its own.

    Attributes
    ----------
    report
        Also write the report as an HTML page there, in the place of an earlier page.
    overwrite
        Replace what an earlier run wrote there; never an input, nor a file that EvoSplit did not write.
    dry_run
        Do everything but write; only the page of `report` is written.
    """

    report: PathLike | None = option(None, "also write the report as an HTML page", kind="path", metavar="PATH")
    overwrite: bool = option(False, "replace an earlier output (never an input)", kind="switch")
    dry_run: bool = option(False, "report what would come out, but write only the page of --report", kind="switch")


@dataclass(frozen=True)
class Location:
    """The positional argument that names the data: its metavar, its help, and whether there may be several."""

    metavar: str
    help: str
    several: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of a command.

    Attributes
    ----------
    split
        The split that was made or replayed; it carries label counts if the data has labels.
    files
        The files written; with `dry_run` those that would be.
    facts
        Further results to show, by name.
    notes
        Sentences about what was unusual in the input.
    """

    split: Split
    files: tuple[Path, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


SourceT = TypeVar("SourceT", bound=Source)
OptionsT = TypeVar("OptionsT", bound=WriteOptions)


@dataclass(frozen=True, kw_only=True)
class Destination(Generic[SourceT, OptionsT]):
    """The output of a command, as far as it is known before the search.

    Attributes
    ----------
    source
        What was read.
    subsets
        The names and sizes that are asked for, and whether they are folds.
    root
        The directory; not used by a host that stores the subsets itself (`needs_output` is False).
    options
        An instance of the adapter's `writing`.
    nouns
        What reports call samples and labels.
    inputs
        Further files that were read, such as lists of locked samples, and are never written over.
    """

    source: SourceT
    subsets: Subsets
    root: Path
    options: OptionsT
    nouns: Nouns
    inputs: Sequence[Path] = ()


Write: TypeAlias = Callable[[Split, "OnProgress | None"], Outcome]


class Adapter(ABC):
    """A host format: how to recognise it, read it and write it.

    A module with an adapter loads its host only inside of the methods, so that the command line can show its help.

    Attributes
    ----------
    name
        The word at the command line and in manifests.
    summary
        What it splits, for the help.
    location
        What its commands take.
    reading, writing
        The dataclasses of its options (see `evosplit_plugins.options`).
    nouns, field
        What its users call samples and labels, and a field of a sample.
    default_names
        The names of unnamed subsets, by their number.
    needs_output
        Whether its commands write into a directory.
    verbs
        What its commands can do.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    location: ClassVar[Location]
    reading: ClassVar[type] = NoOptions
    writing: ClassVar[type[WriteOptions]] = WriteOptions
    nouns: ClassVar[Nouns] = Nouns()
    field: ClassVar[str] = "field"
    default_names: ClassVar[Mapping[int, tuple[str, ...]]] = DEFAULT_NAMES
    needs_output: ClassVar[bool] = True
    verbs: ClassVar[tuple[str, ...]] = ("split", "apply", "audit")

    @abstractmethod
    def detect(self, paths: Sequence[str]) -> bool:
        """Whether these look like data of this format, judged by names and folders, without loading the host."""

    @abstractmethod
    def read(
        self, paths: Sequence[str], options: Any, *, need_labels: bool = True, on_progress: OnProgress | None = None
    ) -> Source:
        """Read samples and their labels.

        Parameters
        ----------
        paths
            What the user named.
        options
            An instance of `reading`.
        need_labels
            Whether samples without any kind of label are refused; a split can be replayed on them.
        on_progress
            Called with the fraction done and a message.
        """

    def read_subsets(self, paths: Sequence[str], options: Any, *, on_progress: OnProgress | None = None) -> Source:
        """Read data that is divided already, for an audit; `Source.subsets` says which subset each sample is in.

        A sample that is in two subsets is two rows.
        """
        return self.read(paths, options, on_progress=on_progress)

    @abstractmethod
    def plan(self, to: Destination[Any, Any]) -> Write:
        """Check before the search that the output can be written, and return the function that writes it.

        That function takes the split, in the order of the source, and `on_progress` (or None). It writes all of the
        subsets or nothing.
        """

"""`Source`: what an adapter reads, in the one form that splitting, replaying and auditing work on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins.files import names_file
from evosplit_plugins.matching import find_members, picture_of, plain_path
from evosplit_plugins.progress import OnProgress

if TYPE_CHECKING:
    from evosplit_plugins.audit.leaks import Shared
    from evosplit_plugins.grouping import Links
    from evosplit_plugins.request import Request

__all__ = ["Asked", "Fields", "Placement", "Source", "listed_ids", "named_in_file"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Placement:
    """The subsets that samples are in already.

    Attributes
    ----------
    names
        The subsets.
    assignment
        For each sample the position of its subset in `names`, -1 for a sample in none of them. Where rows of the counts
        stand for several samples: how many of each row are in each subset (rows x k).

    Examples
    --------
    >>> Placement(("train", "test"), np.array([0, 0, 1, -1])).sizes
    (2, 1)
    """

    names: tuple[str, ...]
    assignment: Ints

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many samples are in each subset."""
        if self.assignment.ndim > 1:
            return tuple(self.assignment.sum(axis=0).tolist())
        placed = self.assignment[self.assignment >= 0]
        return tuple(np.bincount(placed, minlength=len(self.names)).tolist())


@dataclass(frozen=True)
class Fields:
    """Values of fields, one per sample.

    Attributes
    ----------
    groups
        For each field what names the group of each sample: an integer, a text, a list of these, or None.
    strata
        For each field what `evosplit.split` takes as a stratum: one value per sample, or a LabelCounts.
    notes
        Sentences for the report.
    """

    groups: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    strata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments for the engine, where a host has no row for each sample and resolves the request itself.

    Attributes
    ----------
    counts, groups, locked, strata
        As for `evosplit.split`.
    notes
        Sentences for the report.
    finish
        Turns the split of these rows into the one that is returned.
    """

    counts: LabelCounts
    groups: Any = None
    locked: Any = None
    strata: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    finish: Callable[[Split], Split] = lambda split: split


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """Samples with their labels, ids and files.

    An adapter derives its own class from it where its format has more: fields of the samples (`fields`), other ways to
    store subsets (`placement`) or to name samples (`members`), groups that the host itself finds (`links`).

    Attributes
    ----------
    counts
        How often each label occurs in each sample, with the ids of the samples.
    adapter, inputs, reading
        Where the samples come from, as the manifest keeps it: the adapter, the names of what it read, and the options
        needed to read it again.
    files
        The file name or path of each sample, None where it has none; None if no file is known.
    subsets
        The subsets that the samples are in already; None if they are not divided.
    has_labels
        Whether labels were read at all; a split can be replayed without.
    notes
        Sentences about what was unusual.
    """

    counts: LabelCounts
    adapter: str
    inputs: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[str | None] | None = None
    subsets: Placement | None = None
    has_labels: bool = True
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.counts.n_samples

    @property
    def called(self) -> str:
        """What errors and reports call the data."""
        return ", ".join(self.inputs) or f"the {self.adapter} data"

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the samples come from, as the manifest keeps it."""
        return {"adapter": self.adapter, "inputs": list(self.inputs), "reading": dict(self.reading)}

    @property
    def file_names(self) -> tuple[str | None, ...] | None:
        """The files, as a manifest keeps them; None if no sample has one."""
        return None if self.files is None or not any(self.files) else tuple(self.files)

    @cached_property
    def pictures(self) -> Sequence[str | None] | None:
        """The name of each sample's picture; samples with equal names are copies of one picture."""
        return None if self.files is None else [None if name is None else picture_of(name) for name in self.files]

    def identities(self, split: Split) -> Mapping[str, Sequence[Any]]:
        """Return candidates for the ids of the samples in a saved split, the likeliest first, by name."""
        return {"id": self.counts.ids.tolist()}

    def fields(self, *, groups: Sequence[str], strata: Sequence[str]) -> Fields:
        """Read the named fields of all samples in one pass; the error for an unknown field lists the known ones.

        Parameters
        ----------
        groups
            Fields whose values name groups.
        strata
            Fields to balance.
        """
        if groups or strata:
            parameter, name = ("group_by", groups[0]) if groups else ("stratify_by", strata[0])
            raise EvoSplitError(f"{parameter}={name!r} is no field of {self.called}; it has none beside the labels")
        return Fields()

    def asked(self, request: Request, names: Sequence[str]) -> Asked | None:
        """Resolve a request where there is no row for each sample; None (the default) where there is."""
        return None

    def replay(self, split: Split) -> Split | None:
        """Replay a saved split where there is no row for each sample; None (the default) where there is."""
        return None

    def shared(self, groups: Sequence[str], regex: str | None) -> Shared | None:
        """Find what subsets share where there is no row for each sample; None (the default) where there is."""
        return None

    def placement(self, names: Sequence[str]) -> Placement:
        """Return which samples are already in the subsets of these names; an unknown subset is an error."""
        known = () if self.subsets is None else self.subsets.names
        if self.subsets is None or not set(names) <= set(known):
            missing = next(name for name in names if name not in known)
            there = f"its subsets are {', '.join(map(repr, known))}" if known else "it is not divided yet"
            raise EvoSplitError(
                f"locked= keeps the subset {missing!r}, which {self.called} does not have: {there}; "
                f"name the samples instead, such as locked={{{missing!r}: ids}}"
            )
        position = np.full(len(known) + 1, -1, dtype=np.int64)
        for j, name in enumerate(names):
            position[known.index(name)] = j
        return Placement(tuple(names), position[self.subsets.assignment])

    def members(self, subset: str, reference: Any) -> Ints:
        """Find the samples that `locked` names for a subset.

        Parameters
        ----------
        subset
            The subset in which they stay.
        reference
            Ids; or the path of a text file with one id, file name or path in each line, or of a saved split, of which
            the subset of the same name counts; or several such paths.

        Returns
        -------
        numpy.ndarray
            Their rows; -1 for a sample that takes no part in the split.
        """
        if isinstance(reference, (list, tuple)) and reference and all(map(names_file, reference)):
            return np.concatenate([self.members(subset, path) for path in reference])
        if isinstance(reference, (str, os.PathLike)):
            ids, files = named_in_file(Path(reference), subset)
            return self.rows_of(ids, files, where=str(reference))
        return self.rows_of(listed_ids(reference, subset), None, where=f"locked[{subset!r}]")

    def rows_of(self, ids: Sequence[Any], files: Sequence[str | None] | None, *, where: str) -> Ints:
        """Find samples by their files or ids; -1 for samples of the data that take no part in the split."""
        return find_members(ids, files, self.counts.ids.tolist(), self.files, where=where)

    def links(self, on_progress: OnProgress | None = None) -> Sequence[Links]:
        """Return further links between samples that the host knows of, such as near duplicates."""
        return ()

    def shared_keys(self) -> Mapping[str, Sequence[Any]]:
        """Return the values that identify samples, by name; an audit reports those that subsets have in common."""
        if self.file_names is not None:
            return {"file name": [None if name is None else plain_path(name) for name in self.file_names]}
        return {"id": self.counts.ids.tolist()}

    def contents(self, on_progress: OnProgress | None = None) -> Sequence[str | None]:
        """Name each sample after the first one with the same file content; None for a sample without an equal one."""
        raise EvoSplitError(
            f"same_bytes=True compares the files of the samples, but those of {self.called} are not known; leave it out"
        )


def named_in_file(path: Path, subset: str) -> tuple[list[Any], list[str | None] | None]:
    """Read ids and file names from a list, or from the subset of a saved split."""
    if path.suffix.lower() == ".json":
        split = Split.load(path)
        rows = split.indices(subset).tolist()
        files = split.file_names
        return split.ids(subset).tolist(), None if files is None else [files[row] for row in rows]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not UTF-8 at byte {error.start}"
        raise EvoSplitError(f"cannot read {str(path)!r}, which locks samples into {subset!r}: {reason}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise EvoSplitError(f"{str(path)!r} names no sample to lock into {subset!r}; write one in each line")
    return lines, list(lines)


def listed_ids(given: Any, subset: str) -> list[Any]:
    """Check ids that `locked` lists for a subset."""
    if isinstance(given, (bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise EvoSplitError(f"locked[{subset!r}] is {given!r}; pass the ids of the samples, or the path of a list")
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if any(isinstance(value, bool) for value in values):
        raise EvoSplitError(f"locked[{subset!r}] is a mask; pass ids, such as numpy.flatnonzero(mask)")
    return values

"""`Split`: a data set divided into subsets, once it is made; how it is saved, loaded and replayed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evosplit._version import __version__
from evosplit.counts import LabelCounts
from evosplit.errors import EvoSplitError
from evosplit.files import write_atomically
from evosplit.front import ParetoFront, pick_from
from evosplit.manifest import FORMAT, VERSION, as_text, check_manifest, difference_of_ids, ids_hash
from evosplit.measures import Measures, SubsetTables, measures_of, subset_tables

if TYPE_CHECKING:
    from evosplit.constraints import Constraints
    from evosplit.report import SplitReport
    from evosplit.wording import Nouns

__all__ = ["Split"]


@dataclass(frozen=True, eq=False)
class Split:
    """A data set divided into named, disjoint subsets.

    Attributes
    ----------
    names, sizes
        The subsets and how many samples each holds.
    placement
        For each sample the position of its subset in `names`. Where rows of the counts stand for several samples
        (`copies`): how many of each row go to each subset (rows x k). See `assignment` and `table`.
    sample_ids
        The id of each sample, or row.
    front, chosen
        The trade-offs found and which of them this split is; None for a split read from a manifest.
    counts
        The label counts that were split; None for a split read from a manifest.
    target_sizes
        The sizes asked for; `sizes` differs from them only where groups or locks leave no choice.
    settings
        How the split was made: method, seed, effort and so on, as recorded in the manifest.
    notes
        Sentences about how the split differs from what was asked for.
    constraints
        Groups, locks, strata and weights that were asked for; None if nothing of that was.
    best_ed
        The least possible `measures.ed`, or a lower bound of it: 0 unless groups or locks stand in the way.
    is_kfold
        Whether the subsets are the folds of a cross-validation, each the test set in turn.
    file_names
        The file name or path of each sample, None where there is none; None if no file is known. By them a split is
        replayed where the same samples have other ids.
    source
        Where the samples came from: the adapter that read them and what it needs to read them again.

    Examples
    --------
    >>> import evosplit
    >>> split = evosplit.split([[1], [1], [0], [0]], (0.5, 0.5), method="random", seed=0)
    >>> split.names, split.sizes
    (('train', 'test'), (2, 2))
    >>> counts = evosplit.LabelCounts([[1], [0]], copies=[6_000, 2_000])
    >>> evosplit.split(counts, (0.75, 0.25)).table.tolist()
    [[4500, 1500], [1500, 500]]
    """

    names: tuple[str, ...]
    placement: npt.NDArray[np.integer[Any]]
    sample_ids: npt.NDArray[Any]
    target_sizes: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    front: ParetoFront | None = None
    chosen: int = 0
    counts: LabelCounts | None = None
    recorded_measures: Mapping[str, float] | None = None
    constraints: Constraints | None = None
    best_ed: float = 0.0
    is_kfold: bool = False
    file_names: tuple[str | None, ...] | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {size}" for name, size in zip(self.names, self.sizes, strict=True))
        return f"Split({sizes})"

    @property
    def has_copies(self) -> bool:
        """Whether rows stand for several samples, which may be in different subsets."""
        return self.placement.ndim == 2

    @property
    def assignment(self) -> npt.NDArray[np.integer[Any]]:
        """For each sample the position of its subset in `names`."""
        if self.has_copies:
            raise EvoSplitError(
                "rows stand for several samples, which may be in different subsets: there is no subset of each row; "
                "use Split.table, how many of each row go to each subset"
            )
        return self.placement

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """How many samples of each row go to each subset (rows x k); a row of one sample has a 1 in its subset."""
        if self.has_copies:
            return np.asarray(self.placement, dtype=np.int64)
        return np.asarray(self.placement[:, None] == np.arange(len(self.names)), dtype=np.int64)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many samples each subset holds."""
        if self.has_copies:
            return tuple(self.placement.sum(axis=0).tolist())
        weights = self.counts.copies if self.counts is not None and self.counts.has_copies else None
        return tuple(map(int, np.bincount(self.placement, weights, minlength=len(self.names))))

    def indices(self, name: str) -> npt.NDArray[np.int64]:
        """Return the positions of the samples of a subset, ascending."""
        return np.flatnonzero(self.assignment == self._position(name)).astype(np.int64)

    def ids(self, name: str) -> npt.NDArray[Any]:
        """Return the ids of the samples of a subset, in the order of the data set."""
        selected: npt.NDArray[Any] = self.sample_ids[self.indices(name)]
        return selected

    def folds(self) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Yield (train, test) positions, each subset in turn as the test set, as in scikit-learn."""
        for j in range(len(self.names)):
            inside = self.assignment == j
            yield np.flatnonzero(~inside).astype(np.int64), np.flatnonzero(inside).astype(np.int64)

    def pick(self, rule: str | int) -> Split:
        """Return the split at another point of the front (see `evosplit.split` for the rules)."""
        if self.front is None:
            raise EvoSplitError(
                "this split was read from a manifest, which keeps no front; call evosplit.split again to choose"
            )
        chosen = pick_from(self.front, rule)
        settings = {**self.settings, "pick": rule if isinstance(rule, str) else int(rule)}
        return replace(
            self,
            placement=self.front.placements[chosen],
            chosen=chosen,
            settings=settings,
            recorded_measures=None,
        )

    @cached_property
    def tables(self) -> SubsetTables:
        """What each subset holds: samples, labels and label pairs."""
        if self.counts is None:
            raise EvoSplitError("this split carries no label counts; count where the data is")
        return subset_tables(self.counts, self.placement, len(self.names))

    @cached_property
    def measures(self) -> Measures:
        """All measures of this split."""
        if self.counts is None:
            if self.recorded_measures is None:
                raise EvoSplitError(
                    "this split carries no label counts; measure it with evosplit.measure(counts, split.assignment)"
                )
            return Measures(**self.recorded_measures)  # type: ignore[arg-type]
        measured = measures_of(self.tables, np.array(self.target_sizes))
        if self.constraints is None:
            return measured
        return replace(measured, flz_bound=self.constraints.flz_bound(self.counts, len(self.names)))

    def report(self, nouns: Nouns | None = None) -> SplitReport:
        """Return a report that compares this split with random ones and with what is possible, to print for example.

        `nouns` says what samples and labels are called in it, such as images and classes.
        """
        from evosplit.report import build_report

        return build_report(self, nouns)

    def assign(self, ids: Iterable[Any]) -> npt.NDArray[np.int64]:
        """Replay the split: the subset number of each given id, in the given order.

        The ids must be exactly those that were split; otherwise the error says how they differ.

        Examples
        --------
        >>> import evosplit
        >>> counts = evosplit.LabelCounts([[1], [0]], ids=["a.jpg", "b.jpg"])
        >>> split = evosplit.split(counts, (1, 1), method="random")
        >>> bool((split.assign(["b.jpg", "a.jpg"]) == split.assignment[::-1]).all())
        True
        """
        return self.assignment[self._rows_of(ids)].astype(np.int64)

    def quotas(self, ids: Iterable[Any]) -> npt.NDArray[np.int64]:
        """Replay the split where rows stand for several samples: how many of each given row go to each subset.

        The ids must be exactly those that were split; otherwise the error says how they differ.

        Examples
        --------
        >>> import evosplit
        >>> counts = evosplit.LabelCounts([[1], [0]], ids=["cat", "none"], copies=[4, 2])
        >>> evosplit.split(counts, (0.5, 0.5)).quotas(["none", "cat"]).tolist()
        [[1, 1], [2, 2]]
        """
        rows = self._rows_of(ids)
        return np.asarray(self.table[rows])

    def _rows_of(self, ids: Iterable[Any]) -> npt.NDArray[np.int64]:
        """Return the row of each id."""
        wanted = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        known = self.sample_ids.tolist()
        difference = difference_of_ids(wanted, known)
        if difference is not None:
            raise EvoSplitError(
                f"the data is not what was split: {difference}; replay it on the same data, or split anew"
            )
        row_of = {sample: row for row, sample in enumerate(known)}
        return np.array([row_of[sample] for sample in wanted], dtype=np.int64)

    def to_manifest(self) -> dict[str, Any]:
        """Return all that is needed to replay the split, as JSON-able data.

        What the keys mean is described in `evosplit.manifest`.
        """
        ids = self.sample_ids.tolist()
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "evosplit": __version__,
            "names": list(self.names),
            "sizes": list(self.sizes),
            "target_sizes": list(self.target_sizes),
            "is_kfold": self.is_kfold,
            "settings": dict(self.settings),
            "notes": list(self.notes),
            "measures": self.measures.to_dict()
            if self.counts is not None or self.recorded_measures is not None
            else None,
            "best_ed": self.best_ed,
            "ids_sha256": ids_hash(ids),
            "ids": ids,
            "table" if self.has_copies else "assignment": self.placement.tolist(),
        }
        if self.file_names is not None and list(self.file_names) != ids:
            manifest["file_names"] = list(self.file_names)
        if self.source:
            manifest["source"] = dict(self.source)
        return manifest

    @classmethod
    def from_manifest(cls, manifest: Any, *, source: str = "manifest") -> Split:
        """Rebuild a split from what `to_manifest` returned; `source` is named in errors."""
        check_manifest(manifest, source)
        ids = manifest["ids"]
        try:
            sample_ids = LabelCounts(np.zeros((len(ids), 0), dtype=np.int32), ids=ids).ids
        except EvoSplitError as error:
            raise EvoSplitError(f"{source} is damaged: {error}; save the split again") from error
        return cls(
            names=tuple(manifest["names"]),
            placement=np.array(manifest.get("table", manifest.get("assignment")), dtype=np.int64),
            sample_ids=sample_ids,
            target_sizes=tuple(manifest["target_sizes"]),
            settings=manifest.get("settings") or {},
            notes=tuple(manifest.get("notes") or ()),
            recorded_measures=manifest.get("measures"),
            best_ed=float(manifest.get("best_ed", 0.0)),
            is_kfold=manifest.get("is_kfold", False),
            file_names=None if manifest.get("file_names") is None else tuple(manifest["file_names"]),
            source=manifest.get("source") or {},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the manifest; the file appears whole or not at all."""
        try:
            write_atomically(Path(path), as_text(self.to_manifest()))
        except OSError as error:
            raise EvoSplitError(f"cannot write the manifest {os.fspath(path)!r}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Split:
        """Read a manifest that `save` (or any adapter) wrote."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            manifest = json.loads(text)
        except OSError as error:
            raise EvoSplitError(f"cannot read the manifest {os.fspath(path)!r}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise EvoSplitError(
                f"{os.fspath(path)!r} is not JSON ({error}); pass a split.json written by EvoSplit"
            ) from error
        return cls.from_manifest(manifest, source=repr(os.fspath(path)))

    def _position(self, name: str) -> int:
        if name not in self.names:
            raise EvoSplitError(f"there is no subset {name!r}; the subsets are {', '.join(map(repr, self.names))}")
        return self.names.index(name)

"""What all adapters share: read a `Source`, split it with `run`, write the result in the host's own format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import evosplit
from evosplit import EvoSplitError, Split
from evosplit.constraints import Constraints, resolve_constraints
from evosplit.methods import resolve_method
from evosplit.ratios import Subsets
from evosplit.wording import counted, listed
from evosplit_plugins.adapter import Adapter, Destination, Outcome, Write
from evosplit_plugins.files import PathLike
from evosplit_plugins.grouping import Links, find_copies, joined, linked
from evosplit_plugins.matching import find_samples, replayed
from evosplit_plugins.progress import OnProgress, Phases
from evosplit_plugins.request import Request
from evosplit_plugins.source import Asked, Source

__all__ = ["apply_with", "check_locked_names", "recorded_reading", "replay", "run", "split_with"]


def split_with(
    adapter: Adapter,
    paths: Sequence[str],
    request: Request,
    *,
    output: PathLike | None = None,
    reading: Any = None,
    writing: Any = None,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Read, split and write, in one progress bar."""
    phases = Phases(on_progress, reading=2, searching=6, writing=2)
    reading, writing = reading or adapter.reading(), writing or adapter.writing()
    check_locked_names(request, request.names(adapter.default_names))
    source = adapter.read(paths, reading, on_progress=phases("reading"))
    inputs = [path for path in request.lock_files if path.is_file()]
    if output is not None and (own := Path(output, "split.json")).exists() and any(map(own.samefile, inputs)):
        raise EvoSplitError(f"{own} is an input, because it says what is locked; choose another output")
    write = _plan(adapter, source, request.subsets(len(source), adapter.default_names), output, writing, inputs)
    return _written(write, run(source, request, adapter=adapter, on_progress=phases("searching")), phases)


def apply_with(
    adapter: Adapter,
    paths: Sequence[str],
    split: Split | PathLike,
    *,
    output: PathLike | None = None,
    reading: Mapping[str, Any] | None = None,
    writing: Any = None,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Read, replay a saved split and write.

    The reading options that the split was made with hold again, except for those that `reading` gives.
    """
    phases = Phases(on_progress, reading=5, writing=5)
    made = split if isinstance(split, Split) else Split.load(split)
    writing = writing or adapter.writing()
    options = recorded_reading(adapter, made, **(reading or {}))
    source = adapter.read(paths, options, need_labels=False, on_progress=phases("reading"))
    made = replay(made, source)
    subsets = Subsets(made.names, made.sizes, made.is_kfold)
    inputs = [] if isinstance(split, Split) else [Path(split)]
    return _written(_plan(adapter, source, subsets, output, writing, inputs), made, phases)


def _plan(
    adapter: Adapter,
    source: Source,
    subsets: Subsets,
    output: PathLike | None,
    options: Any,
    inputs: Sequence[Path],
) -> Write:
    if adapter.needs_output and (output is None or output == ""):
        raise EvoSplitError(f"output={output!r} names no directory to write into; give one, for example 'out'")
    root = Path() if output is None else Path(output)
    return adapter.plan(
        Destination(source=source, subsets=subsets, root=root, options=options, nouns=adapter.nouns, inputs=inputs)
    )


def _written(write: Write, split: Split, phases: Phases) -> Outcome:
    phases("writing")(0.0, "writing")
    outcome = write(split, phases("writing"))
    phases.finish()
    return outcome


def recorded_reading(adapter: Adapter, split: Split, **given: Any) -> Any:
    """Return the reading options that a saved split was made with, if this adapter made it; `given` ones come first."""
    known = {each.name for each in fields(adapter.reading)}
    recorded = split.source.get("reading") or {} if split.source.get("adapter") == adapter.name else {}
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()}
    return adapter.reading(**{**{name: value for name, value in kept.items() if name in known}, **given})


def run(
    source: Source,
    request: Request,
    *,
    adapter: Adapter | type[Adapter] = Adapter,
    on_progress: OnProgress | None = None,
) -> Split:
    """Split a source as asked; nothing is written.

    Parameters
    ----------
    source
        The samples.
    request
        What is asked.
    adapter
        The adapter, for its words and the names of unnamed subsets.
    on_progress
        Called with the fraction done and a message; returning False stops with the best split so far.

    Returns
    -------
    Split
        The split, which knows its files, where its samples came from, and what was asked.
    """
    phases = Phases(on_progress, preparing=1, searching=9)
    subsets = request.subsets(len(source), adapter.default_names)
    check_locked_names(request, subsets.names)
    asked = source.asked(request, subsets.names)
    if asked is None:
        known = source.fields(groups=request.groups, strata=request.strata)
        locked, notes = _locked(source, request, adapter)
        groups, said = _groups(source, request, known.groups, locked, adapter, phases("preparing"))
        asked = Asked(source.counts, groups, locked, known.strata, (*known.notes, *notes, *said))
    options = {
        **request.engine_options(),
        "groups": asked.groups,
        "locked": asked.locked,
        "strata": dict(asked.strata) or None,
        "on_progress": phases("searching"),
    }
    if subsets.is_kfold:
        split = evosplit.kfold(asked.counts, len(subsets), **options)
    else:
        sizes = dict(zip(subsets.names, subsets.sizes, strict=True))
        split = evosplit.split(asked.counts, sizes, **options)
    return replace(
        asked.finish(split),
        notes=(*split.notes, *asked.notes, *source.notes),
        settings={**split.settings, **request.recorded()},
        file_names=source.file_names,
        source=source.provenance,
    )


def replay(split: Split, source: Source) -> Split:
    """Bring a saved split into the order of the samples that were read: found by id, else by file name or path."""
    if split.counts is source.counts:
        return split
    known = source.replay(split)
    if known is not None:
        return known
    found = find_samples(split, source.identities(split), source.files, where=source.called)
    return replayed(
        split,
        found,
        source.counts.ids,
        counts=source.counts if source.has_labels else None,
        constraints=_constraints_again(split, found, source) if source.has_labels else None,
        file_names=source.file_names,
        source=source.provenance,
    )


def _constraints_again(split: Split, found: npt.NDArray[np.int64], source: Source) -> Constraints | None:
    """Read the constraints of a saved split anew, so that its report compares it with the same random splits as before.

    None where the data no longer tells it; which samples were locked is not saved.
    """
    said = split.settings
    if "locked" in said or said.keys().isdisjoint(("groups", "strata", "min_per_label", "label_weights")):
        return None
    options = {name: said[name] for name in ("group_by", "group_regex", "group_copies", "stratify_by") if name in said}
    subsets = Subsets(split.names, split.sizes, split.is_kfold)
    try:
        request = Request(ratios=dict(zip(split.names, split.sizes, strict=True)), **options)
        known = source.fields(groups=request.groups, strata=request.strata)
        groups, _ = _groups(source, request, known.groups, None, Adapter, lambda done, message: None)
        made = resolve_constraints(
            source.counts,
            subsets,
            groups=groups,
            strata=dict(known.strata) or None,
            min_per_label=said.get("min_per_label", 1),
            label_weights=said.get("label_weights"),
        )
    except EvoSplitError:  # a field is gone, say: the split can be replayed all the same
        return None
    index = None if made is None else made.groups
    if (None if index is None else len(index)) != said.get("groups"):
        return None
    if index is not None:
        parts = np.unique(np.stack([index.code_of_sample, split.assignment[found]]), axis=1).shape[1]
        if parts != len(index):
            return None
    return made


def check_locked_names(request: Request, names: Sequence[str]) -> None:
    """Refuse locks into subsets that were not asked for."""
    for name in request.locks:
        if name not in names:
            raise EvoSplitError(f"locked= names the subset {name!r}; the subsets of this split are {', '.join(names)}")


def _locked(
    source: Source, request: Request, adapter: Adapter | type[Adapter]
) -> tuple[list[str | None] | None, list[str]]:
    """Return the subset in which each sample stays, and sentences for the report."""
    if not request.locks:
        return None, []
    locked: list[str | None] = [None] * len(source)
    torn: list[tuple[int, str, str]] = []
    left_out = 0
    named = {name: reference for name, reference in request.locks.items() if reference is not None}
    found = {name: source.members(name, reference) for name, reference in named.items()}
    there = [name for name in request.locks if name not in named]
    if there:
        placed = source.placement(there).assignment
        found |= {name: np.flatnonzero(placed == j) for j, name in enumerate(there)}
    for name, rows in found.items():
        left_out += int((rows < 0).sum())
        for row in rows[rows >= 0].tolist():
            earlier = locked[row]
            if earlier is not None and earlier != name:
                torn.append((row, earlier, name))
            locked[row] = name
    if torn:
        ids = source.counts.ids.tolist()
        shown = listed((f"{ids[row]!r} ({earlier} and {later})" for row, earlier, later in torn), 3)
        raise EvoSplitError(
            f"locked= puts {_counted(adapter, len(torn))} into two subsets: {shown}; lock each into one"
        )
    if None not in locked:
        raise EvoSplitError("locked= places every sample already, so there is nothing to split; lock fewer")
    notes = []
    if left_out:
        verb = "is locked but takes" if left_out == 1 else "are locked but take"
        notes.append(f"{_counted(adapter, left_out)} {verb} no part in the split.")
    return locked, notes


def _groups(
    source: Source,
    request: Request,
    values: Mapping[str, Sequence[Any]],
    locked: Sequence[str | None] | None,
    adapter: Adapter | type[Adapter],
    on_progress: OnProgress,
) -> tuple[list[Any] | None, list[str]]:
    """Return the group of each sample, and sentences for the report."""
    fields = {name: _group_values(name, values[name]) for name in request.groups}
    links = linked(fields, request.group_regex, source.files, source.links(on_progress))
    notes = [note for each in links for note in each.notes]
    if request.groups or request.group_regex is not None:
        without = [all(_is_alone(each.values[row]) for each in links) for row in range(len(source))]
        if any(without):
            n = sum(without)
            what = f"no {' or '.join(map(repr, request.groups))}" if request.groups else "no matching file name"
            verb, each = ("has", "it is") if n == 1 else ("have", "each is")
            notes.append(f"{_counted(adapter, n)} {verb} {what}, so {each} a group of its own.")
    if request.group_copies and source.pictures is not None:
        copies = find_copies(source.pictures, locked)
        if copies.n_torn:
            leaking = counted(copies.n_torn, "picture is", "pictures are")
            notes.append(f"{leaking} locked into several subsets, so they leak.")
        if copies.n_pictures:
            pictures = counted(copies.n_pictures, "picture", "pictures")
            said = f"{copies.n_samples:,} {adapter.nouns.samples} are copies of {pictures}, by file name"
            if "groups" in getattr(resolve_method(request.method), "respects", ()):
                links.append(Links(copies.values, "picture ", names_groups=False))
                notes.append(f"{said}; they stay together.")
            else:
                notes.append(f"{said}; the method knows no groups, so that they may be in different subsets.")
    return joined(links), notes


def _group_values(name: str, values: Sequence[Any]) -> list[Any]:
    """Check the values that name groups; whole numbers count as integers."""
    found = []
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if each is not None and not isinstance(each, (str, int)) and each == each:
                raise EvoSplitError(
                    f"group_by={name!r} gives {str(each)[:40]!r} for a sample; a group is named by an integer or a text"
                )
        found.append(value)
    if all(map(_is_alone, found)):
        raise EvoSplitError(f"group_by={name!r}: no sample has a value there; name another field")
    return found


def _is_alone(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, (list, tuple)) and not value)


def _counted(adapter: Adapter | type[Adapter], n: int) -> str:
    return counted(n, adapter.nouns.sample, adapter.nouns.samples)

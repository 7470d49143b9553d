"""Write a split onto the samples, as tags or into a field, record it, and undo it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import numpy as np
from fiftyone import ViewField as F

from evosplit import EvoSplitError, Split
from evosplit_plugins.fiftyone_plugin import runs
from evosplit_plugins.fiftyone_plugin.locking import alone_with
from evosplit_plugins.fiftyone_plugin.names import without_collecting
from evosplit_plugins.fiftyone_plugin.reading import flattened, is_grouped, root_dataset

__all__ = [
    "Target",
    "check_field",
    "check_values",
    "subset_view",
    "subsets_of_units",
    "undo_split",
    "units_of",
    "write_split",
]


@dataclass(frozen=True)
class Target:
    """Where a split is written: sample tags, or a string field.

    Attributes
    ----------
    field
        The name of the field; None for tags.
    managed
        The tags that a split replaces on every sample: the names of its subsets.
    taken
        Further tags that it removes, by sample id: those that earlier splits wrote. All others belong to the user and
        stay.
    """

    field: str | None
    managed: frozenset[str]
    taken: Mapping[str, Collection[str]] = dataclasses.field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path that `values` and `set_values` take."""
        return "tags" if self.field is None else self.field

    def replaced(self, sample: str) -> frozenset[str]:
        """Return the tags that a sample loses."""
        taken = self.taken.get(sample)
        return self.managed.union(taken) if taken else self.managed


@dataclass(frozen=True)
class _Snapshot:
    """What the samples of some units carried before a split.

    Attributes
    ----------
    samples
        The sample ids of each unit.
    before
        All tags of each sample that carried a managed one, or the field's value where there was one, by sample id.
    """

    samples: dict[str, list[str]]
    before: dict[str, Any]


def check_field(dataset: Any, field: str | None) -> None:
    """Refuse a field that a split cannot be written into."""
    if field is None:
        return
    if not isinstance(field, str) or not field.isidentifier() or field.startswith("_"):
        raise EvoSplitError(f"{field!r} is no name for a field; use letters, digits and _, for example 'split'")
    known = dataset.get_field(field)
    if known is None:
        return
    if not isinstance(known, fo.StringField) or known.read_only or field == "filepath":
        kind = "read-only" if getattr(known, "read_only", False) else type(known).__name__
        kind = "it says where the files are" if field == "filepath" else kind
        raise EvoSplitError(
            f"the field {field!r} of dataset {dataset.name!r} cannot hold subset names ({kind}); "
            "choose a new name or a string field"
        )


def check_values(dataset: Any, units: Sequence[str], field: str | None, allowed: Collection[str]) -> None:
    """Refuse a field with values that EvoSplit did not write, except for the allowed ones."""
    if field is not None and dataset.get_field(field) is not None and field not in runs.written_fields(dataset):
        snap = _snapshot(dataset, units, Target(field, frozenset()))
        _check_lost(dataset, snap, field, dict.fromkeys(units, allowed))


def _check_lost(dataset: Any, snap: _Snapshot, field: str, allowed: Mapping[str, Collection[str]]) -> None:
    lost = [
        snap.before[sample]
        for unit, samples in snap.samples.items()
        for sample in samples
        if sample in snap.before and snap.before[sample] not in allowed.get(unit, ())
    ]
    if lost:
        raise EvoSplitError(
            f"the field {field!r} of dataset {dataset.name!r} has {len(lost):,} values that EvoSplit did not write "
            f"(first: {lost[0]!r}); choose another field, or replace them with overwrite=True"
        )


def units_of(dataset: Any) -> dict[str, list[str]]:
    """Map each unit of a dataset to the ids of its samples: a sample to itself, a group to its slices."""
    if not is_grouped(dataset):
        return {sample: [sample] for sample in dataset.values("id")}
    members: dict[str, list[str]] = {}
    for sample, unit in zip(*flattened(dataset).values(["id", f"{dataset.group_field}.id"]), strict=True):
        members.setdefault(unit, []).append(sample)
    return members


def _snapshot(
    dataset: Any,
    units: Collection[str],
    target: Target,
    *,
    members: Mapping[str, list[str]] | None = None,
    further: Collection[str] = (),
) -> _Snapshot:
    """Read what the samples of the units carry there; `further` names more tags to look for."""
    known = units_of(dataset) if members is None else members
    gone = [unit for unit in units if unit not in known]
    if gone:
        raise EvoSplitError(
            f"{len(gone)} of the split's samples are no longer in dataset {dataset.name!r} "
            f"(first: {gone[0]!r}); split anew"
        )
    samples = {unit: known[unit] for unit in units}
    wanted = {sample for several in samples.values() for sample in several}
    carried = _carried(dataset, target, further)
    return _Snapshot(samples, {sample: value for sample, value in carried.items() if sample in wanted})


def _carried(dataset: Any, target: Target, further: Collection[str] = ()) -> dict[str, Any]:
    """Read the tags of all samples that carry a managed (or further) one, or all values of the field, by sample id."""
    everything = flattened(dataset)
    if target.field is None:
        carriers = everything.match_tags(sorted(target.managed.union(further)))
    elif dataset.get_field(target.field) is not None:
        carriers = everything.exists(target.field)
    else:
        return {}
    return dict(zip(*carriers.values(["id", target.path]), strict=True))


def subsets_of_units(
    dataset: Any, units: Sequence[str], names: Sequence[str], field: str | None = None
) -> list[list[str]]:
    """List which of the subsets each unit is in already, by its tags or by the field, in the order of `names`."""
    with without_collecting():
        carried = _carried(dataset, Target(field, frozenset(names)))
        samples = units_of(dataset) if is_grouped(dataset) else None
    found = []
    for unit in units:
        there: set[str] = set()
        for sample in (unit,) if samples is None else samples.get(unit, ()):
            value = carried.get(sample)
            if value is not None:
                there.update((value,) if isinstance(value, str) else value)
        found.append([name for name in names if name in there] if there else [])
    return found


def write_split(
    samples: Any,
    split: Split,
    *,
    field: str | None = None,
    label_fields: Sequence[str] = (),
    keep_tags: bool = False,
    overwrite: bool = False,
    saved_views: bool = False,
    members: Mapping[str, list[str]] | None = None,
) -> runs.SplitRun:
    """Write a split onto its samples and record it.

    The record is made first, so that `undo_split` can restore the tags whatever happens while they are written.

    Parameters
    ----------
    samples
        The dataset, or any view of it.
    split
        A split whose ids are sample ids (group ids in a grouped dataset).
    field
        A string field to write into instead of tags; created if missing.
    label_fields
        The label fields that were split, for the record.
    keep_tags
        Leave the tags of earlier splits with other names.
    overwrite
        Replace values of the field that EvoSplit did not write.
    saved_views
        Also save a view of each subset under its name, where no view has that name.
    members
        What `units_of` gives, where it is known already.
    """
    dataset = root_dataset(samples)
    with alone_with(dataset), without_collecting():
        dataset.reload()  # others may have recorded splits, or added the field
        check_field(dataset, field)
        managed = frozenset(split.names)
        further = runs.written_tags(dataset) - managed if field is None and not keep_tags else set()
        names = np.array(split.names, dtype=object)[split.assignment]
        subset = dict(zip(split.sample_ids.tolist(), names.tolist(), strict=True))
        snap = _snapshot(dataset, subset, Target(field, managed), members=members, further=further)
        if field is not None and not overwrite and field not in runs.written_fields(dataset):
            _check_lost(dataset, snap, field, {unit: (name,) for unit, name in subset.items()})
        written = runs.tags_on(dataset, snap.samples, further)
        taken = {
            sample: sorted(gone)
            for sample, found in written.items()
            if (gone := found.intersection(snap.before.get(sample, ())))
        }
        run = runs.SplitRun(
            key=runs.next_key(dataset),
            split=split,
            label_fields=tuple(label_fields),
            field=field,
            created_field=field is not None and dataset.get_field(field) is None,
            managed=managed,
            samples=tuple(sample for several in snap.samples.values() for sample in several),
            before=snap.before,
            taken=taken,
            keep_tags=keep_tags,
            views=tuple(name for name in split.names if saved_views and not dataset.has_saved_view(name)),
        )
        runs.save_run(dataset, run)
        try:
            _write(dataset, snap, subset, Target(field, managed, taken))
            for name in run.views:
                dataset.save_view(name, subset_view(dataset, name, field), description=runs.DESCRIPTION)
        except BaseException:
            undo_split(dataset)
            raise
    return run


def undo_split(dataset: Any) -> runs.SplitRun:
    """Restore tags or field as they were before the latest recorded split, and delete its record.

    Tags that were added or removed by others in the meantime stay as they are. Call it again to go further back.

    Returns
    -------
    SplitRun
        The record of the split that was undone.
    """
    dataset = root_dataset(dataset)
    with alone_with(dataset), without_collecting():
        dataset.reload()
        run = runs.load_run(dataset)
        target = Target(run.field, run.managed, run.taken)
        _restore(dataset, run.samples, run.before, target, created_field=run.created_field)
        for name in run.views:
            if dataset.has_saved_view(name):
                dataset.delete_saved_view(name)
        runs.delete_run(dataset, run.key)
    return run


def subset_view(samples: Any, name: str, field: str | None) -> Any:
    """Return the view of the samples that carry a tag, or a value of a field."""
    return samples.match_tags(name) if field is None else samples.match(F(field) == name)


def new_tags(tags: Sequence[str], name: str, managed: Collection[str]) -> list[str]:
    """Replace the managed tags by the subset's name; the user's own tags keep their order.

    Examples
    --------
    >>> new_tags(["night", "train", "checked"], "val", {"train", "val"})
    ['night', 'checked', 'val']
    """
    if [tag for tag in tags if tag in managed] == [name]:
        return list(tags)
    return [*(tag for tag in tags if tag not in managed), name]


def old_tags(now: Sequence[str], before: Sequence[str], managed: Collection[str]) -> list[str]:
    """Undo `new_tags`, but keep what the user added or removed in the meantime.

    Examples
    --------
    >>> old_tags(["night", "val", "new"], ["train", "night", "checked"], {"train", "val"})
    ['train', 'night', 'new']
    """
    kept = [tag for tag in before if tag in managed or tag in now]
    return [*kept, *(tag for tag in now if tag not in managed and tag not in before)]


def _write(dataset: Any, snap: _Snapshot, subset: Mapping[str, str], target: Target) -> None:
    """Put each unit's samples into its subset; only what changes is written."""
    changes: dict[str, Any] = {}
    untagged: dict[str, list[str]] = {}  # adding a tag to many samples is cheaper than setting the tags of each
    for unit, name in subset.items():
        for sample in snap.samples[unit]:
            before = snap.before.get(sample)
            if before is None and target.field is None:
                untagged.setdefault(name, []).append(sample)
                continue
            after = new_tags(before, name, target.replaced(sample)) if target.field is None and before else name
            if after != before:
                changes[sample] = after
    if target.field is not None and dataset.get_field(target.field) is None:
        dataset.add_sample_field(target.field, fo.StringField, description=runs.DESCRIPTION)
    for name, samples in untagged.items():
        flattened(dataset).select(samples).tag_samples(name)
    _set(dataset, target.path, changes)


def _restore(
    dataset: Any, samples: Iterable[str], before: Mapping[str, Any], target: Target, *, created_field: bool
) -> None:
    """Restore what the samples carried; those without an entry in `before` carried nothing of the split.

    Samples that were deleted in the meantime are skipped.
    """
    if target.field is not None and dataset.get_field(target.field) is None:
        return  # the user deleted the field, and with it the split
    ids, values = flattened(dataset).values(["id", target.path])
    touched = set(samples)
    changes: dict[str, Any] = {}
    for sample, value in zip(ids, values, strict=True):
        if sample not in touched:
            continue
        now = (value or []) if target.field is None else value
        if target.field is None:
            replaced = target.replaced(sample)
            own = [tag for tag in now if tag not in replaced]
            old: Any = old_tags(now, before.get(sample, own), replaced)
        else:
            old = before.get(sample)
        if old != now:
            changes[sample] = old
    _set(dataset, target.path, changes)
    if created_field and not flattened(dataset).count(target.path):
        dataset.delete_sample_field(target.path)


def _set(dataset: Any, path: str, changes: Mapping[str, Any]) -> None:
    if changes:
        flattened(dataset).set_values(path, dict(changes), key_field="id")

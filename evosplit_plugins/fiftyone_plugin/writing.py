"""Write a split onto the samples, as tags or into a field, and take it back.

The arithmetic on tag lists is pure; `snapshot`, `write` and `restore` are the only functions that talk to
the database.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo

from evosplit import EvoSplitError
from evosplit_plugins.fiftyone_plugin.labels import flattened, is_grouped

__all__ = ["Place", "Snapshot", "check_field", "check_values", "restore", "snapshot", "subset_of_units", "write"]

DESCRIPTION = "Subset assigned by EvoSplit"  # of the fields that it creates


@dataclass(frozen=True)
class Place:
    """Where a split is written: sample tags, or a string field.

    Attributes
    ----------
    field
        The name of the field; None for tags.
    managed
        The tags that a split replaces on every sample: the names of its subsets.
    taken
        Further tags that it takes away, by sample id: those that earlier splits put there. All others are the user's,
        and stay.
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
class Snapshot:
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
    """Make sure that a split can be written into the field."""
    if field is None:
        return
    if not isinstance(field, str) or not field.isidentifier() or field.startswith("_"):
        raise EvoSplitError(f"{field!r} is no name for a field; use letters, digits and _, for example 'split'")
    known = dataset.get_field(field)
    if known is None:
        return
    if not isinstance(known, fo.StringField) or known.read_only or field == "filepath":
        kind = "read-only" if getattr(known, "read_only", False) else type(known).__name__
        raise EvoSplitError(
            f"the field {field!r} of dataset {dataset.name!r} cannot hold subset names ({kind}); "
            "choose a new name or a string field"
        )


def check_values(dataset: Any, snap: Snapshot, field: str, subset: Mapping[str, Collection[str]]) -> None:
    """Refuse to replace values of a field; `subset` gives those that each unit may have."""
    lost = [
        snap.before[sample]
        for unit, samples in snap.samples.items()
        for sample in samples
        if sample in snap.before and snap.before[sample] not in subset.get(unit, ())
    ]
    if lost:
        raise EvoSplitError(
            f"the field {field!r} of dataset {dataset.name!r} has {len(lost):,} values that EvoSplit did not write "
            f"(first: {lost[0]!r}); choose another field, or replace them with overwrite=True"
        )


def snapshot(dataset: Any, units: Collection[str], place: Place, *, further: Collection[str] = ()) -> Snapshot:
    """Read what the samples of the units carry at the place; `further` names more tags to look for."""
    everything = flattened(dataset)
    members: dict[str, list[str]] = {unit: [] for unit in units}
    if is_grouped(dataset):
        for sample, unit in zip(*everything.values(["id", f"{dataset.group_field}.id"]), strict=True):
            if unit in members:
                members[unit].append(sample)
    else:
        for sample in everything.values("id"):
            if sample in members:
                members[sample].append(sample)
    gone = [unit for unit, samples in members.items() if not samples]
    if gone:
        raise EvoSplitError(
            f"{len(gone)} of the split's samples are no longer in dataset {dataset.name!r} "
            f"(first: {gone[0]!r}); split anew"
        )
    before: dict[str, Any] = {}
    if place.field is None:
        carriers = everything.match_tags(sorted(place.managed.union(further)))
    elif dataset.get_field(place.field) is not None:
        carriers = everything.exists(place.field)
    else:
        return Snapshot(members, before)
    wanted = {sample for samples in members.values() for sample in samples}
    for sample, value in zip(*carriers.values(["id", place.path]), strict=True):
        if sample in wanted:
            before[sample] = value
    return Snapshot(members, before)


def subset_of_units(dataset: Any, snap: Snapshot, names: Sequence[str]) -> dict[str, str]:
    """Find the units that already are in one of the subsets; a unit in two of them is an error."""
    known = set(names)
    found: dict[str, str] = {}
    torn: dict[str, set[str]] = {}
    for unit, samples in snap.samples.items():
        carried: set[str] = set()
        for sample in samples:
            value = snap.before.get(sample, ())
            carried.update(known.intersection((value,) if isinstance(value, str) else value))
        if len(carried) > 1:
            torn[unit] = carried
        found.update((unit, name) for name in carried)
    if torn:
        first, carried = next(iter(torn.items()))
        file = flattened(dataset)[snap.samples[first][0]].filepath
        others = f", and {len(torn) - 1} more are in two subsets" if len(torn) > 1 else ""
        raise EvoSplitError(
            f"{first!r} ({file}) is already in {' and '.join(sorted(carried))}{others}, so it cannot be kept; "
            "remove all but one, or replace the earlier split"
        )
    return found


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


def write(dataset: Any, snap: Snapshot, subset: Mapping[str, str], place: Place) -> None:
    """Put each unit's samples into its subset; only what changes is written."""
    changes: dict[str, Any] = {}
    untagged: dict[str, list[str]] = {}  # adding a tag to many samples is cheaper than setting the tags of each
    for unit, name in subset.items():
        for sample in snap.samples[unit]:
            before = snap.before.get(sample)
            if before is None and place.field is None:
                untagged.setdefault(name, []).append(sample)
                continue
            after = new_tags(before, name, place.replaced(sample)) if place.field is None and before else name
            if after != before:
                changes[sample] = after
    if place.field is not None and dataset.get_field(place.field) is None:
        dataset.add_sample_field(place.field, fo.StringField, description=DESCRIPTION)
    for name, samples in untagged.items():
        flattened(dataset).select(samples).tag_samples(name)
    _set(dataset, place.path, changes)


def restore(
    dataset: Any, samples: Iterable[str], before: Mapping[str, Any], place: Place, *, created_field: bool
) -> None:
    """Give the samples back what they carried; without an entry in `before` that was nothing of the split.

    Samples that were deleted in the meantime are skipped.
    """
    if place.field is not None and dataset.get_field(place.field) is None:
        return  # the user deleted the field, and with it the split
    ids, values = flattened(dataset).values(["id", place.path])
    touched = set(samples)
    changes: dict[str, Any] = {}
    for sample, value in zip(ids, values, strict=True):
        if sample not in touched:
            continue
        now = (value or []) if place.field is None else value
        if place.field is None:
            replaced = place.replaced(sample)
            own = [tag for tag in now if tag not in replaced]
            old: Any = old_tags(now, before.get(sample, own), replaced)
        else:
            old = before.get(sample)
        if old != now:
            changes[sample] = old
    _set(dataset, place.path, changes)
    if created_field and not flattened(dataset).count(place.path):
        dataset.delete_sample_field(place.path)


def _set(dataset: Any, path: str, changes: Mapping[str, Any]) -> None:
    if changes:
        flattened(dataset).set_values(path, dict(changes), key_field="id")

"""What the form proposes: groups that the data seems to have, files of equal names, subsets that rare labels allow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import fiftyone as fo
from fiftyone import ViewField as F

from evosplit.ratios import Subsets
from evosplit.wording import counted, listed
from evosplit_plugins.fiftyone_plugin import fields
from evosplit_plugins.fiftyone_plugin.masks import MaskPath
from evosplit_plugins.fiftyone_plugin.names import FRAMES, lists_of
from evosplit_plugins.fiftyone_plugin.reading import Overview, Units, flattened, is_generated, root_dataset

__all__ = ["SAME_NAME", "Proposal", "propose_equal_names", "propose_groups", "propose_subsets", "rare_labels"]

SAME_NAME = r"[^/\\]+$"  # the name of the file, without its folders
_LOOKED_AT = 20_000  # samples, the first ones: clips are stored one after the other
_TELLING = re.compile(
    "clip|video|scene|sequence|track|patient|subject|person|series|study|case|session|site|location|recording|shoot|plot"
)
_MANY = 8  # values of a field with a telling name, from which it seems to name groups
_VERY_MANY = 20  # the same for any other name
_REPEATED = 0.1  # part of the samples of a field with a telling name that are not the first of their value
_LARGEST = 0.25  # a group with a larger part of the samples leaves nothing to balance
_FEW_FILES = 0.3  # where more files share their names than this part, names are numbers of frames


@dataclass(frozen=True)
class Proposal:
    """Something that the user may want: a sentence, what the button says, and what it sets in the form."""

    name: str
    sentence: str
    button: str
    params: Mapping[str, Any]


def propose_groups(samples: Any, label_fields: Sequence[str]) -> Proposal | None:
    """Propose to keep together what a field with many values, several samples each, tells."""
    names = [name for name in fields.group_fields(samples) if name not in label_fields]
    known = fields.plain_fields(samples)
    if not names:
        return None
    # One more than is looked at, to know whether these are all.
    columns = _first_samples(samples, _LOOKED_AT + 1).values([known[name].path for name in names])
    found = []
    for name, whole in zip(names, columns, strict=True):
        column = whole[:_LOOKED_AT]
        values = [value for value in fields.group_values(known[name], column) if value is not None]
        sizes = Counter(values)
        telling = _TELLING.search(name.lower()) is not None
        if (
            len(sizes) >= (_MANY if telling else _VERY_MANY)
            and len(values) - len(sizes) >= (_REPEATED if telling else 0.5) * len(column)
            and max(sizes.values()) <= _LARGEST * len(column)
        ):
            found.append((telling, len(sizes), name, max(sizes.values())))
    if not found:
        return None
    _, number, name, largest = max(found)
    of = "folders" if name == fields.FOLDER else f"values of {name}"
    among = f" in the first {_LOOKED_AT:,} samples" if len(columns[0]) > _LOOKED_AT else ""
    up_to = counted(largest, "sample", "samples")
    sentence = f"{number:,} {of}{among}, with up to {up_to} each: do they belong together?"
    return Proposal("propose_groups", sentence, "Keep them together", {"group_by": [name]})


def propose_equal_names(samples: Any) -> Proposal | None:
    """Propose to keep together files that have the same name in different folders."""
    paths = set(Units.of(samples).samples.limit(_LOOKED_AT).values("filepath"))
    sizes = Counter(PurePath(path).name for path in paths)
    shared = {name: n for name, n in sorted(sizes.items()) if n > 1}
    if not shared or sum(shared.values()) > _FEW_FILES * len(paths):
        return None
    sentence = f"{sum(shared.values()):,} files share their names with files in other folders: {listed(list(shared))}."
    return Proposal("propose_names", sentence, "Keep them together", {"group_regex": SAME_NAME})


def rare_labels(samples: Any, paths: Mapping[str, str], found: Overview, fewer_than: int) -> dict[str, int]:
    """Count the samples of the labels that occur in fewer than so many samples, the rarest first."""
    rare: Counter[str] = Counter()
    for field, path in paths.items():
        prefix = f"{field}/" if len(paths) > 1 else ""
        # What occurs often is in many samples, unless all of its instances are in one.
        names = [name for name, n in found.labels.items() if n < 10 * fewer_than and name.startswith(prefix)]
        bare = [name.removeprefix(prefix) for name in names]
        if isinstance(path, MaskPath) or path.startswith(FRAMES) or not bare:
            continue
        units = Units.of(samples)
        there = units.samples.match(F(path).contains(bare) if _is_list(samples, path) else F(path).is_in(bare))
        keys, column = Units(there, units.key, units.group_of_sample).values([path])
        carried = {(key, name) for key, row in zip(keys, lists_of(column, frames=False), strict=True) for name in row}
        rare.update(prefix + name for _, name in carried if name in set(bare))
    return dict(sorted(((name, n) for name, n in rare.items() if n < fewer_than), key=lambda item: item[1]))


def propose_subsets(rare: Mapping[str, int], subsets: Subsets, params: Mapping[str, Any]) -> Proposal | None:
    """Say which labels are too rare for the subsets, and propose fewer subsets where that helps."""
    if not rare:
        return None
    k, fewest = len(subsets), min(rare.values())
    names = listed([f"{name} ({n:,})" for name, n in rare.items()])
    sentence = f"{counted(len(rare), 'label has', 'labels have')} too few samples for {k} subsets: {names}."
    if params.get("subsets") == "folds" and fewest >= 2:
        return Proposal("propose_subsets", sentence, f"Make {fewest} folds", {"folds": fewest})
    if (params.get("subsets") or "train_val_test") == "train_val_test" and fewest >= 2:
        return Proposal("propose_subsets", sentence, "Split into train and test only", {"subsets": "train_test"})
    return Proposal("propose_subsets", sentence, "", {})


def _first_samples(samples: Any, n: int) -> Any:
    """Return the first samples; of patches, clips or frames those that they were cut from, which have the fields."""
    if not is_generated(samples):
        return Units.of(samples).samples.limit(n)
    return flattened(root_dataset(samples)).select(list(dict.fromkeys(samples.values("sample_id")))[:n])


def _is_list(samples: Any, path: str) -> bool:
    schema = samples.get_field_schema(flat=True)
    parts = path.split(".")
    return any(isinstance(schema.get(".".join(parts[: at + 1])), fo.ListField) for at in range(len(parts)))

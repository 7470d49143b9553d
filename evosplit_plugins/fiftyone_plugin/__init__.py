"""The FiftyOne door: labels of a dataset or view in, sample tags (or a field) out.

`labels` finds and counts the labels; `fields` reads plain fields, for `groups` (with near `duplicates`) and `strata`;
`tags` writes a split and takes it back, `runs` keeps the record of each split on the dataset, `door` holds the verbs.
The App side is `entry` (what FiftyOne loads), `operators` with their `form` and `request`, and `panel` with its
`figures`.
"""

from __future__ import annotations

from evosplit import MissingExtraError

try:
    import fiftyone  # noqa: F401  (the submodules need it; without it, say how to get it)
except ImportError as error:
    raise MissingExtraError("FiftyOne is not installed", "fiftyone") from error

from evosplit_plugins.fiftyone_plugin.door import (
    apply_manifest,
    apply_split,
    audit_split,
    evosplit_fiftyone,
    read_counts,
    save_manifest,
    undo_split,
)

__all__ = [
    "apply_manifest",
    "apply_split",
    "audit_split",
    "evosplit_fiftyone",
    "read_counts",
    "save_manifest",
    "undo_split",
]

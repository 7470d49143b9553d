"""The FiftyOne adapter: labels of a dataset or view in, sample tags (or a field) out.

`reading` finds and counts the labels, `fields` reads groups and strata, `duplicates` finds near duplicates; `writing`
writes a split and undoes it, `runs` records each split on the dataset. `source` and `adapter` combine them, `api` has
the public functions, `app` everything for the App.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from evosplit_plugins.on_demand import on_demand

if TYPE_CHECKING:
    from evosplit_plugins.fiftyone_plugin.adapter import FiftyOneAdapter, FiftyOneReading, FiftyOneWriting
    from evosplit_plugins.fiftyone_plugin.api import (
        apply_split,
        audit,
        evosplit_fiftyone,
        export_subsets,
        read_counts,
        save_manifest,
        undo_split,
    )

__all__ = [
    "FiftyOneAdapter",
    "FiftyOneReading",
    "FiftyOneWriting",
    "apply_split",
    "audit",
    "evosplit_fiftyone",
    "export_subsets",
    "read_counts",
    "save_manifest",
    "undo_split",
]


def _home(name: str) -> str:
    if name.startswith("FiftyOne"):
        return f"{__name__}.adapter"  # which does not load FiftyOne
    import_module(f"{__name__}.reading")  # which names the extra where FiftyOne is not installed
    return f"{__name__}.api"


__getattr__, __dir__ = on_demand(__name__, __all__, _home)

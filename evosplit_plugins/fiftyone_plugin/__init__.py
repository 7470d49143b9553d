"""The FiftyOne adapter: labels of a dataset or view in, sample tags (or a field) out.

`reading` finds and counts the labels, `fields` reads groups and strata, `duplicates` finds near duplicates; `writing`
writes a split and undoes it, `runs` records each split on the dataset. `source` and `adapter` combine them, `api` has
the public functions, `app` everything for the App.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "adapter" if name.startswith("FiftyOne") else "api"  # the adapter's module does not load FiftyOne
    if module == "api":
        import_module(f"{__name__}.reading")  # which names the extra where FiftyOne is not installed
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

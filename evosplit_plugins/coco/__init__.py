"""COCO annotation files: split and written again, every image and annotation byte-identical to the input.

>>> from evosplit_plugins import evosplit_coco
>>> split = evosplit_coco("instances.json", "out", {"train": 0.8, "val": 0.2})  # doctest: +SKIP
>>> print(split.report())  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evosplit_plugins.coco.adapter import CocoAdapter, CocoReading, CocoWriting
    from evosplit_plugins.coco.api import apply_split, audit, evosplit_coco, read_counts

__all__ = ["CocoAdapter", "CocoReading", "CocoWriting", "apply_split", "audit", "evosplit_coco", "read_counts"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'adapter' if name.startswith('Coco') else 'api'}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

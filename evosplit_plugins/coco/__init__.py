"""COCO annotation files: split and written again, every image and annotation byte-identical to the input.

>>> from evosplit_plugins import evosplit_coco
>>> split = evosplit_coco("instances.json", "out", {"train": 0.8, "val": 0.2})  # doctest: +SKIP
>>> print(split.report())  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosplit_plugins.on_demand import on_demand

if TYPE_CHECKING:
    from evosplit_plugins.coco.adapter import CocoAdapter, CocoReading, CocoWriting
    from evosplit_plugins.coco.api import apply_split, audit, evosplit_coco, read_counts

__all__ = ["CocoAdapter", "CocoReading", "CocoWriting", "apply_split", "audit", "evosplit_coco", "read_counts"]

__getattr__, __dir__ = on_demand(
    __name__, __all__, lambda name: f"{__name__}.{'adapter' if name.startswith('Coco') else 'api'}"
)

"""YOLO data sets as Ultralytics trains on them: split without moving a picture, or written as a new tree.

>>> from evosplit_plugins import evosplit_yolo
>>> split = evosplit_yolo("data.yaml", "out", {"train": 0.8, "val": 0.1, "test": 0.1})  # doctest: +SKIP
>>> print(split.report())  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosplit_plugins.on_demand import on_demand

if TYPE_CHECKING:
    from evosplit_plugins.yolo.adapter import YoloAdapter, YoloReading, YoloWriting
    from evosplit_plugins.yolo.api import apply_split, audit, evosplit_yolo, read_counts

__all__ = ["YoloAdapter", "YoloReading", "YoloWriting", "apply_split", "audit", "evosplit_yolo", "read_counts"]

__getattr__, __dir__ = on_demand(
    __name__, __all__, lambda name: f"{__name__}.{'adapter' if name.startswith('Yolo') else 'api'}"
)

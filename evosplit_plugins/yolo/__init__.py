"""YOLO data sets as Ultralytics trains on them: split without moving a picture, or written as a new tree.

>>> from evosplit_plugins import evosplit_yolo
>>> split = evosplit_yolo("data.yaml", "out", {"train": 0.8, "val": 0.1, "test": 0.1})  # doctest: +SKIP
>>> print(split.report())  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evosplit_plugins.yolo.adapter import YoloAdapter, YoloReading, YoloWriting
    from evosplit_plugins.yolo.api import apply_split, audit, evosplit_yolo, read_counts

__all__ = ["YoloAdapter", "YoloReading", "YoloWriting", "apply_split", "audit", "evosplit_yolo", "read_counts"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'adapter' if name.startswith('Yolo') else 'api'}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Adapters of the EvoSplit engine: COCO, YOLO, Hugging Face, tables, FiftyOne, scikit-learn; each loaded when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosplit_plugins.on_demand import on_demand

if TYPE_CHECKING:
    from evosplit_plugins.coco import evosplit_coco
    from evosplit_plugins.fiftyone_plugin import evosplit_fiftyone
    from evosplit_plugins.hf import evosplit_hf
    from evosplit_plugins.sklearn_cv import EvoSplitKFold, EvoSplitShuffleSplit
    from evosplit_plugins.table import evosplit_table
    from evosplit_plugins.yolo import evosplit_yolo

__all__ = [
    "EvoSplitKFold",
    "EvoSplitShuffleSplit",
    "evosplit_coco",
    "evosplit_fiftyone",
    "evosplit_hf",
    "evosplit_table",
    "evosplit_yolo",
]

_HOME = {
    "EvoSplitKFold": "evosplit_plugins.sklearn_cv",
    "EvoSplitShuffleSplit": "evosplit_plugins.sklearn_cv",
    "evosplit_coco": "evosplit_plugins.coco",
    "evosplit_fiftyone": "evosplit_plugins.fiftyone_plugin",
    "evosplit_hf": "evosplit_plugins.hf",
    "evosplit_table": "evosplit_plugins.table",
    "evosplit_yolo": "evosplit_plugins.yolo",
}

__getattr__, __dir__ = on_demand(__name__, __all__, _HOME.__getitem__)

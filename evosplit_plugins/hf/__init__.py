"""Hugging Face data sets: label columns of `datasets` in, `DatasetDict` out.

`adapter` holds the options, `api` the functions for Python; `reading` makes a `Source`, `writing` the subsets. Below
them, `schema` finds what holds values, `columns` counts labels on Arrow, `rows` knows the kinds of data sets, and
`fields` reads everything else of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evosplit_plugins.hf.adapter import HfReading, HfWriting, HuggingFaceAdapter, host_module
from evosplit_plugins.on_demand import on_demand

if TYPE_CHECKING:
    from evosplit_plugins.hf.api import apply_split, audit, evosplit_hf, read_counts

__all__ = [
    "HfReading",
    "HfWriting",
    "HuggingFaceAdapter",
    "apply_split",
    "audit",
    "evosplit_hf",
    "read_counts",
]

__getattr__, __dir__ = on_demand(__name__, __all__, lambda name: host_module("api").__name__)

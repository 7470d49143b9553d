"""Hugging Face data sets: label columns of `datasets` in, `DatasetDict` out.

`adapter` holds the options, `api` the functions for Python; `reading` makes a `Source`, `writing` the subsets. Below
them, `schema` finds what holds values, `columns` counts labels on Arrow, `rows` knows the kinds of data sets, and
`fields` reads everything else of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evosplit_plugins.hf.adapter import host_module

if TYPE_CHECKING:
    from evosplit_plugins.hf.api import apply_split, audit, evosplit_hf, read_counts

__all__ = ["apply_split", "audit", "evosplit_hf", "read_counts"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(host_module("api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""The Hugging Face door: label columns of `datasets` in, `DatasetDict` out.

`schema` finds the places that hold labels, `columns` counts them on Arrow, `source` knows the kinds of data
sets, `door` holds the verbs, `storage` loads and writes for the command line.
"""

from __future__ import annotations

from evosplit import MissingExtraError

try:
    import datasets  # noqa: F401  (the submodules need it; without it, say how to get it)
except ImportError as error:
    raise MissingExtraError("Hugging Face datasets is not installed", "hf") from error

from evosplit_plugins.hf.door import apply_split, audit, evosplit_hf, read_counts

__all__ = ["apply_split", "audit", "evosplit_hf", "read_counts"]

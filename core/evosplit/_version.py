"""The version, read by the build and at run time, and that of the splits."""

__all__ = ["ENGINE_VERSION", "__version__"]

__version__ = "0.1.0"
ENGINE_VERSION = 8  # one more whenever a seed gives another split: when tests/core/split_hashes.json changes

"""The one exception and the one warning that EvoSplit raises on purpose."""

from __future__ import annotations


class EvoSplitError(ValueError):
    """The input cannot be split as asked; the message names the value, the place and the remedy."""


class EvoSplitWarning(UserWarning):
    """The split was made, but probably not as the caller imagines."""

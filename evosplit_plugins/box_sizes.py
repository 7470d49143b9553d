"""Box sizes as COCO's evaluation defines them: small below 32² pixels, large from 96² on."""

from __future__ import annotations

__all__ = ["LIMITS", "SIZES", "size_of"]

SIZES = ("small", "medium", "large")
LIMITS = (32.0**2, 96.0**2)


def size_of(area: float) -> str:
    """Return the size of a box of this area in pixels.

    Examples
    --------
    >>> size_of(5), size_of(32**2), size_of(96**2)
    ('small', 'medium', 'large')
    """
    return SIZES[sum(area >= limit for limit in LIMITS)]

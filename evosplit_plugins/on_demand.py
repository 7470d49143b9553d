"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

__all__ = ["on_demand"]


def on_demand(
    package: str, names: Sequence[str], home: Callable[[str], str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package
        Its `__name__`.
    names
        Its `__all__`.
    home
        Tells which module has a name.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home(name)), name)

    return get, lambda: sorted({*vars(import_module(package)), *names})

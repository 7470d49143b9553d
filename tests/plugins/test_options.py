"""Options that are declared once, for Python, the shell and the manifest."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evosplit_plugins.options import option, recorded


@dataclass(frozen=True, kw_only=True)
class Some:
    """Options that a manifest keeps in different ways."""

    times: int = option(1, "how often", kind="integer")
    other: int = option(1, "how else", kind="integer")
    folders: tuple = option((), "where", kind="paths")
    columns: tuple = option((), "which", kind="list")


def test_recorded_options():
    """Those that differ from their defaults; paths belong to one machine."""
    assert recorded(Some(times=2, folders=("/a",), columns=("x",))) == {"times": 2, "columns": ["x"]}


def test_an_unknown_kind_is_a_mistake():
    """It is noticed where the option is declared."""
    with pytest.raises(ValueError, match="kind='colour' is unknown"):
        option(None, "help", kind="colour")

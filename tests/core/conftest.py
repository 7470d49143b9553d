"""Short searches: what these tests ask for holds however little time a search has."""

from __future__ import annotations

import pytest

from evosplit.methods.evosplit import budget


@pytest.fixture(autouse=True, scope="module")
def search_length():
    """Give every search of a module a fiftieth of its work; a module that needs whole ones has its own fixture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "BASE", 4_000_000)
        yield

"""What the tests of tables share."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def table():
    """Give some rows."""
    pytest.importorskip("pyarrow")
    from table_rows import rows

    return rows()

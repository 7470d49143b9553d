"""How the public functions of adapters are carried out.

They spell out their parameters, so that editors complete them, and hand over all of them as `given`: their `locals()`,
taken first thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evosplit import LabelCounts
from evosplit_plugins.adapter import Adapter, Outcome
from evosplit_plugins.audit import Audit, audit
from evosplit_plugins.options import call_with, stated
from evosplit_plugins.progress import Phases
from evosplit_plugins.request import Request
from evosplit_plugins.walk import apply_with, split_with

__all__ = ["apply_as_called", "audit_as_called", "count_as_called", "split_as_called"]

Given = Mapping[str, Any]


def count_as_called(adapter: Adapter, paths: Sequence[str], given: Given) -> LabelCounts:
    """Carry out `read_counts`."""
    phases = Phases(given["on_progress"], reading=1)
    source = adapter.read(paths, call_with(adapter.reading, given), on_progress=phases("reading"))
    phases.finish()
    return source.counts


def split_as_called(adapter: Adapter, paths: Sequence[Any], given: Given) -> Outcome:
    """Carry out `evosplit_<host>`."""
    return split_with(
        adapter,
        paths,
        call_with(Request, given),
        output=given.get("output"),
        reading=call_with(adapter.reading, given),
        writing=call_with(adapter.writing, given),
        on_progress=given["on_progress"],
    )


def apply_as_called(adapter: Adapter, paths: Sequence[Any], given: Given) -> Outcome:
    """Carry out `apply_split`; reading options that are None are as when the split was made."""
    return apply_with(
        adapter,
        paths,
        given["split"],
        output=given.get("output"),
        reading=stated(adapter.reading, given),
        writing=call_with(adapter.writing, given),
        on_progress=given["on_progress"],
    )


def audit_as_called(adapter: Adapter, paths: Sequence[Any], given: Given) -> Audit:
    """Carry out `audit`."""
    phases = Phases(given["on_progress"], reading=2, judging=8)
    source = adapter.read_subsets(paths, call_with(adapter.reading, given), on_progress=phases("reading"))
    return call_with(audit, given, source=source, on_progress=phases("judging"))

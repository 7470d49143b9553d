"""The adapters by name, each loaded when it is first used; other packages add theirs through entry points.

A package announces its adapter in its pyproject.toml:

    [project.entry-points."evosplit.adapters"]
    mine = "my_package.adapter:MineAdapter"
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from evosplit import EvoSplitError
from evosplit.errors import warn
from evosplit.wording import listed
from evosplit_plugins.adapter import Adapter

__all__ = ["GROUP", "adapter_names", "all_adapters", "detect", "get_adapter", "is_own"]

GROUP = "evosplit.adapters"
_OWN = {
    "coco": "evosplit_plugins.coco.adapter:CocoAdapter",
    "yolo": "evosplit_plugins.yolo.adapter:YoloAdapter",
    "csv": "evosplit_plugins.audit.csv_files:CsvAdapter",
    "table": "evosplit_plugins.table.adapter:TableAdapter",
    "hf": "evosplit_plugins.hf.adapter:HuggingFaceAdapter",
    "fiftyone": "evosplit_plugins.fiftyone_plugin.adapter:FiftyOneAdapter",
}


def adapter_names() -> list[str]:
    """List the names of all adapters, EvoSplit's own first."""
    return [*_OWN, *sorted(point.name for point in entry_points(group=GROUP) if point.name not in _OWN)]


def is_own(name: str) -> bool:
    """Whether an adapter of this name comes with EvoSplit."""
    return name in _OWN


@cache
def get_adapter(name: str) -> Adapter:
    """Load an adapter by its name.

    Examples
    --------
    >>> get_adapter("coco").summary
    'COCO annotation files'
    """
    own = _OWN.get(name)
    if own is not None:
        module, _, attribute = own.partition(":")
        made: Adapter = getattr(import_module(module), attribute)()
        return made
    found: list[EntryPoint] = list(entry_points(group=GROUP, name=name))
    if not found:
        raise EvoSplitError(f"there is no adapter {name!r}; there are {', '.join(adapter_names())}")
    loaded: Adapter = found[0].load()()
    return loaded


def all_adapters() -> dict[str, Adapter]:
    """Load all adapters, by name; one of another package that cannot be loaded is left out, with a warning."""
    found = {}
    for name in adapter_names():
        try:
            found[name] = get_adapter(name)
        except Exception as error:
            if is_own(name):
                raise
            warn(f"the adapter {name!r} cannot be loaded: {error}")
    return found


def detect(paths: Sequence[str], verb: str | None = None) -> str:
    """Return the name of the first adapter that recognises some files or folders and has the command `verb`."""
    adapters = {name: adapter for name, adapter in all_adapters().items() if verb is None or verb in adapter.verbs}
    for name, adapter in adapters.items():
        if adapter.detect(paths):
            return name
    raise EvoSplitError(
        f"{listed(map(repr, paths), 3)} is nothing that an adapter recognises; name one: {', '.join(adapters)}",
        parameter=(),
    )

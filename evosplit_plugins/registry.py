"""The adapters by name, each loaded when it is first used; other packages add theirs through entry points.

A package announces its adapter in its pyproject.toml:

    [project.entry-points."evosplit.adapters"]
    mine = "my_package.adapter:MineAdapter"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evosplit import EvoSplitError
from evosplit.errors import warn
from evosplit.wording import listed
from evosplit_plugins.adapter import Adapter
from evosplit_plugins.files import check_readable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "Described",
    "adapter_names",
    "all_adapters",
    "described",
    "detect",
    "each_adapter",
    "get_adapter",
    "is_own",
]

GROUP = "evosplit.adapters"


class Described(NamedTuple):
    """The `summary` and the `verbs` of an adapter, which the help shows without loading it."""

    summary: str
    verbs: tuple[str, ...] = Adapter.verbs


_OWN = {
    "coco": ("evosplit_plugins.coco.adapter:CocoAdapter", Described("COCO annotation files")),
    "yolo": ("evosplit_plugins.yolo.adapter:YoloAdapter", Described("YOLO data sets")),
    "csv": ("evosplit_plugins.audit.csv_files:CsvAdapter", Described("CSV files", ("audit",))),
    "table": ("evosplit_plugins.table.adapter:TableAdapter", Described("tables of any size")),
    "hf": ("evosplit_plugins.hf.adapter:HuggingFaceAdapter", Described("Hugging Face data sets")),
    "fiftyone": ("evosplit_plugins.fiftyone_plugin.adapter:FiftyOneAdapter", Described("FiftyOne datasets")),
}


def adapter_names() -> list[str]:
    """List the names of all adapters, EvoSplit's own first."""
    return [*_OWN, *sorted(point.name for point in _entry_points() if point.name not in _OWN)]


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
    if name in _OWN:
        module, _, attribute = _OWN[name][0].partition(":")
        made: Adapter = getattr(import_module(module), attribute)()
        return made
    found = [point for point in _entry_points() if point.name == name]
    if not found:
        raise EvoSplitError(f"there is no adapter {name!r}; there are {', '.join(adapter_names())}")
    loaded: Adapter = found[0].load()()
    return loaded


def each_adapter() -> Iterator[tuple[str, Adapter]]:
    """Load one adapter after the other, with its name, EvoSplit's own first."""
    for name in _OWN:
        yield name, get_adapter(name)
    yield from _others()


def _others() -> Iterator[tuple[str, Adapter]]:
    """Load the adapters of other packages; one that is broken only gives a warning."""
    for name in adapter_names()[len(_OWN) :]:
        try:
            adapter = get_adapter(name)
        except Exception as error:
            warn(f"the adapter {name!r} cannot be loaded: {error}")
        else:
            yield name, adapter


def all_adapters() -> dict[str, Adapter]:
    """Load all adapters, by name."""
    return dict(each_adapter())


def described() -> dict[str, Described]:
    """Return summary and verbs of each adapter by name, for the help; only adapters of other packages are loaded.

    Examples
    --------
    >>> described()["csv"].verbs
    ('audit',)
    """
    own = {name: words for name, (_, words) in _OWN.items()}
    return own | {name: Described(adapter.summary, adapter.verbs) for name, adapter in _others()}


def detect(paths: Sequence[str], verb: str | None = None) -> str:
    """Return the name of the first adapter that recognises some files or folders and has the command `verb`."""
    able = []
    for name, adapter in each_adapter():
        if verb is None or verb in adapter.verbs:
            with suppress(PermissionError):  # of which the cause is told below
                if adapter.detect(paths):
                    return name
            able.append(name)
    for path in paths:
        check_readable(Path(path))
    raise EvoSplitError(
        f"no adapter recognises {listed(map(repr, paths), 3)}; name one: {', '.join(able)}",
        parameter=(),
    )


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # reads about every installed package, which most commands can spare

    return tuple(entry_points(group=GROUP))

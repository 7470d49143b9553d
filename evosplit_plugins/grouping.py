"""Groups of samples that share the value of a field, a part of their file names, or a picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from evosplit import EvoSplitError
from evosplit.wording import listed

__all__ = ["Copies", "Links", "compiled", "components", "find_copies", "joined", "linked", "regex_values"]

_NAMES_SHOWN = 2  # further values that the name of a group lists
_MOST = 0.5  # a file name that more than this part of the samples carry names no picture
_SHOWN = 3

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """Samples that share a value belong together.

    Attributes
    ----------
    values
        One entry per sample: a value, a list of values, or None for a sample that shares nothing.
    prefix
        What stands before a value where it names a group.
    names_groups
        Whether groups are named after these values; if not, only where no other links name them.
    notes
        Sentences for the report.
    """

    values: Sequence[Any]
    prefix: str = ""
    names_groups: bool = True
    notes: tuple[str, ...] = ()


def linked(
    fields: Mapping[str, Sequence[Any]], regex: str | None, files: Sequence[str | None] | None, more: Sequence[Links]
) -> list[Links]:
    """List what links samples: the values of fields, the texts that a regular expression finds in file names, and more.

    With several fields the names of groups tell which field they are from.

    Examples
    --------
    >>> [each.prefix for each in linked({"clip": [1, 1], "site": ["a", "b"]}, None, None, [])]
    ['clip=', 'site=']
    """
    links = [Links(values, f"{name}=" if len(fields) > 1 else "") for name, values in fields.items()]
    if regex is not None:
        links.append(Links(regex_values(regex, files)))
    return [*links, *more]


def joined(links: Sequence[Links]) -> list[Any] | None:
    """Name the group of each sample; samples that are linked, directly or through others, share one.

    Returns
    -------
    list or None
        The name of each sample's group, None for a sample on its own; None where no two samples are linked and no
        value is given.

    Examples
    --------
    >>> joined([Links([1, 2, None, 2])])
    [1, 2, None, 2]
    >>> joined([Links([1, 2, None, 3]), Links(["a", None, "a", None], "picture ", names_groups=False)])
    [1, 2, 1, 3]
    >>> joined([Links(["x", ["x", "y"], "y", "z"])])
    ['x, linked with y', 'x, linked with y', 'x, linked with y', 'z']
    """
    if not links:
        return None
    n = len(links[0].values)
    rows: list[int] = []
    nodes: list[int] = []
    called: list[tuple[Any, bool]] = []  # for each node: the name it gives to a group, and `names_groups`
    for each in links:
        node_of_value: dict[Any, int] = {}
        for row, entry in enumerate(_lists(each.values)):
            for value in entry:
                key = (type(value), value)
                node = node_of_value.get(key)
                if node is None:
                    node = node_of_value[key] = len(called)
                    called.append((f"{each.prefix}{value}" if each.prefix else value, each.names_groups))
                rows.append(row)
                nodes.append(node)
    if not called:
        return None
    # Between the samples and, numbered after them, the values.
    component = components(np.array(rows, dtype=np.int64), np.array(nodes, dtype=np.int64) + n, n + len(called))
    of_nodes = component[n:].tolist()
    by_component: dict[int, list[Any]] = {}
    for named in (True, False):
        further: dict[int, list[Any]] = {}
        for number, (name, names_groups) in zip(of_nodes, called, strict=True):
            if names_groups == named and number not in by_component:
                further.setdefault(number, []).append(name)
        by_component |= further
    name_of: dict[int, Any] = {}
    taken: dict[Any, int] = {}
    for number, names in by_component.items():
        name = _name(names)
        again = taken[type(name), name] = taken.get((type(name), name), 0) + 1
        name_of[number] = name if again == 1 else f"{name} ({again})"  # 1 and "1" are read alike behind a prefix
    return [name_of.get(number) for number in component[:n].tolist()]


def _lists(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        if isinstance(value, (list, tuple)):
            yield value
        else:
            yield () if value is None or value != value else (value,)


def components(first: Ints, second: Ints, n_nodes: int) -> Ints:
    """Find the connected components of a graph, given the two ends of each edge: a number for each node.

    Examples
    --------
    >>> components(np.array([0, 3]), np.array([1, 1]), 4).tolist()
    [0, 0, 1, 0]
    """
    from scipy.sparse.csgraph import connected_components  # loads scipy.linalg, which few splits need

    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1], dtype=np.int64)


def _name(values: Sequence[Any]) -> Any:
    first, *others = values
    if not others:
        return first
    return f"{first}, linked with {listed(others, _NAMES_SHOWN)}"


@dataclass(frozen=True)
class Copies:
    """Samples that show one picture.

    Attributes
    ----------
    values
        For each sample the name of its picture if others show it too, else None.
    n_samples, n_pictures
        How many samples are such copies, and of how many pictures.
    n_torn
        How many further pictures are locked into several subsets, so that their copies cannot stay together.
    """

    values: list[str | None]
    n_samples: int
    n_pictures: int
    n_torn: int


def find_copies(pictures: Sequence[str | None], locked: Sequence[str | None] | None = None) -> Copies:
    """Find the samples that show one picture.

    Parameters
    ----------
    pictures
        What names the picture of each sample; None where it is not known. A name that most samples carry names no
        picture.
    locked
        The subset in which each sample stays, None where it is free.

    Examples
    --------
    >>> find_copies(["a.jpg", "b.jpg", "a.jpg"]).values
    ['a.jpg', None, 'a.jpg']
    """
    times = Counter(pictures)
    often = {name for name, n in times.items() if name is not None and 1 < n <= max(2, _MOST * len(pictures))}
    torn: set[str | None] = set()
    if locked is not None:
        subset_of: dict[str | None, str] = {}
        for name, subset in zip(pictures, locked, strict=True):
            if name in often and subset is not None and subset_of.setdefault(name, subset) != subset:
                torn.add(name)
    often -= torn
    values = [name if name in often else None for name in pictures]
    return Copies(values, sum(value is not None for value in values), len(often), len(torn))


def compiled(regex: str) -> re.Pattern[str]:
    """Compile the regular expression of `group_regex`."""
    try:
        return re.compile(regex)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise EvoSplitError(f"group_regex={regex!r} is no regular expression: {error}; correct it") from error


def regex_values(regex: str, files: Sequence[str | None] | None) -> list[str | None]:
    """Return the text that a regular expression finds in each file name; None where it finds none.

    The text of the first parentheses counts, if there are any.

    Examples
    --------
    >>> regex_values(r"^(.+)_frame", ["a_frame1.jpg", "a_frame2.jpg", "b.jpg"])
    ['a', 'a', None]
    """
    pattern = compiled(regex)
    if files is None or not any(files):
        raise EvoSplitError(f"group_regex={regex!r} looks into file names, but the samples have none; use group_by=")
    matches = [None if name is None else pattern.search(name) for name in files]
    # An empty text names nothing; else a pattern that can match nothing would make one group of all samples.
    values = [None if match is None else match[1 if pattern.groups else 0] or None for match in matches]
    if not any(values):
        shown = ", ".join([name for name in files if name is not None][:_SHOWN])
        raise EvoSplitError(f"group_regex={regex!r} finds no text in any file name ({shown}); correct it")
    return values

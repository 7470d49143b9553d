"""The leaves of a data set's Arrow schema, and which of them holds the labels."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from datasets import ClassLabel, Value

from evosplit import EvoSplitError
from evosplit.wording import listed

__all__ = ["Leaf", "find_leaf", "guess_leaf", "is_list", "leaves_of_schema"]

OBJECT_FIELDS = frozenset({"category", "categories", "category_id", "class", "classes", "class_id", "label", "labels"})
LABEL_COLUMNS = frozenset({"label", "labels"})
_SHOWN = 12


@dataclass(frozen=True)
class Leaf:
    """Values of one kind: a column, or a field inside it.

    Attributes
    ----------
    column
        The column of the data set.
    fields
        The struct fields that lead from the column to the values.
    depth
        How many lists stand around each value, on the way from the row.
    type
        The Arrow type of the values.
    feature
        The feature of the values, None where the data set has no features.
    """

    column: str
    fields: tuple[str, ...]
    depth: int
    type: Any
    feature: Any

    @property
    def path(self) -> str:
        """The name a user writes: column and fields joined by dots."""
        return ".".join((self.column, *self.fields))

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The names of a ClassLabel, None for anything else."""
        return tuple(self.feature.names) if isinstance(self.feature, ClassLabel) else None

    @property
    def holds_labels(self) -> bool:
        """Whether each value can be a label: an integer, a string or a ClassLabel."""
        return self.is_integer or self.is_string

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers, ClassLabel included."""
        return bool(pa.types.is_integer(self.type))

    @property
    def is_string(self) -> bool:
        """Whether the values are strings."""
        return bool(pa.types.is_string(self.type) or pa.types.is_large_string(self.type))

    @property
    def is_number(self) -> bool:
        """Whether the values are plain numbers or booleans, so no ClassLabel."""
        number = pa.types.is_integer(self.type) or pa.types.is_floating(self.type) or pa.types.is_boolean(self.type)
        return bool(number) and self.class_names is None

    def __str__(self) -> str:
        kind = self.type if self.feature is None or isinstance(self.feature, Value) else type(self.feature).__name__
        return f"{self.path} ({'list of ' * self.depth}{kind})"


def leaves_of_schema(schema: Any, features: Mapping[str, Any] | None) -> list[Leaf]:
    """List the leaves of a schema, in the order of the columns.

    The Arrow types lead, because versions of `datasets` use different features for the same types; the
    features tell what a ClassLabel is, and that an Image is one thing, not a struct of bytes and a path.
    """
    found: list[Leaf] = []
    for field in schema:
        feature = None if features is None else features.get(field.name)
        _walk(Leaf(field.name, (), 0, field.type, feature), found)
    return found


def _walk(leaf: Leaf, found: list[Leaf]) -> None:
    kind, feature, depth = leaf.type, _bare(leaf.feature), leaf.depth
    while is_list(kind):
        kind = kind.value_type
        depth += 1
    if pa.types.is_struct(kind) and (feature is None or isinstance(feature, Mapping)):
        for field in kind:
            inner = None if feature is None else feature.get(field.name)
            _walk(Leaf(leaf.column, (*leaf.fields, field.name), depth, field.type, inner), found)
    else:
        found.append(Leaf(leaf.column, leaf.fields, depth, kind, feature))


def _bare(feature: Any) -> Any:
    """Take the lists off a feature, whichever way this version of `datasets` writes them."""
    while True:
        if isinstance(feature, (list, tuple)):
            feature = feature[0]
        elif hasattr(feature, "feature"):
            feature = feature.feature
        else:
            return feature


def is_list(kind: Any) -> bool:
    """Whether an Arrow type is one of the lists that `datasets` uses."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def find_leaf(path: str, leaves: Sequence[Leaf], parameter: str) -> Leaf:
    """Find the leaf that a user named with a parameter."""
    for leaf in leaves:
        if leaf.path == path:
            return leaf
    inside = [leaf for leaf in leaves if leaf.path.startswith(f"{path}.")]
    if inside:
        raise EvoSplitError(f"{parameter}={path!r} has several fields; name the one that you mean: {_listed(inside)}")
    close = difflib.get_close_matches(path, [leaf.path for leaf in leaves], n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise EvoSplitError(f"{parameter}={path!r} is no column of the data set{hint}; it has: {_listed(leaves)}")


def guess_leaf(leaves: Sequence[Leaf], fits: Callable[[Leaf], bool]) -> Leaf:
    """Find the leaf with the labels if the user did not name it.

    Candidates are the fields of objects (`objects.category` and the like), lists of ClassLabel, and columns
    called label or labels; without any of these, other ClassLabel columns. Two candidates are an error, never
    a guess.

    Parameters
    ----------
    leaves
        All leaves of the data set.
    fits
        Whether a leaf can be counted the way the user asked for.
    """
    candidates = [leaf for leaf in leaves if fits(leaf) and _looks_like_labels(leaf)]
    if not candidates:
        candidates = [leaf for leaf in leaves if fits(leaf) and leaf.class_names is not None]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise EvoSplitError(
            f"{len(candidates)} columns could hold the labels: {_listed(candidates)}; say which, for example "
            f"label_column={candidates[0].path!r}, or several of them"
        )
    hot = [leaf for leaf in leaves if leaf.column in LABEL_COLUMNS and leaf.depth == 1 and leaf.is_number]
    hint = f"; if {hot[0].path!r} is multi-hot, pass multi_hot=True" if hot else ""
    raise EvoSplitError(f"no column looks like labels among {_listed(leaves)}; name it with label_column={hint}")


def _looks_like_labels(leaf: Leaf) -> bool:
    if leaf.fields:
        return leaf.depth > 0 and leaf.fields[-1] in OBJECT_FIELDS
    return leaf.column in LABEL_COLUMNS or (leaf.depth > 0 and leaf.class_names is not None)


def _listed(leaves: Sequence[Leaf]) -> str:
    return listed(leaves, _SHOWN) or "no column"

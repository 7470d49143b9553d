"""What a split has to respect beside its sizes: groups kept whole, samples already placed, further strata, weights.

`resolve_constraints` turns what the user passes into arrays and refuses contradictions, before any search.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from evosplit.counts import LabelCounts
from evosplit.errors import EvoSplitError
from evosplit.ratios import Subsets, largest_remainder
from evosplit.wording import counted, listed

__all__ = [
    "FEW_NUMBERS",
    "FREE",
    "Constraints",
    "GroupIndex",
    "Locked",
    "Stratum",
    "binned",
    "is_missing",
    "resolve_constraints",
    "sizes_around_locks",
]

Ints = npt.NDArray[np.int64]
Locked: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[str | None] | npt.NDArray[Any] | None

FREE = -1  # in `Constraints.locked`: not yet placed
MISSING = "missing"  # the category of None and NaN
BINS = 5  # quantile bins of a stratum of numbers
FEW_NUMBERS = 10  # up to this many different numbers are categories, not bins
MOST_WEIGHT = 1e9  # of a label, and the least is 1 over it: sums of such weights stay exact enough
NAMED = 3  # offenders that an error names


@dataclass(frozen=True, eq=False)
class GroupIndex:
    """Which samples belong together.

    Attributes
    ----------
    names
        What the user calls each group; None for a sample on its own.
    code_of_sample
        The group of each sample, or row, numbered in the order in which they first occur.
    copies
        Where rows stand for several samples of their group, how many; None where each is one.
    """

    names: tuple[Any, ...]
    code_of_sample: npt.NDArray[np.int64]
    copies: Ints | None = None

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def sizes(self) -> Ints:
        """How many samples each group holds."""
        return np.bincount(self.code_of_sample, weights=self.copies, minlength=len(self)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Stratum:
    """Something else to balance: how often each of its categories occurs in each sample, mostly one of them once."""

    name: str
    counts: LabelCounts


@dataclass(frozen=True, eq=False)
class Constraints:
    """The constraints of a split.

    Attributes
    ----------
    groups
        Samples that stay together; None if every sample is on its own.
    locked
        For each sample the number of the subset in which it stays, or -1 if it is free. The companions of a locked
        sample in its group are locked with it.
    locked_copies
        Where rows stand for several samples: how many of each row stay in each subset (rows x k). `locked` is -1 then.
    strata
        Further columns to balance.
    min_per_label
        How many samples of each label every subset is to get, where there are enough.
    label_weights
        How much labels matter, for those that do not weigh 1.
    """

    groups: GroupIndex | None
    locked: npt.NDArray[np.int64]
    strata: tuple[Stratum, ...] = ()
    min_per_label: int = 1
    label_weights: Mapping[str, float] = field(default_factory=dict)
    locked_copies: Ints | None = None

    @cached_property
    def n_locked(self) -> int:
        """How many samples are already placed."""
        return int(self.held(int(self.locked.max(initial=0)) + 1).sum())

    def held(self, k: int) -> Ints:
        """Return how many samples are already placed in each of k subsets."""
        if self.locked_copies is not None:
            return np.asarray(self.locked_copies.sum(axis=0))
        held, copies = self.locked != FREE, None if self.groups is None else self.groups.copies
        return np.bincount(self.locked[held], None if copies is None else copies[held], minlength=k).astype(np.int64)

    def flz_bound(self, counts: LabelCounts, k: int) -> int:
        """Bound from below how many label-subset combinations stay empty, each label on its own."""
        presence = counts.presence
        if self.locked_copies is not None:
            free = presence.T @ (counts.copies - self.locked_copies.sum(axis=1))
            held = ((presence.T @ self.locked_copies) > 0).sum(axis=1)
            return int(np.maximum(0, k - free - held).sum())
        rows = np.repeat(np.arange(counts.n_rows), np.diff(presence.indptr))
        locked = self.locked[rows]
        units = rows if self.groups is None else self.groups.code_of_sample[rows]
        free = np.unique(np.stack([presence.indices[locked == FREE], units[locked == FREE]]), axis=1)
        held = np.unique(np.stack([presence.indices[locked != FREE], locked[locked != FREE]]), axis=1)
        reached = np.bincount(free[0], minlength=counts.n_labels) + np.bincount(held[0], minlength=counts.n_labels)
        return int(np.maximum(0, k - reached).sum())


def resolve_constraints(
    counts: LabelCounts,
    subsets: Subsets,
    *,
    groups: Iterable[Any] | GroupIndex | None = None,
    locked: Locked = None,
    strata: Mapping[str, Any] | None = None,
    min_per_label: int = 1,
    label_weights: Mapping[str, float] | None = None,
) -> Constraints | None:
    """Check what the user asks for; None if it is nothing.

    Groups may be a `GroupIndex` already, with which adapters keep rows together that stand for several samples.

    Examples
    --------
    >>> counts = LabelCounts([[1], [1], [0]], ids=["a", "b", "c"])
    >>> subsets = Subsets(("train", "test"), (2, 1))
    >>> made = resolve_constraints(counts, subsets, groups=[7, 7, None], locked={"test": ["c"]})
    >>> made.groups.names, made.groups.code_of_sample.tolist(), made.locked.tolist()
    ((7, None), [0, 0, 1], [-1, -1, 1])
    """
    if isinstance(min_per_label, bool) or not isinstance(min_per_label, (int, np.integer)) or min_per_label < 1:
        raise EvoSplitError(
            f"min_per_label={min_per_label!r} is no minimum; give an integer of at least 1, or cover=False for none"
        )
    if groups is not None and counts.has_copies and not isinstance(groups, GroupIndex):
        raise EvoSplitError(
            "groups= cannot be kept where rows of counts stand for several samples; "
            "pass one row for each group, or leave out copies="
        )
    index = groups if groups is None or isinstance(groups, GroupIndex) else _group_index(groups, counts.n_rows)
    fixed, of_copies = _locked_subsets(locked, counts, subsets, as_table=counts.has_copies and index is None)
    if index is not None:
        fixed = _lock_companions(index, fixed, subsets)
    made = Constraints(
        groups=index,
        locked=fixed,
        strata=tuple(_stratum(name, values, counts) for name, values in _named_strata(strata)),
        min_per_label=int(min_per_label),
        label_weights=_checked_weights(label_weights, counts),
        locked_copies=of_copies,
    )
    asked = groups is not None or made.n_locked or made.strata or made.min_per_label > 1 or made.label_weights
    return made if asked else None


def sizes_around_locks(sizes: Sequence[int], locked: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes to aim at when some subsets already hold more than they should: the others share the rest.

    Examples
    --------
    >>> sizes_around_locks((80, 10, 10), (0, 5, 10))
    (80, 10, 10)
    >>> sizes_around_locks((80, 10, 10), (0, 0, 19))
    (72, 9, 19)
    """
    asked, held = np.asarray(sizes, dtype=np.int64), np.asarray(locked, dtype=np.int64)
    full = np.zeros(len(asked), dtype=bool)
    aims = asked.copy()
    while (held > aims).any():
        full |= held > aims
        aims = held.copy()
        shares = np.where(full, 0, asked)
        aims[~full] = largest_remainder(shares / max(shares.sum(), 1), int(asked.sum() - held[full].sum()))[~full]
    return tuple(int(size) for size in aims)


def _group_index(groups: Iterable[Any], m: int) -> GroupIndex:
    if isinstance(groups, (str, bytes)):
        raise EvoSplitError(f"groups={groups!r} is a string; pass one value per sample")
    if isinstance(groups, np.ndarray) and groups.shape == (m,) and groups.dtype.kind in "iuU":
        distinct, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        return GroupIndex(tuple(distinct[order].tolist()), number[inverse])
    items = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(items) != m:
        raise EvoSplitError(f"groups has {len(items)} values for {m} samples; pass one per sample (None: on its own)")
    if set(map(type, items)) <= {int, str}:  # as nearly always: no loop of ours
        numbers = {name: code for code, name in enumerate(dict.fromkeys(items))}
        return GroupIndex(tuple(numbers), np.fromiter(map(numbers.__getitem__, items), dtype=np.int64, count=m))
    codes: dict[Any, int] = {}
    names: list[Any] = []
    code_of_sample = np.empty(m, dtype=np.int64)
    for sample, value in enumerate(items):
        if is_missing(value):
            code_of_sample[sample] = len(names)
            names.append(None)
            continue
        try:
            # The type belongs to the key: 1, 1.0 and True are one key of a dict, but hardly one group.
            name = value.item() if isinstance(value, np.generic) else value
            code = codes.setdefault((type(name), name), len(names))
        except TypeError as error:
            raise EvoSplitError(
                f"groups[{sample}] is {value!r}, which cannot name a group; use strings or integers"
            ) from error
        if code == len(names):
            names.append(value)
        code_of_sample[sample] = code
    return GroupIndex(tuple(names), code_of_sample)


def _locked_subsets(
    locked: Locked,
    counts: LabelCounts,
    subsets: Subsets,
    *,
    as_table: bool,
) -> tuple[Ints, Ints | None]:
    """Return `Constraints.locked` and `Constraints.locked_copies`."""
    nowhere = np.full(counts.n_rows, FREE, dtype=np.int64)
    if isinstance(locked, np.ndarray) and locked.ndim == 2:
        table = _checked_lock_table(locked, counts, subsets)
        if as_table:
            return nowhere, table
        return np.where(table.any(axis=1), table.argmax(axis=1), FREE), None
    fixed = _locked_rows(locked, counts, subsets)
    if not as_table:
        return fixed, None
    table = np.zeros((counts.n_rows, len(subsets)), dtype=np.int64)
    held = np.flatnonzero(fixed != FREE)
    table[held, fixed[held]] = counts.copies[held]
    return nowhere, table


def _checked_lock_table(locked: npt.NDArray[Any], counts: LabelCounts, subsets: Subsets) -> Ints:
    shape = (counts.n_rows, len(subsets))
    if locked.shape != shape or locked.dtype.kind not in "iu":
        raise EvoSplitError(
            f"locked= is a table of shape {locked.shape} and dtype {locked.dtype}; pass integers, one row for each of "
            f"the {shape[0]} rows of counts and one column for each of the {shape[1]} subsets"
        )
    wrong = np.flatnonzero((locked < 0).any(axis=1) | (locked.sum(axis=1) > counts.copies))
    if len(wrong):
        row = wrong[0]
        raise EvoSplitError(
            f"locked[{row}] is {locked[row].tolist()}, but the row stands for {counts.copies[row]} samples; lock at "
            "most so many of them"
        )
    return locked.astype(np.int64)


def _locked_rows(
    locked: Locked,
    counts: LabelCounts,
    subsets: Subsets,
) -> Ints:
    """Return the subset in which each row stays."""
    fixed = np.full(counts.n_rows, FREE, dtype=np.int64)
    if locked is None:
        return fixed
    number = {name: j for j, name in enumerate(subsets.names)}
    choices = ", ".join(map(repr, subsets.names))
    if not isinstance(locked, Mapping):
        is_list = hasattr(locked, "__len__") and not isinstance(locked, (str, bytes))
        if not is_list or len(locked) != counts.n_rows:
            size = f"has {len(locked)} entries" if is_list else f"is {locked!r}"
            raise EvoSplitError(
                f"locked {size} for {counts.n_rows} samples; pass a subset name or None for each, "
                "or {subset name: ids}"
            )
        for sample, name in enumerate(locked):
            if is_missing(name):
                continue
            if not isinstance(name, str) or name not in number:
                raise EvoSplitError(f"locked[{sample}] is {name!r}; the subsets are {choices}")
            fixed[sample] = number[name]
        return fixed
    position = {sample: i for i, sample in enumerate(counts.ids.tolist())}
    for name, ids in locked.items():
        if name not in number:
            raise EvoSplitError(f"locked names the subset {name!r}; the subsets are {choices}")
        if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
            raise EvoSplitError(f"locked[{name!r}] is {ids!r}; pass the ids of the samples that stay there")
        wanted = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        unknown = [sample for sample in wanted if not isinstance(sample, Hashable) or sample not in position]
        if unknown:
            raise EvoSplitError(
                f"locked[{name!r}] names {counted(len(unknown), 'id', 'ids')} that the data set does not have "
                f"({listed(map(repr, unknown), NAMED)}); leave them out, or add the samples"
            )
        rows = np.array([position[sample] for sample in wanted], dtype=np.int64)
        elsewhere = rows[(fixed[rows] != FREE) & (fixed[rows] != number[name])]
        if len(elsewhere):
            raise EvoSplitError(
                f"{counted(len(elsewhere), 'sample is', 'samples are')} locked into {name!r} and into another subset: "
                f"{listed(map(repr, counts.ids[elsewhere].tolist()), NAMED)}; lock each into one"
            )
        fixed[rows] = number[name]
    return fixed


def _lock_companions(index: GroupIndex, fixed: Ints, subsets: Subsets) -> Ints:
    """Lock the whole group of a locked sample; a group cannot be in two subsets."""
    k = len(subsets)
    held = fixed != FREE
    holds = np.zeros((len(index), k), dtype=bool)
    holds[index.code_of_sample[held], fixed[held]] = True
    torn = np.flatnonzero(holds.sum(axis=1) > 1)
    if len(torn):
        shown = [repr(index.names[i]) for i in torn]
        where = " and ".join(repr(subsets.names[j]) for j in np.flatnonzero(holds[torn[0]]))
        raise EvoSplitError(
            f"{counted(len(torn), 'group is', 'groups are')} locked into more than one subset ({listed(shown, NAMED)}; "
            f"the first into {where}); unlock some of their samples, or leave them out of groups"
        )
    subset_of_group = np.where(holds.any(axis=1), holds.argmax(axis=1), FREE)
    return np.asarray(subset_of_group[index.code_of_sample], dtype=np.int64)


def _named_strata(strata: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    if strata is None:
        return []
    if not isinstance(strata, Mapping):
        raise EvoSplitError(f"strata is a {type(strata).__name__}; pass a dict: {{'weather': one value per sample}}")
    return [(str(name), values) for name, values in strata.items()]


def _stratum(name: str, values: Any, counts: LabelCounts) -> Stratum:
    m = counts.n_rows
    if isinstance(values, LabelCounts):
        if values.n_rows != m:
            raise EvoSplitError(f"the stratum {name!r} counts {values.n_rows} samples, the labels {m}")
        if values.has_copies and not np.array_equal(values.copies, counts.copies):
            raise EvoSplitError(f"the stratum {name!r} has other copies than the labels; leave them out there")
        if counts.has_copies and not values.has_copies:
            values = LabelCounts(values.matrix, ids=values.ids, labels=values.labels, copies=counts.copies)
        return Stratum(name, values)
    is_list = hasattr(values, "__len__") and not isinstance(values, (str, bytes))
    if not is_list or len(values) != m:
        size = f"has {len(values)} values" if is_list else f"is {values!r}"
        raise EvoSplitError(f"the stratum {name!r} {size} for {m} samples; pass one value per sample")
    items = values.tolist() if isinstance(values, np.ndarray) else list(values)
    present = [value for value in items if not is_missing(value)]
    numbers = all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in present)
    if numbers and len(set(present)) > FEW_NUMBERS:
        categories, code = binned(np.array([_as_float(value) for value in items]), counts.copies)
    else:
        for sample, value in enumerate(items):
            if not is_missing(value) and not isinstance(value, (str, bool, int, float, np.generic)):
                raise EvoSplitError(
                    f"the stratum {name!r} of sample {sample} is {value!r}; pass strings, numbers, booleans or None"
                )
        texts = [MISSING if is_missing(value) else str(value) for value in items]
        categories = sorted(set(texts))
        position = {category: i for i, category in enumerate(categories)}
        code = np.array([position[text] for text in texts], dtype=np.int64)
        if len(categories) > max(counts.n_samples // 2, FEW_NUMBERS):
            raise EvoSplitError(
                f"the stratum {name!r} has {len(categories)} different values in {counts.n_samples} samples, "
                f"for example {categories[0]!r}: nothing to balance; pass a column whose values repeat, or use it as "
                "groups"
            )
    one_hot = sp.csr_array((np.ones(m, dtype=np.int32), code, np.arange(m + 1)), shape=(m, len(categories)))
    copies = counts.copies if counts.has_copies else None
    return Stratum(name, LabelCounts(one_hot, ids=counts.ids, labels=categories, copies=copies))


def binned(values: npt.NDArray[np.float64], copies: Ints) -> tuple[list[str], Ints]:
    """Sort numbers into bins of about equal frequency, named by their limits; NaN gets its own category."""
    known = ~np.isnan(values)
    finite = np.isfinite(values)
    inner = np.zeros(1)
    if finite.any():
        # Quantiles without interpolation, whose rounding depends on numpy's version.
        ascending = values[finite][order := np.argsort(values[finite], kind="stable")]
        up_to = np.cumsum(copies[finite][order])
        ranks = -(-np.arange(1, BINS) * up_to[-1] // BINS)
        # + 0.0 makes 0 of -0, which a sort may leave on either side.
        inner = np.unique(ascending[np.searchsorted(up_to, ranks)] + 0.0)
    code = np.searchsorted(inner, values, side="left")
    limits = [f"{limit:.6g}" for limit in inner]
    names = [f"up to {limits[0]}"]
    names += [f"{low} to {high}" for low, high in itertools.pairwise(limits)]
    names.append(f"over {limits[-1]}")
    if not known.all():
        code[~known] = len(names)
        names.append(MISSING)
    used, code = np.unique(code, return_inverse=True)
    # Limits that print alike would give two bins one name.
    chosen = [names[i] for i in used]
    unique = [name if chosen.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(chosen)]
    return unique, code.astype(np.int64)


def _checked_weights(weights: Mapping[str, float] | None, counts: LabelCounts) -> dict[str, float]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise EvoSplitError(f"label_weights={weights!r} is no dict; pass for example {{'rare': 5}}")
    known = set(counts.labels)
    for label, weight in weights.items():
        if str(label) not in known:
            close = difflib.get_close_matches(str(label), counts.labels, n=3)
            hint = f"did you mean {', '.join(map(repr, close))}?" if close else f"there are {len(known)} other labels"
            raise EvoSplitError(f"label_weights= names the label {label!r}, which does not occur; {hint}")
        valid = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        number = _as_float(weight) if valid else 0.0
        if not 1 / MOST_WEIGHT <= number <= MOST_WEIGHT:
            raise EvoSplitError(
                f"the weight of the label {label!r} is {weight!r}; give a positive number (1 is usual), "
                f"from {1 / MOST_WEIGHT:g} to {MOST_WEIGHT:g}"
            )
    return {str(label): float(weight) for label, weight in weights.items() if weight != 1}


def _as_float(value: Any) -> float:
    """Turn a number into what can be binned: an integer beyond all floats is infinite, a missing one NaN."""
    if is_missing(value):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or one of pandas' missing values."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # pandas' own, known by name

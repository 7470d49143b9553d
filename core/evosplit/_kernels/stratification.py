"""Iterative stratification: deal the rarest label (or label pair) first, then make the sizes exact.

Types of units carry *columns* (labels, label pairs). The columns wait in a queue that is sorted by the number
of their units still to be placed: `queue` lists the columns, `place` is the position of each one in it, and
`start[n]` the position of the first column with at least n units left. Taking one unit away moves a column
to the front of its equals; so this and finding the rarest column cost a few steps, however many there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evosplit._kernels._jit import Floats, Ints, inner, lean
from evosplit._kernels.rng import random_below, shuffle

TIE = 1e-9  # desires closer than this are equal; they are sums of multiples of the subsets' shares


class Columns(NamedTuple):
    """What is stratified: the columns of each type (CSR), the types of each column, units that carry each column."""

    indptr: Ints
    indices: Ints
    type_indptr: Ints
    types: Ints
    totals: Ints


class Queue(NamedTuple):
    """The columns, sorted by the number of units that are `left` of each (see above)."""

    left: Ints
    queue: Ints
    place: Ints
    start: Ints


class Dealt(NamedTuple):
    """What was dealt: units of each type in each subset, copies left of each type, columns and capacity of subsets."""

    table: Ints
    copies_left: Ints
    counts: Ints
    capacity: Ints


def build_queue(left: Ints) -> Queue:
    """Sort the columns by the number of their units."""
    queue = np.argsort(left, kind="stable")
    place = np.empty_like(queue)
    place[queue] = np.arange(len(queue))
    with_fewer = np.cumsum(np.bincount(left, minlength=int(left.max(initial=0)) + 2))
    return Queue(left, queue, place, np.concatenate(([0], with_fewer)))


@inner
def take_one(column: int, left: Ints, queue: Ints, place: Ints, start: Ints) -> None:
    """Record that one unit less of a column is left."""
    front = start[left[column]]
    other = queue[front]
    queue[front], queue[place[column]] = column, other
    place[other], place[column] = place[column], front
    start[left[column]] += 1
    left[column] -= 1


@inner
def choose_rarest(left: Ints, queue: Ints, start: Ints, state: Ints) -> int:
    """Draw one of the columns with the fewest units left; -1 if no unit is left."""
    first = start[1]
    if first == len(queue):
        return -1
    equals = start[left[queue[first]] + 1] - first
    return int(queue[first + random_below(state, equals)])


@inner
def choose_subset(desire: Floats, tie_break: Floats, capacity: Ints, state: Ints) -> int:
    """Find the subset that desires most; ties: the greatest tie-break, then the most capacity, then chance."""
    chosen, equals = 0, 1
    for j in range(1, len(capacity)):
        lead = desire[j] - desire[chosen]
        if abs(lead) <= TIE:
            lead = tie_break[j] - tie_break[chosen]
            if abs(lead) <= TIE:
                lead = float(capacity[j] - capacity[chosen])
        if lead > TIE:
            chosen, equals = j, 1
        elif lead >= -TIE:
            equals += 1
            if random_below(state, equals) == 0:
                chosen = j
    return chosen


@lean
def place_rarest(
    columns: Columns,
    waiting_columns: Queue,
    dealt: Dealt,
    shares: Floats,
    by_the_rest: bool,
    in_turn: bool,
    limit: int,
    waiting: Ints,
    desires: Floats,
    state: Ints,
) -> int:
    """Deal the units of the rarest column, then of the rarest that is left, until `limit` units are placed.

    A unit goes to the subset that still wants most of the column. `by_the_rest` breaks ties by what the
    subsets still want of all the unit's columns, otherwise by the capacity that is left. With `in_turn` equal units
    follow each other, otherwise the order is random. Returns how many units were placed: 0 when
    no unit with a column is left. `waiting`, as long as the longest column, and `desires` (2 x k) are to work in.
    """
    left, queue, place, start = waiting_columns
    indptr, indices, type_indptr, types, totals = columns
    table, copies_left, counts, capacity = dealt
    k = len(shares)
    desire, rest = desires[0], desires[1]
    for j in range(k):
        rest[j] = 0.0
    placed = 0
    while placed < limit:
        rarest = choose_rarest(left, queue, start, state)
        if rarest < 0:
            break
        n_waiting = 0
        for at in range(type_indptr[rarest], type_indptr[rarest + 1]):
            for _ in range(copies_left[types[at]]):
                waiting[n_waiting] = types[at]
                n_waiting += 1
        if not in_turn:
            for i in range(n_waiting - 1, 0, -1):
                other = random_below(state, i + 1)
                waiting[i], waiting[other] = waiting[other], waiting[i]
        for i in range(n_waiting):
            kind = waiting[i]
            most = 0.0
            for j in range(k):
                desire[j] = shares[j] * totals[rarest] - counts[rarest, j]
                if j == 0 or desire[j] > most:
                    most = desire[j]
            if by_the_rest:
                for j in range(k):
                    rest[j] = 0.0
                    if desire[j] >= most - 2 * TIE:
                        for at in range(indptr[kind], indptr[kind + 1]):
                            rest[j] += shares[j] - counts[indices[at], j] / totals[indices[at]]
            chosen = choose_subset(desire, rest, capacity, state)
            table[kind, chosen] += 1
            copies_left[kind] -= 1
            capacity[chosen] -= 1
            for at in range(indptr[kind], indptr[kind + 1]):
                counts[indices[at], chosen] += 1
                take_one(indices[at], left, queue, place, start)
        placed += n_waiting
    return placed


def fill_sizes(dealt: Dealt, state: Ints) -> None:
    """Deal all units that are left, in random order, each to the subset with the most capacity."""
    waiting = np.repeat(np.arange(len(dealt.copies_left)), dealt.copies_left)
    shuffle(waiting, state)
    capacity, n = dealt.capacity, len(waiting)
    # Dealing one by one lowers the greatest capacities to a common level, but for a remainder.
    low, high = int(capacity.min(initial=0)) - n, int(capacity.max(initial=0))
    while low < high:  # the lowest level that takes no more than there are
        level = (low + high) // 2
        low, high = (low, level) if np.maximum(capacity - level, 0).sum() <= n else (level + 1, high)
    given = np.maximum(capacity - low, 0)
    next_ones = np.flatnonzero(capacity - given == low)
    shuffle(next_ones, state)
    given[next_ones[: n - given.sum()]] += 1
    np.add.at(dealt.table, (waiting, np.repeat(np.arange(len(capacity)), given)), 1)
    dealt.copies_left[:] = 0
    capacity -= given


@inner
def unit_change(
    columns: Ints,
    gains: Ints,
    sign: float,
    counts: Ints,
    totals: Ints,
    prices: Floats,
    n_labels: int,
    share: float,
    subset: int,
) -> Any:
    """Tell what changes in a subset when a unit with these columns comes (sign 1) or goes (sign -1).

    Returns how many more labels (the first `n_labels` columns) it lacks, and how much more it costs: prices[c] / share
    for each occurrence of column c that it is away from its share of the column.
    """
    lack, change = 0, 0.0
    for at in range(len(columns)):
        column = columns[at]
        before = counts[column, subset]
        after = before + sign * gains[at]
        target = share * totals[column]
        change += prices[column] / share * (abs(after - target) - abs(before - target))
        if column < n_labels:
            lack += int(after == 0) - int(before == 0)
    return lack, change


class Repair(NamedTuple):
    """What a repair of the sizes works on.

    The features of each type (CSR), the type of each unit, the total and the price of each column, the number of
    columns that are labels, the units that may move; and what it changes: the subset of each unit, the features in each
    subset (columns x k), by how many units each subset is too large.
    """

    indptr: Ints
    indices: Ints
    data: Ints
    type_of_unit: Ints
    totals: Ints
    prices: Floats
    n_labels: int
    movable: Ints
    assignment: Ints
    counts: Ints
    excess: Ints


@lean
def repair_sizes(work: Repair, shares: Floats, candidates: int, members: Ints, limit: int, state: Ints) -> int:
    """Move units from subsets with too many to those with too few, each time the best of some candidates.

    The best leaves the fewest labels missing, and of those costs least (see `unit_change`). `members`, as long as there
    are units, is to work in. Returns the number of moves, at most `limit`.
    """
    indptr, indices, data, type_of_unit, totals, prices, n_labels, movable, assignment, counts, excess = work
    k = len(shares)
    moves = 0
    for source in range(k):
        if excess[source] <= 0:
            continue
        n_members = 0
        for unit in range(len(assignment)):
            if assignment[unit] == source and movable[unit]:
                members[n_members] = unit
                n_members += 1
        while excess[source] > 0:
            if moves == limit:
                return moves
            tries = min(candidates, n_members)
            least, cheapest, best_slot, best_target = 0, np.inf, -1, -1
            for attempt in range(tries):
                slot = attempt if tries == n_members else random_below(state, n_members)
                kind = type_of_unit[members[slot]]
                columns = indices[indptr[kind] : indptr[kind + 1]]
                gains = data[indptr[kind] : indptr[kind + 1]]
                lost, leaving = unit_change(
                    columns, gains, -1.0, counts, totals, prices, n_labels, shares[source], source
                )
                for target in range(k):
                    if excess[target] < 0:
                        won, coming = unit_change(
                            columns, gains, 1.0, counts, totals, prices, n_labels, shares[target], target
                        )
                        lack, cost = lost + won, leaving + coming
                        if best_slot < 0 or lack < least or (lack == least and cost < cheapest):
                            least, cheapest, best_slot, best_target = lack, cost, slot, target
            unit = members[best_slot]
            kind = type_of_unit[unit]
            for at in range(indptr[kind], indptr[kind + 1]):
                counts[indices[at], source] -= data[at]
                counts[indices[at], best_target] += data[at]
            assignment[unit] = best_target
            excess[source] -= 1
            excess[best_target] += 1
            n_members -= 1
            members[best_slot] = members[n_members]
            moves += 1
    return moves


@lean
def deal_uneven(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    types: Ints,
    sizes: Ints,
    totals: Ints,
    shares: Floats,
    counts: Ints,
    capacity: Ints,
    chosen: Ints,
) -> None:
    """Deal units of different sizes in the given order, each to the subset that lacks most of what it carries.

    What a subset lacks of a column is measured relative to its share of it, so rare columns count most, and at the
    middle of the unit: otherwise small subsets would be ahead of large ones, full before the small units come. A subset
    without capacity for the unit is passed over, unless there is none: then the unit goes where most capacity is. The
    subsets are written into `chosen`.
    """
    for at in range(len(types)):
        kind, size = types[at], sizes[at]
        best, most, widest = -1, 0.0, 0
        for j in range(len(shares)):
            if capacity[j] > capacity[widest]:
                widest = j
            if capacity[j] < size:
                continue
            desire = 0.0
            for i in range(indptr[kind], indptr[kind + 1]):
                column = indices[i]
                filled = (counts[column, j] + 0.5 * data[i]) / (shares[j] * totals[column])
                desire += data[i] / totals[column] * (1.0 - filled)
            if best < 0 or desire > most:
                best, most = j, desire
        if best < 0:
            best = widest
        chosen[at] = best
        capacity[best] -= size
        for i in range(indptr[kind], indptr[kind + 1]):
            counts[indices[i], best] += data[i]

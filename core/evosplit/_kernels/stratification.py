"""Iterative stratification: deal the rarest label (or label pair) first, then make the sizes exact.

Types of units carry *columns* (labels, label pairs). The columns wait in a queue that is sorted by the number
of their units still to be placed: `queue` lists the columns, `place` is the position of each one in it, and
`start[n]` the position of the first column with at least n units left. Taking one unit away moves a column
to the front of its equals; so this and finding the rarest column cost a few steps, however many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evosplit._kernels._jit import Floats, Ints, jit
from evosplit._kernels.rng import random_below

TIE = 1e-9  # desires closer than this are equal; they are sums of multiples of the subsets' shares


@jit
def _greatest(values: Ints) -> Any:
    """Return the greatest value, or 0; compiling this takes less time than `values.max()`."""
    greatest = 0
    for i in range(len(values)):
        greatest = max(greatest, values[i])
    return greatest


def build_queue(left: Ints) -> tuple[Ints, Ints, Ints]:
    """Sort the columns by the number of their units: (queue, place, start)."""
    queue = np.argsort(left, kind="stable")
    place = np.empty_like(queue)
    place[queue] = np.arange(len(queue))
    with_fewer = np.cumsum(np.bincount(left, minlength=int(left.max(initial=0)) + 2))
    return queue, place, np.concatenate(([0], with_fewer))


@jit
def take_one(column: int, left: Ints, queue: Ints, place: Ints, start: Ints) -> None:
    """Record that one unit less of a column is left."""
    front = start[left[column]]
    other = queue[front]
    queue[front], queue[place[column]] = column, other
    place[other], place[column] = place[column], front
    start[left[column]] += 1
    left[column] -= 1


@jit
def choose_rarest(left: Ints, queue: Ints, start: Ints, state: Ints) -> int:
    """Draw one of the columns with the fewest units left; -1 if no unit is left."""
    first = start[1]
    if first == len(queue):
        return -1
    equals = start[left[queue[first]] + 1] - first
    return int(queue[first + random_below(state, equals)])


@jit
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


@jit
def place_rarest(
    indptr: Ints,
    indices: Ints,
    column_indptr: Ints,
    column_types: Ints,
    totals: Ints,
    shares: Floats,
    by_the_rest: bool,
    table: Ints,
    copies_left: Ints,
    counts: Ints,
    capacity: Ints,
    left: Ints,
    queue: Ints,
    place: Ints,
    start: Ints,
    limit: int,
    state: Ints,
) -> int:
    """Deal the units of the rarest column, then of the rarest that is left, until `limit` units are placed.

    A unit goes to the subset that still wants most of the column. `by_the_rest` breaks ties by what the
    subsets still want of all the unit's columns and deals equal units one after the other; otherwise the
    order is random and ties are broken by the capacity that is left. Returns how many units were placed: 0 when
    no unit with a column is left.
    """
    k = len(shares)
    desire, rest = np.empty(k), np.zeros(k)
    waiting = np.empty(_greatest(left), dtype=np.int64)
    placed = 0
    while placed < limit:
        rarest = choose_rarest(left, queue, start, state)
        if rarest < 0:
            break
        n_waiting = 0
        for at in range(column_indptr[rarest], column_indptr[rarest + 1]):
            for _ in range(copies_left[column_types[at]]):
                waiting[n_waiting] = column_types[at]
                n_waiting += 1
        if not by_the_rest:
            for i in range(n_waiting - 1, 0, -1):
                other = random_below(state, i + 1)
                waiting[i], waiting[other] = waiting[other], waiting[i]
        for i in range(n_waiting):
            kind = waiting[i]
            for j in range(k):
                desire[j] = shares[j] * totals[rarest] - counts[rarest, j]
            if by_the_rest:
                most = desire[0]
                for j in range(1, k):
                    most = max(most, desire[j])
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


@jit
def fill_sizes(table: Ints, copies_left: Ints, capacity: Ints, state: Ints) -> None:
    """Deal all units that are left, in random order, each to the subset with the most capacity."""
    waiting = np.empty(copies_left.sum(), dtype=np.int64)
    n_waiting = 0
    for kind in range(len(copies_left)):
        for _ in range(copies_left[kind]):
            waiting[n_waiting] = kind
            n_waiting += 1
        copies_left[kind] = 0
    nothing = np.zeros(len(capacity))
    for i in range(n_waiting - 1, -1, -1):
        other = random_below(state, i + 1)
        chosen = choose_subset(nothing, nothing, capacity, state)
        table[waiting[other], chosen] += 1
        capacity[chosen] -= 1
        waiting[other] = waiting[i]


@jit
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


@jit
def repair_sizes(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    totals: Ints,
    prices: Floats,
    n_labels: int,
    sizes: Ints,
    movable: Ints,
    assignment: Ints,
    counts: Ints,
    candidates: int,
    state: Ints,
) -> int:
    """Move units from subsets with too many to those with too few, each time the best of some candidates.

    Only the units marked in `movable` move. The best leaves the fewest labels missing, and of those costs least (see
    `unit_change`). Changes `assignment` and `counts`
    (columns x k); returns the number of moves.
    """
    k = len(sizes)
    excess = np.empty(k, dtype=np.int64)
    for j in range(k):
        excess[j] = -sizes[j]
    for unit in range(len(assignment)):
        excess[assignment[unit]] += 1
    shares = sizes / len(assignment)
    members = np.empty(len(assignment), dtype=np.int64)
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


@jit
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
) -> Ints:
    """Deal units of different sizes in the given order, each to the subset that lacks most of what it carries.

    What a subset lacks of a column is measured relative to its share of it, so rare columns count most, and at the
    middle of the unit: otherwise small subsets would be ahead of large ones, full before the small units come. A subset
    without capacity for the unit is passed over, unless there is none: then the unit goes where most capacity is.
    """
    k = len(shares)
    chosen = np.empty(len(types), dtype=np.int32)
    for at in range(len(types)):
        kind, size = types[at], sizes[at]
        best, most = -1, 0.0
        for j in range(k):
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
            best = int(np.argmax(capacity))
        chosen[at] = best
        capacity[best] -= size
        for i in range(indptr[kind], indptr[kind + 1]):
            counts[indices[i], best] += data[i]
    return chosen

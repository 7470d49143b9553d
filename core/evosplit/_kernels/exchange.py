"""Exchange two units of different subsets: what it changes, and the searches that are made of it.

The cost of a split is a sum over cells, a cell being one feature column c in one subset j: the deviation of the odds,

    weight[c] * |x[c, j] / (T[b, j] - x[c, j]) - odds[c]|

x counts the feature in the subset. T is what the odds of the column's block b are taken against. For most blocks it is
given: the size that the subset is to have, or its share of all occurrences in the block, which the totals, columns like
any other, keep where they belong. So an exchange changes the cells of those columns alone in which the two units
differ. Only of a narrow block whose T is counted are all cells evaluated when T changes.

Sizes and missing labels come before the cost: a change is compared by (excess, lack, cost), in this order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from evosplit._kernels._jit import Floats, Ints, inner, lean
from evosplit._kernels.rng import random_below, random_bits

WEIGHT, ODDS, NEED, BLOCK = 0, 1, 2, 3  # the parameters of a column, in one row, so that a cell costs one cache line
TRIAL = 16  # what a trial costs beside the columns that it evaluates, in columns
NONE: Any = np.int64(-1)  # of a type, where a literal would have what it is passed to compiled once more


class Units(NamedTuple):
    """What is exchanged.

    `indptr`, `indices`, `data` are the features of each type of unit (CSR), `sums` what a unit of the type adds to the
    counted totals of each block, `sizes` its number of samples, `type_of` the type of each unit; units are ordered by
    their types, those of type t from `first_of[t]` on, and `occurring` lists the types that have any.
    """

    indptr: Ints
    indices: Ints
    data: Ints
    sums: Ints
    sizes: Ints
    type_of: Ints
    first_of: Ints
    occurring: Ints


class Cells(NamedTuple):
    """What a cell costs.

    `columns` has a row of parameters for each column; `spans` the first column, the end and the number of each block
    whose totals are counted. `most` is the largest need of any column.
    """

    columns: Floats
    spans: Ints
    most: int


class State(NamedTuple):
    """Where the units are, and what follows from it.

    `unit_at` lists the units by subset, subset j from `starts[j]` on; `slot_of` is the place of each unit there.
    `counts` (columns x k) counts the features, `totals` (blocks x k) is what odds are taken against, `excess` by how
    many samples each subset is too large, `gains` an array of zeros, one for each column.
    """

    unit_at: Ints
    slot_of: Ints
    starts: Ints
    counts: Ints
    totals: Floats
    excess: Ints
    gains: Ints


class Order(NamedTuple):
    """Types in an order in which similar ones are neighbours, and the rank of each type in it."""

    neighbours: Ints
    rank: Ints


@inner
def deviation(x: float, whole: float, odds: float) -> Any:
    """Return how far the odds of x in a whole are from those wanted; a zero denominator counts as 1."""
    return abs(x / max(whole - x, 1.0) - odds)


@inner
def shortage(need: int, x: Any, most: int) -> Any:
    """Return how badly a label is lacking that has x samples of those needed: see `SplitProblem.shortage`."""
    missing = (need - x) * most // need if need > x else 0
    return missing * missing


@inner
def exchange_change(
    units: Units, cells: Cells, state: State, first: int, second: int, a: int, b: int
) -> tuple[int, int, float, int]:
    """Return what changes when a unit of type `first` in subset a and one of type `second` in b change places.

    That is: by how many samples sizes are off, how badly labels are lacking, the cost, and how many columns were
    evaluated.
    """
    columns, counts, totals, gains = cells.columns, state.counts, state.totals, state.gains
    excess = 0
    move = units.sizes[second] - units.sizes[first]
    if move != 0:
        before = abs(state.excess[a]) + abs(state.excess[b])
        excess = abs(state.excess[a] + move) + abs(state.excess[b] - move) - before
    lack, change, evaluated = 0, 0.0, 0
    counted = len(cells.spans)
    i, i_stop = units.indptr[first], units.indptr[first + 1]
    j, j_stop = units.indptr[second], units.indptr[second + 1]
    while i < i_stop or j < j_stop:
        if j == j_stop or (i < i_stop and units.indices[i] < units.indices[j]):
            column, gain = units.indices[i], -units.data[i]
            i += 1
        elif i == i_stop or units.indices[j] < units.indices[i]:
            column, gain = units.indices[j], units.data[j]
            j += 1
        else:
            column, gain = units.indices[i], units.data[j] - units.data[i]
            i += 1
            j += 1
            if gain == 0:
                continue
        evaluated += 1
        x_a, x_b = counts[column, a], counts[column, b]
        need = int(columns[column, NEED])
        if need > 0:
            lack += shortage(need, x_a + gain, cells.most) - shortage(need, x_a, cells.most)
            lack += shortage(need, x_b - gain, cells.most) - shortage(need, x_b, cells.most)
        block = int(columns[column, BLOCK])
        if block < 0:
            gains[column] = gain
            continue
        weight, odds = columns[column, WEIGHT], columns[column, ODDS]
        whole_a, whole_b = totals[block, a], totals[block, b]
        after = deviation(float(x_a + gain), whole_a, odds) + deviation(float(x_b - gain), whole_b, odds)
        change += weight * (after - deviation(float(x_a), whole_a, odds) - deviation(float(x_b), whole_b, odds))
    for at in range(counted):
        start, stop, block = cells.spans[at]
        shift = float(units.sums[second, block] - units.sums[first, block])
        whole_a, whole_b = totals[block, a], totals[block, b]
        evaluated += stop - start
        for column in range(start, stop):
            gain = gains[column]
            if gain == 0 and shift == 0.0:
                continue
            gains[column] = 0
            x_a, x_b, odds = counts[column, a], counts[column, b], columns[column, ODDS]
            after = deviation(float(x_a + gain), whole_a + shift, odds) + deviation(
                float(x_b - gain), whole_b - shift, odds
            )
            change += columns[column, WEIGHT] * (
                after - deviation(float(x_a), whole_a, odds) - deviation(float(x_b), whole_b, odds)
            )
    return excess, lack, change, evaluated


@inner
def exchange(units: Units, cells: Cells, state: State, slot_a: int, slot_b: int, a: int, b: int) -> None:
    """Let the units in two slots, of subsets a and b, change places."""
    indptr, indices, data, counts, totals = units.indptr, units.indices, units.data, state.counts, state.totals
    unit_a, unit_b = state.unit_at[slot_a], state.unit_at[slot_b]
    state.unit_at[slot_a], state.unit_at[slot_b] = unit_b, unit_a
    state.slot_of[unit_a], state.slot_of[unit_b] = slot_b, slot_a
    kind, source, target = units.type_of[unit_a], a, b
    for _ in range(2):
        for at in range(indptr[kind], indptr[kind + 1]):
            counts[indices[at], source] -= data[at]
            counts[indices[at], target] += data[at]
        for at in range(len(cells.spans)):
            block = cells.spans[at, 2]
            totals[block, source] -= units.sums[kind, block]
            totals[block, target] += units.sums[kind, block]
        state.excess[source] -= units.sizes[kind]
        state.excess[target] += units.sizes[kind]
        kind, source, target = units.type_of[unit_b], b, a


@inner
def subset_of_slot(starts: Ints, slot: Any) -> Any:
    """Return the subset that a slot belongs to."""
    j = 0
    while starts[j + 1] <= slot:
        j += 1
    return j


@inner
def random_slot(units: Units, state: State, kind: int, rng: Ints) -> Any:
    """Draw a unit of a type, and return its slot."""
    first = units.first_of[kind]
    return np.int64(state.slot_of[first + random_below(rng, units.first_of[kind + 1] - first)])


@inner
def propose(units: Units, state: State, order: Order, reach: int, rng: Ints) -> tuple[int, int, int, int]:
    """Propose two slots of different subsets: (slot, slot, subset, subset), or a negative slot if there is none.

    Every second time the first unit is one of a random subset, so that small subsets have their turn, else one of a
    random type, so that the units which are few of their kind have theirs.
    One partner in sixteen is drawn from anywhere, the others are of one of the `reach` next types in the order, where
    similar ones lie side by side: exchanging them settles a few cells without disturbing the rest.
    """
    starts = state.starts
    k = len(starts) - 1
    bits = random_bits(rng)
    if bits & np.uint64(1 << 50):
        a = random_below(rng, k)
        if starts[a] == starts[a + 1]:
            return -1, -1, 0, 0
        slot_a = starts[a] + random_below(rng, starts[a + 1] - starts[a])
    else:
        slot_a = random_slot(units, state, units.occurring[random_below(rng, len(units.occurring))], rng)
        a = subset_of_slot(starts, slot_a)
    if bits & np.uint64(15 << 40):
        step = 1 + random_below(rng, 2 * reach)
        at = order.rank[units.type_of[state.unit_at[slot_a]]] + (step if step <= reach else reach - step)
        if at < 0 or at >= len(order.neighbours):
            return -1, -1, 0, 0
        slot_b = random_slot(units, state, order.neighbours[at], rng)
        b = subset_of_slot(starts, slot_b)
        if b == a:
            return -1, -1, 0, 0
        return slot_a, slot_b, a, b
    b = random_below(rng, k - 1)
    b += b >= a
    if starts[b] == starts[b + 1]:
        return -1, -1, 0, 0
    return slot_a, starts[b] + random_below(rng, starts[b + 1] - starts[b]), a, b


@lean
def search(
    units: Units,
    cells: Cells,
    state: State,
    order: Order,
    reach: int,
    work: int,
    temperature: float,
    quantiles: Floats,
    strict: bool,
    missing: float,
    losses: Floats,
    rng: Ints,
) -> tuple[int, int]:
    """Try exchanges at one temperature until `work` columns are evaluated; return how many were, and how many made.

    A label that is lacking costs `missing` times its shortage. An exchange that raises the cost is made if it does so
    by no more than a draw from the exponential distribution, given by its quantiles, with the temperature as its mean.
    With `strict`, sizes and then missing labels come first: an exchange that mends them is made, one that harms them is
    not.
    Where `losses` has elements, no exchange is made: they are filled with what exchanges would cost, as far as work
    allows, and how many are filled is returned instead.
    """
    type_of, unit_at = units.type_of, state.unit_at
    done, made, wanted = 0, 0, len(losses)
    while done < work and (wanted == 0 or made < wanted):
        done += TRIAL
        slot_a, slot_b, a, b = propose(units, state, order, reach, rng)
        if slot_a < 0:
            continue
        first, second = type_of[unit_at[slot_a]], type_of[unit_at[slot_b]]
        if first == second:
            continue
        excess, lack, change, evaluated = exchange_change(units, cells, state, first, second, a, b)
        done += evaluated
        if wanted > 0:
            if change > 0.0:
                losses[made] = change
                made += 1
            continue
        change += missing * lack
        if strict and excess != 0:
            accepted = excess < 0
        elif strict and lack != 0:
            accepted = lack < 0
        else:
            accepted = change <= 0.0 or change < temperature * quantiles[random_bits(rng) >> np.uint64(54)]
        if accepted:
            made += 1
            exchange(units, cells, state, slot_a, slot_b, a, b)
    return done, made


@inner
def _move_change(cells: Cells, state: State, column: int, a: int, b: int) -> tuple[int, float]:
    """Return what changes in one column alone when one unit that carries it goes from subset a to subset b."""
    row = cells.columns[column]
    x_a, x_b = state.counts[column, a], state.counts[column, b]
    need = int(row[NEED])
    lack = shortage(need, x_a - 1, cells.most) - shortage(need, x_a, cells.most)
    lack += shortage(need, x_b + 1, cells.most) - shortage(need, x_b, cells.most)
    block = int(row[BLOCK])
    if block < 0:
        block = -1 - block
    whole_a, whole_b, odds = state.totals[block, a], state.totals[block, b], row[ODDS]
    after = deviation(float(x_a - 1), whole_a, odds) + deviation(float(x_b + 1), whole_b, odds)
    return lack, row[WEIGHT] * (after - deviation(float(x_a), whole_a, odds) - deviation(float(x_b), whole_b, odds))


@lean
def mend(
    units: Units,
    cells: Cells,
    state: State,
    order: Order,
    reach: int,
    carrier_starts: Ints,
    carriers: Ints,
    label_columns: int,
    only_missing: bool,
    work: int,
    rng: Ints,
) -> tuple[int, int]:
    """Go through the label columns once and mend each by exchanges that aim at it: (columns evaluated, exchanges made).

    For a column, the two subsets are taken between which moving one count helps most; units that carry the label in
    one are matched with units of the other, similar ones or random ones (for instances, random ones that carry the
    label too), and the best exchange is made if it lowers the cost and keeps sizes and labels. `carriers` lists the
    units with each label. At most `work` columns are evaluated, about as many for each column that is mended.
    """
    k = len(state.starts) - 1
    n_labels = len(carrier_starts) - 1
    done, made = 0, 0
    shift = random_below(rng, max(label_columns, 1))
    for turn in range(label_columns):
        if done >= work:
            break
        column = (turn + shift) % label_columns
        label = column % n_labels
        first_carrier, n_carriers = carrier_starts[label], carrier_starts[label + 1] - carrier_starts[label]
        if n_carriers == 0:
            continue
        for _ in range(2 * k):
            a, b, least_lack, least = NONE, NONE, 0, -1e-12
            for source in range(k):
                if state.counts[column, source] == 0:
                    continue
                for target in range(k):
                    if target != source and state.starts[target] < state.starts[target + 1]:
                        lack, change = _move_change(cells, state, column, source, target)
                        if lack < least_lack or (lack == least_lack and change < least):
                            a, b, least_lack, least = source, target, lack, change
            if a < 0 or (only_missing and least_lack == 0):
                break
            best_lack, best, best_a, best_b = 0, -1e-12, NONE, NONE
            offset = random_below(rng, n_carriers)
            allowed = done + max(4 * work // max(label_columns, 1), 32 * TRIAL)
            for step in range(n_carriers):
                unit_a = carriers[first_carrier + (offset + step) % n_carriers]
                slot_a = state.slot_of[unit_a]
                if slot_a < state.starts[a] or slot_a >= state.starts[a + 1]:
                    continue
                first = units.type_of[unit_a]
                for attempt in range(3 * reach):
                    done += 1
                    if attempt < 2 * reach:
                        at = order.rank[first] + (attempt // 2 + 1 if attempt & 1 else -(attempt // 2 + 1))
                        if at < 0 or at >= len(order.neighbours):
                            continue
                        slot_b = random_slot(units, state, order.neighbours[at], rng)
                        if slot_b < state.starts[b] or slot_b >= state.starts[b + 1]:
                            continue
                    elif column < n_labels:
                        slot_b = state.starts[b] + random_below(rng, state.starts[b + 1] - state.starts[b])
                    else:  # of its instances: it may have them too, and another number
                        slot_b = np.int64(state.slot_of[carriers[first_carrier + random_below(rng, n_carriers)]])
                        if slot_b < state.starts[b] or slot_b >= state.starts[b + 1]:
                            continue
                    second = units.type_of[state.unit_at[slot_b]]
                    if first == second:
                        continue
                    excess, lack, change, evaluated = exchange_change(units, cells, state, first, second, a, b)
                    done += TRIAL + evaluated
                    if excess <= 0 and (lack < best_lack or (lack == best_lack and change < best)):
                        best_lack, best, best_a, best_b = lack, change, slot_a, slot_b
                    if best_a >= 0 and best_lack <= least_lack and best <= 0.5 * least:
                        break  # half of what moving the label alone would bring: good enough
                if done >= allowed or (best_a >= 0 and best_lack <= least_lack and best <= 0.5 * least):
                    break
            if best_a < 0:
                break
            made += 1
            exchange(units, cells, state, best_a, best_b, a, b)
    return done, made


def similarity_keys(rows: sp.csr_array, rank: Ints) -> Ints:
    """Pack the first labels of each row, by rank, into one integer: rows that sort side by side are alike.

    Only the columns below len(rank) are labels. Labels come in the order of their rank, as many as 63 bits hold.
    """
    n_labels = len(rank)
    labels = rows[:, :n_labels]
    ranked = sp.csr_array((labels.data, rank.astype(np.int32)[labels.indices], labels.indptr), shape=labels.shape)
    ranked.sort_indices()
    lengths, bits = np.diff(ranked.indptr), n_labels.bit_length() or 1
    keys = np.zeros(rows.shape[0], dtype=np.int64)
    for place in range(min(63 // bits, int(lengths.max(initial=0)))):
        keys <<= bits
        there = np.flatnonzero(lengths > place)
        value = np.full(len(keys), n_labels, dtype=np.int64)
        value[there] = ranked.indices[ranked.indptr[there] + place]
        keys |= value
    return keys


def carriers_of_labels(rows: sp.csr_array, type_of: Ints, n_labels: int) -> tuple[Ints, Ints]:
    """List the units that carry each label, by the labels of each type: (start of each list, units)."""
    labels = sp.csr_array(rows[:, :n_labels])
    labels.data = np.ones(labels.nnz, dtype=np.int8)  # what matters is where they are, and units are many
    by_label = sp.csc_array(labels[type_of])
    return by_label.indptr.astype(np.int64), by_label.indices.astype(np.int32)

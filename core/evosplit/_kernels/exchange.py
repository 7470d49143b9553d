"""The search of the default engine: exchange two units between two subsets, keep what helps.

The cost of a split is a sum over cells, a cell being one feature column c in one subset j:

    weight[c] * scale[j] * |x[c, j] - share[c] * T[b, j]|  +  penalty * max(0, need[c] - x[c, j])

x counts the feature in the subset; T[b, j] is what its odds are taken against in its block b (the samples of the
subset, or all occurrences in the block). So the first term is the deviation of the odds (Eq. 1 - 3), linearised, and
the second one asks for at least `need` units with a label everywhere. An exchange changes the cells of the columns in
which the two units differ and, through T, slightly every other cell of a block: the latter enters by a parabola fitted
to it (`model_totals`). Where there are few columns the odds themselves are evaluated instead (`search_exact`).

`columns` holds the parameters of each feature column in one row, so that a cell costs one cache line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evosplit._kernels._jit import Floats, Ints, jit, jit_sums

WEIGHT, SHARE, NEED, BLOCK = 0, 1, 2, 3
ODDS = 1  # in `search_exact` the odds stand in place of the share
MIN_EVALUATIONS = 32  # exchanges that `settle` evaluates at least for a column before it gives up
RANDOM_PARTNERS = 8  # partners from anywhere that `settle` tries beside the similar ones
REFRESH = 256  # accepted exchanges between two fits of the model of the totals, at least
REFRESH_COLUMNS = 16  # and as many as there are columns, over this number
NOT_ZERO = 1e-300  # added to a divisor that may be 0
NONE: Any = np.int64(-1)  # of a type, where a literal would have what it is passed to compiled once more


@jit
def random_bits(state: Ints) -> Any:
    """Draw 64 random bits (xorshift64*) from a state that is advanced in place."""
    bits = state[0]
    bits ^= bits >> np.uint64(12)
    bits ^= bits << np.uint64(25)
    bits ^= bits >> np.uint64(27)
    state[0] = bits
    return bits * np.uint64(2685821657736338717)


@jit
def random_below(state: Ints, bound: int) -> Any:
    """Draw an integer in [0, bound), bound < 2**32."""
    return np.int64(((random_bits(state) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@jit
def uphill(state: Ints, temperature: float) -> Any:
    """Draw the cost increase up to which an exchange is accepted at this temperature."""
    if temperature <= 0.0:
        return 0.0
    return -temperature * np.log((np.float64(random_bits(state) >> np.uint64(11)) + 1.0) * 2.0**-53)


@jit
def model_totals(columns: Floats, scale: Floats, counts: Ints, totals: Ints, spread: Floats, model: Floats) -> None:
    """Fit, for each block and subset, a parabola to the cost as a function of the block's total, counts fixed.

    model[block, j] holds the total now, and the linear and quadratic coefficients of the change from there; they
    agree with the cost at `spread` above and below. Odds are taken against the total, so a larger one makes every
    error of the block cheaper; otherwise units that carry little would look cheap wherever they go.
    """
    n_blocks, k = totals.shape
    at = np.zeros((3, n_blocks, k))
    for column in range(len(columns)):
        block, share = int(columns[column, BLOCK]), columns[column, SHARE]
        step = share * spread[block]
        for j in range(k):
            error = counts[column, j] - share * totals[block, j]
            price = columns[column, WEIGHT] * scale[j]
            at[0, block, j] += price * abs(error + step)
            at[1, block, j] += price * abs(error)
            at[2, block, j] += price * abs(error - step)
    for block in range(n_blocks):
        for j in range(k):
            if totals[block, j] > 2 * spread[block]:
                at[0, block, j] *= totals[block, j] / (totals[block, j] - spread[block])
                at[2, block, j] *= totals[block, j] / (totals[block, j] + spread[block])
            model[block, j, 0] = totals[block, j]
            model[block, j, 1] = (at[2, block, j] - at[0, block, j]) / (2 * spread[block])
            curvature = at[0, block, j] + at[2, block, j] - 2 * at[1, block, j]
            model[block, j, 2] = curvature / (2 * spread[block] ** 2)


@jit
def _error_change(error: float, gain: int, shift: float) -> Any:
    """Change of |error| when the count grows by `gain` and the target by `shift`.

    The model of the totals counts the cell as if it felt the shift alone: the last term takes that back.
    """
    return abs(error + gain - shift) - abs(error) + np.copysign(1.0, error) * shift  # no branch: it would stall


@jit
def _lack_change(x: int, gain: float, need: float) -> float:
    """Change of what is missing to `need` when the count grows by `gain`."""
    return max(0.0, need - x - gain) - max(0.0, need - x)


@jit
def exchange_change(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    block_sums: Ints,
    columns: Floats,
    scale: Floats,
    penalty: float,
    counts: Ints,
    totals: Ints,
    model: Floats,
    moved: Floats,
    first: int,
    second: int,
    a: int,
    b: int,
) -> float:
    """Cost change when a unit of type `first` in subset a and one of type `second` in subset b change places."""
    change = 0.0
    for block in range(block_sums.shape[1]):
        move = float(block_sums[second, block] - block_sums[first, block])
        moved[block] = move
        if move != 0:
            drift_a = totals[block, a] - model[block, a, 0]
            drift_b = totals[block, b] - model[block, b, 0]
            change += move * (model[block, a, 1] + model[block, a, 2] * (2 * drift_a + move))
            change -= move * (model[block, b, 1] + model[block, b, 2] * (2 * drift_b - move))
    i, i_stop = indptr[first], indptr[first + 1]
    j, j_stop = indptr[second], indptr[second + 1]
    scale_a, scale_b = scale[a], scale[b]
    while i < i_stop or j < j_stop:
        if j == j_stop or (i < i_stop and indices[i] < indices[j]):
            column, gain = indices[i], -data[i]
            i += 1
        elif i == i_stop or indices[j] < indices[i]:
            column, gain = indices[j], data[j]
            j += 1
        else:
            column, gain = indices[i], data[j] - data[i]
            i += 1
            j += 1
            if gain == 0:
                continue
        weight, share, need = columns[column, WEIGHT], columns[column, SHARE], columns[column, NEED]
        block = int(columns[column, BLOCK])
        shift = share * moved[block]
        error_a = counts[column, a] - share * totals[block, a]
        error_b = counts[column, b] - share * totals[block, b]
        change += weight * scale_a * _error_change(error_a, gain, shift)
        change += weight * scale_b * _error_change(error_b, -gain, -shift)
        if need > 0:
            change += penalty * _lack_change(counts[column, a], gain, need)
            change += penalty * _lack_change(counts[column, b], -gain, need)
    return change


@jit
def move_features(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    block_sums: Ints,
    counts: Ints,
    totals: Ints,
    kind: int,
    source: int,
    target: int,
) -> None:
    """Move the features of one unit of a type from subset `source` to subset `target`."""
    for at in range(indptr[kind], indptr[kind + 1]):
        counts[indices[at], source] -= data[at]
        counts[indices[at], target] += data[at]
    for block in range(block_sums.shape[1]):
        totals[block, source] -= block_sums[kind, block]
        totals[block, target] += block_sums[kind, block]


@jit
def draw_exchange(
    unit_at: Ints, slot_of: Ints, starts: Ints, neighbours: Ints, rank: Ints, reach: int, state: Ints
) -> tuple[int, int, int, int]:
    """Propose two slots of different subsets: (slot, slot, subset, subset), or a negative slot if there is none.

    Every second partner is drawn at random, the others from the `reach` next units in the order `neighbours`, where
    similar units lie side by side: exchanging them settles a few cells without disturbing the rest.
    """
    k = len(starts) - 1
    a = random_below(state, k)
    if starts[a] == starts[a + 1]:
        return -1, -1, 0, 0
    slot_a = starts[a] + random_below(state, starts[a + 1] - starts[a])
    if reach > 0 and random_bits(state) & np.uint64(15 << 40):
        step = 1 + random_below(state, 2 * reach)
        at = rank[unit_at[slot_a]] + (step if step <= reach else reach - step)
        if at < 0 or at >= len(neighbours):
            return -1, -1, 0, 0
        slot_b = slot_of[neighbours[at]]
        b = 0
        while starts[b + 1] <= slot_b:
            b += 1
        if b == a:
            return -1, -1, 0, 0
        return slot_a, slot_b, a, b
    b = random_below(state, k - 1)
    b += b >= a
    if starts[b] == starts[b + 1]:
        return -1, -1, 0, 0
    return slot_a, starts[b] + random_below(state, starts[b + 1] - starts[b]), a, b


@jit
def search(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    block_sums: Ints,
    type_of: Ints,
    columns: Floats,
    scale: Floats,
    penalty: float,
    spread: Floats,
    unit_at: Ints,
    slot_of: Ints,
    starts: Ints,
    counts: Ints,
    totals: Ints,
    neighbours: Ints,
    rank: Ints,
    reach: int,
    trials: int,
    hot: float,
    cold: float,
    state: Ints,
) -> int:
    """Try exchanges while the temperature falls from hot to cold; return how many were made."""
    model = np.zeros((*totals.shape, 3))
    moved = np.zeros(len(totals))
    model_totals(columns, scale, counts, totals, spread, model)
    refresh = max(REFRESH, len(columns) // REFRESH_COLUMNS)
    accepted = 0
    temperature = hot
    cooling = (cold / hot) ** (256.0 / max(trials, 256)) if hot > 0 and cold > 0 else 1.0
    for trial in range(trials):
        if trial & 255 == 255:
            temperature *= cooling
        slot_a, slot_b, a, b = draw_exchange(unit_at, slot_of, starts, neighbours, rank, reach, state)
        if slot_a < 0:
            continue
        unit_a, unit_b = unit_at[slot_a], unit_at[slot_b]
        first, second = type_of[unit_a], type_of[unit_b]
        if first == second:
            continue
        change = exchange_change(
            indptr,
            indices,
            data,
            block_sums,
            columns,
            scale,
            penalty,
            counts,
            totals,
            model,
            moved,
            first,
            second,
            a,
            b,
        )
        if change <= 0 or change < uphill(state, temperature):
            accepted += 1
            unit_at[slot_a], unit_at[slot_b] = unit_b, unit_a
            slot_of[unit_a], slot_of[unit_b] = slot_b, slot_a
            move_features(indptr, indices, data, block_sums, counts, totals, first, a, b)
            move_features(indptr, indices, data, block_sums, counts, totals, second, b, a)
            if accepted % refresh == 0:
                model_totals(columns, scale, counts, totals, spread, model)
    return accepted


def column_runs(columns: Floats) -> Ints:
    """List the stretches of columns that share a block: (start, stop, block)."""
    block = columns[:, BLOCK].astype(np.int64)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    stops = np.append(starts[1:], len(block))[: len(starts)]
    return np.stack((starts, stops, block[starts]), axis=1)


@jit_sums
def _odds_cost(weights: Floats, odds: Floats, smooth: float, counts: Floats, total: float) -> float:
    """Weighted deviation of the odds of a run of columns in one subset."""
    cost = 0.0
    for column in range(len(weights)):
        rest = max(total - counts[column], 1.0)
        error = abs(counts[column] - odds[column] * rest)  # the deviation times the rest: one division is enough
        cost += weights[column] * error * error / (rest * (error + smooth * odds[column] * rest) + NOT_ZERO)
    return cost


@jit
def exact_cost(
    columns: Floats, runs: Ints, penalty: float, smooth: float, counts: Floats, totals: Floats, j: int
) -> float:
    """Cost of subset j with the odds themselves; the arrays have the subset first, or one row per parameter.

    A deviation of the odds that is small beside the part `smooth` of them counts by its square, a large one as it is.
    """
    cost = 0.0
    for run in range(len(runs)):
        start, stop, block = runs[run]
        cost += _odds_cost(
            columns[WEIGHT, start:stop], columns[ODDS, start:stop], smooth, counts[j, start:stop], totals[j, block]
        )
    lack = 0.0
    for column in range(columns.shape[1]):
        lack += max(0.0, columns[NEED, column] - counts[j, column])
    return cost + penalty * lack


def search_exact(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    block_sums: Ints,
    type_of: Ints,
    columns: Floats,
    scale: Floats,
    penalty: float,
    spread: Floats,
    unit_at: Ints,
    slot_of: Ints,
    starts: Ints,
    counts: Ints,
    totals: Ints,
    neighbours: Ints,
    rank: Ints,
    reach: int,
    trials: int,
    hot: float,
    cold: float,
    state: Ints,
    smooth: float,
) -> int:
    """Do what `search` does with the odds themselves: every trial evaluates all columns of the two subsets."""
    # Prepared here, because compiling such conversions takes longer than running them.
    by_subset = np.ascontiguousarray(counts.T, dtype=np.float64)
    totals_by_subset = np.ascontiguousarray(totals.T, dtype=np.float64)
    accepted = _search_exact(
        indptr, indices, data, block_sums, type_of, np.ascontiguousarray(columns.T), column_runs(columns), penalty,
        smooth, unit_at, slot_of, starts, by_subset, totals_by_subset, neighbours, rank, reach, trials, hot, cold,
        state,
    )  # fmt: skip
    counts[:] = by_subset.T
    totals[:] = totals_by_subset.T
    return int(accepted)


@jit
def _search_exact(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    block_sums: Ints,
    type_of: Ints,
    parameters: Floats,
    runs: Ints,
    penalty: float,
    smooth: float,
    unit_at: Ints,
    slot_of: Ints,
    starts: Ints,
    by_subset: Floats,
    totals_by_subset: Floats,
    neighbours: Ints,
    rank: Ints,
    reach: int,
    trials: int,
    hot: float,
    cold: float,
    state: Ints,
) -> int:
    accepted = 0
    temperature = hot
    cooling = (cold / hot) ** (256.0 / max(trials, 256)) if hot > 0 and cold > 0 else 1.0
    cost = np.empty(len(starts) - 1)
    for j in range(len(cost)):
        cost[j] = exact_cost(parameters, runs, penalty, smooth, by_subset, totals_by_subset, j)
    for trial in range(trials):
        if trial & 255 == 255:
            temperature *= cooling
        slot_a, slot_b, a, b = draw_exchange(unit_at, slot_of, starts, neighbours, rank, reach, state)
        if slot_a < 0:
            continue
        unit_a, unit_b = unit_at[slot_a], unit_at[slot_b]
        first, second = type_of[unit_a], type_of[unit_b]
        if first == second:
            continue
        move_features(indptr, indices, data, block_sums, by_subset.T, totals_by_subset.T, first, a, b)
        move_features(indptr, indices, data, block_sums, by_subset.T, totals_by_subset.T, second, b, a)
        cost_a = exact_cost(parameters, runs, penalty, smooth, by_subset, totals_by_subset, a)
        cost_b = exact_cost(parameters, runs, penalty, smooth, by_subset, totals_by_subset, b)
        change = cost_a + cost_b - cost[a] - cost[b]
        if change <= 0 or change < uphill(state, temperature):
            accepted += 1
            unit_at[slot_a], unit_at[slot_b] = unit_b, unit_a
            slot_of[unit_a], slot_of[unit_b] = slot_b, slot_a
            cost[a], cost[b] = cost_a, cost_b
        else:
            move_features(indptr, indices, data, block_sums, by_subset.T, totals_by_subset.T, first, b, a)
            move_features(indptr, indices, data, block_sums, by_subset.T, totals_by_subset.T, second, a, b)
    return accepted


@jit
def similarity_keys(indptr: Ints, indices: Ints, rank: Ints) -> Ints:
    """Pack the first labels of each row, by rank, into one integer: rows that sort side by side are alike.

    Only the columns below len(rank) are labels. Labels come in the order of their rank, as many as 63 bits hold.
    """
    n_labels = len(rank)
    bits = 1
    while (1 << bits) < n_labels + 1:
        bits += 1
    places = max(1, 63 // bits)
    keys = np.zeros(len(indptr) - 1, dtype=np.int64)
    first = np.empty(places, dtype=np.int64)
    for row in range(len(indptr) - 1):
        found = 0
        for at in range(indptr[row], indptr[row + 1]):
            if indices[at] >= n_labels:
                break
            value = rank[indices[at]]
            if found == places and value >= first[places - 1]:
                continue
            place = found if found < places else places - 1
            while place > 0 and first[place - 1] > value:
                first[place] = first[place - 1]
                place -= 1
            first[place] = value
            found = min(found + 1, places)
        key = np.int64(0)
        for place in range(places):
            key = (key << bits) | (first[place] if place < found else n_labels)
        keys[row] = key
    return keys


@jit
def _move_change(
    columns: Floats, scale: Floats, penalty: float, counts: Ints, totals: Ints, column: int, a: int, b: int
) -> Any:
    """Cost change of one column alone when one unit that carries it goes from subset a to subset b."""
    weight, share, need = columns[column, WEIGHT], columns[column, SHARE], columns[column, NEED]
    block = int(columns[column, BLOCK])
    error_a = counts[column, a] - share * totals[block, a]
    error_b = counts[column, b] - share * totals[block, b]
    change = weight * (scale[a] * (abs(error_a - 1) - abs(error_a)) + scale[b] * (abs(error_b + 1) - abs(error_b)))
    if need > 0:
        change += penalty * (_lack_change(counts[column, a], -1.0, need) + _lack_change(counts[column, b], 1.0, need))
    return change


@jit
def settle(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    block_sums: Ints,
    type_of: Ints,
    columns: Floats,
    scale: Floats,
    penalty: float,
    spread: Floats,
    unit_at: Ints,
    slot_of: Ints,
    starts: Ints,
    counts: Ints,
    totals: Ints,
    neighbours: Ints,
    rank: Ints,
    carrier_starts: Ints,
    carriers: Ints,
    label_columns: int,
    reach: int,
    threshold: float,
    budget: int,
    state: Ints,
) -> int:
    """Go through the label columns once and mend each by exchanges that aim at it; return how many were made.

    For a column, the pair of subsets is taken between which moving one count helps most, and by more than `threshold`;
    some units that carry the label there are matched with units of the other subset, similar ones or random ones, and
    the best exchange is made if it lowers the cost. `carriers` lists the units with each label; the first
    `label_columns` columns are about labels (images, then instances if they differ). At most `budget` exchanges are
    evaluated, as many for each column.
    """
    k = len(starts) - 1
    model = np.zeros((*totals.shape, 3))
    moved = np.zeros(len(totals))
    model_totals(columns, scale, counts, totals, spread, model)
    subset_of = np.empty(len(unit_at), dtype=np.int32)
    for j in range(k):
        for slot in range(starts[j], starts[j + 1]):
            subset_of[unit_at[slot]] = j
    made = 0
    n_labels = len(carrier_starts) - 1
    per_column = max(MIN_EVALUATIONS, budget // max(2 * label_columns, 1))
    evaluated = 0
    shift = random_below(state, max(label_columns, 1))
    for turn in range(label_columns):
        if evaluated >= budget:
            break
        column = (turn + shift) % label_columns
        label = column % n_labels
        first_carrier, n_carriers = carrier_starts[label], carrier_starts[label + 1] - carrier_starts[label]
        if n_carriers == 0:
            continue
        for _ in range(2 * k):
            a, b, gain = NONE, NONE, -threshold
            for source in range(k):
                if counts[column, source] == 0:
                    continue
                for target in range(k):
                    if target != source and starts[target] < starts[target + 1]:
                        change = _move_change(columns, scale, penalty, counts, totals, column, source, target)
                        if change < gain:
                            a, b, gain = source, target, change
            if a < 0:
                break
            best, best_a, best_b = -1e-12, NONE, NONE
            offset = random_below(state, n_carriers)
            allowed = evaluated + per_column
            for step in range(n_carriers):
                unit_a = carriers[first_carrier + (offset + step) % n_carriers]
                if subset_of[unit_a] != a:
                    continue
                first = type_of[unit_a]
                for attempt in range(2 * reach + RANDOM_PARTNERS):
                    if attempt < 2 * reach:
                        at = rank[unit_a] + (attempt // 2 + 1 if attempt & 1 else -(attempt // 2 + 1))
                        if at < 0 or at >= len(neighbours):
                            continue
                        unit_b = neighbours[at]
                        if subset_of[unit_b] != b:
                            continue
                    else:
                        unit_b = unit_at[starts[b] + random_below(state, starts[b + 1] - starts[b])]
                    second = type_of[unit_b]
                    if first == second:
                        continue
                    evaluated += 1
                    change = exchange_change(
                        indptr, indices, data, block_sums, columns, scale, penalty, counts, totals, model, moved,
                        first, second, a, b,
                    )  # fmt: skip
                    if change < best:
                        best, best_a, best_b = change, unit_a, unit_b
                if evaluated >= allowed:
                    break
            if best_a < 0:
                break
            made += 1
            slot_a, slot_b = slot_of[best_a], slot_of[best_b]
            unit_at[slot_a], unit_at[slot_b] = best_b, best_a
            slot_of[best_a], slot_of[best_b] = slot_b, slot_a
            subset_of[best_a], subset_of[best_b] = b, a
            move_features(indptr, indices, data, block_sums, counts, totals, type_of[best_a], a, b)
            move_features(indptr, indices, data, block_sums, counts, totals, type_of[best_b], b, a)
            if made % REFRESH == 0:
                model_totals(columns, scale, counts, totals, spread, model)
    return made


@jit
def carriers_of_labels(indptr: Ints, indices: Ints, type_of: Ints, n_labels: int) -> tuple[Ints, Ints]:
    """List the units that carry each label: (start of each list, units)."""
    starts = np.zeros(n_labels + 1, dtype=np.int64)
    for fill in range(2):
        if fill == 1:
            for label in range(n_labels):
                starts[label + 1] += starts[label]
            units = np.empty(starts[n_labels], dtype=np.int32)
            at_label = starts[:-1].copy()
        for unit in range(len(type_of)):
            for at in range(indptr[type_of[unit]], indptr[type_of[unit] + 1]):
                label = indices[at]
                if label >= n_labels:
                    break
                if fill == 0:
                    starts[label + 1] += 1
                else:
                    units[at_label[label]] = unit
                    at_label[label] += 1
    return starts, units

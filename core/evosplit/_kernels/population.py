"""Kernels of the evolutionary methods: breed, repair and evaluate whole populations.

An individual is a vector of subset numbers, one gene per unit. Chance comes from the Generator passed in.
"""

from __future__ import annotations

import numpy as np

from evosplit._kernels._jit import Floats, Ints, jit

SMALL = 16  # counts below this are so frequent that their odds are computed once a subset


@jit
def _odds(count: int, total: int, of_small: Floats) -> float:
    """Return the odds of a count against the rest of the total."""
    if count < SMALL:
        odds: float = of_small[np.uintp(count)]  # unsigned: no check for an index from the end
        return odds
    return count / max(total - count, 1)


@jit
def _total(counts: Ints, size: int, by_total: bool, of_small: Floats) -> int:
    """Return what odds in a subset are taken against, and fill in the odds of small counts."""
    total = size
    if by_total:
        total = 0
        for column in range(len(counts)):
            total += counts[column]
    for count in range(SMALL):
        of_small[count] = count / max(total - count, 1)
    return total


@jit
def _deviate(table: Ints, odds: Floats, blocks: Ints, sizes: Ints, chosen: Ints, deviations: Floats) -> None:
    """Sum how far the odds in the subsets `chosen` are from the odds overall: deviations[block, subset].

    Four subsets are summed side by side, since a single sum spends its time waiting for the last addition. Each is
    still added up in the order of its columns, so it is the same to the last bit whatever it is summed with.
    """
    of_small = np.empty((4, SMALL))
    of_a, of_b, of_c, of_d = of_small[0], of_small[1], of_small[2], of_small[3]
    last = len(chosen) - 1
    for block in range(len(blocks)):
        start, stop, by_total = blocks[block, 0], blocks[block, 1], blocks[block, 2] > 0
        overall = odds[start:stop]
        for at in range(0, len(chosen), 4):
            a, b = chosen[at], chosen[min(at + 1, last)]
            c, d = chosen[min(at + 2, last)], chosen[min(at + 3, last)]
            in_a, in_b, in_c, in_d = (
                table[a, start:stop],
                table[b, start:stop],
                table[c, start:stop],
                table[d, start:stop],
            )
            total_a = _total(in_a, sizes[a], by_total, of_a)
            total_b = _total(in_b, sizes[b], by_total, of_b)
            total_c = _total(in_c, sizes[c], by_total, of_c)
            total_d = _total(in_d, sizes[d], by_total, of_d)
            sum_a = sum_b = sum_c = sum_d = 0.0
            for column in range(len(overall)):
                expected = overall[column]
                if expected >= 0.0:
                    sum_a += abs(_odds(in_a[column], total_a, of_a) - expected)
                    sum_b += abs(_odds(in_b[column], total_b, of_b) - expected)
                    sum_c += abs(_odds(in_c[column], total_c, of_c) - expected)
                    sum_d += abs(_odds(in_d[column], total_d, of_d) - expected)
            deviations[block, a], deviations[block, b] = sum_a, sum_b
            deviations[block, c], deviations[block, d] = sum_c, sum_d


@jit
def _mean(blocks: Ints, deviations: Floats, scores: Floats) -> None:
    """Average the deviations (blocks x subsets) over subsets and columns."""
    k = deviations.shape[1]
    for block in range(len(blocks)):
        deviation = 0.0
        for j in range(k):
            deviation += deviations[block, j]
        scores[block] = deviation / max((blocks[block, 1] - blocks[block, 0]) * k, 1)


@jit
def _tally(indptr: Ints, indices: Ints, data: Ints, type_of_unit: Ints, genes: Ints, copies: Ints, table: Ints) -> None:
    """Sum the features in each subset (k x columns); units are counted by type first, and summed once a type."""
    table[:] = 0
    if len(type_of_unit) < copies.size // 3:
        # So few units of a type are in a subset together that counting them does not pay.
        for unit in range(len(type_of_unit)):
            for at in range(indptr[type_of_unit[unit]], indptr[type_of_unit[unit] + 1]):
                table[genes[unit], indices[at]] += data[at]
        return
    copies[:] = 0
    for unit in range(len(type_of_unit)):
        copies[type_of_unit[unit], genes[unit]] += 1
    for kind in range(len(copies)):
        for j in range(copies.shape[1]):
            n = copies[kind, j]
            if n:
                for at in range(indptr[kind], indptr[kind + 1]):
                    table[j, indices[at]] += n * data[at]


@jit
def _differing(genes: Ints, others: Ints) -> int:
    """Count the units that are not in the same subset."""
    differing = 0
    for unit in range(len(genes)):
        differing += genes[unit] != others[unit]
    return differing


@jit
def _move(indptr: Ints, indices: Ints, data: Ints, kind: int, source: int, target: int, table: Ints) -> None:
    """Move the features of a type from one subset to another."""
    for at in range(indptr[kind], indptr[kind + 1]):
        table[source, indices[at]] -= data[at]
        table[target, indices[at]] += data[at]


@jit
def _follow(
    indptr: Ints, indices: Ints, data: Ints, type_of_unit: Ints, genes: Ints, others: Ints, table: Ints
) -> None:
    """Turn the sums of one individual into those of another."""
    for unit in range(len(type_of_unit)):
        if genes[unit] != others[unit]:
            _move(indptr, indices, data, type_of_unit[unit], genes[unit], others[unit], table)


@jit
def score_population(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    odds: Floats,
    blocks: Ints,
    sizes: Ints,
    population: Ints,
) -> Floats:
    """Evaluate the mean deviation of the odds (Eq. 1 - 3): individuals x blocks.

    `odds` holds the odds of each column overall, negative for one that fills its block and never deviates;
    `blocks` one row per objective: start, stop, whether odds are taken against the block's total.
    """
    k = len(sizes)
    copies = np.empty((len(indptr) - 1, k), dtype=np.int32)
    table = np.empty((k, len(odds)), dtype=np.int32)
    deviations = np.empty((len(blocks), k))
    scores = np.empty((len(population), len(blocks)))
    for individual in range(len(population)):
        genes = population[individual]
        if individual and _differing(population[individual - 1], genes) < len(genes) // 4:
            # Individuals that have evolved together have much in common: only what differs is summed anew.
            _follow(indptr, indices, data, type_of_unit, population[individual - 1], genes, table)
        else:
            _tally(indptr, indices, data, type_of_unit, genes, copies, table)
        _deviate(table, odds, blocks, sizes, np.arange(k), deviations)
        _mean(blocks, deviations, scores[individual])
    return scores


@jit
def tally_population(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    odds: Floats,
    blocks: Ints,
    sizes: Ints,
    population: Ints,
    tables: Ints,
    deviations: Floats,
) -> Floats:
    """Evaluate all individuals as `score_population` does, and fill in what `score_children` starts from.

    That is the sums of each individual (k x columns) and its deviations (blocks x k).
    """
    k = len(sizes)
    copies = np.empty((len(indptr) - 1, k), dtype=np.int32)
    scores = np.empty((len(population), len(blocks)))
    for individual in range(len(population)):
        _tally(indptr, indices, data, type_of_unit, population[individual], copies, tables[individual])
        _deviate(tables[individual], odds, blocks, sizes, np.arange(k), deviations[individual])
        _mean(blocks, deviations[individual], scores[individual])
    return scores


@jit
def score_children(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    odds: Floats,
    blocks: Ints,
    sizes: Ints,
    population: Ints,
    tables: Ints,
    deviations: Floats,
    touched: Ints,
    nearest: Ints,
    parents: Ints,
    children: Ints,
) -> Floats:
    """Evaluate the rows `children` of the population by what they changed in the nearest of their rows `parents`.

    Deviations are filled in, but of the tables only the subsets that changed: most children do not survive (see
    `adopt_children`). `touched` (rows x k) and `nearest` (rows) say which those are, and the parent.
    """
    k = len(sizes)
    copies = np.empty((len(indptr) - 1, k), dtype=np.int32)
    chosen = np.empty(k, dtype=np.int64)
    scores = np.empty((len(children), len(blocks)))
    for at in range(len(children)):
        child = children[at]
        after, table, changed = population[child], tables[child], touched[child]
        parent, least = parents[at, 0], _differing(population[parents[at, 0]], after)
        for other in parents[at, 1:]:
            differing = _differing(population[other], after) if other != parent else least
            if differing < least:
                parent, least = other, differing
        nearest[child] = parent
        before = population[parent]
        if least < len(after) // 4:
            changed[:] = False
            for unit in range(len(after)):
                if before[unit] != after[unit]:
                    for j in (before[unit], after[unit]):
                        if not changed[j]:
                            changed[j] = True
                            table[j] = tables[parent, j]
                    _move(indptr, indices, data, type_of_unit[unit], before[unit], after[unit], table)
        else:
            changed[:] = True
            _tally(indptr, indices, data, type_of_unit, after, copies, table)
        n = 0
        for j in range(k):
            if changed[j]:
                chosen[n] = j
                n += 1
        deviations[child] = deviations[parent]
        _deviate(table, odds, blocks, sizes, chosen[:n], deviations[child])
        _mean(blocks, deviations[child], scores[at])
    return scores


@jit
def adopt_children(tables: Ints, touched: Ints, nearest: Ints, children: Ints) -> None:
    """Complete the tables of children that survive with the subsets in which they are like their nearest parents."""
    for child in children:
        for j in range(tables.shape[1]):
            if not touched[child, j]:
                tables[child, j] = tables[nearest[child], j]


@jit
def mutate(population: Ints, n_genes: int, k: int, rng: np.random.Generator) -> None:
    """Give `n_genes` distinct genes of each individual, drawn at random, another subset each."""
    m = population.shape[1]
    drawn = np.zeros(m, dtype=np.bool_)
    genes = np.empty(n_genes, dtype=np.int64)
    for individual in range(len(population)):
        for at in range(n_genes):
            # Floyd's sampling: every choice of n_genes out of m is equally likely.
            upper = m - n_genes + at
            gene = int(rng.integers(0, upper + 1))
            if drawn[gene]:
                gene = upper
            drawn[gene] = True
            genes[at] = gene
            other = rng.integers(0, k - 1)
            population[individual, gene] = other + (other >= population[individual, gene])
        drawn[genes] = False


@jit
def cross_over(first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
    """Join the head of each first parent and the tail of its second one; both give at least one gene."""
    children = second.copy()
    for mating in range(len(children)):
        cut = rng.integers(1, children.shape[1])
        children[mating, :cut] = first[mating, :cut]
    return children


@jit
def _count(genes: Ints, counts: Ints) -> None:
    """Count the units in each subset."""
    # Four counts in turn, since adding to the same one again has to wait for the last addition.
    parts = np.zeros((4, len(counts)), dtype=np.int64)
    even = len(genes) // 4 * 4
    for unit in range(0, even, 4):
        parts[0, genes[unit]] += 1
        parts[1, genes[unit + 1]] += 1
        parts[2, genes[unit + 2]] += 1
        parts[3, genes[unit + 3]] += 1
    for unit in range(even, len(genes)):
        parts[0, genes[unit]] += 1
    counts[:] = parts.sum(axis=0)


@jit
def repair_sizes(population: Ints, sizes: Ints, rng: np.random.Generator) -> None:
    """Move random units of subsets that are too large to subsets that are too small."""
    m, k = population.shape[1], len(sizes)
    members = np.empty(m + 1, dtype=np.int64)
    slots = np.empty(m, dtype=np.int64)
    surplus = np.empty(k, dtype=np.int64)
    for individual in range(len(population)):
        genes = population[individual]
        _count(genes, surplus)
        surplus -= sizes
        missing = 0
        for j in range(k):
            for _ in range(-surplus[j]):
                slots[missing] = j
                missing += 1
        for j in range(k):
            if surplus[j] <= 0:
                continue
            n = 0
            for unit in range(m):
                members[n] = unit  # overwritten unless the unit belongs to the subset: quicker than to ask first
                n += genes[unit] == j
            for drawn in range(surplus[j]):
                other = rng.integers(drawn, n)
                members[drawn], members[other] = members[other], members[drawn]
                slot = rng.integers(0, missing)
                missing -= 1
                genes[members[drawn]] = slots[slot]
                slots[slot] = slots[missing]


@jit
def _is_covered(label_starts: Ints, label_units: Ints, genes: Ints, k: int) -> bool:
    """Tell whether every label reaches as many subsets as it can; of a frequent label the first units show it."""
    reached = np.empty(k, dtype=np.bool_)
    for label in range(len(label_starts) - 1):
        start, stop = label_starts[label], label_starts[label + 1]
        lacking = min(k, stop - start)
        reached[:] = False
        for at in range(start, stop):
            j = genes[label_units[at]]
            if not reached[j]:
                reached[j] = True
                lacking -= 1
                if lacking == 0:
                    break
        if lacking:
            return False
    return True


@jit
def _members(genes: Ints, sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """List the units by subset: (units, where each subset starts, where each unit stands)."""
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    starts[1:] = np.cumsum(sizes)
    members = np.empty(len(genes), dtype=np.int64)
    slot_of = np.empty(len(genes), dtype=np.int64)
    filled = starts.copy()
    for unit in range(len(genes)):
        slot = filled[genes[unit]]
        filled[genes[unit]] += 1
        members[slot] = unit
        slot_of[unit] = slot
    return members, starts, slot_of


@jit
def _uncovered_change(indptr: Ints, indices: Ints, present: Ints, leaving: int, entering: int, j: int) -> int:
    """Return how many labels more subset j lacks once type `entering` takes the place of type `leaving`."""
    change = 0
    a, a_stop = indptr[leaving], indptr[leaving + 1]
    b, b_stop = indptr[entering], indptr[entering + 1]
    while a < a_stop or b < b_stop:
        if b == b_stop or (a < a_stop and indices[a] < indices[b]):
            change += present[indices[a], j] == 1
            a += 1
        elif a == a_stop or indices[b] < indices[a]:
            change -= present[indices[b], j] == 0
            b += 1
        else:
            a += 1
            b += 1
    return change


@jit
def _replace(indptr: Ints, indices: Ints, present: Ints, leaving: int, entering: int, j: int) -> None:
    for at in range(indptr[leaving], indptr[leaving + 1]):
        present[indices[at], j] -= 1
    for at in range(indptr[entering], indptr[entering + 1]):
        present[indices[at], j] += 1


@jit
def repair_cover(
    indptr: Ints,
    indices: Ints,
    type_of_unit: Ints,
    label_starts: Ints,
    label_units: Ints,
    population: Ints,
    sizes: Ints,
    patience: int,
    rng: np.random.Generator,
) -> None:
    """Exchange units of each individual until every label reaches as many subsets as it can.

    indptr and indices hold the labels of each type, label_units[label_starts[i] : label_starts[i + 1]] the units with
    label i. A unit whose subset has its label to spare changes places with a random unit of a subset that lacks the
    label, so sizes stay as they are. An exchange may not leave more label-subset combinations empty than before; those
    that leave as many lead out of dead ends. Every label is tried once a round; after `patience` rounds without
    progress the individual stays as it is.
    """
    n_labels, m, k = len(label_starts) - 1, population.shape[1], len(sizes)
    holders = np.empty(m, dtype=np.int64)
    empty = np.empty(k, dtype=np.int64)
    for individual in range(len(population)):
        genes = population[individual]
        if _is_covered(label_starts, label_units, genes, k):
            continue
        present = np.zeros((n_labels, k), dtype=np.int32)
        members, starts, slot_of = _members(genes, sizes)
        excess = 0
        for label in range(n_labels):
            units = label_units[label_starts[label] : label_starts[label + 1]]
            for unit in units:
                present[label, genes[unit]] += 1
            excess -= max(0, k - len(units))
            for j in range(k):
                excess += present[label, j] == 0
        stale = 0
        while excess > 0 and stale < patience:
            before = excess
            offset = int(rng.integers(0, n_labels))
            for step in range(n_labels):
                label = (offset + step) % n_labels
                units = label_units[label_starts[label] : label_starts[label + 1]]
                n_empty = 0
                for j in range(k):
                    if present[label, j] == 0:
                        empty[n_empty] = j
                        n_empty += 1
                if n_empty <= max(0, k - len(units)):
                    continue
                target = empty[rng.integers(0, n_empty)]
                n_holders = 0
                for unit in units:
                    if present[label, genes[unit]] > 1:
                        holders[n_holders] = unit
                        n_holders += 1
                unit = holders[rng.integers(0, n_holders)]
                source, kind = genes[unit], type_of_unit[unit]
                chosen, least = -1, 1
                first = int(rng.integers(0, sizes[target]))
                for turn in range(sizes[target]):
                    other = members[starts[target] + (first + turn) % sizes[target]]
                    change = _uncovered_change(indptr, indices, present, kind, type_of_unit[other], source)
                    change += _uncovered_change(indptr, indices, present, type_of_unit[other], kind, target)
                    if change < least:
                        chosen, least = other, change
                    if change < 0:
                        break
                if chosen >= 0:
                    genes[unit], genes[chosen] = target, source
                    slot, other_slot = slot_of[unit], slot_of[chosen]
                    members[slot], members[other_slot] = chosen, unit
                    slot_of[unit], slot_of[chosen] = other_slot, slot
                    _replace(indptr, indices, present, kind, type_of_unit[chosen], source)
                    _replace(indptr, indices, present, type_of_unit[chosen], kind, target)
                    excess += least
            stale = 0 if excess < before else stale + 1

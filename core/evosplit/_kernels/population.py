"""Kernels of the evolutionary methods: breed, repair and evaluate whole populations.

An individual is a vector of subset numbers, one gene per unit. Chance comes from the Generator passed in.
"""

from __future__ import annotations

import numpy as np

from evosplit._kernels._jit import Floats, Ints, jit


@jit
def _deviation(counts: Ints, odds: Floats, size: int, start: int, stop: int, by_total: bool) -> float:
    """Sum how far the odds of the columns start ... stop in a subset are from the odds overall."""
    total = size
    if by_total:
        total = 0
        for column in range(start, stop):
            total += counts[column]
    deviation = 0.0
    for column in range(start, stop):
        if odds[column] >= 0.0:
            deviation += abs(counts[column] / max(total - counts[column], 1) - odds[column])
    return deviation


@jit
def _tally(indptr: Ints, indices: Ints, data: Ints, type_of_unit: Ints, genes: Ints, copies: Ints, table: Ints) -> None:
    """Sum the features in each subset (k x columns); units are counted by type first, and summed once a type."""
    copies[:] = 0
    table[:] = 0
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
def _follow(
    indptr: Ints, indices: Ints, data: Ints, type_of_unit: Ints, genes: Ints, others: Ints, table: Ints
) -> None:
    """Turn the sums of one individual into those of another."""
    for unit in range(len(type_of_unit)):
        source, target = genes[unit], others[unit]
        if source != target:
            kind = type_of_unit[unit]
            for at in range(indptr[kind], indptr[kind + 1]):
                table[source, indices[at]] -= data[at]
                table[target, indices[at]] += data[at]


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
    scores = np.empty((len(population), len(blocks)))
    for individual in range(len(population)):
        genes = population[individual]
        if individual and _differing(population[individual - 1], genes) < len(genes) // 4:
            # Individuals that have evolved together have much in common: only what differs is summed anew.
            _follow(indptr, indices, data, type_of_unit, population[individual - 1], genes, table)
        else:
            _tally(indptr, indices, data, type_of_unit, genes, copies, table)
        for block in range(len(blocks)):
            start, stop, by_total = blocks[block, 0], blocks[block, 1], blocks[block, 2] > 0
            deviation = 0.0
            for j in range(k):
                deviation += _deviation(table[j], odds, sizes[j], start, stop, by_total)
            scores[individual, block] = deviation / max((stop - start) * k, 1)
    return scores


@jit
def tally_population(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    odds: Floats,
    sizes: Ints,
    by_total: bool,
    population: Ints,
    tables: Ints,
    deviations: Floats,
) -> Floats:
    """Evaluate individuals of one objective, and fill in what `score_children` starts from.

    That is the sums of each individual (k x columns) and its deviation in each subset.
    """
    k = len(sizes)
    copies = np.empty((len(indptr) - 1, k), dtype=np.int32)
    scores = np.zeros(len(population))
    for individual in range(len(population)):
        table = tables[individual]
        _tally(indptr, indices, data, type_of_unit, population[individual], copies, table)
        for j in range(k):
            deviations[individual, j] = _deviation(table[j], odds, sizes[j], 0, len(odds), by_total)
            scores[individual] += deviations[individual, j]
        scores[individual] /= max(len(odds) * k, 1)
    return scores


@jit
def score_children(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    odds: Floats,
    sizes: Ints,
    by_total: bool,
    population: Ints,
    tables: Ints,
    deviations: Floats,
    parents: Ints,
    children: Ints,
) -> Floats:
    """Evaluate the rows `children`, for one objective, by what they changed in the rows `parents`.

    Their deviations are filled in, their tables are not: most children do not survive (see `adopt_children`).
    """
    k = len(sizes)
    scores = np.empty(len(children))
    table = np.empty((k, len(odds)), dtype=np.int32)
    touched = np.empty(k, dtype=np.bool_)
    for at in range(len(children)):
        parent, child = parents[at], children[at]
        touched[:] = False
        for unit in range(len(type_of_unit)):
            source, target = population[parent, unit], population[child, unit]
            if source != target:
                for j in (source, target):
                    if not touched[j]:
                        touched[j] = True
                        table[j] = tables[parent, j]
                kind = type_of_unit[unit]
                for entry in range(indptr[kind], indptr[kind + 1]):
                    table[source, indices[entry]] -= data[entry]
                    table[target, indices[entry]] += data[entry]
        deviation = 0.0
        for j in range(k):
            deviations[child, j] = deviations[parent, j]
            if touched[j]:
                deviations[child, j] = _deviation(table[j], odds, sizes[j], 0, len(odds), by_total)
            deviation += deviations[child, j]
        scores[at] = deviation / max(len(odds) * k, 1)
    return scores


@jit
def adopt_children(
    indptr: Ints,
    indices: Ints,
    data: Ints,
    type_of_unit: Ints,
    population: Ints,
    tables: Ints,
    parents: Ints,
    children: Ints,
) -> None:
    """Fill in the tables of children that survive, from those of their parents."""
    for at in range(len(children)):
        parent, child = parents[at], children[at]
        tables[child] = tables[parent]
        _follow(indptr, indices, data, type_of_unit, population[parent], population[child], tables[child])


@jit
def mutate(population: Ints, n_genes: int, k: int, rng: np.random.Generator) -> None:
    """Give `n_genes` distinct genes of each individual, drawn at random, another subset each."""
    m = population.shape[1]
    for individual in range(len(population)):
        drawn = {-1}  # an empty set would have no type
        for upper in range(m - n_genes, m):
            # Floyd's sampling: every choice of n_genes out of m is equally likely.
            gene = int(rng.integers(0, upper + 1))
            if gene in drawn:
                gene = upper
            drawn.add(gene)
            other = rng.integers(0, k - 1)
            population[individual, gene] = other + (other >= population[individual, gene])


@jit
def cross_over(first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
    """Join the head of each first parent and the tail of its second one; both give at least one gene."""
    children = second.copy()
    for mating in range(len(children)):
        cut = rng.integers(1, children.shape[1])
        children[mating, :cut] = first[mating, :cut]
    return children


@jit
def repair_sizes(population: Ints, sizes: Ints, rng: np.random.Generator) -> None:
    """Move random units of subsets that are too large to subsets that are too small."""
    m, k = population.shape[1], len(sizes)
    members = np.empty(m, dtype=np.int64)
    for individual in range(len(population)):
        genes = population[individual]
        surplus = -sizes
        for unit in range(m):
            surplus[genes[unit]] += 1
        slots = np.empty(m, dtype=np.int64)
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
                if genes[unit] == j:
                    members[n] = unit
                    n += 1
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
        for unit in range(m):
            kind = type_of_unit[unit]
            for at in range(indptr[kind], indptr[kind + 1]):
                present[indices[at], genes[unit]] += 1
        excess = 0
        for label in range(n_labels):
            excess -= max(0, k - (label_starts[label + 1] - label_starts[label]))
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

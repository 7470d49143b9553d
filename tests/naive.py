"""Slow, obvious twins of the fast functions: what each one is tested against.

They take dense count matrices and loop; the formulas stand as they do in the literature.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def odds(part, whole):
    """Part against the rest; a zero denominator counts as 1."""
    return part / max(whole - part, 1)


def distribution(table, subset_totals):
    """Average |odds in the subset - odds overall| over rows and subsets (Eq. 1, 2 and 3)."""
    terms = []
    whole = sum(subset_totals)
    for row in table:
        for count, total in zip(row, subset_totals, strict=True):
            full = sum(row) == whole
            terms.append(0.0 if full else abs(odds(count, total) - odds(sum(row), whole)))
    return sum(terms) / len(terms) if terms else 0.0


def label_pairs(counts):
    """Map each label pair (i < j) that occurs to the samples that carry it."""
    pairs = {}
    for sample, row in enumerate(np.asarray(counts).tolist()):
        present = [label for label, count in enumerate(row) if count]
        for pair in itertools.combinations(present, 2):
            pairs.setdefault(pair, []).append(sample)
    return dict(sorted(pairs.items()))


def distinct_rows(counts):
    """Give each distinct row a number, by first occurrence: (first row of each, number of each row)."""
    numbers, first, number_of_row = {}, [], []
    for i, row in enumerate(np.asarray(counts).tolist()):
        key = tuple(row)
        if key not in numbers:
            numbers[key] = len(first)
            first.append(i)
        number_of_row.append(numbers[key])
    return first, number_of_row


def subset_tables(counts, assignment, k):
    """Count samples, samples with a label, instances of a label, samples with a pair in each subset."""
    counts = np.asarray(counts)
    sizes = [int(np.sum(np.asarray(assignment) == j)) for j in range(k)]
    samples, instances = [], []
    for label in range(counts.shape[1]):
        samples.append([0] * k)
        instances.append([0] * k)
        for sample, j in enumerate(assignment):
            samples[-1][j] += int(counts[sample, label] > 0)
            instances[-1][j] += int(counts[sample, label])
    pairs = [
        [sum(assignment[sample] == j for sample in samples) for j in range(k)]
        for samples in label_pairs(counts).values()
    ]
    return sizes, samples, instances, pairs


def measures(counts, assignment, k, wanted):
    """Compute every measure of a split."""
    sizes, samples, instances, pairs = subset_tables(counts, assignment, k)
    m = sum(sizes)
    occurring = [row for row in samples if sum(row)]
    relative, excess = [], []
    for row in occurring:
        d = sum(row) / m
        relative += [abs((row[j] / sizes[j] if sizes[j] else 0.0) - d) / d for j in range(k)]
        excess.append(max(row[j] / sum(row) - sizes[j] / m for j in range(k)))
    return {
        "ld": distribution(samples, sizes),
        "ld_occurrences": distribution(instances, [sum(row[j] for row in instances) for j in range(k)]),
        "lpd": distribution(pairs, sizes),
        "lpd_occurrences": distribution(pairs, [sum(row[j] for row in pairs) for j in range(k)]),
        "ed": sum(abs(a - b) for a, b in zip(sizes, wanted, strict=True)) / k,
        "fz": sum(any(row[j] == 0 for row in samples) for j in range(k)),
        "flz": sum(count == 0 for row in samples for count in row),
        "flz_bound": sum(max(0, k - sum(row)) for row in samples),
        "rld": sum(relative) / len(relative) if relative else 0.0,
        "dcp": sum(excess) / len(excess) if excess else 0.0,
    }


def best_odds(total, sizes):
    """Return the least possible sum of |odds in the subset - odds overall| for a label with this total.

    Tries every way to spread the total over the subsets, subset by subset.
    """
    m = sum(sizes)
    if total in (0, m):
        return 0.0
    best = {0: 0.0}
    for size in sizes:
        extended = {}
        for used, cost in best.items():
            for count in range(min(size, total - used) + 1):
                value = cost + abs(odds(count, size) - odds(total, m))
                extended[used + count] = min(value, extended.get(used + count, math.inf))
        best = extended
    return best[total]


def expected_odds(total, sizes):
    """Return the mean of a label's terms of Eq. 1 in a random split, from the chance of every count in every subset."""
    m = sum(sizes)
    if total in (0, m):
        return 0.0
    terms = [
        Fraction(math.comb(size, n) * math.comb(m - size, total - n), math.comb(m, total))
        * abs(Fraction(n, max(size - n, 1)) - Fraction(total, m - total))
        for size in sizes
        for n in range(min(size, total) + 1)
    ]
    return float(sum(terms) / len(sizes))


def fewest_empty_cells(counts, sizes):
    """Return the least FLZ over all splits of these sizes, by enumeration."""
    k, found = len(sizes), math.inf
    for assignment in itertools.product(range(k), repeat=len(counts)):
        if [assignment.count(j) for j in range(k)] == list(sizes):
            _, samples, _, _ = subset_tables(counts, assignment, k)
            found = min(found, sum(count == 0 for row in samples for count in row))
    return found


def description(counts):
    """Describe a data set: the columns of the paper's Tables 1 and 2."""
    counts = np.asarray(counts)
    m, q = counts.shape
    totals = [int(counts[:, label].sum()) for label in range(q)]
    imbalance = [max(totals) / total if total else 0.0 for total in totals]
    occurring = [value for value, total in zip(imbalance, totals, strict=True) if total]
    scumble = 0.0
    for row in counts.tolist():
        values = [imbalance[label] for label, count in enumerate(row) if count]
        if values:
            scumble += 1 - math.prod(values) ** (1 / len(values)) / (sum(values) / len(values))
    pairs = label_pairs(counts)
    distinct = len(distinct_rows(counts)[0])
    occurrences = sum(len(samples) for samples in pairs.values())
    return {
        "samples": m,
        "labels": q,
        "max_labels": max((sum(row) for row in counts.tolist()), default=0),
        "max_frequency": max(totals, default=0) / m,
        "cardinality": sum(totals) / m,
        "density": sum(totals) / m / max(q, 1),
        "diversity": distinct,
        "proportion_diversity": distinct / m,
        "complexity": m * q * distinct,
        "average_imbalance": sum(occurring) / len(occurring) if occurring else 0.0,
        "scumble": scumble / m,
        "pair_cardinality": occurrences / m,
        "pair_density": occurrences / m / max(q, 1),
        "pair_max_frequency": max((len(samples) for samples in pairs.values()), default=0) / m,
        "pair_diversity": len(pairs),
        "pair_proportion_diversity": len(pairs) / m,
    }


def largest_remainder(shares, total):
    """Round shares to integers that sum to the total; equal remainders favour the earlier one."""
    exact = [round(share * total, 9) for share in shares]
    sizes = [math.floor(value) for value in exact]
    while sum(sizes) < total:
        remainders = [value - size for value, size in zip(exact, sizes, strict=True)]
        sizes[remainders.index(max(remainders))] += 1
    return sizes


def deal_one_label(total, shares):
    """Give the examples of one label, one by one, to the (first) subset that still wants most of it."""
    given = [0] * len(shares)
    for _ in range(total):
        desire = [share * total - n for share, n in zip(shares, given, strict=True)]
        given[max(range(len(shares)), key=lambda j: round(desire[j], 9))] += 1
    return given


def cell_costs(columns, counts, totals, spans):
    """Cost of each cell, columns x subsets: weight times how far the odds in the subset are from those wanted.

    A column names the block whose given total its odds are taken against, or -1 minus the number of a block whose total
    is the sum of the columns in its span.
    """
    wholes = [list(row) for row in totals]
    for start, stop, block in spans:
        wholes[block] = [sum(row[j] for row in counts[start:stop]) for j in range(len(totals[0]))]
    costs = []
    for (weight, wanted, _, block), row in zip(columns, counts, strict=True):
        whole = wholes[int(block) if block >= 0 else -1 - int(block)]
        costs.append([weight * abs(x / max(t - x, 1) - wanted) for x, t in zip(row, whole, strict=True)])
    return costs


def shortage(needs, table):
    """Add up what the subsets lack of each row: parts of the largest need, squared."""
    most, total = max([1, *needs]), 0
    for need, row in zip(needs, table, strict=True):
        for x in row:
            if x < need:
                total += int((need - x) * most / need) ** 2
    return total


def assignments_of(sizes):
    """List every assignment of samples to subsets of these sizes."""
    k = len(sizes)
    every = itertools.product(range(k), repeat=sum(sizes))
    return [chosen for chosen in every if [chosen.count(j) for j in range(k)] == list(sizes)]


def units_of(m, groups=None, locked=None):
    """List the samples that move together, and the subset in which each such unit stays (-1: it is free).

    Subsets are numbers or names; a sample that is free is None or -1.
    """
    members = {}
    for sample in range(m):
        alone = groups is None or groups[sample] is None
        members.setdefault(("alone", sample) if alone else ("group", groups[sample]), []).append(sample)
    units = list(members.values())
    free = -1
    stays = []
    for unit in units:
        places = [locked[sample] for sample in unit if locked is not None and locked[sample] not in (None, free)]
        stays.append(places[0] if places else free)
    return units, stays


def legal_assignments(m, k, groups=None, locked=None):
    """List every assignment that keeps groups whole and locked samples where they are."""
    units, fixed = units_of(m, groups, locked)
    legal = []
    for chosen in itertools.product(*([j] if j >= 0 else range(k) for j in fixed)):
        assignment = [0] * m
        for unit, j in zip(units, chosen, strict=True):
            for sample in unit:
                assignment[sample] = j
        legal.append(assignment)
    return legal


def size_excess(assignment, sizes):
    """Add up by how many samples the subsets miss their sizes."""
    return sum(abs(assignment.count(j) - size) for j, size in enumerate(sizes))


def needs_of(counts, sizes, least):
    """How many samples of each label every subset is to get: the most that may fit into the smallest one."""
    for_all = [max(1, int((column > 0).sum()) // len(sizes)) for column in counts.T]
    richest = sum(sorted((int((row > 0).sum()) for row in counts), reverse=True)[: min(sizes)])
    fits = [level for level in range(1, least + 1) if sum(min(n, level) for n in for_all) <= richest]
    return [min(n, max(fits, default=1)) for n in for_all]


def lack_of(counts, assignment, needs, k):
    """Tell how badly the labels are lacking in the subsets."""
    _, samples, _, _ = subset_tables(counts, assignment, k)
    return shortage([int(need) for need in needs], samples)


def weighted_distribution(table, subset_totals, weights):
    """Average the deviations of the rows (Eq. 1 - 3) by these weights."""
    deviations = [_row_deviation(row, subset_totals) for row in table]
    return sum(w * d for w, d in zip(weights, deviations, strict=True)) / sum(weights) if deviations else 0.0


def _row_deviation(row, subset_totals):
    whole = sum(subset_totals)
    if sum(row) == whole:
        return 0.0
    deviations = [abs(odds(n, t) - odds(sum(row), whole)) for n, t in zip(row, subset_totals, strict=True)]
    return sum(deviations) / len(row)


def strata_distribution(columns, assignment, k):
    """Average over the strata how unevenly their categories are spread; each column lists one value per sample."""
    values = []
    for column in columns:
        table = [
            [sum(a == j and value == category for a, value in zip(assignment, column, strict=True)) for j in range(k)]
            for category in set(column)
        ]
        values.append(distribution(table, [sum(row[j] for row in table) for j in range(k)]))
    return sum(values) / len(values)

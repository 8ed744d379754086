"""Interactions of pairs as loops over rows and cells, in float64; of parzax only the domains' fields."""

from fractions import Fraction
from math import ceil, floor, log, sqrt

import numpy as np


def most_cells(n: float, n_region: float) -> tuple[int, int]:
    """Most cells of numbers, and of categories, for n rows of a region."""
    cells = min(2 * floor(sqrt(n_region / 15) / 2), 2 * floor(sqrt(n / 5) / 2))
    cells = min(max(cells, 4), 10)
    return cells, 2 * cells if n >= 8 * cells**2 else cells


def place(twice: Fraction, whole: Fraction, n: int) -> int:
    """Which n-th of the whole a place is in, from twice the place; between two, that nearer the middle."""
    at = n * twice / (2 * whole)
    if abs(at - round(at)) < 1e-9:  # logarithms are rounded
        at = Fraction(round(at))
    return min(floor(at) if twice <= whole else ceil(at) - 1, n - 1)


def unit(domain, value: float) -> float:
    """Place on the axis of a Float, an Int (its cell's centre) or an Ordinal."""
    if hasattr(domain, "values"):
        return (domain.values.index(value) + 0.5) / len(domain.values)
    low, high = domain.low, domain.high
    if domain.kind == "int":
        low, high = low - 0.5, high + 0.5
    change = log if domain.log else float
    return (change(value) - change(low)) / (change(high) - change(low))


def cells(domain, values, weight, n: float, n_region: float) -> list[int]:
    """Cells of the rows of a regime, when the pair has n rows, of so many in the region."""
    numbers, labels = most_cells(n, n_region)
    mass: dict[float, float] = {}
    for value, own in zip(values, weight, strict=True):
        mass[value] = mass.get(value, 0) + own
    known = sorted(mass)
    categorical = hasattr(domain, "choices")
    most = labels if categorical else numbers
    if len(known) <= most:
        cell = {value: i for i, value in enumerate(known)}
    elif categorical:
        by_mass = sorted(known, key=lambda value: (-mass[value], value))
        cell = {value: min(i, most - 1) for i, value in enumerate(by_mass)}
    else:
        cell = {v: place(2 * Fraction(unit(domain, v)), Fraction(1), most) for v in known}
        total = sum(mass.values())
        shares = [sum(mass[v] for v in known if cell[v] == i) for i in range(most)]
        if min(shares) < 0.5 * total / most:
            before = 0.0
            for v in known:
                cell[v] = place(Fraction(2 * before + mass[v]), Fraction(total), most)
                before += mass[v]
    return [cell[value] for value in values]


def explained(groups, member, weight) -> float:
    """SSB - (C - 1) SSW / (n - C), of rows in groups."""
    n, n_target = sum(weight), sum(w * m for w, m in zip(weight, member, strict=True))
    g, rows, hits = n_target / n, {}, {}
    for group, m, w in zip(groups, member, weight, strict=True):
        rows[group] = rows.get(group, 0) + w
        hits[group] = hits.get(group, 0) + w * m
    between = sum(rows[c] * (hits[c] / rows[c] - g) ** 2 for c in rows if rows[c] > 0)
    within = n * g * (1 - g) - between
    n_cells = sum(1 for c in rows if rows[c] > 0)
    return between - (n_cells - 1) * within / (n - n_cells)


def interactions(obs, target, region) -> dict[tuple[str, str], tuple[float, float, float]]:
    """(v_xy, v_x, v_y) of every pair at one level, of one log; weights are whole numbers.

    Args:
        obs: the log.
        target, region: (n,) rows in the sets.
    """
    weight = np.ones(obs.n) if obs.weight is None else obs.weight
    used = [r for r in range(obs.n) if region[r] and weight[r] > 0]
    whole = sum(weight[r] for r in used)
    out = {}
    for a, first in enumerate(obs.space.names):
        for b, second in list(enumerate(obs.space.names))[a + 1 :]:
            sums = np.zeros(3)
            for i, of_first in enumerate(obs.space.domains[a]):
                for k, of_second in enumerate(obs.space.domains[b]):
                    both = [r for r in used if obs.regime[r, a] == i and obs.regime[r, b] == k]
                    n = sum(weight[r] for r in both)
                    cell = []
                    for j, regime, domain in ((a, i, of_first), (b, k, of_second)):
                        own = [r for r in used if obs.regime[r, j] == regime]
                        found = cells(domain, obs.values[own, j].tolist(), weight[own].tolist(), n, whole)
                        where = dict(zip(own, found, strict=True))
                        cell.append([where[r] for r in both])
                    joint = list(zip(*cell, strict=True))
                    if min(len(set(cell[0])), len(set(cell[1]))) < 2 or n <= len(set(joint)):
                        continue
                    member, own_weight = [float(target[r]) for r in both], [weight[r] for r in both]
                    sums += [explained(groups, member, own_weight) for groups in (joint, *cell)]
            out[first, second] = tuple(sums / whole)
    return out

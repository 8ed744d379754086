"""Interactions of pairs as loops over rows and cells, in float64; of parzax only the space as JSON."""

import json
from fractions import Fraction
from math import ceil, floor, sqrt

import numpy as np

from reference import grid


def most_cells(n: float, n_region: float) -> tuple[int, int]:
    """Most cells of numbers, and of categories, for n rows of a region."""
    cells = min(2 * floor(sqrt(n_region / 15) / 2), 2 * floor(sqrt(n / 5) / 2))
    cells = min(max(cells, 4), 10)
    return cells, 2 * cells if n >= 8 * cells**2 else cells


def part(twice: Fraction, whole: Fraction, n: int) -> int:
    """Which n-th of the whole a place is in, from twice the place; between two, the one nearer the middle."""
    at = n * twice / whole
    if abs(at - round(at)) < 1e-9:  # sums of weights are rounded
        at = Fraction(round(at))
    return min(max(floor(at) if 2 * twice <= whole else ceil(at) - 1, 0), n - 1)


def cells(domain: dict, values, weight, n: float, n_region: float) -> list[int]:
    """Cells of the rows of a regime, when the pair has n rows, of so many in the region."""
    numbers, labels = most_cells(n, n_region)
    categorical = domain["kind"] == "categorical"
    most, width = labels if categorical else numbers, grid.grid_size(domain, True, 96)
    on_grid = [grid.cell(domain, value, True, 96) for value in values]
    mass: dict[int, float] = {}
    for code, own in zip(on_grid, weight, strict=True):
        mass[code] = mass.get(code, 0) + own
    occupied, total = sorted(mass), sum(mass.values())
    if categorical:
        by_mass = sorted(occupied, key=lambda code: (-mass[code], code))
        merged = {code: min(i, most - 1) for i, code in enumerate(by_mass)}
    elif len(occupied) <= most:
        merged = {code: i for i, code in enumerate(occupied)}
    else:
        merged = {code: part(Fraction(2 * code + 1), Fraction(2 * width), most) for code in occupied}
        shares = [sum(mass[code] for code in occupied if merged[code] == i) for i in range(most)]
        if min(shares) < 0.5 * total / most:
            before = 0.0
            for code in occupied:
                merged[code] = part(Fraction(2 * before + mass[code]), Fraction(2 * total), most)
                before += mass[code]
    return [merged[code] for code in on_grid]


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
    domains = [grid.domains_of(entry) for entry in json.loads(obs.space.to_json())["parameters"]]
    out = {}
    for a, first in enumerate(obs.space.names):
        for b, second in list(enumerate(obs.space.names))[a + 1 :]:
            sums = np.zeros(3)
            for i, of_first in enumerate(domains[a]):
                for k, of_second in enumerate(domains[b]):
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

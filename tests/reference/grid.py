"""Conditional PED-ANOVA as plain loops over rows, cells and regimes, in float64.

Written from the definition of the estimators, without the library: spaces are their JSON form (plain
dictionaries), every kernel matrix is written out, every row is looked at on its own. Slow, and meant to
be read beside the papers.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from reference import resolutions

INACTIVE = -1
MIN_BANDWIDTH = 0.5 / 1.64


def phi(z: float) -> float:
    """Standard normal distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


# --- the space ---------------------------------------------------------------------------------


def domains_of(entry: dict) -> list[dict]:
    """The regimes of a parameter, each a dictionary with its kind."""
    return [{"kind": entry.get("kind"), **body} for body in entry.get("regimes", [entry])]


def regimes_of_row(parameters: list[dict], row: np.ndarray) -> list[int]:
    """Index of the first domain whose conditions hold, for every parameter of one row."""
    index = {entry["name"]: j for j, entry in enumerate(parameters)}

    def regime(j: int) -> int:
        for i, domain in enumerate(domains_of(parameters[j])):
            if all(holds(condition) for condition in domain.get("conditions", ())):
                return i
        return INACTIVE

    def holds(condition: dict) -> bool:
        if condition.get("recorded"):
            raise ValueError("give the regimes")
        j = index[condition["parent"]]
        own = regime(j)
        if own == INACTIVE:
            return False
        x = row[j]
        if "values" in condition:
            domain = domains_of(parameters[j])[own]
            label = domain["choices"][int(x)] if domain["kind"] == "categorical" else x
            return any(type(v) is type(label) and v == label for v in condition["values"])
        return condition.get("ge", -math.inf) <= x < condition.get("lt", math.inf)

    return [regime(j) for j in range(len(parameters))]


# --- the grid ----------------------------------------------------------------------------------


def number_of_values(domain: dict) -> int | None:
    kind = domain["kind"]
    if kind == "categorical":
        return len(domain["choices"])
    if kind == "ordinal":
        return len(domain["values"])
    if kind == "int":
        return (domain["high"] - domain["low"]) // domain.get("step", 1) + 1
    if domain.get("step"):
        return round((domain["high"] - domain["low"]) / domain["step"]) + 1
    return None


def grid_size(domain: dict, mirror: bool, max_cells: int = 50) -> int:
    n_values = number_of_values(domain)
    if domain["kind"] == "categorical":
        return n_values
    if n_values == 1 or (domain["kind"] == "float" and domain["low"] == domain["high"]):
        return 1
    if domain["kind"] == "int" and domain.get("log"):
        return min(max_cells, math.ceil(math.log(domain["high"] - domain["low"] + 1) / math.log(2)) + 1)
    if n_values is None:
        return max_cells
    size = min(max_cells, n_values)
    # A mirrored grid needs a middle cell exactly when the values have a middle.
    return size - 1 if mirror and n_values > size and (n_values - size) % 2 else size


def cell(domain: dict, x: float, mirror: bool, max_cells: int = 50) -> int:
    size = grid_size(domain, mirror, max_cells)
    if size == 1:
        return 0
    if domain["kind"] == "categorical":
        return int(x)
    n_values = number_of_values(domain)
    step_index = None
    if domain["kind"] == "ordinal":
        step_index = list(domain["values"]).index(x)
    elif n_values is not None and mirror and not domain.get("log"):
        step_index = round((x - domain["low"]) / domain.get("step", 1))
    if step_index is not None:
        # Nearest cell in exact arithmetic; a tie goes towards the middle of the domain.
        position = Fraction(step_index * (size - 1), n_values - 1)
        below = math.floor(position)
        part = position - below
        if part == Fraction(1, 2):
            return below + 1 if 2 * step_index < n_values - 1 else below
        return below + (part > Fraction(1, 2))
    low, high, at = domain["low"], domain["high"], x
    if domain.get("log"):
        # NumPy's logarithm of the value, the standard library's of the bounds: the last bit decides
        # on which side of an edge a value falls.
        low, high, at = math.log(low), math.log(high), float(np.log(x))
    spacing = (high - low) / (size - 1)
    return int(min(max(math.ceil((at - low) / spacing - 0.5), 0), size - 1))


# --- densities ---------------------------------------------------------------------------------


def scott(counts: np.ndarray, floor_quartiles: bool) -> float:
    """1.059 min(IQR/1.34, sd) n^(-1/5) in cells, at least 0.5/1.64."""
    n = counts.sum()
    if n <= 0:
        return MIN_BANDWIDTH
    occupied = [(m, c) for m, c in enumerate(counts) if c > 0]
    mean = sum(m * c for m, c in occupied) / n
    squares = sum(c * (m - mean) ** 2 for m, c in occupied)
    deviation = math.sqrt(squares / max(n - 1, 1))
    first_at, third_at = (n // 4, (3 * n) // 4) if floor_quartiles else (n / 4, 3 * n / 4)
    running, first, third = 0, None, None
    for m, c in occupied:
        running += c
        if first is None and running >= first_at:
            first = m
        if third is None and running > third_at:
            third = m
    third = occupied[-1][0] if third is None else third
    return max(1.059 * min((third - first) / 1.34, deviation) * n**-0.2, MIN_BANDWIDTH)


def truncated_normal(centre: float, sigma: float, size: int) -> np.ndarray:
    """Mass of every cell of a normal, normalised over the grid."""

    def mass(a: float, b: float) -> float:
        # From the tail on the side of the cell, so that small masses keep their digits.
        return phi(b) - phi(a) if a + b <= 0 else phi(-a) - phi(-b)

    edges = [(m - 0.5 - centre) / sigma for m in range(size + 1)]
    masses = np.array([mass(a, b) for a, b in itertools.pairwise(edges)])
    return masses / (1 - phi(edges[0]) - phi(-edges[-1]))


def kernel_matrix(counts: np.ndarray, kind: str, floor_quartiles: bool) -> np.ndarray:
    """K[b, m]: mass that the kernel of cell m puts on cell b."""
    size = len(counts)
    if kind == "categorical":
        w = 1 / (np.count_nonzero(counts) + 1)
        return (np.eye(size) + w) / (1 + size * w)
    sigma = scott(counts, floor_quartiles)
    return np.stack([truncated_normal(m, sigma, size) for m in range(size)], axis=1)


def prior(size: int, kind: str) -> np.ndarray:
    if kind == "categorical":
        return np.full(size, 1 / size)
    return truncated_normal((size - 1) / 2, size, size)


def optuna_density(counts: np.ndarray, kind: str) -> np.ndarray:
    kernels = kernel_matrix(counts, kind, True)
    return (kernels @ counts + prior(len(counts), kind)) / (counts.sum() + 1)


def pearson(p: np.ndarray, q: np.ndarray) -> float:
    return float(sum(qb * (pb / qb - 1) ** 2 for pb, qb in zip(p, q, strict=True)))


def optuna_divergence(target: np.ndarray, region: np.ndarray, kind: str, uniform: bool = False) -> float:
    if target.sum() == 0 or (target.sum() == region.sum() and not uniform):
        return 0.0
    p = optuna_density(target, kind) + 1e-12
    q = np.full(len(p), 1 / len(p)) if uniform else optuna_density(region, kind) + 1e-12
    return pearson(p, q)


# --- level sets --------------------------------------------------------------------------------


def level_set(losses: np.ndarray, weight: np.ndarray, level: float, rule: str) -> np.ndarray:
    """Rows at least as good as the first loss at which the running weight reaches level N, rounded."""
    usable = ~np.isnan(losses) & (weight > 0)
    total = weight[usable].sum()
    if level == 1 or not usable.any():
        return usable
    if rule == "optuna":
        needed = math.ceil(level * total)
    elif float(total).is_integer():
        product = Fraction(str(round(float(level), 12))) * int(total)
        needed = max(math.floor(product), 1) if rule == "floor" else math.ceil(product)
    else:
        needed = level * total * (1 - 1e-12)
    running = 0.0
    for i in sorted(np.flatnonzero(usable), key=lambda i: losses[i]):
        running += weight[i]
        if running >= needed:
            return usable & (losses <= losses[i])
    return usable


# --- the whole ---------------------------------------------------------------------------------


def analyse(
    space: dict,
    values: np.ndarray,
    losses: np.ndarray,
    levels: list[float],
    region_level: float = 1.0,
    *,
    estimator: str = "default",
    weight: np.ndarray | None = None,
    regimes: np.ndarray | None = None,
    uniform: bool = False,
    max_cells: int | None = None,
) -> dict[str, np.ndarray]:
    """One log (n, d) at several levels; arrays (q, d), counts of regimes (q, d, k) with inactive last."""
    parameters = space["parameters"]
    optuna = estimator == "optuna"
    max_cells = (96 if estimator == "default" else 50) if max_cells is None else max_cells
    weight = np.ones(len(losses)) if weight is None else np.asarray(weight, dtype=np.float64)
    if regimes is None:
        regimes = np.array([regimes_of_row(parameters, row) for row in values]).reshape(values.shape)
    in_region = level_set(losses, weight, region_level, "optuna" if optuna else "ceil")
    n_region = weight[in_region].sum()
    width = max(len(domains_of(entry)) for entry in parameters) + 1
    shape = (len(levels), len(parameters))
    out = {key: np.zeros(shape) for key in ("variance", "inter", "unweighted")}
    out |= {key: np.zeros((*shape, width)) for key in ("n_target_i", "n_region_i", "divergence")}
    out |= {"n_target": np.zeros(len(levels)), "n_region": n_region}
    for level_index, level in enumerate(levels):
        in_target = level_set(losses, weight, level, "optuna" if optuna else "ceil") & in_region
        n_target = weight[in_target].sum()
        out["n_target"][level_index] = n_target
        for j, entry in enumerate(parameters):
            domains = domains_of(entry)
            at = (level_index, j)
            for i, domain in enumerate([*domains, None]):
                place = width - 1 if domain is None else i
                here = regimes[:, j] == (INACTIVE if domain is None else i)
                n_r = weight[here & in_region].sum()
                n_t = weight[here & in_target].sum()
                out["n_region_i"][(*at, place)], out["n_target_i"][(*at, place)] = n_r, n_t
                if n_r == 0:
                    continue
                if n_target > 0:
                    alpha, beta = n_t / n_target, n_r / n_region
                    out["inter"][at] += (n_target / n_region) ** 2 * (alpha - beta) ** 2 / beta
                if domain is None or n_r < 2:
                    continue
                size = grid_size(domain, not optuna, max_cells)
                if size == 1:
                    continue
                target, region = np.zeros(size), np.zeros(size)
                for i_row in np.flatnonzero(here & in_region):
                    c = cell(domain, values[i_row, j], not optuna, max_cells)
                    region[c] += weight[i_row]
                    target[c] += weight[i_row] * in_target[i_row]
                kind = "categorical" if domain["kind"] == "categorical" else "numeric"
                if optuna:
                    d = optuna_divergence(target, region, kind, uniform)
                else:
                    d = resolutions.divergence(target, region, kind, uniform=uniform)
                out["divergence"][(*at, place)] = d
                out["variance"][at] += n_t**2 / (n_region * n_r) * d
                out["unweighted"][at] += (n_target / n_region) ** 2 * d
    balance = estimator == "default"
    out["importance"] = np.array([shares(own, balance, equal=optuna) for own in out["variance"]])
    out["standard"] = out["variance"] + out["inter"]
    return out


def shares(variance: np.ndarray, balance: bool, equal: bool = False) -> np.ndarray:
    """Shares of max(v - t, 0), t = 0, or such that their sum is that of all or the largest, by bisection."""
    wanted, low, high = max(variance.sum(), variance.max()), 0.0, max(variance.max(), 0.0)
    for _ in range(200 if balance and high > 0 else 0):
        middle = (low + high) / 2
        if np.maximum(variance - middle, 0).sum() > wanted:
            low = middle
        else:
            high = middle
    left = np.maximum(variance - low, 0)
    if left.sum() > 0:
        return left / left.sum()
    return np.full(len(variance), 1 / len(variance) if equal else 0.0)

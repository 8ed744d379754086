"""The TPE family as plain loops, from the papers' definitions: groups, densities, scores.

Splits are those of arXiv 2304.11127 (top quantile), 2211.14411 (constraints) and 2212.06751 (several
objectives). A row is pending where an objective is NaN; a constraint-only one speaks of constraints alone.
Scales, regimes and positions are those of `reference.mixture`; kernels are evaluated here, in float64.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference import bandwidth as rules
from reference import mixture, pareto


@dataclass(frozen=True)
class Settings:
    """What a member of the family is; the defaults are the authors' TPE."""

    score: str = "ratio"
    rule: str = "sqrt"
    quantile: float = 0.1
    whole_front: bool = False
    kernel: str = "scott"
    minimum: float = 0.01
    top: float | None = 0.8  # None for Optuna's
    prior_weight: float = 1.0
    infeasible: str = "better"
    unsatisfied: str = "first"
    every_tie: bool = False
    forget: bool = False
    ties: str = "crowding"
    by_rank: bool = False
    share_power: float = 1.0


@dataclass(frozen=True)
class Group:
    """Row numbers of the group below and of the group above, the share of the one below, and its weights."""

    below: list[int]
    above: list[int]
    gamma: float
    merit: list[float] | None = None


# --- groups --------------------------------------------------------------------------------------


def count(settings: Settings, n: int) -> int:
    """Number of rows below among n; whole numbers stay whole."""
    if settings.rule == "sqrt":
        return next(k for k in range(n + 1) if 16 * k * k >= n)
    if settings.rule == "optuna":
        return min(math.ceil(n / 10), 25)
    return math.ceil(round(settings.quantile * n, 9))


def groups(
    settings: Settings, x: Any, objectives: Any, constraints: Any, constraint_only: Any
) -> list[Group]:
    """Groups of the objective and of every constraint."""
    objectives, constraints = np.asarray(objectives, float), np.asarray(constraints, float)
    everything = range(len(objectives))
    evaluated = [
        i for i in everything if not constraint_only[i] and not any(math.isnan(v) for v in objectives[i])
    ]
    pending = [i for i in everything if not constraint_only[i] and i not in evaluated]
    rows = [
        (*(None if math.isnan(v) else v for v in a), *b)
        for a, b in zip(np.asarray(x), objectives, strict=True)
    ]
    repeated = {i for k, i in enumerate(evaluated) if rows[i] in [rows[j] for j in evaluated[:k]]}
    out = [_objective(settings, objectives, constraints, evaluated, pending, repeated)]
    for j in range(constraints.shape[1]):
        value = constraints[:, j]
        known = sorted(evaluated + [i for i in everything if constraint_only[i] and not math.isnan(value[i])])
        below = _satisfied(value, known, settings.unsatisfied)
        above = [i for i in everything if i in (*known, *pending) and i not in below]
        out.append(Group(below, above, len(below) / max(len(known), 1)))
    return out


def _objective(
    settings: Settings, objectives: Any, constraints: Any, evaluated: list, pending: list, repeated: set
) -> Group:
    wanted = count(settings, len(evaluated))
    up_to_feasible = constraints.shape[1] > 0 and settings.score != "naive"
    counts = [bool((row <= 0).all()) if up_to_feasible else True for row in constraints]
    if objectives.shape[1] == 1:
        order = sorted(evaluated, key=lambda i: (objectives[i, 0], i))
        rank = {i: place for place, i in enumerate(order)}
    else:
        mask = np.array([i in evaluated for i in range(len(objectives))])
        rank = pareto.ranks(objectives, mask)
        if settings.whole_front:
            # Repeated rows are a front behind the others of theirs.
            rank = np.array([2 * r + (i in repeated) if i in evaluated else r for i, r in enumerate(rank)])
            # Rows of the first front that do not count do not make it larger.
            wanted = max(wanted, len([i for i in evaluated if rank[i] == 0 and counts[i]]))
        if settings.ties == "hypervolume":
            order = by_hypervolume(objectives, rank, evaluated, counts, wanted)
        else:
            distance = pareto.crowding(objectives, rank, mask)
            order = sorted(evaluated, key=lambda i: (rank[i], -distance[i], i))
    below, found = [], 0
    for i in order:
        tied = settings.every_tie and below and objectives[i, 0] == objectives[below[-1], 0]
        if found >= wanted and not tied:
            break
        below.append(i)
        found += counts[i]
    if settings.infeasible == "nearest":
        total = _violations(constraints, evaluated)
        others = sorted([i for i in below if not counts[i]], key=lambda i: (total[i], order.index(i)))
        below = [i for i in below if counts[i] or i in others[:wanted]]
    below = sorted(below)
    above = sorted([i for i in evaluated if i not in below] + pending)
    merit = by_rank([rank[i] for i in below]) if settings.by_rank else None
    return Group(below, above, len(below) / max(len(evaluated), 1), merit)


def _violations(constraints: Any, evaluated: list[int]) -> dict[int, float]:
    """Sums of positive values, each over the largest finite one of its constraint; infinite with a NaN."""
    scale = [max([v for v in column[evaluated] if 0 < v < math.inf], default=1.0) for column in constraints.T]
    positive = {i: [math.inf if math.isnan(v) else max(v, 0.0) for v in constraints[i]] for i in evaluated}
    return {i: sum(v / s for v, s in zip(own, scale, strict=True)) for i, own in positive.items()}


def by_rank(ranks: list) -> list[float]:
    """log(m + 1) - log(1 + number of rows of better rank), with a mean of 1."""
    raw = [math.log((len(ranks) + 1) / (1 + sum(other < own for other in ranks))) for own in ranks]
    return [len(raw) * w / sum(raw) for w in raw]


def by_hypervolume(objectives: Any, rank: Any, evaluated: list[int], counts: Any, wanted: int) -> list[int]:
    """Front after front; the one with the last wanted row as the greedy choice takes its rows."""
    order: list[int] = []
    for front in sorted({int(rank[i]) for i in evaluated}):
        rows = [i for i in evaluated if rank[i] == front]
        found = sum(counts[i] for i in order)
        if found < wanted <= found + sum(counts[i] for i in rows):
            rows = [rows[k] for k in _greedy(tuple(map(tuple, objectives[rows].tolist())))]
        order += rows
    return order


@functools.lru_cache(maxsize=1000)
def _greedy(losses: tuple) -> list[int]:
    rows = np.asarray(losses, float)
    return pareto.greedy(rows, reference_point(rows), len(rows))


def reference_point(losses: Any) -> np.ndarray:
    """Optuna's, of the finite losses."""
    out = []
    for column in losses.T:
        worst = max((v for v in column if math.isfinite(v)), default=0.0)
        out.append((1.1 * worst if worst > 0 else 0.9 * worst) or 1e-12)
    return np.asarray(out)


def _satisfied(value: Any, known: list[int], unsatisfied: str) -> list[int]:
    satisfied = [i for i in known if value[i] <= 0]
    measured = [i for i in known if not math.isnan(value[i])]
    if satisfied or not measured or unsatisfied == "none":
        return satisfied
    lowest = min(value[i] for i in measured)
    equal = [i for i in measured if value[i] == lowest]
    return equal if unsatisfied == "all" else equal[:1]


def ages(n: int) -> list[float]:
    """1 for the last 25 rows, older ones on a straight line from 1/n."""
    return [*np.linspace(1 / n, 1, n - 25), *[1.0] * 25] if n > 25 else [1.0] * n


# --- densities -----------------------------------------------------------------------------------


def fit(settings: Settings, parameters: Any, rows: Any, merit: list[float] | None = None) -> Any:
    """Kernels with their scales and weights, and the prior's weight; rows are oldest first."""

    def rule(positions: Any, n_values: Any, has_prior: bool) -> Any:
        prior = 0.5 if has_prior else None
        if settings.kernel == "neighbours":
            return rules.neighbours(positions, prior)
        if settings.kernel == "normal_reference":
            least = 1 / n_values if n_values else settings.minimum
            return rules.normal_reference(positions, len(parameters), minimum=least)
        return rules.scott(positions, prior, minimum=1 / n_values if n_values else settings.minimum)

    top = optuna_top if settings.top is None else settings.top
    older = ages(len(rows)) if settings.forget else None
    if merit is not None:
        older = [a * b for a, b in zip(older or [1.0] * len(rows), merit, strict=True)]
    return mixture.fit(parameters, rows, None, rule, top, settings.prior_weight, older)


def optuna_top(n_kernels: int, n_choices: int) -> float:
    """Own category's probability of Optuna's kernels, the prior counted among them."""
    return (1 + 1 / n_kernels) / (1 + n_choices / n_kernels)


def log_density(parameters: Any, fitted: Any, x: Any) -> float:
    """Log density of one configuration in unit coordinates."""
    own = mixture.regimes(parameters, x)
    active = [j for j in range(len(parameters)) if own[j] is not None]

    def factor(j: int, row: Any = None, scale: float = 1.0) -> float:
        kind, domain = parameters[j]["kind"], mixture.domains(parameters[j])[own[j]]
        values = mixture.listed(kind, domain)
        if values is not None and len(values) == 1:
            return 0.0
        if kind == "categorical":
            if row is None:
                return -math.log(len(values))
            probability = 1 - scale if x[j] == row else scale / (len(values) - 1)
            return math.log(probability) if probability > 0 else -math.inf
        _, lower, upper, _ = mixture.place(kind, domain, x[j])
        centre = 0.5 if row is None else mixture.place(kind, domain, row)[0]
        return log_kernel(centre, lower, upper, float(scale))

    kernels, prior_weight = fitted
    prior = {j: factor(j) for j in active}
    terms = [math.log(prior_weight) + sum(prior.values())] if prior_weight > 0 else []
    for row, regimes, scale, weight in kernels:
        if weight > 0:
            factors = [factor(j, row[j], scale[j]) if regimes[j] == own[j] else prior[j] for j in active]
            terms.append(math.log(weight) + sum(factors))
    largest = max(terms)
    return largest + math.log(math.fsum(math.exp(t - largest) for t in terms))


@functools.lru_cache(maxsize=100_000)
def log_kernel(centre: float, lower: float, upper: float, scale: float) -> float:
    """Log density at a point, or log mass of a cell, of a normal truncated to [0, 1]."""
    whole = 1 - _tail(centre / scale) - _tail((1 - centre) / scale)
    if lower == upper:
        z = (lower - centre) / scale
        return -0.5 * z * z - math.log(scale * math.sqrt(2 * math.pi) * whole)
    # Seen from the side on which the cell lies, so that a far one is a difference of small tails.
    if upper - centre < centre - lower:
        lower, upper = 2 * centre - upper, 2 * centre - lower
    mass = _tail((lower - centre) / scale) - _tail((upper - centre) / scale)
    return math.log(mass / whole) if mass > 0 else -math.inf


def _tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


# --- scores --------------------------------------------------------------------------------------


def relative(ratio: float, gamma: float) -> float:
    """log of 1 / (gamma + (1 - gamma) / r)."""
    if gamma == 1:
        return 0.0
    return ratio if gamma == 0 else -float(np.logaddexp(math.log(gamma), math.log1p(-gamma) - ratio))


def ratios(settings: Settings, space: Any, table: Any, candidates: Any) -> tuple[np.ndarray, list[Group]]:
    """log l - log g of every group at every candidate, (c + 1, j), and the groups."""
    x, objectives, constraints, constraint_only = (np.asarray(part) for part in table)
    parameters = mixture.parameters_of(space)
    own = groups(settings, x, objectives, constraints, constraint_only)
    out = np.empty((len(own), len(candidates)))
    for k, group in enumerate(own):
        below = fit(settings, parameters, x[group.below], group.merit)
        above = fit(settings, parameters, x[group.above])
        out[k] = [log_density(parameters, below, c) - log_density(parameters, above, c) for c in candidates]
    return out, own


def scores(settings: Settings, space: Any, table: Any, candidates: Any) -> np.ndarray:
    """What the sampler maximises, (j,), at candidates of the space."""
    ratio, own = ratios(settings, space, table, candidates)
    if settings.score == "ratio":
        return ratio[0]
    if settings.score == "naive":
        return ratio.sum(axis=0)
    shares = [own[0].gamma ** settings.share_power, *(g.gamma for g in own[1:])]
    parts = [[relative(r, gamma) for r in row] for row, gamma in zip(ratio, shares, strict=True)]
    return np.asarray(parts).sum(axis=0)

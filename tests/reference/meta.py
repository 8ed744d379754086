"""Meta-learning TPE as loops, from arXiv 2212.06751: mixtures over tasks, and which tasks are similar."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.integrate
import scipy.stats

from reference import bandwidth as rules
from reference import mixture, tpe

NOTHING = tpe.Group([], [], 0.0)


def kernel(similarities: Sequence[float], counted: Sequence[bool] | None = None) -> list[float]:
    """k(1, m): the target first. Sources that are not counted have no share, and T is without them."""
    counted = [True] * len(similarities) if counted is None else counted
    shares = [s / (sum(counted) + 1) if c else 0.0 for s, c in zip(similarities, counted, strict=True)]
    return [1 - sum(shares), *shares]


def scores(
    settings: tpe.Settings,
    space: Any,
    tables: Sequence[Any],
    similarities: Sequence[Sequence[float]],
    candidates: Any,
    lacking: Sequence[int] = (),
    missing: Mapping[int, Sequence[int]] | None = None,
) -> np.ndarray:
    """What the sampler maximises, (j,).

    A task without rows in the groups of the objective, or of a constraint, is not counted there; a source
    with fewer feasible rows than are to be below says nothing about the objective.

    Args:
        settings: of the sampler.
        space: of all tasks.
        tables: rows of the target, then of every source.
        similarities: of every group, to each source.
        candidates: (j, d).
        lacking: numbers of the tables without constraints: all feasible, in no constraint's groups.
        missing: number of a table -> columns that it does not have: the prior stands for them.
    """
    parameters, missing = mixture.parameters_of(space), missing or {}
    groups = [tpe.groups(settings, t.x, t.losses, t.constraints, t.constraint_only) for t in tables]
    for m in lacking:
        t = tables[m]
        free = tpe.groups(settings, t.x, t.losses, np.full_like(t.constraints, -1), t.constraint_only)
        groups[m] = [free[0], *[NOTHING] * (len(free) - 1)]
    for m, t in enumerate(tables[1:], 1):
        evaluated = [
            i for i, row in enumerate(t.losses) if not t.constraint_only[i] and not np.isnan(row).any()
        ]
        n_feasible = sum(m in lacking or bool((t.constraints[i] <= 0).all()) for i in evaluated)
        if n_feasible < tpe.count(settings, len(evaluated)):
            groups[m] = [NOTHING, *groups[m][1:]]
    total = np.zeros(len(candidates))
    for i in range(len(groups[0])):
        weight = kernel(similarities[i], [bool(own[i].below or own[i].above) for own in groups[1:]])
        sizes = {
            name: [k * len(getattr(own[i], name)) for k, own in zip(weight, groups, strict=True)]
            for name in ("below", "above")
        }
        logs = {}
        for name, own_sizes in sizes.items():
            if sum(own_sizes) == 0:
                own_sizes = [1.0] + [0.0] * (len(tables) - 1)
            fitted = [
                fit(settings, parameters, np.asarray(t.x)[getattr(own[i], name)], missing.get(m, ()))
                for m, (t, own) in enumerate(zip(tables, groups, strict=True))
            ]
            logs[name] = [
                mixed([tpe.log_density(parameters, f, c) for f in fitted], own_sizes) for c in candidates
            ]
        # Pending rows are above, but are not known.
        pending = [
            sum(
                any(map(math.isnan, row)) for row, e in zip(t.losses, t.constraint_only, strict=True) if not e
            )
            * bool(groups[m][i].below or groups[m][i].above)
            for m, t in enumerate(tables)
        ]
        known = sum(
            k * (len(own[i].below) + len(own[i].above) - n)
            for k, own, n in zip(weight, groups, pending, strict=True)
        )
        gamma = sum(sizes["below"]) / known if known else groups[0][i].gamma
        for j, (low, high) in enumerate(zip(logs["below"], logs["above"], strict=True)):
            total[j] += low - high if settings.score == "ratio" else tpe.relative(low - high, gamma)
    return total


def fit(settings: tpe.Settings, parameters: Any, rows: Any, missing: Sequence[int]) -> Any:
    """`tpe.fit`; kernels are the prior in columns that are missing, whatever stands there."""
    kernels, prior_weight = tpe.fit(settings, parameters, rows)
    for _, regimes, _, _ in kernels:
        for j in missing:
            regimes[j] = None
    return kernels, prior_weight


def mixed(logs: Sequence[float], weights: Sequence[float]) -> float:
    """log of the weighted mean of exp."""
    terms = [log + math.log(w / sum(weights)) for log, w in zip(logs, weights, strict=True) if w > 0]
    top = max(terms)
    return top + math.log(math.fsum(math.exp(t - top) for t in terms))


# --- which tasks are similar ---------------------------------------------------------------------


def importance(space: Any, x: Any, below: Sequence[int], counted: Sequence[int]) -> np.ndarray:
    """Eq. 15 without gamma^2: E_u[(p_d / u - 1)^2] for marginals of the densities that tasks are compared by.

    In each regime that of its rows below, times share^2 / P: the shares in it of the rows below and of all.
    """
    parameters, rows = mixture.parameters_of(space), np.asarray(x)
    out = np.zeros(len(parameters))
    regimes = [mixture.regimes(parameters, row) for row in rows]
    for j, parameter in enumerate(parameters):
        kind = parameter["kind"]
        for r, domain in enumerate(mixture.domains(parameter)):
            own = [rows[i, j] for i in below if regimes[i][j] == r]
            values = mixture.listed(kind, domain)
            if not own or (values is not None and len(values) == 1):
                continue
            places = [mixture.place(kind, domain, v)[0] for v in own] if kind != "categorical" else []
            scale = comparable_scale(places, len(values) if values else None) if places else 0.0
            if values is None:
                z = np.linspace(0, 1, 20_001)
                ends = [((0 - c) / scale, (1 - c) / scale) for c in places]
                p = np.mean(
                    [scipy.stats.truncnorm.pdf(z, *e, c, scale) for e, c in zip(ends, places, strict=True)],
                    axis=0,
                )
                gap = scipy.integrate.simpson((p - 1) ** 2, x=z)
            else:
                p = [math.fsum(mass(kind, domain, v, c, scale) for c in own) / len(own) for v in values]
                u = [uniform_mass(kind, domain, v, len(values)) for v in values]
                gap = math.fsum(q * (m / q - 1) ** 2 for m, q in zip(p, u, strict=True))
            share = len(own) / len(below)
            out[j] += share**2 * gap * len(counted) / sum(regimes[i][j] == r for i in counted)
    return out


def mass(kind: str, domain: Any, value: Any, row: Any, scale: float) -> float:
    """Of one value, by the kernel around a row; categories have no spread."""
    if kind == "categorical":
        return float(value == row)
    _, lower, upper, _ = mixture.place(kind, domain, value)
    return math.exp(tpe.log_kernel(mixture.place(kind, domain, row)[0], lower, upper, scale))


def uniform_mass(kind: str, domain: Any, value: Any, n_values: int) -> float:
    """Of one value: uniform over choices and lists, and on the axis of integers and steps."""
    if kind in ("categorical", "ordinal"):
        return 1 / n_values
    _, lower, upper, _ = mixture.place(kind, domain, value)
    return upper - lower


def kept(space: Any, of_tasks: Sequence[Any], n_below: int, eta: float) -> list[int]:
    """Columns that the target, the first task, is compared by; None are where it has too few rows below."""
    n = 0
    while eta ** (n + 1) <= n_below:
        n += 1
    importance = np.mean(of_tasks, axis=0)
    first = sorted(range(len(importance)), key=lambda j: (-importance[j], j))[:n]
    parameters = mixture.parameters_of(space)
    names = [parameter["name"] for parameter in parameters]
    out = set(first)
    while True:
        conditions = [c for j in out for d in mixture.domains(parameters[j]) for c in d.get("conditions", [])]
        more = {names.index(c["parent"]) for c in conditions}
        if more <= out:
            return sorted(out)
        out |= more


def similarity(space: Any, first: Any, second: Any, columns: Sequence[int]) -> float:
    """Of two sets of rows in a space of discrete parameters, by summing over all values."""
    parameters = [mixture.parameters_of(space)[j] for j in columns]
    values = [
        sorted({v for d in mixture.domains(p) for v in mixture.listed(p["kind"], d)}) for p in parameters
    ]
    d = 0.0
    for x in itertools.product(*[[*own, math.nan] for own in values]):
        regimes = mixture.regimes(parameters, x)
        if all((r is None) == math.isnan(v) for r, v in zip(regimes, x, strict=True)):
            p, q = (comparable(parameters, np.asarray(rows)[:, columns], x) for rows in (first, second))
            d += 0.5 * abs(p - q)
    return (1 - d) / (1 + d)


def comparable(parameters: Any, rows: Any, x: Any) -> float:
    """The density by which tasks are compared: without a prior, and without spread between categories."""

    def rule(positions: Any, n_values: Any, has_prior: bool) -> float:
        return comparable_scale(positions, n_values)

    found = tpe.log_density(parameters, mixture.fit(parameters, rows, None, rule, 1.0, 0.0), x)
    return 0.0 if math.isnan(found) else math.exp(found)  # NaN where no row is


def comparable_scale(positions: Any, n_values: int | None) -> float:
    """The bandwidth of these densities."""
    return rules.scott(positions, None, minimum=1 / n_values if n_values else 0.1)

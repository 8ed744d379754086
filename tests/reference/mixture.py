"""Mixtures of product kernels on mixed conditional spaces as plain loops, from the definition.

A component is a product with parents first. Given the candidate's parents a parameter has a regime; the
factor is the kernel around the row's value if the row had the same regime, else the prior of that regime, and
1 if the parameter is inactive. A space is read from its JSON; Gaussian masses are mpmath's, at 50 digits.
"""

import functools
import itertools
import json
import math

import numpy as np

from reference import bandwidth as rules
from reference import normal
from reference.normal import mp


def parameters_of(space):
    return json.loads(space.to_json())["parameters"]


def domains(parameter):
    return parameter.get("regimes", [parameter])


def regimes(parameters, row):
    """Number of the domain that applies to each parameter, None where it is inactive."""
    columns = {parameter["name"]: j for j, parameter in enumerate(parameters)}
    known = {}

    def regime(name):
        if name not in known:
            listed = domains(parameters[columns[name]])
            known[name] = next(
                (i for i, domain in enumerate(listed) if all(map(holds, domain.get("conditions", [])))), None
            )
        return known[name]

    def holds(condition):
        if regime(condition["parent"]) is None:
            return False
        parent, value = parameters[columns[condition["parent"]]], row[columns[condition["parent"]]]
        if math.isnan(value):
            return False
        if "values" in condition:
            if parent.get("kind") == "categorical":
                value = domains(parent)[regime(condition["parent"])]["choices"][int(value)]
            return value in condition["values"]
        return condition.get("ge", -math.inf) <= value < condition.get("lt", math.inf)

    return [regime(parameter["name"]) for parameter in parameters]


def is_continuous(kind, domain):
    return kind == "float" and domain.get("step") is None and domain["low"] < domain["high"]


def listed(kind, domain):
    """The values of a discrete domain, and None for a continuum."""
    if kind == "categorical":
        return list(range(len(domain["choices"])))
    if kind == "ordinal":
        return list(domain["values"])
    if is_continuous(kind, domain):
        return None
    if domain["low"] == domain["high"]:
        return [domain["low"]]
    step = domain.get("step") or 1
    return [domain["low"] + i * step for i in range(round((domain["high"] - domain["low"]) / step) + 1)]


def place(kind, domain, value):
    """Centre, lower and upper end of a value's cell on [0, 1], and the length of the axis before scaling."""
    position = math.log if domain.get("log", False) else float
    if kind == "ordinal":
        where = [position(v) for v in domain["values"]]
        between = [(a + b) / 2 for a, b in itertools.pairwise(where)]
        ends = [2 * where[0] - between[0], *between, 2 * where[-1] - between[-1]]
        i = domain["values"].index(value)
        cell = ends[i], ends[i + 1]
        low, high = ends[0], ends[-1]
    else:
        step = domain.get("step") or 1
        half = 0 if is_continuous(kind, domain) else step / 2
        low, high = position(domain["low"] - half), position(domain["high"] + half)
        cell = position(value - half), position(value + half)
    length = high - low
    return (position(value) - low) / length, (cell[0] - low) / length, (cell[1] - low) / length, length


@functools.lru_cache(maxsize=100_000)
def log_kernel(centre, lower, upper, scale):
    """Log density at a point, or log mass of a cell, of a normal truncated to [0, 1]."""
    if lower == upper:
        return normal.log_prob(lower, centre, scale, 0, 1)[0]
    low, high = (mp.mpf(lower) - centre) / scale, (mp.mpf(upper) - centre) / scale
    whole = normal.mass(mp.mpf(-centre) / scale, (1 - mp.mpf(centre)) / scale)
    return mp.log(normal.mass(low, high)) - mp.log(whole)


def log_factor(kind, domain, x, row=None, scale=1.0):
    """One factor of a component in unit coordinates: around ``row``, or the wide one when that is None."""
    values = listed(kind, domain)
    if values is not None and len(values) == 1:
        return mp.mpf(0)
    if kind == "categorical":
        if row is None:
            return -mp.log(len(values))
        probability = 1 - scale if x == row else scale / (len(values) - 1)
        return mp.log(probability) if probability > 0 else -mp.inf
    _, lower, upper, _ = place(kind, domain, x)
    centre = 0.5 if row is None else place(kind, domain, row)[0]
    return log_kernel(centre, lower, upper, scale)


def scott(positions, n_values, has_prior):
    minimum = 1 / n_values if n_values else 0.01
    return rules.scott(positions, 0.5 if has_prior else None, minimum=minimum)


def constant(scale):
    return lambda positions, n_values, has_prior: scale


def fit(parameters, rows, weight=None, rule=scott, top=0.8, prior_weight=1.0, mixture_weight=None):
    """Present rows with their regimes, scales and weights; whole frequency weights only.

    ``top`` may be a function of the number of kernels and of choices.
    """
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight)
    kept = [i for i in range(len(rows)) if weight[i] > 0]
    found = [regimes(parameters, rows[i]) for i in kept]
    scales = np.ones((len(kept), len(parameters)))
    for j, parameter in enumerate(parameters):
        kind = parameter["kind"]
        for r, domain in enumerate(domains(parameter)):
            here = [k for k in range(len(kept)) if found[k][j] == r]
            values = listed(kind, domain)
            if not here or (values is not None and len(values) == 1):
                continue
            if kind == "categorical":
                n_kernels = sum(weight[kept[k]] for k in here) + (prior_weight > 0)
                scales[here, j] = 1 - (top(n_kernels, len(values)) if callable(top) else top)
                continue
            repeated = [
                place(kind, domain, rows[kept[k]][j])[0] for k in here for _ in range(int(weight[kept[k]]))
            ]
            scales[here, j] = rule(repeated, None if values is None else len(values), prior_weight > 0)
    mixed = [weight[i] * (1 if mixture_weight is None else mixture_weight[i]) for i in kept]
    own_prior = prior_weight if sum(mixed) > 0 else 1.0
    total = sum(mixed) + own_prior
    kernels = [(rows[i], found[k], scales[k], mixed[k] / total) for k, i in enumerate(kept)]
    return kernels, own_prior / total


def log_density(parameters, fitted, x, measure="native"):
    """Log density of one configuration."""
    own = regimes(parameters, x)
    jacobian = mp.mpf(0)
    for parameter, regime, value in zip(parameters, own, x, strict=True):
        if regime is None:
            if not math.isnan(value):
                return -math.inf
            continue
        kind, domain = parameter["kind"], domains(parameter)[regime]
        values = listed(kind, domain)
        if values is None and domain["low"] <= value <= domain["high"]:
            length = place(kind, domain, value)[3]
            jacobian -= mp.log(length) + (mp.log(value) if domain.get("log") else 0)
        elif values is None or value not in values:
            return -math.inf

    def wide(j):
        return log_factor(parameters[j]["kind"], domains(parameters[j])[own[j]], x[j])

    active = [j for j in range(len(parameters)) if own[j] is not None]
    kernels, prior_weight = fitted
    total = prior_weight * mp.exp(mp.fsum(wide(j) for j in active))
    for row, row_regimes, scale, weight in kernels:
        factors = [
            log_factor(parameters[j]["kind"], domains(parameters[j])[own[j]], x[j], row[j], scale[j])
            if row_regimes[j] == own[j]
            else wide(j)
            for j in active
        ]
        total += weight * mp.exp(mp.fsum(factors))
    if total == 0:
        return -math.inf
    return float(mp.log(total) + (jacobian if measure == "native" else 0))

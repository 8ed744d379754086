"""Naive ways to make a conditional log unconditional: the baselines of conditional PED-ANOVA.

Algorithms 2-4 of the appendix of arXiv 2601.20800. Each returns observations of a space without conditions,
for `parzax.cond_ped_anova`, so that the paper's comparison can be run. Use them only for comparison:
filtering computes each parameter from different rows, and imputation and expansion add values that were never
sampled.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from parzax.lens.logs import Observations
from parzax.space import INACTIVE, Categorical, Domain, Float, Int, Numeric, Ordinal, Recorded, Space, Varying


def filtering(obs: Observations, name: str) -> Observations:
    """Keep the rows where parameter ``name`` is active, and that parameter alone (Algorithm 2).

    The other rows get weight 0, so levels are taken among the rows that are kept. For the importance of
    several parameters by filtering, make one such computation for each and put the results side by side.

    Raises:
        ValueError: if the parameter has several domains: filter after `expansion`.
    """
    # Rows with an imputed value get weight 0.
    return _imputed(obs, [name]).select(obs.regime[..., obs.space.index(name)] != INACTIVE)


def imputation(obs: Observations) -> Observations:
    """Give inactive parameters the middle of their domain (Algorithm 3).

    Log domains get their geometric middle, integers the middle rounded down, and categorical parameters their
    first choice.

    Raises:
        ValueError: if a parameter has several domains: impute after `expansion`.
    """
    return _imputed(obs, obs.space.names)


def expansion(obs: Observations) -> Observations:
    """Replace the domains of each parameter by one domain that contains all of them (Algorithm 4).

    Numeric domains become one domain from the lowest low to the highest high. It has a log axis only if all
    of them have one, and integers only if all of them have integers. Categorical domains become the union of
    their choices. A parameter that can be inactive still can be: combine with `imputation` or `filtering`.

    Raises:
        ValueError: for a parameter with several domains, one of which is ordinal.
    """
    values, regime, parameters = obs.values.copy(), obs.regime.copy(), {}
    for column, (name, domains) in enumerate(zip(obs.space.names, obs.space.domains, strict=True)):
        if len(domains) == 1 and not isinstance(domains[0], Varying):
            parameters[name] = domains[0]
            continue
        union = _union(name, domains)
        if isinstance(union, Categorical):
            for i, domain in enumerate(domains):
                assert isinstance(domain, Categorical)
                codes = np.array([union.codes[key] for key in domain.codes], dtype=np.float64)
                rows = regime[..., column] == i
                values[rows, column] = codes[values[rows, column].astype(np.int64)]
        active = regime[..., column] != INACTIVE
        regime[..., column] = np.where(active, 0, INACTIVE)
        parameters[name] = union if active.all() else replace(union, when=Recorded())
    return replace(obs, space=Space(parameters), values=values, regime=regime, bounds=None)


def _imputed(obs: Observations, names: Sequence[str]) -> Observations:
    """Observations of the named parameters only, without conditions, with inactive values imputed."""
    parameters, columns = {}, []
    for name in names:
        domains, column = obs.space[name], obs.space.index(name)
        if len(domains) != 1:
            raise ValueError(f"parameter {name!r} has {len(domains)} domains; expand the log first.")
        inactive = obs.regime[..., column] == INACTIVE
        columns.append(np.where(inactive, _middle(domains[0]), obs.values[..., column]))
        parameters[name] = replace(domains[0], when=())
    values = np.stack(columns, axis=-1)
    bounds = None if obs.bounds is None else {name: obs.bounds[name] for name in names if name in obs.bounds}
    regime = np.zeros(values.shape, np.int16)
    return replace(obs, space=Space(parameters), values=values, regime=regime, bounds=bounds)


def _middle(domain: Domain) -> float:
    if isinstance(domain, Categorical):
        return 0.0
    if isinstance(domain, Ordinal):
        return float(domain.values[(len(domain.values) - 1) // 2])
    assert isinstance(domain, Numeric)
    middle = math.sqrt(domain.low * domain.high) if domain.log else (domain.low + domain.high) / 2
    step = getattr(domain, "step", None)
    return middle if step is None else domain.low + math.floor((middle - domain.low) / step) * step


def _union(name: str, domains: tuple[Domain, ...]) -> Domain:
    categorical = [d for d in domains if isinstance(d, Categorical)]
    if categorical:
        choices = {key: d.choices[code] for d in categorical for key, code in d.codes.items()}
        return Categorical(tuple(choices.values()))
    numeric = [d for d in domains if isinstance(d, Numeric)]
    if len(numeric) < len(domains):
        raise ValueError(f"parameter {name!r} has ordinal domains, which cannot be expanded.")
    kind = Int if all(isinstance(d, Int) for d in numeric) else Float
    low, high = min(d.low for d in numeric), max(d.high for d in numeric)
    return kind(low, high, log=all(d.log for d in numeric))

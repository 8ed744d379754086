"""Naive ways to make a conditional log unconditional: the baselines of conditional PED-ANOVA.

Algorithms 2-4 of the appendix of arXiv 2601.20800. Each returns observations of a space without conditions,
for `ped_anova`, so that the paper's comparison can be run. They are here to be compared with: filtering
compares every parameter within rows of its own, imputation and expansion invent what was not sampled.
"""

import math
from dataclasses import replace

import numpy as np

from parzax.observations import Observations
from parzax.space import INACTIVE, Categorical, Domain, Float, Int, Numeric, Ordinal, Recorded, Space, Varying


def filtering(obs: Observations, name: str) -> Observations:
    """Keep the rows where parameter ``name`` is active, and that parameter alone (Algorithm 2).

    Levels are then taken among those rows. The importance of several parameters by filtering puts one such
    computation for each side by side.

    Args:
        obs: the log.
        name: a parameter with one domain.

    Returns:
        Observations of one parameter; rows where it is inactive have weight 0.

    Raises:
        ValueError: if the parameter has several domains: filter after `expansion`.
    """
    column = obs.space.index(name)
    domain = _only_domain(obs.space, name, "expand the log first")
    active = obs.regime[..., column] != INACTIVE
    # Whatever stands where the parameter is inactive has weight 0; a value of the domain keeps it legal.
    values = np.where(active, obs.values[..., column], _middle(domain))
    reduced = replace(
        obs,
        space=Space({name: replace(domain, when=())}),
        values=values[..., None],
        regime=np.zeros((*values.shape, 1), np.int16),
    )
    return reduced.select(active)


def imputation(obs: Observations) -> Observations:
    """Give inactive parameters the middle of their domain (Algorithm 3).

    The geometric middle of log domains, rounded down for whole numbers; the first choice of categorical
    parameters.

    Raises:
        ValueError: if a parameter has several domains: impute after `expansion`.
    """
    values, parameters = obs.values.copy(), {}
    for column, name in enumerate(obs.space.names):
        domain = _only_domain(obs.space, name, "expand the log first")
        inactive = obs.regime[..., column] == INACTIVE
        values[..., column] = np.where(inactive, _middle(domain), values[..., column])
        parameters[name] = replace(domain, when=())
    return replace(obs, space=Space(parameters), values=values, regime=np.zeros(values.shape, dtype=np.int16))


def expansion(obs: Observations) -> Observations:
    """Replace the domains of each parameter by one that spans them all (Algorithm 4).

    Numeric domains become [lowest low, highest high], on a log axis or of whole numbers only if all of them
    are; categorical ones the union of their choices. A parameter that can be inactive stays so: combine
    with `imputation` or `filtering`.

    Raises:
        ValueError: for a parameter with several domains of which one is ordinal.
    """
    values, regime, parameters = obs.values.copy(), obs.regime.copy(), {}
    for column, (name, domains) in enumerate(zip(obs.space.names, obs.space.domains, strict=True)):
        if len(domains) == 1 and not isinstance(domains[0], Varying):
            parameters[name] = domains[0]
            continue
        union = _union(name, domains)
        if isinstance(union, Categorical):
            values[..., column] = _recoded(values[..., column], regime[..., column], domains, union)
        active = regime[..., column] != INACTIVE
        regime[..., column] = np.where(active, 0, INACTIVE)
        parameters[name] = union if active.all() else replace(union, when=Recorded())
    return replace(obs, space=Space(parameters), values=values, regime=regime)


def _recoded(
    codes: np.ndarray, regime: np.ndarray, domains: tuple[Domain, ...], union: Categorical
) -> np.ndarray:
    """Codes in the union's choices of codes in each regime's own."""
    out = codes.copy()
    for i, domain in enumerate(domains):
        assert isinstance(domain, Categorical)
        here = regime == i
        table = np.array([union.codes[key] for key in domain.codes], dtype=np.float64)
        out[here] = table[codes[here].astype(np.int64)]
    return out


def _only_domain(space: Space, name: str, remedy: str) -> Domain:
    domains = space[name]
    if len(domains) != 1:
        raise ValueError(f"parameter {name!r} has {len(domains)} domains; {remedy}.")
    return domains[0]


def _middle(domain: Domain) -> float:
    if isinstance(domain, Categorical):
        return 0.0
    if isinstance(domain, Ordinal):
        return float(domain.values[(len(domain.values) - 1) // 2])
    assert isinstance(domain, Numeric)
    middle = math.sqrt(domain.low * domain.high) if domain.log else (domain.low + domain.high) / 2
    step = getattr(domain, "step", None)
    if step is None:
        return middle
    return domain.low + math.floor((middle - domain.low) / step) * step


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

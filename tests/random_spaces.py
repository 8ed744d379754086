"""Random mixed, conditional, periodic spaces, and all configurations of one with weights of a quadrature."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
from reference import mixture

import parzax as px

# So many Gauss-Legendre nodes between two thresholds integrate kernels of width 0.3 to 1e-12.
_NODES = 16
# Spaces of one shape share compiled programs: they differ in bounds, choices and thresholds alone.
N_SHAPES = 20


def random_space(seed: int) -> px.Space:
    """Two to four parameters of random kinds, of which later ones may depend on earlier ones."""
    shape, rng = np.random.default_rng(seed % N_SHAPES), np.random.default_rng([seed, 1])
    domains: dict[str, px.space.Domain | tuple[px.space.Domain, ...]] = {}
    floats = 0
    for j in range(int(shape.integers(2, 5))):
        kind = str(shape.choice(["float", "float", "int", "int", "step", "ordinal", "categorical"]))
        kind = "int" if kind == "float" and floats == 2 else kind
        floats += kind == "float"
        when, several = (), False
        if domains and shape.uniform() < 0.7:
            parent = str(shape.choice(list(domains)))
            when = (_condition(rng, parent, domains[parent]),)
            several = kind != "categorical" and shape.uniform() < 0.4
        size, log = int(shape.integers(2, 4)), bool(shape.integers(2))
        of_name = tuple(_domain(rng, kind, size, log, w) for w in ((when, ()) if several else (when,)))
        domains["pqrs"[j]] = of_name if several else of_name[0]
    names = list(shape.permutation(list(domains)))
    return px.Space({str(name): domains[name] for name in names})


def _domain(rng: np.random.Generator, kind: str, size: int, log: bool, when: tuple) -> px.space.Domain:
    low, periodic = float(rng.integers(1, 5)), not log and size == 2
    if kind == "float":
        return px.Float(low, low * rng.uniform(2, 50), log=log, when=when, periodic=periodic)
    if kind == "int":
        return px.Int(int(low), int(low) + size, log=log, when=when, periodic=periodic)
    if kind == "step":
        return px.Float(-low, -low + 0.25 * size, step=0.25, when=when)
    if kind == "ordinal":
        return px.Ordinal([low * 2**i for i in range(size + 1)], log=log, when=when)
    return px.Categorical([f"choice {i}" for i in range(size)], when=when)


def _condition(rng: np.random.Generator, parent: str, domain) -> px.Between | px.In:
    first = domain[0] if isinstance(domain, tuple) else domain
    if first.n_values is None:
        cut = rng.uniform(first.low, first.high)
        return px.Between(parent, high=cut) if rng.integers(2) else px.Between(parent, low=cut)
    values = list(first.choices) if isinstance(first, px.Categorical) else first.list_values().tolist()
    return px.In(parent, [values[int(rng.integers(len(values)))]])


def all_configurations(
    space: px.Space, given: Mapping[str, float] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Configurations and weights, whose weighted sum is the integral over a space.

    With ``given`` native values (NaN = inactive) the integral is over the other parameters. The values may
    then be outside the domains that apply.
    """
    parameters = mixture.parameters_of(space)
    cuts = {name: [] for name in space.names}
    for domains in space.domains:
        for condition in (c for domain in domains for c in domain.conditions if isinstance(c, px.Between)):
            cuts[condition.parent] += [condition.low, condition.high]
    node, weight = np.polynomial.legendre.leggauss(_NODES)

    def values_of(name: str, regime: int) -> Iterator[tuple[float, float]]:
        parameter = parameters[space.index(name)]
        domain = mixture.domains(parameter)[regime]
        listed = mixture.listed(parameter["kind"], domain)
        if listed is not None:
            yield from ((value, 1.0) for value in listed)
            return
        inside = [cut for cut in cuts[name] if domain["low"] < cut < domain["high"]]
        there, back = (np.log, np.exp) if domain.get("log") else (np.array, np.array)
        ends = there(sorted({domain["low"], domain["high"], *inside}))
        for low, high in pairwise(ends):
            at = back(low + (high - low) * (node + 1) / 2)
            slope = at if domain.get("log") else np.ones_like(at)
            yield from zip(at.tolist(), (slope * weight * (high - low) / 2).tolist(), strict=True)

    points, weights = [np.full(len(space), math.nan)], [1.0]
    for name in space.order:
        j, longer, heavier = space.index(name), [], []
        for point, of_point in zip(points, weights, strict=True):
            regime = mixture.regimes(parameters, point)[j]
            values = [(math.nan, 1.0)] if regime is None else values_of(name, regime)
            for value, factor in [(given[name], 1.0)] if given and name in given else values:
                longer.append(point.copy())
                longer[-1][j] = value
                heavier.append(of_point * factor)
        points, weights = longer, heavier
    return np.array(points), np.array(weights)

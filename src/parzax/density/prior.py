"""Beliefs about good values of parameters, for the argument ``prior`` of `parzax.tpe`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from parzax import _checks
from parzax._numerics import to_device
from parzax.density.basis import check_name
from parzax.density.beliefs import Beliefs
from parzax.density.estimator import ParzenEstimator
from parzax.space import Categorical, Cells, Domain, Space, choice_key

# Least number of cells of all axes; more values share cells, unless they are choices.
_CELLS = 256
# Smallest log of a belief, relative to its largest; its exponential is positive in float32.
_LOWEST = -60.0
# Beliefs that differ by less than rounding are uniform.
_DECIMALS = 9


@final
@dataclass(frozen=True)
class Normal:
    """A normal belief about a number.

    Attributes:
        mean: the most likely value, as it is written: 1e-3 for a learning rate around 0.001.
        width: standard deviation: in decades if the axis is logarithmic (0.5 is a factor of about 3), else in
            the unit of the values.
    """

    mean: float
    width: float

    def __post_init__(self) -> None:
        _checks.real_number("Normal: mean", self.mean)
        _checks.real_number("Normal: width", self.width, above=0)


def by_name(prior: Any) -> Mapping[str, Any]:
    """The argument ``prior`` of `parzax.tpe` as beliefs by name; TypeError for what is no belief."""
    if prior is None:
        return {}
    if isinstance(prior, ParzenEstimator):
        return dict.fromkeys(prior.space.names, prior)
    _checks.instance("prior", prior, Mapping, "a dict such as {'lr': px.prior.Normal(1e-3, 0.5)}")
    for name, belief in prior.items():
        if not isinstance(belief, (Normal, Mapping)) and not hasattr(belief, "log_prob"):
            wanted = "px.prior.Normal(mean, width), weights of choices such as {'sgd': 0.8, 'adam': 0.2}"
            raise TypeError(f"prior: {name!r} must be {wanted} or a px.ParzenEstimator, got {belief!r}.")
    return prior


def beliefs_of(space: Space, prior: Any) -> Beliefs | None:
    """The arrays of beliefs, see `parzax.tpe`; None if they are uniform everywhere.

    Raises ValueError for names and values that the space does not have, TypeError for another kind of belief.
    """
    prior = by_name(prior)
    if not prior:
        return None
    for name in prior:
        check_name("prior: ", name, space)
    sizes = [len(slot.domain.choices) for slot in space.slots if isinstance(slot.domain, Categorical)]
    n_cells, cells, unused = max([_CELLS, *sizes]), [], set(prior)
    for parameter, _, domain in space.slots:
        name = space.names[parameter]
        values, edges = _cells(domain, n_cells)
        log = np.zeros(len(values))
        if name in prior:
            with _checks.explain(f"prior: {name!r}"), np.errstate(divide="ignore", over="ignore"):
                given = _log_density(prior[name], name, domain, values)
            if np.isfinite(given).any():
                unused.discard(name)
                most = given[np.isfinite(given)].max()
                # NaN and infinity are no values of a density.
                log = np.fmax(np.round(np.minimum(given, most) - most, _DECIMALS), _LOWEST)
        rest = n_cells - len(values)
        edges = np.pad(edges, (0, rest), constant_values=1)
        cells.append((np.pad(log, (0, rest), mode="edge"), edges, len(values) == domain.n_values))
    for name in unused:
        has = " or ".join(map(repr, space[name]))
        value = f" (a mean is a value of the parameter, such as {space[name][0].ends()[0]:.4g})"
        remedy = f"change the belief{value * isinstance(prior[name], Normal)} or the space"
        raise ValueError(f"prior: {name!r}: {prior[name]!r} is not about values of {has}; {remedy}.")
    log, edges, by_value = map(np.stack, zip(*cells, strict=True))
    masses = np.diff(edges)
    log -= np.log((masses * np.exp(log)).sum(axis=-1, keepdims=True) / masses.sum(axis=-1, keepdims=True))
    return Beliefs(*to_device((log, masses, edges, by_value))) if log.any() else None


def _log_density(belief: Any, name: str, domain: Domain, values: np.ndarray) -> np.ndarray:
    """log density on the axis of a domain, up to a constant, at native values (codes).

    It is -inf everywhere if the belief is about other values. TypeError for a kind of domain that the belief
    cannot be about.
    """
    if isinstance(belief, Mapping):
        if not isinstance(domain, Categorical):
            raise TypeError("its values are numbers: give px.prior.Normal(mean, width)")
        weights = {choice_key(choice): weight for choice, weight in belief.items()}
        for choice, weight in belief.items():
            _checks.real_number(f"weight of {choice!r}", weight, least=0)
        if not any(weights.values()):
            raise ValueError(f"at least one weight must be positive, got {belief!r}")
        has_all = weights.keys() <= domain.codes.keys()
        return np.log([weights.get(key, 0.0) * has_all for key in domain.codes])
    if isinstance(belief, Normal):
        if isinstance(domain, Categorical):
            raise TypeError("its values are choices: give weights such as {'sgd': 0.8, 'adam': 0.2}")
        lowest, highest = domain.ends()
        # An end of a log axis may be rounded.
        if not math.isclose(belief.mean, min(max(belief.mean, lowest), highest)):
            return np.full(len(values), -np.inf)
        log = getattr(domain, "log", False)
        distance = np.log10(values) - math.log10(belief.mean) if log else values - belief.mean
        if domain.is_circle:
            period = highest - lowest + (getattr(domain, "step", None) or 0)
            distance -= period * np.round(distance / period)
        return -0.5 * np.square(distance / belief.width)
    x = values
    if isinstance(belief, ParzenEstimator):
        check_name("the estimator has ", name, belief.space)
        belief, x = belief.marginal(name), values[:, None]
        if len(belief.space) > 1:
            remedy = f"estimator.conditional({{...}}).marginal({name!r}) with values of its parents"
            raise ValueError(f"it is conditional in the estimator; give {remedy}")
    axis, index = domain.axis, domain.axis.index(values)
    log_density = np.asarray(belief.log_prob(x), np.float64)
    if isinstance(axis, Cells):
        return log_density - np.log(axis.width(index, log_density.dtype))
    return log_density - axis.log_jacobian(axis.place(values, index))


def _cells(domain: Domain, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Native values and ends on the axis of at most ``n_cells`` cells: the values, or of equal widths."""
    axis = domain.axis
    if isinstance(axis, Cells) and axis.n_values <= n_cells:
        lower, upper = axis.cell(np.arange(axis.n_values), np.dtype(np.float64))
        return domain.list_values(), np.append(lower, upper[-1])
    edges = np.linspace(0, 1, n_cells + 1)
    places = (edges[1:] + edges[:-1]) / 2
    return axis.native(places, axis.at(places)[1]), edges

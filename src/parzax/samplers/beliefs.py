"""Turn a user's beliefs about parameters into arrays (`parzax.tpe`, argument ``prior``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parzax import _checks
from parzax._numerics import to_device
from parzax.density import ParzenEstimator
from parzax.density.basis import check_name
from parzax.density.beliefs import Beliefs
from parzax.density.prior import AbstractPrior
from parzax.space import Categorical, Domain, Space

# Number of cells of a continuous axis, and of one with more values.
_CELLS = 256
# Smallest log of a belief, relative to its largest; its exponential is positive in float32.
_LOWEST = -60.0


@dataclass(frozen=True)
class _Density(AbstractPrior):
    """A density as a belief; it has ``log_prob`` of native values."""

    density: Any

    def log_weights(self, domain: Domain, values: np.ndarray) -> np.ndarray | None:
        x = values[:, None] if isinstance(self.density, ParzenEstimator) else values
        log_density = np.asarray(self.density.log_prob(x), np.float64)
        axis, index = domain.axis, domain.axis.index(values)
        if axis.discrete:
            log_density = log_density - np.log(axis.width(index, log_density.dtype))
        else:
            log_density = log_density - axis.log_jacobian(axis.place(values, index))
        return log_density if np.isfinite(log_density).any() else None


def beliefs_of(space: Space, prior: Any) -> Beliefs | None:
    """The arrays of beliefs by name, see `parzax.tpe`; None without beliefs.

    Raises ValueError for names and values that the space does not have, TypeError for another kind of belief.
    """
    if isinstance(prior, ParzenEstimator):
        prior = dict.fromkeys(prior.space.names, prior)
    if prior is None:
        return None
    _checks.instance("prior", prior, Mapping, "a dict such as {'lr': px.prior.Normal(1e-3, 0.5)}")
    for name in prior:
        check_name("prior: ", name, space)
    believed = {name: _belief_about(name, belief) for name, belief in prior.items()}
    sizes = [
        len(domain.choices) for name in prior for domain in space[name] if isinstance(domain, Categorical)
    ]
    n_cells, cells, about = max([_CELLS, *sizes]), [], set()
    for parameter, _, domain in space.slots:
        name, log = space.names[parameter], None
        values, *ends, by_value = _cells(domain, n_cells)
        if name in believed:
            with _checks.explain(f"prior: {name!r}"):
                log = believed[name].log_weights(domain, values)
        if log is not None:
            about.add(name)
            log = np.maximum(log - np.max(log), _LOWEST)
        log = np.pad(np.zeros(len(values)) if log is None else log, (0, n_cells - len(values)), mode="edge")
        padded = (np.pad(end, (0, n_cells + 1 - len(end)), constant_values=1) for end in ends)
        cells.append((log, *padded, by_value))
    for name in believed.keys() - about:
        has = " or ".join(map(repr, space[name]))
        raise ValueError(f"prior: {name!r} has only values of {has}, not those of {prior[name]!r}.")
    log, edges, levels, by_value = map(np.stack, zip(*cells, strict=True))
    masses = np.diff(levels)
    total = (masses * np.exp(log)).sum(axis=-1) / masses.sum(axis=-1)
    return Beliefs(*to_device((log - np.log(total)[:, None], masses, levels, edges, by_value)))


def _belief_about(name: str, belief: Any) -> AbstractPrior:
    """A belief about one parameter; a Parzen density over more parameters is replaced by its marginal."""
    if isinstance(belief, AbstractPrior):
        return belief
    if isinstance(belief, ParzenEstimator):
        check_name(f"prior: {name!r}: the estimator has ", name, belief.space)
        belief = belief.marginal(name)
        if len(belief.space) > 1:
            remedy = f"estimator.conditional({{...}}).marginal({name!r}) with values of its parents"
            raise ValueError(f"prior: {name!r} is conditional in the estimator; give {remedy}.")
    elif not hasattr(belief, "log_prob"):
        wanted = "px.prior.Normal(mean, width), px.prior.Weights(sgd=0.8, adam=0.2) or a px.ParzenEstimator"
        raise TypeError(f"prior: {name!r} must be {wanted}, got {belief!r}.")
    return _Density(belief)


def _cells(domain: Domain, n_cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """The cells of a domain: native values, ends on the axis, ends in numbers of `Frame.drawn`, if by value."""
    n, axis, dtype = domain.n_values or 0, domain.axis, np.dtype(np.float64)
    if not 0 < n <= n_cells:
        edges = np.linspace(0, 1, n_cells + 1)
        places = (edges[1:] + edges[:-1]) / 2
        return axis.native(places, axis.at(places)[1]), edges, edges, False
    index = np.arange(n)
    lower, upper = axis.cell(index, dtype)
    levels = np.append(0, np.cumsum(np.exp(axis.log_uniform(index, dtype))))
    return domain.list_values(), np.append(lower, upper[-1]), levels, True

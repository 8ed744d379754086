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
    n_cells, cells = max([_CELLS, *sizes]), []
    for name, domains in zip(space.names, space.domains, strict=True):
        logs = [_log_belief(name, believed.get(name), domain, n_cells) for domain in domains]
        if name in prior and not any(log is not None for log in logs):
            has = " or ".join(map(repr, domains))
            raise ValueError(f"prior: {name!r} has only values of {has}, not those of {prior[name]!r}.")
        logs = [np.zeros(n_cells) if log is None else log for log in logs]
        cells += [(log, *_ends(domain, n_cells)) for log, domain in zip(logs, domains, strict=True)]
    log, edges, levels = map(np.stack, zip(*cells, strict=True))
    by_value = np.array([_n_values(slot.domain, n_cells) > 0 for slot in space.slots])
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


def _n_values(domain: Domain, n_cells: int) -> int:
    """Number of values of a domain whose cells are its values, else 0."""
    n = domain.n_values or 0
    return n if n <= n_cells else 0


def _ends(domain: Domain, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the cells of a domain, as places on its axis and as numbers of `Frame.drawn`, padded with 1."""
    n, axis = _n_values(domain, n_cells), domain.axis
    if not n:
        edges = np.linspace(0, 1, n_cells + 1)
        return edges, edges
    index, dtype = np.arange(n), np.dtype(np.float64)
    lower, upper = axis.cell(index, dtype)
    levels = np.append(0, np.cumsum(np.exp(axis.log_uniform(index, dtype))))
    ends = np.append(lower, upper[-1]), levels
    edges, levels = (np.pad(end, (0, n_cells - n), constant_values=1) for end in ends)
    return edges, levels


def _log_belief(name: str, belief: AbstractPrior | None, domain: Domain, n_cells: int) -> np.ndarray | None:
    """Log of a belief in the cells of a domain, at most 0; None if it is not about the domain."""
    if belief is None:
        return None
    n, axis = _n_values(domain, n_cells) or n_cells, domain.axis
    places = (np.arange(n) + 0.5) / n
    index = np.arange(n) if _n_values(domain, n_cells) else axis.at(places)[1]
    with _checks.explain(f"prior: {name!r}"):
        log = belief.log_weights(domain, axis.native(places, index))
    if log is None:
        return None
    return np.pad(np.maximum(log - np.max(log), _LOWEST), (0, n_cells - n), mode="edge")

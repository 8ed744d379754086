"""Turn a user's beliefs about parameters into arrays (`parzax.tpe`, argument ``prior``)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parzax import _checks
from parzax._numerics import to_device
from parzax.density import ParzenEstimator
from parzax.density.basis import check_name
from parzax.density.beliefs import Beliefs
from parzax.density.prior import AbstractPrior, Normal, Weights
from parzax.space import Categorical, Cells, Domain, Space

# Number of cells of a continuous axis, and of one with more values.
_CELLS = 256
# Smallest log of a belief, relative to its largest; its exponential is positive in float32.
_LOWEST = -60.0
# Beliefs that differ by less than rounding are uniform.
_DECIMALS = 9


def beliefs_of(space: Space, prior: Any) -> Beliefs | None:
    """The arrays of beliefs by name, see `parzax.tpe`; None if there are none.

    Raises ValueError for names and values that the space does not have, TypeError for another kind of belief.
    """
    if isinstance(prior, ParzenEstimator):
        prior = dict.fromkeys(prior.space.names, prior)
    if prior is None:
        return None
    _checks.instance("prior", prior, Mapping, "a dict such as {'lr': px.prior.Normal(1e-3, 0.5)}")
    for name in prior:
        check_name("prior: ", name, space)
    log_weights = {name: _log_weights(name, belief) for name, belief in prior.items()}
    sizes = [
        len(domain.choices) for name in prior for domain in space[name] if isinstance(domain, Categorical)
    ]
    n_cells, cells, about = max([_CELLS, *sizes]), [], set()
    for parameter, _, domain in space.slots:
        name, log = space.names[parameter], None
        values, edges = _cells(domain, n_cells)
        if name in prior:
            with _checks.explain(f"prior: {name!r}"):
                log = log_weights[name](domain, values)
        if log is not None:
            about.add(name)
            log = np.maximum(np.round(log - np.max(log), _DECIMALS), _LOWEST)
        rest = n_cells - len(values)
        log = np.pad(np.zeros(len(values)) if log is None else log, (0, rest), mode="edge")
        cells.append((log, np.pad(edges, (0, rest), constant_values=1), len(values) == domain.n_values))
    for name in prior.keys() - about:
        has = " or ".join(map(repr, space[name]))
        value = f" (a mean is a value of the parameter, such as {space[name][0].ends()[0]:.4g})"
        remedy = f"change the belief{value * isinstance(prior[name], Normal)} or the space"
        raise ValueError(f"prior: {name!r}: {prior[name]!r} is not about values of {has}; {remedy}.")
    log, edges, by_value = map(np.stack, zip(*cells, strict=True))
    masses = np.diff(edges)
    log -= np.log((masses * np.exp(log)).sum(axis=-1, keepdims=True) / masses.sum(axis=-1, keepdims=True))
    # A belief that is uniform everywhere is none.
    return Beliefs(*to_device((log, masses, edges, by_value))) if log.any() else None


def _log_weights(name: str, belief: Any) -> Callable[[Domain, np.ndarray], np.ndarray | None]:
    """`AbstractPrior.log_weights` of a belief; a Parzen density of several names stands for its marginal."""
    belief = Weights(belief) if isinstance(belief, Mapping) else belief
    if isinstance(belief, AbstractPrior):
        return belief.log_weights
    if isinstance(belief, ParzenEstimator):
        check_name(f"prior: {name!r}: the estimator has ", name, belief.space)
        belief = belief.marginal(name)
        if len(belief.space) > 1:
            remedy = f"estimator.conditional({{...}}).marginal({name!r}) with values of its parents"
            raise ValueError(f"prior: {name!r} is conditional in the estimator; give {remedy}.")
    elif not hasattr(belief, "log_prob"):
        wanted = "px.prior.Normal(mean, width), px.prior.Weights(sgd=0.8, adam=0.2) or a px.ParzenEstimator"
        raise TypeError(f"prior: {name!r} must be {wanted}, got {belief!r}.")

    def log_weights(domain: Domain, values: np.ndarray) -> np.ndarray | None:
        x = values[:, None] if isinstance(belief, ParzenEstimator) else values
        axis, index = domain.axis, domain.axis.index(values)
        log_density = np.asarray(belief.log_prob(x), np.float64) - axis.log_jacobian(
            axis.place(values, index)
        )
        if isinstance(axis, Cells):
            log_density -= np.log(axis.width(index, log_density.dtype))
        return log_density if np.isfinite(log_density).any() else None

    return log_weights


def _cells(domain: Domain, n_cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Native values and ends on the axis of at most ``n_cells`` cells: the values, or of equal widths."""
    axis = domain.axis
    if isinstance(axis, Cells) and axis.n_values <= n_cells:
        lower, upper = axis.cell(np.arange(axis.n_values), np.dtype(np.float64))
        return domain.list_values(), np.append(lower, upper[-1])
    edges = np.linspace(0, 1, n_cells + 1)
    places = (edges[1:] + edges[:-1]) / 2
    return axis.native(places, axis.at(places)[1]), edges

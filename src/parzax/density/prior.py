"""Beliefs about good values of parameters, for the argument ``prior`` of `parzax.tpe`, and their arrays."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._numerics import to_device
from parzax.density.basis import Basis, check_name
from parzax.space import Categorical, Cells, Domain, Frame, Points, Space, choice_key

# Least number of cells of all axes; more values share cells, unless they are choices.
_CELLS = 256
# Smallest log of a belief, relative to its largest; its exponential is positive in float32.
_LOWEST = -60.0
# Beliefs that differ by less than rounding are uniform.
_DECIMALS = 9
# Largest share of the beliefs, and the number of rows that their share is proportional to later.
_MOST, _FADING = 0.5, 10.0


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


class Beliefs(eqx.Module):
    """Beliefs about good values, as ratios to another density, constant in c cells of each of s regimes.

    A regime of at most c values has a cell for each value; any other regime has cells of equal widths. The
    other density is uniform on the axes; `relative_to` replaces it by the wide kernels.
    """

    log_ratio: Float[Array, "s c"]  # 0 in the regimes without a belief, and where it is uniform
    masses: Float[Array, "s c"]  # masses of the other density in the cells
    edges: Float[Array, "s c1"]  # ends of the cells on the axis; 1 where a regime has fewer cells
    by_value: Bool[Array, " s"]  # whether the cells of a regime are its values

    @staticmethod
    def share(n_rows: Int[Array, ""] | int, dtype: Any) -> Float[Array, ""]:
        """Share of the beliefs in the prior after n rows: min(1/2, 10 / n).

        It fades as in piBO (Hvarfner et al. 2022, arXiv 2204.11051), which raises beliefs to the power
        beta / n. The other half makes a wrong belief cheaper (docs/studies/beliefs.md).
        """
        return jnp.minimum(_MOST, _FADING / jnp.maximum(n_rows, 1).astype(dtype))

    def relative_to(self, basis: Basis, dtype: Any) -> "Beliefs":
        """The beliefs times the wide kernels, normalised."""
        cells = to_device(self, dtype)
        lower, upper = cells.edges[:, :-1], cells.edges[:, 1:]
        masses = jnp.zeros(lower.shape, dtype)
        for part in basis.groups:
            slot, n_values = part.slot, jnp.asarray(part.n_values)
            wide = jax.vmap(lambda n, family=part.family: family.around(*family.wide(n, dtype), n))
            over_cells = jax.vmap(part.family.log_mass, in_axes=(None, 0, 0))
            logs = jax.vmap(over_cells)(wide(n_values), lower[slot], upper[slot])
            masses = masses.at[slot].set(jnp.exp(logs))
        masses = jnp.where(upper > lower, masses, 0)
        total = (masses * jnp.exp(cells.log_ratio)).sum(axis=-1)
        log_ratio = cells.log_ratio - jnp.log(total / masses.sum(axis=-1))[:, None]
        return replace(cells, log_ratio=log_ratio, masses=masses)

    def log_ratio_at(self, frame: Frame, at: Points) -> Float[Array, " j"]:
        """log ratio at j points: the sum over the active parameters."""
        n_cells = self.log_ratio.shape[-1]
        cell = jnp.floor(frame.spread(at.unit) * n_cells).astype(at.index.dtype)
        cell = jnp.where(self.by_value[None], frame.spread(at.index), cell)
        ratios = jnp.take_along_axis(self.log_ratio.T, jnp.clip(cell, 0, n_cells - 1), axis=0)
        return jnp.where(frame.here(at), ratios, 0).sum(axis=-1)

    def put_into(self, rows: Points, key: PRNGKeyArray, frame: Frame, n_rows: Int[Array, ""]) -> Points:
        """Random rows, of which a share comes from the beliefs instead, where the space allows it."""
        chance, draw = jax.random.split(jax.random.fold_in(key, 1))
        levels = jax.random.uniform(draw, (len(rows), len(self.by_value)), rows.unit.dtype)
        believed = jax.random.uniform(chance, (len(rows), 1)) < self.share(n_rows, jnp.float32)
        drawn = frame.at(self.draw(levels))
        believed &= frame.allowed(drawn)[:, None]
        return jax.tree.map(lambda one, other: jnp.where(believed, one, other), drawn, rows)

    def draw(self, levels: Float[Array, "n s"]) -> Float[Array, "n s"]:
        """Places on the axes drawn from the beliefs, given uniform levels."""
        running = jnp.cumsum(self.masses * jnp.exp(self.log_ratio), axis=-1)
        running = jnp.pad(running / running[:, -1:], ((0, 0), (1, 0))).astype(levels.dtype)
        return jax.vmap(jnp.interp, (1, 0, 0), 1)(levels, running, self.edges.astype(levels.dtype))


def by_name(prior: Any) -> Mapping[str, Any]:
    """The argument ``prior`` of `parzax.tpe` as beliefs by name; TypeError for what is no belief."""
    if prior is None:
        return {}
    if hasattr(prior, "marginal"):
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
        if domain.periodic:
            period = highest - lowest + (getattr(domain, "step", None) or 0)
            distance -= period * np.round(distance / period)
        return -0.5 * np.square(distance / belief.width)
    x = values
    if hasattr(belief, "marginal"):  # an estimator of this parameter, and perhaps of others
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

"""Distribution function, quantiles and moments of a density of one number. All functions are pure."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._compile import compiled
from parzax._numerics.interval import bisected
from parzax.density.basis import Basis
from parzax.density.cut import CutKernel, within_reach
from parzax.density.log_kernels import kernels_of
from parzax.density.mixture import Mixture
from parzax.space import Points


@compiled
def cdf(basis: Basis, mixture: Mixture, x: Float[Array, " j"]) -> Float[Array, " j"]:
    """P(X <= x) at native values."""
    axis = _axis(basis)
    if not axis.discrete:
        return _mass_below(basis, mixture, axis.place(x, axis.index(x)))
    index = axis.index(x).astype(jnp.int32)
    above = (axis.value(index, x.dtype) > x).astype(jnp.int32)
    return _mass_up_to(basis, mixture, index - above)


@compiled
def quantile(basis: Basis, mixture: Mixture, level: Float[Array, " j"]) -> Float[Array, " j"]:
    """The smallest native value x with P(X <= x) >= level."""
    axis = _axis(basis)
    if axis.discrete:
        low, high = jnp.full(level.shape, -1, jnp.int32), jnp.broadcast_to(_last(axis), level.shape)
        _, index = bisected(lambda index: _mass_up_to(basis, mixture, index) >= level, low, high, 32)
        return axis.value(jnp.maximum(index, 0), level.dtype)
    low, high = (jnp.full_like(level, end) for end in _bracket(basis, mixture))
    n = jnp.finfo(level.dtype).nmant + 8
    _, unit = bisected(lambda unit: _mass_below(basis, mixture, unit) >= level, low, high, n)
    # The derivative of the inverse; the step itself is below rounding.
    zero = jnp.zeros((len(unit), 1), jnp.int32)
    at = Points(zero, unit[:, None], zero, zero == 0)
    density = jax.lax.stop_gradient(jnp.exp(mixture.log_prob(basis, at)))
    excess = _mass_below(basis, mixture, unit) - level
    step = (excess - jax.lax.stop_gradient(excess)) / jnp.where(density > 0, density, 1)
    return axis.native(unit - step, axis.index(unit))


@compiled
def moments(
    basis: Basis, mixture: Mixture, nodes: tuple[Points, Float[Array, " j"]]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean and variance, in native units, from the nodes and log weights of a quadrature."""
    at, log_weight = nodes
    mass = jnp.exp(mixture.log_prob(basis, at) + log_weight)
    x = basis.frame.decode(at)[:, 0]
    if basis.groups[0].family.periodic:
        return _circular_moments(_axis(basis), at.unit[:, 0], mass / mass.sum())
    mean = mass @ x / mass.sum()
    return mean, mass @ jnp.square(x - mean) / mass.sum()


def _circular_moments(
    axis: Any, unit: Float[Array, " j"], mass: Float[Array, " j"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The direction of the mean vector, and the variance of the wrapped normal with the same mean vector."""
    turns = 2 * math.pi * unit
    cosine, sine = mass @ jnp.cos(turns), mass @ jnp.sin(turns)
    mean = jnp.arctan2(sine, cosine) / (2 * math.pi)
    variance = -jnp.log(jnp.square(cosine) + jnp.square(sine)) / (2 * math.pi) ** 2
    period = axis.n_values.astype(mass.dtype) * axis.step if axis.discrete else axis.length
    start = axis.first - axis.step / 2 if axis.discrete else axis.start
    return start + (mean - jnp.floor(mean)) * period, variance * jnp.square(period)


def _axis(basis: Basis) -> Any:
    return jax.tree.map(lambda a: jnp.asarray(a)[0], basis.frame.axes[0])


def _last(axis: Any) -> Any:
    """Number of the last of discrete values."""
    return (axis.n_values - 1).astype(jnp.int32)


def _mass_up_to(basis: Basis, mixture: Mixture, index: Any) -> Float[Array, " j"]:
    """Mass of the values up to the ``index``-th; 0 for negative numbers."""
    axis, last = _axis(basis), jnp.maximum(index, 0)
    upper = axis.cell(jnp.minimum(last, _last(axis)), mixture.scale.dtype)[1]
    return jnp.where(index >= 0, _mass_below(basis, mixture, upper), 0)


def _mass_below(basis: Basis, mixture: Mixture, upper: Float[Array, " j"]) -> Float[Array, " j"]:
    """Mass from 0 to a place on the axis."""
    kernels = jax.tree.map(lambda a: a[0], kernels_of(basis.groups[0], *mixture.kernels()))
    low, high = (jnp.asarray(end, upper.dtype) for end in basis.groups[0].family.ends)
    inside = (upper > low) & (upper < high)
    end = jnp.where(inside, upper, jnp.clip(0.5, low, high))
    logs = jax.vmap(lambda end: jax.vmap(lambda one: one.log_mass(low, end))(kernels))(end)
    weight = jnp.append(mixture.weight, mixture.prior_weight)
    mass = jnp.matmul(jnp.exp(logs), weight, precision="highest")
    return jnp.where(inside, mass, (upper >= high).astype(mass.dtype))


def _bracket(basis: Basis, mixture: Mixture) -> tuple[Any, Any]:
    """Places between which all of the mass lies, up to rounding: the ends of the axis, if it has any."""
    part, (low, high) = basis.groups[0], basis.groups[0].family.ends
    if not part.is_open:
        return low, high
    kernels: Any = jax.tree.map(lambda a: a[0], kernels_of(part, *mixture.kernels()))
    ends: Any = low, high
    if isinstance(kernels, CutKernel):
        kernels, ends = kernels.kernel, (jnp.maximum(kernels.lower, low), jnp.minimum(kernels.upper, high))
    lows, highs = within_reach(kernels.place, kernels.scale, *ends)
    return lows.min(), highs.max()

"""Optuna's rule: each kernel reaches to the farther of its two neighbours."""

from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import largest_before
from parzax.kernels.bandwidth.rule import (
    Bandwidth,
    Setting,
    check_settings,
    clip,
    lower_clip,
    magic_clip,
    with_magic_clip,
)

# Up to this many rows, whose order is not known, all pairs are looked at.
_FEW = 64


@final
class Neighbours(Bandwidth):
    """Neighbour distances with their clips; made by ``neighbours``."""

    one_scale: ClassVar[bool] = False
    minimum: Setting
    maximum: Setting
    discrete_minimum: Setting | None
    consider_endpoints: bool = eqx.field(static=True)
    consider_magic_clip: bool = eqx.field(static=True)
    consider_prior: bool = eqx.field(static=True)

    def _lowest(self):
        return with_magic_clip(self.minimum) if self.consider_magic_clip else self.minimum

    def _scale(self, position, frequency, prior_position, n_parameters, n_values, order):
        lower = lower_clip(self.minimum, self.discrete_minimum, n_values, position.dtype)
        if self.consider_magic_clip:
            lower = jnp.maximum(lower, magic_clip(frequency.sum(), prior_position))
        if self.consider_prior and prior_position is not None:
            rows = jnp.append(position, prior_position)
            present = jnp.append(frequency > 0, True)
            distance = neighbour_distance(rows, present, self.consider_endpoints)[:-1]
        else:
            distance = neighbour_distance(position, frequency > 0, self.consider_endpoints, order)
        return clip(distance, lower, self.maximum)


def neighbours(
    minimum: Setting = 1e-12,
    maximum: Setting = 1.0,
    *,
    discrete_minimum: Setting | None = None,
    consider_endpoints: bool = False,
    consider_magic_clip: bool = True,
    consider_prior: bool = False,
) -> Neighbours:
    """Optuna's bandwidths: the distance to the farther neighbour on either side.

    sigma_(i) = max(x_(i) - x_(i-1), x_(i+1) - x_(i)) over the sorted rows, where the ends of the range
    stand beside the outermost rows; then clipped to [1 / min(100, n + 2), 1]. The defaults are those of
    Optuna 5 (TPESampler's Parzen estimator). A single row reaches to the farther end of the range.

    Equal rows keep their order, and only the outermost of them see a neighbour at a distance. So two
    equal rows are two kernels of different scales, and a row of weight 2, which is one kernel, cannot
    equal them: rows are neighbours whatever their weight, and n is the total weight.

    Args:
        minimum: smallest scale without the magic clip, in units of the range. Optuna's 1e-12 is in the
            parameter's own units.
        maximum: largest scale, in units of the range.
        discrete_minimum: smallest scale of a discrete parameter, in steps; None, as in Optuna: no other
            than ``minimum``.
        consider_endpoints: let the outermost of two and more rows reach to the ends of the range.
        consider_magic_clip: no scale below 1 / min(100, n + 2), or n + 1 without a prior kernel.
        consider_prior: the prior's centre is a neighbour too, as in Optuna before 5; among equal rows
            it comes last. With endpoints, without the magic clip and with [0.01, 0.5] as clips this is
            the "hyperopt" heuristic of the authors' parzen-estimator.

    Returns:
        A rule; see ``Bandwidth`` for how it is called.

    Raises:
        ValueError: a setting that is not positive, or minimum > maximum.

    >>> import jax.numpy as jnp
    >>> x = jnp.array([0.1, 0.4, 0.6, 0.9])
    >>> print(neighbours()(x, jnp.ones(4)).round(3))
    [0.3 0.3 0.3 0.3]
    """
    check_settings("neighbours", minimum=minimum, maximum=maximum, discrete_minimum=discrete_minimum)
    return Neighbours(
        minimum, maximum, discrete_minimum, consider_endpoints, consider_magic_clip, consider_prior
    )


def neighbour_distance(
    position: Float[Array, " n"],
    present: Bool[Array, " n"],
    endpoints: bool,
    order: Int[Array, " n"] | None = None,
) -> Float[Array, " n"]:
    """Distance of each row to the farther of its neighbours in sorted order.

    Args:
        position: (n,) in [0, 1].
        present: (n,) rows that are neighbours.
        endpoints: the outermost rows have the ends 0 and 1 as neighbours; otherwise only a single row has.
        order: (n,) indices of the rows by position, absent ones anywhere; None to sort them here.

    Returns:
        (n,) distances; of no meaning, but finite, in absent rows. Equal rows keep their order.
    """
    n = len(position)
    if order is None and n <= _FEW:
        # Pairs of all rows need no order.
        index = jnp.arange(n)
        behind = (position < position[:, None]) | ((position == position[:, None]) & (index < index[:, None]))
        ahead = ~behind & (index != index[:, None])
        before = jnp.max(jnp.where(behind & present, position, -jnp.inf), axis=-1)
        after = jnp.min(jnp.where(ahead & present, position, jnp.inf), axis=-1)
        return _farther(position, before, after, endpoints | (present.sum() <= 1))
    if order is None:
        order = jnp.argsort(jnp.where(present, position, jnp.inf))
    key, here = (x.at[order].get(mode="promise_in_bounds") for x in (position, present))
    before = largest_before(jnp.where(here, key, -jnp.inf))
    after = -largest_before(jnp.where(here, -key, -jnp.inf)[::-1])[::-1]
    distance = _farther(key, before, after, endpoints | (present.sum() <= 1))
    return jnp.zeros_like(distance).at[order].set(distance, unique_indices=True, mode="promise_in_bounds")


def _farther(position: Array, before: Array, after: Array, to_ends: Array | bool) -> Float[Array, " n"]:
    """The larger distance. Without ends an outermost row, with an infinite neighbour, has one alone."""
    below = jnp.where(jnp.isfinite(before), position - before, jnp.where(to_ends, position, 0))
    above = jnp.where(jnp.isfinite(after), after - position, jnp.where(to_ends, 1 - position, 0))
    return jnp.maximum(below, above)

"""Optuna's rule: each scale is the distance to the farther of two neighbours."""

from dataclasses import KW_ONLY
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax._numerics.arrays import largest_before
from parzax.kernels.bandwidth.rule import AbstractClipped

# Up to this many rows are sorted by comparing all pairs: in batches that takes a tenth of the time of a sort.
FEW = 64


@final
class Neighbours(AbstractClipped):
    """Optuna's bandwidths: the distance to the farther of a row's two neighbours.

    sigma_(i) = max(x_(i) - x_(i-1), x_(i+1) - x_(i)) over the sorted rows, then clipped to
    [1 / min(100, n + 2), 1]; n is the total weight. An outermost row has only one neighbour, unless
    ``consider_endpoints`` adds the ends of the range. A single row takes the distance to the farther end of
    the range. The defaults are those of Optuna 5 (Parzen estimator of TPESampler).

    Equal rows keep their order, so only the first and the last of them have a neighbour with another value.
    Two equal rows are therefore two kernels with different scales, and one row of weight 2 is not the same as
    two rows. A row is a neighbour whatever its weight.

    Attributes:
        minimum, maximum, discrete_minimum, consider_magic_clip: see `AbstractClipped`. Optuna's minimum of
            1e-12 is in native units instead.
        consider_endpoints: whether the ends of the range are neighbours of the outermost rows, if there
            are two or more rows.

    >>> import jax.numpy as jnp, parzax as px
    >>> x = jnp.array([0.1, 0.4, 0.6, 0.9])
    >>> print(px.bandwidth.Neighbours()(x, jnp.ones(4)).round(3))
    [0.3 0.3 0.3 0.3]
    """

    _: KW_ONLY
    consider_endpoints: bool = eqx.field(static=True, default=False)

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        key = jnp.where(frequency > 0, position, jnp.inf)
        order = _order_of(key) if order is None else order
        key = key.at[order].get(mode="promise_in_bounds")
        here = key < jnp.inf
        before = largest_before(jnp.where(here, key, -jnp.inf))
        after = -largest_before(-key[::-1])[::-1]
        # An infinite neighbour is missing: the end of the range replaces it, or it is ignored.
        to_ends = self.consider_endpoints | (here.sum() <= 1)
        below = jnp.where(jnp.isfinite(before), key - before, jnp.where(to_ends, key, 0))
        above = jnp.where(jnp.isfinite(after), after - key, jnp.where(to_ends, 1 - key, 0))
        # Absent rows get a finite scale without meaning.
        distance = jnp.where(here, jnp.maximum(below, above), 1)
        scales = self.clipped(distance, self.lower(frequency.sum(), prior_position, n_values))
        return jnp.zeros_like(scales).at[order].set(scales, unique_indices=True, mode="promise_in_bounds")


def _order_of(x: Float[Array, " n"]) -> Int[Array, " n"]:
    """`jax.numpy.argsort`: the indices of the entries by size; equal entries keep their order."""
    if len(x) > FEW:
        return jnp.argsort(x)
    index = jnp.arange(len(x))
    is_before = (x[None] < x[:, None]) | ((x[None] == x[:, None]) & (index[None] < index[:, None]))
    return jnp.zeros_like(index).at[is_before.sum(axis=-1)].set(index, unique_indices=True)

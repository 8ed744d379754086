"""Optuna's and Hyperopt's rules: each scale is the distance to the farther of two neighbours."""

from dataclasses import KW_ONLY
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

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
        consider_prior: whether the prior's centre is a neighbour too, as in Optuna before 5; it is sorted
            after equal rows. With endpoints, without the magic clip and with clips [0.01, 0.5] this is the
            "hyperopt" heuristic of the authors' package parzen-estimator.

    >>> import jax.numpy as jnp, parzax as px
    >>> x = jnp.array([0.1, 0.4, 0.6, 0.9])
    >>> print(px.bandwidth.Neighbours()(x, jnp.ones(4)).round(3))
    [0.3 0.3 0.3 0.3]
    """

    _: KW_ONLY
    consider_endpoints: bool = eqx.field(static=True, default=False)
    consider_prior: bool = eqx.field(static=True, default=False)

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        rows, present = position, frequency > 0
        if self.consider_prior and prior_position is not None:
            rows, present, order = jnp.append(rows, prior_position), jnp.append(present, True), None
        distance = neighbour_distance(rows, present, self.consider_endpoints, order)[: position.shape[0]]
        return self.clipped(distance, self.lower(frequency.sum(), prior_position, n_values))


@final
class Hyperopt(AbstractClipped):
    """Hyperopt's bandwidths (Bergstra et al. 2011; ``adaptive_parzen_normal`` of hyperopt 0.3).

    sigma_(i) = max(x_(i) - x_(i-1), x_(i+1) - x_(i)) over the sorted rows and the prior's centre, which is
    sorted before equal rows. An outermost point takes the distance to its only neighbour. A single
    observation has scale 0.5. Scales are then clipped to [1 / min(100, n + 2), 1]. Quantised parameters
    follow the same rule.

    A row is a neighbour whatever its weight, and n is the total weight; see `Neighbours`.

    Attributes:
        minimum, maximum, discrete_minimum, consider_magic_clip: see `AbstractClipped`.

    >>> import jax.numpy as jnp, parzax as px
    >>> print(px.bandwidth.Hyperopt()(jnp.array([0.1, 0.7, 0.9]), jnp.ones(3)).round(3))
    [0.4 0.2 0.2]
    """

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        rows, present = position, frequency > 0
        if prior_position is not None:
            # The prior comes first, because Hyperopt inserts it before equal rows.
            rows, present = jnp.append(prior_position, rows), jnp.append(True, present)
        distance = neighbour_distance(rows, present, endpoints=False)[-position.shape[0] :]
        # A single observation has half the prior's scale, wherever it lies.
        distance = jnp.where((frequency > 0).sum() > 1, distance, 0.5)
        return self.clipped(distance, self.lower(frequency.sum(), prior_position, n_values))


def neighbour_distance(
    position: Float[Array, " n"],
    present: Bool[Array, " n"],
    endpoints: bool,
    order: Int[Array, " n"] | None = None,
) -> Float[Array, " n"]:
    """Distance of each row to the farther of its two neighbours in sorted order.

    With ``endpoints`` the outermost rows have 0 and 1 as neighbours; a single row always has both. Equal
    rows keep their order. Absent rows get finite distances without meaning. `AbstractBandwidth` explains
    ``order``.
    """
    key = jnp.where(present, position, jnp.inf)
    order = _order_of(key) if order is None else order
    key = key.at[order].get(mode="promise_in_bounds")
    here = key < jnp.inf
    before = largest_before(jnp.where(here, key, -jnp.inf))
    after = -largest_before(-key[::-1])[::-1]
    # An infinite neighbour is missing: the end of the range replaces it, or it is ignored.
    to_ends = endpoints | (present.sum() <= 1)
    below = jnp.where(jnp.isfinite(before), key - before, jnp.where(to_ends, key, 0))
    above = jnp.where(jnp.isfinite(after), after - key, jnp.where(to_ends, 1 - key, 0))
    distance = jnp.where(here, jnp.maximum(below, above), 1)
    return jnp.zeros_like(distance).at[order].set(distance, unique_indices=True, mode="promise_in_bounds")


def _order_of(x: Float[Array, " n"]) -> Int[Array, " n"]:
    """`jax.numpy.argsort`: the indices of the entries by size; equal entries keep their order."""
    if len(x) > FEW:
        return jnp.argsort(x)
    index = jnp.arange(len(x))
    is_before = (x[None] < x[:, None]) | ((x[None] == x[:, None]) & (index[None] < index[:, None]))
    return jnp.zeros_like(index).at[is_before.sum(axis=-1)].set(index, unique_indices=True)

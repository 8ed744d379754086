"""Draws from mixtures: a component, then a place in every regime; regimes that do not apply are ignored."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.density.basis import Basis
from parzax.density.prior import UserPrior
from parzax.space import Points


def components(
    level: Float[Array, " k"], running_weight: Float[Array, " n"], prior_weight: Float[Array, ""]
) -> tuple[Int[Array, " k"], Bool[Array, " k"]]:
    """Indices of rows drawn by weight, and a mask of draws that come from the prior instead."""
    total = running_weight[-1] + prior_weight
    # The level stays below the total, so that without a prior the drawn row has positive weight.
    level = jnp.minimum(level * total, jnp.nextafter(total, jnp.zeros_like(total)))
    row = _first_above(running_weight, level)
    return jnp.minimum(row, len(running_weight) - 1), row >= len(running_weight)


def drawn_points(
    basis: Basis,
    levels: Float[Array, "k s"],
    rows: Points,
    row: Int[Array, "k c"],
    from_prior: Bool[Array, "k c"],
    scale: Float[Array, "n d"],
    priors: tuple[UserPrior, ...] = (),
    keys: Array | None = None,
) -> Points:
    """k points from uniform random numbers, one for each slot; they satisfy the conditions of the space.

    ``row`` and ``from_prior`` have one column for all parameters, as for draws from the density, or one
    column per parameter. ``keys`` are for the user's priors.
    """
    frame, dtype = basis.frame, levels.dtype
    shape = (len(levels), basis.n_parameters)
    row, from_prior = (jnp.broadcast_to(x, shape) for x in (row, from_prior))
    columns = jnp.arange(basis.n_parameters)[None]
    unit, regime, width = (x[row, columns] for x in (rows.unit, rows.regime, scale))
    near = (frame.spread(regime) == frame.regime[None]) & ~frame.spread(from_prior)
    unit, width = frame.spread(unit), frame.spread(width)
    places = jnp.full(levels.shape, 0.5, dtype)
    for part in basis.groups:
        slot, n_values = part.slot, jnp.asarray(part.n_values)
        wide = jax.vmap(lambda n, family=part.family: family.wide(n, dtype))(n_values)
        kernel = (
            jnp.where(near[:, slot], x[:, slot], prior[None])
            for x, prior in zip((unit, width), wide, strict=True)
        )
        quantiles = jax.vmap(jax.vmap(part.family.quantile), in_axes=(0, 0, 0, None))
        places = places.at[:, slot].set(quantiles(levels[:, slot], *kernel, n_values))
    for prior in priors:
        assert keys is not None
        s, fold = prior.slot, jax.vmap(jax.random.fold_in, in_axes=(0, None))
        sampled = jax.vmap(lambda key, prior=prior: prior.sample(key, dtype))(fold(keys, s))
        places = places.at[:, s].set(jnp.where(near[:, s], places[:, s], sampled))
    return frame.at(places)


def _first_above(running: Float[Array, " n"], level: Float[Array, " k"]) -> Int[Array, " k"]:
    """Index of the first element above each level, or n: `jnp.searchsorted` with side="right".

    The search counts twice: over the last elements of blocks, then within one block. For batches of searches
    this is about twelve times faster than a binary search.
    """
    n = len(running)
    size = 1 << ((n - 1).bit_length() + 1) // 2
    blocks = jnp.pad(running, (0, -n % size), mode="edge").reshape(-1, size)
    block = (blocks[None, :, -1] <= level[:, None]).sum(axis=-1)
    inside = (blocks[jnp.minimum(block, len(blocks) - 1)] <= level[:, None]).sum(axis=-1)
    return jnp.where(block < len(blocks), block * size + inside, n)

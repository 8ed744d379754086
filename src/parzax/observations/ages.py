"""Weights by age: how much older rows count in a mixture."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def ramp_weights(mask: Bool[Array, " n"], dtype: jnp.dtype, recent: int = 25) -> Float[Array, " n"]:
    """Optuna's and Hyperopt's weights: 1 for the last 25 rows of a group, older ones rising from 1/n.

    Args:
        mask: (n,) rows of the group, oldest first.
        dtype: of the weights.
        recent: number of rows that count in full.

    Returns:
        (n,) mixture weights, 1 where the group has at most ``recent`` rows or the mask is False.

    >>> import jax.numpy as jnp
    >>> print(ramp_weights(jnp.ones(4, bool), jnp.float32, recent=2))
    [0.25 1.   1.   1.  ]
    """
    place = jnp.cumsum(mask) - 1
    n = mask.sum()
    old = n - recent
    share = place / jnp.maximum(old - 1, 1)
    lowest = 1 / jnp.maximum(n, 1)
    rising = lowest + share * (1 - lowest)
    return jnp.where(mask & (place < old), rising, 1).astype(dtype)

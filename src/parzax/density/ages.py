"""Age weights: rules for the mixture weights of older rows."""

import abc
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class AbstractAges(eqx.Module):
    """A rule for mixture weights by age."""

    @abc.abstractmethod
    def __call__(self, mask: Bool[Array, " n"], dtype: jnp.dtype) -> Float[Array, " n"]:
        """Weights of the rows of a group, oldest first."""


@final
class Ramp(AbstractAges):
    """Optuna's and Hyperopt's weights: 1 for the last 25 of n rows; older rows rise linearly from 1/n to 1.

    Attributes:
        recent: number of latest rows that have weight 1 (25 by default); static.

    >>> import jax.numpy as jnp
    >>> print(Ramp(recent=2)(jnp.ones(4, bool), jnp.float32))
    [0.25 1.   1.   1.  ]
    """

    recent: int = eqx.field(static=True, default=25)

    def __call__(self, mask: Bool[Array, " n"], dtype: jnp.dtype) -> Float[Array, " n"]:
        """Weights of the rows, as the class describes; 1 where the mask is False."""
        place, n = jnp.cumsum(mask) - 1, mask.sum()
        old = n - self.recent
        share = place / jnp.maximum(old - 1, 1)
        lowest = 1 / jnp.maximum(n, 1)
        rising = lowest + share * (1 - lowest)
        return jnp.where(mask & (place < old), rising, 1).astype(dtype)

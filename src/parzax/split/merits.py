"""Merits: rules for the mixture weights of the rows below, by rank."""

import abc
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class AbstractMerit(eqx.Module):
    """A rule for mixture weights by the place of a row in the order from best to worst."""

    @abc.abstractmethod
    def __call__(
        self, place: Int[Array, " n"], below: Bool[Array, " n"], dtype: jnp.dtype
    ) -> Float[Array, " n"]:
        """Weights of the rows below, and 1 for all other rows.

        Args:
            place: (n,) number of better rows, from 0 to m - 1 for the m rows below; among equal rows the
                earlier one counts as better. With several objectives, number of rows in better fronts.
            below: (n,) mask of the rows below.
            dtype: dtype of the weights.
        """


@final
class ByRank(AbstractMerit):
    """Weights by rank: log(m + 1) - log(i) for the i-th best of m rows below, scaled to a mean of 1.

    CMA-ES has similar weights for recombination (Hansen, arXiv 1604.00772: log(m + 1/2) - log(i) for the
    better half). Like the split, these weights do not change under monotone transformations of the
    objective; weights by improvement do (Song et al. 2022). With several objectives all rows of a front have
    the place of its first row.

    >>> import jax.numpy as jnp
    >>> place = jnp.array([2, 0, 1, 3])
    >>> print([f"{w:.2f}" for w in ByRank()(place, place < 3, jnp.float32)])
    ['0.36', '1.76', '0.88', '1.00']
    """

    def __call__(
        self, place: Int[Array, " n"], below: Bool[Array, " n"], dtype: jnp.dtype
    ) -> Float[Array, " n"]:
        size = jnp.maximum(below.sum(), 1).astype(dtype)
        weight = jnp.log1p(size) - jnp.log1p(jnp.where(below, place, 0).astype(dtype))
        # The sum is at least log 2 if there is a row below; without one the value does not matter.
        total = jnp.maximum(jnp.where(below, weight, 0).sum(), 0.5)
        return jnp.where(below, weight * size / total, 1)

"""Merits: mixture weights of the rows below, by their rank."""

import abc
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class AbstractMerit(eqx.Module):
    """A rule for mixture weights by place."""

    @abc.abstractmethod
    def __call__(
        self, place: Int[Array, " n"], below: Bool[Array, " n"], dtype: jnp.dtype
    ) -> Float[Array, " n"] | None:
        """Weights of the rows below, 1 for all others; None where all count alike.

        Args:
            place: (n,) number of rows before it, from 0 to m - 1 for the m rows below, earlier ones first
                among equals; of several objectives, of rows in better fronts.
            below: (n,) which rows are.
            dtype: of the weights.
        """


@final
class Equal(AbstractMerit):
    """All rows below count alike, as in the papers and in Optuna."""

    def __call__(self, place: Int[Array, " n"], below: Bool[Array, " n"], dtype: jnp.dtype) -> None:
        """None."""


@final
class ByRank(AbstractMerit):
    """Weights by rank: log(m + 1) - log(i) for the i-th best of m rows below, scaled to a mean of 1.

    As of recombination in CMA-ES (Hansen, arXiv 1604.00772: log(m + 1/2) - log(i) for the better half).
    Like the split they do not change with monotone transformations of the objective, unlike weights by
    improvement (Song et al. 2022). Rows of one front share the place of its first.

    >>> import jax.numpy as jnp
    >>> place = jnp.array([2, 0, 1, 3])
    >>> print([f"{w:.2f}" for w in by_rank()(place, place < 3, jnp.float32)])
    ['0.36', '1.76', '0.88', '1.00']
    """

    def __call__(
        self, place: Int[Array, " n"], below: Bool[Array, " n"], dtype: jnp.dtype
    ) -> Float[Array, " n"]:
        size = jnp.maximum(below.sum(), 1).astype(dtype)
        weight = jnp.log1p(size) - jnp.log1p(jnp.where(below, place, 0).astype(dtype))
        # A single row has log 2; without any the sum does not matter.
        total = jnp.maximum(jnp.where(below, weight, 0).sum(), 0.5)
        return jnp.where(below, weight * size / total, 1)


equal, by_rank = Equal, ByRank

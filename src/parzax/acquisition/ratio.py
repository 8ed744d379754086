"""TPE's acquisition function, the ratio of the two densities (Bergstra et al. 2011; arXiv 2304.11127)."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.acquisition.acquisition import AbstractAcquisition, GroupLogs, Scores, Shares


@final
class Ratio(AbstractAcquisition):
    """The log of r(x) = l(x) / g(x) for the objective; constraints are ignored."""

    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        return log_ratio(below[0], above[0])


def log_ratio(below: Float[Array, "*j"], above: Float[Array, "*j"]) -> Float[Array, "*j"]:
    """log l - log g: what TPE maximises (Bergstra et al. 2011).

    Args:
        below, above: log densities log l (group below, good rows) and log g (group above, other rows) at the
            candidates.

    Returns:
        Elementwise log ratio. It is -inf if l is 0, even if g is 0 too (outside the space), and 0 if both are
        infinite. Pure, jit- and vmap-able; gradients are finite if both densities are positive and finite.

    >>> import jax.numpy as jnp
    >>> log_ratio(jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])).tolist()
    [1.0, -2.0]
    """
    outside = jnp.isneginf(below)
    undefined = outside | (jnp.isposinf(below) & jnp.isposinf(above))
    difference = jnp.where(undefined, 0, below) - jnp.where(undefined, 0, above)
    return jnp.where(outside, -jnp.inf, difference)

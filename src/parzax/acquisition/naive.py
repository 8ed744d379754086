"""The log of the product of plain density ratios: the ablation of c-TPE (arXiv 2211.14411)."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax import _checks
from parzax.acquisition.acquisition import AbstractAcquisition, GroupLogs, Scores, Shares
from parzax.acquisition.ratio import log_ratio


@final
class Naive(AbstractAcquisition):
    """The log of prod_i r_i(x), over the objective and the constraints; see `naive_product`."""

    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        return naive_product(below, above)


def naive_product(below: Float[Array, " c1 *j"], above: Float[Array, " c1 *j"]) -> Float[Array, "*j"]:
    """Sum of `log_ratio` over the objective and the constraints: the ablation of c-TPE.

    Args:
        below, above: (C + 1, ...) log densities; the objective first, then C constraints.

    Returns:
        (...) scores; -inf if any term is -inf, as in `constrained_score`.

    Raises:
        ValueError: if the shapes differ.

    >>> import jax.numpy as jnp
    >>> below, above = jnp.array([[1.0, 2.0], [3.0, -jnp.inf]]), jnp.array([[0.5, 0.5], [1.0, 6.0]])
    >>> naive_product(below, above).tolist()
    [2.5, -inf]
    """
    check_groups(below, above)
    return product(log_ratio(below, above))


def product(log_factors: Float[Array, " c1 *j"]) -> Float[Array, "*j"]:
    """Sum of logs of factors. If a factor is 0, the product is 0, even with an infinite factor."""
    zero = jnp.isneginf(log_factors)
    return jnp.where(zero.any(axis=0), -jnp.inf, jnp.where(zero, 0, log_factors).sum(axis=0))


def check_groups(below: Array, above: Array, gamma: Array | None = None) -> None:
    """Raise ValueError if the shapes do not fit together."""
    if below.ndim < 1 or below.shape != above.shape:
        raise ValueError(
            f"below and above must have the same shape (C + 1, ...), got {below.shape} and {above.shape}."
        )
    if gamma is not None:
        _checks.check_shape("gamma", gamma, len(below), hint="; give one per group")

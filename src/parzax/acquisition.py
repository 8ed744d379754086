"""Acquisition functions of the TPE family, computed from log densities.

A sampler takes an `AbstractAcquisition`: `Relative` (TPE's score; under constraints c-TPE's) or `Naive` (the
ablation of c-TPE). The same formulas are array functions: `log_ratio`; `constrained_score`, whose factors are
`log_relative_ratio`; `naive_product`.
"""

import abc
from functools import partial
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax import _checks

# Log densities at j candidates (one row for the objective, then one for each of c constraints), the share of
# each group below, and one score per candidate.
GroupLogs = Float[Array, "c1 j"]
Shares = Float[Array, " c1"]
Scores = Float[Array, " j"]


class AbstractAcquisition(eqx.Module):
    """A score of candidates, to be maximised. To write a new one, implement ``__call__``."""

    @abc.abstractmethod
    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        """Scores of j candidates.

        Args:
            below, above: log densities of the groups below and above; the objective first, then constraints.
            gamma: share of each group below, in [0, 1].

        Returns:
            (j,) scores; -inf for a candidate that must not be chosen.
        """


@final
class Relative(AbstractAcquisition):
    """The log of prod_i r_i^rel(x), over the objective and the constraints; see `constrained_score`.

    The objective's share gamma_0 enters as gamma_0^p, where p is the ``share_power``:

        r_0^rel = 1 / (gamma_0^p + (1 - gamma_0^p) g_0 / l_0)
        r_i^rel = 1 / (gamma_i + (1 - gamma_i) g_i / l_i),  i = 1, ..., c

    p = 1 gives c-TPE's score (arXiv 2211.14411). Its factor r_0^rel is at most 1 / gamma_0. If most
    candidates from l_0 are near this bound, the constraints almost alone decide among them. p > 1 raises the
    bound: the larger p, the closer r_0^rel is to l_0 / g_0. While too few rows are feasible, gamma_0 = 1 and
    r_0^rel = 1. Without constraints the score is `log_ratio`, TPE's, which puts candidates into the same
    order as r_0^rel and has no bound.

    Attributes:
        share_power: p, above 0. It may be a scalar JAX array, whose value is not checked.

    Raises:
        TypeError, ValueError: an invalid ``share_power``; in calls, shapes that do not fit.
    """

    share_power: float | Float[Array, ""] = eqx.field(
        default=1.0, converter=partial(_checks.setting, "share_power", above=0)
    )

    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        if shape := jnp.shape(self.share_power):
            raise ValueError(f"share_power must be a single number, got shape {shape}; use jax.vmap.")
        check_groups(below, above, gamma)
        if len(below) == 1:
            return log_ratio(below[0], above[0])
        return constrained_score(below, above, jnp.asarray(gamma).at[0].power(self.share_power))


@final
class Naive(AbstractAcquisition):
    """The log of prod_i r_i(x), over the objective and the constraints; see `naive_product`."""

    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        return naive_product(below, above)


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


def log_relative_ratio(
    below: Float[Array, "*j"], above: Float[Array, "*j"], gamma: Float[Array, "*#j"]
) -> Float[Array, "*j"]:
    """log of 1 / (gamma + (1 - gamma) g / l) = -logaddexp(log gamma, log(1 - gamma) + log g - log l).

    It is the log of the relative density ratio l / (gamma l + (1 - gamma) g) of c-TPE (arXiv 2211.14411).

    Args:
        below, above: log l and log g, the log densities at the candidates.
        gamma: share of the group below, in [0, 1]; broadcast against the candidates. If it is 1, all rows
            are below, so the value and its gradients are 0.

    Returns:
        Elementwise, at most -log gamma. Pure, jit- and vmap-able; gradients are finite if the densities are
        positive.

    >>> import jax.numpy as jnp
    >>> log_relative_ratio(jnp.array([3.0]), jnp.array([0.0]), jnp.array(1.0)).tolist()
    [0.0]
    """
    gamma = jnp.asarray(gamma, below.dtype)
    some, rest = gamma > 0, gamma < 1
    log_gamma = jnp.where(some, jnp.log(jnp.where(some, gamma, 1)), -jnp.inf)
    log_rest = jnp.where(rest, jnp.log1p(-jnp.where(rest, gamma, 0)), 0)
    ratio = log_ratio(below, above)
    finite = rest & jnp.isfinite(ratio)
    # logaddexp is written out, because jnp.logaddexp has NaN gradients at -inf.
    a, b = jnp.broadcast_arrays(log_gamma, log_rest - jnp.where(finite, ratio, 0))
    high, low = jnp.maximum(a, b), jnp.minimum(a, b)
    gap = jnp.where(jnp.isfinite(low), low - high, 0)
    log_sum = high + jnp.where(jnp.isfinite(low), jnp.log1p(jnp.exp(gap)), 0)
    limit = jnp.where(rest, -log_gamma, 0)  # the value if g = 0, or if the share gamma is 1
    return jnp.where(finite, -log_sum, jnp.where(jnp.isneginf(ratio), -jnp.inf, limit))


def constrained_score(
    below: Float[Any, " c1 *j"], above: Float[Any, " c1 *j"], gamma: Float[Any, " c1"]
) -> Float[Array, "*j"]:
    """Sum of `log_relative_ratio` over the objective and the constraints: the score of c-TPE.

    It is the log of the product of relative density ratios in Theorem 1 of arXiv 2211.14411.

    Args:
        below, above: (C + 1, ...) log densities of the groups; the objective first, then C constraints.
        gamma: (C + 1,) share of each group below, in [0, 1].

    Returns:
        (...) scores. A score is -inf if any term is -inf, that is if the density of any group below is 0. It
        is +inf only if a share is 0 and the density of that group above is 0. Pure, jit- and vmap-able;
        gradients are finite if the densities are positive.

    Raises:
        ValueError: if the shapes do not fit together.

    >>> import jax.numpy as jnp
    >>> below, above = jnp.array([[1.0, -1.0, 3.0], [0.0, 0.0, -jnp.inf]]), jnp.zeros((2, 3))
    >>> constrained_score(below, above, jnp.array([0.0, 0.5])).tolist()
    [1.0, -1.0, -inf]
    """
    check_groups(below, above, gamma)
    share = gamma.reshape(-1, *[1] * (below.ndim - 1))
    return product(log_relative_ratio(below, above, share))


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

"""c-TPE's acquisition function, a product of relative density ratios (arXiv 2211.14411)."""

from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax import _checks
from parzax.acquisition.acquisition import AbstractAcquisition, GroupLogs, Scores, Shares
from parzax.acquisition.naive import check_groups, product
from parzax.acquisition.ratio import log_ratio


def _power(share_power: Any) -> float | Float[Array, ""]:
    power = _checks.plain(share_power)
    number = _checks.scalar("share_power", power)
    if number is not None and number <= 0:
        raise ValueError(f"share_power must be above 0, got {power!r}.")
    return power


@final
class Relative(AbstractAcquisition):
    """prod_i r_i^rel(x) over the objective and the constraints, as a log: `constrained_score`.

    The objective's share gamma_0 counts as gamma_0^p, p the ``share_power``, the constraints' as they are:

        r_0^rel = 1 / (gamma_0^p + (1 - gamma_0^p) g_0 / l_0)
        r_i^rel = 1 / (gamma_i + (1 - gamma_i) g_i / l_i),  i = 1, ..., c

    With p = 1 that is c-TPE's score (arXiv 2211.14411). There r_0^rel cannot exceed 1 / gamma_0, and where
    most candidates from l_0 are near that bound the constraints all but choose among them; p > 1 raises it.
    The larger p, the nearer r_0^rel is to l_0 / g_0; with gamma_0 = 1, while too few rows are feasible, it
    is 1.

    Attributes:
        share_power: p, above 0; an array, whose value is not checked, is a single number.

    Raises:
        TypeError, ValueError: a ``share_power`` that is none; in calls, shapes that do not fit.
    """

    share_power: float | Float[Array, ""] = eqx.field(default=1.0, converter=_power)

    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        if shape := jnp.shape(self.share_power):
            raise ValueError(f"share_power must be a single number, got shape {shape}; use jax.vmap.")
        check_groups(below, above, gamma)
        return constrained_score(below, above, jnp.asarray(gamma).at[0].power(self.share_power))


def log_relative_ratio(
    below: Float[Array, "*j"], above: Float[Array, "*j"], gamma: Float[Array, "*#j"]
) -> Float[Array, "*j"]:
    """log of 1 / (gamma + (1 - gamma) g / l) = -logaddexp(log gamma, log(1 - gamma) + log g - log l).

    The relative density ratio l / (gamma l + (1 - gamma) g) of c-TPE (arXiv 2211.14411).

    Args:
        below, above: logs of the two densities at the candidates.
        gamma: share of the group below, in [0, 1]; broadcast against the candidates. With 1 the answer is 0,
            as are its gradients: the group tells nothing apart.

    Returns:
        Elementwise, at most -log gamma. Pure, jit- and vmap-able, with finite gradients where the
        densities are positive.

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
    # The larger of the two logs is taken out by hand: logaddexp has NaN gradients at -inf.
    a, b = jnp.broadcast_arrays(log_gamma, log_rest - jnp.where(finite, ratio, 0))
    high, low = jnp.maximum(a, b), jnp.minimum(a, b)
    gap = jnp.where(jnp.isfinite(low), low - high, 0)
    log_sum = high + jnp.where(jnp.isfinite(low), jnp.log1p(jnp.exp(gap)), 0)
    limit = jnp.where(rest, -log_gamma, 0)  # g = 0, or a share of 1
    return jnp.where(finite, -log_sum, jnp.where(jnp.isneginf(ratio), -jnp.inf, limit))


def constrained_score(
    below: Float[Array, " c1 *j"], above: Float[Array, " c1 *j"], gamma: Float[Array, " c1"]
) -> Float[Array, "*j"]:
    """Sum of `log_relative_ratio` over the objective and the constraints: Theorem 1's score of c-TPE.

    That score is the product of the relative ratios (arXiv 2211.14411).

    Args:
        below, above: (C + 1, ...) logs of the densities of the objective's groups, then each constraint's.
        gamma: (C + 1,) share of each group below, in [0, 1].

    Returns:
        (...) scores; -inf wherever a term is, so where any below density is 0, however good the others say a
        candidate is. +inf only where a share is 0 and that above density too. Pure, jit- and vmap-able, with
        finite gradients where the densities are positive.

    Raises:
        ValueError: shapes that do not fit.

    >>> import jax.numpy as jnp
    >>> below, above = jnp.array([[1.0, -1.0, 3.0], [0.0, 0.0, -jnp.inf]]), jnp.zeros((2, 3))
    >>> constrained_score(below, above, jnp.array([0.0, 0.5])).tolist()
    [1.0, -1.0, -inf]
    """
    check_groups(below, above, gamma)
    share = gamma.reshape(-1, *[1] * (below.ndim - 1))
    return product(log_relative_ratio(below, above, share))

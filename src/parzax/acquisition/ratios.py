"""Acquisition functions of the TPE family, from the logs of the below and above densities."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def log_ratio(below: Float[Array, "*j"], above: Float[Array, "*j"]) -> Float[Array, "*j"]:
    """log l - log g: what TPE maximises (Bergstra et al. 2011).

    Args:
        below, above: logs of the good and of the bad group's density at the candidates.

    Returns:
        Elementwise; -inf where both densities are 0 (outside the space). Pure, jit- and vmap-able.

    >>> import jax.numpy as jnp
    >>> log_ratio(jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])).tolist()
    [1.0, -2.0]
    """
    nowhere = jnp.isneginf(below)
    return jnp.where(nowhere, -jnp.inf, jnp.where(nowhere, 0, below) - above)


def log_relative_ratio(
    below: Float[Array, "*j"], above: Float[Array, "*j"], gamma: Float[Array, "*#j"]
) -> Float[Array, "*j"]:
    """log of 1 / (gamma + (1 - gamma) g / l) = -logaddexp(log gamma, log(1 - gamma) + log g - log l).

    The relative density ratio l / (gamma l + (1 - gamma) g) of c-TPE (arXiv 2211.14411).

    Args:
        below, above: logs of the two densities at the candidates.
        gamma: share of the good group, in [0, 1]; broadcast against the candidates. With 1 the answer is 0,
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
    known = rest & jnp.isfinite(ratio)
    # The larger of the two logs is taken out by hand: logaddexp has NaN gradients at -inf.
    a, b = jnp.broadcast_arrays(log_gamma, log_rest - jnp.where(known, ratio, 0))
    top, low = jnp.maximum(a, b), jnp.minimum(a, b)
    gap = jnp.where(jnp.isfinite(low), low - top, 0)
    both = top + jnp.where(jnp.isfinite(low), jnp.log1p(jnp.exp(gap)), 0)
    limit = jnp.where(jnp.isneginf(ratio), -jnp.inf, -log_gamma)  # l = 0, and g = 0
    return jnp.where(rest, jnp.where(known, -both, limit), jnp.where(jnp.isneginf(ratio), -jnp.inf, 0))


def constrained_score(
    below: Float[Array, " c1 *j"], above: Float[Array, " c1 *j"], gamma: Float[Array, " c1"]
) -> Float[Array, "*j"]:
    """Sum of `log_relative_ratio` over the objective and the constraints: c-TPE (arXiv 2211.14411).

    Args:
        below, above: (C + 1, ...) logs of the densities of the objective's groups, then each constraint's.
        gamma: (C + 1,) share of each good group.
    """
    share = gamma.reshape(-1, *[1] * (below.ndim - 1))
    return log_relative_ratio(below, above, share).sum(axis=0)


def naive_product(below: Float[Array, " c1 *j"], above: Float[Array, " c1 *j"]) -> Float[Array, "*j"]:
    """Sum of `log_ratio` over the objective and the constraints: the ablation of c-TPE."""
    return log_ratio(below, above).sum(axis=0)

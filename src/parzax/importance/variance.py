"""Variances of conditional PED-ANOVA from the divergences of the regimes (arXiv 2601.20800)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Num, Shaped

from parzax._checks import checked_counts, flag, floating_array, is_traced, real_array, vectors
from parzax._mesh import with_auto_axes
from parzax._numerics import divisor


def within_regime_variance(
    divergence: Num[ArrayLike, " k"],
    n_target: Shaped[ArrayLike, " k"],
    n_region: Shaped[ArrayLike, " k"],
    total: Shaped[ArrayLike, ""],
) -> Float[Array, ""]:
    """Within-regime local marginal variance of one parameter, Eq. 11.

    It is (gamma'/gamma)^2 sum_i alpha_i^2 / beta_i D_i. With gamma'/gamma = n_T / n_R, alpha_i = n_T,i / n_T
    and beta_i = n_R,i / n_R, the factor of each divergence is n_T,i^2 / (n_R n_R,i).

    Args:
        divergence: (k,) D_PE within each regime; 0 for "inactive".
        n_target, n_region: (k,) rows of the target and of the region in each regime.
        total: rows of the region, n_R.

    Returns:
        A scalar; regimes without rows in the region add 0. Pure, unbatched, jit- and vmap-able.

    >>> import jax.numpy as jnp
    >>> divergence, n_target, n_region = jnp.array([2.0, 0.0]), jnp.array([2, 0]), jnp.array([4, 4])
    >>> float(within_regime_variance(divergence, n_target, n_region, jnp.array(8)))
    0.25
    """
    divergence = floating_array("divergence", divergence)
    n_target, n_region, total = _counts(divergence.dtype, n_target=n_target, n_region=n_region, total=total)
    vectors(divergence=divergence, n_target=n_target, n_region=n_region)
    share = jnp.square(n_target) / (divisor(total) * divisor(n_region))
    return jnp.where(n_region > 0, share * divergence, 0).sum()


def inter_regime_variance(
    n_target: Shaped[ArrayLike, " k"], n_region: Shaped[ArrayLike, " k"], *, dtype: jnp.dtype
) -> Float[Array, ""]:
    """Inter-regime term of one parameter, (n_T/n_R)^2 sum_i (alpha_i - beta_i)^2 / beta_i (Lemma F.2).

    The standard local marginal variance is the within-regime variance plus this (Eq. 17).

    Args:
        n_target, n_region: (k,) rows of the target and of the region in each regime, "inactive" included.
        dtype: floating dtype of the answer.

    Returns:
        A scalar >= 0; 0 where the target or the region is empty.
    """
    target, region = _counts(dtype, n_target=n_target, n_region=n_region)
    total_target, total_region = target.sum(), divisor(region.sum())
    # alpha_i - beta_i = excess_i / n_T, from products of integers so that equal shares give exactly 0.
    excess = (target * total_region - region * total_target) / total_region
    return (jnp.square(excess) / (total_region * divisor(region))).sum()


def unweighted_variance(
    divergence: Float[ArrayLike, " k"], n_target: Shaped[ArrayLike, ""], n_region: Shaped[ArrayLike, ""]
) -> Float[Array, ""]:
    """(n_T/n_R)^2 sum_i D_i, the ablation without regime probabilities (Eq. 18)."""
    divergence = real_array("divergence", divergence)
    target, region = _counts(divergence.dtype, n_target=n_target, n_region=n_region)
    return jnp.square(target / divisor(region)) * divergence.sum()


def importance(
    variance: Float[ArrayLike, "*b d"], *, balance: bool = False, uniform_when_undefined: bool = False
) -> Any:
    """Importance of each parameter: its part of the sum of the variances (Eq. 8).

    Debiased variances may be negative; negative variances count as 0. Chance raises some variances as much as
    it lowers others, so many parameters without effect would together get a large importance.
    ``balance`` reduces every positive variance v by the same t, but not below 0: max(v - t, 0). The results
    then have the sum of all variances, or the largest variance if that is more. (Among the points without
    negative entries and with this sum, the result is the nearest to the variances.)

    Args:
        variance: (..., d) variances.
        balance: whether to subtract the sum of the negative variances from the positive ones; it changes
            nothing if no variance is negative.
        uniform_when_undefined: whether to give 1/d each, instead of 0, where no variance is positive.

    Returns:
        (..., d); a NumPy array if ``variance`` is a floating NumPy array, else a JAX array.

    >>> print(importance(np.array([0.5, 0.2, -0.1, 0.0])).round(3))
    [0.714 0.286 0.    0.   ]
    >>> print(importance(np.array([0.5, 0.2, -0.1, 0.0]), balance=True).round(3))
    [0.75 0.25 0.   0.  ]
    """
    flag("balance", balance)
    flag("uniform_when_undefined", uniform_when_undefined)
    if isinstance(variance, np.ndarray) and variance.dtype.kind == "f":
        return compute_shares(variance, balance, uniform_when_undefined)
    return _on_device(real_array("variance", variance), balance, uniform_when_undefined)


def compute_shares(variance: Any, balance: bool, uniform_when_undefined: bool) -> Any:
    """`importance` of NumPy's or JAX's floats, unchecked."""
    xp = variance.__array_namespace__()
    positive = xp.maximum(variance, 0)
    if balance and positive.shape[-1]:
        positive = xp.maximum(positive - _taken(variance, positive, xp), 0)
    total = positive.sum(axis=-1, keepdims=True)
    fallback = 1 / positive.shape[-1] if uniform_when_undefined else 0.0
    return xp.where(total > 0, positive / xp.where(total > 0, total, 1), fallback)


_on_device = jax.jit(with_auto_axes(compute_shares), static_argnums=(1, 2))


def _taken(variance: Any, positive: Any, xp: Any) -> Any:
    """(..., 1) t of `importance`: sum_i min(v_i, t) over positive v_i is minus the sum of negative v_i."""
    ascending = xp.sort(positive, axis=-1)
    before = xp.cumsum(ascending, axis=-1) - ascending
    lack = xp.minimum((positive - variance).sum(axis=-1, keepdims=True), before[..., -1:])
    # The sum of min(v_i, t) is the least, over k, of the k smallest variances plus t for each other one.
    n_others = np.arange(ascending.shape[-1], 0, -1, dtype=ascending.dtype)
    return ((lack - before) / xp.broadcast_to(n_others, ascending.shape)).max(axis=-1, keepdims=True)


def _counts(dtype: jnp.dtype, **counts: ArrayLike) -> list[Array]:
    """Convert counts to ``dtype``. Counts on the host are checked; traced ones are sums of checked counts."""
    checked = (x if is_traced(x) else checked_counts(name, x) for name, x in counts.items())
    return [jnp.asarray(x).astype(dtype) for x in checked]

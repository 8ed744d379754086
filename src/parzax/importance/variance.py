"""Variances of conditional PED-ANOVA from the divergences of the regimes (arXiv 2601.20800)."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from parzax._checks import vectors
from parzax._numerics import divisor


def within_regime_variance(
    divergence: Float[Array, " k"],
    n_target: Shaped[Array, " k"],
    n_region: Shaped[Array, " k"],
    total: Shaped[Array, ""],
) -> Float[Array, ""]:
    """Within-regime local marginal variance of one parameter, Eq. 11.

    (gamma'/gamma)^2 sum_i alpha_i^2 / beta_i D_i. With gamma'/gamma = n_T / n_R, alpha_i = n_T,i / n_T and
    beta_i = n_R,i / n_R the factor of each divergence is n_T,i^2 / (n_R n_R,i).

    Args:
        divergence: (k,) D_PE within each regime; 0 for "inactive".
        n_target: (k,) rows of the target in each regime.
        n_region: (k,) rows of the region in each regime.
        total: rows of the region, n_R.

    Returns:
        A scalar; regimes without rows in the region add 0. Pure, unbatched, jit- and vmap-able.

    >>> import jax.numpy as jnp
    >>> divergence, n_target, n_region = jnp.array([2.0, 0.0]), jnp.array([2, 0]), jnp.array([4, 4])
    >>> float(within_regime_variance(divergence, n_target, n_region, jnp.array(8)))
    0.25
    """
    divergence, n_target, n_region = map(jnp.asarray, (divergence, n_target, n_region))
    vectors(divergence=divergence, n_target=n_target, n_region=n_region)
    if not jnp.issubdtype(divergence.dtype, jnp.floating):
        divergence = divergence.astype(jnp.result_type(float))
    n_target, n_region, total = (jnp.asarray(n).astype(divergence.dtype) for n in (n_target, n_region, total))
    share = jnp.square(n_target) / (divisor(total) * jnp.where(n_region > 0, n_region, 1))
    return jnp.where(n_region > 0, share * divergence, 0).sum()


def inter_regime_variance(
    n_target: Shaped[Array, " k"], n_region: Shaped[Array, " k"], *, dtype: jnp.dtype
) -> Float[Array, ""]:
    """Inter-regime term of one parameter, (n_T/n_R)^2 sum_i (alpha_i - beta_i)^2 / beta_i (Lemma F.2).

    The standard local marginal variance is the within-regime variance plus this (Eq. 17).

    Args:
        n_target: (k,) rows of the target in each regime, "inactive" included.
        n_region: (k,) rows of the region in each regime.
        dtype: floating dtype of the answer.

    Returns:
        A scalar >= 0; 0 where the target or the region is empty.
    """
    target, region = n_target.astype(dtype), n_region.astype(dtype)
    total_target, total_region = target.sum(), divisor(region.sum())
    # alpha_i - beta_i = excess_i / n_T, from products of whole numbers so that equal shares give exactly 0.
    excess = (target * total_region - region * total_target) / total_region
    terms = jnp.square(excess) / (total_region * jnp.where(region > 0, region, 1))
    return jnp.where((region > 0) & (total_target > 0), terms, 0).sum()


def unweighted_variance(
    divergence: Float[Array, " k"], n_target: Shaped[Array, ""], n_region: Shaped[Array, ""]
) -> Float[Array, ""]:
    """(n_T/n_R)^2 sum_i D_i, the ablation without regime probabilities (Eq. 18)."""
    dtype = divergence.dtype
    ratio = n_target.astype(dtype) / divisor(n_region).astype(dtype)
    return jnp.square(ratio) * divergence.sum()


def normalise(variance: Float[Array, " d"], *, uniform_when_undefined: bool = False) -> Float[Array, " d"]:
    """Importance: each parameter's share of the sum of the positive variances (Eq. 8).

    Args:
        variance: (d,) variances; negative ones count as 0.
        uniform_when_undefined: what to give where no variance is positive: 1/d each instead of 0.
    """
    positive = jnp.maximum(variance, 0)
    total = positive.sum(axis=-1, keepdims=True)
    fallback = 1 / variance.shape[-1] if uniform_when_undefined else 0.0
    return jnp.where(total > 0, positive / jnp.where(total > 0, total, 1), fallback)

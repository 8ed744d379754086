"""One regime of one parameter: how far the target's density is from the region's."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from parzax.divergence import pearson_divergence
from parzax.parzen import GridEstimator, fit_kernel, grid_density, prior_density


def regime_divergence(
    target: Shaped[Array, " g"],
    region: Shaped[Array, " g"],
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool = False,
    dtype: jnp.dtype,
) -> Float[Array, ""]:
    """Estimate of D_PE(p_T || p_R) within one regime, from counts.

    Args:
        target: (g,) counts of the target, at most those of the region.
        region: (g,) counts of the region.
        kind: "numeric" or "categorical".
        estimator: how; with ``debias`` the answer is signed, with mean about 0 for a random target.
        uniform: compare with the uniform density of the domain instead of the region's (global
            importance).
        dtype: floating dtype of the answer.

    Returns:
        A scalar; exactly 0 where the target is empty or, unless ``uniform``, equal to the region.
    """
    n_target, n_region = target.sum(), region.sum()
    if estimator.shared_kernel:
        divergence = _shared(target, region, kind, estimator, uniform, dtype)
        # With one kernel for both sets a constant parameter has nothing to compare.
        undefined = (region > 0).sum() <= 1
    else:
        divergence = _separate(target, region, kind, estimator, uniform, dtype)
        undefined = jnp.zeros((), bool)
    undefined |= n_target == 0
    if not uniform:
        undefined |= n_target == n_region
    return jnp.where(undefined, 0, divergence)


def densities(
    target: Shaped[Array, " g"],
    region: Shaped[Array, " g"],
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool = False,
    dtype: jnp.dtype,
) -> tuple[Float[Array, " g"], Float[Array, " g"]]:
    """p_T and p_R per cell, as the divergence compares them."""
    if not estimator.shared_kernel:
        p_target = grid_density(target.astype(dtype), kind=kind, estimator=estimator)
        if uniform:
            return p_target, jnp.full(target.shape, 1 / target.shape[0], dtype)
        return p_target, grid_density(region.astype(dtype), kind=kind, estimator=estimator)
    difference, p_region, _, _ = _smoothed(target, region, kind, estimator, uniform, dtype)
    return p_region + difference, p_region


def _separate(
    target: Array, region: Array, kind: str, estimator: GridEstimator, uniform: bool, dtype: jnp.dtype
) -> Array:
    """The references' estimator: each set has its own bandwidth and prior share."""
    p_target, p_region = densities(
        target, region, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype
    )
    return pearson_divergence(p_target, p_region)


def _smoothed(
    target: Array, region: Array, kind: str, estimator: GridEstimator, uniform: bool, dtype: jnp.dtype
) -> tuple[Array, Array, Array, Array]:
    n_cells = target.shape[0]
    n_target, n_region = target.sum().astype(dtype), region.sum().astype(dtype)
    share_target = target.astype(dtype) / jnp.maximum(n_target, 1)
    if uniform:
        share_region = jnp.full((n_cells,), 1 / n_cells, dtype)
    else:
        share_region = region.astype(dtype) / jnp.maximum(n_region, 1)
    kernel = fit_kernel(target, kind, estimator, dtype)
    weight = jnp.asarray(estimator.prior_weight, dtype)
    prior_share = weight / (n_region + weight)
    smooth_region = kernel.smooth(share_region)
    difference = (1 - prior_share) * kernel.smooth(share_target - share_region)
    p_region = (1 - prior_share) * smooth_region + prior_share * prior_density(n_cells, kind, dtype)
    floor = jnp.asarray(estimator.floor, dtype)
    if not estimator.debias:
        return difference, p_region + floor, jnp.zeros_like(p_region), prior_share
    spread = jnp.square(1 - prior_share) * (kernel.smooth_squared(share_region) - jnp.square(smooth_region))
    return difference, p_region + floor, spread, prior_share


def _shared(
    target: Array, region: Array, kind: str, estimator: GridEstimator, uniform: bool, dtype: jnp.dtype
) -> Array:
    """One kernel K and one prior share e for both sets; the expectation under chance is subtracted.

    With shares q_T and q_R: p_R = (1-e) K q_R + e prior, delta = (1-e) K (q_T - q_R), D = sum delta^2 / p_R.
    For a target drawn at random from the region E[D] = A (n_R - n_T) / ((n_R - 1) n_T), where
    A = (1-e)^2 sum_b sum_m q_R,m (K_bm - (K q_R)_b)^2 / p_R,b.
    """
    difference, p_region, spread, _ = _smoothed(target, region, kind, estimator, uniform, dtype)
    divergence = (jnp.square(difference) / p_region).sum()
    if not estimator.debias:
        return divergence
    n_target, n_region = target.sum().astype(dtype), region.sum().astype(dtype)
    # The uniform reference is a population without end, the region a finite one.
    left = 1 if uniform else (n_region - n_target) / jnp.maximum(n_region - 1, jnp.finfo(dtype).tiny)
    chance = (spread / p_region).sum() * left / jnp.maximum(n_target, jnp.finfo(dtype).tiny)
    return divergence - chance

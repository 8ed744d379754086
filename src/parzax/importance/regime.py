"""One regime of one parameter: how far the target's density is from the region's, at every level."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import cell_sum, divisor, total
from parzax.divergence import pearson_divergence
from parzax.parzen import GridEstimator, fit_kernel, grid_density, in_grid, prior_density, uniform_density


def regime_divergence(
    target: Shaped[Array, " g"],
    region: Shaped[Array, " g"],
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool = False,
    dtype: jnp.dtype,
) -> Float[Array, ""]:
    """`level_divergences` of a single target."""
    counts = jnp.stack([target, region])
    return level_divergences(counts, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype)[0]


def level_divergences(
    counts: Shaped[Array, "q1 g"],
    n_cells: Int[Array, ""] | None = None,
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool = False,
    dtype: jnp.dtype,
) -> Float[Array, " q"]:
    """Estimates of D_PE(p_T || p_R) within one regime, one per target level, from counts.

    Args:
        counts: (q + 1, g) as from `level_counts`: the target of each level, then the region.
        n_cells: cells of the grid where the counts are padded with 0; None when they are not.
        kind: "numeric" or "categorical".
        estimator: how; with ``debias`` the answer is signed, with mean about 0 for a random target.
        uniform: compare with the uniform density of the domain instead of the region's (global
            importance).
        dtype: floating dtype of the answer.

    Returns:
        (q,) divergences. Exactly 0 where the target is empty, where it equals the region (unless
        ``uniform``), and, with a shared kernel, where the region occupies a single cell.
    """
    target, region = counts[:-1], counts[-1]
    n_target, n_region = jax.vmap(total)(target), total(region)
    undefined = n_target == 0
    if estimator.shared_kernel:
        shared = partial(_shared, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype)
        divergence = jax.vmap(shared, in_axes=(0, None, None))(target, region, n_cells)
        # With one kernel for both sets a constant parameter has nothing to compare.
        undefined |= total((region > 0).astype(jnp.int32)) <= 1
    else:
        p_target, p_region = _separate(
            counts, n_cells, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype
        )
        divergence = jax.vmap(pearson_divergence, in_axes=(0, None))(p_target, p_region)
    if not uniform:
        undefined |= n_target == n_region
    return jnp.where(undefined, 0, divergence)


def level_densities(
    counts: Shaped[Array, "q1 g"],
    n_cells: Int[Array, ""] | None = None,
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool = False,
    dtype: jnp.dtype,
) -> tuple[Float[Array, "q g"], Float[Array, "q g"]]:
    """p_T and p_R per cell at every level, as the divergence compares them.

    With a shared kernel p_R depends on the level, whose target sets the bandwidth.
    """
    if not estimator.shared_kernel:
        p_target, p_region = _separate(
            counts, n_cells, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype
        )
        return p_target, jnp.broadcast_to(p_region, p_target.shape)
    smooth = partial(_smoothed, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype)
    # An empty target has no bandwidth to lend; the region's own shows its density best.
    empty = (jax.vmap(total)(counts[:-1]) == 0)[:, None]
    target = jnp.where(empty, counts[-1], counts[:-1])
    difference, p_region, _ = jax.vmap(smooth, in_axes=(0, None, None))(target, counts[-1], n_cells)
    prior = prior_density(counts.shape[1], kind, dtype, n_cells)
    return jnp.where(empty, prior, p_region + difference), p_region


def _separate(
    counts: Shaped[Array, "q1 g"],
    n_cells: Int[Array, ""] | None,
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool,
    dtype: jnp.dtype,
) -> tuple[Float[Array, "q g"], Float[Array, " g"]]:
    """The references' densities: each set has its own bandwidth and prior share."""
    # All sets in one batch: the region is one more row and costs no second compilation.
    one = partial(grid_density, kind=kind, estimator=estimator)
    density = jax.vmap(one, in_axes=(0, None))(counts.astype(dtype), n_cells)
    p_region = uniform_density(counts.shape[1], dtype, n_cells) if uniform else density[-1]
    return density[:-1], p_region


def _smoothed(
    target: Shaped[Array, " g"],
    region: Shaped[Array, " g"],
    n_cells: Int[Array, ""] | None,
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool,
    dtype: jnp.dtype,
) -> tuple[Float[Array, " g"], Float[Array, " g"], Float[Array, " g"]]:
    """delta = (1-e) K (q_T - q_R), p_R = (1-e) K q_R + e prior, and (1-e)^2 [(K*K) q_R - (K q_R)^2]."""
    width = target.shape[0]
    n_region = total(region).astype(dtype)
    share_target = target.astype(dtype) / divisor(total(target).astype(dtype))
    if uniform:
        share_region = uniform_density(width, dtype, n_cells)
    else:
        share_region = region.astype(dtype) / divisor(n_region)
    kernel = fit_kernel(target, kind, estimator, dtype, n_cells)
    weight = jnp.asarray(estimator.prior_weight, dtype)
    prior_share = weight / divisor(n_region + weight)
    smooth_region = kernel.smooth(share_region)
    difference = (1 - prior_share) * kernel.smooth(share_target - share_region)
    p_region = (1 - prior_share) * smooth_region + prior_share * prior_density(width, kind, dtype, n_cells)
    spread = jnp.square(1 - prior_share) * (kernel.smooth_squared(share_region) - jnp.square(smooth_region))
    floor = jnp.asarray(estimator.floor, dtype)
    return in_grid(difference, n_cells), in_grid(p_region + floor, n_cells), in_grid(spread, n_cells)


def _shared(
    target: Shaped[Array, " g"],
    region: Shaped[Array, " g"],
    n_cells: Int[Array, ""] | None,
    *,
    kind: str,
    estimator: GridEstimator,
    uniform: bool,
    dtype: jnp.dtype,
) -> Float[Array, ""]:
    """One kernel K and one prior share e for both sets; the expectation under chance is subtracted.

    With shares q_T and q_R: p_R = (1-e) K q_R + e prior, delta = (1-e) K (q_T - q_R), D = sum delta^2 / p_R.
    For a target drawn at random from the region E[D] = A (n_R - n_T) / ((n_R - 1) n_T), where
    A = (1-e)^2 sum_b sum_m q_R,m (K_bm - (K q_R)_b)^2 / p_R,b.
    """
    difference, p_region, spread = _smoothed(
        target, region, n_cells, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype
    )
    inverse = jnp.where(p_region > 0, 1 / jnp.where(p_region > 0, p_region, 1), 0)
    divergence = cell_sum(jnp.square(difference) * inverse)
    if not estimator.debias:
        return divergence
    tiny = jnp.finfo(dtype).tiny
    n_target, n_region = total(target).astype(dtype), total(region).astype(dtype)
    # The uniform reference is a population without end, the region a finite one.
    left = 1 if uniform else (n_region - n_target) / jnp.maximum(n_region - 1, tiny)
    return divergence - cell_sum(spread * inverse) * left / jnp.maximum(n_target, tiny)

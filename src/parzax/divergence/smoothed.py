"""Pearson divergence of densities smoothed by one kernel, minus its expectation under chance."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from parzax._numerics import cell_sum, divisor, total
from parzax.divergence.divergence import AbstractDivergence, RegimeCounts
from parzax.divergence.smoothing import GridSmoothing
from parzax.kernels import in_grid

# Two numbers that differ by at most this many roundings count as equal.
_ROUNDING = 64
_DEFAULT = GridSmoothing()


@dataclass(frozen=True)
class Smoothed(AbstractDivergence):
    """Pearson divergence of densities smoothed by one kernel K, with one prior share e for both sets.

    Let q_T and q_R be the shares of target and region rows per cell. Then p_R = (1-e) K q_R + e prior, delta
    = (1-e) K (q_T - q_R) and D = sum_b delta_b^2 / p_R,b, minus its expectation for a random target,

        A (n_R - n_T) / ((n_R - 1) n_T),   A = (1-e)^2 sum_b sum_m q_R,m (K_bm - (K q_R)_b)^2 / p_R,b.

    K has Scott's bandwidth of the target. With ``debias`` the value is signed; it is 0 on average for a
    random target of more than about ten rows.

    Attributes:
        smoothing: prior weight and bandwidth.
        debias: whether the expectation is subtracted.
        min_rows: see `AbstractDivergence`.
    """

    smoothing: GridSmoothing = _DEFAULT
    debias: bool = True
    min_rows: int = 2

    def estimate(self, counts: RegimeCounts) -> Float[Array, " q"]:
        """D minus its expectation for a random target."""
        return jax.vmap(partial(self._debiased, counts=counts))(counts.target)

    def densities(self, counts: RegimeCounts) -> tuple[Float[Array, "q g"], Float[Array, "q g"]]:
        """p_R + delta and p_R; the target of each level sets the bandwidth of both."""
        # An empty target has no bandwidth; the region's bandwidth shows its density best.
        empty = (jax.vmap(total)(counts.target) == 0)[:, None]
        target = jnp.where(empty, counts.region, counts.target)
        delta, p_region, _ = jax.vmap(partial(self._moments, counts=counts))(target)
        prior = counts.kernel.prior_on_grid(target.shape[1], None, delta.dtype)[None]
        return jnp.where(empty, prior, p_region + delta), p_region

    def _moments(
        self, target: Shaped[Array, " g"], counts: RegimeCounts
    ) -> tuple[Float[Array, " g"], Float[Array, " g"], Float[Array, " g"]]:
        """delta, p_R, and the variance (1-e)^2 [(K*K) q_R - (K q_R)^2], each (g,)."""
        kernel, n_cells, dtype = counts.kernel, counts.n_cells, jnp.result_type(float)
        n_region = total(counts.region).astype(dtype)
        share_target = target.astype(dtype) / divisor(total(target).astype(dtype))
        if counts.uniform:
            share_region = counts.uniform_density(dtype)
        else:
            share_region = counts.region.astype(dtype) / divisor(n_region)
        matrix = kernel.on_grid(target, self.smoothing.bandwidth, n_cells, dtype)
        weight = jnp.asarray(self.smoothing.prior_weight, dtype)
        prior_share = weight / divisor(n_region + weight)
        kept = 1 - prior_share
        moments = matrix.moments(share_target - share_region, share_region)
        delta, smooth_region, smooth_squared = kept * moments[0], *moments[1:]
        prior = prior_share * kernel.prior_on_grid(len(target), n_cells, dtype)
        p_region = kept * smooth_region + prior + jnp.asarray(self.smoothing.floor, dtype)
        spread = jnp.square(kept) * (smooth_squared - jnp.square(smooth_region))
        return in_grid(delta, n_cells), in_grid(p_region, n_cells), in_grid(spread, n_cells)

    def _debiased(self, target: Shaped[Array, " g"], counts: RegimeCounts) -> Float[Array, ""]:
        delta, p_region, spread = self._moments(target, counts)
        positive = p_region > 0
        inverse = jnp.where(positive, 1 / jnp.where(positive, p_region, 1), 0)
        divergence = cell_sum(jnp.square(delta) * inverse)
        if not self.debias:
            return divergence
        info = jnp.finfo(divergence.dtype)
        n_target, n_region = total(target).astype(info.dtype), total(counts.region).astype(info.dtype)
        # The uniform reference is an infinite population, the region a finite one.
        left = 1 if counts.uniform else (n_region - n_target) / jnp.maximum(n_region - 1, info.tiny)
        by_chance = cell_sum(spread * inverse) * left / jnp.maximum(n_target, info.tiny)
        # If the two numbers are equal, their difference is only rounding. It is set to 0, since normalisation
        # would turn it into an importance.
        above = divergence - by_chance
        return jnp.where(jnp.abs(above) > _ROUNDING * info.eps * by_chance, above, 0)

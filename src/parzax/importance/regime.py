"""One regime of one parameter: how far the target's density is from the region's, at every level."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import cell_sum, divisor, total
from parzax.divergence import pearson_divergence
from parzax.importance.explained import explained_divergence
from parzax.importance.grid import GridEstimator, density_of
from parzax.kernels import AbstractKernel, in_grid, uniform_on_grid

# Roundings by which a divergence and its expectation may differ where they are equal.
_ROUNDING = 64


class RegimeComparison(NamedTuple):
    """How the target is compared with the region, or with the ``uniform`` density of the domain."""

    kernel: type[AbstractKernel]
    estimator: GridEstimator
    uniform: bool = False

    def divergences(
        self, counts: Shaped[Array, "q1 g"], n_cells: Int[Array, ""] | None = None
    ) -> Float[Array, " q"]:
        """Estimates of D_PE(p_T || p_R), one per target level; ``n_cells`` is that of `grid_density`.

        Exactly 0 where the target is empty, where it equals the region (unless ``uniform``), and, with
        resolutions or a shared kernel, where the region occupies a single cell. With ``debias`` signed, and
        near 0 on average for a random target of more than about ten rows.
        """
        target, region = counts[:-1], counts[-1]
        n_target, n_region = jax.vmap(total)(target), total(region)
        undefined, estimator = n_target == 0, self.estimator
        if estimator.resolutions is not None:
            divergence = explained_divergence(
                counts, n_cells, self.kernel, estimator.resolutions, estimator.debias, self.uniform
            )
        elif estimator.shared_kernel:
            divergence = jax.vmap(self._shared, in_axes=(0, None, None))(target, region, n_cells)
        else:
            densities = self._separate(counts, n_cells)
            divergence = jax.vmap(pearson_divergence, in_axes=(0, None))(*densities)
        if estimator.resolutions is not None or estimator.shared_kernel:
            # A constant parameter has nothing to compare.
            undefined |= total((region > 0).astype(jnp.int32)) <= 1
        if not self.uniform:
            undefined |= n_target == n_region
        return jnp.where(undefined, 0, divergence)

    def densities(self, counts: Shaped[Array, "q1 g"]) -> tuple[Float[Array, "q g"], Float[Array, "q g"]]:
        """p_T and p_R per cell and level; of a shared kernel the level's target sets the bandwidth."""
        if not self.estimator.shared_kernel:
            p_target, p_region = self._separate(counts, None)
            return p_target, jnp.broadcast_to(p_region, p_target.shape)
        # An empty target has no bandwidth to lend; the region's own shows its density best.
        empty = (jax.vmap(total)(counts[:-1]) == 0)[:, None]
        target = jnp.where(empty, counts[-1], counts[:-1])
        difference, p_region, _ = jax.vmap(self._smoothed, in_axes=(0, None, None))(target, counts[-1], None)
        prior = self.kernel.prior_on_grid(counts.shape[1], None, difference.dtype)[None]
        return jnp.where(empty, prior, p_region + difference), p_region

    def _separate(
        self, counts: Shaped[Array, "q1 g"], n_cells: Int[Array, ""] | None
    ) -> tuple[Float[Array, "q g"], Float[Array, " g"]]:
        """The references' densities: each set has its own bandwidth and prior share."""
        dtype = jnp.result_type(float)
        # All sets in one batch: the region is one more row and costs no second compilation.
        one = partial(density_of, kernel=self.kernel, estimator=self.estimator, dtype=dtype)
        density = jax.vmap(one, in_axes=(0, None))(counts.astype(dtype), n_cells)
        p_region = uniform_on_grid(counts.shape[1], n_cells, dtype) if self.uniform else density[-1]
        return density[:-1], p_region

    def _smoothed(
        self, target: Shaped[Array, " g"], region: Shaped[Array, " g"], n_cells: Int[Array, ""] | None
    ) -> tuple[Float[Array, " g"], Float[Array, " g"], Float[Array, " g"]]:
        """delta = (1-e) K (q_T - q_R), p_R = (1-e) K q_R + e prior, and (1-e)^2 [(K*K) q_R - (K q_R)^2]."""
        width, dtype, estimator = len(target), jnp.result_type(float), self.estimator
        n_region = total(region).astype(dtype)
        share_target = target.astype(dtype) / divisor(total(target).astype(dtype))
        if self.uniform:
            share_region = uniform_on_grid(width, n_cells, dtype)
        else:
            share_region = region.astype(dtype) / divisor(n_region)
        matrix = self.kernel.on_grid(target, estimator.bandwidth, n_cells, dtype)
        weight = jnp.asarray(estimator.prior_weight, dtype)
        prior_share = weight / divisor(n_region + weight)
        kept = 1 - prior_share
        moments = matrix.moments(share_target - share_region, share_region)
        difference, smooth_region, smooth_squared = kept * moments[0], *moments[1:]
        prior = prior_share * self.kernel.prior_on_grid(width, n_cells, dtype)
        p_region = kept * smooth_region + prior + jnp.asarray(estimator.floor, dtype)
        spread = jnp.square(kept) * (smooth_squared - jnp.square(smooth_region))
        return in_grid(difference, n_cells), in_grid(p_region, n_cells), in_grid(spread, n_cells)

    def _shared(
        self, target: Shaped[Array, " g"], region: Shaped[Array, " g"], n_cells: Int[Array, ""] | None
    ) -> Float[Array, ""]:
        """One kernel K and one prior share e for both sets; the expectation under chance is subtracted.

        With shares q_T and q_R: p_R = (1-e) K q_R + e prior, delta = (1-e) K (q_T - q_R),
        D = sum delta^2 / p_R. For a target drawn at random from the region
        E[D] = A (n_R - n_T) / ((n_R - 1) n_T), A = (1-e)^2 sum_b sum_m q_R,m (K_bm - (K q_R)_b)^2 / p_R,b.
        """
        difference, p_region, spread = self._smoothed(target, region, n_cells)
        positive = p_region > 0
        inverse = jnp.where(positive, 1 / jnp.where(positive, p_region, 1), 0)
        divergence = cell_sum(jnp.square(difference) * inverse)
        if not self.estimator.debias:
            return divergence
        info = jnp.finfo(divergence.dtype)
        n_target, n_region = total(target).astype(info.dtype), total(region).astype(info.dtype)
        # The uniform reference is a population without end, the region a finite one.
        left = 1 if self.uniform else (n_region - n_target) / jnp.maximum(n_region - 1, info.tiny)
        by_chance = cell_sum(spread * inverse) * left / jnp.maximum(n_target, info.tiny)
        # What is left of two equal numbers is rounding, which must not be normalised to an importance.
        above = divergence - by_chance
        return jnp.where(jnp.abs(above) > _ROUNDING * info.eps * by_chance, above, 0)

"""The Pearson divergence of two densities, each smoothed by its own kernel: the papers' estimator."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from parzax._checks import real_array, vectors
from parzax._numerics import cell_sum
from parzax.divergence.divergence import AbstractDivergence, RegimeCounts
from parzax.divergence.smoothing import GridSmoothing


def pearson_divergence(p: Float[ArrayLike, " g"], q: Float[ArrayLike, " g"]) -> Float[Array, ""]:
    """D_PE(p || q) = sum_b q_b (p_b / q_b - 1)^2, the Pearson (chi-squared) divergence.

    It is Eq. 6 (Section 3.3) of "Conditional PED-ANOVA" (arXiv 2601.20800).

    Args:
        p, q: (g,) masses per cell, linear, each summing to 1.

    Returns:
        A scalar >= 0. A cell where both masses are 0 adds 0. The value is infinite if q is 0 in a cell where
        p is not, and NaN if a mass is NaN. Gradients are finite wherever the value is. Pure, unbatched, jit-
        and vmap-able.

    >>> import jax.numpy as jnp
    >>> float(pearson_divergence(jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])))
    1.0
    """
    p, q = real_array("p", p), real_array("q", q)
    vectors(p=p, q=q)
    positive = q > 0
    safe = jnp.where(positive, q, 1)
    absent = jnp.where((p == 0) & (q == 0), 0, jnp.nan)
    absent = jnp.where((p > 0) & (q == 0), jnp.inf, absent)
    terms = jnp.where(positive, jnp.square(p - q) / safe, absent)
    return cell_sum(terms)


# Optuna 5's smoothing: integer quartiles, and a floor under both densities.
_OPTUNA = GridSmoothing(floor=1e-12, floor_quartiles=True)


@dataclass(frozen=True)
class Pearson(AbstractDivergence):
    """Pearson divergence of two smoothed densities, as in the papers and in Optuna 5 (parity at 1e-10).

    Each set has its own bandwidth, and the prior kernel has a share 1 / (n + 1) of each. So a constant
    parameter scores above 0, and what chance explains is not subtracted.

    Attributes:
        smoothing: Optuna's by default: 1e-12 added to both densities, integer quartiles.
        min_rows: see `AbstractDivergence`.
    """

    smoothing: GridSmoothing = _OPTUNA
    min_rows: int = 2
    # The prior kernel has a different share in each of the two densities.
    constant_is_zero: ClassVar[bool] = False

    def estimate(self, counts: RegimeCounts) -> Float[Array, " q"]:
        """D_PE of the two smoothed densities, one per level."""
        return jax.vmap(pearson_divergence, in_axes=(0, None))(*self._smoothed(counts))

    def densities(self, counts: RegimeCounts) -> tuple[Float[Array, "q g"], Float[Array, "q g"]]:
        """The two densities; the region's is the same at every level."""
        p_target, p_region = self._smoothed(counts)
        return p_target, jnp.broadcast_to(p_region, p_target.shape)

    def _smoothed(self, counts: RegimeCounts) -> tuple[Float[Array, "q g"], Float[Array, " g"]]:
        dtype = jnp.result_type(float)
        # All sets are smoothed in one batch. The region is one more row, so it needs no second compilation.
        density = partial(self.smoothing.density, kernel=counts.kernel, dtype=dtype)
        smoothed = jax.vmap(density, in_axes=(0, None))(counts.sets.astype(dtype), counts.n_cells)
        return smoothed[:-1], counts.uniform_density(dtype) if counts.uniform else smoothed[-1]

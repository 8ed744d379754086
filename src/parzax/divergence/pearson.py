"""The Pearson divergence of two densities, each smoothed by its own kernel: the papers' estimator."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Shaped

from parzax._checks import real_array, vectors
from parzax.divergence.density import check_smoothing, smoothed
from parzax.divergence.divergence import AbstractDivergence, RegimeCounts


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
    return terms.sum()


@dataclass(frozen=True)
class Pearson(AbstractDivergence):
    """Pearson divergence of two smoothed densities, as in the papers and in Optuna 5 (parity at 1e-10).

    Each set has its own bandwidth, and the prior kernel has a share 1 / (n + 1) of each. So a constant
    parameter scores above 0, and what chance explains is not subtracted. With ``parzax.Grid.optuna()`` the
    variances are those of Optuna 5's ``PedAnovaImportanceEvaluator``.

    Attributes:
        prior_weight, floor, floor_quartiles: as in `parzax.divergence.grid_density`; by default Optuna's,
            1e-12 added to both densities, and integer quartiles.
        min_rows: see `AbstractDivergence`.
    """

    prior_weight: float = 1.0
    floor: float = 1e-12
    floor_quartiles: bool = True
    min_rows: int = 2
    # The prior kernel has a different share in each of the two densities.
    constant_is_zero: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_smoothing("Pearson", self.prior_weight, self.floor, self.floor_quartiles)

    def estimate(self, counts: RegimeCounts) -> Float[Array, " q"]:
        """D_PE of the two smoothed densities, one per level."""
        return jax.vmap(pearson_divergence)(*self.densities(counts))

    def densities(self, counts: RegimeCounts) -> tuple[Float[Array, "q g"], Float[Array, "q g"]]:
        """The two densities; the region's is the same at every level."""
        dtype = jnp.result_type(float)

        def density(rows: Shaped[Array, " g"]) -> Float[Array, " g"]:
            settings = self.prior_weight, self.floor, self.floor_quartiles, dtype
            return smoothed(rows, counts.n_cells, counts.kernel, *settings)

        # All sets are smoothed in one batch. The region is one more row, so it needs no second compilation.
        p = jax.vmap(density)(counts.sets.astype(dtype))
        region = counts.uniform_density(dtype) if counts.uniform else p[-1]
        return p[:-1], jnp.broadcast_to(region[None], p[:-1].shape)

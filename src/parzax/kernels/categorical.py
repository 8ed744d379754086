"""The Aitchison-Aitken kernel on a grid of categories."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import total


class AitchisonAitkenGrid(eqx.Module):
    """Kernel matrix K[b, a] = (1[a = b] + spread) / (1 + g * spread) on g categories.

    Aitchison and Aitken (1976), parametrised as in Optuna's Parzen estimator.
    """

    spread: Float[Array, ""]
    n_cells: Float[Array, ""]

    @classmethod
    def fit(
        cls, counts: Shaped[Array, " g"], dtype: jnp.dtype, n_cells: Int[Array, ""] | None = None
    ) -> "AitchisonAitkenGrid":
        """spread = 1 / (number of occupied categories + 1); ``n_cells`` where the counts are padded."""
        occupied = total((counts > 0).astype(dtype))
        return cls(1 / (occupied + 1), jnp.asarray(counts.shape[0] if n_cells is None else n_cells, dtype))

    def smooth(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """K x."""
        return (x + self.spread * x.sum()) / (1 + self.n_cells * self.spread)

    def smooth_squared(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """(K * K) x, with K squared entry by entry."""
        on, off = jnp.square(1 + self.spread), jnp.square(self.spread)
        return (on * x + off * (x.sum() - x)) / jnp.square(1 + self.n_cells * self.spread)

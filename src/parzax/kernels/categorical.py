"""The Aitchison-Aitken kernel on a grid of categories."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from parzax._numerics import total


class AitchisonAitkenGrid(eqx.Module):
    """Kernel matrix K[b, a] = (1[a = b] + spread) / (1 + g * spread) on g categories.

    Aitchison and Aitken (1976), parametrised as in Optuna's Parzen estimator.
    """

    spread: Float[Array, ""]

    @classmethod
    def fit(cls, counts: Shaped[Array, " g"], dtype: jnp.dtype) -> "AitchisonAitkenGrid":
        """spread = 1 / (number of occupied categories + 1)."""
        return cls(1 / (total((counts > 0).astype(dtype)) + 1))

    def smooth(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """K x."""
        return (x + self.spread * x.sum()) / (1 + x.shape[0] * self.spread)

    def smooth_squared(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """(K * K) x, with K squared entry by entry."""
        on, off = jnp.square(1 + self.spread), jnp.square(self.spread)
        return (on * x + off * (x.sum() - x)) / jnp.square(1 + x.shape[0] * self.spread)

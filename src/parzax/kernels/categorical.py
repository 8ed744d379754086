"""The Aitchison-Aitken kernel: on categories, and as a matrix on a grid of counts."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import open_uniform, total


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


class AitchisonAitken(eqx.Module):
    """P(b) = 1 - bandwidth for the kernel's own category, bandwidth / (C - 1) for each other one.

    Aitchison and Aitken (1976). ``top`` in the papers on TPE is 1 - bandwidth.

    Attributes:
        index: the kernel's category.
        bandwidth: probability of another category, in [0, 1).
        n_choices: C; static.
    """

    index: Int[Array, ""]
    bandwidth: Float[Array, ""]
    n_choices: int = eqx.field(static=True)

    def log_prob(self, index: Int[Array, "..."]) -> Float[Array, "..."]:
        """log P of a category; -inf where there is none."""
        # Logarithms of the two probabilities, not of one per category.
        own, other = _log(1 - self.bandwidth), _log(self.bandwidth / max(self.n_choices - 1, 1))
        possible = (index >= 0) & (index < self.n_choices)
        return jnp.where(possible, jnp.where(index == self.index, own, other), -jnp.inf)

    def log_masses(self) -> Float[Array, " c"]:
        """log P of every category."""
        return self.log_prob(jnp.arange(self.n_choices))

    def quantile(self, level: Float[Array, "..."]) -> Int[Array, "..."]:
        """A category from a level in (0, 1): another one below the bandwidth, in equal parts."""
        moved = level < self.bandwidth
        part = jnp.where(moved, level / jnp.where(moved, self.bandwidth, 1), 0)
        others = max(self.n_choices - 1, 1)
        step = 1 + jnp.minimum(jnp.floor(part * others), others - 1).astype(jnp.int32)
        return jnp.where(moved, (self.index + step) % self.n_choices, self.index).astype(jnp.int32)

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Int[Array, "..."]:
        """Categories: the own one, or any other with equal probability."""
        return self.quantile(open_uniform(key, shape, self.bandwidth.dtype))


def _log(probability: Float[Array, ""]) -> Float[Array, ""]:
    """log with a finite slope at 0, where it is -inf."""
    positive = probability > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, probability, 1)), -jnp.inf)


class FixedTop(eqx.Module):
    """The papers' rule: every kernel gives its own category ``top``."""

    top: float | Float[Array, ""]

    def __call__(
        self, n_kernels: Float[Array, ""], prior_weight: Float[Array, ""], n_choices: int
    ) -> Float[Array, ""]:
        """Bandwidth 1 - top; a traced top outside [0, 1] counts as the nearer end."""
        return 1 - jnp.clip(jnp.asarray(self.top, n_kernels.dtype), 0, 1)


class OptunaTop(eqx.Module):
    """Optuna 5's rule, which depends on the number of kernels n (the prior's included).

    Each category gets prior_weight / n and the own one 1 more, normalised.
    """

    def __call__(
        self, n_kernels: Float[Array, ""], prior_weight: Float[Array, ""], n_choices: int
    ) -> Float[Array, ""]:
        """Bandwidth (C - 1) a / (1 + C a), a = prior_weight / n."""
        share = prior_weight / n_kernels
        return (n_choices - 1) * share / (1 + n_choices * share)

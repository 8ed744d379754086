"""The public array functions with arguments: one table that drives the tests of every transformation."""

import jax.numpy as jnp
import numpy as np

import parzax as px
from parzax.kernels import AitchisonAitken, TruncatedNormal

KERNELS = {"numeric": TruncatedNormal, "categorical": AitchisonAitken}


def density_of(kind):
    return lambda counts: px.divergence.grid_density(counts, kernel=KERNELS[kind])


CASES = {
    "numeric density": density_of("numeric"),
    "categorical density": density_of("categorical"),
    "parity density": lambda counts: px.divergence.grid_density(counts, floor=1e-12, floor_quartiles=True),
    "pearson divergence": px.divergence.pearson_divergence,
    "within-regime variance": px.importance.within_regime_variance,
}


def arguments(name: str, seed: int) -> tuple:
    """Arguments of a case in JAX's current default types."""
    rng = np.random.default_rng(seed)
    if name.endswith("density"):
        return (jnp.asarray(rng.integers(0, 6, 9)),)
    if name == "pearson divergence":
        p, q = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
        return jnp.asarray(p), jnp.asarray(q)
    region = rng.integers(1, 9, 4)
    return jnp.asarray(rng.uniform(size=4)), jnp.asarray(region // 2), jnp.asarray(region), jnp.asarray(40)

"""Widths that depend on the joint density: a factor for each row, or one factor for all rows."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._compile import compiled
from parzax.density.basis import Basis
from parzax.density.mixture import Mixture
from parzax.space import INACTIVE

# The factor of all widths is the best of so many between 1/8 and 8, then of as many around that one.
_N_FACTORS, _LARGEST_FACTOR = 25, 8.0
# Largest log of a factor of one row, as a fraction of the log of the largest float.
_LARGEST_LOG_FACTOR = 0.25


@compiled
def adapted(basis: Basis, mixture: Mixture, sensitivity: Float[Array, ""]) -> Mixture:
    """The mixture with widths times (p(x_i) / g)^-sensitivity; g is the geometric mean of p at the rows.

    Abramson 1982, "On bandwidth variation in kernel estimates"; Silverman 1986, 5.3. The mixture is the pilot
    p. Categories keep their widths.
    """
    logs, share = mixture.log_prob(basis, mixture.rows), _shares(mixture)
    # A row of weight 0 has the width that its kernel has at a small weight. It may have hardly any density.
    has_density = (logs > -jnp.inf) & (mixture.rows.regime != INACTIVE).any(axis=-1)
    mean = jnp.where(has_density, logs, 0) @ share
    log_factor = -sensitivity * jnp.where(has_density, logs - mean, 0)
    most = _LARGEST_LOG_FACTOR * math.log(float(jnp.finfo(share.dtype).max))
    return _scaled(basis, mixture, jnp.exp(jnp.minimum(log_factor, most)))


@compiled
def tuned(basis: Basis, mixture: Mixture) -> Mixture:
    """The mixture with all widths of numbers times the factor of the highest leave-one-out likelihood."""
    share = _shares(mixture)

    def likelihood(log_factor: Float[Array, ""]) -> Float[Array, ""]:
        logs = _scaled(basis, mixture, jnp.exp(log_factor)).left_out(basis, mixture.rows)
        return jnp.where(share > 0, logs, 0) @ share

    end = jnp.log(jnp.asarray(_LARGEST_FACTOR, share.dtype))
    low, high, best = -end, end, jnp.zeros((), share.dtype)
    for _ in range(2):
        # The best so far comes first, because argmax takes the first of equal values.
        tried = jnp.append(best, jnp.linspace(low, high, _N_FACTORS))
        best = tried[jnp.argmax(jax.lax.map(likelihood, tried))]
        step = (high - low) / (_N_FACTORS - 1)
        low, high = jnp.maximum(best - step, -end), jnp.minimum(best + step, end)
    # The best factor can jump when a row moves, so gradients treat it as a constant.
    return _scaled(basis, mixture, jnp.exp(jax.lax.stop_gradient(best)))


def _shares(mixture: Mixture) -> Float[Array, " n"]:
    """Weights of the rows that sum to 1, or 0 without rows."""
    total = mixture.weight.sum()
    return mixture.weight / jnp.where(total > 0, total, 1)


def _scaled(basis: Basis, mixture: Mixture, factor: Float[Array, "#n"]) -> Mixture:
    """The mixture with the widths of numbers times a factor for each row."""
    numeric = jnp.ones(basis.n_parameters, bool)
    for part in basis.groups:
        numeric = numeric.at[jnp.asarray(part.parameter)].set(not part.categorical)
    factors = jnp.where(numeric[None], factor.reshape(-1, 1), 1)
    # The smallest scale, which says whether a sum can be anchored, is no longer known.
    return replace(mixture, scale=mixture.scale * factors, tables=None, coefficients=None, anchored=False)

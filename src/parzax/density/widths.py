"""Widths that depend on the joint density: a factor for each row, or for each parameter."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._compile import compiled
from parzax._numerics import divisor
from parzax.density.ascent import ascended
from parzax.density.basis import Basis
from parzax.density.mixture import Mixture
from parzax.space import INACTIVE

# Factors of parameters are at most this, and at least its inverse. An ascent begins at the best of so many.
_LARGEST_FACTOR, _N_FACTORS = 8.0, 13
# Steps of the ascent in logarithms of factors, and the size of the first.
_N_STEPS, _FIRST_STEP = 40, 0.3
# Up to so many rows compilation takes longer than the ascent; beyond, optimised code is six times as fast.
_FEW_ROWS = 256
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
    numeric = jnp.isinf(_widest(basis, mixture))[None]
    return _scaled(basis, mixture, jnp.where(numeric, jnp.minimum(log_factor, most)[:, None], 0))


@partial(compiled, size=lambda _basis, mixture: "small" if len(mixture.rows) <= _FEW_ROWS else "middling")
def tuned(basis: Basis, mixture: Mixture) -> Mixture:
    """The mixture with the widths of each parameter times a factor that raises the leave-one-out likelihood.

    The likelihood is that of the joint density. The factors begin at the best common one of numbers.
    """
    # The best factors can jump when a row moves, so gradients treat them as constants.
    fixed = jax.lax.stop_gradient(mixture)
    share, widest = _shares(fixed), _widest(basis, fixed)
    end = math.log(_LARGEST_FACTOR)

    def likelihood(log_factor: Float[Array, " d"]) -> Float[Array, ""]:
        logs = _scaled(basis, fixed, log_factor[None]).left_out(basis, fixed.rows)
        return jnp.where(share > 0, logs, 0) @ share

    # No change comes first, because argmax takes the first of equal values.
    common = jnp.append(0, jnp.linspace(-end, end, _N_FACTORS, dtype=share.dtype))
    tried = jnp.where(jnp.isinf(widest)[None], common[:, None], 0)
    start = tried[jnp.argmax(jax.lax.map(likelihood, tried))]
    between = partial(jnp.clip, min=-end, max=end)
    best, _ = ascended(likelihood, start, jnp.full_like(start, _FIRST_STEP), _N_STEPS, between)
    return _scaled(basis, mixture, best[None])


def _shares(mixture: Mixture) -> Float[Array, " n"]:
    """Weights of the rows that sum to 1, or 0 without rows."""
    return mixture.weight / divisor(mixture.weight.sum())


def _scaled(basis: Basis, mixture: Mixture, log_factor: Float[Array, "#n d"]) -> Mixture:
    """The mixture with widths times factors.

    Of a category the factor multiplies the ratio of its scale to what the widest scale exceeds it by, so that
    it stays below the widest.
    """
    factor, widest = jnp.exp(log_factor), _widest(basis, mixture)[None]
    share = jnp.minimum(mixture.scale / jnp.where(widest > 0, widest, 1), 1)
    scale = mixture.scale * factor / (1 + share * (factor - 1))
    # The smallest scale, which says whether a sum can be anchored, is no longer known.
    return replace(mixture, scale=scale, tables=None, coefficients=None, anchored=False)


def _widest(basis: Basis, mixture: Mixture) -> Float[Array, " d"]:
    """Scales of categories at which all have the same probability; inf for numbers."""
    widest = jnp.full(basis.n_parameters, jnp.inf, mixture.scale.dtype)
    for part in basis.groups:
        if part.categorical:
            wide = jax.vmap(partial(part.family.wide, dtype=widest.dtype))
            scale = wide(jnp.asarray(part.n_values))[1]
            widest = widest.at[jnp.asarray(part.parameter)].min(scale)
    return widest

"""The leave-one-out likelihood of a bandwidth: how well the other rows foretell each row."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import log_normal_mass, masked_logsumexp
from parzax.kernels.bandwidth.rule import PRIOR_SCALE

# Rows whose kernels are evaluated at once: memory is this many times n, not n^2.
_CHUNK = 256


def leave_one_out_log_likelihood(
    scale: Float[Array, ""],
    position: Float[Array, " n"],
    weight: Shaped[Array, " n"],
    *,
    prior_position: float | Float[Array, ""] | None = 0.5,
    prior_weight: float | Float[Array, ""] = 1.0,
    n_values: int | Int[Array, ""] | None = None,
) -> Float[Array, ""]:
    """sum_i w_i log p_-i(x_i): the log likelihood of rows under the mixture of the other rows.

    p_-i(x) = (sum_j (w_j - [i = j]) k_h(x, x_j) + w_0 k_1(x, c)) / (N - 1 + w_0), where k_h(., m) is the
    normal at m with scale h truncated to [0, 1], c and w_0 are the prior kernel's, and N = sum_j w_j
    (Duin 1976; Habbema, Hermans and van den Broek 1974). On a discrete domain k_h(x, m) is the mean over
    the value's cell, the mass of [x - 1/2m, x + 1/2m] times m: the cells are taken as equally wide.

    A row of weight w equals w rows, each of which has w - 1 twins at distance 0; on a continuous domain
    the likelihood then grows without bound as h falls to 0. Of a weight below 1 no twin is left.

    Args:
        scale: h, on the kernel axis (the range has length 1).
        position: (n,) rows on that axis, in [0, 1]; arbitrary where absent.
        weight: (n,) how often each row was seen, or a mask; 0 where absent.
        prior_position: c; None without a prior kernel.
        prior_weight: w_0, as a number of rows.
        n_values: m, values of a discrete domain; None or 0 for a continuous one.

    Returns:
        Natural logarithm, relative to the uniform density on [0, 1]. A row without any other kernel is left
        out of the sum; with no row the value is 0. jit- and vmap-able, with finite gradients.
    """
    dtype = position.dtype
    weight = weight.astype(dtype)
    frequency = jnp.where(weight > 0, weight, 0)
    position = jnp.where(weight > 0, position, 0)
    scale = jnp.asarray(scale, dtype)
    centres, scales, weights = position, jnp.broadcast_to(scale, position.shape), frequency
    if prior_position is not None:
        centres = jnp.append(centres, jnp.asarray(prior_position, dtype))
        scales = jnp.append(scales, jnp.asarray(PRIOR_SCALE, dtype))
        weights = jnp.append(weights, jnp.asarray(prior_weight, dtype))
    inside = log_normal_mass(-centres / scales, (1 - centres) / scales)
    index = jnp.arange(centres.shape[0])
    everything = weights.sum()

    def term(row: tuple[Array, Array, Array]) -> Array:
        i, x, w = row
        own = index == i
        others = jnp.where(own, jnp.maximum(weights - 1, 0), weights)
        density = _log_kernel((x - centres) / scales, scales, n_values) - inside
        # A sum over the others would round differently from row to row.
        size = everything - jnp.minimum(w, 1)
        alone = ~(others > 0).any()
        log_prob = masked_logsumexp(density, others) - jnp.log(jnp.where(alone, 1, size))
        return w * jnp.where((w > 0) & ~alone, log_prob, 0)

    rows = (index[: position.shape[0]], position, frequency)
    if position.shape[0] <= _CHUNK:
        return jax.vmap(term)(rows).sum()
    return jax.lax.map(term, rows, batch_size=_CHUNK).sum()


def _log_kernel(z: Float[Array, " n"], scale: Float[Array, " n"], n_values) -> Float[Array, " n"]:
    """Log density of the normal at z = (x - m)/h, before truncation, or its mean over the cell of x."""
    point = -0.5 * jnp.square(z) - jnp.log(scale) - 0.5 * math.log(2 * math.pi)
    if n_values is None:
        return point
    n_values = jnp.asarray(n_values, z.dtype)
    count = jnp.maximum(n_values, 1)
    half = 0.5 / (count * scale)
    return jnp.where(n_values > 0, log_normal_mass(z - half, z + half) + jnp.log(count), point)

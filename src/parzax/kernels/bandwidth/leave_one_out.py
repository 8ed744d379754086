"""The scale with the greatest leave-one-out likelihood: each row is predicted from the other rows."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Num, Shaped

from parzax._numerics import weighted_logsumexp
from parzax.kernels.bandwidth.rule import PRIOR_SCALE, AbstractOneScale, Setting
from parzax.kernels.bandwidth.scott import Scott
from parzax.kernels.shapes import Scalar
from parzax.kernels.truncated_normal import TruncatedNormal

# The search tries _POINTS scales first, evenly spaced in their logarithm, because there may be several maxima
# (between 0.01 and 0.5 neighbours differ by a factor of 1.6). It then halves the interval to the neighbour
# uphill _STEPS times.
_POINTS = 9
_STEPS = 28
# Length beyond the rows of an open axis, in largest scales; rounding of a place in [0, 1].
_REACH, _ROUNDING = 12, 1e-5
# Number of rows whose kernels are evaluated at once. Memory is _CHUNK * n instead of n^2.
_CHUNK = 256


@final
class LeaveOneOut(AbstractOneScale):
    """One scale per parameter: the scale between the clips with the greatest leave-one-out likelihood.

    The rule maximises ``leave_one_out_log_likelihood`` (Duin 1976; Habbema, Hermans and van den Broek 1974)
    by bisection of its slope, beside the best of nine scales, because there may be several maxima. The scale
    of `Scott` with the same clips is tried too, so the likelihood is never below Scott's. With fewer than
    two rows the scale is Scott's.

    The rule needs 40 evaluations with slopes, each of n^2 kernels. Use it for analysis rather than in each
    step of an optimisation. Equal rows on a continuous domain pull the scale to the minimum. A row of weight
    w equals w rows. Gradients treat the scale as a constant.

    Attributes:
        minimum, maximum, discrete_minimum, consider_magic_clip: see `AbstractClipped`.
        prior_weight: weight of the prior kernel, as a number of rows.

    >>> import jax.numpy as jnp, parzax as px
    >>> two_groups = jnp.array([0.1, 0.12, 0.14, 0.86, 0.88, 0.9])
    >>> print(f"{px.bandwidth.LeaveOneOut()(two_groups, jnp.ones(6))[0]:.2f}")
    0.02
    """

    _: KW_ONLY
    prior_weight: Setting = 1.0

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        scott = Scott(self.minimum, self.maximum, discrete_minimum=self.discrete_minimum)
        start = scott.scales(position, frequency, prior_position, n_parameters, n_values, order)
        size, high = frequency.sum(), jnp.asarray(self.maximum, position.dtype)
        low = jnp.minimum(self.lower(size, prior_position, n_values), high)
        prior = {"prior_position": prior_position, "prior_weight": self.prior_weight, "n_values": n_values}

        # Rows beyond [0, 1] are on an open axis: a longer one takes them, far from its ends.
        present = jnp.where(frequency > 0, position, 0.5)
        first, last = present.min(), present.max()
        is_beyond = (first < -_ROUNDING) | (last > 1 + _ROUNDING)
        length = jnp.where(is_beyond, last - first + _REACH * high, 1)
        middle = jnp.where(is_beyond, (first + last) / 2, 0.5)

        def likelihood(log_scale: Array) -> Array:
            scale, places = jnp.exp(log_scale) / length, (position - middle) / length + 0.5
            return leave_one_out_log_likelihood(scale, places, frequency, **prior)

        best = jnp.exp(_maximise(likelihood, jnp.log(start), jnp.log(low), jnp.log(high)))
        # The best scale can jump when a row moves, so gradients treat it as a constant.
        best = jax.lax.stop_gradient(jnp.clip(best, low, high))
        return jnp.where(size > 1, best, start)


def leave_one_out_log_likelihood(
    scale: Scalar,
    position: Float[Array, " n"],
    weight: Shaped[Array, " n"],
    *,
    prior_position: Float[ArrayLike, ""] | None = 0.5,
    prior_weight: Setting = 1.0,
    n_values: Num[ArrayLike, ""] | None = None,
) -> Scalar:
    """sum_i w_i log p_-i(x_i): the log likelihood of rows under the mixture of the other rows.

    p_-i(x) = (sum_j (w_j - [i = j]) k_h(x, x_j) + w_0 k_1(x, c)) / (N - 1 + w_0)
    (Duin 1976; Habbema, Hermans and van den Broek 1974). Here k_h(., y) is the normal at y with scale h,
    truncated to [0, 1]; c and w_0 are the centre and the weight of the prior kernel; N = sum_j w_j. On a
    discrete domain with m values k_h(x, y) is the mean density over the cell [x - 1/2m, x + 1/2m], that is
    the mass of the cell times m; all cells count as equally wide.

    A row of weight w equals w rows, so each of them has w - 1 twins at distance 0. If w > 1 on a continuous
    domain, the likelihood grows without bound as h falls to 0. A row of weight below 1 has no twin.

    Args:
        scale: h, on the kernel axis (the range has length 1).
        position: (n,) rows on the kernel axis, in [0, 1]; absent rows may hold any value.
        weight: (n,) how often each row was seen, or a mask; 0 marks an absent row.
        prior_position: c; None without a prior kernel.
        prior_weight: w_0, as a number of rows.
        n_values: m, the number of values of a discrete domain; None or 0 for a continuous domain.

    Returns:
        Natural logarithm, relative to the uniform density on [0, 1]. A row is left out of the sum if the
        mixture has no other kernel. Without rows the value is 0. jit- and vmap-able, with finite gradients.
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
    size = jnp.asarray(0 if n_values is None else n_values, dtype)
    kernels = jax.vmap(TruncatedNormal.around, in_axes=(0, 0, None))(centres, scales, size)
    index = jnp.arange(centres.shape[0])
    total = weights.sum()

    def log_density(kernel: TruncatedNormal, x: Scalar) -> Scalar:
        point = kernel.log_density(x)
        if n_values is None:
            return point
        count = jnp.maximum(size, 1)
        cell = kernel.log_mass(x - 0.5 / count, x + 0.5 / count) + jnp.log(count)
        return jnp.where(size > 0, cell, point)

    def term(row: tuple[Array, Array, Array]) -> Array:
        i, x, w = row
        others = jnp.where(index == i, jnp.maximum(weights - 1, 0), weights)
        density = jax.vmap(lambda kernel: log_density(kernel, x))(kernels)
        # A sum over the other rows would round differently for each row.
        rest = total - jnp.minimum(w, 1)
        alone = ~(others > 0).any()
        log_prob = weighted_logsumexp(density[None], others)[0] - jnp.log(jnp.where(alone, 1, rest))
        return w * jnp.where((w > 0) & ~alone, log_prob, 0)

    rows = (index[: position.shape[0]], position, frequency)
    return jax.lax.map(term, rows, batch_size=_CHUNK).sum()


def _maximise(function: Callable[[Array], Array], start: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """The argument between low and high with the highest value tried; at least as good as ``start``."""

    def evaluate(at: Array) -> tuple[Array, Array]:
        return jax.jvp(function, (at,), (jnp.ones_like(at),))

    # The widest scale comes first, because argmax takes the first of equal values.
    tried = jnp.linspace(high, low, _POINTS, dtype=low.dtype)
    values, slopes = jax.lax.map(evaluate, tried)
    k = jnp.argmax(values)
    beside = jnp.clip(jnp.where(slopes[k] > 0, k - 1, k + 1), 0, _POINTS - 1)

    def halve(ends: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        inner, outer = ends
        middle = (inner + outer) / 2
        is_below = evaluate(middle)[1] * (outer - inner) > 0
        return (jnp.where(is_below, middle, inner), jnp.where(is_below, outer, middle)), None

    (summit, _), _ = jax.lax.scan(halve, (tried[k], tried[beside]), length=_STEPS)
    best = jnp.stack([start, tried[k], summit])
    return best[jnp.argmax(jax.lax.map(function, best))]

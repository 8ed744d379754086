"""Scott's rule: one scale per parameter, from rows or from counts on a grid."""

from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import divisor, total
from parzax.kernels.bandwidth.rule import AbstractOneScale
from parzax.kernels.shapes import Scalar

# Scott's constant (4/3)^(1/5), as the papers round it.
_SCOTT = 1.059
# Interquartile range of a normal distribution, in standard deviations.
_IQR_OF_NORMAL = 1.34
# The bandwidth at which 1.64 sigma, that is 90 % of the mass, lies within half a cell.
MINIMUM = 0.5 / 1.64


def scott_scale(interquartile: Scalar, deviation: Scalar, size: Scalar) -> Scalar:
    """1.059 min(IQR / 1.34, sd) n^(-1/5) (Scott 1992), in the unit of IQR and sd."""
    return _SCOTT * jnp.minimum(interquartile / _IQR_OF_NORMAL, deviation) * size**-0.2


@final
class Scott(AbstractOneScale):
    """Scott's rule on the observed values and the prior's centre.

    The scale is 1.059 * min(IQR / 1.34, sd) * n^(-1/5), clipped (Scott 1992; as in the authors'
    parzen-estimator). sd has ddof 1, quartiles are interpolated linearly, n includes the prior's centre, and
    the number of parameters does not matter. The scale is the minimum if the middle half of the rows is equal
    (the IQR is then 0), if there is no row, and if there is one row and no prior.

    A row of weight w equals w rows, and weights may be fractional. The quantile at level q is the mean of
    the sorted sample over the unit window that starts at q (n - 1). For integer weights this is linear
    interpolation.

    Attributes:
        minimum, maximum, discrete_minimum, consider_magic_clip: see `AbstractClipped`; the minimum is 0.1 in
            meta-learning TPE (arXiv 2212.06751).

    >>> import jax.numpy as jnp, parzax as px
    >>> x = jnp.array([0.1, 0.4, 0.6, 0.7])
    >>> print(px.bandwidth.Scott()(x, jnp.ones(4)).round(3))
    [0.115 0.115 0.115 0.115]
    """

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        observed = frequency.sum()
        size = divisor(observed + int(prior_position is not None))
        lower = self.lower(observed, prior_position, n_values)
        first, third = quartiles(position, frequency, prior_position, order)
        if prior_position is not None:
            position, frequency = jnp.append(position, prior_position), jnp.append(frequency, 1)
        width = scott_scale(third - first, deviation(position, frequency), size)
        return self.clipped(width, lower)


def deviation(position: Float[Array, " n"], frequency: Float[Array, " n"]) -> Scalar:
    """Standard deviation (ddof 1) of rows repeated ``frequency`` times; 0 for fewer than two values."""
    size = frequency.sum()
    mean = (frequency * position).sum() / divisor(size)
    squares = (frequency * jnp.square(position - mean)).sum()
    # Fractional weights may sum to 1 or less; size - 1 would then be 0 or negative.
    variance = squares / jnp.where(size > 1, size - 1, 1)
    # sqrt has an infinite gradient at 0.
    return jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)


def quartiles(
    position: Float[Array, " n"],
    frequency: Float[Array, " n"],
    also: Scalar | None = None,
    order: Int[Array, " n"] | None = None,
) -> tuple[Scalar, Scalar]:
    """Q(1/4) and Q(3/4) of rows repeated ``frequency`` times, plus the value ``also``.

    They are equal for fewer than two values. Q(q) is the mean of S(t) over t in [h, h + 1] with h = q (n -
    1). S(t) is the i-th sorted row for t between the running weights before and after it. For integer weights
    the window covers a part 1 - f of one row and a part f of the next, where f is the fractional part of h.
    This is numpy.percentile's linear interpolation.
    """
    if order is None:
        order = jnp.argsort(jnp.where(frequency > 0, position, jnp.inf))
    key, frequency = position[order], frequency[order]
    value = jnp.where(frequency > 0, key, 0)
    end = jnp.cumsum(frequency)
    size, also_start = frequency.sum(), jnp.zeros((), end.dtype)
    if also is not None:
        also_start = jnp.where(key <= also, frequency, 0).sum()
        end, size = end + (key > also).astype(end.dtype), size + 1
    start = end - frequency
    # Large running weights are rounded to multiples above 1, so the window must be wider than the rounding.
    width = jnp.maximum(1, 4 * jnp.finfo(size.dtype).eps * size)

    def quartile(q: float) -> Array:
        window = q * jnp.maximum(size - 1, 0)

        def covered(start: Array, end: Array) -> Array:
            return jnp.maximum(jnp.minimum(end, window + width) - jnp.maximum(start, window), 0)

        parts = covered(start, end)
        length, value_sum = parts.sum(), (value * parts).sum()
        if also is not None:
            part = covered(also_start, also_start + 1)
            length, value_sum = length + part, value_sum + part * also
        return value_sum / divisor(length)

    return quartile(0.25), quartile(0.75)


def scott_on_grid(
    counts: Shaped[Array, " g"],
    *,
    floor_quartiles: bool = False,
    minimum: float = MINIMUM,
    dtype: jnp.dtype | None = None,
) -> Float[Array, ""]:
    """Scott's rule for the positions 0..g-1 with frequency ``counts``, in cells.

    It is max(1.059 * min(IQR / 1.34, sd) * n^(-1/5), minimum), sd with ddof 1 (Scott 1992; PED-ANOVA, arXiv
    2304.10255). The first quartile is the first occupied cell whose running count reaches n/4. The third
    quartile is the first cell whose running count exceeds 3n/4.

    Args:
        counts: (g,) integers, or floats for fractional weights.
        floor_quartiles: if True, compare running counts with floor(n/4) and floor(3n/4), as Optuna does. If
            False, reversing the order of the cells does not change the bandwidth.
        minimum: smallest bandwidth, in cells.
        dtype: floating dtype of the result; JAX's default if None.

    Returns:
        Bandwidth in cells; ``minimum`` if all counts are 0. jit- and vmap-able.
    """
    dtype = jnp.result_type(float) if dtype is None else dtype
    position = jnp.arange(counts.shape[0], dtype=dtype)
    n = total(counts)
    low, high = _quartile_cells(counts, n, floor_quartiles)
    size = jnp.maximum(n.astype(dtype), 1)
    spread = deviation(position, counts.astype(dtype))
    return jnp.maximum(scott_scale((high - low).astype(dtype), spread, size), minimum)


def _quartile_cells(counts: Array, n: Array, floor: bool) -> tuple[Array, Array]:
    if jnp.issubdtype(counts.dtype, jnp.integer):
        # Integer arithmetic without 3 * n, which would overflow an int32 long before n does.
        quarter = -(-n // 4)
        first = jnp.maximum(n // 4, 1) if floor else quarter
        third = n - quarter
    else:
        first, third = (jnp.floor(n / 4), jnp.floor(n * 0.75)) if floor else (n / 4, n * 0.75)
        first = jnp.where(first > 0, first, jnp.finfo(counts.dtype).tiny)
    running, last = jnp.cumsum(counts, dtype=counts.dtype), len(counts) - 1
    low, high = (before.sum(dtype=jnp.int32) for before in (running < first, running <= third))
    return jnp.minimum(low, last), jnp.minimum(high, last)

"""Scott's rule on rows: one scale per parameter, from the smaller of two spreads."""

from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax.kernels.bandwidth.rule import (
    IQR_OF_NORMAL,
    SCOTT,
    Bandwidth,
    Setting,
    check_settings,
    clip,
    lower_clip,
)


@final
class Scott(Bandwidth):
    """Scott's rule with its clips; made by ``scott``."""

    minimum: Setting
    maximum: Setting
    discrete_minimum: Setting | None
    magic_exponent: Setting | None

    def _scale(self, position, frequency, prior_position, n_parameters, n_values, order):
        size = frequency.sum() + (prior_position is not None)
        size = jnp.where(size > 0, size, 1)
        lower = lower_clip(self.minimum, self.discrete_minimum, n_values, position.dtype)
        if self.magic_exponent is not None:
            lower = jnp.maximum(lower, size ** -jnp.asarray(self.magic_exponent, position.dtype))
        width = SCOTT * spread(position, frequency, prior_position, order) * size**-0.2
        return clip(width, lower, self.maximum)


def scott(
    minimum: Setting = 0.01,
    maximum: Setting = 0.5,
    *,
    discrete_minimum: Setting | None = 1.0,
    magic_exponent: Setting | None = None,
) -> Scott:
    """Scott's rule on the observed values and the prior's centre.

    1.059 * min(IQR / 1.34, sd) * n^(-1/5), clipped (Scott 1992; as in the authors' parzen-estimator). sd
    has ddof 1, quartiles are interpolated linearly, n counts the prior's centre, and the number of
    parameters does not enter. Where the middle half of the rows is equal the IQR is 0, and the minimum
    holds. So it does for no row, and for one row where there is no prior.

    A row of weight w equals w rows. Weights need not be whole: the quartile q is the mean of the sorted
    sample over the unit window that starts at q (n - 1), which for whole weights is linear interpolation.

    Args:
        minimum: smallest scale, in units of the range (0.1 in meta-learning TPE, arXiv 2212.06751).
        maximum: largest scale, in units of the range.
        discrete_minimum: smallest scale of a discrete parameter, in steps; None: ``minimum`` serves both.
        magic_exponent: raise the minimum to n^(-magic_exponent), the magic clip of arXiv 2304.11127;
            None: do not.

    Returns:
        A rule; see ``Bandwidth`` for how it is called.

    Raises:
        ValueError: a setting that is not positive, or minimum > maximum.

    >>> import jax.numpy as jnp
    >>> x = jnp.array([0.1, 0.4, 0.6, 0.7])
    >>> print(scott()(x, jnp.ones(4)).round(3))
    [0.115 0.115 0.115 0.115]
    """
    settings = {"minimum": minimum, "maximum": maximum}
    settings |= {"discrete_minimum": discrete_minimum, "magic_exponent": magic_exponent}
    check_settings("scott", **settings)
    return Scott(minimum, maximum, discrete_minimum, magic_exponent)


def spread(
    position: Float[Array, " n"],
    frequency: Float[Array, " n"],
    also: Float[Array, ""] | None = None,
    order: Int[Array, " n"] | None = None,
) -> Float[Array, ""]:
    """min(IQR / 1.34, sd): a normal's standard deviation, by the smaller of two estimates.

    Args:
        position: (n,) rows.
        frequency: (n,) how often each was seen, 0 where absent.
        also: one more row, seen once.
        order: (n,) indices of the rows by position; None to sort them here.
    """
    quartiles = interquartile_range(position, frequency, also, order) / IQR_OF_NORMAL
    return jnp.minimum(quartiles, deviation(position, frequency, also))


def deviation(
    position: Float[Array, " n"], frequency: Float[Array, " n"], also: Float[Array, ""] | None = None
) -> Float[Array, ""]:
    """Standard deviation with ddof 1, of rows repeated ``frequency`` times; 0 for no or one row."""
    size, total = frequency.sum(), (frequency * position).sum()
    if also is not None:
        size, total = size + 1, total + also
    mean = total / jnp.where(size > 0, size, 1)
    squares = (frequency * jnp.square(position - mean)).sum()
    if also is not None:
        squares = squares + jnp.square(also - mean)
    # Fractional weights may sum to less than 1, where ddof 1 means nothing.
    variance = squares / jnp.where(size > 1, size - 1, 1)
    # sqrt has an infinite slope at 0.
    return jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)


def interquartile_range(
    position: Float[Array, " n"],
    frequency: Float[Array, " n"],
    also: Float[Array, ""] | None = None,
    order: Int[Array, " n"] | None = None,
) -> Float[Array, ""]:
    """Q(3/4) - Q(1/4) of rows repeated ``frequency`` times; 0 for no or one row.

    Q(q) is the mean over t in [h, h + 1] of the sorted sample S(t), h = q (n - 1), where S is the i-th
    row for t between its running weights. For whole weights the window covers parts 1 - f and f of two
    neighbours, f the fraction of h: numpy.percentile's linear interpolation.
    """
    if order is None:
        key = jnp.where(frequency > 0, position, jnp.inf)
        key, frequency = jax.lax.sort((key, frequency), num_keys=1)
    else:
        key, frequency = position[order], frequency[order]
    value = jnp.where(frequency > 0, key, 0)
    end = jnp.cumsum(frequency)
    size, own_start = frequency.sum(), jnp.zeros((), end.dtype)
    if also is not None:
        own_start = (frequency * (key <= also)).sum()
        end, size = end + (key > also), size + 1
    start = end - frequency
    # Wide enough to be seen where the running weights are rounded to more than units.
    width = jnp.maximum(1, 4 * jnp.finfo(size.dtype).eps * size)

    def quartile(q: float) -> Array:
        window = q * jnp.maximum(size - 1, 0)

        def covered(start: Array, end: Array) -> Array:
            return jnp.maximum(jnp.minimum(end, window + width) - jnp.maximum(start, window), 0)

        parts = covered(start, end)
        total, mean = parts.sum(), (value * parts).sum()
        if also is not None:
            own = covered(own_start, own_start + 1)
            total, mean = total + own, mean + own * also
        return mean / jnp.where(total > 0, total, 1)

    return quartile(0.75) - quartile(0.25)

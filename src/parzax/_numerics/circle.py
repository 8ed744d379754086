"""Numbers on a circle of length 1: the wrapped normal distribution, and rows unrolled onto a line."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics.arrays import divisor
from parzax._numerics.interval import log_normal_mass

Real = Float[Array, "..."]
# Up to this scale the density is a sum of normals one turn apart, above it a Fourier series. The terms that
# are left out are below 4e-15 of the density on either side.
_LARGEST_IMAGED = 0.3
# From this scale on the density is uniform to rounding.
UNIFORM_SCALE = 2.0


def log_wrapped_density(distance: Real, scale: Real) -> Real:
    """log density of a wrapped normal at a distance from its place, elementwise."""
    imaged, narrow = _narrow(scale)
    d = wrapped(distance)
    # exp(-(d - k)^2 / 2 s^2) relative to the image k = 0, for k = 1 and -1; products give k = 2 and -2.
    inverse = 1 / narrow
    after, before = (jnp.exp(-0.5 * inverse * ((1 - 2 * x) * inverse)) for x in (d, -d))
    images = 1 + after + before + after * before * (jnp.square(after) + jnp.square(before))
    peak = -0.5 * jnp.square(d * inverse) - jnp.log(narrow) - 0.5 * math.log(2 * math.pi)
    series = 1 + _fourier(d, None, jnp.where(imaged, UNIFORM_SCALE, scale))
    return jnp.where(imaged, peak, 0) + jnp.log(jnp.where(imaged, images, series))


def log_wrapped_mass(lower: Real, upper: Real, scale: Real) -> Real:
    """log mass of a wrapped normal around 0 on an arc of at most one turn, elementwise."""
    imaged, narrow = _narrow(scale)
    middle, width = 0.5 * (lower + upper), upper - lower
    turns = jnp.round(middle)[None] + jnp.arange(-3, 4, dtype=middle.dtype).reshape(-1, *[1] * middle.ndim)
    images = log_normal_mass(*((end[None] - turns) / narrow[None] for end in (lower, upper)))
    series = jnp.log1p(_fourier(middle, width, jnp.where(imaged, UNIFORM_SCALE, scale)))
    return jnp.where(imaged, jax.nn.logsumexp(images, axis=0), jnp.log(width) + series)


def wrapped(x: Real) -> Real:
    """The signed shorter way around the circle, in [-1/2, 1/2]."""
    return x - jnp.round(x)


def unrolled(place: Float[Array, " n"], weight: Float[Array, " n"]) -> Float[Array, " n"]:
    """Places on a line in [0, 1], in their order around the circle; 1/2 is midway between first and last.

    The circle is cut where the variance of the places on the line is smallest, so turning the circle changes
    nothing. Places of weight 0 are 1/2.
    """
    order = jnp.argsort(jnp.where(weight > 0, place, jnp.inf))
    first = place[order][_cut(place[order], weight[order])]
    line = jnp.where(place < first, place + 1, place)
    last = jnp.where(weight > 0, line, 0).max(initial=0)
    return jnp.where(weight > 0, line - 0.5 * (first + last) + 0.5, 0.5)


def unrolled_cells(counts: Shaped[Array, " g"], n_cells: Int[Array, ""]) -> Int[Array, " g"]:
    """The numbers of the cells in their order around the circle, which is cut as in `unrolled`.

    Only the first ``n_cells`` of the ``counts`` are on the circle. The other cells keep their numbers.
    """
    number = jnp.arange(len(counts), dtype=n_cells.dtype)
    weight = counts.astype(jnp.result_type(float))
    first = _cut(number.astype(weight.dtype) / n_cells.astype(weight.dtype), weight).astype(number.dtype)
    return jnp.where(number < n_cells, (number + first) % n_cells, number)


def _cut(place: Float[Array, " n"], weight: Float[Array, " n"]) -> Int[Array, ""]:
    """Number of the ascending place before which the circle is cut."""
    share = weight / divisor(weight.sum())
    # The places before the cut lie one turn further on.
    turned, squares = (jnp.cumsum(x) - x for x in (share, share * (2 * place + 1)))
    variance = squares - jnp.square((share * place).sum() + turned)
    return jnp.argmin(jnp.where(share > 0, variance, jnp.inf))


def _narrow(scale: Real) -> tuple[Array, Real]:
    """Whether the images of a scale are summed, and the scale, or another one where they are not."""
    imaged = scale <= _LARGEST_IMAGED
    return imaged, jnp.where(imaged, scale, _LARGEST_IMAGED)


def _fourier(middle: Real, width: Real | None, scale: Real) -> Real:
    """Mean density on an arc, or density at a place, minus 1.

    2 sum_j exp(-2 (pi j s)^2) cos(2 pi j middle) sinc(j width)
    """
    decay = jnp.exp(-2 * jnp.square(math.pi * jnp.minimum(scale, UNIFORM_SCALE)))
    cosine = jnp.cos(2 * math.pi * middle)
    total, previous, current = jnp.zeros_like(cosine), jnp.ones_like(cosine), cosine
    for j in range(1, 5):
        term = 2 * decay ** (j * j) * current
        total = total + (term if width is None else term * jnp.sinc(j * width))
        previous, current = current, 2 * cosine * current - previous
    return total

"""How far two densities are apart, estimated from their logs at random points."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax import _checks

# What none of S points has shown may still have a share of a few in S.
_UNSEEN = 1.5


class Variation(NamedTuple):
    """An estimate of the total variation d = 1/2 E|p - q|.

    Attributes:
        value: within [0, 1].
        error: standard error, at least 1.5 / S for S points: points that all agree do not prove that the next
            one will.
    """

    value: Float[Array, "..."]
    error: Float[Array, "..."]


def balanced_variation(of_p: Float[Array, "*b n"], of_q: Float[Array, "*b m"]) -> Variation:
    """d = 1/2 E_p |p - q| / (p + q) + 1/2 E_q |p - q| / (p + q), from points of both densities.

    The integrand |p - q| / (p + q) = |tanh((log p - log q) / 2)| lies within [0, 1], so that the standard
    error is at most 1/2 (n + m)^(-1/2) for n = m, in any dimension and however narrow the densities are.

    Args:
        of_p: log p - log q at n points drawn from p.
        of_q: the same at m points drawn from q.

    Returns:
        Over the last axes. A point where neither density is positive (NaN) counts as one where they agree;
        where all points of a density are such, its half of the value is unknown, and the error at least 1/2.

    Raises:
        ValueError: without points.

    >>> import jax.numpy as jnp
    >>> apart = balanced_variation(jnp.full(4, jnp.inf), jnp.full(4, -jnp.inf))
    >>> float(apart.value)
    1.0
    """
    of_p, of_q = _points(of_p=of_p, of_q=of_q)
    n = of_p.shape[-1] + of_q.shape[-1]
    return of_halves(half(of_p), half(of_q), n)


class Half(NamedTuple):
    """Mean of |p - q| / (p + q) over the points of one density, and the variance of this mean."""

    mean: Float[Array, "..."]
    variance: Float[Array, "..."]


def half(log_ratio: Float[Array, "*b n"]) -> Half:
    """One half of `balanced_variation`, from log p - log q at n points of p, or of q."""
    unknown = jnp.isnan(log_ratio)
    apart = jnp.abs(jnp.tanh(jnp.where(unknown, 0, log_ratio) / 2))
    variance = jnp.where(unknown.all(axis=-1), 1, apart.var(axis=-1) / apart.shape[-1])
    return Half(apart.mean(axis=-1), variance)


def of_halves(of_p: Half, of_q: Half, n: int) -> Variation:
    """`balanced_variation` from both halves, of n points in all."""
    variance = (of_p.variance + of_q.variance) / 4 + (_UNSEEN / n) ** 2
    return Variation((of_p.mean + of_q.mean) / 2, jnp.sqrt(variance))


def uniform_variation(
    log_p: Float[Array, "*b n"], log_q: Float[Array, "*b n"], log_uniform: Float[Array, "*b n"]
) -> Variation:
    """d = 1/2 E_u |p - q| / u from points of a uniform density u, as in arXiv 2212.06751.

    Its standard error grows with the peaks of p and q: in many dimensions, or with narrow densities, most
    points miss them, and the answer is near 0 but for rare large ones. `balanced_variation` does not.

    Args:
        log_p, log_q: logs of the densities at n points drawn from u.
        log_uniform: log u there; 0 in unit coordinates but for discrete parameters.

    Returns:
        Over the last axis; the value is clipped to 1.

    Raises:
        ValueError: without points.
    """
    log_p, log_q, log_uniform = _points(log_p=log_p, log_q=log_q, log_uniform=log_uniform)
    gap = 0.5 * jnp.abs(jnp.exp(log_p - log_uniform) - jnp.exp(log_q - log_uniform))
    n = gap.shape[-1]
    error = jnp.sqrt(gap.var(axis=-1) / n + (_UNSEEN / n) ** 2)
    return Variation(jnp.minimum(gap.mean(axis=-1), 1), error)


def overlap_similarity(
    log_p: Float[Array, "*b n"], log_q: Float[Array, "*b n"], quantile: float = 0.1
) -> Float[Array, "*b"]:
    """Overlap of two sets over their union: those points among n uniform ones where a density is largest.

    The variant by promising sets of arXiv 2212.06751. Points as good as the last one of a set are all in it,
    so that where densities are constant in places (categories), no order of the points decides; a point
    where a density is 0 is never in its set.

    Args:
        log_p, log_q: logs of the densities at n points drawn uniformly.
        quantile: share of the points in a set, at least one of them; ties make it larger, and zeros smaller.

    Returns:
        Over the last axis, within [0, 1]; 0 where both densities are 0 at all points.

    Raises:
        TypeError, ValueError: for a quantile outside (0, 1], and without points.

    >>> import jax.numpy as jnp
    >>> log_p, log_q = jnp.log(jnp.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]]))
    >>> float(overlap_similarity(log_p, log_p, 0.25)), round(float(overlap_similarity(log_p, log_q, 0.25)), 3)
    (1.0, 0.333)
    """
    log_p, log_q = _points(log_p=log_p, log_q=log_q)
    # To 12 digits, 0.29 of 100 points are 29 of them, though the product is below 29.
    k = max(1, int(_checks.quantile("quantile", quantile) * log_p.shape[-1] * (1 + 1e-12)))
    first, second = _top(log_p, k), _top(log_q, k)
    both, either = (first & second).sum(axis=-1), (first | second).sum(axis=-1)
    return both / jnp.maximum(either, 1).astype(log_p.dtype)


def _top(log: Float[Array, "*b n"], k: int) -> Bool[Array, "*b n"]:
    """The k largest and those that equal the last of them, but for -inf, as a mask."""
    last = jnp.sort(log, axis=-1)[..., -k, None]
    # Equal densities may differ by rounding, which must not tell them apart.
    rounding = jnp.sqrt(jnp.finfo(log.dtype).eps) * jnp.maximum(jnp.abs(last), 1)
    return (log > -jnp.inf) & (log >= jnp.where(jnp.isfinite(last), last - rounding, last))


def _points(**logs: Any) -> list[Array]:
    """As floating-point arrays with at least one point on the last axis."""
    out = []
    for name, values in logs.items():
        array = jnp.asarray(values)
        array = array.astype(jnp.promote_types(array.dtype, jnp.float32))
        if array.ndim == 0 or array.shape[-1] == 0:
            raise ValueError(
                f"{name} must have at least one point on its last axis, got shape {array.shape}."
            )
        out.append(array)
    return out

"""Total variation of two densities, estimated at random points, and task weights computed from it."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from parzax import _checks

# Smallest standard error, in units of 1 / S; it applies if all S points have the same value.
_UNSEEN = 1.5


class Variation(NamedTuple):
    """An estimate of the total variation d = 1/2 E|p - q|.

    Attributes:
        value: estimate of d, in [0, 1].
        error: standard error. It is at least 1.5 / S for S points, because another point may differ even if
            all S points have the same value.
    """

    value: Float[Array, "..."]
    error: Float[Array, "..."]


def balanced_variation(of_p: Float[ArrayLike, "*b n"], of_q: Float[ArrayLike, "*b m"]) -> Variation:
    """d = 1/2 E_p |p - q| / (p + q) + 1/2 E_q |p - q| / (p + q), from points of both densities.

    The integrand |p - q| / (p + q) = |tanh((log p - log q) / 2)| lies in [0, 1]. For n = m the standard error
    is therefore at most 1/2 (n + m)^(-1/2), in any dimension and for densities of any width.

    Args:
        of_p: log p - log q at n points drawn from p.
        of_q: log p - log q at m points drawn from q.

    Returns:
        The variation over the last axes. If both densities are 0 at a point (NaN), they count as equal there.
        If this holds at all points of a density, its half of the value is unknown, and the error is at least
        1/2.

    Raises:
        ValueError: if there are no points.

    >>> import jax.numpy as jnp
    >>> apart = balanced_variation(jnp.full(4, jnp.inf), jnp.full(4, -jnp.inf))
    >>> float(apart.value)
    1.0
    """
    of_p, of_q = _points(of_p=of_p, of_q=of_q)
    (mean_p, variance_p), (mean_q, variance_q) = _half(of_p), _half(of_q)
    least = _UNSEEN / (of_p.shape[-1] + of_q.shape[-1])
    return Variation((mean_p + mean_q) / 2, jnp.sqrt((variance_p + variance_q) / 4 + least**2))


def _half(log_ratio: Float[Array, "*b n"]) -> tuple[Float[Array, "*b"], Float[Array, "*b"]]:
    """Mean of |p - q| / (p + q) over points from p, or from q, and the variance of this mean."""
    unknown = jnp.isnan(log_ratio)
    apart = jnp.abs(jnp.tanh(jnp.where(unknown, 0, log_ratio) / 2))
    variance = jnp.where(unknown.all(axis=-1), 1, apart.var(axis=-1) / apart.shape[-1])
    return apart.mean(axis=-1), variance


def uniform_variation(
    log_p: Float[ArrayLike, "*b n"], log_q: Float[ArrayLike, "*b n"], log_uniform: Float[ArrayLike, "*b n"]
) -> Variation:
    """d = 1/2 E_u |p - q| / u from points of a uniform density u, as in arXiv 2212.06751.

    Its standard error grows with the height of the peaks of p and q. In many dimensions, or with narrow
    densities, most points miss the peaks, so that most estimates are near 0 and a few are large.
    `balanced_variation` does not have this problem.

    Args:
        log_p, log_q: logs of the densities at n points drawn from u.
        log_uniform: log u at these points; it is 0 in unit coordinates if all parameters are continuous.

    Returns:
        The variation over the last axis; the value is clipped to 1.

    Raises:
        ValueError: if there are no points.
    """
    log_p, log_q, log_uniform = _points(log_p=log_p, log_q=log_q, log_uniform=log_uniform)
    gap = 0.5 * jnp.abs(jnp.exp(log_p - log_uniform) - jnp.exp(log_q - log_uniform))
    n = gap.shape[-1]
    error = jnp.sqrt(gap.var(axis=-1) / n + (_UNSEEN / n) ** 2)
    return Variation(jnp.minimum(gap.mean(axis=-1), 1), error)


def overlap_similarity(
    log_p: Float[ArrayLike, "*b n"], log_q: Float[ArrayLike, "*b n"], quantile: float = 0.1
) -> Float[Array, "*b"]:
    """Intersection over union of two sets of points: the points where each density is largest.

    This is the variant with promising sets in arXiv 2212.06751. The set of a density has the best
    ``quantile`` of n uniform points. Points that tie with the last point of a set are all in the set, so the
    order of the points does not matter if densities are constant in places (categories). A point where a
    density is 0 is never in its set.

    Args:
        log_p, log_q: logs of the densities at n points drawn uniformly.
        quantile: share of the points in a set, at least one point; ties add points, zeros remove points.

    Returns:
        The similarity over the last axis, in [0, 1]; 0 if both densities are 0 at all points.

    Raises:
        TypeError, ValueError: if the quantile is outside (0, 1], or if there are no points.

    >>> import jax.numpy as jnp
    >>> log_p, log_q = jnp.log(jnp.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]]))
    >>> float(overlap_similarity(log_p, log_p, 0.25)), round(float(overlap_similarity(log_p, log_q, 0.25)), 3)
    (1.0, 0.333)
    """
    log_p, log_q = _points(log_p=log_p, log_q=log_q)
    # 0.29 * 100 is slightly below 29 in floats; the factor makes it 29 points.
    k = max(1, int(_checks.quantile("quantile", quantile) * log_p.shape[-1] * (1 + 1e-12)))
    first, second = _top(log_p, k), _top(log_q, k)
    both, either = (first & second).sum(axis=-1), (first | second).sum(axis=-1)
    return both.astype(log_p.dtype) / jnp.maximum(either, 1).astype(log_p.dtype)


def _top(log: Float[Array, "*b n"], k: int) -> Bool[Array, "*b n"]:
    """Mask of the k largest entries and of entries that tie with the last of them; -inf is never included."""
    last = jnp.sort(log, axis=-1)[..., -k, None]
    # Densities that are equal except for rounding count as ties.
    rounding = jnp.sqrt(jnp.finfo(log.dtype).eps) * jnp.maximum(jnp.abs(last), 1)
    return (log > -jnp.inf) & (log >= jnp.where(jnp.isfinite(last), last - rounding, last))


def _points(**logs: Any) -> list[Array]:
    """Log densities as float arrays; ValueError unless the last axis has at least one point."""
    arrays = {name: jnp.asarray(values, float) for name, values in logs.items()}
    for name, array in arrays.items():
        if array.ndim == 0 or array.shape[-1] == 0:
            shape = array.shape
            raise ValueError(f"{name} must have at least one point on its last axis, got shape {shape}.")
    return list(arrays.values())


def similarity(variation: Float[ArrayLike, "*b"]) -> Float[Array, "*b"]:
    """Similarity s = (1 - d) / (1 + d) for a total variation d: intersection over union of two densities.

    With p and q normalised, 1 - d is the integral of min(p, q) and 1 + d that of max(p, q)
    (arXiv 2212.06751).

    >>> float(similarity(0.0)), float(similarity(1.0))
    (1.0, 0.0)
    """
    d = jnp.clip(jnp.asarray(variation), 0, 1)
    return (1 - d) / (1 + d)


def task_kernel(similarities: Any, present: Bool[Array, "*b t"] | None = None) -> Float[Array, "*b t1"]:
    """Task kernel k(1, m): s_m / T for source m, and the rest, 1 - sum_m s_m / T, for the target.

    Args:
        similarities: (..., T - 1) similarity of the target to each source task, in [0, 1].
        present: (..., T - 1) mask of source tasks that have rows; other sources get 0 and are not counted in
            T. All by default.

    Returns:
        (..., T) kernel values, the target first; they sum to 1 (arXiv 2212.06751).

    Raises:
        ValueError: on the host, if a similarity is outside [0, 1]; compiled code does not check.

    >>> import jax.numpy as jnp
    >>> task_kernel(jnp.array([1.0, 0.5, 0.0])).tolist()
    [0.625, 0.25, 0.125, 0.0]
    """
    similarities = jnp.asarray(similarities, float)
    if similarities.ndim == 0:
        raise ValueError("similarities must have an axis of source tasks, got a number.")
    if not _checks.is_traced(similarities):
        values = np.asarray(similarities)
        wrong = values[~((values >= 0) & (values <= 1))]
        if len(wrong):
            raise ValueError(f"similarities must lie in [0, 1], got {wrong[0]}.")
    present = jnp.broadcast_to(True if present is None else present, similarities.shape)
    n_tasks = 1 + present.sum(axis=-1, keepdims=True)
    shares = jnp.where(present, similarities, 0) / n_tasks.astype(similarities.dtype)
    return jnp.concatenate([1 - shares.sum(axis=-1, keepdims=True), shares], axis=-1)

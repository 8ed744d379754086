"""Empirical attainment surfaces of several runs, for two objectives."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Num

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import float_of_key, ordered_key


class AttainmentSurface(NamedTuple):
    """A staircase that falls from left to right: the attained region lies above and to the right of it.

    Attributes:
        x: (p,) first objective of all points of all runs, ascending; absent points come last, as NaN.
        y: (p,) smallest second objective that is attained at this x; +inf if none is.
        corner: (p,) whether (x, y) is a lower left corner; the corners describe the surface completely.
    """

    x: Float[Array, " p"]
    y: Float[Array, " p"]
    corner: Bool[Array, " p"]


def attainment_surface(
    losses: Num[ArrayLike, "s n 2"],
    level: Num[ArrayLike, ""] | int,
    mask: Num[ArrayLike, "s n"] | Bool[ArrayLike, "s n"] | None = None,
) -> AttainmentSurface:
    """The surface of points that at least ``level`` of s runs attain (Fonseca and Fleming 1996).

    A run attains (x, y) if it has a point with first objective at most x and second objective at most y. At
    each x every run has a smallest y among its points up to x. The surface is the ``level``-th smallest of
    these s numbers:

        y(x) = level-th smallest over runs r of min { y_i : i in run r, x_i <= x }

    level = 1 is the best of all runs, s the worst, (s + 1) // 2 the median. Values are selected from the
    input and keep all bits, except that -0.0 becomes 0.0. The time is O(s p log s) and the memory O(s p) for
    p = s n points.

    Args:
        losses: (s, n, 2) points of every run, both objectives minimised; dominated points are allowed.
        level: number of runs, from 1 to s; it may be traced. ``jax.vmap`` over it gives all surfaces.
        mask: (s, n) mask or weights of the points that exist; all by default.

    Returns:
        The staircase. Points with a NaN are ignored. A run without points attains nothing. A level outside
        [1, s] is clipped.

    >>> import jax.numpy as jnp
    >>> runs = jnp.array([[[1.0, 3.0], [2.0, 1.0]], [[1.5, 2.0], [3.0, 0.0]]])
    >>> surface = attainment_surface(runs, 2)
    >>> surface.x[surface.corner].tolist(), surface.y[surface.corner].tolist()
    ([1.5, 2.0, 3.0], [3.0, 2.0, 1.0])
    """
    losses = jnp.asarray(losses)
    if losses.ndim != 3 or losses.shape[2] != 2:
        raise ValueError(f"losses must be (s, n, 2), runs by points by objectives, got shape {losses.shape}.")
    losses = losses.astype(jnp.result_type(float, losses))
    mask = jnp.ones(losses.shape[:2], bool) if mask is None else jnp.asarray(mask)
    _checks.check_shape("mask", mask, *losses.shape[:2])
    return _surface(losses, jnp.asarray(level), mask if mask.dtype == bool else mask > 0)


@jit_on_meshes()
def _surface(losses, level, mask):
    s, n, _ = losses.shape
    if s * n == 0:
        return AttainmentSurface(*(jnp.zeros(0, dtype) for dtype in (losses.dtype, losses.dtype, bool)))
    key = ordered_key(losses).reshape(-1, 2)
    never = jnp.iinfo(key.dtype).max
    there = mask.reshape(-1) & ~jnp.any(jnp.isnan(losses.reshape(-1, 2)), axis=1)
    x_key, y_key = (jnp.where(there, key[:, j], never) for j in range(2))
    run = jnp.repeat(jnp.arange(s, dtype=jnp.int32), n)
    x_key, y_key, run = jax.lax.sort((x_key, y_key, run), num_keys=1)
    run_keys = jnp.where(jnp.arange(s, dtype=jnp.int32)[:, None] == run[None], y_key[None], never)
    best = jnp.sort(jax.lax.cummin(run_keys, axis=1), axis=0)
    surface = best[jnp.clip(level.astype(jnp.int32), 1, s) - 1]
    # All points with the same x get the surface after the last of them.
    surface = surface[jnp.searchsorted(x_key, x_key, side="right") - 1]
    before = jnp.concatenate([jnp.full(1, never, surface.dtype), surface[:-1]])
    infinite = ordered_key(jnp.full((), jnp.inf, losses.dtype))
    corner = (surface < before) & (x_key < never)
    y = float_of_key(jnp.minimum(surface, infinite))
    x = jnp.where(x_key < never, float_of_key(jnp.where(x_key < never, x_key, 0)), jnp.nan)
    return AttainmentSurface(x.astype(losses.dtype), y.astype(losses.dtype), corner)

"""Hypervolume: exact for one to three objectives, and on the host for any number of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from parzax import _checks
from parzax._mesh import jit_or_host
from parzax._numerics import ordered_key
from parzax.pareto.order import Losses, Mask, Reference, checked_rows, loop, running_max


def hypervolume(losses: Losses, reference: Reference, mask: Mask = None) -> Float[Any, ""]:
    """Volume that the rows dominate, up to the reference point (Zitzler and Thiele 1998).

    Each row spans a box from itself to the reference; the result is the volume of the union of the boxes.
    With two objectives the boxes are sorted by one width, and increases of the height are summed: O(n log n).
    With three objectives the boxes are added from the deepest to the shallowest to a staircase, and its area
    times the difference to the next depth is summed: O(n^2) time, O(n) memory. All terms are positive, so the
    relative error is 1e-12 in float64 and 1e-5 in float32. It is differentiable wherever the volume is.

    Args:
        losses: (n, m), all minimised. JAX arrays have one to three objectives; NumPy arrays are computed on
            the host in float64, with more than three objectives by moocore (``parzax[pareto]``).
        reference: (m,) the worst corner.
        mask: (n,) mask of the rows that exist, or their weights (a positive weight means present); all by
            default.

    Returns:
        The volume, in units of the losses. Duplicates and dominated rows change nothing. A row with a NaN, or
        a row that is not better than the reference in **every** objective, adds nothing. The value is 0
        without rows, NaN if the reference has a NaN, and infinite if a width is infinite. It is 0 or infinite
        if the dtype cannot represent the volume; boxes of 1e200 by 1e-200 are fine.

    >>> import jax.numpy as jnp
    >>> hypervolume(jnp.array([[1.0, 2.0], [2.0, 1.0]]), jnp.array([3.0, 3.0])).item()
    3.0
    """
    return _volume(*checked_arguments(losses, reference, mask))


def checked_arguments(losses: Any, reference: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Losses and reference in one dtype, and the mask of rows; see `checked_rows`."""
    rows, present = checked_rows(losses, mask, reference)
    xp = rows.__array_namespace__()
    reference = jnp.asarray(reference) if xp is jnp else _checks.float_array("reference", reference)
    if reference.shape != rows.shape[1:]:
        expected = "(n, m) with at least one objective and reference (m,)"
        raise ValueError(f"losses must be {expected}, got shapes {rows.shape} and {reference.shape}.")
    if xp is jnp and rows.shape[1] > 3:
        problem = f"losses must have at most 3 objectives in JAX, got {rows.shape[1]}"
        raise ValueError(f"{problem}; give NumPy arrays, for which moocore computes more.")
    dtype = xp.result_type(rows, reference)
    return rows.astype(dtype), reference.astype(dtype), present


@jit_or_host()
def _volume(losses, reference, present):
    xp, box = losses.__array_namespace__(), boxes(losses, reference, present)
    value = xp.ldexp(union(box.width), box.exponent)
    return xp.where(xp.any(xp.isnan(reference)), xp.nan, xp.where(xp.any(box.endless), xp.inf, value))


class Boxes(NamedTuple):
    """One box per row, from the row up to the reference point; volume = volume of widths * 2^exponent."""

    width: Float[Any, "n m"]  # in units of 2^exponent of their objective, at most 1; 0 without a box
    exponent: Int[Any, ""]  # sum of the exponents of the objectives
    endless: Bool[Any, "n m"]  # whether a width is infinite (it is 0 in `width`); the volume is then too


def boxes(losses: Float[Any, "n m"], reference: Float[Any, " m"], present: Bool[Any, " n"]) -> Boxes:
    """The boxes of the present rows, in NumPy for NumPy arrays. Scaling by powers of two is exact."""
    xp = losses.__array_namespace__()
    # The key of a NaN is the largest, so a row with a NaN is not inside.
    better = xp.all(ordered_key(losses) < ordered_key(reference)[None], axis=1)
    inside = present & better & ~xp.any(xp.isnan(reference))
    ends = inside[:, None] & xp.isfinite(losses) & xp.isfinite(reference)[None]
    width = xp.where(ends, reference[None], 0) - xp.where(ends, losses, 0)
    endless = inside[:, None] & (~ends | (width == xp.inf))
    width = xp.where(endless, 0, width)
    widest = xp.max(width, axis=0, initial=0)
    _, exponent = xp.frexp(xp.where(widest > 0, widest, 1))
    return Boxes(xp.ldexp(width, -exponent[None]), xp.sum(exponent), endless)


def union(width: Float[Any, "n m"]) -> Float[Any, ""]:
    """Volume of the union of boxes with a common corner, from their widths (n, m).

    More than three objectives are computed on the host by moocore; the time is exponential in their number.
    """
    (n, m), xp = width.shape, width.__array_namespace__()
    if n == 0:
        return xp.zeros((), width.dtype)
    if m == 1:
        return xp.max(width)
    if m == 2:
        order = xp.argsort(-width[:, 0])
        return xp.sum(_steps(width[order, 0]) * running_max(width[order, 1]))
    if m == 3:
        return _by_depth(width, lambda height: height)
    moocore = _checks.optional("moocore", "A hypervolume of more than three objectives", "pareto")
    inside = width[width.all(axis=1)]
    return np.asarray(moocore.hypervolume(-inside, ref=np.zeros(m)) if len(inside) else 0.0)


def added_volume(box: Float[Any, " m"], others: Float[Any, "n m"]) -> Float[Any, ""]:
    """Volume that a box adds to the union of other boxes, for three and more objectives; 0 if covered.

    Three objectives are computed without cancellation. With more the result is rounded to 12 digits of the
    box's volume, and to 12 of its own, so that equal gains are equal.
    """
    xp = box.__array_namespace__()
    within = xp.minimum(others, box[None])
    if len(box) > 3:
        gain = round(1 - float(union(within / box)), 12) if box.all() else 0.0
        return np.float64(f"{gain * box.prod():.12g}")
    # A box of height 0 covers the whole base, so that every column and every slab exists.
    ground = xp.stack([box[0], xp.zeros_like(box[1]), box[2]])[None]
    return _by_depth(xp.concatenate([ground, within]), lambda height: box[1] - height)


def _by_depth(width: Float[Any, "n 3"], counted: Callable[[Any], Any]) -> Float[Any, ""]:
    """Sum over slabs and columns of base area times ``counted``, a function of the column's height."""
    xp = width.__array_namespace__()
    along = xp.argsort(-width[:, 0])
    x, step = width[along, 0], _steps(width[along, 0])
    depth = xp.argsort(-width[:, 2])
    boxes, slab = width[depth], _steps(width[depth, 2])

    def enter(i, carry):
        height, volume = carry
        height = xp.where(x <= boxes[i, 0], xp.maximum(height, boxes[i, 1]), height)
        return height, volume + xp.sum(step * counted(height)) * slab[i]

    return loop(xp, len(width), enter, (xp.zeros_like(x), xp.zeros((), width.dtype)))[1]


def _steps(descending: Float[Any, " n"]) -> Float[Any, " n"]:
    """(n,) differences of descending numbers: each minus the next one, and the last minus 0."""
    return descending - descending.__array_namespace__().append(descending[1:], 0)

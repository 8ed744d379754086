"""Hypervolume: exact for one to three objectives, in JAX."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._mesh import jit_on_meshes
from parzax._numerics import namespace, ordered_key
from parzax.pareto.order import Losses, Mask, Reference, as_array, checked_rows
from parzax.status import Status


def hypervolume(losses: Losses, reference: Reference, mask: Mask = None) -> Float[Array, ""]:
    """Volume that the rows dominate, up to the reference point (Zitzler and Thiele 1998).

    Each row spans a box from itself to the reference; the result is the volume of the union of the boxes.
    With two objectives the boxes are sorted by one width, and increases of the height are summed: O(n log n).
    With three objectives the boxes are added from the deepest to the shallowest to a staircase, and its area
    times the difference to the next depth is summed: O(n^2) time, O(n) memory. All terms are positive, so the
    relative error is 1e-12 in float64 and 1e-5 in float32. It is differentiable wherever the volume is.

    Args:
        losses: (n, m), all minimised, m from 1 to 3; `hypervolume_host` takes more objectives.
        reference: (m,) the worst corner.
        mask: (n,) mask of the rows that exist, or their weights (a positive weight means present); all by
            default.

    Returns:
        The volume, in units of the losses. Duplicates and dominated rows change nothing. A row with a NaN, or
        a row that is not better than the reference in **every** objective, adds nothing. The value is 0
        without rows, NaN if the reference has a NaN, and infinite if a width is infinite. It is 0 or infinite
        if the dtype cannot represent the volume; boxes of 1e200 by 1e-200 are fine. `hypervolume_status`
        reports all these cases, and `log_hypervolume` has no limit of range.

    >>> import jax.numpy as jnp
    >>> hypervolume(jnp.array([[1.0, 2.0], [2.0, 1.0]]), jnp.array([3.0, 3.0])).item()
    3.0
    """
    return _volume(*checked_arguments(losses, reference, mask), log=False)


def log_hypervolume(losses: Losses, reference: Reference, mask: Mask = None) -> Float[Array, ""]:
    """Natural logarithm of `hypervolume`, for volumes of any size; -inf without boxes.

    >>> import jax.numpy as jnp
    >>> bool(log_hypervolume(jnp.full((1, 3), -1e30), jnp.zeros(3)) > 207)
    True
    """
    return _volume(*checked_arguments(losses, reference, mask), log=True)


def hypervolume_status(losses: Losses, reference: Reference, mask: Mask = None) -> Int[Array, ""]:
    """Bits of `Status` for a hypervolume.

    NAN_LOSSES and NAN_REFERENCE: NaN in the losses or the reference. BEYOND_REFERENCE: some rows are not
    better than the reference and add nothing. OUT_OF_RANGE: the value is infinite, or there are boxes but the
    value is 0 or has lost digits.

    >>> import jax.numpy as jnp
    >>> Status(int(hypervolume_status(jnp.array([[1.0, jnp.nan], [4.0, 1.0]]), jnp.array([3.0, 3.0])))).name
    'NAN_LOSSES|BEYOND_REFERENCE'
    """
    return _status(*checked_arguments(losses, reference, mask))


def checked_arguments(losses, reference, mask, *, xp=jnp, other="hypervolume_host for more"):
    """Losses and reference in one dtype, and the mask of rows; errors recommend the function ``other``."""
    (losses, present), reference = checked_rows(losses, mask, xp), as_array("reference", reference, xp)
    if reference.shape != losses.shape[1:]:
        expected = "(n, m) with at least one objective and reference (m,)"
        raise ValueError(f"losses must be {expected}, got shapes {losses.shape} and {reference.shape}.")
    if xp is jnp and losses.shape[1] > 3:
        raise ValueError(f"losses must have at most 3 objectives, got {losses.shape[1]}; use {other}.")
    dtype = xp.result_type(losses, reference)
    return losses.astype(dtype), reference.astype(dtype), present


@jit_on_meshes("log")
def _volume(losses, reference, present, *, log):
    box = boxes(losses, reference, present)
    value = union(box.width)
    if log:
        shift = box.exponent.astype(value.dtype) * math.log(2)
        value = jnp.where(value > 0, jnp.log(jnp.where(value > 0, value, 1)) + shift, -jnp.inf)
    else:
        value = scale(value, box.exponent)
    return jnp.where(jnp.any(jnp.isnan(reference)), jnp.nan, jnp.where(jnp.any(box.endless), jnp.inf, value))


@jit_on_meshes()
def _status(losses, reference, present):
    box = boxes(losses, reference, present)
    volume = union(box.width)
    value, tiny = scale(volume, box.exponent), jnp.finfo(volume.dtype).tiny
    nan = present & jnp.any(jnp.isnan(losses), axis=1)
    undefined = jnp.any(jnp.isnan(reference))
    # Products below the smallest normal number become 0; this happens at most once per row.
    least = len(losses) * tiny / jnp.finfo(volume.dtype).eps
    rounded = (volume < least) | (value < tiny) | (value == jnp.inf)
    bits = {
        Status.NAN_LOSSES: jnp.any(nan),
        Status.NAN_REFERENCE: undefined,
        Status.BEYOND_REFERENCE: ~undefined & jnp.any(present & ~nan & ~box.inside),
        Status.OUT_OF_RANGE: jnp.any(box.endless) | box.lost | (jnp.any(box.inside) & rounded),
    }
    return sum((jnp.where(on, int(bit), 0) for bit, on in bits.items()), jnp.zeros((), jnp.int32))


class Boxes(NamedTuple):
    """One box per row, from the row up to the reference point; volume = volume of widths * 2^exponent."""

    width: Float[Any, "n m"]  # in units of 2^exponent of their objective, at most 1; 0 without a box
    exponent: Int[Any, ""]  # sum of the exponents of the objectives
    inside: Bool[Any, " n"]  # rows with a box: present, no NaN, better than the reference in each objective
    endless: Bool[Any, "n m"]  # whether a width is infinite (it is 0 in `width`); the volume is then too
    lost: Bool[Any, ""]  # whether a box has a width that the dtype cannot represent


def boxes(losses: Float[Any, "n m"], reference: Float[Any, " m"], present: Bool[Any, " n"]) -> Boxes:
    """The boxes of the present rows, in NumPy for NumPy arrays. Scaling by powers of two is exact."""
    xp = namespace(losses)
    # The key of a NaN is the largest, so a row with a NaN is not inside.
    better = xp.all(ordered_key(losses) < ordered_key(reference)[None], axis=1)
    inside = present & better & ~xp.any(xp.isnan(reference))
    ends = inside[:, None] & xp.isfinite(losses) & xp.isfinite(reference)[None]
    width = xp.where(ends, reference[None], 0) - xp.where(ends, losses, 0)
    endless = inside[:, None] & (~ends | (width == xp.inf))
    width = xp.where(endless, 0, width)
    lost = xp.any(ends & ~endless & (width < xp.finfo(width.dtype).tiny))
    widest = xp.max(width, axis=0, initial=0)
    _, exponent = xp.frexp(xp.where(widest > 0, widest, 1))
    return Boxes(scale(width, -exponent[None]), xp.sum(exponent), inside, endless, lost)


def scale(x: Float[Any, "..."], exponent: Int[Any, "..."]) -> Float[Any, "..."]:
    """x times 2^exponent; on a device in four steps, so that the dtype can represent each factor."""
    if isinstance(x, np.ndarray):
        return np.ldexp(x, exponent)
    most = jnp.finfo(x.dtype).maxexp - 2
    for _ in range(4):
        step = jnp.clip(exponent, -most, most)
        x = x * power_of_two(step, x.dtype)
        exponent = exponent - step
    return x


def power_of_two(exponent: Int[Array, "..."], dtype: jnp.dtype) -> Float[Array, "..."]:
    """2^exponent, if it is a normal number, built from its bits, because XLA's exp2 and ldexp round."""
    info = jnp.finfo(dtype)
    integer = jnp.int64 if info.bits == 64 else jnp.int32
    biased = (exponent + (info.maxexp - 1)).astype(integer)
    return jax.lax.bitcast_convert_type(jnp.left_shift(biased, info.nmant), dtype)


def union(width: Float[Array, "n m"]) -> Float[Array, ""]:
    """Volume of the union of boxes with a common corner, from their widths (n, m) with m from 1 to 3."""
    n, m = width.shape
    if n == 0:
        return jnp.zeros((), width.dtype)
    if m == 1:
        return jnp.max(width)
    if m == 3:
        return _by_depth(width, lambda height: height)
    order = jnp.argsort(-width[:, 0])
    return jnp.sum(_steps(width[order, 0]) * jax.lax.cummax(width[order, 1]))


def added_volume(box: Float[Array, " 3"], others: Float[Array, "n 3"]) -> Float[Array, ""]:
    """Volume that a box adds to the union of other boxes, without cancellation; exactly 0 if covered."""
    # A box of height 0 covers the whole base, so that every column and every slab exists.
    ground = jnp.stack([box[0], jnp.zeros_like(box[1]), box[2]])[None]
    widths = jnp.concatenate([ground, jnp.minimum(others, box[None])])
    return _by_depth(widths, lambda height: box[1] - height)


def _by_depth(width: Float[Array, "n 3"], counted: Callable[[Array], Array]) -> Float[Array, ""]:
    """Sum over slabs and columns of base area times ``counted``, a function of the column's height."""
    along = jnp.argsort(-width[:, 0])
    x, step = width[along, 0], _steps(width[along, 0])
    depth = jnp.argsort(-width[:, 2])

    def enter(height, box):
        height = jnp.where(x <= box[0], jnp.maximum(height, box[1]), height)
        return height, jnp.sum(step * counted(height))

    _, area = jax.lax.scan(enter, jnp.zeros_like(x), width[depth])
    return jnp.sum(area * _steps(width[depth, 2]))


def _steps(descending: Float[Array, " n"]) -> Float[Array, " n"]:
    """(n,) differences of descending numbers: each minus the next one, and the last minus 0."""
    return descending - jnp.append(descending[1:], 0)

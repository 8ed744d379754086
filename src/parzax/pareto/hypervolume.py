"""Hypervolume: exact for one to three objectives in JAX, for more on the host by moocore."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from parzax import _checks
from parzax.pareto.boxes import boxes, scale
from parzax.pareto.order import as_losses, present_rows
from parzax.status import Status


def hypervolume(
    losses: Num[Array, "n m"],
    reference: Num[Array, " m"],
    mask: Num[Array, " n"] | Bool[Array, " n"] | None = None,
) -> Float[Array, ""]:
    """Volume that the rows dominate, up to the reference point (Zitzler and Thiele 1998).

    A row owns the box from itself up to the reference; the value is the volume of the boxes' union. With two
    objectives, boxes are sorted by one width and heights added where they grow: O(n log n). With three, boxes
    enter from the deepest to the shallowest and raise the heights of a staircase, whose area times the
    next difference of depths is added: O(n^2) time, O(n) memory. Only positive terms are added: relative
    error 1e-12 in float64, 1e-5 in float32, and differentiable wherever the volume is.

    Args:
        losses: all minimised; one to three objectives. `hypervolume_host` takes more.
        reference: the worst corner.
        mask: rows that are there, or their weights (present where positive); all by default.

    Returns:
        The volume in the units of the losses. Duplicates and dominated rows change nothing, no rows give 0. A
        row with a NaN, or that is not better than the reference in **every** objective, adds nothing. It is
        NaN where the reference has a NaN, infinite where a width is, and 0 or infinite where the dtype
        cannot hold the value, though boxes of 1e200 by 1e-200 are right. `hypervolume_status` tells all of
        these, and `log_hypervolume` needs no range.

    >>> import jax.numpy as jnp
    >>> hypervolume(jnp.array([[1.0, 2.0], [2.0, 1.0]]), jnp.array([3.0, 3.0])).item()
    3.0
    """
    return _value(*_arguments(losses, reference, mask))


def log_hypervolume(
    losses: Num[Array, "n m"],
    reference: Num[Array, " m"],
    mask: Num[Array, " n"] | Bool[Array, " n"] | None = None,
) -> Float[Array, ""]:
    """Natural logarithm of `hypervolume`, also where the dtype cannot hold the volume; -inf without boxes.

    >>> import jax.numpy as jnp
    >>> bool(log_hypervolume(jnp.full((1, 3), -1e30), jnp.zeros(3)) > 207)
    True
    """
    return _log_value(*_arguments(losses, reference, mask))


def hypervolume_status(
    losses: Num[Array, "n m"],
    reference: Num[Array, " m"],
    mask: Num[Array, " n"] | Bool[Array, " n"] | None = None,
) -> Int[Array, ""]:
    """Bits of `Status` for a hypervolume.

    NAN_LOSSES, NAN_REFERENCE, BEYOND_REFERENCE (rows that add nothing), OUT_OF_RANGE (the value is infinite,
    or 0 or without all its digits though there are boxes).

    >>> import jax.numpy as jnp
    >>> Status(int(hypervolume_status(jnp.array([[1.0, jnp.nan], [4.0, 1.0]]), jnp.array([3.0, 3.0])))).name
    'NAN_LOSSES|BEYOND_REFERENCE'
    """
    return _status(*_arguments(losses, reference, mask))


def hypervolume_host(losses: Any, reference: Any, mask: Any = None) -> float:
    """`hypervolume` for any number of objectives, on the host in float64, by moocore (``parzax[pareto]``).

    The rules for NaN, rows beyond the reference and infinities are the same. Exponential in the number of
    objectives.

    >>> hypervolume_host([[1.0, 1.0, 1.0, 1.0]], [2.0, 2.0, 2.0, 3.0])
    2.0
    """
    points, corner = _checks.float_array("losses", losses), _checks.float_array("reference", reference)
    check_shapes(points.shape, corner.shape)
    present = check_weight(mask, len(points)) > 0
    if np.isnan(corner).any():
        return math.nan
    points = points[present & (points < corner).all(axis=1)]
    if len(points) == 0:
        return 0.0
    with np.errstate(over="ignore"):
        width = corner - points
    if np.isinf(width).any():
        return math.inf
    exponent = np.frexp(width.max(axis=0))[1]
    volume = union_host(np.ldexp(width, -exponent))
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(volume, int(exponent.sum())))


def union_host(width: np.ndarray) -> float:
    """`union` of any number of widths (n, m), by moocore; 0 without boxes."""
    if width.shape[1] == 1:
        return float(width.max(initial=0))
    try:
        import moocore
    except ImportError as error:
        raise ImportError("Hypervolume on the host needs moocore; pip install 'parzax[pareto]'.") from error
    return float(moocore.hypervolume(-width, ref=np.zeros(width.shape[1]))) if len(width) else 0.0


def check_weight(mask: Any, n: int) -> np.ndarray:
    """Weights of n rows on the host, 1 by default."""
    weight = np.ones(n) if mask is None else np.asarray(mask)
    if weight.shape != (n,):
        raise ValueError(f"mask must be a vector of length {n}, got shape {weight.shape}.")
    return weight


def check_shapes(losses: tuple[int, ...], reference: tuple[int, ...]) -> None:
    """Losses must be (n, m), the reference (m,)."""
    if len(losses) != 2 or losses[1] < 1 or reference != losses[1:]:
        raise ValueError(
            f"losses must be (n, m) with at least one objective and reference (m,), got shapes {losses} and "
            f"{reference}."
        )


def _arguments(losses, reference, mask):
    losses, reference = as_losses(losses), jnp.asarray(reference)
    check_shapes(losses.shape, reference.shape)
    if losses.shape[1] > 3:
        raise ValueError(
            f"losses must have at most 3 objectives, got {losses.shape[1]}; use hypervolume_host for more."
        )
    dtype = jnp.result_type(losses, reference)
    return losses.astype(dtype), reference.astype(dtype), present_rows(mask, len(losses))


@jax.jit
def _value(losses, reference, present):
    box = boxes(losses, reference, present)
    value = scale(union(box.width), box.exponent)
    return jnp.where(jnp.any(jnp.isnan(reference)), jnp.nan, jnp.where(jnp.any(box.endless), jnp.inf, value))


@jax.jit
def _log_value(losses, reference, present):
    box = boxes(losses, reference, present)
    volume = union(box.width)
    log = jnp.log(jnp.where(volume > 0, volume, 1)) + box.exponent.astype(volume.dtype) * math.log(2)
    log = jnp.where(jnp.any(box.endless), jnp.inf, jnp.where(volume > 0, log, -jnp.inf))
    return jnp.where(jnp.any(jnp.isnan(reference)), jnp.nan, log)


@jax.jit
def _status(losses, reference, present):
    box = boxes(losses, reference, present)
    volume = union(box.width)
    value, tiny = scale(volume, box.exponent), jnp.finfo(volume.dtype).tiny
    nan = present & jnp.any(jnp.isnan(losses), axis=1)
    undefined = jnp.any(jnp.isnan(reference))
    # Products below the least normal number are flushed to 0: at most one per row.
    rounded = (
        (volume < len(losses) * tiny / jnp.finfo(volume.dtype).eps) | (value < tiny) | (value == jnp.inf)
    )
    bits = {
        Status.NAN_LOSSES: jnp.any(nan),
        Status.NAN_REFERENCE: undefined,
        Status.BEYOND_REFERENCE: ~undefined & jnp.any(present & ~nan & ~box.inside),
        Status.OUT_OF_RANGE: jnp.any(box.endless) | box.lost | (jnp.any(box.inside) & rounded),
    }
    return sum((jnp.where(on, int(bit), 0) for bit, on in bits.items()), jnp.zeros((), jnp.int32))


def union(width: Float[Array, "n m"]) -> Float[Array, ""]:
    """Volume of the union of boxes with one common corner, given their widths; one to three of them."""
    n, m = width.shape
    if n == 0:
        return jnp.zeros((), width.dtype)
    if m == 1:
        return jnp.max(width)
    return _area(width) if m == 2 else _volume(width)


def _area(width: Float[Array, "n 2"]) -> Float[Array, ""]:
    order = jnp.argsort(-width[:, 0])
    height = jax.lax.cummax(width[order, 1])
    return jnp.sum(_steps(width[order, 0]) * height)


def _volume(width: Float[Array, "n 3"]) -> Float[Array, ""]:
    return _by_depth(width, lambda height: height)


def added_volume(box: Float[Array, " 3"], others: Float[Array, "n 3"]) -> Float[Array, ""]:
    """What a box adds to the union of others, without cancellation: exactly 0 where covered."""
    # A box without height spans the ground, so that every column and every slab is there.
    ground = jnp.stack([box[0], jnp.zeros_like(box[1]), box[2]])[None]
    return _by_depth(jnp.concatenate([ground, jnp.minimum(others, box)]), lambda height: box[1] - height)


def _by_depth(width: Float[Array, "n 3"], counted: Callable[[Array], Array]) -> Float[Array, ""]:
    """Sum over slabs and columns of their size times what is counted of the column's height in the slab."""
    along = jnp.argsort(-width[:, 0])
    x, step = width[along, 0], _steps(width[along, 0])
    depth = jnp.argsort(-width[:, 2])

    def enter(height, box):
        height = jnp.where(x <= box[0], jnp.maximum(height, box[1]), height)
        return height, jnp.sum(step * counted(height))

    _, area = jax.lax.scan(enter, jnp.zeros_like(x), width[depth])
    return jnp.sum(area * _steps(width[depth, 2]))


def _steps(descending: Float[Array, " n"]) -> Float[Array, " n"]:
    """What each number exceeds the next by, the last one 0."""
    return descending - jnp.append(descending[1:], 0)

"""Greedy hypervolume subset selection (HSSP)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from parzax import _checks
from parzax._mesh import jit_or_host
from parzax._numerics import capacity
from parzax.pareto.hypervolume import added_volume, boxes, checked_arguments
from parzax.pareto.order import Losses, Mask, Reference, loop, sort_keys, while_loop
from parzax.pareto.ranks import ABSENT


def greedy_hypervolume_order(
    losses: Losses,
    reference: Reference,
    size: int,
    mask: Mask = None,
    *,
    stop: Int[Array, ""] | int | None = None,
) -> Int[Any, " n"]:
    """Place of each row in the greedy order, which always chooses the row that adds most hypervolume next.

    The greedy solution of the hypervolume subset selection problem reaches at least 1 - 1/e of the best
    volume (Guerreiro, Fonseca and Paquete 2016). MO-TPE (Ozaki et al. 2022) uses it to break ties within a
    front. A choice does not depend on later choices, so for every k up to ``size`` the first k chosen rows
    are ``order < k``; k may be traced.

    With two objectives the gain of a row is a box that is cut by the chosen rows on both sides: O(n) per
    choice. With three objectives it is the row's box minus the hypervolume of the chosen boxes within it:
    O(size^2) for one row. A gain never grows, so it is computed again only for rows whose previous gain is
    the largest (lazy greedy, Minoux 1978). NumPy arrays are ordered in float64: one or two objectives on the
    host, three by the compiled program, and more, which only NumPy arrays may have, on the host by moocore
    (``parzax[pareto]``), in a time that is exponential in their number. There gains are rounded to 12 digits
    of a row's box, because moocore rounds.

    Infinite boxes are chosen first. Ties, and rows without gain (duplicates, dominated rows, rows beyond the
    reference), are in lexicographic order of the losses, then of the index. Rows with a NaN come last.

    Args:
        losses, reference, mask: as in `hypervolume`.
        size: largest number of rows to choose; static.
        stop: number of rows to choose, if it is smaller than ``size``; it may be traced. It saves time, not
            memory.

    Returns:
        (n,) int32: 0 for the first choice, 1 for the second, and so on; `ABSENT` for rows that are not chosen
        or absent. If the reference has a NaN, no row has a gain, so the order is lexicographic.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[0.0, 4.0], [2.0, 2.0], [2.1, 1.9], [4.0, 0.0]])
    >>> (greedy_hypervolume_order(losses, jnp.array([5.0, 5.0]), size=3) < 3).tolist()
    [True, True, False, True]
    """
    rows, corner, present = checked_arguments(losses, reference, mask)
    size = min(_checks.whole_number("size", size, 0), len(rows))
    xp, m = rows.__array_namespace__(), len(corner)
    if len(rows) == 0 or size == 0:
        return xp.full(len(rows), ABSENT, np.int32)
    n_choices = xp.asarray(size if stop is None else xp.minimum(size, stop), np.int32)
    if xp is np and m == 3:
        # Rows are padded, so that few lengths are compiled.
        padding = capacity(len(rows)) - len(rows)
        rows, present = np.pad(rows, ((0, padding), (0, 0))), np.pad(present, (0, padding))
        with jax.enable_x64(True):
            chosen = _order(*map(jnp.asarray, (rows, corner, present, n_choices)), size=capacity(size))
        return np.asarray(chosen)[: len(rows) - padding]
    if xp is np:
        n_choices = min(int(n_choices), int(present.sum()))
    else:
        # The order has no derivative, and JAX cannot differentiate its loops.
        rows, corner = jax.lax.stop_gradient((rows, corner))
    return _order(rows, corner, present, n_choices, size=size)


@jit_or_host("size")
def _order(losses, reference, present, n_choices, *, size):
    (n, m), xp = losses.shape, losses.__array_namespace__()
    # Rows are sorted in the order that breaks ties, because argmax takes the first maximum.
    keys, _ = sort_keys(losses, present)
    order = xp.lexsort((*keys.T[::-1], ~present))
    box = boxes(losses, reference, present)
    # An infinite box is chosen first. Afterwards it covers all other boxes in its infinite objective.
    endless = xp.any(box.endless, axis=1)[order]
    width = xp.where(box.endless, 1, box.width)[order]
    if m == 1:
        width = xp.stack([width[:, 0], xp.ones(n, width.dtype)], axis=1)
    ordered = (width, present[order], endless, n_choices)
    return (_by_cuts(*ordered) if m < 3 else _lazily(*ordered, size))[xp.argsort(order)]


def _by_cuts(width, present, endless, n_choices):
    """Greedy choice for two objectives.

    A chosen row before a row cuts its box in the second objective, a chosen row after it in the first. This
    is right for dominated rows too, because a row comes before all rows that it dominates and adds at least
    as much.
    """
    xp = width.__array_namespace__()
    index = xp.arange(len(width))

    def step(k, carry):
        cut, chosen = carry
        left = width - cut
        added = xp.where(xp.all(left > 0, axis=1), left[:, 0] * left[:, 1], 0)
        best, chosen = _choose(xp.where(endless, np.inf, added), present, chosen, k)
        cuts = (index < best)[:, None] == xp.array([[True, False]])
        return xp.where(cuts, xp.maximum(cut, width[best][None]), cut), chosen

    start = (xp.zeros_like(width), xp.full(len(width), ABSENT, np.int32))
    return loop(xp, n_choices, step, start)[1]


def _lazily(width, present, endless, n_choices, size):
    """Greedy choice for three and more objectives; the last computed gain of a row bounds its gain."""
    xp, n = width.__array_namespace__(), len(width)
    row, place = xp.arange(n), xp.arange(size, dtype=np.int32)

    def step(k, carry):
        bound, chosen, chosen_boxes = carry

        def candidate(bound):
            return xp.argmax(xp.where(present & (chosen == ABSENT), bound, -1))

        def look(carry):
            bound, current = carry
            best = candidate(bound)
            added = xp.where(endless[best], np.inf, added_volume(width[best], chosen_boxes))
            return xp.where(row == best, xp.minimum(bound, added), bound), current | (row == best)

        def is_stale(carry):
            bound, current = carry
            best = candidate(bound)
            return ~current[best] & (bound[best] > 0)

        bound, _ = while_loop(xp, is_stale, look, (bound, ~present | (chosen != ABSENT)))
        best, chosen = _choose(bound, present, chosen, k)
        box = xp.where(present[best], width[best], 0)
        return bound, chosen, xp.where((place == k)[:, None], box[None], chosen_boxes)

    bound = xp.where(endless, np.inf, xp.prod(width, axis=1))
    start = (bound, xp.full(n, ABSENT, np.int32), xp.zeros((size, width.shape[1]), width.dtype))
    return loop(xp, n_choices, step, start)[1]


def _choose(added, present, chosen, k):
    """The row with the largest gain among present rows that are not chosen yet, and the updated choices."""
    xp, free = added.__array_namespace__(), present & (chosen == ABSENT)
    best = xp.argmax(xp.where(free, added, -1))
    return best, xp.where(free & (xp.arange(len(free)) == best), k, chosen).astype(np.int32)

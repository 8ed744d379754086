"""Greedy hypervolume subset selection (HSSP)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax.pareto.hypervolume import added_volume, boxes, checked_arguments
from parzax.pareto.order import Losses, Mask, Reference, lexicographic, value_ranks
from parzax.pareto.ranks import ABSENT


def greedy_hypervolume_order(
    losses: Losses,
    reference: Reference,
    size: int,
    mask: Mask = None,
    *,
    stop: Int[Array, ""] | int | None = None,
) -> Int[Array, " n"]:
    """Place of each row in the greedy order, which always chooses the row that adds most hypervolume next.

    The greedy solution of the hypervolume subset selection problem reaches at least 1 - 1/e of the best
    volume (Guerreiro, Fonseca and Paquete 2016). MO-TPE (Ozaki et al. 2022) uses it to break ties within a
    front. A choice does not depend on later choices, so for every k up to ``size`` the first k chosen rows
    are ``order < k``; k may be traced.

    With two objectives the gain of a row is a box that is cut by the chosen rows on both sides: O(n) per
    choice. With three objectives it is the row's box minus the hypervolume of the chosen boxes within it:
    O(size^2) for one row. A gain never grows, so it is computed again only for rows whose previous gain is
    the largest (lazy greedy, Minoux 1978). For more objectives use `greedy_hypervolume_order_host`.

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
        `hypervolume_status` reports such cases.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[0.0, 4.0], [2.0, 2.0], [2.1, 1.9], [4.0, 0.0]])
    >>> (greedy_hypervolume_order(losses, jnp.array([5.0, 5.0]), size=3) < 3).tolist()
    [True, True, False, True]
    """
    other = "greedy_hypervolume_order_host for more, or order by rank and crowding"
    # The order has no derivative, and JAX cannot differentiate its loops.
    rows, corner, present = jax.lax.stop_gradient(checked_arguments(losses, reference, mask, other=other))
    size = min(_checks.whole_number("size", size, 0), len(rows))
    n_choices = jnp.asarray(size if stop is None else jnp.minimum(size, stop), jnp.int32)
    return _order(rows, corner, present, n_choices, size=size)


@jit_on_meshes("size")
def _order(losses, reference, present, n_choices, *, size):
    n, m = losses.shape
    if n == 0 or size == 0:
        return jnp.full(n, ABSENT, jnp.int32)
    # Rows are sorted in the order that breaks ties, because argmax takes the first maximum.
    order = jnp.lexsort((lexicographic(value_ranks(losses, present)[0]).position, ~present))
    box = boxes(losses, reference, present)
    # An infinite box is chosen first. Afterwards it covers all other boxes in its infinite objective.
    endless = jnp.any(box.endless, axis=1)[order]
    width = jnp.where(box.endless, 1, box.width)[order]
    if m == 1:
        width = jnp.stack([width[:, 0], jnp.ones(n, width.dtype)], axis=1)
    ordered = (width, present[order], endless, n_choices)
    chosen = _lazily(*ordered, size) if m == 3 else _by_cuts(*ordered)
    return jnp.full(n, ABSENT, jnp.int32).at[order].set(chosen, unique_indices=True)


def _by_cuts(width, present, endless, n_choices):
    """Greedy choice for two objectives.

    A chosen row before a row cuts its box in the second objective, a chosen row after it in the first. This
    is right for dominated rows too, because a row comes before all rows that it dominates and adds at least
    as much.
    """
    index = jnp.arange(len(width))

    def step(k, carry):
        cut, chosen = carry
        left = width - cut
        added = jnp.where(jnp.all(left > 0, axis=1), left[:, 0] * left[:, 1], 0)
        added = jnp.where(endless, jnp.inf, added)
        best, chosen = _choose(added, present, chosen, k)
        cuts = (index < best)[:, None] == jnp.array([[True, False]])
        return jnp.where(cuts, jnp.maximum(cut, width[best][None]), cut), chosen

    start = (jnp.zeros_like(width), jnp.full(len(width), ABSENT, jnp.int32))
    return jax.lax.fori_loop(0, n_choices, step, start)[1]


def _lazily(width, present, endless, n_choices, size):
    """Greedy choice for three objectives; the last computed gain of a row is an upper bound on its gain."""
    n = len(width)

    def step(k, carry):
        bound, chosen, chosen_boxes = carry

        def candidate(bound):
            return jnp.argmax(jnp.where(present & (chosen == ABSENT), bound, -1))

        def look(carry):
            bound, current = carry
            row = candidate(bound)
            added = jnp.where(endless[row], jnp.inf, added_volume(width[row], chosen_boxes))
            return bound.at[row].min(added), current.at[row].set(True)

        def is_stale(carry):
            bound, current = carry
            row = candidate(bound)
            return ~current[row] & (bound[row] > 0)

        bound, _ = jax.lax.while_loop(is_stale, look, (bound, ~present | (chosen != ABSENT)))
        best, chosen = _choose(bound, present, chosen, k)
        return bound, chosen, chosen_boxes.at[k].set(jnp.where(present[best], width[best], 0))

    bound = jnp.where(endless, jnp.inf, jnp.prod(width, axis=1))
    start = (bound, jnp.full(n, ABSENT, jnp.int32), jnp.zeros((size, 3), width.dtype))
    return jax.lax.fori_loop(0, n_choices, step, start)[1]


def _choose(added, present, chosen, k):
    """The row with the largest gain among present rows that are not chosen yet, and the updated choices."""
    free = present & (chosen == ABSENT)
    best = jnp.argmax(jnp.where(free, added, -1))
    return best, chosen.at[best].set(jnp.where(free[best], k, chosen[best]).astype(jnp.int32))

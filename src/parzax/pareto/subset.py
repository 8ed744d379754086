"""Greedy choice of the rows that make the hypervolume large (HSSP)."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from parzax import _checks
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
    """When each row is chosen, if always the one that adds most to the hypervolume of those chosen is next.

    The greedy solution of the hypervolume subset selection problem reaches at least 1 - 1/e of the best
    volume (Guerreiro, Fonseca and Paquete 2016), and MO-TPE (Ozaki et al. 2022) breaks ties within a
    front so. Choices do not depend on those that follow: the best k of them are ``order < k`` for every k up
    to ``size``, and k may be traced.

    With two objectives a row adds a box, cut by the chosen rows on both sides: O(n) per choice. With three,
    the hypervolume of the chosen boxes within the row's own is taken off it, O(size^2) for one row. What a
    row adds never grows, so only rows are looked at whose previous addition is the largest (lazy
    greedy, Minoux 1978). For four objectives and more there is `greedy_hypervolume_order_host` instead.

    Infinite boxes are chosen first. Ties, and rows that add nothing (duplicates, dominated, beyond the
    reference): in lexicographic order of the losses, then of row numbers. Rows with a NaN come after all
    others.

    Args:
        losses, reference, mask: as of `hypervolume`.
        size: how many rows to choose at most, static.
        stop: how many to choose where that is fewer, may be traced; it saves time, not memory.

    Returns:
        0 for the first choice, and so on, int32; `ABSENT` for rows not chosen, absent ones among them. With a
        NaN in the reference no row adds anything, so the order is lexicographic. `hypervolume_status` has
        flags.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[0.0, 4.0], [2.0, 2.0], [2.1, 1.9], [4.0, 0.0]])
    >>> (greedy_hypervolume_order(losses, jnp.array([5.0, 5.0]), size=3) < 3).tolist()
    [True, True, False, True]
    """
    other = "greedy_hypervolume_order_host for more, or order by rank and crowding"
    # Choices have no derivative, and JAX cannot differentiate their loops.
    rows, corner, present = jax.lax.stop_gradient(checked_arguments(losses, reference, mask, other=other))
    size = min(_checks.whole_number("size", size, 0), len(rows))
    n_choices = jnp.asarray(size if stop is None else jnp.minimum(size, stop), jnp.int32)
    return _order(rows, corner, present, n_choices, size=size)


@functools.partial(jax.jit, static_argnames="size")
def _order(losses, reference, present, n_choices, *, size):
    n, m = losses.shape
    if n == 0 or size == 0:
        return jnp.full(n, ABSENT, jnp.int32)
    # Rows in the order that breaks ties, so that the first maximum is chosen.
    order = jnp.lexsort((lexicographic(value_ranks(losses, present)[0]).position, ~present))
    box = boxes(losses, reference, present)
    # An infinite box comes first, and then covers whatever of its objective the others have.
    endless = jnp.any(box.endless, axis=1)[order]
    width = jnp.where(box.endless, 1, box.width)[order]
    if m == 1:
        width = jnp.stack([width[:, 0], jnp.ones(n, width.dtype)], axis=1)
    ordered = (width, present[order], endless, n_choices)
    chosen = _lazily(*ordered, size) if m == 3 else _by_cuts(*ordered)
    return jnp.full(n, ABSENT, jnp.int32).at[order].set(chosen, unique_indices=True)


def _by_cuts(width, present, endless, n_choices):
    """Two objectives: chosen rows before a row cut its box in the second one, those after it in the first.

    Right for dominated rows too, because a row adds at least as much as those that it dominates, and
    precedes them.
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
    """Three objectives: what a row added when last looked at bounds what it adds now."""
    n = len(width)

    def step(k, carry):
        bound, chosen, boxes = carry

        def candidate(bound):
            return jnp.argmax(jnp.where(present & (chosen == ABSENT), bound, -1))

        def look(carry):
            bound, current = carry
            row = candidate(bound)
            added = jnp.where(endless[row], jnp.inf, added_volume(width[row], boxes))
            return bound.at[row].min(added), current.at[row].set(True)

        def is_stale(carry):
            bound, current = carry
            row = candidate(bound)
            return ~current[row] & (bound[row] > 0)

        bound, _ = jax.lax.while_loop(is_stale, look, (bound, ~present | (chosen != ABSENT)))
        best, chosen = _choose(bound, present, chosen, k)
        return bound, chosen, boxes.at[k].set(jnp.where(present[best], width[best], 0))

    bound = jnp.where(endless, jnp.inf, jnp.prod(width, axis=1))
    start = (bound, jnp.full(n, ABSENT, jnp.int32), jnp.zeros((size, 3), width.dtype))
    return jax.lax.fori_loop(0, n_choices, step, start)[1]


def _choose(added, present, chosen, k):
    """The first present row that adds most among those not chosen yet, and the choices with it."""
    free = present & (chosen == ABSENT)
    best = jnp.argmax(jnp.where(free, added, -1))
    return best, chosen.at[best].set(jnp.where(free[best], k, chosen[best]).astype(jnp.int32))

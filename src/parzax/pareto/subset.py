"""Greedy choice of the rows that make the hypervolume large (HSSP)."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num

from parzax.pareto.boxes import boxes
from parzax.pareto.hypervolume import added_volume
from parzax.pareto.order import as_losses, lexicographic, present_rows, value_ranks
from parzax.pareto.ranks import ABSENT


def greedy_hypervolume_order(
    losses: Num[Array, "n m"],
    reference: Num[Array, " m"],
    size: int,
    mask: Num[Array, " n"] | Bool[Array, " n"] | None = None,
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
    row adds never grows, so only rows are looked at whose last known addition is the largest (lazy
    greedy, Minoux 1978). For four objectives and more there is `greedy_hypervolume_order_host` instead.

    Infinite boxes are chosen first. Ties, and rows that add nothing (duplicates, dominated, beyond the
    reference): in lexicographic order of the losses, then of row numbers. Rows with a NaN come after all
    others.

    Args:
        losses: all minimised; one to three objectives.
        reference: the worst corner.
        size: how many rows to choose at most, static.
        mask: rows that are there, or their weights (present where positive); all by default.
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
    losses, reference = as_losses(losses), jnp.asarray(reference)
    if reference.shape != losses.shape[1:]:
        raise ValueError(f"reference must be a vector of length {losses.shape[1]}, got {reference.shape}.")
    if losses.shape[1] > 3:
        raise ValueError(
            f"losses must have at most 3 objectives, got {losses.shape[1]}; use "
            "greedy_hypervolume_order_host for more, or order by rank and crowding."
        )
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ValueError(f"size must be a whole number from 0, got {size!r}.")
    dtype = jnp.result_type(losses, reference)
    present = present_rows(mask, len(losses))
    size = min(size, len(losses))
    n_choices = jnp.asarray(size if stop is None else jnp.minimum(size, stop), jnp.int32)
    # What is chosen has no derivative, and its loops could have none.
    losses, reference = (jax.lax.stop_gradient(a.astype(dtype)) for a in (losses, reference))
    return _order(losses, reference, present, n_choices, size=size)


@functools.partial(jax.jit, static_argnames="size")
def _order(losses, reference, present, n_choices, *, size):
    n, m = losses.shape
    if n == 0 or size == 0:
        return jnp.full(n, ABSENT, jnp.int32)
    # Rows in the order that breaks ties; the first maximum is then the one wanted.
    proper = present & ~jnp.any(jnp.isnan(losses), axis=1)
    position = lexicographic(value_ranks(losses, proper)).position
    order = jnp.lexsort((position, ~present))
    box = boxes(losses, reference, present)
    # An infinite box comes first, and then covers whatever of its objective the others have.
    endless = jnp.any(box.endless, axis=1)[order]
    width = jnp.where(box.endless, 1, box.width)[order]
    if m == 1:
        width = jnp.stack([width[:, 0], jnp.ones(n, width.dtype)], axis=1)
    if m == 3:
        chosen = _lazily(width, present[order], endless, n_choices, size)
    else:
        chosen = _by_cuts(width, present[order], endless, n_choices)
    return jnp.full(n, ABSENT, jnp.int32).at[order].set(chosen, unique_indices=True)


def _by_cuts(
    width: Float[Array, "n 2"], present: Bool[Array, " n"], endless: Bool[Array, " n"], n_choices: Array
) -> Int[Array, " n"]:
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
        cuts = jnp.where((index < best)[:, None], jnp.array([True, False]), jnp.array([False, True]))
        return jnp.where(cuts, jnp.maximum(cut, width[best]), cut), chosen

    start = (jnp.zeros_like(width), jnp.full(len(width), ABSENT, jnp.int32))
    return jax.lax.fori_loop(0, n_choices, step, start)[1]


def _lazily(
    width: Float[Array, "n 3"],
    present: Bool[Array, " n"],
    endless: Bool[Array, " n"],
    n_choices: Array,
    size: int,
) -> Int[Array, " n"]:
    """Three objectives: what a row added when last looked at bounds what it adds now."""
    n = len(width)

    def step(k, carry):
        bound, chosen, boxes = carry

        def candidate(bound):
            return jnp.argmax(jnp.where(present & (chosen == ABSENT), bound, -1))

        def look(carry):
            bound, known = carry
            row = candidate(bound)
            added = jnp.where(endless[row], jnp.inf, added_volume(width[row], boxes))
            return bound.at[row].min(added), known.at[row].set(True)

        def stale(carry):
            bound, known = carry
            row = candidate(bound)
            return ~known[row] & (bound[row] > 0)

        bound, _ = jax.lax.while_loop(stale, look, (bound, ~present | (chosen != ABSENT)))
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

"""Turn several objectives into one loss: weighted combinations, and places by Pareto front."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax import pareto
from parzax._mesh import jit_on_meshes
from parzax.importance.levels import checked_levels, level_weights
from parzax.pareto import AbstractTies, Crowding, Hypervolume
from parzax.pareto.order import changes, checked_rows, lexicographic, value_ranks

# Weight of the sum in ParEGO's augmented Chebyshev norm.
_AUGMENTED = 0.05


def weighted_sum(losses: Any, weight: Any) -> Any:
    """sum over j of w_j f_j, of objectives on [0, 1] (Theodorakopoulos, Stahl, Lindauer, arXiv 2405.07640).

    Args:
        losses: (..., m) normalised objectives, minimised.
        weight: (m,) weights, summing to 1.

    >>> import numpy as np
    >>> weighted_sum(np.array([[0.0, 1.0], [0.5, 0.25]]), np.array([0.5, 0.5])).tolist()
    [0.5, 0.375]
    """
    return (losses * weight).sum(axis=-1)


def chebyshev(losses: Any, weight: Any) -> Any:
    """max over j of w_j f_j, plus 0.05 of their sum (Knowles 2006, "ParEGO").

    Unlike a sum, it also selects compromises on concave parts of a front. The arguments are those of
    `weighted_sum`.

    >>> import numpy as np
    >>> chebyshev(np.array([[0.0, 1.0], [0.5, 0.25]]), np.array([0.5, 0.5])).tolist()
    [0.525, 0.26875]
    """
    terms = losses * weight
    return terms.max(axis=-1) + _AUGMENTED * terms.sum(axis=-1)


def pareto_losses(
    losses: Float[Array, "n m"], levels: Any, region: float = 1.0, ties: AbstractTies | None = None
) -> Float[Array, " n"]:
    """One loss that orders rows by Pareto front; ``ties`` orders the rows of each front that a level cuts.

    Pass it to `parzax.encode` with the same levels; the host form is ``objective="pareto"`` of
    `parzax.cond_ped_anova`. Pure and unbatched; `jax.jit` and `jax.vmap` apply.

    Args:
        losses: (n, m) objectives, minimised. A row with a NaN gets NaN.
        levels, region: as in `parzax.encode`; static. They decide which fronts are cut.
        ties: `parzax.pareto.Hypervolume()` (the default, for two or three objectives) or
            `parzax.pareto.Crowding()`.

    Returns:
        (n,) places, lower is better; equal rows, and rows that ``ties`` cannot tell apart, share a place.

    Raises:
        TypeError, ValueError: for other ``ties``, or for more objectives than ``ties`` supports.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[0.0, 4.0], [2.0, 2.0], [4.0, 0.0], [5.0, 5.0]])
    >>> pareto_losses(losses, 0.25).tolist()
    [1.0, 0.0, 2.0, 3.0]
    """
    ties = Hypervolume() if ties is None else ties
    if not isinstance(ties, Hypervolume | Crowding):
        raise TypeError(f"ties must be Hypervolume() or Crowding() of parzax.pareto, got {ties!r}.")
    losses, _ = checked_rows(losses, None)
    ties.check(losses.shape[1])
    target, region = checked_levels(levels, region)
    if not len(losses):
        return jnp.zeros(0, losses.dtype)
    return _places(losses, levels=(*target.tolist(), region), by_area=isinstance(ties, Hypervolume))


@jit_on_meshes("levels", "by_area")
def _places(losses: Float[Array, "n m"], *, levels: tuple[float, ...], by_area: bool) -> Float[Array, " n"]:
    n = len(losses)
    used = ~jnp.isnan(losses).any(axis=1)
    rank = pareto.non_domination_rank(losses, used)
    # Equal rows share the place of the first one.
    position, number = lexicographic(value_ranks(losses, used)[0])[2], jnp.arange(n, dtype=jnp.int32)
    equal_to = jnp.full(n, n, jnp.int32).at[position].min(number)[position]
    first = used & (equal_to == number)
    if by_area:
        needed = level_weights(levels, used.sum(dtype=jnp.int32), True, "ceil").astype(jnp.int32)
        # The front that each set cuts; -1 if a set ends exactly with a front.
        ranks = jnp.sort(rank)
        last, following = (ranks[jnp.clip(place, 0, n - 1)] for place in (needed - 1, needed))
        cut = jnp.where((last == following) & (needed < n) & (last < pareto.ABSENT), last, -1)

        def choose(front: Int[Array, ""]) -> Int[Array, " n"]:
            mask = first & (rank == front)
            return pareto.greedy_hypervolume_order(losses, pareto.reference_point(losses, mask), n, mask)

        # The rows of a front that no level cuts share one place.
        within = jnp.where(rank[None] == cut[:, None], jax.lax.map(choose, cut), 0).max(axis=0)
    else:
        within = -pareto.crowding_distance(losses, rank, first)
    within = within[equal_to].astype(losses.dtype)
    row = jnp.lexsort((within, rank))
    place = jnp.cumsum(changes([rank[row], within[row]]), dtype=jnp.int32) - 1
    places = jnp.zeros(n, losses.dtype).at[row].set(place.astype(losses.dtype), unique_indices=True)
    return jnp.where(used, places, jnp.nan)

"""Flags of non-domination ranks."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Num

from parzax.pareto.order import as_losses, present_rows
from parzax.status import Status


def rank_status(
    losses: Num[Array, "n m"], mask: Num[Array, " n"] | Bool[Array, " n"] | None = None
) -> Int[Array, ""]:
    """Bits of `Status` for ranks, crowding and choices: NO_ROWS, and NAN_LOSSES where present rows have one.

    >>> import jax.numpy as jnp
    >>> Status(int(rank_status(jnp.array([[0.0, jnp.nan]])))).name
    'NAN_LOSSES'
    """
    losses = as_losses(losses)
    present = present_rows(mask, len(losses))
    nan = jnp.any(present & jnp.any(jnp.isnan(losses), axis=1))
    flags = jnp.where(nan, int(Status.NAN_LOSSES), 0) + jnp.where(jnp.any(present), 0, int(Status.NO_ROWS))
    return flags.astype(jnp.int32)

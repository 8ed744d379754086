"""What an estimator sees of a log: grid codes, level sets and weights of its rows."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Int, Integer, Shaped

from parzax import _checks
from parzax.importance.layout import Grid, Layout


class Encoded(eqx.Module):
    """Rows of one log on the grid; made by `parzax.encode` or ``obs.encode``.

    A pytree whose arrays are all JAX's or all NumPy's. Seeds are `jax.vmap` over a leading axis.

    Attributes:
        codes: (d, n) unsigned cell of each row in each parameter, its regimes one after the other and
            "inactive" last; see `Layout`.
        level: (n,) index of the first level set, in ascending order of the levels, that holds the row; q for
            rows of the region alone, q + 1 for rows outside it and rows that are left out.
        rank: (n,) number of usable rows with a smaller loss, so that tied rows share a rank; n for rows that
            are left out. None where no resampling was asked for.
        weight: (n,) frequency weights, or None for 1 each.
        status: (q,) int32 bits of `parzax.Status` known from the losses, in ascending order of the levels.
        layout: where each cell is counted; static.
        levels: the q levels, in the order in which they were asked for; static.
        region: level of the region; static.
        grid: how values were put on the grid; static.
    """

    codes: Integer[Any, "*s d n"]
    level: Integer[Any, "*s n"]
    rank: Int[Any, "*s n"] | None
    weight: Shaped[Any, "*s n"] | None
    status: Int[Any, "*s q"]
    layout: Layout = eqx.field(static=True)
    levels: tuple[float, ...] = eqx.field(static=True)
    region: float = eqx.field(static=True)
    grid: Grid = eqx.field(static=True)

    @property
    def place(self) -> tuple[int, ...]:
        """Place of each level that was asked for among the ascending ones."""
        return tuple(np.argsort(np.argsort(self.levels, kind="stable")).tolist())


def check_encoded(encoded: Any, function: str) -> None:
    """Raise for what is not one encoded log, naming the public function that was called."""
    _checks.instance("encoded", encoded, Encoded, "what parzax.encode or Observations.encode gives")
    if encoded.codes.ndim != 2:
        raise ValueError(
            f"encoded holds a batch of shape {encoded.codes.shape[:-2]}; use jax.vmap({function})."
        )
    _checks.check_mesh(encoded.codes, encoded.level, encoded.rank, encoded.weight, encoded.status)

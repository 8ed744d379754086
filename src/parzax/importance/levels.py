"""Level sets on the device: which rows have the best losses, for many shares of the rows at once."""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax import _checks
from parzax._numerics import count_below, ordered_key
from parzax.importance.flags import status_bit
from parzax.pareto.order import changes, latest
from parzax.status import Status

# Relative tolerance for rounding q * N to an integer.
ROUNDING = 1e-12


def compute_levels(
    losses: Float[Array, " n"],
    usable: Bool[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    levels: tuple[float, ...],
    region: float,
    optuna_rounding: bool,
) -> tuple[Int[Array, " n"], Int[Array, " n"], Int[Array, " q"]]:
    """``level``, ``rank`` and ``status`` of `Encoded`; a set includes the rows tied with its cut-off.

    The JAX form of `parzax.lens.logs.level_sets`. ``levels`` ascend. Rows that are not ``usable``, and
    rows without a loss, are in no set; a row of weight 0 is not usable.
    """
    n, q = len(losses), len(levels)
    # Derivatives treat the rows of a set as independent of the weights.
    weight = None if weight is None else jax.lax.stop_gradient(weight)
    # Losses are compared as integers: XLA may treat all subnormal floats as equal.
    key = ordered_key(losses)
    last = key.dtype.type(np.iinfo(key.dtype).max)
    usable = usable & (key != last)
    key = jnp.where(usable, key, last)
    n_usable = usable.sum(dtype=jnp.int32)
    if not n:
        empty = jnp.zeros(0, jnp.int32)
        return empty, empty, jnp.full(q, int(Status.NO_DATA), jnp.int32)
    ranked, row = jax.lax.sort((key, jnp.arange(n, dtype=jnp.int32)), num_keys=1)
    asked = (*levels, region)
    with jax.enable_x64(True):
        if weight is None:
            needed, smallest = sizes(asked, n_usable, True, optuna_rounding), jnp.ones((), jnp.float64)
            running = jnp.arange(1, n + 1, dtype=jnp.float64)
            last_row = needed.astype(jnp.int32) - 1
        else:
            ranked_weight = jnp.where(usable, weight, weight.dtype.type(0))[row].astype(jnp.float64)
            running = jnp.cumsum(ranked_weight)
            integral = (ranked_weight == jnp.floor(ranked_weight)).all()
            needed = sizes(asked, running[-1], integral, optuna_rounding)
            below = (running[None] < needed[:, None]).sum(axis=1, dtype=jnp.int32)
            last_row = jnp.minimum(below, n_usable - 1)
            is_tied = ranked[None] == ranked[jnp.clip(last_row, 0, n - 1)][:, None]
            smallest = jnp.where(is_tied, ranked_weight[None], jnp.inf).min(axis=1)
            # A row of integer weight 2 stands for two equal rows, which are tied with each other.
            smallest = jnp.where(integral, 1.0, smallest)
    cut_off = ranked[jnp.clip(last_row, 0, n - 1)]
    level = jnp.where(usable, count_below(cut_off, key, -1, q + 1, q + 1), q + 1)
    # Number of rows up to the last one tied with the cut-off.
    end = count_below(ranked, cut_off + cut_off.dtype.type(1), -1, n, n)
    with jax.enable_x64(True):
        # Whether the set would reach its weight without one of the tied rows, whatever their order.
        tied = running[jnp.maximum(end - 1, 0)] - smallest >= needed
    all_equal = ranked[0] == ranked[jnp.maximum(n_usable - 1, 0)]
    few = jnp.where(n_usable < 2, np.int32(Status.NO_DATA), status_bit(Status.ALL_EQUAL, all_equal))
    status = few | status_bit(Status.TIED_CUTOFF, tied[:-1] & (n_usable > 0))
    first_tied = latest(changes([ranked]))
    rank = jnp.zeros(n, jnp.int32).at[row].set(first_tied, unique_indices=True, mode="promise_in_bounds")
    return level, jnp.where(usable, rank, n), status


def sizes(levels: tuple[float, ...], total: Any, integral: Any, optuna_rounding: bool) -> Float[Array, " q"]:
    """Weight that each set must reach, in float64: the JAX form of `parzax.lens.logs.level_weight`.

    ``integral`` says whether all weights are integers.
    """
    with jax.enable_x64(True):
        quantile, total = jnp.asarray(np.array(levels, np.float64)), jnp.asarray(total).astype(jnp.float64)
        product = quantile * total
        # Sums of fractional weights are rounded differently in another order.
        slack = jnp.where(integral, 1.0, 1 - ROUNDING)
        if optuna_rounding:
            needed = jnp.ceil(product) * slack
        else:
            nearest = jnp.round(product)
            is_integer = jnp.abs(product - nearest) <= ROUNDING * product
            least = jnp.maximum(jnp.where(is_integer, nearest, jnp.ceil(product)), 1.0)
            needed = jnp.where(integral, least, product * slack)
        return jnp.where(quantile == 1.0, total, needed)


@lru_cache(maxsize=256)
def rank_levels(levels: tuple[float, ...]) -> tuple[int, ...]:
    """Position of each level in ascending order."""
    return tuple(np.argsort(np.argsort(levels, kind="stable")).tolist())


def checked_levels(levels: Any, region: Any) -> tuple[np.ndarray, float]:
    """Return (q,) target levels and the region's level, or raise a ValueError."""
    region = _checks.quantile("region", region)
    levels = _checks.float_array("levels", levels)
    if levels.ndim > 1 or levels.size == 0:
        raise ValueError(f"levels must be a number or a non-empty list, got shape {levels.shape}.")
    levels = levels.reshape(-1)
    # A Python loop: for one level a single NumPy call would cost as much as the loop.
    for level in levels.tolist():
        if not 0 < level <= 1:
            raise ValueError(f"levels must lie in (0, 1], got {level!r}.")
        if level >= region:
            raise ValueError(f"levels must be below region = {region!r}, got {level!r}.")
    # Levels that differ only by rounding count as equal; levels below 1e-12 are compared exactly.
    if len({round(level, 12) or level for level in levels.tolist()}) < len(levels):
        raise ValueError("levels holds the same level twice.")
    return levels, region

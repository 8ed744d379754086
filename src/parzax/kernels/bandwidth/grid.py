"""Scott's rule on a grid of counts, for the importance densities."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from parzax._numerics import cell_sum, total
from parzax.kernels.bandwidth.rule import IQR_OF_NORMAL, SCOTT

# 1.64 sigma, 90 % of the mass, within half a cell.
MINIMUM = 0.5 / 1.64


def scott_on_grid(
    counts: Shaped[Array, " g"],
    *,
    floor_quartiles: bool = False,
    minimum: float = MINIMUM,
    dtype: jnp.dtype | None = None,
) -> Float[Array, ""]:
    """Scott's rule for the positions 0..g-1 with frequency ``counts``, in cells.

    max(1.059 * min(IQR / 1.34, sd) * n^(-1/5), minimum), sd with ddof 1 (Scott 1992; PED-ANOVA, arXiv
    2304.10255). The first quartile is the first occupied cell whose running count reaches n/4, the
    third the first one whose running count exceeds 3n/4.

    Args:
        counts: (g,) integers, or floats for fractional weights.
        floor_quartiles: compare with floor(n/4) and floor(3n/4), as Optuna does; otherwise the rule is
            the same read from either end of the grid.
        minimum: smallest bandwidth, in cells.
        dtype: floating dtype of the answer; JAX's default when None.

    Returns:
        Bandwidth in cells; ``minimum`` where there are no counts. jit- and vmap-able.
    """
    dtype = jnp.result_type(float) if dtype is None else dtype
    position = jnp.arange(counts.shape[0], dtype=dtype)
    weight = counts.astype(dtype)
    n = total(counts)
    size = n.astype(dtype)
    mean = cell_sum(position * weight) / jnp.maximum(size, 1)
    variance = cell_sum(jnp.square(position - mean) * weight) / jnp.maximum(size - 1, 1)
    low, high = _quartile_cells(counts, n, floor_quartiles)
    # sqrt has an infinite slope at 0, where the minimum wins anyway.
    deviation = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    spread = jnp.minimum((high - low).astype(dtype) / IQR_OF_NORMAL, deviation)
    return jnp.maximum(SCOTT * spread * jnp.maximum(size, 1) ** -0.2, minimum)


def _quartile_cells(counts: Array, n: Array, floor: bool) -> tuple[Array, Array]:
    if jnp.issubdtype(counts.dtype, jnp.integer):
        # Whole numbers throughout: 3 * n would overflow an int32 long before n does.
        quarter = -(-n // 4)
        first = jnp.maximum(n // 4, 1) if floor else quarter
        third = n - quarter
    else:
        first, third = (jnp.floor(n / 4), jnp.floor(n * 0.75)) if floor else (n / 4, n * 0.75)
        first = jnp.where(first > 0, first, jnp.finfo(counts.dtype).tiny)
    # Cells before a quartile are counted one by one: XLA fuses this chain into one pass, whereas
    # jnp.cumsum over a short axis is several times slower on a CPU.
    running = jnp.zeros((), counts.dtype)
    low = high = jnp.zeros((), jnp.int32)
    for cell in range(counts.shape[0]):
        running = running + counts[cell]
        low = low + (running < first)
        high = high + (running <= third)
    last = counts.shape[0] - 1
    return jnp.minimum(low, last), jnp.minimum(high, last)

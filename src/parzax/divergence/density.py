"""Parzen densities on the grid, from counts per cell."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Shaped

from parzax import _checks
from parzax._checks import checked_counts
from parzax._mesh import with_auto_axes
from parzax.kernels import AbstractKernel, TruncatedNormal
from parzax.kernels.bandwidth import scott_on_grid
from parzax.kernels.kernel import in_grid


def grid_density(
    counts: Shaped[ArrayLike, " g"],
    n_cells: Int[ArrayLike, ""] | None = None,
    *,
    kernel: type[AbstractKernel] = TruncatedNormal,
    prior_weight: float = 1.0,
    floor: float = 0.0,
    floor_quartiles: bool = False,
) -> Float[Array, " g"]:
    """Parzen density of one set on the grid, from its counts per cell.

    p = (K counts + w * prior) / (n + w) + floor, with K the kernel matrix (each column sums to 1), n the
    sum of the counts and w the weight of the prior (conditional PED-ANOVA, arXiv 2601.20800, Section 4;
    PED-ANOVA, arXiv 2304.10255).

    Together with `parzax.divergence.pearson_divergence` it makes the papers' estimator,
    `parzax.divergence.Pearson`. The default of `parzax.importance.estimate` is `parzax.divergence.Explained`,
    which compares no densities.

    Args:
        counts: (g,) counts or weights per cell, at least 0; integers give Optuna's quartiles exactly.
        n_cells: number of cells of the grid if ``counts`` are padded with 0 to a larger g (so that grids of
            several sizes can share a vmap); None without padding.
        kernel: family of kernels: `parzax.kernels.TruncatedNormal` of numbers (with Scott's bandwidth),
            `parzax.kernels.AitchisonAitken` of categories, or one of your own.
        prior_weight: weight of the prior kernel, in rows, at least 0; with 0, give a ``floor``.
        floor: added to the density of every cell (0 except for parity with Optuna).
        floor_quartiles: whether Scott's rule takes Optuna's integer quartiles.

    Returns:
        (g,) probability per cell, linear. They sum to 1 (plus g times the floor) and are 0 in padding. If all
        counts are 0, they are the prior. Pure, unbatched, jit- and vmap-able; the dtype is that of floating
        counts, else JAX's default.

    Raises:
        TypeError, ValueError: for a kernel that is not a class of kernels, shapes that do not fit, settings
            out of range, complex counts, and (on the host) counts that are negative, masked or not finite. In
            compiled code such floats give NaN, and negative integers count as 0.

    >>> import jax.numpy as jnp
    >>> p = grid_density(jnp.array([0, 3, 1, 0]))
    >>> p.shape, int(p.argmax()), round(float(p.sum()), 5)
    ((4,), 1, 1.0)
    """
    if not (isinstance(kernel, type) and issubclass(kernel, AbstractKernel)):
        raise TypeError(f"kernel must be a class such as parzax.kernels.AitchisonAitken, got {kernel!r}.")
    prior_weight, floor = check_smoothing("grid_density", prior_weight, floor, floor_quartiles)
    array = checked_counts("counts", counts)
    _checks.vectors(counts=array)
    if array.shape[0] == 0:
        raise ValueError("counts must have at least one cell, got shape (0,).")
    dtype = array.dtype if jnp.issubdtype(array.dtype, jnp.floating) else jnp.result_type(float)
    n_cells = None if n_cells is None else jnp.asarray(n_cells)
    return with_auto_axes(smoothed)(array, n_cells, kernel, prior_weight, floor, floor_quartiles, dtype)


def smoothed(
    counts: Shaped[Array, " g"],
    n_cells: Int[Array, ""] | None,
    kernel: type[AbstractKernel],
    prior_weight: Any,
    floor: float,
    floor_quartiles: bool,
    dtype: Any,
    like: Shaped[Array, " g"] | None = None,
) -> Float[Array, " g"]:
    """`grid_density` without checks; ``like`` are the counts that set the bandwidth, if these are others."""

    def bandwidth(counts: Array, dtype: Any) -> Float[Array, ""]:
        return scott_on_grid(counts, floor_quartiles=floor_quartiles, dtype=dtype)

    smooth = kernel.on_grid(counts if like is None else like, bandwidth, n_cells, dtype)
    prior = kernel.prior_on_grid(len(counts), n_cells, dtype)
    weight, rows = jnp.asarray(prior_weight, dtype), counts.astype(dtype)
    size = rows.sum() + weight
    density = (smooth(rows) + weight * prior) / jnp.where(size > 0, size, 1)
    return in_grid(density + jnp.asarray(floor, dtype), n_cells)


def check_smoothing(
    name: str, prior_weight: float, floor: float, floor_quartiles: bool
) -> tuple[float, float]:
    """``prior_weight`` and ``floor`` as floats, or an error that begins with the ``name``."""
    weight = _checks.real_number(f"{name}: prior_weight", prior_weight, least=0)
    least = _checks.real_number(f"{name}: floor", floor, least=0)
    _checks.flag(f"{name}: floor_quartiles", floor_quartiles)
    if weight == 0 and least == 0:
        raise ValueError(f"{name}: prior_weight and floor are 0, so empty cells have density 0.")
    return weight, least

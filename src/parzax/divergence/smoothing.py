"""Parzen densities on the grid, from counts per cell."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Shaped

from parzax import _checks
from parzax._entries import checked_counts
from parzax._mesh import with_auto_axes
from parzax._numerics import cell_sum
from parzax.kernels import AbstractKernel, TruncatedNormal, in_grid
from parzax.kernels.bandwidth import scott_on_grid
from parzax.kernels.bandwidth.scott import MINIMUM


@dataclass(frozen=True)
class GridSmoothing:
    """How counts per cell become a density.

    Attributes:
        prior_weight: weight of the prior kernel, in rows.
        min_bandwidth: smallest bandwidth, in cells.
        floor: added to the density of every cell (0 except for parity with Optuna).
        floor_quartiles: whether Scott's rule takes Optuna's integer quartiles.
    """

    prior_weight: float = 1.0
    min_bandwidth: float = MINIMUM
    floor: float = 0.0
    floor_quartiles: bool = False

    def __post_init__(self) -> None:
        _checks.convert_fields(self, _checks.real_number, "prior_weight", "floor", least=0)
        _checks.convert_fields(self, _checks.real_number, "min_bandwidth", above=0)
        _checks.convert_fields(self, _checks.flag, "floor_quartiles")
        if self.prior_weight == 0 and self.floor == 0:
            raise ValueError("GridSmoothing: prior_weight and floor are 0, so empty cells have density 0.")

    def bandwidth(self, counts: Shaped[Array, " g"], dtype: jnp.dtype) -> Float[Array, ""]:
        """Scott's bandwidth for these counts, in cells."""
        quartiles, minimum = self.floor_quartiles, self.min_bandwidth
        return scott_on_grid(counts, floor_quartiles=quartiles, minimum=minimum, dtype=dtype)

    def density(
        self, counts: Shaped[Array, " g"], n_cells: Any, kernel: type[AbstractKernel], dtype: jnp.dtype
    ) -> Float[Array, " g"]:
        """`grid_density` without its checks of the counts."""
        matrix = kernel.on_grid(counts, self.bandwidth, n_cells, dtype)
        prior = kernel.prior_on_grid(len(counts), n_cells, dtype)
        weight, rows = jnp.asarray(self.prior_weight, dtype), counts.astype(dtype)
        size = cell_sum(rows) + weight
        density = (matrix.smooth(rows) + weight * prior) / jnp.where(size > 0, size, 1)
        return in_grid(density + jnp.asarray(self.floor, dtype), n_cells)


def grid_density(
    counts: Shaped[ArrayLike, " g"],
    n_cells: Int[ArrayLike, ""] | None = None,
    *,
    kernel: type[AbstractKernel] = TruncatedNormal,
    smoothing: GridSmoothing | None = None,
) -> Float[Array, " g"]:
    """Parzen density of one set on the grid, from its counts per cell.

    p = (K counts + w * prior) / (n + w) + floor, with K the kernel matrix (each column sums to 1), n the
    sum of the counts and w ``smoothing.prior_weight`` (conditional PED-ANOVA, arXiv 2601.20800, Section 4;
    PED-ANOVA, arXiv 2304.10255).

    Together with `parzax.pearson_divergence` it makes the papers' estimator, `parzax.divergence.Pearson`. The
    default of `parzax.cond_ped_anova` and `parzax.GridEstimator.smoothed` compute other numbers: for these,
    pass a `parzax.divergence.RegimeCounts` to ``divergence.estimate`` (docs/arrays.md).

    Args:
        counts: (g,) counts or weights per cell, at least 0; integers give Optuna's quartiles exactly.
        n_cells: number of cells of the grid if ``counts`` are padded with 0 to a larger g (so that grids of
            several sizes can share a vmap); None without padding.
        kernel: family of kernels: `parzax.kernels.TruncatedNormal` of numbers (with Scott's bandwidth),
            `parzax.kernels.AitchisonAitken` of categories, or one of your own.
        smoothing: prior weight, bandwidth rule and floor; `GridSmoothing()` by default.

    Returns:
        (g,) probability per cell, linear. They sum to 1 (plus g times the floor) and are 0 in padding. If all
        counts are 0, they are the prior. Pure, unbatched, jit- and vmap-able; the dtype is that of floating
        counts, else JAX's default.

    Raises:
        TypeError, ValueError: for a kernel that is not a class of kernels, shapes that do not fit, complex
            counts, and (on the host) counts that are negative, masked or not finite. In compiled code such
            floats give NaN, and negative integers count as 0.

    >>> import jax.numpy as jnp
    >>> p = grid_density(jnp.array([0, 3, 1, 0]))
    >>> p.shape, int(p.argmax()), round(float(p.sum()), 5)
    ((4,), 1, 1.0)
    """
    if not (isinstance(kernel, type) and issubclass(kernel, AbstractKernel)):
        raise TypeError(f"kernel must be a class such as parzax.kernels.AitchisonAitken, got {kernel!r}.")
    smoothing = GridSmoothing() if smoothing is None else smoothing
    array = checked_counts("counts", counts)
    _checks.vectors(counts=array)
    if array.shape[0] == 0:
        raise ValueError("counts must have at least one cell, got shape (0,).")
    dtype = array.dtype if jnp.issubdtype(array.dtype, jnp.floating) else jnp.result_type(float)
    n_cells = None if n_cells is None else jnp.asarray(n_cells)
    return with_auto_axes(smoothing.density)(array, n_cells, kernel, dtype)

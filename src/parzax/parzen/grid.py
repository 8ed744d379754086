"""Parzen densities on a grid of cells, from counts."""

from dataclasses import dataclass, field, fields

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from parzax._checks import one_of, real_number, vectors
from parzax._numerics import total
from parzax.kernels import AitchisonAitkenGrid, TruncatedNormalGrid, prior_on_grid, scott_on_grid
from parzax.kernels.bandwidth import MINIMUM
from parzax.observations import GridSpec

KINDS = ("numeric", "categorical")


@dataclass(frozen=True)
class GridEstimator:
    """Everything in which grid estimators of importance differ, as data.

    The default is this library's estimator: target and region are smoothed by one kernel and carry the
    same share of the prior, and the expected divergence of a random target is subtracted, so a
    constant parameter scores exactly 0 and a useless one 0 on average. `optuna` gives Optuna 5's.

    Attributes:
        grid: how values are put on the grid.
        shared_kernel: one kernel (with the target's bandwidth) and one prior share for both sets;
            False gives each set its own.
        debias: subtract the expectation of the divergence when the target is a random subset of the
            region (needs ``shared_kernel``).
        prior_weight: weight of the prior kernel, in rows.
        min_bandwidth: smallest bandwidth, in cells.
        floor: added to both densities (0 except for parity).
        floor_quartiles: Optuna's integer quartiles in Scott's rule.
        raw_levels: level counts from the raw floating-point product, ceil(q * N).
        min_regime_rows: regimes with fewer rows in the region are left out of the within-regime sum.
        uniform_when_undefined: report 1/d for each parameter where all variances are 0, instead of 0.
    """

    grid: GridSpec = field(default_factory=GridSpec)
    shared_kernel: bool = True
    debias: bool = True
    prior_weight: float = 1.0
    min_bandwidth: float = MINIMUM
    floor: float = 0.0
    floor_quartiles: bool = False
    raw_levels: bool = False
    min_regime_rows: int = 2
    uniform_when_undefined: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.grid, GridSpec):
            raise TypeError(f"GridEstimator: grid must be a GridSpec, got {self.grid!r}.")
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, item.name, value.item())
            elif item.type is bool and not isinstance(value, bool):
                raise TypeError(f"GridEstimator: {item.name} must be a bool, got {value!r}.")
        if not isinstance(self.min_regime_rows, int) or self.min_regime_rows < 0:
            raise ValueError(
                f"GridEstimator: min_regime_rows must be an integer >= 0, got {self.min_regime_rows!r}."
            )
        for name in ("prior_weight", "min_bandwidth", "floor"):
            if real_number(f"GridEstimator: {name}", getattr(self, name)) < 0:
                raise ValueError(f"GridEstimator: {name} must not be negative, got {getattr(self, name)!r}.")
        if self.prior_weight == 0 and self.floor == 0:
            raise ValueError(
                "GridEstimator: prior_weight and floor are both 0, so empty cells have density 0."
            )
        if self.min_bandwidth == 0:
            raise ValueError("GridEstimator: min_bandwidth must be positive.")
        if self.debias and not self.shared_kernel:
            raise ValueError("GridEstimator: debias needs shared_kernel=True.")

    @classmethod
    def optuna(cls) -> "GridEstimator":
        """Parity with Optuna 5.0's PedAnovaImportanceEvaluator (levels, cells, bandwidth, floor, 1/d)."""
        return cls(
            grid=GridSpec(mirror=False),
            shared_kernel=False,
            debias=False,
            floor=1e-12,
            floor_quartiles=True,
            raw_levels=True,
            uniform_when_undefined=True,
        )


def fit_kernel(
    counts: Shaped[Array, " g"],
    kind: str,
    estimator: GridEstimator,
    dtype: jnp.dtype,
    n_cells: Int[Array, ""] | None = None,
) -> TruncatedNormalGrid | AitchisonAitkenGrid:
    """The kernel matrix that ``counts`` call for: Scott's bandwidth, or the categorical spread."""
    if kind == "categorical":
        return AitchisonAitkenGrid.fit(counts, dtype, n_cells)
    bandwidth = scott_on_grid(
        counts, floor_quartiles=estimator.floor_quartiles, minimum=estimator.min_bandwidth, dtype=dtype
    )
    return TruncatedNormalGrid.fit(bandwidth, counts.shape[0], n_cells)


def prior_density(
    width: int, kind: str, dtype: jnp.dtype, n_cells: Int[Array, ""] | None = None
) -> Float[Array, " {width}"]:
    """The prior kernel's mass per cell: uniform over categories, a wide normal over numeric cells."""
    if kind == "categorical":
        return uniform_density(width, dtype, n_cells)
    if n_cells is None:
        return jnp.asarray(prior_on_grid(width), dtype)
    table = np.stack([np.pad(prior_on_grid(max(n, 1)), (0, width - max(n, 1))) for n in range(width + 1)])
    return jnp.asarray(table, dtype)[n_cells]


def uniform_density(
    width: int, dtype: jnp.dtype, n_cells: Int[Array, ""] | None = None
) -> Float[Array, " {width}"]:
    """1/g in each of g cells; 0 in padding."""
    if n_cells is None:
        return jnp.full((width,), 1 / width, dtype)
    return jnp.where(jnp.arange(width) < n_cells, 1 / n_cells.astype(dtype), 0)


def in_grid(x: Float[Array, " g"], n_cells: Int[Array, ""] | None) -> Float[Array, " g"]:
    """``x`` with padding set to 0."""
    return x if n_cells is None else jnp.where(jnp.arange(x.shape[0]) < n_cells, x, 0)


def grid_density(
    counts: Shaped[Array, " g"],
    n_cells: Int[Array, ""] | None = None,
    *,
    kind: str = "numeric",
    estimator: GridEstimator | None = None,
) -> Float[Array, " g"]:
    """Parzen density of one set on the grid, from its counts per cell.

    p = (K counts + w * prior) / (n + w) + floor, with K the kernel matrix (each column sums to 1), n the
    sum of the counts and w ``estimator.prior_weight`` (conditional PED-ANOVA, arXiv 2601.20800, Section 4;
    PED-ANOVA, arXiv 2304.10255).

    Args:
        counts: (g,) counts or weights per cell; integers give Optuna's quartiles exactly.
        n_cells: number of cells of the grid where ``counts`` are padded with 0 to a larger g, so that
            grids of several sizes can share a vmap; None when there is no padding.
        kind: "numeric" (truncated normal kernels, Scott's bandwidth) or "categorical" (Aitchison-Aitken).
        estimator: its ``prior_weight``, ``floor``, ``min_bandwidth`` and quartile rule are used.

    Returns:
        (g,) probability per cell, linear; sums to 1 (plus g times the floor); 0 in padding. The prior
        alone where the counts are all 0. Pure, unbatched, jit- and vmap-able; the dtype is that of
        floating counts, else JAX's default.

    >>> import jax.numpy as jnp
    >>> p = grid_density(jnp.array([0, 3, 1, 0]))
    >>> p.shape, int(p.argmax()), round(float(p.sum()), 5)
    ((4,), 1, 1.0)
    """
    one_of("kind", kind, KINDS)
    estimator = GridEstimator() if estimator is None else estimator
    counts = jnp.asarray(counts)
    vectors(counts=counts)
    if counts.shape[0] == 0:
        raise ValueError("counts must have at least one cell, got shape (0,).")
    n_cells = None if n_cells is None else jnp.asarray(n_cells)
    if counts.dtype == bool or jnp.issubdtype(counts.dtype, jnp.integer):
        counts = counts.astype(jnp.promote_types(counts.dtype, jnp.int32))  # sums of bytes would wrap round
    dtype = counts.dtype if jnp.issubdtype(counts.dtype, jnp.floating) else jnp.result_type(float)
    kernel = fit_kernel(counts, kind, estimator, dtype, n_cells)
    prior = prior_density(counts.shape[0], kind, dtype, n_cells)
    weight = jnp.asarray(estimator.prior_weight, dtype)
    size = total(counts).astype(dtype) + weight
    density = (kernel.smooth(counts.astype(dtype)) + weight * prior) / jnp.where(size > 0, size, 1)
    return in_grid(density + jnp.asarray(estimator.floor, dtype), n_cells)
